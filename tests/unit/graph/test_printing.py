"""Text: reads back to the same value, and never unfolds a large graph."""

import math
import tracemalloc
from fractions import Fraction

import pytest
from hypothesis import given, settings
from strategies import MANY, cases

from polhode import graph
from polhode.graph import (
    atan2,
    const,
    evaluate,
    intermediates,
    matrix,
    maximum,
    pi,
    select,
    sin,
    sqrt,
    symbol,
    symbols,
    tree_size,
    vector_of,
)

X, Y, Z = symbols("x y z")

READ = {
    name: getattr(graph, name)
    for name in ("sin", "cos", "tan", "asin", "acos", "atan2", "exp", "log", "tanh", "sqrt", "sign", "pi")
} | {"select": graph.select, "min": graph.minimum, "max": graph.maximum, "abs": abs, "x": X, "y": Y, "z": Z}

WRITTEN = [
    (X - Y, ("x - y", "-y + x")),
    (2 * X / 3, ("2*x/3",)),
    (-X * Y / 2, ("-x*y/2",)),
    (X / (Y / Z), ("x/(y/z)", "x*z/y")),
    (X / (Y * Z), ("x/(y*z)",)),
    ((X + Y) ** 2, ("(x + y)**2", "(y + x)**2")),
    (1 / X**2, ("1/x**2",)),
    (pi, ("pi",)),
    (const(Fraction(-2, 3)), ("-2/3",)),
    (select(X < Y, 1, 0), ("select((x < y), 1, 0)", "select(x < y, 1, 0)")),
]


@pytest.mark.parametrize(("e", "texts"), WRITTEN, ids=str)
def test_text_is_readable(e, texts):
    assert repr(e) in texts


def read(text):
    """Evaluate our own text with polhode's functions; fractions stay exact as numbers of the graph."""
    return eval(text, {"__builtins__": {}}, READ)


@given(cases(most=14))
@settings(max_examples=150 * MANY)
def test_text_reads_back_to_the_value(case):
    for e in case.exprs:
        text = repr(e)
        if text.startswith("<") or "==" in text:
            continue
        again, value = evaluate(graph.as_expr(read(text)), case.values, digits=30), evaluate(e, case.values, digits=30)
        assert abs(again - value) <= 1e-9 * (1 + abs(value)), text


@pytest.mark.parametrize("e", [const(math.inf) * X, const(math.nan) + X, -math.inf * X, const(1e-310) * X], ids=str)
def test_special_constants_print(e):
    assert "x" in repr(e)


def test_numbers_of_any_length_print():
    assert len(repr(const(Fraction(1, 10**5000)) * X)) < 10_000


def shared(depth):
    """Of 2**depth operations written out."""
    e = X
    for _ in range(depth):
        e = sin(e) + e * Y
    return e


def test_large_expression_prints_as_a_summary():
    assert repr(shared(1000)) == "<4,000 operations in x, y>" or repr(shared(1000)) == "<3,000 operations in x, y>"


def test_summary_shortens_many_symbols():
    assert len(repr(sum(vector_of("q", 400), const(0)))) < 80


def test_matrix_of_large_expressions_prints_as_a_summary():
    e = shared(500)
    assert repr(matrix([[e, X], [Y, e]])).startswith("<2 x 2 matrix")


def test_printing_a_shared_graph_takes_little_memory():
    e = shared(30_000)
    tracemalloc.start()
    repr(e)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 60e6


def test_tree_size_counts_what_is_shared_again():
    assert tree_size(shared(3)) > 2**3
    assert tree_size(X) == 0


def unfold(definitions, reduced, point):
    """Evaluate the definitions in order, then the expressions."""
    known = dict(point)
    for name, e in definitions:
        known[name] = evaluate(e, known)
    return evaluate(reduced, known)


@given(cases(most=30))
@settings(max_examples=100 * MANY)
def test_intermediates_keep_the_values(case):
    exprs = case.exprs
    found = unfold(*intermediates(exprs, limit=6), case.values)
    for got, (value, error) in zip(found, case.pairs(), strict=True):
        assert abs(got - value) <= error


KEEP_NAN = [
    (Y + 0 * (1 / X) + maximum(-1, -abs(1 / X)), {X: 0.0, Y: 1.0}),
    (select(graph.equal(sqrt(X), sqrt(X)), 1, 2) + 0 * sqrt(X), {X: -1.0}),
]


@pytest.mark.parametrize(("e", "point"), KEEP_NAN, ids=str)
def test_intermediates_keep_nan(e, point):
    assert math.isnan(evaluate(e, point))
    assert math.isnan(unfold(*intermediates([e]), point)[0])


def test_no_intermediate_is_longer_than_asked():
    definitions, reduced = intermediates(shared(60), limit=10)
    assert all(tree_size(e) <= 10 for _, e in definitions)
    assert tree_size(reduced) <= 10


def test_intermediates_avoid_names_in_use():
    e = sin(symbol("x1") * Y) ** 2 + sin(symbol("x1") * Y) * atan2(sin(symbol("x1") * Y), symbol("x2"))
    names = {s.value for s, _ in intermediates(e)[0]}
    assert names
    assert not names & {"x1", "x2"}
