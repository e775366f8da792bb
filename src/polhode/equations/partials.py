"""Derivatives of the equations of motion, as expressions by all that they depend on.

    tau  = M udot + c - Q                                         inverse
    udot = M^-1 (Q + tau - c),  dudot = M^-1 (dtau - d(M udot + c - Q))     forward

The slopes by q are those by small changes: of coordinates, and of a unit quaternion turns about the axes of its body.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from polhode.graph import LDL, Expr, Matrix, free_symbols, identity, jacobian, matrix, op_counts, symbol, vector
from polhode.graph.matrix import dot
from polhode.kinematics.small import Small, small_changes
from polhode.model import TIME

from .dynamics import folded, needed_forces, require_inertia_of_beams, singular
from .equations import Equations

COUNTED = 60_000  # operations of plain derivatives, by an upper bound: beyond, closed forms are taken without a count


def inverse_partials(eq: Equations, udot: Matrix, p: Sequence[Expr] = ()) -> dict[str, Matrix]:
    """tau and its derivatives at accelerations udot, by the names of what they are by; `value` is tau itself.

    p : the parameters by which it is differentiated
    """
    return {"value": needed_forces(eq, udot), **needed_slopes(eq, udot, p), "udot": eq.M}


def forward_partials(eq: Equations, tau: Matrix, p: Sequence[Expr] = ()) -> dict[str, Matrix]:
    """udot and its derivatives at forces tau, by the names of what they are by; `value` is udot itself."""
    require_inertia_of_beams(eq)
    try:
        factors = LDL(eq.M)
    except ZeroDivisionError:
        raise singular(eq) from None
    udot = factors.solve(eq.Q + tau - eq.c)
    inverse = _inverse(factors)
    slopes = {name: _solved(factors, inverse, -part) for name, part in needed_slopes(eq, udot, p).items()}
    return {"value": udot, **slopes, "tau": inverse}


def small_of(eq: Equations) -> Small:
    """Small changes of the coordinates of equations."""
    return small_changes(eq.kinematics.joints)


def needed_slopes(eq: Equations, udot: Matrix, p: Sequence[Expr]) -> dict[str, Matrix]:
    """The slopes of M udot + c - Q by all but udot, which may itself be expressions of the state."""
    names = vector([symbol(f"acceleration {i}") for i in range(len(udot))])
    needed, known = needed_forces(eq, names), dict(zip(names, udot, strict=True))
    rest = {name: jacobian(needed, by) for name, by in beside(eq, p, needed).items()}
    return _state_slopes(eq, small_of(eq), needed, udot, known) | folded(rest, known)


def beside(eq: Equations, p: Sequence[Expr], rows: Matrix) -> dict[str, Sequence[Expr]]:
    """What rows are differentiated by beside q and u: other states, controls, parameters, and time if they have it."""
    timed = [TIME] if TIME in free_symbols(rows) else []
    groups: dict[str, Sequence[Expr]] = {"z": [*eq.z], "controls": [*eq.controls], "p": p, "t": timed}
    return {name: by for name, by in groups.items() if len(by)}


def _state_slopes(
    eq: Equations, small: Small, needed: Matrix, udot: Matrix, known: Mapping[Expr, Expr]
) -> dict[str, Matrix]:
    """By q and u: closed forms where there are any, or plain derivatives, whichever are shorter."""
    ways = []
    if eq.terms.slopes is not None and (closed := eq.terms.slopes(udot)) is not None:
        ways.append({"q": closed.q - small.slopes(eq.Q), "u": closed.u - jacobian(eq.Q, eq.u)})
        if _operations(needed) * (len(small.names) + len(eq.u)) > COUNTED:
            return ways[0]
    ways.append(folded({"q": small.slopes(needed), "u": jacobian(needed, eq.u)}, known))
    return min(ways, key=lambda way: _operations(*way.values(), eq.M))  # which is needed besides


def _inverse(factors: LDL) -> Matrix:
    """M^-1, each entry by the column of its two that is eliminated first: the other's comes out sooner."""
    n = len(factors.order)
    place = {k: i for i, k in enumerate(factors.order)}
    whole = factors.solve(identity(n))
    first = [[(i, j) if place[j] <= place[i] else (j, i) for j in range(n)] for i in range(n)]
    return Matrix((n, n), [whole[at] for row in first for at in row])


def _solved(factors: LDL, inverse: Matrix, right: Matrix) -> Matrix:
    """M^-1 times columns, each by the inverse, which is there, or by the factors, whichever takes fewer operations."""
    n, columns = len(right), []
    backward = sum(len(column) for column in factors.lower)
    for column in right.T.rows():
        entries = {k for k, e in enumerate(column) if e != 0}
        reached = {*entries}
        for k in factors.order:
            if k in reached:
                reached |= factors.lower[k].keys()
        by_factors = len(reached) + 2 * (backward + sum(len(factors.lower[k]) for k in reached))
        if n * (2 * len(entries) - 1) <= by_factors:
            columns.append([dot([inverse[i, k] for k in entries], [column[k] for k in entries]) for i in range(n)])
        else:
            columns.append([*factors.solve(column)])
    return matrix(columns).T if columns else right


def _operations(*parts: Matrix) -> int:
    return sum(op_counts([e for part in parts for e in part.entries]).values())
