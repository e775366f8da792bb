"""Small changes of coordinates: their own, and for a unit quaternion three turns about the axes of its body."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polhode.equations.program import Program
from polhode.equations.tangent import Point
from polhode.graph import Expr, Matrix, evaluate
from polhode.kinematics.small import small_changes

from .operating import Operating


@dataclass(frozen=True, kw_only=True)
class Charts:
    """dq = T(q) r, where r are coordinates or turns.

    names  : of r, (nx,)
    T      : (nq, nx); constant but for quaternions, in which it is linear
    blocks : of each quaternion its place in q, in r, and T as expressions, (4, 3)
    moved  : the place in r of what each speed moves, where that is one
    tied   : the places in r of what speeds of joints move that are no speeds of the equations
    """

    names: tuple[str, ...]
    T: np.ndarray
    blocks: tuple[tuple[int, int, Matrix], ...]
    q: tuple[Expr, ...]
    moved: tuple[int | None, ...]
    tied: tuple[int, ...]

    @property
    def turns(self) -> tuple[str, ...]:
        """The names of turns."""
        return tuple(self.names[first + k] for _, first, _ in self.blocks for k in range(3))

    @cached_property
    def inverse(self) -> np.ndarray:
        """r of dq, (nx, nq)."""
        return np.linalg.pinv(self.T)

    def rate(self, qdot: np.ndarray) -> np.ndarray:
        """dT/dt where the machine moves, (nq, nx)."""
        found = np.zeros_like(self.T)
        for place, first, block in self.blocks:
            found[place : place + 4, first : first + 3] = _at(block, self.q, qdot)
        return found

    def reach(self, program: Program, at: Point, far: np.ndarray) -> np.ndarray:
        """How far each can move, (nx,), of what the speeds of the joints can."""
        q = at.x[: len(self.q)]
        moved = program.moved(at.t, np.tile(q, (len(far), 1)), np.diag(far), at.p)
        found: np.ndarray = np.abs(self.inverse @ moved.T).max(axis=1, initial=0)
        return np.where(found > 0, found, 1.0)

    def coordinate_of(self, speed: int) -> int | None:
        """The place of what a speed moves alone."""
        return self.moved[speed]


def charts_of(at: Operating) -> Charts:
    """The charts of a machine at a state."""
    program, eq = at.program, at.program.equations
    base, small = program.base, small_changes(program.base)
    values = dict(zip(eq.q, at.q.tolist(), strict=True))
    T = np.array(evaluate([*small.T.entries], values), dtype=float).reshape(small.T.shape)
    names, blocks = small.names, small.blocks
    moved, joints = _moved(T, eq.kinematics.N), _moved(T, base.N)
    tied = [i for s, i in zip(base.u, joints, strict=True) if i is not None and s not in {*eq.u}]
    return Charts(names=names, T=T, blocks=blocks, q=tuple(eq.q), moved=moved, tied=tuple(tied))


def _moved(T: np.ndarray, N: Matrix) -> tuple[int | None, ...]:
    """The place of what each speed moves, where that is one."""
    found = list[int | None]()
    for j in range(N.shape[1]):
        moving = [k for k in range(len(T)) if N[k, j] != 0]
        on = np.flatnonzero((T[moving] != 0).any(axis=0))
        found.append(int(on[0]) if len(on) == 1 else None)
    return tuple(found)


def _at(block: Matrix, q: tuple[Expr, ...], values: np.ndarray) -> np.ndarray:
    """A block of N by numbers; linear in the quaternion, so its rate is what it has at the rate of that."""
    return np.array(evaluate([*block.entries], dict(zip(q, values.tolist(), strict=True)))).reshape(block.shape)
