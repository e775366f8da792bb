"""The terms of any formulation, projected on generalised speeds.

    v = G u + g,   vdot = G udot + a,   a = G_dot u + g_dot

    M' = G^T M G,   c' = G^T (c + M a),   Q' = G^T Q

v are the speeds of the joints, in which the formulation wrote its terms. Embedding,
Kane's speeds and Poincare's V are the same operation.

Reference: [Gillespie, eq. 44 to 46], with G for his [1; D].
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property, partial

from polhode.graph import Expr, Matrix, mirrored, substitute, vector, zeros
from polhode.kinematics import InSpeeds, Motion
from polhode.model.errors import listed

from .terms import Terms


def projected(terms: Terms, kin: Motion) -> Terms:
    """Write terms in the speeds of a motion, that of the mechanism they were derived for."""
    if kin is terms.kinematics:
        return terms
    if not isinstance(kin, InSpeeds) or kin.joints is not terms.kinematics:
        raise ValueError(
            f"Model {kin.model.name!r}: the terms are in the speeds {listed(map(str, terms.kinematics.u))}, "
            "expected those of the joints that the generalised speeds were defined by. Derive both from one Kinematics."
        )
    return Projection(terms, kin, kin.speeds.G, {v: kin.quasi[v] for v in kin.joints.u}).projected


@dataclass(frozen=True)
class Projection:
    """Terms in speeds v, and what makes terms in u of them.

    kin    : of the speeds u
    values : G u + g, for each of v
    """

    terms: Terms
    kin: Motion
    G: Matrix
    values: Mapping[Expr, Expr]

    @property
    def projected(self) -> Terms:
        return Terms(
            kinematics=self.kin,
            mass=self.mass,
            velocity=self.velocity,
            gravity=self.gravity,
            forces=self.forces,
            convective=self.convective,
            inverse=None if self.terms.inverse is None else partial(self.inverse, self.terms.inverse),
            limbs=self.terms.limbs,
        )

    @cached_property
    def M(self) -> Matrix:
        return self.terms.mass()

    @cached_property
    def drift(self) -> Matrix:
        """a = G_dot u + g_dot, (nv,)."""
        return self.kin.rate(vector(self.values.values()))

    def along(self, rows: Matrix) -> Matrix:
        """G^T times rows of the speeds v, with G u + g for these."""
        found: Matrix = self.G.T @ substitute(rows, self.values)
        return found

    def mass(self) -> Matrix:
        found: Matrix = self.G.T @ self.M @ self.G
        return mirrored(found.T)

    def velocity(self) -> Matrix:
        return self.along(self.terms.velocity() + self.M @ self.drift)

    def gravity(self) -> Matrix:
        return self.along(self.terms.gravity())

    def forces(self) -> Matrix:
        return self.along(self.terms.forces())

    def convective(self) -> Matrix:
        """C' = G^T (C G + M G_dot)."""
        require_still(self.kin)
        return self.along(self.terms.convective() @ self.G + self.M @ self.kin.rate(self.G))

    def inverse(self, needed: Callable[[Matrix], Matrix], udot: Matrix) -> Matrix:
        return self.along(needed(self.G @ udot + self.drift))


def require_still(kin: Motion) -> None:
    """Refuse speeds that depend on time, for which the velocity terms are not quadratic in them."""
    if kin.drift != zeros(len(kin.q)):
        raise ValueError(
            f"Model {kin.model.name!r}: its speeds or constraints depend on time, so the velocity terms are not C u. "
            "Use velocity_terms."
        )
