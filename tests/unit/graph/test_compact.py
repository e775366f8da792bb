"""Short forms: equal to what they stand for, and shorter."""

import random

import pytest

from polhode.graph import cos, evaluate, matrix, sin, sqrt, symbols, tan, tree_size, vector
from polhode.graph.compact import compact

a, b, c, d, x, y = symbols("a b c d x y")


@pytest.mark.parametrize(
    ("long", "short"),
    [
        (a * b / a, b),
        (sin(x) * (a + b) / sin(x), a + b),
        ((a * b + a * c) / (b + c), a),
        ((a**2 - b**2) / (a - b), a + b),
        (a * sin(x) ** 2 / b + a * cos(x) ** 2 / b, a / b),
        (a * sin(x) ** 2 - a, -a * cos(x) ** 2),
        ((a * cos(x) ** 2 + a * sin(x) ** 2 - a) / (b + c), 0 * a),
        (a * c + a * d + b * c + b * d - b * d - b * c, a * (c + d)),
        (a / 2 - a / 3, a / 6),
        (0 * a / sin(x), 0 * a),
        (a / sqrt(b) ** 2 + sqrt(c) ** 3 / c, a / b + sqrt(c)),
        (a * cos(x) ** 2 / sqrt(cos(x) ** 2) ** 2, a),
        (a / (b * sin(x) ** 2 + c - c * cos(x) ** 2), a / ((b + c) * sin(x) ** 2)),
        (a * (1 - cos(x) ** 2) * (b + c * cos(x) ** 2) / (b * sin(x) ** 2 + c * sin(x) ** 2 * cos(x) ** 2), a),
    ],
)
def test_what_cancels_is_gone(long, short):
    assert compact(long) == short


def test_nested_brackets_save_operations():
    e = a - b * c - b * d * x * y - b * d * x * c
    assert tree_size(compact(e)) < tree_size(e)
    assert str(compact(e)) == "a - b*(c + d*x*(c + y))"


def test_a_sum_with_a_pole_stays_equal_where_it_exists():
    e = (a + b / sin(x)) / (1 + 1 / sin(x)) - tan(y) * sqrt(a) / b
    values = {"a": 0.3, "b": 0.7, "x": 1.1, "y": 0.2}
    assert evaluate(compact(e), values) == pytest.approx(evaluate(e, values))


@pytest.mark.parametrize(
    "e",
    [
        (a * b * c + a * b * d + a * b * y) / sin(x) ** 2,
        a * sin(x) / (b * sin(x) ** 2 + c * sin(x) ** 2),
        (a * b + a * c) / (0.1 * sin(x) ** 4 * b + 0.2 * sin(x) ** 2 * b),
        (a * b + a * c + a * d) / (sin(x) ** 3 * cos(y) + c * sin(x) ** 3),
    ],
)
def test_near_a_pole_no_digits_are_lost(e):
    values = {"a": 0.3, "b": 0.7, "c": 0.4, "d": -0.2, "x": 1e-9, "y": 0.2}
    assert compact(e) != e
    assert evaluate(compact(e), values) == pytest.approx(evaluate(e, values), rel=1e-12)


@pytest.mark.parametrize(
    ("e", "zeros"),
    [
        ((a * x + a * y + a * d) / ((c + sin(c) + y) / (y**2 * sin(c))), "c"),
        ((2 * b - sin(x)) / (a * b / x + c * sin(y) / (sin(x) * sin(y))), "x"),
    ],
)
def test_what_is_zero_because_its_denominator_is_infinite_stays_so(e, zeros):
    values = {name: 0.0 if name in zeros else 0.3 + 0.1 * i for i, name in enumerate("abcdxy")}
    assert evaluate(e, values) == evaluate(compact(e), values) == 0


def test_what_divides_in_a_denominator_comes_up():
    e = (a * x + a * y) / ((c + y) / (b * sin(c)) + 1 / b)
    assert str(compact(e)) == "a*b*(x + y)*sin(c)/(c + sin(c) + y)"


def test_nothing_is_made_longer():
    e = (a + b) * (c + d) * (x + y)
    assert compact(e) is e
    assert compact(a) is a
    assert compact(a * 0 + 3) == 3
    m = matrix([[a, b], [c, e]])
    assert compact(m) is m


def test_a_matrix_keeps_what_its_entries_share():
    shared = (a + b) * (c + d)
    m = vector([shared * x, shared * y])
    assert compact(m) is m


def test_large_expressions_are_left_alone():
    e = a
    for i in range(12):
        e = e * (e + b + i)
    assert compact(e) is e
    with_floats = sum((a * (0.1 + i) * (b + 0.3 * i) for i in range(40)), a)
    assert compact(with_floats) is with_floats


@pytest.mark.parametrize("seed", range(60))
def test_random_quotients_keep_their_value(seed):
    draw = random.Random(seed)
    atoms = [a, b, c, sin(x), cos(x), sin(y), cos(y)]

    def grown(depth):
        if depth == 0:
            return draw.choice(atoms) * draw.choice([1, 1, 2, -1, 3])
        first, second = grown(depth - 1), grown(depth - 1)
        return draw.choice([first + second, first - second, first * second, first * second, first / second])

    e = grown(4)
    values = {"a": 0.31, "b": 1.7, "c": -0.83, "x": 0.57, "y": 2.2}
    try:
        expected = evaluate(e, values)
    except ZeroDivisionError:
        return
    if expected != expected or abs(expected) > 1e9:
        return
    short = compact(e)
    assert evaluate(short, values) == pytest.approx(expected, rel=1e-8, abs=1e-9)
    assert tree_size(short) <= tree_size(e)
