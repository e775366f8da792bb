"""Constraints that come and go while a machine runs: locks, brakes, clutches, latches, stops, contacts, ropes.

Each is declared once, with a name. Which of them hold at a time is the mode of a simulation, not a
part of the model: commands and switches engage and release them, and those that can only push, pull or
bear so much let go by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from polhode.graph import Expr, Matrix, as_expr

from . import fields
from .body import WORLD
from .compliant import CompliantContact, CompliantRope, CompliantStop
from .constraints import LOOPS
from .elements import Constraint, Element, element


@element
class Lock(Constraint):
    """A joint that is held where it is while the lock is engaged."""

    table = "lock"
    named = "lock {joint}"

    name: str
    joint: str = fields.joint()

    @property
    def holds(self) -> bool:
        """Never as declared: commands engage and release it."""
        return False


@element
class Brake(Constraint):
    """A speed that is held at 0.

    capacity : the most it bears, a force or a torque; beyond it slips and pulls with that much. None for any
    """

    table = "brake"
    named = "brake {speed}"
    positional = 1

    name: str
    speed: str = fields.speed()
    capacity: Expr | None = fields.scalar(optional=True, least=0, of="anything")

    @property
    def holds(self) -> bool:
        """Never as declared: commands engage and release it."""
        return False

    @property
    def law(self) -> str:  # type: ignore[override]
        return "equal" if self.capacity is None else "bounded"


@element
class Clutch(Constraint):
    """Two speeds that turn together: u_a = ratio u_b. It keeps the offset that it engages at.

    capacity : the most it bears at a, a force or a torque; beyond it slips. None for any
    """

    table = "clutch"
    named = "clutch {a} {b}"
    positional = 2

    name: str
    ends: tuple[str, str] = fields.speeds()
    ratio: Expr = fields.scalar(1)
    capacity: Expr | None = fields.scalar(optional=True, least=0, of="anything")

    @property
    def holds(self) -> bool:
        """Never as declared: commands engage and release it."""
        return False

    @property
    def law(self) -> str:  # type: ignore[override]
        return "equal" if self.capacity is None else "bounded"


@element
class Latch(Constraint):
    """Two markers that are tied as they are where the latch engages, entirely or in part.

    kind : as of a loop; a "distance" is that which they have
    axis : where one matters, a direction, the same in both markers
    """

    table = "latch"
    named = "latch {a} {b}"
    positional = 3

    name: str
    ends: tuple[str, str] = fields.markers()
    kind: str = fields.choice(LOOPS, "weld")
    axis: Matrix = fields.axis("z")

    @property
    def rows(self) -> int:
        return LOOPS[self.kind]

    @property
    def holds(self) -> bool:
        """Never as declared: where it engages is not known before."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Unilateral(Constraint):
    """What can only push, or only pull.

    restitution     : of the speed of an impact, that it leaves with
    restitution_law : "newton" for the above; "poisson" for that of the impulse which stops it, that pushes it off then
    stiffness       : makes it yield: a force, with damping or dissipation, instead of a constraint; see `Compliant`
    """

    law = "unilateral"
    restitution: Expr = fields.scalar(0, least=0, most=1, of="anything")
    restitution_law: str = fields.choice(("newton", "poisson"), "newton")
    stiffness: Expr | None = fields.scalar(optional=True, above=0)
    damping: Expr | None = fields.scalar(optional=True, least=0)
    dissipation: Expr | None = fields.scalar(optional=True, least=0)
    exponent: Expr | None = fields.scalar(optional=True, least=1)

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        if self.stiffness is None:
            for name in ("damping", "dissipation", "exponent", "slip_speed", "relief"):
                if getattr(self, name, None) is not None:
                    yield f"{self.what}: has {name} but no stiffness, so it is rigid. Give stiffness=, too."
            return
        if self.restitution != 0 or self.restitution_law != "newton":
            yield f"{self.what}: has stiffness and restitution, which follows from it. Give dissipation= instead."
        if not self.active:
            yield f"{self.what}: has stiffness, so it is a force, which always acts. Leave out active=False."
        if getattr(self, "static", None) is not None:
            yield f"{self.what}: has stiffness and static friction, expected friction= alone, which is regularised."

    def _yields(self) -> dict[str, Any]:
        """What a force in its place has."""
        given = {"damping": self.damping, "dissipation": self.dissipation}
        found = {name: as_expr(0) if e is None else e for name, e in given.items()}
        exponent = as_expr(1) if self.exponent is None else self.exponent
        return {"name": self.name, "stiffness": self.stiffness, "exponent": exponent, **found}


@element
class Stop(Unilateral):
    """A coordinate that cannot go below or above a bound.

    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "stop"
    named = "stop {coordinate}"
    positional = 1

    name: str
    coordinate: str = fields.coordinate()
    lower: Expr | None = fields.scalar(optional=True)
    upper: Expr | None = fields.scalar(optional=True)

    @property
    def rows(self) -> int:
        return (self.lower is not None) + (self.upper is not None)

    def faults(self) -> Iterator[str]:
        yield from Unilateral.faults(self)
        if not self.rows:
            yield f"{self.what}: has no bound. Give lower=, upper= or both."
        low, high = (None if e is None else e.number for e in (self.lower, self.upper))
        if low is not None and high is not None and low > high:
            yield f"{self.what}: lower {low:g} is above upper {high:g}."

    def stands_for(self) -> Element:
        if self.stiffness is None:
            return self
        return CompliantStop(coordinate=self.coordinate, lower=self.lower, upper=self.upper, **self._yields())

    def described(self) -> str:
        low, high = ("" if e is None else fields.short(e) for e in (self.lower, self.upper))
        return " <= ".join(word for word in (low, self.coordinate, high) if word)


@element
class Contact(Unilateral):
    """A point, a thin disc or a sphere that cannot go below the plane across the z axis of a marker.

    marker      : the point, or the centre; `axis` is the axis of a disc in it
    ground      : a marker whose z axis is the normal of the plane
    friction    : coefficient where it slides; None for none
    static      : coefficient where it sticks, at least `friction`; None for the same
    slip_speed  : m/s, where it yields, at which friction is 0.7 of what it is at large speeds; 1e-3 where none is given
    relief      : height of the ground above the plane, of x and y in the axes of its marker; of points, where it yields
    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "contact"
    named = "contact {marker}"
    positional = 2

    name: str
    marker: str = fields.marker()
    ground: str = fields.marker(WORLD)
    friction: Expr | None = fields.scalar(optional=True, least=0, of="anything")
    static: Expr | None = fields.scalar(optional=True, least=0, of="anything")
    slip_speed: Expr | None = fields.scalar(optional=True, above=0)
    shape: str = fields.choice(("point", "disc", "sphere"), "point")
    radius: Expr | None = fields.scalar(optional=True, above=0)
    axis: Matrix = fields.axis("y")
    relief: Expr | None = fields.scalar(optional=True, own=("x", "y"))

    @property
    def rows(self) -> int:
        return 1 if self.friction is None else 3

    def between(self) -> tuple[str, ...]:
        return (self.marker, self.ground)

    def faults(self) -> Iterator[str]:
        yield from Unilateral.faults(self)
        if (self.shape == "point") != (self.radius is None):
            said = "has no radius" if self.radius is None else "has a radius"
            yield f'{self.what}: a {self.shape} {said}. Give radius= to a "disc" or a "sphere", and to no point.'
        if self.static is not None and self.friction is None:
            yield f"{self.what}: has static friction alone. Give friction= for where it slides, too."
        slides, sticks = (None if e is None else e.number for e in (self.friction, self.static))
        if slides is not None and sticks is not None and sticks < slides:
            yield f"{self.what}: static is {sticks:g}, less than friction {slides:g}, expected as much or more."

    def stands_for(self) -> Element:
        if self.stiffness is None:
            return self
        return CompliantContact(
            marker=self.marker,
            ground=self.ground,
            friction=self.friction,
            slip_speed=as_expr(1e-3) if self.slip_speed is None else self.slip_speed,
            shape=self.shape,
            radius=self.radius,
            axis=self.axis,
            relief=self.relief,
            **self._yields(),
        )

    def described(self) -> str:
        shape = "" if self.shape == "point" else f"{self.shape} "
        return f"contact {shape}{self.marker} on {self.ground}"


@element
class Rope(Unilateral):
    """Two markers whose origins are at most `length` apart.

    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "rope"
    named = "rope {a} {b}"
    positional = 2

    name: str
    ends: tuple[str, str] = fields.markers()
    length: Expr = fields.scalar(above=0)

    def stands_for(self) -> Element:
        if self.stiffness is None:
            return self
        return CompliantRope(ends=self.ends, length=self.length, **self._yields())

    def described(self) -> str:
        return f"rope {fields.short(self.length)} {', '.join(self.ends)}"
