"""The bodies of a machine as a limb sees them: absolute angular velocities, and what moves with them."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property

from polhode.graph import Expr, Matrix, as_expr, cross, matrix, symbol, zeros
from polhode.kinematics import Kinematics, configuration, joint_map
from polhode.model import WORLD, ModelError
from polhode.model.body import Body
from polhode.spatial import Inertia
from polhode.spatial.rotation import skew

Columns = dict[int, Matrix]  # the columns of a matrix that are not 0, by speed


@dataclass(frozen=True, kw_only=True)
class Member:
    """A body, and its motion as columns of the speeds u of the joints.

    parent : the body before it, None for the world
    C      : C_Ni, from its axes to those of the world
    back   : C_i(i-1), from the axes of the body before it
    L      : its origin in the frame of the body before it
    D      : (3, k), Omega_i = D u_i, its angular velocity relative to the body before it, in its own axes
    slide  : (3, k), likewise the velocity of its origin
    first  : index of its first speed
    m, S   : mass and its centre
    I      : inertia about it

    Reference: [NelsonQuinn, eq. 3 to 14]; his R is that of the base, here as all speeds a part of u.
    """

    name: str
    parent: Member | None
    C: Matrix
    back: Matrix
    L: Matrix
    D: Matrix
    slide: Matrix
    first: int
    m: Expr
    S: Matrix
    I: Matrix
    kin: Kinematics = field(repr=False)

    @property
    def own(self) -> Matrix:
        """The speeds of its joint."""
        found: Matrix = self.kin.u[self.first : self.first + self.D.shape[1]]
        return found

    @cached_property
    def chain(self) -> tuple[Member, ...]:
        """It and all before it, from the base outward."""
        return (self,) if self.parent is None else (*self.parent.chain, self)

    # absolute velocities

    @cached_property
    def turns(self) -> Columns:
        """omega_i = sum of C_ij D_j u_j, a column a speed. Reference: [NelsonQuinn, eq. 10, 11, 13]."""
        found = {} if self.parent is None else {j: self.back @ c for j, c in self.parent.turns.items()}
        return found | {self.first + k: self.D[:, k] for k in range(self.D.shape[1])}

    @cached_property
    def moves(self) -> Columns:
        """The velocity of its origin in the world: a row of Phi C^R D with L, and slides.

        Reference: [NelsonQuinn, eq. 7]: C_Nj L_j~^T omega_j, summed along the limb.
        """
        found: Columns = {}
        if self.parent is not None:
            arm = self.parent.C @ skew(self.L).T
            found = {j: _sum(self.parent.moves.get(j), arm @ c) for j, c in self.parent.turns.items()}
        slides = self.C @ self.slide
        return found | {self.first + k: slides[:, k] for k in range(slides.shape[1])}

    @cached_property
    def center(self) -> Columns:
        """The velocity of its mass centre in the world: the row of Phi C^R D with S. [NelsonQuinn, eq. 7]."""
        arm = self.C @ skew(self.S).T
        return {j: _sum(self.moves.get(j), arm @ c) for j, c in self.turns.items()}

    @cached_property
    def omega(self) -> Matrix:
        """Its angular velocity, in its own axes."""
        found: Matrix = self.D @ self.own
        return found if self.parent is None else self.back @ self.parent.omega + found

    # accelerations without those of the speeds

    @cached_property
    def turning(self) -> Matrix:
        """C^R xi, xi = omega~ Omega + D_dot u. Reference: [NelsonQuinn, eq. 20], with the dot on D."""
        xi: Matrix = cross(self.omega, self.D @ self.own) + self.kin.rate(self.D) @ self.own
        return xi if self.parent is None else self.back @ self.parent.turning + xi

    @cached_property
    def moving(self) -> Matrix:
        """The same of its origin: Phi_dot omega + Phi C^R xi, and slides. Reference: [NelsonQuinn, eq. 20]."""
        slid = self.slide @ self.own
        found: Matrix = self.C @ (cross(self.omega, slid) + self.kin.rate(self.slide) @ self.own)
        if self.parent is None:
            return found
        before = self.parent
        spun = cross(before.turning, self.L) + cross(before.omega, cross(before.omega, self.L))
        drawn = cross(before.omega, self.back.T @ slid)  # of L_dot
        carried: Matrix = before.C @ (spun + drawn)
        return before.moving + carried + found

    @cached_property
    def accelerating(self) -> Matrix:
        """The same of its mass centre, in the world."""
        arm = cross(self.turning, self.S) + cross(self.omega, cross(self.omega, self.S))
        found: Matrix = self.moving + self.C @ arm
        return found


def _sum(a: Matrix | None, b: Matrix) -> Matrix:
    return b if a is None else a + b


def full(columns: Columns, n: int) -> Matrix:
    """Columns as a matrix, (3, n)."""
    return matrix([columns.get(j, zeros(3)) for j in range(n)]).T if n else zeros(3, 0)


def members(kin: Kinematics) -> tuple[Member, ...]:
    """The bodies of a machine, in the order of the model."""
    found: dict[str, Member] = {}
    first = 0
    for body in kin.model.bodies:
        q = [symbol(name) for name in body.joint.coordinates()]
        X, H = body.pose @ configuration(body.joint, q), joint_map(body.joint, q)
        before = None if body.parent == WORLD else found[body.parent]
        center, about = _seen(body)
        found[body.name] = Member(
            name=body.name,
            parent=before,
            C=X.R if before is None else before.C @ X.R,
            back=X.R.T,
            L=X.p,
            D=H[:3],
            slide=H[3:],
            first=first,
            m=about.m,
            S=center,
            I=about.I,
            kin=kin,
        )
        first += body.joint.nu
    return tuple(found.values())


def _seen(body: Body) -> tuple[Matrix, Inertia]:
    """The mass centre and the inertia about it."""
    if body.welded == Inertia.zero():
        return body.com, Inertia(body.mass, zeros(3), body.inertia)
    total = body.total
    if total.m == 0:
        if total.h != zeros(3):
            raise ModelError(
                [
                    f"Body {body.name!r}: has no mass, but a first moment, so no mass centre, which "
                    'method="quasicoordinate" needs. Use another method.'
                ]
            )
        return zeros(3), total
    center = total.h / total.m
    return center, Inertia(total.m, zeros(3), total.shifted(-center).I)


def gathered(columns: Columns, force: Matrix, total: list[Expr]) -> None:
    """Add what a vector does along columns to the generalised forces."""
    for j, column in columns.items():
        total[j] = total[j] + column @ force


def none(n: int) -> list[Expr]:
    return [as_expr(0)] * n
