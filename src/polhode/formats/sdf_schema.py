"""What SDFormat knows: a misspelt element is a fault, what is merely not read a note, one for many."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from polhode.model import Faults
from polhode.model.errors import closest

from .urdf_schema import alike
from .xml import Element, Unknown

_AXIS = ("xyz", "limit", "dynamics", "use_parent_model_frame", "mimic")
INSIDE: dict[str, tuple[str, ...]] = {  # what is read in each element; axis2 is as axis
    "model": ("link", "joint", "model", "frame", "pose", "static", "include"),
    "link": ("pose", "inertial", "visual", "gravity"),
    "inertial": ("pose", "mass", "inertia"),
    "inertia": ("ixx", "iyy", "izz", "ixy", "ixz", "iyz"),
    "joint": ("parent", "child", "pose", "axis", "axis2", "thread_pitch", "screw_thread_pitch"),
    "axis": _AXIS,
    "axis2": _AXIS,
    "limit": ("lower", "upper", "effort", "velocity"),
    "dynamics": ("damping", "friction", "spring_stiffness", "spring_reference"),
    "frame": ("pose",),
}
ATTRIBUTES: dict[str, tuple[str, ...]] = {
    "sdf": ("version",),
    "model": ("name", "canonical_link", "placement_frame"),
    "link": ("name",),
    "inertial": ("auto",),
    "joint": ("name", "type"),
    "frame": ("name", "attached_to"),
    "pose": ("relative_to", "frame", "degrees", "rotation_format"),
    "xyz": ("expressed_in",),
    "visual": ("name",),
    "mimic": ("joint", "axis"),
    "drake:mimic": ("joint", "multiplier", "offset"),
}
_CLOSED = ("inertia", "axis", "axis2", "limit", "dynamics")  # nothing else belongs into these
_MANY = ("link", "joint", "model", "frame", "include", "visual")  # there may be more of these
_SILENT = frozenset(  # of no matter to the motion
    """self_collide allow_auto_disable enable_wind must_be_base_link physics audio_sink audio_source battery light
    particle_emitter projector material sensor""".split()
)
_COUNTED = frozenset(  # not read, and the motion may be another one without
    """plugin gripper collision fluid_added_mass velocity_decay stiffness dissipation initial_position
    gearbox_ratio""".split()
)


def check_elements(model: Element, faults: Faults) -> list[str]:
    """Find what SDFormat does not know in a model; returns a note for each kind that is not read."""
    unread: Counter[str] = Counter()
    unknown = Unknown()
    for what, element in _read(model):
        for part in (element, *element.children):
            if part.tag in ATTRIBUTES:
                unknown.check(part, ATTRIBUTES[part.tag], what if part is element else f"{what}: <{part.tag}>")
        inside = INSIDE[element.tag]
        present = Counter(child.tag for child in element.children)
        for tag in inside:
            if present[tag] > 1 and tag not in _MANY:
                faults.add(f"{what} has {present[tag]} <{tag}> (line {element.line}), expected one. Remove the others.")
        for tag, n in present.items():
            if tag in inside or tag in _SILENT or tag.startswith("drake:"):
                continue
            free = tuple(name for name in inside if not present[name] or name in _MANY)
            if element.tag in _CLOSED and tag not in _COUNTED and ":" not in tag:
                line = next(child.line for child in element.children if child.tag == tag)
                faults.add(f"{what}: unknown element <{tag:.40}> on line {line}. {closest(tag[:40], inside)}")
            elif tag not in _COUNTED and ":" not in tag and (meant := alike(tag, free)):
                line = next(child.line for child in element.children if child.tag == tag)
                faults.add(f"{what}: unknown element <{tag:.40}> on line {line}. Did you mean <{meant}>?")
            else:
                unread[f"<{tag:.40}> in <{element.tag}>"] += n
    unknown.report(faults)
    drakes = Counter(e.tag for e in model.walk() if e.tag.startswith("drake:") and e.tag not in _DRAKE)
    unread.update(drakes)
    return [f"{kind} is not read{f' ({n} of them)' if n > 1 else ''}." for kind, n in unread.items()]


def check_root(root: Element, faults: Faults) -> None:
    """Find attributes of <sdf> that it does not have, as axes are elsewhere by its version, and versions too old."""
    unknown = Unknown()
    unknown.check(root, ATTRIBUTES["sdf"], "The root element")
    unknown.report(faults)
    if (version := root.get("version")) in ("1.0", "1.1", "1.2", "1.3"):
        faults.add(
            f"SDFormat {version} is too old, expected 1.4 or later. Have it written anew: gz sdf -p FILE > new.sdf."
        )


_DRAKE = (
    "drake:joint", "drake:parent", "drake:child", "drake:damping", "drake:mimic", "drake:proximity_properties",
    "drake:perception_properties", "drake:illustration_properties", "drake:collision_filter_group",
)  # fmt: skip


def _read(model: Element) -> Iterator[tuple[str, Element]]:
    """The elements whose children matter, each with a name for messages."""
    waiting = [model]
    while waiting:
        element = waiting.pop()
        what = f"{element.tag.capitalize()} {element.get('name') or ''!r:.60}"
        yield what, element
        if element.tag == "model":
            waiting += reversed(element.all("link", "joint", "model", "frame"))
            continue
        for child in element.all("inertial", "axis", "axis2"):
            yield f"{what}: {child.tag}", child
            yield from ((f"{what}: {below.tag}", below) for below in child.all("inertia", "limit", "dynamics"))
