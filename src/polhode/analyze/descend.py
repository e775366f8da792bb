"""Newton's method within bounds, with shorter and damped steps where it fails, towards the solution nearest to a guess.

    F(y) = 0,   lower <= y <= upper

Unknowns are measured by `scale` and equations by the largest that an unknown does to them, so that units do not count.
Where F leaves directions free, steps draw back along them towards the guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

_STEPS = 60
_LONGEST = 0.7  # of one step, in scales
_RANK = 1e-9  # of the largest singular value: what is below is free
_DAMPED = (1e-3, 1e-2, 1e-1, 1.0, 10.0)  # of the largest singular value
_TINY = 1e-10  # of F, in what unknowns do to it: the next step mends it

Found = tuple[np.ndarray, np.ndarray]  # F, dF/dy
Function = Callable[[np.ndarray], Found | None]


@dataclass(frozen=True, kw_only=True)
class Descended:
    """Where the search ended: y, F, its derivatives (m, n), whether steps vanished."""

    y: np.ndarray
    F: np.ndarray
    by: np.ndarray


def descend(
    f: Function,
    y: np.ndarray,
    guess: np.ndarray,
    scale: np.ndarray,
    lower: np.ndarray,
    upper: np.ndarray,
    limited: np.ndarray,
    heavy: np.ndarray | float = 1.0,
    settled: Callable[[np.ndarray], np.ndarray] = np.copy,
) -> Descended | None:
    """Search from y; None where nothing can be computed there.

    limited : which unknowns move by bounded steps; heavy : what equations count where not all can be met, (m,)
    settled : y as it is taken, with quaternions of length 1
    """
    y = np.clip(y, lower, upper)
    found = f(y)
    if found is None:
        return None
    F, by = found
    for _ in range(_STEPS):
        weight = _weights(F, by * scale) * heavy
        A, r = weight[:, None] * by * scale, weight * F
        size = float(np.linalg.norm(r))
        for damped, shorter in [(0.0, 2.0**-k) for k in range(7)] + [(d, 1.0) for d in _DAMPED]:
            step = _step(A, r, (guess - y) / scale, damped, (y - lower) / scale, (upper - y) / scale)
            longest = np.abs(step[limited]).max(initial=0)
            step *= shorter * (min(1.0, _LONGEST / longest) if longest > 0 else 1.0)
            trial = settled(np.clip(y + scale * step, lower, upper))
            new = f(trial)
            if new is not None and np.linalg.norm(weight * new[0]) <= (1 - 1e-3 * shorter) * size + _TINY:
                break
        else:
            break
        moved = float(np.abs((trial - y) / np.maximum(scale, np.abs(y))).max(initial=0))
        y, (F, by) = trial, new
        if moved < 1e-12:
            break
    return Descended(y=y, F=F, by=by)


def _weights(F: np.ndarray, by: np.ndarray) -> np.ndarray:
    """What makes the largest that an unknown does to an equation 1."""
    most = np.abs(by).max(axis=1, initial=0)
    most = np.where(most > 1e-14 * most.max(initial=0), most, np.maximum(np.abs(F), 1e-3 * most.max(initial=1e-3)))
    found: np.ndarray = 1 / np.where(most > 0, most, 1.0)
    return found


def _step(
    A: np.ndarray, r: np.ndarray, back: np.ndarray, damped: float, below: np.ndarray, above: np.ndarray
) -> np.ndarray:
    """The step, without unknowns that it would push beyond a bound at which they are."""
    on = np.ones(A.shape[1], dtype=bool)
    step = np.zeros(A.shape[1])
    for _ in range(A.shape[1] + 1):
        step = np.zeros(A.shape[1])
        if not on.any():
            break
        left, s, right, nothing = _decomposed(A[:, on])
        largest = s.max(initial=0)
        found = -(right * (s / (s * s + (damped * largest) ** 2))) @ (left.T @ r)
        step[on] = found + nothing @ (nothing.T @ (back[on] - found))
        pushed = on & (((step < 0) & (below <= 0)) | ((step > 0) & (above <= 0)))
        if not pushed.any():
            break
        on &= ~pushed
    return step


def _decomposed(A: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """U, s, W and K of A = U diag(s) W^+, A K = 0 with K orthonormal.

    Columns are made alike in size, to decide which count: a force of 1 does little beside a stiff spring, but holds.
    """
    size = np.linalg.norm(A, axis=0)
    size = np.where(size > 0, size, 1.0)
    left, s, right = np.linalg.svd(A / size, full_matrices=True)
    rank = int((s > _RANK * s.max(initial=0)).sum()) if s.max(initial=0) > 0 else 0
    W = right.T / size[:, None]
    return left[:, :rank], s[:rank], W[:, :rank], np.linalg.qr(W[:, rank:])[0]


def towards(by: np.ndarray, F: np.ndarray, below: np.ndarray, above: np.ndarray) -> np.ndarray:
    """The step, in scales, by which unknowns would balance F, of what they do to it, (m, n), within bounds."""
    weight = _weights(F, by)
    return _step(weight[:, None] * by, weight * F, np.zeros(by.shape[1]), 0.0, below, above)


def free_directions(by: np.ndarray, F: np.ndarray, scale: np.ndarray) -> np.ndarray:
    """A basis of what F leaves free, in units of the unknowns, (n, k)."""
    if not len(by):
        return np.diag(scale)
    nothing = _decomposed(_weights(0 * F, by * scale)[:, None] * by * scale)[3]
    found: np.ndarray = scale[:, None] * nothing
    return found
