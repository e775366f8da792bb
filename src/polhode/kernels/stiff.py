"""Rosenbrock methods, linearly implicit, for stiff systems: an attempt at a step, and the polynomial between its ends.

A step solves a linear system for each stage with one matrix, 1 / (gamma h) - J. The Jacobian J, where the
step starts, is that of native code, or taken by differences.

Reference: [Steinebach]; [HairerWanner, section IV.7] for the class of methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import loads
from .explicit import arrive
from .hold import evaluate
from .kernel import apart, helper, inlined
from .linear import factor, solve
from .machine import NOT_FINITE, OK
from .slopes import differentiate
from .stepping import Array, Room, combine, copy, culprit, first_bad
from .tableaus import Rosenbrock

_EPS = 2.0**-52


@inlined
def linearize(m: Any, run: Any, x: Array, room: Room) -> int:
    """Write the derivatives of the flow where a step starts, by state and by time; OK, or what went wrong."""
    if differentiate(m, run, x, room):
        return OK
    status = max(_drift(m, run, x, room.stages[0], room.drift), _jacobian(m, run, x, room.stages[0], room.y, room.J))
    bad = culprit(room.J, room.drift, m.counted)
    if status == OK and bad >= 0:
        run.blamed, status = bad, NOT_FINITE
    return int(status)


@apart
def _jacobian(m: Any, run: Any, x: Array, rate: Array, y: Array, J: Array) -> int:
    """Take the derivatives by every entry of the state by differences, column by column; y is scratch."""
    status = OK
    run.evaluations += x.size
    copy(x, y)
    for j in range(x.size):
        y[j] = _nudge(x[j], run.step * rate[j], run)
        status = max(status, evaluate(m, run.t, y, J[j], False))
        _slope(rate, y[j] - x[j], J[j])
        y[j] = x[j]
    return status


@apart
def _drift(m: Any, run: Any, x: Array, rate: Array, drift: Array) -> int:
    """Take the derivative by time, on the side of the stop."""
    run.evaluations += 1
    later = run.t + np.sqrt(_EPS * run.step * max(abs(run.t), run.step))
    if later > run.stop:
        later = 2.0 * run.t - later
    status = evaluate(m, later, x, drift, False)
    _slope(rate, later - run.t, drift)
    return status


@helper
def _nudge(value: float, move: float, run: Any) -> float:
    """A value nearby, on the side of the move it makes in a step."""
    floor = min(1.0, max(1e-6, run.atol / run.rtol))
    by = np.sqrt(_EPS) * max(abs(value), abs(move), floor)
    return float(value + by if move >= 0.0 else value - by)


@helper
def _slope(f: Array, by: float, g: Array) -> None:
    """g = (g - f) / by"""
    for i in range(f.size):
        g[i] = (g[i] - f[i]) / by


@inlined
def attempt(method: Rosenbrock, m: Any, run: Any, x: Array, room: Room) -> int:
    """Take a step of size run.h from x to room.y, and estimate its error; OK, or what went wrong."""
    k, y, h, last = room.stages[1:], room.y, run.h, len(method.d)
    run.arrived = 0
    if not _factor_shifted(room.J, 1.0 / (method.gamma * h), room.F, room.pivots):
        return NOT_FINITE
    run.evaluations += last - 1
    copy(room.stages[0], k[0])
    status = OK
    for s in range(last):
        if s:
            combine(y, x, 1.0, method.A[s], 1, s, k)
            status = max(status, evaluate(m, run.t + method.c[s] * h, y, k[s], False))
            loads.observe(m, m.constrained, m.switching, s, y)
            bad = first_bad(k[s], m.counted)
            if status == OK and bad >= 0:
                run.blamed, status = bad, NOT_FINITE
        _finish_stage(method, s, h, room.drift, room.F, room.pivots, k)
    combine(y, x, 1.0, method.A[last], 1, last, k)
    copy(k[last - 1], room.errors[0])
    return int(status if status != OK else arrive(m, run, k, y))


@apart
def _factor_shifted(J: Array, diagonal: float, F: Array, pivots: Array) -> bool:
    """Factor diagonal - J."""
    for j in range(len(J)):
        for i in range(len(J)):
            F[j, i] = -J[j, i]
        F[j, j] += diagonal
    return factor(F, pivots)


@helper
def _finish_stage(method: Rosenbrock, s: int, h: float, drift: Array, F: Array, pivots: Array, k: Array) -> None:
    """Solve for stage s, given the rate there in its place."""
    for i in range(drift.size):
        k[s, i] += h * method.d[s] * drift[i]
    if s:
        combine(k[s], k[s], 1.0 / h, method.C[s], 1, s, k)
    solve(F, pivots, k[s])


@inlined
def dense(method: Rosenbrock, x: Array, room: Room) -> None:
    """Write the polynomial of the step, of order 4."""
    y, k, r = room.y, room.stages[1:], room.polynomial
    for i in range(x.size):
        r[0, i] = y[i] - x[i]
    for row in range(3):
        for i in range(x.size):
            r[1 + row, i] = 0.0
        combine(r[1 + row], r[1 + row], 1.0, method.H[row], 1, len(method.d), k)
    for i in range(x.size):  # theta = 1 - (1 - theta) in the last product
        r[2, i] += r[3, i]
        r[3, i] = -r[3, i]
