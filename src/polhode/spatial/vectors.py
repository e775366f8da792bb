"""Twists and wrenches: pairs of three-vectors, angular part first."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_matrix, cross, vector, zeros
from polhode.graph.matrix import Entries
from polhode.graph.node import Operand


@dataclass(frozen=True, slots=True)
class Twist:
    """Angular velocity w and velocity v of the origin."""

    w: Matrix
    v: Matrix

    @classmethod
    def of(cls, six: Matrix | Entries) -> Twist:
        """Make a twist from its six entries."""
        six = as_matrix(six)
        return cls(six[:3], six[3:])

    @classmethod
    def zero(cls) -> Twist:
        return cls(zeros(3), zeros(3))

    def vector(self) -> Matrix:
        """The six entries, angular part first."""
        return vector([*self.w, *self.v])

    def __add__(self, other: Twist) -> Twist:
        return Twist(self.w + other.w, self.v + other.v)

    def __sub__(self, other: Twist) -> Twist:
        return Twist(self.w - other.w, self.v - other.v)

    def __mul__(self, factor: Operand) -> Twist:
        return Twist(self.w * factor, self.v * factor)

    def dot(self, wrench: Wrench) -> Expr:
        """Power of a wrench in this twist, or the momentum along it."""
        power: Expr = self.w @ wrench.n + self.v @ wrench.f
        return power

    def bracket(self, other: Twist) -> Twist:
        """The Lie bracket [self, other], of body twists: (w x w', w x v' + v x w')."""
        return Twist(cross(self.w, other.w), cross(self.w, other.v) + cross(self.v, other.w))

    def cobracket(self, wrench: Wrench) -> Wrench:
        """The dual of the bracket: self.bracket(a).dot(F) = a.dot(self.cobracket(F))."""
        return Wrench(cross(wrench.n, self.w) + cross(wrench.f, self.v), cross(wrench.f, self.w))


@dataclass(frozen=True, slots=True)
class Wrench:
    """Moment n about the origin and force f; of momentum, angular and linear."""

    n: Matrix
    f: Matrix

    @classmethod
    def zero(cls) -> Wrench:
        return cls(zeros(3), zeros(3))

    def vector(self) -> Matrix:
        """The six entries, moment first."""
        return vector([*self.n, *self.f])

    def __add__(self, other: Wrench) -> Wrench:
        return Wrench(self.n + other.n, self.f + other.f)

    def __sub__(self, other: Wrench) -> Wrench:
        return Wrench(self.n - other.n, self.f - other.f)

    def __neg__(self) -> Wrench:
        return Wrench(-self.n, -self.f)


def combine(columns: Iterable[Twist], factors: Iterable[Operand]) -> Twist:
    """Sum of the twists times the factors."""
    total = Twist.zero()
    for column, factor in zip(columns, factors, strict=True):
        total = total + column * factor
    return total
