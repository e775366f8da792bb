"""Steps that start, end or turn near a dead point, where a step `across` it is not to be had.

Accelerations close to a dead point have few digits, but along one branch of the motion they are smooth. So the rate
of a state there is interpolated, from states on the same branch at either side that are far enough from the point.

The branch is followed in coordinates that are independent beside the dead point (`embed`), xi; with them

    phi(q) = 0,   xi(q) = xi,      J u = 0,   xi(u) = xi_dot

give all coordinates and speeds, by Newton's method. A chart is: the independent coordinates; one of them, the axis,
that leads across the dead point; where on the axis the point is; and places along it,

    centre + spacing (-5, -4, -3, -2, -1, 1, 2, 3, 4, 5).

The state and its rate are polynomials through the ten places, at the value of the axis. All else is the method's
own step: in effect, it integrates xi and xi_dot.

Reference: [HairerWanner, section VII.2] for local coordinates of constrained motions.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .embed import eliminate
from .hold import evaluate
from .kernel import helper, inlined
from .machine import CLOSURE, NOT_FINITE, OK, TABLE, TORN, rates
from .rows import scale
from .settle import EXACT, furthest, measure
from .sizing import Rule
from .stepping import Array, Room, combine, copy, first_bad, hermite, weigh
from .table import STRONG, eliminated
from .tableaus import Explicit
from .views import part, square

NEAR = 0.1  # steps that start at a smaller margin are such steps,
LEAVE = 0.15  # until one starts at a larger one
CLOSE = 0.03  # other steps do not end at a smaller margin
SIDE = 5  # places at either side
PLACES = 2 * SIDE
SPACING = 0.05  # from place to place, in units of the margin
INSIDE = 1.5  # of the spacing, at a tolerance of FINE: further from the dead point nothing is interpolated;
INNER = 0.5  # the same at loose tolerances, for the noise of rates falls with the third power of the distance
FINE = 1e-13
OFF = 0.2  # of the spacing: how far from the centre the dead point may be
PROBE = 1e-3  # of coordinates: first steps along a branch
WIDEST = 1.0  # of coordinates: the last one
RESIDUAL = 1e-11  # of positions, where a state is interpolated: more, and it is no dead point but close to one
TRIES = 3  # attempts that may fail
UNKNOWN, CHARTED, DECLINED = 0, 1, -1


@inlined
def ready(places: int, m: Any, h: Any, w: Any, run: Any, fresh: bool, x: Array, room: Room) -> None:
    """Decide whether a step starts near a dead point, and have a chart and its rate there."""
    run.near = 0
    if h is None or w is not None:
        return
    s = h.places[0]
    if fresh:
        s.near = UNKNOWN
    if places < PLACES or not _is_covered(m, s):
        return
    margin = h.real[s.margin]
    if s.near == UNKNOWN and (margin < NEAR or (fresh and s.rank < s.rows)):
        _enter(m, h, run, x, room)
    elif s.near != UNKNOWN and margin > LEAVE:
        s.near = UNKNOWN
    if s.near == CHARTED:
        run.near = 1
        _recentre(h)


@inlined
def _is_covered(m: Any, s: Any) -> bool:
    """Whether speeds are rates of coordinates as far as is seen here, and all rows are of positions that stay."""
    return bool(m.nq == m.nu and m.units.size == 0 and s.closing_all and not s.moving and not m.code[CLOSURE])


@inlined
def ends_close(h: Any, w: Any, places: int, m: Any, run: Any) -> bool:
    """Whether a step of another kind ends where it should not."""
    if h is None or w is not None:
        return False
    s = h.places[0]
    return bool(
        not run.near and places and s.near == UNKNOWN and h.real[s.margin] < CLOSE and run.arrived and _is_covered(m, s)
    )


@helper
def _enter(m: Any, h: Any, run: Any, x: Array, room: Room) -> None:
    """Make a chart where a step starts, and take the rate there anew; the state moves by rounding."""
    s, margin, rank = h.places[0], h.real[h.places[0].margin], h.places[0].rank
    s.near = DECLINED
    if _charted(m, h, run, x, room):
        copy(x, room.y)
        if rate(m, h, run, run.t, room.y, room.errors[1], room) == OK:
            copy(room.y, x)
            copy(room.errors[1], room.stages[0])
            s.near = CHARTED
            return
    elif not margin < NEAR:
        s.near = UNKNOWN
    h.real[s.margin], s.rank, s.nearby = margin, rank, 0


# charts


@helper
def _charted(m: Any, h: Any, run: Any, x: Array, room: Room) -> bool:
    """Make a chart; False where there is no dead point around, or none of this kind."""
    s, y = h.places[0], room.y
    u, tied = part(x, m.nq, m.nu), part(h.whole, s.tied, s.n)
    for i in range(m.nu):  # qdot = u?
        y[i], y[m.nq + i] = x[i], 1.0 + 0.1 * i
    rates(m, run.t, y, part(room.errors[0], 0, m.nq))
    for i in range(m.nu):
        if room.errors[0, i] != y[m.nq + i]:
            return False
    # the rank beside the point: at the state, or along its speeds
    rank, moving = _choose(m, h, x), 0.0
    for i in range(m.nu):
        moving = max(moving, abs(u[i]))
    at_point = 0
    if moving > 0.0:
        copy(x, y)
        for i in range(m.nu):
            y[i] += PROBE / moving * u[i]
        beside = _choose(m, h, y)
        at_point = int(beside > rank)
        if at_point:
            rank = beside
        else:
            rank = _choose(m, h, x)
    s.full = rank
    if not at_point and not h.real[s.margin] < NEAR:
        return False
    for c in range(rank, s.n):
        s.axis = tied[c]
        if at_point and abs(u[s.axis]) < 0.1 * moving:
            continue
        for side in range(1, -2, -2):
            if _walk(m, h, run, x, room, float(side), at_point == 1) and _laid(m, h, run, x, room, at_point == 1):
                return True
    return False


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
def _walk(m: Any, h: Any, run: Any, x: Array, room: Room, side: float, along: bool) -> bool:
    """Go along the axis until the margin is large; False where it does not grow. Writes the chart's numbers.

    along : in the direction of the speeds at first, for the state is at the dead point
    """
    s = h.places[0]
    here, there = room.wide[0], room.wide[1]
    way, before, margin = side * PROBE, 0.0, 0.0
    copy(x, here)
    _predict(m, h, x, here, way, along)
    while abs(way) <= WIDEST:
        if not _place(m, h, run.t, here, x, x[s.axis] + way):
            return False
        if evaluate(m, run.t, here, room.points[0], True) != OK or s.rank != s.full:
            return False
        run.evaluations += 1
        before, margin = margin, h.real[s.margin]
        if margin < before:
            return False
        if abs(way) > 1.5 * PROBE and margin > LEAVE:
            slope = (margin - before) / (0.5 * way)
            h.real[s.chart], h.real[s.chart + 1] = x[s.axis] + way - margin / slope, SPACING / slope
            return bool(abs(slope) * WIDEST > margin)
        # on to twice as far
        for i in range(m.nq):
            first = x[i] if way == side * PROBE else there[i]
            there[i] = here[i]
            here[i] += (1.0 if way == side * PROBE else 2.0) * (here[i] - first)
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
    if _depend(m, h, y, part(h.real, s.phi, s.rows), v):
        for i in range(m.nq):
            y[i] += v[i]


@helper
def _laid(m: Any, h: Any, run: Any, x: Array, room: Room, along: bool) -> bool:
    """Lay the places along the axis, first those at the side with positive spacing; False where one is not found."""
    s, nodes = h.places[0], room.wide
    margins, weights = part(h.real, s.margins, PLACES), part(h.real, s.weights, PLACES)
    for _ in range(4):
        copy(x, nodes[SIDE])
        _predict(m, h, x, nodes[SIDE], _axis_at(h, SIDE) - x[s.axis], along)
        for j in range(SIDE, PLACES):
            if j > SIDE:
                for i in range(x.size):
                    nodes[j, i] = nodes[j - 1, i]
                    if i < m.nq:
                        nodes[j, i] += nodes[j - 1, i] - (nodes[j - 2, i] if j > SIDE + 1 else nodes[j - 1, i])
            if not _node(m, h, run, run.t, x, room, j):
                return False
        off = 1.0 - margins[SIDE] / (margins[SIDE + 1] - margins[SIDE])
        if abs(off) <= 0.5 * OFF:
            break
        if not abs(off) < SIDE:
            return False
        h.real[s.chart] += off * h.real[s.chart + 1]
    for j in range(SIDE - 1, -1, -1):
        _lagrange(_where(j), j + 1, SIDE, weights)
        copy(x, nodes[j])
        for i in range(m.nq):
            nodes[j, i] = 0.0
            for k in range(SIDE):
                nodes[j, i] += weights[k] * nodes[j + 1 + k, i]
        if not _node(m, h, run, run.t, x, room, j):
            return False
    return bool(0.5 < margins[SIDE - 1] / margins[SIDE] < 2.0)


@helper
def _recentre(h: Any) -> None:
    """Shift the centre to where the margin is 0 by lines from both sides."""
    s = h.places[0]
    margins = part(h.real, s.margins, PLACES)
    right = 1.0 - margins[SIDE] / (margins[SIDE + 1] - margins[SIDE])
    left = -1.0 + margins[SIDE - 1] / (margins[SIDE - 2] - margins[SIDE - 1])
    off = 0.5 * (right + left)
    if OFF < abs(off) < 1.0:
        h.real[s.chart] += off * h.real[s.chart + 1]


# states and rates


@helper
def rate(m: Any, h: Any, run: Any, t: float, y: Array, dx: Array, room: Room) -> int:
    """Bring a state to the branch, by its independent coordinates and speeds, and write its rate; its status."""
    s, nodes, k = h.places[0], room.wide, room.points
    if first_bad(y, m.counted) >= 0:
        return NOT_FINITE
    at = (y[s.axis] - h.real[s.chart]) / h.real[s.chart + 1]
    if abs(at) > min(INSIDE, max(INNER, INSIDE * (FINE / (run.rtol + run.atol)) ** (1.0 / 3.0))):
        run.evaluations += 1
        if not _place(m, h, t, y, y, y[s.axis]):
            return TORN
        return int(evaluate(m, t, y, dx, True))
    for j in range(PLACES):
        if not _node(m, h, run, t, y, room, j):
            return TORN
    weights = part(h.real, s.weights, PLACES)
    _lagrange(at, 0, PLACES, weights)
    for i in range(y.size):
        value, slope = 0.0, 0.0
        for j in range(PLACES):
            value += weights[j] * nodes[j, i]
            slope += weights[j] * k[j, i]
        y[i], dx[i] = value, slope
    measure(m, h, t, y)
    margins = part(h.real, s.margins, PLACES)
    h.real[s.margin], s.nearby = 0.5 * abs(at) * (margins[SIDE - 1] + margins[SIDE]), 0
    return OK if furthest(h, True, True) <= RESIDUAL + 0.01 * run.atol else TORN


@helper
def _node(m: Any, h: Any, run: Any, t: float, y: Array, room: Room, j: int) -> bool:
    """Bring place j to the independent coordinates and speeds of y but for the axis, and take its rate."""
    s, x = h.places[0], room.wide[j]
    for i in range(m.nq + m.nu, y.size):
        x[i] = y[i]
    run.evaluations += 1
    if not _place(m, h, t, x, y, _axis_at(h, j)) or evaluate(m, t, x, room.points[j], True) != OK:
        return False
    h.real[s.margins + j] = h.real[s.margin]
    return s.rank == s.full and h.real[s.margin] > 0.4 * SPACING and first_bad(room.points[j], m.counted) < 0


@helper
def _axis_at(h: Any, j: int) -> float:
    s = h.places[0]
    return float(h.real[s.chart] + _where(j) * h.real[s.chart + 1])


@helper
def _where(j: int) -> float:
    """Where place j is, in units of the spacing."""
    return float(j - SIDE if j < SIDE else j - SIDE + 1)


@helper
def _lagrange(at: float, first: int, count: int, weights: Array) -> None:
    """Weights of `count` places from the first, of the polynomial through them."""
    for a in range(count):
        weight = 1.0
        for b in range(count):
            if b != a:
                weight *= (at - _where(first + b)) / (_where(first + a) - _where(first + b))
        weights[a] = weight


@helper
def _place(m: Any, h: Any, t: float, x: Array, y: Array, axis: float) -> bool:
    """Close x by Newton's method, at the independent coordinates of y and a value of the axis; and its speeds.

    y may be x.
    """
    s = h.places[0]
    tied, v = part(h.whole, s.tied, s.n), part(h.real, s.trial, s.n)
    m.time[0] = t
    before = np.inf
    for _ in range(12):
        there = True
        for c in range(s.full, s.n):
            j = tied[c]
            v[j] = (axis if j == s.axis else y[j]) - x[j]
            there = there and v[j] == 0.0
        measure(m, h, t, x)
        if there and furthest(h, True, True) <= EXACT:
            break
        if not _depend(m, h, x, part(h.real, s.phi, s.rows), v):
            return False
        size = 0.0
        for i in range(m.nq):
            x[i] += v[i]
            size = max(size, abs(v[i]) / (1.0 + abs(x[i])))
        if size <= 1e-14 or (size <= 1e-9 and size > 0.1 * before):
            break
        if not size < before or not size < 1.0:
            return False
        before = size
    for c in range(s.full, s.n):
        x[m.nq + tied[c]] = y[m.nq + tied[c]]
    for _ in range(2):
        measure(m, h, t, x)
        for c in range(s.full, s.n):
            v[tied[c]] = 0.0
        if not _depend(m, h, x, part(h.real, s.psi, s.rows), v):
            return False
        for c in range(s.full):
            x[m.nq + tied[c]] += v[tied[c]]
    return True


@helper
def _depend(m: Any, h: Any, x: Array, right: Array, v: Array) -> bool:
    """Fill in the dependent entries of v, so that J v = -right at x; False where rows do not determine them."""
    s = h.places[0]
    invoke(m.code[TABLE], m.time, x, m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
    full, active, least = s.full, part(h.whole, s.active, s.held), part(h.real, s.least, s.held)
    J, E2, M = square(h.real, s.J, s.rows, s.n), square(h.real, s.E2, s.rows, s.n), square(h.real, s.M, s.n, s.n)
    inertias, d, rho = part(h.real, s.step, s.n), part(h.real, s.d, s.n), part(h.real, s.rho, s.rows)
    tied, rows, columns = part(h.whole, s.tied, s.n), part(h.whole, s.places, s.rows), part(h.whole, s.columns, full)
    for j in range(s.n):
        inertias[j] = M[j, j]
    scale(J, E2, active, part(h.whole, s.bodies, s.n), inertias, d, rho)
    table, count = square(h.real, s.table, s.rows, full + 2), 0
    for i in range(s.rows):
        if active[i] and rho[i] > 0.0:
            unit, known = 1.0 / (least[i] * rho[i]), right[i]
            for c in range(full, s.n):
                known += J[i, tied[c]] * v[tied[c]]
            for c in range(full):
                table[count, c] = J[i, tied[c]] * d[tied[c]] * unit
            table[count, full] = -known * unit
            rows[count] = i
            count += 1
    if eliminate(table, rows, columns, count, min(full, count), least, full, STRONG) < full:
        return False
    for k in range(full):
        j = tied[columns[k]]
        v[j] = table[k, full] * d[j]
    return True


# steps


@helper
def attempt(tableau: Explicit, rule: Rule, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Take a step as `explicit.attempt` does, with states and rates of the chart; OK, or what went wrong."""
    k, y, last = room.stages, room.y, rule.last
    s, run.arrived = h.places[0], 0
    for i in range(1, last + 1):
        combine(y, x, run.h, tableau.A[i], tableau.first[i], i, k)
        status = rate(m, h, run, run.t + tableau.c[i] * run.h if i < last else run.end, y, k[i], room)
        bad = first_bad(k[i], m.counted)
        if status == OK and bad >= 0:
            run.blamed, status = bad, NOT_FINITE
        if status != OK:
            if run.tries >= TRIES:
                run.near, s.near = 0, DECLINED
            return int(status)
    weigh(tableau.E, tableau.edge, run.h, k, room.errors)
    run.arrived = 1
    return OK


@helper
def dense(tableau: Explicit, rule: Rule, m: Any, h: Any, run: Any, x: Array, room: Room) -> int:
    """Write the polynomial of such a step; OK, or what went wrong."""
    k, other, margin = room.stages, room.errors[0], h.real[h.places[0].margin]
    status = OK
    for i in range(rule.last + 1, rule.stages):
        combine(other, x, run.h, tableau.A[i], tableau.first[i], i, k)
        status = max(status, rate(m, h, run, run.t + tableau.c[i] * run.h, other, k[i], room))
    h.real[h.places[0].margin] = margin
    hermite(x, room.y, run.h, k[0], k[rule.last], room.polynomial)
    weigh(tableau.D, tableau.edge, run.h, k, room.polynomial[3:])
    return int(status)
