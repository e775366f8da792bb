"""Event-driven and time-stepping: they agree as the step goes to 0, by the first order."""

import numpy as np
import pytest

import polhode as ph

G = 9.81


def plane(name):
    build = ph.Builder(name, gravity=(0, 0, -G))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("along z", parent="along x", joint=ph.prismatic("z", name="z"), mass=0)
    return build


def ball():
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=0.6, name="floor")
    return build, {"z": 0.3}, {}, 0.7


def disc():
    build = plane("disc")
    build.body("body", parent="along z", joint=ph.revolute("y", name="a"), mass=2.0, inertia=(0.09,) * 3)
    build.contact("body", shape="disc", radius=0.3, axis="y", friction=0.2, name="floor")
    return build, {"z": 0.3}, {"x_dot": 1.0}, 0.5


def belt():
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along x", joint=ph.prismatic("x", name="x", stiffness=100.0), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=1.0)
    build.contact("block", "belt", friction=0.3, name="grip")
    build.prescribe("b", 0.1 * ph.TIME)
    return build, {"x": 0.06}, {"x_dot": 0.3, "b_dot": 0.1}, 0.6


def rocking():
    wide, high = 0.2, 0.8
    build = plane("block")
    build.body(
        "body", parent="along z", joint=ph.revolute("y", name="a"), mass=1, inertia=((wide**2 + high**2) / 3,) * 3
    )
    for name, side in (("left", -1), ("right", 1)):
        build.marker(name, body="body", at=(side * wide, 0, -high))
        build.contact(name, friction=10.0, name=name)
    turn = np.arctan(wide / high) / 2
    x, z = np.cos(turn) * wide - np.sin(turn) * high, -np.sin(turn) * wide - np.cos(turn) * high
    return build, {"x": -x, "z": -z, "a": turn}, {}, 0.9


def chain():
    build = ph.Builder("chain", gravity=(0, 0, -G))
    parent, at = "world", (0, 0, 0)
    for i in range(3):
        build.body(f"link{i}", parent=parent, at=at, joint=ph.revolute("y", name=f"q{i}"), mass=1.0, com=(0, 0, -0.2),
                   inertia=(0.02,) * 3)  # fmt: skip
        parent, at = f"link{i}", (0, 0, -0.4)
    build.stop("q1", lower=-0.3, upper=0.3, name="first")
    build.stop("q2", lower=-0.2, upper=0.2, name="second")
    return build, {"q0": 0.8, "q1": 0.1, "q2": -0.1}, {}, 0.5


def clutch():
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    for name, inertia in (("p", 2.0), ("q", 3.0)):
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(inertia,) * 3)
    build.clutch("p_dot", "q_dot", capacity=6.0, name="clutch")
    return build, {}, {"p_dot": 3.0, "q_dot": -1.0}, 1.0


@pytest.mark.parametrize("machine", [ball, disc, belt, rocking, chain, clutch])
def test_time_stepping_tends_to_events(machine):
    """Errors of positions at the end fall as h, with the scatter of where in a step impacts come to lie."""
    build, q, u, end = machine()
    dyn = ph.formulate(build.build()).compile()
    exact = ph.simulate(dyn, q, u, end, rtol=1e-11, atol=1e-11)
    assert len(exact.events) > 1
    steps = [4e-3, 2e-3, 1e-3, 5e-4, 2.5e-4]
    errors = []
    for step in steps:
        traj = ph.simulate(dyn, q, u, end, method="moreau", step=step)
        errors.append(np.abs(traj.q[-1] - exact.q[-1]).max())
    order = np.polyfit(np.log(steps), np.log(np.maximum(errors, 1e-12)), 1)[0]
    assert errors[-1] < 5e-4
    assert order > 0.7 or errors[-1] < 1e-10  # two rotors that slip with one torque are exact
