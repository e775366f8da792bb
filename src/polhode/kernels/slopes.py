"""Derivatives of the rate of change from native code, exact; False where there are none, and differences must do.

Reference: `equations.slopes`, which has what is differentiated.
"""

from __future__ import annotations

from typing import Any

from polhode.compile.invoke import invoke

from .factors import halve
from .hold import accelerate, carry, push_back, room
from .kernel import helper, inlined
from .machine import CONTROL, SLOPES
from .stepping import Array, Room, copy, fill, first_bad
from .views import part


@inlined
def differentiate(m: Any, run: Any, x: Array, work: Room) -> bool:
    """Write the derivatives at (run.t, x) to work.J, by columns, and work.drift; work.stages[0] is the rate there.

    False where native code has none: too long, a control of the user, rows that only J tells apart, a pole.
    """
    if not m.code[SLOPES] or m.code[CONTROL]:
        return False
    m.time[0] = run.t
    return _differentiate(m, m.constrained, run, x, work.stages[0], work.slopes, work.y, work.J, work.drift)


@inlined
def _differentiate(
    m: Any, h: Any, run: Any, x: Array, rate: Array, slopes: Array, y: Array, J: Array, drift: Array
) -> bool:
    if h is None:
        return _free(m, x, rate, slopes, J, drift)
    if not h.places[0].rows:
        return _free(m, x, rate, slopes, J, drift)
    run.evaluations += 1
    return _held(m, h, x, rate, slopes, y, J, drift)


@helper
def _free(m: Any, x: Array, rate: Array, slopes: Array, J: Array, drift: Array) -> bool:
    """Those of a machine without constraints among its speeds."""
    invoke(m.code[SLOPES], m.time, x, rate, m.tau, m.p, slopes, m.work)
    others = x.size - m.nu
    for c in range(m.counted + 1):
        row, column = slopes[c], J[c] if c < m.counted else drift
        carry(m, row[:others], column)
        copy(row[others:], column[m.nq : m.nq + m.nu])
    return _finished(m, J, drift)


@helper
def _held(m: Any, h: Any, x: Array, rate: Array, slopes: Array, y: Array, J: Array, drift: Array) -> bool:
    """Those of a machine with constraints, by the factors of M and the rows that were chosen in W.

    M dudot = dR + J^T dlam, J dudot + dS = 0: with y = L^-1 dR, W dlam = -(dS + B^T y), dudot = L^-T (D^-1 y + B dlam).
    """
    s = h.places[0]
    if not accelerate(m, h, x, y[: m.nu], True):
        return False
    F, lam, chosen = room(h, s.F, s.lam_f, s.chosen)
    reactions, moving = part(h.real, s.lam, s.rows), part(h.real, s.f_moving, s.moving)
    fill(reactions, 0.0)
    for k in range(s.count):
        reactions[chosen[k]] = lam[k]
    invoke(m.code[SLOPES], m.time, x, rate, reactions, m.tau, m.p, slopes, m.work)

    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    B, start_b, index_b = (
        part(h.real, s.B, s.b_entries),
        part(h.whole, s.b_start, s.rows + 1),
        part(h.whole, s.b_index, s.b_entries),
    )
    pivots = part(h.real, s.pivots, s.n)
    for c in range(m.counted + 1):
        row, column = slopes[c], J[c] if c < m.counted else drift
        dR, dS = part(row, s.carried, s.n), part(row, s.carried + s.n, s.rows)
        own = part(row, s.carried + s.n + s.rows, s.moving)
        halve(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), dR)
        udot = column[m.nq : m.nq + m.nu]
        for j in range(s.n):
            udot[j] = dR[j] / pivots[j]
        for i in range(s.rows):
            for e in range(start_b[i], start_b[i + 1]):
                dS[i] += B[e] * dR[index_b[e]]
        push_back(h, F, chosen, s.count, dS, lam, udot)
        carry(m, row[: s.carried], column)
        if s.moving:
            power = 0.0
            for k in range(s.count):
                power += lam[k] * moving[chosen[k]] + reactions[chosen[k]] * own[chosen[k]]
            column[column.size - 1] = power
    return _finished(m, J, drift)


@helper
def _finished(m: Any, J: Array, drift: Array) -> bool:
    """Nothing changes with the work that was done; False where a derivative is not finite."""
    for c in range(m.counted, len(J)):
        fill(J[c], 0.0)
    for c in range(m.counted):
        if first_bad(J[c], m.counted) >= 0:
            return False
    return first_bad(drift, m.counted) < 0
