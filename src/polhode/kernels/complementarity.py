"""Find forces of contacts, brakes and constraints that obey Coulomb's law: see `coulomb` for the problem.

Contacts are scaled so that A is about 1 on its diagonal, which keeps the cones. Newton's method
on the projections of Alart and Curnier finds most solutions in a few steps; sweeps of Gauss and
Seidel lead it to others. For the rest contacts yield at first and become hard by and by. They do so about the
forces found before, w = A lam + b + soft (lam - before), in smaller steps where Newton's method does not follow, so
that A may be singular, or nearly. Or about none, w = (A + soft) lam + b: where no forces do, those then grow without
bound, and prove it.

Reference: [Alart, Curnier 1991], A mixed formulation for frictional contact problems;
[Acary, Bremond, Huber 2018], On solving contact problems with Coulomb friction; [Rockafellar 1976], Monotone
operators and the proximal point algorithm.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .coulomb import (
    NORMAL,
    REGULAR,
    TANGENT,
    Problem,
    carried,
    copy,
    divide,
    factor,
    largest,
    length,
    project,
    radius,
    residual,
    scaled,
    shorten,
    speed,
)
from .kernel import helper, kernel
from .views import less, part, square

Array = np.ndarray

SOLVED, UNSOLVED, JAMMED = 0, 1, 2

STEPS, PATIENCE = 15, 6  # of Newton's method; steps that may pass without a tenth less of residual
HALVINGS, WORSE = 2, 10.0  # of a step after which the residual is so many times larger
ROUNDS, SWEEPS = 2, 20
SOFT_STEPS, HARDER, HARD = 5, 0.2, 1e-9  # of Newton's method for contacts that yield: 1 to HARD of A
YIELD, LEAST_YIELD = 0.1, 1e-13  # of A, by which contacts yield about forces found before
FOLLOWS, MOST = 10, 60  # steps of Newton's method for one of these, and for all
SLOWEST = 0.9  # from one to the next: it is then taken as if it had been followed
SUCCESS = 1e-10  # residual, of what its row adds up, that between LEAST and 1 of b
LEAST = 1e-6
ROUNDING = 1e-15  # of what its row adds up, allowed beside where forces are large
HUGE = 1e6  # forces, of b


class Work(NamedTuple):
    """What the solution is made in, a value a row."""

    lam: Array
    z: Array  # lam - w
    F: Array  # lam minus its projection
    step: Array
    right: Array
    row: Array
    kept: Array  # the best of Newton's steps
    best: Array  # the best that contacts and brakes can carry
    diagonal: Array
    given: Array  # b
    before: Array  # forces about which contacts yield
    first: Array  # of each row of Newton's matrix: where its set begins
    live: Array  # and which it is
    order: Array


@helper
def _slope(p: Problem, z: Array, i: int, a: int, row: Array) -> None:
    """The derivative of F[a] by lam, of a contact that carries; i is the first row of its set.

    Sliding, with n = z_T / |z_T|:  F_T' = 1 - bound n (1 - A)_N - R / |z_T| (1 - n n^T) (1 - A)_T,
    the second term where z_N > 0.
    """
    k = row.size
    share = carried(p, z, i)
    slides = share < 1.0
    for j in range(k):
        row[j] = 0.0 if slides else p.A[a, j]
    row[a] += 1.0 if slides else REGULAR
    if not slides:
        return
    size = length(p, z, i)
    along = z[a] / size
    for e in range(i, i + p.size[i]):
        if not p.dead[e]:
            across = share * ((1.0 if e == a else 0.0) - along * z[e] / size)
            row[e] -= across
            less(row, p.A[e], -across, 0, k)
    if p.of[i] >= 0 and z[p.of[i]] > 0.0:
        row[p.of[i]] -= p.bound[i] * along
        less(row, p.A[p.of[i]], -p.bound[i] * along, 0, k)


@helper
def _newton_step(p: Problem, x: Work, room: Array) -> None:
    """lam -= F'^-1 F. Rows of open contacts end at 0; the others make up the matrix."""
    k = x.lam.size
    n = 0
    for i in range(k):
        closed = x.z[i] > 0.0 if p.kind[i] == NORMAL else p.size[i] == 0 or radius(p, x.z, i) > 0.0
        for a in range(i, i + (p.size[i] if p.kind[i] == TANGENT else 1)):
            x.step[a] = -x.lam[a]
            if closed and not p.dead[a]:
                x.first[n], x.live[n] = i, a
                n += 1
    G = square(room, 0, n, n)
    right, order = part(x.right, 0, n), part(x.order, 0, n)
    for r in range(n):
        x.step[x.live[r]] = 0.0
    for r in range(n):
        _slope(p, x.z, x.first[r], x.live[r], x.row)
        right[r] = -x.F[x.live[r]]
        for j in range(k):
            if x.step[j] != 0.0:
                right[r] -= x.row[j] * x.step[j]
        for c in range(n):
            G[r, c] = x.row[x.live[c]]
    factor(G, order)
    divide(G, order, right)
    for r in range(n):
        x.step[x.live[r]] = right[r]
    for i in range(k):
        x.lam[i] += x.step[i]


@helper
def _newton(p: Problem, x: Work, room: Array, goal: float, enough: float, steps: int) -> tuple[float, int]:
    """Step until the residual is `enough`, or for PATIENCE steps no tenth less; lam is then the best.

    Returns its residual, and how many steps there were.
    """
    now = least = residual(p, x.lam, x.z, x.F)
    since = taken = 0
    copy(x.lam, x.kept)
    for _ in range(steps):
        if least <= enough or since > (0 if least <= goal else PATIENCE):
            break
        taken += 1
        _newton_step(p, x, room)
        before, now = now, residual(p, x.lam, x.z, x.F)
        for _ in range(HALVINGS):
            if now <= WORSE * before:
                break
            for i in range(x.lam.size):
                x.step[i] *= 0.5
                x.lam[i] -= x.step[i]
            now = residual(p, x.lam, x.z, x.F)
        since = 0 if now < 0.9 * least else since + 1
        if now < least:
            least = now
            copy(x.lam, x.kept)
    copy(x.kept, x.lam)
    return least, taken


@helper
def _harden(p: Problem, x: Work, room: Array, goal: float) -> None:
    """Follow the solution of contacts that yield, w = (A + soft) lam + b, while they become hard."""
    soft = 1.0
    for i in range(x.lam.size):
        x.diagonal[i] = p.A[i, i]
    while soft > HARD:
        for i in range(x.lam.size):
            p.A[i, i] = x.diagonal[i] + soft
        _newton(p, x, room, goal, 1e-5 * goal, SOFT_STEPS)
        soft *= HARDER
    for i in range(x.lam.size):
        p.A[i, i] = x.diagonal[i]


@helper
def _harden_about(p: Problem, x: Work, room: Array, goal: float) -> None:
    """Follow that of contacts that yield about forces found before, w = A lam + b + soft (lam - before)."""
    soft, harder, spent = YIELD, HARDER, 0
    for i in range(x.lam.size):
        x.diagonal[i], x.given[i], x.before[i], x.lam[i] = p.A[i, i], p.b[i], 0.0, 0.0
    while soft > LEAST_YIELD and spent < MOST:
        for i in range(x.lam.size):
            p.A[i, i] = x.diagonal[i] + soft
            p.b[i] = x.given[i] - soft * x.before[i]
        left, taken = _newton(p, x, room, goal, 0.1 * goal, min(FOLLOWS, MOST - spent))
        spent += max(taken, 1)
        for i in range(x.lam.size):
            p.A[i, i], p.b[i] = x.diagonal[i], x.given[i]
        if left <= goal:
            copy(x.lam, x.before)
            if residual(p, x.lam, x.z, x.F) <= goal:
                return
            soft *= harder
            continue
        harder = np.sqrt(harder)
        if harder > SLOWEST:
            copy(x.lam, x.before)
            soft, harder = 3.0 * soft, 0.5
        else:
            copy(x.before, x.lam)
            soft /= harder


@helper
def _is_jammed(p: Problem, lam: Array, y: Array) -> bool:
    """Tell whether each solution has forces beyond HUGE |b|, as those of contacts that yield suggest.

    For y with y_N >= 0, y_T = 0 a solution has  0 <= y w = y A lam + y b,  so that |lam| >= -y b / |y A|.
    """
    along, across = 0.0, 0.0
    for i in range(lam.size):
        y[i] = 0.0 if p.kind[i] == TANGENT else max(lam[i], 0.0) if p.kind[i] == NORMAL else lam[i]
        along -= y[i] * p.b[i]
    for j in range(lam.size):
        total = 0.0
        for i in range(lam.size):
            total += y[i] * p.A[i, j]
        across += abs(total)
    return along > 0.0 and along > HUGE * largest(p.b) * across


@helper
def _sweep(p: Problem, lam: Array) -> None:
    """Satisfy one contact after the other, SWEEPS times."""
    k = lam.size
    for _ in range(SWEEPS):
        for i in range(k):
            if p.kind[i] != TANGENT:
                if p.A[i, i] > 0.0:
                    lam[i] -= speed(p, lam, i) / p.A[i, i]
                if p.kind[i] == NORMAL:
                    lam[i] = max(lam[i], 0.0)
            elif p.size[i] > 0:
                stiff = p.A[i, i] if p.size[i] == 1 else p.A[i, i] + p.A[i + 1, i + 1]
                for a in range(i, i + p.size[i]):
                    if not p.dead[a]:
                        lam[a] -= speed(p, lam, a) / stiff
                shorten(p, lam, i)


@helper
def solve(
    A: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, lam: Array, room: Array, ints: Array,
    about: bool,
) -> int:  # fmt: skip
    """Find lam, which is also where the search begins; return SOLVED, UNSOLVED or JAMMED.

    A (k, k), b (k,); room (room_for(k),), ints (ints_for(k),). Otherwise than SOLVED, lam is the
    best of the iterates that contacts and brakes can carry.

    about : harden about forces found before, as for impulses of many contacts, and not about none, which proves that
            there are no forces, and leaves a better start to the search for slips that hardly begin
    """
    k = b.size
    scale = part(room, k * k + 2 * k, k)
    p = scaled(A, b, kind, size, of, bound, scale, room, ints)
    at = k * k + 3 * k
    x = Work(
        part(room, at, k), part(room, at + k, k), part(room, at + 2 * k, k), part(room, at + 3 * k, k),
        part(room, at + 4 * k, k), part(room, at + 5 * k, k), part(room, at + 6 * k, k), part(room, at + 7 * k, k),
        part(room, at + 8 * k, k), part(room, at + 9 * k, k), part(room, at + 10 * k, k), part(ints, k, k),
        part(ints, 2 * k, k), part(ints, 3 * k, k),
    )  # fmt: skip
    matrix = part(room, at + 11 * k, k * k)
    goal = SUCCESS * largest(p.b)
    for i in range(k):
        x.lam[i] = 0.0 if p.dead[i] or goal == 0.0 or not abs(lam[i]) < np.inf else lam[i] / scale[i]
    copy(x.lam, x.best)
    least, solved, jammed = np.inf, False, False
    for attempt in range(ROUNDS + 2):
        if attempt == (1 if about else ROUNDS + 1):
            if about:
                _harden_about(p, x, matrix, goal)
            else:
                _harden(p, x, matrix, goal)
                jammed = _is_jammed(p, x.lam, x.row)
        elif attempt > 0:
            copy(x.best, x.lam)
            _sweep(p, x.lam)
            least = _keep(p, x, least, goal)
        aim = goal if attempt == 0 else LEAST * goal
        _newton(p, x, matrix, aim, 1e-5 * aim, STEPS)
        least = _keep(p, x, least, goal)
        solved = _is_solved(p, x, goal)
        if solved:
            break
    for i in range(k):
        lam[i] = scale[i] * x.best[i]
    return SOLVED if solved else JAMMED if jammed else UNSOLVED


@helper
def _keep(p: Problem, x: Work, least: float, goal: float) -> float:
    """Remember lam, projected, where its residual is the least so far; return the least.

    Forces beyond HUGE |b| count only where they solve the problem: they grow where it has no solution.
    """
    project(p, x.lam)
    now = residual(p, x.lam, x.z, x.F)
    if now < least and (now <= 100.0 * goal or largest(x.lam) <= HUGE * largest(p.b)):
        copy(x.lam, x.best)
        return now
    return least


@helper
def _is_solved(p: Problem, x: Work, goal: float) -> bool:
    """Tell whether the residual of the best lam is small in each row: light contacts count beside heavy ones."""
    residual(p, x.best, x.z, x.F)
    for i in range(x.F.size):
        terms = abs(p.b[i])
        for j in range(x.F.size):
            terms += abs(p.A[i, j] * x.best[j])
        size = min(max(SUCCESS * terms, LEAST * goal), goal)
        if not abs(x.F[i]) <= min(size + ROUNDING * terms, 100.0 * goal):
            return False
    return True


@kernel
def run_solve(
    A: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, lam: Array, room: Array, ints: Array,
    about: bool,
) -> int:  # fmt: skip
    """Call `solve` from Python."""
    return solve(A, b, kind, size, of, bound, lam, room, ints, about)
