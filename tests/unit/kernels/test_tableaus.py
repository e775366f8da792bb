"""Coefficients satisfy the conditions of their order, one for each rooted tree.

Reference: [HairerNorsettWanner, section II.2]; [HairerWanner, section IV.7] for Rosenbrock methods.
"""

from functools import cache
from math import prod

import numpy as np
import pytest

from polhode.kernels.tableaus import DOP853, DOPRI5, EULER, MIDPOINT, RK4, RODAS5P


@cache
def trees(n):
    """Rooted trees of n nodes, as sorted tuples of the branches at the root."""

    def forests(n, most):
        if n == 0:
            yield ()
        for k in range(min(n, most), 0, -1):
            yield from ((tree, *rest) for tree in trees(k) for rest in forests(n - k, k))

    return sorted({tuple(sorted(forest)) for forest in forests(n - 1, n - 1)})


def size(tree):
    return 1 + sum(map(size, tree))


def density(tree):
    return size(tree) * prod(map(density, tree))


def elementary(tree, A, B):
    found = np.ones(len(A))
    for branch in tree:
        found = found * ((B if len(tree) == 1 else A) @ elementary(branch, A, B))
    return found


def order_of(weights, A, B, theta=1.0):
    """The order to which weights integrate up to theta; B stands for A where a node has one branch."""
    for n in range(1, 10):
        for tree in trees(n):
            if abs(weights @ elementary(tree, A, B) - theta**n / density(tree)) > 1e-12:
                return n - 1
    return 9


def padded(table, rows, columns):
    return np.pad(table, ((0, rows - len(table)), (0, columns - table.shape[1])))


def polynomial(r, theta):
    """Weights at theta of the polynomial with terms r, as in `stepping`."""
    found = 0
    for j in reversed(range(len(r))):
        found = r[j] + found * (theta if j % 2 else 1 - theta)
    return theta * found


def test_there_are_as_many_trees_as_are_known():
    assert [len(trees(n)) for n in range(1, 10)] == [1, 1, 2, 4, 9, 20, 48, 115, 286]


@pytest.mark.parametrize(
    ("tableau", "order", "embedded", "dense"),
    [(EULER, 1, [], 0), (MIDPOINT, 2, [], 0), (RK4, 4, [], 0), (DOPRI5, 5, [4], 4), (DOP853, 8, [5, 3], 7)],
)
def test_explicit_methods(tableau, order, embedded, dense):
    A, last = padded(tableau.A, 16, 16), {8: 12}.get(order, len(tableau.c) - 1)
    step, stages = A[last], np.eye(16)
    assert order_of(step, A, A) == order
    assert np.allclose(A.sum(axis=1)[: len(tableau.c)], tableau.c, rtol=0, atol=1e-14)
    assert [order_of(step - e, A, A) for e in padded(tableau.E, len(tableau.E), 16)] == embedded
    terms = [step, stages[0] - step, 2 * step - stages[0] - stages[last], *padded(tableau.D, len(tableau.D), 16)]
    for theta in (0.2, 0.5, 0.9) if dense else ():
        assert order_of(polynomial(terms, theta), A, A, theta) == dense


def test_rodas5p():
    gamma = np.linalg.inv(np.eye(8) / RODAS5P.gamma - padded(RODAS5P.C, 8, 8))
    A, step, H = RODAS5P.A[:8] @ gamma, RODAS5P.A[8] @ gamma, RODAS5P.H @ gamma
    assert order_of(step, A, A + gamma) == 5
    assert order_of(step - gamma[7], A, A + gamma) == 4
    assert np.allclose(A.sum(axis=1), RODAS5P.c, rtol=0, atol=1e-13)
    assert np.allclose(gamma.sum(axis=1), RODAS5P.d, rtol=0, atol=1e-13)
    for theta in (0.2, 0.5, 0.9):
        dense = theta * (step + (1 - theta) * (H[0] + theta * (H[1] + theta * H[2])))
        assert order_of(dense, A, A + gamma, theta) == 4
    # A-stable, and L-stable: x' = lambda x dies out where lambda does
    for z in 1j * 10.0 ** np.linspace(-2, 8, 200):
        growth = abs(1 + z * step @ np.linalg.solve(np.eye(8) - z * (A + gamma), np.ones(8)))
        assert growth < 1 + 1e-12
    assert growth < 1e-6
