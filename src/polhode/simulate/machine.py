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

CONTROL, FLOW, RATES, RESIDUALS, CLOSURE, MOVES = range(6)  # code
# sizes: coordinates, speeds, speeds of the joints; rows of constraints among the speeds, those and the
# embedded ones; independent rows among the speeds, and on positions
NQ, NU, NV, ROWS, HELD, RANK, RANK_Q = range(7)

EXACT = 1e-14  # residual of positions that needs no correction
GOOD = 1e-9  # the largest that may be left
REDUNDANT = 1e-8  # a row that has less than this of its own repeats others
WEAK = 3e-5  # with less than this, as near a singular position, it is left out: noise grows like its inverse square


class Machine(NamedTuple):
    """Addresses, sizes and room to work in; one for each thread.

    code      : addresses, see CONTROL and the following; 0 for what there is not
    sizes     : see NQ and the following
    tau, p    : forces on the speeds, parameters
    units     : first coordinate of each unit quaternion
    active    : 1 for each row that holds
    holonomic : 1 for each row that restricts positions
    time      : (1,), the time given to native code
    terms     : what native code writes
    scale     : of each row, so that units do not matter
    table     : (held, n + 1), n the larger of nu and nv: rows being eliminated, and what they must give
    rows, columns : their order in the elimination; the first `rank` columns are dependent
    normal    : (n, n), and step, trial : (n,), (nq + n,), room
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
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    if m.sizes[ROWS]:
        return _embedded(m, x, dx)
    invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
    return OK


@kernel
def _embedded(m: Any, x: np.ndarray, dx: np.ndarray) -> int:
    """The rate of change where constraints hold."""
    nq, nu, rows = m.sizes[NQ], m.sizes[NU], m.sizes[ROWS]
    invoke(m.code[FLOW], m.time, x, m.tau, m.p, m.terms, m.work)
    for i in range(nq):
        dx[i] = m.terms[i]
    M = m.terms[nq : nq + nu * nu].reshape(nu, nu)
    b = m.terms[nq + nu * nu : nq + nu * nu + nu]
    J = m.terms[nq + nu * nu + nu : nq + nu * nu + nu + rows * nu].reshape(rows, nu)
    gamma = m.terms[nq + nu * nu + nu + rows * nu :]
    columns = m.columns[:nu]
    count = _gather(m, J, gamma, False)
    rank = eliminate(m.table, m.rows, columns, count, min(count, m.sizes[RANK]), WEAK)
    udot = dx[nq:]
    if recombine(M, b, m.table, columns, rank, m.normal, m.step, udot):
        return OK
    for i in range(m.terms.size):
        if not abs(m.terms[i]) < np.inf:
            return NOT_FINITE
    return SINGULAR


@kernel
def _gather(m: Any, J: np.ndarray, rest: np.ndarray, positions: bool) -> int:
    """Put the active rows J v = -rest into the table; return how many."""
    count, n = 0, J.shape[1]
    for i in range(len(J)):
        if m.active[i] and (m.holonomic[i] or not positions):
            for j in range(n):
                m.table[count, j] = J[i, j] * m.scale[i]
            m.table[count, n] = -rest[i] * m.scale[i]
            m.rows[count] = i
            count += 1
    return count


@kernel
def _written(m: Any, t: float, x: np.ndarray, positions: bool) -> Any:
    """Residuals of positions and their J, in the speeds of the joints; or those of speeds."""
    rows, n = m.sizes[HELD] if positions else m.sizes[ROWS], m.sizes[NV] if positions else m.sizes[NU]
    m.time[0] = t
    invoke(m.code[CLOSURE] if positions else m.code[RESIDUALS], m.time, x, m.p, m.terms, m.work)
    return m.terms[:rows], m.terms[rows : rows + rows * n].reshape(rows, n)


@kernel
def _largest(m: Any, residual: np.ndarray, positions: bool) -> float:
    worst = 0.0
    for i in range(residual.size):
        if m.active[i] and (m.holonomic[i] or not positions):
            worst = max(worst, abs(residual[i])) if residual[i] == residual[i] else np.inf
    return worst


@kernel
def _shortest(m: Any, J: np.ndarray, rest: np.ndarray, positions: bool) -> bool:
    """Write the shortest v with J v = -rest after the coordinates in `trial`."""
    columns = m.columns[: J.shape[1]]
    count = _gather(m, J, rest, positions)
    rank = eliminate(m.table, m.rows, columns, count, min(count, m.sizes[RANK_Q if positions else RANK]), WEAK)
    return shortest(m.table, columns, rank, m.normal, m.step, m.trial[m.sizes[NQ] :])


@kernel
def rates(m: Any, t: float, x: np.ndarray, dq: np.ndarray) -> None:
    """Write qdot, (nq,), for the speeds in x."""
    m.time[0] = t
    invoke(m.code[RATES], m.time, x, m.p, dq, m.work)


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
    return _projected(m, t, x) if m.sizes[HELD] else OK


@kernel
def _projected(m: Any, t: float, x: np.ndarray) -> int:
    """Close the loops, turn the speeds along them."""
    nq = m.sizes[NQ]
    phi, J = _written(m, t, x, True)
    worst, still = _largest(m, phi, True), 0
    for _ in range(20):
        if worst <= EXACT:
            break
        # Newton
        for i in range(nq):
            m.trial[i] = x[i]
        if not _shortest(m, J, phi, True):
            return LOST
        invoke(m.code[MOVES], m.time, m.trial, m.p, m.terms, m.work)
        for i in range(nq):
            x[i] += m.terms[i]
        _unit(m, x)
        phi, J = _written(m, t, x, True)
        before, worst = worst, _largest(m, phi, True)
        if worst > 0.5 * before:  # rounding, or no way there
            still += 1
            if worst <= GOOD or still > 3:
                break
    if not worst <= GOOD:
        return LOST
    _grow(m, J, phi, True)
    if not m.sizes[ROWS]:
        return OK
    psi, J = _written(m, t, x, False)
    _grow(m, J, psi, False)
    for _ in range(2):
        if _largest(m, psi, False) <= EXACT:
            break
        if not _shortest(m, J, psi, False):
            return LOST
        for i in range(m.sizes[NU]):
            x[nq + i] += m.trial[nq + i]
        psi, J = _written(m, t, x, False)
    return OK


@kernel
def _grow(m: Any, J: np.ndarray, rest: np.ndarray, positions: bool) -> None:
    """Count the independent rows: rows that repeated others where a run started may have something to say here."""
    which = RANK_Q if positions else RANK
    count = _gather(m, J, rest, positions)
    most = min(count, J.shape[1])
    if m.sizes[which] < most:
        found = eliminate(m.table, m.rows, m.columns[: J.shape[1]], count, most, REDUNDANT)
        m.sizes[which] = max(m.sizes[which], found)


@kernel
def reactions(m: Any, t: float, x: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> int:
    """Write the reaction of every row, J^T lam; 0 for those that add nothing to others."""
    status = evaluate(m, t, x, dx)
    for i in range(lam.size):
        lam[i] = 0.0
    if status != OK:
        return status
    nq, nu, rows = m.sizes[NQ], m.sizes[NU], m.sizes[ROWS]
    M = m.terms[nq : nq + nu * nu].reshape(nu, nu)
    b = m.terms[nq + nu * nu : nq + nu * nu + nu]
    J = m.terms[nq + nu * nu + nu : nq + nu * nu + nu + rows * nu].reshape(rows, nu)
    rank = 0
    for i in range(rows):
        rank += m.active[i]
    weights(M, b, J, m.rows, m.columns[:nu], min(rank, m.sizes[RANK]), m.normal, m.step, dx[nq:], lam)
    return OK


@kernel
def find_ranks(m: Any, t: float, x: np.ndarray) -> None:
    """Count the active rows that are independent at a state, all and those on positions, into sizes.

    Between steps a state is slightly off its constraints, and rows that repeat others
    would seem to say something new; so the ranks are kept. `settle` lets them grow.
    """
    for k in range(2):
        positions = k == 0
        if not m.sizes[HELD if positions else ROWS]:
            return
        rest, J = _written(m, t, x, positions)
        for i in range(len(J)):
            if positions or not m.holonomic[i]:
                largest = 0.0
                for j in range(J.shape[1]):
                    largest = max(largest, abs(J[i, j]))
                m.scale[i] = 1.0 / largest if largest > 1e-12 else 1.0
        m.sizes[RANK_Q if positions else RANK] = 0
        _grow(m, J, rest, positions)
