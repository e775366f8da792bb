"""Slides that begin in a plane: their directions by the reactions that the run has, beside a speed that is hardly any.

    lam_T = -bound lam_N d,   a_T = s d,  s >= 0,  |d| = 1,   or  a_T = 0,  |lam_T| <= grip lam_N

Where reactions are not determined, as under a table, `choice` found a mode with some that obey all laws, and the run
goes on with the least, see `sliding`. By these a set may go elsewhere, or, where it hardly slid, not at all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .gathering import creep, slow
from .kernel import helper
from .mode import HELD, SLIDES, SLIPPED
from .sliding import aimed, slide
from .views import part, square

Array = np.ndarray

TURNS = 500  # of directions in which slides begin, and by what these turn less when they are found
TURNED = 1e-10
LEADS = 6  # steps in which the slip of a direction is found; each leaves STILL / CREEP of what was left
AGAINST = 1e-9  # of the accelerations that friction could give: less is none


@helper
def begin_slides(m: Any, h: Any, w: Any, x: Array, udot: Array) -> None:
    """Have slides that begin in a plane go where the law says, by the reactions that the run has.

    Their directions are those of psi = 0. Where reactions are not determined, they were found with others than the
    least, which obey all laws too: so they are turned, and what would slide with its friction is held, where it grips.
    """
    s, v = h.places[0], w.places[0]
    rows, held, begin = s.rows, 0, False
    slip, mode, size = part(w.real, v.slip, rows), part(w.whole, v.mode, rows), part(w.whole, v.size, rows)
    for i in range(rows):
        held += int(mode[i] == HELD)
        if mode[i] == SLIDES and size[i] == 2 and _begins(h, i):
            begin = True
            _lead(h, w, i, slip[i], slip[i + 1])
    if not begin or not slide(m, h, w, x, udot) or v.count == held:
        return
    _turn_begun(m, h, w, x, udot)
    for i in range(rows):
        ended = w.whole[v.crossed + i] == SLIPPED  # it held up to now, and cannot go on
        if mode[i] == SLIDES and size[i] == 2 and _begins(h, i) and not ended and _goes_back(h, w, i):
            mode[i] = mode[i + 1] = HELD
            if not (_turn_begun(m, h, w, x, udot) and _grips(w, i)):
                mode[i] = mode[i + 1] = SLIDES
                _turn_begun(m, h, w, x, udot)


@helper
def _lead(h: Any, w: Any, i: int, x: float, y: float) -> None:
    """Write the slip of a set that begins at row i by which it is aimed along (x, y), beside the psi that it has.

    What is still may have a psi of STILL / CREEP of a creep, which turns it by as much; where friction nearly
    holds, its acceleration turns by far more.
    """
    s, v = h.places[0], w.places[0]
    a, b, p, q = h.real[s.psi + i], h.real[s.psi + i + 1], x, y
    for _ in range(LEADS):
        found = aimed(a, b, creep(h, i), p, q)
        p, q = p + x - found[0], q + y - found[1]
        long = np.sqrt(p * p + q * q)
        p, q = p / long, q / long
    w.real[v.slip + i], w.real[v.slip + i + 1] = p, q


@helper
def _turn_begun(m: Any, h: Any, w: Any, x: Array, udot: Array) -> bool:
    """Turn slides that begin to where they go by the least reactions; False where these are not found.

    With k the accelerations that the friction of all that slides could give to a set,
    d <- (k d + a_T) / |k d + a_T|  ends where a_T is along d, or against it.
    """
    s, v = h.places[0], w.places[0]
    mode, size, d = part(w.whole, v.mode, s.rows), part(w.whole, v.size, s.rows), part(w.real, v.part, s.rows)
    for _ in range(TURNS):
        if not slide(m, h, w, x, udot):
            return False
        turned = 0.0
        for i in range(s.rows):
            if mode[i] == SLIDES and size[i] == 2 and _begins(h, i):
                a, b, k = _accelerated(h, w, i)
                a, b = k * d[i] + a, k * d[i + 1] + b
                long = np.sqrt(a * a + b * b)
                if long > 0.0:
                    turned = max(turned, abs(a / long - d[i]), abs(b / long - d[i + 1]))
                    _lead(h, w, i, a / long, b / long)
        if turned <= TURNED:
            break
    return True


@helper
def _accelerated(h: Any, w: Any, i: int) -> tuple[float, float, float]:
    """The accelerations of tangents i and i + 1, and the largest that the friction of all that slides could give."""
    s, v = h.places[0], w.places[0]
    W, lam = square(h.real, s.W, s.rows, s.rows), part(w.real, v.lam, s.rows)
    a, b, k = w.real[v.r + i], w.real[v.r + i + 1], 0.0
    for j in range(s.rows):
        a, b = a + W[i, j] * lam[j], b + W[i + 1, j] * lam[j]
        if w.whole[v.mode + j] == SLIDES:
            k += max(abs(W[i, j]), abs(W[i + 1, j])) * abs(lam[j])
    return a, b, k


@helper
def _goes_back(h: Any, w: Any, i: int) -> bool:
    """Whether the acceleration of a set that slides is against its direction: with its friction, not against it."""
    at = w.places[0].part + i
    a, b, k = _accelerated(h, w, i)
    return bool(a * w.real[at] + b * w.real[at + 1] < -AGAINST * k)


@helper
def _grips(w: Any, i: int) -> bool:
    """Whether the reactions at hand hold the tangents i and i + 1."""
    v = w.places[0]
    a, b = w.real[v.lam + i], w.real[v.lam + i + 1]
    presses = w.real[v.lam + w.whole[v.of + i]] if w.whole[v.of + i] >= 0 else 1.0
    return bool(np.sqrt(a * a + b * b) <= w.real[v.grip + i] * presses)


@helper
def _begins(h: Any, i: int) -> bool:
    """Whether the tangents from row i on are still."""
    s = h.places[0]
    x, y = h.real[s.psi + i], h.real[s.psi + i + 1]
    return bool(np.sqrt(x * x + y * y) <= slow(h, i))
