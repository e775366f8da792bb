"""The paper's functions for serial chains, as printed and corrected.

They work on matrices that are written out, with the Lie brackets of the columns
of V taken by differentiation: slower than `poincare`, and independent of it.

| here                 | in the paper |
|----------------------|--------------|
| rigid_chain          | RgdChn       |
| convective_matrix    | Cmat         |
| poincare_function    | PoincFunc    |
| end_effector_pose    | XEndEf       |
| gravity_potential    | GravPotChn   |

Reference: [KwatnyBlankenship, section III.C].
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Any

from polhode.graph import (
    Expr,
    Matrix,
    as_expr,
    as_matrix,
    diff_along,
    gradient,
    inverse,
    jacobian,
    matrix,
    vector,
    zeros,
)
from polhode.kinematics import configuration, joint_map, kinematic_matrix
from polhode.kinematics.joint import block_diagonal
from polhode.model import Joint
from polhode.model.values import inertia as inertia_matrix
from polhode.spatial import Inertia, Pose, skew


@dataclass(frozen=True, slots=True, kw_only=True)
class ChainBody:
    """A body of a chain: centre of mass, outboard joint, mass, inertia about the centre of mass."""

    com: Any
    outboard: Any
    mass: Any
    inertia: Any


def rigid_chain(
    joints: Sequence[Joint], bodies: Sequence[ChainBody], q: Sequence[Expr]
) -> tuple[list[Matrix], list[Pose], Matrix]:
    """Derive the kinematic matrices, joint configurations and inertia matrix of a chain.

    M = H^T Phi^T diag(M_o) Phi H, with Phi written out.

    Returns (V, X, M): a list of (nq_k, nu_k), a list of poses, and (nu, nu).
    Reference: [KwatnyBlankenship, eq. 46, 51, 52b]; the paper's RgdChn.
    """
    _require_chain(joints, bodies, "joints")
    if len(q) != sum(joint.nq for joint in joints):
        raise ValueError(f"A chain with {sum(j.nq for j in joints)} coordinates, found {len(q)} symbols for them.")
    V, X, H, first = [], [], [], 0
    for joint in joints:
        own = list(q)[first : first + joint.nq]
        V.append(kinematic_matrix(joint, own))
        X.append(configuration(joint, own))
        H.append(joint_map(joint, own))
        first += joint.nq
    # Phi H row by row: row k is phi(k, k-1) times row k-1, plus H_k on the diagonal
    widths = [h.shape[1] for h in H]
    rows: list[list[Matrix]] = []
    for k in range(len(joints)):
        row = [zeros(6, w) for w in widths]
        if k:
            phi = _transport(X[k], as_matrix(bodies[k - 1].outboard))
            row = [phi @ block for block in rows[-1]]
        row[k] = H[k]
        rows.append(row)
    M = zeros(sum(widths), sum(widths))
    for row, body in zip(rows, bodies, strict=True):
        inertia = Inertia.of_body(
            body.mass, as_matrix(body.com), inertia_matrix(body.inertia, "Body: inertia")
        ).matrix()
        wide = matrix([[e for block in row for e in block[i]] for i in range(6)])
        M = M + wide.T @ inertia @ wide
    return V, X, M


def _transport(X: Pose, r: Matrix) -> Matrix:
    """phi = diag(L, L) [[1, 0], [-skew(r'), 1]]: from the inboard joint of one body to that of the next.

    r' runs to the origin of the next body: the outboard joint and the joint's displacement.
    """
    L = X.R.T
    S = -skew(r + X.p)
    top = [[*L[i], 0, 0, 0] for i in range(3)]
    return matrix([*top, *([*(L @ S)[i], *L[i]] for i in range(3))])


def convective_matrix(M: Matrix, V: Sequence[Matrix] | Matrix, q: Sequence[Expr], p: Sequence[Expr]) -> Matrix:
    """C(q, p) of Poincare's equations for any square V, with C p the velocity terms.

    C = [d(Mp)/dq V] - 1/2 [d(Mp)/dq V]^T - [sum_j p_j X_j^T] V^-T M,
    X_j = [[v_j, v_1], ..., [v_j, v_m]].

    Reference: [KwatnyBlankenship, eq. 53b], all three signs reversed; the paper's Cmat.
    """
    blocks = [V] if isinstance(V, Matrix) else list(V)
    oblong = [block.shape for block in blocks if block.shape[0] != block.shape[1]]
    if oblong:
        raise ValueError(
            f"V has a block of shape {oblong[0]}, expected square ones: the formula inverts V. "
            "For quaternions and nonholonomic joints use polhode.formulate."
        )
    whole, speeds = block_diagonal(blocks), vector(p)
    D: Matrix = jacobian(M @ speeds, q) @ whole
    # sum_j p_j [v_j, v_k] = (dv_k/dq) V p - (d(V p)/dq) v_k
    moving = (whole @ speeds).entries
    brackets = diff_along(whole, q, moving) - jacobian(moving, q) @ whole
    solved = block_diagonal([inverse(block) for block in blocks]) @ brackets
    convective: Matrix = D - D.T / 2 - solved.T @ M
    return convective


def poincare_function(
    M: Matrix, V: Sequence[Matrix] | Matrix, U: Expr, Q: Sequence[Expr], p: Sequence[Expr], q: Sequence[Expr]
) -> Matrix:
    """F = C p + V^T dU/dq - Q_p, so that M pdot + F = 0.

    Reference: [KwatnyBlankenship, eq. 53], with V^T in (53c); the paper's PoincFunc.
    """
    whole = V if isinstance(V, Matrix) else block_diagonal(list(V))
    convective: Matrix = convective_matrix(M, V, q, p) @ vector(p)
    potential: Matrix = whole.T @ gradient(as_expr(U), vector(q))
    return convective + potential - vector(Q)


def end_effector_pose(bodies: Sequence[ChainBody], X: Sequence[Pose]) -> Matrix:
    """The 4 x 4 pose of the last outboard joint in the space frame. The paper's XEndEf."""
    _require_chain(X, bodies, "joint configurations")
    return _ends(bodies, X)[-1].matrix()


def gravity_potential(bodies: Sequence[ChainBody], X: Sequence[Pose], gravity: Sequence[Any] = (0, 0, -1)) -> Expr:
    """Potential energy of the chain; the paper's GravPotChn, with all masses and offsets and g = 1."""
    _require_chain(X, bodies, "joint configurations")
    total = as_expr(0)
    inboard = Pose.identity()
    for body, joint, end in zip(bodies, X, _ends(bodies, X), strict=True):
        center = (inboard @ joint) @ as_matrix(body.com)
        total = total - body.mass * (as_matrix(gravity) @ center)
        inboard = end
    return total


def _require_chain(joints: Sequence[Any], bodies: Sequence[ChainBody], what: str) -> None:
    if not joints or len(joints) != len(bodies):
        raise ValueError(f"A chain of {len(joints)} {what} and {len(bodies)} bodies: expected one body on each joint.")


def _ends(bodies: Sequence[ChainBody], X: Sequence[Pose]) -> list[Pose]:
    """Pose of every outboard joint, at rest, in the space frame."""
    steps = [joint @ Pose.at(body.outboard) for body, joint in zip(bodies, X, strict=True)]
    return [reduce(lambda a, b: a @ b, steps[: k + 1]) for k in range(len(steps))]
