"""Models as TOML text that reads back equal."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import fields
from fractions import Fraction
from pathlib import Path
from typing import Any

from polhode.graph import Expr, Matrix, cross, free_symbols, identity, intermediates, tree_size, zeros
from polhode.model import (
    Body,
    Joint,
    Limits,
    Marker,
    MarkerWrench,
    Model,
    ModelError,
    Part,
    Potential,
    SpeedForce,
    SpringDamper,
)
from polhode.model.errors import fault
from polhode.spatial import Inertia, Pose

from .expression import is_plain, restored, write
from .toml import read_joint, read_toml

_LONGEST = 80  # operations in one text
_WIDTH = 100
_KINDS = {SpringDamper: "spring", MarkerWrench: "wrench", SpeedForce: "force", Potential: "potential"}


def save(model: Model, path: str | Path) -> None:
    """Write a model to a TOML file, for `load`."""
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise ValueError(f"{path}: save writes TOML, expected a name that ends in .toml.")
    path.write_text(write_toml(model), encoding="utf-8", newline="\n")


def write_toml(model: Model) -> str:
    """Write a model as TOML: read_toml(write_toml(model)) == model.

    What cannot be written so that it reads back equal is a ModelError.
    """
    text = _Writer(model).text()
    again = read_toml(text, f"{model.name} as written")
    if again != model:
        changed = ", ".join(f.name for f in fields(Model) if getattr(again, f.name) != getattr(model, f.name))
        raise fault(
            f"Model {model.name!r}: its {changed} do not read back as they were. Build the model with Builder or load."
        )
    return text


class _Writer:
    """Writes one model; large expressions are written in parts that have names."""

    def __init__(self, model: Model) -> None:
        self.model = model
        markers = [e for m in model.markers for e in (*m.pose.R.entries, *m.pose.p)]
        bodies = [e for body in model.bodies for e in (*body.quantities(), *_inertia_entries(body.welded))]
        couplings = [e for c in model.couplings for e in (c.ratio, c.offset)]
        fixed = [*bodies, *markers, *model.gravity]
        moving = [*(e for force in model.forces for e in force.expressions()), *couplings]
        self.symbols = sorted(
            {str(s.value) for s in free_symbols([*fixed, *moving])} - {*model.coordinates, *model.speeds, "t"}
        )
        self.prefix = "part"
        while any(name.startswith(self.prefix) for name in (*self.symbols, *model.coordinates, *model.speeds)):
            self.prefix += "_"
        self.reduced: dict[Expr, Expr] = {}
        self.meaning: dict[Expr, Expr] = {}  # of the names of parts
        self.constants = self._named(fixed, f"{self.prefix}_c")
        self.definitions = self._named(moving, f"{self.prefix}_d")

    def _named(self, exprs: list[Expr], prefix: str) -> list[tuple[Expr, Expr]]:
        """Give names to the parts of large expressions."""
        large = [e for e in dict.fromkeys(exprs) if tree_size(e) > _LONGEST and e not in self.reduced]
        if not large:
            return []
        definitions, found = intermediates(large, prefix, _LONGEST)
        self.reduced.update(zip(large, found, strict=True))
        for s, e in definitions:
            self.meaning[s] = restored(e, self.meaning)[e]
        return definitions

    def text(self) -> str:
        model = self.model
        blocks = [self._top()]
        if self.constants:
            blocks.append(self._definitions("constants", self.constants))
        blocks += [self._table("body", self._body(body)) for body in model.bodies]
        blocks += [self._table("marker", self._marker(marker)) for marker in model.markers]
        if self.definitions:
            blocks.append(self._definitions("definitions", self.definitions))
        blocks += [self._table(_KINDS[type(force)], _force(force)) for force in model.forces]
        for c in model.couplings:
            row = {"coordinate": c.coordinate, "of": c.of, "ratio": c.ratio, "offset": c.offset}
            blocks.append(self._table("coupling", row))
        return "\n\n".join(blocks) + "\n"

    def _top(self) -> str:
        model = self.model
        top: dict[str, Any] = {"name": model.name, "gravity": model.gravity}
        if self.symbols:
            top["symbols"] = self.symbols
        if model.literal:
            top["literal"] = True
        if model.notes:
            top["notes"] = list(model.notes)
        kinds = [list(_KINDS).index(type(force)) for force in model.forces]
        if kinds != sorted(kinds):
            top["force_order"] = [force.name for force in model.forces]
        return self._lines(top)

    def _definitions(self, key: str, definitions: list[tuple[Expr, Expr]]) -> str:
        return f"[{key}]\n" + self._lines({str(s.value): e for s, e in definitions})

    def _body(self, body: Body) -> dict[str, Any]:
        row: dict[str, Any] = {"name": body.name, "parent": body.parent, **_placed(body.pose)}
        row |= {"mass": body.mass}
        if any(e != 0 for e in body.com):
            row["com"] = body.com
        if any(e != 0 for e in body.inertia.entries):
            row["inertia"] = _moments(body.inertia)
        if body.welded != Inertia.zero():
            row["welded"] = {"mass": body.welded.m, "moment": body.welded.h, "inertia": _moments(body.welded.I)}
        row["joint"] = _joint(body.joint, body.name)
        return row

    def _marker(self, marker: Marker) -> dict[str, Any]:
        return {"name": marker.name, "body": marker.body, **_placed(marker.pose)}

    # text

    def _table(self, kind: str, row: dict[str, Any]) -> str:
        """Write one [[table]]; a joint that does not fit the line has a table of its own."""
        joint = row.get("joint")
        if joint is not None and len(self._value(joint)) > _WIDTH:
            rest = {key: value for key, value in row.items() if key != "joint"}
            return f"[[{kind}]]\n{self._lines(rest)}\n[{kind}.joint]\n{self._lines(joint)}"
        return f"[[{kind}]]\n{self._lines(row)}"

    def _lines(self, row: dict[str, Any]) -> str:
        return "\n".join(f"{_key(key)} = {self._long_value(value)}" for key, value in row.items())

    def _long_value(self, value: Any) -> str:
        """Write a value; a long list has a line for each entry."""
        line = self._value(value)
        if len(line) <= _WIDTH or not isinstance(value, (list, tuple, Matrix)):
            return line
        return "[\n" + "".join(f"    {self._value(e)},\n" for e in value) + "]"

    def _value(self, value: Any) -> str:
        match value:
            case bool():
                return "true" if value else "false"
            case str():
                return _quoted(value)
            case Expr():
                return self._expression(value)
            case int() | float():
                return _number(value)
            case dict():
                return "{ " + ", ".join(f"{_key(k)} = {self._value(v)}" for k, v in value.items()) + " }"
        return "[" + ", ".join(self._value(e) for e in value) + "]"

    def _expression(self, e: Expr) -> str:
        if e.op == "const" and not isinstance(e.value, Fraction) and abs(e.value) < 2**63:
            return _number(e.value)
        return _quoted(write(self.reduced.get(e, e), self._refer, self.meaning))

    def _refer(self, s: Expr) -> str:
        name = str(s.value)
        if is_plain(name):
            return name
        group = "q" if name in self.model.coordinates else "u" if name in self.model.speeds else "p"
        return f"{group}[{name!r}]"


def _inertia_entries(inertia: Inertia) -> list[Expr]:
    return [inertia.m, *inertia.h, *inertia.I.entries]


def _number(value: float) -> str:
    return repr(value).replace("Infinity", "inf")


def _quoted(text: str) -> str:
    """A TOML string."""
    escapes = {"\\": "\\\\", '"': '\\"', "\n": "\\n", "\t": "\\t", "\r": "\\r"}
    found = "".join(escapes.get(c) or (c if c.isprintable() else f"\\U{ord(c):08X}") for c in text)
    return f'"{found}"'


def _key(name: str) -> str:
    return name if name.isascii() and name.replace("-", "_").isidentifier() else _quoted(name)


def _placed(pose: Pose) -> dict[str, Any]:
    row: dict[str, Any] = {}
    if pose.p != zeros(3):
        row["at"] = pose.p
    if identity(3) != pose.R:
        row["rotation"] = pose.R.rows()
    return row


def _moments(m: Matrix) -> Any:
    """An inertia as three or six entries, or as its rows where it is not symmetric to the last digit."""
    off = [m[0, 1], m[0, 2], m[1, 2]]
    if off != [m[1, 0], m[2, 0], m[2, 1]]:
        return m.rows()
    diagonal = [m[0, 0], m[1, 1], m[2, 2]]
    return diagonal if all(e == 0 for e in off) else diagonal + off


def _force(force: Any) -> dict[str, Any]:
    match force:
        case SpringDamper():
            row = {"name": force.name, "between": list(force.ends), "stiffness": force.stiffness}
            return row | {"length": force.length, "damping": force.damping}
        case MarkerWrench():
            row = {"name": force.name, "marker": force.marker, "axes": force.axes}
            return row | {"force": force.force, "torque": force.torque}
        case SpeedForce():
            return {"name": force.name, "speed": force.speed, "value": force.value}
    return {"name": force.name, "energy": force.energy}


# joints


def _joint(joint: Joint, name: str) -> dict[str, Any]:
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
            yield {"type": "prismatic", "axis": _axis(second)}
        case "screw":
            pitch = next((b / a for a, b in zip(first, second, strict=True) if a != 0), 0)
            yield {"type": "screw", "axis": _axis(first), "pitch": pitch}
        case "cylindrical" | "planar":
            yield {"type": joint.kind, "axis": _axis(first)}
        case "universal":
            yield {"type": "universal", "axes": [_axis(list(part.H[:3, 0])) for part in joint.parts]}
        case "spherical" | "free":
            yield {"type": joint.kind, **quaternion}


def _revolute(part: Part) -> dict[str, Any]:
    a, v = part.H[:3, 0], part.H[3:, 0]
    row = {"type": "revolute", "axis": _axis(list(a))}
    if any(e != 0 for e in v):
        row["at"] = list(cross(a, v))
    return row


def _part(part: Part) -> dict[str, Any]:
    """A part of a compound joint: to turn or slide if it does no more, else its joint map."""
    if part.nu == 1:
        plain = [_revolute(part), {"type": "prismatic", "axis": _axis(list(part.H[3:, 0]))}]
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


def _axis(entries: list[Expr]) -> Any:
    """An axis by its letter, if it has one."""
    for k, letter in enumerate("xyz"):
        for sign, prefix in ((1, ""), (-1, "-")):
            if all(e == (sign if i == k else 0) for i, e in enumerate(entries)):
                return prefix + letter
    return entries


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
