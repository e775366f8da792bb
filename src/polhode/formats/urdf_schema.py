"""What URDF knows: a misspelt element or attribute is a fault, what is merely not read a note."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from difflib import get_close_matches
from functools import lru_cache

from polhode.model import Faults

from .xml import Element, Unknown

INSIDE = {  # what is read in each element
    "robot": ("link", "joint"),
    "link": ("inertial",),
    "inertial": ("origin", "mass", "inertia"),
    "joint": ("parent", "child", "origin", "axis", "limit", "dynamics", "mimic"),
}
ATTRIBUTES = {
    "origin": ("xyz", "rpy"),
    "mass": ("value",),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "parent": ("link",),
    "child": ("link",),
    "axis": ("xyz",),
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction"),
    "mimic": ("joint", "multiplier", "offset"),
}
_EXTENDED = ("limit", "dynamics")  # robots add attributes of their own here
_IGNORED = frozenset(
    """visual collision material sensor transmission gazebo mujoco plugin ros2_control safety_controller calibration
    contact collision_checking self_collision_checking self_filter disable_collisions surface verbose""".split()
)
_ALIKE = 0.7  # of difflib, from here on a name is taken for a misspelt one


def check_elements(root: Element, faults: Faults) -> list[str]:
    """Find what URDF does not know; returns a note for each kind that is not read."""
    unread: Counter[str] = Counter()
    extended: dict[str, dict[str, None]] = {}
    unknown = Unknown()
    for what, element in _read(root):
        inside = INSIDE[element.tag]
        present = Counter(child.tag for child in element.children)
        for tag in inside if element.tag != "robot" else ():
            if present[tag] > 1:
                faults.add(f"{what} has {present[tag]} <{tag}> (line {element.line}), expected one. Remove the others.")
        for child in element.children:
            if child.tag in ATTRIBUTES and child.tag in inside:
                for key in _check_attributes(child, what, unknown):
                    extended.setdefault(child.tag, {})[key] = None
            elif child.tag not in inside and child.tag not in _IGNORED and ":" not in child.tag:
                if (remedy := _misspelt(child.tag, element.tag, inside, present)) is not None:
                    faults.add(f"{what}: unknown element <{child.tag:.40}> on line {child.line}. {remedy}")
                else:
                    unread[f"<{child.tag:.40}> in <{element.tag}>"] += 1
    unknown.report(faults)
    notes = [f"{kind} is not read{f' ({n} of them)' if n > 1 else ''}." for kind, n in unread.items()]
    return notes + [f"Of <{tag}>, these are not read: {', '.join(map(repr, keys))}." for tag, keys in extended.items()]


def _read(root: Element) -> Iterator[tuple[str, Element]]:
    """The elements whose children matter, each with a name for messages."""
    yield "Robot", root
    for element in root.all("link", "joint"):
        what = f"{element.tag.capitalize()} {element.get('name') or ''!r:.60}"
        yield what, element
        if element.tag == "link":
            yield from ((f"{what}: inertial", inertial) for inertial in element.all("inertial"))


def _check_attributes(element: Element, what: str, unknown: Unknown) -> list[str]:
    """Find unknown attributes; returns those that robots may add to limits and dynamics."""
    known = ATTRIBUTES[element.tag]
    named = f"{what}: <{element.tag}>"
    if element.tag not in _EXTENDED:
        unknown.check(element, known, named)
        return []
    missing = tuple(key for key in known if key not in element.attributes)
    extra = [key for key in element.attributes if key not in known]
    wrong = {key for key in extra if alike(key, missing)}
    unknown.check(element, known, named, wrong)
    return [key[:40] for key in extra if key not in wrong and ":" not in key]


def _misspelt(tag: str, parent: str, inside: tuple[str, ...], present: Counter[str]) -> str | None:
    """The remedy for an element that is meant to be another one or is elsewhere, None if it is neither."""
    if tag in ("mass", "inertia") and parent == "link":
        return "Put it into <inertial>."
    meant = alike(tag, tuple(name for name in inside if not present[name] or parent == "robot"))
    return f"Did you mean <{meant}>?" if meant else None


@lru_cache(maxsize=1024)
def alike(name: str, names: tuple[str, ...]) -> str:
    return next(iter(get_close_matches(name[:60].lower(), names, 1, _ALIKE)), "")
