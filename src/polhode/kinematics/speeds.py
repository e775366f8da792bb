"""Generalised speeds chosen by the analyst, and constraints embedded in them.

    u = Y v + Z          the definitions, v the speeds of the model's joints
    J v + b = 0          the embedded constraints
    v = G u + g          from both, so that qdot = W u + X with W = N G, X = N g

Where v are the rates of the coordinates, Y, Z, W and X are those of the paper.
Speeds that the constraints make dependent are u_D = D u_I + E.

Reference: [Gillespie, eq. 1 to 5].
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property

from polhode.graph import Expr, Matrix, as_expr, identity, jacobian, matrix, substitute, vector, zeros
from polhode.graph.algebra import scaled, signed
from polhode.graph.compact import compact
from polhode.spatial import Twist

from .constraints import Constraints
from .eliminate import eliminate
from .generic import Point, offset
from .tree import Kinematics


@dataclass(frozen=True, kw_only=True)
class Recast(Kinematics):
    """Kinematics in other speeds than those of the joints.

    base      : in the speeds v of the joints
    defined   : every speed of the analyst as an expression of v, dependent ones too
    embedded  : the rows that always hold, written in v; those that repeat others are not among them
    repeated  : the rows that were left out because their speeds repeat those of others
    G, g      : v = G u + g
    free      : the same before the constraints were embedded among the speeds, None where none were
    dependent : speeds of `free` that were eliminated, u_D = D u + E
    """

    base: Kinematics
    defined: dict[Expr, Expr]
    embedded: Constraints
    repeated: Constraints
    G: Matrix
    g: Matrix
    free: Recast | None
    dependent: tuple[Expr, ...]
    D: Matrix
    E: Matrix

    @cached_property
    def image(self) -> dict[Expr, Expr]:
        """What to write for the definitions, the embedded residuals and the speeds v, wherever they occur."""
        found = dict(self.quasi)
        eliminated = dict(zip(self.dependent, self.D @ self.u + self.E, strict=True))
        for u, meaning in self.defined.items():
            found |= _known(meaning, eliminated.get(u, u))
        for row in self.embedded.psi:
            found |= _known(row, as_expr(0))
        return found

    def written(self, rows: Matrix) -> Matrix:
        """Expressions of v, in the speeds u."""
        return compact(substitute(rows, self.image))

    @cached_property
    def q_dot(self) -> Matrix:
        """Rates of the coordinates: W u + X."""
        return self.written(self.base.q_dot)

    @cached_property
    def N(self) -> Matrix:
        """The kinematic matrix, (nq, nu): q_dot = N u + X. The paper's W."""
        return compact(jacobian(self.q_dot, self.u))

    @cached_property
    def drift(self) -> Matrix:
        """The part of q_dot without speeds, (nq,). The paper's X."""
        found: Matrix = self.base.N @ self.g
        return compact(found)

    def pulled(self, slopes: Matrix) -> Matrix:
        found: Matrix = self.N.T @ slopes
        return found

    @cached_property
    def V(self) -> list[Twist]:
        """Twist of every link, in its own frame."""
        whole = self.written(vector([e for V in self.base.V for e in V.vector()]))
        return [Twist.of(whole[k : k + 6]) for k in range(0, len(whole), 6)]

    def jacobian(self, name: str, axes: str = "world") -> Matrix:
        return compact(jacobian(self.velocity(name, axes).vector(), self.u))


def _known(meaning: Expr, value: Expr) -> dict[Expr, Expr]:
    """meaning = value, for the part of it without sign and factor; nothing for what is a symbol anyway."""
    minus, rest = signed(meaning)
    factor, core = scaled(rest)
    return {core: value / (-factor if minus else factor)} if core.args else {}


def recast(
    base: Kinematics,
    defined: dict[Expr, Expr],
    held: Constraints,
    *,
    repeated: Constraints,
    points: Sequence[Point],
) -> Recast:
    """Solve the definitions, and as many constraints as complete them, for the speeds of the joints."""
    v, u = base.u, vector(defined)
    meaning = vector(defined.values())
    Y, n, k = jacobian(meaning, v), len(v), len(u)
    if meaning == v:
        G, g = identity(n), zeros(n)
    else:
        inverse = eliminate(matrix([*Y.rows(), *held.J.rows()]), identity(n), points)
        G, g = inverse[:, :k], compact(inverse @ -offset(vector([*meaning, *held.psi]), v, points))
    return _made(base, defined, held, repeated, u, G, g)


def embed(
    free: Recast, rows: Constraints, AB: Matrix, C: Matrix, dependent: Sequence[int], points: Sequence[Point]
) -> Recast:
    """Eliminate some speeds by further constraints A_B u + C = 0, those of `pfaffian`.

    Reference: [Gillespie, eq. 3 to 5]; our D = -A^-1 B with A_B = [A B].
    """
    independent = [j for j in range(len(free.u)) if j not in dependent]
    A, B = _columns(AB, dependent), _columns(AB, independent)
    solved = eliminate(A, matrix([[*(-row), -c] for row, c in zip(B.rows(), C, strict=True)]), points)
    D, E = solved[:, :-1], solved[:, -1]
    u = vector([free.u[j] for j in independent])
    G_I, G_D = _columns(free.G, independent), _columns(free.G, dependent)
    G, g = compact(G_I + G_D @ D), compact(G_D @ E + free.g)
    found = _made(free.base, free.defined, joined(free.embedded, rows), free.repeated, u, G, g)
    return replace(found, free=free, dependent=tuple(free.u[j] for j in dependent), D=D, E=E)


def _columns(m: Matrix, chosen: Sequence[int]) -> Matrix:
    return Matrix((len(m), len(chosen)), [row[j] for row in m.rows() for j in chosen])


def pfaffian(free: Recast, rows: Constraints, points: Sequence[Point]) -> tuple[Matrix, Matrix]:
    """A_B (m, k) and C (m,) of constraints among the speeds: A_B u + C = 0. Reference: [Gillespie, eq. 3]."""
    psi = free.written(rows.psi)
    return compact(jacobian(psi, free.u)), offset(psi, free.u, points)


def _made(base: Kinematics, defined: dict[Expr, Expr], held: Constraints, repeated: Constraints,
          u: Matrix, G: Matrix, g: Matrix) -> Recast:  # fmt: skip
    speeds = compact(G @ u + g)
    quasi = dict(zip(base.u, speeds, strict=True))
    links = [replace(link, speeds=tuple(quasi[s] for s in link.speeds)) for link in base.links]
    return Recast(
        model=base.model,
        links=tuple(links),
        q=base.q,
        u=u,
        rates=base.rates,
        quasi=quasi,
        carriers=base.carriers,
        stands_on=base.stands_on,
        base=base,
        defined=defined,
        embedded=held,
        repeated=repeated,
        G=G,
        g=g,
        free=None,
        dependent=(),
        D=zeros(0, len(u)),
        E=zeros(0),
    )


def selected(held: Constraints, rows: Iterable[int]) -> Constraints:
    """Some rows of the constraints."""
    kept = list(rows)
    group = {g: k for k, g in enumerate(dict.fromkeys(held.groups[i] for i in kept))}
    return replace(
        held,
        names=tuple(held.names[i] for i in kept),
        labels=tuple(held.labels[i] for i in kept),
        holonomic=tuple(held.holonomic[i] for i in kept),
        phi=vector([held.phi[i] for i in kept]),
        own=vector([held.own[i] for i in kept]),
        compared=tuple(held.compared[i] for i in kept),
        groups=tuple(group[held.groups[i]] for i in kept),
    )


def joined(a: Constraints, b: Constraints) -> Constraints:
    """Rows of two sets of constraints of one mechanism."""
    first = max(a.groups, default=-1) + 1
    return replace(
        a,
        names=a.names + b.names,
        labels=a.labels + b.labels,
        holonomic=a.holonomic + b.holonomic,
        phi=vector([*a.phi, *b.phi]),
        own=vector([*a.own, *b.own]),
        compared=a.compared + b.compared,
        groups=a.groups + tuple(g + first for g in b.groups),
    )


def without(kin: Kinematics, embedded: Iterable[str]) -> Kinematics:
    """Kinematics of a model that no longer lists the constraints of these names."""
    gone = set(embedded)
    couplings = tuple(c for c in kin.model.couplings if c.name not in gone)
    kept = tuple(c for c in kin.model.constraints if c.name not in gone)
    return replace(kin, model=replace(kin.model, constraints=kept, couplings=couplings))
