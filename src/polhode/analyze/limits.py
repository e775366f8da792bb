"""Actuators at their limits: what a linear model says of them, and on which side it is taken."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.graph import Expr, evaluate, free_symbols, substitute
from polhode.model.drives import Actuator

from .operating import Operating

_INNER = 8 * 2.0**-52  # of a control: how far it is moved inside a limit that it is at
_NOTHING = 1e-200  # the same of a control that is 0


def within_limits(at: Operating) -> tuple[Operating, tuple[str, ...]]:
    """The point with controls that are at a limit moved inside by rounding, and what is to be said of limits.

    So derivatives at a limit are those inside it, whichever way an actuator is written.
    """
    eq = at.program.equations
    nu, tau, notes = len(eq.u), at.point.tau.copy(), list[str]()
    for i, actuator in enumerate(eq.model.actuators, nu):
        for value, low, high, what, moved in _limited(at, actuator, i):
            if low is not None and value <= low:
                notes.append(_said(what, "lower", low, value < low))
                tau[i] = tau[i] if value < low else moved(1)
            elif high is not None and value >= high:
                notes.append(_said(what, "upper", high, value > high))
                tau[i] = tau[i] if value > high else moved(-1)
    return replace(at, point=replace(at.point, tau=tau)), tuple(notes)


def _said(what: str, side: str, limit: float, beyond: bool) -> str:
    if beyond:
        return f"{what} is beyond its {side} limit {limit:g}, where it has no effect."
    return f"{what} is at its {side} limit {limit:g}: the model holds inside it; beyond, it has no effect."


def _limited(at: Operating, actuator: Actuator, i: int) -> Iterator[tuple[float, float | None, float | None, str, Any]]:
    """The control and the force of an actuator, each before its limits, with these, and a way to move it inside."""
    eq, values = at.program.equations, at.values()
    controls = dict(zip(eq.controls, at.point.tau[len(eq.u) :].tolist(), strict=True))
    for c, law in at.inputs.laws.items():
        if c in controls:
            controls[c] += _number(law, values)
    values |= controls
    now = float(at.point.tau[i])
    size = max(abs(now), abs(controls[actuator.control])) or _NOTHING
    pairs = ((actuator.lower, actuator.upper), (actuator.least, actuator.most))
    (lower, upper), (least, most) = ([None if e is None else _number(e, values) for e in pair] for pair in pairs)
    if (lower, upper) != (None, None):
        value = controls[actuator.control]
        yield value, lower, upper, f"Control {actuator.name!r}", lambda way: now + way * _INNER * size
    if (least, most) != (None, None):
        law = actuator.control if actuator.force is None else actuator.force
        force = substitute(substitute(law, eq.model.limited_controls), eq.kinematics.quasi)
        if not free_symbols(force).issubset(values):
            return
        value = _number(force, values)

        def inside(way: int) -> float:
            """The control that moves the force that way."""
            for trial in (now + _INNER * size, now - _INNER * size):
                if (_number(force, values | {actuator.control: trial}) - value) * way > 0:
                    return trial
            return now

        yield value, least, most, f"The force of {actuator.name!r}", inside


def _number(e: Expr, values: dict[Any, float]) -> float:
    return float(np.asarray(evaluate(e, values)))
