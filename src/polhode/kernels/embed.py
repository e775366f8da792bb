"""Constraints embedded on-line: dependent speeds eliminated, the equations recombined.

The active rows A_B v = r are eliminated with complete pivoting, so the dependent
speeds are those that the rows determine best, chosen anew at every evaluation:
v_dep = D v_ind + e. The equations of the independent ones are combinations of all:

    F_r + sum_s D_sr F_s = 0

Reference: [Gillespie, eq. 4, 5, 44, 45]; the choice of speeds instead of his eq. 43.
"""

from __future__ import annotations

import numpy as np

from .kernel import helper

Array = np.ndarray


@helper
def eliminate(table: Array, rows: Array, columns: Array, count: int, most: int, least: float) -> int:
    """Reduce the first `count` rows [A_B | r] to [1 -D | e], at most `most` of them; return how many.

    One more column of the table is for the largest entry of each row.

    Row i of the result belongs to the dependent speed columns[i]; `rows` is reordered
    alike. It ends where the best pivot is below `least` times the first.
    """
    n = columns.size
    for j in range(n):
        columns[j] = j
    for a in range(count):
        table[a, n + 1] = _largest(table[a], n)
    first = 0.0
    for k in range(most):
        # the largest entry left; columns that are done are 0 there
        i = k
        for a in range(k + 1, count):
            if table[a, n + 1] > table[i, n + 1]:
                i = a
        best = table[i, n + 1]
        if k == 0:
            first = best
        if not best > least * first:
            return k
        at = k
        while abs(table[i, columns[at]]) != best:
            at += 1
        j = columns[at]
        columns[k], columns[at] = j, columns[k]
        if i != k:
            rows[k], rows[i] = rows[i], rows[k]
            for b in range(n + 2):
                table[k, b], table[i, b] = table[i, b], table[k, b]
        scale = 1.0 / table[k, j]
        for b in range(n + 1):
            table[k, b] *= scale
        table[k, j] = 1.0
        for a in range(count):
            factor = table[a, j]
            if a != k and factor != 0.0:
                for b in range(n + 1):
                    table[a, b] -= factor * table[k, b]
                table[a, j] = 0.0
                if a > k:
                    table[a, n + 1] = _largest(table[a], n)
    return most


@helper
def _largest(row: Array, n: int) -> float:
    best = 0.0
    for b in range(n):
        best = max(best, abs(row[b]))
    return best


@helper
def recombine(
    M: Array, b: Array, table: Array, columns: Array, rank: int,
    normal: Array, step: Array, udot: Array,
) -> bool:  # fmt: skip
    """Solve M udot = b on the motions the eliminated rows allow; False where that is singular.

    With G = [D; 1]:  G^T M G y = G^T (b - M e),  udot = G y + e.
    """
    n = columns.size
    p = n - rank
    # M G, row by row of M, and b - M e
    for i in range(n):
        rest = b[i]
        for k in range(rank):
            rest -= M[i, columns[k]] * table[k, n]
        step[i] = rest
        for c in range(p):
            total = M[i, columns[rank + c]]
            for k in range(rank):
                total -= M[i, columns[k]] * table[k, columns[rank + c]]
            normal[i, c] = total
    # G^T of both, into rows of the independent speeds; each is used up before it is written
    for c in range(p):
        i = columns[rank + c]
        for k in range(rank):
            factor = table[k, i]
            if factor != 0.0:
                step[i] -= factor * step[columns[k]]
                for d in range(c + 1):
                    normal[i, d] -= factor * normal[columns[k], d]
    return solve(normal, step, columns, rank, udot) and depend(table, columns, rank, udot)


@helper
def solve(normal: Array, step: Array, columns: Array, rank: int, out: Array) -> bool:
    """Solve for the independent entries of out by Cholesky; False where the matrix is not positive.

    Row columns[rank + c] of `normal` is row c of the matrix, of which the lower triangle is read.
    """
    p = columns.size - rank
    for c in range(p):
        i = columns[rank + c]
        whole = normal[i, c]
        for d in range(c + 1):
            j = columns[rank + d]
            total = normal[i, d]
            for k in range(d):
                total -= normal[i, k] * normal[j, k]
            if d < c:
                normal[i, d] = total / normal[j, d]
            else:
                if not total > 1e-14 * whole:
                    return False
                normal[i, c] = np.sqrt(total)
        total = step[i]
        for d in range(c):
            total -= normal[i, d] * step[columns[rank + d]]
        step[i] = total / normal[i, c]
    for c in range(p - 1, -1, -1):
        i = columns[rank + c]
        total = step[i]
        for d in range(c + 1, p):
            j = columns[rank + d]
            total -= normal[j, c] * out[j]
        out[i] = total / normal[i, c]
    return True


@helper
def depend(table: Array, columns: Array, rank: int, out: Array) -> bool:
    """Fill in the dependent entries: v_dep = D v_ind + e."""
    n = columns.size
    for k in range(rank):
        total = table[k, n]
        for c in range(rank, n):
            total -= table[k, columns[c]] * out[columns[c]]
        out[columns[k]] = total
    return True


@helper
def shortest(table: Array, columns: Array, rank: int, normal: Array, step: Array, out: Array) -> bool:
    """The shortest vector that the eliminated rows allow: (1 + D^T D) v_ind = -D^T e."""
    n = columns.size
    for c in range(n - rank):
        i = columns[rank + c]
        step[i] = 0.0
        for k in range(rank):
            step[i] += table[k, i] * table[k, n]
        for d in range(c + 1):
            total = 1.0 if c == d else 0.0
            for k in range(rank):
                total += table[k, i] * table[k, columns[rank + d]]
            normal[i, d] = total
    return solve(normal, step, columns, rank, out) and depend(table, columns, rank, out)


@helper
def weights(
    M: Array, b: Array, J: Array, rows: Array, columns: Array, rank: int,
    normal: Array, right: Array, udot: Array, lam: Array,
) -> None:  # fmt: skip
    """Solve J^T lam = M udot - b on the dependent speeds, for the rows that determine them."""
    n = columns.size
    for k in range(rank):
        i = columns[k]
        right[k] = -b[i]
        for j in range(n):
            right[k] += M[i, j] * udot[j]
        for a in range(rank):
            normal[k, a] = J[rows[a], i]
    for k in range(rank):
        best = k
        for a in range(k + 1, rank):
            if abs(normal[a, k]) > abs(normal[best, k]):
                best = a
        if best != k:
            right[k], right[best] = right[best], right[k]
            for c in range(k, rank):
                normal[k, c], normal[best, c] = normal[best, c], normal[k, c]
        for a in range(k + 1, rank):
            factor = normal[a, k] / normal[k, k]
            right[a] -= factor * right[k]
            for c in range(k, rank):
                normal[a, c] -= factor * normal[k, c]
    for k in range(rank - 1, -1, -1):
        total = right[k]
        for c in range(k + 1, rank):
            total -= normal[k, c] * lam[rows[c]]
        lam[rows[k]] = total / normal[k, k]
