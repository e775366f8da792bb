"""Bodies that deform as TOML: a table of the body's, named for what the modes are made from.

    [body.beam]
    length = 1.0
    mu = 2.0
    EI_z = 300.0

    [body.flexible]
    file = "arm.npz"

Each kind is a reader and a writer in `KINDS`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from inspect import signature
from pathlib import PurePath
from typing import Any

from polhode.graph import Expr
from polhode.model import Beam, ModelError, Nodal, beam
from polhode.model.beam_reading import RESISTS
from polhode.model.errors import fault
from polhode.model.flexible import Flexible
from polhode.model.sections import Section

from .toml_values import Values, axis_text


@dataclass(frozen=True, slots=True)
class Kind:
    """How one kind of flexible body is read from a table and written as one."""

    made: type[Flexible]
    read: Callable[[dict[str, Any], Values, str], Flexible | None]
    table: Callable[[Any, str], dict[str, Any]]


def read_flexible(body: dict[str, Any], read: Values, what: str) -> Flexible | None:
    """The modes that the table of a body says; None where it has none, or where its faults are noted."""
    said = [key for key in KINDS if key in body]
    if not said:
        return None
    if len(said) > 1:
        raise fault(f"{what}: has {' and '.join(said)}, expected one of them.")
    (key,) = said
    table = body[key]
    if not isinstance(table, dict):
        raise fault(f"{what}: {key} is {table!r:.60}, expected a table [body.{key}].")
    return KINDS[key].read(table, read, f"{what}: {key}")


def flexible_table(flexible: Flexible | None, what: str, file: str | None = None) -> dict[str, Any]:
    """The key and the table of modes, for the table of their body; `file` is the name of its arrays, if it has such."""
    if isinstance(flexible, Nodal) and file is not None:
        return {"flexible": {"file": file}}
    if flexible is None:
        return {}
    for key, kind in KINDS.items():
        if isinstance(flexible, kind.made):
            return {key: kind.table(flexible, what)}
    raise fault(f"{what}: its modes ({type(flexible).__name__}) cannot be written. Make the model in Python.")


# beams

_ALONG = ("mu", "EI_y", "EI_z", "GJ", "EA", "J", "J_y", "J_z")  # may vary
_USUAL = {name: p.default for name, p in signature(beam).parameters.items()}


def _read_beam(table: dict[str, Any], read: Values, what: str) -> Beam | None:
    read.keys(table, what, ("length", "mu"), _USUAL)
    if "length" not in table or "mu" not in table:
        return None
    given = {key: _beam_value(key, value, read, f"{what}: {key}") for key, value in table.items() if key in _USUAL}
    try:
        return beam(**given)
    except ModelError as error:
        raise ModelError([text.replace("Beam: ", f"{what}: ", 1) for text in error.faults]) from None


def _beam_value(key: str, value: Any, read: Values, what: str) -> Any:
    """A value of a beam's table: expressions read, words and numbers of modes as they are."""
    if key in ("modes", "rotary", "ends", "order", "rotation"):
        return value
    if key in ("axis", "across", "shapes") and isinstance(value, str):
        return value
    if isinstance(value, dict):
        return {name: read.nested(e, f"{what} of {name!r}") for name, e in value.items()}
    return read.nested(value, what)


def _beam_table(made: Beam, what: str) -> dict[str, Any]:
    """What `beam` was told, without what is usual."""
    sections = {name: getattr(made, name) for name in _ALONG if name != "J"}
    if made.J_y is not None and made.J_y == made.J_z:
        polar = Section(made.J_y.scale * 2, made.J_y.table, made.J_y.function)
        sections |= {"J": polar, "J_y": None, "J_z": None}
    row: dict[str, Any] = {"length": made.length}
    row |= {name: _section(e, f"{what}: beam: {name}") for name, e in sections.items() if e is not None}
    row["modes"] = _counts(made)
    if not isinstance(made.shapes, str):
        row["shapes"] = {kind: [list(powers) for powers in rows] for kind, rows in made.shapes}
    elif made.shapes != _USUAL["shapes"]:
        row["shapes"] = made.shapes
    if made.tip_mass != 0:
        row["tip_mass"] = made.tip_mass
    axis = axis_text(list(made.axis))
    if axis != _USUAL["axis"]:
        row["axis"] = axis
    if made.across is not None:
        row["across"] = axis_text(list(made.across))
    if any(e != 0 for e in made.start):
        row["start"] = made.start
    if any(e != 0 for e in made.zeta):
        row["damping"] = made.zeta[0] if len(set(made.zeta)) == 1 else list(made.zeta)
    if made.eta != 0:
        row["eta"] = made.eta
    words = {name: getattr(made, name) for name in ("ends", "rotary", "order", "rotation")}
    return row | {name: value for name, value in words.items() if value != _USUAL[name]}


def _counts(made: Beam) -> Any:
    """The number of modes, or by kind where one number does not say it."""
    found = dict(made.counts)
    bending = {n for kind, n in found.items() if kind in ("y", "z")}
    ones = all(found[kind] == 1 for kind in ("twist", "stretch") if kind in found)
    given = {kind for kind, name in RESISTS.items() if getattr(made, name) is not None}
    return bending.pop() if len(bending) == 1 and ones and given == {*found} else found


def _section(e: Section, what: str) -> Expr | list[list[float]]:
    if e.function is not None:
        raise fault(f"{what} is a function of Python, which a file cannot hold. Give a table [(0, 2.0), (1, 1.5)].")
    return [list(row) for row in e.table] if e.table else e.scale


# arrays


def _read_arrays(table: dict[str, Any], read: Values, what: str) -> Nodal | None:
    read.keys(table, what, ("file",), ())
    if "file" not in table:
        return None
    name = table["file"]
    if not isinstance(name, str) or not name or PurePath(name).name != name or "\\" in name:
        raise fault(f'{what}: file is {name!r:.60}, expected the name of a file beside this one, as "arm.npz".')
    return read.arrays(name, what)


def _no_table(made: Nodal, what: str) -> dict[str, Any]:
    raise fault(
        f"{what}: its modes are arrays, which text cannot hold. Write it with save(model, path), with a file of them."
    )


KINDS: dict[str, Kind] = {
    "beam": Kind(Beam, _read_beam, _beam_table),
    "flexible": Kind(Nodal, _read_arrays, _no_table),
}
