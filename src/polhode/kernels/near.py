"""Steps that start, end or turn near a dead point, where a step `across` it is not to be had.

They are the method's own, with states and rates by a chart of the `branch` around the point. Machines whose margin
stays large take no such steps, and pay for nothing. Steps are as elsewhere where rows roll, are driven or come and go,
where speeds are not the rates of coordinates, and where there is no chart.
"""

from __future__ import annotations

from typing import Any

from .branch import PLACES, at, inside, rate
from .chart import LEAVE, NEAR, made, recentre
from .kernel import helper, inlined
from .machine import CLOSURE, NOT_FINITE, OK
from .sizing import Rule
from .stepping import Array, Room, combine, copy, first_bad, hermite, weigh
from .tableaus import Explicit

CLOSE = 0.03  # margin: other steps do not end at a smaller one
SAME = 1e-6  # of a state: what taking it to the branch may change where a chart begins
TRIES = 3  # attempts that may fail
UNKNOWN, CHARTED, DECLINED = 0, 1, -1


@inlined
def ready(places: int, m: Any, h: Any, w: Any, run: Any, fresh: bool, x: Array, room: Room) -> None:
    """Decide whether a step starts near a dead point, and have a chart and its rate there."""
    run.near = 0
    if h is None:
        return
    if w is not None:
        return
    s = h.places[0]
    if places < PLACES or not _is_covered(m, s):
        return
    margin = h.real[s.margin]
    if margin > LEAVE or (fresh and s.near == DECLINED) or run.accepted == 0:
        s.near = UNKNOWN
    if s.near == CHARTED and not fresh:
        recentre(h)
    elif s.near == CHARTED or (s.near == UNKNOWN and (margin < NEAR or (run.accepted == 0 and s.rank < s.rows))):
        _enter(m, h, run, x, room)
    run.near = int(s.near == CHARTED)


@inlined
def _is_covered(m: Any, s: Any) -> bool:
    """Whether speeds are rates of coordinates as far as is seen here, and all rows are of positions that stay."""
    return bool(m.nq == m.nu and m.units.size == 0 and s.closing_all and not s.moving and not m.code[CLOSURE])


@inlined
def ends_close(places: int, m: Any, h: Any, w: Any) -> bool:
    """Whether a step of another kind ends where it should not: at a small margin, or with fewer rows than before."""
    if h is None:
        return False
    if w is not None:
        return False
    s = h.places[0]
    close = s.rank < s.started or (s.rank == s.started and h.real[s.margin] < CLOSE)
    return bool(close and places >= PLACES and s.near == UNKNOWN and _is_covered(m, s))


@helper
def _enter(m: Any, h: Any, run: Any, x: Array, room: Room) -> None:
    """Have a chart where a step starts, and take the rate there anew; the state moves by rounding."""
    s, margin, rank = h.places[0], h.real[h.places[0].margin], h.places[0].rank
    again = s.near == CHARTED and abs(at(h, x)) < inside(h, run)
    if (again and _taken(m, h, run, x, room)) or (made(m, h, run, x, room, margin) and _taken(m, h, run, x, room)):
        s.near = CHARTED
        return
    s.near = DECLINED if margin < NEAR else UNKNOWN
    h.real[s.margin], s.rank, s.nearby = margin, rank, 0


@helper
def _taken(m: Any, h: Any, run: Any, x: Array, room: Room) -> bool:
    """Take the rate where a step starts by the chart; False where the state is not on its branch."""
    y = room.y
    copy(x, y)
    if rate(m, h, run, run.t, y, room.errors[1], room) != OK:
        return False
    for i in range(m.nq + m.nu):
        if not abs(y[i] - x[i]) <= SAME * (1.0 + abs(x[i])):
            return False
    copy(y, x)
    copy(room.errors[1], room.stages[0])
    return True


@helper
def attempt(tableau: Explicit, rule: Rule, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Take a step as `explicit.attempt` does, with states and rates of the chart; OK, or what went wrong."""
    k, y, last = room.stages, room.y, rule.last
    s, run.arrived = h.places[0], 0
    for i in range(1, last + 1):
        combine(y, x, run.h, tableau.A[i], tableau.first[i], i, k)
        status = rate(m, h, run, run.t + tableau.c[i] * run.h if i < last else run.end, y, k[i], room)
        bad = first_bad(k[i], m.counted)
        if status == OK and bad >= 0:
            run.blamed, status = bad, NOT_FINITE
        if status != OK:
            if run.tries >= TRIES:
                run.near, s.near = 0, DECLINED
            return int(status)
    weigh(tableau.E, tableau.edge, run.h, k, room.errors)
    run.arrived = 1
    return OK


@helper
def dense(tableau: Explicit, rule: Rule, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Write the polynomial of such a step; OK, or what went wrong."""
    k, other, margin = room.stages, room.errors[0], h.real[h.places[0].margin]
    status = OK
    for i in range(rule.last + 1, rule.stages):
        combine(other, x, run.h, tableau.A[i], tableau.first[i], i, k)
        status = max(status, rate(m, h, run, run.t + tableau.c[i] * run.h, other, k[i], room))
    h.real[h.places[0].margin] = margin
    hermite(x, room.y, run.h, k[0], k[rule.last], room.polynomial)
    weigh(tableau.D, tableau.edge, run.h, k, room.polynomial[3:])
    return int(status)
