"""URDF joints: what each means, and which follow others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polhode.model import Builder, Faults, Joint, Limits, free, planar, prismatic, revolute, weld

from .xml import Element, Number, number, numbers

TYPES = ("revolute", "continuous", "prismatic", "fixed", "floating", "planar")
FRICTION_SPEED = 1e-3  # below it, dry friction is smoothed; rad/s or m/s


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
    found: dict[str, ReadJoint] = {}
    for element in root.all("joint"):
        name = element.get("name")
        if not name:
            faults.add(f'Joint on line {element.line} has no name, expected <joint name="...">.')
        elif name in found:
            faults.add(f"Joint {name!r} exists more than once (line {element.line}). Rename all but one.")
        else:
            found[name] = _joint(name, element, faults)
    return list(found.values())


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
    origin = element.first("origin")
    if origin is None:
        return [0, 0, 0], [0, 0, 0]
    xyz = numbers(origin, "xyz", 3, f"{what} origin xyz", faults, (0, 0, 0))
    return xyz, numbers(origin, "rpy", 3, f"{what} origin rpy", faults, (0, 0, 0))


def make_joint(joint: ReadJoint, passive: bool, builder: Builder, faults: Faults) -> Joint:
    what = f"Joint {joint.name!r}"
    options: dict[str, Any] = {"name": joint.name, "passive": passive}
    if joint.kind == "floating":
        return free(quaternion=True, **options)
    if joint.kind in ("revolute", "continuous", "prismatic", "planar"):
        axis = _axis(joint.element, what, faults)
        if joint.kind == "planar":
            return planar(axis, **options)
        options |= _dynamics(joint.element, what, faults)
        options["limits"] = _limits(joint, what, builder, faults)
        return prismatic(axis, **options) if joint.kind == "prismatic" else revolute(axis, **options)
    return weld(name=joint.name)


def _axis(element: Element, what: str, faults: Faults) -> list[Number]:
    inside = element.first("axis")
    if inside is None:
        return [1, 0, 0]
    axis = numbers(inside, "xyz", 3, f"{what}: axis", faults, (1, 0, 0))
    if max(map(abs, axis)) < 1e-9:
        faults.add(f'{what}: axis has length 0, expected a direction such as xyz="0 0 1".')
        return [1, 0, 0]
    return axis


def _dynamics(element: Element, what: str, faults: Faults) -> dict[str, Any]:
    inside = element.first("dynamics")
    if inside is None:
        return {}
    found = {key: number(inside, key, f"{what}: {key}", faults, 0) for key in ("damping", "friction")}
    return found | {"friction_speed": FRICTION_SPEED}


def _limits(joint: ReadJoint, what: str, builder: Builder, faults: Faults) -> list[Limits] | None:
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
    low, high = found["lower"], found["upper"]
    if low is not None and high is not None and low > high:
        builder.note(f"{what}: its lower limit {low:g} is above its upper limit {high:g}.")
    return [Limits(lower=low, upper=high, speed=found["velocity"], effort=found["effort"])]


def couple(builder: Builder, joints: list[ReadJoint], faults: Faults) -> None:
    """Read <mimic>: the coordinate follows that of another joint."""
    kinds = {joint.name: joint.kind for joint in joints}
    for joint in joints:
        inside = joint.element.first("mimic")
        if inside is None:
            continue
        what = f"Joint {joint.name!r}: mimic"
        of = inside.get("joint") or ""
        ratio = number(inside, "multiplier", f"{what} multiplier", faults, 1)
        offset = number(inside, "offset", f"{what} offset", faults, 0)
        single = ("revolute", "continuous", "prismatic")
        if of not in kinds:
            builder.note(f"{what} joint {of!r:.60} does not exist, so the joint is left free.")
        elif joint.kind not in single or kinds[of] not in single:
            builder.note(f"{what} of {of!r} is not read: both must be revolute, continuous or prismatic.")
        else:
            builder.coupling(joint.name, of, ratio, offset)
