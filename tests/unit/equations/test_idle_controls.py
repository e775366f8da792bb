"""Calls of a machine with actuators, without their controls: the same as with controls of 0."""

import numpy as np
import pytest

import polhode as ph


def sled(force):
    build = ph.Builder("sled", gravity=(0, 0, -9.81))
    build.body("sled", joint=ph.prismatic("x", name="x"), mass=2)
    build.body("arm", parent="sled", joint=ph.revolute("y", name="a"), mass=1, com=(0.3, 0, 0), inertia=(1, 1, 1))
    build.actuator("jet", {"x_dot": 3}, force=force)
    build.actuator("hand", {"a_dot": 1, "x_dot": 2})
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("call", ["forward_dynamics", "inverse_dynamics", "forces"])
@pytest.mark.parametrize("offset", [0, 5, "pole"])
def test_controls_that_are_left_out_are_0(call, offset):
    control = ph.symbol("jet_control")
    law = 1 / (1 + 1 / control) if offset == "pole" else offset + 7 * control - ph.symbol("x_dot") * control
    dyn = sled(law)
    function = getattr(dyn, call)
    draw = np.random.default_rng(3)
    args = [draw.normal(size=(4, 2)) for _ in range(2 if call == "forces" else 3)]
    with np.errstate(all="ignore"):
        zeros = function(*args, controls={"jet": 0.0, "hand": 0.0})
        assert np.array_equal(function(*args), zeros, equal_nan=True) or np.allclose(function(*args), zeros, rtol=1e-14)
    assert not np.allclose(function(*args), function(*args, controls={"hand": 1.0, "jet": 1.0}))
    out = np.zeros((4, 2))
    assert function(*args, out=out) is out
    assert np.array_equal(out, function(*args), equal_nan=True)
    with pytest.raises(KeyError, match="there is no actuator 'jett'"):
        function(*args, controls={"jett": 1.0})
