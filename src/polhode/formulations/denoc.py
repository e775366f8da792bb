"""The decoupled natural orthogonal complement, and the recursions it gives.

Twists t = T_l T_d u. Projected by their transpose, the Newton-Euler equations of
the bodies become I udot + C u = tau, element by element or by recursion:
outward for twists and their rates, inward for wrenches, linear in n. The
factorisation of the inertia matrix gives the forward recursion.

Reference: [SahaGoel]; their theta_dot is our u, their p_i our H in the frame of
the link, their composite mass our composite inertia.
"""

from __future__ import annotations

from functools import partial

from polhode.graph import Expr, Matrix, as_expr, cross, inverse, matrix, op_counts, solve, vector, zeros
from polhode.kinematics import Kinematics, Link, reduced
from polhode.spatial import Twist, Wrench
from polhode.spatial.vectors import combine

from .denoc_elements import convective_matrix
from .poincare import applied_forces, gravity_terms, mass_matrix
from .terms import Terms

SHORT = 40  # speeds; up to here both ways to the accelerations are counted


def terms(kin: Kinematics) -> Terms:
    """Derive the equations by recursion, in frames and with inertias chosen for few operations."""
    light = reduced(kin)
    return Terms(
        kinematics=kin,
        mass=partial(mass_matrix, light),
        velocity=partial(_velocity, light),
        gravity=partial(gravity_terms, light),
        forces=partial(applied_forces, kin),
        convective=partial(convective_matrix, kin),
        inverse=partial(inverse_dynamics, light),
        forward=partial(forward_dynamics, light),
    )


def _velocity(kin: Kinematics) -> Matrix:
    return inverse_dynamics(kin, zeros(len(kin.u)), gravity=False)


def inverse_dynamics(kin: Kinematics, udot: Matrix, gravity: bool = True) -> Matrix:
    """The generalised forces that the accelerations udot need, by recursion.

    Outward: t_dot = B t_dot + B_dot t + p udot + p_dot u; inward: w = M t_dot + W M t + B^T w.
    Gravity is an acceleration of the world.

    Returns (nu,).  Reference: [SahaGoel, eq. 4, 9, 11].
    """
    fields = [Wrench.zero()] * len(kin.links)
    A: list[Twist] = []
    # outward: rates of the twists
    for k, link in enumerate(kin.links):
        carried = _fall(kin, gravity) if link.parent < 0 else A[link.parent]
        turning = kin.carried(k, kin.V).bracket(link.motion)
        A.append(link.X.back(carried) + turning + combine(link.H, _own(link, udot)))
        fields[k] = _needed(link, kin.V[k], A[k])
    # inward: wrenches
    tau: list[Expr] = [as_expr(0)] * len(kin.u)
    for k in reversed(range(len(kin.links))):
        link = kin.links[k]
        for i, h in enumerate(link.H):
            tau[link.first + i] = h.dot(fields[k]) + link.armature[i] * udot[link.first + i] + _driven(link, i)
        if link.parent >= 0:
            fields[link.parent] = fields[link.parent] + link.X @ fields[k]
    return vector(tau)


def _own(link: Link, udot: Matrix) -> list[Expr]:
    return list(udot[link.first : link.first + len(link.H)])


def _fall(kin: Kinematics, gravity: bool) -> Twist:
    """The acceleration of the world that stands for gravity."""
    return Twist(zeros(3), -kin.model.gravity) if gravity else Twist.zero()


def _needed(link: Link, V: Twist, A: Twist) -> Wrench:
    """What moves the link alone: M t_dot + W M t, about its own origin."""
    return link.inertia @ A - V.cobracket(link.inertia @ V)


def _driven(link: Link, i: int) -> Expr:
    """Gyroscopic force of armatures on speeds whose axes do not commute: -sum u_j c_ji^l a_l u_l."""
    total = as_expr(0)
    for u, c in zip(link.speeds, link.part.structure, strict=False):
        for l, (a, w) in enumerate(zip(link.armature, link.speeds, strict=True)):
            if c[l, i] != 0 and a != 0:
                total = total - u * c[l, i] * a * w
    return total


def forward_dynamics(kin: Kinematics, forces: Matrix) -> Matrix:
    """The accelerations for given generalised forces, by the way that takes fewer operations.

    Short trees: bias, inertia matrix and its sparse factorisation. Long ones:
    the recursion over articulated bodies, linear in n.
    """
    bodies = articulated(kin, forces)
    if len(kin.u) > SHORT:
        return bodies
    through_matrix = solve(mass_matrix(kin), forces - inverse_dynamics(kin, zeros(len(kin.u))))
    return min(through_matrix, bodies, key=lambda udot: sum(op_counts(udot).values()))


def articulated(kin: Kinematics, forces: Matrix) -> Matrix:
    """The accelerations by block factorisation of the inertia matrix, outermost body first.

    I^A_k h = U, D = h.U + armature; the parent gets I^A - U D^-1 U^T and the wrench that is left.
    Reference: [SahaGoel, feature 3].
    """
    n = len(kin.links)
    I = [link.inertia.matrix() for link in kin.links]
    turning = [kin.carried(k, kin.V).bracket(link.motion) for k, link in enumerate(kin.links)]
    w = [(-V.cobracket(link.inertia @ V)).vector() for link, V in zip(kin.links, kin.V, strict=True)]
    U: list[Matrix] = [zeros(6, 0)] * n
    inverse_D: list[Matrix] = [zeros(0, 0)] * n
    rest: list[Matrix] = [zeros(0)] * n
    # inward: articulated inertias and bias wrenches
    for k in reversed(range(n)):
        link = kin.links[k]
        H = matrix([h.vector() for h in link.H]).T
        U[k] = I[k] @ H
        r = len(link.H)
        D = H.T @ U[k]
        D = matrix([[D[i, j] + (link.armature[i] if i == j else 0) for j in range(r)] for i in range(r)])
        own = [forces[link.first + i] - _driven(link, i) for i in range(r)]
        inverse_D[k] = inverse(D)
        rest[k] = vector(own) - H.T @ w[k]
        if link.parent >= 0:
            gain = U[k] @ inverse_D[k]
            left = _symmetric(I[k], gain, U[k])
            bias = w[k] + left @ turning[k].vector() + gain @ rest[k]
            I[link.parent] = I[link.parent] + _carried_inertia(link, left)
            w[link.parent] = w[link.parent] + (link.X @ Wrench(bias[:3], bias[3:])).vector()
    # outward: accelerations
    udot: list[Expr] = [as_expr(0)] * len(kin.u)
    A: list[Twist] = []
    for k, link in enumerate(kin.links):
        from_parent = _fall(kin, True) if link.parent < 0 else A[link.parent]
        given = link.X.back(from_parent) + turning[k]
        own_rates = inverse_D[k] @ (rest[k] - U[k].T @ given.vector())
        udot[link.first : link.first + len(link.H)] = own_rates.entries
        A.append(given + combine(link.H, own_rates))
    return vector(udot)


def _symmetric(I: Matrix, gain: Matrix, U: Matrix) -> Matrix:
    """I - gain U^T, upper triangle computed and mirrored."""
    upper = {(i, j): I[i, j] - gain[i] @ U[j] for i in range(6) for j in range(i, 6)}
    return matrix([[upper[min(i, j), max(i, j)] for j in range(6)] for i in range(6)])


def _carried_inertia(link: Link, I: Matrix) -> Matrix:
    """A 6 x 6 inertia of the link's frame, in the parent's: X^-T I X^-1, block by block."""
    R, p = link.X.R, link.X.p
    J, B, m = (_turned(R, block) for block in (I[:3, :3], I[:3, 3:], I[3:, 3:]))
    # about the parent's origin: B -> B + p x m, J -> J - B px + px B'^T with B' the moved B
    px = _skew_times(p, m)
    moved = B + px
    # J' = J + p x B^T - (B p x) - (p x m) p x  =  J + p x B^T - moved px
    first = _skew_times(p, B.T)
    second = _times_skew(moved, p)
    top = J + first - second
    full = [[top[min(i, j), max(i, j)] for j in range(3)] + list(moved[i]) for i in range(3)]
    return matrix([*full, *([*moved.T[i], *[m[min(i, j), max(i, j)] for j in range(3)]] for i in range(3))])


def _turned(R: Matrix, block: Matrix) -> Matrix:
    turned: Matrix = R @ block @ R.T
    return turned


def _skew_times(p: Matrix, A: Matrix) -> Matrix:
    """p x (columns of A)."""
    return matrix([cross(p, column) for column in A.T.rows()]).T


def _times_skew(A: Matrix, p: Matrix) -> Matrix:
    """A skew(p): rows crossed with p."""
    return matrix([cross(row, p) for row in A.rows()])
