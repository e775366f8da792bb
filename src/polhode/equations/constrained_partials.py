"""Derivatives of accelerations and reactions, and of what impulses leave, of a machine whose constraints hold.

    R = Q + tau - c - M udot + J^T lam = 0          R = J^T Lam - M (u+ - u) = 0
    S = J udot + gamma = 0                          S = psi(u+) + e psi(u) = 0

At the solution dR and dS are taken with udot and lam as they are there. Then

    M a - J^T l = dR,   J a = -dS

has the derivatives a of the accelerations and l of the reactions. Where rows repeat others, lam is the least that is
possible, (rho lam)^2 summed, also beside the state: that says what l is where the rows leave it open.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, jacobian, substitute, symbol, vector, zeros

from .partials import beside, needed_slopes, small_of
from .program import Program
from .response import States

Groups = dict[str, np.ndarray]


@dataclass(frozen=True, kw_only=True)
class Solved:
    """Derivatives of accelerations, (k, nu, n), and of reactions, (k, m, n), by groups of variables.

    value, reactions : what they are of, (k, nu) and (k, m)
    """

    value: np.ndarray
    reactions: np.ndarray
    udot: Groups
    lam: Groups


class ConstrainedPartials:
    """Native code for dR and dS of a program, with some of its rows, by number, and their solution by numbers."""

    def __init__(self, program: Program, rows: Sequence[int]) -> None:
        eq, every = program.equations, program._acting
        self.program, self.rows, self.n, self.m = program, list(rows), len(eq.u), len(rows)
        self.p = [symbol(name) for name in program.dynamics.parameters]
        self.small = small_of(eq)
        self.J = Matrix((self.m, self.n), [e for i in rows for e in every.J[i]])
        self.gamma, self.psi = (vector([part[i] for i in rows]) for part in (every.gamma, every.psi))
        self.rho2 = vector([_reflected(every.reference[i], eq.M) for i in rows])
        self.least = np.array([program.held.least[i] for i in rows])
        self.motion = vector([symbol(f"motion {i}") for i in range(self.n)])
        self.lam = vector([symbol(f"reaction {i}") for i in range(self.m)])

    def forward(self, at: States, threads: int = 1) -> Solved:
        """Of accelerations and reactions at states that satisfy the constraints."""
        udot, lam = at.each(lambda program, t, x, tau, p: program.respond(t, x, tau, p, at.active), threads)
        blocks = self._forward.at(at, udot, lam[:, self.rows])
        free = {"tau": np.broadcast_to(np.eye(self.n), (len(udot), self.n, self.n))}
        return self._solved(at, blocks, udot, lam[:, self.rows], free)

    def impulse(self, at: States, restitution: float) -> Solved:
        """Of the speeds after the constraints were imposed, and of their impulses."""
        after, struck = at.each(lambda program, t, x, _, p: program.strike(t, x, p, at.active, restitution), 1)
        jump = after - at.parts[1]
        found = self._solved(at, self._struck.at(at, jump, struck[:, self.rows], restitution), jump,
                             struck[:, self.rows], {})  # fmt: skip
        by = {name: part + np.eye(self.n) if name == "u" else part for name, part in found.udot.items()}
        return Solved(value=after, reactions=found.reactions, udot=by, lam=found.lam)

    # dR and dS as native code

    @cached_property
    def _forward(self) -> _Blocks:
        dR = {name: -part for name, part in needed_slopes(self.program.equations, self.motion, self.p).items()}
        pushed = self._slopes(self.J.T @ self.lam) if self.m else {}
        dR = {name: _plus(dR.get(name), pushed.get(name)) for name in {**dR, **pushed}}
        return self._blocks("constrained_slopes", dR, self._slopes(self.J @ self.motion + self.gamma))

    @cached_property
    def _struck(self) -> _Blocks:
        eq, e = self.program.equations, symbol("restitution of all")
        after = dict(zip(eq.u, eq.u + self.motion, strict=True))
        R = self.J.T @ self.lam - eq.M @ self.motion if self.m else -(eq.M @ self.motion)
        S = substitute(self.psi, after) + self.psi * e
        return self._blocks("impulse_slopes", self._slopes(R), self._slopes(S), e)

    @cached_property
    def _turning(self) -> _Blocks:
        """d(J y) for y in the place of the motion, and d(rho^2)."""
        return self._blocks("row_slopes", self._slopes(self.rho2), self._slopes(self.J @ self.motion))

    def _slopes(self, rows: Matrix) -> dict[str, Matrix]:
        eq = self.program.equations
        found = {"q": self.small.slopes(rows), "u": jacobian(rows, eq.u)}
        return found | {name: jacobian(rows, by) for name, by in beside(eq, self.p, rows).items()}

    def _blocks(self, name: str, dR: Mapping[str, Matrix], dS: Mapping[str, Matrix], *more: Expr) -> _Blocks:
        blocks = {"M": self.program.equations.M, "J": self.J, "rho2": self.rho2}
        widths = {key: part.shape[1] for key, part in {**dS, **dR}.items()}
        first = len(next(iter(dR.values())))
        for key, width in widths.items():
            blocks[f"R {key}"] = dR.get(key, zeros(first, width))
            blocks[f"S {key}"] = dS.get(key, zeros(self.m, width))
        given = {"motion": self.motion, "reaction": self.lam, "more": vector(more)}
        return _Blocks(self.program, name, blocks, {key: part for key, part in given.items() if len(part)})

    # the solution by numbers

    def _solved(self, at: States, blocks: Groups, motion: np.ndarray, lam: np.ndarray, free: Groups) -> Solved:
        """free : what is added to R"""
        groups = [key[2:] for key in blocks if key.startswith("R ")]
        dR = [blocks[f"R {key}"] for key in groups] + list(free.values())
        dS = [blocks[f"S {key}"] for key in groups]
        dS += [np.zeros((len(motion), self.m, part.shape[-1])) for part in free.values()]
        names, cuts = [*groups, *free], np.cumsum([part.shape[-1] for part in dR])[:-1]
        whole_R, whole_S = np.concatenate(dR, axis=-1), np.concatenate(dS, axis=-1)
        a, l = np.zeros_like(whole_R), np.zeros_like(whole_S)
        metric = _Metric.of(blocks["M"], blocks["J"], blocks["rho2"], self.least)
        for rank in np.unique(metric.ranks):
            those = np.flatnonzero(metric.ranks == rank)
            a[those], l[those] = metric.solve(those, int(rank), whole_R[those], whole_S[those])
        if (metric.ranks < self.m).any():
            l += self._spread(at, metric, lam, names, dR)
        split = (dict(zip(names, np.split(part, cuts, axis=-1), strict=True)) for part in (a, l))
        return Solved(value=motion, reactions=lam, udot=next(split), lam=next(split))

    def _spread(
        self, at: States, metric: _Metric, lam: np.ndarray, names: list[str], dR: list[np.ndarray]
    ) -> np.ndarray:
        """How reactions of rows that repeat others share differently beside the states, (k, m, n).

        mu = rho lam = A^T y is the least with A mu = f, A = J^T / rho. Beside the state it is so of other A:
        (1 - A^+ A) dmu = (1 - A^+ A) dA^T y.
        """
        rho, d, mu = metric.rho, metric.d, metric.rho * lam
        left, sizes, right = np.linalg.svd(metric.J * d[:, None] / rho[:, :, None])  # A^T
        chosen = np.arange(sizes.shape[1]) < metric.ranks[:, None]
        over = np.where(chosen, 1 / np.where(chosen, sizes, 1.0), 0.0)
        n = sizes.shape[1]
        y = d * np.einsum("krj,kr,kir,ki->kj", right[:, :n], over, left[:, :, :n], mu)
        turned = self._turning.at(at, y, lam)
        dJy, drho2 = (
            np.concatenate(
                [turned.get(f"{of} {name}", np.zeros((len(y), self.m, part.shape[-1])))
                 for name, part in zip(names, dR, strict=True)], axis=-1)
            for of in "SR"
        )  # fmt: skip
        drho = drho2 / (2 * rho[:, :, None])
        changed = (dJy - drho * mu[:, :, None]) / rho[:, :, None] - drho * lam[:, :, None]
        kept = left[:, :, :n] * chosen[:, None]
        found: np.ndarray = (changed - kept @ (kept.swapaxes(1, 2) @ changed)) / rho[:, :, None]
        return found


class _Blocks:
    """Native code for matrices by name, at states."""

    def __init__(self, program: Program, name: str, blocks: Mapping[str, Matrix], given: dict[str, Matrix]) -> None:
        self.shapes, self.given = {key: part.shape for key, part in blocks.items()}, tuple(given)
        entries = [e for part in blocks.values() for e in part.entries]
        self.code = program.compiled(name, entries, True, None, "llvm", **given)

    def at(self, at: States, motion: np.ndarray, reaction: np.ndarray, more: float = 0.0) -> Groups:
        k = len(at.x)
        known = {"motion": motion, "reaction": np.ascontiguousarray(reaction), "more": np.full((k, 1), more)}
        x = at.program.whole(at.x)
        p = at.program.completed(at.p)
        found = self.code(at.t[:, None], x, *(known[name] for name in self.given), at.tau, p)
        cuts = np.cumsum([int(np.prod(shape)) for shape in self.shapes.values()])[:-1]
        parts = np.split(found, cuts, axis=-1)
        return {key: part.reshape(k, *shape) for (key, shape), part in zip(self.shapes.items(), parts, strict=True)}


@dataclass(frozen=True, kw_only=True)
class _Metric:
    """M, J and their units at states: d = 1 / sqrt(M_jj), (k, n), rho, (k, m), and how many rows are independent."""

    M: np.ndarray
    J: np.ndarray
    d: np.ndarray
    rho: np.ndarray
    ranks: np.ndarray
    least: np.ndarray

    @classmethod
    def of(cls, M: np.ndarray, J: np.ndarray, rho2: np.ndarray, least: np.ndarray) -> _Metric:
        inertias = np.einsum("kii->ki", M)
        d = 1 / np.sqrt(np.where(inertias > 0, inertias, 1.0))
        rho = np.sqrt(np.where(rho2 > 0, rho2, 1.0))
        measured = J * d[:, None, :] / (rho * least)[:, :, None]
        ranks = (np.linalg.svd(measured, compute_uv=False) > 1).sum(axis=-1) if J.size else np.zeros(len(M), int)
        return cls(M=M, J=J, d=d, rho=rho, ranks=ranks, least=least)

    def solve(self, those: np.ndarray, rank: int, dR: np.ndarray, dS: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """M a - J^T l = dR, J a = -dS, of rows of a rank: a in what they leave and what they ask, l the least."""
        d, rho = self.d[those][:, :, None], self.rho[those][:, :, None]
        left, sizes, right = np.linalg.svd(self.J[those] * d.swapaxes(1, 2) / rho)
        right_T, scaled = right.swapaxes(1, 2), self.M[those] * d * d.swapaxes(1, 2)
        over = 1 / sizes[:, :rank, None]
        asked = -right_T[:, :, :rank] @ (over * (left[:, :, :rank].swapaxes(1, 2) @ (dS / rho)))
        G = right_T[:, :, rank:]
        along = np.linalg.solve(G.swapaxes(1, 2) @ scaled @ G, G.swapaxes(1, 2) @ (dR * d - scaled @ asked))
        a = asked + G @ along
        borne = right[:, :rank] @ (scaled @ a - dR * d)
        return a * d, left[:, :, :rank] @ (over * borne) / rho


def _reflected(sizes: Matrix, M: Matrix) -> Expr:
    total = as_expr(0)
    for j, e in enumerate(sizes):
        total = total + e / M[j, j] if e != 0 and M[j, j] != 0 else total
    return total


def _plus(a: Matrix | None, b: Matrix | None) -> Matrix:
    if a is None or b is None:
        found = b if a is None else a
        assert found is not None
        return found
    return a + b
