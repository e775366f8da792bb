"""Real equations of motion: compiled, in every target, against plain floats."""

import math

import numpy as np
import pytest

from benchmarks.__main__ import chain
from benchmarks.dynamics import forward_dynamics
from polhode.compile import compile
from polhode.graph import cos, op_counts, sin, vector, vector_of


@pytest.fixture(scope="module")
def arm():
    """A serial chain that fills several pieces of code."""
    n = 11
    q, u, tau = (vector_of(name, n) for name in ("q", "u", "tau"))
    links = chain(n)
    return links, [q, u, tau], vector(forward_dynamics(links, q, u, tau, sin, cos))


@pytest.mark.parametrize("target", ["llvm", "numpy", "c"])
def test_compiled_equals_floats(arm, target):
    links, inputs, expressions = arm
    assert sum(op_counts(expressions.entries).values()) > 5000
    f = compile(inputs, expressions, target=target)
    states = np.random.default_rng(0).normal(size=(3, 19, len(links)))
    found = f(*states)
    for i in range(states.shape[1]):
        expected = forward_dynamics(links, *states[:, i].tolist(), math.sin, math.cos)
        assert found[i] == pytest.approx(expected, rel=1e-11, abs=1e-11 * max(map(abs, expected)))


def test_batch_equals_one_state_bit_by_bit(arm):
    _, inputs, expressions = arm
    f = compile(inputs, expressions)
    states = np.random.default_rng(1).normal(size=(3, 37, expressions.shape[0]))
    alone = np.array([f(*state) for state in states.transpose(1, 0, 2).copy()])
    assert np.array_equal(f(*states), alone)
    assert np.array_equal(f(*states, threads=3), alone)
