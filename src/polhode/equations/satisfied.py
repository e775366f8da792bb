"""Whether states satisfy their constraints, in the measure of runs.

    |phi| <= LOOSE reach,   |psi| <= LOOSE pace,   |J udot + gamma| <= LOOSE size

reach and pace are those of `Program.measured`; size^2 = gamma^2 + sum_j E_ij^2 (udot_j^2 + a_j^2) is what
a row could be by the accelerations, and by those that the reactions cause alone,
a_j^2 = sum_k (E_kj lam_k / M_jj)^2, so that what is held still is not measured by nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, substitute, vector
from polhode.kernels.settle import LOOSE

from .program import Program

if TYPE_CHECKING:
    from .equations import Equations

_ALLOWED = LOOSE**2


def row_accelerations(eq: Equations, udot: Matrix, lam: Matrix) -> Matrix:
    """J udot + gamma of every row, then the squares of their sizes, (2 m,); of latches as they engage here."""
    rows, E2 = eq.rows, list(eq.rows.reference.rows())
    squares: list[Expr] = []
    for j, a in enumerate(udot):
        forces2 = _sum(row[j] * force * force for row, force in zip(E2, lam, strict=True))
        squares.append(a * a if eq.M[j, j] == 0 else a * a + forces2 / eq.M[j, j] ** 2)
    moved = [_sum(e * s for e, s in zip(row, squares, strict=True)) for row in E2]
    found = vector([*(rows.J @ udot + rows.gamma), *(g * g + s for g, s in zip(rows.gamma, moved, strict=True))])
    return substitute(found, {s: e for _, s, e in eq.candidates.captured})


def _sum(parts: Iterable[Expr]) -> Expr:
    return sum(parts, as_expr(0))


@dataclass(frozen=True, kw_only=True)
class Residuals:
    """What is left of rows at k states, and the squares of the sizes they are measured by, (k, n)."""

    off: np.ndarray
    size2: np.ndarray

    @classmethod
    def of(cls, found: np.ndarray) -> Residuals:
        """From residuals and then as many squares of sizes, (k, 2 n)."""
        n = found.shape[-1] // 2
        return cls(off=found[:, :n], size2=found[:, n:])

    @property
    def loose(self) -> np.ndarray:
        """Which are beyond what rounded numbers in files explain, (k, n); NaN is."""
        met: np.ndarray = self.off * self.off <= _ALLOWED * self.size2
        return ~met

    def furthest(self, on: np.ndarray) -> tuple[int, str] | None:
        """The row that is furthest off, of those that are `on`, (n,), and by how much in words."""
        wrong = self.loose
        if not wrong.any() or not (wrong := wrong & on).any():
            return None
        with np.errstate(all="ignore"):
            share = np.where(wrong, np.nan_to_num(self.off**2 / self.size2, nan=np.inf), -1.0)
        state, row = np.unravel_index(np.argmax(share), share.shape)
        much = f"{abs(self.off[state, row]):.3g} off"
        if len(wrong) > 1:
            much += f" in state {state}, the furthest of {int(wrong.any(axis=1).sum()):,} among {len(wrong):,}"
        return int(row), much


def residuals(program: Program, t: np.ndarray, x: np.ndarray, p: np.ndarray) -> Residuals:
    """Of the positions of all that is held, then of the speeds of the constraints among the speeds.

    t : (k,); x : (k, n); p : as native code takes it
    """
    p = program.completed(p)
    if len(x) == 1 and p.ndim == 1:  # the quick way in
        return Residuals.of(program.left(t, program.whole(x[0]), p)[None])
    return Residuals.of(program.left(t[:, None], program.whole(x), p))


def unsatisfied(program: Program, left: Residuals, holding: Collection[str], speeds: bool = True) -> str | None:
    """Say which position, or else which speed, is furthest from the constraints that hold; None where all are met."""
    if not left.loose.any():
        return None
    parts = np.split(left.off, [len(program.held)], axis=1), np.split(left.size2, [len(program.held)], axis=1)
    for what, off, size2 in list(zip(("position", "speed"), *parts, strict=True))[: 1 + speeds]:
        on = np.array([name in holding for name in program.held.names[: off.shape[1]]], dtype=bool)
        if found := Residuals(off=off, size2=size2).furthest(on):
            return f"{what} does not satisfy {program.held.labels[found[0]]!r}: it is {found[1]}."
    return None
