"""Values between outputs."""

from __future__ import annotations

import numpy as np

Ends = tuple[np.ndarray, np.ndarray]  # at the start and at the end of every interval


def hermite(x: np.ndarray, ends: Ends, i: np.ndarray, h: np.ndarray, s: np.ndarray) -> np.ndarray:
    """Cubic between rows i and i + 1, at the share s of the way."""
    s, h = s[..., None], h[..., None]
    a, b = 3 * s**2 - 2 * s**3, s * (1 - s)
    found: np.ndarray = x[i] * (1 - a) + x[i + 1] * a + h * b * ((1 - s) * ends[0][i] - s * ends[1][i])
    return found


def thirds(t: np.ndarray, x: np.ndarray, constant: bool) -> list[np.ndarray]:
    """Values at the start, the middle and the end of every interval.

    constant : each value acted unchanged over the interval before it
    """
    return [x[1:]] * 3 if constant else [x[:-1], middles(t, x), x[1:]]


def middles(t: np.ndarray, x: np.ndarray) -> np.ndarray:
    """Values in the middle of every interval, by the cubic through the four nearest; not across jumps."""
    found = x[:-1].copy()
    for rows in np.split(np.arange(len(t)), np.flatnonzero(np.diff(t) == 0) + 1):
        n, steps = min(4, len(rows)), len(rows) - 1
        near = np.clip(np.arange(steps) - 1, 0, len(rows) - n)[:, None] + np.arange(n)
        times, middle = t[rows][near], (t[rows][:-1] + t[rows][1:]) / 2
        for c in range(n if steps else 0):
            others = np.delete(times, c, axis=1)
            weight = np.prod((middle[:, None] - others) / (times[:, [c]] - others), axis=1)[:, None]
            found[rows[:-1]] = weight * x[rows][near[:, c]] + (found[rows[:-1]] if c else 0)
    return found
