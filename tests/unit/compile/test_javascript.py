"""The JavaScript target: Node computes what native code does."""

import math
import shutil

import numpy as np
import pytest
from hypothesis import given, settings
from strategies import MANY, cases, misfits
from test_c import SOURCES

from polhode import Builder, formulate, revolute
from polhode.compile import compile
from polhode.compile.targets import javascript
from polhode.graph import atan2, sign, symbol, symbols, vector
from polhode.model.grow import grow

pytestmark = pytest.mark.skipif(not shutil.which("node"), reason="NODE IS MISSING: the JavaScript target is not run")


@given(cases(most=60))
@settings(max_examples=10 * MANY, deadline=None)
def test_random_expressions_agree_with_mpmath(case):
    f = compile([vector(case.symbols)], vector(case.exprs), target="javascript")
    assert not misfits(f(np.array(case.point)), case.pairs())


@pytest.mark.parametrize("name", SOURCES)
def test_sources_agree_with_native_code(name):
    """Every operation, names that are words of the language, several pieces, empty ports."""
    ours, native = (compile(*SOURCES[name], target=target) for target in ("javascript", "llvm"))
    rows = [np.random.default_rng(k).uniform(-1, 1, (5, *port.shape)) for k, port in enumerate(ours.inputs)]
    found, expected = (f(*rows) if rows else f() for f in (ours, native))
    for a, b in zip(found, expected, strict=True) if isinstance(found, tuple) else [(found, expected)]:
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-13)


def test_zeros_nan_and_infinity_are_those_of_ieee():
    x, y = symbols("x y")
    f = [compile([x, y], vector([atan2(x, y), sign(x), x / y, -x]), target=t) for t in ("javascript", "llvm")]
    for a in (0.0, -0.0, 1.0, math.inf, -math.inf, math.nan):
        for b in (0.0, -0.0, -1.0, math.nan):
            found, expected = (g(a, b) for g in f)
            np.testing.assert_array_equal(found[1:], expected[1:])
            np.testing.assert_array_equal(np.signbit(found[1:]), np.signbit(expected[1:]), err_msg=f"{a} {b}")
            np.testing.assert_allclose(found[0], expected[0], rtol=1e-15)


@pytest.mark.parametrize("seed", range(4))
def test_forward_dynamics_of_grown_trees_agree(seed):
    eq = formulate(grow(seed))
    ours, native = (eq.compile(target=target) for target in ("javascript", "llvm"))
    draw = np.random.default_rng(seed)
    p = draw.uniform(0.5, 2, len(native.parameters))
    q = native.unit(draw.normal(size=(6, len(eq.q))))
    u, tau = draw.normal(size=(2, 6, len(eq.u)))
    given = {"p": p} if len(p) else {}
    expected = native.tree_dynamics(q, u, tau, **given)
    scale = np.abs(expected).max()
    assert np.abs(ours.tree_dynamics(q, u, tau, **given) - expected).max() < 1e-11 * scale


def test_words_of_javascript_are_no_names():
    words = symbols("var let arguments typeof Infinity")
    f = compile(list(words), sum(words[1:], words[0]), target="javascript")
    assert f(1, 2, 3, 4, 5) == 15
    with pytest.raises(ValueError, match=r"'function' belongs to C, C\+\+, Python, JavaScript"):
        compile([symbol("x")], symbol("x"), name="function")


def test_without_node_the_source_is_still_there(monkeypatch):
    monkeypatch.setattr(javascript.shutil, "which", lambda name: None)
    f = compile([symbol("x")], 2 * symbol("x"), target="javascript")
    assert "function f(x, output0)" in f.source
    with pytest.raises(RuntimeError, match=r"needs Node, and none was found\. Use its \.source"):
        f(1.0)


def test_a_dynamics_is_printed_as_javascript():
    build = Builder("pendulum")
    build.body("bob", joint=revolute("y", q="theta"), mass=1, com=(0, 0, -1))
    dyn = formulate(build.build()).compile(target="javascript")
    assert "Math.sin" in dyn.forward_dynamics.source
    assert dyn.forward_dynamics([0.3], [0.0], [0.0]) == pytest.approx(-9.81 * math.sin(0.3), rel=1e-14)
