"""Symbols for what comes from outside: forces on the speeds, and the controls of actuators."""

from __future__ import annotations

from typing import TYPE_CHECKING

from polhode.graph import Matrix, symbol, vector

if TYPE_CHECKING:
    from .equations import Equations


def inputs(eq: Equations) -> Matrix:
    """All inputs: a force for each speed, then the controls of actuators."""
    return vector([*fresh("tau", eq), *eq.controls])


def input_names(eq: Equations) -> tuple[str, ...]:
    """What inputs are called by whoever gives them: speeds, then actuators."""
    return (*(str(s.value) for s in eq.u), *(actuator.name for actuator in eq.model.actuators))


def fresh(prefix: str, eq: Equations) -> Matrix:
    """Symbols for an input, one per speed, that mean nothing else in the equations."""
    taken = {*eq.parameters, *eq.q, *eq.u, *eq.z, *eq.controls}
    while any(symbol(f"{prefix}_{s.value}") in taken for s in eq.u):
        prefix += "_"
    return vector([symbol(f"{prefix}_{s.value}") for s in eq.u])
