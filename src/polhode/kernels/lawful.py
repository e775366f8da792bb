"""The mode of contacts in space: reactions that obey all laws are found, and verified, before it counts.

    w = A lam + b  are accelerations, and by the state of each set of rows
    OPEN   lam = 0,  w_N >= 0
    HELD   w = 0;  of a normal lam_N >= 0, of tangents |lam_T| <= grip lam_N  (a brake: grip)
    SLIPS  lam_T = -bound lam_N w_T / |w_T|  (a brake: -bound w_T / |w_T|)

First a solution of all laws at once is sought. What slips by it does so with its lesser coefficient, which changes the
accelerations of others: it is sought again until nothing else slips. Where that fails, a few sets are tried state by
state: rows that hold are equations then, and only directions of slips are left to find, see `slips`.

Reference: [Pfeiffer, Glocker 1996], Multibody dynamics with unilateral contacts, chapter 6.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from . import complementarity as lcp
from .coulomb import EQUAL, TANGENT
from .kernel import helper
from .mode import UNILATERAL
from .modes import HELD, OPEN, SLIP_PLUS
from .slips import find_slips
from .views import part, square

Array = np.ndarray

MOVING = 2e-9  # of accelerations: less is none
LAWFUL = 1e-6  # of accelerations and of reactions: how far beyond a limit a mode may be that is chosen
MOST = 729  # combinations that are tried: those of six contacts
SLIPS = SLIP_PLUS  # the direction is in `part`


@helper
def one_mode(w: Any, A: Array, b: Array, many: int, given: float) -> int:
    """Set the states of the first `many` rows gathered to those of a mode that obeys all laws; 0 where none was found.

    given : the size of accelerations that forces give to rows. Directions of slips are written to `part`.
    """
    if _all_at_once(w, A, b, many, given):
        return 1
    return int(one_by_one(w, A, b, many, given, w.places[0].A))


@helper
def _all_at_once(w: Any, A: Array, b: Array, many: int, given: float) -> bool:
    """Solve with the coefficients of what sticks, and again with those of what then slips, until no more does."""
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    mu, mu_s, bound = part(w.real, v.mu, many), part(w.real, v.mu_s, many), part(w.real, v.y, many)
    found, states = part(w.real, v.found, many), part(w.whole, v.states, many)
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    for a in range(many):
        found[a], bound[a] = 0.0, mu_s[a]
    for _ in range(many + 1):
        if lcp.solve(A, b, kinds, sizes, ofs, bound, found, room, ints, False) != lcp.SOLVED:
            return False
        moving = MOVING * max(accelerations(A, b, found, part(w.real, v.c, many)), given)
        for a in range(many):
            if kinds[a] == UNILATERAL:
                states[a] = OPEN if w.real[v.c + a] > moving else HELD
        more = False
        for a in range(many):
            if kinds[a] == TANGENT and sizes[a] > 0:
                _set_slip(w, a, moving)
                if states[a] == SLIPS and bound[a] != mu[a]:
                    more = True
                    for c in range(a, a + sizes[a]):
                        bound[c] = mu[c]
        if not more:
            return is_lawful(w, A, b, many, given)
    return False


@helper
def _set_slip(w: Any, a: int, moving: float) -> None:
    """The state and direction of the tangents that begin at entry a, by their accelerations."""
    v = w.places[0]
    size = w.whole[v.sizes + a]
    fast = _length(part(w.real, v.c + a, size))
    for c in range(a, a + size):
        w.whole[v.states + c] = HELD if fast <= moving else SLIPS
        w.real[v.part + w.whole[v.which + c]] = w.real[v.c + c] / fast if fast > moving else 0.0


@helper
def _length(row: Array) -> float:
    total = 0.0
    for k in range(row.size):
        total += row[k] * row[k]
    return float(np.sqrt(total))


@helper
def accelerations(A: Array, b: Array, found: Array, out: Array) -> float:
    """out = A found + b; the largest of b, or of what the forces do."""
    most = 0.0
    for a in range(b.size):
        out[a] = b[a]
        most = max(most, abs(b[a]))
        for c in range(b.size):
            out[a] += A[a, c] * found[c]
            most = max(most, abs(A[a, c] * found[c]))
    return most


@helper
def is_lawful(w: Any, A: Array, b: Array, many: int, given: float) -> bool:
    """Whether the reactions found, and the accelerations by them, obey the laws of their states."""
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    lam, states, acc = part(w.real, v.found, many), part(w.whole, v.states, many), part(w.real, v.c, many)
    fast = LAWFUL * max(accelerations(A, b, lam, acc), given)
    strong = 0.0
    for a in range(many):
        strong = max(strong, LAWFUL * abs(lam[a]))
    for a in range(many):
        if kinds[a] == UNILATERAL:
            if states[a] == OPEN:
                good = abs(lam[a]) <= strong and acc[a] >= -fast
            else:
                good = lam[a] >= -strong and abs(acc[a]) <= fast
            if not good:
                return False
        elif sizes[a] > 0 and not (ofs[a] >= 0 and states[ofs[a]] == OPEN):
            presses = max(lam[ofs[a]], 0.0) if ofs[a] >= 0 else 1.0
            pull, slides = _length(part(lam, a, sizes[a])), _length(part(acc, a, sizes[a]))
            if states[a] == HELD:
                good = slides <= fast and pull <= w.real[v.mu_s + a] * presses + strong
            else:
                most = w.real[v.mu + a] * presses
                good = abs(pull - most) <= strong
                for c in range(a, a + sizes[a]):  # what is across the force is 0, what is along opposes it
                    good = good and abs(lam[c] * slides + most * acc[c]) <= most * fast + strong * slides
            if not good:
                return False
    return True


@helper
def one_by_one(w: Any, A: Array, b: Array, many: int, given: float, free: int) -> bool:
    """Try states of sets, all that hold first; False where none is lawful, or there are too many to try.

    free : where in w.real a matrix of all rows may be written
    """
    v = w.places[0]
    kinds, sizes, ofs = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.ofs, many)
    states, combinations = part(w.whole, v.states, many), 1
    for a in range(many):
        states[a] = HELD
        if kinds[a] == UNILATERAL or sizes[a] > 0:  # a contact has two, or three with friction; a brake has two
            combinations = 3 * combinations // 2 if ofs[a] >= 0 else 2 * combinations
    if combinations > MOST:
        return False
    again = True
    while again:
        if _tried(w, A, b, many, given, free):
            return True
        again = _advance(kinds, sizes, ofs, states)
    return False


@helper
def _advance(kinds: Array, sizes: Array, ofs: Array, states: Array) -> bool:
    """Take the next combination, the last set first, as a counter does; tangents of open normals count once."""
    for a in range(states.size - 1, -1, -1):
        if kinds[a] == UNILATERAL or sizes[a] > 0:
            first = states[a] == HELD
            idle = kinds[a] == TANGENT and ofs[a] >= 0 and states[ofs[a]] == OPEN
            for c in range(a, a + max(sizes[a], 1)):
                states[c] = HELD if not first or idle else OPEN if kinds[a] == UNILATERAL else SLIPS
            if first and not idle:
                return True
    return False


@helper
def _tried(w: Any, A: Array, b: Array, many: int, given: float, free: int) -> bool:
    """Whether there are lawful reactions for the states at hand; then states and directions are set."""
    v = w.places[0]
    states, found, ofs = part(w.whole, v.states, many), part(w.real, v.found, many), part(w.whole, v.ofs, many)
    kinds, sizes, row = part(w.whole, v.kinds, many), part(w.whole, v.sizes, many), part(w.whole, v.trial_row, many)
    n = 0
    for a in range(many):
        found[a] = 0.0
        owner = ofs[a] if kinds[a] == TANGENT and ofs[a] >= 0 else a
        if states[owner] != OPEN:
            row[n] = a
            w.whole[v.trial_kind + n], w.whole[v.trial_size + n], w.whole[v.trial_of + n] = EQUAL, 0, -1
            w.real[v.trial_bound + n] = 0.0
            if states[a] == SLIPS:
                w.whole[v.trial_kind + n], w.whole[v.trial_size + n] = TANGENT, sizes[a]
                w.real[v.trial_bound + n] = w.real[v.mu + a]
                for k in range(n):
                    if ofs[a] >= 0 and row[k] == ofs[a]:
                        w.whole[v.trial_of + n] = k
            n += 1
    G, right, lam = square(w.real, free, n, n), part(w.real, v.trial_b, n), part(w.real, v.trial_lam, n)
    for r in range(n):
        lam[r], right[r] = 0.0, b[row[r]]
        for k in range(n):
            G[r, k] = A[row[r], row[k]]
    kind, size, of = part(w.whole, v.trial_kind, n), part(w.whole, v.trial_size, n), part(w.whole, v.trial_of, n)
    room, ints = part(w.real, v.room_at, v.room), part(w.whole, v.ints_at, v.ints)
    bound = part(w.real, v.trial_bound, n)
    solved = n == 0 or lcp.solve(G, right, kind, size, of, bound, lam, room, ints, False) == lcp.SOLVED
    if not (solved or find_slips(G, right, kind, size, of, bound, lam, room, ints)):
        return False
    for r in range(n):
        found[row[r]] = lam[r]
    if not is_lawful(w, A, b, many, given):
        return False
    moving = MOVING * max(accelerations(A, b, found, part(w.real, v.c, many)), given)
    for a in range(many):
        if kinds[a] == TANGENT and sizes[a] > 0 and states[a] == SLIPS:
            _set_slip(w, a, moving)
    return True
