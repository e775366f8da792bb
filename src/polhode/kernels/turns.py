"""Slides in space that turn within a step of one size, of which no error is known.

Friction turns a slow slide by up to W bound lam_N / |psi| a second. A step with

    h W bound lam_N > CALM |psi|

does not follow that: the direction goes back and forth from step to step, or from stage to stage, and the slide
never comes to rest, though static friction should hold it then. So it is taken anew, shorter, unless it is STRAIGHT,
as towards a rest that is located. And that is a rest only where nothing is left across. What creeps (`gathering`) keeps
its direction and is not followed: a slide that begins gradually is off by a creep across.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from .gathering import creep
from .kernel import apart, helper, inlined
from .mode import SLIDES, STUCK

CALM = 0.5
STRAIGHT = 1e-3  # rad, by which slides turn in a step of any length
SHORTEST = 1e-9  # s, of a second and of times that are longer: no step is made shorter
SHORTER = 0.3, 0.1  # of the time in which friction takes all speed; and of the step, at least
BEFORE = 0.8  # of the way to where a slide would rest but for what is across


@inlined
def begin(h: Any, w: Any) -> None:
    """Forget how slides turned in the attempt before."""
    if w is not None:
        w.real[w.places[0].turned] = 0.0


@inlined
def follow(h: Any, w: Any) -> None:
    """Note how far slides have turned where the flow was evaluated last."""
    if h is not None:
        _follow_switched(h, w)


@inlined
def _follow_switched(h: Any, w: Any) -> None:
    if w is not None:
        _follow(h, w)


@apart
def _follow(h: Any, w: Any) -> None:
    s, v = h.places[0], w.places[0]
    if v.sliding == 0:
        return
    for i in range(s.rows):
        fast = _speed(h, w, i)
        if fast > creep(h, i):
            x, y = h.real[s.psi + i], h.real[s.psi + i + 1]
            across = abs(x * w.real[v.slip + i + 1] - y * w.real[v.slip + i])
            w.real[v.turned] = max(w.real[v.turned], across / fast)


@helper
def _speed(h: Any, w: Any, i: int) -> float:
    """|psi| of the slide in space that begins at a row; 0 where none does."""
    s, v = h.places[0], w.places[0]
    if w.whole[v.mode + i] != SLIDES or w.whole[v.size + i] != 2:
        return 0.0
    x, y = h.real[s.psi + i], h.real[s.psi + i + 1]
    return float(np.sqrt(x * x + y * y))


@inlined
def followed(h: Any, w: Any, run: Any) -> float:
    """The part of a step up to which slides should be followed, where its end is known; 1 for all of it."""
    if h is None:
        return 1.0
    return float(_followed(h, w, run))


@apart
def _followed(h: Any, w: Any, run: Any) -> float:
    s, v, found = h.places[0], w.places[0], 1.0
    if v.sliding == 0 or run.h <= SHORTEST * max(1.0, abs(run.t)):
        return found
    _follow(h, w)
    if w.real[v.turned] <= STRAIGHT:
        return found
    for i in range(s.rows):
        after, before, of = _speed(h, w, i), w.real[v.value0 + i], w.whole[v.of + i]
        if after == 0.0:
            continue
        W = max(h.real[s.W + i * (s.rows + 1)], h.real[s.W + (i + 1) * (s.rows + 1)])
        taken = run.h * W * w.real[v.bound + i] * (w.real[v.lam + of] if of >= 0 else 1.0)
        least = min(before, after) if before > creep(h, i) else after  # or it begins
        if taken > CALM * least:
            found = min(found, max(SHORTER[0] * before / taken, SHORTER[1]))
    return float(found)


@inlined
def rests(h: Any, w: Any, run: Any) -> bool:
    """Whether what comes to rest at the event in which a step ends has no speed left across; else run.h is shorter."""
    if h is None:
        return True
    return bool(_rests(h, w, run))


@apart
def _rests(h: Any, w: Any, run: Any) -> bool:
    v = w.places[0]
    if v.cause != STUCK or run.h <= SHORTEST * max(1.0, abs(run.t)):
        return True
    if _speed(h, w, v.event) <= creep(h, v.event):
        return True
    run.h *= BEFORE
    return False
