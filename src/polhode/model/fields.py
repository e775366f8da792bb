"""What the fields of an element hold: names, numbers, directions, choices."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from dataclasses import field as _field
from os import PathLike
from pathlib import Path
from typing import Any

from polhode.graph import Expr, free_symbols, symbol
from polhode.spatial import Mesh

from . import stages as staged
from . import values as read
from .errors import closest, fault

KNOWN_MESHES = ("box", "sphere", "cylinder")  # need no file: of edges 1; of radius 1; of radius 1 and length 1
_COLOR = re.compile(r"#[0-9a-fA-F]{6}([0-9a-fA-F]{2})?")
NAMES = ("marker", "coordinate", "speed", "joint")  # kinds of fields that refer to something of the model


@dataclass(frozen=True, slots=True, kw_only=True)
class Spec:
    """What a field holds.

    kind         : "marker", "coordinate", "speed", "joint", "scalar", "vector", "axis", "choice" or "flag";
                   "weights" for names of speeds with a number or an expression each, "values" for other names;
                   "stages" of a transmission; "points", three numbers or expressions each; "mesh" and "color"
    usual        : value where none is given; None where one must be
    optional     : nothing need be given, and then there is none
    args         : what the builder calls the members of a pair
    key          : what TOML calls it, if not as the field
    least, above : bounds of a number
    most         : beside `least`, the largest
    of           : what an expression may depend on: "constants", "coordinates" or "anything"
    options      : of a choice
    when         : the choice (field, value) that the field belongs to; it has no meaning for others
    own          : symbols that mean something in this expression alone, as x and y of a height
    """

    kind: str
    usual: Any = None
    optional: bool = False
    args: tuple[str, ...] = ()
    key: str = ""
    least: float | None = None
    above: float | None = None
    most: float | None = None
    of: str = "constants"
    options: tuple[str, ...] = ()
    when: tuple[str, str] | None = None
    own: tuple[str, ...] = ()

    def made(self, value: Any, what: str) -> Any:
        """What the field holds, from what a user gave."""
        if value is None and self.optional:
            return None
        match self.kind:
            case "scalar":
                return read.scalar(value, what)
            case "vector":
                return read.entries(value, 3, what)
            case "axis":
                return read.axis(value, what)
            case "weights" | "values":
                return _weights(value, what)
            case "stages":
                return staged.made(value, what)
            case "points":
                if isinstance(value, str) or not isinstance(value, Iterable):
                    raise fault(f"{what} is {value!r:.60}, expected points: [[0, 0, 0], [1, 0, 0]].")
                return tuple(read.entries(point, 3, f"{what}, number {i}") for i, point in enumerate(value, 1))
            case "mesh":
                return read_surface(value, what)
            case "color" if not isinstance(value, str) or (value and not _COLOR.fullmatch(value)):
                raise fault(
                    f'{what} is {value!r:.60}, expected red, green and blue as "#ff8800", with "80" for half seen.'
                )
            case "choice" if value not in self.options:
                if len(self.options) > 3:
                    raise fault(f"{what} {value!r:.60} is unknown. {closest(value, self.options)}")
                known = " or ".join(f'"{option}"' for option in self.options)
                raise fault(f"{what} is {value!r:.60}, expected {known}.")
            case "flag" if not isinstance(value, bool):
                raise fault(f"{what} is {value!r:.60}, expected true or false.")
            case "marker" | "coordinate" | "speed" | "joint":
                wrong = [name for name in (value if self.args else (value,)) if not isinstance(name, str)]
                if wrong:
                    raise fault(f"{what} is {wrong[0]!r:.60}, expected the name as text.")
        return value

    def entries(self, value: Any) -> list[Expr]:
        """The expressions of what the field holds."""
        if value is None:
            return []
        if self.kind in ("weights", "values"):
            return [e for _, e in value]
        if self.kind == "stages":
            return [e for stage in value for e in stage.expressions()]
        if self.kind == "points":
            return [e for point in value for e in point]
        if self.own:
            return sorted(free_symbols(value) - {symbol(name) for name in self.own}, key=str)
        return [value] if self.kind == "scalar" else list(value) if self.kind in ("vector", "axis") else []

    def refers(self, value: Any, kind: str) -> tuple[str, ...]:
        """The names of one kind that the field has of what it holds."""
        if self.kind == "weights" and kind == "speed":
            return tuple(name for name, _ in value)
        if self.kind != kind or value is None:
            return ()
        return (value,) if isinstance(value, str) else tuple(value)

    def renamed(self, value: Any, kind: str, names: Mapping[str, str]) -> Any:
        """What the field holds, with other names of one kind."""
        if not self.refers(value, kind):
            return value
        if self.kind == "weights":
            return tuple((names.get(name, name), e) for name, e in value)
        return names.get(value, value) if isinstance(value, str) else tuple(names.get(e, e) for e in value)

    def belongs(self, others: Mapping[str, Any]) -> bool:
        """Whether the field has a meaning beside the others."""
        return self.when is None or others[self.when[0]] == self.when[1]

    def outside(self, e: Expr | None) -> str | None:
        """Say how a number is beyond its bounds."""
        x = None if e is None else e.number
        if x is not None and self.most is not None and not self.least <= x <= self.most:  # type: ignore[operator]
            return f"{x:g}, expected a number from {self.least:g} to {self.most:g}"
        if x is not None and self.least is not None and x < self.least:
            return f"{x:g}, expected {self.least:g} or more"
        if x is not None and self.above is not None and not x > self.above:
            return f"{x:g}, expected more than {self.above:g}"
        return None


def read_surface(value: Any, what: str) -> Mesh | str:
    """A mesh as it is, from its vertices and triangles, or the name of a file."""
    if isinstance(value, Mesh) or (isinstance(value, str) and value in KNOWN_MESHES):
        return value
    if isinstance(value, PathLike) or (isinstance(value, str) and value.strip() and "\0" not in value):
        return str(Path(value).absolute())
    if not isinstance(value, tuple | list) or len(value) != 2:
        raise fault(f"{what} is {value!r:.60}, expected a file, or vertices and triangles: (vertices, triangles).")
    try:
        return Mesh(*value)
    except ValueError as error:
        raise fault(f"{what}: {str(error).removeprefix('Mesh: ')}") from None


def _weights(value: Any, what: str) -> tuple[tuple[str, Expr], ...]:
    """Names with a number or an expression each."""
    if not isinstance(value, Mapping):
        raise fault(f'{what} is {value!r:.60}, expected names with numbers: {{"hip_dot": 1}}.')
    for name in value:
        if not isinstance(name, str):
            raise fault(f"{what} names {name!r:.60}, expected the name as text.")
    return tuple((name, read.scalar(e, f"{what} of {name!r}")) for name, e in value.items())


def _spec(kind: str, **options: Any) -> Any:
    return _field(metadata={"spec": Spec(kind=kind, **options)})


def marker(usual: str | None = None, optional: bool = False) -> Any:
    """A marker, or a body's own frame."""
    return _spec("marker", usual=usual, optional=optional)


def markers(*args: str) -> Any:
    """Two markers, which the builder calls a and b."""
    return _spec("marker", args=args or ("a", "b"), key="between")


def coordinate() -> Any:
    """The name of a coordinate."""
    return _spec("coordinate")


def joint() -> Any:
    """The name of a joint, or of the body on it."""
    return _spec("joint")


def speed() -> Any:
    """The name of a speed."""
    return _spec("speed")


def speeds(*args: str) -> Any:
    """Two speeds, which the builder calls a and b."""
    return _spec("speed", args=args or ("a", "b"), key="between")


def weights(of: str = "anything") -> Any:
    """Speeds with a number or an expression each; none where none are given."""
    return _spec("weights", usual={}, of=of)


def values() -> Any:
    """Names of anything with a number each; none where none are given."""
    return _spec("values", usual={})


def stages() -> Any:
    """Stages of a transmission; none where none are given."""
    return _spec("stages", usual=())


def scalar(usual: Any = None, **options: Any) -> Any:
    """A number or an expression; with bounds `least` or `above`, `of` what it may depend on, or `when` it applies."""
    return _spec("scalar", usual=usual, **options)


def vector(usual: Any = (0, 0, 0), of: str = "anything") -> Any:
    """Three numbers or expressions."""
    return _spec("vector", usual=usual, of=of)


def points(usual: Any = None) -> Any:
    """Places, of three numbers or expressions each."""
    return _spec("points", usual=usual)


def surface() -> Any:
    """A mesh, the name of a file that has one, or of a body that everybody knows; none where none is given."""
    return _spec("mesh", optional=True)


def color() -> Any:
    """A colour as "#rrggbb" or "#rrggbbaa"; "" for none."""
    return _spec("color", usual="")


def axis(usual: str) -> Any:
    """A direction of length 1, in numbers."""
    return _spec("axis", usual=usual)


def choice(options: Iterable[str], usual: str) -> Any:
    """One of several words."""
    return _spec("choice", usual=usual, options=tuple(options))


def flag(usual: bool) -> Any:
    """True or false."""
    return _field(default=usual, metadata={"spec": Spec(kind="flag", usual=usual)})


def short(e: Expr) -> str:
    """An expression in print, numbers with six digits."""
    return f"{float(e.value):.6g}" if e.op == "const" else str(e)


def cut(e: object, most: int = 60) -> str:
    """Text in a line, its end left out where it is long."""
    first, *more = str(e).splitlines() or [""]
    return f"{first[: most - 4]} ..." if more or len(first) > most else first
