"""Steps of one size: semi-implicit Euler, midpoint, and the classical Runge-Kutta.

Step k ends at origin + k h, without drift. The origin is where the stepping
started, or the last stop that was no whole number of steps away.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .kernel import helper, kernel
from .machine import NOT_FINITE, OK, evaluate, rates, settle
from .record import record
from .stepping import (
    ACCEPTED,
    BUDGET,
    COLLAPSE,
    DONE,
    EVALUATIONS,
    KEPT,
    MORE,
    NOW,
    STEP,
    STOP,
    WHICH,
    Array,
    begin,
    combine,
    copy,
    culprit,
    first_bad,
    hermite,
    is_due,
    is_over,
)
from .tableaus import EULER, MIDPOINT, RK4, Explicit

_MOST = 4  # stages; the new state, its rate and the polynomial between steps follow
STAGES = {"euler": _MOST + 5, "midpoint": _MOST + 5, "rk4": _MOST + 5}
_ORIGIN, _INDEX, _SIZE = 4, 5, 6  # places in clock


@helper
def _slack(h: float, t: float) -> float:
    """Times closer than this are the same."""
    return float(1e-9 * h + 1e-15 * abs(t))


@helper
def _place(clock: Array) -> None:
    """Count steps from here, if their size is another or the state was moved in time."""
    t, h = clock[NOW], clock[STEP]
    if clock[_SIZE] != h or abs(clock[_ORIGIN] + clock[_INDEX] * h - t) > 2.0 * _slack(h, t):
        clock[_ORIGIN], clock[_INDEX], clock[_SIZE] = t, 0.0, h


@kernel
def advance(
    tableau: Explicit,
    m: Any,
    clock: Array,
    counts: Array,
    x: Array,
    grid: Array,
    rows: Array,
    keep: Array,
    options: Array,
) -> int:
    """Take steps until t_stop, or until the budget or the buffer is used up."""
    stop, nq, stages = clock[STOP], m.nq, len(tableau.c) - 1
    y, after, terms = keep[_MOST], keep[_MOST + 1], keep[_MOST + 2 :]
    begin(counts, grid, rows, clock[NOW], x)
    _place(clock)
    last = counts[ACCEPTED] + counts[BUDGET]
    while clock[NOW] < stop:
        if is_over(counts, grid, last):
            return MORE
        # where the step ends
        t, h = clock[NOW], clock[STEP]
        end = clock[_ORIGIN] + (clock[_INDEX] + 1.0) * h
        if not end > t:
            return COLLAPSE
        if end >= stop - _slack(h, stop):
            if end > stop + _slack(h, stop):
                h = stop - t
            end = stop

        # the stages
        status = OK
        if not counts[KEPT]:
            counts[EVALUATIONS] += 1
            status = evaluate(m, t, x, keep[0], True)
        for s in range(1, stages):
            counts[EVALUATIONS] += 1
            combine(y, x, h, tableau.A[s], tableau.first[s], s, keep)
            status = max(status, evaluate(m, t + tableau.c[s] * h, y, keep[s], False))
        combine(y, x, h, tableau.A[stages], tableau.first[stages], stages, keep)
        if stages == 1:  # speeds are new, coordinates follow them
            for i in range(nq):
                y[i] = x[i]
            rates(m, t, y, after)
            for i in range(nq):
                y[i] += h * after[i]
        if status != OK:
            return int(status)
        status = settle(m, end, y)
        bad = first_bad(y) if first_bad(y) < 0 else culprit(keep[:stages], y)

        # output; the rate at the end serves the next step, too
        fresh = status == OK and bad < 0 and is_due(counts, grid, end)
        if fresh:
            counts[EVALUATIONS] += 1
            status = evaluate(m, end, y, after, True)
            bad = first_bad(after) if status == OK else -1
            hermite(x, y, h, keep[0], after, terms)
        if bad >= 0:
            counts[WHICH] = bad
            return NOT_FINITE
        if status == OK:
            status = record(m, counts, grid, rows, terms, t, h, end, x, y)
        if status != OK:
            return int(status)

        # the new state
        copy(y, x)
        copy(after, keep[0])
        counts[KEPT] = fresh
        counts[ACCEPTED] += 1
        clock[NOW] = end
        clock[_INDEX] += 1.0
    return DONE


# (m, clock, counts, x, grid, rows, keep, options) -> status
euler = partial(advance, EULER)
midpoint = partial(advance, MIDPOINT)
rk4 = partial(advance, RK4)
