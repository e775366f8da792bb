"""States brought back to their constraints: loops closed, speeds along them."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .constrained import UNKNOWN
from .embed import shortest
from .kernel import helper, inlined, kernel
from .machine import CLOSURE, FACTORS, LOST, MOVES, OK, RESIDUALS, TABLE, TORN, bring_to_length
from .responses import choose_rows, factor, push_back, room_of
from .rows import mark
from .stepping import copy, fill
from .table import ranked, still
from .views import part, square

# residuals are measured by the motion that the reference of their row allows
EXACT = 2e-15  # of positions: needs no correction
ALONG = 3e-15  # the same of speeds
GOOD = 2e-10  # the largest of positions that may be left
FAIR = 1e-6  # the same of speeds
NEAR = 1e-11  # residuals that are this small need no new factors
COUPLED = 30.0  # of what positions were off: what their correction may put speeds off
LOOSE = 2e-5  # the largest of rows that repeat others: what files round, and a little more
FAR = 1e-3  # of a state, that settling may move it; or ten times what a step may err


@kernel
def settle(m: Any, t: float, x: np.ndarray) -> int:
    """Bring a state back to where it belongs: unit quaternions, closed loops, speeds along them."""
    bring_to_length(m, x)
    return _back(m, m.constrained, t, x)


@inlined
def _back(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    if h is None:
        return OK
    if h.places[0].held == 0:
        return OK
    return _projected(m, h, t, x)


@helper
def _projected(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    """Close the loops and turn the speeds along them, by motions of least kinetic energy.

    Newton's method with the factors of the last evaluation, which was nearby; with new ones where
    they do not help.
    """
    s = h.places[0]
    trial, moved = part(h.real, s.trial, s.nq + s.most), part(h.real, s.moved, s.nq)
    pulled = part(h.real, s.pulled, s.nq + s.n)
    for i in range(pulled.size):
        pulled[i] = -x[i]
    measure(m, h, t, x)
    off, aslant = furthest(h, True, False), furthest(h, False, False)
    stuck, fall_q, fall_u = 0, np.inf, np.inf
    for _ in range(30):
        if off <= EXACT and aslant <= ALONG:
            break
        if m.code[FACTORS] and not s.nearby:
            factor(m, h, x)
            if s.whole:
                measure(m, h, t, x)
        # with all rows in the factors, the motions came with the residuals
        whole = s.nearby and s.whole and not m.code[CLOSURE] and s.alone <= s.rank
        if off > EXACT:
            if whole:
                copy(x[: m.nq], trial)
                copy(part(h.real, s.closing_motion, s.n), trial[m.nq :])
            elif not _towards(m, h, t, x, True):
                return LOST
            invoke(m.code[MOVES], m.time, trial, m.p, moved, m.work)
        if aslant > ALONG:
            if whole:
                copy(part(h.real, s.turn, s.n), trial[m.nq :])
            elif not _towards(m, h, t, x, False):
                return TORN
            for i in range(m.nu):
                x[m.nq + i] += trial[m.nq + i]
        if off > EXACT:
            for i in range(m.nq):
                x[i] += moved[i]
            bring_to_length(m, x)
        # what falls as it did before to less than rounding is not measured again
        if max(off, aslant) <= NEAR:
            left_q, left_u = (off * fall_q, COUPLED * off) if off > EXACT else (0.0, 0.0)
            if left_q <= 0.1 * EXACT and left_u + aslant * fall_u <= 0.1 * ALONG:
                break
        measure(m, h, t, x)
        before, slant = off, aslant
        off, aslant = furthest(h, True, False), furthest(h, False, False)
        fall_q, fall_u = off / before, aslant / slant
        if off > max(0.1 * before, NEAR) or aslant > max(0.1 * slant, COUPLED * before, NEAR):
            s.nearby = 0
        if off > 0.5 * before and aslant > 0.5 * slant:  # rounding, or no way there
            stuck += 1
            if (off <= GOOD and aslant <= FAIR) or stuck > 3:
                break
    if not (off <= GOOD and furthest(h, True, True) <= LOOSE):
        return LOST
    if not (aslant <= FAIR and furthest(h, False, True) <= LOOSE):
        return TORN
    for i in range(pulled.size):
        pulled[i] += x[i]
    return OK


@inlined
def is_pulled_far(h: Any, x: np.ndarray, rtol: float, atol: float) -> bool:
    """Whether settling moved the state to x much further than steps err: across a singular position, not back."""
    if h is None:
        return False
    pulled, times = part(h.real, h.places[0].pulled, h.places[0].nq + h.places[0].n), max(10.0, FAR / max(rtol, 1e-300))
    worst = 0.0
    for i in range(pulled.size):
        worst = max(worst, abs(pulled[i]) / (atol + rtol * abs(x[i] - pulled[i])))
    return worst > times


@inlined
def measure(m: Any, h: Any, t: float, x: np.ndarray) -> None:
    m.time[0] = t
    s = h.places[0]
    invoke(m.code[RESIDUALS], m.time, x, part(h.real, s.K, 1), m.p, part(h.real, s.phi, 1), m.work)


@helper
def furthest(h: Any, positions: bool, repeated: bool) -> float:
    """The largest residual of the rows that hold, in units of its size; infinite where one is NaN.

    repeated : of all of them; else of those that were found independent
    """
    s = h.places[0]
    m = s.held if positions else s.rows
    residual = part(h.real, s.phi if positions else s.psi, m)
    size2 = part(h.real, s.reach2 if positions else s.pace2, m)
    active = part(h.whole, s.closing if positions else s.active, m)
    used = part(h.whole, s.used_q if positions else s.used, m)
    worst = 0.0
    for i in range(m):
        if active[i] and (repeated or used[i]):
            squared = residual[i] * residual[i]
            if not squared <= 1e-200:
                ratio = squared / size2[i]
                worst = max(worst, ratio) if ratio == ratio else np.inf
    return np.float64(np.sqrt(worst))  # where kernels run as Python, 0 / 0 is no error either


@helper
def _towards(m: Any, h: Any, t: float, x: np.ndarray, positions: bool) -> bool:
    """Write the motion of least kinetic energy that removes the residuals to the end of `trial`.

    positions : those of positions, with the coordinates before it; else those of speeds
    """
    s = h.places[0]
    trial = part(h.real, s.trial, s.nq + s.most)
    m.time[0] = t
    if positions:
        for i in range(m.nq):
            trial[i] = x[i]
        if m.code[CLOSURE]:
            return _closed(m, h, x)
    v = trial[m.nq : m.nq + m.nu]
    right = part(h.real, s.phi if positions else s.psi, s.rows)
    active = part(h.whole, s.closing if positions else s.active, s.held)
    used = part(h.whole, s.used_q if positions else s.used, s.held)
    if m.code[FACTORS]:
        apart = positions and not s.closing_all
        places = (s.F_q, s.lam_q, s.chosen_q) if apart else (s.F, s.lam_f, s.chosen)
        F, lam, chosen = room_of(h, places[0], places[1], places[2])
        count = s.count_q if apart else s.count
        if count == UNKNOWN:
            count = choose_rows(h, active, used, F, chosen, lam)
            if apart:
                s.count_q = count
            else:
                s.count = count
        if positions and not apart and count >= 0:
            mark(used, chosen, count)
        if count >= 0 and (positions or count <= s.rank):
            fill(v, 0.0)
            for k in range(count):
                lam[k] = -right[chosen[k]]
            push_back(h, F, chosen, count, lam, v)
            return True
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    return still(h, active, used, right, s.rank, v)


@helper
def _closed(m: Any, h: Any, x: np.ndarray) -> bool:
    """The motion to the positions in the speeds of the joints: of least size by their inertias."""
    s = h.places[0]
    n = s.joints
    invoke(m.code[CLOSURE], m.time, x, m.p, part(h.real, s.joint_inertias, 1), m.work)
    J, E2 = square(h.real, s.joint_J, s.held, n), square(h.real, s.joint_E2, s.held, n)
    active, used = part(h.whole, s.closing, s.held), part(h.whole, s.used_q, s.held)
    bodies, inertias = part(h.whole, s.joint_bodies, n), part(h.real, s.joint_inertias, n)
    rank = ranked(h, active, used, J, E2, bodies, inertias, part(h.real, s.phi, s.held), s.any)
    v, d = part(h.real, s.trial + m.nq, n), part(h.real, s.d, n)
    table, columns = square(h.real, s.table, s.held, n + 2), part(h.whole, s.columns, n)
    if not shortest(table, columns, rank, square(h.real, s.normal, n, n), part(h.real, s.step, n), v):
        return False
    for j in range(n):
        v[j] *= d[j]
    return True
