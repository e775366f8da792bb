"""Expressions of a machine as native code, evaluated at a state of its loop."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from polhode.compile import compile
from polhode.equations import Dynamics
from polhode.graph import Matrix, free_symbols, substitute, symbol, vector
from polhode.model import TIME


class AtState:
    """Matrices of t, q, u, z and parameters, with those as inputs that they need.

    p : values of the parameters that the dynamics has as inputs
    """

    def __init__(self, dynamics: Dynamics, p: np.ndarray, outputs: Sequence[Matrix]) -> None:
        eq = dynamics.equations
        written = [substitute(substitute(e, eq.kinematics.quasi), dynamics.values) for e in outputs]
        inputs = {"t": vector([TIME]), "q": eq.q, "u": eq.u, "z": eq.z, "p": vector(map(symbol, dynamics.parameters))}
        seen = {s for e in written for s in free_symbols(e)}
        used = {name: part for name, part in inputs.items() if len(part) and (name == "q" or seen & set(part))}
        self._p, self._names = p, tuple(used)
        self._made = compile(used, written, target=dynamics.target, name="at_state") if written else None

    def __call__(self, state: Any) -> list[np.ndarray]:
        """The values at a state with t, q, u and z."""
        if self._made is None:
            return []
        given = {"t": np.array([state.t]), "q": state.q, "u": state.u, "z": state.z, "p": self._p}
        found = self._made(*[given[name] for name in self._names])
        return list(found) if isinstance(found, list | tuple) else [found]
