"""A beam whose length is a symbol has equations without zeros that a pole keeps: 0 times 1/L."""

import pytest

import polhode as ph
from polhode.graph.walk import topological

L, MU, EI, LOAD, INERTIA = ph.symbols("L mu EI m_p I_p")


def arm(length, method, *, axis="z", offset=0, **said):
    """A beam on a hinge with a load at its tip."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    beam = ph.beam(length=length, mu=MU, **{"EI_z" if axis == "z" else "EI_y": EI}, **said)
    build.body("link", joint=ph.revolute(axis, name="a"), flexible=beam)
    at = (length, offset, 0)
    build.body("load", parent="link", at=at, joint=ph.weld(), mass=LOAD, inertia=(INERTIA, INERTIA, INERTIA))
    return ph.formulate(build.build(), method)


def zeros(matrix):
    """Products with an exact 0, and quotients of it."""
    found = [e for e in topological(matrix) if e.op in ("mul", "div")]
    return [e for e in found if any(a.op == "const" and a.value == 0 for a in e.args)]


@pytest.mark.parametrize("axis", ["y", "z"])
@pytest.mark.parametrize("method", ["poincare", "denoc", "lagrange", "kane", "quasicoordinate", "book"])
def test_no_product_with_zero_stays(method, axis):
    eq = arm(L, method, axis=axis, modes=1)
    assert zeros(eq.M) == zeros(eq.c) == zeros(eq.Q) == []


@pytest.mark.parametrize("said", [{"shapes": "polynomial"}, {"order": "full"}, {"start": (-L / 2, 0, 0)}])
def test_nor_with_other_beams(said):
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("link", joint=ph.revolute("z", name="a"), flexible=ph.beam(length=L, mu=MU, EI_z=EI, modes=2, **said))
    at = (L / 2, 0.1, 0)
    build.body("load", parent="link", at=at, joint=ph.revolute("z", name="b"), mass=LOAD, com=(0.1, 0, 0))
    eq = ph.formulate(build.build())
    assert zeros(eq.M) == zeros(eq.c) == []


def test_it_costs_little_more_than_a_number():
    symbolic, plain = arm(L, "book", modes=1).op_counts(), arm(1, "book", modes=1).op_counts()
    assert symbolic["add"] <= plain["add"] + 2
    assert symbolic["mul"] <= plain["mul"] + 12  # powers of L
    for method in ("poincare", "denoc"):
        symbolic, plain = arm(L, method, modes=1).op_counts(), arm(1, method, modes=1).op_counts()
        assert symbolic["add"] <= plain["add"] + 18  # sin^2 + cos^2 of what is divided by L stays


def test_latex_has_no_line_that_is_zero():
    lines = arm(L, "poincare", modes=1).latex().replace("\\\\", "").splitlines()
    assert not any(line.rstrip().endswith("&= 0") for line in lines)


def test_numbers_are_those_of_the_symbols():
    values = {"mu": 1.3, "EI": 20.0, "m_p": 0.4, "I_p": 0.01}
    symbolic, plain = (
        arm(*case, "poincare", modes=2, offset=0.05).compile(values=more | values)
        for case, more in (((L,), {"L": 0.7}), ((0.7,), {}))
    )
    q, u, tau = [0.3, 0.02, -0.01], [0.5, 1.0, -2.0], [0.1, 0.0, 0.0]
    a, b = (dyn.forward_dynamics(q, u, tau) for dyn in (symbolic, plain))
    assert a == pytest.approx(b, rel=1e-12)
