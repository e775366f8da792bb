"""The equations of a machine with constraints as rows for native code.

Three forms, each a list of expressions in the order of `kernels.constrained`:

    residuals : phi, psi, and the squares of the sizes they are measured by
    factors   : b, gamma, J and M = L D L^T, and where rows are independent the same of [M J^T; J 0], lam and udot
    table     : M, b, J, gamma and the reference of J

The factors are fast, and need an M that has an inverse; the table serves every machine.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from polhode.graph import Expr, Matrix, as_expr, substitute
from polhode.graph.linear import LDL
from polhode.kinematics import Constraints, Kinematics
from polhode.kinematics.actions import Acting
from polhode.kinematics.composite import mass_matrix
from polhode.kinematics.motion import Motion as KinematicMotion
from polhode.spatial import Inertia

from . import saddle
from .saddle import Elimination, substituted

_ZERO = as_expr(0)
SLOW = 1e-9  # 1/s


@dataclass(frozen=True, kw_only=True)
class Motion:
    """M udot = b + J^T lam, J udot + gamma = 0, and what is computed beside it.

    carried : rates of q and z, powers
    small   : amplitudes of modes, with their sizes
    """

    M: Matrix
    b: Matrix
    rows: Acting
    carried: Sequence[Expr]
    small: Mapping[Expr, Expr] = field(default_factory=dict)


class FactorRows:
    """The factors as expressions, and the places of those that are not 0.

    order   : of the elimination of speeds and rows together, None where code does not solve for them
    speeds  : the order of that of M = L D L^T alone
    l_index : speeds of the entries in each column of L; j_index, b_index : the same in each row of J and of J L^-T
    lower   : speeds and rows of the entries in each column of the elimination together
    minus   : which of its factors are exported with their sign turned

    Raises ZeroDivisionError where M is singular at every state.
    """

    def __init__(self, motion: Motion, closing: Sequence[bool], solved: bool = True) -> None:
        M, J, n = motion.M, motion.rows.J, len(motion.b)
        rho2 = [sum((e / M[j, j] for j, e in enumerate(row) if e != 0), _ZERO) for row in motion.rows.reference.rows()]
        self.order = saddle.order_of(M, J, rho2, closing, motion.small) if solved else None
        self.speeds = LDL(M).order if self.order is None else [k for k in self.order.nodes if k < n]
        factored = Elimination(M, (), self.speeds)
        self.l_index = [list(column) for column in factored.lower[:n]]
        self.j_index = [[j for j, e in enumerate(row) if e != 0] for row in J.rows()]
        self.b_index = [_reached(row, self.speeds, self.l_index) for row in self.j_index]
        entries_j = [e for row in J.rows() for e in row if e != 0]
        entries_l = [e for column in factored.lower for e in column.values()]
        inertias = [M[j, j] for j in range(n)]
        self.rows: list[Expr] = [
            *motion.carried, *motion.b, *motion.rows.gamma, *entries_j, *entries_l,
            *factored.pivot[:n], *inertias, *rho2, *motion.rows.moving,
        ]  # fmt: skip
        self.lower: list[list[int]] = []
        self.minus: list[bool] = []
        if self.order is not None:
            self.rows += self._whole(Elimination(M, list(J.rows()), self.order.nodes), motion)

    def _whole(self, whole: Elimination, motion: Motion) -> list[Expr]:
        """What each row has left and had, reactions and accelerations, L and D^-1 of the elimination."""
        n, nodes = len(motion.b), set(whole.order)
        self.lower = [[i for i in column if i in nodes] for column in whole.lower]
        found = whole.solve([*motion.b, *(-e for e in motion.rows.gamma)])
        factors = [whole.lower[k][i] for k in whole.order for i in self.lower[k]]
        factors += [whole.inverse[k] for k in whole.order]
        self.minus = [e.op == "neg" for e in factors]  # code need not turn signs that are turned back
        factors = [e.args[0] if minus else e for e, minus in zip(factors, self.minus, strict=True)]
        return [*whole.left, *whole.had, *(-e for e in found[n:]), *found[:n], *factors]

    def corrections(self, factors: Matrix, phi: Sequence[Expr], psi: Sequence[Expr]) -> list[Expr]:
        """The motions of least kinetic energy that remove residuals of positions and of speeds, (n,) each.

        factors : symbols of L and D^-1 of the elimination, but for their signs
        """
        if self.order is None:
            return []
        given, n = iter(-e if minus else e for e, minus in zip(factors, self.minus, strict=True)), len(self.speeds)
        lower: list[dict[int, Expr]] = [{} for _ in self.lower]
        for k in self.order.nodes:
            lower[k] = {i: next(given) for i in self.lower[k]}
        inverse = dict(zip(self.order.nodes, given, strict=True))
        turns = [inverse.get(k, _ZERO) for k in range(len(lower))]
        kept = self.order.independent
        rights = [[-e if on else _ZERO for e, on in zip(rows, kept, strict=True)] for rows in (phi, psi)]
        return [e for rows in rights for e in substituted(self.order.nodes, lower, turns, [_ZERO] * n + rows)[:n]]

    @property
    def whole_size(self) -> int:
        """How many entries of L and D^-1 the elimination has."""
        return len(self.minus)


def _reached(row: list[int], order: list[int], lower: list[list[int]]) -> list[int]:
    """The entries that L^-1 makes of those of a row."""
    found = set(row)
    for k in order:
        if k in found:
            found.update(lower[k])
    return sorted(found)


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
    if any(link.modes is not None for link in kin.links):
        M = mass_matrix(kin)
        return [M[i, i] for i in range(len(kin.u))]
    found = [_ZERO] * len(kin.u)
    for link, inertia in zip(kin.links, kin.composite, strict=True):
        for j, h in enumerate(link.H):
            armature = link.armature[j] if j < len(link.armature) else _ZERO
            found[link.at[j]] = h.dot(inertia @ h) + armature if inertia != Inertia.zero() else armature
    return found


def bodies(kin: KinematicMotion) -> list[int]:
    """The body that each speed of the joints moves first, by number; other speeds stand for themselves."""
    found, number, links = list(range(len(kin.u))), 0, kin.joints.links if kin is kin.joints else ()
    for i, link in enumerate(links):
        frame = link.parent == i - 1 >= 0 and links[i - 1].inertia == Inertia.zero()
        number += not frame
        modes = () if link.modes is None else link.modes.at
        for place in (*(() if link.section else link.at), *modes):
            found[place] = number
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
        for j, h in enumerate(link.H if not link.section else ()):
            if all(e == 0 for e in h.w):
                found[link.at[j]] = size + gone
        if link.modes is not None:
            for i, unit in zip(link.modes.at, link.modes.flexible.units, strict=True):
                found[i] = size if unit == "m" else as_expr(1)
    return found


def _size(kin: Kinematics) -> Expr:
    """The size of a machine, squared: the lengths of its links and where its markers are; 1 where it has none."""
    total = _ZERO
    for link in kin.links:
        neutral = dict.fromkeys(kin.q, _ZERO)
        p = substitute(link.X.p, neutral)
        total = total + p @ p
    known = 0.0
    for marker in kin.model.markers:
        at = [e.number for e in marker.pose.p]
        if None in at:
            total = total + marker.pose.p @ marker.pose.p
        else:  # there may be thousands
            known += sum(x * x for x in at if x is not None)
    total = total + known
    return total if total != 0 else as_expr(1)
