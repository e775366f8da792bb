"""Switches of a run: those of its model, and those that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.graph import Expr, evaluate, free_symbols, substitute, symbol
from polhode.model import At, Model, When, at, when
from polhode.model.errors import closest

__all__ = ["At", "Guard", "When", "at", "checked_switches", "guards_of", "undefined", "when"]


@dataclass(frozen=True, slots=True)
class Guard:
    """One of what a switch waits for.

    value, way : what passes 0, and the way in which that counts; a comparison becomes true on its way up
    first      : the place of the first guard of its switch among those of all
    """

    switch: When
    value: Expr
    way: int
    first: int


def guards_of(switches: Sequence[At | When], eq: Equations) -> list[Guard]:
    """What the switches of a run wait for, each comparison of a condition by itself."""
    found: list[Guard] = []
    for switch in switches:
        if isinstance(switch, When):
            _check_names(switch, eq)
            first = len(found)
            values = [(substitute(value, eq.kinematics.quasi), way) for value, way in switch.guards()]
            found += [Guard(switch, value, way, first) for value, way in values]
    return found


def _check_names(switch: When, eq: Equations) -> None:
    value = substitute(switch.value, eq.kinematics.quasi)
    known = {*eq.q, *eq.u, *eq.z, eq.t, *eq.parameters}
    if unknown := sorted(str(s.value) for s in free_symbols(value) - known):
        raise ValueError(
            f"{switch}: {unknown[0]!r} is none of the coordinates, speeds, states, parameters and t of the model. "
            f"{closest(unknown[0], sorted(str(s.value) for s in known))}"
        )
    if not free_symbols(value) & {*eq.q, *eq.u, *eq.z, eq.t}:
        raise ValueError(f"{switch}: nothing in it changes, so it never happens.")


def undefined(switches: Sequence[At | When], dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> str | None:
    """Say what a switch waits for that is not finite at a state; None where all is."""
    eq = dynamics.equations
    state = dict(zip((*eq.q, *eq.u, *eq.z), x.tolist(), strict=False))
    folded = {s: float(e) for s, e in dynamics.values.items()}
    given = state | folded | {eq.t: t} | dict(zip(map(symbol, dynamics.parameters), p.tolist(), strict=False))
    for guard in guards_of(switches, eq):
        with np.errstate(all="ignore"):
            found = float(evaluate(guard.value, given))
        if not np.isfinite(found):
            at_it = [f"{s} = {given[s]:.6g}" for s in sorted(free_symbols(guard.value), key=str)]
            return f"{guard.switch}: it is {found} at t = {t:.6g} s, where {', '.join(at_it[:6])}"
    return None


def check_laws(model: Model) -> None:
    """Refuse laws that time-stepping does not have."""
    for c in model.candidates:
        if getattr(c, "restitution_law", "newton") == "poisson":
            raise ValueError(
                f"{c.what}: its restitution is Poisson's, which method 'moreau' does not have. Use another method, or "
                'declare it with restitution_law="newton".'
            )


def checked_switches(given: Any) -> list[At | When]:
    """What a run was given as switches."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    for switch in found:
        if not isinstance(switch, (At, When)):
            raise TypeError(f"switches has {switch!r:.60}, expected at(...) and when(...).")
    return found
