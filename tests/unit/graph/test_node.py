"""Nodes: one object for one expression, freed with its last reference, deep without recursion."""

import copy
import gc
import math
import pickle
import subprocess
import sys
import threading
import weakref
from fractions import Fraction

import pytest
from hypothesis import given
from strategies import cases

from polhode.graph import (
    const,
    cos,
    diff,
    evaluate,
    free_symbols,
    gradient,
    intermediates,
    maximum,
    minimum,
    node_count,
    op_counts,
    pi,
    select,
    sin,
    sqrt,
    substitute,
    symbol,
    symbols,
    topological,
    tree_size,
    walk,
)

X, Y = symbols("x y")
DEPTH = 100_000


def chain(depth, e=X):
    """Two nodes a level: 200,000 for a depth of 100,000."""
    for _ in range(depth):
        e = sin(e) * Y
    return e


@pytest.fixture(scope="module")
def deep():
    return chain(DEPTH)


def test_equal_expressions_are_one_object():
    assert symbol("x") is X
    assert sin(X + Y) * 2 is 2 * sin(Y + X)


def test_equality_with_numbers():
    assert const(2) == 2
    assert const(2) != 3
    assert X != 2
    assert {const(2): "two"}[2] == "two"


def test_exact_and_float_constants_differ():
    assert const(1) is not const(1.0)
    assert const(Fraction(1, 2)) is not const(0.5)


def test_nan_is_one_constant():
    assert const(math.nan) is const(-math.nan)
    assert sin(X) + math.nan is math.nan + sin(X)


def test_nodes_nobody_refers_to_are_freed():
    gc.collect()
    before = node_count()
    e = chain(100, symbol("only here")) + Fraction(1, 977)
    assert node_count() > before + 200
    del e
    assert node_count() == before


def test_a_freed_node_dies_at_once():
    e = cos(X + 12345)
    ghost = weakref.ref(e)
    del e
    assert ghost() is None


def test_derivatives_and_evaluation_keep_nothing():
    gc.collect()
    before = node_count()
    e = chain(50, symbol("only here"))
    gradient(e, [symbol("only here")])
    evaluate(e, {"only here": 1, "x": 1, "y": 1}, digits=30)
    repr(e), op_counts(e), pickle.dumps(e)
    del e
    gc.collect()
    assert node_count() == before


def test_deep_graph_is_freed_without_recursion():
    gc.collect()
    before = node_count()
    e = chain(DEPTH, symbol("only here"))
    assert node_count() >= before + 2 * DEPTH
    del e
    assert node_count() == before


def test_deep_graph_is_freed_on_a_small_stack():
    gc.collect()
    enough = 2048 if sys.version_info[:2] == (3, 13) else 256  # CPython 3.13 nests its own deallocation deeper
    before, size = node_count(), threading.stack_size(enough * 1024)
    try:
        worker = threading.Thread(target=lambda: tree_size(chain(DEPTH, symbol("only here"))))
        worker.start()
        worker.join()
    finally:
        threading.stack_size(size)
    assert node_count() == before


def test_deep_graph_is_listed_once(deep):
    order = topological(deep)
    assert len(order) == len(set(order)) == 2 * DEPTH + 2


def test_deep_graph_counts(deep):
    assert op_counts(deep) == {"sin": DEPTH, "mul": DEPTH}
    assert free_symbols(deep) == {X, Y}


def test_deep_graph_evaluates(deep):
    expected = 0.5
    for _ in range(DEPTH):
        expected = math.sin(expected) * 0.99
    assert evaluate(deep, {X: 0.5, Y: 0.99}) == expected


@pytest.mark.slow
def test_deep_graph_differentiates(deep):
    point = {X: 0.5, Y: 1.5}
    forward = evaluate(diff(deep, X), point)
    assert evaluate(gradient(deep, [X])[0], point) == pytest.approx(forward, rel=1e-6)


def test_deep_graph_substitutes(deep):
    assert free_symbols(substitute(deep, {X: Y})) == {Y}


def test_deep_graph_prints_a_summary(deep):
    assert repr(deep) == "<200,000 operations in x, y>"


def test_deep_graph_pickles_to_itself(deep):
    assert pickle.loads(pickle.dumps(deep)) is deep
    assert copy.deepcopy(deep) is deep


def test_naming_intermediates_visits_no_node_twice(monkeypatch):
    e, visited = chain(300), []
    listed = walk.topological
    monkeypatch.setattr(walk, "topological", lambda roots: visited.append(order := listed(roots)) or order)
    intermediates(e)
    assert sum(map(len, visited)) <= 20 * len(listed(e))


@given(cases(most=12))
def test_pickle_gives_the_same_objects(case):
    exprs = case.exprs
    assert all(a is b for a, b in zip(pickle.loads(pickle.dumps(exprs)), exprs, strict=True))


SCRIPT = """
import pickle, sys
from polhode.graph import symbols, sin, minimum
x, y = symbols("x y")
e = pickle.load(sys.stdin.buffer)
assert e is sin(x - y) * minimum(x, y) + y * 3 / 7, e
sys.stdout.buffer.write(pickle.dumps(y * 3 / 7 + minimum(y, x) * -sin(y - x)))
"""


def test_pickle_meets_the_same_canonical_order_in_another_process():
    e = sin(X - Y) * minimum(X, Y) + Y * 3 / 7
    done = subprocess.run([sys.executable, "-c", SCRIPT], input=pickle.dumps(e), capture_output=True, check=True)
    assert pickle.loads(done.stdout) is e


def test_threads_share_one_node():
    """Many threads build, drop and rebuild the same expressions."""
    kept = [[] for _ in range(8)]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(mine):
        for round in range(60):
            for k in range(20):
                sin(X + k + 7919) * Y  # built and dropped
            mine.append([sin(X + k + round) * Y for k in range(20)])

    try:
        workers = [threading.Thread(target=work, args=(mine,)) for mine in kept]
        for w in workers:
            w.start()
        for w in workers:
            w.join()
    finally:
        sys.setswitchinterval(interval)
    for rows in zip(*kept, strict=True):
        for same in zip(*rows, strict=True):
            assert len({id(e) for e in same}) == 1


@pytest.mark.parametrize("name", ["", " ", "a\nb", "a\0b", 3, None], ids=repr)
def test_unprintable_names_are_refused(name):
    with pytest.raises(ValueError, match="printable name"):
        symbol(name)


@pytest.mark.parametrize("name", ["a b", 'q"', "q'", "π", "double", "def", "x*/", "\\", "1"], ids=repr)
def test_any_printable_name_is_a_symbol(name):
    assert pickle.loads(pickle.dumps(symbol(name) + X)) is symbol(name) + X


@pytest.mark.parametrize("bad", [1j, "2", None, [1]], ids=repr)
def test_arithmetic_refuses_what_is_not_real(bad):
    with pytest.raises(TypeError):
        X + bad
    with pytest.raises(TypeError):
        bad * X


def test_a_node_that_dies_in_one_thread_is_whole_in_another():
    seen = set()

    def churn():
        for _ in range(20_000):
            e = X * Y
            seen.add(len(e.args))
            del e

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        workers = [threading.Thread(target=churn) for _ in range(4)]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
    finally:
        sys.setswitchinterval(interval)
    assert seen == {2}


def test_an_expression_without_symbols_knows_its_number():
    e = sin(const(2)) * sqrt(const(3)) + maximum(const(1), pi) - select(pi < 3, 1, sqrt(const(5)))
    assert e.number == evaluate(e, {}) == pytest.approx(math.sin(2) * 3**0.5 + math.pi - 5**0.5)
    assert const(Fraction(1, 3)).number == 1 / 3
    assert const(-(10**400)).number == -math.inf
    assert (1 / const(0)).number == math.inf
    assert X.number is (e + X).number is sin(X).number is None
    assert pickle.loads(pickle.dumps(e)).number == e.number
