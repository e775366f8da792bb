"""The second problem of a step of impulses: those that change its speeds, with restitution. See `moreau`."""

from __future__ import annotations

from typing import Any

import numpy as np

from . import complementarity as lcp
from .condense import complete, condense
from .gathering import gather, solve_rows
from .kernel import helper
from .mode import HELD, TANGENT, UNILATERAL
from .stepping import Array, copy, fill
from .views import part, square

SHARES = (1.0, 0.5, 0.25, 0.0)  # of restitution, that are tried until no energy is made
ROUNDING = 1e-12  # of what the work of impulses adds up


@helper
def gripped(w: Any, first: int, many: int, size: float) -> int:
    """Let what stuck in the step before have its static coefficient; how many rows there are."""
    v = w.places[0]
    for a in range(first, many):
        i = w.whole[v.which + a]
        if w.whole[v.kind + i] == TANGENT:
            owner = i if w.whole[v.size + i] > 0 else i - 1
            if w.whole[v.mode + owner] == HELD:
                w.real[v.mu_s + a] = w.real[v.grip + owner] * (size if w.whole[v.of + owner] < 0 else 1.0)
    return many


@helper
def _marked(h: Any, w: Any, size: float, brakes: bool) -> int:
    """Gather the rows that are marked; how many."""
    s, v = h.places[0], w.places[0]
    many = 0
    for i in range(s.rows):
        if w.real[v.c + i] > 0.0 and (brakes or w.whole[v.kind + i] == UNILATERAL):
            many = gripped(w, many, gather(h, w, i, many, size), size)
    return many


@helper
def rebound(h: Any, w: Any, before: Array, size: float, slow: float) -> bool:
    """Solve for the impulses that change the speeds, of the rows that are marked; whether they are solved for."""
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi, lam = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows), part(w.real, v.lam, rows)
    given, back, first = part(w.real, v.rate, rows), part(w.real, v.part, rows), part(w.real, v.total, rows)
    fill(first, 0.0)
    stopped = _stop(h, w, before, first)
    many = _marked(h, w, size, True)
    solved, leaves = True, 0
    for share in SHARES:
        leaves = _leave(h, w, before, first, share, slow)
        for i in range(rows):
            lam[i] = first[i] + back[i]
        _shift(W, lam, psi, 1.0)
        solved = impulses(h, w, many, given, back)
        for i in range(rows):
            given[i] = first[i] + back[i]  # no longer needed as it was
        _shift(W, given, psi, -1.0)
        for i in range(rows):
            lam[i] += given[i]
        if not leaves or not _makes_energy(W, before, psi, lam):
            break
    return solved and stopped


@helper
def _stop(h: Any, w: Any, before: Array, first: Array) -> bool:
    """Solve for what stops rows that approach at the start of a step, where restitution is Poisson's; else nothing."""
    s, v = h.places[0], w.places[0]
    needed = False
    for i in range(s.rows):
        w.real[v.rate + i], w.real[v.part + i] = 0.0, 0.0
        needed = needed or (w.real[v.c + i] > 0.0 and w.whole[v.poisson + i] != 0)
    if not needed:
        return True
    psi, ended, warm = part(h.real, s.psi, s.rows), part(w.real, v.rate0, s.rows), part(w.real, v.least, s.rows)
    copy(psi, ended)
    copy(before, psi)
    copy(part(w.real, v.warm, s.rows), warm)
    many = _marked(h, w, 0.0, False)
    solved = impulses(h, w, many, part(w.real, v.rate, s.rows), part(w.real, v.part, s.rows))
    copy(part(w.real, v.lam, s.rows), first)
    copy(warm, part(w.real, v.warm, s.rows))
    copy(ended, psi)
    return solved


@helper
def _leave(h: Any, w: Any, before: Array, first: Array, share: float, slow: float) -> int:
    """Write what rows leave by: by Newton a speed, by Poisson a part of what stopped them; how many do."""
    s, v = h.places[0], w.places[0]
    count = 0
    for i in range(s.rows):
        w.real[v.rate + i], w.real[v.part + i] = 0.0, 0.0
        if w.real[v.c + i] == 0.0 or w.whole[v.kind + i] != UNILATERAL:
            continue
        e, least = share * w.real[v.restitution + i], slow * np.sqrt(h.real[s.reach2 + i])
        if w.whole[v.poisson + i]:
            if h.real[s.W + i * s.rows + i] * first[i] > least:
                w.real[v.part + i] = e * first[i]
                count += int(e > 0.0)
        elif before[i] < -least:
            w.real[v.rate + i] = e * before[i]
            count += int(e > 0.0)
    return count


@helper
def _shift(W: Array, lam: Array, psi: Array, sign: float) -> None:
    """psi += sign W lam"""
    for k in range(lam.size):
        if lam[k] != 0.0:
            for i in range(psi.size):
                psi[i] += sign * W[i, k] * lam[k]


@helper
def _makes_energy(W: Array, before: Array, psi: Array, lam: Array) -> bool:
    """Tell whether Lam (psi- + psi+) / 2 is more than rounding, with psi- where the step starts, psi+ where it ends."""
    gained, terms = 0.0, 0.0
    for i in range(lam.size):
        if lam[i] != 0.0:
            after = psi[i]
            for k in range(lam.size):
                after += W[i, k] * lam[k]
            gained += 0.5 * lam[i] * (before[i] + after)
            terms += 0.5 * abs(lam[i]) * (abs(before[i]) + abs(after))
    return gained > ROUNDING * terms


@helper
def impulses(h: Any, w: Any, many: int, given: Array, back: Array) -> bool:
    """Solve for the impulses of the rows gathered; whether they are solved for.

    given : what is added to the speeds of rows; back : what unilateral ones carry beside, for friction
    """
    s, v = h.places[0], w.places[0]
    rows = s.rows
    W, psi = square(h.real, s.W, rows, rows), part(h.real, s.psi, rows)
    which, equal, F = part(w.whole, v.which, many), part(w.whole, v.equal, rows), square(w.real, v.F, rows, rows)
    A, b, y = square(w.real, v.A, many, many), part(w.real, v.b, many), part(w.real, v.y, rows)
    condense(W, psi, equal, v.equals, F, which, many, square(w.real, v.X, rows, rows), y, A, b)
    found, warm = part(w.real, v.found, many), part(w.real, v.warm, rows)
    for a in range(many):
        i = which[a]
        found[a] = warm[i]
        b[a] += given[i]
        if w.whole[v.kinds + a] == UNILATERAL:
            w.real[v.mu_s + a] = back[i]
    solved = many == 0 or solve_rows(w, A, b, many) == lcp.SOLVED
    for a in range(many):
        warm[which[a]] = found[a]
    complete(W, psi, equal, v.equals, F, which, many, found, y, part(w.real, v.lam, rows))
    return solved
