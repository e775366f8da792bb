"""Symmetric linear systems by sparse L D L^T."""

from __future__ import annotations

import math
import random

from .algebra import add, div, mul, sub
from .evaluate import evaluate
from .matrix import Entries, Matrix, as_matrix
from .node import Expr, const
from .walk import free_symbols

_ZERO, _ONE = const(0), const(1)


class LDL:
    """The factorisation P^T A P = L D L^T of a symmetric matrix A.

    order   : the pivots k, first eliminated first
    lower   : lower[k] holds the entries L_ik that are not zero, by i
    pivot   : D_k
    inverse : 1 / D_k

    The next pivot is the row with the fewest entries left, the last one of
    equals: leaves before their parents, so a tree fills in nothing. A definite
    matrix needs no other pivoting.
    """

    __slots__ = ("inverse", "lower", "order", "pivot")

    def __init__(self, a: Matrix | Entries) -> None:
        a = as_matrix(a)
        _require_symmetric(a)
        n = len(a)
        # entries still to be eliminated, zeros left out: left[i][j] is left[j][i]
        left = [{j: a[max(i, j), min(i, j)] for j in range(n)} for i in range(n)]
        left = [{j: e for j, e in row.items() if e is not _ZERO} for row in left]
        remaining = set(range(n))
        self.order: list[int] = []
        self.lower: list[dict[int, Expr]] = [{} for _ in range(n)]
        self.pivot: list[Expr] = [_ZERO] * n
        self.inverse: list[Expr] = [_ZERO] * n
        while remaining:
            k = min(remaining, key=lambda i: (len(left[i]), -i))
            remaining.remove(k)
            self.order.append(k)
            pivot = left[k].pop(k, _ZERO)
            if pivot is _ZERO:
                raise ZeroDivisionError(
                    f"Pivot {k} of the {n} x {n} matrix is exactly zero: it is not definite, and solve needs it to be. "
                    "Eliminate the constraints of a saddle-point system first."
                )
            inverse = div(_ONE, pivot)
            column = {i: mul(e, inverse) for i, e in left[k].items()}
            for i in left[k]:
                del left[i][k]
                for j in left[k]:
                    if j <= i:
                        left[i][j] = left[j][i] = sub(left[i].get(j, _ZERO), mul(column[i], left[k][j]))
            self.pivot[k], self.inverse[k], self.lower[k] = pivot, inverse, column

    def solve(self, b: Matrix | Entries) -> Matrix:
        """Solve A x = b for a vector or for the columns of a matrix."""
        b = as_matrix(b)
        if len(b) != len(self.order):
            raise ValueError(f"Right-hand side has {len(b)} rows, the matrix {len(self.order)}. Make them equal.")
        if len(b.shape) == 1:
            return Matrix(b.shape, self._solve(list(b)))
        columns = [self._solve(list(c)) for c in b.T.rows()]
        return Matrix(b.T.shape, [e for c in columns for e in c]).T

    def half(self, b: Matrix | Entries) -> list[Expr]:
        """Solve L y = b for a vector, the first half of `solve`."""
        y = list(as_matrix(b))
        for k in self.order:
            if y[k] is not _ZERO:
                for i, factor in self.lower[k].items():
                    y[i] = sub(y[i], mul(factor, y[k]))
        return y

    def _solve(self, b: list[Expr]) -> list[Expr]:
        # forward, diagonal, then backward: L^T x = y
        x = self.half(b)
        x = [_ZERO if e is _ZERO else mul(e, inverse) for e, inverse in zip(x, self.inverse, strict=True)]
        for k in reversed(self.order):
            known: Expr = _ZERO
            for i, factor in self.lower[k].items():
                if x[i] is not _ZERO:
                    known = add(known, mul(factor, x[i]))
            x[k] = sub(x[k], known)
        return x


def solve(a: Matrix | Entries, b: Matrix | Entries) -> Matrix:
    """Solve A x = b for a symmetric positive definite A.

    >>> from polhode.graph import symbol
    >>> m = symbol("m")
    >>> solve([[m, 0], [0, 2]], [1, m])
    [1/m, m/2]
    """
    return LDL(a).solve(b)


def _require_symmetric(a: Matrix) -> None:
    """Refuse a matrix that is not symmetric.

    Triangles that are not the same expressions are compared at random points.
    """
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"Matrix has shape {a.shape}, expected a square one.")
    n = len(a)
    pairs = [(i, j) for i in range(n) for j in range(i) if a[i, j] is not a[j, i]]
    if not pairs:
        return
    symbols = sorted(free_symbols(a), key=lambda s: s.rank)
    draw = random.Random(0)
    for low, high in ((0.5, 1.5), (-1.0, 1.0), (5.0, 15.0), (-15.0, -5.0)):
        entries = evaluate(a, {s: draw.uniform(low, high) for s in symbols})
        largest = max((abs(e) for e in entries.flat if math.isfinite(e)), default=0.0)
        for i, j in pairs:
            x, y = float(entries[i, j]), float(entries[j, i])
            if abs(x - y) > 1e-8 * (abs(x) + abs(y)) + 1e-12 * largest:  # False for NaN: not defined here
                raise ValueError(
                    f"Entries ({i}, {j}) and ({j}, {i}) differ ({x:.6g} and {y:.6g} at a random point), "
                    "expected a symmetric matrix."
                )


def inverse(a: Matrix | Entries) -> Matrix:
    """Invert a small square matrix: constant pivots first, then cofactors of what is left.

    Singular only where the determinant vanishes: no pivot adds a pole. The
    number of operations doubles with each row; for more than a few rows of a
    symmetric matrix use `solve`.

    >>> from polhode.graph import symbol
    >>> x = symbol("x")
    >>> inverse([[1, x], [0, 2]])
    [[1, -x/2],
     [0, 1/2]]
    """
    a = as_matrix(a)
    if len(a.shape) != 2 or a.shape[0] != a.shape[1]:
        raise ValueError(f"Matrix has shape {a.shape}, expected a square one.")
    n = len(a)
    left = [list(row) for row in a]
    right = [[_ONE if i == j else _ZERO for j in range(n)] for i in range(n)]
    rows, columns = list(range(n)), list(range(n))
    pivots: list[tuple[int, int]] = []
    while (found := _constant_pivot(left, rows, columns)) is not None:
        i, j = found
        rows.remove(i)
        columns.remove(j)
        pivots.append(found)
        scale = div(_ONE, left[i][j])
        left[i], right[i] = ([mul(e, scale) for e in row] for row in (left[i], right[i]))
        for k in range(n):
            factor = left[k][j]
            if k != i and factor is not _ZERO:
                left[k] = [_less(e, factor, f) for e, f in zip(left[k], left[i], strict=True)]
                right[k] = [_less(e, factor, f) for e, f in zip(right[k], right[i], strict=True)]
    # the columns that are left, then those of the pivots
    core = Matrix((len(rows), len(rows)), [left[i][j] for i in rows for j in columns])
    above = Matrix((len(rows), n), [e for i in rows for e in right[i]])
    solved = dict(zip(columns, (_by_cofactors(core) @ above).rows(), strict=True)) if rows else {}
    for i, j in pivots:
        row = right[i]
        for k in columns:
            row = [_less(e, left[i][k], f) for e, f in zip(row, solved[k], strict=True)]
        solved[j] = Matrix((n,), row)
    return Matrix((n, n), [e for k in range(n) for e in solved[k]])


def _less(e: Expr, factor: Expr, f: Expr) -> Expr:
    """e - factor * f, where an exact zero counts as nothing even against a pole."""
    return e if factor is _ZERO or f is _ZERO else sub(e, mul(factor, f))


def _constant_pivot(left: list[list[Expr]], rows: list[int], columns: list[int]) -> tuple[int, int] | None:
    """The largest constant among the rows and columns, if any."""
    found = [(abs(left[i][j].value), -i, -j) for i in rows for j in columns if left[i][j].op == "const"]
    size, i, j = max(found, default=(0, 0, 0))
    return (-i, -j) if size > 0 else None


def _by_cofactors(a: Matrix) -> Matrix:
    n = len(a)
    minors: dict[tuple[tuple[int, ...], tuple[int, ...]], Expr] = {((), ()): _ONE}

    def minor(rows: tuple[int, ...], columns: tuple[int, ...]) -> Expr:
        """Determinant of the chosen rows and columns, expanded along the first row."""
        if (rows, columns) not in minors:
            total: Expr = _ZERO
            for k, j in enumerate(columns):
                entry = a[rows[0], j]
                if entry is not _ZERO:
                    term = mul(entry, minor(rows[1:], columns[:k] + columns[k + 1 :]))
                    total = sub(total, term) if k % 2 else add(total, term)
            minors[rows, columns] = total
        return minors[rows, columns]

    every = tuple(range(n))
    determinant = minor(every, every)
    if determinant is _ZERO:
        raise ZeroDivisionError(f"The {n} x {n} matrix is singular: its determinant is exactly zero.")
    entries = []
    for i in range(n):
        for j in range(n):
            cofactor = minor(every[:j] + every[j + 1 :], every[:i] + every[i + 1 :])
            signed = sub(_ZERO, cofactor) if (i + j) % 2 else cofactor
            entries.append(_ZERO if cofactor is _ZERO else div(signed, determinant))
    return Matrix(a.shape, entries)
