"""Linear equations A x = K w of constraints, solved for some of x: which, is chosen well.

Rows are measured by what they compare, and columns by how far they can move, so that lengths and angles, and
machines of any size, are treated alike.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

GOOD = 0.3  # of the largest that is left of a column: from it, a column does
POOR = 0.05  # of the same: below it, one that was preferred is not taken


@dataclass(frozen=True, kw_only=True)
class Rows:
    """Rows of constraints by numbers.

    A     : (m, n)
    size  : what each row is measured by, (m,); least : the share of it that counts, (m,)
    reach : what each column is measured by, (n,)
    """

    A: np.ndarray
    size: np.ndarray
    least: np.ndarray
    reach: np.ndarray

    @property
    def measured(self) -> np.ndarray:
        """Without units: what counts has singular values of 1 or more."""
        found: np.ndarray = self.A * self.reach / (self.size * self.least)[:, None]
        return found

    @property
    def rank(self) -> int:
        return int((np.linalg.svd(self.measured, compute_uv=False) > 1).sum()) if self.A.size else 0


@dataclass(frozen=True, kw_only=True)
class Solved:
    """x = G x[free] + H K w.

    free : the independent columns, by number
    G    : (n, free), a basis of what the rows leave; identity at `free`
    H    : (n, m)
    """

    free: tuple[int, ...]
    G: np.ndarray
    H: np.ndarray

    def reactions(self, forces: np.ndarray) -> np.ndarray:
        """The lam with A^T lam = forces, (m,), of forces that only the rows can bear: H^T forces."""
        found: np.ndarray = self.H.T @ forces
        return found


def solved(rows: Rows, prefer: Sequence[int] = (), keep: Sequence[int] = ()) -> Solved | None:
    """Solve for as many columns as rows are independent: those that are `prefer`red first, then where pivots are large.

    keep : columns that must stay independent; None where that cannot be
    """
    m, n = rows.A.shape
    if not rows.A.size:
        return Solved(free=tuple(range(n)), G=np.eye(n), H=np.zeros((n, m)))
    left, sizes, right = np.linalg.svd(rows.measured, full_matrices=False)
    rank = int((sizes > 1).sum())
    V = right[:rank]  # V (x / reach) = sizes^-1 left^T (K w / (size least))
    bound = _pivots(V, rank, prefer, keep)
    if len(bound) < rank:
        return None
    free = [j for j in range(n) if j not in bound]
    inverse = np.linalg.inv(V[:, bound])
    G, H = np.zeros((n, len(free))), np.zeros((n, m))
    G[free] = np.eye(len(free))
    G[bound] = -(inverse @ V[:, free]) * rows.reach[bound][:, None] / rows.reach[free]
    H[bound] = rows.reach[bound][:, None] * (inverse @ ((left[:, :rank] / sizes[:rank]).T / (rows.size * rows.least)))
    return Solved(free=tuple(free), G=G, H=H)


def _pivots(V: np.ndarray, rank: int, prefer: Sequence[int], keep: Sequence[int]) -> list[int]:
    """Columns by elimination, the one with most left first, of those that are preferred while they have enough."""
    rest, found = V.copy(), list[int]()
    may = np.array([j not in keep for j in range(V.shape[1])])
    first = np.array([j in prefer for j in range(V.shape[1])])
    for _ in range(rank):
        size = np.where(may, np.linalg.norm(rest, axis=0), 0.0)
        if size.max(initial=0) < 1e-9:
            break
        liked = np.where(first, size, 0.0)
        # of what is good enough the last: what is nearer to the ground stays independent
        pool = liked if liked.max() > POOR * size.max() else size
        j = int(np.flatnonzero(pool > GOOD * pool.max())[-1])
        found.append(j)
        may[j] = first[j] = False
        along = rest[:, j] / np.linalg.norm(rest[:, j])
        rest = rest - np.outer(along, along @ rest)
    return sorted(found)
