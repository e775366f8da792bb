"""Small linear systems solved as expressions, with pivots that are known not to vanish in general."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, inverse, matrix, op_counts
from polhode.graph.compact import compact

from .generic import Point, sampled

BY_COFACTORS = 4  # unknowns up to which the only poles are those of the determinant
VANISHING = 1e-11  # against the largest entry of its row

_ZERO = as_expr(0)


def eliminate(A: Matrix, B: Matrix, points: Sequence[Point]) -> Matrix:
    """Solve A X = B for a square A that is not symmetric.

    Unknowns that stand alone in a row, or in one row only, are separated first.
    What is left is inverted by cofactors, or eliminated by the pivot that stays
    largest at the points where it has many unknowns.

    Returns X : (n, r).
    """
    n = len(A)
    A, B = compact(A), compact(B)
    values = sampled(A, points)
    values = values[np.isfinite(values).all(axis=(1, 2))]
    size = np.abs(values).max(axis=0)
    zero = size <= VANISHING * size.max(axis=1, keepdims=True, initial=0)
    left = {i: {j: A[i, j] for j in range(n) if not zero[i, j]} for i in range(n)}
    right = {i: [*B[i]] for i in range(n)}
    order = _peel(left)
    found: dict[int, list[Expr]] = {}
    for rows, columns in order:
        for i in rows:
            for j in [j for j in left[i] if j in found]:
                right[i] = _less(right[i], left[i].pop(j), found[j])
        if len(rows) == 1:
            (i,), (j,) = rows, columns
            found[j] = [_ratio(e, left[i][j]) for e in right[i]]
        else:
            core = matrix([[left[i].get(j, _ZERO) for j in columns] for i in rows])
            beside = compact(matrix([right[i] for i in rows]))
            solved = _core(core, beside, values[:, rows][:, :, columns])
            found |= {j: [*row] for j, row in zip(columns, solved.rows(), strict=True)}
        for j in columns:
            found[j] = [compact(e) for e in found[j]]
    return matrix([found[j] for j in range(n)])


def _peel(left: dict[int, dict[int, Expr]]) -> list[tuple[list[int], list[int]]]:
    """Blocks (rows, unknowns) that can be solved in turn: single unknowns, and the core between them."""
    rows, unknowns = set(left), {j for row in left.values() for j in row}
    before: list[tuple[list[int], list[int]]] = []
    after: list[tuple[list[int], list[int]]] = []
    while rows:
        alone = next((i for i in sorted(rows) if len(left[i].keys() & unknowns) == 1), None)
        if alone is not None:
            (j,) = left[alone].keys() & unknowns
            before.append(([alone], [j]))
        else:
            users = {j: [i for i in sorted(rows) if j in left[i]] for j in sorted(unknowns)}
            once = next((j for j, found in users.items() if len(found) == 1), None)
            if once is None:
                return [*before, *_components(left, rows, unknowns), *reversed(after)]
            alone, j = users[once][0], once
            after.append(([alone], [j]))
        rows.remove(alone)
        unknowns.remove(j)
    return [*before, *reversed(after)]


def _components(
    left: dict[int, dict[int, Expr]], rows: set[int], unknowns: set[int]
) -> list[tuple[list[int], list[int]]]:
    """The rows and unknowns that have to do with each other."""
    found: list[tuple[list[int], list[int]]] = []
    waiting = set(rows)
    while waiting:
        block = {min(waiting)}
        while True:
            columns = {j for i in block for j in left[i]} & unknowns
            more = {i for i in waiting if left[i].keys() & columns}
            if more <= block:
                break
            block |= more
        waiting -= block
        found.append((sorted(block), sorted(columns)))
    return found


def _core(A: Matrix, B: Matrix, values: np.ndarray) -> Matrix:
    if len(A) <= BY_COFACTORS:
        found: Matrix = compact(inverse(A)) @ B
        return found
    return _by_pivots(A, B, values.copy())


def _by_pivots(A: Matrix, B: Matrix, values: np.ndarray) -> Matrix:
    """Gauss-Jordan: the next pivot is the shortest among those that are large at all points."""
    n = len(A)
    left, right = [[*row] for row in A.rows()], [[*row] for row in B.rows()]
    rows, columns = list(range(n)), list(range(n))
    pivots: dict[int, int] = {}
    while rows:
        size = np.abs(values[:, rows][:, :, columns])
        relative = (size / size.max(axis=(1, 2), keepdims=True)).min(axis=0)
        good = [(i, j) for a, i in enumerate(rows) for b, j in enumerate(columns) if relative[a, b] > 0.1]
        if not good:
            a, b = np.unravel_index(int(relative.argmax()), relative.shape)
            good = [(rows[int(a)], columns[int(b)])]
        cost = {(i, j): (_fill(left, rows, columns, i, j), sum(op_counts([left[i][j]]).values())) for i, j in good}
        i, j = min(cost, key=lambda place: (*cost[place], place))
        rows.remove(i)
        columns.remove(j)
        pivots[j] = i
        one = _ratio(as_expr(1), left[i][j])
        left[i], right[i] = ([e * one if e != 0 else e for e in row] for row in (left[i], right[i]))
        values[:, i] = values[:, i] / values[:, i, j, None]
        for k in range(n):
            factor = left[k][j]
            if k != i and factor != 0:
                left[k], right[k] = _less(left[k], factor, left[i]), _less(right[k], factor, right[i])
                left[k][j] = _ZERO
                values[:, k] = values[:, k] - values[:, k, j, None] * values[:, i]
    return matrix([right[pivots[j]] for j in range(n)])


def _fill(left: list[list[Expr]], rows: list[int], columns: list[int], i: int, j: int) -> int:
    """Markowitz's estimate of the entries that a pivot fills in."""
    across = sum(left[i][c] != 0 for c in columns) - 1
    return across * (sum(left[r][j] != 0 for r in rows) - 1)


def _less(row: list[Expr], factor: Expr, other: list[Expr]) -> list[Expr]:
    """row - factor * other, where an exact zero counts as nothing even against a pole."""
    return [e if f == 0 else e - factor * f for e, f in zip(row, other, strict=True)]


def _ratio(e: Expr, by: Expr) -> Expr:
    return e if e == 0 else e / by
