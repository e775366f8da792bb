"""The state that a run starts from."""

from __future__ import annotations

import numpy as np

from polhode.equations.program import Program, row_sizes
from polhode.kernels.machine import OK, Machine, find_ranks, settle


def begin(program: Program, machine: Machine, t: float, x: np.ndarray) -> None:
    """Check that a state satisfies the constraints, and settle it."""
    if machine.held is None:
        return
    near = 1e-5 * max(1.0, np.abs(x).max())
    both = program.positions(t, x, machine.p), program.speeds(t, x, machine.p)
    for what, (rest, J) in zip(("position", "speed"), both, strict=True):
        for label, off, size in zip(program.held.labels, rest, row_sizes(J), strict=False):
            if not abs(off) <= near * size:
                raise ValueError(
                    f"The initial {what} does not satisfy {label!r}: it is {off:.3g} off. "
                    "Find a state that does with q0, u0 = assemble(dynamics, q0, u0)."
                )
    find_ranks(machine, t, x)
    if settle(machine, t, x) != OK:
        raise ValueError("The constraints cannot be satisfied near the initial state. Use assemble(dynamics, q0, u0).")
    find_ranks(machine, t, x)
