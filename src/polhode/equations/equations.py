"""The equations of motion in canonical form.

    qdot = N(q) u               (+ X(q, t) where speeds or embedded constraints depend on time)
    M(q) udot + c(q, u) = Q(q, u, z, t) + tau + J(q, z, t)^T lam
    J(q, z, t) udot + gamma(q, u, z, t) = 0
    zdot = f(q, u, z, t)

`c` holds every velocity and gravity term, `Q` the model's own force laws,
`tau` what acts on the speeds from outside, `lam` the reactions of constraints;
`z` are the model's states that are not motion.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar

from polhode.formulations import Terms
from polhode.formulations.denoc_elements import explain
from polhode.formulations.kane import Kane, reaction
from polhode.formulations.quasicoordinate import Limbs, Transformations, find_limbs, transformations
from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    diff_along,
    free_symbols,
    op_counts,
    substitute,
    tidy,
    tree_size,
    vector,
    zeros,
)
from polhode.graph.printing import READABLE
from polhode.kinematics import Candidates, Constraints, Motion, candidates, constrain, joined
from polhode.kinematics.loads import elastic_energy, spring_energy
from polhode.model import TIME, Model, When
from polhode.model.elsewhere import Elsewhere

from .latex import ROOM, latex
from .views import SympyEquations

if TYPE_CHECKING:
    from .dynamics import Dynamics
    from .regressor import Regressor

SMALL = 1500  # operations written out; what is no longer is for reading


def _readable(part: Matrix) -> Matrix:
    """Tidy what a person will read; leave what is large as it was derived."""
    return part if tree_size(part) > SMALL else min(part, tidy(part), key=_operations)


def _operations(part: Matrix) -> tuple[int, int]:
    return sum(op_counts(part).values()), tree_size(part)


@dataclass(frozen=True, kw_only=True)
class Equations(Elsewhere):
    """M udot + c = Q + tau, qdot = N u: expressions of q, u, t and parameters.

    method : the formulation that made them
    terms  : its result, term by term
    """

    _compiled: ClassVar[str] = "eq.compile()"
    _elsewhere: ClassVar[Mapping[str, str]] = {
        **dict.fromkeys(
            ("forward_dynamics", "inverse_dynamics", "mass_matrix", "bias", "forces", "energy", "impulse", "reactions",
             "derivatives"),
            "dyn = eq.compile(), then dyn.{name}",
        ),
        **dict.fromkeys(("subs", "evaluate"), "eq.compile(values={{...}}), or eq.to_sympy() for SymPy's"),
        "simplify": "eq.to_sympy(simplify=True)",
        "tau": "eq.to_sympy().tau",
        "udot": "eq.compile().forward_dynamics(q, u, tau), or of expressions ph.formulate(model, 'kane').kane.udot",
    }  # fmt: skip

    model: Model
    method: str
    terms: Terms

    @property
    def kinematics(self) -> Motion:
        return self.terms.kinematics

    @property
    def q(self) -> Matrix:
        """Coordinates, (nq,)."""
        return self.kinematics.q

    @property
    def u(self) -> Matrix:
        """Speeds, (nu,)."""
        return self.kinematics.u

    @property
    def z(self) -> Matrix:
        """States that are not motion, (nz,)."""
        return self.kinematics.z

    @property
    def z_dot(self) -> Matrix:
        """Their rates, (nz,), expressions of q, u, z, t and parameters."""
        return self.kinematics.z_dot

    @property
    def controls(self) -> Matrix:
        """The controls of actuators, (nc,), symbols."""
        return vector(self.model.controls)

    @property
    def t(self) -> Expr:
        """Time."""
        return TIME

    @property
    def N(self) -> Matrix:
        """The kinematic matrix: qdot = N u, (nq, nu). The paper's V."""
        return self.kinematics.N

    @cached_property
    def M(self) -> Matrix:
        """The inertia matrix, (nu, nu)."""
        return _readable(self.terms.mass())

    @cached_property
    def c(self) -> Matrix:
        """Velocity and gravity terms, (nu,)."""
        if self.terms.inverse is not None:
            return _readable(self.terms.inverse(zeros(len(self.u))))
        return self.velocity_terms + self.gravity

    @cached_property
    def velocity_terms(self) -> Matrix:
        """The part of c that is quadratic in the speeds, (nu,)."""
        return _readable(self.terms.velocity())

    @cached_property
    def C(self) -> Matrix:
        """The convective matrix, (nu, nu): C u are the velocity terms.

        By "denoc" it is that of Saha and Goel, with M_dot - 2 C skew; by
        "poincare" and "lagrange" that of eq. (53b) of Kwatny and Blankenship,
        for which it is not in general.
        """
        return self.terms.convective()

    @cached_property
    def gravity(self) -> Matrix:
        """Gravity terms, (nu,): the part of c without speeds."""
        return _readable(self.terms.gravity())

    @cached_property
    def Q(self) -> Matrix:
        """Generalised forces of the model's springs, dampers, smoothed friction and other laws, (nu,)."""
        return _readable(self.terms.forces())

    @property
    def kinetic(self) -> Expr:
        """Kinetic energy."""
        return self.kinematics.kinetic

    @cached_property
    def potential(self) -> Expr:
        """Potential energy of gravity, springs and the potentials the model has."""
        return self.kinematics.gravitational + self.elastic

    @cached_property
    def elastic(self) -> Expr:
        """The part of the potential energy that Q has the forces of: springs, and the potentials the model has."""
        return elastic_energy(self.kinematics) + spring_energy(self.kinematics)

    @cached_property
    def own_power(self) -> Expr:
        """Power of the model's forces that have no potential: u . Q + dV_el/dt, without that of actuators."""
        power: Expr = self.u @ self.Q if len(self.u) else as_expr(0)
        return power - self.actuator_power + diff_along(self.elastic, [*self.q], [*self.kinematics.q_dot])

    @cached_property
    def actuator_power(self) -> Expr:
        """Power of the actuators: the force of each by the rate that it acts along."""
        kin, total, within = self.kinematics, as_expr(0), self.model.limited_controls
        for actuator in self.model.actuators:
            rate = as_expr(0)
            for speed, share in actuator.along:
                rate = rate + substitute(share, within) * kin.named_speed(speed)
            if actuator.marker is not None:
                V = kin.velocity(actuator.marker, "marker")
                rate = rate + actuator.push @ V.v + actuator.twist @ V.w
            total = total + substitute(actuator.value(within), kin.quasi) * substitute(rate, kin.quasi)
        return total

    @cached_property
    def parameters(self) -> tuple[Expr, ...]:
        """The symbols that need a value before anything can be computed, in order of name."""
        found = free_symbols([*self.c, *self.Q, *self.kinematics.q_dot, self.kinetic, self.potential])
        found |= free_symbols([*self.constraints.phi, *self.constraints.own])
        laws = [e for c in self.model.candidates for e in c.expressions()]
        found |= free_symbols([substitute(e, self.kinematics.quasi) for e in laws])
        found |= free_symbols([e for m in self.model.markers for e in (*m.pose.R.entries, *m.pose.p)])
        found |= free_symbols([*self.z_dot, *(state.start for state in self.model.states)])
        guards = [switch.value for switch in self.model.switches if isinstance(switch, When)]
        found |= free_symbols([substitute(e, self.kinematics.quasi) for e in guards])
        return tuple(sorted(found - {*self.q, *self.u, *self.z, *self.controls, TIME}, key=lambda s: str(s.value)))

    @cached_property
    def candidates(self) -> Candidates:
        """Rows of what comes and goes: what commands engage, what can only push, what bears only so much."""
        return candidates(self.kinematics)

    @cached_property
    def rows(self) -> Constraints:
        """All rows: those of the constraints, then of what comes and goes."""
        return joined(self.constraints, self.candidates.rows) if len(self.candidates) else self.constraints

    @cached_property
    def constraints(self) -> Constraints:
        """The model's constraints: phi, psi, J, gamma, row by row."""
        return constrain(self.kinematics)

    @cached_property
    def kane(self) -> Kane:
        """Partial velocities and generalised forces, in the speeds of these equations."""
        return Kane(kinematics=self.kinematics)

    @cached_property
    def limbs(self) -> Limbs:
        """The limbs of the machine, with their shares of the bodies they have in common; prints as a list.

        Reference: [NelsonQuinn, eq. 38 to 41].
        """
        return self.terms.limbs or find_limbs(self.kinematics.joints)  # type: ignore[return-value]

    def transformations(self, inboard: Mapping[str, str] | None = None) -> Transformations:
        """From the speeds to the absolute angular velocities of all limbs: C_0^R, D_0, D_1, D_2 and D_3, which print.

        inboard : bodies whose angle is measured from a body further in than the one before, by name; its axes must be
                  parallel. None for those that motors drive by cables

        Reference: [NelsonQuinn, eq. 29 to 49].
        """
        if inboard is None:
            cables = {
                u: motor.carrier(self.model) for motor in self.model.motors if motor.cable for u, _ in motor.drives
            }
            inboard = {b.name: cables[u] for b in self.model.bodies for u in b.joint.speeds() if u in cables}
        return transformations(self.kinematics, self.limbs, inboard)

    def reaction(self, name: str, axes: str = "marker") -> Matrix:
        """What a joint exerts on its body, (6,), moment about the body's origin first, in its axes or the "world"'s.

        Also of a constraint, a force for each of its rows. In q, u and `eq.kane.udot`.
        """
        return reaction(self.kane, name, axes)

    def pose(self, marker: str) -> Matrix:
        """The 4 x 4 pose of a marker or body in the world. The paper's XEndEf."""
        return self.kinematics.pose(marker).matrix()

    def velocity(self, marker: str, axes: str = "world") -> Matrix:
        """Angular velocity and velocity of a marker or body, (6,), in the axes of "world" or "marker"."""
        return self.kinematics.velocity(marker, axes).vector()

    def acceleration(self, marker: str, axes: str = "world", udot: Matrix | None = None) -> Matrix:
        """Angular acceleration and acceleration of a marker or body, (6,), for given udot or `eq.kane.udot`."""
        kin = self.kinematics
        given = self.kane.udot if udot is None else udot
        V = kin.velocity(marker).vector()
        bias = diff_along(V, [*self.q, TIME], [*kin.q_dot, as_expr(1)])
        found: Matrix = kin.jacobian(marker) @ given + bias
        if axes == "world":
            return found
        R = kin.pose(marker).R.T
        return vector([*(R @ found[:3]), *(R @ found[3:])])

    def jacobian(self, marker: str, axes: str = "world") -> Matrix:
        """The (6, nu) matrix J with J u the velocity of a marker or body."""
        return self.kinematics.jacobian(marker, axes)

    @cached_property
    def sensors(self) -> dict[str, Matrix]:
        """What the sensors of the model show, by name; accelerometers in `eq.kane.udot`."""
        from .sensors import sensed

        return {sensor.name: sensed(self, sensor) for sensor in self.model.sensors}

    @property
    def center_of_mass(self) -> Matrix:
        """Centre of mass of what moves, (3,), in the world."""
        return self.kinematics.center_of_mass

    def regressor(self, joints: Iterable[str] = ()) -> Regressor:
        """tau = Y(q, u, udot) theta + rest, linear in the parameters of inertia of the rigid bodies.

        joints : "armature", "damping", "friction": parameters of the joints that are among theta too

        `.base()` finds the combinations of theta that act, `.energy` has the energies likewise.
        """
        from .regressor import regressor

        return regressor(self, joints)

    def explain(self, row: str, column: str, of: str = "M") -> str:
        """Say what an element of M or C is made of: composite body, joints, expression.

        The element C is that of Saha and Goel, whichever method made the equations.
        """
        if self.kinematics is not self.kinematics.joints:
            raise ValueError("Elements are explained in the speeds of the joints. Use formulate(model).explain(...).")
        return explain(self.kinematics.joints, row, column, of)

    def op_counts(self) -> dict[str, int]:
        """Operations of M, c, Q and N together, by kind; shared ones counted once."""
        return op_counts([*self.M.entries, *self.c, *self.Q, *self.N.entries])

    def to_sympy(self, simplify: bool = False) -> SympyEquations:
        """The equations as SymPy matrices: q, u, tau, N, M, c, Q, C, gravity, kinetic, potential.

        Their symbols are real: substitute with s.M.subs(s.q[0], 0), not by name.

        simplify : let SymPy simplify each entry; for small systems
        """
        return self._simplified if simplify else self._sympy

    @cached_property
    def _sympy(self) -> SympyEquations:
        return SympyEquations(self, False)

    @cached_property
    def _simplified(self) -> SympyEquations:
        return SympyEquations(self, True)

    def latex(
        self,
        simplify: bool = False,
        *,
        width: float = ROOM,
        digits: int | None = 6,
        environment: str = "aligned",
    ) -> str:
        """The equations as LaTeX that fits a page, with intermediate variables where they are long.

        width       : of the text, in em; what is wider is broken, or written part by part. An article on A4 has 33
        digits      : of numbers; None for all of them
        environment : "aligned" stands in a formula; "align*" stands by itself, and may break across pages
        """
        return latex(self, simplify, width, digits, environment)

    def _repr_latex_(self) -> str | None:
        """What a notebook shows; large equations as plain text."""
        short = sum(self.op_counts().values()) <= 3 * READABLE
        return f"$\\displaystyle {self.latex()}$" if short else None

    def to_c(self, folder: str | Path, values: Mapping[Any, Any] | None = None) -> tuple[Path, Path]:
        """Write dynamics_NAME.c and dynamics_NAME.h, C99 that stands alone; return their paths.

        The function dynamics_NAME gives M, c, Q, qdot and udot; of a machine with constraints their rows instead
        of udot, and forward_dynamics_NAME holds them: udot and the reactions.

        values : of parameters that become constants; the others are inputs
        """
        from .source import c_source

        return c_source(self, values).save(folder)

    def to_python(self, values: Mapping[Any, Any] | None = None) -> str:
        """The same as text of a Python module that needs NumPy alone: dynamics(q, u, tau) gives all by name."""
        from .source import python_source

        return python_source(self, values)

    def compile(self, values: Mapping[Any, Any] | None = None, target: str = "llvm") -> Dynamics:
        """Make native code of the equations; each call is compiled when first used.

        values : of parameters to fold into the code; the others become run-time inputs
        target : "llvm", or "numpy", "c" or "javascript" as in `polhode.compile`
        """
        from .dynamics import Dynamics

        return Dynamics(self, values or {}, target)

    def __repr__(self) -> str:
        counts = ", ".join(f"{n:,} {kind}" for kind, n in self.op_counts().items())
        rest = f", parameters {', '.join(str(s) for s in self.parameters)}" if self.parameters else ""
        return (
            f"Equations of {self.model.name!r} by {self.method}: nq = {len(self.q)}, nu = {len(self.u)}{rest}; {counts}"
        )
