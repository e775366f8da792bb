"""The decoupled natural orthogonal complement, and the recursions it gives.

Twists t = T_l T_d u. Projected by their transpose, the Newton-Euler equations of
the bodies become I udot + C u = tau, element by element or by recursion:
outward for twists and their rates, inward for wrenches, linear in n. The
factorisation of the inertia matrix gives the forward recursion.

Reference: [SahaGoel]; their theta_dot is our u, their p_i our H in the frame of
the link, their composite mass our composite inertia.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial

from polhode.graph import LDL, Expr, Matrix, as_expr, cross, matrix, mirrored, op_counts, solve, vector, zeros
from polhode.graph.matrix import dot
from polhode.kinematics import Kinematics, Link, reduced
from polhode.kinematics.bent import Modes
from polhode.kinematics.composite import mass_matrix
from polhode.kinematics.loads import applied_forces
from polhode.spatial import Twist, Wrench
from polhode.spatial.rotation import turned
from polhode.spatial.vectors import combine

from .denoc_elements import convective_matrix
from .passive import passive
from .terms import InverseSlopes, Terms

SHORT = 40  # speeds; up to here both ways to the accelerations are counted


def terms(kin: Kinematics) -> Terms:
    """Derive the equations by recursion, in frames and with inertias chosen for few operations."""
    light = reduced(kin)
    return Terms(
        kinematics=kin,
        mass=partial(mass_matrix, light),
        velocity=partial(_velocity, light),
        gravity=partial(_gravity, light),
        forces=partial(applied_forces, kin),
        convective=partial(_convective, kin, light),
        inverse=partial(inverse_dynamics, light),
        forward=partial(forward_dynamics, light),
        slopes=partial(_slopes, light),
    )


def _slopes(light: Kinematics, udot: Matrix) -> InverseSlopes | None:
    from .denoc_slopes import inverse_slopes

    return inverse_slopes(light, udot)


def _velocity(kin: Kinematics) -> Matrix:
    return inverse_dynamics(kin, zeros(len(kin.u)), gravity=False)


def _convective(kin: Kinematics, light: Kinematics) -> Matrix:
    """C by elements; with bodies that deform, which have none, from the velocity terms."""
    if any(link.modes is not None for link in kin.links):
        return passive(kin, mass_matrix(light), _velocity(light))
    return convective_matrix(kin)


def _gravity(kin: Kinematics) -> Matrix:
    """The forces that hold it still."""
    still = []
    for link in kin.links:
        at_rest = None if link.modes is None else replace(link.modes, rates=(as_expr(0),) * len(link.modes.at))
        still.append(replace(link, speeds=(as_expr(0),) * len(link.H), bend=Twist.zero(), modes=at_rest))
    return inverse_dynamics(replace(kin, links=tuple(still)), zeros(len(kin.u)))


def inverse_dynamics(kin: Kinematics, udot: Matrix, gravity: bool = True) -> Matrix:
    """The generalised forces that the accelerations udot need, by recursion.

    Outward, in the frame of each link: angular velocity w and acceleration w_dot,
    S = skew(w_dot) + skew(w)^2, and the acceleration a of the origin; inward: the
    wrenches M t_dot + W M t and those of the links beyond. Gravity is an
    acceleration of the world.

    Returns (nu,).  Reference: [SahaGoel, eq. 4, 9, 11], written for the origins of the links.
    """
    found = outward(kin, udot, gravity)
    fields, tau = found.fields, [*found.modal]
    # inward: wrenches
    for k in reversed(range(len(kin.links))):
        link = kin.links[k]
        for i, h in enumerate(link.H):
            own = h.dot(fields[k]) + link.armature[i] * udot[link.at[i]] + driven(link, i)
            tau[link.at[i]] = tau[link.at[i]] + own
        if link.parent >= 0:
            fields[link.parent] = fields[link.parent] + link.X @ fields[k]
    return vector(tau)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The motion of every link in its own frame, and the wrench that it needs alone.

    w, w_dot : angular velocity and acceleration
    S        : skew(w_dot) + skew(w)^2
    a        : acceleration of the origin, less that of free fall
    carried  : the same acceleration of the point of its parent that is there
    fields   : of each link, about its origin
    modal    : forces on the modes of bodies that deform, (nu,)
    """

    w: list[Matrix]
    w_dot: list[Matrix]
    S: list[Matrix]
    a: list[Matrix]
    carried: list[Matrix]
    fields: list[Wrench]
    modal: list[Expr]


def outward(kin: Kinematics, udot: Matrix, gravity: bool = True) -> Moved:
    """The motion of every link, outward."""
    w: list[Matrix] = []
    w_dot: list[Matrix] = []
    S: list[Matrix] = []
    a: list[Matrix] = []
    carried_a: list[Matrix] = []
    fields: list[Wrench] = []
    modal: list[Expr] = [as_expr(0)] * len(kin.u)
    fall = -kin.model.gravity if gravity else zeros(3)
    for link in kin.links:
        R, p = link.X.R, link.X.p
        own, own_rate = link.motion, combine(link.H, [udot[i] for i in link.at])
        if link.parent < 0:
            turned, carried, moved = zeros(3), zeros(3), fall
        else:
            turned, carried = R.T @ w[link.parent], R.T @ w_dot[link.parent]
            moved = a[link.parent] + S[link.parent] @ p
        w.append(turned + own.w)
        w_dot.append(carried + cross(turned, own.w) + own_rate.w + link.bend.w)
        S.append(_spin(w[-1], w_dot[-1]))
        slide = own.v
        drift = cross(turned * 2 + own.w, slide) + own_rate.v + link.bend.v
        carried_a.append(R.T @ moved)
        a.append(carried_a[-1] + drift)
        fields.append(_needed(link, w[-1], w_dot[-1], S[-1], a[-1]))
        if link.modes is not None:
            motion = w[-1], S[-1], a[-1], link.modes.rates, [udot[i] for i in link.modes.at]
            fields[-1] = fields[-1] + link.modes.body.needed(*motion)
            for place, force in zip(link.modes.at, link.modes.body.modal(*motion), strict=True):
                modal[place] = modal[place] + force
    return Moved(w=w, w_dot=w_dot, S=S, a=a, carried=carried_a, fields=fields, modal=modal)


def _spin(w: Matrix, w_dot: Matrix) -> Matrix:
    """skew(w_dot) + skew(w)^2."""
    x, y, z = w
    xy, xz, yz = x * y, x * z, y * z
    xx, yy, zz = x * x, y * y, z * z
    a, b, c = w_dot
    return matrix([[-(yy + zz), xy - c, xz + b], [xy + c, -(xx + zz), yz - a], [xz - b, yz + a, -(xx + yy)]])


def _needed(link: Link, w: Matrix, w_dot: Matrix, S: Matrix, a: Matrix) -> Wrench:
    """What moves the link alone, about its origin: n = I w_dot + w x I w + h x a, f = m a + S h.

    The products of w in w x I w are those of S.
    """
    body = link.inertia
    x, y, z = w
    I = body.I
    moments = []
    for i, (j, k) in enumerate(((1, 2), (2, 0), (0, 1))):
        pair = (y * z, x * z, x * y)[i]
        moments.append(
            dot(
                [I[i, i], I[k, k] - I[j, j], I[i, j], I[i, k], I[j, k]],
                [w_dot[i], pair, -S[k, i], S[j, i], S[j, j] - S[k, k]],
            )
        )
    return Wrench(vector(moments) + cross(body.h, a), a * body.m + S @ body.h)


def driven(link: Link, i: int) -> Expr:
    """Gyroscopic force of armatures on speeds whose axes do not commute: -sum u_j c_ji^l a_l u_l."""
    total = as_expr(0)
    for u, c in zip(link.speeds, link.part.structure, strict=False):
        for l, (a, w) in enumerate(zip(link.armature, link.speeds, strict=True)):
            if c[l, i] != 0 and a != 0:
                total = total - u * c[l, i] * a * w
    return total


def forward_dynamics(kin: Kinematics, forces: Matrix, beside: Matrix | None = None) -> Matrix:
    """The accelerations for given generalised forces, by the way that takes fewer operations.

    (M + diag(beside)) udot = forces - c: what is given beside the armatures has no part in c.

    Short trees: bias, inertia matrix and its sparse factorisation. Long ones:
    the recursion over articulated bodies, linear in n. Trees that stand side by
    side on the ground choose for themselves.
    """
    b = forces - inverse_dynamics(kin, zeros(len(kin.u)))
    kin = kin if beside is None else _laden(kin, beside)
    bodies = _articulated(kin, b)
    if len(kin.u) > SHORT:
        return bodies
    factored = solve(mass_matrix(kin), b)
    udot = list(bodies)
    for own in _trees(kin):
        ways = [[way[i] for i in own] for way in (bodies, factored)]
        for i, e in zip(own, min(ways, key=lambda rows: sum(op_counts(rows).values())), strict=True):
            udot[i] = e
    return vector(udot)


def _laden(kin: Kinematics, beside: Matrix) -> Kinematics:
    """The same with more inertia on its speeds."""
    links = [
        link if link.section else replace(link, armature=_sum(link.armature, (beside[i] for i in link.at)))
        for link in kin.links
    ]
    return replace(kin, links=tuple(links))


def _sum(a: Iterable[Expr], b: Iterable[Expr]) -> tuple[Expr, ...]:
    return tuple(e + f for e, f in zip(a, b, strict=True))


def _trees(kin: Kinematics) -> list[list[int]]:
    """The speeds of each tree that stands on the ground."""
    found: dict[int, list[int]] = {}
    roots: list[int] = []
    for k, link in enumerate(kin.links):
        roots.append(k if link.parent < 0 else roots[link.parent])
        found.setdefault(roots[k], []).extend(eliminated(link))
    return list(found.values())


def articulated(kin: Kinematics, forces: Matrix) -> Matrix:
    """The accelerations by recursion: the bias from the inverse one at udot = 0, the rest by articulated bodies."""
    return _articulated(kin, forces - inverse_dynamics(kin, zeros(len(kin.u))))


def _articulated(kin: Kinematics, b: Matrix) -> Matrix:
    """Solve M udot = b by block factorisation of the inertia matrix, outermost body first.

    I^A h = U, D = h.U + armature: the parent gets I^A - U D^-1 U^T and the wrench that is left.
    Of a body that deforms, the modes are eliminated with the speeds of its joint; before that its sections hand on
    what they carry, to the body and to its modes.

    Reference: [SahaGoel, feature 3].
    """
    n = len(kin.links)
    I = [link.inertia.matrix() for link in kin.links]
    w: list[Matrix] = [zeros(6)] * n
    modal = {k: _Modal(link.modes) for k, link in enumerate(kin.links) if link.modes is not None}
    U: list[Matrix] = [zeros(6, 0)] * n
    factors: dict[int, LDL] = {}
    rest: list[Matrix] = [zeros(0)] * n
    # inward: articulated inertias and the wrenches they need
    for k in reversed(range(n)):
        link = kin.links[k]
        if link.section and k not in modal:
            if link.H:
                modal[link.parent].carry(link, I[k], w[k])
            if link.parent >= 0:
                I[link.parent] = I[link.parent] + _carried_inertia(link, I[k])
                w[link.parent] = w[link.parent] + (link.X @ Wrench(w[k][:3], w[k][3:])).vector()
            continue
        own = vector([b[i] for i in eliminated(link)])
        if k in modal:
            U[k], D, pushed = modal[k].columns(link, I[k], w[k])
        else:
            H = _columns(link.H)
            U[k] = I[k] @ H
            D, pushed = H.T @ U[k], H.T @ w[k]
        r = len(link.armature)
        factors[k] = LDL(
            [[D[i, j] + (link.armature[i] if i == j < r else 0) for j in range(len(own))] for i in range(len(own))]
        )
        rest[k] = own - pushed
        if link.parent >= 0:
            gain = factors[k].solve(U[k].T).T
            left = mirrored(I[k] - gain @ U[k].T)
            needed = w[k] + gain @ rest[k]
            along = _unit(link)
            if along is not None:
                # nothing is left along the joint's own axis, and the wrench there is the force of the joint
                left = matrix([[0 if along in (i, j) else left[i, j] for j in range(6)] for i in range(6)])
                needed = vector([own[0] if i == along else e for i, e in enumerate(needed)])
            I[link.parent] = I[link.parent] + _carried_inertia(link, left)
            w[link.parent] = w[link.parent] + (link.X @ Wrench(needed[:3], needed[3:])).vector()
    # outward: accelerations
    udot: list[Expr] = [as_expr(0)] * len(kin.u)
    A: list[Twist] = []
    for k, link in enumerate(kin.links):
        given = Twist.zero() if link.parent < 0 else link.X.back(A[link.parent])
        if k in factors:
            for i, rate in zip(eliminated(link), factors[k].solve(rest[k] - U[k].T @ given.vector()), strict=True):
                udot[i] = rate
        A.append(given + combine(link.H, [udot[i] for i in link.at]))
    return vector(udot)


def eliminated(link: Link) -> tuple[int, ...]:
    """The speeds that a link is the last to have: its joint's, and those of its body's modes."""
    modes = () if link.modes is None else link.modes.at
    return modes if link.section else (*link.at, *modes)


def _columns(H: Iterable[Twist]) -> Matrix:
    return matrix([h.vector() for h in H]).T


class _Modal:
    """The rows of an articulated inertia that belong to the modes of a body.

    W : (6, m), momentum of the body by unit speeds of the modes; M : (m, m); f : (m,), forces on them
    """

    def __init__(self, modes: Modes) -> None:
        self.W = matrix([W.vector() for W in modes.body.momenta]).T
        self.M = modes.body.M
        self.f = zeros(len(modes.at))

    def carry(self, section: Link, I: Matrix, w: Matrix) -> None:
        """Add what a section carries: I V = w in its own frame, where the modes move it by H."""
        H = _columns(section.H)
        momenta = [section.X @ Wrench(F[:3], F[3:]) for F in (I @ H).T.rows()]
        self.W = self.W + matrix([F.vector() for F in momenta]).T
        self.M = self.M + mirrored(H.T @ (I @ H))
        self.f = self.f + H.T @ w

    def columns(self, link: Link, I: Matrix, w: Matrix) -> tuple[Matrix, Matrix, Matrix]:
        """U, D and the forces of the wrench w, of the speeds that the link is the last to have."""
        if link.section and link.H:  # the frame itself moves with the modes: h_i.(I h_j + W_j) + W_i.h_j + M_ij
            H = _columns(link.H)
            U = I @ H + self.W
            return U, mirrored(H.T @ U + self.W.T @ H + self.M), H.T @ w + self.f
        if not link.H:
            return self.W, self.M, self.f
        H = _columns(link.H)
        U, across = I @ H, H.T @ self.W
        D = [[*top, *right] for top, right in zip((H.T @ U).rows(), across.rows(), strict=True)]
        D += [[*left, *below] for left, below in zip(across.T.rows(), self.M.rows(), strict=True)]
        both = [[*a, *b] for a, b in zip(U.rows(), self.W.rows(), strict=True)]
        return matrix(both), mirrored(matrix(D)), vector([*(H.T @ w), *self.f])


def _unit(link: Link) -> int | None:
    """The one entry of a joint twist that is 1, where the others are 0 and nothing else is driven."""
    if len(link.H) != 1 or link.armature[0] != 0 or link.modes is not None:
        return None
    entries = link.H[0].vector().entries
    found = [i for i, e in enumerate(entries) if e != 0]
    return found[0] if len(found) == 1 and entries[found[0]] == 1 else None


def _carried_inertia(link: Link, I: Matrix) -> Matrix:
    """A 6 x 6 inertia [[J, B], [B^T, m]] of the link's frame, in the parent's.

    Turned by R, then moved by p: B -> B + p x m, J -> J + p x B^T - (B + p x m) x p.
    """
    R, p = link.X.R, link.X.p
    J, m = (mirrored(turned(R, block)) for block in (I[:3, :3], I[3:, 3:]))
    B = turned(R, I[:3, 3:])
    moved = B + _skew_times(p, m)
    top = mirrored(J + _skew_times(p, B.T) - _times_skew(moved, p))
    rows = [[*top[i], *moved[i]] for i in range(3)]
    return matrix([*rows, *([*moved.T[i], *m[i]] for i in range(3))])


def _skew_times(p: Matrix, A: Matrix) -> Matrix:
    """p x (columns of A)."""
    return matrix([cross(p, column) for column in A.T.rows()]).T


def _times_skew(A: Matrix, p: Matrix) -> Matrix:
    """A skew(p): rows crossed with p."""
    return matrix([cross(row, p) for row in A.rows()])
