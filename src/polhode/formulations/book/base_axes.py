"""The matrices of the paper as they are printed: 4 x 4, momenta with their right side in the axes of the base.

Nothing here needs R R^T = 1, so it serves where rotations are linear [Book, eq. 5]; (72) and (73) are not shortened, as
that would.
"""

from __future__ import annotations

from collections.abc import Sequence

from polhode.graph import Expr, Matrix, as_expr, identity, zeros
from polhode.graph.matrix import dot

from .axes import Axes
from .frames import Frame, homogeneous


class BaseAxes(Axes[Matrix, Matrix]):
    """W, its rates, and 4 x 4 traces.

    udot : accelerations, 0 for the matrices of the right-hand side, Wdd_v
    fall : minus the acceleration of free fall
    """

    def __init__(self, frames: Sequence[Frame], udot: Matrix, fall: Matrix) -> None:
        self.frames = frames
        self.W: list[Matrix] = []
        self.W_dot: list[Matrix] = []
        self.W_ddot: list[Matrix] = []
        self.udot = udot
        self.slopes: list[list[Matrix]] = []  # dW_k/dz_i
        base = identity(4), zeros(4, 4), homogeneous(0, fall, zeros(3, 3))
        for frame in frames:
            p = frame.parent
            W, W_dot, W_ddot = base if p < 0 else (self.W[p], self.W_dot[p], self.W_ddot[p])
            T, slopes, T_dot, T_ddot = frame.T, frame.slopes, zeros(4, 4), frame.drift
            for slope, u, at in zip(slopes, frame.speeds, frame.at, strict=True):  # eq. 11, 12, 16, 17
                T_dot, T_ddot = T_dot + slope * u, T_ddot + slope * udot[at]
            self.slopes.append([W @ slope for slope in slopes])
            self.W.append(W @ T)  # eq. 3, 13
            self.W_dot.append(W_dot @ T + W @ T_dot)  # eq. 9, 14
            self.W_ddot.append(W_ddot @ T + W_dot @ T_dot * 2 + W @ T_ddot)  # eq. 10, 15; 64, 65

    def inertia(self, k: int) -> Matrix:
        mass = self.frames[k].mass
        return zeros(4, 4) if mass is None else mass.G.matrix()

    def inward(self, k: int, inertia: Matrix, beyond: Matrix) -> Matrix:
        T = self.frames[k].T
        seen: Matrix = inertia + T @ beyond @ T.T
        return seen

    def momentum(self, k: int, i: int, inertia: Matrix) -> Matrix:
        moved: Matrix = inertia @ self.slopes[k][i].T
        return moved

    def along(self, k: int, i: int, momentum: Matrix) -> Expr:
        return trace(self.slopes[k][i], momentum)

    def carried(self, k: int, momentum: Matrix) -> Matrix:
        seen: Matrix = self.frames[k].T @ momentum
        return seen

    def sum(self, one: Matrix, other: Matrix) -> Matrix:
        return one + other

    def modal(self, k: int) -> list[Matrix]:
        return [D @ self.W[k].T for D in self._D(k)]

    def own(self, k: int, e: int, f: int) -> Expr:
        return trace(self.W[k] @ self._C(k, e, f), self.W[k].T)

    def load(self, k: int) -> Matrix:
        """G Wdd^T + sum_k (D_k dd_k W^T + 2 D_k d_k' Wd^T), and what is of second order."""
        mass = self.frames[k].mass
        if mass is None:
            return zeros(4, 4)
        Q: Matrix = mass.G.matrix() @ self.W_ddot[k].T + _rows(mass.H2, mass.G2) @ self.W[k].T
        for D, rate, at in zip(self._D(k), mass.rates, mass.at, strict=True):
            Q = Q + D @ (self.W_dot[k].T * (rate * 2) + self.W[k].T * self.udot[at])
        return Q

    def modal_loads(self, k: int) -> list[Expr]:
        """Tr{ [Wdd D_f + sum_k (2 d_k' Wd + dd_k W) C_kf + W B_f] W^T }."""
        mass = self.frames[k].mass
        assert mass is not None
        found = []
        for f, D in enumerate(self._D(k)):
            moved: Matrix = self.W_ddot[k] @ D
            for e, (rate, at) in enumerate(zip(mass.rates, mass.at, strict=True)):
                moved = moved + (self.W_dot[k] * (rate * 2) + self.W[k] * self.udot[at]) @ self._C(k, e, f)
            if mass.B:
                moved = moved + self.W[k] @ homogeneous(0, zeros(3), mass.B[f])
            found.append(trace(moved, self.W[k].T))
        return found

    def _D(self, k: int) -> list[Matrix]:
        """Reference: [Book, eq. 36]; twice the paper's."""
        mass = self.frames[k].mass
        assert mass is not None
        return [_rows(P, D) for P, D in zip(mass.P, mass.D, strict=True)]

    def _C(self, k: int, e: int, f: int) -> Matrix:
        """Reference: [Book, eq. 25]; twice the paper's."""
        mass = self.frames[k].mass
        assert mass is not None
        return homogeneous(0, zeros(3), mass.C[e][f])


def _rows(P: Matrix, D: Matrix) -> Matrix:
    """[0 P^T; 0 D]."""
    return homogeneous(0, P, D.T).T


def trace(A: Matrix, B: Matrix) -> Expr:
    """Tr{A B}."""
    total = as_expr(0)
    for row, column in zip(A.rows(), B.T.rows(), strict=True):
        total = total + dot(row, column)
    return total
