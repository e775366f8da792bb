"""Values of parameters: whether those who use them can."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import const, free_symbols, symbol
from polhode.model import Faults
from polhode.model.checks import inertia_faults
from polhode.model.elements import with_values


def check_bounds(dynamics: Dynamics, p: np.ndarray) -> None:
    """Refuse a mass or a friction below 0, a restitution of 1.5 and the like, where parameters alone make them so.

    A model is checked for the numbers in it when it is built; those of parameters come with a run.
    """
    model = dynamics.equations.model
    given = dynamics.values | {symbol(n): const(float(x)) for n, x in zip(dynamics.parameters, p, strict=True)}
    faults = Faults()
    parts = (*model.motors, *model.forces, *model.constraints, *model.candidates)
    for part in {(e.table, e.name): e for e in parts}.values():
        if used := sorted(free_symbols(part.expressions()) & given.keys(), key=str):
            values = ", ".join(f"{s} = {float(given[s]):g}" for s in used)
            for fault in with_values(part, given).faults():
                faults.add(f"With {values}: {fault}")
    for body in model.bodies:
        if used := sorted(free_symbols([body.mass, *body.inertia.entries]) & given.keys(), key=str):
            weighed = replace(body, mass=with_values(body.mass, given), inertia=with_values(body.inertia, given))
            values = ", ".join(f"{s} = {float(given[s]):g}" for s in used)
            for fault in inertia_faults(weighed, model.literal):
                faults.add(f"With {values}: {fault}")
    faults.raise_any()
