"""Errors: they name the symbol or argument, before anything is computed."""

import re
from fractions import Fraction

import numpy as np
import pytest

from polhode.compile import compile
from polhode.graph import Matrix, matrix, symbols, vector, vector_of

X, Y, Z = symbols("x y z")
Q = vector_of("q", 3)


@pytest.fixture
def f(target):
    return compile({"q": Q, "x": X}, {"sum": Q + [X, X, X], "twice": 2 * X}, target=target)


def test_missing_symbols_are_named():
    with pytest.raises(ValueError, match=r"'y'.*missing"):
        compile([X], X + Y)


def test_duplicate_symbols_are_named():
    with pytest.raises(ValueError, match="'x' stands in inputs 'a' and 'b'"):
        compile({"a": X, "b": X}, X)
    with pytest.raises(ValueError, match="'x' stands twice"):
        compile([vector([X, X])], X)


def test_inputs_must_be_symbols():
    with pytest.raises(ValueError, match=r"expected symbols, found 2\*x"):
        compile([2 * X], X)


def test_names_given_twice_are_refused():
    with pytest.raises(ValueError, match="'1' is given to 2"):
        compile({1: X, "1": Y}, X)


@pytest.mark.parametrize("name", ["out", "threads"])
def test_names_of_the_call_are_refused(name):
    with pytest.raises(ValueError, match=name):
        compile({name: X}, X)


@pytest.mark.parametrize("name", ["", "a b", "1f", "é", "f;"])
def test_function_names_that_are_no_identifiers_are_refused(name):
    with pytest.raises(ValueError, match="identifier"):
        compile([X], X, name=name)


def test_unknown_target_is_named():
    with pytest.raises(ValueError, match="'fortran'"):
        compile([X], X, target="fortran")


def test_no_outputs_are_refused():
    with pytest.raises(ValueError, match="no outputs"):
        compile([X], [])


@pytest.mark.parametrize("number", [1, 0.5, Fraction(1, 2), np.int64(3), np.float32(0.5), True], ids=repr)
def test_numbers_are_outputs(number, target):
    found = compile([X], [X, number], target=target)(1.0)
    assert found == (1.0, float(number))


@pytest.mark.parametrize("output", [1j, "x", None], ids=repr)
def test_outputs_that_are_no_expressions_are_refused(output):
    with pytest.raises(TypeError, match=r"real number|expression"):
        compile([X], [X, output])


BAD_SHAPES = [np.ones(2), np.ones(4), np.ones((3, 2)), np.ones(()), np.ones((0,)), 1.0, [1.0, 2.0]]


@pytest.mark.parametrize("q", BAD_SHAPES, ids=lambda q: str(np.shape(q)))
def test_wrong_shape_is_named(f, q):
    with pytest.raises(ValueError, match=r"'q'.*expected shape \(\.\.\., 3\)"):
        f(q, 1.0)


@pytest.mark.parametrize("dtype", ["c16", "U3", "M8[s]"])
def test_wrong_dtype_is_named(f, dtype):
    with pytest.raises(TypeError, match="'q': expected real numbers.*dtype " + re.escape(str(np.dtype(dtype)))):
        f(np.ones(3).astype(int).astype(dtype), 1.0)


NUMBERS = np.arange(60.0)
LIKE_PEOPLE_HAVE_THEM = {
    **{dtype: np.arange(3).astype(dtype) for dtype in ("f2", "f4", "g", "i8", "u1", "?", ">f8", "O")},
    **{f"batch {dtype}": np.arange(15).reshape(5, 3).astype(dtype) for dtype in ("f4", "i4", ">f8", "O")},
    "every second": NUMBERS[:6:2],
    "backwards": NUMBERS[2::-1],
    "Fortran order": np.asfortranarray(NUMBERS.reshape(20, 3)),
    "transposed": NUMBERS.reshape(3, 20).T,
    "some columns": NUMBERS[:20].reshape(5, 4)[:, :3],
    "broadcast": np.broadcast_to(NUMBERS[:3], (5, 3)),
    "float32 columns": NUMBERS.reshape(10, 6).astype("f4")[:, ::2],
    "misaligned": np.frombuffer(b"\0" + NUMBERS[:3].tobytes(), np.uint8)[1:].view(np.float64),
    "read-only": np.frombuffer(NUMBERS[:3].tobytes()),
}


@pytest.mark.parametrize("q", LIKE_PEOPLE_HAVE_THEM.values(), ids=LIKE_PEOPLE_HAVE_THEM.keys())
def test_arrays_are_taken_as_people_have_them(f, q):
    before = q.copy()
    expected = np.array(q.tolist(), dtype=float) + 0.5
    total, twice = f(q, 0.5)
    assert total.tolist() == expected.tolist()
    assert np.all(twice == 1)
    out = np.empty(expected.shape), np.empty(expected.shape[:-1])
    assert f(q=q, x=np.float32(0.5), out=out) is out
    assert out[0].tolist() == expected.tolist()
    assert (q == before).all()


@pytest.mark.parametrize("bad", [None, "1.5", 1j, np.complex128(1 + 2j), {}, X, Ellipsis], ids=repr)
@pytest.mark.filterwarnings("error")
def test_what_is_no_number_is_named(f, bad):
    with pytest.raises((TypeError, ValueError), match="'x'"):
        f(np.ones(3), bad)


@pytest.mark.parametrize("bad", [[1.0, None, 2.0], ["1", "2", "3"], [1, 2j, 3], [1, [2], 3], [X, 1, 2]], ids=str)
def test_lists_of_what_is_no_number_are_named(f, bad):
    with pytest.raises((TypeError, ValueError), match="'q'"):
        f(bad, 1.0)


def test_whole_numbers_beyond_floats_are_named(f):
    with pytest.raises((TypeError, ValueError, OverflowError), match="'x'"):
        f(np.ones(3), 10**400)


@pytest.mark.parametrize(
    ("args", "named", "message"),
    [
        ((np.ones(3),), {}, "'x' is missing"),
        ((np.ones(3), 1.0, 2.0), {}, "expected 2 arguments, found 3"),
        ((np.ones(3), 1.0), {"y": 1.0}, "no argument 'y'"),
        ((np.ones(3), 1.0), {"x": 1.0}, "'x' is given twice"),
    ],
)
def test_wrong_arguments_are_named(f, args, named, message):
    with pytest.raises(TypeError, match=message):
        f(*args, **named)


@pytest.mark.parametrize("threads", [0, -1, 1.5, "2", None])
def test_wrong_threads_are_named(f, threads):
    with pytest.raises((TypeError, ValueError), match="threads"):
        f(np.ones(3), 1.0, threads=threads)


def test_batches_that_differ_are_named(f):
    with pytest.raises(ValueError, match="'q' and 'x'"):
        f(np.ones((4, 3)), np.ones(5))


BAD_OUT = [
    (np.zeros(2), "expected shape"),
    (np.zeros((1, 3)), "expected shape"),
    (np.zeros(3, np.float32), "float64"),
    (np.zeros(6)[::2], "contiguous"),
    ([0.0, 0.0, 0.0], "array"),
    (np.broadcast_to(0.0, 3), "contiguous|read-only"),
]


@pytest.mark.parametrize(("out", "message"), BAD_OUT, ids=lambda v: str(v)[:20])
def test_wrong_out_is_named(target, out, message):
    g = compile([Q], {"sum": 2 * Q}, target=target)
    with pytest.raises((TypeError, ValueError), match=f"'sum'.*({message})"):
        g(np.ones(3), out=out)


def test_read_only_out_is_refused(target):
    out = np.zeros(3)
    out.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        compile([Q], 2 * Q, target=target)(np.ones(3), out=out)
    assert not out.any()


def test_out_that_shares_memory_is_refused(target):
    g = compile([Q], {"sum": 2 * Q, "more": 3 * Q}, target=target)
    memory = np.ones(5)
    for out in ((memory[2:], np.zeros(3)), (np.zeros(3), memory[:3])):
        with pytest.raises(ValueError, match="shares memory"):
            g(memory[:3], out=out)
    with pytest.raises(ValueError, match="shares memory"):
        g(np.ones(3), out=(memory[:3], memory[2:]))
    assert (memory == 1).all()


def test_nothing_is_written_where_an_argument_is_wrong(target):
    g = compile([Q, X], Q + [X, X, X], target=target)
    out = np.full((4, 3), 7.0)
    with pytest.raises(ValueError, match="batch"):
        g(np.ones((4, 3)), np.ones(5), out=out)
    assert (out == 7).all()


def test_matrix_arguments_are_checked(target):
    g = compile(
        [Matrix((2, 2), symbols("a b c d"))], matrix([[1, 2]]) @ Matrix((2, 2), symbols("a b c d")), target=target
    )
    with pytest.raises(ValueError, match=r"\(\.\.\., 2, 2\)"):
        g(np.ones(4))
    turned = np.arange(12).reshape(2, 2, 3).T
    assert g(turned[0]).tolist() == ([[1, 2]] @ turned[0]).tolist()
    assert g(turned).tolist() == ([[1, 2]] @ turned).tolist()


def test_numpy_target_has_no_address():
    with pytest.raises(Exception, match="numpy"):
        _ = compile([X], X, target="numpy").address
