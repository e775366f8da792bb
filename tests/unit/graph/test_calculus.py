"""Derivatives in closed form, and what cannot be differentiated."""

from fractions import Fraction

import pytest

from polhode.graph import (
    absolute,
    acos,
    asin,
    atan2,
    const,
    cos,
    diff,
    equal,
    evaluate,
    exp,
    free_symbols,
    gradient,
    jacobian,
    log,
    matrix,
    maximum,
    minimum,
    op_counts,
    sign,
    sin,
    sqrt,
    substitute,
    symbols,
    tan,
    tanh,
    vector,
    vector_of,
)

X, Y = symbols("x y")

KNOWN = [
    (sin(X), cos(X)),
    (cos(X), -sin(X)),
    (tan(X), 1 + tan(X) ** 2),
    (exp(X), exp(X)),
    (log(X), 1 / X),
    (sqrt(X), 1 / (2 * sqrt(X))),
    (tanh(X), 1 - tanh(X) ** 2),
    (asin(X), 1 / sqrt(1 - X**2)),
    (acos(X), -1 / sqrt(1 - X**2)),
    (atan2(Y, X), -Y / (X**2 + Y**2)),
    (absolute(X), sign(X)),
    (sign(X), const(0)),
    (X < Y, const(0)),
    (equal(X, Y), const(0)),
    (X**7, 7 * X**6),
    (X**-1, -1 / X**2),
    (X * Y, Y),
    (Y, const(0)),
    (X / 3, const(Fraction(1, 3))),
]


@pytest.mark.parametrize(("e", "slope"), KNOWN, ids=str)
def test_known_derivative(e, slope):
    point = {X: 0.3, Y: 0.7}
    assert evaluate(diff(e, X), point) == pytest.approx(evaluate(slope, point), rel=1e-15)


@pytest.mark.parametrize(("f", "slope"), [(minimum, 1.0), (maximum, 0.0)])
def test_derivative_of_minimum_and_maximum_is_of_the_one_taken(f, slope):
    assert evaluate(diff(f(X, Y), X), {X: 1, Y: 2}) == slope


def test_higher_order_repeats():
    assert diff(X**4, X, 2) is 12 * X**2
    assert diff(X**4, X, 0) is X**4


def test_negative_order_is_refused():
    with pytest.raises(ValueError, match="order"):
        diff(X**2, X, -1)


def test_derivative_keeps_the_pole():
    assert evaluate(diff(0 * log(X), X), {X: 0.0}) != 0


def test_derivative_by_an_expression_is_refused():
    with pytest.raises(TypeError, match="expected a symbol"):
        diff(X**2, X**2)


def test_derivative_of_a_number_is_zero():
    assert diff(const(2), X) is const(0)
    assert gradient(const(2), [X, Y]) == vector([0, 0])


def test_jacobian_of_a_vector():
    assert jacobian([X * Y, X + Y], [X, Y]) == matrix([[Y, X], [1, 1]])
    assert jacobian(vector([X * Y]), vector([X, Y])) == matrix([[Y, X]])


def test_empty_jacobian_keeps_its_shape():
    assert jacobian([], [X, Y]).shape == (0, 2)
    assert jacobian([X], []).shape == (1, 0)
    assert gradient(X, []).shape == (0,)


def test_gradient_costs_a_small_multiple():
    q = vector_of("q", 60)
    e = const(1)
    for a in q:
        e = sin(e + a) * a
    ours, theirs = sum(op_counts(gradient(e, q)).values()), sum(op_counts(e).values())
    assert ours < 6 * theirs


def test_substitution_is_simultaneous():
    assert substitute(X - 2 * Y, {X: Y, Y: X}) is Y - 2 * X


def test_substitution_of_a_subexpression():
    assert substitute(sin(X + Y) ** 2, {X + Y: X}) is sin(X) ** 2


def test_substitution_folds():
    assert substitute(sin(X) ** 2 + cos(Y) ** 2, {Y: X}) is const(1)
    assert substitute(X * Y, {X: Fraction(1, 2), Y: 4}) is const(2)


def test_substitution_keeps_poles():
    e = substitute(Y / X, {X: 0, Y: 0})
    assert evaluate(e, {}) != evaluate(e, {})


def test_matrices_have_symbols_and_operations():
    m = matrix([[X * Y, X], [X, X + Y]])
    assert free_symbols(m) == {X, Y}
    assert op_counts(m) == {"mul": 1, "add": 1}
