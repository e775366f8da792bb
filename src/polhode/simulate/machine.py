"""What the compiled loops know of a mechanism, and its state's rate of change.

The state x is [q, u]. All functions here are Numba kernels without the GIL; they
call native code by address, so they are compiled once and serve every model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.compile.invoke import invoke

from .embed import eliminate, recombine, shortest, weights
from .kernel import kernel

OK, NOT_FINITE, SINGULAR, LOST = 0, 10, 11, 12  # what evaluate and settle return

EXACT = 1e-14  # residual of positions that needs no correction
GOOD = 1e-9  # the largest that may be left
REDUNDANT = 1e-8  # a row that has less than this of its own repeats others
WEAK = 3e-5  # with less than this, as near a singular position, it is left out: noise grows like its inverse square


class Machine(NamedTuple):
    """Addresses, sizes and room to work in; one for each thread.

    code      : addresses of flow, rates, residuals and of the control or 0
    sizes     : nq, nu, constraint rows m, their rank, the rank of those on positions
    tau, p    : forces on the speeds, parameters
    units     : first coordinate of each unit quaternion
    active    : 1 for each row that holds
    holonomic : 1 for each row that restricts positions
    time      : (1,), the time given to native code
    terms     : what flow and residuals write
    scale     : (m,), of each row, so that units do not matter
    table     : (m, nu + 1), the rows being eliminated, and what they must give
    rows, columns : their order in the elimination; the first `rank` columns are dependent
    normal    : (nu, nu), and step, trial : (nu,), (nq + nu,), room
    work      : for native code
    """

    code: np.ndarray
    sizes: np.ndarray
    tau: np.ndarray
    p: np.ndarray
    units: np.ndarray
    active: np.ndarray
    holonomic: np.ndarray
    time: np.ndarray
    terms: np.ndarray
    scale: np.ndarray
    table: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    normal: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    work: np.ndarray


@kernel
def evaluate(m: Any, t: float, x: np.ndarray, dx: np.ndarray) -> int:
    """Write the rate of change of x at time t to dx; OK, or what went wrong."""
    m.time[0] = t
    if m.code[3]:
        invoke(m.code[3], m.time, x, m.tau)
    if m.sizes[2]:
        return _embedded(m, x, dx)
    invoke(m.code[0], m.time, x, m.tau, m.p, dx, m.work)
    return OK


@kernel
def _embedded(m: Any, x: np.ndarray, dx: np.ndarray) -> int:
    """The rate of change where constraints hold."""
    nq, nu, rows = m.sizes[0], m.sizes[1], m.sizes[2]
    invoke(m.code[0], m.time, x, m.tau, m.p, m.terms, m.work)
    for i in range(nq):
        dx[i] = m.terms[i]
    M = m.terms[nq : nq + nu * nu].reshape(nu, nu)
    b = m.terms[nq + nu * nu : nq + nu * nu + nu]
    J = m.terms[nq + nu * nu + nu : nq + nu * nu + nu + rows * nu].reshape(rows, nu)
    gamma = m.terms[nq + nu * nu + nu + rows * nu :]
    count = _gather(m, J, gamma, False)
    rank = eliminate(m.table, m.rows, m.columns, count, min(count, m.sizes[3]), WEAK)
    udot = dx[nq:]
    if recombine(M, b, m.table, m.columns, rank, m.normal, m.step, udot):
        return OK
    for i in range(m.terms.size):
        if not abs(m.terms[i]) < np.inf:
            return NOT_FINITE
    return SINGULAR


@kernel
def _gather(m: Any, J: np.ndarray, rest: np.ndarray, positions: bool) -> int:
    """Put the active rows J v = -rest into the table; return how many."""
    count = 0
    for i in range(m.sizes[2]):
        if m.active[i] and (m.holonomic[i] or not positions):
            for j in range(m.sizes[1]):
                m.table[count, j] = J[i, j] * m.scale[i]
            m.table[count, m.sizes[1]] = -rest[i] * m.scale[i]
            m.rows[count] = i
            count += 1
    return count


@kernel
def _residuals(m: Any, t: float, x: np.ndarray) -> Any:
    """Residuals of positions and speeds, and J."""
    nu, rows = m.sizes[1], m.sizes[2]
    m.time[0] = t
    invoke(m.code[2], m.time, x, m.p, m.terms, m.work)
    return m.terms[:rows], m.terms[rows : 2 * rows], m.terms[2 * rows : 2 * rows + rows * nu].reshape(rows, nu)


@kernel
def _largest(m: Any, residual: np.ndarray, positions: bool) -> float:
    worst = 0.0
    for i in range(m.sizes[2]):
        if m.active[i] and (m.holonomic[i] or not positions):
            worst = max(worst, abs(residual[i])) if residual[i] == residual[i] else np.inf
    return worst


@kernel
def rates(m: Any, t: float, x: np.ndarray, dq: np.ndarray) -> None:
    """Write qdot, (nq,), for the speeds in x."""
    m.time[0] = t
    invoke(m.code[1], m.time, x, m.p, dq, m.work)


@kernel
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
    return _projected(m, t, x) if m.sizes[2] else OK


@kernel
def _projected(m: Any, t: float, x: np.ndarray) -> int:
    """Close the loops, turn the speeds along them."""
    nq, nu = m.sizes[0], m.sizes[1]
    phi, psi, J = _residuals(m, t, x)
    worst, still = _largest(m, phi, True), 0
    for _ in range(20):
        if worst <= EXACT:
            break
        # Newton: the shortest step in the speeds' directions
        count = _gather(m, J, phi, True)
        rank = eliminate(m.table, m.rows, m.columns, count, min(count, m.sizes[4]), WEAK)
        for i in range(nq):
            m.trial[i] = x[i]
        if not shortest(m.table, m.columns, rank, m.normal, m.step, m.trial[nq:]):
            return LOST
        rates(m, t, m.trial, m.terms)
        for i in range(nq):
            x[i] += m.terms[i]
        _unit(m, x)
        phi, psi, J = _residuals(m, t, x)
        before, worst = worst, _largest(m, phi, True)
        if worst > 0.5 * before:  # rounding, or no way there
            still += 1
            if worst <= GOOD or still > 3:
                break
    if not worst <= GOOD:
        return LOST
    for k in range(2):  # rows that repeated others where it started may have something to say here
        count = _gather(m, J, psi, k == 1)
        if m.sizes[3 + k] < min(count, nu):
            found = eliminate(m.table, m.rows, m.columns, count, min(count, nu), REDUNDANT)
            m.sizes[3 + k] = max(m.sizes[3 + k], found)
    for _ in range(2):
        if _largest(m, psi, False) <= EXACT:
            break
        count = _gather(m, J, psi, False)
        rank = eliminate(m.table, m.rows, m.columns, count, min(count, m.sizes[3]), WEAK)
        if not shortest(m.table, m.columns, rank, m.normal, m.step, m.trial[nq:]):
            return LOST
        for i in range(nu):
            x[nq + i] += m.trial[nq + i]
        phi, psi, J = _residuals(m, t, x)
    return OK


@kernel
def reactions(m: Any, t: float, x: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> int:
    """Write the reaction of every row, J^T lam; 0 for those that add nothing to others."""
    status = evaluate(m, t, x, dx)
    for i in range(lam.size):
        lam[i] = 0.0
    if status != OK:
        return status
    nq, nu, rows = m.sizes[0], m.sizes[1], m.sizes[2]
    M = m.terms[nq : nq + nu * nu].reshape(nu, nu)
    b = m.terms[nq + nu * nu : nq + nu * nu + nu]
    J = m.terms[nq + nu * nu + nu : nq + nu * nu + nu + rows * nu].reshape(rows, nu)
    rank = 0
    for i in range(rows):
        rank += m.active[i]
    weights(M, b, J, m.rows, m.columns, min(rank, m.sizes[3]), m.normal, m.step, dx[nq:], lam)
    return OK


@kernel
def find_ranks(m: Any, t: float, x: np.ndarray) -> None:
    """Count the active rows that are independent at a state, all and those on positions, into sizes.

    Between steps a state is slightly off its constraints, and rows that repeat others
    would seem to say something new; so the ranks are kept. `settle` lets them grow.
    """
    _, psi, J = _residuals(m, t, x)
    for i in range(m.sizes[2]):
        largest = 0.0
        for j in range(m.sizes[1]):
            largest = max(largest, abs(J[i, j]))
        m.scale[i] = 1.0 / largest if largest > 1e-12 else 1.0
    for k in range(2):
        count = _gather(m, J, psi, k == 1)
        m.sizes[3 + k] = eliminate(m.table, m.rows, m.columns, count, min(count, m.sizes[1]), REDUNDANT)
