"""Gaps of candidates that are not wired: each is looked at only where it could have closed.

A gap is that of a point of a body A to a plane, or to a point, of a body B. With the pose X of A in B, no point of A
within `reach` of its origin moves further, from one pose to another, than

    d = |p1 - p0| + reach |R1 - R0|,

so a gap that was `clear` by g where A had travelled T cannot close before it has travelled T + g, where it is due.
Those of a pair of bodies are in a heap by when they are due, and a step asks only for the first. What is due is
looked at as other entries are in `events`: at both ends of the step, with its rates.

Within a step an entry is looked for where the cubic through its ends falls below half of the lesser end. With rates
r0 and r1 that cubic is nowhere lower than min(a, b) - 4/27 h (|r0| + |r1|), so none is where that is less than
8/27 h (|r0| + |r1|) below both. The value of a rope is not its clearance but at least half of it: 16/27 serves all.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .kernel import apart, helper, inlined, rare
from .machine import POSES
from .stepping import Array, copy
from .views import part

HEIGHT, DISC, ROPE = 0, 1, 2  # kinds of gaps
FIELDS, POSE = 11, 24  # numbers of a gap: see `gap`; of a pose: R, p and their rates
DIP = 16 / 27  # of what both ends would travel in the whole step
SLACK = 1e-11  # m, rad
ROUNDED = 1e-15  # more than what a sum is rounded by


@helper
def gap(row: Array, kind: int, X: Array) -> tuple[float, float, float]:
    """The value of a gap at a pose, its rate, and how far A must travel at least to close it.

    HEIGHT  n.(R o + p) - c                      row = o, n, c
    DISC    n.(R o + p) - c - radius |R a x n|         o, n, c, radius, a
    ROPE    (l^2 - d.d) / 2 l,  d = R o + p - e        o, e, -, l;     clear by l - |d|
    """
    value, rate, square, shrinks = -row[6], 0.0, 0.0, 0.0
    for i in range(3):
        at = X[9 + i] + X[3 * i] * row[0] + X[3 * i + 1] * row[1] + X[3 * i + 2] * row[2]
        moves = X[21 + i] + X[12 + 3 * i] * row[0] + X[13 + 3 * i] * row[1] + X[14 + 3 * i] * row[2]
        value += row[3 + i] * at
        rate += row[3 + i] * moves
        square += (at - row[3 + i]) * (at - row[3 + i])
        shrinks -= (at - row[3 + i]) * moves
    if kind == ROPE:
        length = row[7]
        return (length * length - square) / (2.0 * length), shrinks / length, length - np.sqrt(square)
    if kind == DISC:
        upright2, turns = 0.0, 0.0
        for i in range(3):
            j, k = (i + 1) % 3, (i + 2) % 3
            side = _turned(row, X, j, 0) * row[3 + k] - _turned(row, X, k, 0) * row[3 + j]
            upright2 += side * side
            turns += side * (_turned(row, X, j, 12) * row[3 + k] - _turned(row, X, k, 12) * row[3 + j])
        upright = np.sqrt(upright2)
        value -= row[7] * upright
        if upright > 0.0:
            rate -= row[7] * turns / upright
    return value, rate, value


@inlined
def _turned(row: Array, X: Array, i: int, first: int) -> float:
    """A component of the axis of a disc in B, or of its rate."""
    return float(X[first + 3 * i] * row[8] + X[first + 3 * i + 1] * row[9] + X[first + 3 * i + 2] * row[10])


@inlined
def is_gap(w: Any, k: int) -> bool:
    """Whether an entry is a gap of this kind: they come after rows and guards."""
    v = w.places[0]
    return bool(k >= v.rows + v.guards)


@helper
def _of(w: Any, g: int, poses: int) -> tuple[float, float, float]:
    """What `gap` says of a gap at poses of all pairs, which are at a place in w.real."""
    v = w.places[0]
    X = part(w.real, poses + POSE * w.whole[v.gap_pair + g], POSE)
    return gap(part(w.real, v.gap_row + FIELDS * g, FIELDS), w.whole[v.gap_kind + g], X)


@apart
def start(m: Any, w: Any, t: float, x: Array, dx: Array, fresh: bool) -> None:
    """Know the poses where a step starts; at first, look at all gaps.

    fresh : whether they may be others than those where the last step ended
    """
    v = w.places[0]
    last = part(w.real, v.pose1, POSE * v.pairs)
    if fresh:
        now = part(w.real, v.pose_at, POSE * v.pairs)
        _pose(m, w, t, x, dx, v.pose_at)
        if v.begun:
            for i in range(v.pairs):
                _travel(w, i, v.pose1, v.pose_at)
        copy(now, last)
        for i in range(v.pairs):
            w.real[v.pace1 + i] = pace(w, i, v.pose1)
        if not v.begun:
            for g in range(v.gaps):
                _push(w, g, _of(w, g, v.pose1)[2])
            v.begun = 1
    copy(last, part(w.real, v.pose, POSE * v.pairs))


@helper
def _pose(m: Any, w: Any, t: float, y: Array, dy: Array, poses: int) -> None:
    """Write the poses of all pairs at a state to a place in w.real."""
    m.time[0] = t
    invoke(m.code[POSES], m.time, y, dy, m.p, part(w.real, poses, POSE * w.places[0].pairs), m.work)


@helper
def _travel(w: Any, i: int, before: int, after: int) -> float:
    """Add up what a pair travels from one pose to another; how much it is then."""
    v = w.places[0]
    X, Y = part(w.real, before + POSE * i, POSE), part(w.real, after + POSE * i, POSE)
    turn, shift = 0.0, 0.0
    for k in range(9):
        turn += (Y[k] - X[k]) * (Y[k] - X[k])
    for k in range(9, 12):
        shift += (Y[k] - X[k]) * (Y[k] - X[k])
    found = w.real[v.travel + i] + np.sqrt(shift) + w.real[v.reach + i] * np.sqrt(turn)
    w.real[v.travel + i] = found * (1.0 + ROUNDED)
    return float(w.real[v.travel + i])


@helper
def pace(w: Any, i: int, poses: int) -> float:
    """The most that points of a pair move in a second, |p'| + reach |R'|."""
    v = w.places[0]
    X = part(w.real, poses + POSE * i, POSE)
    turn, shift = 0.0, 0.0
    for k in range(12, 21):
        turn += X[k] * X[k]
    for k in range(21, 24):
        shift += X[k] * X[k]
    return float(np.sqrt(shift) + w.real[v.reach + i] * np.sqrt(turn))


@helper
def look(m: Any, w: Any, t: float, y: Array, dy: Array, h: float, ahead: float) -> None:
    """Gather the gaps that are due in a step that ends at a state, with values and rates at both its ends.

    ahead : of what both ends would travel in the whole step: what may come as close as that is due
    """
    v = w.places[0]
    _pose(m, w, t, y, dy, v.pose1)
    near, many = part(w.whole, v.near, v.gaps), 0
    for i in range(v.pairs):
        first, before = w.whole[v.pair_start + i], w.real[v.pace1 + i]
        w.real[v.pace1 + i] = pace(w, i, v.pose1)
        bound = _travel(w, i, v.pose, v.pose1) + ahead * h * (before + w.real[v.pace1 + i]) + SLACK
        while w.whole[v.waiting + i] > 0 and not w.real[v.due + first] > bound:
            near[many] = _pop(w, i)
            many += 1
    v.many = many
    first = v.rows + v.guards
    for a in range(many):
        g = near[a]
        w.real[v.value0 + first + g], w.real[v.rate0 + first + g], _ = _of(w, g, v.pose)
        w.real[v.value + first + g], w.real[v.rate + first + g], clear = _of(w, g, v.pose1)
        _push(w, g, clear)


@rare
def at(m: Any, w: Any, t: float, y: Array, dy: Array, k: int) -> float:
    """The value of entry k, a gap, at a state; its rate is in `rate`."""
    v = w.places[0]
    _pose(m, w, t, y, dy, v.pose_at)
    w.real[v.value + k], w.real[v.rate + k], _ = _of(w, k - v.rows - v.guards, v.pose_at)
    return float(w.real[v.value + k])


@rare
def sample(m: Any, w: Any, t: float, y: Array, dy: Array, value: int, rate: int) -> None:
    """Write values and rates of the gaps that are due in a step, at a state in it, to places in w.real."""
    v = w.places[0]
    first = v.rows + v.guards
    _pose(m, w, t, y, dy, v.pose_at)
    for a in range(v.many):
        g = w.whole[v.near + a]
        w.real[value + first + g], w.real[rate + first + g], _ = _of(w, g, v.pose_at)


@helper
def _push(w: Any, g: int, clear: float) -> None:
    """Have a gap wait until its pair has travelled as far as it is clear; what is not a number does not wait."""
    v = w.places[0]
    i = w.whole[v.gap_pair + g]
    first, a, key = w.whole[v.pair_start + i], w.whole[v.waiting + i], w.real[v.travel + i]
    if clear > 0.0:
        key = (key + clear) * (1.0 - ROUNDED)
    w.whole[v.waiting + i] = a + 1
    while a > 0:
        above = (a - 1) // 2
        if not w.real[v.due + first + above] > key:
            break
        w.real[v.due + first + a] = w.real[v.due + first + above]
        w.whole[v.heap + first + a] = w.whole[v.heap + first + above]
        a = above
    w.real[v.due + first + a], w.whole[v.heap + first + a] = key, g


@helper
def _pop(w: Any, i: int) -> int:
    """Take the gap of a pair that is due first from its heap."""
    v = w.places[0]
    first, last = w.whole[v.pair_start + i], w.whole[v.waiting + i] - 1
    found = w.whole[v.heap + first]
    key, g, a = w.real[v.due + first + last], w.whole[v.heap + first + last], 0
    w.whole[v.waiting + i] = last
    while 2 * a + 1 < last:
        below = 2 * a + 1
        if below + 1 < last and w.real[v.due + first + below + 1] < w.real[v.due + first + below]:
            below += 1
        if not w.real[v.due + first + below] < key:
            break
        w.real[v.due + first + a] = w.real[v.due + first + below]
        w.whole[v.heap + first + a] = w.whole[v.heap + first + below]
        a = below
    w.real[v.due + first + a], w.whole[v.heap + first + a] = key, g
    return int(found)
