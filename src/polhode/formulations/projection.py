"""The terms of any formulation, projected on generalised speeds.

    v = G u + g,   vdot = G udot + a,   a = G_dot u + g_dot

    M' = G^T M G,   c' = G^T (c + M a),   Q' = G^T Q

v are the speeds of the joints, in which the formulation wrote its terms. Embedding,
Kane's speeds and Poincare's V are the same operation.

Reference: [Gillespie, eq. 44 to 46], with G for his [1; D].
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

from polhode.graph import Expr, Matrix, matrix, substitute, vector, zeros
from polhode.kinematics import InSpeeds, Motion

from .terms import Terms


def projected(terms: Terms, kin: Motion) -> Terms:
    """Write terms in the speeds of a motion, that of the mechanism they were derived for."""
    if kin is terms.kinematics:
        return terms
    if not isinstance(kin, InSpeeds) or kin.joints is not terms.kinematics:
        raise ValueError(
            f"Model {kin.model.name!r}: the terms are in the speeds {_listed(terms.kinematics.u)}, expected those of "
            "the joints that the generalised speeds were defined by. Derive both from one Kinematics."
        )
    made = _Projection(terms, kin)
    return Terms(
        kinematics=kin,
        mass=made.mass,
        velocity=made.velocity,
        gravity=made.gravity,
        forces=made.forces,
        convective=made.convective,
        inverse=None if terms.inverse is None else made.inverse,
    )


@dataclass(frozen=True)
class _Projection:
    terms: Terms
    kin: InSpeeds

    @property
    def G(self) -> Matrix:
        return self.kin.speeds.G

    @cached_property
    def M(self) -> Matrix:
        return self.terms.mass()

    def in_u(self, rows: Matrix) -> Matrix:
        """Terms of the joints' speeds v with G u + g for these."""
        return substitute(rows, {v: self.kin.quasi[v] for v in self.kin.joints.u})

    @cached_property
    def drift(self) -> Matrix:
        """a = G_dot u + g_dot, (nv,)."""
        v = vector([self.kin.quasi[s] for s in self.kin.joints.u])
        return self.kin.rate(v)

    def mass(self) -> Matrix:
        M: Matrix = self.G.T @ self.M @ self.G
        n = len(self.kin.u)
        return matrix([[M[max(i, j), min(i, j)] for j in range(n)] for i in range(n)]) if n else zeros(0, 0)

    def velocity(self) -> Matrix:
        found: Matrix = self.G.T @ (self.in_u(self.terms.velocity()) + self.M @ self.drift)
        return found

    def gravity(self) -> Matrix:
        found: Matrix = self.G.T @ self.terms.gravity()
        return found

    def forces(self) -> Matrix:
        found: Matrix = self.G.T @ self.in_u(self.terms.forces())
        return found

    def convective(self) -> Matrix:
        """C' = G^T (C G + M G_dot)."""
        require_still(self.kin)
        found: Matrix = self.G.T @ (self.in_u(self.terms.convective()) @ self.G + self.M @ self.kin.rate(self.G))
        return found

    def inverse(self, udot: Matrix) -> Matrix:
        needed: Callable[[Matrix], Matrix] | None = self.terms.inverse
        assert needed is not None
        found: Matrix = self.G.T @ self.in_u(needed(self.G @ udot + self.drift))
        return found


def require_still(kin: Motion) -> None:
    """Refuse speeds that depend on time, for which the velocity terms are not quadratic in them."""
    if kin.drift != zeros(len(kin.q)):
        raise ValueError(
            f"Model {kin.model.name!r}: its speeds or constraints depend on time, so the velocity terms are not C u. "
            "Use velocity_terms."
        )


def _listed(u: Matrix) -> str:
    names: list[Expr] = list(u[:6])
    return ", ".join(repr(str(s.value)) for s in names) + (", ..." if len(u) > 6 else "")
