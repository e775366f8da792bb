"""Native code for the motion of a mechanism."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property

import numpy as np

from polhode.compile import Function, compile
from polhode.graph import Expr, Matrix, as_expr, diff_along, free_symbols, substitute, symbol, vector
from polhode.kinematics import Constraints, InSpeeds, Kinematics, candidates, constrain, joined, selected
from polhode.kinematics.actions import Acting, acting
from polhode.kinematics.candidates import UNILATERAL, Law
from polhode.kinematics.loads import damping_matrix
from polhode.kinematics.numeric import amplitude_sizes
from polhode.model import TIME

from . import native
from .dynamics import Dynamics, accelerations
from .equations import Equations
from .inputs import inputs
from .slopes import slope_rows

WORK = ("input", "own", "losses", "constraints")  # whose work is counted, where there is any
_STEP = symbol("size of a step")


class Code:
    """The state x = [q, u, z, w] of a mechanism, and native code for its motion.

    flow      : (t, x, tau, p) -> dx, of a machine without constraints among its speeds, else None
    rates     : (t, x, p) -> qdot
    residuals : (t, x, K, p) -> phi, psi and their sizes, None without constraints; with the elimination K that the
                factors have also the motions that remove both
    factors   : (t, x, tau, p) -> see `native`, None where there are none
    table     : (t, x, tau, p) -> see `native`, None without constraints among the speeds
    closure   : (t, x, p) -> the table of positions in the speeds v of the joints, None where v is u
    moves     : (t, [q, v], p) -> N v
    slopes    : (t, x, dx, lam, tau, p) -> derivatives, see there; None where there are none

    constraints : those among the speeds; held : these and the embedded ones, in the speeds of the joints
    tau         : inputs: a force for each speed, then the controls of actuators
    laws        : expressions of q, u, t and parameters for some of them, by speed or control
    work        : whose work is counted in w, of WORK
    stepping    : whether accelerations are those of a step of size h, the last entry of p, in which dampers of the
                  joints act by the new speeds: (M + h D) udot = Q + tau - c + J^T lam
    """

    def __init__(
        self, dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None, driven: bool = False, stepping: bool = False,
        wired: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        eq = dynamics.equations
        self.dynamics, self.equations, self.laws, self.stepping = dynamics, eq, laws or {}, stepping
        self.candidates = eq.candidates if wired is None else candidates(eq.kinematics, wired)
        self.constraints = eq.rows if wired is None else joined(eq.constraints, self.candidates.rows)
        self.base, self.held = _in_joints(eq, self.constraints, wired)
        self.tau = inputs(eq)
        self._folded: dict[Expr, Expr] = dict(dynamics.values)
        self._folded |= {s: substitute(law, dynamics.values) for s, law in self.laws.items() if s in eq.model.controls}
        tau = self.forces
        # each once: with the speeds of the joints, what is held is what is among the speeds
        rows = acting(self.constraints)
        if wired is not None and not rows.moving:  # what is wired later may move
            rows = rows._replace(moving=(as_expr(0),) * len(self.constraints))
        self._acting = rows
        self._closing = rows if self.held is self.constraints else acting(self.held)
        powers = _powers(eq, tau if driven or laws or len(eq.controls) else None)
        losses = ("losses",) if eq.model.candidates else ()
        self.work = (*powers, *losses, *(("constraints",) if rows.moving or wired is not None else ()))
        self.x = vector([*eq.q, *eq.u, *eq.z, *(symbol(f"work of {name}") for name in self.work)])
        carried = [*eq.kinematics.q_dot, *eq.z_dot, *powers.values()]
        D = damping_matrix(eq.kinematics) if stepping else None

        self._sizes = (len(carried), len(rows.moving))
        self._parts, self._D, self._powers = (tau, carried, rows), D, powers

    @property
    def forces(self) -> Matrix:
        """The forces on the speeds from outside, with their laws, (nu,)."""
        places = dict(zip(self.equations.u, self.tau, strict=False))
        laws = {places[u]: law for u, law in self.laws.items() if u in places}
        found: Matrix = substitute(self.tau[: len(self.equations.u)], laws)
        return found

    # native code, each part made when it is first needed

    @cached_property
    def flow(self) -> Function | None:
        eq, D, (tau, carried, _) = self.equations, self._D, self._parts
        if len(eq.constraints):
            return None
        nq, carried = len(eq.q), [*carried]
        udot = accelerations(eq, tau, None if D is None else D * _STEP)
        if D is not None and "own" in self._powers:
            carried[-1] = carried[-1] + _lost(D, eq.u, udot)
        flow = [*carried[:nq], *udot, *carried[nq:]]
        flow += [as_expr(0)] * (len(self.x) - len(flow))  # the work of what does not hold
        return self.compiled("flow", flow, forced=True)

    @cached_property
    def _motion(self) -> native.Motion:
        eq, D, (tau, carried, rows) = self.equations, self._D, self._parts
        M = eq.M if D is None else eq.M + D * _STEP
        small = amplitude_sizes(eq.kinematics.joints)
        return native.Motion(M=M, b=eq.Q + tau - eq.c, rows=rows, carried=carried, small=small)

    @cached_property
    def table(self) -> Function | None:
        if not len(self.constraints):
            return None
        return self.compiled("table", native.table_rows(self._motion), forced=True)

    @cached_property
    def _rows(self) -> native.FactorRows | None:
        """The factors as expressions; None for links without mass, which the table serves."""
        if not len(self.constraints):
            return None
        try:
            return native.FactorRows(self._motion, self.constraints.holonomic, solved=not len(self.candidates))
        except ZeroDivisionError:
            return None

    @cached_property
    def factors(self) -> Function | None:
        return None if self._rows is None else self.compiled("factors", self._rows.rows, forced=True)

    @cached_property
    def rates(self) -> Function:
        return self.compiled("rates", [*self.equations.kinematics.q_dot])

    @cached_property
    def moves(self) -> Function:
        if self.base is self.equations.kinematics:
            return self.rates
        return self.compiled("moves", [*self.base.q_dot], x=vector([*self.equations.q, *self.base.u]))

    @cached_property
    def closure(self) -> Function | None:
        if self.base is self.equations.kinematics or not len(self.held):
            return None
        return self.compiled("closure", native.closure_rows(self.base, self.held, self._closing))

    @cached_property
    def residuals(self) -> Function | None:
        return self._residuals(self._acting) if len(self.held) else None

    def _residuals(self, rows: Acting) -> Function:
        """Residuals, and the motions that remove them where the factors have an elimination of speeds and rows."""
        eq, found, count = self.equations, self._rows, len(self.constraints)
        wanted = native.residual_rows(self.base, self.held, self._closing, rows, eq.u)
        K = vector([symbol(f"factor {i}") for i in range(max(1, found.whole_size if found else 0))])
        if found and self.base is eq.kinematics:
            wanted += found.corrections(K, wanted[:count], wanted[count : 2 * count])
        self._no_factors = np.zeros(len(K))
        return self.compiled("residuals", wanted, K=K)

    def compiled(
        self, name: str, rows: list[Expr], forced: bool = False, x: Matrix | None = None, target: str = "llvm",
        **more: Matrix,
    ) -> Function:  # fmt: skip
        """The call (t, x, ..., tau, p) -> rows; tau where it is `forced`."""
        inputs: dict[str, Matrix] = {"t": vector([TIME]), "x": self.x if x is None else x, **more}
        if forced:
            inputs["tau"] = self.tau
        output = substitute(vector(rows), self._folded) if self._folded else vector(rows)
        return compile(inputs | {"p": vector(self.given_as(forced))}, {name: output}, target, name)

    def given_as(self, forced: bool) -> list[Expr]:
        """What code takes as p, whether or not it takes forces beside them."""
        p = [symbol(name) for name in self.dynamics.parameters]
        p = [*p, *([_STEP] if self.stepping else []), *(s for _, s, _ in self.candidates.captured)]
        return p or [symbol("no parameter")]

    @property
    def rate(self) -> Matrix:
        """Symbols for the rate of the state."""
        return vector([symbol(f"rate {i}") for i in range(len(self.x))])

    @cached_property
    def row_laws(self) -> list[Law]:
        """The law of every row."""
        return [Law()] * len(self.equations.constraints) + list(self.candidates.laws)

    @cached_property
    def closing(self) -> Function | None:
        """The call (t, x, p) -> gaps of unilateral rows that may close; None where there are none."""
        rows, first = self.constraints, len(self.equations.constraints)
        may = [law.kind == UNILATERAL for law in self.candidates.laws]
        active = {c.name for c in self.equations.model.candidates if c.active}
        listed = zip(rows.names[first:], may, rows.phi[first:], strict=True)
        values = [phi for name, closes, phi in listed if closes and name in active]
        return self.compiled("closing", values) if values else None

    def guards(self, values: Sequence[Expr]) -> Function:
        """The call (t, x, rate, p) -> values and their rates, of conditions that are watched."""
        rate, values = self.rate, self._in_speeds(values)
        rates = [diff_along(e, [*self.x, TIME], [*rate, as_expr(1)]) for e in values]
        return self.compiled("guards", [*values, *rates], rate=rate)

    @cached_property
    def slopes(self) -> Function | None:
        """The call (t, x, dx, lam, tau, p) -> derivatives of the motion by q, u, z and by time, one after the other.

        Each is [dqdot, dzdot, dpower, dudot]; where there are constraints, dudot is in terms of dR, dS and those of
        their own motion: see `slopes`. None where differences serve better.
        """
        if self.stepping:
            return None
        tau, carried, held = self._parts
        nq, nu = len(self.equations.q), len(self.equations.u)
        rate = self.rate
        lam = vector([symbol(f"reaction {i}") for i in range(len(self.constraints))])
        udot, x = rate[nq : nq + nu], self.x[: len(self.x) - len(self.work)]
        rows = slope_rows(self.equations, self._folded, x, udot, lam, tau, carried, held)
        given = {"rate": rate} | ({"lam": lam} if len(lam) else {})
        return None if rows is None else self.compiled("slopes", rows, True, None, "llvm", **given)

    @property
    def sloping(self) -> tuple[int, int]:
        """How many derivatives `slopes` writes, by how many variables, and of how many rows each."""
        counted, (carried, moving) = len(self.x) - len(self.work), self._sizes
        return counted + 1, carried + len(self.equations.u) + len(self.constraints) + moving

    @cached_property
    def law(self) -> Function | None:
        """The call (t, x, p) -> the forces that the laws give, None without any."""
        return self.compiled("law", list(self.laws.values())) if self.laws else None

    @cached_property
    def assembly(self) -> Function:
        """The call (t, x, p) -> phi, J, E^2 and extents^2 of positions, then psi, J, E^2 and extents^2 of speeds."""
        held, rows, far = self._closing, self._acting, native.extents(self.base)
        positions = [*self.held.phi, *native.only(held.J, self.held.holonomic), *held.reference.entries, *far]
        near = far if self.base is self.equations.kinematics else [as_expr(1)] * len(self.equations.u)
        return self.compiled("assembly", [*positions, *rows.psi, *rows.J.entries, *rows.reference.entries, *near])

    @cached_property
    def laws_of_rows(self) -> Function | None:
        """The call (t, x, p) -> bound, grip and restitution of all rows, (3 m,); None where nothing comes and goes."""
        if not len(self.constraints):
            return None
        columns = zip(*((law.bound, law.grip, law.restitution) for law in self.row_laws), strict=True)
        return self.compiled("laws", self._in_speeds([e for column in columns for e in column]))

    @cached_property
    def capture(self) -> Function | None:
        """The call (t, x, p) -> what constraints capture where they engage."""
        captured = self.candidates.captured
        return self.compiled("capture", self._in_speeds([e for _, _, e in captured])) if captured else None

    def _in_speeds(self, values: Sequence[Expr]) -> list[Expr]:
        """Expressions in the speeds of the equations, also of those that these have eliminated."""
        quasi = self.equations.kinematics.quasi
        return [substitute(e, quasi) if free_symbols(e) & set(quasi) else e for e in values]


def _powers(eq: Equations, tau: Matrix | None) -> dict[str, Expr]:
    """The power of the inputs, and of the model's own forces that have no potential."""
    found = {}
    if tau is not None and len(eq.u):
        found["input"] = eq.u @ tau + eq.actuator_power
    if eq.own_power != 0:
        found["own"] = eq.own_power
    return found


def _lost(D: Matrix, u: Matrix, udot: Matrix) -> Expr:
    """What dampers do in a step beyond -u.D u: at its middle they move by u + h udot / 2, and act by u + h udot."""
    found: Expr = (u * _STEP * 3 + udot * _STEP**2) @ (D @ udot) / -2
    return found


def _in_joints(
    eq: Equations, constraints: Constraints, wired: tuple[str, ...] | None
) -> tuple[Kinematics, Constraints]:
    """The kinematics in the speeds of the joints, and in them the constraints and what is embedded in positions."""
    kin = eq.kinematics
    if not isinstance(kin, InSpeeds):
        return kin.joints, constraints
    every = constrain(kin.joints)
    free = selected(every, [i for i, name in enumerate(every.names) if name not in kin.embedded])
    if eq.model.candidates:
        free = joined(free, candidates(kin.joints, wired).rows)
    # rows that repeat the speeds of others may contradict their positions
    embedded = joined(kin.speeds.embedded, kin.speeds.repeated)
    return kin.joints, joined(free, selected(embedded, [i for i, h in enumerate(embedded.holonomic) if h]))
