"""Where in a step the first event is: what `events` saw is located on the polynomial of the step."""

from __future__ import annotations

from typing import Any

from . import gaps, within
from .events import AGAIN, AT_ONCE, CROSSED, POLE, RETURNED, crossing, turn_all_slides, turn_guards
from .hold import evaluate
from .kernel import apart, helper, inlined, rare
from .machine import OK
from .mode import CLOSED, GUARD, OPENED, SLIPPED, STUCK
from .settle import measure
from .stepping import Array, Room, copy
from .views import part
from .watched import NEVER, cause_of, counts, entry, is_redundant, note, values_at

GROWN = 10.0  # of the larger end of a step: where both sides of a change of sign are more, it is a pole
NOWHERE, FOUND, SHORTER = 0, 1, 2  # what `locate` says: no event; one; the step is to be taken anew, shorter
NEAR = 1e-5  # of a load, or of its bound: closer is at it
SHORTEN = 1.0 / 16.0  # of a step in which something changes too fast


@apart
def is_told(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> bool:
    """Whether the ends of a step tell what is watched in it, by a cubic or its polynomial; then it is taken whole."""
    if _narrowed(m, h, w, run, x, room, 0.0, 1.0) < 1.0:
        return False
    run.event = 0
    _measure_end(m, h, run, room.y)
    return True


@apart
def _narrowed(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, a: float, b: float) -> float:
    """The end of the interval from a to b of a step in which all that is watched is told by its values at both ends."""
    v, found = w.places[0], b
    n = v.rows + v.guards
    for part_of in (within.EARLY, within.LATE):
        _sample(m, h, w, run, x, room, a + part_of * (b - a), v.middle, v.middle_rate)
        for e in range(n + v.many):
            k = entry(w, e)
            cause = cause_of(w, k)
            if within.is_followed(w, k, cause):
                found = min(found, within.inspect(w, k, cause, a, b, part_of, run.h))
        if found < b:
            return float(found)
    return float(found)


@apart
def _sample(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, theta: float, value: int, rate: int) -> None:
    """Write all that is watched within a step, but reactions, to places in w.real."""
    v = w.places[0]
    n = v.rows + v.guards
    t = within.place(run, x, room, theta)
    values_at(m, h, w, t, room.errors[0], room.errors[1], part(w.real, value, n), part(w.real, rate, n), False)
    if v.many:
        gaps.sample(m, w, t, room.errors[0], room.errors[1], value, rate)


@rare
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
            _sample(m, h, w, run, x, room, b, v.value, v.rate)
        else:
            copy(value1, value)
            copy(rate1, rate)
            for k in range(v.guards):
                turned = float(sign[k] * sign0[k]) if sign0[k] != 0 else 1.0
                value[v.rows + k] *= turned
                rate[v.rows + k] *= turned
        end = _narrowed(m, h, w, run, x, room, a, b)
        if end < b and width > within.NARROWEST:
            width = max(end - a, within.NARROWEST)
            continue
        if end < b and run.h > 1e4 * AT_ONCE * max(1.0, abs(run.t)):
            run.h *= max(a, SHORTEN)
            run.end = run.t + run.h
            go_back(w)
            return SHORTER
        first = _first(m, h, w, run, x, room, a, b)
        if first == NEVER:
            if b < 1.0:
                _sample(m, h, w, run, x, room, b, v.value, v.rate)
            turn_guards(w)
            copy(value, value0)
            copy(rate, rate0)
        a = b
        width *= 2.0
    if first == NEVER:
        run.event, v.fresh = 0, 1
        _measure_end(m, h, run, room.y)
        turn_all_slides(h, w)
        return NOWHERE
    run.event = 1
    v.cause = cause_of(w, v.event)
    run.h *= first
    run.end = run.t + run.h
    return FOUND


@helper
def go_back(w: Any) -> None:
    """Have guards the signs that they had where the step starts, which is to be taken anew, and nothing happen."""
    v = w.places[0]
    for k in range(v.guards):
        w.whole[v.sign + k] = w.whole[v.sign0 + k]
    for k in range(v.rows + v.guards + v.gaps):
        w.whole[v.crossed + k] = 0
    v.fresh = AGAIN


@rare
def _first(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, start: float, end: float) -> float:
    """Where in the step the first event of an interval is, which is then v.event; NEVER where there is none.

    Reactions are known at the ends of the step only, so they are looked for where one falls below 0 there.
    """
    v = w.places[0]
    n = v.rows + v.guards
    first, which = NEVER, -1
    crossed, when = part(w.whole, v.crossed, n + v.gaps), part(w.real, v.when, n + v.gaps)
    for a in range(n + v.many):
        k = entry(w, a)
        crossed[k], when[k] = 0, NEVER
        starts = cause_of(w, k) == STUCK and within.begins(w, k) and w.real[v.value1 + k] > 0.0
        if not _is_reaction(w, k) and not starts:
            crossed[k] = crossing(w, k, run.h * (end - start))
    for a in range(n + v.many):
        k = entry(w, a)
        if crossed[k]:
            when[k] = _root(m, h, w, run, x, room, k, start, end)
            if when[k] < first and crossed[k] != POLE:
                first, which = when[k], k
    for k in range(v.rows):
        if (which >= 0 or end == 1.0) and _is_reaction(w, k) and w.real[v.value1 + k] < -w.real[v.least1 + k]:
            crossed[k], w.real[v.least + k] = CROSSED, w.real[v.least1 + k]
            when[k] = _root(m, h, w, run, x, room, k, 0.0, 1.0)
            if when[k] < first:
                first, which = when[k], k
    if first < start:  # guards have the signs that they had before
        for k in range(v.guards):
            w.whole[v.sign + k] = w.whole[v.sign0 + k]
    for k in range(v.rows, n):  # guards that are below 0 there, and above it again where the interval would have ended
        sought = start < first < NEVER and not crossed[k] and counts(w, k)
        if sought and _at(m, h, w, run, x, room, first, k) < -within.least(w, k):
            crossed[k] = CROSSED
            when[k] = _root(m, h, w, run, x, room, k, start, first)
            if when[k] < first and crossed[k] != POLE:
                first, which = when[k], k
    span = AT_ONCE * max(1.0, abs(run.t)) / run.h
    for a in range(n + v.many):
        k = entry(w, a)
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


@rare
def _root(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, k: int, start: float, end: float) -> float:
    """Where in an interval of the step entry k, which `crossed` knows, becomes 0; NEVER if it does not.

    A guard that changes its sign at a pole is marked as such in `crossed`.
    """
    v = w.places[0]
    seen = w.whole[v.crossed + k]
    a, b, least, way = start, end, within.least(w, k), -1.0 if seen == RETURNED else 1.0
    high = w.real[v.value0 + k]
    if seen != CROSSED:  # the least value is where the rate is 0
        c = _below(m, h, w, run, x, room, k, start, end)
        if c == NEVER:
            return NEVER
        b = c
        if seen == RETURNED:
            a, b, high = c, end, -w.real[v.value + k]
    above = least if k < v.rows else 1e-9 * abs(w.real[v.rate0 + k] * run.h)
    if seen != RETURNED and (_is_reaction(w, k) or not high > above):  # a value above 0 to start from
        high = _at(m, h, w, run, x, room, start, k)
        c = 0.5 * (b - start)
        while not high > above and c > 1e-9:
            a = start + c
            high = _at(m, h, w, run, x, room, a, k)
            c *= 0.5
        if not high > above:
            return start
    low = way * _at(m, h, w, run, x, room, b, k)
    if not low < 0.0:
        return b
    # false position, where an end that stays counts half [Illinois]
    small, stays, ends, now = 1e-15 * (high - low), 0, max(high, -low), 0.0
    for _ in range(80):
        c = b - low * (b - a) / (low - high)
        if not a < c < b or not now <= ends:  # halves, also where values grow, as towards a pole
            c = 0.5 * (a + b)
        value = way * _at(m, h, w, run, x, room, c, k)
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
        if abs(value) <= small:
            b = c
        if abs(value) <= small or b - a <= 1e-14:  # else at the side where it passed 0
            break
    if k >= v.rows and not gaps.is_gap(w, k) and not now <= GROWN * ends:
        if seen != CROSSED:
            return NEVER
        w.whole[v.crossed + k] = POLE
    return b


@rare
def _below(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, k: int, a: float, b: float) -> float:
    """A place in an interval, in which entry k has a least value, where it is below 0; NEVER without."""
    value = c = 0.0
    for _ in range(50):
        c = 0.5 * (a + b)
        value = _at(m, h, w, run, x, room, c, k)
        if value < 0.0:
            break
        if w.real[w.places[0].rate + k] < 0.0:
            a = c
        else:
            b = c
    return c if value < -within.least(w, k) else NEVER


@rare
def _at(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room, theta: float, k: int) -> float:
    """The value of entry k within the step; its rate is in `rate`."""
    v, y, dy = w.places[0], room.errors[0], room.errors[1]
    n = v.rows + v.guards
    t = within.place(run, x, room, theta)
    if gaps.is_gap(w, k):
        return gaps.at(m, w, t, y, dy, k)
    forces = _is_reaction(w, k)
    if forces:
        run.evaluations += 1
        if evaluate(m, t, y, dy, False) != OK:
            return -NEVER
        note(h, w)
    values_at(m, h, w, t, y, dy, part(w.real, v.value, n), part(w.real, v.rate, n), forces)
    value = w.real[v.value + k]
    return _shared(h, w, value, w.real[v.least + k]) if forces else float(value)


@inlined
def _shared(h: Any, w: Any, value: float, least: float) -> float:
    """The value of a load; of one that is not determined, and within its law, the largest of all loads.

    A foot that others could replace may carry nothing where all is well, so its own load tells no place.
    """
    if h is None:
        return value
    return float(_of_all(w, value, least)) if is_redundant(h, w) else float(value)


@rare
def _of_all(w: Any, value: float, least: float) -> float:
    v = w.places[0]
    if value >= -least:
        for i in range(v.rows):
            value = max(value, abs(w.real[v.lam + i]))
    return value


@rare
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
    if v.cause in (OPENED, SLIPPED):
        return _is_at_bound(m, h, w, run, y, rate)
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


@inlined
def _is_at_bound(m: Any, h: Any, w: Any, run: Any, y: Array, rate: Array) -> bool:
    """Whether a load is at its bound where the step ends; one that jumps there may still be within it: then go on."""
    if h is None:
        return True
    return bool(_load_is_at_bound(m, h, w, run, y, rate))


@rare
def _load_is_at_bound(m: Any, h: Any, w: Any, run: Any, y: Array, rate: Array) -> bool:
    v = w.places[0]
    n, k = v.rows + v.guards, v.event
    note(h, w)
    values_at(m, h, w, run.end, y, rate, part(w.real, v.value, n), part(w.real, v.rate, n), True)
    most = w.real[v.heft + k]
    if v.cause == SLIPPED:
        of = w.whole[v.of + k]
        most = w.real[v.grip + k] * (w.real[v.lam + of] if of >= 0 else 1.0)
    if not NEAR * abs(most) < w.real[v.value + k] < NEVER:
        return True
    run.h += 4e-16 * max(abs(run.end), run.h)
    run.end = run.t + run.h
    return False


@inlined
def _measure_end(m: Any, h: Any, run: Any, y: Array) -> None:
    if h is not None:
        _measure(m, h, run.end, y)


@helper
def _measure(m: Any, h: Any, t: float, y: Array) -> None:
    if h.places[0].rows:
        measure(m, h, t, y)
