"""Forces and constraints as TOML tables, from what their fields say."""

from __future__ import annotations

from typing import Any

from polhode.model import Builder, Element
from polhode.model.elements import ELEMENTS, titled
from polhode.model.errors import fault
from polhode.model.fields import Spec
from polhode.model.stages import Stage

from .toml_values import Values, axis_text

_PAIRS = {"marker": "markers or bodies", "coordinate": "coordinates", "speed": "speeds"}


def element_keys() -> dict[str, tuple[tuple[str, ...], set[str]]]:
    """The tables of elements, each with its required and its other keys."""
    found = {}
    for table, kind in ELEMENTS.items():
        keys = {spec.key or name: spec for name, spec in kind.specs.items()}
        needs = tuple(key for key, spec in keys.items() if spec.usual is None and not spec.optional)
        needs = needs if kind.named else ("name", *needs)
        found[table] = (needs, {*keys, "name"})
    return found


def read_element(kind: type[Element], table: dict[str, Any], read: Values, build: Builder) -> None:
    """Hand the element of a table to the builder."""
    name = read.word(table, "name", titled(kind.table)) if "name" in table else ""
    what = f"{kind.title} {name!r}" if name else titled(kind.table)
    given: dict[str, Any] = {}
    for field, spec in kind.specs.items():
        key = spec.key or field
        if key in table:
            value = _value(spec, table, key, read, what)
            given |= dict(zip(spec.args, value, strict=True)) if spec.args else {field: value}
    build.add(kind, **given, name=name)


def _value(spec: Spec, table: dict[str, Any], key: str, read: Values, what: str) -> Any:
    """What a key of a table holds, as the builder takes it."""
    value = table[key]
    if spec.args:
        if isinstance(value, list) and len(value) == len(spec.args) and all(isinstance(e, str) for e in value):
            return value
        raise fault(f"{what}: {key} is {value!r:.60}, expected two {_PAIRS[spec.kind]}.")
    match spec.kind:
        case "scalar":
            return read.quantity(value, f"{what}: {key}", spec.own)
        case "vector":
            return read.vector(value, f"{what}: {key}")
        case "flag":
            return value
        case "weights" | "values":
            if not isinstance(value, dict):
                raise fault(f"{what}: {key} is {value!r:.60}, expected names with numbers: {{ hip_dot = 1 }}.")
            return {name: read.quantity(e, f"{what}: {key} of {name!r}") for name, e in value.items()}
        case "stages":
            if not isinstance(value, list) or not all(isinstance(stage, dict) for stage in value):
                raise fault(f"{what}: {key} is {value!r:.60}, expected tables: [{{ ratio = 5, inertia = 1e-5 }}].")
            return [_stage(stage, read, f"{what}: {key} {i}") for i, stage in enumerate(value, 1)]
        case "points":
            if not isinstance(value, list):
                raise fault(f"{what}: {key} is {value!r:.60}, expected points: [[0, 0, 0], [1, 0, 0]].")
            return [read.vector(e, f"{what}: {key}, number {i}") for i, e in enumerate(value, 1)]
        case "mesh":
            return read.surface(read.word(table, key, what), what)
        case "color":
            return value
        case "axis":
            return value if isinstance(value, str) else read.nested(value, f"{what}: {key}", 1)
    return read.word(table, key, what)


def _stage(table: dict[str, Any], read: Values, what: str) -> dict[str, Any]:
    """The fields of a stage of a transmission, as the builder takes them."""
    as_is = ("on", "axis")
    return {
        key: (read.nested(e, f"{what}: {key}", 1) if isinstance(e, list) else e)
        if key in as_is
        else read.quantity(e, f"{what}: {key}")
        for key, e in table.items()
    }


def _stage_table(stage: Stage) -> dict[str, Any]:
    """The table of a stage."""
    return {key: axis_text(list(e)) if key == "axis" else e for key, e in stage.given().items()}


def element_table(part: Element) -> dict[str, Any]:
    """The table of an element."""
    row: dict[str, Any] = {"name": part.name}
    contents = part.held()
    for name, spec in part.specs.items():
        value = axis_text(list(contents[name])) if spec.kind == "axis" else contents[name]
        usual = (spec.kind in ("axis", "flag") and value == spec.usual) or (
            spec.kind in ("weights", "values", "stages", "points", "color") and not value
        )
        if spec.belongs(contents) and not usual and not (spec.optional and value is None):
            row[spec.key or name] = (
                dict(value) if spec.kind in ("weights", "values")
                else [_stage_table(stage) for stage in value] if spec.kind == "stages"
                else list(value) if spec.args else value
            )  # fmt: skip
    return row
