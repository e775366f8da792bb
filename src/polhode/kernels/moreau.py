"""Time-stepping: impulses of a whole step, whatever happens in it, without looking for events.

With speeds u_f that a step would have without impulses, from forces at its middle,

    psi+ = W Lam + psi_f,   0 <= psi_N+ + u_N + 2 phi / h  perpendicular  Lam_N >= 0    for positions
                            0 <= psi_N+ + e min(u_N, 0)    perpendicular  Lam_N >= 0    for speeds

The first is without restitution and moves q by the mean of the speeds before and after; the second, over what
carried in the first, changes the speeds. So restitution is not mixed with what is left of a gap, and
a step makes no energy. Friction and brakes as of impulses. About first order.

Reference: [Moreau 1988], [Jean 1999] for the first problem; two passes as tried beside others.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .condense import complete, condense, pick
from .kernel import helper, inlined
from .machine import CONTROL, LAWS, NOT_FINITE, SINGULAR, rates
from .mode import EQUAL, HELD, OFF, SLIDES, TANGENT, UNILATERAL
from .responses import factor as factor_at
from .responses import free_response
from .settle import measure, settle
from .sliding import spread
from .stepping import Array, Room, copy, fill, first_bad
from .switch import gather, solve_rows
from .views import part, square

SLOW = 0.05  # 1/s, of the size that a row is measured by: slower impacts do not bounce


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
    s, v = h.places[0], w.places[0]
    nq, nu, size, y, dq = m.nq, m.nu, run.h, room.y, room.stages[1]
    middle, before = run.t + 0.5 * size, part(w.real, v.value0, s.rows)
    run.arrived = run.across = 0
    run.evaluations += 1

    # gaps and speeds of rows where the step starts
    measure(m, h, run.t, x)
    gap = part(w.real, v.value, s.rows)
    copy(part(h.real, s.phi, s.rows), gap)
    copy(part(h.real, s.psi, s.rows), before)

    # the middle, and the speeds that a step without impulses leads to
    copy(x, y)
    rates(m, run.t, y, dq)
    for i in range(nq):
        y[i] = x[i] + 0.5 * size * dq[i]
    m.time[0] = middle
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, y, m.tau)
    factor_at(m, h, y)
    if not s.nearby:
        return SINGULAR
    free, lam = room.stages[2][:nu], part(w.real, v.lam, s.rows)
    free_response(h, free, part(w.real, v.r, s.rows))
    fill(lam, 0.0)
    spread(h, lam, free)
    for j in range(nu):
        free[j] = x[nq + j] + size * free[j]
        y[nq + j] = free[j]
    invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
    measure(m, h, middle, y)
    carried = part(h.real, s.f_carried, s.carried)
    for i in range(nq, s.carried):
        y[i + nu] = x[i + nu] + size * carried[i]

    # what acts in the step, for positions
    copy(part(w.whole, v.mode, s.rows), part(w.whole, v.closed, s.rows))
    many = _gathered(h, w, gap, before, size)
    new = room.stages[3][:nu]
    _impulses(h, w, many, gap, before, size, True)
    _moved(h, lam, free, new)
    for j in range(nu):
        y[nq + j] = 0.5 * (x[nq + j] + new[j])
    rates(m, middle, y, dq)
    for i in range(nq):
        y[i] = x[i] + size * dq[i]

    # and for speeds, of what carried
    copy(lam, part(w.real, v.c, s.rows))
    _impulses(h, w, many, gap, before, size, False)
    _moved(h, lam, free, new)
    for j in range(nu):
        y[nq + j] = new[j]
    _count(h, w, before, x, y)
    if first_bad(y, m.counted) >= 0:
        run.blamed = first_bad(y, m.counted)
        return NOT_FINITE
    if _hold(h, w):
        run.halt = 1
    return int(settle(m, run.end, y))


@helper
def _count(h: Any, w: Any, before: Array, x: Array, y: Array) -> None:
    """Write the work of impacts and friction, and of constraints that move, with that of the step."""
    s, v = h.places[0], w.places[0]
    lost, psi, W = 0.0, part(h.real, s.psi, s.rows), square(h.real, s.W, s.rows, s.rows)
    lam = part(w.real, v.lam, s.rows)
    for i in range(s.rows):
        if w.whole[v.kind + i] != EQUAL and lam[i] != 0.0:
            twice = before[i] + psi[i]
            for k in range(s.rows):
                twice += W[i, k] * lam[k]
            lost -= 0.5 * lam[i] * twice
    if v.losses >= 0:
        y[v.losses] = x[v.losses] - lost
    if s.moving:
        moving, work = part(h.real, s.f_moving, s.rows), 0.0
        for i in range(s.rows):
            work += lam[i] * moving[i]
        y[y.size - 1] = x[y.size - 1] + work


@helper
def _gathered(h: Any, w: Any, gap: Array, before: Array, size: float) -> int:
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
        mode[i] = OFF
        if kind[i] == EQUAL and engaged[group[i]]:
            equal[equals] = i
            equals += 1
            mode[i] = HELD
        elif (kind[i] == UNILATERAL and engaged[group[i]] and gap[i] + 0.5 * size * (before[i] + psi[i]) <= 0.0) or (
            kind[i] == TANGENT and w.whole[v.of + i] < 0 and engaged[group[i]]
        ):
            many = gather(h, w, i, many, size)
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    v.equals = pick(W, rho2, equal, equals, square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows))
    return many


@helper
def _impulses(h: Any, w: Any, many: int, gap: Array, before: Array, size: float, positions: bool) -> None:
    """Solve for the impulses of the rows gathered."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows)
    which, equal, F = part(w.whole, v.which, many), part(w.whole, v.equal, rows), square(w.real, v.F, rows, rows)
    A, b, y = square(w.real, v.A, many, many), part(w.real, v.b, many), part(w.real, v.y, rows)
    condense(W, psi, equal, v.equals, F, which, many, square(w.real, v.X, rows, rows), y, A, b)
    found, warm = part(w.real, v.found, many), part(w.real, v.warm, rows)
    for a in range(many):
        i = which[a]
        found[a] = warm[i]
        if w.whole[v.kinds + a] == UNILATERAL:
            if positions:
                b[a] += before[i] + 2.0 * gap[i] / size
            elif w.real[v.c + i] <= 0.0:
                b[a] = abs(b[a]) + 1.0  # it did not carry
            elif before[i] < -SLOW * np.sqrt(h.real[s.reach2 + i]):
                b[a] += w.real[v.restitution + i] * before[i]
    solve_rows(w, A, b, many)
    for a in range(many):
        warm[which[a]] = found[a]
    complete(W, psi, equal, v.equals, F, which, many, found, y, part(w.real, v.lam, rows))


@helper
def _moved(h: Any, lam: Array, free: Array, new: Array) -> None:
    """new = free + M^-1 J^T lam, and psi with it."""
    fill(new, 0.0)
    spread(h, lam, new)
    for j in range(new.size):
        new[j] += free[j]


@helper
def _hold(h: Any, w: Any) -> bool:
    """Have rows that stay equal hold where the step ends; note what the others did. Whether that is new."""
    s, v = h.places[0], w.places[0]
    active, closing = part(h.whole, s.active, s.held), part(h.whole, s.closing, s.held)
    used, used_q = part(h.whole, s.used, s.held), part(h.whole, s.used_q, s.held)
    mode, lam = part(w.whole, v.mode, s.rows), part(w.real, v.lam, s.rows)
    psi, W = part(h.real, s.psi, s.rows), square(h.real, s.W, s.rows, s.rows)
    s.closing_all = 1
    for i in range(s.rows):
        active[i] = int(mode[i] == HELD)
        closing[i] = active[i] * w.whole[v.holonomic + i]
        used[i], used_q[i] = active[i], closing[i]
        if active[i] and not closing[i]:
            s.closing_all = 0
    s.rank, s.started, s.nearby, v.sliding = s.any, s.any, 0, 0
    size, of, slip = part(w.whole, v.size, s.rows), part(w.whole, v.of, s.rows), part(w.real, v.slip, s.rows)
    for i in range(s.rows):
        if w.whole[v.kind + i] == UNILATERAL and lam[i] != 0.0:
            mode[i] = HELD
        acts = w.whole[v.engaged + w.whole[v.group + i]] if of[i] < 0 else int(lam[of[i]] != 0.0)
        if w.whole[v.kind + i] == TANGENT and size[i] > 0 and acts:
            fast = 0.0
            for k in range(i, i + size[i]):
                slip[k] = psi[k]
                for j in range(s.rows):
                    slip[k] += W[k, j] * lam[j]
                fast += slip[k] * slip[k]
            fast = np.sqrt(fast)
            for k in range(i, i + size[i]):
                mode[k] = SLIDES if fast > 1e-9 * np.sqrt(h.real[s.reach2 + i]) else HELD
                slip[k] = slip[k] / fast if mode[k] == SLIDES else 0.0
    was = part(w.whole, v.closed, s.rows)
    changed = False
    for i in range(s.rows):
        changed = changed or mode[i] != was[i]
    return changed
