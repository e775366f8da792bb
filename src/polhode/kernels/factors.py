"""Reactions of constraints by factors, of M alone or of M with the rows that hold.

Native code gives, at a state, M = L D L^T; b, gamma and J; and, for all rows of a machine that
are independent, the elimination of speeds and rows together,

    [ M  J^T ] [  v   ]   [   b    ]
    [ J   0  ] [ -lam ] = [ -gamma ].

Where other rows hold, B = D^-1 L^-1 J^T and W = J M^-1 J^T are made here, and with g = D^-1 L^-1 b

    W lam = -(gamma + J L^-T g),   v = L^-T (g + B lam).

A row is independent of those before it where what W has left of it is not small
beside its reference, the size it could have (`Constraints.reference`), and it
repeats them where that is nothing. In between W has lost the digits to tell, for it
is a square of J; then nothing is decided here, and `rows` decides on J itself.
"""

from __future__ import annotations

import numpy as np

from .kernel import helper, inlined
from .views import less

Array = np.ndarray

INDEPENDENT = 1e-5  # of what a row could have in W, and has left of its own
REPEATED = 1e-12  # the same, below which it repeats others
LOST_DIGITS = 1e-8  # of what a row had: less has too few digits


@inlined
def is_definite(pivots: Array, inertias: Array) -> bool:
    """Tell whether M has an inverse with digits; not so for links without mass, and for NaN."""
    for j in range(pivots.size):  # noqa: SIM110 - Numba has no all() of this kind
        if not pivots[j] > 1e-13 * inertias[j]:
            return False
    return True


@inlined
def is_whole(left: Array, had: Array, rho2: Array, solved: Array, geometric: Array) -> bool:
    """Tell whether the rows that native code solves for are independent and the others repeat them, as `choose`."""
    for i in range(left.size):
        if solved[i]:
            if not (left[i] > INDEPENDENT * rho2[i] and left[i] > LOST_DIGITS * had[i]):
                return False
        elif not (left[i] <= REPEATED * rho2[i] and (geometric[i] or rho2[i] == 0.0)):
            return False
    return True


@helper
def make_responses(
    J: Array, j_start: Array, j_index: Array, L: Array, l_start: Array, l_index: Array, order: Array,
    pivots: Array, b_start: Array, b_index: Array, row: Array, B: Array, W: Array, wanted: Array, every: bool,
) -> None:  # fmt: skip
    """Write B = D^-1 L^-1 J^T and W = J M^-1 J^T, of the rows that are wanted, not 0, or of all; row (n,) is room."""
    for i in range(len(W)):
        if not (every or wanted[i]):
            continue
        for j in range(row.size):
            row[j] = 0.0
        for e in range(j_start[i], j_start[i + 1]):
            row[j_index[e]] = J[e]
        halve(L, l_start, l_index, order, row)
        for e in range(b_start[i], b_start[i + 1]):
            B[e] = row[b_index[e]] / pivots[b_index[e]]
        for k in range(i + 1):
            if every or wanted[k]:
                total = 0.0
                for e in range(b_start[k], b_start[k + 1]):
                    total += B[e] * row[b_index[e]]
                W[i, k] = W[k, i] = total


@helper
def choose(W: Array, rho2: Array, active: Array, geometric: Array, F: Array, chosen: Array, row: Array) -> int:
    """Factor W = F^T F of the active rows that are independent, in their order; how many, or -1 where W cannot tell.

    F is upper triangular and holds the inverses of its diagonal; row (m,) is room.
    """
    count = 0
    for i in range(rho2.size):
        if not active[i]:
            continue
        left = W[i, i]
        for k in range(count):
            row[k] = W[i, chosen[k]]
        for k in range(count):
            total = row[k] * F[k, k]
            row[k] = total
            left -= total * total
            less(row, F[k], total, k + 1, count)
        if left > INDEPENDENT * rho2[i] and left > LOST_DIGITS * W[i, i]:
            for k in range(count):
                F[k, count] = row[k]
            F[count, count] = 1.0 / np.sqrt(left)
            chosen[count] = i
            count += 1
        elif not (left <= REPEATED * rho2[i] and (geometric[i] or rho2[i] == 0.0)):
            return -1
    return count


@helper
def margin(F: Array, chosen: Array, count: int, rho2: Array) -> float:
    """The least that a chosen row has of its own, of its reference: 0 at a dead point, infinite without rows."""
    most = 0.0
    for k in range(count):
        most = max(most, F[k, k] * F[k, k] * rho2[chosen[k]])
    return 1.0 / np.sqrt(most) if most > 0.0 else np.inf


@helper
def react(F: Array, count: int, lam: Array) -> None:
    """Solve W x = lam on the chosen rows; lam is overwritten by x."""
    for k in range(count):
        lam[k] *= F[k, k]
        less(lam, F[k], lam[k], k + 1, count)
    for k in range(count - 1, -1, -1):
        even, odd = lam[k], 0.0  # two sums, neither of which waits for the other
        l = k + 1
        while l + 1 < count:
            even -= F[k, l] * lam[l]
            odd -= F[k, l + 1] * lam[l + 1]
            l += 2
        if l < count:
            even -= F[k, l] * lam[l]
        lam[k] = (even + odd) * F[k, k]


@helper
def pull(B: Array, start: Array, index: Array, chosen: Array, count: int, lam: Array, out: Array) -> None:
    """out += B lam, of the chosen rows."""
    for k in range(count):
        i = chosen[k]
        for e in range(start[i], start[i + 1]):
            out[index[e]] += B[e] * lam[k]


@helper
def halve(L: Array, start: Array, index: Array, order: Array, out: Array) -> None:
    """out = L^-1 out."""
    for k in order:
        value = out[k]
        if value != 0.0:
            for e in range(start[k], start[k + 1]):
                out[index[e]] -= L[e] * value


@helper
def push(L: Array, start: Array, index: Array, order: Array, out: Array) -> None:
    """out = L^-T out."""
    for a in range(order.size - 1, -1, -1):
        k = order[a]
        total = out[k]
        for e in range(start[k], start[k + 1]):
            total -= L[e] * out[index[e]]
        out[k] = total
