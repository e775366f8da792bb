"""Bodies and the markers fixed to them."""

from __future__ import annotations

from dataclasses import dataclass, field

from polhode.graph import Expr, Matrix, as_expr
from polhode.spatial import Inertia, Pose

from .flexible import Flexible
from .joint import Joint

WORLD = "world"


@dataclass(frozen=True, slots=True, kw_only=True)
class Body:
    """A body on the joint that carries it, rigid unless it says what deforms.

    pose    : X_PJ, where the joint sits in the parent; with the joint at rest
              it is the pose of the body
    mass, com, inertia : the inertia (3, 3) is about the centre of mass, in the
              axes of the body
    welded  : inertia, about the body's origin, of what was merged into it
    flexible : the modes by which it deforms; its mass is beside mass, com and inertia, which are those of a hub
    rotor   : whether it is a rotor, whose inertia is about its axis alone: the rest belongs to what carries it
    """

    name: str
    parent: str
    joint: Joint
    pose: Pose
    mass: Expr
    com: Matrix
    inertia: Matrix
    welded: Inertia = field(default_factory=Inertia.zero)
    rotor: bool = False
    flexible: Flexible | None = None

    @property
    def total(self) -> Inertia:
        """Inertia about the origin, with everything merged into the body."""
        return Inertia.of_body(self.mass, self.com, self.inertia) + self.welded

    @property
    def undeformed(self) -> Inertia:
        """The same with what deforms, where it is not deformed."""
        if self.flexible is None:
            return self.total
        return self.total + self.flexible.inertia.at([as_expr(0)] * len(self.flexible.modes)).inertia

    @property
    def modes(self) -> tuple[str, ...]:
        """Names of the amplitudes of its modes."""
        return () if self.flexible is None else tuple(f"{self.name}_{mode}" for mode in self.flexible.modes)

    @property
    def rates(self) -> tuple[str, ...]:
        """Names of the speeds of its modes."""
        return tuple(f"{mode}_dot" for mode in self.modes)

    @property
    def coordinates(self) -> tuple[str, ...]:
        """Names of its coordinates: those of its joint, and of its modes."""
        return (*self.joint.coordinates(), *self.modes)

    @property
    def speeds(self) -> tuple[str, ...]:
        """Names of its speeds: those of its joint, and of its modes."""
        return (*self.joint.speeds(), *self.rates)

    def quantities(self) -> list[Expr]:
        """Every constant expression of the body."""
        geometry = [*self.pose.R.entries, *self.pose.p, *self.com, *self.inertia.entries]
        welded = [self.welded.m, *self.welded.h, *self.welded.I.entries]
        modal = [] if self.flexible is None else self.flexible.quantities()
        return [*self.joint.quantities, *geometry, self.mass, *welded, *modal]


@dataclass(frozen=True, slots=True, kw_only=True)
class Marker:
    """A named frame fixed to a body, or to the world."""

    name: str
    body: str
    pose: Pose
