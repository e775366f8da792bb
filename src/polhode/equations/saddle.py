"""M v - J^T lam = b, J v = -gamma as one sparse elimination, for native code.

Speeds and rows of J are eliminated in an order that is found once for a machine. A row can be a
pivot as soon as speeds that it ties are eliminated: its pivot is what J M^-1 J^T has left of it by
these alone. Speeds that follow would only add to that, so a pivot that is large enough says that its
row is independent. Rows of a loop between two branches fill in little if they follow
the branches, and all of the trunk's if they follow the trunk.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, evaluate, free_symbols

_ZERO = as_expr(0)
STATES = 3  # drawn at random, at which an order must do
REPEATS = 1e-8  # of its reference, what a row has left of its own that repeats others at those states
SPARE = 3  # speeds that a row needs beyond the rows before it, to be a pivot before all its speeds:
EARLY = 1e-2  # and the least of its reference that it has then. With fewer, many states have too little
GAIN = 0.7  # of the operations of another order: less, and rows are pivots early
MOST = 60_000  # multiplications of an elimination; beyond, code would take long to make


@dataclass(frozen=True, kw_only=True)
class Order:
    """Speeds, by number, and rows, by number after them, as they are eliminated; which rows are, (m,)."""

    nodes: list[int]
    independent: list[bool]


class Elimination:
    """[M J^T; J 0] = L D L^T in an order, of expressions.

    lower : lower[k] holds the entries L_ik that are not zero, by i
    pivot : D_k; of a row, minus what it has left
    left  : what each row has left of its own when it becomes a pivot, or in the end
    had   : the sum of what speeds gave it, before rows took their parts
    """

    def __init__(self, M: Matrix, J: Sequence[Matrix], order: Sequence[int]) -> None:
        n, m = len(M), len(J)
        self.order = order
        self.lower: list[dict[int, Expr]] = [{} for _ in range(n + m)]
        self.pivot: list[Expr] = [_ZERO] * (n + m)
        self.inverse: list[Expr] = [_ZERO] * (n + m)
        self.left: list[Expr] = [_ZERO] * m
        self.had: list[Expr] = [_ZERO] * m
        rest: list[dict[int, Expr]] = [{} for _ in range(n + m)]
        for i in range(n):
            rest[i] = {j: M[max(i, j), min(i, j)] for j in range(n) if M[max(i, j), min(i, j)] != 0}
        for i in range(m):
            for j in range(n):
                if J[i][j] != 0:
                    rest[n + i][j] = rest[j][n + i] = J[i][j]
        for k in order:
            pivot = rest[k].pop(k, _ZERO) if k < n else -self.left[k - n]
            if pivot == 0:
                raise ZeroDivisionError(f"Pivot {k} of the equations of {n} speeds and {m} rows is exactly zero.")
            self.pivot[k], self.inverse[k] = pivot, 1 / pivot
            self.lower[k] = column = {i: e * self.inverse[k] for i, e in rest[k].items()}
            for i, e in rest[k].items():
                del rest[i][k]
                for j, factor in column.items():
                    if j < i or (j == i and i < n):
                        rest[i][j] = rest[j][i] = rest[i].get(j, _ZERO) - factor * e
                if i >= n:
                    self.left[i - n] = self.left[i - n] + column[i] * e
                    if k < n:
                        self.had[i - n] = self.had[i - n] + column[i] * e

    def solve(self, right: Sequence[Expr]) -> list[Expr]:
        """The solution for a right-hand side of all speeds and rows; 0 for what was not eliminated."""
        return substituted(self.order, self.lower, self.inverse, right)


def substituted(
    order: Sequence[int], lower: Sequence[Mapping[int, Expr]], inverse: Sequence[Expr], right: Sequence[Expr]
) -> list[Expr]:
    """Solve L D L^T x = right; 0 for what is not in the order."""
    x = list(right)
    for k in order:
        if x[k] != 0:
            for i, factor in lower[k].items():
                x[i] = x[i] - factor * x[k]
    found: list[Expr] = [_ZERO] * len(x)
    for k in reversed(order):
        known: Expr = _ZERO
        for i, factor in lower[k].items():
            if found[i] != 0:
                known = known + factor * found[i]
        found[k] = x[k] * inverse[k] - known
    return found


def order_of(
    M: Matrix, J: Matrix, rho2: Sequence[Expr], closing: Sequence[bool], small: Mapping[Expr, Expr]
) -> Order | None:
    """An order for M (n, n), J (m, n) with references rho2 (m,); None where it would be long, or rows are unclear.

    closing : which rows are about positions, (m,)
    small   : coordinates that stay small, with their sizes: far from there M need not be definite
    """
    states = _drawn(M, J, rho2, small)
    if not states:
        return None
    independent = _independent(*states[0])
    if any(_independent(*state) != independent for state in states[1:]):
        return None
    # a row about positions must not count as a repetition of rows that are not
    M0, J0, rho0 = states[0]
    alone = _independent(M0, J0[list(closing)], rho0[list(closing)])
    if alone != [one for one, on in zip(independent, closing, strict=True) if on]:
        return None
    late, cost = _ordered(M, J, states, independent, early=False)
    sooner, less = _ordered(M, J, states, independent, early=True)
    if less < GAIN * cost:
        late, cost = sooner, less
    return Order(nodes=late, independent=independent) if cost <= MOST else None


def _drawn(
    M: Matrix, J: Matrix, rho2: Sequence[Expr], small: Mapping[Expr, Expr]
) -> list[tuple[np.ndarray, np.ndarray, np.ndarray]]:
    """M, J and rho2 at states drawn at random; none where they are not numbers."""
    draw, n, m = random.Random(1), len(M), len(rho2)
    rows = [*M.entries, *J.entries, *rho2]
    names = sorted(free_symbols([*rows, *small.values()]), key=lambda s: str(s.value))
    found = []
    for _ in range(STATES):
        point = {s: draw.uniform(0.3, 1.2) for s in names}
        point |= {s: point[s] * float(evaluate(size, point)) for s, size in small.items() if s in point}
        values = np.array(evaluate(rows, point), dtype=float)
        if not np.isfinite(values).all():
            return []
        found.append((values[: n * n].reshape(n, n), values[n * n : -m].reshape(m, n), values[-m:]))
    return found


def _independent(M: np.ndarray, J: np.ndarray, rho2: np.ndarray) -> list[bool]:
    """Which rows have something that those before them have not."""
    left = J @ np.linalg.pinv(M) @ J.T
    found = []
    for i in range(len(J)):
        found.append(bool(left[i, i] > REPEATS * rho2[i]))
        if found[-1]:
            left = left - np.outer(left[:, i], left[i]) / left[i, i]
    return found


def _ordered(
    M: Matrix, J: Matrix, states: list[tuple[np.ndarray, np.ndarray, np.ndarray]], independent: list[bool], early: bool
) -> tuple[list[int], int]:
    """The next is what has the fewest entries left, of speeds and of rows that can be pivots; how many operations."""
    n, m = len(M), len(independent)
    kept = [n + i for i in range(m) if independent[i]]
    beside: list[set[int]] = [{j for j in range(n) if j != i and M[max(i, j), min(i, j)] != 0} for i in range(n)]
    beside += [{j for j in range(n) if J[i, j] != 0} for i in range(m)]
    for i in kept:
        for j in beside[i]:
            beside[j].add(i)
    before: list[set[int]] = [set() for _ in range(n + m)]  # what was eliminated and led to a node
    full = [np.block([[M_, J_.T], [J_, np.zeros((m, m))]]) for M_, J_, _ in states]

    def can(i: int) -> bool:
        if i < n or not any(j < n for j in beside[i]):
            return True
        spare = sum(1 if j < n else -1 for j in before[i])
        return (
            early and spare >= SPARE and all(-A[i, i] > EARLY * s[2][i - n] for A, s in zip(full, states, strict=True))
        )

    def rank(i: int) -> tuple[int, int, int]:
        if not early:  # speeds by M alone, then the rows in their order
            return (0, sum(j < n for j in beside[i]), -i) if i < n else (1, i, 0)
        return (len(beside[i]), i >= n, -i)

    remaining, order, cost = {*range(n), *kept}, [], 0
    while remaining:
        k = min(filter(can, remaining), key=rank)
        remaining.remove(k)
        order.append(k)
        others = sorted(beside[k])
        cost += len(others) * (len(others) + 3) // 2
        for A in full if early else ():
            A[np.ix_(others, others)] -= np.outer(A[others, k], A[k, others]) / A[k, k]
        for i in others:
            beside[i] |= beside[k]
            beside[i] -= {i, k}
            before[i] |= before[k] | {k}
    # speeds that no row comes before first: then they are eliminated as in M alone, by the same expressions
    rows_before = {k for k in order if k >= n or any(j >= n for j in before[k])}
    return [k for k in order if k not in rows_before] + [k for k in order if k in rows_before], cost
