"""Many runs side by side, while no stop, contact or rope acts: those that meet one are told, and taken one by one.

Gaps are looked at after every step. Between two looks a gap g that bends by its second difference, g'' h^2, can be
lower than at both by an eighth of that; CLOSE of it counts as met. So what is not told stays open, as far as steps
see the motion at all; what is told in vain only costs a run of its own.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from polhode.compile import Function
from polhode.equations.program import Program

from .watch import NEAR, may_wait

CLOSE = 0.25  # of the second difference of a gap
ROOM = 2**19  # doubles: states between two looks


def may_meet(program: Program) -> bool:
    """Tell whether runs can be taken side by side until they meet something: nothing else holds, slides or switches."""
    eq = program.equations
    alone = not len(eq.constraints) and program.held is program.constraints and not eq.model.switches
    return bool(alone and may_wait(program) and program.flow is not None)


def met(
    march: Callable[[np.ndarray, int, float], np.ndarray],
    gaps: Function,
    x: np.ndarray,
    p: np.ndarray,
    t0: float,
    step: float,
    steps: int,
    every: int,
    stopped: Callable[[], bool],
) -> tuple[np.ndarray, np.ndarray]:
    """Take states x (count, n) through steps; those after every so many, (count, steps / every, n), and which met.

    gaps  : (t, x, p) -> what is open while it is above 0
    march : from states through a number of steps from a time, all of them recorded
    """
    count, n = x.shape
    rows, found = np.full((count, steps // every, n), np.nan), np.zeros(count, dtype=bool)
    seen = _seen(gaps, np.array([t0]), x[:, None, :], p)
    found |= ~(seen[:, 0] > NEAR).all(axis=1)
    done, at_once = 0, int(np.clip(ROOM // (count * n), 1, steps))
    while done < steps:
        k = min(at_once, steps - done)
        new = march(x, k, t0 + done * step)
        if stopped():
            break
        here = done + 1 + np.arange(k)
        with np.errstate(invalid="ignore"):
            seen = np.concatenate([seen, _seen(gaps, t0 + step * here, new, p)], axis=1)
            bend = np.abs(np.diff(seen, 2, axis=1)).max(axis=1, initial=0.0)
            found |= ~(seen.min(axis=1) > CLOSE * bend).all(axis=1)
        kept = here % every == 0
        rows[:, here[kept] // every - 1] = new[:, kept]
        seen, x, done = seen[:, -2:], new[:, -1], done + k
    return rows, found


def _seen(gaps: Function, t: np.ndarray, x: np.ndarray, p: np.ndarray) -> np.ndarray:
    """Gaps (count, k, m) at times (k,) of states (count, k, n), with parameters for all or for each."""
    each = p[0] if len(p) == 1 else np.broadcast_to(p[:, None, :], (*x.shape[:2], p.shape[1]))
    return np.asarray(gaps(np.broadcast_to(t[:, None], (*x.shape[:2], 1)), x, each))
