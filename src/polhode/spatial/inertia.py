"""Rigid-body inertias about the origin of a frame."""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, as_matrix, cross, matrix, mirrored, zeros
from polhode.graph.matrix import Entries, dot
from polhode.graph.node import Operand

from .rotation import skew, turned
from .vectors import Twist, Wrench


@dataclass(frozen=True, slots=True)
class Inertia:
    """Mass m, first moment h = m c and inertia I about the origin.

    The paper's spatial inertia M_o = [[I, skew(h)], [-skew(h), m]] with
    h = -m a, a running from the centre of mass to the origin.
    Reference: [KwatnyBlankenship, eq. 48].
    """

    m: Expr
    h: Matrix
    I: Matrix

    @classmethod
    def zero(cls) -> Inertia:
        return cls(as_expr(0), zeros(3), zeros(3, 3))

    @classmethod
    def of_body(cls, mass: Operand, com: Matrix | Entries, I_com: Matrix) -> Inertia:
        """From mass, centre of mass and the inertia about it."""
        m, c = as_expr(mass), as_matrix(com)
        return cls(m, zeros(3), I_com).shifted(c)

    def __add__(self, other: Inertia) -> Inertia:
        return Inertia(self.m + other.m, self.h + other.h, self.I + other.I)

    def __matmul__(self, V: Twist) -> Wrench:
        """The momentum of the twist V."""
        return Wrench(self.I @ V.w + cross(self.h, V.v), V.v * self.m + cross(V.w, self.h))

    def rotated(self, R: Matrix) -> Inertia:
        """The same body seen from turned axes: h -> R h, I -> R I R^T."""
        return Inertia(self.m, R @ self.h, mirrored(turned(R, self.I)))

    def shifted(self, p: Matrix) -> Inertia:
        """The same body about an origin from which it lies p further.

        I -> I + 2 (h.p) 1 - h p^T - p h^T + m (p.p 1 - p p^T)
        """
        moved = self.h + p * self.m
        # with h' = h + m p:  I + ((h + h').p) 1 - h p^T - p h'^T, its diagonal without the terms that cancel
        squares = [dot([p[k]], [self.h[k] + moved[k]]) for k in range(3)]
        upper = {}
        for i in range(3):
            for j in range(i, 3):
                if i == j:
                    upper[i, j] = self.I[i, j] + (squares[i - 1] + squares[i - 2])
                else:
                    upper[i, j] = self.I[i, j] - dot([self.h[i], p[i]], [p[j], moved[j]])
        return Inertia(self.m, moved, _symmetric(upper))

    def matrix(self) -> Matrix:
        """The 6 x 6 spatial inertia, angular part first."""
        S = skew(self.h)
        top = [[*self.I[i], *S[i]] for i in range(3)]
        return matrix([*top, *([*(-S)[i], *[self.m if i == j else 0 for j in range(3)]] for i in range(3))])


def _symmetric(upper: dict[tuple[int, int], Expr]) -> Matrix:
    return matrix([[upper[min(i, j), max(i, j)] for j in range(3)] for i in range(3)])
