"""Energies where sections turn by 1 + skew(Psi d), which is no rotation: 4 x 4 transformations and traces.

What stands on such a section is stretched a little, so that twists and wrenches do not suffice. "lagrange"
differentiates these energies; "book" has recursions of its own. Forces and markers see proper rotations all the same.

Reference: [Book, eq. 1 to 7, 22, 50].
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from polhode.graph import Expr, Matrix, as_expr, diff_along, identity, matrix, zeros
from polhode.graph.matrix import dot
from polhode.spatial import Inertia, Pose, skew

if TYPE_CHECKING:
    from .motion import Motion
    from .tree import Kinematics, Link


def is_linear(kin: Kinematics) -> bool:
    """Whether a body of the model turns its sections so."""
    return any(body.flexible is not None and body.flexible.rotation == "linear" for body in kin.model.bodies)


def linear_turns(link: Link) -> list[Matrix]:
    """skew(Psi_k) of a section, (3, 3) each. Reference: [Book, eq. 7]."""
    assert link.station is not None
    return [skew(psi) for psi in link.station.Psi.T.rows()]


def linear_pose(link: Link, body: Link) -> Pose:
    """The blocks of E = H + sum_k d_k M_k, of second order in its displacement where the shapes are. [Book, eq. 5]."""
    assert body.modes is not None
    R = identity(3)
    for d, turn in zip(body.modes.d, linear_turns(link), strict=True):
        R = R + turn * d
    return Pose(R, link.X.p)


def transformations(kin: Kinematics) -> list[Pose]:
    """The blocks of W of every link. Reference: [Book, eq. 2, 3]."""
    found: list[Pose] = []
    for link in kin.links:
        above = None if link.parent < 0 or not link.section or not link.at else kin.links[link.parent].modes
        bent = above is not None and above.flexible.rotation == "linear"
        X = linear_pose(link, kin.links[link.parent]) if bent else link.X
        found.append(X if link.parent < 0 else found[link.parent] @ X)
    return found


def kinetic(motion: Motion) -> Expr:
    """The sum of Tr{ W' G W'^T + 2 sum_k d_k' W' D_k W^T + sum_kl d_k' d_l' W C_kl W^T } / 2.

    Reference: [Book, eq. 22].
    """
    kin = motion.joints
    total = as_expr(0)
    for link, W in zip(kin.links, transformations(kin), strict=True):
        if link.inertia == Inertia.zero():
            continue
        whole = matrix([[W.p[i], *W.R[i]] for i in range(3)])  # (3, 4); the first row of W does not change
        rate = diff_along(whole, motion.q, motion.q_dot)
        total = total + _trace(rate @ _pseudo(link.inertia), rate)
        if link.modes is None:
            continue
        body, speeds = link.modes.body, [motion.quasi.get(u, u) for u in link.modes.rates]
        for k, u in enumerate(speeds):
            D = matrix([body.P[k], *body.D[k].rows()])
            total = total + _trace(rate @ D, W.R) * (2 * u)
            for l, v in enumerate(speeds):
                total = total + _trace(W.R @ body.pair(k, l), W.R) * (u * v)
    return total / 2


def first_moment(kin: Kinematics) -> Matrix:
    """sum_i W_i r_i, (3,). Reference: [Book, eq. 50, 51]."""
    total = zeros(3)
    for link, W in zip(kin.links, transformations(kin), strict=True):
        total = total + W.R @ link.inertia.h + W.p * link.inertia.m
    return total


def _pseudo(inertia: Inertia) -> Matrix:
    """[m h^T; h S], S = tr(I)/2 1 - I. Reference: [Book, eq. 30]."""
    I = inertia.I
    half = (I[0, 0] + I[1, 1] + I[2, 2]) / 2
    rows = [[inertia.h[i], *((half if i == j else 0) - I[i, j] for j in range(3))] for i in range(3)]
    return matrix([[inertia.m, *inertia.h], *rows])


def _trace(A: Matrix, B: Matrix) -> Expr:
    """Tr{A B^T}."""
    return dot(A.entries, B.entries)
