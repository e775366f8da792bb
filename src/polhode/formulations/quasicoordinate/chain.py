"""The bodies of a machine as a limb sees them: absolute angular velocities, and what moves with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

from polhode.graph import Expr, Matrix, as_expr, cross, matrix, symbol, vector, zeros
from polhode.kinematics import Kinematics, configuration, joint_map
from polhode.kinematics.bent import Modes, bent, seen_from_joint
from polhode.model import WORLD, ModelError
from polhode.model.body import Body
from polhode.spatial import Inertia, Pose
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
    at     : places of its speeds u_i among all
    m, S   : mass and its centre
    I      : inertia about it
    modes  : what deforms of it, None where it is rigid; its inertia is then that of the modes, not m, S and I
    section : whether it is no body, but a section of one before it that deforms

    Reference: [NelsonQuinn, eq. 3 to 14]; his R is that of the base, here as all speeds a part of u.
    """

    name: str
    parent: Member | None
    C: Matrix
    back: Matrix
    L: Matrix
    D: Matrix
    slide: Matrix
    at: tuple[int, ...]
    m: Expr
    S: Matrix
    I: Matrix
    kin: Kinematics = field(repr=False)
    modes: Modes | None = None
    section: bool = False

    @property
    def own(self) -> Matrix:
        """The speeds of its joint."""
        return vector([self.kin.u[i] for i in self.at])

    @cached_property
    def chain(self) -> tuple[Member, ...]:
        """It and all bodies before it, from the base outward."""
        before = () if self.parent is None else self.parent.chain
        return before if self.section else (*before, self)

    @property
    def body(self) -> Member:
        """The body that it is, or that it is a section of."""
        return self.parent.body if self.section and self.parent is not None else self

    # absolute velocities

    @cached_property
    def turns(self) -> Columns:
        """omega_i = sum of C_ij D_j u_j, a column a speed. Reference: [NelsonQuinn, eq. 10, 11, 13]."""
        found = {} if self.parent is None else {j: self.back @ c for j, c in self.parent.turns.items()}
        return found | {j: _sum(found.get(j), self.D[:, k]) for k, j in enumerate(self.at)}

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
        return found | {j: _sum(found.get(j), slides[:, k]) for k, j in enumerate(self.at)}

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
        before, base = None if body.parent == WORLD else found[body.parent], body.pose
        if before is not None and before.modes is not None:
            before, base = section(before, base, f"Body {body.name!r}")
        X, H = base @ configuration(body.joint, q), joint_map(body.joint, q) if q else zeros(6, 0)
        at = tuple(range(first, first + body.joint.nu))
        modes = next((link.modes for link in kin.links if link.modes and link.modes.at[0] == first + len(at)), None)
        first += len(body.speeds)
        if body.flexible is None:
            center, about = _seen(body)
            found[body.name] = _member(kin, body.name, before, X, H, at, about, center)
            continue
        own = _member(kin, body.name, before, X, H, at, body.total, zeros(3))
        assert modes is not None
        seen = seen_from_joint(body.flexible.root, modes.d, modes.rates)
        if not body.flexible.root.still:  # its frame moves in its joint
            H = matrix([h.vector() for h in seen.H]).T
            own = _member(kin, body.name, replace(own, section=True), seen.X, H, modes.at, body.total, zeros(3))
        found[body.name] = replace(own, m=modes.body.inertia.m, modes=modes)
    return tuple(found.values())


def _member(
    kin: Kinematics, name: str, before: Member | None, X: Pose, H: Matrix, at: tuple[int, ...], I: Inertia, S: Matrix
) -> Member:
    C = X.R if before is None else before.C @ X.R
    return Member(
        name=name, parent=before, C=C, back=X.R.T, L=X.p, D=H[:3], slide=H[3:], at=at, m=I.m, S=S, I=I.I, kin=kin
    )


def section(body: Member, pose: Pose, what: str) -> tuple[Member, Pose]:
    """The section of a body that a pose on it belongs to, and the pose in it."""
    assert body.modes is not None
    station = body.modes.flexible.station(pose.p, f"{what} on {body.name!r}")
    if station.still:
        return body, pose
    seen = bent(station, body.modes.d, body.modes.rates)
    H = matrix([h.vector() for h in seen.H]).T
    made = _member(body.kin, body.name, body, seen.X, H, body.modes.at, Inertia.zero(), zeros(3))
    return replace(made, section=True), Pose(pose.R, pose.p - station.p)


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
