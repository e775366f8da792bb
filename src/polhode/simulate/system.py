"""A mechanism made ready for the compiled loops."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any

import numpy as np

from polhode.compile import Function, compile
from polhode.equations import Dynamics, Equations
from polhode.equations.dynamics import accelerations
from polhode.equations.inputs import fresh
from polhode.graph import Expr, Matrix, as_expr, substitute, symbol, vector
from polhode.kinematics import Constraints, InSpeeds, Kinematics, constrain, joined, selected
from polhode.model import TIME

from .machine import Held, Machine, respond


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
    residuals : (t, x, p) -> [psi, J], None without constraints among the speeds
    closure   : (t, x, p) -> [phi, J], None without constraints; in the speeds v of the joints, in
                which positions are corrected, also of constraints embedded in the equations; 0 in
                rows that restrict only speeds
    moves     : (t, [q, v], p) -> N v

    constraints : those among the speeds; held : these and the embedded ones
    laws        : expressions of q, u, t and parameters for some of the inputs tau, by speed
    """

    def __init__(self, dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None) -> None:
        eq = dynamics.equations
        self.dynamics, self.equations, self.laws = dynamics, eq, laws or {}
        self.constraints = eq.constraints
        self.tau = fresh("tau", eq)
        self.x = vector([*eq.q, *eq.u])
        speeds = dict(zip(eq.u, self.tau, strict=True))
        self._folded: dict[Expr, Expr] = dict(dynamics.values)
        tau = substitute(self.tau, {speeds[u]: law for u, law in (laws or {}).items()})
        rows = self.constraints
        self.residuals: Function | None = None
        if len(rows):
            b = eq.Q + tau - eq.c
            flow = [*eq.kinematics.q_dot, *eq.M.entries, *b, *rows.J.entries, *rows.gamma]
            self.residuals = self._compile("residuals", [*rows.psi, *rows.J.entries])
        else:
            flow = [*eq.kinematics.q_dot, *accelerations(eq, tau)]
        self.flow = self._compile("flow", flow, forced=True)
        self.rates = self._compile("rates", [*eq.kinematics.q_dot])
        self.base, self.held = _in_joints(eq)
        self.closure: Function | None = None
        self.moves = self.rates
        if len(self.held):
            on = zip(self.held.J.rows(), self.held.holonomic, strict=True)
            J = [e if holonomic else as_expr(0) for row, holonomic in on for e in row]
            self.closure = self._compile("closure", [*self.held.phi, *J])
        if self.base is not eq.kinematics:
            self.moves = self._compile("moves", [*self.base.q_dot], x=vector([*eq.q, *self.base.u]))

    def _compile(self, name: str, rows: list[Expr], forced: bool = False, x: Matrix | None = None) -> Function:
        p = [symbol(name) for name in self.dynamics.parameters] or [symbol("no parameter")]
        inputs: dict[str, Matrix] = {"t": vector([TIME]), "x": self.x if x is None else x}
        if forced:
            inputs["tau"] = self.tau
        output = substitute(vector(rows), self._folded) if self._folded else vector(rows)
        return compile(inputs | {"p": vector(p)}, {name: output}, name=name)

    @cached_property
    def law(self) -> Function | None:
        """The call (t, x, p) -> the forces that the laws give, None without any."""
        return self._compile("law", list(self.laws.values())) if self.laws else None

    def positions(self, t: Any, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of positions, of all constraints held, and their J in the speeds of the joints."""
        return self._residual(self.closure, t, x, p, len(self.held), len(self.base.u))

    def speeds(self, t: Any, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Residuals of speeds, of the constraints among them, and their J."""
        return self._residual(self.residuals, t, x, p, len(self.constraints), len(self.equations.u))

    @staticmethod
    def _residual(
        code: Function | None, t: Any, x: np.ndarray, p: np.ndarray, rows: int, n: int
    ) -> tuple[np.ndarray, np.ndarray]:
        at = np.asarray(t, dtype=float)[..., None]
        both = np.zeros((*x.shape[:-1], 0)) if code is None else code(at, x, p)
        return both[..., :rows], both[..., rows:].reshape(*x.shape[:-1], rows, n)

    def unit(self, x: np.ndarray) -> np.ndarray:
        """States, or coordinates alone, (..., n), with quaternions of length 1."""
        x = x.copy()
        for first in self.quaternions():
            size = np.linalg.norm(x[..., first : first + 4], axis=-1, keepdims=True)
            if not (size > 1e-100).all():
                names = ", ".join(str(s.value) for s in self.x[first : first + 4])
                raise ValueError(f"The quaternion {names} is 0, expected one that turns: 1, 0, 0, 0 for no turn.")
            x[..., first : first + 4] /= size
        return x

    def respond(self, t: np.ndarray, x: np.ndarray, tau: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and reactions, (k, nu) and (k, m), of states of a machine with constraints."""
        m = self.machine(p=p)
        dx, lam = np.zeros(x.shape), np.zeros((len(t), len(self.constraints)))
        respond(m, np.ascontiguousarray(t), np.ascontiguousarray(x), np.ascontiguousarray(tau), dx, lam)
        return dx[:, m.nq :], lam

    def quaternions(self) -> list[int]:
        """The first coordinate of each unit quaternion."""
        places = {e: i for i, e in enumerate(self.equations.q)}
        return [places[link.coordinates[0]] for link in self.equations.kinematics.joints.links if link.part.quaternion]

    def machine(self, tau: Any = None, p: Any = None, control: int = 0, active: Any = None) -> Machine:
        """Room for one run: forces (nu,), parameters, the address of a control, rows that hold."""
        codes = [self.flow, self.rates, self.residuals, self.closure, self.moves]
        addresses = [f.address if f is not None else 0 for f in codes]
        return Machine(
            nq=len(self.equations.q),
            code=np.array([control, *addresses], dtype=np.int64),
            tau=np.zeros(len(self.tau)) if tau is None else np.array(tau, dtype=float),
            p=np.zeros(1) if p is None or not len(p) else np.array(p, dtype=float),
            units=np.array(self.quaternions(), dtype=np.int64),
            time=np.zeros(1),
            work=np.zeros(max(1, *(f.work_size for f in codes if f is not None))),
            held=self._held(active) if len(self.held) else None,
        )

    def _held(self, active: Any) -> Held:
        eq, m, rows = self.equations, len(self.constraints), len(self.held)
        nq, nu, nv = len(eq.q), len(eq.u), len(self.base.u)
        n = max(nu, nv)
        return Held(
            sizes=np.array([nv, m, rows, 0, 0, 0], dtype=np.int64),
            active=np.ones(rows, dtype=np.int64) if active is None else np.array(active, dtype=np.int64),
            size=np.zeros(rows + 1),
            table=np.zeros((rows, n + 2)),
            rows=np.zeros(rows, dtype=np.int64),
            columns=np.arange(n, dtype=np.int64),
            normal=np.zeros((n, n)),
            step=np.zeros(n),
            trial=np.zeros(nq + n),
            terms=np.zeros(nq + nu * nu + nu + rows * (n + 1)),
        )


def _in_joints(eq: Equations) -> tuple[Kinematics, Constraints]:
    """The kinematics in the speeds of the joints, and in them the constraints and what is embedded in positions."""
    kin = eq.kinematics
    if not isinstance(kin, InSpeeds):
        return kin.joints, eq.constraints
    every = constrain(kin.joints)
    free = selected(every, [i for i, name in enumerate(every.names) if name not in kin.embedded])
    # rows that repeat the speeds of others may contradict their positions
    embedded = joined(kin.speeds.embedded, kin.speeds.repeated)
    return kin.joints, joined(free, selected(embedded, [i for i, h in enumerate(embedded.holonomic) if h]))


def row_sizes(J: np.ndarray) -> np.ndarray:
    """The largest entry of every row; 1 for those that are 0."""
    found: np.ndarray = np.abs(J).max(axis=-1, initial=0)
    return np.where(found > 1e-9, found, 1.0)
