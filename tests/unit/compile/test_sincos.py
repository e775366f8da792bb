"""Our own sine and cosine: within 2 ulp up to 1e6, the system's beyond."""

import math

import numpy as np
import pytest
from mpmath import mp, mpf

from polhode.compile import compile
from polhode.graph import cos, sin, symbols, vector, vector_of

X, Y = symbols("x y")
LIMIT = 1e6


def near_multiples():
    """Doubles around multiples of pi/2 (and pi/4, where the reduction turns over) up to 1e6."""
    draw = np.random.default_rng(1)
    n = np.concatenate([np.arange(1, 60), draw.integers(60, 1273239, 500), 1273239 - np.arange(60)])
    with mp.workdps(40):
        middle = np.array([float(mp.pi / 4 * int(k)) for k in n])
    return np.concatenate([middle, np.nextafter(middle, 0), np.nextafter(middle, 2e6)])


def closest():
    """The doubles up to 1e6 that lie closest to a multiple of pi/2, found by a search over n."""
    n = np.arange(1, 636620)
    x = n * (math.pi / 2)
    with mp.workdps(40):
        low = float(mp.pi / 2 - mpf(math.pi / 2))
    # distance from x to n pi/2: what rounding n*(pi/2) lost, and the low part of pi/2
    a, b = np.float64(math.pi / 2), n.astype(float)
    split = 134217729.0
    ah = a * split - (a * split - a)
    lost = ah * b - x + (a - ah) * b
    return x[np.argsort(np.abs(lost + low * n))[:200]]


def angles():
    draw = np.random.default_rng(2)
    spread = draw.uniform(-1, 1, 600) * 10.0 ** draw.uniform(-20, 6, 600)
    edge = [0.0, 5e-324, 1e-310, 1e-200, 1.0, LIMIT, np.nextafter(LIMIT, 0), -LIMIT, 999999.5]
    found = np.concatenate([spread, near_multiples(), closest(), edge])
    found = found[np.abs(found) <= LIMIT]
    return np.concatenate([found, -found])


def ulps(found, x, exact):
    worst = 0.0
    for got, angle in zip(found.tolist(), x.tolist(), strict=True):
        value = exact(mpf(angle))
        worst = max(worst, float(abs(got - value)) / math.ulp(float(value)))
    return worst


@pytest.fixture(scope="module")
def turn():
    return compile([X], vector([sin(X), cos(X)]))


@pytest.fixture(scope="module", autouse=True)
def digits():
    with mp.workdps(40):
        yield


def test_batch_is_within_two_ulp(turn):
    x = angles()
    found = turn(x)
    assert ulps(found[:, 0], x, mp.sin) <= 2
    assert ulps(found[:, 1], x, mp.cos) <= 2


def test_one_state_equals_the_batch(turn):
    x = angles()
    np.testing.assert_array_equal(np.array([turn(v) for v in x.tolist()]), turn(x))


FAR = np.array(
    [
        np.nextafter(LIMIT, 2e6),
        -1000001.5,
        1e9,
        1e15,
        2.0**60,
        -1e22,
        1e300,
        1.7976931348623157e308,
        6381956970095103 * 2.0**797,
    ]
)


def test_beyond_the_limit_is_the_system(turn):
    expected = [[math.sin(v), math.cos(v)] for v in FAR.tolist()]
    np.testing.assert_array_equal(turn(FAR), expected)
    np.testing.assert_array_equal([turn(v) for v in FAR.tolist()], expected)


@pytest.mark.parametrize("x", [math.nan, math.inf, -math.inf])
def test_not_finite_is_nan(turn, x):
    assert np.isnan(turn(x)).all()
    assert np.isnan(turn(np.full(5, x))).all()


@pytest.mark.parametrize("lane", range(8))
def test_a_far_lane_leaves_its_neighbours(turn, lane):
    x = np.linspace(0.1, 3, 8)
    near = turn(x)
    for far in (1e10, math.nan):
        x[lane] = far
        found = turn(x)
        others = np.arange(8) != lane
        np.testing.assert_array_equal(found[others], near[others])
        np.testing.assert_array_equal(found[lane], turn(far))


@pytest.mark.parametrize("n", [1, 2, 3, 4, 5, 8, 9, 17])
def test_angles_side_by_side_keep_their_places(n):
    q = vector_of("q", n)
    f = compile([q], vector([sin(e) for e in q] + [cos(e) for e in q]))
    x = np.linspace(-2, 2, n)
    x[n // 2] = 1e10
    expected = np.concatenate([np.sin(x), np.cos(x)])
    np.testing.assert_allclose(f(x), expected, rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(f(np.tile(x, (9, 1)))[-1], expected, rtol=1e-15, atol=1e-16)


def test_angles_that_depend_on_angles():
    e = sin(X + cos(Y * sin(X))) + cos(sin(X))
    x, y = np.linspace(-3, 3, 11), 0.7
    expected = np.sin(x + np.cos(y * np.sin(x))) + np.cos(np.sin(x))
    np.testing.assert_allclose(compile([X, Y], e)(x, y), expected, rtol=1e-14)


def test_negative_angles_mirror(turn):
    x = np.abs(angles())
    np.testing.assert_array_equal(turn(-x), turn(x) * [-1, 1])
