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


def shaft(**hub):
    build = ph.Builder("shaft", gravity=(0, -9.81, 0))
    beam = ph.beam(length=1.0, mu=1.0, EI_z=10.0, modes=2, start=(-0.5, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="j"), flexible=beam, **hub)
    return build.build()


def test_a_hub_turns_with_the_section_that_the_joint_holds():
    """A rotor at the middle of a shaft adds its inertia to the speed of the joint alone, wherever the shaft bends."""
    hub = {"mass": 5.0, "inertia": (1, 1, 1)}
    plain, laden = (ph.formulate(model).compile() for model in (shaft(), shaft(**hub)))
    assert laden.equations.model.coordinates == ("j", "arm_y1", "arm_y2")
    for q in (np.zeros(3), np.array([0.3, 0.02, -0.03])):
        assert np.allclose(laden.mass_matrix(q) - plain.mass_matrix(q), np.diag([1, 0, 0]), atol=1e-14)
        assert np.allclose(laden.bias(q, q), plain.bias(q, q))
    assert ph.check(shaft(**hub, com=(0.1, 0.2, 0))).agree


def test_a_joint_beside_the_origin_of_a_beam_is_refused():
    build = ph.Builder("hinge")
    joint = ph.revolute("z", at=(1, 0, 0))
    build.body("arm", joint=joint, flexible=ph.beam(length=1.0, mu=1.0, EI_z=10.0))
    ph.Builder("remedy").body("arm", joint=ph.revolute("z"), flexible=ph.beam(length=1, mu=1, EI_z=1, start=(-1, 0, 0)))
    with pytest.raises(
        ph.ModelError, match=r"Body 'arm': the axis of its joint goes through a place where it bends.*start="
    ):
        build.build()


def test_places_in_symbols_are_of_the_hub_only_where_that_is_sure():
    L, r, c = ph.symbols("L r c")
    build = ph.Builder("arm")
    build.body("arm", joint=ph.weld(), flexible=ph.beam(length=L, mu=1.0, EI_z=10.0, modes=1, start=(4 * r, 0, 0)))
    build.marker("root", body="arm", at=(r, 0, 0))  # 3 r before the beam, whatever r is
    build.build()
    build.marker("p", body="arm", at=(c, 0, 0))
    with pytest.raises(ph.ModelError, match=r"Marker 'p' on 'arm' has x = c - 4\*r along a beam"):
        build.build()
