"""The size of steps, from the error they make.

The error of a step is the norm sqrt(mean((e_i / (atol + rtol |x_i|))^2)); a step
is taken if it is at most 1.

Reference: [HairerNorsettWanner, section II.4], and [HairerWanner, section IV.2] for
the PI controller.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from .kernel import helper
from .machine import NOT_FINITE, OK, evaluate
from .stepping import (
    ACCEPTED,
    ATOL,
    COLLAPSE,
    ERROR,
    EVALUATIONS,
    KEPT,
    LARGEST,
    NOW,
    REJECTED,
    RTOL,
    SMALLEST,
    STEP,
    STOP,
    WHICH,
    Array,
    copy,
    culprit,
    first_bad,
)

_CAUSE, _TRIES = 4, 5  # places in clock: why the step may become too small, how often it was shortened
_SAFETY = 0.9


class Rule(NamedTuple):
    """How a method is controlled.

    stages : rows of keep that hold them; then come the new state, two errors and the dense output
    terms  : of the dense output
    same   : the stage that is the first of the next step, or 0
    errors : 1, or 2 of which the second corrects the first
    power  : of the step size in the error
    memory : of the last error, in the choice of the next size
    least, most : factors from one size to the next
    """

    stages: int
    terms: int
    same: int
    errors: int
    power: float
    memory: float
    least: float
    most: float


@helper
def _squares(e: Array, x: Array, y: Array, options: Array) -> float:
    """Sum of the squares of e in units of the tolerance."""
    total, rtol, atol = 0.0, options[RTOL], options[ATOL]
    for i in range(e.size):
        ratio = e[i] / (atol + rtol * max(abs(x[i]), abs(y[i])))
        total += ratio * ratio
    return total


@helper
def _worst(e: Array, x: Array, y: Array, options: Array) -> int:
    """The component with the largest error."""
    worst, most = 0, 0.0
    for i in range(e.size):
        ratio = abs(e[i]) / (options[ATOL] + options[RTOL] * max(abs(x[i]), abs(y[i])))
        if ratio > most:
            worst, most = i, ratio
    return worst


@helper
def _is_rate(status: int, counts: Array, rate: Array) -> int:
    """Check the rate where a step starts; OK, or what is wrong with it."""
    if status != OK:
        return status
    bad = first_bad(rate)
    if bad >= 0:
        counts[WHICH] = bad
        return NOT_FINITE
    counts[KEPT] = 1
    return OK


@helper
def _probe(clock: Array, x: Array, rate: Array, y: Array, options: Array) -> float:
    """Go a short way along the rate, to y; return how far."""
    d0, d1 = _squares(x, x, x, options) / x.size, _squares(rate, x, x, options) / x.size
    h = 0.01 * np.sqrt(d0 / d1) if d0 > 1e-10 and d1 > 1e-10 else 1e-6
    h = min(h, options[LARGEST], clock[STOP] - clock[NOW])
    for i in range(x.size):
        y[i] = x[i] + h * rate[i]
    return float(h)


@helper
def _first_size(power: float, h: float, x: Array, rate: Array, other: Array, options: Array) -> float:
    """Guess the first step size from the rate, and the other one h later, which is overwritten."""
    for i in range(x.size):
        other[i] = (other[i] - rate[i]) / h
    steepest = np.sqrt(max(_squares(rate, x, x, options), _squares(other, x, x, options)) / x.size)
    if not steepest < np.inf:
        return h
    guess = max(1e-6, 1e-3 * h) if steepest <= 1e-15 else (0.01 / steepest) ** (1.0 / power)
    return float(min(100.0 * h, guess, options[LARGEST]))


@helper
def ready(
    rule: Rule, m: Any, clock: Array, counts: Array, x: Array, rate: Array, y: Array, other: Array, options: Array
) -> int:
    """Have the rate where a step starts, and the very first step size; y and other are scratch."""
    if not counts[KEPT]:
        counts[EVALUATIONS] += 1
        status = _is_rate(evaluate(m, clock[NOW], x, rate, True), counts, rate)
        if status != OK:
            return status
    if not clock[STEP] > 0.0:
        counts[EVALUATIONS] += 1
        h = _probe(clock, x, rate, y, options)
        evaluate(m, clock[NOW] + h, y, other, False)
        clock[STEP] = _first_size(rule.power, h, x, rate, other, options)
    return OK


@helper
def size_of(clock: Array, options: Array) -> float:
    """Size of the step to try: up to t_stop if that is not much further; 0 if it became too small."""
    t, h, left = clock[NOW], min(clock[STEP], options[LARGEST]), clock[STOP] - clock[NOW]
    if left <= 1.01 * h:
        return float(left)
    return float(h) if h > options[SMALLEST] * abs(t) and t + 0.1 * h > t else 0.0


@helper
def end_of(clock: Array, h: float) -> float:
    """When a step of size h ends."""
    return float(clock[STOP] if h >= clock[STOP] - clock[NOW] else clock[NOW] + h)


@helper
def judge(
    rule: Rule, status: int, h: float, clock: Array, counts: Array, x: Array, keep: Array, options: Array
) -> float:
    """Return the error of a step; -1 if it is too large, after choosing a smaller size."""
    y, e = keep[rule.stages], keep[rule.stages + 1]
    error = np.inf
    if status == OK:
        error = _squares(e, x, y, options)
        if rule.errors == 2 and error > 0.0:
            error *= error / (error + 0.01 * _squares(keep[rule.stages + 2], x, y, options))
        error = np.sqrt(error / x.size)
        if error <= 1.0 and first_bad(y) < 0 and first_bad(keep[rule.same]) < 0:
            return float(error)
    counts[REJECTED] += 1
    clock[_TRIES] += 1.0
    if 1.0 < error < np.inf:
        counts[WHICH] = _worst(e, x, y, options)
        clock[_CAUSE] = COLLAPSE
        clock[STEP] = h * max(rule.least, _SAFETY * error ** (-1.0 / rule.power))
        return -1.0
    if status in (OK, NOT_FINITE) and rule.same:
        counts[WHICH] = culprit(keep[: rule.same + 1], y)
    clock[_CAUSE] = max(status, NOT_FINITE)
    clock[STEP] = 0.2 * h
    return -1.0


@helper
def cause(clock: Array) -> int:
    """Why a step became too small."""
    return int(clock[_CAUSE]) if clock[_TRIES] else COLLAPSE


@helper
def conclude(
    rule: Rule, h: float, error: float, clock: Array, counts: Array, x: Array, keep: Array, options: Array
) -> None:
    """Take the new state, and choose the size of the next step."""
    clock[NOW] = end_of(clock, h)
    copy(keep[rule.stages], x)
    copy(keep[rule.same], keep[0])
    counts[KEPT] = rule.same > 0
    counts[ACCEPTED] += 1
    if h >= min(clock[STEP], options[LARGEST]):  # else it was cut short, and says nothing about the next
        error = max(error, 1e-10)
        growth = _SAFETY * error ** (0.75 * rule.memory - 1.0 / rule.power) * max(clock[ERROR], 1e-4) ** rule.memory
        clock[STEP] = h * max(rule.least, min(growth, 1.0 if clock[_TRIES] else rule.most))
        clock[ERROR] = error
    clock[_TRIES] = 0.0
