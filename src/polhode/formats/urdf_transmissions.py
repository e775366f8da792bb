"""URDF transmissions: actuators and what they drive, as ros_control has them.

    simple            x_a = n_a n_j x_j
    differential      x_a1 = n_a1 (n_j1 x_j1 + n_j2 x_j2),   x_a2 = n_a2 (n_j1 x_j1 - n_j2 x_j2)
    four-bar linkage  x_a1 = n_a1 n_j1 x_j1,                 x_a2 = n_a2 (x_j1 + n_j2 x_j2)

with the velocities x of actuators and joints and their reductions n. The forces on joints have the power of the
actuators. Reference: ros_control, package transmission_interface.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

from polhode.model import Builder
from polhode.model.drives import CONTROL

from .xml import Element, Number, to_number

_KNOWN = ("type", "joint", "actuator", "hardwareInterface", "mechanicalReduction", "role", "offset")
KINDS = {"SimpleTransmission": 1, "DifferentialTransmission": 2, "FourBarLinkageTransmission": 2}  # joints


class _NotReadError(Exception):
    """Why a transmission is left out."""


@dataclass(frozen=True, slots=True)
class _End:
    """An actuator or a joint of a transmission."""

    name: str
    reduction: Number


def read_transmissions(root: Element, builder: Builder) -> None:
    """Add the actuators of every <transmission>; what is not read is noted."""
    names = {e.get("name") for transmission in root.all("transmission") for e in transmission.all("actuator")}
    joints = {name for joint in root.all("joint") if (name := joint.get("name"))}
    reader = _Reader(builder, {name for name in names if name}, joints)
    others: Counter[str] = Counter()
    unread: Counter[str] = Counter()
    interfaces = 0
    for element in root.all("transmission"):
        kind = _kind(element)
        if kind not in KINDS:
            others[kind] += 1
            continue
        unread.update(inner.tag for inner in element.walk() if inner.tag not in ("transmission", *_KNOWN))
        interfaces += any(inner.tag == "hardwareInterface" for inner in element.walk())
        try:
            reader.add(element, kind)
        except _NotReadError as reason:
            builder.note(f"Transmission {element.get('name') or ''!r} is not read: {reason}.")
    if reader.still:
        shown = ", ".join([*map(repr, reader.still[:8])] + ["..."] * (len(reader.still) > 8))
        builder.note(f"Transmissions of {shown} are not read: these joints do not turn about or slide along an axis.")
    for tag, n in unread.items():
        builder.note(f"<{tag:.40}> in <transmission> is not read{f' ({n} of them)' if n > 1 else ''}.")
    for kind, n in others.items():
        builder.note(f"<transmission> of type {kind!r:.60} is not read{f' ({n} of them)' if n > 1 else ''}.")
    if interfaces:
        have = "have" if interfaces > 1 else "has"
        builder.note(f"hardwareInterface of transmissions is not read ({interfaces} {have} one): controls are forces.")


def _kind(element: Element) -> str:
    """The type, with what comes before the last "/" left out."""
    inside = element.first("type")
    said = element.get("type") if inside is None else inside.text.strip()
    return (said or "").rpartition("/")[2]


class _Reader:
    """Adds actuators to a builder."""

    def __init__(self, builder: Builder, wanted: set[str], known: set[str]) -> None:
        self.builder, self.wanted, self.known, self.taken = builder, wanted, known, set[str]()
        joints = [body.joint for body in builder.bodies]
        self.variables = {"t", *(name for joint in joints for name in (*joint.coordinates(), *joint.speeds()))}
        self.still: list[str] = []
        self.names = {name for joint in joints for name in joint.speeds()}
        self.speeds = {joint.name: joint.speeds() for joint in joints if joint.nu}

    def add(self, element: Element, kind: str) -> None:
        """Add the actuators of a transmission."""
        joints = [self.end(e, element) for e in _in_roles(element.all("joint"))]
        drives = [self.end(e, element) for e in _in_roles(element.all("actuator"))]
        if len(joints) != KINDS[kind] or len(drives) != KINDS[kind]:
            raise _NotReadError(
                f"it has {len(joints)} joints and {len(drives)} actuators, expected {KINDS[kind]} of each"
            )
        for joint in joints:
            if joint.name not in self.known:
                raise _NotReadError(f"there is no joint {joint.name!r}")
        if len({joint.name for joint in joints}) < len(joints):
            raise _NotReadError(f"it has the joint {joints[0].name!r} twice, expected two joints")
        for joint in joints:
            if len(self.speeds.get(joint.name, ())) != 1:
                self.still.append(joint.name)
                return
        if kind == "FourBarLinkageTransmission":
            self.builder.note(
                f"Transmission {element.get('name') or ''!r}: its forces have the power of its velocities, "
                "which those of ros_control have not."
            )
        for drive, rates in zip(drives, _rates(kind, joints), strict=True):
            along = {self.speeds[name][0]: drive.reduction * n for name, n in rates.items()}
            self.builder.actuator(self.unique(drive.name), along=along)

    def end(self, element: Element, transmission: Element) -> _End:
        """An actuator or joint with its reduction; that of a simple transmission may stand outside of its actuator."""
        inside = element.first("mechanicalReduction")
        if inside is None and element.tag == "actuator":
            inside = transmission.first("mechanicalReduction")
        reduction = 1 if inside is None else to_number(inside.text.strip())
        if not reduction:
            said = "" if inside is None else inside.text.strip()
            raise _NotReadError(f"mechanicalReduction is {said!r:.60}, expected a number other than 0")
        name = element.get("name")
        if not name:
            raise _NotReadError(f"its {element.tag} on line {element.line} has no name")
        return _End(name, reduction)

    def unique(self, wanted: str) -> str:
        """A name that is no other actuator's and no speed's, and whose control is no variable of a joint."""
        name, k = wanted, 1
        while (
            name in self.taken | self.names or (name in self.wanted and k > 1) or CONTROL.format(name) in self.variables
        ):
            k += 1
            name = f"{wanted}{k}"
        if name != wanted:
            self.builder.note(f"Actuator {wanted!r} is called {name!r} here: that name is another's.")
        self.taken.add(name)
        return name


def _in_roles(ends: list[Element]) -> list[Element]:
    """Actuators or joints in the order of their roles, "joint1" before "joint2"; as they stand where they have none."""
    roles = [inside.text.strip() if (inside := e.first("role")) is not None else "" for e in ends]
    for role, times in Counter(filter(None, roles)).items():
        if times > 1:
            raise _NotReadError(f"{times} of its {ends[0].tag}s have the role {role!r:.60}, expected one of them")
    return [ends[k] for k in sorted(range(len(ends)), key=roles.__getitem__)]


def _rates(kind: str, joints: list[_End]) -> list[dict[str, Number]]:
    """By actuator: what it turns for a speed of 1 of each joint, before its own reduction."""
    if kind == "SimpleTransmission":
        return [{joints[0].name: joints[0].reduction}]
    (a, m), (b, n) = ((joint.name, joint.reduction) for joint in joints)
    if kind == "DifferentialTransmission":
        return [{a: m, b: n}, {a: m, b: -n}]
    return [{a: m}, {a: 1, b: n}]
