"""Many states at once, by steps of one size, in the native loop over SIMD lanes.

States are taken in blocks that stay in the processor's second-level cache through
all their steps; blocks are shared out among threads.
"""

from __future__ import annotations

import time
from itertools import pairwise
from typing import Any

import numpy as np

from polhode.compile import Function, Port
from polhode.compile.batch import workspace
from polhode.kernels import lanes
from polhode.kernels.tableaus import EULER, MIDPOINT, RK4

from .interrupt import PATIENCE, shared_out, stoppable

METHODS = {"euler": EULER, "midpoint": MIDPOINT, "rk4": RK4}
_ROOM = 32768  # doubles of a block: its states, the new ones and four stages


def march(
    method: str,
    flow: Function,
    rates: Function,
    x: Any,
    step: float,
    steps: int,
    *,
    tau: Any,
    p: Any,
    every: int = 1,
    t: float = 0.0,
    units: Any = (),
    threads: int = 1,
) -> np.ndarray:
    """Take many states from time t through `steps` steps.

    flow   : (t[1], x[n], tau, p) -> dx[n]; rates : (t[1], x[n], p) -> dq[nq], as of a System
    x      : (count, n); tau, p : one row for all states, or one for each
    units  : first coordinate of each unit quaternion
    return : (count, steps / every, n), the states after every so many steps

    A state that blows up is not a number from there on; after Ctrl-C the rest is not a number either.
    """
    if method not in METHODS:
        raise ValueError(f"Method {method!r} takes no batch. Choose one of {', '.join(map(repr, METHODS))}.")
    if every < 1 or steps < every or steps % every:
        raise ValueError(f"{steps} steps with output every {every}: expected a multiple of it, and at least one.")
    n, nq, x = flow.inputs[1].size, rates.outputs[0].size, np.ascontiguousarray(x, dtype=float)
    if x.ndim != 2 or x.shape[1] != n or not len(x):
        raise ValueError(f"Argument 'x': expected shape (count, {n}), found {x.shape}.")
    count = len(x)
    inputs = [_rows(given, port, count) for given, port in zip((x, tau, p), flow.inputs[1:], strict=True)]
    loops = flow.kernel.in_lanes, rates.kernel.in_lanes
    width, tableau = loops[0].lanes, METHODS[method]
    if count < width:  # the last state fills the lanes that are left
        inputs = [a[np.minimum(np.arange(width), len(a) - 1)] for a in inputs]
    rows = np.full((max(count, width), steps // every, n), np.nan)
    codes = np.array([loop.address for loop in loops])
    quaternions = np.array(units, dtype=np.int64)

    def part(cut: tuple[int, int]) -> None:
        start, stop = cut
        here, tau, p = (a if len(a) == 1 else a[start:stop] for a in inputs)
        here = here.copy()
        there, k = np.empty_like(here), np.empty((len(tableau.c) - 1, here.size))
        times = np.array([t, t, step, every, 0, 0])
        places = np.array([a.ctypes.data for a in (times, here, there, tau, p, k)])
        s_tau, s_p = (a.shape[1] if len(a) > 1 else 0 for a in (tau, p))
        strides = np.array([0, n, s_tau, s_p, n, nq, 0, n, s_p, nq])
        work = workspace(max(loop.work_size for loop in loops))
        pointers = np.zeros(5, dtype=np.int64)
        size, done = 64, 0
        while done < steps and not wish.pressed:
            times[4:], tick = (done, min(done + size, steps)), time.perf_counter()
            out = rows[start:stop]
            lanes.march(
                tableau, codes, places, strides, times, here, there, here.ravel(), there.ravel(), k, quaternions,
                out, pointers, work,
            )  # fmt: skip
            done += size
            size = int(np.clip(size * PATIENCE / max(time.perf_counter() - tick, 1e-6), 64, 1e9))

    cuts = _cuts(len(rows), n, width, threads)
    with stoppable() as wish:
        shared_out(part, pairwise(cuts), threads)
    return rows[:count]


def _rows(given: Any, port: Port, count: int) -> np.ndarray:
    """One row for all states, or one for each."""
    rows = np.ascontiguousarray(given, dtype=float)
    rows = rows.reshape(1, -1) if rows.ndim < 2 else rows
    if rows.shape not in ((1, port.size), (count, port.size)):
        raise ValueError(
            f"Argument {port.name!r}: expected shape ({port.size},) or ({count}, {port.size}), found {np.shape(given)}."
        )
    return rows


def _cuts(count: int, n: int, lanes: int, threads: int) -> list[int]:
    """Where blocks begin and end: whole lanes, and at least a block for each thread if there is enough to do."""
    block = max(4 * lanes, min(256, _ROOM // (6 * n)))
    parts = max(-(-count // block), min(threads, count // (4 * lanes)), 1)
    return [count * i // parts // lanes * lanes for i in range(parts)] + [count]
