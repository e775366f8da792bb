"""Constraints of a small machine as expressions: which states are independent, and how the others follow.

    X = (q, u, z) = L y,   u = G y_u - H (d psi/dq q + d psi/dz z)

Which, is chosen as `linearize` does, of the compiled machine with numbers drawn for its symbols.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from polhode.equations import Dynamics, Equations
from polhode.equations.program import program_of
from polhode.equations.tangent import tangent_of
from polhode.graph import Expr, Matrix, as_expr, evaluate, free_symbols, jacobian, substitute, symbol, vector
from polhode.model import TIME

from .near import Near
from .operating import read_point
from .short import inverse, part, product, short
from .turns import charts_of

_DRAWS = 8  # of numbers, until the machine can be computed with them
_SINGULAR = "linearize: constraints cannot be solved at this point. Compile the equations, which have numbers."


@dataclass(frozen=True, kw_only=True)
class Ties:
    """What constraints leave, at a point.

    free   : the independent states, by number of (q, u, z), and how many of them are coordinates and speeds
    L      : (N, n); G : (nu, k), identity at the free speeds; H : (nu, r), u = H w of J u = w
    J, gamma : of the independent rows, as expressions of the state, (r, nu) and (r,); lam : symbols of their reactions
    holds  : names of constraints
    """

    free: tuple[int, ...]
    sizes: tuple[int, int]
    L: Matrix
    G: Matrix
    H: Matrix
    J: Matrix
    gamma: Matrix
    lam: Matrix
    holds: tuple[str, ...]


@dataclass(frozen=True, kw_only=True)
class Drawn:
    """The compiled machine at the same point, with a number for each symbol."""

    dynamics: Dynamics
    values: dict[Expr, float]
    q: dict[str, float]
    u: dict[str, float]
    z: dict[str, float]
    tau: dict[str, Expr]
    controls: dict[str, Expr] | None
    t: float


def draws(eq: Equations, here: Mapping[Expr, Expr], applied: Mapping[Expr, Expr]) -> Iterable[Drawn]:
    """Numbers for the symbols of a point, again and again."""
    states = {*eq.q, *eq.u, *eq.z}
    used = {*free_symbols([*here.values(), *applied.values()]), *eq.parameters}
    listed = sorted(used.difference({*here, *states, TIME}), key=str)
    for seed in range(_DRAWS):
        draw = np.random.default_rng(seed)
        values: dict[Expr, float] = {TIME: 0.0}
        values |= {s: round(float(draw.uniform(0.7, 1.4)), 3) for s in listed}
        numbers = {s: float(evaluate(e, values)) for s, e in here.items()}
        parts = [{str(s.value): numbers[s] for s in group} for group in (eq.q, eq.u, eq.z)]
        whole = values | {s: e for s, e in numbers.items() if s not in states}
        kept = {s: as_expr(e) for s, e in whole.items() if s != TIME}
        forces = [substitute(e, kept) for e in applied.values()]
        count, actuators = len(eq.u), [a.name for a in eq.model.actuators]
        yield Drawn(
            dynamics=eq.compile({str(s.value): whole[s] for s in eq.parameters}),
            values=whole,
            q=parts[0],
            u=parts[1],
            z=parts[2],
            tau=dict(zip([str(s.value) for s in eq.u], forces[:count], strict=True)),
            controls=dict(zip(actuators, forces[count:], strict=True)) or None,
            t=values[TIME],
        )


def ties_of(
    eq: Equations, here: Mapping[Expr, Expr], applied: Mapping[Expr, Expr], independent: Sequence[str]
) -> tuple[Ties, Drawn]:
    """What constraints leave at a point, and the numbers by which that was found."""
    failed = ""
    for drawn in draws(eq, here, applied):
        try:
            return _ties(eq, here, drawn, independent), drawn
        except ValueError as error:
            said = [f"{s.value} = {e:g}" for s, e in drawn.values.items() if s != TIME][:6]
            failed = failed or f"{error} That is so with {', '.join(said)}." * bool(said) or str(error)
    raise ValueError(
        f"{failed} Give coordinates and speeds as expressions that satisfy the constraints for all values of "
        'parameters, such as {"z": "r"}, or compile the equations: linearize(eq.compile(...), ...).'
    )


def _ties(eq: Equations, here: Mapping[Expr, Expr], drawn: Drawn, independent: Sequence[str]) -> Ties:
    dynamics = drawn.dynamics
    program = program_of(dynamics)
    at = read_point(dynamics, drawn.q, drawn.u, drawn.tau, drawn.controls, drawn.z, None, drawn.t, None)
    near = Near(at, tangent_of(program, at.rows, at.closed, at.inputs.laws), charts_of(at), tuple(independent))
    nq, nu, nz = len(eq.q), len(eq.u), len(eq.z)
    every, x = program.constraints, vector([*eq.q, *eq.u, *eq.z])
    phi = vector([program.held.phi[i] for i in at.closed])
    psi = vector([every.psi[i] for i in at.rows])
    gamma = vector([every.gamma[i] for i in at.rows])

    def now(e: Matrix) -> Matrix:
        return short(substitute(e, dict(here)))

    def solved(A: Matrix, numbers: np.ndarray, free: Sequence[int]) -> tuple[Matrix, Matrix, list[int]]:
        """G and H of A x = w, by as many rows as are independent: x = G x[free] + H w[rows]."""
        n = numbers.shape[1]
        bound = [j for j in range(n) if j not in free]
        rows = _independent(numbers[:, bound])
        back = inverse(part(A, rows, bound), _SINGULAR) if bound else Matrix((0, 0), [])
        follow = product(back, part(A, rows, list(free))) if bound and free else Matrix((len(bound), len(free)), [])
        G = [[as_expr(int(j == f)) for f in free] for j in range(n)]
        H = [[as_expr(0)] * len(rows) for _ in range(n)]
        for i, j in enumerate(bound):
            G[j] = [-follow[i, k] for k in range(len(free))]
            H[j] = [back[i, k] for k in range(len(rows))]
        return _matrix(G, len(free)), _matrix(H, len(rows)), rows

    A = now(jacobian(phi, eq.q)) if len(phi) else Matrix((0, nq), [])
    J = now(jacobian(psi, eq.u)) if len(psi) else Matrix((0, nu), [])
    Gq, _, _ = solved(A, near.slopes["phi"]["x"][:, :nq], near.placed.free)
    G, H, rows = solved(J, near.slopes["psi"]["x"][:, nq : nq + nu], near.sped.free)
    a, b = near.sizes[:2]
    L = [[as_expr(0)] * (a + b + nz) for _ in range(nq + nu + nz)]
    for i in range(nq):
        L[i][:a] = [Gq[i, k] for k in range(a)]
    for i in range(nz):
        L[nq + nu + i][a + b + i] = as_expr(1)
    moved = _matrix(L, a + b + nz)
    if rows:
        by = now(part(jacobian(psi, x), rows, range(len(x))))
        dragged = product(H, product(by, moved))
    for i in range(nu):
        own = [as_expr(0)] * a + [G[i, k] for k in range(b)] + [as_expr(0)] * nz
        L[nq + i] = [e - dragged[i, k] for k, e in enumerate(own)] if rows else own
    lam = vector([symbol(f"reaction {i}") for i in range(len(rows))])
    return Ties(
        free=tuple(near.free),
        sizes=(a, b),
        L=_matrix(L, a + b + nz),
        G=G,
        H=H,
        J=part(jacobian(psi, eq.u), rows, range(nu)) if rows else Matrix((0, nu), []),
        gamma=vector([gamma[i] for i in rows]),
        lam=lam,
        holds=tuple(n for n in dict.fromkeys(program.held.names) if n in at.holding),
    )


def _independent(A: np.ndarray) -> list[int]:
    """As many rows as A has columns, that are independent, by elimination."""
    rest, rows = A / np.maximum(np.abs(A).max(axis=1, keepdims=True, initial=0), 1e-300), list[int]()
    for _ in range(A.shape[1]):
        size = np.linalg.norm(rest, axis=1)
        size[rows] = 0
        rows.append(int(np.argmax(size > 0.3 * size.max(initial=0))))
        along = rest[rows[-1]] / np.linalg.norm(rest[rows[-1]])
        rest = rest - np.outer(rest @ along, along)
    return sorted(rows)


def _matrix(rows: Sequence[Sequence[Expr]], width: int) -> Matrix:
    return Matrix((len(rows), width), [as_expr(e) for row in rows for e in row])
