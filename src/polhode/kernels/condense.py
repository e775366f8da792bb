"""Small problems in W: independent rows factored, and what is left for others beside rows that stay equal.

    W = J M^-1 J^T,   w = W lam + right

With w_e = 0 for rows e that stay equal, the others have w_c = A lam_c + b,

    A = W_cc - W_ce W_ee^-1 W_ec,   b = right_c - W_ce W_ee^-1 right_e.
"""

from __future__ import annotations

import numpy as np

from .kernel import helper

Array = np.ndarray

DISTINCT = 1e-9  # of what a row could have in W, and must have left beside others


@helper
def pick(W: Array, rho2: Array, rows: Array, many: int, F: Array, room: Array) -> int:
    """Factor W = F^T F of those of the first `many` rows that are independent, moved to the front; how many.

    F is upper triangular, with the inverses of its diagonal.
    """
    count = 0
    for a in range(many):
        i = rows[a]
        left = W[i, i]
        for k in range(count):
            room[k] = W[i, rows[k]]
        forward(F, count, room)
        for k in range(count):
            left -= room[k] * room[k]
        if left > DISTINCT * rho2[i] and left > DISTINCT * W[i, i]:
            for k in range(count):
                F[k, count] = room[k]
            F[count, count] = 1.0 / np.sqrt(left)
            rows[count] = i
            count += 1
    return count


@helper
def forward(F: Array, count: int, y: Array) -> None:
    """y = F^-T y"""
    for k in range(count):
        total = y[k] * F[k, k]
        y[k] = total
        for l in range(k + 1, count):
            y[l] -= total * F[k, l]


@helper
def backward(F: Array, count: int, y: Array) -> None:
    """y = F^-1 y"""
    for k in range(count - 1, -1, -1):
        total = y[k]
        for l in range(k + 1, count):
            total -= F[k, l] * y[l]
        y[k] = total * F[k, k]


@helper
def condense(
    W: Array, right: Array, equal: Array, equals: int, F: Array, which: Array, many: int, X: Array, y: Array, A: Array,
    b: Array,
) -> None:  # fmt: skip
    """Write A and b of rows `which` beside rows `equal`; A has `many` rows and columns."""
    for k in range(equals):
        y[k] = right[equal[k]]
    forward(F, equals, y)
    for a in range(many):
        for k in range(equals):
            X[a, k] = W[which[a], equal[k]]
        forward(F, equals, X[a])
    for a in range(many):
        i = which[a]
        b[a] = right[i]
        for k in range(equals):
            b[a] -= X[a, k] * y[k]
        for c in range(a + 1):
            left = W[i, which[c]]
            for k in range(equals):
                left -= X[a, k] * X[c, k]
            A[a, c] = A[c, a] = left
    if equals:
        _drop_rounding(W, right, which, many, equals, X, y, A, b)


@helper
def _drop_rounding(
    W: Array, right: Array, which: Array, many: int, equals: int, X: Array, y: Array, A: Array, b: Array
) -> None:
    """Have nothing left of rows that the equal ones determine, so that rounding is not taken for what moves them."""
    for a in range(many):
        i = which[a]
        if A[a, a] > 0.01 * DISTINCT * W[i, i]:
            continue
        for c in range(many):
            A[a, c] = A[c, a] = 0.0
        size = abs(right[i])
        for k in range(equals):
            size += abs(X[a, k] * y[k])
        if abs(b[a]) <= DISTINCT * size:
            b[a] = 0.0


@helper
def complete(
    W: Array, right: Array, equal: Array, equals: int, F: Array, which: Array, many: int, found: Array, y: Array,
    lam: Array,
) -> None:  # fmt: skip
    """Write the reactions of all rows, from those found for `which`; the rest is 0."""
    for i in range(lam.size):
        lam[i] = 0.0
    for a in range(many):
        lam[which[a]] = found[a]
    for k in range(equals):
        total = -right[equal[k]]
        for a in range(many):
            total -= W[equal[k], which[a]] * found[a]
        y[k] = total
    forward(F, equals, y)
    backward(F, equals, y)
    for k in range(equals):
        lam[equal[k]] = y[k]
