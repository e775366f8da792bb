"""What the compiled loops know of a mechanism, and its state's rate of change.

The state x is [q, u, z, w]: coordinates, speeds, states beside motion, work. All
functions here are Numba kernels without the GIL; they call native code by address,
so they are compiled once and serve every model. What they decide, they decide from
the state alone; `ranks` only keeps, through a step, how many rows held where it began.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.compile.invoke import invoke

from .embed import eliminate, recombine, shortest, weights
from .factors import Factors, choose, is_definite, push, react
from .kernel import helper, kernel
from .rows import Table, gather, scale
from .stepping import copy, fill

OK, NOT_FINITE, SINGULAR, LOST, TORN = 0, 10, 11, 12, 14  # what evaluate and settle return

CONTROL, FLOW, RATES, RESIDUALS, FACTORS, TABLE, CLOSURE, MOVES = range(8)  # code
# ranks: independent rows where the step began; whether the factors are those of a state nearby;
# rows chosen in them among the speeds and among positions, or one of the next two
RANK, NEARBY, CHOSEN, CHOSEN_Q = range(4)
UNKNOWN, UNDECIDED = -2, -1
ANY = 1 << 30  # as a rank: no step has begun

# residuals are measured by the motion that the reference of their row allows
EXACT = 2e-15  # of positions: needs no correction
ALONG = 1e-14  # the same of speeds
GOOD = 1e-9  # the largest of positions that may be left
FAIR = 1e-6  # the same of speeds
LOOSE = 2e-5  # the largest of rows that repeat others: what files round, and a little more
STRONG = 0.03  # between steps, a row must have this much of its own to be more than where the step began


class Residuals(NamedTuple):
    """What native code writes: phi, psi, and the squares of the sizes they are measured by."""

    out: np.ndarray
    phi: np.ndarray
    psi: np.ndarray
    reach2: np.ndarray
    pace2: np.ndarray


class Constrained(NamedTuple):
    """Constraints of a machine, and room to hold them.

    rows      : of constraints among the speeds; those embedded in the equations follow in what is about positions
    active    : 1 for each row that holds
    closing   : 1 for each row that holds and is about positions
    geometric : 1 where coefficients come from geometry
    least     : of its reference, that a row must have of its own to count
    used, used_q : 1 for each row that was found independent, of all and of those about positions
    ranks     : see RANK and the following
    residuals : of positions and speeds
    factors, factors_q : for all rows, and for those about positions
    table     : the equations, to decide and to solve where the factors do not
    closure   : rows about positions in the speeds of the joints, where the equations have others
    trial     : (nq + n,), coordinates and a small motion
    moved     : (nq,), by which it changes them
    """

    rows: int
    active: np.ndarray
    closing: np.ndarray
    geometric: np.ndarray
    least: np.ndarray
    used: np.ndarray
    used_q: np.ndarray
    ranks: np.ndarray
    residuals: Residuals
    factors: Factors
    factors_q: Factors
    table: Table
    closure: Table
    trial: np.ndarray
    moved: np.ndarray


class Machine(NamedTuple):
    """Addresses, inputs and room to work in; one for each thread.

    nq, nu  : coordinates and speeds, the first entries of the state
    counted : entries of the state whose error matters, the first ones; the rest only adds up
    code    : addresses, see CONTROL and the following; 0 for what there is not
    tau, p  : forces on the speeds, parameters
    units   : first coordinate of each unit quaternion
    time    : (1,), the time given to native code
    work    : for native code
    constrained : None without constraints; loops are compiled apart for such machines
    """

    nq: int
    nu: int
    counted: int
    code: np.ndarray
    tau: np.ndarray
    p: np.ndarray
    units: np.ndarray
    time: np.ndarray
    work: np.ndarray
    constrained: Constrained | None


@kernel
def evaluate(m: Any, t: float, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """Write the rate of change of x at time t to dx; OK, or what went wrong.

    settled : whether x satisfies its constraints, as where a step starts; not so between
    """
    m.time[0] = t
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    return _flow(m, m.constrained, x, dx, settled)


@helper
def _flow(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    if h is None:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    return _constrained(m, h, x, dx, settled)


@helper
def _constrained(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change where constraints hold: by the factors of M, or by embedding."""
    if not h.rows:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    if m.code[FACTORS]:
        f = h.factors
        _factor(m, h, x)
        count = h.ranks[CHOSEN] = _choose(h, f, h.active, h.used)
        if count >= 0 and (settled or count <= h.ranks[RANK]):
            if settled:
                h.ranks[RANK] = count
            react(f, count, f.r)
            _carry(m, f.carried, f.moving, f.chosen, f.lam, count, dx)
            udot = dx[m.nq : m.nq + m.nu]
            copy(f.g, udot)
            push(f, count, udot)
            return OK
    return _embedded(m, h, x, dx, settled)


@helper
def _carry(
    m: Any, carried: np.ndarray, moving: np.ndarray, chosen: np.ndarray, lam: np.ndarray, count: int, dx: np.ndarray
) -> None:
    """Write the rates of q, z and w; the last of w is the power of constraints that move by themselves."""
    for i in range(m.nq):
        dx[i] = carried[i]
    for i in range(m.nq, carried.size):
        dx[i + m.nu] = carried[i]
    if moving.size:
        power = 0.0
        for k in range(count):
            power += lam[k] * moving[chosen[k]]
        dx[dx.size - 1] = power


@helper
def _factor(m: Any, h: Any, x: np.ndarray) -> None:
    """Have the factors of a state."""
    invoke(m.code[FACTORS], m.time, x, m.tau, m.p, h.factors.out, m.work)
    h.ranks[NEARBY] = is_definite(h.factors)
    h.ranks[CHOSEN] = h.ranks[CHOSEN_Q] = UNKNOWN


@helper
def _choose(h: Any, f: Factors, active: np.ndarray, used: np.ndarray) -> int:
    """The number of rows that are independent, marked in `used`; UNDECIDED where the factors do not tell."""
    if not h.ranks[NEARBY]:
        return UNDECIDED
    count = choose(f, active, h.geometric)
    if count >= 0:
        _mark(used, f.chosen, count)
    return count


@helper
def _mark(used: np.ndarray, rows: np.ndarray, count: int) -> None:
    for i in range(used.size):
        used[i] = 0
    for k in range(count):
        used[rows[k]] = 1


@helper
def _embedded(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change by embedding: the decision on J itself, and no inverse of M."""
    w = h.table
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, w.out, m.work)
    h.ranks[NEARBY] = 0
    rank = _eliminated(h, w, h.active, w.gamma, ANY if settled else h.ranks[RANK], h.used)
    if settled:
        h.ranks[RANK] = rank
    _in_units(w)
    udot = dx[m.nq : m.nq + m.nu]
    if not recombine(w.M, w.b, w.table, w.columns, rank, w.normal, w.step, udot):
        for i in range(w.out.size):
            if not abs(w.out[i]) < np.inf:
                return NOT_FINITE
        return SINGULAR
    if w.moving.size:
        _reactions(h, w, rank, udot)
    for j in range(m.nu):
        udot[j] *= w.d[j]
    _carry(m, w.carried, w.moving, w.rows, w.lam, 0, dx)
    if w.moving.size:
        power = 0.0
        for i in range(w.moving.size):
            power += w.lam[i] * w.moving[i]
        dx[dx.size - 1] = power
    return OK


@helper
def _eliminated(h: Any, w: Table, active: np.ndarray, right: np.ndarray, expected: int, used: np.ndarray) -> int:
    """Eliminate the independent rows of J v = -right, in the units of the table; return how many, marked in `used`."""
    for j in range(w.step.size):
        w.step[j] = w.M[j, j] if w.M.size else w.b[j]
    scale(w, active, w.step)
    count = gather(w, active, h.least, right)
    rank = eliminate(w.table, w.rows, w.columns, count, min(count, w.columns.size), h.least, expected, STRONG)
    _mark(used, w.rows, rank)
    return rank


@helper
def _in_units(w: Table) -> None:
    """Write M and b in the units of the table."""
    n = w.b.size
    for i in range(n):
        w.b[i] *= w.d[i]
        for j in range(n):
            w.M[i, j] *= w.d[i] * w.d[j]


@helper
def _reactions(h: Any, w: Table, rank: int, v: np.ndarray) -> None:
    """Write the reactions lam of J^T lam = M v - b, in the units of the table, for all rows; of least size.

    The least of sum (rho_i lam_i)^2: rows of a group have one rho, so it does not depend on axes.
    """
    m, n = w.J.shape
    for k in range(rank):
        j = w.columns[k]
        w.step[k] = -w.b[j]
        for i in range(n):
            w.step[k] += w.M[j, i] * v[i]
        for i in range(m):
            w.basis[k, i] = w.J[i, j] * w.d[j] / w.rho[i] if h.active[i] and w.rho[i] > 0.0 else 0.0
    weights(w.basis, w.step, rank, m, w.lam)
    for i in range(m):
        w.lam[i] = w.lam[i] / w.rho[i] if w.rho[i] > 0.0 else 0.0


@helper
def rates(m: Any, t: float, x: np.ndarray, dq: np.ndarray) -> None:
    """Write qdot, (nq,), for the speeds in x."""
    m.time[0] = t
    invoke(m.code[RATES], m.time, x, m.p, dq, m.work)


@helper
def _unit(m: Any, x: np.ndarray) -> None:
    """Bring quaternions to length 1."""
    for k in range(m.units.size):
        first = m.units[k]
        length = 0.0
        for i in range(first, first + 4):
            length += x[i] * x[i]
        length = np.sqrt(length)
        for i in range(first, first + 4):
            x[i] /= length


@kernel
def settle(m: Any, t: float, x: np.ndarray) -> int:
    """Bring a state back to where it belongs: unit quaternions, closed loops, speeds along them."""
    _unit(m, x)
    return _projected(m, m.constrained, t, x)


@helper
def _projected(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    """Close the loops and turn the speeds along them, by motions of least kinetic energy.

    Newton's method with the factors of the last evaluation, which was nearby; with new ones where
    they do not help.
    """
    if h is None:
        return OK
    r = h.residuals
    _write_residuals(m, h, t, x)
    off, aslant = _furthest(r.phi, r.reach2, h.used_q, h.closing), _furthest(r.psi, r.pace2, h.used, h.active)
    still = 0
    for _ in range(30):
        if off <= EXACT and aslant <= ALONG:
            break
        if off > EXACT:
            if not _towards(m, h, t, x, True):
                return LOST
            invoke(m.code[MOVES], m.time, h.trial, m.p, h.moved, m.work)
        if aslant > ALONG:
            if not _towards(m, h, t, x, False):
                return TORN
            for i in range(m.nu):
                x[m.nq + i] += h.trial[m.nq + i]
        if off > EXACT:
            for i in range(m.nq):
                x[i] += h.moved[i]
            _unit(m, x)
        _write_residuals(m, h, t, x)
        before, slant = off, aslant
        off, aslant = _furthest(r.phi, r.reach2, h.used_q, h.closing), _furthest(r.psi, r.pace2, h.used, h.active)
        if off > 0.1 * before or aslant > 0.1 * slant:
            h.ranks[NEARBY] = 0
        if off > 0.5 * before and aslant > 0.5 * slant:  # rounding, or no way there
            still += 1
            if (off <= GOOD and aslant <= FAIR) or still > 3:
                break
    if not (off <= GOOD and _furthest(r.phi, r.reach2, h.closing, h.closing) <= LOOSE):
        return LOST
    if not (aslant <= FAIR and _furthest(r.psi, r.pace2, h.active, h.active) <= LOOSE):
        return TORN
    return OK


@helper
def _write_residuals(m: Any, h: Any, t: float, x: np.ndarray) -> None:
    m.time[0] = t
    invoke(m.code[RESIDUALS], m.time, x, m.p, h.residuals.out, m.work)


@helper
def _furthest(residual: np.ndarray, size2: np.ndarray, used: np.ndarray, active: np.ndarray) -> float:
    """The largest residual of the used rows that hold, in units of its size; infinite where one is NaN."""
    worst = 0.0
    for i in range(residual.size):
        if used[i] and active[i]:
            square = residual[i] * residual[i]
            if not square <= 1e-200:
                ratio = square / size2[i]
                worst = max(worst, ratio) if ratio == ratio else np.inf
    return np.sqrt(worst)


@helper
def _towards(m: Any, h: Any, t: float, x: np.ndarray, positions: bool) -> bool:
    """Write the motion of least kinetic energy that removes the residuals to the end of `trial`.

    positions : those of positions, with the coordinates before it; else those of speeds
    """
    r, trial = h.residuals, h.trial
    m.time[0] = t
    if positions:
        for i in range(m.nq):
            trial[i] = x[i]
        if m.code[CLOSURE]:
            return _closed(m, h, x)
    v = trial[m.nq : m.nq + m.nu]
    place = CHOSEN_Q if positions else CHOSEN
    if m.code[FACTORS]:
        f = h.factors_q if positions else h.factors
        if not h.ranks[NEARBY]:
            _factor(m, h, x)
        if h.ranks[place] == UNKNOWN:
            h.ranks[place] = _choose(h, f, h.closing, h.used_q) if positions else _choose(h, f, h.active, h.used)
        if h.ranks[place] >= 0 and (positions or h.ranks[place] <= h.ranks[RANK]):
            react(f, h.ranks[place], r.phi if positions else r.psi)
            fill(v, 0.0)
            push(f, h.ranks[place], v)
            return True
    w = h.table
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, w.out, m.work)
    if positions:
        rank = _eliminated(h, w, h.closing, r.phi, h.ranks[RANK], h.used_q)
    else:
        rank = _eliminated(h, w, h.active, r.psi, h.ranks[RANK], h.used)
    _in_units(w)
    fill(w.b, 0.0)
    if not recombine(w.M, w.b, w.table, w.columns, rank, w.normal, w.step, v):
        return False
    for j in range(m.nu):
        v[j] *= w.d[j]
    return True


@helper
def _closed(m: Any, h: Any, x: np.ndarray) -> bool:
    """The same in the speeds of the joints: of least size by their inertias."""
    w = h.closure
    invoke(m.code[CLOSURE], m.time, x, m.p, w.out, m.work)
    rank = _eliminated(h, w, h.closing, h.residuals.phi, ANY, h.used_q)
    v = h.trial[m.nq : m.nq + w.columns.size]
    if not shortest(w.table, w.columns, rank, w.normal, w.step, v):
        return False
    for j in range(w.columns.size):
        v[j] *= w.d[j]
    return True


@kernel
def respond(m: Any, t: np.ndarray, x: np.ndarray, tau: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> None:
    """Write the rate of change and the reactions, J^T lam, of many states that satisfy their constraints: a row each.

    Of reactions that are not determined, where rows repeat others, the least. NaN where a state has no rate.
    """
    h = m.constrained
    w = h.table
    for k in range(len(t)):
        copy(tau[k], m.tau)
        m.time[0] = t[k]
        status = _embedded(m, h, x[k], dx[k], True)
        if status != OK:
            fill(dx[k], np.nan)
            fill(lam[k], np.nan)
            continue
        udot = dx[k, m.nq : m.nq + m.nu]
        for j in range(m.nu):
            w.normal[0, j] = udot[j] / w.d[j]
        _reactions(h, w, h.ranks[RANK], w.normal[0])
        copy(w.lam, lam[k])


@kernel
def strike(m: Any, t: np.ndarray, x: np.ndarray, restitution: float, after: np.ndarray, impulse: np.ndarray) -> None:
    """Write the speeds after the active rows were imposed at states, and their impulses: a row each.

    M (u+ - u-) = J^T impulse,  psi(u+) = -restitution psi(u-).  Reference: [Gillespie, section 4, block 5].
    """
    h = m.constrained
    w, r = h.table, h.residuals
    for k in range(len(t)):
        _write_residuals(m, h, t[k], x[k])
        for i in range(r.psi.size):
            r.psi[i] *= 1.0 + restitution
        invoke(m.code[TABLE], m.time, x[k], m.tau, m.p, w.out, m.work)
        rank = _eliminated(h, w, h.active, r.psi, ANY, h.used)
        _in_units(w)
        fill(w.b, 0.0)
        v = h.trial[m.nq : m.nq + m.nu]
        if not recombine(w.M, w.b, w.table, w.columns, rank, w.normal, w.step, v):
            fill(after[k], np.nan)
            fill(impulse[k], np.nan)
            continue
        _reactions(h, w, rank, v)
        copy(w.lam, impulse[k])
        for j in range(m.nu):
            after[k, j] = x[k, m.nq + j] + v[j] * w.d[j]
