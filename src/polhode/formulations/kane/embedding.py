"""Constraints embedded by recombination of the unconstrained equations.

    F~_r  = F_r  + sum over s of D_sr F_s     r independent, s dependent
    F~_r* = F_r* + sum over s of D_sr F_s*

with the dependent speeds u_D = D u + E and their rates put in afterwards. The other
way, substitution before partial velocities are formed, is that of `kane.terms`.

Reference: [Gillespie, eq. 44 to 46].
"""

from __future__ import annotations

from dataclasses import dataclass

from polhode.graph import Matrix, identity, matrix, substitute
from polhode.graph.compact import compact
from polhode.kinematics import InSpeeds, Motion, in_speeds

from ..projection import Projection
from ..terms import Terms
from .choice import Choice
from .method import Kane


@dataclass(frozen=True)
class Recombination(Projection):
    """The unconstrained equations, `free`, and how they combine: u = [1; D] u_I + [0; E]."""

    free: Kane

    @classmethod
    def of(cls, kin: Motion) -> Recombination:
        if not isinstance(kin, InSpeeds) or kin.speeds.free is None:
            raise ValueError(f'Model {kin.model.name!r}: {_why(kin)}, or use embed_by="substitution".')
        own = kin.speeds
        free = Kane(kinematics=in_speeds(kin.joints, kin.speeds.free))
        rows = dict(zip(kin.u, identity(len(kin.u)).rows(), strict=True)) | dict(
            zip(own.dependent, own.D.rows(), strict=True)
        )
        values = dict(zip(own.dependent, compact(own.D @ kin.u + own.E), strict=True))
        return cls(free.terms, kin, matrix([rows[u] for u in free.u]), {u: values.get(u, u) for u in free.u}, free)

    def along(self, rows: Matrix) -> Matrix:
        """Rows of the independent speeds plus D^T times those of the dependent, in the independent speeds."""
        return compact(super().along(rows))

    def mass(self) -> Matrix:
        return compact(super().mass())

    @property
    def F(self) -> Matrix:
        """Reference: [Gillespie, eq. 44]."""
        return self.along(self.free.F)

    @property
    def F_star(self) -> Matrix:
        """Reference: [Gillespie, eq. 45], the dependent rates eliminated."""
        udot = self.G @ Choice(kinematics=self.kin).udot + self.drift
        rates = dict(zip(self.free.udot, udot, strict=True))
        return self.along(substitute(self.free.F_star, rates))


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
    return Recombination.of(kin).projected
