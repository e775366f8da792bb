"""What composite bodies give: the inertia matrix, and momenta along the joints.

"poincare" and "denoc" share the matrix; Lagrange's and Kane's equations have their own.
"""

from __future__ import annotations

from polhode.graph import Expr, Matrix, as_expr, matrix, zeros
from polhode.spatial import Wrench

from .tree import Kinematics


def mass_matrix(kin: Kinematics) -> Matrix:
    """Assemble the inertia matrix by composite bodies: M = H^T Phi^T M Phi H.

    M_ij = h_j . phi(i, j)^T I_i h_i  for j an ancestor of i.

    Returns M : (nu, nu), both triangles filled.

    Reference: [KwatnyBlankenship, eq. 52b].
    """
    n = len(kin.u)
    M: list[list[Expr]] = [[as_expr(0)] * n for _ in range(n)]
    for k, link in enumerate(kin.links):
        for i, h in enumerate(link.H):
            row = link.first + i
            for column, entry in along(kin, k, kin.composite[k] @ h).items():
                if column <= row or column >= link.first + len(link.H):
                    M[row][column] = M[column][row] = entry
            M[row][row] = M[row][row] + link.armature[i]
    return matrix(M) if n else zeros(0, 0)


def along(kin: Kinematics, k: int, F: Wrench) -> dict[int, Expr]:
    """The components of a wrench on link k along the joints of k and all before it."""
    found: dict[int, Expr] = {}
    for i in kin.ancestors(k):
        link = kin.links[i]
        for j, h in enumerate(link.H):
            found[link.first + j] = h.dot(F)
        F = link.X @ F if link.parent >= 0 else F
    return found
