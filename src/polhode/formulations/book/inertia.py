"""The inertia matrix J, by the recursions of section 5.2.

The chain is A_1 E_1 A_2 E_2 ... of frames alike, so the paper's three matrices are one: jFt_h between two joints, jF_h
between a joint and a section, jPhi_h between two sections [Book, eq. 67, 71, 76]. It is never formed for two frames:
what a unit of a speed z_h makes of it, jFt_h (dW_h/dz_h)^T, is carried inward instead, a matrix for each speed and not
for each pair, and only frames that have speeds are met [Book, section 5.2.4].
"""

from __future__ import annotations

from polhode.graph import Expr, Matrix, as_expr, matrix, zeros

from .axes import Axes, F, Y


def inertia_matrix(axes: Axes[F, Y], size: int) -> Matrix:
    """Assemble J, (size, size), both triangles filled. Reference: [Book, eq. 66 to 81]."""
    J: list[list[Expr]] = [[as_expr(0)] * size for _ in range(size)]

    def add(i: int, j: int, e: Expr) -> None:
        J[i][j] = J[i][j] + e
        if i != j:
            J[j][i] = J[i][j]

    inertias = [axes.inertia(k) for k in range(len(axes.frames))]
    beyond: list[dict[int, Y]] = [{} for _ in axes.frames]  # by speed: what moves beyond the frame
    for k in reversed(range(len(axes.frames))):
        frame = axes.frames[k]
        moved = beyond[k]
        if frame.mass is not None:
            for f, (at, D) in enumerate(zip(frame.mass.at, axes.modal(k), strict=True)):  # eq. 68, 69, 72, 73
                moved[at] = axes.sum(moved[at], D) if at in moved else D
                for other in range(f + 1):
                    add(frame.mass.at[other], at, axes.own(k, other, f))
        places = axes.at(k)
        unit = [axes.momentum(k, i, inertias[k]) for i in range(len(places))]
        for i, at in enumerate(places):
            for j in range(i + 1):  # eq. 66 with h = j, 73
                add(places[j], at, axes.along(k, j, unit[i]))
            for other, part in moved.items():  # eq. 66, 69, 70, 74, 75; twice where the speed moves this frame, too
                e = axes.along(k, i, part)
                add(at, other, e * 2 if at == other else e)
            if frame.armature:
                add(at, at, frame.armature[i])
        if frame.parent < 0:
            continue
        for i, at in enumerate(places):
            moved[at] = axes.sum(moved[at], unit[i]) if at in moved else unit[i]
        for at, part in moved.items():  # eq. 78, 80, 81
            there, seen = beyond[frame.parent], axes.carried(k, part)
            there[at] = axes.sum(there[at], seen) if at in there else seen
        inertias[frame.parent] = axes.inward(k, inertias[frame.parent], inertias[k])  # eq. 79
    return matrix(J) if size else zeros(0, 0)
