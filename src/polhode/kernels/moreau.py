"""Time-stepping: impulses of a whole step, whatever happens in it, without looking for events.

With speeds u_f that a step would have without impulses, from forces at its middle,

    psi+ = W Lam + psi_f,   0 <= psi_N+ + u_N + 2 phi / h  perpendicular  Lam_N >= 0    for positions
                            0 <= psi_N+ + e min(u_N, 0)    perpendicular  Lam_N >= 0    for speeds

The first is without restitution and moves q by the mean of the speeds before and after; the second, over what
carried in the first, changes the speeds. So restitution is not mixed with what is left of a gap, and
a step makes no energy. Friction and brakes as of impulses. Where restitution is Poisson's, the second has two
phases as of an impact (`impacts`): Lam_C stops what approaches where the step begins, without forces, so that what is
only pressed gives nothing back; then psi_f + W Lam_C takes the place of psi_f, and Lam_N >= e Lam_NC. Where restitution
with friction would make energy, it is made smaller, in SHARES.

Rows are taken at the middle of the step for positions, J(q_m), where the mean of the speeds acts; psi of the second
problem is that where the step ends, J(q+) u_f, or what turns would leave its path in each step by h/2 of its
acceleration. So the order is 2 while nothing changes. What bounds friction
and brakes is taken where the forces are, in both problems: that of a gear with losses is a part of the torque that
passes it, which its own impulse changes much within a step. An impact acts at the end of the step in which it
falls, and so does what begins to stick or to slide: by up to h too late, which makes the order 1.

A step costs two such problems, at most six, each of 120 steps of Newton's method and 40 sweeps over its rows, and 30
corrections of what stays equal. Where a problem is not solved by then, the best impulses that contacts and brakes can
carry are taken, and the step is counted as unsolved.

Reference: [Moreau 1988], [Jean 1999] for the first problem; two passes as tried beside others; [Glocker, Pfeiffer 1995]
for Poisson's law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .after import account, hold_equal, note
from .condense import pick
from .gathering import gather
from .kernel import helper, inlined
from .machine import CONTROL, FACTORS, FLOW, LAWS, NOT_FINITE, OK, SINGULAR, bring_to_length, rates
from .mode import EQUAL, HELD, TANGENT, UNILATERAL
from .rebound import gripped, impulses, rebound
from .responses import ALL, free_response
from .responses import factor as factor_at
from .settle import measure, settle
from .sliding import spread
from .stepping import Array, Room, copy, fill, first_bad
from .views import part, square

SOON = 5.0  # steps: what falls freely for less before it strikes does not bounce
NEXT = 1.0  # steps: what free fall would close within as many may be pushed closed by others


@inlined
def attempt(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    """Take a step of size run.h from x to room.y; OK, or what went wrong."""
    if h is None:
        return NOT_FINITE
    if w is None:
        return NOT_FINITE
    return _step(m, h, w, run, x, room)


@helper
def _step(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    s, v, y = h.places[0], w.places[0], room.y
    run.arrived = run.across = 0
    run.evaluations += 1
    v.cause = 0
    copy(x, y)
    if s.rows:
        if not m.code[FACTORS]:
            return SINGULAR
        status = _stepped(m, h, w, run, x, room)
        if status != OK:
            return int(status)
    else:
        _free(m, run, x, room)
    if first_bad(y, m.counted) >= 0:
        run.blamed = first_bad(y, m.counted)
        return NOT_FINITE
    return int(settle(m, run.end, y))


@helper
def _middle(m: Any, run: Any, x: Array, y: Array, dq: Array) -> None:
    """Go to where the speeds lead in half a step; forces there, by the speeds before."""
    rates(m, run.t, x, dq)
    for i in range(m.nq):
        y[i] = x[i] + 0.5 * run.h * dq[i]
    bring_to_length(m, y)
    m.time[0] = run.t + 0.5 * run.h
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, y, m.tau)


@helper
def _free(m: Any, run: Any, x: Array, room: Room) -> None:
    """A step of a machine without rows, by the rates at its middle."""
    nq, size, y, dx = m.nq, run.h, room.y, room.stages[1]
    _middle(m, run, x, y, dx)
    invoke(m.code[FLOW], m.time, y, m.tau, m.p, dx, m.work)
    for i in range(nq, x.size):
        y[i] = x[i] + 0.5 * size * dx[i]
    run.evaluations += 1
    invoke(m.code[FLOW], m.time, y, m.tau, m.p, dx, m.work)
    for i in range(x.size):
        y[i] = x[i] + size * dx[i]


@helper
def _stepped(m: Any, h: Any, w: Any, run: Any, x: Array, room: Room) -> int:
    s, v = h.places[0], w.places[0]
    nq, nu, size, y, dq = m.nq, m.nu, run.h, room.y, room.stages[1]
    middle, before, gap = run.t + 0.5 * size, part(w.real, v.value0, s.rows), part(w.real, v.value, s.rows)
    halfway = part(w.real, v.psi_before, s.rows)

    # gaps and speeds of rows where the step starts
    measure(m, h, run.t, x)
    copy(part(h.real, s.phi, s.rows), gap)
    copy(part(h.real, s.psi, s.rows), before)

    # the middle, and the speeds that a step without impulses leads to, by forces of the speeds before
    _middle(m, run, x, y, dq)
    measure(m, h, middle, y)
    copy(part(h.real, s.psi, s.rows), halfway)
    free, lam = room.stages[2][:nu], part(w.real, v.lam, s.rows)
    invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
    if not _freed(m, h, w, size, x, y, free):
        return SINGULAR
    carried = part(h.real, s.f_carried, s.carried)
    for i in range(nq, s.carried):
        y[i + nu] = x[i + nu] + 0.5 * size * carried[i]

    # what acts in the step, for positions
    new, urge = room.stages[3][:nu], _urge(h, w)
    many = _gathered(h, w, gap, halfway, size, urge)
    _open(h, w, gap, before, halfway, size)
    solved = impulses(h, w, many, part(w.real, v.rate, s.rows), part(w.real, v.part, s.rows))
    _moved(h, lam, free, new)
    for j in range(nu):
        y[nq + j] = 0.5 * (x[nq + j] + new[j])
    rates(m, middle, y, dq)
    _mark(h, w, many)

    # and for speeds, of what carried, by forces of the mean speeds; as are states beside motion, and work
    run.evaluations += 1
    invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
    if not _freed(m, h, w, size, x, y, free):
        return SINGULAR
    for i in range(nq, s.carried):
        y[i + nu] = x[i + nu] + size * carried[i]
    for i in range(s.rows):
        halfway[i] += h.real[s.psi + i]
    for i in range(nq):
        y[i] = x[i] + size * dq[i]
    bring_to_length(m, y)
    measure(m, h, run.end, y)
    solved = rebound(h, w, before, size, SOON * size * urge) and solved
    v.unsolved += int(not solved)
    _moved(h, lam, free, new)
    account(m, h, w, halfway, x, y)
    note(h, w)
    copy(new, y[nq : nq + nu])
    hold_equal(h, w)
    return OK


@helper
def _freed(m: Any, h: Any, w: Any, size: float, x: Array, y: Array, free: Array) -> bool:
    """Write the speeds, and psi, that a step without impulses leads to by the forces at y; y has them then."""
    s, v = h.places[0], w.places[0]
    factor_at(m, h, y)
    if not s.nearby:
        return False
    lam = part(w.real, v.lam, s.rows)
    free_response(h, free, part(w.real, v.r, s.rows), part(w.whole, v.mode, s.rows), ALL)
    fill(lam, 0.0)
    spread(h, lam, free)
    for j in range(m.nu):
        free[j] = x[m.nq + j] + size * free[j]
        y[m.nq + j] = free[j]
    measure(m, h, m.time[0], y)
    return True


@helper
def _urge(h: Any, w: Any) -> float:
    """The largest acceleration at which a gap closes freely, of the sizes that rows are measured by."""
    s, v = h.places[0], w.places[0]
    most = 0.0
    for i in range(s.rows):
        if w.whole[v.kind + i] == UNILATERAL and w.whole[v.engaged + w.whole[v.group + i]]:
            most = max(most, -w.real[v.r + i] / np.sqrt(h.real[s.reach2 + i]))
    return float(most)


@helper
def _gathered(h: Any, w: Any, gap: Array, before: Array, size: float, urge: float) -> int:
    """Gather rows that may act in a step: what may touch, brakes, and beside them what stays equal."""
    s, v = h.places[0], w.places[0]
    kind, group, engaged = (
        part(w.whole, v.kind, s.rows),
        part(w.whole, v.group, s.rows),
        part(w.whole, v.engaged, v.groups),
    )
    psi, equal, mode = part(h.real, s.psi, s.rows), part(w.whole, v.equal, s.rows), part(w.whole, v.mode, s.rows)
    many, equals = 0, 0
    for i in range(s.rows):
        if not engaged[group[i]]:
            continue
        if kind[i] == EQUAL:
            equal[equals] = i
            equals += 1
            mode[i] = HELD
        elif kind[i] == UNILATERAL:
            reach = NEXT * size * size * urge * np.sqrt(h.real[s.reach2 + i])
            if gap[i] + 0.5 * size * (before[i] + psi[i]) <= reach:
                many = gripped(w, many, gather(h, w, i, many, size), size)
        elif w.whole[v.of + i] < 0:
            many = gripped(w, many, gather(h, w, i, many, size), size)
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    v.equals = pick(W, rho2, equal, equals, square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows))
    return many


@helper
def _open(h: Any, w: Any, gap: Array, before: Array, halfway: Array, size: float) -> None:
    """Write what moves rows beside impulses, as a speed; and that they carry nothing beside.

    u_N + 2 phi / h of what opens; of friction, how rows turn from the middle to the end, as to the middle: so what
    rolls does so at the end of the step.
    """
    s, v = h.places[0], w.places[0]
    for i in range(s.rows):
        opens = w.whole[v.kind + i] == UNILATERAL
        w.real[v.rate + i] = halfway[i] + 2.0 * gap[i] / size if opens else halfway[i] - before[i]
        w.real[v.part + i] = 0.0


@helper
def _mark(h: Any, w: Any, many: int) -> None:
    """Mark those of the rows gathered that carried, and brakes."""
    s, v = h.places[0], w.places[0]
    lam, c = part(w.real, v.lam, s.rows), part(w.real, v.c, s.rows)
    which, kinds = part(w.whole, v.which, many), part(w.whole, v.kinds, many)
    for i in range(s.rows):
        c[i] = 0.0
    for a in range(many):
        i = which[a]
        brake = kinds[a] == TANGENT and w.whole[v.of + i] < 0 and w.whole[v.size + i] > 0
        if brake or (kinds[a] == UNILATERAL and lam[i] > 0.0):
            c[i] = 1.0


@helper
def _moved(h: Any, lam: Array, free: Array, new: Array) -> None:
    """new = free + M^-1 J^T lam"""
    fill(new, 0.0)
    spread(h, lam, new)
    for j in range(new.size):
        new[j] += free[j]
