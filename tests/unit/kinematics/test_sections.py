"""Where flexible bodies hold and carry things: sections that only shorten, joints beside the root."""

import numpy as np
import pytest
from scipy.integrate import quad

import polhode as ph

METHODS = ("poincare", "lagrange", "kane", "denoc", "quasicoordinate", "book")


@pytest.mark.parametrize("method", METHODS)
def test_a_section_that_only_comes_nearer_is_no_hub(method):
    """A guided column: its tip neither moves across nor turns, and still its load makes it buckle.

    V = m g (L - d^2/2 int f'^2), so the force of gravity on the mode is m g d int f'^2.
    """
    slope = np.polynomial.Polynomial([0, 0, 16, -32, 16]).deriv()
    build = ph.Builder("column", gravity=(-9.81, 0, 0))
    arm = ph.beam(length=1.0, mu=1e-9, EI_z=1.0, shapes=[[0, 0, 16, -32, 16]])
    build.body("arm", joint=ph.weld(), flexible=arm)
    build.body("load", parent="arm", at=(1, 0, 0), joint=ph.weld(), mass=100.0, inertia=(1e-3, 1e-3, 1e-3))
    dyn = ph.formulate(build.build(), method).compile()
    expected = -100 * 9.81 * 0.01 * quad(lambda x: slope(x) ** 2, 0, 1)[0]
    assert dyn.bias([0.01], [0.0])[0] == pytest.approx(expected, rel=1e-6)


@pytest.mark.parametrize(("ends", "start"), [("pinned-pinned", (0, 0.1, 0)), ("clamped-free", (-0.5, 0.1, 0))])
def test_a_beam_may_lie_beside_its_joint(ends, start):
    """The origin of a body is on its joint, also where the section there moves."""
    build = ph.Builder("beside", gravity=(-9.81, 0, 0))
    arm = ph.beam(length=1.0, mu=1.0, EI_z=10.0, modes=2, ends=ends, start=start)
    build.body("arm", joint=ph.revolute("z", name="a"), flexible=arm)
    build.marker("tip", body="arm", at=(start[0] + 1, 0.1, 0))
    build.marker("joint", body="arm", at=(0, 0, 0))
    model = build.build()
    dyn = ph.formulate(model).compile()
    still = np.zeros(3)
    assert np.allclose(dyn.pose("tip")(still)[:2, 3], (start[0] + 1, 0.1))
    assert np.allclose(dyn.pose("arm")(still)[:2, 3], 0)
    assert abs(dyn.bias(still, still)[0]) == pytest.approx(9.81 * 0.1)
    bent = np.array([0.4, 0.03, -0.02])
    assert np.allclose(dyn.pose("joint")(bent)[:2, 3], 0, atol=1e-15)  # stays on the joint
    assert ph.check(model).agree
