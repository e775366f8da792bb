"""MJCF keyframes: qpos, qvel, act and ctrl, in the order of the file, as values by name; and the pose of the file."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass, field
from itertools import count

from polhode.graph import vector
from polhode.model import Builder, Faults, Joint
from polhode.model.errors import fault
from polhode.spatial import quaternion_rotation

from .mjcf_targets import Targets
from .xml import Element, number, numbers

FILE = "file"  # the keyframe of the pose in which a file has its bodies
_MOCAP = ("mpos", "mquat")


@dataclass(frozen=True, slots=True, kw_only=True)
class Driven:
    """The actuators of a file, in its order: their names, None for one that is not read; and their activations."""

    actuators: tuple[str | None, ...] = ()
    elements: tuple[Element, ...] = ()
    activations: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """What the rows of an attached keyframe are about: joints, and actuators; whether all activations are known."""

    joints: tuple[Element, ...]
    actuators: tuple[Element, ...]
    known: bool


def read_keyframes(root: Element, targets: Targets, driven: Driven | None, builder: Builder, faults: Faults) -> None:
    """Hand every keyframe to the builder; without actuators (None), what it says of them is left out."""
    found = [key for section in root.all("keyframe") for key in section.all("key")]
    names = {key.get("name") for key in found}
    for i, key in enumerate(found, 1):
        name, k = key.get("name") or f"key {i}", 1
        while key.get("name") is None and name in names:
            name, k = f"key {i}.{k}", k + 1
        with faults.caught():
            _read(key, name, targets, driven, builder, faults)
    _add_pose(targets, names, builder)


def _add_pose(targets: Targets, names: Set[str | None], builder: Builder) -> None:
    """Add a keyframe for the pose of the file, MuJoCo's qpos0, and note where that is not the one a run begins in."""
    name = FILE if FILE not in names else next(n for k in count(2) if (n := f"{FILE} {k}") not in names)
    builder.keyframe(name, q=targets.start)
    rest = {
        c: x for joint in targets.joints.values() for c, x in zip(joint.coordinates(), joint.neutral(), strict=True)
    }
    away = [f"{c} = {x:.6g}" for c, x in targets.start.items() if x != rest[c]]
    if away:
        shown = ", ".join(away[:8]) + ", ..." * (len(away) > 8)
        builder.note(
            f"Simulations begin at q = 0, and not in the pose of the file, where {shown}. "
            f'Begin there with simulate(..., **model.keyframe("{name}").start()).'
        )


def _read(
    key: Element, name: str, targets: Targets, driven: Driven | None, builder: Builder, faults: Faults
) -> None:  # fmt: skip
    what, joints = f"Keyframe {name!r}", list(targets.joints.values())
    if isinstance(key.scope, Layout):
        names = [e.get("name") or "" for e in key.scope.joints]
        joints = [targets.joints[name] for name in names if name in targets.joints]  # others are faults already
    given: dict[str, dict[str, float]] = {"q": dict(targets.start)}
    turns: dict[str, list[float]] = {}
    if row := _row(key, "qpos", sum(joint.nq for joint in joints), what, faults):
        for joint in joints:
            own, row = row[: joint.nq], row[joint.nq :]
            turns[joint.name] = q = _coordinates(joint, own, what, builder)
            given["q"] |= dict(zip(joint.coordinates(), q, strict=True))
    if row := _row(key, "qvel", sum(joint.nu for joint in joints), what, faults):
        given["u"] = {}
        for joint in joints:
            own, row = row[: joint.nu], row[joint.nu :]
            q = [given["q"][c] for c in joint.coordinates()]
            given["u"] |= dict(zip(joint.speeds(), _speeds(joint, q, own), strict=True))
    if driven is not None:
        given |= _driven(key, driven, what, builder, faults)
    if any(key.get(k) for k in _MOCAP):
        builder.note(f"{what}: its {' and '.join(k for k in _MOCAP if key.get(k))} are not read.")
    builder.keyframe(name, **given, time=number(key, "time", f"{what}: time", faults, 0))


def _row(key: Element, field: str, many: int, what: str, faults: Faults) -> list[float]:
    """The numbers of a field, none where there is no such field."""
    if not (key.get(field) or "").strip():
        return []
    if (found := len((key.get(field) or "").split())) != many:
        raise fault(f"{what}: {field} has {found} numbers, expected {many} as the model has them.")
    return [float(x) for x in numbers(key, field, many, f"{what}: {field}", faults)]


def _coordinates(joint: Joint, own: Sequence[float], what: str, builder: Builder) -> list[float]:
    """MuJoCo's values of a joint in our order, quaternions of length 1."""
    if joint.nq == 1:
        return [*own]
    turn = own[3:] if joint.kind == "free" else own
    size = math.hypot(*turn)
    if size < 1e-15:
        builder.note(
            f"{what}: the quaternion of joint {joint.name!r} is 0, which counts as (1, 0, 0, 0), as in MuJoCo."
        )
    unit = [x / size for x in turn] if size >= 1e-15 else [1.0, 0.0, 0.0, 0.0]
    return [*unit, *own[:3]] if joint.kind == "free" else unit


def _speeds(joint: Joint, q: Sequence[float], own: Sequence[float]) -> list[float]:
    """MuJoCo's speeds of a joint as ours: of a free one the velocity is in the axes of the body, after the turning."""
    if joint.kind != "free":
        return [*own]
    return [*own[3:], *(float(e) for e in quaternion_rotation(*q[:4]).T @ vector(own[:3]))]


def _driven(
    key: Element, driven: Driven, what: str, builder: Builder, faults: Faults
) -> dict[str, dict[str, float]]:  # fmt: skip
    """Controls and activations by name."""
    found: dict[str, dict[str, float]] = {}
    actuators, known = driven.actuators, True
    if isinstance(key.scope, Layout):
        mine = {id(e) for e in key.scope.actuators}
        actuators = tuple(n for n, e in zip(actuators, driven.elements, strict=True) if id(e) in mine)
        known = key.scope.known
    activations = [driven.activations[name] for name in actuators if name is not None and name in driven.activations]
    if row := _row(key, "ctrl", len(actuators), what, faults):
        found["controls"] = {name: x for name, x in zip(actuators, row, strict=True) if name is not None}
    if (None in actuators or not known) and key.get("act"):
        builder.note(f"{what}: its act is not read: not all actuators are.")
    elif row := _row(key, "act", len(activations), what, faults):
        found["z"] = dict(zip(activations, row, strict=True))
    return found
