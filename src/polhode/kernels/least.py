"""Reactions that are not determined: of rows that stay equal, those of least size.

Rows that repeat others are J_e = T^T J_c of the independent ones, T = W_cc^-1 W_ce. What acts on the speeds is
J_c^T T lam, so of all lam with the same T lam

    lam = R^-1 T^T (T R^-1 T^T)^-1 T lam,   R = diag(rho^2)

has the least sum of (rho_i lam_i)^2, as `table.reactions` has; rows of a group have one rho, so it does not depend on
axes.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .condense import backward, forward, pick
from .kernel import helper, inlined
from .linear import factor, solve
from .mode import EQUAL, HELD
from .views import part, square

Array = np.ndarray


@helper
def spread_least(h: Any, w: Any, lam: Array) -> None:
    """Spread the reactions, or impulses, lam of rows that stay equal over all of these, where some repeat others.

    W is known of the rows that hold. Reactions of other rows stay.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, rho2, equal = square(h.real, s.W, rows, rows), part(h.real, s.rho2, rows), part(w.whole, v.equal, rows)
    F, T, y = square(w.real, v.F, rows, rows), square(w.real, v.X, rows, rows), part(w.real, v.y, rows)
    many = 0
    for i in range(rows):
        if _is_equal(w, i) and rho2[i] > 0.0:
            equal[many] = i
            many += 1
    v.equals = count = pick(W, rho2, equal, many, F, y)
    if count in (0, many):
        return
    A, acts = square(w.real, v.A, count, count), part(w.real, v.b, count)
    for k in range(count):
        acts[k] = 0.0
        for l in range(count):
            A[k, l] = 0.0
    for i in range(rows):
        if not (_is_equal(w, i) and rho2[i] > 0.0):
            continue
        for k in range(count):
            T[i, k] = W[i, equal[k]]
        forward(F, count, T[i])
        backward(F, count, T[i])
        for k in range(count):
            acts[k] += T[i, k] * lam[i]
            for l in range(count):
                A[k, l] += T[i, k] * T[i, l] / rho2[i]
    pivots = part(w.whole, v.ints_at, count)
    if not factor(A, pivots):
        return
    solve(A, pivots, acts)
    for i in range(rows):
        if _is_equal(w, i):
            lam[i] = 0.0
            if rho2[i] > 0.0:
                for k in range(count):
                    lam[i] += T[i, k] * acts[k] / rho2[i]


@inlined
def _is_equal(w: Any, i: int) -> bool:
    """Whether a row stays equal now."""
    v = w.places[0]
    return bool(w.whole[v.kind + i] == EQUAL and w.whole[v.mode + i] == HELD)
