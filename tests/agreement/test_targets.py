"""Every way to evaluate agrees with mpmath, within a running error bound."""

import numpy as np
import pytest
from hypothesis import given, settings
from mpmath import mp, mpf
from strategies import MANY, cases, misfits

from polhode.compile import compile
from polhode.graph import evaluate, sin, symbols, vector


@given(cases())
@settings(max_examples=300 * MANY)
def test_interpreter_agrees_with_mpmath(case):
    assert not misfits(evaluate(case.exprs, case.values), case.pairs())


@given(cases(exact=True))
@settings(max_examples=150 * MANY)
def test_exact_constants_stay_exact(case):
    found = evaluate(case.exprs, case.values, digits=45)
    with mp.workdps(60):
        for got, (value, error) in zip(found, case.pairs(), strict=True):
            assert abs(got - value) <= error * mpf(10) ** -25 + mpf(10) ** -40


def scalar_and_batch(case, target):
    """The pool from one state, and from a batch whose last state is the point."""
    f = compile([vector(case.symbols)], vector(case.exprs), target=target)
    states = np.ones((9, 3))
    states[-1] = case.point
    return f(np.array(case.point)), f(states)[-1]


@given(cases(most=40))
@settings(max_examples=60 * MANY)
def test_llvm_agrees_with_mpmath(case):
    scalar, batch = scalar_and_batch(case, "llvm")
    assert not misfits(scalar, case.pairs())
    assert not misfits(batch, case.pairs())


@given(cases(most=60))
@settings(max_examples=15 * MANY)
def test_c_agrees_with_mpmath(case):
    scalar, batch = scalar_and_batch(case, "c")
    assert not misfits(scalar, case.pairs())
    assert not misfits(batch, case.pairs())


@given(cases())
@settings(max_examples=150 * MANY)
def test_numpy_agrees_with_mpmath(case):
    scalar, batch = scalar_and_batch(case, "numpy")
    assert not misfits(scalar, case.pairs())
    assert not misfits(batch, case.pairs())


@pytest.fixture(scope="module")
def large():
    """Over 7,000 operations, with values that live across many pieces."""
    x, y = symbols("x y")
    early = [sin(x + k) * y for k in range(40)]
    a, b = x, y
    for k in range(1500):
        a, b = b, (a * b + early[k % 40]) / (2 + b * b)
    return vector([b, *early, a * early[0]])


def test_large_tapes_agree(large, target):
    f = compile(symbols("x y"), large, target=target)
    states = np.linspace(0.1, 0.9, 11)
    batch = f(states, 0.5)
    for state, got in zip(states, batch, strict=True):
        expected = [float(v) for v in evaluate(large, {"x": state, "y": 0.5}, digits=40)]
        np.testing.assert_allclose(got, expected, rtol=1e-12, atol=1e-13)
        np.testing.assert_allclose(f(float(state), 0.5), expected, rtol=1e-12, atol=1e-13)
