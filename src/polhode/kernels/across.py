"""Steps across dead points, where rows of constraints are about to repeat others.

At a distance delta from a dead point, what is off the constraints grows by 1 / delta in the
accelerations, and rounding of a state that is on them by 1 / delta^3; so neither short steps nor
stages near the point follow the tolerance. But the motion itself is smooth. One step leads from before the
point to as far behind it, by collocation at the Gauss points of the step, an even number of them: none is
near its middle. The state at each point is settled, and the rates at all of them are found by
sweeps,

    x_i = x + h sum_j A_ij f(x_j),

the first of which goes from point to point and so sees where the dead point is.

The margin of a state is the least that an independent row has of its own (`factors`, `rows`), which falls
like delta. Machines whose margin stays large take no such steps, and pay for nothing.

Reference: [HairerNorsettWanner, section II.7] for collocation.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .hold import evaluate, forget
from .kernel import helper, inlined
from .machine import NOT_FINITE, OK
from .settle import settle
from .sizing import squares
from .stepping import Array, Room, combine, copy, first_bad
from .tableaus import Gauss
from .views import part

TIGHT = 1e-7  # other steps across a dead point are off by less, so this is for tolerances below it
STEPS = 2.0  # a dead point is crossed from fewer steps away,
AHEAD = 0.1  # or from a smaller margin,
MOST = 50.0  # unless it is more steps away
CLOSE = 0.03  # below this margin it is too close: an eighth of it, in the middle, must still be told from 0
DEAD = 0.4  # of the margin where the step starts: a dead point has less
APART = 0.05  # of the same: points must have more
MIDDLE = 0.02  # of the step, how far from its middle a dead point may be
FAR = 0.25  # the same, of a first guess: further off, it may not be reached
NOISE = 1e-6  # of the rates: what may be left of their changes where these do not shrink any more


@inlined
def attempt(gauss: Gauss, last: int, m: Any, h: Any, run: Any, x: Array, room: Room) -> float:
    """Step across a dead point ahead, to room.y with its rate in stage `last`; the error, or -1 where there is none."""
    run.across = 0
    if h is None:
        return -1.0
    return _ahead(gauss, last, m, h, run, x, room)


@inlined
def _ahead(gauss: Gauss, last: int, m: Any, h: Any, run: Any, x: Array, room: Room) -> float:
    """Look at the margin where a step starts: is it about to be 0?"""
    s = h.places[0]
    if gauss.c.size == 0 or not run.rated or run.rtol + run.atol > TIGHT:
        return -1.0
    margin, left = h.real[s.margin], _until_dead(part(h.real, s.earlier, 4), h.real[s.margin], run.t)
    near = left < STEPS * run.step or (margin < AHEAD and left < MOST * run.step)
    if not (near and margin > CLOSE):
        return -1.0
    error = _across(gauss, last, m, h, run, x, room, margin, 2.0 * left)
    if error >= 0.0:
        run.across, run.arrived, h.real[s.earlier] = 1, 1, 0.0
    else:
        h.real[s.margin] = margin
    return error


@helper
def _until_dead(earlier: Array, margin: float, t: float) -> float:
    """How long until the margin is 0, by a parabola through it and two earlier ones; infinite where it is not.

    earlier : margin and time where the last step began, and the one before; brought up to date
    """
    first, since, second, before = earlier[0], t - earlier[1], earlier[2], earlier[1] - earlier[3]
    earlier[2], earlier[3] = first, earlier[1]
    earlier[0], earlier[1] = margin, t
    if not (margin < first and second > 0.0 and since > 0.0 and before > 0.0):
        return np.inf
    slope = (margin - first) / since
    bend = (slope - (first - second) / before) / (since + before)
    slope += bend * since
    inside = slope * slope - 4.0 * bend * margin
    if not inside >= 0.0:
        return np.inf
    falling = np.sqrt(inside) - slope
    return 2.0 * margin / falling if falling > 0.0 else np.inf


@helper
def _across(
    gauss: Gauss, last: int, m: Any, h: Any, run: Any, x: Array, room: Room, margin: float, size: float
) -> float:
    """Place the step around the dead point, sweep until the rates stay, and estimate the error; -1 if it fails."""
    y, count = room.y, m.counted
    middle = 0.0
    for _ in range(3):
        if not (run.t + size < run.stop and size <= run.longest):
            return -1.0
        run.h, run.end = size, run.t + size
        middle = _march(gauss, m, h, run, x, room, margin)
        if abs(middle - 0.5) <= MIDDLE or abs(middle - 0.5) > FAR:
            break
        size *= 2.0 * middle
    if abs(middle - 0.5) > 2.0 * MIDDLE or not _swept(gauss, m, h, run, x, room):
        return -1.0
    # the end, and what it would be with fewer points; settled, for rounding is off the constraints
    for k in range(2, -1, -1):
        target = y if k == 0 else room.errors[k - 1]
        combine(target, x, run.h, gauss.ends[k], 1, gauss.c.size, room.points)
        if _settled(m, h, run.end, target) != OK:
            return -1.0
    for k in range(2):
        for i in range(y.size):
            room.errors[k, i] -= y[i]
    if _rate(m, run, run.end, y, room.stages[last]) != OK:
        return -1.0
    # four points more made the second error the first: two more, and it is that of the polynomial
    few, fewer = squares(room.errors[0], x, y, count, run), squares(room.errors[1], x, y, count, run)
    error = np.sqrt(few * np.sqrt(few / max(few, fewer)) / count) if few != 0.0 else 0.0
    return error if error <= 1.0 else -1.0


@helper
def _settled(m: Any, h: Any, t: float, y: Array) -> int:
    """Settle a state with factors of its own; OK, or what is wrong with it."""
    forget(h)
    return int(settle(m, t, y)) if first_bad(y, m.counted) < 0 else NOT_FINITE


@helper
def _rate(m: Any, run: Any, t: float, y: Array, rate: Array) -> int:
    """Take the rate of a state that is settled; OK, or what is wrong with it."""
    run.evaluations += 1
    status = evaluate(m, t, y, rate, True)
    return int(status) if first_bad(rate, m.counted) < 0 else NOT_FINITE


@helper
def _march(gauss: Gauss, m: Any, h: Any, run: Any, x: Array, room: Room, margin: float) -> float:
    """Go from point to point for first rates; return where in the step the dead point is, -1 if nowhere."""
    s, y, k, c = h.places[0], room.y, room.points, gauss.c
    copy(x, y)
    lowest, at, two, one, there = margin, -1.0, 0.0, 0.0, margin
    for i in range(c.size):
        # a line through the last two rates
        since = run.h * (c[i] - (c[i - 1] if i > 0 else 0.0))
        past = run.h * (c[i - 1] - (c[i - 2] if i > 1 else 0.0)) if i > 0 else 1.0
        for j in range(y.size):
            here = k[i - 1, j] if i > 0 else room.stages[0, j]
            other = (k[i - 2, j] if i > 1 else room.stages[0, j]) if i > 0 else here
            y[j] += since * (here + 0.5 * since * (here - other) / past)
        t = run.t + c[i] * run.h
        if _settled(m, h, t, y) != OK or _rate(m, run, t, y, k[i]) != OK:
            return -1.0
        # the margin falls like a line towards the dead point, seen from the two points before the lowest
        two, one, there = one, there, h.real[s.margin]
        if 0.3 < c[i] < 0.5 and there > (1.0 - c[i]) * margin:  # not half as fast as it should
            return -1.0
        if there < APART * margin:
            at = c[i]
            lowest = 0.0
        elif there < lowest:
            lowest = there
            if i > 1 and two > one:
                at = c[i - 1] + one * (c[i - 1] - c[i - 2]) / (two - one)
    return at if lowest < DEAD * margin else -1.0


@helper
def _swept(gauss: Gauss, m: Any, h: Any, run: Any, x: Array, room: Room) -> bool:
    """Repeat the sweep over the points until the rates stay; False if they do not."""
    y, k, rate, count = room.y, room.points, room.errors[0], m.counted
    before = np.inf
    for _ in range(15):
        change, whole = 0.0, 0.0
        for i in range(gauss.c.size):
            combine(y, x, run.h, gauss.A[i], 1, gauss.c.size, k)
            t = run.t + gauss.c[i] * run.h
            if _settled(m, h, t, y) != OK or _rate(m, run, t, y, rate) != OK:
                return False
            for j in range(y.size):
                k[i, j], rate[j] = rate[j], run.h * (rate[j] - k[i, j])
            change += squares(rate, x, y, count, run)
            for j in range(y.size):
                rate[j] = run.h * k[i, j]
            whole += squares(rate, x, y, count, run)
        if change <= 1e-4 * count * gauss.c.size:
            return True
        if change > 0.1 * before:  # of squares; what is left is rounding, or it does not converge
            return bool(change <= NOISE * NOISE * whole)
        before = change
    return False
