"""What is SymPy's is taken where that is certain, and otherwise refused with the call that takes it."""

import numpy as np
import pytest

import polhode as ph
from polhode.graph import as_expr, from_sympy

sympy = pytest.importorskip("sympy")


def bob(**given):
    build = ph.Builder("bob")
    build.body("bob", joint=ph.revolute("y"), mass="m", com=(0, 0, -1), **given)
    return build.build()


def test_the_call_that_takes_it_is_named_and_takes_it():
    with pytest.raises(TypeError, match=r"found pi of type Pi. Of SymPy's, make one with polhode.graph.from_sympy"):
        as_expr(sympy.pi)
    assert float(from_sympy(sympy.pi)) == pytest.approx(np.pi)
    with pytest.raises(ph.ModelError, match=r"inertia is of SymPy, .* Give polhode.graph.from_sympy\(...\) of it"):
        bob(inertia=sympy.diag(1, 1, 2))
    dyn = ph.formulate(bob(inertia=from_sympy(sympy.diag(1, 1, 2)))).compile(values={sympy.Symbol("m"): 2.0})
    assert dyn.mass_matrix([0.0]) == pytest.approx(np.array([[3.0]]))


def test_a_name_where_an_expression_is_meant():
    with pytest.raises(TypeError, match=r"found 'm' of type str. Make a symbol: polhode.symbol\('m'\)"):
        ph.diff("m", "m")
    assert ph.diff(ph.symbol("m"), ph.symbol("m")) == 1
