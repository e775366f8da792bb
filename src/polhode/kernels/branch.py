"""The branch of a motion around a dead point: independent coordinates, and rates that are interpolated along one.

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
from .machine import NOT_FINITE, OK, TABLE, TORN
from .rows import scale
from .settle import EXACT, furthest, measure
from .stepping import Array, Room, first_bad
from .table import STRONG
from .views import part, square

SIDE = 5  # places at either side
PLACES = 2 * SIDE
SPACING = 0.05  # from place to place, in units of the margin
WEAK = 0.075  # rates are interpolated at smaller margins where tolerances are FINE;
INNER = 0.025  # at loose ones at margins below this, for the noise of rates falls with the third power of the margin
FINE = 1e-13
INSIDE = 3.5  # of the spacing: how far from the dead point that is at most
RESIDUAL = 1e-11  # of positions, where a state is interpolated


@inlined
def at(h: Any, x: Array) -> float:
    """Where a state is on the axis, from the dead point in units of the spacing."""
    s = h.places[0]
    return float((x[s.axis] - h.real[s.chart]) / h.real[s.chart + 1])


@helper
def inside(h: Any, run: Any) -> float:
    """How far from the dead point states are interpolated, in units of the spacing."""
    margin = WEAK * (FINE / (run.rtol + run.atol)) ** (1.0 / 3.0)
    return float(min(INSIDE, min(WEAK, max(INNER, margin)) / h.real[h.places[0].margins + SIDE]))


@helper
def rate(m: Any, h: Any, run: Any, t: float, y: Array, dx: Array, room: Room) -> int:
    """Bring a state to the branch, by its independent coordinates and speeds, and write its rate; its status."""
    s, nodes, k = h.places[0], room.wide, room.points
    if first_bad(y, m.counted) >= 0:
        return NOT_FINITE
    away = at(h, y)
    if abs(away) > inside(h, run):
        run.evaluations += 1
        if not place(m, h, t, y, y, y[s.axis]):
            return TORN
        return int(evaluate(m, t, y, dx, True))
    for j in range(PLACES):
        if not node(m, h, run, t, y, room, j):
            return TORN
    weights = part(h.real, s.weights, PLACES)
    lagrange(away, 0, PLACES, weights)
    for i in range(y.size):
        value, slope = 0.0, 0.0
        for j in range(PLACES):
            value += weights[j] * nodes[j, i]
            slope += weights[j] * k[j, i]
        y[i], dx[i] = value, slope
    measure(m, h, t, y)
    margins = part(h.real, s.margins, PLACES)
    h.real[s.margin], s.nearby = 0.5 * abs(away) * (margins[SIDE - 1] + margins[SIDE]), 0
    return OK if furthest(h, True, True) <= RESIDUAL else TORN


@helper
def node(m: Any, h: Any, run: Any, t: float, y: Array, room: Room, j: int) -> bool:
    """Bring place j to the independent coordinates and speeds of y but for the axis, and take its rate."""
    s, x = h.places[0], room.wide[j]
    for i in range(m.nq + m.nu, y.size):
        x[i] = y[i]
    run.evaluations += 1
    if not place(m, h, t, x, y, axis_at(h, j)) or evaluate(m, t, x, room.points[j], True) != OK:
        return False
    h.real[s.margins + j] = h.real[s.margin]
    return s.rank == s.full and h.real[s.margin] > 0.1 * SPACING and first_bad(room.points[j], m.counted) < 0


@helper
def axis_at(h: Any, j: int) -> float:
    s = h.places[0]
    return float(h.real[s.chart] + where(j) * h.real[s.chart + 1])


@helper
def where(j: int) -> float:
    """Where place j is, in units of the spacing."""
    return float(j - SIDE if j < SIDE else j - SIDE + 1)


@helper
def lagrange(at: float, first: int, count: int, weights: Array) -> None:
    """Weights of `count` places from the first, of the polynomial through them."""
    for a in range(count):
        weight = 1.0
        for b in range(count):
            if b != a:
                weight *= (at - where(first + b)) / (where(first + a) - where(first + b))
        weights[a] = weight


@helper
def place(m: Any, h: Any, t: float, x: Array, y: Array, axis: float) -> bool:
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
        if not depend(m, h, x, part(h.real, s.phi, s.rows), v):
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
        if not depend(m, h, x, part(h.real, s.psi, s.rows), v):
            return False
        for c in range(s.full):
            x[m.nq + tied[c]] += v[tied[c]]
    return True


@helper
def depend(m: Any, h: Any, x: Array, right: Array, v: Array) -> bool:
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
