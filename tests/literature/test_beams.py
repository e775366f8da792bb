"""Natural frequencies of beams by linearised models, against roots of their exact equations."""

import math

import numpy as np
import pytest
from scipy.optimize import brentq

import polhode as ph

L, MU, EI = 2.0, 3.0, 50.0
UNIT = math.sqrt(EI / (MU * L**4))  # rad/s for lambda^2 = 1


def frequencies(many, joint, hub=None, tip=None, apart=False, **given):
    """Angular frequencies of a beam on a joint, the lowest first, without the 0 of a beam that turns.

    apart : the hub is a body of its own, to which the first end is welded
    """
    build = ph.Builder("arm", gravity=(0, 0, 0))
    if apart:
        build.body("hub", joint=joint, **hub)
    on = {"parent": "hub", "joint": ph.weld()} if apart else {"joint": joint, **(hub or {})}
    build.body("arm", flexible=ph.beam(length=L, mu=MU, EI_z=EI, modes=many, **given), **on)
    if tip is not None:
        build.body("load", parent="arm", at=(L, 0, 0), joint=ph.weld(), mass=tip)
    dyn = ph.formulate(build.build()).compile()
    values = np.linalg.eigvals(ph.linearize(dyn, np.zeros(len(dyn.equations.q))).A)
    assert np.abs(values.real).max() < 1e-4
    return np.sort(values.imag[values.imag > 1e-2])


def roots(equation, many):
    """The first roots of an equation of lambda, by its changes of sign."""
    x = np.linspace(0.05, 3.3 * (many + 1), 4000)
    y = [equation(e) for e in x]
    found = [brentq(equation, a, b, xtol=1e-14) for a, b, s, t in zip(x, x[1:], y, y[1:], strict=False) if s * t < 0]
    return np.array(found[:many])


def test_a_cantilever():
    exact = roots(lambda x: math.cos(x) + 1 / math.cosh(x), 3) ** 2 * UNIT
    assert frequencies(3, ph.weld()) == pytest.approx(exact, rel=1e-9)


def test_a_cantilever_with_a_load_by_its_own_shapes_and_by_those_without():
    """1 + cos cosh = R lambda (sin cosh - cos sinh), R = 2: shapes that know the load need no more modes."""
    tip = 2 * MU * L
    exact = roots(
        lambda x: 1 / math.cosh(x) + math.cos(x) - 2 * x * (math.sin(x) - math.cos(x) * math.tanh(x)), 3
    ) ** 2 * UNIT  # fmt: skip
    assert frequencies(3, ph.weld(), tip=tip, ends="clamped-mass", tip_mass=tip) == pytest.approx(exact, rel=1e-9)
    errors = [frequencies(many, ph.weld(), tip=tip)[1] / exact[1] - 1 for many in (2, 4, 8)]
    assert errors[0] > 4 * errors[1] > 16 * errors[2] > 0


def hinged(inertia):
    """A free beam on a hub that turns: w(0) = 0, EI w''(0) = -omega^2 I w'(0), by the determinant of its ends."""
    e = inertia / (MU * L**3)

    def determinant(x):
        c, s, ch, sh = math.cos(x), math.sin(x), math.cosh(x), math.sinh(x)
        rows = [[2, e * x**3, e * x**3], [ch + c, sh, -s], [sh - s, ch, -c]]  # of cosh - cos, sinh, sin
        return np.linalg.det(np.array(rows) / np.array([[1], [ch], [ch]]))

    return determinant


@pytest.mark.parametrize("inertia", [0.0, 1.0, 40.0])
def test_a_beam_on_a_hub_that_turns(inertia):
    """By shapes that are tangent to the hub, and by those of the chord, whose first end turns."""
    exact = roots(hinged(inertia), 2) ** 2 * UNIT
    hub = {"mass": 1, "inertia": (inertia, inertia, inertia)}
    for shapes, many, close in (("exact", 6, 1e-3), ("polynomial", 8, 1e-6)):
        found = frequencies(many, ph.revolute("z"), hub, shapes=shapes)[:2]
        assert found == pytest.approx(exact, rel=close)
        assert (found >= exact * (1 - 1e-9)).all()
    chord = frequencies(8, ph.revolute("z"), hub, apart=True, shapes="polynomial", ends="pinned-pinned")[:2]
    assert chord == pytest.approx(exact, rel=1e-6)
