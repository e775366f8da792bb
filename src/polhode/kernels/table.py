"""Constraints by the table of J and M: the decision on J itself, and no inverse of M. See `rows` and `embed`."""

from __future__ import annotations

from typing import Any

import numpy as np

from .embed import eliminate, recombine, weights
from .kernel import helper
from .rows import gather, mark, scale
from .stepping import fill
from .views import part, square

STRONG = 0.03  # between steps, a row must have this much of its own to be more than where the step began


@helper
def eliminated(h: Any, active: np.ndarray, used: np.ndarray, right: np.ndarray, expected: int) -> int:
    """Eliminate the independent rows of J v = -right, in the units of the table; return how many, marked as used."""
    s = h.places[0]
    J, E2 = square(h.real, s.J, s.rows, s.n), square(h.real, s.E2, s.rows, s.n)
    M, inertias = square(h.real, s.M, s.n, s.n), part(h.real, s.step, s.n)
    for j in range(s.n):
        inertias[j] = M[j, j]
    return ranked(h, active, used, J, E2, part(h.whole, s.bodies, s.n), inertias, right, expected)


@helper
def ranked(
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
def least_pivot(h: Any, rank: int) -> float:
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
def recombined(h: Any, rank: int, out: np.ndarray) -> bool:
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
def still(h: Any, active: np.ndarray, used: np.ndarray, right: np.ndarray, expected: int, v: np.ndarray) -> bool:
    """Write the motion v of least kinetic energy with J v = -right, from the table; False where there is none."""
    s = h.places[0]
    rank = eliminated(h, active, used, right, expected)
    fill(part(h.real, s.b, s.n), 0.0)
    if not recombined(h, rank, v):
        return False
    s.eliminated = rank
    d = part(h.real, s.d, s.n)
    for j in range(s.n):
        v[j] *= d[j]
    return True


@helper
def reactions(h: Any, rank: int, v: np.ndarray) -> None:
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
