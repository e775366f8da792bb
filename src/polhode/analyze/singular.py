"""Whether a position is singular: whether rows of constraints are independent beside it that are not there."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .columns import Rows

STEP = 1e-2  # of what columns are measured by: how far beside it
TRIALS, CORRECTIONS, CLOSED = 3, 8, 1e-9

At = Callable[[np.ndarray], tuple[np.ndarray, Rows]]  # small changes r -> phi there, and its rows


def rank_nearby(at: At, G: np.ndarray, reach: np.ndarray) -> int:
    """The largest rank of rows at closed positions nearby.

    G : a basis of the motions that the rows leave, (n, k); reach : of each column, (n,)
    """
    if not G.shape[1]:
        return 0
    draw, best = np.random.default_rng(2), 0
    basis = np.linalg.qr(G / reach[:, None])[0]
    for _ in range(TRIALS):
        aside = draw.normal(size=basis.shape[1])
        r = reach * (basis @ (STEP * aside / np.linalg.norm(aside)))
        for _ in range(CORRECTIONS):
            phi, rows = at(r)
            if not np.isfinite(rows.A).all():
                break
            if np.abs(phi / rows.size).max(initial=0) < CLOSED:
                best = max(best, rows.rank)
                break
            step = np.linalg.lstsq(rows.measured, phi / (rows.size * rows.least), rcond=1e-9)[0]
            r = r - reach * step
    return best
