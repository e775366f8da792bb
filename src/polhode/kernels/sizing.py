"""The size of steps: all the same, or from the error they make.

The error of a step is the norm sqrt(mean((e_i / (atol + rtol |x_i|))^2)) over the entries of the
state that count, and those that only add up, as work does, which never end a run; a step is taken if it is at most 1.

Reference: [HairerNorsettWanner, section II.4], and [HairerWanner, section IV.2] for
the PI controller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .hold import evaluate
from .kernel import helper, inlined, rare
from .machine import NOT_FINITE, OK
from .stepping import COLLAPSE, Array, Room, copy, first_bad

_SAFETY = 0.9
PATIENCE = 16  # attempts of a run that fail for what only adds up; then it counts no more, for it may have a pole


class Rule(NamedTuple):
    """How a method is controlled.

    fixed    : 1 for steps of one size
    implicit : 1 if it needs derivatives of the flow
    last     : the stage at the end of the step, 0 if there is none
    chained  : 1 if an attempt evaluates that stage, so that it is the first of the next step
    stages   : in all, with those of the dense output
    degree   : of the dense output
    errors   : 1, or 2 of which the second corrects the first
    power    : of the step size in the error
    memory   : of the last error, in the choice of the next size
    least, most : factors from one size to the next
    whole    : 1 if a step takes all that happens in it at once, without events
    """

    fixed: int
    implicit: int
    last: int
    chained: int
    stages: int
    degree: int
    errors: int = 0
    power: float = 0.0
    memory: float = 0.0
    least: float = 0.0
    most: float = 0.0
    whole: int = 0


@helper
def squares(e: Array, x: Array, y: Array, count: int, run: Any) -> float:
    """Sum of the squares of e in units of the tolerance."""
    total, rtol, atol = 0.0, run.rtol, run.atol
    for i in range(count):
        ratio = e[i] / (atol + rtol * max(abs(x[i]), abs(y[i])))
        total += ratio * ratio
    return total


@helper
def _adding_up(e: Array, x: Array, y: Array, rate: Array, count: int, run: Any) -> float:
    """The same of entries that only add up, beside what they add up to, or in a step; without what is no number."""
    total = 0.0
    for i in range(count, x.size):
        ratio = e[i] / (run.atol + run.rtol * max(abs(x[i]), abs(y[i]), run.h * abs(rate[i])))
        if abs(ratio) < np.inf:
            total += ratio * ratio
    return total


@helper
def _worst(e: Array, x: Array, y: Array, count: int, run: Any) -> int:
    """The component with the largest error."""
    worst, most = 0, 0.0
    for i in range(count):
        ratio = abs(e[i]) / (run.atol + run.rtol * max(abs(x[i]), abs(y[i])))
        if ratio > most:
            worst, most = i, ratio
    return worst


@inlined
def ready(rule: Rule, m: Any, run: Any, x: Array, room: Room) -> int:
    """Have the rate where a step starts, and the very first step size; OK, or what went wrong."""
    rate = room.stages[0]
    if not run.rated:
        run.evaluations += 1
        status = evaluate(m, run.t, x, rate, True)
        if status != OK:
            return int(status)
        bad = first_bad(rate, m.counted)
        if bad >= 0:
            run.blamed = bad
            return NOT_FINITE
        run.rated = 1
    if not run.step > 0.0:
        run.evaluations += 1
        h = _probe(m.counted, run, x, rate, room.y)
        evaluate(m, run.t + h, room.y, room.errors[0], False)
        run.step = _first_size(rule.power, h, m.counted, run, x, rate, room.errors[0])
    return OK


@rare
def _probe(count: int, run: Any, x: Array, rate: Array, y: Array) -> float:
    """Go a short way along the rate, to y; return how far."""
    d0, d1 = squares(x, x, x, count, run) / count, squares(rate, x, x, count, run) / count
    h = 0.01 * np.sqrt(d0 / d1) if d0 > 1e-10 and d1 > 1e-10 else 1e-6
    h = min(h, run.longest, run.stop - run.t)
    for i in range(x.size):
        y[i] = x[i] + h * rate[i]
    return float(h)


@rare
def _first_size(power: float, h: float, count: int, run: Any, x: Array, rate: Array, other: Array) -> float:
    """Guess the first step size from the rate, and the other one h later, which is overwritten."""
    for i in range(count):
        other[i] = (other[i] - rate[i]) / h
    steepest = np.sqrt(max(squares(rate, x, x, count, run), squares(other, x, x, count, run)) / count)
    if not steepest < np.inf:
        return h
    guess = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** (1.0 / power)
    return float(min(100.0 * h, guess, run.longest))


@helper
def _slack(h: float, t: float) -> float:
    """Times closer than this are the same."""
    return float(1e-9 * h + 1e-15 * abs(t))


@inlined
def place(rule: Rule, run: Any) -> None:
    """Count steps of one size from here, if the size is another or the state was moved in time.

    So the origin is where the stepping started, or the last stop that was no whole number of steps away.
    """
    at = run.origin + run.index * run.spacing
    if rule.fixed and (run.spacing != run.step or abs(at - run.t) > 2.0 * _slack(run.step, run.t)):
        run.origin, run.index, run.spacing = run.t, 0, run.step


@inlined
def propose(rule: Rule, run: Any) -> None:
    """Choose the size and the end of the step to try; its size is 0 if it became too small."""
    t, stop = run.t, run.stop
    left = stop - t
    if rule.fixed:
        h = run.step
        end = run.origin + (run.index + 1.0) * h
        if abs(end - t - h) > 2.0 * _slack(h, t):  # the last step was cut short
            h = end - t
        if end >= stop - _slack(h, stop):
            if end > stop + _slack(h, stop):
                h = left
            end = stop
        run.h, run.end = h if end > t else 0.0, end
        return
    h = min(run.step, run.longest)
    if left <= 1.01 * h:  # up to the stop if that is not much further
        run.h, run.end = left, stop
    else:
        run.h, run.end = h if h > run.shortest * abs(t) and t + 0.1 * h > t else 0.0, t + h


@inlined
def cause(count: int, run: Any, x: Array, room: Room) -> int:
    """Why a step became too small."""
    if run.tries:
        return int(run.cause)
    run.blamed = _worst(room.errors[0], x, room.y, count, run)  # of the step before, which was good
    return COLLAPSE


@inlined
def judge(rule: Rule, count: int, status: int, strain: float, run: Any, x: Array, room: Room) -> float:
    """Return the error of an attempt; -1 if it is too large, after choosing a smaller size.

    strain : the error of loads
    """
    y, e, h = room.y, room.errors[0], run.h
    error = np.inf
    if status == OK:
        error = squares(e, x, y, count, run)
        if rule.errors == 2 and error > 0.0:
            error *= error / (error + 0.01 * squares(room.errors[1], x, y, count, run))
        beside = _adding_up(e, x, y, room.stages[0], count, run) if run.beside < PATIENCE else 0.0
        if error <= count < error + beside:
            run.beside += 1
        error = max(np.sqrt((error + beside) / count), strain)
        if error <= 1.0:
            return float(error)
        run.blamed = _worst(e, x, y, count, run)
    run.rejected += 1
    run.tries += 1
    if error < np.inf:
        run.cause, run.step = COLLAPSE, h * max(rule.least, _SAFETY * error ** (-1.0 / rule.power))
    else:
        run.cause, run.step = max(status, NOT_FINITE), 0.2 * h
    return -1.0


@inlined
def conclude(rule: Rule, error: float, run: Any, x: Array, room: Room) -> None:
    """Take the new state, and choose the size of the next step."""
    copy(room.y, x)
    if run.arrived:
        copy(room.stages[rule.last], room.stages[0])
    run.t, run.rated = run.end, run.arrived
    run.accepted += 1
    if rule.fixed:
        run.index += int(run.end >= run.origin + (run.index + 1.0) * run.spacing - _slack(run.spacing, run.end))
    elif run.across:
        run.step = min(run.step, 0.5 * run.h)
    elif run.h >= min(run.step, run.longest):  # else it was cut short, and says nothing about the next
        error = max(error, 1e-10)
        growth = _SAFETY * error ** (0.75 * rule.memory - 1.0 / rule.power) * max(run.error, 1e-4) ** rule.memory
        run.step = run.h * max(rule.least, min(growth, 1.0 if run.tries else rule.most))
        run.error = error
    run.tries = 0
