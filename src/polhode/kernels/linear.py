"""Systems of linear equations, solved in place."""

from __future__ import annotations

import numpy as np

from .kernel import apart

Array = np.ndarray


@apart
def factor(F: Array, pivots: Array) -> bool:
    """Factor a matrix, given and kept by columns, with partial pivoting; False if it is singular."""
    n = len(F)
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(F[k, i]) > abs(F[k, p]):
                p = i
        pivots[k], pivot = p, F[k, p]
        if not abs(pivot) > 0.0:
            return False
        F[k, p] = F[k, k]
        F[k, k] = pivot
        for i in range(k + 1, n):
            F[k, i] /= pivot
        for j in range(k + 1, n):
            top = F[j, p]
            F[j, p] = F[j, k]
            F[j, k] = top
            if top != 0.0:
                for i in range(k + 1, n):
                    F[j, i] -= top * F[k, i]
    return True


@apart
def solve(F: Array, pivots: Array, b: Array) -> None:
    """Solve with the factors, in place of b."""
    n = len(F)
    for k in range(n):
        p, top = pivots[k], b[pivots[k]]
        b[p] = b[k]
        b[k] = top
        for i in range(k + 1, n):
            b[i] -= top * F[k, i]
    for k in range(n - 1, -1, -1):
        b[k] /= F[k, k]
        for i in range(k):
            b[i] -= b[k] * F[k, i]
