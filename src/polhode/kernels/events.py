"""Events: whether something that must stay above 0 fell below it in a step.

Each is looked at where a step ends, and where the rates of gaps, slides and guards say that it had a
least value in between. `search` then locates what was crossed by the polynomial of the step, which is
taken anew, up to there, so the state at an event is not interpolated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import gaps, loads, within
from .hold import evaluate
from .kernel import apart, helper, inlined, kernel, rare
from .machine import GUARDS, OK
from .mode import CLOSED, GUARD, STUCK
from .sliding import turn_slides
from .stepping import Array, Room, copy, fill
from .views import part
from .watched import NEVER, cause_of, counts, entry, note, values_at

UNITS = 2.0**-50  # by which entries of a state are changed to see what rounding makes of guards
JUMPED = 1e-9  # of what a guard was before: what passes 0 by less in a jump stays at 0
AT_ONCE = 1e-10  # s, of a second and of times that are longer: guards that pass 0 within it do so at once
# below 0 where a step ends; in between; and only the way back counts; beyond a pole, which is no way through 0
CROSSED, DIPPED, RETURNED, POLE = 1, 2, 3, 4
AGAIN = 2  # what v.fresh is where a step is taken anew from where it started, in which nothing jumped
UNSURE = 2  # what run.event is where only a look into the step tells whether there is an event
DIPS = 0.5  # of the lesser end: a least value in between, guessed by a cubic, that is less is looked for


@apart
def ready(m: Any, h: Any, w: Any, run: Any, x: Array, dx: Array) -> None:
    """Look at what must stay above 0 where a step starts, unless that is known.

    run.event is 1 where guards passed 0 in the jump of the last event: that is another one, at the same time.
    """
    v = w.places[0]
    n, jumped, run.event = v.rows + v.guards, 0, 0
    w.real[v.tolerance] = run.atol
    value, rate = part(w.real, v.value0, n), part(w.real, v.rate0, n)
    fresh, again = bool(v.fresh), v.fresh == AGAIN
    if fresh:
        sign, guard = part(w.whole, v.sign, v.guards), part(w.real, v.guard, v.guards)
        guard_rate = part(w.real, v.guard_rate, v.guards)
        for k in range(v.guards):  # how large they were before
            w.real[v.when + v.rows + k] = max(abs(guard[k]), abs(value[v.rows + k]))
        values_at(m, h, w, run.t, x, dx, value, rate, False)
        for k in range(v.guards):
            here, way = sign[k] * guard[k], sign[k] * guard_rate[k]
            at_once = abs(here) <= AT_ONCE * max(1.0, abs(run.t)) * abs(way)
            jumps = w.real[v.least + v.rows + k] == 0.0  # not so gaps that are watched as guards are
            gone = jumps and here < -JUMPED * w.real[v.when + v.rows + k] and not at_once
            if again:
                pass
            elif sign[k] == 0:  # not known yet
                leads = guard[k] if guard[k] != 0.0 else guard_rate[k]
                sign[k] = int(leads > 0.0) - int(leads < 0.0)
            elif w.whole[v.crossed + v.rows + k]:  # and back, in the jump of the same event
                if gone:
                    sign[k] = -sign[k]
            elif counts(w, v.rows + k):  # below 0 in a jump, or from 0 where it starts
                if gone or (jumps and here == 0.0 and way < 0.0):
                    w.whole[v.jumped + k] = jumped = 1
            elif way < 0.0 if at_once else here < 0.0:  # crossed the other way by now, or about to be
                sign[k] = -sign[k]
            value[v.rows + k], rate[v.rows + k] = sign[k] * guard[k], sign[k] * guard_rate[k]
        v.fresh = 0
        _sense(m, w, run.t, x, dx)
        if jumped:
            _have_jumped(w)
            run.event = 1
    else:
        copy(part(w.real, v.value, n), value)
        copy(part(w.real, v.rate, n), rate)
    if v.gaps:
        gaps.start(m, w, run.t, x, dx, fresh)
    if run.spacing == 0.0:
        loads.begin(m, h, w, run, x, fresh)


@rare
def _sense(m: Any, w: Any, t: float, x: Array, dx: Array) -> None:
    """Find out what rounding makes of guards: how they change where entries of the state do by a few units."""
    v = w.places[0]
    if v.guards == 0:
        return
    m.time[0] = t
    guard, near, noise = (
        part(w.real, v.guard, v.guards),
        part(w.real, v.rate_room, x.size),
        part(w.real, v.noise, v.guards),
    )
    for k in range(v.guards):
        noise[k] = 0.0
    for turn in (1.0, -1.0):
        by = UNITS
        for i in range(x.size):
            near[i] = x[i] * (1.0 + by)
            by *= turn
        for k in range(v.guards):
            w.real[v.middle + k] = guard[k]
        invoke(m.code[GUARDS], m.time, near, dx, m.p, guard, m.work)
        for k in range(v.guards):
            noise[k] = max(noise[k], 8.0 * abs(guard[k] - w.real[v.middle + k]))
            guard[k] = w.real[v.middle + k]


@rare
def _have_jumped(w: Any) -> None:
    """Have those guards, and nothing else, happen that passed 0 in a jump."""
    v = w.places[0]
    for k in range(v.rows + v.guards + v.gaps):
        w.whole[v.crossed + k] = 0
    for k in range(v.guards - 1, -1, -1):
        if w.whole[v.jumped + k]:
            w.whole[v.jumped + k], w.whole[v.crossed + v.rows + k] = 0, GUARD
            v.event, v.cause = v.rows + k, GUARD


@apart
def look(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, last: int) -> int:
    """Look at a step that is good: run.event is 1 where it may not be taken whole. OK, or what went wrong.

    UNSURE where only a look into the step tells.
    """
    v, y = w.places[0], room.y
    rate = room.errors[1] if last == 0 else room.stages[last]
    if not run.arrived:
        run.evaluations += 1
        status = evaluate(m, run.end, y, rate, True)
        if status != OK:
            return int(status)
        run.arrived = int(last > 0)
    note(h, w)
    if run.spacing == 0.0:
        loads.observe(m, h, w, loads.END, y)
    n = v.rows + v.guards
    value, rates = part(w.real, v.value, n), part(w.real, v.rate, n)
    values_at(m, h, w, run.end, y, rate, value, rates, True)
    v.many = 0
    if v.gaps:
        gaps.look(m, w, run.end, y, rate, run.h, gaps.DIP)
    run.event, many, wide = 0, 0, True
    for a in range(n + v.many):
        k = entry(w, a)
        cause = cause_of(w, k)
        if crossing(w, k, run.h):
            run.event = 1
        elif within.is_followed(w, k, cause):
            many += 1
            wide = wide and within.is_wide(w, k, cause, run.h)
    if many and not run.event and not (wide and not within.moves_far(m.nq, run.h, x, y, room.stages[0], rate)):
        run.event = UNSURE
    return OK


@helper
def crossing(w: Any, k: int, h: float) -> int:
    """What is seen of an entry in a step: 0 for nothing, CROSSED, DIPPED, or RETURNED."""
    v = w.places[0]
    if _is_crossed(w, k):
        return CROSSED
    awaited = counts(w, k)
    if not awaited and w.whole[v.way + k - v.rows] != w.whole[v.sign + k - v.rows]:
        return 0
    return 0 if not _may_dip(w, k, h) else DIPPED if awaited else RETURNED


@helper
def _is_crossed(w: Any, k: int) -> bool:
    v = w.places[0]
    value, least = w.real[v.value + k], within.least(w, k)
    start, cause = w.real[v.value0 + k], cause_of(w, k)
    if start == NEVER and cause in (CLOSED, STUCK):
        return False
    if cause == CLOSED and start < -least and value > start and w.real[v.rate + k] > 0.0:
        return False  # it leaves from where others that hold have set it
    return bool(value < -least and counts(w, k))


@helper
def _may_dip(w: Any, k: int, h: float) -> bool:
    """Whether rates say that an entry had a least value within the step, which may be below 0."""
    v = w.places[0]
    a, b, p, q = w.real[v.value0 + k], w.real[v.value + k], w.real[v.rate0 + k] * h, w.real[v.rate + k] * h
    least = AT_ONCE * p if k >= v.rows else 0.0
    if not (a > least and b > 0.0 and p < 0.0 and q > 0.0 and a < NEVER and b < NEVER):
        return False
    # where the tangents at both ends meet: what bends one way stays above them
    if a + p * (a - b + q) / (q - p) < 0.0:
        return True
    # the cubic with these ends, at the root of its slope
    c2, c3 = 3.0 * (b - a) - 2.0 * p - q, 2.0 * (a - b) + p + q
    inside = c2 * c2 - 3.0 * c3 * p
    theta = -p / (c2 + np.sqrt(max(inside, 0.0)))
    lowest = a + theta * (p + theta * (c2 + theta * c3))
    return bool(lowest < DIPS * min(a, b))


@inlined
def turn(h: Any, w: Any) -> None:
    """Bring directions of slides, and signs of guards that were crossed the other way, up to date."""
    if h is not None:
        turn_slides(h, w)
    turn_guards(w)


@inlined
def turn_all_slides(h: Any, w: Any) -> None:
    if h is not None:
        turn_slides(h, w)


@helper
def turn_guards(w: Any) -> None:
    v = w.places[0]
    sign, value = part(w.whole, v.sign, v.guards), part(w.real, v.value, v.rows + v.guards)
    for k in range(v.guards):
        if value[v.rows + k] < -within.least(w, v.rows + k):
            sign[k] = -sign[k]
            value[v.rows + k] = -value[v.rows + k]
            w.real[v.rate + v.rows + k] = -w.real[v.rate + v.rows + k]


@kernel
def coincide(m: Any, runs: Array, x: Array) -> None:
    """Note in `crossed` what closes and what guards pass 0 at a state, beside what is known to happen there.

    runs : (1,), the Run

    Within AT_ONCE by their rates; so what meets a command, or starts the next step, is one event with it.
    """
    h, w, t = m.constrained, m.switching, runs[0].t
    v = w.places[0]
    n = v.rows + v.guards
    value, rate, dx = part(w.real, v.value, n), part(w.real, v.rate, n), part(w.real, v.rate_room, v.entries)
    fill(dx, 0.0)
    if evaluate(m, t, x, dx, True) != OK:
        return
    values_at(m, h, w, t, x, dx, value, rate, False)
    span = AT_ONCE * max(1.0, abs(t))
    for k in range(n):
        cause = cause_of(w, k)
        known = cause == CLOSED or (cause == GUARD and w.whole[v.sign + k - v.rows] != 0 and counts(w, k))
        falls = rate[k] < -w.real[v.least + k] and abs(value[k]) <= -span * rate[k]
        if known and falls and not w.whole[v.crossed + k]:
            w.whole[v.crossed + k] = cause
