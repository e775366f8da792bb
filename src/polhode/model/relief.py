"""Heights of the ground from a table."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.graph import Expr, as_expr, maximum, minimum, symbol

from .errors import fault

MOST = 400  # points: each is a product for every foot


def height_grid(xs: Any, ys: Any, heights: Any) -> Expr:
    """A relief from heights at points of a grid, linear along x and along y between them, level beyond its edges.

    z = sum of A_i(x) B_j(y) h_ij, with A_i, B_j from 1 at their own point to 0 at the next.

    xs, ys  : (n,), (m,), rising
    heights : (n, m)
    """
    x, y = (_rising(values, name) for values, name in ((xs, "xs"), (ys, "ys")))
    table = np.asarray(heights, dtype=float)
    if table.shape != (len(x), len(y)):
        raise fault(f"height_grid: heights have shape {table.shape}, expected ({len(x)}, {len(y)}), a row for each x.")
    if table.size > MOST:
        raise fault(f"height_grid: has {table.size} points, expected at most {MOST}. Leave out some of them.")
    if not np.isfinite(table).all():
        raise fault("height_grid: heights have one that is not finite, expected numbers.")
    along, across = _hats(symbol("x"), x), _hats(symbol("y"), y)
    total = as_expr(0)
    for a, row in zip(along, table.tolist(), strict=True):
        total = total + a * sum((b * h for b, h in zip(across, row, strict=True) if h), as_expr(0))
    return total


def _rising(values: Any, name: str) -> np.ndarray:
    found = np.asarray(values, dtype=float)
    if found.ndim != 1 or len(found) < 2 or not (np.diff(found) > 0).all():
        raise fault(f"height_grid: {name} is {values!r:.60}, expected two or more numbers that rise.")
    return found


def _hats(s: Expr, at: np.ndarray) -> list[Expr]:
    """What is 1 at one of the points and 0 at the others, linear between them, level beyond the first and the last."""
    found = []
    for i, p in enumerate(at.tolist()):
        up = (s - at[i - 1].item()) / (p - at[i - 1].item()) if i else as_expr(1)
        down = (at[i + 1].item() - s) / (at[i + 1].item() - p) if i + 1 < len(at) else as_expr(1)
        found.append(maximum(minimum(up, down, 1), 0))
    return found
