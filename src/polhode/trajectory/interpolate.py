"""Values between outputs."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from .events import Event

Ends = tuple[np.ndarray, np.ndarray]  # at the start and at the end of every interval


class Knots(NamedTuple):
    """States that others are interpolated between; equal times are the two sides of a jump."""

    t: np.ndarray
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray
    z: np.ndarray


def knots_of(outputs: Knots, events: Sequence[Event], constant: bool) -> Knots:
    """Outputs, with both sides of every event between them; of one at an output, the side before it.

    constant : tau acted unchanged over the interval before each output
    """
    t, nq, nu = outputs.t, outputs.q.shape[1], outputs.u.shape[1]
    jumped = t[:-1][np.diff(t) == 0]
    met = [e for e in events if e.states is not None and t[0] < e.time <= t[-1] and e.time not in jumped]
    times = np.array([e.time for e in met for _ in e.states or ()])
    if not len(times):
        return outputs
    x = np.array([state for e in met for state in e.states or ()])[:, : nq + nu + outputs.z.shape[1]]
    after = np.arange(len(times)) % 2 == 1
    kept = ~(after & np.isin(times, t))
    times, x = times[kept], x[kept]
    if constant:
        tau = outputs.tau[np.searchsorted(t, times)]
    else:
        tau = np.array([np.interp(times, t, column) for column in outputs.tau.T]).T.reshape(
            len(times), outputs.tau.shape[1]
        )
    where = np.searchsorted(t, times)
    parts = times, x[:, :nq], x[:, nq : nq + nu], tau, x[:, nq + nu :]
    return Knots(*(np.insert(a, where, b, axis=0) for a, b in zip(outputs, parts, strict=True)))


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
