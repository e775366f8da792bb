"""Derivatives: forward, backward and finite differences are one."""

import pytest
from hypothesis import given, settings
from mpmath import mp, mpf
from strategies import MANY, cases

from polhode.graph import absolute, diff, evaluate, exp, gradient, jacobian, log, select, sin, sqrt, symbols

X, Y, Z = symbols("x y z")


def close(a, b, size=1):
    return abs(a - b) <= mpf("1e-9") * (size + abs(a) + abs(b))


@given(cases(exact=True, most=16))
@settings(max_examples=60)  # more would find points on a jump
def test_jacobian_equals_finite_differences(case):
    exprs = case.exprs
    rows = evaluate(jacobian(exprs, case.symbols).entries, case.values, digits=40)
    with mp.workdps(60):
        h = mpf("1e-20")
        for j in range(3):
            shifted = [[mpf(v) + s * h * (k == j) for k, v in enumerate(case.point)] for s in (1, -1)]
            ahead, behind = case.pairs(shifted[0]), case.pairs(shifted[1])
            for i in range(len(exprs)):
                assert close((ahead[i][0] - behind[i][0]) / (2 * h), rows[3 * i + j]), (i, j)


@given(cases(exact=True, most=16))
@settings(max_examples=60 * MANY)
def test_gradient_equals_jacobian(case):
    for e in case.exprs:
        backward = evaluate(gradient(e, case.symbols), case.values, digits=40)
        forward = evaluate(jacobian([e], case.symbols).entries, case.values, digits=40)
        assert all(close(a, b) for a, b in zip(backward, forward, strict=True))


@given(cases(exact=True, most=10))
@settings(max_examples=40 * MANY)
def test_mixed_derivatives_commute(case):
    for e in case.exprs:
        one, other = diff(diff(e, X), Y), diff(diff(e, Y), X)
        a, b = evaluate([one, other], case.values, digits=40)
        assert close(a, b)


CONDITIONS = [
    (select(X, Z, 0) + select(Y, Z, 0), {X: -1, Y: 0, Z: 3}),  # a condition is true where it is not 0
    (select(X, select(Y, Z, 0), 0), {X: 1e-200, Y: 1e-200, Z: 3}),
    (select(X, Z, 2) * select(Y, Z, 3), {X: -2, Y: -3, Z: 5}),
    (select(X > 0, select(Y > 0, Z, Z**2), Z**3), {X: 1, Y: -1, Z: 2}),
    (select(X > 0, select(X > 0, Z, log(-Z)), sqrt(-Z)), {X: 1, Y: 0, Z: 2}),
    (select(select(X, Y, 1), Z * X, Z), {X: -1, Y: -1, Z: 2}),
]


@pytest.mark.parametrize(("e", "point"), CONDITIONS, ids=lambda v: str(v)[:40])
def test_gradient_equals_jacobian_under_any_condition(e, point):
    assert evaluate(gradient(e, [Z])[0], point) == evaluate(diff(e, Z), point)


@pytest.mark.parametrize("branch", [log(X), sqrt(X), 1 / X, X / absolute(X), exp(1 / X) * log(X)], ids=str)
def test_branch_not_taken_leaks_no_nan(branch):
    e = select(X > 1, branch, Y * X) * sin(X + Y)
    point = {X: 0.0, Y: 0.25}
    backward = evaluate(gradient(e, [X, Y]), point).tolist()
    assert backward == [evaluate(diff(e, s), point) for s in (X, Y)]
    assert all(v == v for v in backward)


def test_derivative_of_branch_shared_by_both_sides():
    shared = log(X) * Y
    e = select(X > 0, shared, 0) + select(X > 2, shared**2, 0)
    point = {X: -1.0, Y: 2.0}
    assert evaluate(gradient(e, [X, Y]), point).tolist() == [0.0, 0.0]
