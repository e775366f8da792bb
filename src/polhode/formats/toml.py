"""Polhode's own format: a model as TOML, with expressions as text.

Every part that has a fault is noted and stands in as nothing, so that the rest
is still checked and all faults come together.
"""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Iterable
from dataclasses import replace
from functools import partial
from typing import Any

from polhode.graph import Expr, const, symbol, zeros
from polhode.model import (
    TIME,
    WORLD,
    Builder,
    Element,
    Faults,
    Model,
    ModelError,
    Nodal,
    Relation,
    named,
)
from polhode.model.builder import GRAVITY
from polhode.model.drives import CONTROL
from polhode.model.elements import ELEMENTS, titled
from polhode.model.errors import fault
from polhode.model.motors import CURRENT
from polhode.model.stages import shaft_name
from polhode.spatial import Inertia, Mesh

from .toml_elements import element_keys, read_element
from .toml_flexible import KINDS as FLEXIBLE
from .toml_flexible import read_flexible
from .toml_joints import read_joint
from .toml_switches import read_switch
from .toml_values import Values, ours, printable

_ORIGIN = (0, 0, 0)

_TURNED = frozenset({"at", "rpy", "quaternion", "rotation"})


_TABLES = {  # array of tables: (required keys, other keys)
    "body": (("name", "joint"), {"mass", "parent", "com", "inertia", "welded", "rotor", *FLEXIBLE, *_TURNED}),
    "marker": (("name", "body"), set(_TURNED)),
    "switch": ((), {"at", "when", "direction", "engage", "release"}),
}
_TOP = {
    *("name", "gravity", "symbols", "constants", "definitions", "reliefs", "notes", "literal", "limits"),
    *("force_order", "constraint_order"),
}


def read_toml(
    text: str, source: str = "", limits: str | None = None, arrays: Callable[[str, str], Nodal] | None = None,
    surface: Callable[[str, str], Mesh | str] | None = None,
) -> Model:  # fmt: skip
    """Read a model from TOML text; `source` names the text in messages.

    limits : "stop" or "ignore", whatever the text says; None for what it says
    arrays : finds the flexible body of a file that the text names, for the object that the second word names
    surface : the same for the mesh of a shape; a name that is returned is kept, and read when it is drawn
    """
    try:
        data = tomllib.loads(text)
    except RecursionError:
        raise ModelError(["the TOML is nested too deeply."], source) from None
    except tomllib.TOMLDecodeError as error:  # which says the line
        raise ModelError([f"not TOML: {error}. {_remedy(str(error))}"], source) from None
    except ValueError:
        raise ModelError(["a number has thousands of digits, expected fewer."], source) from None
    reader = _Reader(Faults(source))
    reader.arrays, reader.surface = arrays or reader.arrays, surface or reader.surface
    found = reader.model(data)
    return found if limits is None else replace(found, limits=limits)


def _remedy(said: str) -> str:
    """What to do about text that is no TOML, by what its reader says."""
    if "overwrite" in said or "mutate" in said or "declare" in said or "namespace" in said:
        return "A name stands for one value: what may occur several times has two brackets each time, as [[body]]."
    if any(word in said for word in ("Illegal character", "nterminated", 'Expected "', "Expected '\"")):
        return "Text ends with the quote it begins with, on the same line."
    return 'Expressions go in quotes: mass = "2*m".'


class _Unchecked(dict[str, Expr]):
    """Names, where others may exist that could not be read."""

    def __missing__(self, key: str) -> Expr:
        return TIME


class _Reader(Values):
    """Reads one description; `names` are those its expressions may use."""

    def __init__(self, faults: Faults) -> None:
        super().__init__(faults)
        self.complete = True  # every joint could be read, so all coordinates and speeds are known

    def model(self, data: dict[str, Any]) -> Model:
        self.tables = _TABLES | element_keys()
        self.keys(data, "Model", (), {*_TOP, *self.tables})
        name = self.word(data, "name", "Model", "model")
        self._symbols(data)
        self._defined(data, "constants")
        what = f"Model {name!r}"
        gravity = self.either(zeros(3), self.vector, data.get("gravity", GRAVITY), f"{what}: gravity")
        limits = self.word(data, "limits", what, "stop")
        build = Builder(name, gravity, literal=self.flag(data, "literal", what, False), limits=limits)
        for i, table in enumerate(self._tables(data, "body")):
            self._body(build, table, i)
        for i, table in enumerate(self._tables(data, "marker")):
            self._marker(build, table, i)
        motors = data.get("motor")
        currents = [CURRENT.format(name) for name in _names(motors, "inductance")]
        states, actuators = [*_names(data.get("state")), *currents], _names(data.get("actuator"))
        self._variables(build, states, actuators, _names(motors), _turning(motors))
        self._defined(data, "definitions")
        self._defined(data, "reliefs", ("x", "y"))
        before = len(self.faults.found)
        for kind in ELEMENTS.values():
            for table in self._tables(data, kind.table):
                with self.faults.caught(), ours(titled(kind.table)):
                    read_element(kind, table, self, build)
        missing = len(self.faults.found) > before
        for i, table in enumerate(self._tables(data, "switch")):
            with self.faults.caught(), ours(f"Switch number {i + 1}"):
                build.switches.append(read_switch(table, self, f"Switch number {i + 1}"))
        self._order(build.forces, data, "force")
        self._order(build.constraints, data, "constraint")
        for note in self.words(data.get("notes", []), "Model: notes"):
            build.note(note)
        if not self.complete:  # what refers to a joint that was not read is not a fault of its own
            build.forces = [part for part in build.forces if not _about_joints(part)]
            build.constraints = [part for part in build.constraints if not _about_joints(part)]
            build.short, build.keyframes, build.sensors = [], [], []
        if not self.complete or missing:  # nor is what refers to a constraint that was not
            build.switches = []
        with self.faults.caught(), ours(what):
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
            elif not printable(name):
                self.faults.add(f"Symbol {name!r}: expected a printable name.")
            else:
                self._declare(name, symbol(name))

    def _declare(self, name: str, e: Expr) -> None:
        self.names[name] = self.names[f"p.{name}"] = e

    def _defined(self, data: dict[str, Any], key: str, own: tuple[str, ...] = ()) -> None:
        """Read [constants], [definitions] or [reliefs]: names for expressions, each of earlier ones."""
        table = data.get(key, {})
        if not isinstance(table, dict):
            self.faults.add(f"Model: {key} is {table!r:.60}, expected a table [{key}] of name = value.")
            return
        what = key[:-1].capitalize()
        for name, value in table.items():
            if not printable(name):
                self.faults.add(f"{what} {name!r}: expected a printable name.")
                continue
            if name in self.names or name == TIME.value:
                self.faults.add(f"{what} {name!r}: that name is taken by a symbol, constant or variable. Rename it.")
                continue
            self._declare(name, self.either(TIME, partial(self.quantity, own=own), value, f"{what} {name!r}"))

    def _variables(
        self, build: Builder, states: list[str], actuators: list[str], motors: list[str], turning: list[str]
    ) -> None:
        """Let expressions use coordinates, speeds, states, controls and time from here on."""
        taken = {name for name in self.names if f"p.{name}" in self.names}
        if not self.complete:
            self.names = _Unchecked(self.names)
        for group in ("q", "u"):
            for body in build.bodies:
                for name in body.coordinates if group == "q" else body.speeds:
                    if name in taken:
                        self.faults.add(
                            f"Joint {body.joint.name!r}: its variable {name!r} is also declared in symbols or "
                            "constants. Rename one of them."
                        )
                    else:
                        self.names[name] = self.names[f"{group}.{name}"] = symbol(name)
        for name in states:
            if name in taken:
                self.faults.add(f"State {name!r}: that name is taken by a symbol or constant. Rename one of them.")
            elif printable(name):
                self.names[name] = self.names[f"z.{name}"] = symbol(name)
        for name in (*actuators, *motors):
            control = CONTROL.format(name)
            self.names.setdefault(control, symbol(control))
        for name in turning:
            self.names.setdefault(name, symbol(name))
            self.names.setdefault(f"{name}_dot", symbol(f"{name}_dot"))
        self.names[TIME.value] = TIME

    # tables and their keys

    def _tables(self, data: dict[str, Any], kind: str) -> Iterable[dict[str, Any]]:
        found = data.get(kind, [])
        if not isinstance(found, list) or not all(isinstance(table, dict) for table in found):
            self.faults.add(f"Model: {kind} is {found!r:.60}, expected tables [[{kind}]].")
            return
        needs, takes = self.tables[kind]
        for i, table in enumerate(found):
            label = next(
                (v for k in ("name", "speed", "marker", "coordinate") if isinstance(v := table.get(k), str)), ""
            )
            what = f"{titled(kind)} {label!r}" if label else f"{titled(kind)} number {i + 1}"
            self.keys(table, what, needs, takes)
            if kind in ("body", "marker") or all(key in table for key in needs):
                yield table

    # bodies

    def _body(self, build: Builder, table: dict[str, Any], i: int) -> None:
        name = self.word(table, "name", f"Body number {i + 1}", f"body {i + 1}")
        what = f"Body {name!r}"
        made = None
        if "joint" in table:
            with self.faults.caught():
                made = read_joint(table["joint"], self, name)
        flexible = None
        with self.faults.caught(), ours(what):
            flexible = read_flexible(table, self, what)
        deforms = any(key in table for key in FLEXIBLE)
        if "mass" not in table and not deforms:
            self.faults.add(f"{what}: mass is missing. Give mass = ...")
        self.complete = self.complete and made is not None and deforms == (flexible is not None)
        zero = zeros(3)
        welded = table.get("welded")
        build.body(
            name,
            joint=made or named.revolute(name=f"joint of body {i + 1}"),
            parent=self.word(table, "parent", what, WORLD),
            mass=self.either(const(0), self.quantity, table.get("mass", 0), f"{what}: mass"),
            at=self.either(zero, self.vector, table.get("at", _ORIGIN), f"{what}: at"),
            rotation=self.either(None, self.rotation, table, what),
            com=self.either(zero, self.vector, table.get("com", _ORIGIN), f"{what}: com"),
            inertia=self.either(zero, self.inertia, table.get("inertia", [0, 0, 0]), f"{what}: inertia"),
            flexible=flexible,
        )
        if self.flag(table, "rotor", what, False):
            build.bodies[-1] = replace(build.bodies[-1], rotor=True)
        if welded is not None:
            with self.faults.caught():
                build.bodies[-1] = replace(build.bodies[-1], welded=self._welded(welded, f"{what}: welded"))

    def _welded(self, table: Any, what: str) -> Inertia:
        if not isinstance(table, dict):
            raise fault(f"{what} is {table!r:.60}, expected a table with mass, moment and inertia.")
        needs = ("mass", "moment", "inertia")
        self.keys(table, what, needs, ())
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
            at=self.either(zeros(3), self.vector, table.get("at", _ORIGIN), f"{what}: at"),
            rotation=self.either(None, self.rotation, table, what),
        )

    def _order(self, parts: list[Any], data: dict[str, Any], kind: str) -> None:
        """Put the forces or constraints in the order of their names."""
        key = f"{kind}_order"
        if key not in data or self.faults.found:
            return
        names = self.words(data[key], f"Model: {key}")
        if sorted(names) != sorted(part.name for part in parts):
            self.faults.add(f"Model: {key} does not name every {kind} once. Correct it, or leave it out.")
        else:
            place = {name: i for i, name in enumerate(names)}
            parts.sort(key=lambda part: place[part.name])


def _about_joints(part: Element) -> bool:
    return isinstance(part, Relation) or bool(part.uses("coordinate") or part.uses("speed"))


def _names(tables: Any, having: str = "name") -> list[str]:
    """The names that tables give, of those with a key, whatever else is wrong with them."""
    rows = (
        [table for table in tables if isinstance(table, dict) and having in table] if isinstance(tables, list) else []
    )
    return [name for table in rows if isinstance(name := table.get("name"), str)]


def _turning(motors: Any) -> list[str]:
    """The names of rotors, and of shafts of stages, that motors may have."""
    found = _names(motors)
    rows = [table for table in motors if isinstance(table, dict)] if isinstance(motors, list) else []
    staged = [(table.get("name"), stages) for table in rows if isinstance(stages := table.get("stages"), list)]
    return found + [shaft_name(name, i) for name, stages in staged if name in found for i in range(1, len(stages) + 1)]
