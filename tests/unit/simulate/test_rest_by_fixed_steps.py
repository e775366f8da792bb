"""Slides in space that come to rest, or begin, within steps of one size."""

import numpy as np
import pytest

import polhode as ph

MU, STATIC, PUSH, SPEED, ANGLE = 0.5, 0.65, 4.5, 0.5, np.radians(127)
R = MU * 9.81
# v' = F cos a - R and v a' = -F sin a, so v (R + F cos a) falls by R^2 - F^2 a second
REST = SPEED * (R + PUSH * np.cos(ANGLE)) / (R**2 - PUSH**2)


def mass(static, fx, fy="0"):
    """A mass of 1 kg on the ground, which forces push."""
    build = ph.Builder("mass")
    build.body("x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("y", parent="x", joint=ph.prismatic("y", name="y"), mass=0)
    build.body("z", parent="y", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("z", friction=MU, static=static, name="ground")
    build.force("x_dot", fx)
    build.force("y_dot", fy)
    return ph.formulate(build.build()).compile()


@pytest.fixture(scope="module")
def pushed():
    """A push below what friction takes; later, after the mass came to rest, between that and what it holds."""
    return mass(STATIC, f"{PUSH} + min(max(15 * (t - 0.5), 0), 1.5)")


@pytest.mark.parametrize(("method", "most"), [("rk4", 3e-4), ("midpoint", 0.02), ("euler", 0.3)])
def test_a_slide_that_friction_turns_comes_to_rest(pushed, method, most):
    """Whole steps do not follow its direction when it is slow; what rests is held later, and does not slip."""
    start = {"x_dot": SPEED * np.cos(ANGLE), "y_dot": SPEED * np.sin(ANGLE)}
    off = []
    for step in (0.02, 0.005):
        traj = ph.simulate(pushed, None, start, 1.0, method=method, step=step)
        assert [event.why for event in traj.events] == ["start", "sticks"]
        assert np.abs(traj.u[-1]).max() < 1e-12
        off.append(abs(traj.events[-1].time - REST))
    assert off[0] < most * REST
    assert off[1] < 0.5 * off[0]


@pytest.mark.parametrize(("method", "order"), [("rk4", 1.5), ("midpoint", 1.0), ("euler", 0.5)])
def test_rests_and_slips_converge(method, order):
    """Forces that turn: the mass slips, comes to rest and slips again, as with an error that is controlled."""
    dyn = mass(0.7, "7 * sin(4 * t)", "3 * sin(9 * t + 1)")
    exact = ph.simulate(dyn, None, {"x_dot": 0.3}, 2.0)
    assert sum(event.why == "sticks" for event in exact.events) >= 2
    off = []
    for step in (0.02, 0.005):
        traj = ph.simulate(dyn, None, {"x_dot": 0.3}, 2.0, method=method, step=step)
        assert [event.why for event in traj.events] == [event.why for event in exact.events]
        off.append(np.abs(traj.q[-1] - exact.q[-1]).max())
    assert off[1] < off[0] * 4.0**-order
