"""tidy: sums without terms that cancel."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polhode.graph import as_expr, cos, evaluate, matrix, sin, symbols, tidy, tree_size

a, b, c, x = symbols("a b c x")


@pytest.mark.parametrize(
    ("expr", "written"),
    [
        ((a * b) * c - a * (b * c), "0"),
        (a * (b + c) - a * b, "a*c"),
        (a * b * sin(x) + b * (a * sin(x)), "2*a*b*sin(x)"),
        ((a * b - b * a + c) / 2, "c/2"),
        ((a * (b + c) - (c * a)) / 2 + a * b / 2, "a*b"),
        (a**2 * b - a * (a * b) + 3, "3"),
        (a * b + a * c, "a*b + a*c"),
    ],
)
def test_terms_that_meet_are_collected(expr, written):
    assert str(tidy(expr)) == written


def test_what_can_have_a_pole_is_left_alone():
    e = a / x - (a / x + b) + b
    assert str(evaluate(tidy(e), {"a": 1.0, "b": 2.0, "x": 0.0})) == "nan"


def test_sums_where_nothing_meets_stay_as_they_are():
    e = (a + b) * (c + sin(x)) + cos(x)
    assert tidy(e) is e


def test_matrices_are_tidied_entry_by_entry():
    m = matrix([[a * b * c - c * (b * a), a], [b, 1]])
    assert tidy(m) == matrix([[0, a], [b, 1]])


leaves = st.sampled_from([a, b, c, sin(x), cos(x), 2, 3.5]) | st.integers(-3, 3)


def grown(children):
    pairs = st.tuples(children, children)
    sums = pairs.map(lambda p: p[0] + p[1]) | pairs.map(lambda p: p[0] - p[1])
    return sums | pairs.map(lambda p: p[0] * p[1]) | children.map(lambda e: -e) | children.map(lambda e: e / 4)


@settings(max_examples=150, deadline=None, derandomize=True)
@given(st.recursive(leaves, grown, max_leaves=14))
def test_the_value_stays_and_the_length_does_not_grow(e):
    e = as_expr(e)
    at = {"a": 0.7, "b": -1.3, "c": 2.1, "x": 0.4}
    assert evaluate(tidy(e), at) == pytest.approx(evaluate(e, at), rel=1e-9, abs=1e-9)
    assert tree_size(tidy(e)) <= tree_size(e)
