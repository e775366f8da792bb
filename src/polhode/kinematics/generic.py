"""Generic points of a mechanism, and choices that hold at all of them: which speeds are dependent.

What the paper decides by singular values at one configuration is decided here at
several, drawn at random and moved onto the configuration constraints.

Reference: [Gillespie, section 4, blocks 2 and 3].
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from itertools import combinations, islice
from math import comb

import numpy as np

from polhode.compile import compile
from polhode.graph import (
    Expr,
    Matrix,
    evaluate,
    free_symbols,
    jacobian,
    matrix,
    op_counts,
    substitute,
    topological,
    vector,
    zeros,
)
from polhode.graph.compact import compact

from .numeric import BENT, amplitudes, extent, slide_speeds, slides, unit_quaternions
from .tree import Kinematics

POINTS = 8
STARTS = 48  # random configurations from which the constraints are sought
ITERATIONS = 60
FEW = 400  # choices of dependent speeds that are all compared
CLOSED = 1e-10  # of residuals without units
NEARLY = 1e-5  # of those that the digits of a file leave
POLE = 1e6  # of an entry that has one nearby
CANCELLED = 1e-12  # of the terms of a sum: below it the sum is zero

Point = dict[Expr, float]


def generic_points(
    kin: Kinematics, phi: Matrix, others: Sequence[Expr] = (), reference: Matrix | None = None
) -> list[Point]:
    """Random values of q, t and parameters with phi = 0, where such are found; anywhere otherwise.

    The first is sought from the configuration at rest, where machines often are.

    reference : squares of what each speed could change of phi, (m, nu); None measures phi by 1
    """
    known = {*kin.q, *kin.u}
    rest = sorted(free_symbols([*phi, *kin.q_dot, *others]) - known, key=lambda s: str(s.value))
    residual = _Residual(kin, phi, rest, reference)
    draw = random.Random(7)
    found: list[Point] = []
    near: list[Point] = []
    loose: list[Point] = []
    for i in range(STARTS):
        point = {s: draw.uniform(0.5, 1.5) for s in rest}
        point |= dict(zip(kin.q, kin.model.neutral(), strict=True)) if i == 0 else {}
        point |= {s: draw.uniform(-1.5, 1.5) for s in kin.q if s not in point}
        length = extent(kin, point)
        if i:
            point |= {s: point[s] * BENT for s in amplitudes(kin)}
            point |= {s: point[s] * length for s in slides(kin)}
        moved, left = _closed(point, kin.q, rest, residual, length)
        if left < CLOSED:
            found.append(moved)
        elif left < NEARLY and len(near) < POINTS:
            near.append(moved)
        elif len(loose) < POINTS:
            loose.append(point)
        if len(found) == POINTS:
            break
    return found or near or loose


class _Residual:
    """The function (q, rest, length) -> residuals without units and their slopes by q, (m, 1 + nq)."""

    def __init__(self, kin: Kinematics, phi: Matrix, rest: Sequence[Expr], reference: Matrix | None) -> None:
        quaternions = [kin.q[k : k + 4] for k in unit_quaternions(kin)]
        stated = [i for i, e in enumerate(phi) if e != 0]
        residuals = vector([*[phi[i] for i in stated], *[turn @ turn - 1 for turn in quaternions]])
        self.count, self.measured = len(residuals), len(stated) if reference is not None else 0
        if not len(residuals):
            return
        columns = [[e, *row] for e, row in zip(residuals, jacobian(residuals, kin.q).rows(), strict=True)]
        if reference is not None:
            squares = [*(reference[i] for i in stated), *(zeros(len(kin.u)) for _ in quaternions)]
            columns = [[*row, *more] for row, more in zip(columns, squares, strict=True)]
        self.nq = len(kin.q)
        bent = amplitudes(kin)
        self.easy = np.array([BENT if s in bent else 1.0 for s in kin.q])  # how readily a coordinate gives way
        slow = slide_speeds(kin)
        self.slow = [u in slow for u in kin.u]
        self.rows = compile({"q": kin.q, "rest": vector(rest)}, {"rows": matrix(columns)}, target="numpy")

    def __call__(self, q: np.ndarray, rest: np.ndarray, length: float) -> np.ndarray:
        rows: np.ndarray = self.rows(q, rest)
        found = rows[:, : 1 + self.nq]
        if self.measured:
            reach = np.sqrt(rows[: self.measured, 1 + self.nq :]) @ np.where(self.slow, length, 1.0)
            found[: self.measured] /= np.where(reach > 0, reach, 1.0)[:, None]
        return found


def _closed(point: Point, q: Matrix, rest: Sequence[Expr], residual: _Residual, length: float) -> tuple[Point, float]:
    """Newton's method with the shortest steps, halved where they do not help; the point, and the residual left."""
    if not residual.count:
        return point, 0.0
    x, given = np.array([point[s] for s in q]), np.array([point[s] for s in rest])
    rows = residual(x, given, length)
    for _ in range(ITERATIONS):
        r, J = rows[:, 0], rows[:, 1:]
        if not np.isfinite(rows).all() or np.abs(r).max() < 1e-13:
            break
        step = residual.easy * np.linalg.lstsq(J * residual.easy, -r, rcond=1e-10)[0]
        for _ in range(8):
            there = residual(x + step, given, length)
            if np.linalg.norm(there[:, 0]) < np.linalg.norm(r):
                break
            step = step / 2
        else:
            break
        x, rows = x + step, there
    left = float(np.abs(rows[:, 0]).max())
    return point | dict(zip(q, map(float, x), strict=True)), left if np.isfinite(left) else np.inf


def sampled(m: Matrix, points: Sequence[Point]) -> np.ndarray:
    """A matrix at every point, (points, ...)."""
    return np.array([evaluate(m, point) for point in points])


def finite(points: list[Point], m: Matrix) -> list[Point]:
    """The points away from poles of a matrix, all of them if there is none."""
    good = [p for p, value in zip(points, sampled(m, points), strict=True) if np.abs(value).max(initial=0) < POLE]
    return good or points


def offset(rows: Matrix, speeds: Matrix, points: Sequence[Point]) -> Matrix:
    """The part of linear expressions without speeds; exactly zero where its terms cancel at the points."""
    found = compact(substitute(rows, dict.fromkeys(speeds, 0)))
    values, sizes = (np.nan_to_num(sampled(m, points), posinf=0, neginf=0).T for m in (found, _uncancelled(found)))
    return vector([e if (np.abs(x) > CANCELLED * n).any() else 0 for e, x, n in zip(found, values, sizes, strict=True)])


def _uncancelled(rows: Matrix) -> Matrix:
    """The entries with every term of their sums positive: what a sum that cancels is small against."""
    size: dict[Expr, Expr] = {}
    for e in topological(rows):  # operands before what uses them
        args = [size[a] for a in e.args]
        match e.op:
            case "add" | "sub":
                size[e] = args[0] + args[1]
            case "mul":
                size[e] = args[0] * args[1]
            case "div":
                size[e] = args[0] / abs(e.args[1])
            case "neg":
                size[e] = args[0]
            case "pow":
                size[e] = args[0] ** e.value
            case _:
                size[e] = abs(e)
    return rows.map(size.__getitem__)


def growth(rows: np.ndarray, dependent: Sequence[int]) -> tuple[int, float]:
    """At how many points the dependent speeds are not determined, and the largest entry of D = A^-1 B at the others."""
    rest = [j for j in range(rows.shape[2]) if j not in dependent]
    singular, worst = 0, 1.0
    for sample in rows / np.maximum(np.linalg.norm(rows, axis=2, keepdims=True), 1e-300):
        A = sample[:, dependent]
        if not np.isfinite(sample).all() or np.linalg.cond(A) > 1e8:
            singular += 1
        else:
            worst = max(worst, float(np.abs(np.linalg.solve(A, sample[:, rest])).max(initial=0)))
    return singular, worst


def dependent_columns(AB: Matrix, rows: np.ndarray) -> list[int]:
    """Choose the speeds to eliminate: small D at all points, then few operations, then the last ones.

    AB   : (m, n), independent rows
    rows : its values, (points, m, n)
    """
    m, n = AB.shape
    if comb(n, m) <= FEW:
        choices = list(combinations(range(n), m))
    else:
        choices = sorted({_pivots(sample) for sample in rows})
    graded = {choice: growth(rows, choice) for choice in choices}
    least, best = min(graded.values())
    close = [choice for choice, (singular, worst) in graded.items() if singular == least and worst <= 3 * best]
    cost = {c: sum(op_counts([AB[i, j] for i in range(m) for j in c]).values()) for c in islice(close, FEW)}
    return list(max(cost.items(), key=lambda item: (-item[1], item[0]))[0])


def _pivots(sample: np.ndarray) -> tuple[int, ...]:
    """The columns that elimination with the largest pivots takes first."""
    left, taken = sample.copy(), []
    for _ in range(len(sample)):
        j = int(np.argmax(np.linalg.norm(left, axis=0)))
        taken.append(j)
        along = left[:, j] / max(float(np.linalg.norm(left[:, j])), 1e-300)
        left = left - np.outer(along, along @ left)
    return tuple(sorted(taken))
