"""Loads: reactions of rows that only push, and of rows that stick, through the stages of a step.

What holds does not move, so the error of the state does not tell how fast its load changes, and a step would pass over
all that the load does in it. So the loads, and what bounds them, have an error of their own, that of their
impulse,

    |h sum E_s lam_s| <= LOOSE (atol reach / W_ii + rtol h max |lam|),

and where a stage shows one beyond its bound, though it is within it where the step ends, the step ends there. Steps
of one size, whose run has a `spacing`, have no error, and do without.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .hold import evaluate
from .kernel import apart, helper, inlined
from .machine import LAWS
from .mode import OPENED, SLIPPED
from .responses import ALL, free_response
from .stepping import Array, copy, fill
from .views import part
from .watched import cause_of, is_redundant, note

END = 17  # in the place of a stage: where the step ends, which is where the next one starts
SHOWN = 1e-6  # of a load, or of its bound: what a stage must show beyond it
LOOSE = 1e3  # of the tolerances: what counts is when loads pass their bounds, and these are located


@helper
def has_law(w: Any, i: int) -> bool:
    """Whether a row carries a load that ends the mode where it passes a bound."""
    return bool(cause_of(w, i) in (OPENED, SLIPPED))


@inlined
def begin(m: Any, h: Any, w: Any, run: Any, x: Array, fresh: bool) -> None:
    """Have the loads where a step starts."""
    if h is not None:
        _begin(m, h, w, run, x, fresh)


@apart
def _begin(m: Any, h: Any, w: Any, run: Any, x: Array, fresh: bool) -> None:
    s, v = h.places[0], w.places[0]
    if not fresh:
        if v.laws:
            copy(part(w.real, v.loads + END * s.rows, s.rows), part(w.real, v.loads, s.rows))
            copy(part(w.real, v.bounds + END * s.rows, s.rows), part(w.real, v.bounds, s.rows))
        return
    v.laws = 0
    for i in range(s.rows):
        v.laws += int(has_law(w, i))
    if v.laws:
        run.evaluations += 1
        rate = part(w.real, v.rate_room, v.entries)
        fill(rate, 0.0)
        evaluate(m, run.t, x, rate, True)
        _observe(m, h, w, 0, x)


@inlined
def observe(m: Any, h: Any, w: Any, stage: int, y: Array) -> None:
    """Note the loads of a stage, which was evaluated just before."""
    if h is not None:
        _observe_switched(m, h, w, stage, y)


@inlined
def _observe_switched(m: Any, h: Any, w: Any, stage: int, y: Array) -> None:
    if w is not None:
        _observe(m, h, w, stage, y)


@apart
def _observe(m: Any, h: Any, w: Any, stage: int, y: Array) -> None:
    s, v = h.places[0], w.places[0]
    if v.laws == 0:
        return
    note(h, w)
    if stage == 0:
        v.spread = int(is_redundant(h, w))
    lam = part(w.real, v.lam, s.rows)
    if v.spread:  # how rows share a load may change; what they would do without it does not
        lam = part(w.real, v.r, s.rows)
        free_response(h, part(w.real, v.g, s.n), lam, part(w.whole, v.mode, s.rows), ALL)
    invoke(m.code[LAWS], m.time, y, m.p, part(w.real, v.bound, 1), m.work)
    copy(lam, part(w.real, v.loads + stage * s.rows, s.rows))
    copy(part(w.real, v.grip, s.rows), part(w.real, v.bounds + stage * s.rows, s.rows))


@inlined
def error(h: Any, w: Any, E: Array, run: Any) -> float:
    """The error of what loads add up to in a step, in units of what is allowed; E : weights of its stages."""
    if h is None:
        return 0.0
    return _error_switched(h, w, E, run)


@inlined
def _error_switched(h: Any, w: Any, E: Array, run: Any) -> float:
    if w is None:
        return 0.0
    return float(_error(h, w, E, run))


@apart
def _error(h: Any, w: Any, E: Array, run: Any) -> float:
    s, v, worst = h.places[0], w.places[0], 0.0
    if v.laws == 0 or run.near or run.across:
        return 0.0
    for i in range(s.rows):
        if not has_law(w, i):
            continue
        size, of = max(w.whole[v.size + i], 1), w.whole[v.of + i]
        for k in range(i, i + size):
            moved = 1.0 if v.spread else h.real[s.W + k * s.rows + k]
            allowed = LOOSE * run.atol * np.sqrt(h.real[s.reach2 + i])
            off, most = _weighed(w, v.loads, s.rows, k, E)
            worst = max(worst, run.h * moved * off / (allowed + LOOSE * run.rtol * run.h * moved * most))
        if cause_of(w, i) == SLIPPED and not v.spread:
            moved, by = h.real[s.W + i * s.rows + i], 1.0
            if of >= 0:
                off, by = _weighed(w, v.loads, s.rows, of, E)
            off, most = _weighed(w, v.bounds, s.rows, i, E)
            allowed = LOOSE * run.atol * np.sqrt(h.real[s.reach2 + i])
            worst = max(worst, run.h * moved * by * off / (allowed + LOOSE * run.rtol * run.h * moved * by * most))
    return float(worst if worst < np.inf else 0.0)


@helper
def _weighed(w: Any, first: int, rows: int, i: int, E: Array) -> tuple[float, float]:
    """The weighed sum of what stages say of a row, without its sign, and the largest of it."""
    total, most = 0.0, 0.0
    for stage in range(E.size):
        value = w.real[first + stage * rows + i]
        total += E[stage] * value
        most = max(most, abs(value))
    return abs(total), most


@inlined
def broken(h: Any, w: Any, c: Array, run: Any) -> float:
    """When in a step, of the step, a stage first shows a load beyond its bound; 1 where none does."""
    if h is None:
        return 1.0
    return float(_broken(h, w, c, run))


@apart
def _broken(h: Any, w: Any, c: Array, run: Any) -> float:
    s, v, first = h.places[0], w.places[0], 1.0
    if v.laws == 0 or v.spread or run.near or run.across:
        return first
    for i in range(s.rows):
        if not has_law(w, i):
            continue
        size, of, slips = w.whole[v.size + i], w.whole[v.of + i], cause_of(w, i) == SLIPPED
        for stage in range(1, min(c.size, END)):
            if not 0.0 < c[stage] < first:
                continue
            at = v.loads + stage * s.rows
            value, most = w.real[at + i], w.real[v.heft + i]
            if slips:
                pull = 0.0
                for k in range(i, i + size):
                    pull += w.real[at + k] * w.real[at + k]
                most = w.real[v.bounds + stage * s.rows + i] * (w.real[at + of] if of >= 0 else 1.0)
                value = most - np.sqrt(pull)
            if value < -max(SHOWN * abs(most), w.real[v.floor + i]):
                first = c[stage]
    return float(first)
