"""Constraints embedded on-line: dependent speeds eliminated, the equations recombined.

The active rows A_B v = r are eliminated with complete pivoting, so the dependent
speeds are those that the rows determine best, chosen anew at every evaluation:
v_dep = D v_ind + e. The equations of the independent ones are combinations of all:

    F_r + sum_s D_sr F_s = 0

Needs no inverse of M, so it also serves links without mass.

Reference: [Gillespie, eq. 4, 5, 44, 45]; the choice of speeds instead of his eq. 43.
"""

from __future__ import annotations

import numpy as np

from .kernel import helper

Array = np.ndarray


@helper
def eliminate(
    table: Array, rows: Array, columns: Array, count: int, most: int, least: Array, expected: int, strong: float
) -> int:
    """Reduce the first `count` rows [A_B | r] to [1 -D | e], at most `most` of them; return how many.

    One more column of the table is for the largest entry of each row.

    Row i of the result belongs to the dependent speed columns[i]; `rows` is reordered
    alike. Entries are in units of the least that counts, so it ends where the best
    pivot is at most 1; beyond the first `expected` rows, where it is at most
    strong / least[row].
    """
    n = columns.size
    for j in range(n):
        columns[j] = j
    for a in range(count):
        table[a, n + 1] = _largest(table[a], n)
    for k in range(most):
        # the largest entry left; columns that are done are 0 there
        i = k
        for a in range(k + 1, count):
            if table[a, n + 1] > table[i, n + 1]:
                i = a
        best = table[i, n + 1]
        if not best > 1.0 or (k >= expected and not best * least[rows[i]] > strong):
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
def weights(basis: Array, right: Array, rank: int, count: int, mu: Array) -> None:
    """The shortest mu with C^T mu = right, where row k of `basis` is column k of C, (count, rank).

    C = Q R by Gram and Schmidt, twice; mu = Q R^-T right. Both are overwritten.
    """
    for i in range(count):
        mu[i] = 0.0
    for k in range(rank):
        for _ in range(2):
            for a in range(k):
                along = 0.0
                for i in range(count):
                    along += basis[a, i] * basis[k, i]
                right[k] -= along * right[a]
                for i in range(count):
                    basis[k, i] -= along * basis[a, i]
        size = 0.0
        for i in range(count):
            size += basis[k, i] * basis[k, i]
        size = np.sqrt(size)
        right[k] /= size
        for i in range(count):
            basis[k, i] /= size
            mu[i] += right[k] * basis[k, i]
