"""SDFormat joints: what each means in the frame of a body, also where the tree goes against parent and child."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

from polhode.graph import Matrix, cross, matrix
from polhode.model import Builder, Faults, Joint, Limits, compound, joint, planar, spherical, values, weld
from polhode.spatial import Pose

from .sdf_frames import Frames, Key, shown
from .sdf_text import read_bound, read_number, read_numbers, read_switch, text_of
from .urdf_joints import note_rings
from .xml import Element, Number, number

SINGLE = ("revolute", "continuous", "prismatic", "screw")
DOUBLE = ("universal", "revolute2")
TYPES = (*SINGLE, *DOUBLE, "ball", "fixed")
PLANAR = "planar"  # Drake's
LOOPS = {"fixed": "weld", "ball": "point", "revolute": "hinge", "continuous": "hinge", "prismatic": "slider"}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReadJoint:
    """A joint as the file has it; its ends are links, or the world."""

    name: str
    key: Key
    kind: str
    parent: Key
    child: Key
    element: Element

    @property
    def what(self) -> str:
        return f"Joint {self.name!r}"


def read_joint(element: Element, key: Key, frames: Frames, faults: Faults) -> ReadJoint | None:
    """Read the type and the ends of a joint; faults where they are none."""
    name, drakes = shown(key), element.tag == "drake:joint"
    kind = element.get("type") or ""
    known = (PLANAR,) if drakes else TYPES
    if kind not in known:
        remedy = " Say how its axes follow each other by <mimic>." if kind == "gearbox" else ""
        faults.add(f"Joint {name!r}: type is {kind!r:.60}, expected {' or '.join(known)}.{remedy}")
        return None
    ends = []
    for end in ("parent", "child"):
        tag = f"drake:{end}" if drakes else end
        if not (given := text_of(element, tag)):
            faults.add(f"Joint {name!r} has no {end}, expected <{tag}>the name of a link</{tag}>.")
            return None
        found = frames.find(key[0], given, f"Joint {name!r}: {end}")
        ends.append(None if found is None else frames.host(found))
    if ends[0] is None or ends[1] is None:
        return None
    if ends[0] == ends[1]:
        faults.add(f"Joint {name!r}: its parent and its child are one link, {shown(ends[0])!r}. Expected two.")
        return None
    return ReadJoint(name=name, key=key, kind=kind, parent=ends[0], child=ends[1], element=element)


def axes_of(read: ReadJoint, frames: Frames, old: bool, faults: Faults) -> list[Matrix]:
    """The axes of a joint in the world, as the file has them; `old` is SDFormat 1.4, which has them in the model."""
    tags = ("axis", "axis2") if read.kind in DOUBLE else ("axis",) if read.kind in (*SINGLE, PLANAR) else ()
    found = []
    for tag in tags:
        element, what = read.element.first(tag), f"{read.what}: {tag}"
        if element is None and read.kind in DOUBLE:
            faults.add(f"{read.what} is {read.kind} and has no <{tag}>, expected two axes.")
        direction = [0, 0, 1] if element is None else read_numbers(element, "xyz", 3, what, faults, (0, 0, 1))
        if max(map(abs, direction)) < 1e-9:
            faults.add(f"{what} has length 0, expected a direction such as <xyz>0 0 1</xyz>.")
            direction = [0, 0, 1]
        at: Key | None = read.key
        xyz = None if element is None else element.first("xyz")
        if xyz is not None and xyz.get("expressed_in"):
            at = frames.find(read.key[0], xyz.get("expressed_in") or "", f"{what}: expressed_in")
        elif element is not None and (
            read_switch(element, "use_parent_model_frame", what, faults)
            or (old and element.first("use_parent_model_frame") is None)
        ):
            at = read.key[0], "__model__"
        R = frames.place(read.key if at is None else at).R
        found.append(values.settled(R @ values.axis(direction, what)))
    return found


def make_joint(
    read: ReadJoint, X_WB: Pose, X_WJ: Pose, axes: list[Matrix], against: bool, passive: bool, builder: Builder,
    faults: Faults,
) -> Joint:  # fmt: skip
    """The joint of the body at X_WB; `against` where that is the parent in the file. Balls and planes sit at X_WJ."""
    options: dict[str, Any] = {"name": read.name, "passive": passive}
    if read.kind == "fixed":
        return weld(name=read.name)
    if read.kind == "ball":
        turning = _laws(read, "axis", builder, faults)
        return spherical(quaternion=True, damping=turning.get("damping", 0), **options)
    if read.kind == PLANAR:
        damping = read_numbers(read.element, "drake:damping", 3, read.what, faults, (0, 0, 0))
        a = values.settled(X_WJ.R.T @ axes[0])
        x, y, turn = damping
        return planar(a, damping=[turn, x, y], **options)
    p = values.settled(X_WB.inverse() @ X_WJ.p)
    sign = -1 if against else 1
    own = [values.settled(X_WB.R.T @ axis) * sign for axis in axes]
    laws = [_laws(read, tag, builder, faults) for tag in ("axis", "axis2")[: len(own)]]
    if read.kind in SINGLE:
        return joint(_map(read, own[0], p, faults), kind=_called(read.kind), **options, **laws[0])
    made = [joint(_turn(a, p), kind="revolute", passive=passive, **law) for a, law in zip(own, laws, strict=True)]
    first_inside = made if against else made[::-1]  # a compound joint is listed from its body inward
    names = [f"{read.name}_{k}" for k in (("1", "2") if against else ("2", "1"))]
    return compound(first_inside, kind="universal", q=names, **options)


def _called(kind: str) -> str:
    return "revolute" if kind == "continuous" else kind


def _turn(a: Matrix, p: Matrix) -> Matrix:
    return matrix([[e] for e in (*a, *cross(p, a))])


def _map(read: ReadJoint, a: Matrix, p: Matrix, faults: Faults) -> Matrix:
    """The joint map of a single axis; a screw goes forward with its turn."""
    if read.kind == "prismatic":
        return matrix([[e] for e in (0, 0, 0, *a)])
    if read.kind != "screw":
        return _turn(a, p)
    what = read.what
    if read.element.first("screw_thread_pitch") is not None or read.element.first("thread_pitch") is None:
        forward = read_number(read.element, "screw_thread_pitch", what, faults, 1) / (2 * math.pi)
    else:  # radians a metre, of a left-handed thread
        per_metre = read_number(read.element, "thread_pitch", what, faults, 1)
        if per_metre == 0:
            faults.add(f"{what}: thread_pitch is 0, expected radians a metre. Or give screw_thread_pitch in metres.")
        forward = -1 / per_metre if per_metre else 0
    return matrix([[e] for e in (*a, *(cross(p, a) + a * forward))])


def _laws(read: ReadJoint, tag: str, builder: Builder, faults: Faults) -> dict[str, Any]:
    """Damping, dry friction, spring and limits of an axis."""
    axis = read.element.first(tag)
    if axis is None:
        return {}
    what, found = f"{read.what}: {tag}", dict[str, Any]()
    if (inside := axis.first("dynamics")) is not None:
        for name, key in (("damping", "damping"), ("friction", "friction"), ("spring_stiffness", "stiffness")):
            found[key] = read_number(inside, name, what, faults, 0)
            if found[key] < 0:
                faults.add(f"{what}: {name} is {found[key]:g}, expected 0 or more.")
                found[key] = 0
        found["rest"] = read_number(inside, "spring_reference", what, faults, 0)
    if (inside := axis.first("limit")) is None:
        return found
    lower, upper, speed, effort = (
        read_bound(inside, key, what, faults) for key in ("lower", "upper", "velocity", "effort")
    )
    if read.kind == "continuous" or (lower is not None and upper is not None and lower > upper):
        if read.kind != "continuous":
            builder.note(f"{what}: its lower limit is above its upper one, so neither is read.")
        lower = upper = None
    speed, effort = (None if x is None or x < 0 else x for x in (speed, effort))  # -1 is none
    found["limits"] = [Limits(lower=lower, upper=upper, speed=speed, effort=effort)]
    return found


def couple(joints: list[ReadJoint], names: dict[Key, str], frames: Frames, builder: Builder, faults: Faults) -> None:
    """Read <mimic>, and Drake's: a coordinate that follows another one. `names` has joints of one axis in the tree."""
    follows: dict[str, str] = {}
    found: dict[str, tuple[Number, Number]] = {}
    for read in joints:
        for axis in read.element.all("axis", "axis2"):
            for mimic in axis.all("mimic", "drake:mimic"):
                of = frames.find(read.key[0], mimic.get("joint") or "", f"{read.what}: mimic joint")
                if of is None:
                    continue
                if read.key not in names or of not in names:
                    builder.note(f"{read.what}: mimic is not read: both joints must have one axis and close no loop.")
                    continue
                follows[read.name] = names[of]
                found[read.name] = _ratio(mimic, f"{read.what}: mimic", faults)
    ringed = note_rings(follows, builder)
    for name, (ratio, offset) in found.items():
        if name not in ringed:
            builder.coupling(name, follows[name], ratio, offset)


def _ratio(mimic: Element, what: str, faults: Faults) -> tuple[Number, Number]:
    """The ratio and offset: q = multiplier * (q_of - reference) + offset."""
    if mimic.tag == "drake:mimic":
        return number(mimic, "multiplier", f"{what} multiplier", faults, 1), number(
            mimic, "offset", f"{what} offset", faults, 0
        )
    ratio, offset, reference = (
        read_number(mimic, key, what, faults, usual)
        for key, usual in (("multiplier", 1), ("offset", 0), ("reference", 0))
    )
    return ratio, offset - ratio * reference
