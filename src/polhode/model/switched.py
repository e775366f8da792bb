"""Constraints that come and go while a machine runs: locks, brakes, clutches, latches, stops, contacts, ropes.

Each is declared once, with a name. Which of them hold at a time is the mode of a simulation, not a
part of the model: commands and switches engage and release them, and those that can only push, pull or
bear so much let go by themselves.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from polhode.graph import Expr, Matrix, as_expr

from . import fields
from .compliant import Bounded, Compliant, CompliantContact, CompliantRope, CompliantStop, Taut, Touching
from .constraints import LOOPS
from .elements import Constraint, Element, element


@dataclass(frozen=True, slots=True, kw_only=True)
class Commanded(Constraint):
    """What commands engage and release; where, is not known before."""

    @property
    def holds(self) -> bool:
        """Never as declared."""
        return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Slipping(Commanded):
    """What holds a speed, up to a capacity."""

    capacity: Expr | None = fields.scalar(optional=True, least=0, of="anything")

    @property
    def law(self) -> str:  # type: ignore[override]
        return "equal" if self.capacity is None else "bounded"

    def described(self) -> str:
        most = "" if self.capacity is None else f", up to {fields.short(self.capacity)}"
        return f"{Commanded.described(self)}{most}"


@element
class Lock(Commanded):
    """A joint that is held where it is while the lock is engaged."""

    table = "lock"
    named = "lock {joint}"

    name: str
    joint: str = fields.joint()


@element
class Brake(Slipping):
    """A speed that is held at 0.

    capacity : the most it bears, a force or a torque; beyond it slips and pulls with that much. None for any
    """

    table = "brake"
    named = "brake {speed}"
    positional = 1

    name: str
    speed: str = fields.speed()


@element
class Clutch(Slipping):
    """Two speeds that turn together: u_a = ratio u_b. It keeps the offset that it engages at.

    capacity : the most it bears at a, a force or a torque; beyond it slips. None for any
    """

    table = "clutch"
    named = "clutch {a} {b}"
    positional = 2

    name: str
    ends: tuple[str, str] = fields.speeds()
    ratio: Expr = fields.scalar(1)

    def faults(self) -> Iterator[str]:
        yield from Slipping.faults(self)
        if self.ends[0] == self.ends[1]:
            yield f"{self.what}: ties {self.ends[0]!r} to itself, expected two speeds. A brake holds one."
        if self.ratio == 0:
            yield f"{self.what}: its ratio is 0, expected more or less than 0. A brake holds {self.ends[0]!r} at 0."


@element
class Latch(Commanded):
    """Two markers that are tied as they are where the latch engages, entirely or in part.

    kind : as of a loop; a "distance" is that which they have. "point" and "hinge" keep the origin of the second marker
           where it is in the first; that of the first in the second, where the body of the second carries it, as the
           world does: latch("hand", "world", "point") and latch("world", "hand", "point") both hold the hand
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


@dataclass(frozen=True, slots=True, kw_only=True)
class Unilateral(Constraint):
    """What can only push, or only pull.

    restitution     : of the speed of an impact, that it leaves with
    restitution_law : "newton" for the above; "poisson" for that of the impulse which stops it, that pushes it off then
    stiffness       : makes it yield: a force, with damping or dissipation, instead of a constraint; see `Compliant`
    """

    law = "unilateral"
    yielding: ClassVar[type[Compliant]]
    restitution: Expr = fields.scalar(0, least=0, most=1, of="anything")
    restitution_law: str = fields.choice(("newton", "poisson"), "newton")
    stiffness: Expr | None = fields.scalar(optional=True, above=0)
    damping: Expr | None = fields.scalar(optional=True, least=0)
    dissipation: Expr | None = fields.scalar(optional=True, least=0)
    exponent: Expr | None = fields.scalar(optional=True, least=1)

    def faults(self) -> Iterator[str]:
        yield from Constraint.faults(self)
        if self.stiffness is None:
            for name in ("damping", "dissipation", "exponent", "slip_speed"):
                if getattr(self, name, None) is not None:
                    yield f"{self.what}: has {name} but no stiffness, so it is rigid. Give stiffness=, too."
            return
        if self.restitution != 0 or self.restitution_law != "newton":
            yield f"{self.what}: has stiffness and restitution, which follows from it. Give dissipation= instead."
        if not self.active:
            yield f"{self.what}: has stiffness, so it is a force, which always acts. Leave out active=False."
        if getattr(self, "static", None) is not None:
            yield f"{self.what}: has stiffness and static friction, expected friction= alone, which is regularised."

    def stands_for(self) -> Element:
        """Itself, or where it has a stiffness the force in its place, with the fields that both have."""
        if self.stiffness is None:
            return self
        specs = self.yielding.specs
        given = {name: getattr(self, name) for name in specs}
        needed = [name for name, value in given.items() if value is None and not specs[name].optional]
        given |= {name: as_expr(specs[name].usual) for name in needed}
        return self.yielding(name=self.name, **given)  # type: ignore[call-arg]  # a dataclass


@element
class Stop(Bounded, Unilateral):
    """A coordinate that cannot go below or above a bound.

    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "stop"
    yielding = CompliantStop

    name: str

    @property
    def rows(self) -> int:
        return (self.lower is not None) + (self.upper is not None)

    def faults(self) -> Iterator[str]:
        yield from Bounded.faults(self)
        low, high = (None if e is None else e.number for e in (self.lower, self.upper))
        if low is not None and high is not None and low > high:
            yield f"{self.what}: lower {low:g} is above upper {high:g}."

    def described(self) -> str:
        low, high = ("" if e is None else fields.short(e) for e in (self.lower, self.upper))
        return " <= ".join(word for word in (low, self.coordinate, high) if word)


@element
class Contact(Touching, Unilateral):
    """A point, a thin disc or a sphere that cannot go below the plane across the z axis of a marker.

    marker      : the point, or the centre; `axis` is the axis of a disc in it
    ground      : a marker whose z axis is the normal of the plane
    friction    : coefficient where it slides; None for none
    static      : coefficient where it sticks, at least `friction`; None for the same
    slip_speed  : m/s, where it yields, at which friction is 0.7 of what it is at large speeds; 1e-3 where none is given
    relief      : height of the ground above the plane, of x and y in the axes of its marker; of points. The gap is
                  vertical then, and its reaction lam makes a force lam (-dh/dx, -dh/dy, 1) across the ground
    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "contact"
    yielding = CompliantContact

    name: str
    static: Expr | None = fields.scalar(optional=True, least=0, of="anything")
    slip_speed: Expr | None = fields.scalar(optional=True, above=0)

    @property
    def rows(self) -> int:
        return 1 if self.friction is None else 3

    def faults(self) -> Iterator[str]:
        yield from Touching.faults(self)
        if self.static is not None and self.friction is None:
            yield f"{self.what}: has static friction alone. Give friction= for where it slides, too."
        slides, sticks = (None if e is None else e.number for e in (self.friction, self.static))
        if slides is not None and sticks is not None and sticks < slides:
            yield f"{self.what}: static is {sticks:g}, less than friction {slides:g}, expected as much or more."

    def described(self) -> str:
        shape = "" if self.shape == "point" else f"{self.shape} "
        return f"contact {shape}{self.marker} on {self.ground}"


@element
class Rope(Taut, Unilateral):
    """Two markers whose origins are at most `length` apart.

    restitution, stiffness and what belongs to them : see `Unilateral`
    """

    table = "rope"
    yielding = CompliantRope

    name: str

    def described(self) -> str:
        return f"rope {fields.short(self.length)} {', '.join(self.ends)}"
