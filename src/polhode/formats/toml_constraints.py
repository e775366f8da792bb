"""Constraints as TOML tables."""

from __future__ import annotations

from typing import Any

from polhode.graph import Matrix
from polhode.model import WORLD, Builder, Constraint, KnifeEdge, Loop, Relation
from polhode.model.errors import fault

from .toml_values import Values, axis_text

CONSTRAINTS: dict[str, tuple[tuple[str, ...], set[str]]] = {  # array of tables: (required keys, other keys)
    "loop": (("between",), {"kind", "axis", "length", "name"}),
    "constraint": (("value",), {"name"}),
    "gear": (("between", "ratio"), {"name"}),
    "law": (("coordinate", "value"), {"name"}),
    "knife_edge": (("marker",), {"axis", "name"}),
    "rolling": (("wheel", "radius"), {"ground", "axis", "shape", "name"}),
}
TABLE_OF = {Loop: "loop", Relation: "constraint", KnifeEdge: "knife_edge"}


def read_constraint(kind: str, table: dict[str, Any], read: Values, build: Builder) -> None:
    """Hand the constraint of a table to the builder."""
    title = kind.replace("_", " ").capitalize()
    name = read.word(table, "name", title) if "name" in table else ""
    what = f"Constraint {name!r}" if name else title
    match kind:
        case "loop":
            a, b = _pair(table, read, what, "markers or bodies")
            given: dict[str, Any] = {"kind": read.word(table, "kind", what, "point")} | _axis(table, read, what)
            if "length" in table:
                given["length"] = read.quantity(table["length"], f"{what}: length")
            build.loop(a, b, **given, name=name)
        case "constraint":
            build.constraint(read.quantity(table["value"], f"{what}: value"), name)
        case "gear":
            a, b = _pair(table, read, what, "speeds")
            build.gear(a, b, read.quantity(table["ratio"], f"{what}: ratio"), name)
        case "law":
            coordinate = read.word(table, "coordinate", what)
            build.prescribe(coordinate, read.quantity(table["value"], f"{what}: value"), name)
        case "knife_edge":
            build.knife_edge(read.word(table, "marker", what), **_axis(table, read, what), name=name)
        case _:
            build.rolling(
                read.word(table, "wheel", what),
                read.word(table, "ground", what, WORLD),
                radius=read.quantity(table["radius"], f"{what}: radius"),
                shape=read.word(table, "shape", what, "disc"),
                **_axis(table, read, what),
                name=name,
            )


def _pair(table: dict[str, Any], read: Values, what: str, of: str) -> list[str]:
    found = table["between"]
    if isinstance(found, list) and len(found) == 2 and all(isinstance(e, str) for e in found):
        return found
    raise fault(f"{what}: between is {found!r:.60}, expected two {of}.")


def _axis(table: dict[str, Any], read: Values, what: str) -> dict[str, Any]:
    """The axis, if the table has one."""
    value = table.get("axis")
    if value is None:
        return {}
    return {"axis": value if isinstance(value, str) else read.nested(value, f"{what}: axis", 1)}


def constraint_table(constraint: Constraint) -> dict[str, Any]:
    """The table of a constraint."""
    row: dict[str, Any] = {"name": constraint.name}
    match constraint:
        case Loop():
            row |= {"between": list(constraint.ends), "kind": constraint.kind} | _turned(constraint.axis, "z")
            return row | ({"length": constraint.length} if constraint.kind == "distance" else {})
        case Relation():
            return row | {"value": constraint.value}
        case KnifeEdge():
            return row | {"marker": constraint.marker} | _turned(constraint.axis, "y")
    row |= {"wheel": constraint.wheel, "ground": constraint.ground, "radius": constraint.radius}
    return row | {"shape": constraint.shape} | _turned(constraint.axis, "y")


def _turned(axis: Matrix, usual: str) -> dict[str, Any]:
    found = axis_text(list(axis))
    return {} if found == usual else {"axis": found}
