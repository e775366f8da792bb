"""Switches of a run: those of its model, and those that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.graph import Expr, evaluate, free_symbols, substitute, symbol
from polhode.model import At, When, at, when
from polhode.model.errors import closest
from polhode.model.switches import is_condition

__all__ = ["At", "When", "at", "checked_switches", "guard_of", "on_the_verge", "undefined", "when"]


def guard_of(switch: When, eq: Equations) -> tuple[Expr, int]:
    """The expression of a switch, and the way in which it counts; a comparison becomes true on its way up."""
    value, way = switch.guard()
    value = substitute(value, eq.kinematics.quasi)
    known = {*eq.q, *eq.u, *eq.z, eq.t, *eq.parameters}
    if unknown := sorted(str(s.value) for s in free_symbols(value) - known):
        raise ValueError(
            f"{switch}: {unknown[0]!r} is none of the coordinates, speeds, states, parameters and t of the model. "
            f"{closest(unknown[0], sorted(str(s.value) for s in known))}"
        )
    if not free_symbols(value) & {*eq.q, *eq.u, *eq.z, eq.t}:
        raise ValueError(f"{switch}: nothing in it changes, so it never happens.")
    return value, way


def undefined(switches: Sequence[At | When], dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> str | None:
    """Say what a switch waits for that is not finite at a state; None where all is."""
    given = _given(dynamics, t, x, p)
    for switch in switches:
        if isinstance(switch, When):
            value, _ = guard_of(switch, dynamics.equations)
            found = _number(value, given)
            if not np.isfinite(found):
                at_it = [f"{s} = {given[s]:.6g}" for s in sorted(free_symbols(value), key=str)]
                return f"{switch}: it is {found} at t = {t:.6g} s, where {', '.join(at_it[:6])}"
    return None


def on_the_verge(
    switches: Sequence[At | When], dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray
) -> list[int]:
    """Places, among all guards, of conditions that are not true at a state, though what is compared is equal there."""
    given, guards = _given(dynamics, t, x, p), [switch for switch in switches if isinstance(switch, When)]
    found = []
    for k, switch in enumerate(guards):
        value, _ = guard_of(switch, dynamics.equations)
        said = substitute(switch.value, dynamics.equations.kinematics.quasi)
        if is_condition(switch.value) and _number(value, given) == 0 and _number(said, given) == 0:
            found.append(k)
    return found


def _given(dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray) -> dict[Expr, float]:
    """What all that a guard may be about is at a state."""
    eq = dynamics.equations
    state = dict(zip((*eq.q, *eq.u, *eq.z), x.tolist(), strict=False))
    folded = {s: float(e) for s, e in dynamics.values.items()}
    return state | folded | {eq.t: t} | dict(zip(map(symbol, dynamics.parameters), p.tolist(), strict=False))


def _number(e: Expr, given: dict[Expr, float]) -> float:
    with np.errstate(all="ignore"):
        return float(evaluate(e, given))


def checked_switches(given: Any) -> list[At | When]:
    """What a run was given as switches."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    for switch in found:
        if not isinstance(switch, (At, When)):
            raise TypeError(f"switches has {switch!r:.60}, expected at(...) and when(...).")
    return found
