"""Events: what must stay above 0 while a mode lasts, and where in a step it does not.

    a gap that is open            phi             a row that slides    psi along its direction
    a reaction that only pushes   lam             a guard              its value, by its sign
    a row that sticks             grip lam_N - |lam_T|

Each is looked at where a step ends, and where the rates of gaps, slides and guards say that it had a
least value in between. The polynomial of the step locates what was crossed; then the step is taken
anew, up to there, so the state at an event is not interpolated.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import gaps, within
from .choice import examine
from .hold import evaluate, reacted
from .kernel import helper, inlined, kernel
from .machine import GUARDS, LAWS, OK
from .mode import CLOSED, EQUAL, GUARD, HELD, OFF, OPENED, SLIDES, SLIPPED, STUCK, TANGENT, UNILATERAL
from .settle import measure
from .sliding import turn_slides
from .stepping import Array, Room, copy, fill
from .views import part

NARROW = 1e-11  # of the size that a row is measured by, and of that in a second: this far below 0 is nothing yet
WEAK = 1e-10  # the same of reactions, of the largest there is
NEVER = np.inf
UNITS = 2.0**-50  # by which entries of a state are changed to see what rounding makes of guards
JUMPED = 1e-9  # of what a guard was before: what passes 0 by less in a jump stays at 0
AT_ONCE = 1e-10  # s, of a second and of times that are longer: guards that pass 0 within it do so at once
# below 0 where a step ends; in between; and only the way back counts; beyond a pole, which is no way through 0
CROSSED, DIPPED, RETURNED, POLE = 1, 2, 3, 4
GROWN = 10.0  # of the larger end of a step: where both sides of a change of sign are more, it is a pole
UNSURE = 2  # what run.event is where only a look into the step tells whether there is an event
NOWHERE, FOUND, SHORTER = 0, 1, 2  # what `locate` says: no event; one; the step is to be taken anew, shorter
SHORTEN = 1.0 / 16.0  # of a step in which something changes too fast
DIPS = 0.5  # of the lesser end: a least value in between, guessed by a cubic, that is less is looked for


@inlined
def is_watched(w: Any) -> bool:
    return w is not None


@helper
def cause_of(w: Any, k: int) -> int:
    """What it means that entry k falls below 0; 0 where there is nothing to watch."""
    v = w.places[0]
    if k >= v.rows:
        return GUARD
    mode, kind = w.whole[v.mode + k], w.whole[v.kind + k]
    if kind == UNILATERAL and w.whole[v.engaged + w.whole[v.group + k]]:
        return CLOSED if mode == OFF else OPENED
    if kind == TANGENT and w.whole[v.size + k] > 0:
        return SLIPPED if mode == HELD else STUCK if mode == SLIDES else 0
    return 0


@helper
def values_at(m: Any, h: Any, w: Any, t: float, y: Array, dy: Array, value: Array, rate: Array, forces: bool) -> None:
    """Write what must stay above 0 at a state, and the rates that are known; NEVER where there is nothing.

    forces : whether reactions at the state are known; else they are left out
    """
    v = w.places[0]
    m.time[0] = t
    _of_rows(m, h, w, t, y, value, rate, forces)
    if v.guards:
        guard, guard_rate = part(w.real, v.guard, v.guards), part(w.real, v.guard_rate, v.guards)
        invoke(m.code[GUARDS], m.time, y, dy, m.p, guard, m.work)
        sign = part(w.whole, v.sign, v.guards)
        for k in range(v.guards):
            value[v.rows + k], rate[v.rows + k] = sign[k] * guard[k], sign[k] * guard_rate[k]


@inlined
def _of_rows(m: Any, h: Any, w: Any, t: float, y: Array, value: Array, rate: Array, forces: bool) -> None:
    if h is not None:
        _row_values(m, h, w, t, y, value, rate, forces)


@helper
def _row_values(m: Any, h: Any, w: Any, t: float, y: Array, value: Array, rate: Array, forces: bool) -> None:
    """The same of rows."""
    s, v = h.places[0], w.places[0]
    if s.rows == 0:
        return
    measure(m, h, t, y)
    phi, psi, reach2 = part(h.real, s.phi, s.held), part(h.real, s.psi, s.rows), part(h.real, s.reach2, s.held)
    lam, slip, least = part(w.real, v.lam, s.rows), part(w.real, v.slip, s.rows), part(w.real, v.least, s.rows)
    size, of = part(w.whole, v.size, s.rows), part(w.whole, v.of, s.rows)
    most, doubtful = 0.0, False
    if forces:
        invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
        for i in range(s.rows):
            most = max(most, abs(lam[i]))
    grip = part(w.real, v.grip, s.rows)
    for i in range(s.rows):
        cause = cause_of(w, i)
        value[i], rate[i], least[i] = NEVER, 0.0, NARROW * np.sqrt(reach2[i])
        if cause == CLOSED:
            value[i], rate[i] = phi[i], psi[i]
        elif cause == STUCK:
            value[i] = 0.0
            for k in range(i, i + size[i]):
                value[i] += psi[k] * slip[k]
        elif cause and forces:
            least[i] = WEAK * most
            if cause == OPENED:
                value[i] = lam[i]
            else:
                pull = 0.0
                for k in range(i, i + size[i]):
                    pull += lam[k] * lam[k]
                value[i] = grip[i] * (lam[of[i]] if of[i] >= 0 else 1.0) - np.sqrt(pull)
            doubtful = doubtful or value[i] < -least[i]
    if doubtful and is_redundant(h, w):
        examine(h, w, value)


@helper
def is_redundant(h: Any, w: Any) -> bool:
    """Whether reactions of rows that only push or that stick are not determined."""
    s, v = h.places[0], w.places[0]
    mode, kind = part(w.whole, v.mode, s.rows), part(w.whole, v.kind, s.rows)
    many, lawful, moved = 0, False, part(h.real, s.rho2, s.rows)
    for i in range(s.rows):
        if mode[i] == HELD and h.real[s.W + i * s.rows + i] > 1e-12 * moved[i]:
            many += 1
            lawful = lawful or kind[i] != EQUAL
    return lawful and many > v.count


@helper
def ready(m: Any, h: Any, w: Any, run: Any, x: Array, dx: Array) -> None:
    """Look at what must stay above 0 where a step starts, unless that is known.

    run.event is 1 where guards passed 0 in the jump of the last event: that is another one, at the same time.
    """
    v = w.places[0]
    n, jumped, run.event = v.rows + v.guards, 0, 0
    value, rate = part(w.real, v.value0, n), part(w.real, v.rate0, n)
    fresh = bool(v.fresh)
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
            if sign[k] == 0:  # not known yet
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


@helper
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


@helper
def _have_jumped(w: Any) -> None:
    """Have those guards, and nothing else, happen that passed 0 in a jump."""
    v = w.places[0]
    for k in range(v.rows + v.guards + v.gaps):
        w.whole[v.crossed + k] = 0
    for k in range(v.guards - 1, -1, -1):
        if w.whole[v.jumped + k]:
            w.whole[v.jumped + k], w.whole[v.crossed + v.rows + k] = 0, GUARD
            v.event, v.cause = v.rows + k, GUARD


@helper
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
    _note(h, w)
    n = v.rows + v.guards
    value, rates = part(w.real, v.value, n), part(w.real, v.rate, n)
    values_at(m, h, w, run.end, y, rate, value, rates, True)
    v.many = 0
    if v.gaps:
        gaps.look(m, w, run.end, y, rate, run.h, gaps.DIP)
    run.event, many, wide = 0, 0, True
    for a in range(n + v.many):
        k = _entry(w, a)
        cause = cause_of(w, k)
        if _seen(w, k, run.h):
            run.event = 1
        elif within.is_followed(w, k, cause):
            many += 1
            wide = wide and within.is_wide(w, k, cause, run.h)
    if not run.event:
        if many and not (wide and not within.moves_far(m.nq, run.h, x, y, room.stages[0], rate)):
            run.event = UNSURE
        else:
            _turn(h, w)
    return OK


@helper
def is_told(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, cubic: int) -> bool:
    """Whether the ends of a step tell what is watched in it, by a cubic or its polynomial; then it is taken whole."""
    if _narrowed(m, h, w, run, x, room, cubic, 0.0, 1.0) < 1.0:
        return False
    run.event = 0
    _measure_end(m, h, run, room.y)
    _turn(h, w)
    return True


@inlined
def _measure_end(m: Any, h: Any, run: Any, y: Array) -> None:
    if h is not None:
        _measure(m, h, run.end, y)


@helper
def _measure(m: Any, h: Any, t: float, y: Array) -> None:
    if h.places[0].rows:
        measure(m, h, t, y)


@helper
def _narrowed(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, cubic: int, a: float, b: float) -> float:
    """The end of the interval from a to b of a step in which all that is watched is told by its values at both ends."""
    v, found = w.places[0], b
    n = v.rows + v.guards
    for part_of in (within.EARLY, within.LATE):
        _sample(m, h, w, run, x, room, cubic, a + part_of * (b - a), v.middle, v.middle_rate)
        for e in range(n + v.many):
            k = _entry(w, e)
            cause = cause_of(w, k)
            if within.is_followed(w, k, cause):
                found = min(found, within.inspect(w, k, cause, a, b, part_of, run.h))
        if found < b:
            return float(found)
    return float(found)


@helper
def _sample(
    m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, cubic: int, theta: float, value: int, rate: int
) -> None:
    """Write all that is watched within a step, but reactions, to places in w.real."""
    v = w.places[0]
    n = v.rows + v.guards
    t = within.place(run, x, room, cubic, theta)
    values_at(m, h, w, t, room.errors[0], room.errors[1], part(w.real, value, n), part(w.real, rate, n), False)
    if v.many:
        gaps.sample(m, w, t, room.errors[0], room.errors[1], value, rate)


@inlined
def _entry(w: Any, a: int) -> int:
    """The entry that is looked at after others: rows and guards, then gaps that are due."""
    v = w.places[0]
    n = v.rows + v.guards
    return int(a if a < n else n + w.whole[v.near + a - n])


@inlined
def _note(h: Any, w: Any) -> None:
    """Note the reactions at the state that was evaluated last."""
    if h is not None:
        _note_rows(h, w)


@helper
def _note_rows(h: Any, w: Any) -> None:
    if w.places[0].sliding == 0:
        reacted(h, w)


@inlined
def _turn(h: Any, w: Any) -> None:
    """Bring directions of slides, and signs of guards that were crossed the other way, up to date."""
    if h is not None:
        turn_slides(h, w)
    _turn_guards(w)


@helper
def _turn_guards(w: Any) -> None:
    v = w.places[0]
    sign, value = part(w.whole, v.sign, v.guards), part(w.real, v.value, v.rows + v.guards)
    for k in range(v.guards):
        if value[v.rows + k] < -within.least(w, v.rows + k):
            sign[k] = -sign[k]
            value[v.rows + k] = -value[v.rows + k]
            w.real[v.rate + v.rows + k] = -w.real[v.rate + v.rows + k]


@helper
def counts(w: Any, k: int) -> bool:
    """Whether an entry that falls below 0 is an event: not so a guard that is crossed the other way."""
    v = w.places[0]
    if k < v.rows or gaps.is_gap(w, k):
        return True
    way, sign = w.whole[v.way + k - v.rows], w.whole[v.sign + k - v.rows]
    return bool(way in (0, -sign))


@helper
def _is_crossed(w: Any, k: int) -> bool:
    v = w.places[0]
    value, least = w.real[v.value + k], within.least(w, k)
    if w.real[v.value0 + k] == NEVER and cause_of(w, k) in (CLOSED, STUCK):
        return False
    return bool(value < -least and counts(w, k))


@helper
def _seen(w: Any, k: int, h: float) -> int:
    """What is seen of an entry in a step: 0 for nothing, CROSSED, DIPPED, or RETURNED."""
    v = w.places[0]
    if _is_crossed(w, k):
        return CROSSED
    awaited = counts(w, k)
    if not awaited and w.whole[v.way + k - v.rows] != w.whole[v.sign + k - v.rows]:
        return 0
    return 0 if not _may_dip(w, k, h) else DIPPED if awaited else RETURNED


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


@helper
def _at(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, theta: float, k: int, forces: bool) -> float:
    """The value of entry k within the step; its rate is in `rate`."""
    v, y, dy = w.places[0], room.errors[0], room.errors[1]
    n = v.rows + v.guards
    t = within.place(run, x, room, 0, theta)
    if gaps.is_gap(w, k):
        return gaps.at(m, w, t, y, dy, k)
    if forces:
        run.evaluations += 1
        if evaluate(m, t, y, dy, False) != OK:
            return -NEVER
        _note(h, w)
    values_at(m, h, w, t, y, dy, part(w.real, v.value, n), part(w.real, v.rate, n), forces)
    return float(w.real[v.value + k])


@helper
def locate(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    """Find the first event of a step that has a polynomial, and end the step there: NOWHERE, FOUND, or SHORTER.

    The step is gone through in intervals that tell what is in them. What happens at once with the event is noted in
    `crossed`, by its cause.
    """
    v = w.places[0]
    n = v.rows + v.guards
    whole = n + v.gaps
    value, rate, value0 = part(w.real, v.value, whole), part(w.real, v.rate, whole), part(w.real, v.value0, whole)
    rate0, value1, rate1 = part(w.real, v.rate0, whole), part(w.real, v.value1, whole), part(w.real, v.rate1, whole)
    sign, sign0 = part(w.whole, v.sign, v.guards), part(w.whole, v.sign0, v.guards)
    copy(value, value1)
    copy(rate, rate1)
    copy(part(w.real, v.least, whole), part(w.real, v.least1, whole))
    for k in range(v.guards):
        sign0[k] = sign[k]
    a, width, first = 0.0, 1.0, NEVER
    while a < 1.0 and first == NEVER:
        b = a + width if a + width < 1.0 - 1e-9 else 1.0
        if b < 1.0:
            _sample(m, h, w, run, x, room, 0, b, v.value, v.rate)
        else:
            copy(value1, value)
            copy(rate1, rate)
            for k in range(v.guards):
                turned = float(sign[k] * sign0[k]) if sign0[k] != 0 else 1.0
                value[v.rows + k] *= turned
                rate[v.rows + k] *= turned
        end = _narrowed(m, h, w, run, x, room, 0, a, b)
        if end < b and width > within.NARROWEST:
            width = max(end - a, within.NARROWEST)
            continue
        if end < b and run.h > 1e4 * AT_ONCE * max(1.0, abs(run.t)):
            run.h *= max(a, SHORTEN)
            run.end = run.t + run.h
            for k in range(v.guards):
                sign[k] = sign0[k]
            v.fresh = 1
            return SHORTER
        first = _first(m, h, w, run, x, room, a, b)
        if first == NEVER:
            if b < 1.0:
                _sample(m, h, w, run, x, room, 0, b, v.value, v.rate)
            _turn_guards(w)
            copy(value, value0)
            copy(rate, rate0)
        a = b
        width *= 2.0
    if first == NEVER:
        run.event, v.fresh = 0, 1
        _measure_end(m, h, run, room.y)
        _turn_all_slides(h, w)
        return NOWHERE
    run.event = 1
    v.cause = cause_of(w, v.event)
    run.h *= first
    run.end = run.t + run.h
    return FOUND


@inlined
def _turn_all_slides(h: Any, w: Any) -> None:
    if h is not None:
        turn_slides(h, w)


@helper
def _first(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, start: float, end: float) -> float:
    """Where in the step the first event of an interval is, which is then v.event; NEVER where there is none.

    Reactions are known at the ends of the step only, so they are looked for where one falls below 0 there.
    """
    v = w.places[0]
    n = v.rows + v.guards
    first, which = NEVER, -1
    crossed, when = part(w.whole, v.crossed, n + v.gaps), part(w.real, v.when, n + v.gaps)
    for a in range(n + v.many):
        k = _entry(w, a)
        crossed[k], when[k] = 0, NEVER
        if not _is_reaction(w, k):
            crossed[k] = _seen(w, k, run.h * (end - start))
    for a in range(n + v.many):
        k = _entry(w, a)
        if crossed[k]:
            when[k] = _root(m, h, w, run, x, room, k, False, crossed[k], start, end)
            if when[k] < first and crossed[k] != POLE:
                first, which = when[k], k
    for k in range(v.rows):
        if (which >= 0 or end == 1.0) and _is_reaction(w, k) and w.real[v.value1 + k] < -w.real[v.least1 + k]:
            crossed[k], w.real[v.least + k] = CROSSED, w.real[v.least1 + k]
            when[k] = _root(m, h, w, run, x, room, k, True, CROSSED, 0.0, 1.0)
            if when[k] < first:
                first, which = when[k], k
    if first < start:  # guards have the signs that they had before
        for k in range(v.guards):
            w.whole[v.sign + k] = w.whole[v.sign0 + k]
    for k in range(v.rows, n):  # guards that are below 0 there, and above it again where the interval would have ended
        sought = start < first < NEVER and not crossed[k] and counts(w, k)
        if sought and _at(m, h, w, run, x, room, first, k, False) < -within.least(w, k):
            crossed[k] = CROSSED
            when[k] = _root(m, h, w, run, x, room, k, False, CROSSED, start, first)
            if when[k] < first and crossed[k] != POLE:
                first, which = when[k], k
    span = AT_ONCE * max(1.0, abs(run.t)) / run.h
    for a in range(n + v.many):
        k = _entry(w, a)
        seen, crossed[k] = crossed[k], 0
        if seen == POLE:
            if when[k] < first:
                w.whole[v.sign + k - v.rows] *= -1
        elif when[k] <= first + span and when[k] < NEVER:
            crossed[k] = cause_of(w, k)
            if seen == RETURNED:
                w.whole[v.sign + k - v.rows] *= -1
    v.event = max(which, 0)
    return float(first)


@inlined
def _is_reaction(w: Any, k: int) -> bool:
    """Whether an entry is known only where the flow was evaluated."""
    return bool(cause_of(w, k) in (OPENED, SLIPPED))


@helper
def _root(
    m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, k: int, forces: bool, seen: int, start: float, end: float
) -> float:
    """Where in an interval of the step entry k becomes 0; NEVER if it does not. Of what RETURNED, where it does so.

    A guard that changes its sign at a pole is marked as such in `crossed`.
    """
    v = w.places[0]
    a, b, least, turn = start, end, within.least(w, k), -1.0 if seen == RETURNED else 1.0
    high = w.real[v.value0 + k]
    if seen != CROSSED:  # the least value is where the rate is 0
        for _ in range(50):
            c = 0.5 * (a + b)
            value = _at(m, h, w, run, x, room, c, k, forces)
            if value < 0.0:
                break
            if w.real[v.rate + k] < 0.0:
                a = c
            else:
                b = c
        if not value < -least:
            return NEVER
        a, b = start, c
        if seen == RETURNED:
            a, b, high = c, end, -value
    above = least if k < v.rows else 1e-9 * abs(w.real[v.rate0 + k] * run.h)
    if seen != RETURNED and (forces or not high > above):  # a value above 0 to start from
        high = _at(m, h, w, run, x, room, start, k, forces)
        c = 0.5 * (b - start)
        while not high > above and c > 1e-9:
            a = start + c
            high = _at(m, h, w, run, x, room, a, k, forces)
            c *= 0.5
        if not high > above:
            return start
    low = turn * _at(m, h, w, run, x, room, b, k, forces)
    if not low < 0.0:
        return b
    # false position, where an end that stays counts half [Illinois]
    small, stays, ends, now = 1e-15 * (high - low), 0, max(high, -low), 0.0
    for _ in range(80):
        c = b - low * (b - a) / (low - high)
        if not a < c < b or not now <= ends:  # halves, also where values grow, as towards a pole
            c = 0.5 * (a + b)
        value = turn * _at(m, h, w, run, x, room, c, k, forces)
        now = abs(value)
        if value <= 0.0:
            b, low = c, value
            if stays < 0:
                high *= 0.5
            stays = -1
        else:
            a, high = c, value
            if stays > 0:
                low *= 0.5
            stays = 1
        if abs(value) <= small or b - a <= 1e-14:
            b = c
            break
    if k >= v.rows and not gaps.is_gap(w, k) and not now <= GROWN * ends:
        if seen != CROSSED:
            return NEVER
        w.whole[v.crossed + k] = POLE
    return b


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


@helper
def is_there(m: Any, h: Any, w: Any, run: Any, room: Room, last: int) -> bool:
    """Whether the step that was taken anew ends at the event; else run.h is corrected.

    Its rate at the end is known, for gaps and guards.
    """
    v, y = w.places[0], room.y
    n, k = v.rows + v.guards, v.event
    rate = room.errors[1] if last == 0 else room.stages[last]
    if not run.arrived:
        run.evaluations += 1
        if evaluate(m, run.end, y, rate, True) != OK:
            return True
        run.arrived = int(last > 0)
    value, rates = part(w.real, v.value, n), part(w.real, v.rate, n)
    if v.cause not in (CLOSED, GUARD):
        return True
    if gaps.is_gap(w, k):
        gaps.at(m, w, run.end, y, rate, k)
    else:
        values_at(m, h, w, run.end, y, rate, value, rates, False)
    found, speed = w.real[v.value + k], w.real[v.rate + k]
    if abs(found) <= 0.01 * w.real[v.least + k] or not speed < 0.0:
        return True
    by = -found / speed
    if not abs(by) < 0.1 * run.h or abs(by) <= 4e-16 * abs(run.end):
        return True
    run.h += by
    run.end = run.t + run.h
    return False
