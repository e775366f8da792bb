"""URDF joints: what each means, and which follow others."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from polhode.model import Builder, Faults, Joint, Limits, free, planar, prismatic, revolute, weld

from .xml import Element, Number, number, numbers

SINGLE = ("revolute", "continuous", "prismatic")
MOVING = (*SINGLE, "floating", "planar")
TYPES = (*SINGLE, "fixed", "floating", "planar")


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJoint:
    """A joint as the file has it, with the element for what is read later."""

    name: str
    kind: str
    parent: str
    child: str
    at: list[Number]
    rpy: list[Number]
    element: Element


def read_joints(root: Element, faults: Faults) -> list[ReadJoint]:
    """Read every <joint>, in the order of the file."""
    return [_joint(name, element, faults) for name, element in root.by_name("joint", faults).items()]


def _joint(name: str, element: Element, faults: Faults) -> ReadJoint:
    what = f"Joint {name!r}"
    kind = element.get("type") or ""
    if kind not in TYPES:
        faults.add(f"{what}: type is {kind!r:.60}, expected {', '.join(TYPES[:-1])} or {TYPES[-1]}.")
    ends = []
    for end in ("parent", "child"):
        inside = element.first(end)
        link = inside.get("link") if inside is not None else None
        if not link:
            faults.add(f'{what} has no {end} link, expected <{end} link="...">.')
        ends.append(link or "")
    at, rpy = read_origin(element, what, faults)
    return ReadJoint(name=name, kind=kind, parent=ends[0], child=ends[1], at=at, rpy=rpy, element=element)


def read_origin(element: Element, what: str, faults: Faults) -> tuple[list[Number], list[Number]]:
    """Read <origin>: a position, and angles about the fixed x, y, z."""
    origin = element.first("origin")
    if origin is None:
        return [0, 0, 0], [0, 0, 0]
    xyz = numbers(origin, "xyz", 3, f"{what} origin xyz", faults, (0, 0, 0))
    return xyz, [right(angle) for angle in numbers(origin, "rpy", 3, f"{what} origin rpy", faults, (0, 0, 0))]


def right(angle: Number) -> Number:
    """A right angle, or several, for what is one to the digits of the file: 1.57079632679."""
    whole = round(angle / (math.pi / 2)) * (math.pi / 2)
    return whole if 0 < abs(angle - whole) < 5e-12 else angle


def make_joint(joint: ReadJoint, passive: bool, faults: Faults) -> Joint:
    """The joint of a model; damping and friction of planar and floating ones are the same for all their speeds."""
    what = f"Joint {joint.name!r}"
    if joint.kind not in MOVING:
        return weld(name=joint.name)
    options: dict[str, Any] = {"name": joint.name, "passive": passive} | _dynamics(joint.element, what, faults)
    if joint.kind == "floating":
        return free(quaternion=True, **options)
    axis = _axis(joint.element, what, faults)
    if joint.kind == "planar":
        return planar(axis, **options)
    options["limits"] = _limits(joint, what, faults)
    return prismatic(axis, **options) if joint.kind == "prismatic" else revolute(axis, **options)


def _axis(element: Element, what: str, faults: Faults) -> list[Number]:
    inside = element.first("axis")
    if inside is None:
        return [1, 0, 0]
    if inside.get("xyz") is None:
        faults.add(f'{what}: <axis> on line {inside.line} has no xyz, expected a direction such as xyz="0 0 1".')
    axis = numbers(inside, "xyz", 3, f"{what}: axis", faults, (1, 0, 0))
    if max(map(abs, axis)) < 1e-9:
        faults.add(f'{what}: axis has length 0, expected a direction such as xyz="0 0 1".')
        return [1, 0, 0]
    return axis


def _dynamics(element: Element, what: str, faults: Faults) -> dict[str, Any]:
    inside = element.first("dynamics")
    if inside is None:
        return {}
    return {key: number(inside, key, f"{what}: {key}", faults, 0) for key in ("damping", "friction")}


def _limits(joint: ReadJoint, what: str, faults: Faults) -> list[Limits] | None:
    """Read limits; "inf" is none, and a bound that is left out beside the other is 0."""
    inside = joint.element.first("limit")
    if inside is None:
        return None
    found: dict[str, float | None] = {}
    for key in ("lower", "upper", "velocity", "effort"):
        text = (inside.get(key) or "").lstrip("+-").lower()
        absent = not text or text in ("inf", "infinity")
        found[key] = None if absent else float(number(inside, key, f"{what}: limit {key}", faults, 0))
    given = [key for key in ("lower", "upper") if inside.get(key)]
    if joint.kind == "continuous":
        found["lower"] = found["upper"] = None
    elif len(given) == 1:
        found["upper" if given == ["lower"] else "lower"] = 0.0
    return [Limits(lower=found["lower"], upper=found["upper"], speed=found["velocity"], effort=found["effort"])]


def couple(builder: Builder, joints: list[ReadJoint], faults: Faults) -> None:
    """Read <mimic>: the coordinate follows that of another joint, unless they follow each other in a ring."""
    kinds = {joint.name: joint.kind for joint in joints}
    mimics = {joint.name: inside for joint in joints if (inside := joint.element.first("mimic")) is not None}
    follows = {name: inside.get("joint") or "" for name, inside in mimics.items()}
    ringed = note_rings(follows, builder)
    for name, inside in mimics.items():
        what, of = f"Joint {name!r}: mimic", follows[name]
        ratio = number(inside, "multiplier", f"{what} multiplier", faults, 1)
        offset = number(inside, "offset", f"{what} offset", faults, 0)
        if of not in kinds:
            builder.note(f"{what} joint {of!r:.60} does not exist, so the joint is left free.")
        elif kinds[name] not in SINGLE or kinds[of] not in SINGLE:
            builder.note(f"{what} of {of!r} is not read: both must be revolute, continuous or prismatic.")
        elif name not in ringed:
            builder.coupling(name, of, ratio, offset)


def note_rings(follows: dict[str, str], builder: Builder) -> set[str]:
    """Note joints that follow themselves or each other; returns them."""
    ringed: set[str] = set()
    seen: set[str] = set()
    for start in follows:
        path: dict[str, None] = {}
        name = start
        while name in follows and name not in seen:
            seen.add(name)
            path[name] = None
            name = follows[name]
        if name in path:
            ring = list(path)[list(path).index(name) :]
            ringed.update(ring)
            shown = [*ring[:6], "..."] if len(ring) > 7 else ring
            chain = " follows ".join(map(repr, [*shown, name]))
            builder.note(f"Joint {chain}: a ring of mimics is not read, so its joints are left free.")
    return ringed
