"""The rate of change of a machine, with accelerations by which its constraints hold.

Which rows are independent is decided from the state alone. The record only keeps, through
a step, how many they were where it began: between steps a state is off its constraints, and
rows that repeat others would seem to say something new.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .factors import margin
from .kernel import helper, inlined, kernel
from .machine import CONTROL, FACTORS, FLOW, NOT_FINITE, OK, SINGULAR, TABLE
from .responses import choose_rows, factor, least_left, respond_to, room_of
from .sliding import friction_power, slide
from .stepping import copy
from .table import eliminated, least_pivot, reactions, recombined
from .views import part

NOTHING_SLIDES = -1


@kernel
def evaluate(m: Any, t: float, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """Write the rate of change of x at time t to dx; OK, or what went wrong.

    settled : whether x satisfies its constraints, as where a step starts; not so between
    """
    m.time[0] = t
    if m.code[CONTROL]:
        invoke(m.code[CONTROL], m.time, x, m.tau)
    return _flow(m, m.constrained, x, dx, bool(settled))  # a literal would be compiled apart


@inlined
def _flow(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    if h is None:
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    return _constrained(m, h, x, dx, settled)


@inlined
def start(h: Any, again: bool) -> None:
    """Note how many rows hold where a step starts; with `again`, go back to that for another attempt."""
    if h is not None:
        s = h.places[0]
        if again:
            s.rank = s.started
        else:
            s.started = s.rank


@inlined
def forget(h: Any) -> None:
    """Have the next state settled with factors of its own: those of one nearby may lie across a dead point."""
    if h is not None:
        h.places[0].nearby = 0


@helper
def _constrained(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change where constraints hold: by the factors of M, or by embedding."""
    s = h.places[0]
    if not s.rows or (s.idle and m.code[FLOW]):
        invoke(m.code[FLOW], m.time, x, m.tau, m.p, dx, m.work)
        return OK
    rest(m.switching, dx)
    if m.code[FACTORS]:
        factor(m, h, x)
        status = _slid(m, h, m.switching, x, dx)
        if status != NOTHING_SLIDES:
            return status
        udot, lam = dx[m.nq : m.nq + m.nu], part(h.real, s.lam, s.rows)
        if _solved(h, udot, lam, settled):
            carry(m, part(h.real, s.f_carried, s.carried), dx)
            if s.moving:
                _add_power(lam, part(h.real, s.f_moving, s.rows), dx)
            return OK
    return embedded(m, h, x, dx, settled)


@inlined
def _slid(m: Any, h: Any, w: Any, x: np.ndarray, dx: np.ndarray) -> int:
    """The rate of change where rows slide, by the factors at hand; NOTHING_SLIDES where none does."""
    if w is None:
        return NOTHING_SLIDES
    if w.places[0].sliding == 0:
        return NOTHING_SLIDES
    return _sliding(m, h, w, x, dx)


@helper
def _sliding(m: Any, h: Any, w: Any, x: np.ndarray, dx: np.ndarray) -> int:
    s, v = h.places[0], w.places[0]
    if not s.nearby or not slide(m, h, w, x, dx[m.nq : m.nq + m.nu]):
        return SINGULAR
    carry(m, part(h.real, s.f_carried, s.carried), dx)
    dx[v.losses] = friction_power(h, w)
    if s.moving:
        _add_power(part(w.real, v.lam, s.rows), part(h.real, s.f_moving, s.moving), dx)
    return OK


@inlined
def rest(w: Any, dx: np.ndarray) -> None:
    """Let friction have no power."""
    if w is not None:
        losses = w.places[0].losses
        if losses >= 0:
            dx[losses] = 0.0


@helper
def reacted(h: Any, w: Any) -> None:
    """Note the reactions at the state that was evaluated last, where nothing slides."""
    s, v = h.places[0], w.places[0]
    v.count = s.count if s.count >= 0 else s.rank
    copy(part(h.real, s.lam, s.rows), part(w.real, v.lam, s.rows))


@helper
def accelerate(m: Any, h: Any, x: np.ndarray, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """Write the accelerations and reactions by the rows chosen in W; False where it does not tell which rows hold."""
    if not m.code[FACTORS]:
        return False
    factor(m, h, x)
    return _chosen(h, udot, lam, settled)


@inlined
def _solved(h: Any, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """Write the accelerations, and reactions that do work, by the factors at hand; False where these do not tell."""
    s = h.places[0]
    if s.whole and (settled or s.alone <= s.rank):
        if settled:
            s.rank = s.alone
            h.real[s.margin] = least_left(h)
        copy(part(h.real, s.direct_udot, s.n), udot)
        if s.moving:
            copy(part(h.real, s.direct_lam, s.rows), lam)
        return True
    return _chosen(h, udot, lam, settled)


@helper
def _chosen(h: Any, udot: np.ndarray, lam: np.ndarray, settled: bool) -> bool:
    """The same by the rows chosen in W, which `respond_to` then serves."""
    s = h.places[0]
    F, room, chosen = room_of(h, s.F, s.lam_f, s.chosen)
    count = s.count = choose_rows(h, part(h.whole, s.active, s.held), part(h.whole, s.used, s.held), F, chosen, room)
    if count < 0 or (count > s.rank and not settled):
        return False
    if settled:
        s.rank = count
        h.real[s.margin] = margin(F, chosen, count, part(h.real, s.rho2, s.rows))
    copy(part(h.real, s.f_b, s.n), udot)
    respond_to(h, udot, part(h.real, s.f_gamma, s.rows), lam)
    return True


@helper
def embedded(m: Any, h: Any, x: np.ndarray, dx: np.ndarray, settled: bool) -> int:
    """The rate of change by embedding: the decision on J itself, and no inverse of M."""
    s = h.places[0]
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    s.nearby = 0
    active, used = part(h.whole, s.active, s.held), part(h.whole, s.used, s.held)
    rank = eliminated(h, active, used, part(h.real, s.gamma, s.rows), s.any if settled else s.rank)
    if settled:
        s.rank = rank
        h.real[s.margin] = least_pivot(h, rank)
    udot = dx[m.nq : m.nq + m.nu]
    if not recombined(h, rank, udot):
        for i in range(s.t_carried, s.t_moving):
            if not abs(h.real[i]) < np.inf:
                return NOT_FINITE
        return SINGULAR
    if s.moving or s.reacting:
        reactions(h, rank, udot)
    d = part(h.real, s.d, s.n)
    for j in range(s.n):
        udot[j] *= d[j]
    carry(m, part(h.real, s.t_carried, s.carried), dx)
    if s.moving:
        _add_power(part(h.real, s.lam, s.rows), part(h.real, s.t_moving, s.rows), dx)
    return OK


@inlined
def _add_power(lam: np.ndarray, moving: np.ndarray, dx: np.ndarray) -> None:
    """Write the power of constraints that move by themselves, the last of w."""
    power = 0.0
    for i in range(lam.size):
        power += lam[i] * moving[i]
    dx[dx.size - 1] = power


@inlined
def carry(m: Any, carried: np.ndarray, dx: np.ndarray) -> None:
    """Write the rates of q, z and w; that of the work of constraints, the last of w, is not among them."""
    for i in range(m.nq):
        dx[i] = carried[i]
    for i in range(m.nq, carried.size):
        dx[i + m.nu] = carried[i]
