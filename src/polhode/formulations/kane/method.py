"""Kane's method: Newton's and Euler's equations projected on partial velocities.

    F_r + F_r* = 0,   F_r  = sum of  v_r . R + w_r . T
                      F_r* = sum of -v_r . m a - w_r . (I alpha + w x I w)

v_r and w_r are the coefficients of the generalised speed u_r in the velocity of a
mass centre and the angular velocity of its body. Accelerations come from
differentiating the velocities, in the axes of each body.

Reference: [Gillespie, eq. 24, 31 to 34]. His (33) lacks the minus sign of (14).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from polhode.graph import (
    Matrix,
    as_expr,
    cross,
    diff_along,
    gradient,
    jacobian,
    matrix,
    mirrored,
    solve,
    substitute,
    symbol,
    vector,
    zeros,
)
from polhode.graph.compact import compact
from polhode.kinematics import InSpeeds, Motion, in_speeds
from polhode.kinematics.loads import elastic_energy, speed_forces
from polhode.model import TIME
from polhode.spatial import Twist, Wrench

from ..projection import require_still
from ..terms import Terms
from .bodies import Mass, Pliant, Rotor, active, masses, pliant, rotors, stopped
from .choice import Choice
from .tables import PartialTable, partial_table

if TYPE_CHECKING:
    from .embedding import Recombination

Pair = tuple[Matrix, Matrix]  # angular and linear part, in the axes of the link


@dataclass(frozen=True, kw_only=True, repr=False)
class Kane(Choice):
    """The quantities of Kane's method for one mechanism in one set of speeds."""

    @cached_property
    def free(self) -> Kane:
        """The same before constraints were embedded among its speeds; itself where none were."""
        kin = self.kinematics
        if not isinstance(kin, InSpeeds) or kin.speeds.free is None:
            return self
        return Kane(kinematics=in_speeds(kin.joints, kin.speeds.free))

    @cached_property
    def recombined(self) -> Recombination:
        """The equations of `free` combined by the constraints. Reference: [Gillespie, eq. 44, 45]."""
        from .embedding import Recombination

        return Recombination.of(self.kinematics)

    @cached_property
    def bodies(self) -> list[Mass]:
        return masses(self.kinematics)

    @cached_property
    def pliant(self) -> list[Pliant]:
        return pliant(self.kinematics)

    @cached_property
    def rotors(self) -> list[Rotor]:
        return rotors(self.kinematics)

    def rate(self, rows: Matrix, udot: Matrix) -> Matrix:
        """Change of components with time."""
        kin = self.kinematics
        return diff_along(rows, [*kin.q, *kin.z, TIME, *kin.u], [*kin.q_dot, *kin.z_dot, as_expr(1), *udot])

    @cached_property
    def velocities(self) -> list[Pair]:
        """Angular velocity of every body and velocity of its mass centre."""
        V = [self.kinematics.V[body.link] for body in self.bodies]
        return [(v.w, compact(v.v + cross(v.w, body.point))) for body, v in zip(self.bodies, V, strict=True)]

    def accelerations(self, udot: Matrix) -> list[Pair]:
        """Angular acceleration of every body and acceleration of its mass centre, by differentiation.

        a = (change of the components of v) + w x v.  Reference: [Gillespie, eq. 37].
        """
        return [(compact(self.rate(w, udot)), compact(self.rate(v, udot) + cross(w, v))) for w, v in self.velocities]

    @cached_property
    def partials(self) -> list[Pair]:
        """Partial angular velocities and partial velocities, (3, nu) each. Reference: [Gillespie, eq. 24, 35]."""
        return [(compact(jacobian(w, self.u)), compact(jacobian(v, self.u))) for w, v in self.velocities]

    @property
    def partial_velocities(self) -> PartialTable:
        """The table of mass centres and bodies, each in its own axes."""
        return self.table()

    def table(
        self, points: Sequence[str] | None = None, bodies: Sequence[str] | None = None, axes: str | None = None
    ) -> PartialTable:
        """Partial velocities of points and partial angular velocities of bodies, to be printed.

        points : markers, bodies (their origins) or mass centres "<body>_o"; None for all mass centres
        bodies : None for those that have inertia
        axes   : a marker, body or "world"; None for the axes of what moves
        """
        centers = {body.body: body.point for body in self.bodies}
        return partial_table(self.kinematics, centers, points, bodies, axes)

    @cached_property
    def F(self) -> Matrix:
        """Generalised active forces, of gravity and the laws of the model, (nu,). Reference: [Gillespie, eq. 32]."""
        return compact(self.weights() + self.forces())

    @cached_property
    def F_star(self) -> Matrix:
        """Generalised inertia forces, with the symbols `udot`, (nu,). Reference: [Gillespie, eq. 33 with a minus]."""
        return compact(-self.inertia(self.udot))

    def inertia(self, udot: Matrix) -> Matrix:
        """What the accelerations need: M udot and the velocity terms, (nu,)."""
        total = zeros(len(self.u))
        motions = zip(self.bodies, self.velocities, self.accelerations(udot), self.partials, strict=True)
        for body, (w, _), (alpha, a), (w_r, v_r) in motions:
            n, f = body.needed(w, alpha, a)
            total = total + w_r.T @ n + v_r.T @ f
        for part in self.pliant:
            needed, forces = self.deforming(part, udot)
            V_r, d_r = self.moving(part)
            total = total + V_r.T @ needed.vector() + d_r.T @ forces
        return total + self._driven(udot)

    def rates(self, part: Pliant) -> Matrix:
        """The speeds of the modes of a body that deforms, in the speeds u."""
        quasi = self.kinematics.quasi
        return vector([quasi.get(s, s) for s in part.modes.rates])

    def moving(self, part: Pliant) -> Pair:
        """Partial twists (6, nu) of the frame of a body that deforms, and partial rates (m, nu) of its modes."""
        V = self.kinematics.V[part.link].vector()
        return compact(jacobian(V, self.u)), jacobian(self.rates(part), self.u)

    def deforming(self, part: Pliant, udot: Matrix) -> tuple[Wrench, Matrix]:
        """The wrench and the forces on its modes that the motion of a body that deforms needs.

        n = N_dot + w x N + v x L,  f = L_dot + w x L,  d/dt(dT/dd') - dT/dd, with momenta N about the origin and L.
        """
        V, body, d = self.kinematics.V[part.link], part.modes.body, vector(part.modes.d)
        rates = self.rates(part)
        mu, own = body.momentum(V, rates.entries)
        names = vector([symbol(f"twist {i}") for i in range(6)])  # the twist itself may depend on d
        slopes = gradient(body.kinetic(Twist.of(names), part.modes.rates), d)
        known = dict(zip([*names, *part.modes.rates], [*V.vector(), *rates], strict=True))
        change = self.rate(vector([*mu.vector(), *own]), udot)
        n = change[:3] + cross(V.w, mu.n) + cross(V.v, mu.f)
        return Wrench(n, change[3:6] + cross(V.w, mu.f)), change[6:] - substitute(slopes, known)

    def velocity(self) -> Matrix:
        """The velocity terms: what is needed where udot = 0."""
        return compact(self.inertia(zeros(len(self.u))))

    def mass(self) -> Matrix:
        """The inertia matrix, the coefficients of udot in -F*: sum of m v_r . v_s + w_r . I w_s."""
        n = len(self.u)
        M = [[as_expr(0)] * n for _ in range(n)]
        for body, (w_r, v_r) in zip(self.bodies, self.partials, strict=True):
            for i in range(n):
                N, L = body.momentum(w_r[:, i], v_r[:, i])
                for j in range(i + 1):
                    M[i][j] = M[i][j] + w_r[:, j] @ N + v_r[:, j] @ L
        for part in self.pliant:
            V_r, d_r = self.moving(part)
            for i in range(n):
                mu, own = part.modes.body.momentum(Twist.of(V_r[:, i]), d_r[:, i].entries)
                for j in range(i + 1):
                    M[i][j] = M[i][j] + V_r[:, j] @ mu.vector() + d_r[:, j] @ vector(own)
        for rotor in self.rotors:
            for i in range(n):
                for j in range(i + 1):
                    M[i][j] = M[i][j] + rotor.a * rotor.along[i] * rotor.along[j]
        return compact(mirrored(matrix(M).T)) if n else zeros(0, 0)

    def _driven(self, udot: Matrix) -> Matrix:
        """What the armatures of the joints need."""
        total = zeros(len(self.u))
        for rotor in self.rotors:
            total = total + rotor.along * (rotor.a * self.rate(vector([rotor.v]), udot)[0] + rotor.turning)
        return total

    def weights(self) -> Matrix:
        """Generalised active forces of gravity, (nu,)."""
        kin = self.kinematics
        total = zeros(len(self.u))
        for body, (w_r, v_r) in zip(self.bodies, self.partials, strict=True):
            g = kin.X_W[body.link].R.T @ kin.model.gravity
            total = total + w_r.T @ cross(body.h, g) + v_r.T @ (g * body.m)
        for part in self.pliant:
            g, whole = kin.X_W[part.link].R.T @ kin.model.gravity, part.modes.body
            V_r, d_r = self.moving(part)
            total = total + V_r.T @ vector([*cross(whole.inertia.h, g), *(g * whole.inertia.m)])
            total = total + d_r.T @ vector([P @ g for P in whole.P])
        return compact(total)

    def gravity(self) -> Matrix:
        return -self.weights()

    def forces(self) -> Matrix:
        """Generalised active forces of the model's laws, (nu,); what does no work on the speeds drops out."""
        kin = self.kinematics
        total = zeros(len(self.u))
        for marker, axes, torque, force in active(kin):
            V_r = kin.jacobian(marker, axes)
            total = total + V_r.T @ vector([*torque, *force])
        for name, law in speed_forces(kin):
            total = total + gradient(kin.named_speed(name), kin.u) * law
        for rate, push in stopped(kin):
            total = total + gradient(rate, kin.u) * push
        energy = elastic_energy(kin)
        if energy != 0:
            total = total - kin.pulled(gradient(energy, kin.q))
        return compact(substitute(total, kin.quasi))  # force laws are written in the speeds of the model

    def convective(self) -> Matrix:
        """C with C u the velocity terms: half their slopes, as they are quadratic in u.

        M_dot - 2 C is not skew in general.
        """
        require_still(self.kinematics)
        return compact(jacobian(self.velocity(), self.u) / 2)

    @property
    def terms(self) -> Terms:
        return Terms(
            kinematics=self.kinematics,
            mass=self.mass,
            velocity=self.velocity,
            gravity=self.gravity,
            forces=self.forces,
            convective=self.convective,
        )

    def solved(self, tau: Matrix | None = None) -> Matrix:
        """The dynamical differential equations solved for udot, (nu,), written as briefly as they can be."""
        b = self.F - self.velocity() + (zeros(len(self.u)) if tau is None else tau)
        return compact(solve(self.mass(), compact(b)))


def terms(kin: Motion) -> Terms:
    """Derive the terms of Kane's equations, constraints embedded by substitution in the velocities."""
    return Kane(kinematics=kin).terms
