"""What the compiled loops know of a mechanism, and its state's rate of change.

The state x is [q, u]. All functions here are Numba kernels without the GIL; they
call native code by address, so they are compiled once and serve every model.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from polhode.compile.invoke import invoke

from .embed import eliminate, recombine, shortest, weights
from .kernel import helper, inlined, kernel
from .stepping import copy, fill

OK, NOT_FINITE, SINGULAR, LOST, TORN = 0, 10, 11, 12, 14  # what evaluate and settle return

CONTROL, FLOW, RATES, RESIDUALS, CLOSURE, MOVES = range(6)  # code
# sizes: speeds of the joints; rows of constraints among the speeds, those and the embedded ones;
# independent rows among the speeds, and on positions; rows that the last evaluation used
NV, ROWS, HELD, RANK, RANK_Q, USED = range(6)

# residuals are measured by the motion that would remove them: in radians, metres and their rates
EXACT = 1e-14  # needs no correction
GOOD = 1e-9  # the largest of positions that may be left, where coordinates are about 1 or less
FAIR = 1e-6  # the same of speeds; weak rows are left out of their corrections
REDUNDANT = 1e-8  # a row that has less than this of its own repeats others
WEAK = 1e-4  # with less than this, as near a singular position, it is left out: noise grows like its inverse square


class Held(NamedTuple):
    """Constraints of a machine, and room to embed them.

    sizes     : see ROWS and the following
    active    : 1 for each row that holds
    size      : the largest entry that each row had so far, so that units do not matter; last that of all rows
    table     : (held, n + 2), n the larger of nu and nv: rows being eliminated, and what they must give
    rows, columns : their order in the elimination; the first `rank` columns are dependent
    normal    : (n, n), and step, trial : (n,), (nq + n,), room
    terms     : what native code writes
    """

    sizes: np.ndarray
    active: np.ndarray
    size: np.ndarray
    table: np.ndarray
    rows: np.ndarray
    columns: np.ndarray
    normal: np.ndarray
    step: np.ndarray
    trial: np.ndarray
    terms: np.ndarray


class Machine(NamedTuple):
    """Addresses, inputs and room to work in; one for each thread.

    nq     : coordinates, the first entries of the state
    counted : entries of the state whose error matters, the first ones; the rest only adds up
    code   : addresses, see CONTROL and the following; 0 for what there is not
    tau, p : forces on the speeds, parameters
    units  : first coordinate of each unit quaternion
    time   : (1,), the time given to native code
    work   : for native code
    held   : None without constraints; loops are compiled apart for such machines
    """

    nq: int
    counted: int
    code: np.ndarray
    tau: np.ndarray
    p: np.ndarray
    units: np.ndarray
    time: np.ndarray
    work: np.ndarray
    held: Held | None


@kernel
def evaluate(m: Any, t: float, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """Write the rate of change of x at time t to dx; OK, or what went wrong.

    settled : whether x satisfies its constraints, as where a step starts; not so between
    """
    m.time[0] = t
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    return _flow(m, m.held, x, dx)


@inlined
def _flow(m: Any, h: Any, x: np.ndarray, dx: np.ndarray) -> int:
    if h is None:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    return _embedded(m, h, x, dx)


@helper
def _embedded(m: Any, h: Any, x: np.ndarray, dx: np.ndarray) -> int:
    """The rate of change where constraints hold."""
    if not h.sizes[ROWS]:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    nq, nu = m.nq, m.tau.size
    invoke(m.code[FLOW], m.time, x, m.tau, m.p, h.terms, m.work)
    for i in range(nq):
        dx[i] = h.terms[i]
    M, b, J, gamma = _parts(h, nq, nu)
    columns = h.columns[:nu]
    count = _gather(h, J, gamma)
    rank = eliminate(h.table, h.rows, columns, count, min(count, h.sizes[RANK]), WEAK)
    h.sizes[USED] = rank
    if recombine(M, b, h.table, columns, rank, h.normal, h.step, dx[nq:]):
        return OK
    for i in range(h.terms.size):
        if not abs(h.terms[i]) < np.inf:
            return NOT_FINITE
    return SINGULAR


@helper
def _parts(h: Any, nq: int, nu: int) -> Any:
    """M, b, J and gamma among the terms."""
    rows, first = h.sizes[ROWS], nq + nu * nu
    M, b = h.terms[nq:first].reshape(nu, nu), h.terms[first : first + nu]
    J = h.terms[first + nu : first + nu + rows * nu].reshape(rows, nu)
    return M, b, J, h.terms[first + nu + rows * nu :]


@helper
def _gather(h: Any, J: np.ndarray, rest: np.ndarray) -> int:
    """Put the active rows J v = -rest that are not 0 into the table, brought to one size; return how many."""
    count, n = 0, J.shape[1]
    for i in range(len(J)):
        if h.active[i] and not _is_zero(J[i]):
            scale = _scale(h, J, i)
            for j in range(n):
                h.table[count, j] = J[i, j] * scale
            h.table[count, n] = -rest[i] * scale
            h.rows[count] = i
            count += 1
    return count


@helper
def _is_zero(row: np.ndarray) -> bool:
    for j in range(row.size):  # noqa: SIM110 - Numba has no all() of this kind
        if row[j] != 0.0:
            return False
    return True


@helper
def _scale(h: Any, J: np.ndarray, i: int) -> float:
    """One by the largest entry that a row had so far; a row that vanishes becomes weak, one of rounding stays small."""
    last = h.size.size - 1
    for j in range(J.shape[1]):
        if abs(J[i, j]) < np.inf:
            h.size[i] = max(h.size[i], abs(J[i, j]))
    h.size[last] = max(h.size[last], h.size[i])
    return 1.0 / h.size[i] if h.size[i] > 1e-12 * max(1.0, h.size[last]) else 1.0


@helper
def _positions(m: Any, h: Any, t: float, x: np.ndarray) -> Any:
    """Residuals of positions, and their J in the speeds of the joints."""
    return _written(m, h, t, x, m.code[CLOSURE], h.sizes[HELD], h.sizes[NV])


@helper
def _speeds(m: Any, h: Any, t: float, x: np.ndarray) -> Any:
    """Residuals of speeds, and their J."""
    return _written(m, h, t, x, m.code[RESIDUALS], h.sizes[ROWS], m.tau.size)


@helper
def _written(m: Any, h: Any, t: float, x: np.ndarray, code: int, rows: int, n: int) -> Any:
    m.time[0] = t
    invoke(code, m.time, x, m.p, h.terms, m.work)
    return h.terms[:rows], h.terms[rows : rows + rows * n].reshape(rows, n)


@helper
def _largest(h: Any, J: np.ndarray, residual: np.ndarray) -> float:
    """The largest residual of an active row, by the size of the row; infinite where one is NaN."""
    worst = 0.0
    for i in range(residual.size):
        if h.active[i]:
            size = abs(residual[i]) * _scale(h, J, i)
            worst = max(worst, size) if size == size else np.inf
    return worst


@helper
def _reach(x: np.ndarray, start: int, stop: int) -> float:
    """The largest of some entries, at least 1: rounding grows with them."""
    found = 1.0
    for i in range(start, stop):
        found = max(found, abs(x[i]))
    return found


@helper
def _shortest(h: Any, J: np.ndarray, rest: np.ndarray, rank: int) -> bool:
    """Write the shortest v with J v = -rest, of which `rank` rows are independent, to the end of `trial`."""
    n = J.shape[1]
    count = _gather(h, J, rest)
    rank = eliminate(h.table, h.rows, h.columns[:n], count, min(count, rank), WEAK)
    return shortest(h.table, h.columns[:n], rank, h.normal, h.step, h.trial[h.trial.size - h.columns.size :])


@helper
def rates(m: Any, t: float, x: np.ndarray, dq: np.ndarray) -> None:
    """Write qdot, (nq,), for the speeds in x."""
    m.time[0] = t
    invoke(m.code[RATES], m.time, x, m.p, dq, m.work)


@inlined
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
    return _projected(m, m.held, t, x)


@helper
def _projected(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    """Close the loops, turn the speeds along them."""
    if h is None:
        return OK
    phi, J = _positions(m, h, t, x)
    worst, still = _largest(h, J, phi), 0
    good = GOOD * _reach(x, 0, m.nq)
    for _ in range(20):
        if worst <= EXACT:
            break
        # Newton
        for i in range(m.nq):
            h.trial[i] = x[i]
        if not _shortest(h, J, phi, h.sizes[RANK_Q]):
            return LOST
        invoke(m.code[MOVES], m.time, h.trial, m.p, h.terms, m.work)
        for i in range(m.nq):
            x[i] += h.terms[i]
        _unit(m, x)
        phi, J = _positions(m, h, t, x)
        before, worst = worst, _largest(h, J, phi)
        if worst > 0.5 * before:  # rounding, or no way there
            still += 1
            if worst <= good or still > 3:
                break
    if not worst <= good:
        return LOST
    h.sizes[RANK_Q] = _grown(h, J, phi, h.sizes[RANK_Q])
    return _turned(m, h, t, x)


@helper
def _turned(m: Any, h: Any, t: float, x: np.ndarray) -> int:
    """Turn the speeds along the constraints."""
    if not h.sizes[ROWS]:
        return OK
    psi, J = _speeds(m, h, t, x)
    h.sizes[RANK] = _grown(h, J, psi, h.sizes[RANK])
    worst, reach = _largest(h, J, psi), _reach(x, m.nq, x.size)
    for _ in range(2):
        if worst <= EXACT:
            break
        if not _shortest(h, J, psi, h.sizes[RANK]):
            return TORN
        for i in range(m.tau.size):
            x[m.nq + i] += h.trial[m.nq + i]
        psi, J = _speeds(m, h, t, x)
        worst = _largest(h, J, psi)
    return OK if worst <= FAIR * reach else TORN


@helper
def _grown(h: Any, J: np.ndarray, rest: np.ndarray, rank: int) -> int:
    """Count the independent rows: rows that repeated others where a run started may have something to say here."""
    if rank >= min(len(J), J.shape[1]):
        return rank
    count = _gather(h, J, rest)
    most = min(count, J.shape[1])
    if rank >= most:
        return rank
    return max(rank, eliminate(h.table, h.rows, h.columns[: J.shape[1]], count, most, REDUNDANT))


@kernel
def respond(m: Any, t: np.ndarray, x: np.ndarray, tau: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> None:
    """Write the rate of change and the reactions, J^T lam, of many states: a row each.

    The reaction is 0 for rows that add nothing to others, and NaN where a state has no rate of change.
    """
    h = m.held
    for k in range(len(t)):
        copy(tau[k], m.tau)
        psi, J = _speeds(m, h, t[k], x[k])
        h.sizes[RANK] = _grown(h, J, psi, h.sizes[RANK])
        status = evaluate(m, t[k], x[k], dx[k], True)
        fill(lam[k], 0.0 if status == OK else np.nan)
        if status == OK:
            M, b, J, _ = _parts(h, m.nq, m.tau.size)
            columns = h.columns[: m.tau.size]
            weights(M, b, J, h.rows, columns, h.sizes[USED], h.normal, h.step, dx[k, m.nq :], lam[k])
        else:
            fill(dx[k, m.nq :], np.nan)


@kernel
def find_ranks(m: Any, t: float, x: np.ndarray) -> None:
    """Count the active rows that are independent at a state, all and those on positions, into sizes.

    Between steps a state is slightly off its constraints, and rows that repeat others
    would seem to say something new; so the ranks are kept. `settle` lets them grow.
    """
    h = m.held
    fill(h.size, 0.0)
    phi, J = _positions(m, h, t, x)
    h.sizes[RANK_Q] = _grown(h, J, phi, 0)
    if h.sizes[ROWS]:
        psi, J = _speeds(m, h, t, x)
        h.sizes[RANK] = _grown(h, J, psi, 0)
