"""Constraints: what closes loops, rolls, or follows a law."""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Expr, Matrix

from .body import WORLD

LOOPS = {  # how many rows each kind has
    **{"point": 3, "axis": 2, "plane": 1, "distance": 1, "parallel": 2, "orientation": 3},
    **{"hinge": 5, "cylinder": 4, "slider": 5, "weld": 6},
}
SHAPES = ("disc", "sphere")


@dataclass(frozen=True, slots=True, kw_only=True)
class Loop:
    """Two markers a, b that stay together, entirely or in part.

    kind   : "point" (origins meet), "axis" (the origin of b on the axis of a), "plane"
             (in the plane of a across it), "distance" (origins stay `length` apart),
             "parallel" (their axes stay parallel), "orientation" (all of them), "hinge"
             (point and parallel), "cylinder" (axis and parallel), "slider" (axis and
             orientation), "weld"
    axis   : a direction, the same in both markers
    """

    name: str
    kind: str
    ends: tuple[str, str]
    axis: Matrix
    length: Expr

    def expressions(self) -> list[Expr]:
        return [*self.axis, self.length]


@dataclass(frozen=True, slots=True, kw_only=True)
class Relation:
    """An expression that stays zero: of q and t, or with speeds, then linear in them."""

    name: str
    value: Expr

    def expressions(self) -> list[Expr]:
        return [self.value]


@dataclass(frozen=True, slots=True, kw_only=True)
class KnifeEdge:
    """A marker whose origin has no velocity along an axis of its own."""

    name: str
    marker: str
    axis: Matrix

    def expressions(self) -> list[Expr]:
        return [*self.axis]


@dataclass(frozen=True, slots=True, kw_only=True)
class Rolling:
    """A thin disc or a sphere that rolls without slip on a plane.

    wheel  : a marker at the centre; `axis` is the axis of a disc in it
    ground : a marker whose z axis is the normal of the plane
    """

    name: str
    wheel: str
    ground: str
    radius: Expr
    shape: str
    axis: Matrix

    def expressions(self) -> list[Expr]:
        return [self.radius, *self.axis]


Constraint = Loop | Relation | KnifeEdge | Rolling


def ends_of(constraint: Constraint) -> tuple[str, ...]:
    """The two frames that a constraint is between; a knife edge is between its marker and the world."""
    match constraint:
        case Loop():
            return constraint.ends
        case Rolling():
            return (constraint.wheel, constraint.ground)
        case KnifeEdge():
            return (constraint.marker, WORLD)
    return ()


def rows_of(constraint: Constraint) -> int:
    """How many equations a constraint has, whether or not they are independent."""
    if isinstance(constraint, Loop):
        return LOOPS[constraint.kind]
    return 3 if isinstance(constraint, Rolling) else 1


def described(constraint: Constraint) -> str:
    """A constraint in a line: what it is, and between what."""
    match constraint:
        case Loop(kind=kind, ends=(a, b)):
            between = f"{a}, {b}"
            return f"distance {constraint.length} {between}" if kind == "distance" else f"{kind} {between}"
        case KnifeEdge():
            return f"knife edge {constraint.marker}"
        case Rolling():
            return f"rolling {constraint.shape} {constraint.wheel} on {constraint.ground}"
    value = str(constraint.value)
    return f"{value.splitlines()[0]:.60} = 0"
