"""The state that a run starts from."""

from __future__ import annotations

import numpy as np

from polhode.equations.program import Program
from polhode.kernels.hold import LOOSE, evaluate, settle
from polhode.kernels.machine import OK, Machine


def begin(program: Program, machine: Machine, t: float, x: np.ndarray) -> None:
    """Check that a state satisfies the constraints, and settle it."""
    if machine.constrained is None:
        return
    phi, psi, reach, pace = program.measured(t, x, machine.p)
    holds = machine.constrained.view("active")
    for what, rest, sizes in (("position", phi, reach), ("speed", psi, pace)):
        for label, off, size, on in zip(program.held.labels, rest, sizes, holds, strict=False):
            if on and not abs(off) <= LOOSE * size:
                raise ValueError(
                    f"The initial {what} does not satisfy {label!r}: it is {off:.3g} off. "
                    "Find a state that does with q0, u0 = assemble(dynamics, q0, u0)."
                )
    machine.constrained.places[0]["rank"] = machine.constrained.places[0]["any"]
    evaluate(machine, t, x, np.zeros_like(x), True)  # which rows are independent
    if settle(machine, t, x) != OK:
        raise ValueError("The constraints cannot be satisfied near the initial state. Use assemble(dynamics, q0, u0).")
