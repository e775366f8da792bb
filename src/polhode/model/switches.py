"""Switches: what engages and releases constraints, at a time or when something happens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from polhode.graph import Expr, maximum, minimum

from .errors import fault
from .expression import Symbols, parse
from .fields import short

Names = str | Iterable[str]
_COMPARED = ("lt", "le")


@dataclass(frozen=True, slots=True)
class At:
    """A switch at a time; make one with `at`."""

    time: float
    engage: tuple[str, ...] = ()
    release: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"at {self.time:g} s"


@dataclass(frozen=True, slots=True)
class When:
    """A switch when an expression passes 0, or when a comparison becomes true; make one with `when`."""

    value: Expr
    direction: int = 0
    engage: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    name: str = ""

    def __str__(self) -> str:
        return self.name or f"when {_shown(self.value):.60}"

    def guard(self) -> tuple[Expr, int]:
        """What passes 0, and the way in which that counts: +1 up, -1 down, 0 both."""
        if not is_condition(self.value):
            return self.value, self.direction
        return _margin(self.value), 1


Switch = At | When


def at(time: float, *, engage: Names = (), release: Names = ()) -> At:
    """Engage and release constraints at a time.

    >>> at(2.0, engage="brake")
    At(time=2.0, engage=('brake',), release=())
    """
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time):
        raise fault(f"at: time is {time!r:.60}, expected seconds.")
    return At(float(time), _names(engage, "at: engage"), _names(release, "at: release"))


def when(value: Any, direction: int = 0, *, engage: Names = (), release: Names = (), name: str = "") -> When:
    """Engage and release constraints when an expression passes 0; with until=, end a run.

    value     : an expression of q, u, z, t and parameters, or its text; or comparisons, which count as they become
                true: "theta > 1", "theta > 1 and theta_dot < 0"
    direction : of an expression, +1 on its way up, -1 on its way down, 0 both
    name      : what events say of it, instead of the expression
    """
    if not isinstance(name, str):
        raise fault(f"when: name is {name!r:.60}, expected text.")
    return replace(read_when(value, direction, engage, release, Symbols()), name=name)


def read_when(value: Any, direction: Any, engage: Any, release: Any, names: Mapping[str, Expr]) -> When:
    """Do as `when` does, with text of the names that are given."""
    if not isinstance(value, (Expr, str)):
        raise fault(f'when: {value!r:.60}, expected an expression, or its text such as "theta > 1".')
    if isinstance(value, str):
        value = parse(value, names, "when", condition=True)
    if isinstance(direction, bool) or direction not in (-1, 0, 1):
        raise fault(f"when: direction is {direction!r:.60}, expected +1, -1 or 0.")
    made = When(value, direction, _names(engage, "when: engage"), _names(release, "when: release"))
    if is_condition(value):
        made.guard()
        if direction == -1:
            raise fault(f"{made}: a comparison counts as it becomes true. Turn it round, or leave out direction=-1.")
    return made


def _names(given: Any, what: str) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else None
    if found is None or not all(isinstance(name, str) and name for name in found):
        raise fault(f"{what} is {given!r:.60}, expected names of constraints.")
    return found


# conditions, as the graph writes them: and is a product, or a maximum, not is a comparison with 0


def is_condition(e: Expr) -> bool:
    """Whether an expression is a comparison, or several that are joined by and, or, not."""
    if e.op in ("mul", "max"):
        return all(map(is_condition, e.args))
    return e.op in (*_COMPARED, "eq")


def _margin(e: Expr) -> Expr:
    """What is above 0 where a condition is true."""
    if e.op in _COMPARED:
        return e.args[1] - e.args[0]
    if e.op == "eq":
        inner = next((a for a, b in (e.args, e.args[::-1]) if b == 0 and is_condition(a)), None)
        if inner is None:
            left, right = map(short, e.args)
            raise fault(f"when: {left} == {right} holds for no time at all. Write what passes 0: {right} - ({left}).")
        return -_margin(inner)
    a, b = map(_margin, e.args)
    return minimum(a, b) if e.op == "mul" else maximum(a, b)


def _shown(e: Expr) -> str:
    if e.op in _COMPARED:
        a, b = (short(arg).splitlines()[0] for arg in e.args)
        equal = "=" * (e.op == "le")
        return f"{b} >{equal} {a}" if e.args[0].op == "const" else f"{a} <{equal} {b}"
    return str(e).splitlines()[0]
