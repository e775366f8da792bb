"""Rates of a small machine at a point, and their derivatives, as expressions.

M a = R + J^T lam,   J a + gamma = 0,   M da = dR + d(J^T) lam + J^T dlam,   J da + dJ a + dgamma = 0
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from polhode.equations import Equations
from polhode.equations.dynamics import needed_forces
from polhode.equations.inputs import fresh, inputs
from polhode.graph import Expr, Matrix, as_expr, jacobian, substitute, vector

from .short import column, inverse, part, product, short
from .symbolic_ties import Ties


@dataclass(frozen=True, kw_only=True)
class Rates:
    """Rates of (q, u, z) at a point, (N,), and their derivatives by (q, u, z), (N, N), and by inputs, (N, nv)."""

    drift: Matrix
    x: Matrix
    v: Matrix


def rates_at(eq: Equations, here: Mapping[Expr, Expr], applied: Mapping[Expr, Expr], ties: Ties | None) -> Rates:
    """Rates with the accelerations a of M a = R + J^T lam, J a + gamma = 0."""
    nq, nu, x, v = len(eq.q), len(eq.u), vector([*eq.q, *eq.u, *eq.z]), inputs(eq)
    udot = fresh("udot", eq)[:nu]
    # laws of the state close the loop: their input is what is added
    laws = {s: s + e for s, e in applied.items() if e != 0}
    forces = vector([*v][:nu])
    R = substitute(forces - needed_forces(eq, udot), laws)
    none = {s: as_expr(0) for s in v}

    def at(e: Matrix, more: Mapping[Expr, Expr]) -> Matrix:
        return substitute(substitute(e, {**none, **more}), dict(here))

    still = {s: as_expr(0) for s in udot}
    M, R0 = short(at(-jacobian(R, udot), still)), column(short(at(R, still)))
    said = (
        f"linearize: the inertia of {eq.model.name!r} is singular here, so its accelerations are not determined. Give "
        "what moves mass or an armature."
    )
    if ties is None:
        back = inverse(M, said)
        a = product(back, R0)
        moving = dict(zip(udot, a.entries, strict=True))
        by_x, by_v = (product(back, short(at(jacobian(R, s), moving))) for s in (x, v))
    else:
        G, H = ties.G, ties.H
        back = inverse(product(G.T, product(M, G)), said) if G.shape[1] else Matrix((0, 0), [])

        def accelerations(force: Matrix, off: Matrix) -> Matrix:
            """a = G b - H off of forces and of what rows miss."""
            fixed = -product(H, off)
            return short(fixed + product(G, product(back, product(G.T, short(force - product(M, fixed))))))

        a = accelerations(R0, column(short(at(ties.gamma, still))))
        lam = product(H.T, short(product(M, a) - R0))
        moving = dict(zip([*udot, *ties.lam], [*a.entries, *lam.entries], strict=True))
        pushed, rows = R + ties.J.T @ ties.lam, ties.J @ udot + ties.gamma
        by_x = accelerations(short(at(jacobian(pushed, x), moving)), short(at(jacobian(rows, x), moving)))
        by_v = accelerations(
            short(at(jacobian(pushed, v), moving)), Matrix((len(rows), len(v)), [as_expr(0)] * (len(rows) * len(v)))
        )
    kinematic, others = vector([*eq.kinematics.q_dot]), substitute(eq.z_dot, laws)

    def stacked(first: Sequence[Expr], second: Matrix, third: Sequence[Expr], width: int) -> Matrix:
        return Matrix((nq + nu + len(eq.z), width), [*first, *second.entries, *third])

    def slopes(e: Matrix, by: Matrix) -> Sequence[Expr]:
        return at(jacobian(e, by), still).entries if len(e) else ()

    beside = at(others, still).entries if len(others) else ()
    return Rates(
        drift=vector([*at(kinematic, still).entries, *a.entries, *beside]),
        x=stacked(slopes(kinematic, x), by_x, slopes(others, x), len(x)),
        v=stacked(slopes(kinematic, v), by_v, slopes(others, v), len(v)),
    )


def outputs_at(
    eq: Equations, asked: Mapping[str, Expr] | None, rates: Rates, places: Sequence[int], here: Mapping[Expr, Expr],
    ties: Ties | None, states: Sequence[str],
) -> tuple[Matrix, Matrix]:  # fmt: skip
    """C and D of expressions, also of `eq.kane.udot`; of nothing those of the states."""
    nq, nu, N = len(eq.q), len(eq.u), rates.x.shape[0]
    if not asked:
        n = len(states)
        return (
            Matrix((n, n), [as_expr(int(i == j)) for i in range(n) for j in range(n)]),
            Matrix((n, len(places)), [as_expr(0)] * (n * len(places))),
        )
    rows, udot = vector(list(asked.values())), eq.kane.udot
    accelerating = dict(zip(udot, [rates.drift[nq + i] for i in range(nu)], strict=True))

    def at(e: Matrix) -> Matrix:
        none = {s: as_expr(0) for s in inputs(eq)}
        return short(substitute(substitute(e, {**none, **accelerating}), dict(here)))

    by_x, by_udot, by_c = (at(jacobian(rows, [*group])) for group in ((*eq.q, *eq.u, *eq.z), udot, inputs(eq)))
    speeds = range(nq, nq + nu)
    C = short(by_x + product(by_udot, part(rates.x, speeds, range(N))))
    D = short(by_c + product(by_udot, part(rates.v, speeds, range(rates.v.shape[1]))))
    return (product(C, ties.L) if ties else C), part(D, range(len(rows)), places)
