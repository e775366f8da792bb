"""Accelerations where some rows slide: their reactions are given, by themselves or by the rows that press them.

A tangent set slides in a direction d, with lam_T = -bound d, or -bound lam_N d where the reaction of row N
presses it. With K from the rows that hold to these,

    (W_hh + W_hs K) lam_h = -(r_h + W_hs s_0),   lam_s = s_0 + K lam_h.

Where rows that hold repeat others, as feet of a table do, these have many solutions: the least is taken,
of sum (rho_i lam_i)^2 over all rows, as where nothing slides. It is a function of the state also where the motion
depends on it, for friction differs from foot to foot.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .condense import pick
from .embed import weights
from .factors import push
from .gathering import creep
from .kernel import helper, inlined
from .linear import factor, solve
from .machine import LAWS, RESIDUALS
from .mode import HELD, SLIDES
from .responses import ACTING, free_response
from .views import part, square

Array = np.ndarray


@helper
def aim(h: Any, w: Any, slip: Array, out: Array) -> None:
    """Write the directions that sliding sets have by psi; where that passed 0, as `slip` says they had.

    So the motion goes on smoothly to where an event ends it. What creeps keeps its direction, up to
    c (1 - |psi|^2 / c^2)^2 of it beside psi where c is a creep: by psi alone it would turn by a / |psi|, beyond
    what steps follow where |psi| is no larger than their errors, and a slide that starts would stop at once.
    """
    s, v = h.places[0], w.places[0]
    psi = part(h.real, s.psi, s.rows)
    mode, size = part(w.whole, v.mode, s.rows), part(w.whole, v.size, s.rows)
    for i in range(s.rows):
        if mode[i] == SLIDES and size[i] > 0:
            out[i] = slip[i]
            if size[i] == 2:
                out[i], out[i + 1] = aimed(psi[i], psi[i + 1], creep(h, i), slip[i], slip[i + 1])


@inlined
def aimed(a: float, b: float, creeps: float, x: float, y: float) -> tuple[float, float]:
    """The direction of a slide with psi = (a, b) that had the direction (x, y)."""
    along, share = a * x + b * y, np.sqrt(a * a + b * b) / creeps
    kept = (1.0 - share * share) ** 2 if share < 1.0 else 0.0
    if along > 0.0:
        p, q = a + kept * creeps * x, b + kept * creeps * y
    else:  # what is across turns it still, as where it starts and its direction is not yet the right one
        p, q = kept * (a - along * x) + creeps * x, kept * (b - along * y) + creeps * y
    long = np.sqrt(p * p + q * q)
    return (p / long, q / long) if long > 0.0 else (x, y)


@helper
def turn_slides(h: Any, w: Any) -> None:
    """Bring the directions of slides up to date; those that creep keep theirs."""
    s, v = h.places[0], w.places[0]
    mode, size, psi, slip = (
        part(w.whole, v.mode, s.rows),
        part(w.whole, v.size, s.rows),
        part(h.real, s.psi, s.rows),
        part(w.real, v.slip, s.rows),
    )
    for i in range(s.rows):
        if mode[i] == SLIDES and size[i] == 2:
            fast = np.sqrt(psi[i] * psi[i] + psi[i + 1] * psi[i + 1])
            if fast > creep(h, i):
                slip[i], slip[i + 1] = psi[i] / fast, psi[i + 1] / fast


@helper
def slide(m: Any, h: Any, w: Any, x: Array, udot: Array) -> bool:
    """Write accelerations and the reactions of all rows by the factors at hand; False where these do not determine."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    invoke(m.code[LAWS], m.time, x, m.p, part(w.real, v.bound, 1), m.work)
    invoke(m.code[RESIDUALS], m.time, x, part(h.real, s.K, 1), m.p, part(h.real, s.phi, 1), m.work)
    free_response(h, udot, part(w.real, v.r, rows), part(w.whole, v.mode, rows), ACTING)
    mode, size, of = part(w.whole, v.mode, rows), part(w.whole, v.size, rows), part(w.whole, v.of, rows)
    bound, lam, d = part(w.real, v.bound, rows), part(w.real, v.lam, rows), part(w.real, v.part, rows)
    aim(h, w, part(w.real, v.slip, rows), d)
    W, rho2 = square(h.real, s.W, rows, rows), part(h.real, s.rho2, rows)
    which, many = part(w.whole, v.which, rows), 0
    for i in range(rows):
        lam[i] = 0.0
        if mode[i] == HELD:
            which[many] = i
            many += 1
    count = pick(W, rho2, which, many, square(w.real, v.F, rows, rows), part(w.real, v.y, rows))
    v.count = count
    for i in range(rows):
        if mode[i] == SLIDES and size[i] > 0 and of[i] < 0:
            for j in range(i, i + size[i]):
                lam[j] = -bound[i] * d[j]
    if not (_determined(h, w, count) if count == many else _least(h, w, count)):
        return False
    for i in range(rows):
        if mode[i] == SLIDES and size[i] > 0 and of[i] >= 0:
            for j in range(i, i + size[i]):
                lam[j] = -bound[i] * d[j] * lam[of[i]]
    spread(h, lam, udot)
    return True


@helper
def _bring(h: Any, w: Any, a: int, i: int) -> float:
    """The acceleration of row a by the reaction of row i that holds, with the friction that this brings."""
    s, v = h.places[0], w.places[0]
    found = h.real[s.W + a * s.rows + i]
    j = i + 1
    if j < s.rows and w.whole[v.size + j] > 0 and w.whole[v.of + j] == i and w.whole[v.mode + j] == SLIDES:
        for k in range(j, j + w.whole[v.size + j]):
            found -= h.real[s.W + a * s.rows + k] * w.real[v.bound + j] * w.real[v.part + k]
    return float(found)


@helper
def _lacks(h: Any, w: Any, a: int) -> float:
    """The acceleration of row a that rows which hold must make: -(r + W s_0)."""
    s, v = h.places[0], w.places[0]
    found = -w.real[v.r + a]
    for j in range(s.rows):
        if w.whole[v.mode + j] == SLIDES:
            found -= h.real[s.W + a * s.rows + j] * w.real[v.lam + j]
    return float(found)


@helper
def _determined(h: Any, w: Any, count: int) -> bool:
    """Write the reactions of rows that hold, all of which are independent; False where they are not determined."""
    v = w.places[0]
    which, order = part(w.whole, v.which, count), part(w.whole, v.ints_at, count)
    A, b = square(w.real, v.A, count, count), part(w.real, v.b, count)
    for a in range(count):
        b[a] = _lacks(h, w, which[a])
        for c in range(count):
            A[c, a] = _bring(h, w, which[a], which[c])  # by columns
    if count > 0:
        if not factor(A, order):
            return False
        solve(A, order, b)
    for a in range(count):
        w.real[v.lam + which[a]] = b[a]
    return True


@helper
def _least(h: Any, w: Any, count: int) -> bool:
    """Write the least reactions of rows that hold, of which the first of `which` are independent; False likewise."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    which, mode = part(w.whole, v.which, rows), part(w.whole, v.mode, rows)
    size, lam, b = part(w.real, v.c, rows), part(w.real, v.lam, rows), part(w.real, v.b, rows)
    C, found = square(w.real, v.X, rows, rows), part(w.real, v.found, rows)
    for i in range(rows):
        size[i] = h.real[s.rho2 + i] if mode[i] == HELD else 0.0
        j = i + 1
        if j < rows and w.whole[v.size + j] > 0 and w.whole[v.of + j] == i and mode[j] == SLIDES:
            size[i] += w.real[v.bound + j] * w.real[v.bound + j] * h.real[s.rho2 + j]
        size[i] = np.sqrt(size[i]) if mode[i] == HELD else 0.0
    for a in range(count):
        b[a] = _lacks(h, w, which[a])
        for i in range(rows):
            C[a, i] = _bring(h, w, which[a], i) / size[i] if size[i] > 0.0 else 0.0
    weights(C, b, count, rows, found)
    for i in range(rows):
        if mode[i] == HELD:
            lam[i] = found[i] / size[i] if size[i] > 0.0 else 0.0
            if not abs(lam[i]) < np.inf:
                return False
    return True


@helper
def spread(h: Any, lam: Array, out: Array) -> None:
    """out = L^-T (out + B lam), of all rows that have a reaction."""
    s = h.places[0]
    B, start, index = (
        part(h.real, s.B, s.b_entries),
        part(h.whole, s.b_start, s.rows + 1),
        part(h.whole, s.b_index, s.b_entries),
    )
    for i in range(s.rows):
        if lam[i] != 0.0:
            for e in range(start[i], start[i + 1]):
                out[index[e]] += B[e] * lam[i]
    L, first = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    push(L, first, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), out)


@helper
def friction_power(h: Any, w: Any) -> float:
    """The power of the reactions of rows that slide."""
    s, v = h.places[0], w.places[0]
    psi, lam, mode = part(h.real, s.psi, s.rows), part(w.real, v.lam, s.rows), part(w.whole, v.mode, s.rows)
    power = 0.0
    for i in range(s.rows):
        if mode[i] == SLIDES:
            power += lam[i] * psi[i]
    return power
