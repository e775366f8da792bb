"""Derivatives of a machine's motion for native code, without those of the solution of its equations.

    R(x, udot, lam) = Q + tau - c - M udot + J^T lam = 0
    S(x, udot)      = J udot + gamma = 0

The same at x + dx, with udot and lam as they are at x: dR and dS, and from these, with M and J at x,

    M dudot = dR + J^T dlam,   J dudot + dS = 0.

For a UR5 that takes 2,100 operations, and for a chain of ten 20,000: a third of what differences take.
"""

from __future__ import annotations

from collections.abc import Sequence

from polhode.graph import LDL, Expr, Matrix, jacobian, op_counts, substitute, vector
from polhode.kinematics.actions import Acting
from polhode.model import TIME

from .equations import Equations

LONGEST = 60_000  # operations, which take some five seconds to compile; differences serve longer ones
BLOCK = 8  # derivatives, after which their length is looked at
MOST = 40  # speeds; derivatives of more would be too long in any case


def slope_rows(
    eq: Equations,
    values: dict[Expr, Expr],
    x: Sequence[Expr],
    udot: Matrix,
    lam: Matrix,
    tau: Matrix,
    carried: Sequence[Expr],
    acting: Acting,
) -> list[Expr] | None:
    """The derivatives by each of x, then by time, or None where they are too long, or would not be those of the code.

    udot, lam : symbols of the accelerations and reactions where they are taken
    tau       : forces on the speeds, with their laws
    carried   : rates of q and z, powers
    acting    : the rows of constraints among the speeds

    Of each: carried, dudot where there are no constraints, else carried, dR, dS, moving.
    """
    balance = _residual(eq, udot) if len(udot) <= MOST else None
    if balance is None:
        return None
    R: Matrix = balance + tau + acting.J.T @ lam if len(lam) else balance + tau
    S = acting.J @ udot + acting.gamma if len(lam) else vector([])
    rows, M = vector([*carried, *R, *S, *acting.moving]), eq.M
    if values:
        rows, M = substitute(rows, values), substitute(M, values)
    factored = None if len(lam) else LDL(M)
    by, first, found = [*x, TIME], len(carried), list[Expr]()
    for k in range(0, len(by), BLOCK):
        for slope in jacobian(rows, by[k : k + BLOCK]).T.rows():
            column = [*slope]
            if factored is not None:
                column[first:] = factored.solve(column[first:])
            found += column
        if sum(op_counts(found).values()) > LONGEST:
            return None
    return found


def _residual(eq: Equations, udot: Matrix) -> Matrix | None:
    """Q - c - M udot, by recursion where there is one.

    A quaternion that is not of length 1, as between steps, gives a matrix that is not orthogonal, of which recursions
    and M make different things; at a root it only turns gravity.
    """
    turned = any(link.part.quaternion and link.parent >= 0 for link in eq.kinematics.joints.links)
    if eq.terms.inverse is not None and not turned:
        found: Matrix = eq.Q - eq.terms.inverse(udot)
        return found
    if eq.terms.forward is not None and turned and not len(eq.constraints):
        return None
    by_terms: Matrix = eq.Q - eq.c - eq.M @ udot
    return by_terms
