"""Bodies of limbs that deform: what their modes add to the absolute velocities of their frames.

The paper has rigid bodies alone. Here the frame of such a body is what a rigid one is there, and the amplitudes of its
modes are quasicoordinates beside R and omega.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

from polhode.graph import Expr, Matrix, as_expr, cross, zeros
from polhode.kinematics.bent import Modes
from polhode.spatial import Twist
from polhode.spatial.rotation import skew

from .chain import Member

Motions = dict[int, tuple[Twist, list[Expr]]]  # by speed: the twist of the frame in its own axes, and the rates


@dataclass(frozen=True)
class Deforming:
    """A body that deforms, seen from its own axes."""

    frame: Member
    modes: Modes

    @cached_property
    def motions(self) -> Motions:
        """What a unit of each speed makes of the body."""
        frame, modes, found = self.frame, self.modes, {}
        for j in dict.fromkeys([*frame.turns, *frame.moves, *modes.at]):
            w, v = frame.turns.get(j, zeros(3)), frame.moves.get(j, zeros(3))
            found[j] = Twist(w, frame.C.T @ v), [as_expr(int(j == place)) for place in modes.at]
        return found

    def mass(self, M: list[list[Expr]]) -> None:
        """Add its rows to the inertia matrix, the lower triangle."""
        for i, (V, rates) in self.motions.items():
            mu, own = self.modes.body.momentum(V, rates)
            for j, (along, by) in self.motions.items():
                if j <= i:
                    M[i][j] = M[i][j] + along.dot(mu)
                    for a, b in zip(by, own, strict=True):
                        M[i][j] = M[i][j] + a * b

    def needed(self, total: list[Expr]) -> None:
        """Add what its motion needs where the speeds are constant."""
        frame, body, still = self.frame, self.modes.body, [as_expr(0)] * len(self.modes.at)
        w, w_dot, a = frame.omega, frame.turning, frame.C.T @ frame.moving
        S, I = skew(w_dot) + skew(w) @ skew(w), body.inertia
        motion = w, S, a, self.modes.rates, still
        beside = body.needed(*motion)
        n = I.I @ w_dot + cross(w, I.I @ w) + cross(I.h, a) + beside.n
        f = a * I.m + S @ I.h + beside.f
        self._along(n, f, body.modal(*motion), total)

    def weight(self, fall: Matrix, total: list[Expr]) -> None:
        """Add what holds it against an acceleration of the world."""
        a, body = self.frame.C.T @ fall, self.modes.body
        self._along(cross(body.inertia.h, a), a * body.inertia.m, [P @ a for P in body.P], total)

    def _along(self, n: Matrix, f: Matrix, modal: list[Expr], total: list[Expr]) -> None:
        for j, (V, rates) in self.motions.items():
            total[j] = total[j] + V.w @ n + V.v @ f
            for rate, force in zip(rates, modal, strict=True):
                total[j] = total[j] + rate * force
