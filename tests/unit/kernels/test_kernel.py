"""How kernels are called, and made into LLVM IR: on small ones, against what Python computes."""

import gc
import hashlib
import sys
import threading
from typing import Any, NamedTuple

import numpy as np
import pytest

from polhode.kernels import shipped
from polhode.kernels.arguments import layout, pack
from polhode.kernels.kernel import Kernel, helper, kernel
from polhode.kernels.views import part, square
from tools.kernels import text_of


class Inner(NamedTuple):
    scale: float
    table: np.ndarray


class Outer(NamedTuple):
    count: int
    places: np.ndarray
    inner: Inner | None
    up: bool


@helper
def weighted(inner: Any, i: int, j: int) -> float:
    if inner is None:
        return 1.0
    return inner.scale * inner.table[i, j]


@kernel
def gather(outer: Any, t: float, block: np.ndarray, out: np.ndarray) -> int:
    """Sum of a block, (a, b, c), by place, weighted."""
    for k in range(out.size):
        out[k] = t
    for i in range(block.shape[0]):
        for j in range(block.shape[1]):
            for k in range(block.shape[2]):
                out[outer.places[k]] += block[i, j, k] * weighted(outer.inner, i, j)
    return outer.count + 1 if outer.up else -1


@kernel
def transpose(a: np.ndarray, rows: int, columns: int, out: np.ndarray) -> None:
    seen, line = square(a, 0, rows, columns), part(out, 0, out.size)
    for i in range(rows):
        for j in range(columns):
            line[j * rows + i] = seen[i, j]


NOTE = np.dtype([("count", np.int64), ("value", np.float64), ("last", np.int64)])


@kernel
def note(notes: np.ndarray, i: int) -> int:
    """Write into a record."""
    notes[i].count = 5
    notes[i].value = 2.5
    return int(notes[i].count)


@kernel
def is_positive(x: np.ndarray) -> bool:
    return bool(x[0] > 0.0)


@kernel
def wait(flag: np.ndarray, rounds: np.ndarray) -> int:
    while flag[0] == 0 and rounds[0] < 4_000_000_000:
        rounds[0] += 1
    return int(flag[0])


@kernel
def total(x: np.ndarray) -> float:
    return float(x[0])


@kernel
def reshaped(x: np.ndarray) -> int:
    return int(x.reshape(2, 2)[1, 1])


@kernel
def raising(x: np.ndarray) -> int:
    if x[0] < 0.0:
        raise ValueError("negative")
    return 1


@pytest.fixture
def shipping(monkeypatch, tmp_path):
    """Have kernels made into LLVM IR and run from there, as those that are shipped."""
    monkeypatch.setenv("POLHODE_CACHE_DIR", str(tmp_path))

    def native(kernel, layout, values):
        text, returns = text_of(kernel, values)
        return shipped.load(hashlib.sha256(text.encode()).hexdigest(), returns, lambda: text)

    monkeypatch.setattr(Kernel, "_native", native)
    for made in (gather, transpose, note, is_positive, wait, total, reshaped, raising):
        monkeypatch.setattr(made, "kept", {})


def arguments(inner=True, up=True):
    draw = np.random.default_rng(3)
    return (
        Outer(4, np.array([1, 0, 1]), Inner(0.5, draw.normal(size=(2, 2))) if inner else None, up),
        0.25,
        draw.normal(size=(2, 2, 3)),
        np.zeros(2),
    )


def expected(outer, t, block, out):
    weights = np.ones((2, 2)) if outer.inner is None else outer.inner.scale * outer.inner.table
    sums = np.einsum("ijk,ij->k", block, weights)
    return np.array([t + sums[1], t + sums[0] + sums[2]])


@pytest.mark.parametrize("inner", [True, False])
@pytest.mark.parametrize("up", [True, False])
def test_arguments_of_all_kinds_arrive(shipping, inner, up):
    given = arguments(inner, up)
    assert gather(*given) == (5 if up else -1)
    assert np.allclose(given[-1], expected(*given), rtol=1e-14)
    assert None not in gather.kept.values()  # not by Numba
    assert len(gather.kept) == 1


def test_numba_gives_the_same():
    given, again = arguments(), arguments()
    assert gather(*given) == gather.dispatcher(*again) == 5
    assert list(gather.kept.values()) == [None]  # by Numba both times
    assert np.array_equal(given[-1], again[-1])


@pytest.mark.parametrize("how", ["shipping", None])
def test_bound_arguments_are_seen_as_they_are_at_the_call_and_live_as_long(request, how):
    if how:
        request.getfixturevalue(how)
    outer, t, block, out = arguments()
    bound = gather.bind(outer, t, block.copy(), out)
    gc.collect()
    outer.inner.table[:] = [[1.0, 2.0], [3.0, 4.0]]
    assert bound() == 5
    first = out.copy()
    assert bound() == 5
    assert np.array_equal(out, first)
    assert np.allclose(first, expected(outer, t, block, out), rtol=1e-14)


def test_results_are_none_bool_or_int_and_records_are_written(shipping):
    notes = np.zeros(3, dtype=NOTE)
    assert note(notes, 2) == 5
    assert notes.tolist() == [(0, 0.0, 0), (0, 0.0, 0), (5, 2.5, 0)]
    a, out = np.arange(6.0), np.zeros((3, 2))
    assert transpose(a, 2, 3, out) is None
    assert np.array_equal(out, a.reshape(2, 3).T)
    assert is_positive(np.ones(1)) is True
    assert is_positive(-np.ones(1)) is False


def test_the_gil_is_free_during_a_call(shipping):
    flag, rounds, found = np.zeros(1, dtype=np.int64), np.zeros(1, dtype=np.int64), []
    bound = wait.bind(flag, rounds)
    thread = threading.Thread(target=lambda: found.append(bound()))
    thread.start()
    while not rounds[0]:  # it is under way, and so are we
        pass
    flag[0] = 7
    thread.join()
    assert found == [7]


def test_whole_numbers_are_floats_where_floats_are_expected(shipping):
    outer, _, block, out = arguments()
    gather(outer, 2, block, out)
    assert np.allclose(out, expected(outer, 2.0, block, out), rtol=1e-14)


def test_calls_with_other_arguments_are_refused():
    with pytest.raises(TypeError, match="takes outer, t, block, out, in this order"):
        gather(1, 2)
    with pytest.raises(TypeError, match="takes x, in this order and without names"):
        is_positive(x=np.ones(1))
    with pytest.raises(TypeError, match="arrays, numbers and NamedTuples of them, found 'text'"):
        is_positive("text")


def test_without_numba_the_error_says_what_is_missing(monkeypatch):
    monkeypatch.setitem(sys.modules, "numba", None)
    monkeypatch.setattr(shipped, "is_current", lambda: True)
    fresh = kernel(is_positive.function)
    with pytest.raises(
        ImportError, match=r"unlike those it is shipped for: f8\[1\] strided.*pip install \"polhode\[num"
    ):
        fresh(np.ones(4)[::2])
    monkeypatch.setattr(shipped, "is_current", lambda: False)
    with pytest.raises(ImportError, match="its source was changed"):
        fresh(np.ones(4))


def test_what_cannot_be_shipped_is_refused_when_it_is_made(shipping):
    with pytest.raises(TypeError, match="returns float64, expected None, a bool or an int"):
        total(np.ones(1))
    with pytest.raises(ValueError, match="reshaped' calls numba_attempt_nocopy_reshape"):
        reshaped(np.ones(4))
    with pytest.raises(ValueError, match="raising' may raise an exception"):
        raising(np.ones(1))


def test_the_layout_tells_apart_what_needs_other_code():
    values = [1, 1.0, True, None, np.ones(2), np.ones((1, 2)), np.ones(4)[::2], np.ones(2, dtype=np.int64)]
    values += [np.ones(2, dtype=np.float32), Inner(1.0, np.ones((2, 2))), Inner(1, np.ones((2, 2)))]
    values += [np.zeros(1, dtype=[("a", "f8"), ("b", kind)]) for kind in ("f8", "i8")]
    frozen = np.ones(2)
    frozen.flags.writeable = False
    for named in (layout, lambda given: pack(given)[1]):
        found = [named([value]) for value in [*values, frozen]]
        assert len(set(found)) == len(found)
        assert named([np.ones(3), np.float64(2), np.int64(1)]) == named([np.ones(5), 3.0, 2])
        assert named([np.ones((1, 4))]) == named([np.ones((3, 4))[:2]])  # columns in order, too; not its own data
    assert layout(values[9:10]) == "Inner(scale=float, table=f8[2])"


def test_words_are_addresses_shapes_and_bits():
    a, none, strided = np.ones((2, 3)), np.ones(0), np.ones(4)[::2]
    words, _ = pack([Inner(1.5, a), None, -2, True, none, strided])
    bits = int(np.array(1.5).view(np.int64))
    assert list(words) == [bits, a.ctypes.data, 2, 3, -2, 1, none.ctypes.data, 0, strided.ctypes.data, 2]
