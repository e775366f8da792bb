"""Steps across dead points: their coefficients, and how a dead point is seen ahead."""

import numpy as np
import pytest

from polhode.kernels.across import _until_dead
from polhode.kernels.stepping import between
from polhode.kernels.tableaus import GAUSS


def test_points_integrate_polynomials():
    """From the start to each point up to their number, and to the end up to twice that."""
    c, count = GAUSS.c, len(GAUSS.c)
    for k in range(count):
        np.testing.assert_allclose(GAUSS.A @ c**k, c ** (k + 1) / (k + 1), rtol=0, atol=2e-15)
    for weights, degree in zip(GAUSS.ends, (2 * count, count - 2, count - 6), strict=True):
        for k in range(degree):
            assert weights @ c**k == pytest.approx(1 / (k + 1), abs=2e-14)
        assert abs(weights @ (2 * c - 1) ** degree - 1 / (degree + 1)) > 1e-10


def test_no_point_is_near_the_middle():
    assert np.abs(GAUSS.c - 0.5).min() > 0.06


def test_the_polynomial_is_that_of_the_points():
    x, found = np.array([2.0]), np.zeros(1)
    for k in range(len(GAUSS.c)):
        for theta in np.linspace(0, 1, 11):
            between.function(x, GAUSS.D @ GAUSS.c[:, None] ** k, theta, found)
            assert found[0] == pytest.approx(2 + theta ** (k + 1) / (k + 1), abs=1e-13)


@pytest.mark.parametrize(
    ("margin", "expected"),
    [
        (lambda t: 0.5 - t, 0.2),
        (lambda t: (0.5 - t) * (2 - t), 0.2),
        (lambda t: 0.1 + (0.5 - t) ** 2, np.inf),  # turns before
        (lambda t: 0.1 + t, np.inf),  # rises
    ],
)
def test_how_long_until_a_dead_point(margin, expected):
    earlier = np.zeros(4)
    times = (0.0, 0.1, 0.3)
    found = [_until_dead.function(earlier, margin(t), t) for t in times]
    assert found[:2] == [np.inf, np.inf]  # nothing is known yet
    assert found[2] == pytest.approx(expected, rel=1e-12)
    np.testing.assert_array_equal(earlier, [margin(0.3), 0.3, margin(0.1), 0.1])
