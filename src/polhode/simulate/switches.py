"""Switches of a run: at a time, or when something happens."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Equations
from polhode.graph import Expr, free_symbols
from polhode.model import Model
from polhode.model.expression import parse

from .asked import is_number

Names = str | Iterable[str]


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
    """A switch when an expression passes 0; make one with `when`."""

    value: Expr | str
    direction: int = 0
    engage: tuple[str, ...] = ()
    release: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"when {str(self.value).splitlines()[0]:.60}"


def at(time: float, *, engage: Names = (), release: Names = ()) -> At:
    """Engage and release constraints at a time."""
    if not (is_number(time) and np.isfinite(time)):
        raise ValueError(f"at: time is {time!r:.60}, expected seconds.")
    return At(float(time), _names(engage), _names(release))


def when(value: Any, direction: int = 0, *, engage: Names = (), release: Names = ()) -> When:
    """Engage and release constraints when an expression passes 0; with until=, end a run.

    value     : an expression of q, u, z, t and parameters, or its text; "theta > 1" is theta - 1 on its way up
    direction : +1 on its way up, -1 on its way down, 0 both
    """
    if direction not in (-1, 0, 1):
        raise ValueError(f"when: direction is {direction!r:.60}, expected +1, -1 or 0.")
    if not isinstance(value, (Expr, str)):
        raise TypeError(f'when: {value!r:.60}, expected an expression, or its text such as "theta > 1".')
    return When(value, direction, _names(engage), _names(release))


def guard_of(switch: When, eq: Equations) -> tuple[Expr, int]:
    """The expression of a switch, and the way in which it counts; a comparison becomes true on its way up."""
    known = {*eq.q, *eq.u, *eq.z, eq.t, *eq.parameters}
    value = switch.value
    if isinstance(value, str):
        names, what = {str(s.value): s for s in known}, f"when {value!r:.60}"
        compares = "<" in value or ">" in value
        value = parse(f"select({value}, 1, 0)", names, what).args[0] if compares else parse(value, names, what)
    if unknown := sorted(str(s) for s in free_symbols(value) - known):
        raise ValueError(
            f"{switch}: {unknown[0]!r} is none of the coordinates, speeds, states, parameters and t of the model."
        )
    if not free_symbols(value) & {*eq.q, *eq.u, *eq.z, eq.t}:
        raise ValueError(f"{switch}: nothing in it changes, so it never happens.")
    if value.op in ("lt", "le"):
        below, above = value.args
        return above - below, 1
    return value, switch.direction


def check_laws(model: Model) -> None:
    """Refuse laws that time-stepping does not have."""
    for c in model.candidates:
        if getattr(c, "restitution_law", "newton") == "poisson":
            raise ValueError(
                f"{c.what}: its restitution is Poisson's, which method 'moreau' does not have. Use another method, or "
                'declare it with restitution_law="newton".'
            )


def _names(given: Names) -> tuple[str, ...]:
    return (given,) if isinstance(given, str) else tuple(given)


def checked_switches(given: Any) -> list[At | When]:
    """What a run was given as switches."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    for switch in found:
        if not isinstance(switch, (At, When)):
            raise TypeError(f"switches has {switch!r:.60}, expected at(...) and when(...).")
    return found
