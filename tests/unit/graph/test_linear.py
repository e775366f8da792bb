"""Linear systems by L D L^T."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays
from strategies import MANY

from polhode.graph import (
    LDL,
    Matrix,
    evaluate,
    identity,
    matrix,
    op_counts,
    sin,
    solve,
    sqrt,
    symbols,
    vector,
    vector_of,
    zeros,
)

X, Y = symbols("x y")


@given(st.integers(1, 6).flatmap(lambda n: arrays(np.float64, (n, n), elements=st.integers(-3, 3).map(float))))
@settings(max_examples=60 * MANY)
def test_solution_solves(half):
    n = len(half)
    half[np.random.default_rng(n).random((n, n)) < 0.4] = 0  # sparse
    a = half @ half.T + np.eye(n)
    b = np.arange(n) - 1.5
    found = [float(e) for e in solve(a, b)]
    np.testing.assert_allclose(a @ found, b, atol=1e-9 * np.abs(a).max() * (1 + np.abs(found).max()))


def test_symbolic_solution_solves():
    q = vector_of("q", 6)
    a = matrix([[q[i] * q[j] + (3 if i == j else 0) for j in range(3)] for i in range(3)])
    b = q[3:]
    residual = a @ solve(a, b) - b
    point = {e: 0.3 + k / 7 for k, e in enumerate(q)}
    np.testing.assert_allclose(evaluate(residual.entries, point), 0, atol=1e-14)


def test_factors_rebuild_the_matrix():
    a = np.array([[4.0, 1, 0, 2], [1, 5, 1, 0], [0, 1, 6, 0], [2, 0, 0, 7]])
    f = LDL(Matrix((4, 4), a.ravel()))
    lower, diagonal = np.eye(4), np.diag([float(d) for d in f.pivot])
    for k, column in enumerate(f.lower):
        for i, e in column.items():
            lower[i, k] = float(e)
    np.testing.assert_allclose(lower @ diagonal @ lower.T, a, atol=1e-15)


def test_columns_are_solved_one_by_one():
    a, b = matrix([[X, 1], [1, Y]]), matrix([[1, X, 0], [0, Y, 1]])
    whole = solve(a, b)
    assert whole.shape == (2, 3)
    assert all(whole[:, k] == solve(a, b[:, k]) for k in range(3))


def test_an_arrow_fills_in_nothing():
    q = vector_of("q", 12)
    rows = [[q[i] if i == j else (1 if 0 in (i, j) else 0) for j in range(12)] for i in range(12)]
    assert sum(map(len, LDL(matrix(rows)).lower)) == 11


def test_diagonal_matrix_only_divides():
    assert set(op_counts(solve(matrix([[X, 0], [0, Y]]), [1, 1]))) == {"div"}


def test_empty_systems_have_empty_solutions():
    assert solve(zeros(0, 0), vector([])).shape == (0,)
    assert solve(identity(2), zeros(2, 0)).shape == (2, 0)


def test_matrix_that_is_not_symmetric_is_refused():
    with pytest.raises(ValueError, match=r"\(1, 0\) and \(0, 1\) differ"):
        solve([[1, X], [2 * X, 1]], [1, 0])


def test_asymmetry_is_found_where_the_random_point_is_outside_the_domain():
    with pytest.raises(ValueError, match="symmetric"):
        solve([[1, 2 * sqrt(X - 5)], [sqrt(X - 5), 1]], [1, 0])


def test_symmetry_up_to_rounding_is_accepted():
    noise = sin(X) * (1 - X**2) / (1 + X) - sin(X) * (1 - X)  # zero, up to rounding
    assert solve([[2, 0], [noise, 2]], [1, 1]).shape == (2,)


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ([[1, 2, 3], [2, 1, 3]], [1, 2], "square"),
        ([[2, 1], [1, 2]], [1, 2, 3], "3 rows"),
    ],
)
def test_shapes_that_do_not_fit_are_refused(a, b, message):
    with pytest.raises(ValueError, match=message):
        solve(a, b)


def test_zero_pivot_is_named():
    with pytest.raises(ZeroDivisionError, match="Pivot"):
        solve([[0, X], [X, 0]], [1, 0])
