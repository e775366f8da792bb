"""Slopes of the inverse dynamics by composite bodies, in closed form.

Along a twist s of link j, its own coordinate or speed, all that it carries changes as one body that is moved
otherwise: where a particle at r has the velocity v(r), seen from the frame of a link, its acceleration changes by

    alpha + beta x r + 2 delta x v(r)

    by a coordinate:  delta = w x s_w,   beta = S s_w,           alpha = S s_v + a x s_w + 2 v x delta
    by a speed:       delta = s_w,       beta = (w + w_j) x s_w, alpha = (w + w_j) x s_v + (v + v_j) x s_w

with w, v, a and S = skew(w_dot) + skew(w)^2 those that the link has from its parent alone. The wrench that this needs
of link i and all beyond it is made of sums over these bodies, m, h = sum m r, I, P = sum m v and D = sum m v r^T:

    n = I beta + h x alpha + 2 (tr D 1 - D) delta,    f = m alpha + beta x h + 2 delta x P

It is taken inward for the forces of the joints before i (with s x* of the wrench that i needs, which turns with it),
and its rows, S_i^T of the same as functionals of (beta, alpha, delta), for what the joints before i change at i.

Reference: [Singh, Russo and Wensing, Efficient analytical derivatives of rigid-body dynamics using spatial vector
algebra, IEEE RA-L 2022], whose psi are these fields. Written here with accelerations of points in the frames of links,
so that velocities act through delta alone: 2 B needs 3 of its 6 columns.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, cross, identity, jacobian, matrix, zeros
from polhode.kinematics import Kinematics, Link
from polhode.kinematics.joint import coordinate_twists
from polhode.kinematics.small import small_changes
from polhode.spatial import Inertia, Pose, Twist, Wrench, skew
from polhode.spatial.rotation import turned

from .denoc import driven, outward
from .terms import InverseSlopes


def inverse_slopes(kin: Kinematics, udot: Matrix) -> InverseSlopes | None:
    """The slopes of the inverse dynamics at accelerations udot; None with bodies that deform."""
    if any(link.section or link.modes is not None for link in kin.links):
        return None
    small, motion = small_changes(kin), outward(kin, udot)
    V, composite, flows = kin.V, kin.composite, _flows(kin, kin.V)
    needed = [*motion.fields]
    for k in reversed(range(len(needed))):
        if kin.links[k].parent >= 0:
            needed[kin.links[k].parent] = needed[kin.links[k].parent] + kin.links[k].X @ needed[k]
    places = _places(kin, small.q, small.places)
    twists = [coordinate_twists(link.part, link.coordinates) for link in kin.links]
    # how accelerations change by each coordinate and speed of a link
    by_q: list[list[_Field]] = []
    by_u: list[list[_Field]] = []
    for k, link in enumerate(kin.links):
        before, S = kin.carried(k, V), _before(link, twists[k], motion.S, k)
        by_q.append([_by_coordinate(s, before, S, motion.carried[k]) for s in twists[k]])
        by_u.append([_by_speed(s, before, V[k]) for s in link.H])
    n = len(kin.u)
    Q: list[list[Expr]] = [[as_expr(0)] * len(small.names) for _ in range(n)]
    U: list[list[Expr]] = [[as_expr(0)] * n for _ in range(n)]
    for i, link in enumerate(kin.links):
        # columns: what its own coordinates and speeds change here and before it
        for place, s, field in zip(places[i], twists[i], by_q[i], strict=True):
            F = flows[i].needs(field, composite[i])
            _inward(kin, i, F, F - s.cobracket(needed[i]), place, Q)
        for place, field in zip(link.at, by_u[i], strict=True):
            F = flows[i].needs(field, composite[i])
            _inward(kin, i, F, F, place, U)
        # rows: what those before it change here
        for row, h in zip(link.at, link.H, strict=True):
            momentum, across = composite[i] @ h, flows[i].row(h)
            k = i
            while kin.links[k].parent >= 0:
                X = kin.links[k].X
                momentum, across = X @ momentum, X.R @ across
                k = kin.links[k].parent
                for place, field in zip(places[k], by_q[k], strict=True):
                    Q[row][place] = field.dot(momentum, across)
                for place, field in zip(kin.links[k].at, by_u[k], strict=True):
                    U[row][place] = field.dot(momentum, across)
    gyroscopic = [as_expr(0)] * n
    for link in kin.links:
        for i, place in enumerate(link.at):
            gyroscopic[place] = gyroscopic[place] + driven(link, i)
    whole = matrix(U) if n else zeros(0, 0)
    return InverseSlopes(q=matrix(Q) if n else zeros(0, len(small.names)), u=whole + jacobian(gyroscopic, kin.u))


def _before(link: Link, twists: Sequence[Twist], S: Sequence[Matrix], k: int) -> Matrix:
    """skew(w_dot) + skew(w)^2 of the parent, in the axes of the link."""
    if len(twists) == len(link.H) == 1 and zeros(3) in (twists[0].w, twists[0].v):
        return S[k]  # along the only axis of a joint it is the same before and after it
    return zeros(3, 3) if link.parent < 0 else turned(link.X.R.T, S[link.parent])


def _places(kin: Kinematics, q: Sequence[Expr], small: Sequence[int]) -> list[list[int]]:
    """The places of the coordinates of each link among small changes."""
    number = {e: k for k, e in enumerate(q)}
    found = []
    for link in kin.links:
        places = [small[number[e]] for e in link.coordinates]
        if link.part.quaternion:  # three turns for four coordinates
            places = [places[0], places[0] + 1, places[0] + 2, *places[4:]]
        found.append(places)
    return found


@dataclass(frozen=True, slots=True)
class _Field:
    """How accelerations change: alpha + beta x r + 2 delta x v(r)."""

    beta: Matrix
    alpha: Matrix
    delta: Matrix

    def dot(self, momentum: Wrench, across: Matrix) -> Expr:
        total: Expr = self.beta @ momentum.n + self.alpha @ momentum.f + self.delta @ across
        return total


def _by_coordinate(s: Twist, before: Twist, S: Matrix, a: Matrix) -> _Field:
    delta = cross(before.w, s.w)
    return _Field(S @ s.w, S @ s.v + cross(a, s.w) + cross(before.v * 2, delta), delta)


def _by_speed(s: Twist, before: Twist, V: Twist) -> _Field:
    w, v = before.w + V.w, before.v + V.v
    return _Field(cross(w, s.w), cross(w, s.v) + cross(v, s.w), s.w)


@dataclass(frozen=True, slots=True)
class _Flow:
    """What moves within bodies: P2 = 2 sum m v, K = 2 (tr D 1 - D) with D = sum m v r^T."""

    P2: Matrix
    K: Matrix

    def __add__(self, other: _Flow) -> _Flow:
        return _Flow(self.P2 + other.P2, self.K + other.K)

    def seen(self, X: Pose) -> _Flow:
        """The same from the frame that X is in."""
        P2 = X.R @ self.P2
        along = P2 @ X.p
        moved = matrix([[(along if i == j else 0) - P2[i] * X.p[j] for j in range(3)] for i in range(3)])
        return _Flow(P2, turned(X.R, self.K) + moved)

    def needs(self, field: _Field, whole: Inertia) -> Wrench:
        """The wrench that a change of accelerations needs of all the bodies."""
        n = whole.I @ field.beta + cross(whole.h, field.alpha) + self.K @ field.delta
        f = field.alpha * whole.m + cross(field.beta, whole.h) + cross(field.delta, self.P2)
        return Wrench(n, f)

    def row(self, h: Twist) -> Matrix:
        """The factors of delta in the force along a twist."""
        found: Matrix = self.K.T @ h.w + cross(self.P2, h.v)
        return found


def _flows(kin: Kinematics, V: Sequence[Twist]) -> list[_Flow]:
    """Of every link and all beyond it, in its own frame."""
    found = [_flow(link, v) for link, v in zip(kin.links, V, strict=True)]
    for k in reversed(range(len(found))):
        link = kin.links[k]
        if link.parent >= 0:
            found[link.parent] = found[link.parent] + found[k].seen(link.X)
    return found


def _flow(link: Link, V: Twist) -> _Flow:
    """Of one rigid body: D = v h^T + skew(w) J with J = tr(I)/2 1 - I."""
    body = link.inertia
    I, h2 = body.I, body.h * 2
    P2 = V.v * (body.m * 2) + cross(V.w, h2)
    trace = I[0, 0] + I[1, 1] + I[2, 2]
    spun = skew(V.w) @ (identity(3) * -trace + I * 2)
    along = V.v @ h2
    K = matrix([[(along if i == j else 0) - V.v[i] * h2[j] for j in range(3)] for i in range(3)])
    return _Flow(P2, K + spun)


def _inward(kin: Kinematics, i: int, here: Wrench, handed: Wrench, place: int, found: list[list[Expr]]) -> None:
    """Write the forces of a wrench at link i, and of what it hands to those before it, to a column."""
    for row, h in zip(kin.links[i].at, kin.links[i].H, strict=True):
        found[row][place] = h.dot(here)
    F, k = handed, i
    while kin.links[k].parent >= 0:
        F = kin.links[k].X @ F
        k = kin.links[k].parent
        for row, h in zip(kin.links[k].at, kin.links[k].H, strict=True):
            found[row][place] = h.dot(F)
