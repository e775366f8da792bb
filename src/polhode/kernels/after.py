"""After a step of impulses: what it cost, what rows do then, what happened in it, and what is done before the next."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import gaps
from .gathering import touching
from .impacts import collide
from .kernel import helper, inlined, kernel
from .machine import FACTORS, GUARDS, LAWS, OK, SINGULAR
from .mode import EQUAL, GUARD, HELD, OFF, SLIDES, STEPPED, TANGENT, UNILATERAL
from .responses import ALL, free_response
from .responses import factor as factor_at
from .settle import settle
from .stepping import Array, Room, copy, fill
from .switch import command
from .views import part, square

AHEAD = 2.0  # of what both ends of a step would travel in it: a gap that is less may act in the next step
STUCK = 1e-9  # of the terms that a speed adds up, and 1/s of the size of its row: slower sticks


@helper
def account(m: Any, h: Any, w: Any, halfway: Array, x: Array, y: Array) -> None:
    """Count the work of impulses: Lam (psi- + psi+) / 2, and that of rows that move by themselves.

    halfway : psi- + psi_f at the middle
    """
    s, v = h.places[0], w.places[0]
    lam, W = part(w.real, v.lam, s.rows), square(h.real, s.W, s.rows, s.rows)
    lost, moved = 0.0, 0.0
    for i in range(s.rows):
        if lam[i] != 0.0:
            if s.moving:
                moved += lam[i] * h.real[s.f_moving + i]
            if w.whole[v.kind + i] != EQUAL:
                twice = halfway[i]
                for k in range(s.rows):
                    twice += W[i, k] * lam[k]
                lost -= 0.5 * lam[i] * twice
    w.real[v.lost], w.real[v.rest] = lost, 0.0
    if v.losses >= 0:
        y[v.losses] = x[v.losses] - lost
    if s.moving:
        y[y.size - 1] = x[x.size - 1] + moved


@helper
def note(h: Any, w: Any) -> None:
    """Note what rows do at the end of the step, and whether that is news: STEPPED."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    mode, kind, size = part(w.whole, v.mode, rows), part(w.whole, v.kind, rows), part(w.whole, v.size, rows)
    lam, psi, W = part(w.real, v.lam, rows), part(h.real, s.psi, rows), square(h.real, s.W, rows, rows)
    speed, still = part(w.real, v.part, rows), part(w.real, v.total, rows)
    copy(lam, part(w.real, v.impulse, rows))
    for i in range(rows):
        speed[i], terms = psi[i], abs(psi[i])
        for k in range(rows):
            speed[i] += W[i, k] * lam[k]
            terms += abs(W[i, k] * lam[k])
        still[i] = STUCK * (terms + np.sqrt(h.real[s.reach2 + i]))
    for i in range(rows):
        news = False
        if kind[i] == UNILATERAL:
            new = HELD if lam[i] > 0.0 and speed[i] <= still[i] else OFF
            news = new != mode[i] or (lam[i] > 0.0 and new == OFF)
            mode[i] = new
        elif kind[i] == TANGENT and size[i] > 0:
            news = _rub(w, i, speed, max(still[i], still[i + size[i] - 1]))
        if news:
            v.cause, v.event = STEPPED, i


@helper
def _rub(w: Any, i: int, speed: Array, still: float) -> bool:
    """Note whether what rubs from row i on sticks, slides, or is open; whether that is new.

    still : slower sticks
    """
    v, fast = w.places[0], 0.0
    rows, of = range(i, i + w.whole[v.size + i]), w.whole[v.of + i]
    for k in rows:
        fast += speed[k] * speed[k]
    fast = np.sqrt(fast)
    new = HELD if fast <= still else SLIDES
    if not w.whole[v.engaged + w.whole[v.group + i]] or (of >= 0 and w.whole[v.mode + of] == OFF):
        new = OFF
    news = new != w.whole[v.mode + i]
    for k in rows:
        w.whole[v.mode + k] = new
        if new == SLIDES:
            w.real[v.slip + k] = speed[k] / fast
    return bool(news)


@helper
def hold_equal(h: Any, w: Any) -> None:
    """Have rows that stay equal hold where the step ends."""
    s, v = h.places[0], w.places[0]
    active, closing = part(h.whole, s.active, s.held), part(h.whole, s.closing, s.held)
    used, used_q = part(h.whole, s.used, s.held), part(h.whole, s.used_q, s.held)
    mode, kind = part(w.whole, v.mode, s.rows), part(w.whole, v.kind, s.rows)
    s.closing_all, s.all = 1, 0
    for i in range(s.rows):
        active[i] = int(kind[i] == EQUAL and mode[i] == HELD)
        closing[i] = active[i] * w.whole[v.holonomic + i]
        used[i], used_q[i] = active[i], closing[i]
        if active[i] and not closing[i]:
            s.closing_all = 0
    s.rank, s.started, s.nearby, v.sliding = s.any, s.any, 0, 0


@inlined
def look(m: Any, w: Any, run: Any, x: Array, room: Room) -> None:
    """Tell of a step that was taken whether something happened in it: run.event, and why in the record of the mode."""
    if w is not None:
        _look(m, w, run, x, room)


@helper
def _look(m: Any, w: Any, run: Any, x: Array, room: Room) -> None:
    v, y, dy = w.places[0], room.y, room.stages[1]
    run.event = int(v.cause == STEPPED)
    if v.guards + v.gaps == 0:
        return
    sign, guard, way = part(w.whole, v.sign, v.guards), part(w.real, v.guard, v.guards), part(w.whole, v.way, v.guards)
    crossed = part(w.whole, v.crossed, v.rows + v.guards)
    for i in range(y.size):
        dy[i] = (y[i] - x[i]) / run.h
    if v.gaps:
        _look_ahead(m, w, run, x, room)
    if v.guards == 0:
        v.fresh = 0
        return
    if v.fresh:
        m.time[0] = run.t
        invoke(m.code[GUARDS], m.time, x, dy, m.p, guard, m.work)
        for k in range(v.guards):
            if sign[k] == 0:  # not known yet
                leads = guard[k] if guard[k] != 0.0 else w.real[v.guard_rate + k]
                sign[k] = int(leads > 0.0) - int(leads < 0.0)
        v.fresh = 0
    m.time[0] = run.end
    invoke(m.code[GUARDS], m.time, y, dy, m.p, guard, m.work)
    for k in range(v.guards):
        crossed[v.rows + k] = 0
        if sign[k] * guard[k] < 0.0:
            if way[k] in (0, -sign[k]):
                if v.cause != GUARD:
                    v.cause, v.event = GUARD, v.rows + k
                crossed[v.rows + k], run.event = GUARD, 1
            else:
                sign[k] = -sign[k]


@helper
def _look_ahead(m: Any, w: Any, run: Any, x: Array, room: Room) -> None:
    """Have the loop return where gaps that are not wired may act in the next step: they are marked as crossed."""
    v, dy = w.places[0], room.stages[1]
    gaps.start(m, w, run.t, x, dy, bool(v.fresh))
    gaps.look(m, w, run.end, room.y, dy, run.h, AHEAD)
    first, v.ahead = v.rows + v.guards, 0
    for a in range(v.many):
        g = w.whole[v.near + a]
        i = w.whole[v.gap_pair + g]
        travels = run.h * (gaps.pace(w, i, v.pose) + gaps.pace(w, i, v.pose1))
        close = not w.real[v.value + first + g] > AHEAD * travels
        w.whole[v.crossed + first + g] = int(close)
        v.ahead += int(close)
    if v.ahead:
        run.halt = 1


@kernel
def impose(m: Any, runs: Array, x: Array) -> int:
    """Do what is wanted between two steps: engage, release, stop what approaches. OK, or why that cannot be."""
    h, w, t = m.constrained, m.switching, runs[0].t
    s, v = h.places[0], w.places[0]
    if v.cause == GUARD:
        for k in range(v.guards):
            if w.whole[v.crossed + v.rows + k]:
                w.whole[v.sign + k] *= -1
                w.whole[v.crossed + v.rows + k] = 0
    m.time[0] = t
    u, before = x[m.nq : m.nq + m.nu], part(w.real, v.u_before, m.nu)
    copy(u, before)
    fill(part(w.real, v.impulse, s.rows), 0.0)
    w.real[v.lost], w.real[v.rest], v.several, v.fresh = 0.0, t, 0, 1
    if s.rows == 0:
        return OK
    status = command(m, h, w, t, x)
    if status == OK and not m.code[FACTORS]:
        status = SINGULAR
    if status == OK:
        factor_at(m, h, x)
        status = OK if s.nearby else SINGULAR
    if status != OK:
        return int(status)
    free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, s.rows), part(w.whole, v.mode, s.rows), ALL)
    invoke(m.code[LAWS], m.time, x, m.p, part(w.real, v.bound, 1), m.work)
    touching(h, w)
    collide(h, w, t, u)
    if v.losses >= 0:
        x[v.losses] -= w.real[v.lost]
    _resting(h, w)
    hold_equal(h, w)
    return int(settle(m, t, x))


@helper
def _resting(h: Any, w: Any) -> None:
    """Note what rows do between steps: what touches and stays is closed, and slides if it moves along."""
    s, v = h.places[0], w.places[0]
    psi = part(h.real, s.psi, s.rows)
    for i in range(s.rows):
        still = STUCK * np.sqrt(h.real[s.reach2 + i])
        if w.whole[v.kind + i] == UNILATERAL:
            w.whole[v.mode + i] = HELD if w.whole[v.closed + i] and psi[i] <= still else OFF
        elif w.whole[v.kind + i] == TANGENT and w.whole[v.size + i] > 0:
            _rub(w, i, psi, still)
