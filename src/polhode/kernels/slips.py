"""Directions of slips, where it is known which sets of rows slip and all others hold.

    w = G lam + b,   w = 0 of rows that hold,   lam_T = -R d,  w_T = s d,  s > 0,  |d| = 1  of a set that slips,

with R = bound lam_N, or bound of a brake. Newton's method on the forces of what holds and the angles of the
directions, for which w_T is along d where d x w_T = 0. This stays well-posed while s goes to 0, where a slip begins; on
the projections of `complementarity` the direction is lost there. So it does where others that hold leave a set one
direction only: a foot that slips around one that sticks.
"""

from __future__ import annotations

import numpy as np

from .coulomb import REGULAR, TANGENT, divide, factor
from .kernel import helper
from .views import part, square

Array = np.ndarray

STEPS = 30
CLOSE = 1e-11  # of what a row adds up: what is left of its equation
WIDEST = 0.5  # rad, by which a direction turns in a step


@helper
def find_slips(
    G: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, lam: Array, room: Array, order: Array
) -> bool:
    """Find lam, which is also where the search begins; False where it does not end, or what slips goes with its force.

    G (n, n); the others (n,), of kinds EQUAL and TANGENT; room (n^2 + 4 n,), order (n,)
    """
    n = b.size
    d, w, terms, right = (part(room, n * n, n), part(room, n * n + n, n), part(room, n * n + 2 * n, n),
                          part(room, n * n + 3 * n, n))  # fmt: skip
    _move(G, b, lam, w, terms)
    for i in range(n):
        if kind[i] == TANGENT and size[i] > 0:
            _aim(lam, w, terms, i, size[i], d)
    for _ in range(STEPS):
        _push(kind, size, of, bound, d, lam)
        _move(G, b, lam, w, terms)
        if _is_there(kind, size, d, w, terms):
            return _opposes(kind, size, d, w)
        unknowns = _assemble(G, kind, size, of, bound, lam, d, w, terms, room, right)
        factors, known = square(room, 0, unknowns, unknowns), part(order, 0, unknowns)
        factor(factors, known)
        divide(factors, known, part(right, 0, unknowns))
        _step(kind, size, lam, d, right)
    return False


@helper
def _is_unknown(kind: int, size: int) -> bool:
    """Whether a row has an unknown: its force where it holds, or the angle of a direction in a plane."""
    return kind != TANGENT or size == 2


@helper
def _aim(lam: Array, w: Array, terms: Array, i: int, size: int, d: Array) -> None:
    """Have a direction to begin with: that of the acceleration where there is one, else against the force."""
    fast, pull = 0.0, 0.0
    for e in range(i, i + size):
        fast, pull = fast + w[e] * w[e], pull + lam[e] * lam[e]
    fast, pull = np.sqrt(fast), np.sqrt(pull)
    moves = fast > CLOSE * terms[i] or pull == 0.0
    for e in range(i, i + size):
        d[e] = w[e] / fast if moves and fast > 0.0 else -lam[e] / pull if pull > 0.0 else 1.0 if e == i else 0.0


@helper
def _push(kind: Array, size: Array, of: Array, bound: Array, d: Array, lam: Array) -> None:
    """lam_T = -R d"""
    for i in range(lam.size):
        if kind[i] == TANGENT and size[i] > 0:
            for e in range(i, i + size[i]):
                lam[e] = -bound[i] * (lam[of[i]] if of[i] >= 0 else 1.0) * d[e]


@helper
def _move(G: Array, b: Array, lam: Array, w: Array, terms: Array) -> None:
    """w = G lam + b, and what its rows add up without signs"""
    for i in range(b.size):
        w[i], terms[i] = b[i], abs(b[i])
        for j in range(b.size):
            w[i] += G[i, j] * lam[j]
            terms[i] += abs(G[i, j] * lam[j])


@helper
def _is_there(kind: Array, size: Array, d: Array, w: Array, terms: Array) -> bool:
    """Whether what holds does not move, and what slips does so along its direction, to within a part of its speed."""
    for i in range(w.size):
        if kind[i] != TANGENT and not abs(w[i]) <= CLOSE * terms[i]:
            return False
        if kind[i] == TANGENT and size[i] == 2:
            across, along = d[i] * w[i + 1] - d[i + 1] * w[i], d[i] * w[i] + d[i + 1] * w[i + 1]
            if not abs(across) <= 1e-6 * abs(along) + 1e-15 * (terms[i] + terms[i + 1]):
                return False
    return True


@helper
def _opposes(kind: Array, size: Array, d: Array, w: Array) -> bool:
    for i in range(w.size):
        if kind[i] == TANGENT and size[i] > 0:
            along = 0.0
            for e in range(i, i + size[i]):
                along += d[e] * w[e]
            if not along >= 0.0:
                return False
    return True


@helper
def _assemble(
    G: Array, kind: Array, size: Array, of: Array, bound: Array, lam: Array, d: Array, w: Array, terms: Array,
    room: Array, right: Array,
) -> int:  # fmt: skip
    """Write the derivatives of w of what holds, and of d x w of what slips, by the unknowns; how many these are.

    Rows are divided by what they add up.
    """
    n, unknowns, r = w.size, 0, 0
    for i in range(n):
        unknowns += int(_is_unknown(kind[i], size[i]))
    F = square(room, 0, unknowns, unknowns)
    for i in range(n):
        if not _is_unknown(kind[i], size[i]):
            continue
        slips = kind[i] == TANGENT
        whole = terms[i] + terms[i + 1] if slips else terms[i]
        whole = whole if whole > 0.0 else 1.0
        right[r] = (d[i + 1] * w[i] - d[i] * w[i + 1] if slips else -w[i]) / whole
        c = 0
        for j in range(n):
            if _is_unknown(kind[j], size[j]):
                by = _by(G, kind, size, of, bound, lam, d, i, j)
                if slips:
                    by = d[i] * _by(G, kind, size, of, bound, lam, d, i + 1, j) - d[i + 1] * by
                    if i == j:
                        by -= d[i] * w[i] + d[i + 1] * w[i + 1]
                elif i == j:
                    by += REGULAR * abs(G[i, i])
                F[r, c] = by / whole
                c += 1
        r += 1
    return unknowns


@helper
def _by(G: Array, kind: Array, size: Array, of: Array, bound: Array, lam: Array, d: Array, i: int, j: int) -> float:
    """The derivative of w[i] by the unknown of row j: a force, with the friction that it brings, or an angle."""
    if kind[j] == TANGENT:
        pull = bound[j] * (lam[of[j]] if of[j] >= 0 else 1.0)
        return float(pull * (G[i, j] * d[j + 1] - G[i, j + 1] * d[j]))
    found = G[i, j]
    for e in range(lam.size):
        if kind[e] == TANGENT and size[e] > 0 and of[e] == j:
            for k in range(e, e + size[e]):
                found -= bound[e] * d[k] * G[i, k]
    return float(found)


@helper
def _step(kind: Array, size: Array, lam: Array, d: Array, found: Array) -> None:
    """Take a step of Newton's method; directions turn by WIDEST at most."""
    r, most = 0, 0.0
    for i in range(lam.size):
        if _is_unknown(kind[i], size[i]):
            if kind[i] == TANGENT:
                most = max(most, abs(found[r]))
            r += 1
    share, r = min(1.0, WIDEST / most) if most > 0.0 else 1.0, 0
    for i in range(lam.size):
        if not _is_unknown(kind[i], size[i]):
            continue
        if kind[i] == TANGENT:
            c, s = np.cos(share * found[r]), np.sin(share * found[r])
            d[i], d[i + 1] = c * d[i] - s * d[i + 1], s * d[i] + c * d[i + 1]
        else:
            lam[i] += share * found[r]
        r += 1
