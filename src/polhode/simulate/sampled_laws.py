"""Expressions that a sampled controller computes at each of its calls: native code of t, the state and parameters."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polhode.compile import Function, compile
from polhode.equations import Dynamics
from polhode.graph import Expr, substitute, symbol, vector


@dataclass(frozen=True, slots=True)
class SampledLaws:
    """Laws by the place of their input among all inputs; constants are laws too."""

    laws: Mapping[int, Expr]

    def compiled(self, dynamics: Dynamics) -> Function:
        """f(t, x) or f(t, x, p) with the parameters that were not compiled in: the values, in the order of `laws`."""
        eq = dynamics.equations
        inputs = {"t": vector([eq.t]), "x": vector([*eq.q, *eq.u, *eq.z])}
        if dynamics.parameters:
            inputs["p"] = vector([symbol(name) for name in dynamics.parameters])
        written = vector([substitute(law, dynamics.values) for law in self.laws.values()])
        return compile(inputs, written, target="llvm", name="sampled")

    def at(self, function: Function, t: float, x: np.ndarray, p: np.ndarray, wide: int) -> np.ndarray:
        """The forces, (wide,), of all inputs; 0 where there is no law."""
        count = sum(port.size for port in function.inputs[1:2])
        given = [np.array([t]), x[:count], *([p] if len(function.inputs) > 2 else [])]
        found = np.zeros(wide)
        found[list(self.laws)] = function(*given)
        return found
