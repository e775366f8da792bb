"""What happens at an event: impulses, and the mode that follows.

    M (u+ - u-) = J^T Lam     psi+ = 0 of rows that stay equal
                              0 <= psi_N+ + e psi_N-  perpendicular  Lam_N >= 0,  |Lam_T| <= mu Lam_N
    M udot = b + J^T lam      the same of accelerations, of what touches and stays

Positions are kept. Restitution by Newton, as above, or by Poisson: what touches is first stopped, by Lam_c, then

    Lam_N - Lam_N,c >= e Lam_N,c

with friction of its own, and what still approaches is stopped again. Where restitution would make energy, as with
friction it can, it is made smaller until it does not.

Reference: [Gillespie, section 4, figure 2]: detect, resolve impulses, choose, go on;
[Pfeiffer, Glocker 1996], Multibody dynamics with unilateral contacts, chapter 8, for Poisson's law.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import complementarity as lcp
from . import modes as few_modes
from .condense import complete, condense, pick
from .hold import evaluate, reacted
from .kernel import helper, inlined, kernel
from .linear import factor, solve
from .machine import CAPTURE, CONTROL, LAWS, OK, SINGULAR
from .mode import EQUAL, GUARD, HELD, OFF, OPENED, SLIDES, SLIPPED, TANGENT, UNILATERAL
from .responses import ALL, free_response
from .responses import factor as factor_at
from .settle import LOOSE, measure, settle
from .sliding import spread
from .stepping import copy, fill
from .views import part, square

Array = np.ndarray

REFUSED, JAMMED = 20, 21  # what `resolve` returns beside OK: an open loop was to be engaged; there is no solution

TOUCH = 1e-9  # of the size that a row is measured by: what is closer touches
STILL = 1e-9  # 1/s, of the same: what is slower stays
REST = 1e-10  # of the same: bounces that are less high come to rest
HARDLY = 1e-12  # of what a row could have in W: nothing moves it
MOVING = 2e-9  # of accelerations: less is none
SHADE = 1e-7  # by which what ended a mode is made to go on


@kernel
def resolve(m: Any, runs: Array, x: Array) -> int:
    """Do what is wanted at a state, and find the mode that follows; OK, or why that cannot be.

    runs : (1,), the Run

    What is wanted of constraints is in `wanted`; the event and its cause in the record of the mode. Writes the
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
    if v.cause == GUARD:
        w.whole[v.sign + v.event - v.rows] *= -1
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
        touching(h, w)
        collide(h, w, t, u)
        status = _choose(m, h, w, t, x)
    if status != OK:
        copy(before, u)
        return int(status)
    if v.losses >= 0:
        x[v.losses] -= w.real[v.lost]
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
        if evaluate(m, t[k], x[k], dx[k], True) != OK:
            fill(dx[k], np.nan)
            fill(lam[k], np.nan)
            continue
        if s.idle:
            continue
        if v.sliding == 0:
            reacted(h, w)
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
def touching(h: Any, w: Any) -> None:
    """Mark unilateral rows that touch, and gather the independent ones of those that stay equal."""
    s, v = h.places[0], w.places[0]
    closed, kind, group = part(w.whole, v.closed, s.rows), part(w.whole, v.kind, s.rows), part(w.whole, v.group, s.rows)
    engaged, mode, equal = (
        part(w.whole, v.engaged, v.groups),
        part(w.whole, v.mode, s.rows),
        part(w.whole, v.equal, s.rows),
    )
    phi, reach2 = part(h.real, s.phi, s.held), part(h.real, s.reach2, s.held)
    many = 0
    for i in range(s.rows):
        touches = kind[i] == UNILATERAL and engaged[group[i]] and phi[i] <= TOUCH * np.sqrt(reach2[i])
        closed[i] = int(touches)
        if kind[i] == EQUAL and mode[i] == HELD:
            equal[many] = i
            many += 1
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    v.equals = pick(W, rho2, equal, many, square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows))


@inlined
def _slow(h: Any, i: int) -> float:
    """The speed of a row below which it is still."""
    return float(STILL * np.sqrt(h.real[h.places[0].reach2 + i]))


@helper
def _add(w: Any, many: int, i: int, kind: int, size: int, of: int, mu: float, mu_s: float) -> int:
    """Put a row into the problem; how many there are then."""
    v = w.places[0]
    w.whole[v.which + many], w.whole[v.kinds + many], w.whole[v.sizes + many] = i, kind, size
    w.whole[v.ofs + many], w.real[v.mu + many], w.real[v.mu_s + many] = of, mu, mu_s
    w.real[v.found + many] = 0.0
    return many + 1


@helper
def _moves(h: Any, i: int) -> bool:
    """Whether anything moves a row."""
    s = h.places[0]
    return bool(h.real[s.W + i * s.rows + i] > HARDLY * h.real[s.rho2 + i])


@helper
def gather(h: Any, w: Any, i: int, many: int, span: float) -> int:
    """Put a unilateral row and its friction, where it has any, into the problem of impulses; or a brake.

    span : the time in which a brake with a capacity acts
    """
    s, v = h.places[0], w.places[0]
    size, of, mu = part(w.whole, v.size, s.rows), part(w.whole, v.of, s.rows), part(w.real, v.bound, s.rows)
    if w.whole[v.kind + i] == TANGENT:
        return _add(w, many, i, TANGENT, 1, -1, mu[i] * span, mu[i] * span)
    normal = many
    many = _add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
    j = i + 1
    if j < s.rows and size[j] > 0 and of[j] == i:
        rows = 0
        for k in range(j, j + size[j]):
            rows += int(_moves(h, k))
        for k in range(j, j + size[j]):
            if _moves(h, k):
                many = _add(w, many, k, TANGENT, rows, normal, mu[j], mu[j])
                rows = 0
    return many


@helper
def collide(h: Any, w: Any, t: float, u: Array) -> None:
    """Change the speeds by impulses until nothing that touches approaches, and engaged rows move along."""
    s, v = h.places[0], w.places[0]
    psi, closed = part(h.real, s.psi, s.rows), part(w.whole, v.closed, s.rows)
    equal = part(w.whole, v.equal, s.rows)
    for _ in range(20):
        meets = False
        for i in range(s.rows):
            meets = meets or (closed[i] != 0 and psi[i] < -_slow(h, i))
        for k in range(v.equals):
            meets = meets or abs(psi[equal[k]]) > _slow(h, equal[k])
        if not meets:
            return
        _strike(h, w, t, u)


@helper
def _strike(h: Any, w: Any, t: float, u: Array) -> None:
    """Solve for the impulses of all that touches, and apply them; less restitution where they would make energy."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, before = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.psi_before, rows)
    total, closed, poisson = part(w.real, v.total, rows), part(w.whole, v.closed, rows), part(w.whole, v.poisson, rows)
    copy(psi, before)
    share, gained, phased = 1.0, 0.0, False
    for i in range(rows):
        phased = phased or (closed[i] != 0 and poisson[i] != 0)
    for attempt in range(32):
        copy(before, psi)
        fill(total, 0.0)
        if phased:
            _stop(h, w, t, 0.0)
            _give_back(h, w, t, share)
        _stop(h, w, t, share)
        gained = _energy(W, before, total)
        if not gained > 0.0 or share == 0.0:
            break
        share = 0.5 * share if attempt < 30 else 0.0
    w.real[v.lost] -= gained
    copy(before, psi)
    _apply(h, w, total, u)


@helper
def _stop(h: Any, w: Any, t: float, share: float) -> None:
    """Stop what approaches, or have it leave by a share of Newton's restitution where that is its law."""
    s, v = h.places[0], w.places[0]
    many = 0
    for i in range(s.rows):
        if w.whole[v.closed + i]:
            many = gather(h, w, i, many, 0.0)
    A, b = _condensed(h, w, many)
    which, kinds = part(w.whole, v.which, many), part(w.whole, v.kinds, many)
    for a in range(many):
        i = which[a]
        speed = w.real[v.psi_before + i]
        if kinds[a] == UNILATERAL and speed < 0.0 and share > 0.0 and not w.whole[v.poisson + i]:
            b[a] += share * _bounce(h, w, i, -speed, t) * speed
    _respond(h, w, A, b, many)


@helper
def _give_back(h: Any, w: Any, t: float, share: float) -> None:
    """Give back a share of what stopped rows with Poisson's restitution, and the friction that this brings."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, lam = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.lam, rows)
    total, size, of = part(w.real, v.total, rows), part(w.whole, v.size, rows), part(w.whole, v.of, rows)
    back = part(w.real, v.part, rows)
    for i in range(rows):
        back[i] = 0.0
        if w.whole[v.poisson + i] and w.whole[v.closed + i] and total[i] > 0.0:
            back[i] = share * _bounce(h, w, i, W[i, i] * total[i], t) * total[i]
    copy(back, lam)
    _add_up(W, lam, psi, total)

    # normal impulses are known then, so that friction is as of brakes
    many = 0
    for i in range(rows):
        if size[i] > 0 and of[i] >= 0 and back[of[i]] > 0.0:
            most, alive = w.real[v.bound + i] * back[of[i]], 0
            for k in range(i, i + size[i]):
                alive += int(_moves(h, k))
            for k in range(i, i + size[i]):
                if _moves(h, k):
                    many = _add(w, many, k, TANGENT, alive, -1, most, most)
                    alive = 0
    A, b = _condensed(h, w, many)
    _respond(h, w, A, b, many)


@helper
def _condensed(h: Any, w: Any, many: int) -> tuple[Array, Array]:
    """A and b of the rows gathered, beside those that stay equal."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows)
    which, equal, F = part(w.whole, v.which, rows), part(w.whole, v.equal, rows), square(w.real, v.F, rows, rows)
    A, b, X = square(w.real, v.A, many, many), part(w.real, v.b, many), square(w.real, v.X, rows, rows)
    condense(W, psi, equal, v.equals, F, which, many, X, part(w.real, v.y, rows), A, b)
    return A, b


@helper
def _respond(h: Any, w: Any, A: Array, b: Array, many: int) -> None:
    """Solve for the impulses of the rows gathered and of those that stay equal, and add them up."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, lam = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.lam, rows)
    which, equal, F = part(w.whole, v.which, rows), part(w.whole, v.equal, rows), square(w.real, v.F, rows, rows)
    found = part(w.real, v.found, many)
    fill(found, 0.0)
    if many:
        solve_rows(w, A, b, many)
    complete(W, psi, equal, v.equals, F, which, many, found, part(w.real, v.y, rows), lam)
    _add_up(W, lam, psi, part(w.real, v.total, rows))


@helper
def _add_up(W: Array, lam: Array, psi: Array, total: Array) -> None:
    """total += lam, psi += W lam"""
    for i in range(lam.size):
        total[i] += lam[i]
        for k in range(lam.size):
            psi[i] += W[i, k] * lam[k]


@helper
def _energy(W: Array, psi: Array, lam: Array) -> float:
    """What impulses add to the kinetic energy: Lam (psi- + psi+) / 2."""
    gained = 0.0
    for i in range(lam.size):
        if lam[i] != 0.0:
            twice = 2.0 * psi[i]
            for k in range(lam.size):
                twice += W[i, k] * lam[k]
            gained += 0.5 * lam[i] * twice
    return gained


@helper
def _apply(h: Any, w: Any, lam: Array, u: Array) -> None:
    """Change the speeds by impulses, and with them psi."""
    s, v = h.places[0], w.places[0]
    W, psi, impulse = square(h.real, s.W, s.rows, s.rows), part(h.real, s.psi, s.rows), part(w.real, v.impulse, s.rows)
    du = part(h.real, s.trial, s.n)
    fill(du, 0.0)
    spread(h, lam, du)
    for j in range(s.n):
        u[j] += du[j]
    for i in range(s.rows):
        impulse[i] += lam[i]
        for k in range(s.rows):
            psi[i] += W[i, k] * lam[k]


@helper
def _bounce(h: Any, w: Any, i: int, speed: float, t: float) -> float:
    """The restitution of a row that meets with a speed; 0 where that is too low a bounce, and when it rests then."""
    s, v = h.places[0], w.places[0]
    e, pressed = w.real[v.restitution + i], -w.real[v.r + i]
    if not e > 0.0:
        return 0.0
    if e * speed < np.sqrt(2.0 * max(pressed, 0.0) * REST * np.sqrt(h.real[s.reach2 + i])):
        if e < 1.0:
            w.real[v.rest] = max(w.real[v.rest], t + 2.0 * e * speed / (pressed * (1.0 - e)))
        return 0.0
    return float(e)


@helper
def solve_rows(w: Any, A: Array, b: Array, many: int) -> int:
    """Solve the problem of the rows gathered, with the coefficients of rows that stick."""
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    mu, found = part(w.real, v.mu_s, many), part(w.real, v.found, many)
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    return int(lcp.solve(A, b, kinds, sizes, ofs, mu, found, room, ints))


@helper
def _choose(m: Any, h: Any, w: Any, t: float, x: Array) -> int:
    """Find which of the rows that touch hold, and which of them stick and slide; OK, or JAMMED.

    Where there is no such mode, an impulse without a collision may make one [Genot, Brogliato].
    """
    u = x[m.nq : m.nq + m.nu]
    for attempt in range(3):
        solutions = _modes(m, h, w, x)
        if solutions > 0:
            w.places[0].several = int(solutions > 1)
            return OK
        if attempt == 2 or not _wedge(h, w, u):
            break
    return JAMMED


@helper
def _modes(m: Any, h: Any, w: Any, x: Array) -> int:
    """How many modes are consistent at the level of accelerations, 2 for more; one of them is set."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    factor_at(m, h, x)
    free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, s.rows), part(w.whole, v.mode, s.rows), ALL)
    invoke(m.code[LAWS], m.time, x, m.p, part(w.real, v.bound, 1), m.work)
    kind, size, of = part(w.whole, v.kind, rows), part(w.whole, v.size, rows), part(w.whole, v.of, rows)
    mode, closed, group = part(w.whole, v.mode, rows), part(w.whole, v.closed, rows), part(w.whole, v.group, rows)
    engaged, psi, slip = part(w.whole, v.engaged, v.groups), part(h.real, s.psi, rows), part(w.real, v.slip, rows)
    bound, grip = part(w.real, v.bound, rows), part(w.real, v.grip, rows)
    which = part(w.whole, v.which, rows)

    # rows whose reactions are sought: what touches and stays, and what may stick
    for i in range(rows):
        if kind[i] != EQUAL:
            mode[i] = OFF
    many, sets, single = 0, 0, True
    for i in range(rows):
        if kind[i] == UNILATERAL and closed[i] and abs(psi[i]) <= _slow(h, i):
            many = _add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
            mode[i] = HELD
            sets += 1
    normals = many
    for i in range(rows):
        if kind[i] == TANGENT and size[i] > 0 and engaged[group[i]] and (of[i] < 0 or mode[of[i]] == HELD):
            fast, alive = 0.0, 0
            for k in range(i, i + size[i]):
                fast += psi[k] * psi[k]
                alive += int(_moves(h, k))
            fast = np.sqrt(fast)
            if fast > _slow(h, i):
                for k in range(i, i + size[i]):
                    mode[k], slip[k] = SLIDES, psi[k] / fast
                continue
            normal = -1
            for a in range(normals):
                if which[a] == of[i]:
                    normal = a
            sets += int(of[i] < 0)
            single = single and alive <= 1
            for k in range(i, i + size[i]):
                mode[k] = HELD
                if _moves(h, k):
                    many = _add(w, many, k, TANGENT, alive, normal, bound[i], grip[i])
                    alive = 0
    every = many
    for i in range(rows):
        if mode[i] == SLIDES:
            which[every] = i
            every += 1
    return _consistent(h, w, many, every, single and sets <= 4)


@helper
def _prepared(h: Any, w: Any, many: int, every: int) -> float:
    """Write A, by X, and b for the first `many` of the rows gathered; the rest slides. The largest of b.

    What slides has a force that is known, or one that its normal row brings with it.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, r, equal = square(h.real, s.W, rows, rows), part(w.real, v.r, rows), part(w.whole, v.equal, rows)
    which, F, X = part(w.whole, v.which, every), square(w.real, v.F, rows, rows), square(w.real, v.X, rows, rows)
    whole, b = square(w.real, v.A, every, every), part(w.real, v.b, every)
    condense(W, r, equal, v.equals, F, which, every, X, part(w.real, v.y, rows), whole, b)
    of, size = part(w.whole, v.of, rows), part(w.whole, v.size, rows)
    slip, bound = part(w.real, v.slip, rows), part(w.real, v.bound, rows)
    for e in range(many, every):
        first = which[e] if size[which[e]] > 0 else which[e] - 1
        normal = -1
        for a in range(many):
            if which[a] == of[first]:
                normal = a
        for a in range(every):
            push = bound[first] * slip[which[e]] * whole[a, e]
            if of[first] < 0:
                b[a] -= push
            elif normal >= 0:
                whole[a, normal] -= push
    A, most = square(w.real, v.X, many, many), 0.0
    for a in range(many):
        most = max(most, abs(b[a]))
        for c in range(many):
            A[a, c] = whole[a, c]
    return most


@helper
def _consistent(h: Any, w: Any, many: int, every: int, few: bool) -> int:
    """Solve for the first `many` of the rows gathered, and set their modes. How many solutions there are."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    most = _prepared(h, w, many, every)
    if many == 0:
        return 1
    which, A, b = part(w.whole, v.which, many), square(w.real, v.X, many, many), part(w.real, v.b, many)
    mode, of, size = part(w.whole, v.mode, rows), part(w.whole, v.of, rows), part(w.whole, v.size, rows)
    slip = part(w.real, v.slip, rows)

    # what ended a mode is made to go on
    kinds, mu_s = part(w.whole, v.kinds, many), part(w.real, v.mu_s, many)
    for a in range(many):
        if which[a] == v.event and v.cause == OPENED:
            b[a] = SHADE * max(most, _fastest(w, every)) + (abs(b[a]) if many == 1 else b[a])
        if v.cause == SLIPPED and kinds[a] == TANGENT and (which[a] == v.event or which[a] - 1 == v.event):
            mu_s[a] *= 1.0 - SHADE
    solutions = _few(w, A, b, many) if few else _many(w, A, b, many)
    states = part(w.whole, v.states, many)
    for a in range(many):
        i = which[a]
        if states[a] == few_modes.OPEN:
            mode[i] = OFF
        elif states[a] == few_modes.HELD:
            mode[i] = HELD
        else:
            mode[i] = SLIDES
            slip[i] = w.real[v.part + i] if not few else 1.0 if states[a] == few_modes.SLIP_PLUS else -1.0
    for i in range(rows):  # what nothing presses, and rows of a set that nothing moves
        if size[i] == 2 and mode[i] == SLIDES and few and not _moves(h, i + 1):
            mode[i + 1], slip[i + 1] = SLIDES, 0.0
        if size[i] == 2 and few and not _moves(h, i) and mode[i + 1] == SLIDES:
            mode[i], slip[i] = SLIDES, 0.0
        if w.whole[v.kind + i] == TANGENT and of[i] >= 0 and mode[of[i]] == OFF:
            mode[i] = OFF
    return solutions


@helper
def _few(w: Any, A: Array, b: Array, many: int) -> int:
    """All modes of few rows, tried one by one."""
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    mu, mu_s, found = part(w.real, v.mu, many), part(w.real, v.mu_s, many), part(w.real, v.found, many)
    states, allowed = part(w.whole, v.states, many), part(w.whole, v.allowed, many)
    for a in range(many):
        allowed[a], found[a] = 15, 0.0
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    return int(few_modes.modes(A, b, kinds, sizes, ofs, mu, mu_s, states, allowed, found, room, ints))


@helper
def _many(w: Any, A: Array, b: Array, many: int) -> int:
    """One mode, from reactions that satisfy all laws; 0 where none was found."""
    v = w.places[0]
    kinds, sizes, states = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.states, many)
    found = part(w.real, v.found, many)
    which = part(w.whole, v.which, many)
    for a in range(many):
        found[a] = 0.0
    if solve_rows(w, A, b, many) != lcp.SOLVED:
        return 0
    moving = MOVING * max(_left(A, b, found, part(w.real, v.c, many)), _fastest(w, many))
    for a in range(many):
        if kinds[a] == UNILATERAL:
            states[a] = few_modes.OPEN if w.real[v.c + a] > moving else few_modes.HELD
        elif sizes[a] > 0:
            second = w.real[v.c + a + 1] if sizes[a] == 2 else 0.0
            fast = np.sqrt(w.real[v.c + a] * w.real[v.c + a] + second * second)
            for c in range(a, a + sizes[a]):
                states[c] = few_modes.HELD if fast <= moving else few_modes.SLIP_PLUS
                w.real[v.part + which[c]] = w.real[v.c + c] / fast if fast > moving else 0.0
    return 1


@helper
def _fastest(w: Any, many: int) -> float:
    """The largest acceleration that a row of the problem has where nothing reacts, before others take it up."""
    v, most = w.places[0], 0.0
    for a in range(many):
        most = max(most, abs(w.real[v.r + w.whole[v.which + a]]))
    for k in range(v.equals):
        most = max(most, abs(w.real[v.r + w.whole[v.equal + k]]))
    return most


@helper
def _left(A: Array, b: Array, found: Array, out: Array) -> float:
    """out = A found + b; the largest of b, or of what the forces do."""
    most = 0.0
    for a in range(b.size):
        out[a] = b[a]
        most = max(most, abs(b[a]))
        for c in range(b.size):
            out[a] += A[a, c] * found[c]
            most = max(most, abs(A[a, c] * found[c]))
    return most


@helper
def examine(h: Any, w: Any, value: Array) -> None:
    """Tell of rows that hold whether their laws can be satisfied together, where reactions are not determined.

    Writes 1 to `value` of a row that only pushes or that sticks, -1 where it cannot go on so.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    kind, size, of, mode = (part(w.whole, v.kind, rows), part(w.whole, v.size, rows), part(w.whole, v.of, rows),
                            part(w.whole, v.mode, rows))  # fmt: skip
    equal, which, grip = part(w.whole, v.equal, rows), part(w.whole, v.which, rows), part(w.real, v.grip, rows)
    free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, rows), part(w.whole, v.mode, s.rows), ALL)
    equals, many = 0, 0
    for i in range(rows):
        if kind[i] == EQUAL and mode[i] == HELD:
            equal[equals] = i
            equals += 1
        if kind[i] == UNILATERAL and mode[i] == HELD:
            many = _add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
    W, rho2 = square(h.real, s.W, rows, rows), part(h.real, s.rho2, rows)
    v.equals = pick(W, rho2, equal, equals, square(w.real, v.F, rows, rows), part(w.real, v.y, rows))
    normals = many
    for i in range(rows):
        if kind[i] == TANGENT and size[i] > 0 and mode[i] == HELD:
            normal, alive = -1, 0
            for a in range(normals):
                if which[a] == of[i]:
                    normal = a
            for k in range(i, i + size[i]):
                alive += int(_moves(h, k))
            for k in range(i, i + size[i]):
                if _moves(h, k):
                    many = _add(w, many, k, TANGENT, alive, normal, grip[i], grip[i])
                    alive = 0
    every = many
    for i in range(rows):
        if mode[i] == SLIDES:
            which[every] = i
            every += 1
    _prepared(h, w, many, every)
    A, b = square(w.real, v.X, many, many), part(w.real, v.b, many)
    warm, found = part(w.real, v.warm, rows), part(w.real, v.found, many)
    for a in range(many):
        found[a] = warm[which[a]]
    solve_rows(w, A, b, many)
    left = part(w.real, v.c, many)
    moving = MOVING * max(_left(A, b, found, left), _fastest(w, many))
    for a in range(many):
        i = which[a]
        warm[i] = found[a]
        owner = i if kind[i] == UNILATERAL or size[i] > 0 else i - 1
        if i == owner or value[owner] > 0.0:
            value[owner] = -1.0 if abs(left[a]) > moving else 1.0


@helper
def _wedge(h: Any, w: Any, u: Array) -> bool:
    """Stop what slides where it touches, by an impulse without a collision; False where friction cannot."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    closed, kinds, ofs = part(w.whole, v.closed, rows), part(w.whole, v.kinds, rows), part(w.whole, v.ofs, rows)
    many = 0
    for i in range(rows):
        if closed[i]:
            many = gather(h, w, i, many, 0.0)
    W, psi, equal = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.whole, v.equal, rows)
    which, F, X = part(w.whole, v.which, rows), square(w.real, v.F, rows, rows), square(w.real, v.X, rows, rows)
    y, b, found, lam = (part(w.real, v.y, rows), part(w.real, v.b, many), part(w.real, v.found, many),
                        part(w.real, v.lam, rows))  # fmt: skip
    A = square(w.real, v.A, many, many)
    condense(W, psi, equal, v.equals, F, which, many, X, y, A, b)
    for a in range(many):
        b[a] = -b[a]
        for c in range(a):
            A[a, c], A[c, a] = A[c, a], A[a, c]
    if many == 0 or not factor(A, part(w.whole, v.ints_at, many)):
        return False
    solve(A, part(w.whole, v.ints_at, many), b)
    for a in range(many):
        found[a] = b[a]
    moved = False
    for a in range(many):
        if kinds[a] == UNILATERAL and found[a] < 0.0:
            return False
        if w.whole[v.sizes + a] > 0:
            pull = found[a] * found[a] + (found[a + 1] * found[a + 1] if w.whole[v.sizes + a] == 2 else 0.0)
            if np.sqrt(pull) > w.real[v.mu + a] * found[ofs[a]]:
                return False
            moved = moved or pull > 0.0
    if not moved:
        return False
    complete(W, psi, equal, v.equals, F, which, many, found, y, lam)
    w.real[v.lost] -= _energy(W, psi, lam)
    _apply(h, w, lam, u)
    return True


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
