"""Which rows of constraints are independent: decided at a state alone, without units.

A row of J is measured in the kinetic metric, by a reference that is not the row
itself: rho_i^2 = sum_j E_ij^2 / d_j, with E what its entries could be
(`Constraints.reference`) and d_j the inertia of speed j. In the table

    J_ij / (least_i rho_i sqrt(d_j))

a pivot of 1 is the least that counts: 1e-5 of the reference for rows whose
coefficients come from geometry, which files round, and 1e-12 for rows with
coefficients of the user's own, gears of 1 : 1e6 among them.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from .kernel import helper

Array = np.ndarray

FLOOR = 1e-6  # of the inertia that a row reflects to a speed: less counts as this much


class Table(NamedTuple):
    """Equations of motion and rows as native code writes them, and room to eliminate.

    out     : all of it; the others are parts of it
    carried : qdot, zdot, powers
    M, b    : (n, n), (n,)
    J, gamma : (m, n), (m,)
    E2      : (m, n), the reference, squared
    moving  : (m,), minus the speeds of constraints that move by themselves, or empty

    d       : (n,), 1 / sqrt of the inertia of each speed
    rho     : (m,), the size of each row in these units
    table   : (m, n + 2), rows being eliminated, and what they must give
    rows, columns : their order in the elimination; the first ones are dependent
    normal, step : (n, n), (n,), room
    basis, lam : (n, m), (m,), room
    """

    out: Array
    carried: Array
    M: Array
    b: Array
    J: Array
    gamma: Array
    E2: Array
    moving: Array
    d: Array
    rho: Array
    table: Array
    rows: Array
    columns: Array
    normal: Array
    step: Array
    basis: Array
    lam: Array


@helper
def scale(w: Table, active: Array, inertias: Array) -> None:
    """Write the scales of speeds and rows; `inertias` (n,) is room, and holds M_jj at first."""
    m, n = w.J.shape
    # what has no inertia of its own has what the rows reflect to it
    for j in range(n):
        if not inertias[j] > 0.0:
            w.d[j] = 0.0
            for i in range(m):
                if active[i] and w.J[i, j] != 0.0:
                    others = 0.0
                    for k in range(n):
                        if k != j and inertias[k] > 0.0:
                            others += w.J[i, k] * w.J[i, k] / inertias[k]
                    if others > 0.0:
                        w.d[j] = max(w.d[j], w.J[i, j] * w.J[i, j] / others)
        else:
            w.d[j] = inertias[j]
    largest = 0.0
    for j in range(n):
        largest = max(largest, w.d[j])
    for j in range(n):
        inertias[j] = w.d[j] if w.d[j] > 0.0 else (largest if largest > 0.0 else 1.0)
        w.d[j] = inertias[j]
    # and nothing counts as much lighter than what it is tied to
    for i in range(m):
        if active[i]:
            whole = 0.0
            for k in range(n):
                whole += w.E2[i, k] / inertias[k]
            for j in range(n):
                if w.E2[i, j] != 0.0:
                    others = whole - w.E2[i, j] / inertias[j]
                    if others > 1e-12 * whole:
                        w.d[j] = max(w.d[j], FLOOR * w.E2[i, j] / others)
    for i in range(m):
        total = 0.0
        for j in range(n):
            total += w.E2[i, j] / w.d[j]
        w.rho[i] = np.sqrt(total)
    for j in range(n):
        w.d[j] = 1.0 / np.sqrt(w.d[j])


@helper
def gather(w: Table, active: Array, least: Array, right: Array) -> int:
    """Put the active rows J v = -right into the table, in its units; return how many."""
    m, n = w.J.shape
    count = 0
    for i in range(m):
        if active[i] and w.rho[i] > 0.0:
            unit = 1.0 / (least[i] * w.rho[i])
            for j in range(n):
                w.table[count, j] = w.J[i, j] * w.d[j] * unit
            w.table[count, n] = -right[i] * unit
            w.rows[count] = i
            count += 1
    return count
