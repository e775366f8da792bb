"""The generalised speeds of a mechanism: what they mean, and how the coordinates follow from them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polhode.graph import Expr, Matrix, free_symbols, identity, jacobian, substitute, symbol, vector, zeros
from polhode.graph.compact import compact
from polhode.kinematics import InSpeeds, Motion, Speeds


@dataclass(frozen=True, kw_only=True, repr=False)
class Choice:
    """Generalised speeds u, with u = Y v + Z and qdot = W u + X.

    v are the speeds of the joints. Where these are the rates of the coordinates,
    the matrices are those of the paper.

    kinematics : of the speeds u
    """

    kinematics: Motion

    @property
    def u(self) -> Matrix:
        """The generalised speeds, (nu,)."""
        return self.kinematics.u

    @cached_property
    def udot(self) -> Matrix:
        """Symbols for their derivatives: u1_dot for u1."""
        kin = self.kinematics
        taken = {*kin.q, *kin.u, *kin.z, *kin.quasi, *kin.model.parameters, *free_symbols(kin.q_dot)}
        ending = "_dot"
        while any(symbol(f"{u.value}{ending}") in taken for u in kin.u):
            ending = f"_{ending}"
        return vector([symbol(f"{u.value}{ending}") for u in kin.u])

    @property
    def _chosen(self) -> Speeds | None:
        return self.kinematics.speeds if isinstance(self.kinematics, InSpeeds) else None

    @property
    def _meaning(self) -> Matrix:
        return self.u if self._chosen is None else vector(self._chosen.defined.values())

    @property
    def W(self) -> Matrix:
        """qdot = W u + X, (nq, nu). Reference: [Gillespie, eq. 2]."""
        return self.kinematics.N

    @property
    def X(self) -> Matrix:
        """qdot = W u + X, (nq,); zero unless definitions or constraints depend on time."""
        return self.kinematics.drift

    @property
    def Y(self) -> Matrix:
        """u = Y v + Z, a row for each speed that was defined. Reference: [Gillespie, eq. 1]."""
        return identity(len(self.u)) if self._chosen is None else jacobian(self._meaning, self.kinematics.joints.u)

    @property
    def Z(self) -> Matrix:
        """u = Y v + Z."""
        found = self._chosen
        if found is None:
            return zeros(len(self.u))
        return compact(substitute(self._meaning, dict.fromkeys(self.kinematics.joints.u, 0)))

    @property
    def G(self) -> Matrix:
        """v = G u + g. What acts on the joints, tau_v, acts on the speeds as G^T tau_v."""
        return identity(len(self.u)) if self._chosen is None else self._chosen.G

    @property
    def g(self) -> Matrix:
        return zeros(len(self.u)) if self._chosen is None else self._chosen.g

    @property
    def D(self) -> Matrix:
        """Dependent speeds are D u + E. Reference: [Gillespie, eq. 5]."""
        return zeros(0, len(self.u)) if self._chosen is None else self._chosen.D

    @property
    def E(self) -> Matrix:
        return zeros(0) if self._chosen is None else self._chosen.E

    @property
    def independent(self) -> tuple[str, ...]:
        """Names of the speeds that are left."""
        return tuple(str(u.value) for u in self.u)

    @property
    def dependent(self) -> dict[str, Expr]:
        """The speeds that constraints determine, in terms of the others."""
        found = self._chosen
        if found is None:
            return {}
        return {str(s.value): e for s, e in zip(found.dependent, compact(found.D @ found.u + found.E), strict=True)}

    @property
    def repeated(self) -> tuple[str, ...]:
        """Rows of embedded constraints that were left out because their speeds repeat those of others."""
        return () if self._chosen is None else self._chosen.repeated.labels

    def __repr__(self) -> str:
        lines = [f"Kane's method for {self.kinematics.model.name!r}: nu = {len(self.u)}"]
        if self._chosen is not None:
            lines += [f"  {u} = {e}" for u, e in self._chosen.defined.items() if e is not u]
            lines += [f"  {name} = {e} (dependent)" for name, e in self.dependent.items()]
            lines += [f"  left out: {', '.join(self.repeated)}"] if self.repeated else []
        return "\n".join(lines)
