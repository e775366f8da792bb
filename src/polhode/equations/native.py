"""The equations of a machine with constraints as rows for native code.

Three forms, each a list of expressions in the order of `kernels.constrained`:

    residuals : phi, psi, and the squares of the sizes they are measured by
    factors   : M = L D L^T, B = D^-1 L^-1 J^T, W = J M^-1 J^T; g = D^-1 L^-1 b, r = J M^-1 b + gamma
    table     : M, b, J, gamma and the reference of J

The factors are fast, and need an M that has an inverse; the table serves every machine.
"""

from __future__ import annotations

import random
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, evaluate, free_symbols, substitute
from polhode.graph.linear import LDL
from polhode.kinematics import Constraints, Kinematics
from polhode.kinematics.actions import Acting
from polhode.kinematics.motion import Motion as KinematicMotion
from polhode.spatial import Inertia

_ZERO = as_expr(0)
SLOW = 1e-9  # 1/s
FEW = 8  # rows up to which native code solves for them, too


@dataclass(frozen=True, kw_only=True)
class Motion:
    """M udot = b + J^T lam, J udot + gamma = 0, and what is computed beside it.

    carried : rates of q and z, powers
    """

    M: Matrix
    b: Matrix
    rows: Acting
    carried: Sequence[Expr]


class FactorRows:
    """The factors as expressions, and the places of those that are not 0.

    Raises ZeroDivisionError where M is singular at every state.
    """

    def __init__(self, motion: Motion, direct: bool = True) -> None:
        M, J, n, m = motion.M, motion.rows.J, len(motion.b), len(motion.rows.psi)
        factored = LDL(M)
        half = [factored.half(row) for row in J.rows()]
        B = [[_ZERO if e == 0 else e * d for e, d in zip(row, factored.inverse, strict=True)] for row in half]
        g = [e * d for e, d in zip(factored.half(motion.b), factored.inverse, strict=True)]
        W = [[_dot(half[max(i, k)], B[min(i, k)]) for k in range(m)] for i in range(m)]
        r = [gamma + _dot(row, g) for gamma, row in zip(motion.rows.gamma, half, strict=True)]
        rho2 = [sum((e / M[j, j] for j, e in enumerate(row) if e != 0), _ZERO) for row in motion.rows.reference.rows()]
        self.order = factored.order
        self.b_index = [[j for j, e in enumerate(row) if e != 0] for row in B]
        self.l_index = [list(column) for column in factored.lower]
        entries_b = [e for row in B for e in row if e != 0]
        entries_l = [e for column in factored.lower for e in column.values()]
        inertias = [M[j, j] for j in range(n)]
        solved = _direct(W, r, B, g, factored) if direct and 0 < m <= FEW else None
        if solved is not None and not _is_independent(solved[:m], rho2):
            solved = None
        self.direct = solved is not None
        self.rows: list[Expr] = [
            *motion.carried, *g, *r, *(e for row in W for e in row), *entries_b, *entries_l,
            *factored.pivot, *inertias, *rho2, *motion.rows.moving, *(solved or ()),
        ]  # fmt: skip


def _is_independent(left: list[Expr], rho2: list[Expr]) -> bool:
    """Whether rows are independent at a state drawn at random: not so those across the plane of a linkage."""
    draw = random.Random(1)
    names = sorted(free_symbols([*left, *rho2]), key=lambda s: str(s.value))
    found = evaluate([*left, *rho2], {s: draw.uniform(0.3, 1.2) for s in names})
    return all(a > 1e-8 * b for a, b in zip(found[: len(left)], found[len(left) :], strict=True))


def _direct(W: list[list[Expr]], r: list[Expr], B: list[list[Expr]], g: list[Expr], factored: LDL) -> list[Expr] | None:
    """What W has left of each row beside those before it, reactions and accelerations, if all rows are independent.

    None where a row can have nothing left of its own.
    """
    m, L = len(W), [[_ZERO] * len(W) for _ in W]
    left: list[Expr] = []
    inverse: list[Expr] = []
    for i in range(m):
        for k in range(i):
            known = _dot(L[i][:k], [e * d for e, d in zip(L[k][:k], left, strict=False)])
            L[i][k] = (W[i][k] - known) * inverse[k]
        left.append(W[i][i] - _dot([e * e for e in L[i][:i]], left))
        if left[-1] == 0:
            return None
        inverse.append(1 / left[-1])
    y = [-e for e in r]
    for i in range(m):
        y[i] = y[i] - _dot(L[i][:i], y[:i])
    lam = [e * d for e, d in zip(y, inverse, strict=True)]
    for i in reversed(range(m)):
        lam[i] = lam[i] - _dot([L[k][i] for k in range(i + 1, m)], lam[i + 1 :])
    pushed = [e + _dot([row[j] for row in B], lam) for j, e in enumerate(g)]
    for k in reversed(factored.order):
        known = _dot(list(factored.lower[k].values()), [pushed[i] for i in factored.lower[k]])
        pushed[k] = pushed[k] - known
    return [*left, *lam, *pushed]


def _dot(a: Iterable[Expr], b: Iterable[Expr]) -> Expr:
    total: Expr = _ZERO
    for e, f in zip(a, b, strict=True):
        if e != 0 and f != 0:
            total = total + e * f
    return total


def table_rows(motion: Motion) -> list[Expr]:
    """The table as expressions."""
    rows = motion.rows
    equations = [*motion.carried, *motion.M.entries, *motion.b]
    return [*equations, *rows.J.entries, *rows.gamma, *rows.reference.entries, *motion.rows.moving]


def closure_rows(base: Kinematics, held: Constraints, rows: Acting) -> list[Expr]:
    """The table of rows about positions in the speeds of the joints: their inertias, J, phi, reference."""
    return [*inertias(base), *only(rows.J, held.holonomic), *held.phi, *rows.reference.entries]


def only(rows: Matrix, chosen: Sequence[bool]) -> list[Expr]:
    """The entries of a matrix, 0 in the rows that are not chosen."""
    return [e if on else _ZERO for row, on in zip(rows.rows(), chosen, strict=True) for e in row]


def residual_rows(base: Kinematics, held: Constraints, closing: Acting, rows: Acting, u: Matrix) -> list[Expr]:
    """phi of all that is held, psi of the rows among the speeds, and the squares of their sizes.

    A position is measured by E_ij s_j, with s_j 1 for turns, and for slides how far it went and the size
    of the machine; one that nothing moves by a radian, or the size of the machine. A speed by E_ij u_j, and
    where that is next to nothing by SLOW times the position's.
    """
    far, turn, size = extents(base), as_expr(1), _size(base)
    still = [turn if angular else size for angular in held.angular]
    reach = [_dot(row, far) for row in closing.reference.rows()]
    reach = [still[i] if e == 0 else e for i, e in enumerate(reach)]
    squares = [e * e for e in u]
    sizes = rows.reference.rows() if len(rows.psi) else ()
    pace = [_dot(row, squares) + SLOW**2 * at_rest for row, at_rest in zip(sizes, reach, strict=False)]
    return [*held.phi, *rows.psi, *reach, *pace]


def inertias(kin: Kinematics) -> list[Expr]:
    """The inertia that each speed of the joints drives: the diagonal of M."""
    found = [_ZERO] * len(kin.u)
    for link, inertia in zip(kin.links, kin.composite, strict=True):
        for j, h in enumerate(link.H):
            armature = link.armature[j] if j < len(link.armature) else _ZERO
            found[link.first + j] = h.dot(inertia @ h) + armature if inertia != Inertia.zero() else armature
    return found


def bodies(kin: KinematicMotion) -> list[int]:
    """The body that each speed of the joints moves first, by number; other speeds stand for themselves."""
    found, number, links = list(range(len(kin.u))), 0, kin.joints.links if kin is kin.joints else ()
    for i, link in enumerate(links):
        frame = link.parent == i - 1 >= 0 and links[i - 1].inertia == Inertia.zero()
        number += not frame
        found[link.first : link.first + len(link.H)] = [number] * len(link.H)
    return found


def extents(kin: Kinematics) -> list[Expr]:
    """How far a motion along each speed of the joints may lead, squared: 1 for turns."""
    size = _size(kin)
    found = [as_expr(1)] * len(kin.u)
    for link in kin.links:
        part = link.part
        slides = link.coordinates[4:] if part.quaternion else link.coordinates
        if not part.quaternion:
            columns = list(part.basis.T.rows())
            slides = tuple(q for q, column in zip(slides, columns, strict=True) if all(e == 0 for e in column[:3]))
        gone = sum((q * q for q in slides), _ZERO)
        for j, h in enumerate(link.H):
            if all(e == 0 for e in h.w):
                found[link.first + j] = size + gone
    return found


def _size(kin: Kinematics) -> Expr:
    """The size of a machine, squared: the lengths of its links and where its markers are; 1 where it has none."""
    total = _ZERO
    for link in kin.links:
        neutral = dict.fromkeys(link.coordinates, _ZERO)
        p = substitute(link.X.p, neutral)
        total = total + p @ p
    for marker in kin.model.markers:
        total = total + marker.pose.p @ marker.pose.p
    return total if total != 0 else as_expr(1)
