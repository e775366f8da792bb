"""Gaps of candidates as numbers: of what pair of bodies each is, and where in them.

Thousands of contacts of one pair of bodies differ only by numbers. So the poses of the pairs are native code, and the
gaps a table: see `polhode.kernels.gaps`, which works on it.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.compile import Function, compile
from polhode.graph import Expr, as_expr, diff_along, substitute, symbol, vector, zeros
from polhode.kernels.gaps import DISC, FIELDS, HEIGHT, POSE, ROPE
from polhode.kernels.mode import Switching
from polhode.kinematics.tree import Kinematics
from polhode.model import TIME, Constraint, Contact, Rope, Stop
from polhode.spatial import Pose

from .dynamics import Dynamics

Pair = tuple[int, int] | str  # the link of the point and that of the plane; or a coordinate
Numbers = np.ndarray | None


@dataclass(frozen=True, kw_only=True)
class Gaps:
    """Gaps that are tables of numbers, in the order of their candidates.

    names       : of their candidates
    kind, pair  : (n,), see `polhode.kernels.gaps`
    rows        : (n, FIELDS), the numbers of each
    reach       : (pairs,), how far points are from the origin of their pair
    poses       : the call (t, q, dq, p) -> R, p and their rates of each pair; None without pairs. Its native code
                  takes states and parameters with more behind them
    sizes       : coordinates, and entries of p, that it takes
    """

    names: tuple[str, ...]
    kind: np.ndarray
    pair: np.ndarray
    rows: np.ndarray
    reach: np.ndarray
    poses: Function | None
    sizes: tuple[int, int]

    def __len__(self) -> int:
        return len(self.names)

    def without(self, names: Collection[str]) -> Gaps:
        """The gaps of other candidates than these."""
        left = [i for i, name in enumerate(self.names) if name not in names]
        kept = tuple(self.names[i] for i in left)
        return replace(self, names=kept, kind=self.kind[left], pair=self.pair[left], rows=self.rows[left])

    def measured(self, t: float, x: np.ndarray, dx: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The values of all gaps at a state, and the paces of their pairs."""
        if self.poses is None or not len(self):
            return np.zeros(len(self)), np.zeros(len(self))
        nq, many = self.sizes
        X = self.poses(np.array([t]), x[:nq], dx[:nq], p[:many]).reshape(-1, POSE)
        pace = np.linalg.norm(X[:, 21:], axis=1) + self.reach * np.linalg.norm(X[:, 12:21], axis=1)
        R, o, n = X[self.pair, :9].reshape(-1, 3, 3), self.rows[:, :3], self.rows[:, 3:6]
        at = X[self.pair, 9:12] + np.einsum("kij,kj->ki", R, o)
        height = (n * at).sum(1) - self.rows[:, 6]
        upright = np.linalg.norm(np.cross(np.einsum("kij,kj->ki", R, self.rows[:, 8:]), n), axis=1)
        length, d = self.rows[:, 7], at - n
        slack = (length**2 - (d * d).sum(1)) / np.where(self.kind == ROPE, 2 * length, 1)
        value = np.where(self.kind == ROPE, slack, height - np.where(self.kind == DISC, length * upright, 0.0))
        return value, pace[self.pair]

    def written(self, made: Switching) -> None:
        """Write the table to the room of a mode, from the first gap on."""
        parts = {"gap_row": self.rows, "gap_kind": self.kind, "gap_pair": self.pair, "reach": self.reach}
        many = np.bincount(self.pair, minlength=len(self.reach))
        parts["pair_start"] = np.cumsum([0, *many[:-1]]) if len(many) else many
        for name, values in parts.items():
            made.view(name)[...] = values


def gaps_of(dynamics: Dynamics, chosen: Iterable[Constraint]) -> tuple[Gaps, tuple[str, ...]]:
    """The gaps of unilateral candidates as a table, and the names of those that are no numbers."""
    table, others = _Table(dynamics), []
    for c in chosen:
        if not table.add(c):
            others.append(c.name)
    return table.made(), tuple(others)


class _Table:
    """A table as it grows."""

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics, self.kin = dynamics, dynamics.equations.kinematics.joints
        self.names: list[str] = []
        self.kinds: list[int] = []
        self.pairs: dict[Pair, int] = {}
        self.of: list[int] = []
        self.rows: list[np.ndarray] = []
        self._frames: dict[str, tuple[int, Numbers, Numbers]] = {}

    def add(self, c: Constraint) -> bool:
        """Add the gaps of a candidate; False where they are not made of numbers."""
        found = self._stop(c) if isinstance(c, Stop) else self._rope(c) if isinstance(c, Rope) else None
        if isinstance(c, Contact):
            found = self._contact(c)
        if found is None:
            return False
        pair, kind, rows = found
        for row in rows:
            self.names.append(c.name)
            self.kinds.append(kind)
            self.of.append(self.pairs.setdefault(pair, len(self.pairs)))
            self.rows.append(np.concatenate([row, np.zeros(FIELDS - len(row))]))
        return True

    def _numbers(self, entries: Iterable[Expr | None]) -> Numbers:
        """Expressions as numbers; None where parameters, coordinates or time are in them."""
        known, found = self.dynamics.values, []
        for e in entries:
            if e is None:
                continue
            number = e.number
            if number is None and known:
                number = substitute(e, known).number
            if number is None:
                return None
            found.append(float(number))
        return np.array(found)

    def _frame(self, name: str) -> tuple[int, Numbers, Numbers]:
        """The link of a marker, and its axes and origin there."""
        if name not in self._frames:
            k, X = self.kin.frame(name)
            R = self._numbers(X.R.entries)
            self._frames[name] = k, None if R is None else R.reshape(3, 3), self._numbers(X.p.entries)
        return self._frames[name]

    def _stop(self, c: Stop) -> tuple[Pair, int, list[Any]] | None:
        lower, upper = self._numbers([c.lower]), self._numbers([c.upper])
        if lower is None or upper is None:
            return None
        rows = [[0, 0, 0, 1, 0, 0, low] for low in lower] + [[0, 0, 0, -1, 0, 0, -high] for high in upper]
        return c.coordinate, HEIGHT, rows

    def _rope(self, c: Rope) -> tuple[Pair, int, list[Any]] | None:
        (i, _, a), (j, _, b), length = *map(self._frame, c.ends), self._numbers([c.length])
        if a is None or b is None or length is None:
            return None
        return (i, j), ROPE, [[*a, *b, 0, *length]]

    def _contact(self, c: Contact) -> tuple[Pair, int, list[Any]] | None:
        if c.relief is not None:
            return None
        (i, A, a), (j, B, b) = self._frame(c.marker), self._frame(c.ground)
        radius, axis = self._numbers([c.radius]), self._numbers(c.axis.entries)
        if A is None or a is None or B is None or b is None or radius is None or axis is None:
            return None
        n = B[:, 2]
        if c.shape == "disc":
            return (i, j), DISC, [[*a, *n, n @ b, *radius, *(A @ axis)]]
        return (i, j), HEIGHT, [[*a, *n, n @ b + radius.sum()]]

    def made(self) -> Gaps:
        """The table, with points from the middle of those of their pair."""
        rows = np.array(self.rows).reshape(-1, FIELDS)
        pair, kind = np.array(self.of, dtype=np.int64), np.array(self.kinds, dtype=np.int64)
        many, reach = len(self.pairs), np.zeros(len(self.pairs))
        middle = np.zeros((many, 3))
        np.add.at(middle, pair, rows[:, :3])
        middle /= np.maximum(np.bincount(pair, minlength=many), 1)[:, None]
        rows[:, :3] -= middle[pair]
        wide = np.linalg.norm(rows[:, :3], axis=1) + np.where(kind == DISC, rows[:, 7], 0.0)
        np.maximum.at(reach, pair, wide)
        return Gaps(
            names=tuple(self.names), kind=kind, pair=pair, rows=rows, reach=reach * (1 + 1e-12),
            poses=self._poses(middle) if many else None,
            sizes=(len(self.dynamics.equations.q), max(1, len(self.dynamics.parameters))),
        )  # fmt: skip

    def _poses(self, middle: np.ndarray) -> Function:
        """Native code of the poses of all pairs, at the middle of their points, and of their rates."""
        eq, values = self.dynamics.equations, []
        q, dq = eq.q, vector([symbol(f"rate {i}") for i in range(len(eq.q))])
        for pair, at in zip(self.pairs, middle.tolist(), strict=True):
            X = _seen(self.kin, *pair) if not isinstance(pair, str) else _line(symbol(pair))
            R_p = [*X.R.entries, *(X.R @ vector(at) + X.p)]
            values += [*R_p, *diff_along(vector(R_p), [*q, TIME], [*dq, as_expr(1)])]
        p = [symbol(name) for name in self.dynamics.parameters] or [symbol("no parameter")]
        output = substitute(vector(values), self.dynamics.values) if self.dynamics.values else vector(values)
        return compile({"t": vector([TIME]), "q": q, "rate": dq, "p": vector(p)}, {"poses": output}, name="poses")


def _seen(kin: Kinematics, i: int, j: int) -> Pose:
    """The pose of a link in another, -1 for the world."""
    shared = kin.carriers_of_both(i, j)
    return _below(kin, j, shared).inverse() @ _below(kin, i, shared)


def _below(kin: Kinematics, k: int, shared: set[int]) -> Pose:
    """The pose of a link in the last one of those that are shared."""
    X = Pose.identity()
    for i in kin.ancestors(k):
        if i not in shared:
            X = kin.links[i].X @ X
    return X


def _line(q: Expr) -> Pose:
    """A point at a coordinate, which a stop holds back as a plane does."""
    return Pose(zeros(3, 3), vector([q, 0, 0]))
