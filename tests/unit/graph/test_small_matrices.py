"""inverse and diff_along."""

import numpy as np
import pytest

from polhode.graph import cos, diff_along, evaluate, inverse, jacobian, matrix, sin, symbols, vector

x, y, z = symbols("x y z")


@pytest.mark.parametrize("n", range(1, 7))
def test_inverse_of_numbers(n):
    a = np.random.default_rng(n).normal(size=(n, n))
    assert np.allclose(np.reshape(evaluate(inverse(a), {}), (n, n)), np.linalg.inv(a))


@pytest.mark.parametrize("n", [2, 3, 4])
def test_inverse_of_expressions(n):
    draw = np.random.default_rng(n)
    a = [[draw.choice([0, 1, x, y, x * y, sin(z), cos(z), 2.5]) for _ in range(n)] for _ in range(n)]
    for i in range(n):
        a[i][i] = a[i][i] + 3
    at = {x: 0.3, y: 0.7, z: 0.4}
    numbers = np.reshape(evaluate(matrix(a), at), (n, n))
    assert np.allclose(np.reshape(evaluate(inverse(a), at), (n, n)), np.linalg.inv(numbers))


def test_inverse_has_no_pole_but_its_determinant():
    found = inverse([[x, y], [-y, x]])
    assert np.allclose(evaluate(found, {x: 0.0, y: 2.0}), [[0, -0.5], [0.5, 0]])


def test_exact_zeros_stay_zeros_beside_a_pole():
    found = inverse([[1, 0, -sin(y)], [0, 1, 0], [0, 0, cos(y)]])
    assert [str(e) for e in found[1]] == ["0", "1", "0"]
    assert str(found[2, 2]) == "1/cos(y)"


def test_singular_and_oblong_matrices_are_refused():
    with pytest.raises(ZeroDivisionError, match="singular"):
        inverse([[1, 2], [2, 4]])
    with pytest.raises(ZeroDivisionError, match="singular"):
        inverse([[0, x], [0, y]])
    with pytest.raises(ValueError, match="square"):
        inverse([[1, 2]])


def test_diff_along_is_the_jacobian_times_the_rates():
    f = vector([sin(x) * y, x * y * z, z])
    rates = [y, 2, x]
    at = {x: 0.3, y: 0.7, z: 0.4}
    expected = np.reshape(evaluate(jacobian(f, [x, y, z]), at), (3, 3)) @ evaluate(vector(rates), at)
    assert np.allclose(evaluate(diff_along(f, [x, y, z], rates), at), expected)
    assert diff_along(x * y, [x], [0]) == 0
    with pytest.raises(ValueError, match="give one for each"):
        diff_along(x, [x, y], [1])
