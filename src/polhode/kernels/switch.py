"""What happens at an event: commands, impulses, and the mode that follows.

Reference: [Gillespie, section 4, figure 2]: detect, resolve impulses, choose, go on.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .choice import JAMMED, choose_mode, remember
from .gathering import touching
from .hold import evaluate, reacted
from .impacts import collide, stop_creeping
from .kernel import helper, kernel
from .least import spread_least
from .machine import CAPTURE, CONTROL, LAWS, OK, SINGULAR
from .mode import EQUAL, HELD, OFF, SLIDES
from .responses import ALL, HOLDING, free_response, know
from .responses import factor as factor_at
from .settle import LOOSE, measure, settle
from .sliding import turn_slides
from .stepping import copy, fill
from .views import part

Array = np.ndarray

REFUSED = 20  # what `resolve` returns beside OK and JAMMED: an open loop was to be engaged


@kernel
def resolve(m: Any, runs: Array, x: Array) -> int:
    """Do what is wanted at a state, and find the mode that follows; OK, or why that cannot be.

    runs : (1,), the Run

    What is wanted of constraints is in `wanted`, what happens at once in `crossed`. Writes the
    speeds to x, impulses, the energy they took, and when what comes to rest does so.
    """
    h, w, t = m.constrained, m.switching, runs[0].t
    s, v = h.places[0], w.places[0]
    m.time[0] = t
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    u, before = x[m.nq : m.nq + m.nu], part(w.real, v.u_before, m.nu)
    copy(u, before)
    fill(part(w.real, v.impulse, s.rows), 0.0)
    w.real[v.lost], w.real[v.rest], v.several = 0.0, t, 0
    for k in range(v.guards):
        if w.whole[v.crossed + v.rows + k]:
            w.whole[v.sign + k] *= -1
    if s.rows == 0:
        v.fresh = 1
        return OK
    status = command(m, h, w, t, x)
    if status == OK:
        factor_at(m, h, x)
        if s.nearby:
            free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, s.rows), part(w.whole, v.mode, s.rows), ALL)
        else:
            status = SINGULAR
    if status == OK:
        invoke(m.code[LAWS], m.time, x, m.p, part(w.real, v.bound, 1), m.work)
        remember(w, t)
        touching(h, w)
        stop_creeping(h, w, u)
        status = choose_mode(m, h, w, t, x) if collide(h, w, t, u) else JAMMED
    if status != OK:
        copy(before, u)
        return int(status)
    if v.losses >= 0:
        x[v.losses] -= w.real[v.lost]
    spread_least(h, w, part(w.real, v.impulse, s.rows))
    if s.moving:  # what moves by itself does work by its impulse, too
        moving, impulse = part(h.real, s.f_moving, s.rows), part(w.real, v.impulse, s.rows)
        for i in range(s.rows):
            x[x.size - 1] += impulse[i] * moving[i]
    hold_rows(h, w)
    return int(settle(m, t, x))


@kernel
def adopt(m: Any) -> None:
    """Have the rows of a mode that was set hold from now on."""
    hold_rows(m.constrained, m.switching)


@kernel
def respond_along(m: Any, t: Array, x: Array, tau: Array, dx: Array, lam: Array) -> None:
    """Write the rates of states in one mode and the reactions of all rows, a row each; NaN where a state has none."""
    h, w = m.constrained, m.switching
    s, v = h.places[0], w.places[0]
    for k in range(len(t)):
        copy(tau[k], m.tau)
        fill(lam[k], 0.0)
        if v.sliding > 0:  # by more than a quarter turn since the mode began, maybe
            measure(m, h, t[k], x[k])
            turn_slides(h, w)
        if evaluate(m, t[k], x[k], dx[k], True) != OK:
            fill(dx[k], np.nan)
            fill(lam[k], np.nan)
            continue
        if s.idle:
            continue
        if v.sliding == 0:
            reacted(h, w)
        if s.nearby:
            know(h, part(h.whole, s.active, s.rows), HOLDING)
            spread_least(h, w, part(w.real, v.lam, s.rows))
        copy(part(w.real, v.lam, s.rows), lam[k])


@helper
def command(m: Any, h: Any, w: Any, t: float, x: Array) -> int:
    """Engage and release what is wanted; REFUSED where a loop is open, with nothing changed but captured values."""
    s, v = h.places[0], w.places[0]
    wanted, engaged = part(w.whole, v.wanted, v.groups), part(w.whole, v.engaged, v.groups)
    group, kind, mode = part(w.whole, v.group, s.rows), part(w.whole, v.kind, s.rows), part(w.whole, v.mode, s.rows)
    if v.captures:
        captured, owner = part(w.real, v.captured, v.captures), part(w.whole, v.owner, v.captures)
        invoke(m.code[CAPTURE], m.time, x, m.p, captured, m.work)
        for k in range(v.captures):
            if wanted[owner[k]] > 0:
                m.p[v.captured_at + k] = captured[k]
    measure(m, h, t, x)
    phi, reach2 = part(h.real, s.phi, s.held), part(h.real, s.reach2, s.held)
    for i in range(s.rows):
        if kind[i] == EQUAL and wanted[group[i]] > 0 and phi[i] * phi[i] > LOOSE * LOOSE * reach2[i]:
            v.event = i
            return REFUSED
    for g in range(v.groups):
        if wanted[g] != 0:
            engaged[g] = int(wanted[g] > 0)
            wanted[g] = 0
    for i in range(s.rows):
        if kind[i] == EQUAL:
            mode[i] = HELD if engaged[group[i]] else OFF
    return OK


@helper
def hold_rows(h: Any, w: Any) -> None:
    """Have the rows of the mode hold from now on."""
    s, v = h.places[0], w.places[0]
    mode, holonomic = part(w.whole, v.mode, s.rows), part(w.whole, v.holonomic, s.rows)
    active, closing = part(h.whole, s.active, s.held), part(h.whole, s.closing, s.held)
    used, used_q = part(h.whole, s.used, s.held), part(h.whole, s.used_q, s.held)
    s.closing_all, s.idle, v.sliding = 1, 1, 0
    for i in range(s.rows):
        active[i] = int(mode[i] == HELD)
        closing[i] = active[i] * holonomic[i]
        used[i], used_q[i] = active[i], closing[i]
        if active[i] and not holonomic[i]:
            s.closing_all = 0
        if mode[i] != OFF:
            s.idle = 0
        v.sliding += int(mode[i] == SLIDES)
    s.all, s.rank, s.started, s.nearby = 0, s.any, s.any, 0
    v.fresh = 1
