"""Joints as TOML tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from typing import Any

from polhode.graph import cross
from polhode.model import Joint, Limits, ModelError, Part
from polhode.model.errors import fault

from .toml_joints import read_joint
from .toml_values import axis_text


def joint_table(joint: Joint, name: str) -> dict[str, Any]:
    """The first table that reads back as the joint: of its own type, else of joint maps."""
    options = _options(joint, name)
    for row in _tables(joint):
        try:
            # before its table is text, a joint is read from expressions
            if read_joint(row | options, None, name) == joint:
                return row | options
        except ModelError:
            continue
    raise fault(f"Joint {joint.name!r} ({joint.kind}) cannot be written: no table makes it. Build it with joint().")


def _tables(joint: Joint) -> Iterator[dict[str, Any]]:
    """Tables that may describe the joint, the plainest first."""
    yield from _named_tables(joint)
    yield from ({**row, "kind": joint.kind} for row in _named_tables(joint))
    endings = {k: list(v) for k in ("q_endings", "u_endings") if (v := getattr(joint, k))}
    last = {"kind": joint.kind, **endings}
    if len(joint.parts) == 1:
        yield {"type": "map", **_map(joint.parts[0])}
        yield {"type": "map", **_map(joint.parts[0]), **last}
    if joint.parts:
        rows = [_part(part) for part in joint.parts]
        yield {"type": "compound", "joints": rows}
        yield {"type": "compound", "joints": rows, **last}
        yield {"type": "compound", "joints": [{"type": "map", **_map(part)} for part in joint.parts], **last}


def _named_tables(joint: Joint) -> Iterator[dict[str, Any]]:
    if not joint.parts:
        yield {"type": "weld"}
        return
    H = joint.parts[0].H
    first, second = list(H[:3, 0]), list(H[3:, 0])
    quaternion = {"quaternion": True} if joint.parts[0].quaternion else {}
    match joint.kind:
        case "revolute":
            yield _revolute(joint.parts[0])
        case "prismatic":
            yield {"type": "prismatic", "axis": axis_text(second)}
        case "screw":
            pitch = next((b / a for a, b in zip(first, second, strict=True) if a != 0), 0)
            yield {"type": "screw", "axis": axis_text(first), "pitch": pitch}
        case "cylindrical" | "planar":
            yield {"type": joint.kind, "axis": axis_text(first)}
        case "universal":
            yield {"type": "universal", "axes": [axis_text(list(part.H[:3, 0])) for part in joint.parts]}
        case "spherical" | "free":
            yield {"type": joint.kind, **quaternion}


def _revolute(part: Part) -> dict[str, Any]:
    a, v = part.H[:3, 0], part.H[3:, 0]
    row = {"type": "revolute", "axis": axis_text(list(a))}
    if any(e != 0 for e in v):
        row["at"] = list(cross(a, v))
    return row


def _part(part: Part) -> dict[str, Any]:
    """A part of a compound joint: to turn or slide if it does no more, else its joint map."""
    if part.nu == 1:
        plain = [_revolute(part), {"type": "prismatic", "axis": axis_text(list(part.H[3:, 0]))}]
        for row in plain:
            try:
                if read_joint(row, None, "part", inside=True).parts == (part,):
                    return row
            except ModelError:
                continue
    return {"type": "map", **_map(part)}


def _map(part: Part) -> dict[str, Any]:
    row: dict[str, Any] = {"map": [list(r) for r in part.H.rows()]}
    if part.quaternion:
        row["quaternion"] = True
    if part.basis.shape != part.H.shape:
        row["nonholonomic"] = True
    return row


def _options(joint: Joint, name: str) -> dict[str, Any]:
    """What is not as it would be by itself."""
    found: dict[str, Any] = {} if joint.name == name else {"name": joint.name}
    for key in ("q", "u"):
        if (names := getattr(joint, key)) is not None:
            found[key] = list(names)
    for key in ("damping", "friction", "armature", "stiffness", "rest"):
        row = getattr(joint, key)
        if any(e != 0 for e in row):
            found[key] = row[0] if len(set(row)) == 1 else list(row)
    if joint.friction_speed != 0:
        found["friction_speed"] = joint.friction_speed
    if joint.limits:
        found["limits"] = _limits(joint.limits)
    if not joint.passive:
        found["passive"] = False
    return found


def _limits(limits: tuple[Limits, ...]) -> Any:
    rows = [{f.name: x for f in fields(Limits) if (x := getattr(row, f.name)) is not None} for row in limits]
    found: list[Any] = [list(row.values()) if set(row) == {"lower", "upper"} else row for row in rows]
    return found[0] if len(found) == 1 else found
