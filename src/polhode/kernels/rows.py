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

import numpy as np

from .kernel import helper

Array = np.ndarray

FLOOR = 1e-6  # of the inertia that a row reflects to a speed: less counts as this much


@helper
def scale(J: Array, E2: Array, active: Array, bodies: Array, inertias: Array, d: Array, rho: Array) -> None:
    """Write 1 / sqrt(d_j) to d, and rho; `inertias` (n,), M_jj, is overwritten.

    bodies : the body that each speed moves; speeds of a body are next to each other
    """
    m, n = J.shape
    # what has no inertia of its own has what the rows reflect to it
    largest = 0.0
    for j in range(n):
        d[j] = inertias[j]
        if not inertias[j] > 0.0:
            d[j] = 0.0
            for i in range(m):
                if active[i] and J[i, j] != 0.0:
                    others = 0.0
                    for k in range(n):
                        if k != j and inertias[k] > 0.0:
                            others += J[i, k] * J[i, k] / inertias[k]
                    if others > 0.0:
                        d[j] = max(d[j], J[i, j] * J[i, j] / others)
        largest = max(largest, d[j])
    for j in range(n):
        inertias[j] = d[j] if d[j] > 0.0 else (largest if largest > 0.0 else 1.0)
        d[j] = inertias[j]
    # and no body counts as much lighter than what it is tied to
    for i in range(m):
        if active[i]:
            whole = 0.0
            for k in range(n):
                whole += E2[i, k] / inertias[k]
            before = 0.0
            first = 0
            while first < n:
                end, own = first, 0.0
                while end < n and bodies[end] == bodies[first]:
                    own += E2[i, end] / inertias[end]
                    end += 1
                if own > 0.5 * whole:  # then it may be much lighter than the others
                    others = before
                    for k in range(end, n):
                        others += E2[i, k] / inertias[k]
                    if 1e-12 * whole < others < FLOOR * whole:
                        for j in range(first, end):
                            d[j] = max(d[j], FLOOR * E2[i, j] / others)
                before += own
                first = end
    for i in range(m):
        total = 0.0
        for j in range(n):
            total += E2[i, j] / d[j]
        rho[i] = np.sqrt(total)
    for j in range(n):
        d[j] = 1.0 / np.sqrt(d[j])


@helper
def gather(
    J: Array, d: Array, rho: Array, active: Array, least: Array, right: Array, table: Array, places: Array
) -> int:
    """Put the active rows J v = -right into the table, in its units; return how many."""
    m, n = J.shape
    count = 0
    for i in range(m):
        if active[i] and rho[i] > 0.0:
            unit = 1.0 / (least[i] * rho[i])
            for j in range(n):
                table[count, j] = J[i, j] * d[j] * unit
            table[count, n] = -right[i] * unit
            places[count] = i
            count += 1
    return count


@helper
def mark(used: Array, rows: Array, count: int) -> None:
    """Mark the first `count` of rows, and only these."""
    for i in range(used.size):
        used[i] = 0
    for k in range(count):
        used[rows[k]] = 1
