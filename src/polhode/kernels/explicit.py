"""Explicit Runge-Kutta methods: one attempt at a step, and the polynomial between its ends.

The new state is settled before its rate is taken. Where an attempt takes that rate, it is the
first stage of the next step, and the dense output is smooth from step to step.

Reference: [HairerNorsettWanner, sections II.1, II.5 and II.6]; their codes DOPRI5 and DOP853.
"""

from __future__ import annotations

from typing import Any

from . import loads, turns
from .hold import evaluate
from .kernel import inlined
from .machine import NOT_FINITE, OK, rates
from .settle import settle
from .sizing import Rule
from .stepping import Array, Room, combine, combine_here, culprit, first_bad, hermite, weigh
from .tableaus import Explicit


@inlined
def attempt(tableau: Explicit, rule: Rule, m: Any, run: Any, x: Array, room: Room) -> int:
    """Take a step of size run.h from x to room.y, and estimate its errors; OK, or what went wrong."""
    k, y, t, h, last = room.stages, room.y, run.t, run.h, rule.last
    status, run.arrived = OK, 0
    run.evaluations += last - 1
    turns.begin(m.constrained, m.switching)
    for s in range(1, last + 1):
        combine_here(y, x, h, tableau.A[s], tableau.first[s], s, k)
        if s < last:
            status = max(status, evaluate(m, t + tableau.c[s] * h, y, k[s], False))
            if rule.chained:
                loads.observe(m, m.constrained, m.switching, s, y)
            else:
                turns.follow(m.constrained, m.switching)
    if last == 1:
        _follow(m, t, h, x, y, k[1])
    if status == OK:
        status = arrive(m, run, k[:last], y)
    if status == OK and rule.chained:
        status = _rate(m, run, y, k[last])
        loads.observe(m, m.constrained, m.switching, last, y)
        weigh(tableau.E, tableau.edge, h, k, room.errors)
    return int(status)


@inlined
def _follow(m: Any, t: float, h: float, x: Array, y: Array, dq: Array) -> None:
    """Move the coordinates by the new speeds, which makes Euler's method semi-implicit."""
    for i in range(m.nq):
        y[i] = x[i]
    rates(m, t, y, dq)
    for i in range(m.nq):
        y[i] += h * dq[i]


@inlined
def arrive(m: Any, run: Any, k: Array, y: Array) -> int:
    """Settle the new state y, reached by stages k; OK, or what is wrong with it."""
    if first_bad(y, m.counted) < 0:
        status = settle(m, run.end, y)
        if status != OK or first_bad(y, m.counted) < 0:
            return int(status)
    run.blamed = culprit(k, y, m.counted)
    return NOT_FINITE


@inlined
def _rate(m: Any, run: Any, y: Array, rate: Array) -> int:
    """Take the rate at the end of the step."""
    run.evaluations += 1
    status = evaluate(m, run.end, y, rate, True)
    bad = first_bad(rate, m.counted)
    if status == OK and bad >= 0:
        run.blamed, status = bad, NOT_FINITE
    run.arrived = status == OK
    return int(status)


@inlined
def dense(tableau: Explicit, rule: Rule, m: Any, run: Any, x: Array, room: Room) -> int:
    """Write the polynomial of the step, which may take more stages; OK, or what went wrong."""
    k, y, other, h = room.stages, room.y, room.errors[0], run.h
    status = OK if run.arrived else _rate(m, run, y, k[rule.last])
    for s in range(rule.last + 1, rule.stages):
        run.evaluations += 1
        combine(other, x, h, tableau.A[s], tableau.first[s], s, k)
        status = max(status, evaluate(m, run.t + tableau.c[s] * h, other, k[s], False))
    hermite(x, y, h, k[0], k[rule.last], room.polynomial)
    if rule.last <= 2:
        _straighten(m, rule.last, room.polynomial)
    weigh(tableau.D, tableau.edge, h, k, room.polynomial[3:])
    return int(status)


@inlined
def _straighten(m: Any, stages: int, r: Array) -> None:
    """Have speeds change evenly in a step of Euler's method, and all states by a parabola in one of the midpoint.

    A cubic with the rate at its end, which the step does not use, turns back first where something begins to slide or
    to leave: from 0, u = h u' theta with a small u', and -h u'_end theta^2 (1 - theta) beside it. That would be an
    end of it at once.
    """
    for i in range(r.shape[1]):
        r[2, i] = r[2, i] if stages == 1 else 0.0
    if stages == 1:
        for i in range(m.nq, m.nq + m.nu):
            r[1, i] = r[2, i] = 0.0
