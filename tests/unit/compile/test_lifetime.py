"""Functions come and go: nothing leaks, nothing dangles, nothing recurses."""

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

from polhode.compile import compile, native
from polhode.graph import sin, symbols, vector, vector_of

X, Y = symbols("x y")


def test_a_dropped_function_is_freed_without_the_collector():
    gc.collect()
    gc.disable()
    try:
        f = compile([X], sin(X))
        gone = weakref.ref(f), weakref.ref(f.kernel)
        f([0.5, 0.5]), f(0.5), f(1)
        del f
        assert [ref() for ref in gone] == [None, None]
    finally:
        gc.enable()


def test_the_bound_call_outlives_its_function():
    call = compile([X], sin(X) * 2).__call__
    gc.collect()
    assert call(0.5) == 2 * np.sin(0.5)
    assert np.array_equal(call(np.full(20, 0.5)), np.full(20, call(0.5)))


def test_a_second_way_in_leaves_the_first_alone():
    f = compile([X], X + 1)
    other = f.kernel.entry(lambda *a, **k: 0)
    del other
    gc.collect()
    assert f(1) == 2.0


def test_equal_dtypes_that_are_other_objects():
    f = compile([vector_of("x", 2)], vector_of("x", 2) * 2)
    array = pickle.loads(pickle.dumps(np.ones(2)))
    assert np.array_equal(f(array), [2, 2])
    assert np.array_equal(f(np.ones(2).view(np.dtype(float, metadata={"a": 1}))), [2, 2])


def test_an_argument_may_be_called_self():
    assert compile({"self": X}, X + 1)(self=1.0) == 2


def test_many_arguments_compile_and_take_out():
    names = [f"a{i}" for i in range(40)]
    inputs = [symbols([name])[0] for name in names]
    f = compile(inputs, [vector([a, 2 * a]) for a in inputs])
    out = tuple(np.empty(2) for _ in inputs)
    assert f(*np.arange(40.0), out=out) is out
    assert [o.tolist() for o in out] == [[i, 2 * i] for i in range(40)]


def test_first_batch_from_several_threads():
    f = compile([X, Y], sin(X) * Y)
    x = np.linspace(0, 1, 100)
    found = []
    workers = [threading.Thread(target=lambda: found.append(f(x, x))) for _ in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    assert len(found) == 4
    assert all(np.array_equal(r, found[0]) for r in found)


def test_code_that_nobody_holds_makes_room_and_too_much_is_told(monkeypatch):
    """Of cycles, which only a collection ends; LLVM would end the program where the system allows no more."""
    code = native.object_code("define i64 @kernel(i64 %x) {\n ret i64 %x\n}\n")
    gc.collect()
    begun = native._held
    monkeypatch.setattr(native, "most", lambda: 2 * begun + 100)
    monkeypatch.setattr(native, "_looked", 0)
    gc.disable()
    try:
        for _ in range(300):
            pair = [native.Loaded(code)]
            pair.append(pair)
        held = []
        with pytest.raises(MemoryError, match=r"compiled functions are held, of some .* Let go of dynamics"):
            held.extend(native.Loaded(code) for _ in range(2 * native.most()))
    finally:
        gc.enable()
    del held, pair
    gc.collect()
    assert native._held <= begun
