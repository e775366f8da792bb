"""Constraints: what closes loops, rolls, or follows a law."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from polhode.graph import Expr, Matrix, as_expr, symbol

from . import fields
from .body import WORLD
from .elements import Constraint, element

LOOPS = {  # how many rows each kind has
    **{"point": 3, "axis": 2, "plane": 1, "distance": 1, "parallel": 2, "orientation": 3},
    **{"hinge": 5, "cylinder": 4, "slider": 5, "weld": 6},
}


@element
class Coupling(Constraint):
    """A coordinate that follows another: q = ratio * q_of + offset."""

    table = "coupling"
    named = "coupling of {coordinate}"
    depends = " depends on {}, expected constants."

    name: str
    coordinate: str = fields.coordinate()
    of: str = fields.coordinate()
    ratio: Expr = fields.scalar(1)
    offset: Expr = fields.scalar(0)

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        if self.coordinate == self.of:
            yield f"Coupling of {self.coordinate!r} with itself, expected another coordinate."

    def described(self) -> str:
        rest = "" if self.offset == 0 else f" + {fields.short(self.offset)}"
        return f"{self.coordinate} = {fields.short(self.ratio)} {self.of}{rest}"

    def relation(self) -> Relation:
        """The same as an expression that stays zero."""
        value = symbol(self.coordinate) - self.ratio * symbol(self.of) - self.offset
        return Relation(name=self.name, value=value, active=self.active)


@element
class Loop(Constraint):
    """Two markers a, b that stay together, entirely or in part.

    kind   : "point" (origins meet), "axis" (the origin of b on the axis of a), "plane"
             (in the plane of a across it), "distance" (origins stay `length` apart),
             "parallel" (their axes stay parallel), "orientation" (all of them), "hinge"
             (point and parallel), "cylinder" (axis and parallel), "slider" (axis and
             orientation), "weld"
    axis   : where one matters, a direction, the same in both markers
    length : of a "distance"
    """

    table = "loop"
    named = "{kind} {a} {b}"
    positional = 3

    name: str
    ends: tuple[str, str] = fields.markers()
    kind: str = fields.choice(LOOPS, "point")
    axis: Matrix = fields.axis("z")
    length: Expr = fields.scalar(1, when=("kind", "distance"))

    @property
    def rows(self) -> int:
        return LOOPS[self.kind]

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        x = self.length.number
        if self.kind == "distance" and x is not None and not x > 0:
            point = ' Origins that meet are a "point".' if x == 0 else ""
            yield f"{self.what}: its length is {x:g}, expected more than 0.{point}"

    def described(self) -> str:
        length = f" {self.length}" if self.kind == "distance" else ""
        return f"{self.kind}{length} {', '.join(self.ends)}"


@element
class Relation(Constraint):
    """An expression that stays zero: of q, z, t and parameters, or also of speeds, then linear in them."""

    table = "constraint"
    named = "constraint"

    name: str
    value: Expr = fields.scalar(of="anything")

    def described(self) -> str:
        return f"{fields.cut(self.value)} = 0"


@element
class Gear(Constraint):
    """Two speeds that mesh: u_a = ratio u_b. A model keeps it as a relation."""

    table = "gear"
    named = "gear {a} {b}"

    name: str
    ends: tuple[str, str] = fields.speeds()
    ratio: Expr = fields.scalar(of="anything")

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        yield from _repeated(self, self.ends)
        if self.ratio == 0:
            yield f"{self.what}: its ratio is 0, expected more or less than 0. A lock or a brake holds a speed at 0."

    def stands_for(self) -> Constraint:
        a, b = map(symbol, self.ends)
        return Relation(name=self.name, value=a - self.ratio * b, active=self.active)


@element
class Differential(Constraint):
    """Speeds whose weighted sum stays 0, as of a differential's wheels and its cage. A model keeps it as a relation."""

    table = "differential"
    named = "differential"

    name: str
    speeds: tuple[tuple[str, Expr], ...] = fields.weights()

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        if len(self.speeds) < 2:
            yield f'{self.what}: has {len(self.speeds)} speeds, expected more: {{"left_dot": 1, "right_dot": 1}}.'

    def stands_for(self) -> Constraint:
        total = sum((symbol(name) * e for name, e in self.speeds), as_expr(0))
        return Relation(name=self.name, value=total, active=self.active)


@element
class Planetary(Constraint):
    """A planetary gear: N_sun u_sun + N_ring u_ring = (N_sun + N_ring) u_carrier, speeds of one base about one axis.

    sun_teeth, ring_teeth : or radii. A model keeps it as a relation
    """

    table = "planetary"
    named = "planetary {sun} {ring} {carrier}"

    name: str
    sun: str = fields.speed()
    ring: str = fields.speed()
    carrier: str = fields.speed()
    sun_teeth: Expr = fields.scalar(above=0)
    ring_teeth: Expr = fields.scalar(above=0)

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        yield from _repeated(self, (self.sun, self.ring, self.carrier))

    def stands_for(self) -> Constraint:
        s, r, c = map(symbol, (self.sun, self.ring, self.carrier))
        value = self.sun_teeth * s + self.ring_teeth * r - (self.sun_teeth + self.ring_teeth) * c
        return Relation(name=self.name, value=value, active=self.active)


def _repeated(part: Constraint, speeds: Sequence[str]) -> Iterator[str]:
    """Say which speed a gear has more than once."""
    if again := next((name for name in speeds if speeds.count(name) > 1), None):
        yield f"{part.what}: has the speed {again!r} {speeds.count(again)} times, expected {len(speeds)} speeds."


@element
class Law(Constraint):
    """A coordinate that follows a law of time. A model keeps it as a relation."""

    table = "law"
    call = "prescribe"
    named = "law of {coordinate}"

    name: str
    coordinate: str = fields.coordinate()
    value: Expr = fields.scalar(of="anything")

    def stands_for(self) -> Constraint:
        return Relation(name=self.name, value=symbol(self.coordinate) - self.value, active=self.active)


@element
class KnifeEdge(Constraint):
    """A marker whose origin has no velocity along an axis of its own, as a blade or a wheel."""

    table = "knife_edge"
    named = "knife edge {marker}"
    positional = 1

    name: str
    marker: str = fields.marker()
    axis: Matrix = fields.axis("y")

    def between(self) -> tuple[str, ...]:
        return (self.marker, WORLD)


@element
class Rolling(Constraint):
    """A thin disc or a sphere that rolls without slip on the plane across the z axis of a marker.

    wheel  : a marker at the centre; `axis` is the axis of a disc in it
    ground : a marker whose z axis is the normal of the plane
    """

    table = "rolling"
    named = "rolling {wheel}"

    name: str
    wheel: str = fields.marker()
    ground: str = fields.marker(WORLD)
    radius: Expr = fields.scalar(above=0)
    axis: Matrix = fields.axis("y")
    shape: str = fields.choice(("disc", "sphere"), "disc")

    @property
    def rows(self) -> int:
        return 3

    def described(self) -> str:
        return f"rolling {self.shape} {self.wheel} on {self.ground}"
