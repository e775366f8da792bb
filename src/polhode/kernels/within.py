"""What watched values do within a step: where the cubic through their ends tells, and where it does not.

A machine that moves evenly takes long steps, in which a gap or a guard may pass 0 many times. The cubic with the values
and rates at both ends of an interval is compared with the values at two places in between,

    |v(theta) - c(theta)| <= TELLS v(theta),   |v'(theta) - c'(theta)| <= LEADS v(theta),

where theta is not the middle, so that what repeats twice in the interval is seen. Where it does not hold, or a value in
between is below 0, the interval is narrowed.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import gaps
from .kernel import apart, helper, inlined
from .mode import CLOSED, GUARD, STUCK
from .stepping import Array, Room, between, hermite, slope

EARLY, LATE = 0.38, 0.71  # of an interval: where it is looked into
TELLS, LEADS = 0.15, 0.8  # of a value: by so much the cubic may be off, and what its rate travels in the interval
WIDE = 2.0  # of what both rates travel in a step: what stays further from 0 is not looked at
FAR = 0.5  # rad, m: coordinates that move less in a step have no room for more than ends and rates show
ROUNDED = 1e-11  # of values and of what rates travel
SMOOTH = 0.02  # of what a state moves in a step: by so much its cubic may be off
JUMPS = 4.0  # of what rates travel
NARROWEST = 1.0 / 64.0  # of a step: intervals are not made narrower, but the step
BEGINS = 100.0  # of how far below 0 is nothing: what is slower just begins
LATE_STAGES = 6  # those before it are of low order


@inlined
def is_followed(w: Any, k: int, cause: int) -> bool:
    """Whether an entry is known between the ends of a step, and matters: not so reactions, and guards of no way."""
    v = w.places[0]
    if cause != GUARD:
        return bool(cause == CLOSED or (cause == STUCK and not begins(w, k)))
    return bool(gaps.is_gap(w, k) or abs(w.whole[v.way + k - v.rows]) < 2)


@inlined
def begins(w: Any, k: int) -> bool:
    """Whether an entry is a slide in space that just begins: its polynomial is no guide, for its direction settles."""
    v = w.places[0]
    return bool(k < v.rows and w.whole[v.size + k] > 1 and w.real[v.value0 + k] <= BEGINS * w.real[v.least + k])


@inlined
def least(w: Any, k: int) -> float:
    """How far below 0 an entry is nothing yet."""
    v = w.places[0]
    found = w.real[v.least + k]
    if v.rows <= k < v.rows + v.guards:
        found += w.real[v.noise + k - v.rows]
    return float(found)


@helper
def is_wide(w: Any, k: int, cause: int, h: float) -> bool:
    """Whether an entry stays so far from 0 at both ends of a step that nothing is to be looked for."""
    v = w.places[0]
    a, b = w.real[v.value0 + k], w.real[v.value + k]
    if not max(abs(a), abs(b)) < np.inf:
        return True
    travel = abs(a - b) if cause == STUCK else h * (abs(w.real[v.rate0 + k]) + abs(w.real[v.rate + k]))
    return bool(min(a, b) > WIDE * travel)


@helper
def moves_far(count: int, h: float, x: Array, y: Array, before: Array, after: Array) -> bool:
    """Whether the first `count` entries of the state, or their rates, move far in a step."""
    most = 0.0
    for i in range(count):
        most = max(most, abs(y[i] - x[i]), h * abs(before[i]), h * abs(after[i]))
    return bool(not most <= FAR)


@apart
def sketch(c: Array, last: int, h: float, x: Array, room: Room) -> bool:
    """Write the cubic of the state in a step to room.polynomial; whether the rates of late stages agree with it."""
    k, r, rate = room.stages, room.polynomial[:3], room.errors[1]
    hermite(x, room.y, h, k[0], k[last], r)
    for s in range(LATE_STAGES, last):
        if not 0.2 < c[s] < 0.8:
            continue
        slope(x, r, c[s], h, rate)
        for i in range(x.size):  # off by a quartic, which is off by a third of that
            if abs(rate[i] - k[s, i]) > 3.0 * SMOOTH * (abs(k[0, i]) + abs(k[last, i])) + 1e-6:
                return False
    return True


@apart
def place(run: Any, x: Array, room: Room, theta: float) -> float:
    """Write the state within a step, and its rate, to room.errors; its time."""
    if run.sketched:
        _write(x, room.polynomial[:3], theta, run.h, room)
    elif run.across:
        _write(x, room.wide, theta, run.h, room)
    else:
        _write(x, room.polynomial, theta, run.h, room)
    return float(run.t + theta * run.h)


@inlined
def _write(x: Array, r: Array, theta: float, h: float, room: Room) -> None:
    between(x, r, theta, room.errors[0])
    slope(x, r, theta, h, room.errors[1])


@helper
def _dip(start: float, rise: float, p: float, q: float) -> float:
    """The least value of the cubic with these ends where that is in between, else infinite."""
    c2, c3 = 3.0 * rise - 2.0 * p - q, p + q - 2.0 * rise
    inside = c2 * c2 - 3.0 * c3 * p
    if not inside >= 0.0:
        return np.inf
    below = c2 + np.sqrt(inside)
    theta = -p / below if below != 0.0 else 0.0
    if not 0.0 < theta < 1.0:
        return np.inf
    return float(start + theta * (p + theta * (c2 + theta * c3)))


@apart
def inspect(w: Any, k: int, cause: int, a: float, b: float, theta: float, h: float) -> float:
    """The end of the interval from a to b in which an entry can be told, given its value at a place in it.

    theta : the place, of the interval
    """
    v = w.places[0]
    start, end, found = w.real[v.value0 + k], w.real[v.value + k], w.real[v.middle + k]
    if not max(abs(start), abs(end), abs(found)) < np.inf:
        return b
    nothing = 10.0 * least(w, k)
    p, q = w.real[v.rate0 + k] * h * (b - a), w.real[v.rate + k] * h * (b - a)
    rise = end - start
    if cause == STUCK:  # without rates
        p = q = rise
    if found < -nothing and not start < -nothing:
        return a + theta * (b - a)
    told = start + theta * (p + theta * (3.0 * rise - 2.0 * p - q + theta * (p + q - 2.0 * rise)))
    lowest = _dip(start, rise, p, q)
    size = max(abs(start), abs(end))
    if end >= 0.0 and lowest > 0.0:
        size = min(abs(found), lowest)
    elif end >= 0.0 and not (p < 0.0 < q):  # below 0 and above it again, which the rates at the ends do not show
        size = 0.0
    off, rate = abs(found - told), w.real[v.middle_rate + k] * h * (b - a)
    travel = abs(p) + abs(q) + abs(rate)
    turned = abs(rate - (p + theta * (2.0 * (3.0 * rise - 2.0 * p - q) + 3.0 * theta * (p + q - 2.0 * rise))))
    if cause == STUCK:
        turned = 0.0
    rounded = nothing + ROUNDED * (abs(start) + abs(end) + travel)
    if off <= TELLS * size + rounded and turned <= LEADS * size + 10.0 * rounded:
        return b
    if cause != STUCK and off > JUMPS * travel:  # no rate leads there: it jumps, and an end nearby tells no more
        return b
    return a + 0.5 * (b - a)
