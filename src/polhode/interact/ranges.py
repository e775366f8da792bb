"""From where to where sliders of a machine go."""

from __future__ import annotations

import numpy as np

from polhode.equations import Dynamics

PULL = 10.0  # rad/s^2 or m/s^2, that the largest force of a slider gives its speed alone


def ranges(dynamics: Dynamics, q: np.ndarray, p: np.ndarray) -> list[tuple[float, float]]:
    """Of each speed what gives it a lively acceleration, and then of each control its limits.

    p : values of the parameters that are not compiled in
    """
    eq = dynamics.equations
    M = dynamics.mass_matrix(q, **({"p": p} if len(p) else {}))
    lively = [float(f"{PULL * M[i, i]:.1g}") for i in range(len(eq.u))]
    found = [(-most, most) if np.isfinite(most) and most > 0 else (-PULL, PULL) for most in lively]
    for actuator in eq.model.actuators:
        low, high = ((e.number if e is not None else None) for e in (actuator.lower, actuator.upper))
        found.append((-1.0 if low is None else low, 1.0 if high is None else high))
    return found
