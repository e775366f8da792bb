"""Elements: forces, constraints and states, each declared once.

An element is one class. Its fields say what they are; its checks, the method of the builder, TOML both
ways, renaming and printing follow:

    @element
    class Band(Force):
        \"""Pull two markers together.\"""

        table = "band"
        named = "band {a} {b}"

        name: str
        ends: tuple[str, str] = fields.markers()
        tension: Expr = fields.scalar(least=0)

and then build.band("tip", "world", tension=2), [[band]] in TOML. What it does to a machine is for
`kinematics` and `formulations` to say.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, is_dataclass, replace
from dataclasses import fields as dataclass_fields
from inspect import Parameter, Signature
from typing import Any, ClassVar, Self, TypeVar, dataclass_transform

from polhode.graph import Expr, Matrix, free_symbols, substitute

from . import fields
from .errors import ModelError, closest, fault
from .fields import Spec


class Element:
    """A force, a constraint or a state; subclasses say what it holds.

    table      : its table in TOML, and its method of the builder unless `call` is another
    named      : what it is called where no name is given, of its arguments; "" if one must be
    title      : what messages call it
    positional : how many arguments go by position; None for all
    depends    : what to say of a constant that varies with {}
    """

    __slots__ = ()
    table: ClassVar[str] = ""
    call: ClassVar[str] = ""
    named: ClassVar[str] = ""
    title: ClassVar[str] = ""
    positional: ClassVar[int | None] = None
    depends: ClassVar[str] = " depends on {}, expected constants."
    specs: ClassVar[dict[str, Spec]] = {}  # what each field holds
    signature: ClassVar[Signature]  # how the builder's method is called

    name: str

    @property
    def what(self) -> str:
        """How messages begin."""
        return f"{self.title} {self.name!r}"

    def held(self) -> dict[str, Any]:
        """What its fields hold."""
        return {name: getattr(self, name) for name in self.specs}

    def expressions(self) -> list[Expr]:
        """Every expression of its fields."""
        return [e for name, value in self.held().items() for e in self.specs[name].entries(value)]

    def uses(self, kind: str) -> list[str]:
        """The markers, coordinates or speeds it refers to."""
        return [used for name, value in self.held().items() for used in self.specs[name].refers(value, kind)]

    def between(self) -> tuple[str, ...]:
        """The frames it acts between."""
        return tuple(self.uses("marker"))

    def renamed(self, names: Mapping[str, str], kind: str) -> Self:
        """The same with other names of markers, coordinates or speeds."""
        new = {name: self.specs[name].renamed(old, kind, names) for name, old in self.held().items()}
        return replace(self, **new)  # type: ignore[type-var]  # subclasses are dataclasses

    def faults(self) -> Iterator[str]:
        """What is wrong with it by itself."""
        held = self.held()
        for name, spec in self.specs.items():
            if spec.kind == "axis" and free_symbols(held[name]):
                yield f"{self.what}: its {name} has symbols, expected numbers. Turn the marker instead."
            if spec.kind == "scalar" and spec.belongs(held) and (wrong := spec.outside(held[name])):
                yield f"{self.what}: {name} is {wrong}."

    def missing(self, known: Mapping[str, Iterable[str]]) -> Iterator[str]:
        """What it refers to that does not exist, of known names by kind."""
        for kind, names in known.items():
            for name in self.uses(kind):
                if name not in names:
                    remedy = closest(name, names)
                    if kind == "joint" and name in known.get("coordinate", ()):
                        remedy = f"It is a coordinate, which constraint({name!r}) holds at 0."
                    yield f"{self.what}: {kind} {name!r} does not exist. {remedy}"

    def described(self) -> str:
        """What it is and what it is about, in a few words; nothing where the name says it."""
        about = [name for kind in fields.NAMES for name in self.uses(kind)]
        return f"{self.table.replace('_', ' ')} {', '.join(about)}".rstrip()

    def stands_for(self) -> Element:
        """What a model keeps of it: itself, unless it is short for something else."""
        return self


class Force(Element):
    """What acts on a machine, apart from gravity and its joints."""

    __slots__ = ()

    def described(self) -> str:
        return ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Constraint(Element):
    """What a machine keeps while it moves.

    active : whether it holds from the start; simulations engage and release it
    law    : "equal" for what stays 0 while it holds; others may let go by themselves
    """

    title = "Constraint"
    law: ClassVar[str] = "equal"
    active: bool = fields.flag(True)
    depends = ": its numbers depend on {}, expected constants. Write it as an expression that stays 0."

    @property
    def rows(self) -> int:
        """How many equations it has, whether or not they are independent."""
        return 1

    @property
    def holds(self) -> bool:
        """Whether it holds as declared, whatever the motion; the others are candidates."""
        return self.active and self.law == "equal"


ELEMENTS: dict[str, type[Element]] = {}  # by table

_Class = TypeVar("_Class", bound=type)


@dataclass_transform(kw_only_default=True, frozen_default=True)
def element(kind: _Class) -> _Class:
    """Declare an element: make it a dataclass, known to the builder and the formats."""
    made: Any = dataclass(frozen=True, slots=True, kw_only=True)(kind)
    made.title = made.title or titled(made.table)
    bases = sorted(made.__mro__, key=lambda base: issubclass(base, (Force, Constraint)))
    owners = [vars(base).get("__annotations__", {}) for base in bases]  # what it is about, its own, what it inherits
    own = sorted(dataclass_fields(made), key=lambda f: [f.name in names for names in owners].index(True))
    made.specs = {f.name: f.metadata["spec"] for f in own if "spec" in f.metadata}
    made.signature = _signature(made)
    ELEMENTS[made.table] = made
    return made  # type: ignore[no-any-return]


def titled(table: str) -> str:
    """A table as a word of a message."""
    return table.replace("_", " ").capitalize()


def _signature(kind: type[Element]) -> Signature:
    """How the builder's method is called."""
    found = [(arg, spec) for name, spec in kind.specs.items() for arg in spec.args or (name,)]
    rows = [
        (arg, None if s.when or s.optional else Parameter.empty if s.usual is None else s.usual) for arg, s in found
    ]
    rows = [*rows, ("name", "")] if kind.named else [("name", Parameter.empty), *rows]
    rows.sort(key=lambda row: row[0] == "active")  # the last, after the name
    many = len(rows) if kind.positional is None else kind.positional
    optional = next((i for i, (_, usual) in enumerate(rows) if usual is not Parameter.empty), many)
    many = min([many, *(i for i, (_, usual) in enumerate(rows) if i > optional and usual is Parameter.empty)])
    ways = [Parameter.POSITIONAL_OR_KEYWORD] * many + [Parameter.KEYWORD_ONLY] * (len(rows) - many)
    return Signature([Parameter(arg, way, default=usual) for (arg, usual), way in zip(rows, ways, strict=True)])


def make(kind: type[Element], given: Mapping[str, Any]) -> Element:
    """An element from the arguments of the builder's method and a name."""
    what, held = f"{kind.title} {given['name']!r}", {}
    if not isinstance(given["name"], str):
        raise fault(f"{what}: name is {given['name']!r:.60}, expected the name as text.")
    for name, spec in kind.specs.items():
        value = tuple(given[arg] for arg in spec.args) if spec.args else given[name]
        if spec.when is not None:
            if (value is not None) != spec.belongs(given):
                said = f"has no {name}" if value is None else f"has a {name}"
                choice, word = spec.when
                raise fault(f'{what}: {said}, expected one for {choice} "{word}" and for no other.')
            value = spec.usual if value is None else value
        held[name] = spec.made(value, f"{what}: {name}")
    made = kind(name=given["name"], **held)  # type: ignore[call-arg]  # a dataclass
    if wrong := list(made.faults()):
        raise ModelError(wrong)
    return made


def with_values(part: Any, values: Mapping[Any, Expr]) -> Any:
    """A part of a model with values put into every expression of it."""
    if isinstance(part, (Expr, Matrix)):
        return substitute(part, values)  # type: ignore[type-var]  # one or the other
    if isinstance(part, tuple):
        return tuple(with_values(e, values) for e in part)
    if is_dataclass(part) and not isinstance(part, type):
        return replace(part, **{f.name: with_values(getattr(part, f.name), values) for f in dataclass_fields(part)})
    return part
