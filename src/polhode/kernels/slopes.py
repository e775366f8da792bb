"""Derivatives of the rate of change from native code, exact; False where there are none, and differences must do.

Reference: `equations.slopes`, which has what is differentiated.
"""

from __future__ import annotations

from typing import Any

from polhode.compile.invoke import invoke

from .hold import accelerate, carry
from .kernel import apart, helper, inlined
from .machine import CONTROL, SLOPES
from .responses import respond_to
from .stepping import Array, Room, copy, fill, first_bad
from .views import part


@inlined
def differentiate(m: Any, run: Any, x: Array, work: Room) -> bool:
    """Write the derivatives at (run.t, x) to work.J, by columns, and work.drift; work.stages[0] is the rate there.

    False where native code has none: too long, a control of the user, rows that only J tells apart, a pole, friction.
    """
    if not m.code[SLOPES] or m.code[CONTROL] or _slides(m.switching):
        return False
    m.time[0] = run.t
    return _differentiate(m, m.constrained, run, x, work.stages[0], work.slopes, work.y, work.J, work.drift)


@inlined
def _slides(w: Any) -> bool:
    if w is None:
        return False
    return bool(w.places[0].sliding > 0)


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


@apart
def _free(m: Any, x: Array, rate: Array, slopes: Array, J: Array, drift: Array) -> bool:
    """Those of a machine without constraints among its speeds."""
    invoke(m.code[SLOPES], m.time, x, rate, m.tau, m.p, slopes, m.work)
    others = x.size - m.nu
    for c in range(m.counted + 1):
        row, column = slopes[c], J[c] if c < m.counted else drift
        carry(m, row[:others], column)
        copy(row[others:], column[m.nq : m.nq + m.nu])
    return _finished(m, J, drift)


@apart
def _held(m: Any, h: Any, x: Array, rate: Array, slopes: Array, y: Array, J: Array, drift: Array) -> bool:
    """Those of a machine with constraints, by the factors at hand: M dudot = dR + J^T dlam, J dudot + dS = 0."""
    s = h.places[0]
    reactions, moving = part(h.real, s.lam, s.rows), part(h.real, s.f_moving, s.moving)
    if not accelerate(m, h, x, y[: m.nu], reactions, True):
        return False
    invoke(m.code[SLOPES], m.time, x, rate, reactions, m.tau, m.p, slopes, m.work)
    for c in range(m.counted + 1):
        row, column = slopes[c], J[c] if c < m.counted else drift
        dS, own = part(row, s.carried + s.n, s.rows), part(row, s.carried + s.n + s.rows, s.moving)
        udot, lam = column[m.nq : m.nq + m.nu], part(h.real, s.basis, s.rows)
        copy(part(row, s.carried, s.n), udot)
        respond_to(h, udot, dS, lam)
        carry(m, row[: s.carried], column)
        if s.moving:
            power = 0.0
            for i in range(s.rows):
                power += lam[i] * moving[i] + reactions[i] * own[i]
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
