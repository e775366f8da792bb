"""Forces: laws that act on a model, apart from gravity and the joints' own."""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr, Matrix


@dataclass(frozen=True, slots=True, kw_only=True)
class SpringDamper:
    """A spring and damper between two markers: tension k (l - length) + d l_dot."""

    name: str
    ends: tuple[str, str]
    stiffness: Expr
    length: Expr
    damping: Expr

    def expressions(self) -> list[Expr]:
        return [self.stiffness, self.length, self.damping]


@dataclass(frozen=True, slots=True, kw_only=True)
class MarkerWrench:
    """A force and torque at a marker, in the axes of the world or of the marker."""

    name: str
    marker: str
    force: Matrix
    torque: Matrix
    axes: str

    def expressions(self) -> list[Expr]:
        return [*self.force, *self.torque]


@dataclass(frozen=True, slots=True, kw_only=True)
class SpeedForce:
    """A generalised force that does work on one speed."""

    name: str
    speed: str
    value: Expr

    def expressions(self) -> list[Expr]:
        return [self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class Potential:
    """A potential energy, any expression of the coordinates."""

    name: str
    energy: Expr

    def expressions(self) -> list[Expr]:
        return [self.energy]


Force = SpringDamper | MarkerWrench | SpeedForce | Potential


@dataclass(frozen=True, slots=True, kw_only=True)
class Coupling:
    """A coordinate that follows another: q = ratio * q_of + offset.

    A constraint like the others: M, c and tau leave both coordinates free, simulations hold it.
    """

    coordinate: str
    of: str
    ratio: Expr
    offset: Expr

    @property
    def name(self) -> str:
        """The name it has among the constraints."""
        return f"coupling of {self.coordinate}"
