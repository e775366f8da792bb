"""Reactions of constraints by the factors of M: M = L D L^T, W = J M^-1 J^T.

Native code gives, at a state, L and D, B = D^-1 L^-1 J^T and W, and with forces b
also g = D^-1 L^-1 b and r = J M^-1 b + gamma. Then

    W lam = -r,   udot = L^-T (g + B lam).

A row is independent of those before it where what W has left of it is not small
beside its reference, the size it could have (`Constraints.reference`), and it
repeats them where that is nothing. In between W has lost the digits to tell, for it
is a square of J; then nothing is decided here, and `rows` decides on J itself.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel import helper

Array = np.ndarray

INDEPENDENT = 1e-5  # of what a row could have in W, and has left of its own
REPEATED = 1e-12  # the same, below which it repeats others
LOST = 1e-8  # of what a row had: less has too few digits


class Factors(NamedTuple):
    """What native code writes, in its order, and room for the solution.

    out     : all of it; the others are parts of it
    carried : qdot, zdot, powers
    g       : (n,), D^-1 L^-1 b
    r       : (m,), J M^-1 b + gamma
    W       : (m, m)
    B, L    : entries that are not 0, of each row, of each column
    pivots, inertias : (n,), D and the diagonal of M
    rho2    : (m,), sum_j E_ij^2 / M_jj, the size that W_ii could have
    moving  : (m,), minus the speeds of constraints that move by themselves, or empty

    b_start, b_index : where each row of B starts, and the speeds of its entries
    l_start, l_index, order : the same of the columns of L, and the order of elimination
    F       : (m, m), the Cholesky factor of the independent rows of W, by its order
    chosen  : those rows
    lam     : (m,), room
    """

    out: Array
    carried: Array
    g: Array
    r: Array
    W: Array
    B: Array
    L: Array
    pivots: Array
    inertias: Array
    rho2: Array
    moving: Array
    b_start: Array
    b_index: Array
    l_start: Array
    l_index: Array
    order: Array
    F: Array
    chosen: Array
    lam: Array


@helper
def is_definite(f: Factors) -> bool:
    """Tell whether M has an inverse with digits; not so for links without mass, and for NaN."""
    for j in range(f.pivots.size):  # noqa: SIM110 - Numba has no all() of this kind
        if not f.pivots[j] > 1e-13 * f.inertias[j]:
            return False
    return True


@helper
def choose(f: Factors, active: Array, geometric: Array) -> int:
    """Factor W of the active rows that are independent, in their order; how many, or -1 where W cannot tell."""
    count = 0
    for i in range(f.r.size):
        if not active[i]:
            continue
        left = f.W[i, i]
        for k in range(count):
            total = f.W[i, f.chosen[k]]
            for l in range(k):
                total -= f.F[count, l] * f.F[k, l]
            total *= f.F[k, k]  # holds the inverse
            f.F[count, k] = total
            left -= total * total
        if left > INDEPENDENT * f.rho2[i] and left > LOST * f.W[i, i]:
            f.F[count, count] = 1.0 / np.sqrt(left)
            f.chosen[count] = i
            count += 1
        elif not (left <= REPEATED * f.rho2[i] and (geometric[i] or f.rho2[i] == 0.0)):
            return -1
    return count


@helper
def react(f: Factors, count: int, right: Array) -> None:
    """Solve W lam = -right on the chosen rows; lam[k] belongs to row chosen[k]."""
    for k in range(count):
        total = -right[f.chosen[k]]
        for l in range(k):
            total -= f.F[k, l] * f.lam[l]
        f.lam[k] = total * f.F[k, k]
    for k in range(count - 1, -1, -1):
        total = f.lam[k]
        for l in range(k + 1, count):
            total -= f.F[l, k] * f.lam[l]
        f.lam[k] = total * f.F[k, k]


@helper
def push(f: Factors, count: int, out: Array) -> None:
    """out = L^-T (out + B lam): where out was D^-1 L^-1 b, the motion of b and the reactions."""
    for k in range(count):
        i = f.chosen[k]
        for e in range(f.b_start[i], f.b_start[i + 1]):
            out[f.b_index[e]] += f.B[e] * f.lam[k]
    for a in range(f.order.size - 1, -1, -1):
        k = f.order[a]
        total = out[k]
        for e in range(f.l_start[k], f.l_start[k + 1]):
            total -= f.L[e] * out[f.l_index[e]]
        out[k] = total
