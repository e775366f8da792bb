"""Switches of a run: those of its model, and those that it was given."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.graph import Expr, evaluate, free_symbols, substitute, symbol
from polhode.model import At, When, at, when
from polhode.model.errors import closest
from polhode.model.switches import is_condition

__all__ = [
    "At",
    "Guard",
    "When",
    "at",
    "checked_switches",
    "ending_of",
    "guards_of",
    "on_the_verge",
    "still_to_come",
    "too_late",
    "undefined",
    "when",
]


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
    given = _given(dynamics, t, x, p)
    for guard in guards_of(switches, dynamics.equations):
        found = _number(guard.value, given)
        if not np.isfinite(found):
            at_it = [f"{s} = {given[s]:.6g}" for s in sorted(free_symbols(guard.value), key=str)]
            return f"{guard.switch}: it is {found} at t = {t:.6g} s, where {', '.join(at_it[:6])}"
    return None


def on_the_verge(
    switches: Sequence[At | When], dynamics: Dynamics, t: float, x: np.ndarray, p: np.ndarray
) -> list[int]:
    """Places, among all guards, of conditions that are not true at a state, though what is compared is equal there."""
    given, quasi, found = _given(dynamics, t, x, p), dynamics.equations.kinematics.quasi, []
    for k, guard in enumerate(guards_of(switches, dynamics.equations)):
        condition = guard.switch.value
        equal = is_condition(condition) and _number(guard.value, given) == 0
        if equal and _number(substitute(condition, quasi), given) == 0:
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


def checked_switches(given: Any, t0: float) -> list[At | When]:
    """What a run that starts at t0 was given as switches."""
    found = list(given) if isinstance(given, (list, tuple)) else [given]
    for switch in found:
        if not isinstance(switch, (At, When)):
            raise TypeError(f"switches has {switch!r:.60}, expected at(...) and when(...).")
        if not (switch.engage or switch.release):
            raise ValueError(
                f"{switch}: engages and releases nothing. Give engage= or release=; to end a run there, until=."
            )
        if isinstance(switch, At) and switch.time < t0:
            raise ValueError(f"{switch}: is before the start of the run, {t0:g} s. Declare what holds from the start.")
    return found


def still_to_come(declared: Sequence[At | When], t0: float) -> tuple[list[At | When], str]:
    """The switches of a model that may act in a run that starts at t0, and a note of those that came before."""
    past = [switch for switch in declared if isinstance(switch, At) and switch.time < t0]
    if not past:
        return list(declared), ""
    names = ", ".join(dict.fromkeys(name for switch in past for name in (*switch.engage, *switch.release)))
    times = ", ".join(map(str, past[:8]))
    note = (
        f"The run starts at {t0:g} s, so that what the model has to switch {names} {times} does not act: what it "
        f"declares holds. To begin in another mode, give switches=ph.at({t0:g}, engage=..., release=...)."
    )
    return [switch for switch in declared if switch not in past], note


def too_late(switches: Sequence[At | When], t_end: float) -> str | None:
    """Say which switches come after the end of a run; None where all may act."""
    late = [switch for switch in switches if isinstance(switch, At) and switch.time > t_end]
    if not late:
        return None
    names = ", ".join(dict.fromkeys(name for switch in late for name in (*switch.engage, *switch.release)))
    times = ", ".join(map(str, late[:8]))
    return f"The run ends at {t_end:g} s, so that what is to switch {names} {times} does not act."


def ending_of(until: Any) -> When:
    """What ends a run, from what was given, which may be text."""
    if isinstance(until, str):
        until = when(until)
    if not isinstance(until, When):
        raise TypeError(f'until is {until!r:.60}, expected a time, or what happens: ph.when("theta > 1").')
    if until.engage or until.release:
        raise ValueError(f"until={until} engages or releases. Give that as a switch, and until= what ends the run.")
    return until
