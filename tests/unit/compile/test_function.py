"""Calling: batches, broadcasting, out, threads, pickling, and the address."""

import ctypes
import gc
import math
import pickle
import sys
import weakref

import numpy as np
import pytest

from polhode.compile import compile
from polhode.graph import (
    Matrix,
    absolute,
    atan2,
    const,
    cos,
    evaluate,
    exp,
    log,
    maximum,
    minimum,
    node_count,
    select,
    sign,
    sin,
    sqrt,
    symbol,
    symbols,
    vector,
    vector_of,
)

X, Y = symbols("x y")
Q = vector_of("q", 3)


def expected(q, x):
    """What `f` computes, by numpy."""
    q, x = np.asarray(q), np.asarray(x)[..., None]
    return np.concatenate([np.sin(q) * x, q[..., :1] * q[..., 1:2] + 0 * x], axis=-1)


@pytest.fixture
def f(target):
    return compile([Q, X], vector([sin(q) * X for q in Q] + [Q[0] * Q[1]]), target=target)


@pytest.mark.parametrize("count", range(21))
@pytest.mark.parametrize("threads", [1, 3])
def test_any_batch_size(f, count, threads):
    q, x = np.linspace(-2, 2, 3 * count).reshape(count, 3), np.linspace(1, 2, count)
    found = f(q, x, threads=threads)
    assert found.shape == (count, 4)
    np.testing.assert_allclose(found, expected(q, x), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("lead", [(), (1,), (2, 3), (4, 1, 5), (0,), (3, 0), (0, 2)])
def test_any_batch_shape(f, lead):
    q = np.random.default_rng(0).standard_normal((*lead, 3))
    x = np.full(lead, 0.5)
    np.testing.assert_allclose(f(q, x), expected(q, x), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("count", [1, 3, 4, 9, 17])
def test_argument_without_batch_is_the_same_for_every_state(f, count):
    q, x = np.linspace(-2, 2, 3 * count).reshape(count, 3), np.linspace(1, 2, count)
    np.testing.assert_allclose(f(q, 0.5), expected(q, np.full(count, 0.5)), rtol=1e-15, atol=1e-16)
    np.testing.assert_allclose(f(q[0], x), expected(np.tile(q[0], (count, 1)), x), rtol=1e-15, atol=1e-16)


@pytest.mark.parametrize("x", [2, True, 2.0, np.float64(2), np.float32(2), np.int8(2), np.array(2.0)], ids=repr)
def test_any_real_number_is_a_scalar(f, x):
    np.testing.assert_allclose(f([0.1, 0.2, 0.3], x), expected([0.1, 0.2, 0.3], float(x)), rtol=1e-15)


def test_lists_and_tuples_are_arrays(f):
    np.testing.assert_array_equal(f([1, 2, 3], 1), f(np.array([1.0, 2, 3]), 1.0))
    np.testing.assert_array_equal(f(((1, 2, 3), (4, 5, 6)), 1), f(np.array([[1.0, 2, 3], [4, 5, 6]]), 1.0))


def test_read_only_inputs_are_read(f):
    q = np.array([0.1, 0.2, 0.3])
    q.flags.writeable = False
    np.testing.assert_array_equal(f(q, 1.0), f(q.copy(), 1.0))


class Tagged(np.ndarray):
    """A subclass that changes nothing."""


@pytest.mark.filterwarnings("ignore:the matrix subclass")
@pytest.mark.parametrize("kind", [Tagged, np.matrix, np.recarray])
def test_array_subclasses_are_arrays(f, kind):
    q = np.arange(6.0).reshape(2, 3)
    np.testing.assert_array_equal(np.asarray(f(q.view(kind), 1.0)), f(q, 1.0))


def test_named_arguments(f):
    q = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(f(x=0.5, q=q), f(q, 0.5))
    np.testing.assert_array_equal(f(q, x=0.5), f(q, 0.5))


@pytest.mark.parametrize("count", [None, 1, 3, 9, 0])
def test_out_is_written_and_returned(f, count):
    lead = () if count is None else (count,)
    q, out = np.full((*lead, 3), 0.3), np.full((*lead, 4), np.nan)
    assert f(q, 2.0, out=out) is out
    np.testing.assert_allclose(out, expected(q, np.full(lead, 2.0)), rtol=1e-15)


def test_inputs_are_not_written(f):
    q = np.arange(27.0).reshape(9, 3)
    before = q.copy()
    f(q, 1.0)
    np.testing.assert_array_equal(q, before)


def test_several_outputs_are_a_tuple(target):
    g = compile([X], {"a": 2 * X, "b": vector([X, X])}, target=target)
    scalar, array = g(1.5)
    assert isinstance(scalar, float)
    assert scalar == 3
    assert array.tolist() == [1.5, 1.5]
    batch = g(np.ones(6))
    assert [b.shape for b in batch] == [(6,), (6, 2)]


@pytest.mark.parametrize("outputs", [2 * X, [2 * X], {"twice": 2 * X}], ids=str)
def test_a_lone_output_comes_in_one_form(target, outputs):
    """However it is called: a state, a batch, by name, with threads."""
    g = compile([X], outputs, target=target)
    forms = [g(1.0), g(x=1.0), g(1), g(1.0, threads=1), g(np.ones(2)), g(np.ones(9))]
    assert len({isinstance(found, tuple) for found in forms}) == 1


def test_several_outputs_into_out(target):
    g = compile([X], {"a": vector([X]), "b": vector([X, 2 * X])}, target=target)
    out = np.zeros(1), np.zeros(2)
    assert g(3.0, out=out) is out
    assert out[1].tolist() == [3, 6]


def test_empty_vectors(target):
    g = compile([vector([]), X], {"none": vector([]), "x": X + 1}, target=target)
    none, x = g(np.zeros(0), 1.0)
    assert none.shape == (0,)
    assert x == 2
    none, x = g(np.zeros((9, 0)), 1.0)
    assert none.shape == (9, 0)
    assert x.tolist() == [2] * 9


def test_no_inputs(target):
    assert compile([], vector([1, const(2) / 3]), target=target)().tolist() == [1, 2 / 3]


def test_matrices_in_and_out(target):
    m = Matrix((2, 3), symbols("a b c d e f"))
    g = compile({"m": m}, m.T @ m, target=target)
    a = np.random.default_rng(0).standard_normal((9, 2, 3))
    np.testing.assert_allclose(g(a), a.transpose(0, 2, 1) @ a, atol=1e-15)
    np.testing.assert_allclose(g(a[0]), a[0].T @ a[0], atol=1e-15)


def test_outputs_that_are_inputs_or_constants(target):
    g = compile([X, Y], vector([Y, X, 3, X, math.inf, -math.inf]), target=target)
    assert g(1.0, 2.0).tolist() == [2, 1, 3, 1, math.inf, -math.inf]
    assert g(np.ones(9), 2.0)[-1].tolist() == [2, 1, 3, 1, math.inf, -math.inf]


SPECIAL = [
    (1 / X, 0.0, math.inf),
    (log(X), 0.0, -math.inf),
    (log(X), -1.0, math.nan),
    (sqrt(X), -1.0, math.nan),
    (0 * (1 / X), 0.0, math.nan),
    (1 / X - 1 / X, 0.0, math.nan),
    (minimum(X, 1), math.nan, math.nan),
    (maximum(1, X), math.nan, math.nan),
    (sign(X), math.nan, math.nan),
    (sign(X), 0.0, 0.0),
    (absolute(X), -math.inf, math.inf),
    (X < 1, math.nan, 0.0),
    (select(X, 1, 2), math.nan, 1.0),
    (select(X > 0, log(X), 5), -1.0, 5.0),
    (atan2(X, -1), -0.0, math.pi),
    (exp(X), 1000.0, math.inf),
    (X**3, -1e200, -math.inf),
    (X * math.inf, 0.0, math.nan),
    (X + math.nan, 0.0, math.nan),
    (minimum(X, math.inf), 3.0, 3.0),
    (sin(X) + cos(X), math.inf, math.nan),
    (const(10) ** 300 * X, 1e10, math.inf),
]


@pytest.mark.parametrize(("e", "x", "value"), SPECIAL, ids=str)
def test_special_values_survive(target, e, x, value):
    g = compile([X], e, target=target)
    found = [g(x), *g(np.full(9, x))]
    np.testing.assert_array_equal(found, [value] * 10)


def test_pole_at_a_negative_zero_is_the_interpreter_s(target):
    e = 1 / (X * Y)
    found = compile([X, Y], e, target=target)(0.0, -1.0)
    assert found == evaluate(e, {X: 0.0, Y: -1.0})
    assert abs(found) == evaluate(e, {X: 0, Y: -1}, digits=20)  # mpmath's zero has no sign


NAMES = [
    'a"b',
    "a'b",
    "a\\",
    "x*/y",
    "π",
    "double",
    "def",
    "lambda",
    "a b",
    "*/",
    "1",
    "t1",
    "t2",
    "w",
    "np",
    "f",
    "piece0",
]
NAMES += [
    "NAN",
    "INFINITY",
    "HUGE_VAL",
    "sin",
    "exp",
    "FP_NAN",
    "math_errhandling",
    "restrict",
    "%s",
    "{x}",
    "??/",
    "this",
]


@pytest.mark.parametrize("name", NAMES, ids=repr)
def test_any_name_of_a_symbol_compiles(target, name):
    s = symbol(name)
    g = compile([s], {"y": sin(s) * s + s, name + "_": 2 * s}, target=target)
    assert g(2.0) == (pytest.approx(2 * math.sin(2) + 2), 4)


@pytest.mark.parametrize("name", ["line\nbreak", '"""', "a\0b", "x; abort();", "\u2028"], ids=repr)
def test_any_name_of_an_argument_compiles(target, name):
    g = compile({name: X}, {name: 2 * X, "more": X * X}, target=target)
    assert g(3.0) == (6, 9)


@pytest.mark.parametrize(
    "name", ["np", "double", "sin", "main", "def", "piece0", "t1", "w", "NAN", "state", "entry", "x"]
)
def test_any_name_of_the_function_compiles_or_is_refused(target, name):
    try:
        g = compile([X], sin(X) * X, target=target, name=name)
    except ValueError as refused:
        assert name in str(refused)  # noqa: PT017
    else:
        assert g(2.0) == pytest.approx(2 * math.sin(2))


def test_pickled_function_computes_the_same(f):
    again = pickle.loads(pickle.dumps(f))
    q = np.array([0.1, 0.2, 0.3])
    np.testing.assert_array_equal(again(q, 2.0), f(q, 2.0))
    assert repr(again) == repr(f)


def test_repr_names_everything(f, target):
    assert repr(f).startswith("f(q[3], x) -> output0[4]")
    assert target in repr(f)
    assert "3 sin" in repr(f)


def test_address_computes(target):
    if target == "numpy":
        pytest.skip("numpy code has no address")
    g = compile([Q, X], {"a": Q * X, "b": X + 1}, target=target)
    q, x, a, b = np.array([1.0, 2, 3]), np.array([2.0]), np.zeros(3), np.zeros(1)
    work = np.zeros(g.work_size + 8 if target == "llvm" else 1)
    pointers = [p.ctypes.data for p in (q, x, a, b, work)][: 5 if target == "llvm" else 4]
    ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * len(pointers))(g.address)(*pointers)
    assert a.tolist() == [2, 4, 6]
    assert b[0] == 3


def test_functions_are_freed(target):
    gc.collect()
    before = node_count()
    g = compile([symbol("only here")], sin(symbol("only here") + 1), target=target)
    g(1.0), g(np.ones(9))
    ghost = weakref.ref(g)
    del g
    gc.collect()
    assert ghost() is None
    assert node_count() == before


def test_calls_leak_no_references(f):
    q, out = np.array([0.1, 0.2, 0.3]), np.zeros(4)
    f(q, 1.0), f(q, 1.0, out=out)
    before = sys.getrefcount(q), sys.getrefcount(out), sys.getrefcount(f)
    for _ in range(50):
        f(q, 1.0), f(q, 1.0, out=out), f(q, x=1.0), f(np.tile(q, (9, 1)), 1.0)
        with pytest.raises(ValueError, match="shape"):
            f(out, 1.0)
    assert (sys.getrefcount(q), sys.getrefcount(out), sys.getrefcount(f)) == before
