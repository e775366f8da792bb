"""The constraints that joints imply: dry friction holds like a brake, limits like stops."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from polhode.graph import as_expr

from .body import Body
from .joint import Limits
from .switched import Brake, Stop


def friction_brakes(bodies: Iterable[Body]) -> tuple[Brake, ...]:
    """The dry friction of the joints as brakes that are engaged, where no friction_speed smooths it."""
    found = []
    for joint in (body.joint for body in bodies):
        if joint.passive and joint.friction_speed == 0:
            speeds = joint.speeds()
            for speed, f in zip(speeds, joint.friction, strict=False):
                if f != 0:
                    name = f"friction of {joint.name if len(speeds) == 1 else speed}"
                    found.append(Brake(name=name, speed=speed, capacity=f, active=True))
    return tuple(found)


def limit_stops(bodies: Iterable[Body]) -> tuple[Stop, ...]:
    """The limits of the joints' coordinates as stops."""
    found = []
    for name, limit in limited(bodies):
        bounds = [x if x is not None and abs(x) < float("inf") else None for x in (limit.lower, limit.upper)]
        if bounds != [None, None]:
            low, high = (None if x is None else as_expr(x) for x in bounds)
            given: dict[str, Any] = {"name": f"limit of {name}", "coordinate": name, "lower": low, "upper": high}
            given |= {"restitution": as_expr(0), "restitution_law": "newton", "active": True}
            found.append(Stop(**given, stiffness=None, damping=None, dissipation=None, exponent=None))
    return tuple(found)


def limited(bodies: Iterable[Body]) -> list[tuple[str, Limits]]:
    """The coordinates that have limits, by name, with their limits."""
    joints = [body.joint for body in bodies if body.joint.limits]
    return [pair for joint in joints for pair in zip(joint.coordinates(), joint.limits, strict=True)]
