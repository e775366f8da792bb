"""What composite bodies give: the inertia matrix, and momenta along the joints.

"poincare" and "denoc" share the matrix; Lagrange's and Kane's equations have their own.
"""

from __future__ import annotations

from polhode.graph import Expr, Matrix, as_expr, matrix, zeros
from polhode.spatial import Twist, Wrench

from .tree import Kinematics, Link


def mass_matrix(kin: Kinematics) -> Matrix:
    """Assemble the inertia matrix by composite bodies: M = H^T Phi^T M Phi H.

    M_ij = h_j . phi(i, j)^T I_i h_i  for j an ancestor of i.

    Returns M : (nu, nu), both triangles filled.

    Reference: [KwatnyBlankenship, eq. 52b].
    """
    n = len(kin.u)
    M: list[list[Expr]] = [[as_expr(0)] * n for _ in range(n)]
    for k, link in enumerate(kin.links):
        if link.section:
            continue  # a section: its speeds are those of its body's modes
        for i, h in enumerate(link.H):
            row = link.at[i]
            for column, entry in along(kin, k, kin.composite[k] @ h).items():
                if column <= row or column not in link.at:
                    M[row][column] = M[column][row] = entry
            M[row][row] = M[row][row] + link.armature[i]
    for k, link in enumerate(kin.links):
        if link.modes is not None:
            for i, row in enumerate(link.modes.at):
                for column, entry in _modal_row(kin, k, i).items():
                    M[row][column] = M[column][row] = entry
    return matrix(M) if n else zeros(0, 0)


def _modal_row(kin: Kinematics, k: int, i: int) -> dict[int, Expr]:
    """Momentum along the modes of a flexible link, up to mode i, and along all joints before it, of a unit of mode i.

    The mode moves the mass of the body itself, its frame where the joint holds another section, and what stands on
    its sections.
    """
    modes = kin.links[k].modes
    assert modes is not None
    here = _by(kin.links[k], modes.at[i])
    F = kin.links[k].inertia @ here + modes.body.momenta[i]
    own = [here.dot(W) + modes.body.M[i, j] for j, W in enumerate(modes.body.momenta)]
    for a, link in enumerate(kin.links):
        if link.parent == k:
            moved = kin.composite[a] @ (link.X.back(here) + _by(link, modes.at[i]))
            F = F + link.X @ moved
            own = [e + _by(link, place).dot(moved) for e, place in zip(own, modes.at, strict=True)]
    found = along(kin, k, F)
    for j in range(i + 1):
        place = modes.at[j]
        found[place] = found.get(place, as_expr(0)) + own[j]
    return {place: entry for place, entry in found.items() if place not in modes.at[i + 1 :]}


def _by(link: Link, place: int) -> Twist:
    """The twist that a unit of a speed gives a link in its parent."""
    return link.H[link.at.index(place)] if place in link.at else Twist.zero()


def along(kin: Kinematics, k: int, F: Wrench) -> dict[int, Expr]:
    """The components of a wrench on link k along the speeds of k and all before it."""
    found: dict[int, Expr] = {}
    for i in kin.ancestors(k):
        link = kin.links[i]
        for j, h in enumerate(link.H):
            place, entry = link.at[j], h.dot(F)
            found[place] = found[place] + entry if place in found else entry
        F = link.X @ F if link.parent >= 0 else F
    return found
