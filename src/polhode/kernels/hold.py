"""Constraints that hold: accelerations and reactions, states brought back, impulses.

Which rows are independent is decided from the state alone. The record only keeps, through
a step, how many they were where it began: between steps a state is off its constraints, and
rows that repeat others would seem to say something new.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .constrained import UNDECIDED, UNKNOWN
from .embed import eliminate, recombine, shortest, weights
from .factors import choose, halve, is_definite, is_whole, make_responses, margin, pull, push, react
from .kernel import helper, inlined, kernel
from .machine import (
    CLOSURE,
    CONTROL,
    FACTORS,
    FLOW,
    LOST,
    MOVES,
    NOT_FINITE,
    OK,
    RESIDUALS,
    SINGULAR,
    TABLE,
    TORN,
    bring_to_length,
)
from .rows import gather, mark, scale
from .stepping import copy, fill
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
STRONG = 0.03  # between steps, a row must have this much of its own to be more than where the step began


@kernel
def evaluate(m: Any, t: float, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """Write the rate of change of x at time t to dx; OK, or what went wrong.

    settled : whether x satisfies its constraints, as where a step starts; not so between
    """
    m.time[0] = t
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    return _flow(m, m.constrained, x, dx, bool(settled))  # a literal would be compiled apart


@inlined
def _flow(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    if h is None:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    return _constrained(m, h, x, dx, settled)


@inlined
def start(h: Any, again: bool) -> None:
    """Note how many rows hold where a step starts; with `again`, go back to that for another attempt."""
    if h is not None:
        s = h.places[0]
        if again:
            s.rank = s.started
        else:
            s.started = s.rank


@inlined
def forget(h: Any) -> None:
    """Have the next state settled with factors of its own: those of one nearby may lie across a dead point."""
    if h is not None:
        h.places[0].nearby = 0


@helper
def _constrained(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change where constraints hold: by the factors of M, or by embedding."""
    s = h.places[0]
    if not s.rows:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    if m.code[FACTORS]:
        _factor(m, h, x)
        udot, lam = dx[m.nq : m.nq + m.nu], part(h.real, s.lam, s.rows)
        if _solved(h, udot, lam, settled):
            carry(m, part(h.real, s.f_carried, s.carried), dx)
            if s.moving:
                _add_power(lam, part(h.real, s.f_moving, s.rows), dx)
            return OK
    return _embedded(m, h, x, dx, settled)


@helper
def accelerate(m: Any, h: Any, x: np.ndarray, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """Write the accelerations and reactions by the rows chosen in W; False where it does not tell which rows hold."""
    if not m.code[FACTORS]:
        return False
    _factor(m, h, x)
    return _chosen(h, udot, lam, settled)


@inlined
def _solved(h: Any, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """Write the accelerations and reactions by the factors at hand; False where these do not tell which rows hold."""
    s = h.places[0]
    if s.whole and (settled or s.alone <= s.rank):
        if settled:
            s.rank = s.alone
            h.real[s.margin] = _least_left(h)
        copy(part(h.real, s.direct_udot, s.n), udot)
        copy(part(h.real, s.direct_lam, s.rows), lam)
        return True
    return _chosen(h, udot, lam, settled)


@helper
def _chosen(h: Any, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """The same by the rows chosen in W, which `respond_to` then serves."""
    s = h.places[0]
    F, room, chosen = room_of(h, s.F, s.lam_f, s.chosen)
    count = s.count = _choose(h, part(h.whole, s.active, s.held), part(h.whole, s.used, s.held), F, chosen, room)
    if count < 0 or (count > s.rank and not settled):
        return False
    if settled:
        s.rank = count
        h.real[s.margin] = margin(F, chosen, count, part(h.real, s.rho2, s.rows))
    copy(part(h.real, s.f_b, s.n), udot)
    respond_to(h, udot, part(h.real, s.f_gamma, s.rows), lam)
    return True


@helper
def _least_left(h: Any) -> float:
    """The margin where native code solves: the least that a row has of its own, of its reference."""
    s = h.places[0]
    left, rho2, solved = part(h.real, s.left, s.rows), part(h.real, s.rho2, s.rows), part(h.whole, s.solved, s.rows)
    least = np.inf
    for i in range(s.rows):
        if solved[i]:
            least = min(least, left[i] / rho2[i])
    return float(np.sqrt(least))


@helper
def respond_to(h: Any, v: np.ndarray, right: np.ndarray, lam: np.ndarray) -> None:
    """Solve M v = b + J^T lam, J v = -right by the rows chosen in W; v is b before."""
    s = h.places[0]
    F, found, chosen = room_of(h, s.F, s.lam_f, s.chosen)
    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    halve(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), v)
    B, start_b = part(h.real, s.B, s.b_entries), part(h.whole, s.b_start, s.rows + 1)
    index_b, pivots = part(h.whole, s.b_index, s.b_entries), part(h.real, s.pivots, s.n)
    for k in range(s.count):
        i = chosen[k]
        total = right[i]
        for e in range(start_b[i], start_b[i + 1]):
            total += B[e] * v[index_b[e]]
        found[k] = -total
    for j in range(s.n):
        v[j] /= pivots[j]
    _push_back(h, F, chosen, s.count, found, v)
    fill(lam, 0.0)
    for k in range(s.count):
        lam[chosen[k]] = found[k]


@inlined
def _add_power(lam: np.ndarray, moving: np.ndarray, dx: np.ndarray) -> None:
    """Write the power of constraints that move by themselves, the last of w."""
    power = 0.0
    for i in range(lam.size):
        power += lam[i] * moving[i]
    dx[dx.size - 1] = power


@inlined
def carry(m: Any, carried: np.ndarray, dx: np.ndarray) -> None:
    """Write the rates of q, z and w; that of the work of constraints, the last of w, is not among them."""
    for i in range(m.nq):
        dx[i] = carried[i]
    for i in range(m.nq, carried.size):
        dx[i + m.nu] = carried[i]


@inlined
def _factor(m: Any, h: Any, x: np.ndarray) -> None:
    """Have the factors of a state."""
    s = h.places[0]
    invoke(m.code[FACTORS], m.time, x, m.tau, m.p, part(h.real, s.f_carried, 1), m.work)
    s.nearby = is_definite(part(h.real, s.pivots, s.n), part(h.real, s.inertias, s.n))
    s.count = s.count_q = UNKNOWN
    s.known = 0
    s.whole = s.nearby and s.direct and s.all and _is_whole(h)


@inlined
def _is_whole(h: Any) -> bool:
    """Tell whether native code solves for the rows that hold, and mark those it does."""
    s = h.places[0]
    left, had, rho2 = part(h.real, s.left, s.rows), part(h.real, s.had, s.rows), part(h.real, s.rho2, s.rows)
    solved, used = part(h.whole, s.solved, s.rows), part(h.whole, s.used, s.rows)
    used_q = part(h.whole, s.used_q, s.rows)
    if not is_whole(left, had, rho2, solved, part(h.whole, s.geometric, s.rows)):
        return False
    for i in range(s.rows):
        used[i] = solved[i]
        if not s.joints:
            used_q[i] = used[i]
    return True


@inlined
def room_of(h: Any, F: int, lam: int, chosen: int) -> Any:
    """Room for the rows chosen in W: their Cholesky factor, their reactions, and which they are."""
    rows = h.places[0].rows
    return square(h.real, F, rows, rows), part(h.real, lam, rows), part(h.whole, chosen, rows)


@helper
def _choose(h: Any, active: np.ndarray, used: np.ndarray, F: np.ndarray, chosen: np.ndarray, room: np.ndarray) -> int:
    """The number of rows that are independent, marked as used; UNDECIDED where the factors do not tell."""
    s = h.places[0]
    if not s.nearby:
        return UNDECIDED
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    if not s.known:
        make_responses(
            part(h.real, s.f_J, s.j_entries), part(h.whole, s.j_start, s.rows + 1),
            part(h.whole, s.j_index, s.j_entries),
            part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1), part(h.whole, s.l_index, s.l_entries),
            part(h.whole, s.order, s.n), part(h.real, s.pivots, s.n), part(h.whole, s.b_start, s.rows + 1),
            part(h.whole, s.b_index, s.b_entries), part(h.real, s.step, s.n), part(h.real, s.B, s.b_entries), W,
        )  # fmt: skip
        s.known = 1
    count = choose(W, rho2, active, part(h.whole, s.geometric, s.held), F, chosen, room)
    if count >= 0:
        mark(used, chosen, count)
    return count


@helper
def _push_back(h: Any, F: np.ndarray, chosen: np.ndarray, count: int, lam: np.ndarray, out: np.ndarray) -> None:
    """out = L^-T (out + B lam) with W lam what lam was before."""
    s = h.places[0]
    react(F, count, lam)
    B, start_b = part(h.real, s.B, s.b_entries), part(h.whole, s.b_start, s.rows + 1)
    pull(B, start_b, part(h.whole, s.b_index, s.b_entries), chosen, count, lam, out)
    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    push(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), out)


@helper
def _embedded(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change by embedding: the decision on J itself, and no inverse of M."""
    s = h.places[0]
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    s.nearby = 0
    active, used = part(h.whole, s.active, s.held), part(h.whole, s.used, s.held)
    rank = _eliminated(h, active, used, part(h.real, s.gamma, s.rows), s.any if settled else s.rank)
    if settled:
        s.rank = rank
        h.real[s.margin] = _pivot(h, rank)
    udot = dx[m.nq : m.nq + m.nu]
    if not _recombined(h, rank, udot):
        for i in range(s.t_carried, s.t_moving):
            if not abs(h.real[i]) < np.inf:
                return NOT_FINITE
        return SINGULAR
    if s.moving:
        _react(h, rank, udot)
    d = part(h.real, s.d, s.n)
    for j in range(s.n):
        udot[j] *= d[j]
    carry(m, part(h.real, s.t_carried, s.carried), dx)
    if s.moving:
        _add_power(part(h.real, s.lam, s.rows), part(h.real, s.t_moving, s.rows), dx)
    return OK


@helper
def _pivot(h: Any, rank: int) -> float:
    """The least pivot of the last elimination of rows among the speeds, of the reference of its row."""
    s = h.places[0]
    table, places, least = (
        square(h.real, s.table, s.rows, s.n + 2),
        part(h.whole, s.places, s.rows),
        part(h.real, s.least, s.held),
    )
    found = np.inf
    for k in range(rank):
        found = min(found, table[k, s.n + 1] * least[places[k]])
    return found


@helper
def _eliminated(h: Any, active: np.ndarray, used: np.ndarray, right: np.ndarray, expected: int) -> int:
    """Eliminate the independent rows of J v = -right, in the units of the table; return how many, marked as used."""
    s = h.places[0]
    J, E2 = square(h.real, s.J, s.rows, s.n), square(h.real, s.E2, s.rows, s.n)
    M, inertias = square(h.real, s.M, s.n, s.n), part(h.real, s.step, s.n)
    for j in range(s.n):
        inertias[j] = M[j, j]
    return _ranked(h, active, used, J, E2, part(h.whole, s.bodies, s.n), inertias, right, expected)


@helper
def _ranked(
    h: Any, active: np.ndarray, used: np.ndarray, J: np.ndarray, E2: np.ndarray, bodies: np.ndarray,
    inertias: np.ndarray, right: np.ndarray, expected: int,
) -> int:  # fmt: skip
    s = h.places[0]
    m, n = J.shape
    d, rho, least = part(h.real, s.d, n), part(h.real, s.rho, m), part(h.real, s.least, s.held)
    table, places = square(h.real, s.table, m, n + 2), part(h.whole, s.places, m)
    scale(J, E2, active, bodies, inertias, d, rho)
    count = gather(J, d, rho, active, least, right, table, places)
    rank = eliminate(table, places, part(h.whole, s.columns, n), count, min(count, n), least, expected, STRONG)
    mark(used, places, rank)
    return rank


@helper
def _recombined(h: Any, rank: int, out: np.ndarray) -> bool:
    """Solve M out = b on the motions that the eliminated rows allow, all in the units of the table."""
    s = h.places[0]
    n = s.n
    M, b, d = square(h.real, s.M, n, n), part(h.real, s.b, n), part(h.real, s.d, n)
    for i in range(n):
        b[i] *= d[i]
        for j in range(n):
            M[i, j] *= d[i] * d[j]
    table, columns = square(h.real, s.table, s.rows, n + 2), part(h.whole, s.columns, n)
    return recombine(M, b, table, columns, rank, square(h.real, s.normal, n, n), part(h.real, s.step, n), out)


@helper
def _react(h: Any, rank: int, v: np.ndarray) -> None:
    """Write the reactions lam of J^T lam = M v - b, in the units of the table, for all rows; of least size.

    The least of sum (rho_i lam_i)^2: rows of a group have one rho, so it does not depend on axes.
    """
    s = h.places[0]
    m, n = s.rows, s.n
    M, b, d = square(h.real, s.M, n, n), part(h.real, s.b, n), part(h.real, s.d, n)
    J, rho = square(h.real, s.J, m, n), part(h.real, s.rho, m)
    active, columns = part(h.whole, s.active, m), part(h.whole, s.columns, n)
    right, basis, lam = part(h.real, s.step, n), square(h.real, s.basis, n, m), part(h.real, s.lam, m)
    for k in range(rank):
        j = columns[k]
        right[k] = -b[j]
        for i in range(n):
            right[k] += M[j, i] * v[i]
        for i in range(m):
            basis[k, i] = J[i, j] * d[j] / rho[i] if active[i] and rho[i] > 0.0 else 0.0
    weights(basis, right, rank, m, lam)
    for i in range(m):
        lam[i] = lam[i] / rho[i] if rho[i] > 0.0 else 0.0


@kernel
def settle(m: Any, t: float, x: np.ndarray) -> int:
    """Bring a state back to where it belongs: unit quaternions, closed loops, speeds along them."""
    bring_to_length(m, x)
    return _back(m, m.constrained, t, x)


@inlined
def _back(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    if h is None:
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
    _measure(m, h, t, x)
    off, aslant = _furthest(h, True, False), _furthest(h, False, False)
    still = 0
    for _ in range(30):
        if off <= EXACT and aslant <= ALONG:
            break
        if m.code[FACTORS] and not s.nearby:
            _factor(m, h, x)
            if s.whole:
                _measure(m, h, t, x)
        whole = (
            s.nearby and s.whole and not m.code[CLOSURE] and s.alone <= s.rank
        )  # then motions came with the residuals
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
        _measure(m, h, t, x)
        before, slant = off, aslant
        off, aslant = _furthest(h, True, False), _furthest(h, False, False)
        if off > max(0.1 * before, NEAR) or aslant > max(0.1 * slant, COUPLED * before, NEAR):
            s.nearby = 0
        if off > 0.5 * before and aslant > 0.5 * slant:  # rounding, or no way there
            still += 1
            if (off <= GOOD and aslant <= FAIR) or still > 3:
                break
    if not (off <= GOOD and _furthest(h, True, True) <= LOOSE):
        return LOST
    if not (aslant <= FAIR and _furthest(h, False, True) <= LOOSE):
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
def _measure(m: Any, h: Any, t: float, x: np.ndarray) -> None:
    m.time[0] = t
    s = h.places[0]
    invoke(m.code[RESIDUALS], m.time, x, part(h.real, s.K, 1), m.p, part(h.real, s.phi, 1), m.work)


@helper
def _furthest(h: Any, positions: bool, repeated: bool) -> float:
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
    return float(np.sqrt(worst))


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
            count = _choose(h, active, used, F, chosen, lam)
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
            _push_back(h, F, chosen, count, lam, v)
            return True
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    return _still(h, active, used, right, s.rank, v)


@helper
def _still(h: Any, active: np.ndarray, used: np.ndarray, right: np.ndarray, expected: int, v: np.ndarray) -> bool:
    """Write the motion v of least kinetic energy with J v = -right, from the table; False where there is none."""
    s = h.places[0]
    rank = _eliminated(h, active, used, right, expected)
    fill(part(h.real, s.b, s.n), 0.0)
    if not _recombined(h, rank, v):
        return False
    s.eliminated = rank
    d = part(h.real, s.d, s.n)
    for j in range(s.n):
        v[j] *= d[j]
    return True


@helper
def _closed(m: Any, h: Any, x: np.ndarray) -> bool:
    """The motion to the positions in the speeds of the joints: of least size by their inertias."""
    s = h.places[0]
    n = s.joints
    invoke(m.code[CLOSURE], m.time, x, m.p, part(h.real, s.joint_inertias, 1), m.work)
    J, E2 = square(h.real, s.joint_J, s.held, n), square(h.real, s.joint_E2, s.held, n)
    active, used = part(h.whole, s.closing, s.held), part(h.whole, s.used_q, s.held)
    bodies, inertias = part(h.whole, s.joint_bodies, n), part(h.real, s.joint_inertias, n)
    rank = _ranked(h, active, used, J, E2, bodies, inertias, part(h.real, s.phi, s.held), s.any)
    v, d = part(h.real, s.trial + m.nq, n), part(h.real, s.d, n)
    table, columns = square(h.real, s.table, s.held, n + 2), part(h.whole, s.columns, n)
    if not shortest(table, columns, rank, square(h.real, s.normal, n, n), part(h.real, s.step, n), v):
        return False
    for j in range(n):
        v[j] *= d[j]
    return True


@kernel
def respond(m: Any, t: np.ndarray, x: np.ndarray, tau: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> None:
    """Write the rate of change and the reactions, J^T lam, of many states that satisfy their constraints: a row each.

    Of reactions that are not determined, where rows repeat others, the least. NaN where a state has no rate.
    """
    h = m.constrained
    s = h.places[0]
    for k in range(len(t)):
        copy(tau[k], m.tau)
        m.time[0] = t[k]
        if _embedded(m, h, x[k], dx[k], k >= 0) != OK:
            fill(dx[k], np.nan)
            fill(lam[k], np.nan)
            continue
        v, d = part(h.real, s.normal, s.n), part(h.real, s.d, s.n)
        for j in range(s.n):
            v[j] = dx[k, m.nq + j] / d[j]
        _react(h, s.rank, v)
        copy(part(h.real, s.lam, s.rows), lam[k])


@kernel
def strike(m: Any, t: np.ndarray, x: np.ndarray, restitution: float, after: np.ndarray, impulse: np.ndarray) -> None:
    """Write the speeds after the active rows were imposed at states, and their impulses: a row each.

    M (u+ - u-) = J^T impulse,  psi(u+) = -restitution psi(u-).  Reference: [Gillespie, section 4, block 5].
    """
    h = m.constrained
    s = h.places[0]
    psi, d = part(h.real, s.psi, s.rows), part(h.real, s.d, s.n)
    v = part(h.real, s.trial, s.n)
    active, used = part(h.whole, s.active, s.held), part(h.whole, s.used, s.held)
    for k in range(len(t)):
        _measure(m, h, t[k], x[k])
        for i in range(s.rows):
            psi[i] *= 1.0 + restitution
        invoke(m.code[TABLE], m.time, x[k], m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
        if not _still(h, active, used, psi, s.any, v):
            fill(after[k], np.nan)
            fill(impulse[k], np.nan)
            continue
        for j in range(s.n):
            after[k, j] = x[k, m.nq + j] + v[j]
            v[j] /= d[j]
        _react(h, s.eliminated, v)
        copy(part(h.real, s.lam, s.rows), impulse[k])
