"""Contacts, brakes and constraints at once: a complementarity problem with Coulomb's friction.

    w = A lam + b,   and for each row, by its kind,
    EQUAL    w = 0
    NORMAL   0 <= w,  0 <= lam,  w lam = 0
    TANGENT  |lam_T| <= R,  w_T = -s lam_T / |lam_T|,  s >= 0,  s = 0 where |lam_T| < R

Tangents come in sets of one or two rows in succession: `size` is 1 or 2 at the first row of a set
and 0 elsewhere. Its `of` names its normal row, R = bound (lam[of] + bound[of]), where the bound of a normal row is
what it carries beside lam; or it is -1 for a brake of a given capacity, R = bound. A is J M^-1 J^T:
symmetric and positive semidefinite, singular where rows repeat; or it is nonsymmetric, where normals bring
the friction of what slides with them. The force of a tangent that nothing moves is 0.

Here are the problem in units of its own, its residual, and what is solved on the way;
`complementarity` finds a solution, `modes` all of them for a few contacts.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel import helper
from .views import less, part, square

Array = np.ndarray

EQUAL, NORMAL, TANGENT = 0, 1, 2
REGULAR = 1e-10  # added to the diagonal of A, of 1, in what is factored: rows may repeat
NOTHING = 1e-10  # entries of a row that nothing moves, where others are 1


class Problem(NamedTuple):
    """A problem in units in which A is about 1 on its diagonal."""

    A: Array
    b: Array
    kind: Array
    size: Array
    of: Array
    bound: Array
    dead: Array  # 1 for rows that nothing moves


def room_for(k: int) -> int:
    """How many floats `solve` and `modes` need for k rows."""
    return 2 * k * k + 14 * k


def ints_for(k: int) -> int:
    """How many integers they need."""
    return 5 * k


@helper
def scaled(
    A: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, scale: Array, room: Array, ints: Array
) -> Problem:
    """Scale the rows of each contact by (sum A_ii / rows)^-1/2, and tell which nothing moves.

    Uses the first k^2 + 2 k of room, the first 2 k of ints.
    """
    k = b.size
    made = Problem(
        square(room, 0, k, k), part(room, k * k, k), kind, size, of, part(room, k * k + k, k), part(ints, 0, k)
    )
    home, count, most = part(ints, k, k), made.dead, 0.0
    for i in range(k):
        scale[i], count[i] = 0.0, 0
        if kind[i] == TANGENT and size[i] == 0:
            home[i] = home[i - 1]
        else:
            home[i] = of[i] if kind[i] == TANGENT and of[i] >= 0 else i
    for i in range(k):
        scale[home[i]] += abs(A[i, i])
        count[home[i]] += 1
    for i in range(k):
        if home[i] == i:
            scale[i] /= count[i]
            most = max(most, scale[i])
    for i in range(k):
        if home[i] == i:
            scale[i] = 1.0 / np.sqrt(scale[i] if scale[i] > 1e-28 * most else most) if most > 0.0 else 1.0
    for i in range(k):
        scale[i] = scale[home[i]]
        made.b[i] = scale[i] * b[i]
        made.bound[i] = bound[i] / scale[i] if of[i] < 0 else bound[i]
    for i in range(k):
        for j in range(k):
            made.A[i, j] = scale[i] * A[i, j] * scale[j]
    for i in range(k):
        entries = 0.0
        for j in range(k):
            entries = max(entries, abs(made.A[i, j]), abs(made.A[j, i]))
        made.dead[i] = 1 if kind[i] == TANGENT and entries <= NOTHING else 0
    return made


@helper
def residual(p: Problem, lam: Array, z: Array, F: Array) -> float:
    """Compare lam with its projection: F = w, lam_N - max(z_N, 0), lam_T - P(z_T), with z = lam - w; the largest.

    P projects on the disc of radius bound (max(z_N, 0) + bound_N). Rows that nothing moves must be 0.
    """
    k = lam.size
    for i in range(k):
        z[i] = lam[i] - p.b[i]
    for j in range(k):
        if lam[j] != 0.0:
            for i in range(k):
                z[i] -= p.A[i, j] * lam[j]
    for i in range(k):
        F[i] = lam[i] - z[i]
        if p.dead[i]:
            z[i], F[i] = 0.0, lam[i]
        elif p.kind[i] == NORMAL:
            F[i] = lam[i] - max(z[i], 0.0)
    for i in range(k):
        share = carried(p, z, i)
        if share < 1.0:
            for a in range(i, i + p.size[i]):
                F[a] = lam[a] - share * z[a]
    return largest(F)


@helper
def radius(p: Problem, z: Array, i: int) -> float:
    """The largest friction of the set that begins at row i."""
    n = p.of[i]
    return float(p.bound[i] * (max(z[n], 0.0) + p.bound[n]) if n >= 0 else p.bound[i])


@helper
def length(p: Problem, z: Array, i: int) -> float:
    """|z_T| of the set that begins at row i."""
    total = 0.0
    for a in range(i, i + p.size[i]):
        total += z[a] * z[a]
    return float(np.sqrt(total))


@helper
def carried(p: Problem, z: Array, i: int) -> float:
    """Which part of z_T friction can carry: R / |z_T|, at most 1; 1 where no set begins at row i."""
    if p.size[i] == 0:
        return 1.0
    most, asked = radius(p, z, i), length(p, z, i)
    return most / asked if asked > most else 1.0


@helper
def project(p: Problem, lam: Array) -> None:
    """Move forces to the nearest that contacts and brakes can carry, normals first."""
    for i in range(lam.size):
        if p.kind[i] == NORMAL:
            lam[i] = max(lam[i], 0.0)
    for i in range(lam.size):
        shorten(p, lam, i)


@helper
def shorten(p: Problem, lam: Array, i: int) -> None:
    """Project the tangents that begin at row i on their disc."""
    share = carried(p, lam, i)
    for a in range(i, i + p.size[i]):
        lam[a] *= share


@helper
def factor(G: Array, order: Array) -> float:
    """Factor G = P L U in place, pivots exchanged within columns; the least pivot, which is never 0 in U."""
    n = G.shape[0]
    least = np.inf
    for c in range(n):
        r = c
        for a in range(c + 1, n):
            if abs(G[a, c]) > abs(G[r, c]):
                r = a
        order[c] = r
        if r != c:
            for a in range(n):
                G[c, a], G[r, a] = G[r, a], G[c, a]
        least = min(least, abs(G[c, c]))
        if abs(G[c, c]) < 1e-14:
            G[c, c] = 1e-14
        for a in range(c + 1, n):
            if G[a, c] != 0.0:
                G[a, c] /= G[c, c]
                less(G[a], G[c], G[a, c], c + 1, n)
    return least


@helper
def divide(G: Array, order: Array, x: Array) -> None:
    """x = G^-1 x, by its factors."""
    n = G.shape[0]
    for c in range(n):
        x[c], x[order[c]] = x[order[c]], x[c]
    for c in range(n):
        for a in range(c):
            x[c] -= G[c, a] * x[a]
    for c in range(n - 1, -1, -1):
        for a in range(c + 1, n):
            x[c] -= G[c, a] * x[a]
        x[c] /= G[c, c]


@helper
def speed(p: Problem, lam: Array, i: int) -> float:
    """w[i] = A[i] lam + b[i]."""
    total = p.b[i]
    for j in range(lam.size):
        total += p.A[i, j] * lam[j]
    return float(total)


@helper
def copy(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] = source[i]


@helper
def largest(row: Array) -> float:
    """The largest |row[i]|; NaN where one is."""
    most = 0.0
    for i in range(row.size):
        if row[i] != row[i]:
            return np.nan
        most = max(most, abs(row[i]))
    return most
