"""Dormand and Prince of order 5 and of order 8, with steps sized by their error.

The new state is settled before its rate is taken. So the rate is the first stage of
the next step, and the dense output is smooth from step to step.

Reference: [HairerNorsettWanner, sections II.5 and II.6]; their codes DOPRI5 and DOP853.
"""

from __future__ import annotations

from functools import partial
from typing import Any

from .kernel import helper, kernel
from .machine import NOT_FINITE, OK, evaluate, settle
from .record import record
from .sizing import Rule, cause, conclude, end_of, judge, ready, size_of
from .stepping import (
    ACCEPTED,
    BUDGET,
    DONE,
    EVALUATIONS,
    MORE,
    NOW,
    STOP,
    Array,
    begin,
    combine,
    first_bad,
    hermite,
    is_due,
    is_over,
)
from .tableaus import DOP853, DOPRI5, Explicit

_DOPRI5 = Rule(stages=7, terms=4, same=6, errors=1, power=5.0, memory=0.04, least=0.2, most=10.0)
_DOP853 = Rule(stages=16, terms=7, same=12, errors=2, power=8.0, memory=0.02, least=0.333, most=6.0)
STAGES = {"dopri5": 7 + 3 + 4, "dop853": 16 + 3 + 7}


@helper
def _sum(table: Array, first: int, h: float, k: Array, out: Array) -> None:
    """out_i = h sum table_ij k_j"""
    for row in range(len(table)):
        for i in range(out.shape[1]):
            out[row, i] = 0.0
        combine(out[row], out[row], h, table[row], first, table.shape[1], k)


@kernel
def advance(
    tableau: Explicit,
    rule: Rule,
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
    y, errors, terms = keep[rule.stages], keep[rule.stages + 1 : rule.stages + 3], keep[rule.stages + 3 :]
    A, c, first = tableau.A, tableau.c, tableau.first
    begin(counts, grid, rows, clock[NOW], x)
    last = counts[ACCEPTED] + counts[BUDGET]
    while clock[NOW] < clock[STOP]:
        if is_over(counts, grid, last):
            return MORE
        t = clock[NOW]

        # the rate where the step starts, and the very first step size
        status = ready(rule, m, clock, counts, x, keep[0], y, errors[0], options)
        if status != OK:
            return status

        # the stages, until the error is small enough
        error = -1.0
        while error < 0.0:
            h = size_of(clock, options)
            if h == 0.0:
                return cause(clock)
            counts[EVALUATIONS] += rule.same
            status = OK
            for s in range(1, rule.same + 1):
                combine(y, x, h, A[s], first[s], s, keep)
                if s == rule.same:
                    status = max(status, settle(m, t + h, y) if first_bad(y) < 0 else NOT_FINITE)
                status = max(status, evaluate(m, t + c[s] * h, y, keep[s], s == rule.same))
            _sum(tableau.E, tableau.edge, h, keep, errors)
            error = judge(rule, status, h, clock, counts, x, keep, options)

        # output; between the ends, it may take more stages
        end = end_of(clock, h)
        if is_due(counts, grid, end):
            counts[EVALUATIONS] += rule.stages - rule.same - 1
            for s in range(rule.same + 1, rule.stages):
                combine(errors[0], x, h, A[s], first[s], s, keep)
                status = max(status, evaluate(m, t + c[s] * h, errors[0], keep[s], False))
            hermite(x, y, h, keep[0], keep[rule.same], terms)
            _sum(tableau.D, tableau.edge, h, keep, terms[3:])
        if status == OK:
            status = record(m, counts, grid, rows, terms[: rule.terms], t, h, end, x, y)
        if status != OK:
            return status
        conclude(rule, h, error, clock, counts, x, keep, options)
    return DONE


# (m, clock, counts, x, grid, rows, keep, options) -> status
dopri5 = partial(advance, DOPRI5, _DOPRI5)
dop853 = partial(advance, DOP853, _DOP853)
