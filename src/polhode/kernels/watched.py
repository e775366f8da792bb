"""What must stay above 0 while a mode lasts.

a gap that is open            phi             a row that slides    psi along its direction
a reaction that only pushes   lam             a guard              its value, by its sign
a row that sticks             grip lam_N - |lam_T|
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import gaps
from .choice import examine
from .hold import reacted
from .kernel import helper, inlined
from .machine import GUARDS, LAWS
from .mode import CLOSED, EQUAL, GUARD, HELD, OFF, OPENED, SLIDES, SLIPPED, STUCK, TANGENT, UNILATERAL
from .settle import measure
from .stepping import Array
from .views import part

NARROW = 1e-11  # of the size that a row is measured by, and of that in a second: this far below 0 is nothing yet
WEAK = 1e-10  # the same of reactions, of the largest there is
ERRORS = 10.0  # of the tolerance of a run: what errors may make of a slide in space that just began
NEVER = np.inf


@helper
def cause_of(w: Any, k: int) -> int:
    """What it means that entry k falls below 0; 0 where there is nothing to watch."""
    v = w.places[0]
    if k >= v.rows:
        return GUARD
    mode, kind = w.whole[v.mode + k], w.whole[v.kind + k]
    if kind == UNILATERAL and w.whole[v.engaged + w.whole[v.group + k]]:
        return CLOSED if mode == OFF else OPENED
    if kind == TANGENT and w.whole[v.size + k] > 0:
        return SLIPPED if mode == HELD else STUCK if mode == SLIDES else 0
    return 0


@helper
def counts(w: Any, k: int) -> bool:
    """Whether an entry that falls below 0 is an event: not so a guard that is crossed the other way."""
    v = w.places[0]
    if k < v.rows or gaps.is_gap(w, k):
        return True
    way, sign = w.whole[v.way + k - v.rows], w.whole[v.sign + k - v.rows]
    return bool(way in (0, -sign))


@inlined
def entry(w: Any, a: int) -> int:
    """The entry that is looked at after others: rows and guards, then gaps that are due."""
    v = w.places[0]
    n = v.rows + v.guards
    return int(a if a < n else n + w.whole[v.near + a - n])


@helper
def values_at(m: Any, h: Any, w: Any, t: float, y: Array, dy: Array, value: Array, rate: Array, forces: bool) -> None:
    """Write what must stay above 0 at a state, and the rates that are known; NEVER where there is nothing.

    forces : whether reactions at the state are known; else they are left out
    """
    v = w.places[0]
    m.time[0] = t
    _of_rows(m, h, w, t, y, value, rate, forces)
    if v.guards:
        guard, guard_rate = part(w.real, v.guard, v.guards), part(w.real, v.guard_rate, v.guards)
        invoke(m.code[GUARDS], m.time, y, dy, m.p, guard, m.work)
        sign = part(w.whole, v.sign, v.guards)
        for k in range(v.guards):
            value[v.rows + k], rate[v.rows + k] = sign[k] * guard[k], sign[k] * guard_rate[k]


@inlined
def _of_rows(m: Any, h: Any, w: Any, t: float, y: Array, value: Array, rate: Array, forces: bool) -> None:
    if h is not None:
        _row_values(m, h, w, t, y, value, rate, forces)


@helper
def _row_values(m: Any, h: Any, w: Any, t: float, y: Array, value: Array, rate: Array, forces: bool) -> None:
    """The same of rows."""
    s, v = h.places[0], w.places[0]
    if s.rows == 0:
        return
    measure(m, h, t, y)
    phi, psi, reach2 = part(h.real, s.phi, s.held), part(h.real, s.psi, s.rows), part(h.real, s.reach2, s.held)
    lam, slip, least = part(w.real, v.lam, s.rows), part(w.real, v.slip, s.rows), part(w.real, v.least, s.rows)
    size, of = part(w.whole, v.size, s.rows), part(w.whole, v.of, s.rows)
    most, doubtful, heft = 0.0, False, part(w.real, v.heft, s.rows)
    if forces:
        invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
        for i in range(s.rows):
            most = max(most, abs(lam[i]))
    grip = part(w.real, v.grip, s.rows)
    for i in range(s.rows):
        cause = cause_of(w, i)
        value[i], rate[i], least[i] = NEVER, 0.0, NARROW * np.sqrt(reach2[i])
        if cause == CLOSED:
            value[i], rate[i], heft[i] = phi[i], psi[i], 0.0
        elif cause == STUCK:
            value[i] = 0.0
            for k in range(i, i + size[i]):
                value[i] += psi[k] * slip[k]
            if size[i] > 1:  # a direction that starts from 0 turns as errors make it
                least[i] = max(least[i], ERRORS * w.real[v.tolerance])
        elif cause and forces:
            least[i] = max(WEAK * most, w.real[v.floor + i])
            if cause == OPENED:
                value[i], heft[i] = lam[i], max(heft[i], lam[i])
                least[i] = max(least[i], WEAK * heft[i])
            else:
                pull = 0.0
                for k in range(i, i + size[i]):
                    pull += lam[k] * lam[k]
                value[i] = grip[i] * (lam[of[i]] if of[i] >= 0 else 1.0) - np.sqrt(pull)
            doubtful = doubtful or value[i] < -least[i]
    if doubtful and is_redundant(h, w):
        examine(h, w, value)
        for i in range(s.rows):
            if cause_of(w, i) in (OPENED, SLIPPED):
                value[i] *= most  # of the size that loads have, beside which it is looked for where they pass 0


@helper
def is_redundant(h: Any, w: Any) -> bool:
    """Whether reactions of rows that only push or that stick are not determined."""
    s, v = h.places[0], w.places[0]
    mode, kind = part(w.whole, v.mode, s.rows), part(w.whole, v.kind, s.rows)
    many, lawful, moved = 0, False, part(h.real, s.rho2, s.rows)
    for i in range(s.rows):
        if mode[i] == HELD and h.real[s.W + i * s.rows + i] > 1e-12 * moved[i]:
            many += 1
            lawful = lawful or kind[i] != EQUAL
    return lawful and many > v.count


@inlined
def note(h: Any, w: Any) -> None:
    """Note the reactions at the state that was evaluated last."""
    if h is not None:
        _note_rows(h, w)


@helper
def _note_rows(h: Any, w: Any) -> None:
    if w.places[0].sliding == 0:
        reacted(h, w)
