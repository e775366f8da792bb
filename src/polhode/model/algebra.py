"""Subspaces of se(3): rank, the algebra that twists generate, its structure constants.

Entries may be symbols: whether something vanishes is decided at a random
point, what it is comes out as an expression.
"""

from __future__ import annotations

import random
from functools import lru_cache
from typing import Any

from polhode.graph import Matrix, evaluate, free_symbols, inverse, matrix
from polhode.spatial import Twist

from .values import whole

_SMALL = 1e-9


def sampled(m: Matrix) -> Any:
    """The matrix as a numpy array, its symbols at a random point."""
    draw = random.Random(1)
    values = {s: draw.uniform(0.5, 1.5) for s in sorted(free_symbols(m), key=lambda s: s.value)}
    return evaluate(m, values)


def rank(columns: Matrix) -> int:
    """Number of independent columns."""
    import numpy as np

    found = sampled(columns)
    largest = np.abs(found).max(axis=0, initial=0.0)
    found = found[:, largest > 0] / largest[largest > 0]
    return int(np.linalg.matrix_rank(found, tol=_SMALL)) if found.size else 0


def twists(H: Matrix) -> list[Twist]:
    """The columns of a 6 x r matrix."""
    return [Twist.of(column) for column in H.T.rows()]


def columns(found: list[Twist]) -> Matrix:
    """The 6 x r matrix of some twists."""
    return matrix([t.vector() for t in found]).T


def coordinates(basis: Matrix, of: Matrix) -> Matrix:
    """Express columns in a basis: basis @ coordinates = of.

    Solved from the rows of the basis that are best conditioned; the caller
    knows that the columns lie in its span.
    """
    rows = _pivot_rows(basis)
    found: Matrix = inverse(matrix([basis[i] for i in rows])) @ matrix([of[i] for i in rows])
    return found.map(lambda e: whole(e, 1e-14))  # structure constants of turned axes are still 0 and +-1


def _pivot_rows(basis: Matrix) -> list[int]:
    """Rows that determine a combination of the columns, by elimination with full row search."""
    import numpy as np

    left = sampled(basis).copy()
    rows = []
    for j in range(left.shape[1]):
        i = int(np.argmax(np.abs(left[:, j])))
        rows.append(i)
        left[:, j + 1 :] -= np.outer(left[:, j], left[i, j + 1 :] / left[i, j])
        left[i] = 0
    return rows


def leaving(H: Matrix) -> tuple[int, int, Twist] | None:
    """The first pair of columns whose bracket leaves the span of all, with the bracket."""
    found = twists(H)
    r = rank(H)
    for j in range(len(found)):
        for i in range(j):
            bracket = found[i].bracket(found[j])
            if rank(columns([*found, bracket])) > r:
                return i, j, bracket
    return None


def generated(H: Matrix) -> Matrix:
    """A basis of the algebra that the columns generate: the columns, then brackets of them."""
    while (outside := leaving(H)) is not None:
        H = columns([*twists(H), outside[2]])
    return H


@lru_cache(maxsize=256)
def structure(basis: Matrix) -> tuple[Matrix, ...]:
    """Structure constants of a closed basis: [h_j, h_k] = sum_l c_j[l, k] h_l.

    Reference: [KwatnyBlankenship, eq. 38]; left-invariant fields have the
    brackets of their algebra, so the c are constant.
    """
    found = twists(basis)
    return tuple(coordinates(basis, columns([h.bracket(k) for k in found])) for h in found)
