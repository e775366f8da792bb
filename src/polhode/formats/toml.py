"""Polhode's own format: a model as TOML, with expressions as text.

Every part that has a fault is noted and stands in as nothing, so that the rest
is still checked and all faults come together.
"""

from __future__ import annotations

import math
import tomllib
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from polhode.graph import Expr, Matrix, const, symbol, zeros
from polhode.model import (
    TIME,
    WORLD,
    Builder,
    Faults,
    Joint,
    Limits,
    Model,
    ModelError,
    SpeedForce,
    compound,
    joint,
    named,
    values,
)
from polhode.model.builder import GRAVITY
from polhode.model.errors import fault
from polhode.spatial import Inertia

from .expression import parse

_LARGEST = 1e300  # of a number in a file
_ORIGIN = (0, 0, 0)

_OPTIONS = frozenset("name q u damping friction friction_speed armature stiffness rest limits passive".split())
_LISTED = ("damping", "friction", "friction_speed", "armature", "stiffness", "rest")
_PRINTED = frozenset({"kind", "q_endings", "u_endings"})
_TURNED = frozenset({"at", "rpy", "quaternion", "rotation"})


@dataclass(frozen=True, slots=True)
class _Type:
    """A type of joint: how it is made, and the keys it has besides the options of every joint."""

    make: Callable[..., Joint]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


def _mapped(map: Any, **options: Any) -> Joint:
    return joint(map, **options)


TYPES = {
    "revolute": _Type(named.revolute, ("axis",), ("at",)),
    "prismatic": _Type(named.prismatic, ("axis",)),
    "screw": _Type(named.screw, ("axis", "pitch")),
    "cylindrical": _Type(named.cylindrical, ("axis",)),
    "universal": _Type(named.universal, ("axes",)),
    "planar": _Type(named.planar, ("axis",)),
    "spherical": _Type(named.spherical, (), ("quaternion",)),
    "free": _Type(named.free, (), ("quaternion",)),
    "weld": _Type(named.weld),
    "map": _Type(_mapped, ("map",), ("split", "quaternion", "nonholonomic")),
    "compound": _Type(compound, ("joints",)),
}
TABLES = {  # array of tables: (required keys, other keys)
    "body": (("name", "joint", "mass"), {"parent", "com", "inertia", "welded", *_TURNED}),
    "marker": (("name", "body"), set(_TURNED)),
    "spring": (("between", "stiffness", "length"), {"damping", "name"}),
    "wrench": (("marker",), {"force", "torque", "axes", "name"}),
    "force": (("speed", "value"), {"name"}),
    "potential": (("energy",), {"name"}),
    "coupling": (("coordinate", "of"), {"ratio", "offset"}),
}
_TOP = {"name", "gravity", "symbols", "constants", "definitions", "force_order", "notes", "literal", *TABLES}


def read_toml(text: str, source: str = "") -> Model:
    """Read a model from TOML text; `source` names the text in messages."""
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ModelError(["the TOML is nested too deeply."], source) from None
    except tomllib.TOMLDecodeError as error:  # which says the line
        raise ModelError([f"not TOML: {error}."], source) from None
    except ValueError:
        raise ModelError(["a number has thousands of digits, expected fewer."], source) from None
    return _Reader(Faults(source)).model(data)


class _Unchecked(dict[str, Expr]):
    """Names, where others may exist that could not be read."""

    def __missing__(self, key: str) -> Expr:
        return TIME


class _Reader:
    """Reads one description; `names` are those its expressions may use."""

    def __init__(self, faults: Faults, names: Mapping[str, Expr] | None = None) -> None:
        self.faults = faults
        self.names: dict[str, Expr] = dict(names or {})
        self.complete = True  # every joint could be read, so all coordinates and speeds are known

    def model(self, data: dict[str, Any]) -> Model:
        self._keys(data, "Model", (), _TOP)
        name = self.word(data, "name", "Model", "model")
        self._symbols(data)
        self._defined(data, "constants")
        what = f"Model {name!r}"
        gravity = self._or(zeros(3), self.vector, data.get("gravity", GRAVITY), f"{what}: gravity")
        build = Builder(name, gravity, literal=self.flag(data, "literal", what, False))
        for i, table in enumerate(self._tables(data, "body")):
            self._body(build, table, i)
        for i, table in enumerate(self._tables(data, "marker")):
            self._marker(build, table, i)
        self._variables(build)
        self._defined(data, "definitions")
        for kind in ("spring", "wrench", "force", "potential", "coupling"):
            for table in self._tables(data, kind):
                with self.faults.caught(), _ours(kind.capitalize()):
                    getattr(self, f"_{kind}")(build, table)
        self._order(build, data)
        for note in self.words(data.get("notes", []), "Model: notes"):
            build.note(note)
        if not self.complete:  # what refers to a joint that was not read is not a fault of its own
            build.forces = [f for f in build.forces if not isinstance(f, SpeedForce)]
            build.couplings = []
        with self.faults.caught(), _ours(what):
            made = build.build()
        self.faults.raise_any()
        return made

    # names

    def _symbols(self, data: dict[str, Any]) -> None:
        for name in self.words(data.get("symbols", []), "Model: symbols"):
            if name in self.names:
                self.faults.add(f"Symbol {name!r} is declared twice, expected once.")
            elif name == TIME.value:
                self.faults.add("Symbol 't': that name belongs to time. Rename the symbol.")
            elif not _printable(name):
                self.faults.add(f"Symbol {name!r}: expected a printable name.")
            else:
                self._declare(name, symbol(name))

    def _declare(self, name: str, e: Expr) -> None:
        self.names[name] = self.names[f"p.{name}"] = e

    def _defined(self, data: dict[str, Any], key: str) -> None:
        """Read [constants] or [definitions]: names for expressions, each of earlier ones."""
        table = data.get(key, {})
        if not isinstance(table, dict):
            self.faults.add(f"Model: {key} is {table!r:.60}, expected a table [{key}] of name = value.")
            return
        what = key[:-1].capitalize()
        for name, value in table.items():
            if not _printable(name):
                self.faults.add(f"{what} {name!r}: expected a printable name.")
                continue
            if name in self.names or name == TIME.value:
                self.faults.add(f"{what} {name!r}: that name is taken by a symbol, constant or variable. Rename it.")
                continue
            self._declare(name, self._or(TIME, self.quantity, value, f"{what} {name!r}"))

    def _variables(self, build: Builder) -> None:
        """Let expressions use coordinates, speeds and time from here on."""
        taken = {name for name in self.names if f"p.{name}" in self.names}
        if not self.complete:
            self.names = _Unchecked(self.names)
        for group in ("q", "u"):
            for body in build.bodies:
                for name in body.joint.coordinates() if group == "q" else body.joint.speeds():
                    if name in taken:
                        self.faults.add(
                            f"Joint {body.joint.name!r}: its variable {name!r} is also declared in symbols or "
                            "constants. Rename one of them."
                        )
                    else:
                        self.names[name] = self.names[f"{group}.{name}"] = symbol(name)
        self.names[TIME.value] = TIME

    # tables and their keys

    def _tables(self, data: dict[str, Any], kind: str) -> Iterable[dict[str, Any]]:
        found = data.get(kind, [])
        if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
            self.faults.add(f"Model: {kind} is {found!r:.60}, expected tables [[{kind}]].")
            return
        needs, takes = TABLES[kind]
        for i, table in enumerate(found):
            label = next(
                (v for k in ("name", "speed", "marker", "coordinate") if isinstance(v := table.get(k), str)), ""
            )
            what = f"{kind.capitalize()} {label!r}" if label else f"{kind.capitalize()} number {i + 1}"
            self._keys(table, what, needs, takes)
            if kind in ("body", "marker") or all(key in table for key in needs):
                yield table

    def _keys(self, table: dict[str, Any], what: str, needs: Iterable[str], takes: Collection[str]) -> None:
        """Note keys that are missing or unknown."""
        for key in needs:
            if key not in table:
                self.faults.add(f"{what}: {key} is missing. Give {key} = ...")
        known = sorted({*needs, *takes})
        for key in table:
            if key not in known:
                close = get_close_matches(key, known, 2)
                near = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Known are {', '.join(known)}."
                self.faults.add(f"{what}: unknown key {key!r:.60}. {near}")

    def _or(self, stand_in: Any, read: Callable[..., Any], value: Any, what: str) -> Any:
        """What read(value, what) gives, or the stand-in with its fault noted."""
        with self.faults.caught(), _ours(what):
            return read(value, what)
        return stand_in

    def word(self, table: dict[str, Any], key: str, what: str, default: str | None = None) -> str:
        """Read a name; with a default, one that is no name is noted and the default stands in."""
        value = table.get(key, default)
        if isinstance(value, str) and value.strip():
            return value
        wrong = fault(f"{what}: {key} is {value!r:.60}, expected text.")
        if default is None:
            raise wrong
        with self.faults.caught():
            raise wrong
        return default

    def words(self, value: Any, what: str) -> list[str]:
        if isinstance(value, list) and all(isinstance(e, str) for e in value):
            return value
        self.faults.add(f'{what}: {value!r:.60}, expected a list of texts such as ["a", "b"].')
        return []

    def flag(self, table: dict[str, Any], key: str, what: str, default: bool) -> bool:
        value = table.get(key, default)
        if isinstance(value, bool):
            return value
        self.faults.add(f"{what}: {key} is {value!r:.60}, expected true or false.")
        return default

    # quantities

    def quantity(self, value: Any, what: str) -> Expr:
        """Read a number or an expression."""
        if isinstance(value, str):
            return parse(value, self.names, what)
        if isinstance(value, (int, float)) and not isinstance(value, bool) and not abs(value) <= _LARGEST:
            raise fault(f"{what} is {value if isinstance(value, float) else 'too large'}, expected a finite number.")
        return values.scalar(value, what)

    def nested(self, value: Any, what: str, depth: int = 2) -> Any:
        """Read quantities in lists, or lists of lists."""
        if not isinstance(value, (list, tuple)):
            return value if isinstance(value, Matrix) else self.quantity(value, what)
        if depth == 0:
            raise fault(f"{what} is {value!r:.60}, expected a number or an expression.")
        return [self.nested(e, what, depth - 1) for e in value]

    def vector(self, value: Any, what: str) -> Matrix:
        if not isinstance(value, (list, tuple, Matrix)):
            raise fault(f"{what} is {value!r:.60}, expected a list of 3 numbers or expressions.")
        return values.entries(self.nested(value, what, 1), 3, what)

    def inertia(self, value: Any, what: str) -> Matrix:
        return values.inertia(self.nested(value, what) if isinstance(value, list) else value, what)

    def rotation(self, table: dict[str, Any], what: str) -> Matrix:
        given = {key: table.get(key) for key in ("rotation", "rpy", "quaternion")}
        read = {k: v if v is None else self.nested(v, f"{what}: {k}") for k, v in given.items()}
        return values.rotation(what, read["rotation"], read["rpy"], read["quaternion"])

    # bodies

    def _body(self, build: Builder, table: dict[str, Any], i: int) -> None:
        name = self.word(table, "name", f"Body number {i + 1}", f"body {i + 1}")
        what = f"Body {name!r}"
        made = None
        if "joint" in table:
            with self.faults.caught():
                made = read_joint(table["joint"], self, name)
        self.complete = self.complete and made is not None
        zero = zeros(3)
        welded = table.get("welded")
        build.body(
            name,
            joint=made or named.weld(name=name),
            parent=self.word(table, "parent", what, WORLD),
            mass=self._or(const(0), self.quantity, table.get("mass", 0), f"{what}: mass"),
            at=self._or(zero, self.vector, table.get("at", _ORIGIN), f"{what}: at"),
            rotation=self._or(None, self.rotation, table, what),
            com=self._or(zero, self.vector, table.get("com", _ORIGIN), f"{what}: com"),
            inertia=self._or(zero, self.inertia, table.get("inertia", [0, 0, 0]), f"{what}: inertia"),
        )
        if welded is not None:
            with self.faults.caught():
                build.bodies[-1] = replace(build.bodies[-1], welded=self._welded(welded, f"{what}: welded"))

    def _welded(self, table: Any, what: str) -> Inertia:
        if not isinstance(table, dict):
            raise fault(f"{what} is {table!r:.60}, expected a table with mass, moment and inertia.")
        needs = ("mass", "moment", "inertia")
        self._keys(table, what, needs, ())
        if not all(key in table for key in needs):
            return Inertia.zero()
        mass = self.quantity(table["mass"], f"{what}: mass")
        moment = self.vector(table["moment"], f"{what}: moment")
        return Inertia(mass, moment, self.inertia(table["inertia"], f"{what}: inertia"))

    def _marker(self, build: Builder, table: dict[str, Any], i: int) -> None:
        name = self.word(table, "name", f"Marker number {i + 1}", f"marker {i + 1}")
        what = f"Marker {name!r}"
        build.marker(
            name,
            body=self.word(table, "body", what, WORLD),
            at=self._or(zeros(3), self.vector, table.get("at", _ORIGIN), f"{what}: at"),
            rotation=self._or(None, self.rotation, table, what),
        )

    # forces

    def _spring(self, build: Builder, table: dict[str, Any]) -> None:
        ends = self.words(table["between"], "Spring: between")
        if len(ends) != 2:
            raise fault(f"Spring: between is {table['between']!r:.60}, expected two markers or bodies.")
        name = self.word(table, "name", "Spring", f"spring {ends[0]} {ends[1]}")
        keys = ("stiffness", "length", "damping")
        read = {key: self.quantity(table.get(key, 0), f"Spring {name!r}: {key}") for key in keys}
        build.spring(ends[0], ends[1], name=name, **read)

    def _wrench(self, build: Builder, table: dict[str, Any]) -> None:
        marker = self.word(table, "marker", "Wrench")
        name = self.word(table, "name", "Wrench", f"wrench at {marker}")
        what = f"Wrench {name!r}"
        read = {k: self.vector(table.get(k, _ORIGIN), f"{what}: {k}") for k in ("force", "torque")}
        build.wrench(marker, name=name, axes=self.word(table, "axes", what, WORLD), **read)

    def _force(self, build: Builder, table: dict[str, Any]) -> None:
        speed = self.word(table, "speed", "Force")
        name = self.word(table, "name", "Force", f"force on {speed}")
        build.force(speed, self.quantity(table["value"], f"Force {name!r}: value"), name)

    def _potential(self, build: Builder, table: dict[str, Any]) -> None:
        name = self.word(table, "name", "Potential") if "name" in table else ""
        what = f"Potential {name!r}" if name else "Potential"
        build.potential(self.quantity(table["energy"], f"{what}: energy"), name)

    def _coupling(self, build: Builder, table: dict[str, Any]) -> None:
        names = [self.word(table, key, "Coupling") for key in ("coordinate", "of")]
        what = f"Coupling of {names[0]!r}"
        a, b = (self.quantity(table.get(k, v), f"{what}: {k}") for k, v in (("ratio", 1), ("offset", 0)))
        build.coupling(names[0], names[1], a, b)

    def _order(self, build: Builder, data: dict[str, Any]) -> None:
        """Put the forces in the order of their names in force_order."""
        if "force_order" not in data or self.faults.found:
            return
        names = self.words(data["force_order"], "Model: force_order")
        if sorted(names) != sorted(force.name for force in build.forces):
            self.faults.add("Model: force_order does not name every force once. Correct it, or leave it out.")
        else:
            build.forces.sort(key=lambda force: names.index(force.name))


def _printable(name: str) -> bool:
    return bool(name.strip()) and name.isprintable()


# joints


def read_joint(table: Any, reader: _Reader | None = None, name: str = "", inside: bool = False) -> Joint:
    """Read the table of a joint; `name` is that of its body, `inside` says it is part of a compound."""
    reader = reader or _Reader(Faults())
    what = f"Joint of body {name!r}"
    if not isinstance(table, dict):
        raise fault(f'{what} is {table!r:.60}, expected a table such as {{ type = "revolute", axis = "y" }}.')
    kind = table.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        close = get_close_matches(str(kind), TYPES, 2)
        near = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Types are {', '.join(TYPES)}."
        raise fault(f"{what}: type is {kind!r:.60}, expected a type of joint. {near}")
    made_by = TYPES[kind]
    options = _OPTIONS - {"name", "q", "u", "friction_speed", "limits", "passive"} if inside else _OPTIONS
    shown = frozenset({"kind"} if kind == "weld" else () if inside else _PRINTED)
    options = frozenset({"name"}) if kind == "weld" else options
    known = Faults()
    inner = _Reader(known, reader.names)
    inner._keys(table, what, ("type", *made_by.needs), {*made_by.takes, *options, *shown})
    given: dict[str, Any] = {} if inside else {"name": inner.word(table, "name", what, name)}
    readable = (*made_by.needs, *made_by.takes, *sorted((options | shown) - {"name", "kind"}))
    for key in readable:
        if key in table:
            with known.caught():
                given[key] = _joint_value(inner, key, table[key], f"{what}: {key}", name)
    if all(key in given for key in readable if key in table or key in made_by.needs):
        with known.caught(), _ours(what):
            made = made_by.make(**given)
    known.raise_any()
    for variable in () if inside else (*made.coordinates(), *made.speeds()):
        if not _printable(variable):
            raise fault(f"{what}: its variable has the name {variable!r:.60}, expected printable text.")
    return replace(made, kind=inner.word(table, "kind", what)) if "kind" in table else made


def _joint_value(reader: _Reader, key: str, value: Any, what: str, name: str) -> Any:
    """Read what a key of a joint holds."""
    if key in ("quaternion", "nonholonomic", "passive"):
        if not isinstance(value, bool):
            raise fault(f"{what} is {value!r:.60}, expected true or false.")
        return value
    if key in ("q", "u", "q_endings", "u_endings"):
        return tuple(reader.words([value] if isinstance(value, str) else value, what))
    if key == "axis":
        return value if isinstance(value, str) else reader.nested(value, what, 1)
    if key in ("axes", "joints", "split", "map") and not isinstance(value, list | Matrix):
        raise fault(f"{what} is {value!r:.60}, expected a list.")
    if key == "axes":
        return [_joint_value(reader, "axis", axis, what, name) for axis in value]
    if key == "joints":
        return [read_joint(part, reader, name, inside=True) for part in value]
    if key == "split":
        if not all(type(n) is int for n in value):
            raise fault(f"{what} is {value!r:.60}, expected whole numbers such as [1, 2].")
        return value
    if key == "limits":
        return _limits(reader, value, what)
    return reader.nested(value, what, 2 if key == "map" else 1)


def _limits(reader: _Reader, value: Any, what: str) -> list[Limits]:
    """Read [lower, upper], a table, or a list of either."""
    if isinstance(value, list) and value and all(isinstance(row, (list, dict)) for row in value):
        return [found for row in value for found in _limits(reader, row, what)]
    pair = dict(zip(("lower", "upper"), value, strict=False)) if isinstance(value, list) and len(value) == 2 else value
    if not isinstance(pair, dict) or set(pair) - {"lower", "upper", "speed", "effort"}:
        raise fault(f"{what} is {value!r:.60}, expected [lower, upper] or a table of lower, upper, speed, effort.")
    return [Limits(**{key: _bound(reader, x, f"{what}: {key}") for key, x in pair.items()})]


def _bound(reader: _Reader, value: Any, what: str) -> float:
    if isinstance(value, float) and math.isinf(value):
        return value
    e = reader.quantity(value, what)
    try:
        return float(e)
    except TypeError:
        raise fault(f"{what} is {e}, expected a number: limits cannot depend on symbols.") from None


@contextmanager
def _ours(what: str) -> Iterator[None]:
    """Make a fault of any arithmetic that fails on odd numbers."""
    try:
        yield
    except ModelError:
        raise
    except (ArithmeticError, TypeError, ValueError) as error:
        raise fault(f"{what} cannot be made: {error}. Look for numbers that are too large, or undefined.") from None
