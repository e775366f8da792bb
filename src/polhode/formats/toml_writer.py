"""Models as TOML text that reads back equal."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields, replace
from fractions import Fraction
from functools import cached_property
from pathlib import Path
from typing import Any

from polhode.graph import Expr, Matrix, free_symbols, identity, intermediates, zeros
from polhode.graph.printing import tree_sizes
from polhode.model import Body, Look, Marker, Model, Nodal
from polhode.model.elements import ELEMENTS
from polhode.model.errors import fault
from polhode.model.fields import KNOWN_MESHES
from polhode.model.motors import expanded
from polhode.model.switches import is_condition
from polhode.spatial import Inertia, Mesh, Pose

from .expression_text import INFIX, is_plain, restored, write
from .meshes import save_mesh
from .npz import save_flexible
from .toml import read_toml
from .toml_elements import element_table
from .toml_flexible import KINDS as FLEXIBLE
from .toml_flexible import flexible_table
from .toml_joint_writer import joint_table
from .toml_switches import Condition, switch_table

_LONGEST = 80  # operations in one text
_WIDTH = 100


def save(model: Model, path: str | Path) -> None:
    """Write a model to a TOML file, for `load`; flexible bodies and meshes of arrays to files .npz beside it.

    Meshes that came from files stay there: the text says where, from its folder where they are in it.
    """
    path = Path(path)
    if path.suffix.lower() != ".toml":
        raise ValueError(f"{path}: save writes TOML, expected a name that ends in .toml.")
    files = _files(model, path.stem)
    meshes = _mesh_files(model, path.stem)
    text = write_toml(model, files, meshes, path.parent.absolute())
    for mesh, name in meshes.items():
        save_mesh(mesh, path.parent / name)
    for name, made in files.values():
        save_flexible(made, path.parent / name)
    path.write_text(text, encoding="utf-8", newline="\n")


def write_toml(
    model: Model, files: Mapping[str, tuple[str, Nodal]] | None = None, meshes: Mapping[Mesh, str] | None = None,
    folder: Path | None = None,
) -> str:  # fmt: skip
    """Write a model as TOML: read_toml(write_toml(model)) == model.

    files : by body, the name of the file that will hold its arrays, and what that will be
    meshes : the names of the files that will hold meshes of arrays; folder : where the text will be

    What cannot be written so that it reads back equal is a ModelError.
    """
    files = files or {}
    text = _Writer(model, {body: name for body, (name, _) in files.items()}, meshes or {}, folder).text()
    written, drawn = dict(files.values()), {name: mesh for mesh, name in (meshes or {}).items()}

    def surface(name: str, _: str) -> Mesh | str:
        return drawn[name] if name in drawn else name if folder is None or name in KNOWN_MESHES else str(folder / name)

    again = read_toml(text, f"{model.name} as written", arrays=lambda name, _: written[name], surface=surface)
    if again != model:
        changed = ", ".join(f.name for f in fields(Model) if getattr(again, f.name) != getattr(model, f.name))
        raise fault(
            f"Model {model.name!r}: its {changed} do not read back as they were. Build the model with Builder or load."
        )
    return text


def _files(model: Model, stem: str) -> dict[str, tuple[str, Nodal]]:
    """A file for each body of arrays: the name of the model's own and the body's, in plain letters."""
    found: dict[str, tuple[str, Nodal]] = {}
    for body in model.bodies:
        if isinstance(body.flexible, Nodal):
            plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in f"{stem}_{body.name}")
            taken = {name for name, _ in found.values()}
            several = [f"{plain}{i or ''}.npz" for i in range(len(taken) + 1)]
            found[body.name] = next(name for name in several if name not in taken), body.flexible
    return found


def _mesh_files(model: Model, stem: str) -> dict[Mesh, str]:
    """A file for each mesh of arrays."""
    plain = "".join(c if c.isalnum() or c in "-_" else "_" for c in stem)
    found = dict.fromkeys(shape.mesh for shape in model.shapes if isinstance(shape.mesh, Mesh))
    return {mesh: f"{plain}_mesh{k}.npz" for k, mesh in enumerate(found, 1)}


class _Writer:
    """Writes one model; large expressions are written in parts that have names."""

    def __init__(self, model: Model, files: Mapping[str, str], meshes: Mapping[Mesh, str], folder: Path | None) -> None:
        self.model, self.meshes, self.folder = model, meshes, folder
        self.files = files
        markers = [e for m in model.markers for e in (*m.pose.R.entries, *m.pose.p)]
        bodies = [e for body in model.bodies for e in (*_said(body), *_inertia_entries(body.welded))]
        looks = [e for shape in model.shapes for e in shape.expressions()]
        fixed = [*bodies, *markers, *model.gravity, *looks]
        moving = model.laws()
        states = [state.name for state in model.states]
        self.groups = {"q": {*model.coordinates}, "u": {*model.speeds}, "z": {*states}}
        variables = set().union(*self.groups.values(), {str(s.value) for s in model.controls})
        self.symbols = sorted({str(s.value) for s in free_symbols([*fixed, *moving])} - variables - {"t"})
        self.prefix = "part"
        while any(name.startswith(self.prefix) for name in (*self.symbols, *variables)):
            self.prefix += "_"
        self.reduced: dict[Expr, Expr] = {}
        self.meaning: dict[Expr, Expr] = {}  # of the names of parts
        self.constants = self._named(fixed, f"{self.prefix}_c")
        self.definitions = self._named(moving, f"{self.prefix}_d")
        own = [e for part in model.forces for name, spec in part.specs.items() if spec.own for e in [part.held()[name]]]
        self.reliefs = self._named([e for e in own if e is not None], f"{self.prefix}_r")

    def _named(self, exprs: list[Expr], prefix: str) -> list[tuple[Expr, Expr]]:
        """Give names to the parts of large expressions."""
        new = [e for e in dict.fromkeys(exprs) if e not in self.reduced]
        large = [e for e, size in zip(new, tree_sizes(new), strict=True) if size > _LONGEST]
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
        rotors, owned = {name for motor in model.motors for name, _ in motor.shafts()}, self.owned
        blocks += [self._table("body", self._body(body)) for body in model.bodies if body.name not in rotors]
        blocks += [self._table("marker", self._marker(marker)) for marker in model.markers]
        if self.definitions:
            blocks.append(self._definitions("definitions", self.definitions))
        if self.reliefs:
            blocks.append(self._definitions("reliefs", self.reliefs))
        elements = (*model.states, *model.forces, *model.constraints)
        blocks += [
            self._table(part.table, element_table(part)) for part in elements if (part.table, part.name) not in owned
        ]
        blocks += [self._table(motor.table, element_table(motor)) for motor in model.motors]
        blocks += [self._table(key.table, element_table(key)) for key in model.keyframes]
        blocks += [self._table(sensor.table, element_table(sensor)) for sensor in model.sensors]
        blocks += [self._table(shape.table, self._shape(shape)) for shape in model.shapes]
        blocks += [self._table("switch", switch_table(switch)) for switch in model.switches]
        return "\n\n".join(blocks) + "\n"

    @cached_property
    def owned(self) -> set[tuple[str, str]]:
        """The tables and names of forces, constraints and states that motors are short for."""
        model = self.model
        markers = {m.name: m for m in model.markers}
        return {key for motor in model.motors for key in expanded(motor, model.bodies, markers).names}

    def _top(self) -> str:
        model = self.model
        top: dict[str, Any] = {"name": model.name, "gravity": model.gravity}
        if self.symbols:
            top["symbols"] = self.symbols
        if model.literal:
            top["literal"] = True
        if model.limits != "stop":
            top["limits"] = model.limits
        if model.notes:
            top["notes"] = list(model.notes)
        for key, parts in (("force_order", model.forces), ("constraint_order", model.constraints)):
            said = [part for part in parts if (part.table, part.name) not in self.owned]
            places = [list(ELEMENTS).index(part.table) for part in said]
            if places != sorted(places):
                top[key] = [part.name for part in said]
        return self._lines(top)

    def _definitions(self, key: str, definitions: list[tuple[Expr, Expr]]) -> str:
        return f"[{key}]\n" + self._lines({str(s.value): e for s, e in definitions})

    def _body(self, body: Body) -> dict[str, Any]:
        row: dict[str, Any] = {"name": body.name, "parent": body.parent, **_placed(body.pose)}
        if body.flexible is None or body.mass != 0:
            row["mass"] = body.mass
        if any(e != 0 for e in body.com):
            row["com"] = body.com
        if any(e != 0 for e in body.inertia.entries):
            row["inertia"] = _moments(body.inertia)
        if body.welded != Inertia.zero():
            row["welded"] = {"mass": body.welded.m, "moment": body.welded.h, "inertia": _moments(body.welded.I)}
        if body.rotor:
            row["rotor"] = True
        row["joint"] = joint_table(body.joint, body.name)
        return row | flexible_table(body.flexible, f"Body {body.name!r}", self.files.get(body.name))

    def _shape(self, shape: Look) -> dict[str, Any]:
        """The table of a shape; a mesh by the name of its file."""
        row, mesh = element_table(shape), shape.mesh
        if isinstance(mesh, Mesh):
            if mesh not in self.meshes:
                raise fault(
                    f"{shape.what}: its mesh is arrays, which text cannot hold. Write it with save(model, path), with "
                    "a file of them."
                )
            row["mesh"] = self.meshes[mesh]
        elif mesh is not None and self.folder is not None and Path(mesh).is_relative_to(self.folder):
            row["mesh"] = Path(mesh).relative_to(self.folder).as_posix()
        elif mesh is not None and self.folder is not None and mesh not in KNOWN_MESHES:
            row["mesh"] = str(Path(mesh).absolute())
        return row

    def _marker(self, marker: Marker) -> dict[str, Any]:
        return {"name": marker.name, "body": marker.body, **_placed(marker.pose)}

    # text

    def _table(self, kind: str, row: dict[str, Any]) -> str:
        """Write one [[table]]; a joint or modes that do not fit the line have a table of their own."""
        own = {key: e for key in ("joint", *FLEXIBLE) if (e := row.get(key)) and len(self._value(e)) > _WIDTH}
        rest = {key: value for key, value in row.items() if key not in own}
        parts = [f"\n[{kind}.{key}]\n{self._lines(table)}" for key, table in own.items()]
        return f"[[{kind}]]\n{self._lines(rest)}" + "".join(parts)

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
            case Condition():
                return self._condition(value.value)
            case int() | float():
                return _number(value)
            case dict():
                return "{ " + ", ".join(f"{_key(k)} = {self._value(v)}" for k, v in value.items()) + " }"
        return "[" + ", ".join(self._value(e) for e in value) + "]"

    def _expression(self, e: Expr) -> str:
        if e.op == "const" and not isinstance(e.value, Fraction) and abs(e.value) < 2**63:
            return _number(e.value)
        return _quoted(write(self.reduced.get(e, e), self._refer, self.meaning))

    def _condition(self, e: Expr) -> str:
        """Write what a switch waits for; "1 < x" for a comparison."""
        found = self.reduced.get(e, e)
        return _quoted(self._compared(found)) if is_condition(found) else self._expression(e)

    def _compared(self, e: Expr) -> str:
        if e.op in INFIX:
            a, b = (write(side, self._refer, self.meaning) for side in e.args)
            return f"{a} {INFIX[e.op]} {b}"
        parts = [self._compared(part) for part in e.args]
        parts = [f"({text})" if part.op not in INFIX else text for part, text in zip(e.args, parts, strict=True)]
        return (" and " if e.op == "mul" else " or ").join(parts)

    def _refer(self, s: Expr) -> str:
        name = str(s.value)
        if is_plain(name):
            return name
        group = next((group for group, names in self.groups.items() if name in names), "p")
        return f"{group}[{name!r}]"


def _said(body: Body) -> list[Expr]:
    """Every expression that the table of a body holds."""
    modes = [] if body.flexible is None else body.flexible.said()
    return [*replace(body, flexible=None).quantities(), *modes]


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
