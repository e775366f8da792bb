"""The operation count of section 6: the paper's formula beside ours, counted on the graph.

The paper counts multiplications and additions of J and R for n joints and n_f flexible links of m modes each, without
the inverse of J, with "an average joint complexity over two common types of rotary joints": here axes turn by 90
degrees and stay parallel in turn. Its general shapes move and turn sections in all directions; shapes of one plane
are those of bending beams.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass, replace
from typing import Any

from polhode.formulations import denoc
from polhode.formulations.terms import Terms
from polhode.graph import Expr, Matrix, as_expr, matrix, op_counts, vector, zeros
from polhode.kinematics import derive
from polhode.model import Builder, Model
from polhode.model.flexible import SHORTENING, Flexible, Station
from polhode.model.named import revolute
from polhode.spatial.modal import ModalInertia, SecondOrder

from .simulation_form import terms

SHAPES = {"general": ((0, 1, 2), (0, 1, 2)), "plane": ((1,), (2,))}  # axes of displacement, and of turns


@dataclass(frozen=True, slots=True, kw_only=True)
class Operations:
    """Multiplications and additions.

    printed : by the paper's formula, of J and R
    ours    : of J and R
    forward : of the accelerations, by "book", and by "denoc" where that has the order
    """

    printed: tuple[int, int]
    ours: tuple[int, int]
    forward: dict[str, tuple[int, int]]


def printed(n: int, n_f: int, m: int) -> tuple[int, int]:
    """Multiplications and additions as the paper's formulas have them, though its text says 12,009 for (6, 2, 3).

    Among the additions are 115.5 n_f m and 123 n_f m; where the first is read as 115.5 n_f^2 m, in the manner of the
    multiplications, they are 11,273.

    Reference: [Book, section 6].

    >>> printed(6, 2, 3)
    (11361, 10580)
    """
    mul = 6 * n_f**2 * m**2 + 17.5 * n_f * m**2 + 118 * n_f**2 * m + 74 * n * n_f * m
    mul += 137.5 * n_f * m + 84 * n**2 + 86 * n * n_f + 279 * n + 126 * n_f - 57
    add = 6.5 * n_f**2 * m**2 + 19 * n_f * m**2 + 115.5 * n_f * m + 68 * n * n_f * m
    add += 123 * n_f * m + 85 * n**2 + 80 * n * n_f + 329 * n + 111 * n_f - 91
    return round(mul), round(add)


def operations(
    n: int = 6, n_f: int = 2, m: int = 3, *, shapes: str = "general", order: str = "paper", first: int = 1
) -> Operations:
    """Count the operations of an arm of n rotary joints of which n_f links have m modes each.

    These are next to one another, from the one numbered `first`, where the first of all is 0. Shapes are "general" or
    of one "plane".
    """
    arm = counted_arm(n, range(first, first + n_f), m, shapes=shapes, order=order)
    kin = derive(arm)
    own = terms(kin)
    methods = {"book": own} if order == "paper" else {"book": own, "denoc": denoc.terms(kin)}
    return Operations(
        printed=printed(n, n_f, m),
        ours=_counts([*own.mass().entries, *_right_side(own)]),
        forward={name: _counts(_accelerations(each)) for name, each in methods.items()},
    )


def _right_side(found: Terms) -> Matrix:
    """R. Reference: [Book, eq. 82]."""
    assert found.inverse is not None
    return found.forces() - found.inverse(zeros(len(found.kinematics.u)))


def _accelerations(found: Terms) -> Matrix:
    assert found.forward is not None
    udot: Matrix = found.forward(found.forces())
    return udot


def _counts(exprs: Matrix | list[Expr]) -> tuple[int, int]:
    counts = op_counts(exprs)
    return counts.get("mul", 0), counts.get("add", 0)


def counted_arm(n: int, flexible: range, m: int, *, shapes: str, order: str) -> Model:
    """An arm of n links, rigid ones of any mass and offset, some flexible, in numbers."""
    draw = random.Random(0)
    build = Builder("arm", gravity=(0, 0, -9.81))
    at: tuple[float, ...] = (0, 0, 0)
    for k in range(n):
        turned = (math.pi / 2, 0, 0) if k % 2 else (0, 0, 0)
        body: dict[str, Any] = {"mass": 1 + draw.random(), "com": [draw.random() for _ in range(3)]}
        body["inertia"] = [2 + draw.random() for _ in range(3)] + [draw.random() / 4 for _ in range(3)]
        if k in flexible:
            body = {"flexible": Counted(m=m, shapes=shapes, order=order, seed=k)}
        parent = "world" if k == 0 else f"link{k - 1}"
        build.body(f"link{k}", parent=parent, at=at, rpy=turned, joint=revolute("z", name=f"q{k}"), **body)
        at = (1, 0, 0) if k in flexible else tuple(draw.random() for _ in range(3))
    return build.build()


@dataclass(frozen=True, kw_only=True)
class Counted(Flexible):
    """A slender link along x, of length 1, with numbers where a beam's integrals are not 0: to count, not to move."""

    m: int
    shapes: str
    order: str
    seed: int
    rotation: str = "proper"

    @property
    def modes(self) -> tuple[str, ...]:
        return tuple(f"a{k + 1}" for k in range(self.m))

    def _vector(self, draw: random.Random, axes: tuple[int, ...]) -> Matrix:
        return vector([draw.uniform(0.5, 1) if i in axes else 0 for i in range(3)])

    def _block(self, draw: random.Random, rows: tuple[int, ...], columns: tuple[int, ...]) -> Matrix:
        inside = [[i in rows and j in columns for j in range(3)] for i in range(3)]
        return matrix([[draw.uniform(0.5, 1) if e else 0 for e in row] for row in inside])

    def _second(self) -> tuple[int, ...]:
        """What shortens moves along x."""
        return (0,) if self.order in SHORTENING else ()

    @property
    def inertia(self) -> ModalInertia:
        draw, many, moved = random.Random(self.seed), range(self.m), SHAPES[self.shapes][0]
        C2 = {(k, l): self._block(draw, moved, moved) for k in many for l in range(k + 1)}
        H2 = {(k, l): self._vector(draw, self._second()) for k in many for l in range(k + 1)}
        G2 = {(k, l): self._block(draw, self._second(), self._second()) for k in many for l in range(k + 1)}
        same = {k: (C2[k, k] + C2[k, k].T) / 2 for k in many}
        found = ModalInertia(
            m=as_expr(2),
            h=vector([1, 0, 0]),
            S=matrix([[2 / 3, 0, 0], [0, 0, 0], [0, 0, 0]]),
            P=tuple(self._vector(draw, moved) for _ in many),
            C1=tuple(self._block(draw, (0,), moved) for _ in many),
            C2=tuple(tuple(same[k] if k == l else C2[k, l] if k > l else C2[l, k].T for l in many) for k in many),
            H2=tuple(tuple(H2[max(k, l), min(k, l)] for l in many) for k in many),
            G2=tuple(tuple(G2[max(k, l), min(k, l)] for l in many) for k in many),
        )
        return replace(found, second=self._fields(found)) if self.order == "second" else found

    def _fields(self, linear: ModalInertia) -> SecondOrder:
        """One field along x for each pair of modes, each of the pairs that are left, as those of beams are made."""
        draw, moved = random.Random(self.seed + 200), SHAPES[self.shapes][0]
        pairs = [(k, l) for k in range(self.m) for l in range(k + 1)]
        A = []
        for r in range(len(pairs)):
            share = {pair: draw.uniform(0.5, 1) if i >= r else 0.0 for i, pair in enumerate(pairs)}
            A.append(matrix([[share[max(k, l), min(k, l)] for l in range(self.m)] for k in range(self.m)]))
        n = self.m + len(pairs)
        C2 = [[*row, *(self._block(draw, moved, (0,)) for _ in pairs)] for row in linear.C2]
        unit = matrix([[1, 0, 0], [0, 0, 0], [0, 0, 0]])
        for r in range(len(pairs)):
            own = [unit if s == r else zeros(3, 3) for s in range(len(pairs))]
            C2.append([*(C2[k][self.m + r].T for k in range(self.m)), *own])
        return SecondOrder(
            A=tuple(A),
            whole=ModalInertia(
                m=linear.m,
                h=linear.h,
                S=linear.S,
                P=(*linear.P, *(self._vector(draw, (0,)) for _ in pairs)),
                C1=(*linear.C1, *(self._block(draw, (0,), (0,)) for _ in pairs)),
                C2=tuple(map(tuple, C2)),
                H2=((zeros(3),) * n,) * n,
                G2=((zeros(3, 3),) * n,) * n,
            ),
        )

    @property
    def stiffness(self) -> Matrix:
        draw = random.Random(self.seed)
        K = [[draw.random() for _ in range(self.m)] for _ in range(self.m)]
        return matrix([[K[max(i, j)][min(i, j)] for j in range(self.m)] for i in range(self.m)])

    @property
    def damping(self) -> Matrix:
        return zeros(self.m, self.m)

    def station(self, p: Matrix, what: str) -> Station:
        draw, many = random.Random(self.seed + 100), range(self.m)
        moved, turned = SHAPES[self.shapes] if p[0] != 0 else ((), ())
        g = {(k, l): self._vector(draw, self._second() if p[0] != 0 else ()) for k in many for l in range(k + 1)}
        return Station(
            p=p,
            Phi=matrix([self._vector(draw, moved) for _ in many]).T,
            Psi=matrix([self._vector(draw, turned) for _ in many]).T,
            g=tuple(tuple(g[max(k, l), min(k, l)] for l in many) for k in many) if self.order in SHORTENING else (),
        )

    @property
    def lines(self) -> tuple[tuple[Station, ...], ...]:
        return ()

    @property
    def length(self) -> Expr:
        return as_expr(1)
