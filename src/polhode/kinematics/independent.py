"""Which rows of constraints are independent: a decision without units.

A row measured by itself makes a unit row of one that is only rounding. So each is
measured by the velocities it compares, E, and each speed by its inertia d:

    J_ij / (rho_i sqrt(d_j)),   rho_i^2 = sum_j E_ij^2 / d_j

What is left of such a row beside the others counts from 1e-5 where it comes from
positions and directions, which files round, and from 1e-12 where the user wrote its
coefficients, as of a gear of 1 : 20,000.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from .constraints import Constraints
from .generic import Point, sampled
from .numeric import mass_matrix
from .tree import Kinematics

CLEAR = 0.05  # above it a row is independent without doubt


@dataclass(frozen=True, kw_only=True)
class Measured:
    """Rows of constraints without units, at some points of a mechanism.

    inertia : d, of each speed, (points, nu)
    size    : rho, of each row, (points, m)
    rows    : J_ij / (rho_i sqrt(d_j)), (points, m, nu)
    least   : of a row that counts, (m,)
    """

    inertia: np.ndarray
    size: np.ndarray
    rows: np.ndarray
    least: np.ndarray

    def by_their_lengths(self, rows: np.ndarray) -> np.ndarray:
        """Other rows of slopes by the speeds, (points, k, nu), each brought to length 1."""
        found = rows / np.sqrt(self.inertia)[:, None]
        return _divided(found, np.linalg.norm(found, axis=2))


def measured(kin: Kinematics, every: Constraints, points: Sequence[Point]) -> Measured:
    """Measure rows by the velocities that they compare, and speeds by their inertia."""
    shape = (len(points), len(every), len(kin.u))
    J, squares = (sampled(m, points).reshape(shape) for m in (every.J, every.reference))
    d = np.array([_inertias(kin, *at) for at in zip(points, J, squares, strict=True)])
    size = np.sqrt((squares / d[:, None]).sum(axis=2))
    return Measured(inertia=d, size=size, rows=_divided(J / np.sqrt(d)[:, None], size), least=np.array(every.least))


def _divided(rows: np.ndarray, size: np.ndarray) -> np.ndarray:
    return rows / np.where(size > 0, size, 1)[..., None]


def _inertias(kin: Kinematics, point: Point, J: np.ndarray, squares: np.ndarray) -> np.ndarray:
    """What each speed moves, (nu,): M_jj, and of speeds that move no inertia what rows tie to them."""
    d = np.diag(mass_matrix(kin, point)).clip(min=0)

    def reflected(table: np.ndarray, j: int) -> float:
        others = np.array([k for k in range(len(d)) if k != j and d[k] > 0], dtype=int)
        along = (table[:, others] / d[others]).sum(axis=1)
        found = along > 0
        return float((table[found, j] / along[found]).max(initial=0))

    known = d.copy()
    for j in range(len(d)):
        at_least = 1e-6 * reflected(squares, j)
        known[j] = max(d[j] or reflected(J**2, j), at_least) or 1.0
    return known


def independent_rows(rows: np.ndarray, least: np.ndarray, given: int = 0, most: int | None = None) -> list[int]:
    """Rows that are no combinations of others at the points; the first `given` count as taken.

    Rows that are clearly independent at every point are taken in order, those with the least
    error first; then, one by one, the one of which most is left at half of the points.

    rows  : without units, (points, m, n)
    least : of what is left of a row that counts, (m,)
    """
    taken = list(range(given))
    order = sorted(range(given, rows.shape[1]), key=lambda i: (float(least[i]), i))
    for i in order:
        room = most is None or len(taken) - given < most
        if room and (_left(rows, taken, [i]) > CLEAR).all():
            taken.append(i)
    while waiting := [i for i in order if i not in taken]:
        if most is not None and len(taken) - given == most:
            break
        left = np.median(_left(rows, taken, waiting), axis=0) / least[waiting]
        if left.max() <= 1:
            break
        taken.append(waiting[int(left.argmax())])
    return sorted(taken[given:])


def _left(rows: np.ndarray, taken: list[int], wanted: list[int]) -> np.ndarray:
    """The length of what is left of rows beside those that were taken, (points, wanted)."""
    found = []
    for sample in rows:
        basis = np.linalg.qr(sample[taken].T)[0] if taken else np.zeros((rows.shape[2], 0))
        found.append(np.linalg.norm(sample[wanted] - sample[wanted] @ basis @ basis.T, axis=1))
    return np.array(found)
