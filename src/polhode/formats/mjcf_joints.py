"""MJCF joints: what each means, and the chain they make when a body has several."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Any

from polhode.graph import Matrix, vector, zeros
from polhode.model import Builder, Faults, Joint, Limits, free, prismatic, revolute, spherical, values
from polhode.spatial import Pose, axis_angle

from .mjcf_text import Settings
from .xml import LARGEST, Element, number, numbers, to_number

TYPES = ("hinge", "slide", "ball", "free")
FLAGS = {"damper": "damping", "spring": "stiffness", "frictionloss": "frictionloss"}  # and what they switch off
_INFINITE = {
    sign + word: math.inf if sign != "-" else -math.inf for sign in ("", "+", "-") for word in ("inf", "infinity")
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Read:
    """A joint as read, and how it moves the frames around it.

    before : from the frame so far to the frame on which the joint sits
    after  : from the frame that the joint moves back to the body's own
    ref    : the coordinate's value in the pose of the file
    reach  : the range that limits it, None for none
    push   : what all its actuators together may do, None for anything
    """

    joint: Joint
    before: Pose
    after: Pose
    ref: float
    reach: list[float] | None = None
    push: list[float] | None = None


def read_joint(
    element: Element, X_BF: Pose, name: str, passive: bool, settings: Settings, builder: Builder, faults: Faults
) -> Read | None:
    """Read a <joint> or <freejoint>; its frame is at X_BF in the body."""
    what, settings = f"Joint {name!r}", settings.of(element)
    kind = "free" if element.tag == "freejoint" else element.get("type") or "hinge"
    if kind not in TYPES:
        faults.add(f"{what}: type is {kind!r:.60}, expected {', '.join(TYPES)}.")
        return None
    options: dict[str, Any] = {"name": name, "passive": passive}
    scale = math.pi / 180 if settings.degrees and kind in ("hinge", "ball") else 1
    if element.tag == "joint":
        options |= _laws(element, kind, what, scale, settings, builder, faults)
    if kind in ("free", "ball"):
        # of a free joint MuJoCo makes nothing of them, wherever they are inherited from
        if kind == "ball" and bounds(element, "range", "limited", what, settings, faults) is not None:
            builder.note(f"{what}: its range is not read, limits are for hinges and slides.")
        return _turning(element, kind, X_BF, options, faults, what)
    reach = bounds(element, "range", "limited", what, settings, faults)
    reach = None if reach is None else [x * scale for x in reach]
    push = bounds(element, "actuatorfrcrange", "actuatorfrclimited", what, settings, faults)
    options["limits"] = _limits(reach, push)
    axis = numbers(element, "axis", 3, f"{what}: axis", faults, (0, 0, 1))
    if max(map(abs, axis)) < 1e-9:
        faults.add(f'{what}: axis has length 0, expected a direction such as axis="0 0 1".')
        return None
    a = values.axis(X_BF.R @ values.axis(axis, f"{what}: axis"), f"{what}: axis")
    ref = number(element, "ref", f"{what}: ref", faults, 0) * scale
    if kind == "slide":
        made, before = prismatic(a, **options), Pose.at(a * -ref)
        return Read(joint=made, before=before, after=Pose.identity(), ref=ref, reach=reach, push=push)
    p = X_BF @ vector(numbers(element, "pos", 3, f"{what}: pos", faults, (0, 0, 0)))
    made, before = revolute(a, at=p, **options), _turned_about(a, p, -ref)
    return Read(joint=made, before=before, after=Pose.identity(), ref=ref, reach=reach, push=push)


def _turned_about(a: Matrix, p: Matrix, angle: float) -> Pose:
    if angle == 0:
        return Pose.identity()
    R = values.settled(axis_angle(a, angle))
    return Pose(R, p - R @ p)


def _turning(element: Element, kind: str, X_BF: Pose, options: dict[str, Any], faults: Faults, what: str) -> Read:
    """A ball turns about its anchor, so its frame is there; a free joint's frame is the body's."""
    if kind == "free":
        return Read(joint=free(quaternion=True, **options), before=Pose.identity(), after=Pose.identity(), ref=0)
    p = X_BF @ vector(numbers(element, "pos", 3, f"{what}: pos", faults, (0, 0, 0)))
    made = spherical(quaternion=True, **options)
    return Read(joint=made, before=Pose.at(p), after=Pose.at(zeros(3) - p), ref=0)


def _laws(
    element: Element, kind: str, what: str, scale: float, settings: Settings, builder: Builder, faults: Faults
) -> dict[str, Any]:
    """Read armature, damping, spring and dry friction, but for what a <flag> switches off."""
    off = [key for flag, key in FLAGS.items() if flag in settings.disabled]
    element = replace(element, attributes={k: text for k, text in element.attributes.items() if k not in off})
    found: dict[str, Any] = {"armature": number(element, "armature", f"{what}: armature", faults, 0)}
    for key in ("damping", "stiffness"):
        row = numbers(element, key, 3, f"{what}: {key}", faults, (0,), least=1)
        found[key] = row[0]
        if any(row[1:]):
            builder.note(f"{what}: only the linear part of its {key} is read.")
    if element.get("springdamper") not in (None, "0 0"):
        builder.note(f"{what}: springdamper is not read. Give stiffness and damping.")
    if found["stiffness"] and kind in ("ball", "free"):
        builder.note(f"{what}: the spring of a {kind} joint is not read.")
        del found["stiffness"]
    else:
        found["rest"] = number(element, "springref", f"{what}: springref", faults, 0) * scale
    friction = number(element, "frictionloss", f"{what}: frictionloss", faults, 0)
    if friction and kind == "free":  # which would be along other axes than MuJoCo's
        builder.note(f"{what}: the dry friction of a free joint is not read.")
        return found
    return found | {"friction": friction}


def bounds(
    element: Element, key: str, switch: str, what: str, settings: Settings, faults: Faults
) -> list[float] | None:
    """Read a range where it limits: by its switch, or by being there if autolimits says so. It may be infinite."""
    limited = element.get(switch) or "auto"
    if limited not in ("true", "false", "auto"):
        faults.add(f"{what}: {switch} is {limited!r:.60}, expected true, false or auto.")
    text = element.get(key)
    if limited == "false" or text is None:
        if limited == "true":
            faults.add(f"{what}: it is {switch} but has no {key}, expected two numbers.")
        return None
    ends = [x for word in text.split(maxsplit=2) if (x := _INFINITE.get(word.lower(), to_number(word))) is not None]
    if len(text.split(maxsplit=2)) != 2 or len(ends) != 2:
        faults.add(f"{what}: {key} is {text!r:.60}, expected 2 numbers, or -inf and inf.")
        return None
    low, high = (float(x) if abs(x) <= LARGEST else math.copysign(math.inf, x) for x in ends)
    if limited == "auto" and not settings.of(element).autolimits:
        faults.add(f'{what}: it has {key} but not {switch}, and autolimits is off. Say {switch}="true" or "false".')
    if low > high or (low == high and limited == "true"):
        faults.add(f"{what}: {key} is {text!r:.60}, expected the smaller number first.")
    return [low, high] if low < high and (low > -math.inf or high < math.inf) else None


def _limits(reach: list[float] | None, push: list[float] | None) -> list[Limits] | None:
    if reach is None and push is None:
        return None
    low, high = (None if x is None or math.isinf(x) else x for x in reach or (None, None))
    effort = max(map(abs, push)) if push else math.inf
    return [Limits(lower=low, upper=high, effort=None if math.isinf(effort) else effort)]
