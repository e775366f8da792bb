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
    most  : how many are independent at most, where that is known
    """

    A: np.ndarray
    size: np.ndarray
    least: np.ndarray
    reach: np.ndarray
    most: int | None = None

    @property
    def measured(self) -> np.ndarray:
        """Without units: what counts has singular values of 1 or more."""
        found: np.ndarray = self.A * self.reach / (self.size * self.least)[:, None]
        return found

    @property
    def asked(self) -> tuple[np.ndarray, np.ndarray]:
        """V and C of what they ask, see `asked`."""
        found = asked(self.A, self.size, self.least, self.reach, self.most)
        assert found is not None, "one state has one rank"
        return found

    @property
    def rank(self) -> int:
        return len(self.asked[0])


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
    V, C = rows.asked
    rank = len(V)
    bound = _pivots(V, rank, prefer, keep)
    if len(bound) < rank:
        return None
    free = [j for j in range(n) if j not in bound]
    inverse = np.linalg.inv(V[:, bound])
    G, H = np.zeros((n, len(free))), np.zeros((n, m))
    G[free] = np.eye(len(free))
    G[bound] = -(inverse @ V[:, free]) * rows.reach[bound][:, None] / rows.reach[free]
    H[bound] = rows.reach[bound][:, None] * (inverse @ C)
    return Solved(free=tuple(free), G=G, H=H)


def asked(
    A: np.ndarray, size: np.ndarray, least: np.ndarray, reach: np.ndarray, most: int | None = None
) -> tuple[np.ndarray, np.ndarray] | None:
    """What the rows A x = K w of many states ask: V (x / reach) = C K w, V (..., rank, n) orthonormal, C (..., rank, m)

    A : (..., m, n); size : (..., m); least : (m,); reach : (..., n); most : how many are independent at most. None
    where ranks differ from state to state

    Rows that count from the same share on are decomposed together, those that count from the least on first, and of
    the others what these leave: in one decomposition of all, scaled alike, the largest would round the others.
    """
    B = A * reach[..., None, :] / size[..., None]
    V, C = np.zeros((*B.shape[:-2], 0, B.shape[-1])), np.zeros((*B.shape[:-2], 0, B.shape[-2]))
    for share in np.unique(least):
        group = np.flatnonzero(least == share)
        along = B[..., group, :] @ V.swapaxes(-1, -2)
        left, sizes, right = np.linalg.svd(B[..., group, :] - along @ V, full_matrices=False)
        ranks = (sizes > share).sum(axis=-1)
        rank = int(ranks.max(initial=0))
        if (ranks != rank).any():
            return None
        rank = rank if most is None else min(rank, most - V.shape[-2])
        wanted = -along @ C
        wanted[..., np.arange(len(group)), group] += 1 / size[..., group]
        more = right[..., :rank, :]
        by = (left[..., :rank] / sizes[..., None, :rank]).swapaxes(-1, -2) @ wanted
        again = more @ V.swapaxes(-1, -2)  # what rounding left of the rows before
        V, C = np.concatenate([V, more - again @ V], axis=-2), np.concatenate([C, by - again @ C], axis=-2)
    return V, C


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
