"""Functions: parity, constants, poles and domains."""

import math
from fractions import Fraction

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polhode import graph
from polhode.graph import (
    Matrix,
    absolute,
    acos,
    asin,
    atan2,
    const,
    cos,
    equal,
    evaluate,
    exp,
    less,
    less_equal,
    log,
    maximum,
    minimum,
    pi,
    select,
    sign,
    sin,
    sqrt,
    symbols,
    tan,
    tanh,
)

X, Y = symbols("x y")
INF, NAN = math.inf, math.nan
UNARY = [sin, cos, tan, asin, acos, tanh, exp, log, sqrt, absolute, sign]
BINARY = [
    atan2,
    minimum,
    maximum,
    less,
    less_equal,
    equal,
    lambda a, b: a + b,
    lambda a, b: a - b,
    lambda a, b: a * b,
    lambda a, b: a / b,
]
SPECIAL = [0.0, 1.0, -1.0, 0.5, -2.5, 1e300, -1e300, INF, -INF, NAN]


def same(a, b):
    return a == b or (a != a and b != b) or math.isclose(float(a), float(b), rel_tol=1e-14)


@pytest.mark.parametrize("f", [sin, tan, asin, tanh, sign])
def test_odd_functions_pull_the_sign_out(f):
    assert f(-X) is -f(X)
    assert f(X - Y) is -f(Y - X)


@pytest.mark.parametrize("f", [cos, absolute])
def test_even_functions_drop_the_sign(f):
    assert f(-X) is f(X)
    assert f(X - Y) is f(Y - X)


EXACT = [
    (sin(0), 0),
    (cos(0), 1),
    (tan(0), 0),
    (asin(0), 0),
    (acos(1), 0),
    (exp(0), 1),
    (log(1), 0),
    (tanh(0), 0),
    (sqrt(Fraction(9, 4)), Fraction(3, 2)),
    (sqrt(10**40), 10**20),
    (atan2(0, 1), 0),
    (absolute(-3), 3),
    (sign(Fraction(-1, 7)), -1),
    (minimum(2, Fraction(1, 3)), Fraction(1, 3)),
    (maximum(2, 3, 1), 3),
    (less(2**53, 2**53 + 1), 1),
    (acos(-1) / pi, acos(-1) / acos(-1)),
]


@pytest.mark.parametrize(("found", "value"), EXACT, ids=str)
def test_exact_values_stay_exact(found, value):
    assert found is graph.as_expr(value)


@pytest.mark.parametrize("e", [sin(1), exp(1), sqrt(2), log(2), pi, tanh(Fraction(1, 3))], ids=str)
def test_inexact_values_of_exact_numbers_are_not_rounded(e):
    found = evaluate(e, {}, digits=50)
    assert e.op != "const"
    assert found != float(found)


@pytest.mark.parametrize("f", UNARY)
@pytest.mark.parametrize("v", SPECIAL)
def test_folded_equals_evaluated(f, v):
    assert same(evaluate(f(const(v)), {}), evaluate(f(X), {X: v}))


@pytest.mark.parametrize("f", UNARY)
@pytest.mark.parametrize("v", SPECIAL)
def test_float_equals_mpmath_at_special_values(f, v):
    if abs(v) < 1e300 or f not in (sin, cos, tan):
        found = evaluate(f(X), {X: v}, digits=400 if abs(v) == 1e300 else 20)
        expected = evaluate(f(X), {X: v})
        assert same(expected, found) or (expected == INF and found > 1e308)


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
def test_float_equals_mpmath_at_special_pairs(f, a, b):
    expected, found = evaluate(f(X, Y), {X: a, Y: b}), evaluate(f(X, Y), {X: a, Y: b}, digits=20)
    assert same(expected, found) or abs(found) > 1e308 or abs(found) < 1e-308


@pytest.mark.parametrize("f", BINARY)
@pytest.mark.parametrize("a", SPECIAL)
@pytest.mark.parametrize("b", SPECIAL)
def test_folded_pairs_equal_evaluated(f, a, b):
    assert same(evaluate(f(const(a), const(b)), {}), evaluate(f(X, Y), {X: a, Y: b}))


@pytest.mark.parametrize("f", [minimum, maximum])
@pytest.mark.parametrize("values", [(NAN, 1.0), (1.0, NAN), (NAN, INF), (-INF, NAN)])
def test_minimum_and_maximum_keep_nan(f, values):
    assert math.isnan(evaluate(f(X, Y), dict(zip((X, Y), values, strict=True))))
    assert math.isnan(float(f(*values)))


def test_minimum_of_equal_operands_is_the_operand():
    assert minimum(X, X) is X
    assert maximum(X, X, X) is X


@given(st.floats(allow_nan=False), st.floats(allow_nan=False))
def test_comparisons_are_one_or_zero(a, b):
    point = {X: a, Y: b}
    assert evaluate([X < Y, X <= Y, X > Y, X >= Y, equal(X, Y)], point) == [a < b, a <= b, a > b, a >= b, a == b]


def test_comparisons_with_nan_are_false():
    assert evaluate([X < Y, X <= Y, X > Y, X >= Y, equal(X, Y)], {X: NAN, Y: 1.0}) == [0] * 5


def test_comparison_with_itself_keeps_nan_false():
    e = 1 / X - 1 / X
    assert evaluate([less_equal(e, e), equal(e, e), less(e, e)], {X: 0.0}) == [0, 0, 0]


def test_select_takes_the_first_where_the_condition_is_not_zero():
    e = select(X, 1 / Y, 2)
    assert evaluate(e, {X: 0.0, Y: 0.0}) == 2
    assert evaluate(e, {X: -0.5, Y: 4.0}) == 0.25
    assert evaluate(e, {X: NAN, Y: 4.0}) == 0.25


def test_select_by_a_constant_is_the_branch():
    assert select(1, X, Y) is X
    assert select(0, X, Y) is Y
    assert select(X, Y, Y) is Y


def test_nested_select_evaluates_like_if():
    e = select(X > 0, select(Y > 0, 1, 2), select(Y > 0, 3, 4))
    found = [evaluate(e, {X: a, Y: b}) for a in (1, -1) for b in (1, -1)]
    assert found == [1, 2, 3, 4]


def test_atan2_takes_zero_as_positive():
    assert evaluate(atan2(X, Y), {X: -0.0, Y: -1.0}) == math.pi
    assert evaluate(atan2(X, Y), {X: 0.0, Y: -0.0}) == 0
    assert evaluate(atan2(X, Y), {X: 0.0, Y: 0.0}, digits=20) == 0


@pytest.mark.parametrize("f", [minimum, maximum])
def test_nothing_has_no_minimum(f):
    with pytest.raises(TypeError, match="at least one"):
        f()


@pytest.mark.parametrize("bad", ["1", None, 1j, [1], np.ones(2), np.complex128(1)], ids=str)
def test_functions_refuse_what_is_not_real(bad):
    with pytest.raises(TypeError, match="real number"):
        sin(bad)


@pytest.mark.parametrize("number", [np.float32(0.5), np.float64(0.5), np.longdouble(0.5), mpmath.mpf(0.5)], ids=repr)
def test_real_numbers_of_other_kinds_are_floats(number):
    assert const(number) is const(0.5)
    assert X + number is X + 0.5


@pytest.mark.parametrize("number", [True, np.int8(1), np.uint64(1), Fraction(3, 3)], ids=repr)
def test_whole_numbers_of_other_kinds_are_ints(number):
    assert const(number) is const(1)
    assert number * X is X


@pytest.mark.parametrize("value", [Fraction(1, 3), np.int64(3), np.float32(0.5), True, 10**30], ids=repr)
def test_evaluate_takes_any_real_number(value):
    assert evaluate(X * 2, {X: value}) == float(value) * 2
    assert float(evaluate(X * 2, {X: value}, digits=30)) == float(value) * 2


def test_conditions_divide_with_all_digits():
    third = evaluate(sign(X) / (sign(X) + sign(Y) + (X < Y)), {X: 1, Y: 2}, digits=40)
    with mpmath.workdps(50):
        assert abs(third - mpmath.mpf(1) / 3) < mpmath.mpf(10) ** -38


def test_float_of_a_condition_without_symbols():
    assert float(sin(1) < 2) == 1.0
    assert float(sign(sin(4))) == -1.0


def test_truth_of_a_condition_is_refused():
    with pytest.raises(TypeError, match="select"):
        bool(X < Y)


def test_missing_symbols_are_named():
    with pytest.raises(ValueError, match="'x'"):
        evaluate(X + Y, {Y: 1})
    with pytest.raises(TypeError, match="'x'"):
        float(X)


@pytest.mark.parametrize("shape", [(0,), (3,), (2, 3), (3, 0)])
@pytest.mark.parametrize("digits", [None, 30])
def test_a_matrix_evaluates_to_an_array_of_its_shape(shape, digits):
    n = int(np.prod(shape))
    found = evaluate(Matrix(shape, [X + k for k in range(n)]), {X: 0.5}, digits)
    assert found.shape == shape
    assert found.dtype == (float if digits is None else object)
    assert (found == 0.5 + np.arange(n).reshape(shape)).all()
    assert all(isinstance(v, float if digits is None else mpmath.mpf) for v in found.flat)
