"""Poses: where a frame is, seen from another."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeVar, overload

from polhode.graph import Matrix, as_matrix, cross, identity, matrix, zeros
from polhode.graph.matrix import Entries

from .inertia import Inertia
from .vectors import Twist, Wrench

_Spatial = TypeVar("_Spatial", Twist, Wrench)


@dataclass(frozen=True, slots=True)
class Pose:
    """The pose X_AB of a frame B in a frame A: rotation R_AB, origin p_AB.

    The paper's configuration matrix X with L^T = R and R = p.
    Reference: [KwatnyBlankenship, eq. 1].
    """

    R: Matrix
    p: Matrix

    @classmethod
    def identity(cls) -> Pose:
        return cls(identity(3), zeros(3))

    @classmethod
    def at(cls, p: Matrix | Entries, R: Matrix | None = None) -> Pose:
        """A pose at a point, turned by R if given."""
        return cls(identity(3) if R is None else R, as_matrix(p))

    def matrix(self) -> Matrix:
        """The 4 x 4 homogeneous matrix."""
        return matrix([*([*row, e] for row, e in zip(self.R, self.p, strict=True)), [0, 0, 0, 1]])

    def inverse(self) -> Pose:
        """X_BA. Reference: [KwatnyBlankenship, eq. 2b], corrected."""
        return Pose(self.R.T, -(self.R.T @ self.p))

    @overload
    def __matmul__(self, other: Pose) -> Pose: ...
    @overload
    def __matmul__(self, other: Twist) -> Twist: ...
    @overload
    def __matmul__(self, other: Wrench) -> Wrench: ...
    @overload
    def __matmul__(self, other: Inertia) -> Inertia: ...
    @overload
    def __matmul__(self, other: Matrix) -> Matrix: ...
    def __matmul__(self, other: object) -> object:
        """Take a pose, twist, wrench, inertia or point expressed in B to A."""
        if isinstance(other, Pose):
            return Pose(self.R @ other.R, self.R @ other.p + self.p)
        if isinstance(other, Twist):
            w = self.R @ other.w
            return Twist(w, self.R @ other.v + cross(self.p, w))
        if isinstance(other, Wrench):
            f = self.R @ other.f
            return Wrench(self.R @ other.n + cross(self.p, f), f)
        if isinstance(other, Inertia):
            return other.rotated(self.R).shifted(self.p)
        return self.R @ as_matrix(other) + self.p

    def back(self, other: _Spatial) -> _Spatial:
        """Take a twist or wrench expressed in A to B."""
        if isinstance(other, Twist):
            return Twist(self.R.T @ other.w, self.R.T @ (other.v + cross(other.w, self.p)))
        return Wrench(self.R.T @ (other.n - cross(self.p, other.f)), self.R.T @ other.f)
