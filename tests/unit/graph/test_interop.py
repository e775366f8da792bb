"""Expressions among the habits of Python, NumPy and the textbook."""

import math
from fractions import Fraction

import numpy as np
import pytest

from polhode.graph import (
    Expr,
    atan2,
    const,
    cos,
    diff,
    equal,
    evaluate,
    gradient,
    identity,
    intermediates,
    jacobian,
    latex,
    log,
    matrix,
    maximum,
    op_counts,
    pi,
    select,
    sin,
    solve,
    sqrt,
    substitute,
    symbol,
    symbols,
    tan,
    vector,
    vector_of,
)

X, Y, Z = symbols("x y z")


@pytest.mark.parametrize("k", range(-26, 27))
@pytest.mark.parametrize("n", [4, 6])
def test_multiples_of_pi_are_exact(k, n):
    angle = Fraction(k, n) * pi
    for f, expected in ((sin, math.sin), (cos, math.cos)):
        assert evaluate(f(angle), {}) == pytest.approx(expected(math.pi * k / n), abs=1e-14)
        assert f(angle).op not in ("sin", "cos")


def test_tangent_of_multiples_of_pi():
    assert [tan(k * pi / 4) for k in (0, 1, 3, 4, 5)] == [0, 1, -1, 0, 1]
    assert tan(pi / 2).op == "tan"  # no number to fold to


def test_other_multiples_of_pi_stay():
    assert sin(pi / 5).op == "sin"
    assert sin(0.5 * pi).op == "sin"
    assert evaluate(sin(pi / 5), {}) == pytest.approx(math.sin(math.pi / 5))


def test_numpy_functions_are_ours():
    assert np.sin(X) is sin(X)
    assert np.arctan2(Y, X) is atan2(Y, X)
    assert np.maximum(X, 2.0) is maximum(X, 2.0)
    assert np.cos(vector([X, Y])) == vector([cos(X), cos(Y)])


def test_numpy_numbers_and_arrays_mix():
    assert np.float64(2) * X is 2.0 * X
    assert np.int64(2) * X is 2 * X
    assert (np.float64(1) < X) is (X > 1.0)
    assert np.array([1.0, 2.0]) * X == vector([1.0 * X, 2.0 * X])
    assert np.array([[1.0, 2.0], [3.0, 4.0]]) @ vector([X, Y]) == vector([1.0 * X + 2.0 * Y, 3.0 * X + 4.0 * Y])
    assert np.array([1.0, 2.0]) - vector([X, Y]) == vector([1.0 - X, 2.0 - Y])


def test_other_numpy_functions_are_refused():
    with pytest.raises(TypeError, match=r"numpy\.floor does not take expressions"):
        np.floor(X)
    with pytest.raises(TypeError, match=r"numpy\.add does not take"):
        np.add(X, Y, out=np.empty(1))


@pytest.mark.parametrize("x", [0.0, 1.0, 2.0, math.nan])
@pytest.mark.parametrize("y", [0.0, 1.0, 2.0])
def test_conditions_join_as_in_python(x, y):
    at = {X: x, Y: y}
    assert evaluate((X < Y) & (Y < 2), at) == (x < y < 2)
    assert evaluate((X < Y) | (Y < 2), at) == (x < y or y < 2)
    assert evaluate(~(X < Y), at) == (not x < y)
    assert evaluate(X & Y, at) == bool(x and y)
    assert evaluate(X | Y, at) == bool(x or y)


def test_select_refuses_what_python_decided():
    with pytest.raises(TypeError, match="write equal"):
        select(X == Y, 1, 2)
    assert evaluate(select(equal(X, Y), 1, 2), {X: 3, Y: 3}) == 1


def test_like_terms_collect():
    assert X + Y + X is 2 * X + Y
    assert (X + Y) - X is Y
    assert X - (X + Y) is -Y
    assert (X - Y) + Y is X
    assert X / 2 + Y / 2 is (X + Y) / 2
    assert 2 * (X / 2 - Y / 2) is X - Y


def test_like_terms_that_may_be_infinite_do_not_cancel():
    assert math.isnan(evaluate((Y + 1 / X) - 1 / X, {X: 0.0, Y: 1.0}))


def test_one_symbol_serves_as_a_list_of_one():
    assert gradient(X**2, X) == vector([2 * X])
    assert jacobian(X**2, X) == matrix([[2 * X]])


def test_zeros_of_the_right_side_stay_zeros():
    assert solve([[X, 0], [0, Y]], identity(2)) == matrix([[1 / X, 0], [0, 1 / Y]])


def test_values_by_vector_and_by_name():
    q = vector_of("q", 2)
    assert evaluate(q[0] - q[1], {q: [3.0, 1.0]}) == 2
    assert substitute(q, {q: [X, Y]}) == vector([X, Y])
    assert substitute(X + Y, {"x": 1}) is Y + 1
    with pytest.raises(ValueError, match="2 entries, but 3"):
        evaluate(q[0], {q: [1, 2, 3]})


def test_an_output_used_by_another_is_named():
    first = sin(X) * Y
    definitions, reduced = intermediates([first, Z * first])
    assert [e for _, e in definitions] == [first]
    assert reduced == [definitions[0][0], Z * definitions[0][0]]


def test_latex_names_its_left_side():
    assert latex(X, name="T") == "T = x"
    assert latex(sqrt(X) + sqrt(X) * Y, named=True, name="T").endswith("T &= x_{1} y + x_{1}\n\\end{aligned}")


@pytest.mark.parametrize("text", ["x", "q1:3 y", "2x y"])
def test_odd_lists_of_names_are_refused(text):
    with pytest.raises(ValueError, match=r"symbol\(|vector_of"):
        symbols(text)


def test_one_name_in_a_list_is_no_mistake():
    assert symbols(["x"]) == (symbol("x"),)


def test_numpy_numbers_compare_by_identity():
    assert np.float64(1.0) != X
    assert X in [np.float64(1.0), X]
    assert [np.float64(1.0), X].index(X) == 1


def test_deeply_nested_factors_collect_without_recursion():
    e = Z
    for _ in range(3000):
        e = 2 * (X + e)
    assert evaluate(e + 2 * X, {X: 0.0, Z: 0.0}) == 0


def test_high_powers_cost_their_logarithm():
    assert op_counts(X ** (2**40 + 1))["mul"] <= 2 * 41


def test_constants_beyond_floats_meet_floats():
    huge = 10**400
    for e in (const(huge) * 0.5, const(huge) + 0.5, (huge * X) * 0.5, huge * X + 0.5 * X, atan2(0.5, huge)):
        assert isinstance(e, Expr)


def test_equal_factors_commute():
    assert 0.5 * X + Fraction(1, 2) * Y is Fraction(1, 2) * Y + 0.5 * X


def test_like_terms_with_a_pole_keep_their_nan():
    for e in (0 * log(X) + log(X), 2 / X - 1 / X):
        assert math.isnan(evaluate(e, {X: 0.0}))


def test_slopes_of_a_branch_not_taken_stay_out():
    e = sqrt(maximum(X, 0))
    for slope in (diff(e, X), gradient(e, X)[0]):
        assert evaluate(slope, {X: -1.0}) == 0
        assert evaluate(slope, {X: 4.0}) == 0.25


def test_a_matrix_differentiates_entry_by_entry():
    assert diff(vector([X**3, Y]), X, 2) == vector([6 * X, 0])
