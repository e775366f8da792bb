"""Switches: what engages and releases constraints, at a time or when something happens."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from polhode.graph import Expr

from .errors import fault
from .expression import Symbols, parse
from .fields import cut, short

Names = str | Iterable[str]
_COMPARED, _ALL = ("lt", "le"), ("mul", "pow")


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
    """A switch when an expression passes 0, or when a condition becomes true; make one with `when`.

    text : as it was written, for messages
    """

    value: Expr
    direction: int = 0
    engage: tuple[str, ...] = ()
    release: tuple[str, ...] = ()
    name: str = ""
    text: str = field(default="", compare=False, repr=False)

    def __str__(self) -> str:
        return self.name or f"when {cut(self.text or _shown(self.value))}"

    def guards(self) -> list[tuple[Expr, int]]:
        """What passes 0, and the way in which that counts: +1 up, -1 down, 0 both.

        Of a condition, what is above 0 where a comparison in it is true, of each: only as one of them becomes true
        can the condition do so. Each is looked for by itself, so that a step may pass all of them.
        """
        if not is_condition(self.value):
            return [(self.value, self.direction)]
        return [(margin, 1) for margin in dict.fromkeys(_comparisons(self.value))]

    def holds(self, above: Sequence[bool]) -> bool:
        """Whether a condition is true where these of its comparisons are, in the order of `guards`."""
        known = dict(zip((margin for margin, _ in self.guards()), above, strict=True))
        return _holds(self.value, known)


Switch = At | When


def at(time: float, *, engage: Names = (), release: Names = ()) -> At:
    """Engage and release constraints at a time.

    >>> at(2.0, engage="brake")
    At(time=2.0, engage=('brake',), release=())
    """
    if isinstance(time, bool) or not isinstance(time, (int, float)) or not math.isfinite(time):
        raise fault(f"at: time is {time!r:.60}, expected seconds.")
    made = At(float(time), _names(engage, "at: engage"), _names(release, "at: release"))
    _refuse_both(made)
    return made


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
    text = ""
    if isinstance(value, str):
        text, value = " ".join(value.split()), parse(value, names, "when", condition=True)
    if isinstance(direction, bool) or direction not in (-1, 0, 1):
        raise fault(f"when: direction is {direction!r:.60}, expected +1, -1 or 0.")
    made = When(value, direction, _names(engage, "when: engage"), _names(release, "when: release"), text=text)
    _refuse_both(made)
    if is_condition(value):
        made.guards()
        if direction == -1:
            raise fault(f"{made}: a comparison counts as it becomes true. Turn it round, or leave out direction=-1.")
    return made


def _refuse_both(switch: Switch) -> None:
    if both := [name for name in switch.engage if name in switch.release]:
        raise fault(f"{switch}: engages and releases {both[0]!r}, expected one of the two.")


def _names(given: Any, what: str) -> tuple[str, ...]:
    found = (given,) if isinstance(given, str) else tuple(given) if isinstance(given, (list, tuple)) else None
    if found is None or not all(isinstance(name, str) and name for name in found):
        raise fault(f"{what} is {given!r:.60}, expected names of constraints.")
    return found


# conditions, as the graph writes them: and is a product, or a power, or a maximum, not is a comparison with 0


def is_condition(e: Expr) -> bool:
    """Whether an expression is a comparison, or several that are joined by and, or, not."""
    if e.op in (*_ALL, "max"):
        return all(map(is_condition, e.args))
    return e.op in (*_COMPARED, "eq")


def _inner(e: Expr) -> Expr:
    """What `not` stands before."""
    inner = next((a for a, b in (e.args, e.args[::-1]) if b == 0 and is_condition(a)), None)
    if inner is None:
        left, right = map(short, e.args)
        raise fault(f"when: {left} == {right} holds for no time at all. Write what passes 0: {right} - ({left}).")
    return inner


def _margin(e: Expr, turned: bool) -> Expr:
    """What is above 0 where a comparison is true, or where it is not."""
    return e.args[0] - e.args[1] if turned else e.args[1] - e.args[0]


def _comparisons(e: Expr, turned: bool = False) -> list[Expr]:
    """The margins of all comparisons of a condition; those after `not` are turned round."""
    if e.op in _COMPARED:
        return [_margin(e, turned)]
    if e.op == "eq":
        return _comparisons(_inner(e), not turned)
    return [margin for arg in e.args for margin in _comparisons(arg, turned)]


def _holds(e: Expr, above: Mapping[Expr, bool], turned: bool = False) -> bool:
    """Whether a condition, or its contrary, is true where some margins are above 0."""
    if e.op in _COMPARED:
        return above[_margin(e, turned)]
    if e.op == "eq":
        return _holds(_inner(e), above, not turned)
    found = [_holds(arg, above, turned) for arg in e.args]
    return all(found) if (e.op in _ALL) != turned else any(found)


def _shown(e: Expr) -> str:
    if e.op in _COMPARED:
        a, b = (short(arg).splitlines()[0] for arg in e.args)
        equal = "=" * (e.op == "le")
        return f"{b} >{equal} {a}" if e.args[0].op == "const" else f"{a} <{equal} {b}"
    if not is_condition(e):
        return str(e).splitlines()[0]
    if e.op == "eq":
        return f"not ({_shown(_inner(e))})"
    word = " and " if e.op in _ALL else " or "
    return word.join(f"({_shown(arg)})" if e.op in _ALL and arg.op == "max" else _shown(arg) for arg in e.args)
