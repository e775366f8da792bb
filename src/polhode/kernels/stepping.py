"""What all integrators share: places, statuses, sums of stages, output between steps.

    advance(m, clock, counts, x, grid, rows, keep, options) -> status

is every integrator: a kernel that can be called again and again, and goes on
where it stopped.

m       : the Machine
clock   : (8,), see NOW and the following; the rest is the method's own
counts  : (8,), see ROW and the following
x       : the state at clock[NOW], after the last accepted step
grid    : output times, ascending; rows[i] is the state at grid[i]
keep    : (STAGES[method], n), stages and scratch
options : (4,), see RTOL and the following

A step of size h from x has the polynomial, with s = 1 - theta,

    x(t + theta h) = x + theta (r0 + s (r1 + theta (r2 + s (r3 + ...)))).
"""

from __future__ import annotations

import numpy as np

from .kernel import helper

Array = np.ndarray

DONE, MORE, COLLAPSE = 0, 1, 13  # at t_stop; budget or buffer used up; the step became too small

NOW, STEP, STOP, ERROR = range(4)  # clock: time, step size, stop time, error of the last step
# counts: next row of output; steps; evaluations of the flow; most steps of a call; 1 if keep[0] is
# the rate at (t, x); 1 to record every step in grid and rows; the component that failed
ROW, ACCEPTED, REJECTED, EVALUATIONS, BUDGET, KEPT, EVERY, WHICH = range(8)
RTOL, ATOL, LARGEST, SMALLEST = range(4)  # options: tolerances, largest step, smallest one relative to the time


@helper
def copy(source: Array, target: Array) -> None:
    for i in range(source.size):
        target[i] = source[i]


@helper
def fill(target: Array, value: float) -> None:
    for i in range(target.size):
        target[i] = value


@helper
def first_bad(x: Array) -> int:
    """Index of the first entry that is not finite, or -1."""
    for i in range(x.size):
        if not abs(x[i]) < np.inf:
            return i
    return -1


@helper
def culprit(stages: Array, y: Array) -> int:
    """The component that was not finite first: in the earliest of the stages, or in the state y after them."""
    for k in stages:
        bad = first_bad(k)
        if bad >= 0:
            return bad
    return first_bad(y)


@helper
def combine(y: Array, x: Array, h: float, a: Array, j: int, end: int, k: Array) -> None:
    """y = x + h (a_0 k_0 + a_j k_j + ... + a_{end-1} k_{end-1}), five stages at a time."""
    n, a0, odd = x.size, h * a[0], (end - j) % 5
    if odd == 0:
        for i in range(n):
            y[i] = x[i] + a0 * k[0, i]
    elif odd == 1:
        a1 = h * a[j]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i])
    elif odd == 2:
        a1, a2 = h * a[j], h * a[j + 1]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i])
    elif odd == 3:
        a1, a2, a3 = h * a[j], h * a[j + 1], h * a[j + 2]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i] + a3 * k[j + 2, i])
    else:
        a1, a2, a3, a4 = h * a[j], h * a[j + 1], h * a[j + 2], h * a[j + 3]
        for i in range(n):
            y[i] = x[i] + (a0 * k[0, i] + a1 * k[j, i] + a2 * k[j + 1, i] + a3 * k[j + 2, i] + a4 * k[j + 3, i])
    for b in range(j + odd, end, 5):
        a1, a2, a3, a4, a5 = h * a[b], h * a[b + 1], h * a[b + 2], h * a[b + 3], h * a[b + 4]
        for i in range(n):
            y[i] += a1 * k[b, i] + a2 * k[b + 1, i] + a3 * k[b + 2, i] + a4 * k[b + 3, i] + a5 * k[b + 4, i]


@helper
def begin(counts: Array, grid: Array, rows: Array, t: float, x: Array) -> None:
    """Write the rows that are due where the integration starts."""
    while not counts[EVERY] and counts[ROW] < grid.size and grid[counts[ROW]] <= t:
        copy(x, rows[counts[ROW]])
        counts[ROW] += 1


@helper
def is_over(counts: Array, grid: Array, last: int) -> bool:
    """Tell whether the budget is used up, or the buffer for a record of every step."""
    return bool(counts[ACCEPTED] >= last or (counts[EVERY] and counts[ROW] >= grid.size))


@helper
def is_due(counts: Array, grid: Array, t: float) -> bool:
    """Tell whether a row is wanted before t."""
    return bool(not counts[EVERY] and counts[ROW] < grid.size and grid[counts[ROW]] < t)


@helper
def next_row(
    counts: Array, grid: Array, rows: Array, r: Array, t: float, h: float, end: float, x: Array, y: Array
) -> int:
    """Write rows of a step from x at t to y at `end`, with polynomial r, up to one that lies between.

    Return the index of that one, which is not settled yet, or -1 when all are written.
    """
    if counts[EVERY]:
        grid[counts[ROW]] = end
        copy(y, rows[counts[ROW]])
        counts[ROW] += 1
        return -1
    while counts[ROW] < grid.size and grid[counts[ROW]] <= end:
        at, row = grid[counts[ROW]], rows[counts[ROW]]
        counts[ROW] += 1
        if at < end:
            between(x, r, (at - t) / h, row)
            return int(counts[ROW] - 1)
        copy(y, row)
    return -1


@helper
def between(x: Array, r: Array, theta: float, out: Array) -> None:
    """Evaluate the polynomial of a step."""
    last = len(r) - 1
    for i in range(x.size):
        value = r[last, i]
        for j in range(last - 1, -1, -1):
            value = r[j, i] + value * (theta if j % 2 else 1.0 - theta)
        out[i] = x[i] + theta * value


@helper
def hermite(x: Array, y: Array, h: float, before: Array, after: Array, r: Array) -> None:
    """Write r0, r1, r2 of the cubic from x to y with the rates at both ends."""
    for i in range(x.size):
        rise = y[i] - x[i]
        r[0, i] = rise
        r[1, i] = h * before[i] - rise
        r[2, i] = rise - h * after[i] - r[1, i]
