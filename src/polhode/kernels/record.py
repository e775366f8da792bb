"""Output of the integrators: rows of states, at given times or after every step."""

from __future__ import annotations

from typing import Any

from .hold import forget
from .kernel import helper, inlined
from .machine import OK
from .settle import settle
from .stepping import Array, Room, between, copy


@inlined
def begin(run: Any, grid: Array, rows: Array, x: Array) -> None:
    """Write the rows that are due where the integration starts."""
    while not run.every and run.row < grid.size and grid[run.row] <= run.t:
        copy(x, rows[run.row])
        run.row += 1


@inlined
def is_due(run: Any, grid: Array) -> bool:
    """Tell whether a row is wanted between the ends of the step."""
    return bool(not run.every and run.row < grid.size and grid[run.row] < run.end)


@inlined
def record(m: Any, run: Any, grid: Array, rows: Array, x: Array, room: Room) -> int:
    """Write the rows of a step from x to room.y; those between are settled. OK, or what went wrong."""
    status, row = OK, _next_row(run, grid, rows, x, room)
    while row >= 0 and status == OK:
        if run.across or run.near:
            forget(m.constrained)
        status = settle(m, grid[row], rows[row])
        row = _next_row(run, grid, rows, x, room)
    return status


@helper
def _next_row(run: Any, grid: Array, rows: Array, x: Array, room: Room) -> int:
    """Write rows up to one that lies between the ends; its index, for it is not settled yet, or -1 after the last."""
    if run.every:
        grid[run.row] = run.end
        copy(room.y, rows[run.row])
        run.row += 1
        return -1
    while run.row < grid.size and grid[run.row] <= run.end:
        at, row = grid[run.row], rows[run.row]
        run.row += 1
        if at < run.end:
            between(x, room.wide if run.across else room.polynomial, (at - run.t) / run.h, row)
            return int(run.row - 1)
        copy(room.y, row)
    return -1
