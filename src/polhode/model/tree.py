"""A model drawn as a tree of text."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polhode.graph import Expr

from .beam import Beam
from .body import WORLD
from .errors import listed
from .fields import short

if TYPE_CHECKING:
    from .body import Body
    from .model import Model


MOST_LINES = 200


def draw(model: Model) -> str:
    """Draw the bodies as a tree, each with its joint, mass and markers."""
    lines = [
        f"{model.name}: {_count(len(model.bodies), 'body', 'bodies')}, nq = {model.nq}, nu = {model.nu}"
        + (f", nz = {model.nz}" if model.nz else "")
    ]
    lines.append(f"gravity ({', '.join(short(e) for e in model.gravity)})")
    if model.parameters:
        lines.append(f"parameters {', '.join(str(s) for s in model.parameters)}")
    markers: dict[str, list[str]] = {}
    for marker in model.markers:
        markers.setdefault(marker.body, []).append(marker.name)
    children: dict[str, list[Body]] = {}
    for body in model.bodies:
        children.setdefault(body.parent, []).append(body)
    lines.append(WORLD + _listed(markers.get(WORLD, [])))
    waiting = [(body, "", body is children[WORLD][-1]) for body in reversed(children.get(WORLD, []))]
    shown = 0
    while waiting and shown < MOST_LINES:
        shown += 1
        body, indent, last = waiting.pop()
        lines.append(f"{indent}{'└─ ' if last else '├─ '}{_line(body)}{_listed(markers.get(body.name, []))}")
        below = children.get(body.name, [])
        deeper = indent + ("   " if last else "│  ")
        waiting += [(child, deeper, child is below[-1]) for child in reversed(below)]
    if shown < len(model.bodies):
        lines.append(f"... and {len(model.bodies) - shown} more bodies")
    for part in (*model.forces, *model.constraints, *model.states):
        said = part.described()
        lines.append(f"{part.name} [{said}]" if said else part.name)
    if model.sensors:
        lines.append(f"sensors {listed([sensor.name for sensor in model.sensors], most=8)}")
    return "\n".join(lines)


def _line(body: Body) -> str:
    joint = body.joint
    name = "" if joint.name in ("", body.name) else f" {joint.name}"
    hub = body.mass if body.welded.m == 0 else body.mass + body.welded.m
    weight = _weight(hub, "")
    if body.flexible is not None:
        bends = "beam " if isinstance(body.flexible, Beam) else "flexible "
        weight = _weight(body.flexible.inertia.m, bends if hub != 0 else "") + _weight(hub, "hub ")
    q = ", ".join(joint.coordinates())
    moves = f"({q})" if q and q != joint.name else ""
    modes = f", modes {', '.join(body.modes)}" if body.modes else ""
    return f"{body.name} [{joint.kind}{name}{moves}{weight}{modes}]"


def _weight(mass: Expr, what: str) -> str:
    """A mass after a comma, with what it is of; nothing for 0."""
    text = short(mass)
    return "" if text == "0" else f", {what}{text} kg" if text[0].isdigit() else f", {what}mass {text}"


def _listed(names: list[str]) -> str:
    if not names:
        return ""
    shown = ", ".join(names[:4]) + (f", ... {len(names)} markers" if len(names) > 4 else "")
    return f"  · {shown}"


def _count(n: int, one: str, many: str) -> str:
    return f"{n} {one if n == 1 else many}"
