"""Event-driven and time-stepping: positions agree as the step goes to 0, by the order that what happens between allows.

While nothing changes the order is 2. What begins to stick or to hold, breaks loose at its one coefficient or goes slack
does so without a jump of its speed: up to a step late, which leaves positions off by h^2. An impact, a static
coefficient that is passed, or friction that turns round comes up to a step late too, and makes the order 1: by how much
depends on where in its step it falls. That is a matter of chance, and adds up over events, so single runs scatter by as
much as their errors: a rocking block that is struck at the very end of a step is hardly off. So errors are the largest
of runs whose steps differ by less than a factor of 2. Speeds near an impact are off by all of it, for a time h.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph

sys.path.insert(0, str(Path(__file__).parents[1] / "literature/switching"))

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


def belt(static=0.3):
    """A block on a belt, held by a spring: it slides to and fro, and sticks."""
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along x", joint=ph.prismatic("x", name="x", stiffness=100.0), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=1.0)
    build.contact("block", "belt", friction=0.3, static=static, name="grip")
    build.prescribe("b", 0.1 * ph.TIME)
    return build, {"x": 0.06}, {"x_dot": 0.3, "b_dot": 0.1}, 0.6


def limit_cycle():
    """The same from where it sticks: three times it slips beyond its static coefficient, and sticks again."""
    build, *_ = belt(static=0.5)
    return build, {}, {"x_dot": 0.1, "b_dot": 0.1}, 2.3


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
    for name, inertia, stiffness in (("p", 2.0, 4.0), ("q", 3.0, 0.0)):
        joint = ph.revolute("z", name=name, stiffness=stiffness)
        build.body(name, joint=joint, mass=1, inertia=(inertia,) * 3)
    build.clutch("p_dot", "q_dot", capacity=6.0, name="clutch")
    return build, {}, {"p_dot": 3.0, "q_dot": -1.0}, 1.0


def brake():
    """It holds, until a torque that grows breaks it loose."""
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.brake("a_dot", capacity=0.5, name="brake")
    build.force("a_dot", 0.1 * ph.TIME)
    return build, {}, {"a_dot": 0.3}, 7.0


def sphere():
    build, radius, mass = ph.Builder("sphere", gravity=(0, 0, -G)), 0.2, 1.5
    build.body("ball", joint=ph.free(name="ball"), mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    build.contact("ball", shape="sphere", radius=radius, friction=0.3, name="ground")
    u = {"ball_vx": 2.0, "ball_vy": 1.0, "ball_wx": 3.0, "ball_wy": -4.0, "ball_wz": 1.0}
    return build, {"ball_z": radius}, u, 0.5


def rope():
    """A weight on a rope, thrown so that it leaves its circle."""
    build = plane("weight")
    build.body("body", parent="along z", joint=ph.revolute("y", name="a"), mass=1.0, inertia=(1.0,) * 3)
    build.rope("body", "world", length=1.0, name="rope")
    return build, {"z": -1.0}, {"x_dot": 6.0}, 1.2


def woodpecker():
    import test_woodpecker as toy

    (y, _, b), (y_dot, a_dot, b_dot) = toy.STATE
    a = -(toy.rM - toy.rO) / toy.hM
    u = {"y_dot": y_dot, "a_dot": a_dot, "a2_dot": a_dot, "b_dot": b_dot, "b2_dot": b_dot}
    return toy.woodpecker(), {"y": y, "a": a, "a2": a, "b": b, "b2": b}, u, 0.3


# the machine, steps of its first runs, and what bounds its order
CASES = {
    ball: (100, 0.8, 1.5),
    disc: (50, 1.7, 2.3),
    sphere: (100, 1.7, 3.3),
    chain: (100, 0.8, 1.5),
    clutch: (50, 1.7, 2.3),
    brake: (50, 1.7, 2.3),
    rocking: (100, 0.8, 1.5),
    belt: (100, 0.8, 1.3),
    limit_cycle: (200, 0.8, 1.3),
    rope: (100, 1.7, 2.3),
    woodpecker: (4000, 0.8, 1.3),
}
HALVINGS = 4
BETWEEN = 2.0 ** (np.arange(6) / 6)  # of the numbers of steps, before they double


@pytest.mark.parametrize("machine", CASES)
def test_time_stepping_tends_to_events(machine):
    """Errors of positions at the end, the largest of steps of about a size, fall as h^k over four halvings."""
    build, q, u, end = machine()
    first, least, most = CASES[machine]
    dyn = build if isinstance(build, ph.Dynamics) else ph.formulate(build.build()).compile()
    exact = ph.simulate(dyn, q, u, end, rtol=1e-11, atol=1e-11)
    assert len(exact.events) > 1
    errors = []
    for level in range(HALVINGS + 1):
        runs = [
            ph.simulate(dyn, q, u, end, method="moreau", step=end / round(first * 2**level * more), output=[0, end])
            for more in BETWEEN
        ]
        assert all(run.statistics["unsolved"] == 0 for run in runs)
        errors.append(max(np.abs(run.q[-1] - exact.q[-1]).max() for run in runs))
    order = -np.polyfit(np.log(2) * np.arange(HALVINGS + 1), np.log(errors), 1)[0]
    said = f"{machine.__name__}: order {order:.2f}, errors {', '.join(f'{e:.1e}' for e in errors)}"
    print(said)
    assert least < order < most, said
