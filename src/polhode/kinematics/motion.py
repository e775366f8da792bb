"""What may be asked of a mechanism's motion, whatever speeds it is written in."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, as_expr, diff_along, substitute, symbol, vector
from polhode.model import TIME, Model
from polhode.spatial import Inertia, Pose, Twist

from . import linear

if TYPE_CHECKING:
    from .tree import Kinematics


@dataclass(frozen=True, kw_only=True)
class Motion(ABC):
    """Poses and velocities of a mechanism in its coordinates q and one set of speeds u.

    `Kinematics` has the speeds of the joints, `InSpeeds` has others.

    q, u  : symbols of the coordinates (nq,) and speeds (nu,)
    quasi : the speeds the model names, where u are others: in terms of q and u
    """

    model: Model
    q: Matrix
    u: Matrix
    quasi: dict[Expr, Expr]

    @property
    @abstractmethod
    def joints(self) -> Kinematics:
        """The same in the speeds of the joints: the links, on which formulations recur."""

    @property
    @abstractmethod
    def embedded(self) -> frozenset[str]:
        """Names of the constraints that hold whatever the speeds u are."""

    @abstractmethod
    def written(self, rows: Matrix) -> Matrix:
        """Expressions of the joints' speeds, in the speeds u."""

    @property
    @abstractmethod
    def q_dot(self) -> Matrix:
        """Rates of the coordinates, (nq,): N u + drift."""

    @property
    @abstractmethod
    def N(self) -> Matrix:
        """The kinematic matrix, (nq, nu)."""

    @property
    @abstractmethod
    def drift(self) -> Matrix:
        """The part of q_dot without speeds, (nq,)."""

    @property
    @abstractmethod
    def V(self) -> list[Twist]:
        """Twist of every link, in its own frame."""

    @abstractmethod
    def pulled(self, slopes: Matrix) -> Matrix:
        """N^T times a vector of the coordinates."""

    @abstractmethod
    def jacobian(self, name: str, axes: str = "world") -> Matrix:
        """The (6, nu) matrix from the speeds to the velocity of a marker or body."""

    @cached_property
    def z(self) -> Matrix:
        """The states that are not motion, (nz,)."""
        return vector([symbol(state.name) for state in self.model.states])

    @cached_property
    def z_dot(self) -> Matrix:
        """Their rates, (nz,)."""
        rates = vector([state.rate for state in self.model.states])
        return substitute(rates, self.quasi)

    def named_speed(self, name: str) -> Expr:
        """A speed that the model names, in q and u."""
        return self.quasi.get(symbol(name), symbol(name))

    def _named(self, speeds: Sequence[Expr]) -> list[Expr]:
        return [self.quasi.get(u, u) for u in speeds]

    def rate(self, rows: Matrix) -> Matrix:
        """Change of expressions with time, where the speeds stay as they are."""
        return diff_along(rows, [*self.q, *self.z, TIME], [*self.q_dot, *self.z_dot, as_expr(1)])

    @property
    def X_W(self) -> list[Pose]:
        """Pose of every link in the world."""
        return self.joints.poses

    def frame(self, name: str) -> tuple[int, Pose]:
        """The link that carries a marker or body, and the pose in it."""
        if (place := self.joints.places.get(name)) is not None:
            return place
        body, pose = self.model.frame(name)
        return self.joints.carriers.get(body, -1), pose

    def pose(self, name: str) -> Pose:
        """Pose of a marker or body in the world. For the last one: the paper's XEndEf."""
        k, X = self.frame(name)
        return X if k < 0 else self.X_W[k] @ X

    def velocity(self, name: str, axes: str = "world") -> Twist:
        """Angular velocity and velocity of the origin of a marker or body."""
        require_axes(axes)
        k, X = self.frame(name)
        V = Twist.zero() if k < 0 else X.back(self.V[k])
        if axes == "marker":
            return V
        R = self.pose(name).R
        return Twist(R @ V.w, R @ V.v)

    @cached_property
    def kinetic(self) -> Expr:
        """Kinetic energy, the sum over links of V.(M V)/2."""
        total = linear.kinetic(self) * 2 if linear.is_linear(self.joints) else self._moved()
        for body in self.model.bodies:
            for a, name in zip(body.joint.armature, body.joint.speeds(), strict=False):
                total = total + a * self.named_speed(name) ** 2
        return total / 2

    def _moved(self) -> Expr:
        """Twice the kinetic energy of the bodies."""
        total = as_expr(0)
        for link, V in zip(self.joints.links, self.V, strict=True):
            if link.modes is not None:
                total = total + link.modes.body.kinetic(V, self._named(link.modes.rates)) * 2
            elif link.inertia != Inertia.zero():
                total = total + V.dot(link.inertia @ V)
        return total

    @property
    def mass(self) -> Expr:
        """Mass of everything that moves."""
        total = as_expr(0)
        for link in self.joints.links:
            total = total + link.inertia.m
        return total

    @property
    def center_of_mass(self) -> Matrix:
        """Centre of mass of everything that moves, in the world."""
        if self.mass == 0:
            raise ValueError(f"Model {self.model.name!r} has no mass, so no centre of mass.")
        return self.joints.first_moment / self.mass

    @property
    def gravitational(self) -> Expr:
        """Potential energy of gravity, zero at the origin of the world. The paper's GravPotChn, corrected."""
        energy: Expr = -(self.model.gravity @ self.joints.first_moment)
        return energy


def require_axes(axes: str) -> None:
    if axes not in ("world", "marker"):
        raise ValueError(f'axes={axes!r}: expected "world" or "marker".')
