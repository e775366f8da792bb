"""Impacts: speeds that change at once where what touches approaches, and where rows are engaged.

    M (u+ - u-) = J^T Lam     psi+ = 0 of rows that stay equal
                              0 <= psi_N+ + e psi_N-  perpendicular  Lam_N >= 0,  |Lam_T| <= mu Lam_N

Positions are kept. Restitution by Newton, as above, or by Poisson, in two phases, each of all that touches at once:

    compression   psi_C  = psi-  + W Lam_C     0 <= psi_NC  perpendicular  Lam_NC >= 0
    expansion     psi+   = psi_C + W Lam_E     0 <= psi_N+  perpendicular  Lam_NE - e Lam_NC >= 0

each with friction of its own, |Lam_TC| <= mu Lam_NC against psi_TC and |Lam_TE| <= mu Lam_NE against psi_T+; nothing is
given back along the contact. Rows with Newton's law beside them are stopped in the first phase, and leave by
their own in the second. Where restitution would make energy, as with friction it can, by either law, it
is made smaller until it does not.

Reference: [Glocker, Pfeiffer 1995], Multiple impacts with friction in rigid multibody systems, Nonlinear Dynamics 7;
[Pfeiffer, Glocker 1996], Multibody dynamics with unilateral contacts, chapter 8: their eps_N is e, eps_T is 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .complementarity import SOLVED
from .condense import DISTINCT, backward, complete, condense, forward, pick
from .gathering import creep, gather, moves, slow, solve_rows
from .kernel import helper
from .lawful import one_by_one
from .linear import factor, solve
from .mode import CLOSED, HELD, STUCK, UNILATERAL
from .sliding import spread
from .stepping import copy, fill
from .views import part, square

Array = np.ndarray

ROUNDING = 1e-12  # of the work that impulses do on what approaches: more is energy that restitution makes
GAINED = 1e-6  # of the same: more, where nothing bounces, is against a law
NEARLY = 1e-6  # of what is slow; of the friction that could just stop what jams
EASY = 1e-6  # of what a row could have in W, and has left beside others where it is stopped so
REST = 1e-10  # of the size that a row is measured by: bounces that are less high come to rest


@helper
def collide(h: Any, w: Any, t: float, u: Array) -> bool:
    """Change the speeds by impulses until nothing that touches approaches, and engaged rows move along.

    False where that fails: where no impulses were found that obey all laws, and those at hand make energy or leave
    something that approaches.
    """
    s, v = h.places[0], w.places[0]
    psi, closed = part(h.real, s.psi, s.rows), part(w.whole, v.closed, s.rows)
    equal = part(w.whole, v.equal, s.rows)
    for _ in range(20):
        meets = False
        for i in range(s.rows):
            # what just closed must not go on, however slowly, or it would close again at once
            still = NEARLY * slow(h, i) if w.whole[v.crossed + i] == CLOSED else slow(h, i)
            meets = meets or (closed[i] != 0 and psi[i] < -still)
        for k in range(v.equals):
            meets = meets or abs(psi[equal[k]]) > slow(h, equal[k])
        if not meets:
            return True
        if not _strike(h, w, t, u):
            return False
        struck = False
        for i in range(s.rows):
            struck = struck or w.real[v.total + i] != 0.0
        if not struck and not wedge(h, w, u):  # friction jams what hardly approaches, or nothing lets it move
            break
    for i in range(s.rows):  # noqa: SIM110 - Numba has no all() of this kind
        if closed[i] != 0 and psi[i] < -creep(h, i) and _can_stop(h, w, i):
            return False
    return True


@helper
def _can_stop(h: Any, w: Any, i: int) -> bool:
    """Whether an impulse of a row changes its speed, beside rows that stay equal."""
    s, v = h.places[0], w.places[0]
    W, F, y = square(h.real, s.W, s.rows, s.rows), square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows)
    for k in range(v.equals):
        y[k] = W[i, w.whole[v.equal + k]]
    forward(F, v.equals, y)
    left = W[i, i]
    for k in range(v.equals):
        left -= y[k] * y[k]
    return moves(h, i) and bool(left > DISTINCT * W[i, i])


@helper
def stop_creeping(h: Any, w: Any, u: Array) -> None:
    """Stop slides that passed 0 along their direction, but for a creep that is left where that turns in the plane."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    psi, size = part(h.real, s.psi, rows), part(w.whole, v.size, rows)
    which, lam, many, creeps = part(w.whole, v.which, rows), part(w.real, v.lam, rows), 0, False
    for i in range(rows):
        stays = w.whole[v.mode + i] == HELD and abs(psi[i]) <= slow(h, i) and w.whole[v.crossed + i] == 0
        if stays and (w.whole[v.kind + i] != UNILATERAL or w.whole[v.closed + i]):
            which[many] = i
            many += 1
    for i in range(rows):
        if size[i] > 0 and w.whole[v.crossed + i] == STUCK:
            fast = 0.0
            for k in range(i, i + size[i]):
                fast += psi[k] * psi[k]
            if slow(h, i) < np.sqrt(fast) <= creep(h, i):
                creeps = True
                for k in range(i, i + size[i]):
                    which[many] = k
                    many += 1
    if not creeps:
        return
    W, F = square(h.real, s.W, rows, rows), square(w.real, v.X, rows, rows)
    b, du = part(w.real, v.b, rows), part(h.real, s.trial, s.n)
    rho2 = part(h.real, s.rho2, rows)
    many = pick(W, rho2, which, many, F, b)
    for a in range(many):
        if F[a, a] * F[a, a] * EASY * rho2[which[a]] > 1.0:  # near a dead point, where that would stop others
            return
        b[a] = -psi[which[a]]
    forward(F, many, b)
    backward(F, many, b)
    fill(lam, 0.0)
    for a in range(many):
        lam[which[a]] = b[a]
    fill(du, 0.0)
    spread(h, lam, du)
    for j in range(s.n):
        u[j] += du[j]
    for i in range(rows):
        for k in range(rows):
            psi[i] += W[i, k] * lam[k]


@helper
def _strike(h: Any, w: Any, t: float, u: Array) -> bool:
    """Solve for the impulses of all that touches, and apply them; less restitution where they would make energy.

    False, with nothing applied, where they make some without any: those that obey all laws do not.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, before = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.psi_before, rows)
    total, closed, poisson = part(w.real, v.total, rows), part(w.whole, v.closed, rows), part(w.whole, v.poisson, rows)
    back = part(w.real, v.part, rows)
    copy(psi, before)
    share, gained, phased = 1.0, 0.0, False
    for i in range(rows):
        phased = phased or (closed[i] != 0 and poisson[i] != 0)
    for attempt in range(32):
        copy(before, psi)
        fill(total, 0.0)
        fill(back, 0.0)
        if phased:
            _push(h, w, t, 0.0, back)
            _give_back(h, w, t, share, back)
        _push(h, w, t, share, back)
        gained, exchanged = energy(W, before, total), 0.0
        for i in range(rows):
            exchanged += abs(total[i] * before[i])
        if not gained > ROUNDING * exchanged:
            break
        if share == 0.0:
            if gained > GAINED * exchanged:
                copy(before, psi)
                return False
            break
        share = 0.5 * share if attempt < 30 else 0.0
    w.real[v.lost] -= gained
    copy(before, psi)
    apply_impulses(h, w, total, u)
    return True


@helper
def _push(h: Any, w: Any, t: float, share: float, back: Array) -> None:
    """Stop what approaches, or have it leave by a share of Newton's restitution where that is its law.

    back : what rows carry beside, which bounds their friction too
    """
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
        if kinds[a] == UNILATERAL:
            w.real[v.mu_s + a] = back[i]
            if speed < 0.0 and share > 0.0 and not w.whole[v.poisson + i]:
                b[a] += share * _bounce(h, w, i, -speed, t) * speed
    _respond(h, w, A, b, many)


@helper
def _give_back(h: Any, w: Any, t: float, share: float, back: Array) -> None:
    """Give back a share of what stopped rows with Poisson's restitution: back = e Lam_NC."""
    s, v = h.places[0], w.places[0]
    W, psi, lam = square(h.real, s.W, s.rows, s.rows), part(h.real, s.psi, s.rows), part(w.real, v.lam, s.rows)
    total = part(w.real, v.total, s.rows)
    for i in range(s.rows):
        if w.whole[v.poisson + i] and w.whole[v.closed + i] and total[i] > 0.0:
            back[i] = share * _bounce(h, w, i, W[i, i] * total[i], t) * total[i]
    copy(back, lam)
    _add_up(W, lam, psi, total)


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
    if many and solve_rows(w, A, b, many) != SOLVED:
        _try_states(w, A, b, many)
    complete(W, psi, equal, v.equals, F, which, many, found, part(w.real, v.y, rows), lam)
    _add_up(W, lam, psi, part(w.real, v.total, rows))


@helper
def _try_states(w: Any, A: Array, b: Array, many: int) -> None:
    """Find impulses by trying what stops, slides and leaves; where that fails, those found before stay."""
    v, beside = w.places[0], 0.0
    found, kept = part(w.real, v.found, many), part(w.real, v.lam, many)
    copy(found, kept)
    for a in range(many):
        if w.whole[v.kinds + a] == UNILATERAL:
            beside = max(beside, w.real[v.mu_s + a])
    if beside > 0.0 or not one_by_one(w, A, b, many, 0.0, v.X):
        copy(kept, found)


@helper
def _add_up(W: Array, lam: Array, psi: Array, total: Array) -> None:
    """total += lam, psi += W lam"""
    for i in range(lam.size):
        total[i] += lam[i]
        for k in range(lam.size):
            psi[i] += W[i, k] * lam[k]


@helper
def energy(W: Array, psi: Array, lam: Array) -> float:
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
def apply_impulses(h: Any, w: Any, lam: Array, u: Array) -> None:
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
def unseen(h: Any, w: Any, i: int) -> float:
    """The speed with which a row that is pressed leaves, at most, to be back before it can be seen."""
    pressed = max(w.real[w.places[0].pressed + i], 0.0)
    return float(np.sqrt(2.0 * pressed * REST * np.sqrt(h.real[h.places[0].reach2 + i])))


@helper
def _bounce(h: Any, w: Any, i: int, speed: float, t: float) -> float:
    """The restitution of a row that meets with a speed; 0 where that is too low a bounce, and when it rests then."""
    v = w.places[0]
    e, pressed = w.real[v.restitution + i], w.real[v.pressed + i]
    if not e > 0.0:
        return 0.0
    if e * speed < unseen(h, w, i):
        if e < 1.0:
            w.real[v.rest] = max(w.real[v.rest], t + 2.0 * e * speed / (pressed * (1.0 - e)))
        return 0.0
    return float(e)


@helper
def wedge(h: Any, w: Any, u: Array) -> bool:
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
            if np.sqrt(pull) > (1.0 + NEARLY) * w.real[v.mu + a] * found[ofs[a]]:
                return False
            moved = moved or pull > 0.0
    if not moved:
        return False
    complete(W, psi, equal, v.equals, F, which, many, found, y, lam)
    w.real[v.lost] -= energy(W, psi, lam)
    apply_impulses(h, w, lam, u)
    return True
