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
acceleration. So the order is 2 while nothing changes. An impact acts at the end of the step in which it
falls, and so does what begins to stick or to slide: by up to h too late, which makes the order 1.

A step costs two such problems, at most six, each of 125 steps of Newton's method and 40 sweeps over its rows, and 30
corrections of what stays equal. Where a problem is not solved by then, the best impulses that contacts and brakes can
carry are taken, and the step is counted as unsolved.

Reference: [Moreau 1988], [Jean 1999] for the first problem; two passes as tried beside others; [Glocker, Pfeiffer 1995]
for Poisson's law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import complementarity as lcp
from . import gaps
from .condense import complete, condense, pick
from .gathering import gather, solve_rows, touching
from .impacts import collide
from .kernel import helper, inlined, kernel
from .machine import CONTROL, FACTORS, FLOW, GUARDS, LAWS, NOT_FINITE, OK, SINGULAR, bring_to_length, rates
from .mode import EQUAL, GUARD, HELD, OFF, SLIDES, STEPPED, TANGENT, UNILATERAL
from .responses import ALL, free_response
from .responses import factor as factor_at
from .settle import measure, settle
from .sliding import spread
from .stepping import Array, Room, copy, fill, first_bad
from .switch import command
from .views import part, square

SOON = 5.0  # steps: what falls freely for less before it strikes does not bounce
NEXT = 1.0  # steps: what free fall would close within as many may be pushed closed by others
AHEAD = 2.0  # of what both ends of a step would travel in it: a gap that is less may act in the next step
SHARES = (1.0, 0.5, 0.25, 0.0)  # of restitution, that are tried until no energy is made
ROUNDING = 1e-12  # of what the work of impulses adds up
STUCK = 1e-9  # of the terms that a speed adds up, and 1/s of the size of its row: slower sticks


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
    if not _freed(m, h, w, size, x, y, free):
        return SINGULAR
    invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
    carried = part(h.real, s.f_carried, s.carried)
    for i in range(nq, s.carried):
        y[i + nu] = x[i + nu] + 0.5 * size * carried[i]

    # what acts in the step, for positions
    new, urge = room.stages[3][:nu], _urge(h, w)
    many = _gathered(h, w, gap, halfway, size, urge)
    _open(h, w, gap, before, halfway, size)
    solved = _impulses(h, w, many, part(w.real, v.rate, s.rows), part(w.real, v.part, s.rows))
    _moved(h, lam, free, new)
    for j in range(nu):
        y[nq + j] = 0.5 * (x[nq + j] + new[j])
    rates(m, middle, y, dq)
    _mark(h, w, many)

    # and for speeds, of what carried, by forces of the mean speeds; as are states beside motion, and work
    run.evaluations += 1
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
    solved = _rebound(h, w, before, size, SOON * size * urge) and solved
    v.unsolved += int(not solved)
    _moved(h, lam, free, new)
    _account(m, h, w, halfway, x, y)
    _noted(h, w)
    copy(new, y[nq : nq + nu])
    _hold(h, w)
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
                many = _gripped(w, many, gather(h, w, i, many, size), size)
        elif w.whole[v.of + i] < 0:
            many = _gripped(w, many, gather(h, w, i, many, size), size)
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    v.equals = pick(W, rho2, equal, equals, square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows))
    return many


@helper
def _gripped(w: Any, first: int, many: int, size: float) -> int:
    """Let what stuck in the step before have its static coefficient; how many rows there are."""
    v = w.places[0]
    for a in range(first, many):
        i = w.whole[v.which + a]
        if w.whole[v.kind + i] == TANGENT:
            owner = i if w.whole[v.size + i] > 0 else i - 1
            if w.whole[v.mode + owner] == HELD:
                w.real[v.mu_s + a] = w.real[v.grip + owner] * (size if w.whole[v.of + owner] < 0 else 1.0)
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
def _marked(h: Any, w: Any, size: float, brakes: bool) -> int:
    """Gather the rows that are marked; how many."""
    s, v = h.places[0], w.places[0]
    many = 0
    for i in range(s.rows):
        if w.real[v.c + i] > 0.0 and (brakes or w.whole[v.kind + i] == UNILATERAL):
            many = _gripped(w, many, gather(h, w, i, many, size), size)
    return many


@helper
def _rebound(h: Any, w: Any, before: Array, size: float, slow: float) -> bool:
    """Solve for the impulses that change the speeds, of the rows that are marked; whether they are solved for."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, lam = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.lam, rows)
    given, back, first = part(w.real, v.rate, rows), part(w.real, v.part, rows), part(w.real, v.total, rows)
    fill(first, 0.0)
    stopped = _stop(h, w, before, first)
    many = _marked(h, w, size, True)
    solved, leaves = True, 0
    for share in SHARES:
        leaves = _leave(h, w, before, first, share, slow)
        for i in range(rows):
            lam[i] = first[i] + back[i]
        _shift(W, lam, psi, 1.0)
        solved = _impulses(h, w, many, given, back)
        for i in range(rows):
            given[i] = first[i] + back[i]  # no longer needed as it was
        _shift(W, given, psi, -1.0)
        for i in range(rows):
            lam[i] += given[i]
        if not leaves or not _makes_energy(W, before, psi, lam):
            break
    return solved and stopped


@helper
def _stop(h: Any, w: Any, before: Array, first: Array) -> bool:
    """Solve for what stops rows that approach at the start of a step, where restitution is Poisson's; else nothing."""
    s, v = h.places[0], w.places[0]
    needed = False
    for i in range(s.rows):
        w.real[v.rate + i], w.real[v.part + i] = 0.0, 0.0
        needed = needed or (w.real[v.c + i] > 0.0 and w.whole[v.poisson + i] != 0)
    if not needed:
        return True
    psi, ended, warm = part(h.real, s.psi, s.rows), part(w.real, v.rate0, s.rows), part(w.real, v.least, s.rows)
    copy(psi, ended)
    copy(before, psi)
    copy(part(w.real, v.warm, s.rows), warm)
    many = _marked(h, w, 0.0, False)
    solved = _impulses(h, w, many, part(w.real, v.rate, s.rows), part(w.real, v.part, s.rows))
    copy(part(w.real, v.lam, s.rows), first)
    copy(warm, part(w.real, v.warm, s.rows))
    copy(ended, psi)
    return solved


@helper
def _leave(h: Any, w: Any, before: Array, first: Array, share: float, slow: float) -> int:
    """Write what rows leave by: by Newton a speed, by Poisson a part of what stopped them; how many do."""
    s, v = h.places[0], w.places[0]
    count = 0
    for i in range(s.rows):
        w.real[v.rate + i], w.real[v.part + i] = 0.0, 0.0
        if w.real[v.c + i] == 0.0 or w.whole[v.kind + i] != UNILATERAL:
            continue
        e, least = share * w.real[v.restitution + i], slow * np.sqrt(h.real[s.reach2 + i])
        if w.whole[v.poisson + i]:
            if h.real[s.W + i * s.rows + i] * first[i] > least:
                w.real[v.part + i] = e * first[i]
                count += int(e > 0.0)
        elif before[i] < -least:
            w.real[v.rate + i] = e * before[i]
            count += int(e > 0.0)
    return count


@helper
def _shift(W: Array, lam: Array, psi: Array, sign: float) -> None:
    """psi += sign W lam"""
    for k in range(lam.size):
        if lam[k] != 0.0:
            for i in range(psi.size):
                psi[i] += sign * W[i, k] * lam[k]


@helper
def _makes_energy(W: Array, before: Array, psi: Array, lam: Array) -> bool:
    """Tell whether Lam (psi- + psi+) / 2 is more than rounding, with psi- where the step starts, psi+ where it ends."""
    gained, terms = 0.0, 0.0
    for i in range(lam.size):
        if lam[i] != 0.0:
            after = psi[i]
            for k in range(lam.size):
                after += W[i, k] * lam[k]
            gained += 0.5 * lam[i] * (before[i] + after)
            terms += 0.5 * abs(lam[i]) * (abs(before[i]) + abs(after))
    return gained > ROUNDING * terms


@helper
def _impulses(h: Any, w: Any, many: int, given: Array, back: Array) -> bool:
    """Solve for the impulses of the rows gathered; whether they are solved for.

    given : what is added to the speeds of rows; back : what unilateral ones carry beside, for friction
    """
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
        b[a] += given[i]
        if w.whole[v.kinds + a] == UNILATERAL:
            w.real[v.mu_s + a] = back[i]
    solved = many == 0 or solve_rows(w, A, b, many) == lcp.SOLVED
    for a in range(many):
        warm[which[a]] = found[a]
    complete(W, psi, equal, v.equals, F, which, many, found, y, part(w.real, v.lam, rows))
    return solved


@helper
def _moved(h: Any, lam: Array, free: Array, new: Array) -> None:
    """new = free + M^-1 J^T lam"""
    fill(new, 0.0)
    spread(h, lam, new)
    for j in range(new.size):
        new[j] += free[j]


@helper
def _account(m: Any, h: Any, w: Any, halfway: Array, x: Array, y: Array) -> None:
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
def _noted(h: Any, w: Any) -> None:
    """Note what rows do at the end of the step, and whether that is news: STEPPED."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    mode, kind, size, of = (part(w.whole, v.mode, rows), part(w.whole, v.kind, rows), part(w.whole, v.size, rows),
                            part(w.whole, v.of, rows))  # fmt: skip
    engaged, group = part(w.whole, v.engaged, v.groups), part(w.whole, v.group, rows)
    lam, psi, W = part(w.real, v.lam, rows), part(h.real, s.psi, rows), square(h.real, s.W, rows, rows)
    speed, slip = part(w.real, v.part, rows), part(w.real, v.slip, rows)
    copy(lam, part(w.real, v.impulse, rows))
    for i in range(rows):
        if kind[i] == EQUAL:
            continue
        speed[i], terms = psi[i], abs(psi[i])
        for k in range(rows):
            speed[i] += W[i, k] * lam[k]
            terms += abs(W[i, k] * lam[k])
        new, still = OFF, STUCK * (terms + np.sqrt(h.real[s.reach2 + i]))
        if kind[i] == UNILATERAL:
            new = HELD if lam[i] > 0.0 and speed[i] <= still else OFF
            if new != mode[i] or (lam[i] > 0.0 and new == OFF):
                v.cause, v.event = STEPPED, i
            mode[i] = new
        elif size[i] == 1:
            new = OFF if not engaged[group[i]] or (of[i] >= 0 and mode[of[i]] == OFF) else HELD
            if new == HELD and abs(speed[i]) > still:
                new, slip[i] = SLIDES, 1.0 if speed[i] > 0.0 else -1.0
            if new != mode[i]:
                v.cause, v.event = STEPPED, i
            mode[i] = new
        elif size[i] == 0:
            first = i - 1
            fast = np.sqrt(speed[first] * speed[first] + speed[i] * speed[i])
            new = OFF if mode[of[first]] == OFF else HELD if fast <= still else SLIDES
            if new != mode[first]:
                v.cause, v.event = STEPPED, first
            for k in range(first, i + 1):
                mode[k] = new
                if new == SLIDES:
                    slip[k] = speed[k] / fast


@helper
def _hold(h: Any, w: Any) -> None:
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
    _hold(h, w)
    return int(settle(m, t, x))


@helper
def _resting(h: Any, w: Any) -> None:
    """Note what rows do between steps: what touches and stays is closed, and slides if it moves along."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    mode, kind, size, of = (part(w.whole, v.mode, rows), part(w.whole, v.kind, rows), part(w.whole, v.size, rows),
                            part(w.whole, v.of, rows))  # fmt: skip
    engaged, group = part(w.whole, v.engaged, v.groups), part(w.whole, v.group, rows)
    psi, slip = part(h.real, s.psi, rows), part(w.real, v.slip, rows)
    for i in range(rows):
        still = STUCK * np.sqrt(h.real[s.reach2 + i])
        if kind[i] == UNILATERAL:
            mode[i] = HELD if w.whole[v.closed + i] and psi[i] <= still else OFF
        elif kind[i] == TANGENT and size[i] > 0:
            fast = abs(psi[i]) if size[i] == 1 else np.sqrt(psi[i] * psi[i] + psi[i + 1] * psi[i + 1])
            new = HELD if fast <= still else SLIDES
            if not engaged[group[i]] or (of[i] >= 0 and mode[of[i]] == OFF):
                new = OFF
            for k in range(i, i + size[i]):
                mode[k] = new
                if new == SLIDES:
                    slip[k] = psi[k] / fast
