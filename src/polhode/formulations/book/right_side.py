"""The right-hand side R, by the recursions of section 5.3, with its sign reversed: what the motion needs.

    J zdd + velocity + gravity = F,     velocity + gravity = F - R

The loads of Q_j contain gravity as an acceleration of the base: W'' has it in its first column, which meets that of G,
the paper's P_j [Book, eq. 89, 90]. So one recursion gives both. Stiffness, K_jkf in [Book, eq. 85, 86], is a law of
force like others, and not in here.
"""

from __future__ import annotations

from polhode.graph import Expr, Matrix, as_expr, vector

from .axes import Axes, F, Y


def needed(axes: Axes[F, Y], size: int) -> Matrix:
    """The generalised forces that the motion of the axes needs, (size,). Reference: [Book, eq. 83 to 90]."""
    rows: list[Expr] = [as_expr(0)] * size
    Q = [axes.load(k) for k in range(len(axes.frames))]  # eq. 87
    for k in reversed(range(len(axes.frames))):
        frame = axes.frames[k]
        if frame.mass is not None:
            for at, e in zip(frame.mass.at, axes.modal_loads(k), strict=True):  # eq. 85
                rows[at] = rows[at] + e
        for i, at in enumerate(axes.at(k)):  # eq. 84, 86
            rows[at] = rows[at] + axes.along(k, i, Q[k])
        if frame.parent >= 0:  # eq. 88
            Q[frame.parent] = axes.sum(Q[frame.parent], axes.carried(k, Q[k]))
        for i, e in enumerate(_gyroscopic(frame.speeds, frame.armature, frame.closing)):
            rows[frame.at[i]] = rows[frame.at[i]] + e
    return vector(rows)


def _gyroscopic(u: tuple[Expr, ...], armature: tuple[Expr, ...], closing: tuple[Matrix, ...]) -> list[Expr]:
    """Forces of armatures on speeds whose axes do not commute: -sum_jl u_j c_ji^l a_l u_l."""
    if not any(a != 0 for a in armature):
        return []
    found = [as_expr(0)] * len(u)
    for i in range(len(u)):
        for one, c in zip(u, closing, strict=False):
            for l, (a, other) in enumerate(zip(armature, u, strict=True)):
                if c[l, i] != 0:
                    found[i] = found[i] - one * c[l, i] * a * other
    return found
