"""Values in TOML tables: words, flags, quantities and vectors, with their faults collected."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from typing import Any

from polhode.graph import Expr, Matrix, symbol
from polhode.model import Faults, ModelError, Nodal, values
from polhode.model.errors import fault
from polhode.model.expression import parse
from polhode.spatial import Mesh

_LARGEST = 1e300  # of a number in a file


def _no_files(name: str, what: str) -> Nodal:
    raise fault(
        f"{what}: file {name!r}: text alone has no files beside it. Load the model from a file, with load(path)."
    )


def _as_named(name: str, what: str) -> str:
    return name


class Values:
    """Reads values.

    names   : those that expressions may use
    checked : parts of expressions that were found in order
    arrays  : finds the flexible body of a file by its name, for the object that `what` names
    surface : finds the mesh of a file by its name, or where it is
    """

    def __init__(self, faults: Faults, like: Values | None = None) -> None:
        self.faults = faults
        self.names: dict[str, Expr] = {} if like is None else like.names
        self.checked: set[Expr] = set() if like is None else like.checked
        self.arrays: Callable[[str, str], Nodal] = _no_files if like is None else like.arrays
        self.surface: Callable[[str, str], Mesh | str] = _as_named if like is None else like.surface

    def keys(self, table: dict[str, Any], what: str, needs: Iterable[str], takes: Collection[str]) -> None:
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

    def either(self, stand_in: Any, read: Callable[..., Any], value: Any, what: str) -> Any:
        """What read(value, what) gives, or the stand-in with its fault noted."""
        with self.faults.caught(), ours(what):
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

    def quantity(self, value: Any, what: str, own: Iterable[str] = ()) -> Expr:
        """Read a number or an expression; `own` are names that are symbols in it alone."""
        if isinstance(value, str):
            names = self.names | {name: symbol(name) for name in own} if own else self.names
            return parse(value, names, what, self.checked)
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


def printable(name: str) -> bool:
    return bool(name.strip()) and name.isprintable()


def axis_text(entries: list[Expr]) -> Any:
    """An axis by its letter, if it has one."""
    for k, letter in enumerate("xyz"):
        for sign, prefix in ((1, ""), (-1, "-")):
            if all(e == (sign if i == k else 0) for i, e in enumerate(entries)):
                return prefix + letter
    return entries


@contextmanager
def ours(what: str) -> Iterator[None]:
    """Make a fault of any arithmetic that fails on odd numbers."""
    try:
        yield
    except ModelError:
        raise
    except (ArithmeticError, TypeError, ValueError) as error:
        raise fault(f"{what} cannot be made: {error}. Look for numbers that are too large, or undefined.") from None
