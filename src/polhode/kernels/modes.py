"""Which contacts hold, slide or open: every combination is tried, for a few contacts.

    w = A lam + b  are accelerations, and each row has a state that says what it obeys:
    OPEN        lam = 0,  w >= 0
    HELD        w = 0;  of a normal lam >= 0, of a tangent |lam| <= grip lam_N  (a brake: grip)
    SLIP_PLUS   lam = -bound lam_N  (-bound),  w >= 0
    SLIP_MINUS  lam = +bound lam_N  (+bound),  w <= 0

Tangents come in sets of one row, at most one for a normal, and slip or hold only where their normal
holds. One that no force moves slips as it is moved, and holds where it is not. Coulomb's law may have
several solutions or none where friction is strong: both are found here, while `complementarity` finds
one where there is one.

Reference: [Painleve 1895], Sur les lois du frottement de glissement;
[Pfeiffer, Glocker 1996], Multibody dynamics with unilateral contacts, ch. 6.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .coulomb import EQUAL, NORMAL, REGULAR, TANGENT, Problem, copy, divide, factor, largest, scaled
from .kernel import helper, kernel
from .views import part, square

Array = np.ndarray

OPEN, HELD, SLIP_PLUS, SLIP_MINUS = 1, 2, 4, 8
ANY = OPEN | HELD | SLIP_PLUS | SLIP_MINUS
SLIDES = 16  # beside one SLIP in `allowed`: it slides already, and w may have any sign
MOST = 10_000  # combinations: four contacts have 1,296
TOO_MANY = -1

SINGULAR = 1e-9  # least pivot, where A is 1, below which rows repeat
SLACK = 1e-10  # of b: how far w and lam may be beyond a limit
ROUNDING = 1e-13  # of lam, the same
SAME = 1e-9  # of b: accelerations that differ less are one
REFINED = 4  # solutions that take back what REGULAR changes


class Trial(NamedTuple):
    """A combination that is tried, scaled; a value a row."""

    state: Array
    grip: Array
    lam: Array
    w: Array
    unknown: Array  # the first n: rows with w = 0
    x: Array  # their lam
    rest: Array
    order: Array


@helper
def modes(
    A: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, grip: Array,
    state: Array, allowed: Array, lam: Array, still: float, room: Array, ints: Array,
) -> int:  # fmt: skip
    """Find the states that agree with Coulomb's law; return how many accelerations they have: 0, 1, 2 for more.

    A (k, k), which may be nonsymmetric; the others (k,); room (room_for(k),), ints (ints_for(k),).
    allowed : which states may be tried, a sum of them; a tangent is OPEN whenever its normal is
    still   : |b| up to which a tangent that no force moves holds
    state, lam : of the solution with the fewest open contacts, then the fewest that slip, then
                 the first; untouched where none was found

    Internal forces of redundant contacts do not count: solutions with the same w are one, for
    they have the same motion. Returns TOO_MANY for more than MOST combinations.
    """
    k = b.size
    scale = part(room, k * k + 2 * k, k)
    p = scaled(A, b, kind, size, of, bound, scale, room, ints)
    at, size_b = k * k + 3 * k, largest(p.b)
    t = Trial(
        part(ints, k, k), part(room, at, k), part(room, at + k, k), part(room, at + 2 * k, k), part(ints, 2 * k, k),
        part(room, at + 3 * k, k), part(room, at + 4 * k, k), part(ints, 3 * k, k),
    )  # fmt: skip
    reference, matrix, may = part(room, at + 5 * k, k), part(room, at + 6 * k, k * k), part(ints, 4 * k, k)
    combinations = 1
    for i in range(k):
        t.grip[i] = grip[i] / scale[i] if of[i] < 0 else grip[i]
        may[i] = HELD if kind[i] == EQUAL else allowed[i]
        if p.dead[i]:
            may[i] = HELD if abs(b[i]) <= still else SLIP_PLUS if b[i] > 0.0 else SLIP_MINUS
        t.state[i] = _after(kind[i], 0, may[i])
        choices, choice = 0, t.state[i]
        while choice != 0:
            choices += 1
            choice = _after(kind[i], choice, may[i])
        combinations *= max(choices, 1)
        if combinations > MOST:
            return TOO_MANY
    found, cost = 0, 0
    for _ in range(combinations):
        if _is_sensible(p, t, may) and _settle(p, t, matrix, size_b) and _is_lawful(p, t, may, size_b):
            price = _price(p, t)
            if found == 0:
                copy(t.w, reference)
            elif _differs(t.w, reference, SAME * size_b):
                found = 2
            if found == 0 or price < cost:
                cost, found = price, max(found, 1)
                for i in range(k):
                    lam[i] = scale[i] * t.lam[i]
                    state[i] = OPEN if _is_open(p, t, i) else t.state[i]
        _advance(p, t, may)
    return found


@helper
def _after(kind: int, state: int, allowed: int) -> int:
    """The next state in order of preference that is allowed, after none (0); 0 after the last."""
    if kind == NORMAL:
        if state == 0 and allowed & HELD:
            return HELD
        return OPEN if state != OPEN and allowed & OPEN else 0
    state = HELD if state == 0 else 2 * state
    while state <= SLIP_MINUS and not allowed & state:
        state *= 2
    return state if state <= SLIP_MINUS else 0


@helper
def _advance(p: Problem, t: Trial, may: Array) -> None:
    """Take the next combination, the last row first, as a counter does."""
    for i in range(t.state.size - 1, -1, -1):
        t.state[i] = _after(p.kind[i], t.state[i], may[i])
        if t.state[i] != 0:
            return
        t.state[i] = _after(p.kind[i], 0, may[i])


@helper
def _is_open(p: Problem, t: Trial, i: int) -> bool:
    """Tell whether a normal is open, or that of a tangent; never for a brake or a constraint."""
    if p.kind[i] == TANGENT:
        return bool(p.of[i] >= 0 and t.state[p.of[i]] == OPEN)
    return bool(t.state[i] == OPEN)


@helper
def _is_sensible(p: Problem, t: Trial, may: Array) -> bool:
    """Tell whether each row has a state; tangents of open contacts have none of their own, and count once."""
    for i in range(t.state.size):
        first = _after(p.kind[i], 0, may[i])
        if t.state[i] != first if p.kind[i] == TANGENT and _is_open(p, t, i) else t.state[i] == 0:
            return False
    return True


@helper
def _price(p: Problem, t: Trial) -> int:
    """Count what slips, and more for what opens: the least is preferred."""
    price = 0
    for i in range(t.state.size):
        if p.kind[i] == NORMAL:
            price += t.state.size if t.state[i] == OPEN else 0
        elif not _is_open(p, t, i) and t.state[i] != HELD:
            price += 1
    return price


@helper
def _force(p: Problem, t: Trial, i: int) -> float:
    """The force of a tangent that slips, of that of its normal, or of 1 for a brake; 0 for others."""
    if p.kind[i] != TANGENT or _is_open(p, t, i) or t.state[i] == HELD:
        return 0.0
    return float(-p.bound[i] if t.state[i] == SLIP_PLUS else p.bound[i])


@helper
def _assemble(p: Problem, t: Trial, G: Array, soft: float) -> None:
    """How w of the unknown rows depends on their lam, with that of what slips."""
    n = G.shape[0]
    for c in range(n):
        j = t.unknown[c]
        for r in range(n):
            G[r, c] = p.A[t.unknown[r], j] + (soft if r == c else 0.0)
        for s in range(p.b.size):
            if p.of[s] == j:
                force = _force(p, t, s)
                for r in range(n):
                    G[r, c] += force * p.A[t.unknown[r], s]


@helper
def _settle(p: Problem, t: Trial, matrix: Array, size_b: float) -> bool:
    """Solve w = 0 for the rows that are held; False where that contradicts itself."""
    k, n = p.b.size, 0
    for i in range(k):
        t.x[i] = 0.0
        if t.state[i] == HELD and not _is_open(p, t, i) and not p.dead[i]:
            t.unknown[n] = i
            n += 1
    G, order, rest = square(matrix, 0, n, n), part(t.order, 0, n), part(t.rest, 0, n)
    _assemble(p, t, G, 0.0)
    repeats = factor(G, order) < SINGULAR
    if repeats:
        _assemble(p, t, G, REGULAR)
        factor(G, order)
    for _ in range(REFINED if repeats else 2):
        _move(p, t, n)
        for r in range(n):
            rest[r] = -t.w[t.unknown[r]]
        divide(G, order, rest)
        for r in range(n):
            t.x[r] += rest[r]
    _move(p, t, n)
    left = 0.0
    for r in range(n):
        left = max(left, abs(t.w[t.unknown[r]]))
    return left <= _slack(t, size_b)


@helper
def _move(p: Problem, t: Trial, n: int) -> None:
    """All forces from those of the held rows, and w."""
    k = p.b.size
    for i in range(k):
        t.lam[i], t.w[i] = 0.0, p.b[i]
    for r in range(n):
        t.lam[t.unknown[r]] = t.x[r]
    for i in range(k):
        if p.kind[i] == TANGENT and t.state[i] != HELD:
            t.lam[i] = _force(p, t, i) * (t.lam[p.of[i]] if p.of[i] >= 0 else 1.0)
    for i in range(k):
        for j in range(k):
            t.w[i] += p.A[i, j] * t.lam[j]


@helper
def _slack(t: Trial, size_b: float) -> float:
    return SLACK * size_b + ROUNDING * largest(t.lam)


@helper
def _is_lawful(p: Problem, t: Trial, may: Array, size_b: float) -> bool:
    """Tell whether all forces and accelerations are within the limits of their states."""
    slack = _slack(t, size_b)
    for i in range(t.lam.size):
        if p.dead[i] or p.kind[i] == EQUAL:
            continue
        if p.kind[i] == NORMAL:
            short = -t.w[i] if t.state[i] == OPEN else -t.lam[i]
        elif _is_open(p, t, i):
            continue
        elif t.state[i] == HELD:
            short = abs(t.lam[i]) - t.grip[i] * (t.lam[p.of[i]] if p.of[i] >= 0 else 1.0)
        elif may[i] & SLIDES:
            continue
        else:
            short = -t.w[i] if t.state[i] == SLIP_PLUS else t.w[i]
        if not short <= slack:
            return False
    return True


@helper
def _differs(w: Array, other: Array, least: float) -> bool:
    for i in range(w.size):  # noqa: SIM110 - Numba has no any() of this kind
        if abs(w[i] - other[i]) > least:
            return True
    return False


@kernel
def run_modes(
    A: Array, b: Array, kind: Array, size: Array, of: Array, bound: Array, grip: Array,
    state: Array, allowed: Array, lam: Array, room: Array, ints: Array,
) -> int:  # fmt: skip
    """Call `modes` from Python."""
    return modes(A, b, kind, size, of, bound, grip, state, allowed, lam, SAME * largest(b), room, ints)
