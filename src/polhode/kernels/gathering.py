"""Rows of constraints that come and go, gathered into a problem of impulses or of accelerations."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import complementarity as lcp
from .condense import forward, pick
from .kernel import helper, inlined
from .mode import CLOSED, EQUAL, HELD, TANGENT, UNILATERAL
from .views import part, square

Array = np.ndarray

TOUCH = 1e-9  # of the size that a row is measured by: what is closer touches
STILL = 1e-9  # 1/s, of the same: what is slower stays
CREEP = 1e-6  # 1/s, of the same: a slide that is slower keeps its direction, and has stopped where it passed 0 along it
HARDLY = 1e-12  # of what a row could have in W: nothing moves it


@inlined
def slow(h: Any, i: int) -> float:
    """The speed of a row below which it is still."""
    return float(STILL * np.sqrt(h.real[h.places[0].reach2 + i]))


@inlined
def creep(h: Any, i: int) -> float:
    """The speed of a row below which a slide creeps."""
    return float(CREEP * np.sqrt(h.real[h.places[0].reach2 + i]))


@helper
def add(w: Any, many: int, i: int, kind: int, size: int, of: int, mu: float, mu_s: float) -> int:
    """Put a row into the problem; how many there are then."""
    v = w.places[0]
    w.whole[v.which + many], w.whole[v.kinds + many], w.whole[v.sizes + many] = i, kind, size
    w.whole[v.ofs + many], w.real[v.mu + many], w.real[v.mu_s + many] = of, mu, mu_s
    w.real[v.found + many] = 0.0
    return many + 1


@helper
def moves(h: Any, i: int) -> bool:
    """Whether anything moves a row."""
    s = h.places[0]
    return bool(h.real[s.W + i * s.rows + i] > HARDLY * h.real[s.rho2 + i])


@helper
def touching(h: Any, w: Any) -> None:
    """Mark unilateral rows that touch, and gather the independent ones of those that stay equal."""
    s, v = h.places[0], w.places[0]
    closed, kind, group = part(w.whole, v.closed, s.rows), part(w.whole, v.kind, s.rows), part(w.whole, v.group, s.rows)
    engaged, mode, equal = (
        part(w.whole, v.engaged, v.groups),
        part(w.whole, v.mode, s.rows),
        part(w.whole, v.equal, s.rows),
    )
    phi, reach2 = part(h.real, s.phi, s.held), part(h.real, s.reach2, s.held)
    _press(h, w)
    many = 0
    for i in range(s.rows):
        touches = phi[i] <= TOUCH * np.sqrt(reach2[i]) or w.whole[v.crossed + i] == CLOSED
        closed[i] = int(kind[i] == UNILATERAL and engaged[group[i]] and touches)
        if kind[i] == EQUAL and mode[i] == HELD:
            equal[many] = i
            many += 1
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    v.equals = pick(W, rho2, equal, many, square(w.real, v.F, s.rows, s.rows), part(w.real, v.y, s.rows))


@helper
def _press(h: Any, w: Any) -> None:
    """Write by what acceleration each row is pressed, beside the others that held up to now.

    Plates that are locked, prescribed or that lie on others do not fall with what falls on them.
    """
    s, v = h.places[0], w.places[0]
    rows, held = s.rows, part(w.whole, v.which, s.rows)
    psi, r, pressed = part(h.real, s.psi, rows), part(w.real, v.r, rows), part(w.real, v.pressed, rows)
    W, F, y = square(h.real, s.W, rows, rows), square(w.real, v.F, rows, rows), part(w.real, v.y, rows)
    room, many = part(w.real, v.X, rows), 0
    for i in range(rows):
        still = w.whole[v.kind + i] == EQUAL or (w.whole[v.crossed + i] == 0 and abs(psi[i]) <= slow(h, i))
        if w.whole[v.mode + i] == HELD and still:
            held[many] = i
            many += 1
    count = pick(W, part(h.real, s.rho2, rows), held, many, F, room)
    for k in range(count):
        y[k] = r[held[k]]
    forward(F, count, y)
    for i in range(rows):
        pressed[i] = -r[i]
        if w.whole[v.kind + i] == UNILATERAL and w.whole[v.mode + i] != HELD:
            for k in range(count):
                room[k] = W[i, held[k]]
            forward(F, count, room)
            for k in range(count):
                pressed[i] += room[k] * y[k]


@helper
def gather(h: Any, w: Any, i: int, many: int, span: float) -> int:
    """Put a unilateral row and its friction, where it has any, into the problem of impulses; or a brake.

    span : the time in which a brake with a capacity acts
    """
    s, v = h.places[0], w.places[0]
    size, of, mu = part(w.whole, v.size, s.rows), part(w.whole, v.of, s.rows), part(w.real, v.bound, s.rows)
    if w.whole[v.kind + i] == TANGENT:
        return add(w, many, i, TANGENT, 1, -1, mu[i] * span, mu[i] * span)
    normal = many
    many = add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
    j = i + 1
    if j < s.rows and size[j] > 0 and of[j] == i:
        rows = 0
        for k in range(j, j + size[j]):
            rows += int(moves(h, k))
        for k in range(j, j + size[j]):
            if moves(h, k):
                many = add(w, many, k, TANGENT, rows, normal, mu[j], mu[j])
                rows = 0
    return many


@helper
def solve_rows(w: Any, A: Array, b: Array, many: int) -> int:
    """Solve the problem of the rows gathered, with the coefficients of rows that stick."""
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    mu, found = part(w.real, v.mu_s, many), part(w.real, v.found, many)
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    return int(lcp.solve(A, b, kinds, sizes, ofs, mu, found, room, ints, True))
