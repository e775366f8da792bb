"""Charts of a branch around a dead point: made where a motion comes close to one. See `branch`."""

from __future__ import annotations

from typing import Any

from polhode.compile.invoke import invoke

from .branch import PLACES, SIDE, SPACING, axis_at, depend, lagrange, node, place, where
from .hold import evaluate
from .kernel import helper
from .machine import OK, TABLE, rates
from .settle import furthest, measure
from .stepping import Array, Room, copy
from .table import eliminated
from .views import part

NEAR = 0.1  # steps that start at a smaller margin are such steps,
LEAVE = 0.15  # until one starts at a larger one
OFF = 0.2  # of the spacing: how far from the centre the dead point may be
PROBE = 1e-3  # first step along a branch, rad; or UNIT or 1 / UNIT times as long, for lengths may be small and large
UNIT = 1e-3
WIDEST = 1e3  # of the first step: the last one
NOISE = 1e-15  # of rates, divided by the third power of the margin
MISSED = 1e-13  # residual of positions at the centre: more, and there is no dead point, though almost one
UNEVEN = 0.01  # smaller margins may be of one kind or another, and need not grow


@helper
def made(m: Any, h: Any, run: Any, x: Array, room: Room, margin: float) -> bool:
    """Make a chart; False where there is no dead point around, or none of this kind."""
    y = room.y
    for i in range(m.nu):  # qdot = u?
        y[i], y[m.nq + i] = x[i], 1.0 + 0.1 * i
    rates(m, run.t, y, part(room.errors[0], 0, m.nq))
    for i in range(m.nu):
        if room.errors[0, i] != y[m.nq + i]:
            return False
    return (
        _made(m, h, run, x, room, margin, PROBE)
        or _made(m, h, run, x, room, margin, PROBE * UNIT)
        or _made(m, h, run, x, room, margin, PROBE / UNIT)
    )


@helper
def _made(m: Any, h: Any, run: Any, x: Array, room: Room, margin: float, probe: float) -> bool:
    """The same, with first steps of a size."""
    s, y, u = h.places[0], room.y, part(x, m.nq, m.nu)
    # the rank beside the point: at the state, or along its speeds
    moving = 0.0
    for i in range(m.nu):
        moving = max(moving, abs(u[i]))
    copy(x, y)
    for i in range(m.nu):
        y[i] += probe / moving * u[i] if moving > 0.0 else 0.0
    beside, s.full = _choose(m, h, y), _choose(m, h, x)
    at_point = beside > s.full
    if at_point:
        s.full = _choose(m, h, y)
    elif not margin < NEAR:
        return False
    d, most = part(h.real, s.d, s.n), 0.0  # 1 / sqrt of inertias
    for i in range(m.nu):
        most = max(most, abs(u[i]) / d[i])
    for c in range(s.full, s.n):
        s.axis = h.whole[s.tied + c]
        if at_point and abs(u[s.axis]) / d[s.axis] < 0.1 * most:
            continue
        for side in range(1, -2, -2):
            if _walk(m, h, run, x, room, side * probe, at_point):
                for _ in range(3):
                    if _laid(m, h, run, x, room, at_point) and is_smooth(m, h, run, room):
                        return True
                    h.real[s.chart + 1] *= 0.5
    return False


@helper
def is_smooth(m: Any, h: Any, run: Any, room: Room) -> bool:
    """Whether there is a dead point at the centre, and two places fewer would give its rate as well, but for noise."""
    s, y, few = h.places[0], room.y, room.errors[0]
    weights, margin = part(h.real, s.weights, PLACES), h.real[s.margins + SIDE]
    lagrange(0.0, 1, PLACES - 2, weights)
    for i in range(y.size):
        few[i] = 0.0
        for j in range(PLACES - 2):
            few[i] += weights[j] * room.points[j + 1, i]
    lagrange(0.0, 0, PLACES, weights)
    most = max(10.0 * (run.rtol + run.atol), NOISE / (margin * margin * margin))
    for i in range(y.size):
        y[i], value = 0.0, 0.0
        for j in range(PLACES):
            y[i] += weights[j] * room.wide[j, i]
            value += weights[j] * room.points[j, i]
        if i < m.counted and not abs(few[i] - value) <= most * (1.0 + abs(value)):
            return False
    measure(m, h, run.t, y)
    return bool(furthest(h, True, True) <= MISSED)


@helper
def _choose(m: Any, h: Any, x: Array) -> int:
    """Eliminate all rows at a state, and so choose the independent speeds, the last of `tied`; how many are not."""
    s = h.places[0]
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    active, used = part(h.whole, s.active, s.held), part(h.whole, s.used, s.held)
    rank = eliminated(h, active, used, part(h.real, s.gamma, s.rows), s.any)
    columns, tied = part(h.whole, s.columns, s.n), part(h.whole, s.tied, s.n)
    for j in range(s.n):
        tied[j] = columns[j]
    return rank


@helper
def _walk(m: Any, h: Any, run: Any, x: Array, room: Room, first: float, along: bool) -> bool:
    """Go along the axis until the margin is large; False where it does not grow. Writes the chart's numbers.

    first : step, either way
    along : in the direction of the speeds at first, for the state is at the dead point
    """
    s = h.places[0]
    here, there = room.wide[0], room.wide[1]
    way, before, margin = first, 0.0, 0.0
    copy(x, here)
    _predict(m, h, x, here, way, along)
    while abs(way) <= WIDEST * abs(first):
        if not place(m, h, run.t, here, x, x[s.axis] + way):
            return False
        if evaluate(m, run.t, here, room.points[0], True) != OK or s.rank != s.full:
            return False
        run.evaluations += 1
        before, margin = margin, h.real[s.margin]
        if margin < before and before > UNEVEN:
            return False
        if way != first and margin > LEAVE:
            if not margin > before:
                return False
            slope = (margin - before) / (0.5 * way)
            h.real[s.chart], h.real[s.chart + 1] = x[s.axis] + way - margin / slope, SPACING / slope
            return bool(abs(slope * first) * WIDEST > margin)
        # on to twice as far
        for i in range(m.nq):
            last = x[i] if way == first else there[i]
            there[i] = here[i]
            here[i] += (1.0 if way == first else 2.0) * (here[i] - last)
        way *= 2.0
    return False


@helper
def _predict(m: Any, h: Any, x: Array, y: Array, way: float, along: bool) -> None:
    """Move y from x along the axis, on the tangent of the branch."""
    s = h.places[0]
    v = part(h.real, s.trial, s.n)
    if along:
        for i in range(m.nq):
            y[i] += way / x[m.nq + s.axis] * x[m.nq + i]
        return
    for i in range(s.n):
        v[i] = 0.0
    v[s.axis] = way
    measure(m, h, m.time[0], y)
    if depend(m, h, y, part(h.real, s.phi, s.rows), v):
        for i in range(m.nq):
            y[i] += v[i]


@helper
def _laid(m: Any, h: Any, run: Any, x: Array, room: Room, along: bool) -> bool:
    """Lay the places along the axis, those of the walk's side first; False where one is not found."""
    s, nodes = h.places[0], room.wide
    margins, weights = part(h.real, s.margins, PLACES), part(h.real, s.weights, PLACES)
    for _ in range(4):
        copy(x, nodes[SIDE])
        _predict(m, h, x, nodes[SIDE], axis_at(h, SIDE) - x[s.axis], along)
        for j in range(SIDE, PLACES):
            if j > SIDE:
                copy(nodes[j - 1], nodes[j])
                if j > SIDE + 1:
                    for i in range(m.nq):
                        nodes[j, i] += nodes[j - 1, i] - nodes[j - 2, i]
            if not node(m, h, run, run.t, x, room, j):
                return False
        off = 1.0 - margins[SIDE] / (margins[SIDE + 1] - margins[SIDE])
        if abs(off) <= 0.5 * OFF:
            break
        if not abs(off) < SIDE:
            return False
        h.real[s.chart] += off * h.real[s.chart + 1]
    for j in range(SIDE - 1, -1, -1):
        lagrange(where(j), j + 1, SIDE, weights)
        copy(x, nodes[j])
        for i in range(m.nq):
            nodes[j, i] = 0.0
            for k in range(SIDE):
                nodes[j, i] += weights[k] * nodes[j + 1 + k, i]
        if not node(m, h, run, run.t, x, room, j):
            return False
    return bool(0.5 < margins[SIDE - 1] / margins[SIDE] < 2.0)


@helper
def recentre(h: Any) -> None:
    """Shift the centre to where the margin is 0 by lines from both sides."""
    s = h.places[0]
    margins = part(h.real, s.margins, PLACES)
    right = 1.0 - margins[SIDE] / (margins[SIDE + 1] - margins[SIDE])
    left = -1.0 + margins[SIDE - 1] / (margins[SIDE - 2] - margins[SIDE - 1])
    off = 0.5 * (right + left)
    if OFF < abs(off) < 1.0:
        h.real[s.chart] += off * h.real[s.chart + 1]
