"""The state that a run starts from."""

from __future__ import annotations

import numpy as np

from polhode.equations.program import Program
from polhode.equations.satisfied import residuals, unsatisfied
from polhode.kernels.hold import evaluate
from polhode.kernels.machine import OK, Machine
from polhode.kernels.settle import settle


def begin(program: Program, machine: Machine, t: float, x: np.ndarray) -> None:
    """Check that a state satisfies the constraints, and settle it."""
    if machine.constrained is None or not len(program.held):
        return
    left = residuals(program, np.array([t]), x[None], machine.p)
    on = machine.constrained.view("active")
    holding = {name for name, holds in zip(program.held.names, on, strict=True) if holds}
    if said := unsatisfied(program, left, holding):
        raise ValueError(f"The initial {said} Find a state that does with q0, u0 = assemble(dynamics, q0, u0).")
    machine.constrained.places[0]["rank"] = machine.constrained.places[0]["any"]
    evaluate(machine, t, x, np.zeros_like(x), True)  # which rows are independent
    if settle(machine, t, x) != OK:
        raise ValueError("The constraints cannot be satisfied near the initial state. Use assemble(dynamics, q0, u0).")
