"""Gears with losses by Euler's method: what begins to slide from rest slides on, and errors go to 0 with the step."""

import numpy as np
import pytest

import polhode as ph

# drum, rotor, ratio, stiffness, loss, efficiency, load, torque, speed of the drum, and how long: what stuck before
GEARS = [
    (0.538, 5.01e-4, 14.861, 3517.0, 11.33, 0.463, "23.8 + 17.2*sin(4.8*t)", "-1.18 + 0.387*sin(4.18*t)", 0.0, 0.12),
    (0.4669, 1.009e-4, 25.24, 4959.0, 48.28, 0.4045, "-22.72", "-0.4385 + 1.1786*sin(4.792*t)", 0.5798, 0.02),
]  # fmt: skip


def driven_back(gear, step=None, method="dop853"):
    drum, rotor, ratio, stiffness, loss, efficiency, load, torque, speed, t_end = gear
    build = ph.Builder("hoist", gravity=(0, 0, 0))
    build.body("drum", joint=ph.revolute("z", name="drum"), mass=1, inertia=(1, 1, drum))
    build.force("drum_dot", load)
    motor = build.motor("M", inertia=rotor, ratio=ratio, stiffness=stiffness, loss=loss, efficiency=efficiency)
    motor.drives({"drum": 1})
    dyn = ph.formulate(build.build()).compile()
    u0 = {"drum_dot": speed, "M_dot": ratio * speed}
    return ph.simulate(dyn, None, u0, t_end, tau={"M": torque}, method=method, step=step)


@pytest.mark.parametrize("gear", GEARS)
def test_it_slips_and_sticks_as_by_a_method_of_high_order(gear):
    """From rest with no acceleration at first: the cubic through a step of Euler's method went back first."""
    exact = driven_back(gear)
    off = []
    for step in (2e-4, 1e-4):
        found = driven_back(gear, step, "euler")
        assert found.outcome.finished
        assert len(found.events) <= len(exact.events) + 4
        assert found.mode["loss of M"][-1] == exact.mode["loss of M"][-1] == "slips"
        off.append(np.abs(found.u[-1] - exact.u[-1]))
    assert off[1] == pytest.approx(off[0] / 2, rel=0.1)
