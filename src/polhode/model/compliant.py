"""Contacts, stops and ropes that yield: forces instead of constraints.

    lam = max(k d^n (1 + 3/2 c d') + b d', 0)    where they are d > 0 beyond their gap

n = 1, c = 0 is a spring with a damper that does not pull; b = 0 is the law of Hunt and Crossley, whose
restitution at small speeds v is 1 - c v. Friction is regularised: mu lam v / sqrt(v^2 + slip_speed^2).
On ground that is not flat, z = h(x, y), d is vertical, and the force lam (-dh/dx, -dh/dy, 1) is across the ground.
build.contact, stop and rope make them where they are given a stiffness.

Reference: [Hunt, Crossley 1975], Coefficient of restitution interpreted as damping in vibroimpact.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, maximum

from . import fields
from .body import WORLD
from .elements import Force, element


@dataclass(frozen=True, slots=True, kw_only=True)
class Compliant(Force):
    """What pushes back the further it is pressed.

    stiffness   : k, N/m^n
    damping     : b, N s/m
    dissipation : c, s/m
    exponent    : n, a number; 3/2 for spheres
    """

    depends = " depends on {}, expected constants. Use a wrench or a force."
    stiffness: Expr = fields.scalar(above=0)
    damping: Expr = fields.scalar(0, least=0)
    dissipation: Expr = fields.scalar(0, least=0)
    exponent: Expr = fields.scalar(1, least=1)

    def energy(self, depth: Expr) -> Expr:
        """The elastic energy at a depth of 0 or more."""
        return self.stiffness * depth ** (self.exponent + 1) / (self.exponent + 1)

    def elastic(self, depth: Expr) -> Expr:
        """The force that has this energy."""
        return self.stiffness * depth**self.exponent

    def push(self, depth: Expr, rate: Expr) -> Expr:
        """The force at a depth of 0 or more, that changes by a rate."""
        touches = (depth > 0) * self.damping if self.damping != 0 else self.damping
        return maximum(self.elastic(depth) * (1 + self.dissipation * rate * 3 / 2) + touches * rate, 0)

    def faults(self) -> Iterator[str]:
        yield from Force.faults(self)
        if self.exponent.number is None:
            yield f"{self.what}: exponent is {self.exponent}, expected a number. Give exponent=1.5, or what suits."


@element
class CompliantStop(Compliant):
    """A coordinate that is pushed back below or above a bound; see `Compliant`."""

    table = "compliant_stop"
    named = "stop {coordinate}"
    positional = 1

    name: str
    coordinate: str = fields.coordinate()
    lower: Expr | None = fields.scalar(optional=True)
    upper: Expr | None = fields.scalar(optional=True)

    def faults(self) -> Iterator[str]:
        yield from Compliant.faults(self)
        if self.lower is None and self.upper is None:
            yield f"{self.what}: has no bound. Give lower=, upper= or both."


@element
class CompliantRope(Compliant):
    """Two markers whose origins are pulled together where they are more than `length` apart; see `Compliant`."""

    table = "compliant_rope"
    named = "rope {a} {b}"
    positional = 2

    name: str
    ends: tuple[str, str] = fields.markers()
    length: Expr = fields.scalar(above=0)


@element
class CompliantContact(Compliant):
    """A point, a thin disc or a sphere that the plane across the z axis of a marker pushes back; see `Compliant`.

    marker, ground, shape, radius, axis, relief : as of a `Contact`
    friction   : coefficient; None for none
    slip_speed : m/s, at which friction is 0.7 of what it is at large speeds
    """

    table = "compliant_contact"
    named = "contact {marker}"
    positional = 2

    name: str
    marker: str = fields.marker()
    ground: str = fields.marker(WORLD)
    friction: Expr | None = fields.scalar(optional=True, least=0, of="anything")
    slip_speed: Expr = fields.scalar(1e-3, above=0)
    shape: str = fields.choice(("point", "disc", "sphere"), "point")
    radius: Expr | None = fields.scalar(optional=True, above=0)
    axis: Matrix = fields.axis("y")
    relief: Expr | None = fields.scalar(optional=True, own=("x", "y"))

    def between(self) -> tuple[str, ...]:
        return (self.marker, self.ground)

    def faults(self) -> Iterator[str]:
        yield from Compliant.faults(self)
        if (self.shape == "point") != (self.radius is None):
            said = "has no radius" if self.radius is None else "has a radius"
            yield f'{self.what}: a {self.shape} {said}. Give radius= to a "disc" or a "sphere", and to no point.'
        if self.relief is not None and self.shape != "point":
            yield f"{self.what}: a {self.shape} on ground with a relief, expected a point. Leave out shape= or relief=."
