"""The mode that follows an event: which of the rows that touch hold, and which of them stick and slide.

    M udot = b + J^T lam,   0 <= a_N  perpendicular  lam_N >= 0,   |lam_T| <= grip lam_N

of accelerations, over what touches and stays. A few rows are tried in every combination, so that no solution, or
several, are seen; of many, and of those in space, one solution is found: see `lawful`.

Reference: [Pfeiffer, Glocker 1996], chapter 6; [Genot, Brogliato 1999] for impulses without a collision.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from . import modes as few_modes
from .begin import begin_slides
from .condense import condense, pick
from .gathering import add, moves, slow, solve_rows
from .impacts import unseen, wedge
from .kernel import helper
from .lawful import MOVING, accelerations, one_mode
from .machine import LAWS, OK
from .mode import CLOSED, EQUAL, HELD, OFF, OPENED, SLIDES, SLIPPED, STUCK, TANGENT, UNILATERAL
from .responses import ALL, free_response
from .responses import factor as factor_at
from .views import part, square

Array = np.ndarray

JAMMED = 21  # there is no mode
FEW = 4  # contacts and brakes that are tried in every combination
SHADE = 1e-7  # by which what ended a mode is made to go on
DARKEST = 1e-3  # the most, where events repeat
ROUNDING = 1e-12  # of loads, of what they would be without the forces that cancel
PATIENT = 2  # events at one time, after which what ended there is not chosen again


@helper
def choose_mode(m: Any, h: Any, w: Any, t: float, x: Array) -> int:
    """Find which of the rows that touch hold, and which of them stick and slide; OK, or JAMMED.

    Where there is no such mode, an impulse without a collision may make one [Genot, Brogliato].
    """
    u = x[m.nq : m.nq + m.nu]
    for attempt in range(3):
        solutions = _modes(m, h, w, x)
        if solutions > 0:
            w.places[0].several = int(solutions > 1)
            begin_slides(m, h, w, x, part(h.real, h.places[0].trial, h.places[0].n))
            _note_rounding(h, w)
            return OK
        if attempt == 2 or not wedge(h, w, u):
            break
    return JAMMED


@helper
def _note_rounding(h: Any, w: Any) -> None:
    """Write what rounding makes of loads: of what would stop each row alone, were there no forces that cancel.

    In free fall a machine has rows at their stops that carry nothing, and 1e-14 N this way or that are no event.
    """
    s, v = h.places[0], w.places[0]
    for i in range(s.rows):
        moved, w.real[v.floor + i] = h.real[s.W + i * s.rows + i], 0.0
        if w.whole[v.mode + i] == HELD and w.whole[v.kind + i] != EQUAL and moves(h, i):
            w.real[v.floor + i] = ROUNDING * _given(h, w, i) / moved


@helper
def remember(w: Any, t: float) -> None:
    """Note which states of rows ended at this time, so that they are not chosen again without end."""
    v = w.places[0]
    crossed, ended = part(w.whole, v.crossed, v.rows), part(w.whole, v.ended, v.rows)
    same = t - w.real[v.latest] <= 4e-15 * max(1.0, abs(t)) and t >= w.real[v.latest]
    v.repeats = v.repeats + 1 if same else 0
    w.real[v.latest] = t
    for i in range(v.rows):
        if not same:
            ended[i] = 0
        if crossed[i] == CLOSED:
            ended[i] |= few_modes.OPEN
        elif crossed[i] in (OPENED, SLIPPED):
            ended[i] |= few_modes.HELD
        elif crossed[i] == STUCK:
            ended[i] |= few_modes.SLIP_PLUS if w.real[v.slip + i] > 0.0 else few_modes.SLIP_MINUS


@helper
def _repeats(w: Any) -> bool:
    return bool(w.places[0].repeats >= PATIENT)


@helper
def _modes(m: Any, h: Any, w: Any, x: Array) -> int:
    """How many modes are consistent at the level of accelerations, 2 for more; one of them is set."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    factor_at(m, h, x)
    free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, s.rows), part(w.whole, v.mode, s.rows), ALL)
    invoke(m.code[LAWS], m.time, x, m.p, part(w.real, v.bound, 1), m.work)
    kind, size, of = part(w.whole, v.kind, rows), part(w.whole, v.size, rows), part(w.whole, v.of, rows)
    mode, closed, group = part(w.whole, v.mode, rows), part(w.whole, v.closed, rows), part(w.whole, v.group, rows)
    engaged, psi, slip = part(w.whole, v.engaged, v.groups), part(h.real, s.psi, rows), part(w.real, v.slip, rows)

    # rows whose reactions are sought: what touches and stays, and what may stick
    for i in range(rows):
        if kind[i] != EQUAL:
            mode[i] = OFF
    many = 0
    for i in range(rows):
        if kind[i] == UNILATERAL and closed[i] and _stays(h, w, i):
            many = add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
            mode[i] = HELD
    normals = many
    for i in range(rows):
        if kind[i] == TANGENT and size[i] > 0 and engaged[group[i]] and (of[i] < 0 or mode[of[i]] == HELD):
            fast = 0.0
            for k in range(i, i + size[i]):
                fast += psi[k] * psi[k]
            fast = np.sqrt(fast)
            if fast > slow(h, i):
                for k in range(i, i + size[i]):
                    mode[k], slip[k] = SLIDES, psi[k] / fast
                continue
            for k in range(i, i + size[i]):
                mode[k] = HELD
            many = _add_set(h, w, many, normals, i)
    return _consistent(h, w, many, _add_slides(h, w, many), _are_few(w, many))


@helper
def _add_set(h: Any, w: Any, many: int, normals: int, i: int) -> int:
    """Put the tangents that begin at row i and may stick into the problem, behind its normals; how many rows then."""
    v = w.places[0]
    first, size, normal, alive = w.whole[v.of + i], w.whole[v.size + i], -1, 0
    for a in range(normals):
        if w.whole[v.which + a] == first:
            normal = a
    for k in range(i, i + size):
        alive += int(moves(h, k))
    for k in range(i, i + size):
        if moves(h, k):
            many = add(w, many, k, TANGENT, alive, normal, w.real[v.bound + i], w.real[v.grip + i])
            alive = 0
    return many


@helper
def _add_slides(h: Any, w: Any, many: int) -> int:
    """Put the rows that slide behind the problem; how many rows there are then."""
    v = w.places[0]
    for i in range(h.places[0].rows):
        if w.whole[v.mode + i] == SLIDES:
            w.whole[v.which + many] = i
            many += 1
    return many


@helper
def _are_few(w: Any, many: int) -> bool:
    """Whether the rows gathered can be tried in every combination."""
    v, sets, single = w.places[0], 0, True
    for a in range(many):
        size = w.whole[v.sizes + a]
        single = single and size <= 1
        sets += int(w.whole[v.kinds + a] == UNILATERAL or (size > 0 and w.whole[v.ofs + a] < 0))
    return single and sets <= FEW


@helper
def _stays(h: Any, w: Any, i: int) -> bool:
    """Whether a row that touches is still, or leaves so slowly that it is back before it can be seen."""
    psi = h.real[h.places[0].psi + i]
    return bool(abs(psi) <= slow(h, i) or (psi > 0.0 and psi < unseen(h, w, i) and not _repeats(w)))


@helper
def _prepared(h: Any, w: Any, many: int, every: int) -> float:
    """Write A, by X, and b for the first `many` of the rows gathered; the rest slides. The largest of b.

    What slides has a force that is known, or one that its normal row brings with it.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, r, equal = square(h.real, s.W, rows, rows), part(w.real, v.r, rows), part(w.whole, v.equal, rows)
    which, F, X = part(w.whole, v.which, every), square(w.real, v.F, rows, rows), square(w.real, v.X, rows, rows)
    whole, b = square(w.real, v.A, every, every), part(w.real, v.b, every)
    condense(W, r, equal, v.equals, F, which, every, X, part(w.real, v.y, rows), whole, b)
    of, size = part(w.whole, v.of, rows), part(w.whole, v.size, rows)
    slip, bound = part(w.real, v.slip, rows), part(w.real, v.bound, rows)
    for e in range(many, every):
        first = which[e] if size[which[e]] > 0 else which[e] - 1
        normal = -1
        for a in range(many):
            if which[a] == of[first]:
                normal = a
        for a in range(every):
            push = bound[first] * slip[which[e]] * whole[a, e]
            if of[first] < 0:
                b[a] -= push
            elif normal >= 0:
                whole[a, normal] -= push
    A, most = square(w.real, v.X, many, many), 0.0
    for a in range(many):
        most = max(most, abs(b[a]))
        for c in range(many):
            A[a, c] = whole[a, c]
    return most


@helper
def _consistent(h: Any, w: Any, many: int, every: int, few: bool) -> int:
    """Solve for the first `many` of the rows gathered, and set their modes. How many solutions there are."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    most = _prepared(h, w, many, every)
    if many == 0:
        return 1
    which, A, b = part(w.whole, v.which, many), square(w.real, v.X, many, many), part(w.real, v.b, many)
    mode, of, size = part(w.whole, v.mode, rows), part(w.whole, v.of, rows), part(w.whole, v.size, rows)
    slip = part(w.real, v.slip, rows)

    # what ended a mode is made to go on
    kinds, mu_s = part(w.whole, v.kinds, many), part(w.real, v.mu_s, many)
    crossed = part(w.whole, v.crossed, rows)
    dark = min(SHADE * 2.0 ** max(v.repeats - PATIENT, 0), DARKEST)
    size_of_all = max(most, _fastest(h, w, every))
    for a in range(many):
        if crossed[which[a]] == OPENED:  # at a pole of its reaction, where friction jams, it does not leave
            shade = dark * max(size_of_all, _carried(h, w, many, which[a]))
            b[a] = shade + (abs(b[a]) if many == 1 and abs(b[a]) <= 10.0 * shade else b[a])
        first = which[a] if size[which[a]] > 0 else which[a] - 1
        if kinds[a] == TANGENT and crossed[first] == SLIPPED:
            mu_s[a] *= 1.0 - dark
            w.real[v.mu + a] = min(w.real[v.mu + a], mu_s[a])  # so that it slips where it no longer sticks
        if kinds[a] == TANGENT and crossed[first] == STUCK and _repeats(w):
            mu_s[a] *= 1.0 + dark
    states = part(w.whole, v.states, many)
    if few:
        solutions = _few(h, w, A, b, many, few_modes.ANY, _repeats(w))
        if solutions == 0 and _repeats(w):
            solutions = _few(h, w, A, b, many, few_modes.ANY, False)
        alone = many == 1 and _repeats(w) and solutions > 0  # what ended here, and shares with none, does not go on
        if not _all_hold(states) and not alone and _moves_on(h, w, A, b, many) == 0.0:  # with other forces
            solutions = max(solutions, 1)
            for a in range(many):
                states[a] = few_modes.HELD
    else:
        solutions = one_mode(w, A, b, many, _fastest(h, w, many))
    for a in range(many):
        i = which[a]
        if states[a] == few_modes.OPEN:
            mode[i] = OFF
        elif states[a] == few_modes.HELD:
            mode[i] = HELD
        else:
            mode[i] = SLIDES
            slip[i] = w.real[v.part + i] if not few else 1.0 if states[a] == few_modes.SLIP_PLUS else -1.0
    for i in range(rows):  # what nothing presses, and rows of a set that nothing moves
        if size[i] == 2 and mode[i] == SLIDES and few and not moves(h, i + 1):
            mode[i + 1], slip[i + 1] = SLIDES, 0.0
        if size[i] == 2 and few and not moves(h, i) and mode[i + 1] == SLIDES:
            mode[i], slip[i] = SLIDES, 0.0
        if w.whole[v.kind + i] == TANGENT and of[i] >= 0 and mode[of[i]] == OFF:
            mode[i] = OFF
    return solutions


@helper
def _carried(h: Any, w: Any, many: int, i: int) -> float:
    """The acceleration of row i by the largest load of the mode that ends, its own or one that it shares.

    Where rows repeat others, some seem to carry nothing; all that passes 0 at once is told by what carried most.
    """
    v, most, first = w.places[0], 0.0, h.places[0].W + i * h.places[0].rows
    for a in range(many):
        j = w.whole[v.which + a]
        if w.whole[v.crossed + j] == OPENED:
            most = max(most, abs(h.real[first + j] * w.real[v.heft + j]))
    return float(most)


@helper
def _few(h: Any, w: Any, A: Array, b: Array, many: int, may: int, new: bool) -> int:
    """All modes of few rows, tried one by one, of the states that rows may have.

    new : without those that ended at this time
    """
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    mu, mu_s, found = part(w.real, v.mu, many), part(w.real, v.mu_s, many), part(w.real, v.found, many)
    states, allowed = part(w.whole, v.states, many), part(w.whole, v.allowed, many)
    still = _fastest(h, w, many)
    for a in range(many):
        allowed[a], found[a], still = may, 0.0, max(still, abs(b[a]))
        i = w.whole[v.which + a]
        if new:
            allowed[a] &= ~w.whole[v.ended + (i if kinds[a] == UNILATERAL or w.whole[v.size + i] > 0 else i - 1)]
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    return int(few_modes.modes(A, b, kinds, sizes, ofs, mu, mu_s, states, allowed, found, MOVING * still, room, ints))


@helper
def _all_hold(states: Array) -> bool:
    for a in range(states.size):  # noqa: SIM110 - Numba has no all() of this kind
        if states[a] != few_modes.HELD:
            return False
    return True


@helper
def _moves_on(h: Any, w: Any, A: Array, b: Array, many: int) -> float:
    """Look for reactions, from none: see `_fast`."""
    found = part(w.real, w.places[0].found, many)
    for a in range(many):
        found[a] = 0.0
    solve_rows(w, A, b, many)
    return _fast(h, w, A, b, many)


@helper
def _fast(h: Any, w: Any, A: Array, b: Array, many: int) -> float:
    """The acceleration above which a row moves by the reactions found, where one does; else 0. All are in `c`."""
    found, left = part(w.real, w.places[0].found, many), part(w.real, w.places[0].c, many)
    moving = MOVING * max(accelerations(A, b, found, left), _fastest(h, w, many))
    for a in range(many):
        if abs(left[a]) > moving:
            return moving
    return 0.0


@helper
def _fastest(h: Any, w: Any, many: int) -> float:
    """The largest acceleration that forces give to a row of the problem where nothing reacts, before any cancel.

    So there is a size to compare with also where all is at rest beside its ground: what falls with a plate that falls.
    """
    v, most = w.places[0], 0.0
    for a in range(many):
        most = max(most, _given(h, w, w.whole[v.which + a]))
    for k in range(v.equals):
        most = max(most, _given(h, w, w.whole[v.equal + k]))
    return most


@helper
def _given(h: Any, w: Any, i: int) -> float:
    """|gamma| + |J M^-1| |b| of a row, by the factors at hand."""
    s, v = h.places[0], w.places[0]
    total = abs(h.real[s.f_gamma + i])
    for e in range(h.whole[s.b_start + i], h.whole[s.b_start + i + 1]):
        j = h.whole[s.b_index + e]
        total += abs(h.real[s.B + e] * w.real[v.g + j] * h.real[s.pivots + j])
    return float(total)


@helper
def examine(h: Any, w: Any, value: Array) -> None:
    """Tell of rows that hold whether their laws can be satisfied together, where reactions are not determined.

    Writes 1 to `value` of a row that only pushes or that sticks, -1 where it cannot go on so.
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    kind, size, mode = part(w.whole, v.kind, rows), part(w.whole, v.size, rows), part(w.whole, v.mode, rows)
    equal, which = part(w.whole, v.equal, rows), part(w.whole, v.which, rows)
    free_response(h, part(w.real, v.g, s.n), part(w.real, v.r, rows), part(w.whole, v.mode, s.rows), ALL)
    equals, many = 0, 0
    for i in range(rows):
        if kind[i] == EQUAL and mode[i] == HELD:
            equal[equals] = i
            equals += 1
        if kind[i] == UNILATERAL and mode[i] == HELD:
            many = add(w, many, i, UNILATERAL, 0, -1, 0.0, 0.0)
    W, rho2 = square(h.real, s.W, rows, rows), part(h.real, s.rho2, rows)
    v.equals = pick(W, rho2, equal, equals, square(w.real, v.F, rows, rows), part(w.real, v.y, rows))
    normals = many
    for i in range(rows):
        if kind[i] == TANGENT and size[i] > 0 and mode[i] == HELD:
            many = _add_set(h, w, many, normals, i)
    _prepared(h, w, many, _add_slides(h, w, many))
    A, b = square(w.real, v.X, many, many), part(w.real, v.b, many)
    moving, left = _moving(h, w, A, b, many), part(w.real, v.c, many)
    for a in range(many):
        i = which[a]
        owner = i if kind[i] == UNILATERAL or size[i] > 0 else i - 1
        if i == owner or value[owner] > 0.0:
            value[owner] = -1.0 if moving > 0.0 and abs(left[a]) > moving else 1.0


@helper
def _moving(h: Any, w: Any, A: Array, b: Array, many: int) -> float:
    """The acceleration above which rows move, where not all can stay as they are; else 0. Theirs are in `c`.

    It is asked as it is where a mode is chosen: what is said to go on here must go on there.
    """
    v = w.places[0]
    which, found, warm = part(w.whole, v.which, many), part(w.real, v.found, many), w.real
    for a in range(many):
        found[a] = warm[v.warm + which[a]]
    solve_rows(w, A, b, many)
    for a in range(many):
        warm[v.warm + which[a]] = found[a]
    if _fast(h, w, A, b, many) == 0.0:
        return 0.0
    if (
        _are_few(w, many)
        and _few(h, w, A, b, many, few_modes.HELD, False) > 0
        and _all_hold(part(w.whole, v.states, many))
    ):
        return 0.0
    return _moves_on(h, w, A, b, many)
