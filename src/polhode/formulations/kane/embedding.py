"""Constraints embedded by recombination of the unconstrained equations.

    F~_r  = F_r  + sum over s of D_sr F_s     r independent, s dependent
    F~_r* = F_r* + sum over s of D_sr F_s*

with the dependent speeds u_D = D u + E and their rates put in afterwards. The other
way, substitution before partial velocities are formed, is that of `kane.terms`.

Reference: [Gillespie, eq. 44 to 46].
"""

from __future__ import annotations

from functools import partial

from polhode.graph import Matrix, identity, matrix, substitute, vector
from polhode.graph.compact import compact
from polhode.kinematics import InSpeeds, Motion, in_speeds

from ..terms import Terms
from .method import Kane, convective_matrix


class Recombination:
    """The unconstrained equations and how they combine."""

    def __init__(self, kin: Motion) -> None:
        if not isinstance(kin, InSpeeds) or kin.speeds.free is None:
            raise ValueError(f'Model {kin.model.name!r}: {_why(kin)}, or use embed_by="substitution".')
        self.kin = kin
        self.kane = Kane(kinematics=kin)
        own, free = kin.speeds, kin.speeds.free
        self.free = Kane(kinematics=in_speeds(kin.joints, free))
        dependent = {s: i for i, s in enumerate(own.dependent)}
        places = {u: i for i, u in enumerate(kin.u)}
        unit = identity(len(kin.u))
        self.P = matrix([own.D[dependent[u]] if u in dependent else unit[places[u]] for u in free.u])
        self.speeds = dict(zip(own.dependent, compact(own.D @ kin.u + own.E), strict=True))
        # udot_D = D udot + D_dot u + E_dot
        drift = compact(kin.rate(own.D) @ kin.u + kin.rate(own.E))
        self.rest = vector([drift[dependent[u]] if u in dependent else 0 for u in free.u])

    def combined(self, rows: Matrix) -> Matrix:
        """Rows of the independent speeds plus D^T times those of the dependent, in the independent speeds."""
        found: Matrix = self.P.T @ substitute(rows, self.speeds)
        return compact(found)

    @property
    def F(self) -> Matrix:
        """Reference: [Gillespie, eq. 44]."""
        return self.combined(self.free.F)

    @property
    def F_star(self) -> Matrix:
        """Reference: [Gillespie, eq. 45], the dependent rates eliminated."""
        udot = self.P @ self.kane.udot + self.rest
        rates = dict(zip(self.free.udot, udot, strict=True))
        return self.combined(substitute(self.free.F_star, rates))

    def mass(self) -> Matrix:
        """P^T M P with u = P u_I + e."""
        M: Matrix = self.P.T @ self.free.mass() @ self.P
        n = len(self.kin.u)
        return compact(matrix([[M[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]))

    def velocity(self) -> Matrix:
        return self.combined(self.free.velocity() + self.free.mass() @ self.rest)

    def gravity(self) -> Matrix:
        return -self.combined(self.free.weights())

    def forces(self) -> Matrix:
        return self.combined(self.free.forces())


def _why(kin: Motion) -> str:
    """Why there is nothing to recombine, and what to do about it."""
    if not isinstance(kin, InSpeeds) or not len(kin.speeds.embedded):
        return "no constraint is embedded among its speeds, so nothing recombines. Name constraints with embed="
    return (
        f"the embedded constraints only complete the definitions of {', '.join(repr(str(u.value)) for u in kin.u)}, so "
        f"nothing recombines. Define the dependent speeds too, {len(kin.speeds.embedded)} more"
    )


def recombined(kin: Motion) -> Terms:
    """Derive the terms of Kane's equations with constraints embedded by recombination."""
    made = Recombination(kin)
    return Terms(
        kinematics=kin,
        mass=made.mass,
        velocity=made.velocity,
        gravity=made.gravity,
        forces=made.forces,
        convective=partial(convective_matrix, kin, made.velocity),
    )
