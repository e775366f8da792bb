"""SDFormat writes values as the text of elements; these read them as numbers, poses and switches."""

from __future__ import annotations

import math
from collections.abc import Sequence

from polhode.graph import vector
from polhode.model import Faults, values
from polhode.spatial import Pose

from .urdf_joints import right
from .xml import Element, Number, number, numbers, to_number

ENDLESS = 1e15  # limits from here on are none, as Gazebo's 1e16


def text_of(element: Element, tag: str) -> str:
    """The text of the first child with that tag, "" where there is none."""
    child = element.first(tag)
    return "" if child is None else child.text.strip()


def read_number(element: Element, tag: str, what: str, faults: Faults, default: Number) -> Number:
    """Read the text of a child as a number."""
    child = element.first(tag)
    return default if child is None else number(_valued(child), "value", f"{what}: {tag}", faults)


def read_numbers(
    element: Element, tag: str, n: int, what: str, faults: Faults, default: Sequence[Number] | None = None
) -> list[Number]:
    """Read the text of a child as n numbers; without a default it must be there."""
    child = element.first(tag)
    if child is None:
        if default is None:
            faults.add(f"{what} has no <{tag}>, expected {n} numbers in it (line {element.line}).")
        return [0] * n if default is None else list(default)
    return numbers(_valued(child), "value", n, f"{what}: {tag}", faults)


def read_bound(element: Element, tag: str, what: str, faults: Faults) -> float | None:
    """Read a limit; what is infinite, or nearly, is none."""
    text = text_of(element, tag)
    if not text or text.lstrip("+-").lower() in ("inf", "infinity"):
        return None
    found = to_number(text)
    if found is not None and abs(found) >= ENDLESS:
        return None
    return float(read_number(element, tag, what, faults, 0))


def read_switch(element: Element, tag: str, what: str, faults: Faults) -> bool:
    """Read true, false, 1 or 0; what is not there is false."""
    text = text_of(element, tag).lower()
    if text not in ("", "true", "false", "1", "0"):
        faults.add(f"{what}: {tag} is {text!r:.60}, expected true or false.")
    return text in ("true", "1")


def read_pose(element: Element, what: str, faults: Faults) -> Pose:
    """Read <pose>: a position, then angles about the fixed x, y, z, or a quaternion (x, y, z, w)."""
    child = element.first("pose")
    if child is None or not child.text.strip():
        return Pose.identity()
    form = child.get("rotation_format") or "euler_rpy"
    if form not in ("euler_rpy", "quat_xyzw"):
        faults.add(f"{what}: rotation_format is {form!r:.60}, expected euler_rpy or quat_xyzw.")
        return Pose.identity()
    before = len(faults.found)
    found = numbers(_valued(child), "value", 7 if form == "quat_xyzw" else 6, f"{what}: pose", faults)
    degrees = (child.get("degrees") or "false").lower()
    if degrees not in ("true", "false", "1", "0"):
        faults.add(f"{what}: degrees is {degrees!r:.60}, expected true or false.")
    if len(faults.found) > before:
        return Pose.identity()
    p, turn = vector(found[:3]), found[3:]
    if form == "quat_xyzw":
        if not any(turn):
            faults.add(f"{what}: pose has a quaternion of length 0, expected a unit quaternion (x, y, z, w).")
            return Pose.at(p)
        return Pose(values.rotation(what, quaternion=[turn[3], *turn[:3]]), p)
    scale = math.pi / 180 if degrees in ("true", "1") else 1
    return Pose(values.rotation(what, rpy=[right(angle * scale) for angle in turn]), p)


def relative_to(element: Element) -> str:
    """The frame that a <pose> is given in, "" for the usual one; before 1.7 it was called frame."""
    child = element.first("pose")
    return "" if child is None else child.get("relative_to") or child.get("frame") or ""


def _valued(child: Element) -> Element:
    """The text of an element as an attribute of it."""
    return Element(child.tag, {"value": child.text.strip()}, child.line)
