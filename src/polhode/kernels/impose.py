"""Reactions and impulses of many states, as Python asks for them."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile.invoke import invoke

from .hold import embedded
from .kernel import kernel
from .machine import OK, TABLE
from .settle import measure
from .stepping import copy, fill
from .table import reactions, still
from .views import part


@kernel
def respond(m: Any, t: np.ndarray, x: np.ndarray, tau: np.ndarray, dx: np.ndarray, lam: np.ndarray) -> None:
    """Write the rate of change and the reactions, J^T lam, of many states that satisfy their constraints: a row each.

    Of reactions that are not determined, where rows repeat others, the least. NaN where a state has no rate.
    """
    h = m.constrained
    s = h.places[0]
    for k in range(len(t)):
        copy(tau[k], m.tau)
        m.time[0] = t[k]
        if embedded(m, h, x[k], dx[k], k >= 0) != OK:
            fill(dx[k], np.nan)
            fill(lam[k], np.nan)
            continue
        v, d = part(h.real, s.normal, s.n), part(h.real, s.d, s.n)
        for j in range(s.n):
            v[j] = dx[k, m.nq + j] / d[j]
        reactions(h, s.rank, v)
        copy(part(h.real, s.lam, s.rows), lam[k])


@kernel
def strike(m: Any, t: np.ndarray, x: np.ndarray, restitution: float, after: np.ndarray, impulse: np.ndarray) -> None:
    """Write the speeds after the active rows were imposed at states, and their impulses: a row each.

    M (u+ - u-) = J^T impulse,  psi(u+) = -restitution psi(u-).  Reference: [Gillespie, section 4, block 5].
    """
    h = m.constrained
    s = h.places[0]
    psi, d = part(h.real, s.psi, s.rows), part(h.real, s.d, s.n)
    v = part(h.real, s.trial, s.n)
    active, used = part(h.whole, s.active, s.held), part(h.whole, s.used, s.held)
    for k in range(len(t)):
        measure(m, h, t[k], x[k])
        for i in range(s.rows):
            psi[i] *= 1.0 + restitution
        invoke(m.code[TABLE], m.time, x[k], m.tau, m.p, part(h.real, s.t_carried, 1), m.work)
        if not still(h, active, used, psi, s.any, v):
            fill(after[k], np.nan)
            fill(impulse[k], np.nan)
            continue
        for j in range(s.n):
            after[k, j] = x[k, m.nq + j] + v[j]
            v[j] /= d[j]
        reactions(h, s.eliminated, v)
        copy(part(h.real, s.lam, s.rows), impulse[k])
