"""Compiled functions called by address from a Numba kernel."""

import subprocess
import sys

import numpy as np
import pytest
from numba import njit
from numba.core.errors import TypingError

from polhode.compile import compile
from polhode.compile.invoke import invoke
from polhode.graph import cos, sin, symbol, vector, vector_of

X = vector_of("x", 3)


@njit(nogil=True)
def call(address, x, y, work):
    invoke(address, x, y, work)


@njit(nogil=True)
def call_with_scalar(address, x, h, y, z, work):
    invoke(address, x, h, y, z, work)


def test_a_kernel_computes_what_the_function_does():
    f = compile([X], vector([sin(X[0]) * X[1], cos(X[2]), X[0]]))
    x, y = np.array([0.1, 0.2, 0.3]), np.empty(3)
    call(f.address, x, y, np.empty(f.work_size))
    assert np.array_equal(y, f(x))


def test_one_kernel_serves_every_function():
    x, y = np.array([0.1, 0.2, 0.3]), np.empty(3)
    for e in (X * 2, X.map(sin), vector([X[2], X[1], X[0]])):
        f = compile([X], e)
        before = len(call.signatures)
        call(f.address, x, y, np.empty(f.work_size))
        assert np.array_equal(y, f(x))
        assert len(call.signatures) == max(before, 1)


def test_several_arguments_and_outputs():
    h = symbol("h")
    f = compile([X, h], [X * h, h + 1])
    x, y, z = np.ones(3), np.empty(3), np.empty(1)
    call_with_scalar(f.address, x, np.array([2.0]), y, z, np.empty(f.work_size))
    assert np.array_equal(y, [2, 2, 2])
    assert z[0] == 3


@pytest.mark.slow
def test_large_functions_use_the_workspace():
    e = X
    for _ in range(1500):
        e = e.map(lambda a: sin(a) * X[0]) + vector([e[1], e[2], e[0]]) * 0.3
    f = compile([X], e)
    assert f.work_size > 0
    x, y = np.array([0.4, 0.2, 0.3]), np.empty(3)
    call(f.address, x, y, np.empty(f.work_size))
    assert np.array_equal(y, f(x))


def test_other_arrays_are_refused_when_the_kernel_is_compiled():
    with pytest.raises((TypingError, TypeError), match="contiguous float64"):
        call(0, np.ones(3, dtype=np.float32), np.ones(3), np.ones(1))


SECOND = """
import sys

import numpy as np
from numba import njit
from polhode.compile import compile
from polhode.compile.invoke import invoke
from polhode.graph import symbol, vector

@njit(cache=True, nogil=True)
def call(address, x, y, work):
    invoke(address, x, y, work)

x = vector([symbol("x")])
f = compile([x], x * int(sys.argv[1]))
y = np.empty(1)
call(f.address, np.ones(1), y, np.empty(f.work_size))
print(y[0], sum(call.stats.cache_misses.values()))
"""


def test_a_cached_kernel_serves_another_function_in_another_process(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(SECOND)
    runs = [[sys.executable, program, factor] for factor in ("2", "3")]
    found = [subprocess.run(run, capture_output=True, text=True, check=True).stdout.split() for run in runs]
    assert found == [["2.0", "1"], ["3.0", "0"]]  # the value, and how often Numba compiled
