"""Rows of constraints by the factors at a state: which of them hold there, and what they respond with.

Native code solves for all rows of a machine; where others hold, they are chosen in W = J M^-1 J^T.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .constrained import UNDECIDED, UNKNOWN
from .factors import choose, halve, is_definite, is_whole, make_responses, pull, push, react
from .kernel import helper, inlined
from .machine import FACTORS
from .rows import mark
from .stepping import copy, fill
from .views import part, square

HOLDING, ACTING, ALL = 1, 2, 3  # rows that W is known of: those that hold, those that also slide, all


@inlined
def factor(m: Any, h: Any, x: np.ndarray) -> None:
    """Have the factors of a state."""
    s = h.places[0]
    invoke(m.code[FACTORS], m.time, x, m.tau, m.p, part(h.real, s.f_carried, 1), m.work)
    s.nearby = is_definite(part(h.real, s.pivots, s.n), part(h.real, s.inertias, s.n))
    s.count = s.count_q = UNKNOWN
    s.known = 0
    s.whole = s.nearby and s.direct and s.all and _is_whole(h)


@inlined
def _is_whole(h: Any) -> bool:
    """Tell whether native code solves for the rows that hold, and mark those it does."""
    s = h.places[0]
    left, had, rho2 = part(h.real, s.left, s.rows), part(h.real, s.had, s.rows), part(h.real, s.rho2, s.rows)
    solved, used = part(h.whole, s.solved, s.rows), part(h.whole, s.used, s.rows)
    used_q = part(h.whole, s.used_q, s.rows)
    if not is_whole(left, had, rho2, solved, part(h.whole, s.geometric, s.rows)):
        return False
    for i in range(s.rows):
        used[i] = solved[i]
        if not s.joints:
            used_q[i] = used[i]
    return True


@helper
def least_left(h: Any) -> float:
    """The margin where native code solves: the least that a row has of its own, of its reference."""
    s = h.places[0]
    left, rho2, solved = part(h.real, s.left, s.rows), part(h.real, s.rho2, s.rows), part(h.whole, s.solved, s.rows)
    least = np.inf
    for i in range(s.rows):
        if solved[i]:
            least = min(least, left[i] / rho2[i])
    return float(np.sqrt(least))


@inlined
def room_of(h: Any, F: int, lam: int, chosen: int) -> Any:
    """Room for the rows chosen in W: their Cholesky factor, their reactions, and which they are."""
    rows = h.places[0].rows
    return square(h.real, F, rows, rows), part(h.real, lam, rows), part(h.whole, chosen, rows)


@helper
def know(h: Any, wanted: np.ndarray, level: int) -> None:
    """Have W and B = D^-1 L^-1 J^T of the factors at hand, for the rows that are wanted: see HOLDING."""
    s = h.places[0]
    if s.known >= level:
        return
    make_responses(
        part(h.real, s.f_J, s.j_entries), part(h.whole, s.j_start, s.rows + 1), part(h.whole, s.j_index, s.j_entries),
        part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1), part(h.whole, s.l_index, s.l_entries),
        part(h.whole, s.order, s.n), part(h.real, s.pivots, s.n), part(h.whole, s.b_start, s.rows + 1),
        part(h.whole, s.b_index, s.b_entries), part(h.real, s.step, s.n), part(h.real, s.B, s.b_entries),
        square(h.real, s.W, s.rows, s.rows), wanted, level == ALL,
    )  # fmt: skip
    s.known = level


@helper
def free_response(h: Any, g: np.ndarray, r: np.ndarray, wanted: np.ndarray, level: int) -> None:
    """g = D^-1 L^-1 b, from which motions without reactions follow, and r = J M^-1 b + gamma of the rows wanted."""
    s = h.places[0]
    know(h, wanted, level)
    copy(part(h.real, s.f_b, s.n), g)
    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    halve(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), g)
    B, start_b, index_b = (
        part(h.real, s.B, s.b_entries),
        part(h.whole, s.b_start, s.rows + 1),
        part(h.whole, s.b_index, s.b_entries),
    )
    gamma, pivots = part(h.real, s.f_gamma, s.rows), part(h.real, s.pivots, s.n)
    for i in range(s.rows):
        if not (level == ALL or wanted[i]):
            continue
        r[i] = gamma[i]
        for e in range(start_b[i], start_b[i + 1]):
            r[i] += B[e] * g[index_b[e]]
    for j in range(s.n):
        g[j] /= pivots[j]


@helper
def choose_rows(
    h: Any, active: np.ndarray, used: np.ndarray, F: np.ndarray, chosen: np.ndarray, room: np.ndarray
) -> int:
    """The number of rows that are independent, marked as used; UNDECIDED where the factors do not tell."""
    s = h.places[0]
    if not s.nearby:
        return UNDECIDED
    W, rho2 = square(h.real, s.W, s.rows, s.rows), part(h.real, s.rho2, s.rows)
    know(h, part(h.whole, s.active, s.rows), HOLDING)
    count = choose(W, rho2, active, part(h.whole, s.geometric, s.held), F, chosen, room)
    if count >= 0:
        mark(used, chosen, count)
    return count


@helper
def respond_to(h: Any, v: np.ndarray, right: np.ndarray, lam: np.ndarray) -> None:
    """Solve M v = b + J^T lam, J v = -right by the rows chosen in W; v is b before."""
    s = h.places[0]
    F, found, chosen = room_of(h, s.F, s.lam_f, s.chosen)
    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    halve(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), v)
    B, start_b = part(h.real, s.B, s.b_entries), part(h.whole, s.b_start, s.rows + 1)
    index_b, pivots = part(h.whole, s.b_index, s.b_entries), part(h.real, s.pivots, s.n)
    for k in range(s.count):
        i = chosen[k]
        total = right[i]
        for e in range(start_b[i], start_b[i + 1]):
            total += B[e] * v[index_b[e]]
        found[k] = -total
    for j in range(s.n):
        v[j] /= pivots[j]
    push_back(h, F, chosen, s.count, found, v)
    fill(lam, 0.0)
    for k in range(s.count):
        lam[chosen[k]] = found[k]


@helper
def push_back(h: Any, F: np.ndarray, chosen: np.ndarray, count: int, lam: np.ndarray, out: np.ndarray) -> None:
    """out = L^-T (out + B lam) with W lam what lam was before."""
    s = h.places[0]
    react(F, count, lam)
    B, start_b = part(h.real, s.B, s.b_entries), part(h.whole, s.b_start, s.rows + 1)
    pull(B, start_b, part(h.whole, s.b_index, s.b_entries), chosen, count, lam, out)
    L, start_l = part(h.real, s.L, s.l_entries), part(h.whole, s.l_start, s.n + 1)
    push(L, start_l, part(h.whole, s.l_index, s.l_entries), part(h.whole, s.order, s.n), out)
