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

from .constraints import Constraints, joined
from .eliminate import eliminate
from .generic import Point, offset
from .motion import Motion
from .tree import Kinematics


@dataclass(frozen=True, kw_only=True)
class Speeds:
    """A set of generalised speeds u, with v = G u + g for the speeds v of the joints, and how it came about.

    defined   : every speed of the analyst as an expression of v, dependent ones too
    names     : of the constraints that always hold
    embedded  : their rows, written in v; those that repeat others are not among them
    repeated  : the rows that were left out because their speeds repeat those of others
    free      : the same before the constraints were embedded among the speeds, None where none were
    dependent : speeds of `free` that were eliminated, u_D = D u + E
    """

    u: Matrix
    G: Matrix
    g: Matrix
    defined: dict[Expr, Expr]
    names: frozenset[str]
    embedded: Constraints
    repeated: Constraints
    free: Speeds | None
    dependent: tuple[Expr, ...]
    D: Matrix
    E: Matrix


@dataclass(frozen=True, kw_only=True)
class InSpeeds(Motion):
    """The motion of a mechanism in generalised speeds.

    tree   : the same in the speeds of the joints
    speeds : what they are
    """

    tree: Kinematics
    speeds: Speeds

    @property
    def joints(self) -> Kinematics:
        return self.tree

    @property
    def embedded(self) -> frozenset[str]:
        return self.speeds.names

    @cached_property
    def image(self) -> dict[Expr, Expr]:
        """What to write for the definitions, the embedded residuals and the speeds v, wherever they occur."""
        found, own = dict(self.quasi), self.speeds
        eliminated = dict(zip(own.dependent, own.D @ self.u + own.E, strict=True))
        for u, meaning in own.defined.items():
            found |= _known(meaning, eliminated.get(u, u))
        for row in own.embedded.psi:
            found |= _known(row, as_expr(0))
        return found

    def written(self, rows: Matrix) -> Matrix:
        return compact(substitute(rows, self.image))

    @cached_property
    def q_dot(self) -> Matrix:
        """Rates of the coordinates: W u + X."""
        return self.written(self.tree.q_dot)

    @cached_property
    def N(self) -> Matrix:
        """The kinematic matrix, (nq, nu): q_dot = N u + X. The paper's W."""
        return compact(jacobian(self.q_dot, self.u))

    @cached_property
    def drift(self) -> Matrix:
        """The part of q_dot without speeds, (nq,). The paper's X."""
        found: Matrix = self.tree.N @ self.speeds.g
        return compact(found)

    def pulled(self, slopes: Matrix) -> Matrix:
        found: Matrix = self.N.T @ slopes
        return found

    @cached_property
    def V(self) -> list[Twist]:
        whole = self.written(vector([e for V in self.tree.V for e in V.vector()]))
        return [Twist.of(whole[k : k + 6]) for k in range(0, len(whole), 6)]

    def jacobian(self, name: str, axes: str = "world") -> Matrix:
        return compact(jacobian(self.velocity(name, axes).vector(), self.u))


def in_speeds(joints: Kinematics, speeds: Speeds) -> InSpeeds:
    """The motion of a mechanism in the speeds that were chosen for it."""
    quasi = dict(zip(joints.u, compact(speeds.G @ speeds.u + speeds.g), strict=True))
    quasi |= {name: substitute(e, quasi) for name, e in joints.quasi.items()}
    return InSpeeds(model=joints.model, q=joints.q, u=speeds.u, quasi=quasi, tree=joints, speeds=speeds)


def _known(meaning: Expr, value: Expr) -> dict[Expr, Expr]:
    """meaning = value, for the part of it without sign and factor; nothing for what is a symbol anyway."""
    minus, rest = signed(meaning)
    factor, core = scaled(rest)
    return {core: value / (-factor if minus else factor)} if core.args else {}


def defined_speeds(
    joints: Kinematics,
    defined: dict[Expr, Expr],
    completing: Constraints,
    *,
    names: Iterable[str],
    repeated: Constraints,
    points: Sequence[Point],
) -> Speeds:
    """Solve the definitions, and as many constraints as complete them, for the speeds of the joints."""
    v, u = joints.u, vector(defined)
    meaning = vector(defined.values())
    Y, n, k = jacobian(meaning, v), len(v), len(u)
    if meaning == v:
        G, g = identity(n), zeros(n)
    else:
        inverse = eliminate(matrix([*Y.rows(), *completing.J.rows()]), identity(n), points)
        G, g = inverse[:, :k], compact(inverse @ -offset(vector([*meaning, *completing.psi]), v, points))
    return Speeds(
        u=u,
        G=G,
        g=g,
        defined=defined,
        names=frozenset(names),
        embedded=completing,
        repeated=repeated,
        free=None,
        dependent=(),
        D=zeros(0, len(u)),
        E=zeros(0),
    )


def embed(
    free: Speeds, rows: Constraints, AB: Matrix, C: Matrix, dependent: Sequence[int], points: Sequence[Point]
) -> Speeds:
    """Eliminate some speeds by further constraints A_B u + C = 0, those of `pfaffian`.

    Reference: [Gillespie, eq. 3 to 5]; our D = -A^-1 B with A_B = [A B].
    """
    independent = [j for j in range(len(free.u)) if j not in dependent]
    A, B = _columns(AB, dependent), _columns(AB, independent)
    solved = eliminate(A, matrix([[*(-row), -c] for row, c in zip(B.rows(), C, strict=True)]), points)
    D, E = solved[:, :-1], solved[:, -1]
    G_I, G_D = _columns(free.G, independent), _columns(free.G, dependent)
    return replace(
        free,
        u=vector([free.u[j] for j in independent]),
        G=compact(G_I + G_D @ D),
        g=compact(G_D @ E + free.g),
        embedded=joined(free.embedded, rows),
        free=free,
        dependent=tuple(free.u[j] for j in dependent),
        D=D,
        E=E,
    )


def _columns(m: Matrix, chosen: Sequence[int]) -> Matrix:
    return Matrix((len(m), len(chosen)), [row[j] for row in m.rows() for j in chosen])


def pfaffian(free: InSpeeds, rows: Constraints, points: Sequence[Point]) -> tuple[Matrix, Matrix]:
    """A_B (m, k) and C (m,) of constraints among the speeds: A_B u + C = 0. Reference: [Gillespie, eq. 3]."""
    psi = free.written(rows.psi)
    return compact(jacobian(psi, free.u)), offset(psi, free.u, points)
