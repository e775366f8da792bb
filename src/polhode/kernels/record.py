"""Output of the integrators."""

from __future__ import annotations

from typing import Any

from .kernel import helper
from .machine import OK, settle
from .stepping import Array, next_row


@helper
def record(
    m: Any, counts: Array, grid: Array, rows: Array, r: Array, t: float, h: float, end: float, x: Array, y: Array
) -> int:
    """Write the rows of a step, as `next_row`, and settle those between its ends; OK, or what went wrong."""
    status = OK
    row = next_row(counts, grid, rows, r, t, h, end, x, y)
    while row >= 0 and status == OK:
        status = settle(m, grid[row], rows[row])
        row = next_row(counts, grid, rows, r, t, h, end, x, y)
    return status
