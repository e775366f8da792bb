"""A mechanism made ready for the compiled loops."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from polhode.compile import Function, compile
from polhode.equations import Dynamics
from polhode.equations.dynamics import accelerations
from polhode.equations.inputs import fresh
from polhode.graph import Expr, Matrix, substitute, symbol, vector
from polhode.model import TIME

from .machine import Machine


def system_of(dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None) -> System:
    """The system of a dynamics, made once."""
    key = tuple((laws or {}).items())
    if key not in dynamics.kept:
        dynamics.kept[key] = System(dynamics, laws)
    found: System = dynamics.kept[key]
    return found


class System:
    """The state x = [q, u] of a mechanism, and native code for its motion.

    flow      : (t, x, tau, p) -> [qdot, udot]; with constraints [qdot, M, b, J, gamma]
    rates     : (t, x, p) -> qdot
    residuals : (t, x, p) -> [phi, psi, J], None without constraints

    laws : expressions of q, u, t and parameters for some of the inputs tau, by speed
    """

    def __init__(self, dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None) -> None:
        eq = dynamics.equations
        self.dynamics, self.equations = dynamics, eq
        self.constraints = eq.constraints
        self.tau = fresh("tau", eq)
        self.x = vector([*eq.q, *eq.u])
        speeds = dict(zip(eq.u, self.tau, strict=True))
        self._folded: dict[Expr, Expr] = dict(dynamics.values)
        tau = substitute(self.tau, {speeds[u]: law for u, law in (laws or {}).items()})
        held = self.constraints
        if len(held):
            b = eq.Q + tau - eq.c
            rows = [*eq.kinematics.q_dot, *eq.M.entries, *b, *held.J.entries, *held.gamma]
            self.flow = self._compile("flow", rows, forced=True)
            self.residuals: Function | None = self._compile("residuals", [*held.phi, *held.psi, *held.J.entries])
        else:
            self.flow = self._compile("flow", [*eq.kinematics.q_dot, *accelerations(eq, tau)], forced=True)
            self.residuals = None
        self.rates = self._compile("rates", [*eq.kinematics.q_dot])

    def _compile(self, name: str, rows: list[Expr], forced: bool = False) -> Function:
        p = [symbol(name) for name in self.dynamics.parameters] or [symbol("no parameter")]
        inputs: dict[str, Matrix] = {"t": vector([TIME]), "x": self.x}
        if forced:
            inputs["tau"] = self.tau
        output = substitute(vector(rows), self._folded) if self._folded else vector(rows)
        return compile(inputs | {"p": vector(p)}, {name: output}, name=name)

    def law(self, laws: Mapping[Expr, Expr]) -> Function:
        """The call (t, x, p) -> the forces that laws give."""
        return self._compile("law", list(laws.values()))

    @property
    def n(self) -> int:
        return len(self.x)

    def quaternions(self) -> list[int]:
        """The first coordinate of each unit quaternion."""
        places = {e: i for i, e in enumerate(self.equations.q)}
        return [places[link.coordinates[0]] for link in self.equations.kinematics.links if link.part.quaternion]

    def machine(self, tau: Any = None, p: Any = None, control: int = 0, active: Any = None) -> Machine:
        """Room for one run: forces (nu,), parameters, the address of a control, rows that hold."""
        eq, m = self.equations, len(self.constraints)
        nq, nu = len(eq.q), len(eq.u)
        codes = [self.flow, self.rates, self.residuals]
        addresses = [f.address if f is not None else 0 for f in codes]
        work = max(f.work_size for f in codes if f is not None)
        return Machine(
            code=np.array([*addresses, control], dtype=np.int64),
            sizes=np.array([nq, nu, m, 0, 0], dtype=np.int64),
            tau=np.zeros(nu) if tau is None else np.array(tau, dtype=float),
            p=np.zeros(1) if p is None or not len(p) else np.array(p, dtype=float),
            units=np.array(self.quaternions(), dtype=np.int64),
            active=np.ones(m, dtype=np.int64) if active is None else np.array(active, dtype=np.int64),
            holonomic=np.array(self.constraints.holonomic, dtype=np.int64),
            time=np.zeros(1),
            terms=np.zeros(nq + nu * nu + nu + m * nu + 2 * m),
            scale=np.ones(m),
            table=np.zeros((m, nu + 1)),
            rows=np.zeros(m, dtype=np.int64),
            columns=np.arange(nu, dtype=np.int64),
            normal=np.zeros((nu, nu)),
            step=np.zeros(nu),
            trial=np.zeros(nq + nu),
            work=np.zeros(max(1, work)),
        )
