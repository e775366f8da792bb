"""Rodas5P, for stiff systems: a linearly implicit method of order 5.

It is L-stable and stiffly accurate. A step solves eight linear systems with one
matrix, 1 / (gamma h) - J; the Jacobian J is taken by differences, at every step.

Reference: [Steinebach]; [HairerWanner, section IV.7] for the class of methods.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .kernel import helper, kernel
from .machine import NOT_FINITE, OK, evaluate, settle
from .record import record
from .sizing import Rule, cause, conclude, end_of, judge, ready, size_of
from .stepping import (
    ACCEPTED,
    ATOL,
    BUDGET,
    DONE,
    EVALUATIONS,
    MORE,
    NOW,
    RTOL,
    STEP,
    STOP,
    WHICH,
    Array,
    begin,
    combine,
    copy,
    culprit,
    first_bad,
    is_due,
    is_over,
)
from .tableaus import RODAS5P, Rosenbrock

# the rate at the start comes before the eight stages, its derivative by time after all
_RULE = Rule(stages=9, terms=4, same=0, errors=1, power=5.0, memory=0.02, least=0.2, most=6.0)
_DRIFT = 9 + 3 + 4
STAGES = {"rodas5p": _DRIFT + 1}
_EPS = 2.0**-52


@helper
def factor(F: Array, pivots: Array) -> bool:
    """Factor a matrix, given and kept by columns, with partial pivoting; False if it is singular."""
    n = len(F)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(F[k, i]) > abs(F[k, p]):
                p = i
        pivots[k], pivot = p, F[k, p]
        if not abs(pivot) > 0.0:
            return False
        F[k, p] = F[k, k]
        F[k, k] = pivot
        for i in range(k + 1, n):
            F[k, i] /= pivot
        for j in range(k + 1, n):
            top = F[j, p]
            F[j, p] = F[j, k]
            F[j, k] = top
            if top != 0.0:
                for i in range(k + 1, n):
                    F[j, i] -= top * F[k, i]
    return True


@helper
def solve(F: Array, pivots: Array, b: Array) -> None:
    """Solve with the factors, in place of b."""
    n = len(F)
    for k in range(n):
        p, top = pivots[k], b[pivots[k]]
        b[p] = b[k]
        b[k] = top
        for i in range(k + 1, n):
            b[i] -= top * F[k, i]
    for k in range(n - 1, -1, -1):
        b[k] /= F[k, k]
        for i in range(k):
            b[i] -= b[k] * F[k, i]


@helper
def _nudge(value: float, move: float, options: Array) -> float:
    """A value nearby, on the side of the move it makes in a step."""
    floor = min(1.0, max(1e-6, options[ATOL] / options[RTOL]))
    by = np.sqrt(_EPS) * max(abs(value), abs(move), floor)
    return float(value + by if move >= 0.0 else value - by)


@helper
def _slope(f: Array, by: float, g: Array) -> None:
    """g = (g - f) / by"""
    for i in range(f.size):
        g[i] = (g[i] - f[i]) / by


@helper
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


@helper
def _interpolate(method: Rosenbrock, x: Array, y: Array, k: Array, r: Array) -> None:
    """Write the polynomial of the step, of order 4."""
    for i in range(x.size):
        r[0, i] = y[i] - x[i]
    for row in range(3):
        for i in range(x.size):
            r[1 + row, i] = 0.0
        combine(r[1 + row], r[1 + row], 1.0, method.H[row], 1, 8, k)
    for i in range(x.size):  # theta = 1 - (1 - theta) in the last product
        r[2, i] += r[3, i]
        r[3, i] = -r[3, i]


@kernel
def advance(
    method: Rosenbrock,
    rule: Rule,
    m: Any,
    clock: Array,
    counts: Array,
    x: Array,
    grid: Array,
    rows: Array,
    keep: Array,
    options: Array,
    J: Array,
    F: Array,
    pivots: Array,
) -> int:
    """Take steps until t_stop, or until the budget or the buffer is used up; J and F are (n, n), by columns."""
    f, k, y, e = keep[0], keep[1:9], keep[rule.stages], keep[rule.stages + 1]
    terms, drift = keep[rule.stages + 3 : _DRIFT], keep[_DRIFT]
    begin(counts, grid, rows, clock[NOW], x)
    last = counts[ACCEPTED] + counts[BUDGET]
    while clock[NOW] < clock[STOP]:
        if is_over(counts, grid, last):
            return MORE
        t = clock[NOW]

        # the rate where the step starts, and the very first step size
        status = ready(rule, m, clock, counts, x, f, y, e, options)
        if status != OK:
            return status

        # its derivatives, by differences
        counts[EVALUATIONS] += x.size + 1
        later = t + np.sqrt(_EPS * clock[STEP] * max(abs(t), clock[STEP]))
        if later > clock[STOP]:
            later = 2.0 * t - later
        status = evaluate(m, later, x, drift, False)
        _slope(f, later - t, drift)
        copy(x, y)
        for j in range(x.size):
            y[j] = _nudge(x[j], clock[STEP] * f[j], options)
            status = max(status, evaluate(m, t, y, J[j], False))
            _slope(f, y[j] - x[j], J[j])
            y[j] = x[j]
        bad = culprit(J, drift)
        if bad >= 0:
            counts[WHICH] = bad
        if status != OK or bad >= 0:
            return int(max(status, NOT_FINITE))

        # the stages, until the error is small enough
        error = -1.0
        while error < 0.0:
            h = size_of(clock, options)
            if h == 0.0:
                return cause(clock)
            status = OK if _factor_shifted(J, 1.0 / (method.gamma * h), F, pivots) else NOT_FINITE
            copy(f, k[0])
            for s in range(8):
                if s:
                    combine(y, x, 1.0, method.A[s], 1, s, k)
                    status = max(status, evaluate(m, t + method.c[s] * h, y, k[s], False))
                    if status == OK and first_bad(k[s]) >= 0:
                        counts[WHICH], status = first_bad(k[s]), NOT_FINITE
                _finish_stage(method, s, h, drift, F, pivots, k)
            counts[EVALUATIONS] += 7
            combine(y, x, 1.0, method.A[8], 1, 8, k)
            copy(k[7], e)
            status = max(status, settle(m, t + h, y) if first_bad(y) < 0 else NOT_FINITE)
            error = judge(rule, status, h, clock, counts, x, keep, options)

        # output
        end = end_of(clock, h)
        if is_due(counts, grid, end):
            _interpolate(method, x, y, k, terms)
        if status == OK:
            status = record(m, counts, grid, rows, terms, t, h, end, x, y)
        if status != OK:
            return int(status)
        conclude(rule, h, error, clock, counts, x, keep, options)
    return DONE


def rodas5p(
    m: Any, clock: Array, counts: Array, x: Array, grid: Array, rows: Array, keep: Array, options: Array
) -> int:
    """Order 5 with an error of order 4; dense output of order 4."""
    n = x.size
    J, F, pivots = np.empty((n, n)), np.empty((n, n)), np.empty(n, dtype=np.int64)
    return advance(RODAS5P, _RULE, m, clock, counts, x, grid, rows, keep, options, J, F, pivots)
