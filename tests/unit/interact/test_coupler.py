"""The coupler is in the compiled equations, and the same, opposite, goes to the device."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.interact import Sample, Scripted, coupler, realtime
from polhode.interact.link import Link

LAW = {"stiffness": 400.0, "damping": 3.0, "turning_stiffness": 5.0, "turning_damping": 0.2}


def arm():
    """Two links that turn about skew axes, and a grip beside the tip."""
    build = ph.Builder("arm")
    build.body("upper", joint=ph.revolute("y", name="a"), mass=2, com=(0.2, 0, 0), inertia=(0.01, 0.02, 0.03))
    build.body("fore", parent="upper", at=(0.4, 0, 0), joint=ph.revolute((0.6, 0, 0.8), name="b"), mass=1,
               com=(0.1, 0.02, 0), inertia=(0.01, 0.01, 0.01))  # fmt: skip
    build.marker("grip", body="fore", at=(0.2, 0.05, 0.1), rpy=(0.3, -0.2, 0.5))
    return build.build()


def sample(seed=3):
    rng = np.random.default_rng(seed)
    turn = Rotation.random(random_state=seed).as_quat()
    return Sample(position=tuple(rng.normal(size=3)), rotation=(turn[3], *turn[:3]), twist=tuple(rng.normal(size=6)))


Q, U = [0.4, -0.7], [1.1, 0.6]


@pytest.mark.parametrize("limits", [{}, {"most_force": 30.0, "most_torque": 1.5}], ids=["free", "clamped"])
def test_the_wrench_is_that_of_the_law_and_acts_through_the_jacobian(limits):
    held = coupler(arm(), "grip", **LAW, **limits)
    dyn = ph.formulate(held.model).compile()
    at = sample()
    wrench, stretch = held.felt(dyn)(Q, U, held.inputs(at))

    X, V = dyn.pose("grip")(Q), dyn.velocity("grip")(Q, U)
    w, x, y, z = at.rotation
    turn = (Rotation.from_quat([x, y, z, w]) * Rotation.from_matrix(X[:3, :3]).inv()).as_rotvec()
    theta = np.linalg.norm(turn)
    e, d = 2 * np.sin(theta / 2) * turn / theta, np.array(at.position) - X[:3, 3]
    assert stretch == pytest.approx([*e, *d, np.cos(theta / 2) ** 2], abs=1e-12)
    torque, force = 5.0 * e + 0.2 * (at.twist[:3] - V[:3]), 400 * d + 3.0 * (at.twist[3:] - V[3:])
    if limits:
        assert np.linalg.norm(torque) > 1.5
        assert np.linalg.norm(force) > 30
        torque, force = torque * 1.5 / np.linalg.norm(torque), force * 30 / np.linalg.norm(force)
    assert wrench == pytest.approx([*torque, *force], abs=1e-10)

    controls = [held.inputs(at)[name] for name in held.controls]
    free = ph.formulate(arm()).compile()
    added = dyn.forces(Q, U, controls=controls) - free.forces(Q, U)
    assert added == pytest.approx(free.jacobian("grip")(Q).T @ wrench, abs=1e-10)


def test_without_a_grip_there_is_no_force():
    held = coupler(arm(), "grip", **LAW)
    dyn = ph.formulate(held.model).compile()
    wrench, _ = held.felt(dyn)(Q, U, held.inputs(sample(), grip=0.0))
    assert not wrench.any()
    assert dyn.forces(Q, U) == pytest.approx(ph.formulate(arm()).compile().forces(Q, U))


@pytest.mark.parametrize("far", [0.05, 0.3])
@pytest.mark.parametrize("theta", [0.2, 1.5, 3.0])
def test_the_store_is_the_work_of_the_springs(far, theta):
    held = coupler(arm(), "grip", **LAW, most_force=60.0, most_torque=4.0)
    stretch = np.array([0, 2 * np.sin(theta / 2), 0, far, 0, 0, np.cos(theta / 2) ** 2])
    work = quad(lambda s: min(400 * s, 60), 0, far, points=[0.15])[0]
    work += quad(lambda s: min(2 * 5 * np.sin(s / 2), 4), 0, theta, points=[2 * np.arcsin(0.4)])[0]
    assert held.stored(stretch) == pytest.approx(work, rel=1e-9)


@pytest.mark.parametrize("limit", [np.inf, 9.9999, 4.0, 0.05])
def test_the_store_is_the_work_of_the_torque_up_to_half_a_turn(limit):
    """Where the torque falls to 0, so that it has a value there, the spring is not slack."""
    build = ph.Builder("wheel")
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 1))
    held = coupler(build.build(), "wheel", stiffness=1, damping=0, turning_stiffness=5.0, most_torque=limit)
    felt = held.felt(ph.formulate(held.model).compile())

    def turned(theta):
        at = Sample(rotation=(np.cos(theta / 2), 0, 0, np.sin(theta / 2)))
        wrench, stretch = felt([0.0], [0.0], held.inputs(at))
        return wrench[2], held.stored(stretch)

    thetas = np.concatenate([np.linspace(0, 3.1, 800), np.linspace(3.1, np.pi, 800)])
    torques, stores = np.array([turned(theta) for theta in thetas]).T
    work = np.concatenate([[0], np.cumsum(np.diff(thetas) * (torques[1:] + torques[:-1]) / 2)])
    assert stores == pytest.approx(work, rel=1e-3, abs=1e-4)
    assert stores[-1] > 0.9 * stores.max() > 0.1


@pytest.mark.parametrize("constrained", [False, True], ids=["free", "with rows"])
def test_the_device_feels_the_force_of_the_step(constrained):
    """What the machine gained of speed is what the device was shown, to rounding."""
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    if constrained:
        build.brake("x_dot", name="brake", active=False)
    held = coupler(build.build(), "sledge", stiffness=3e3, damping=20.0)
    rt = realtime(ph.formulate(held.model).compile(), rate=100)
    hand = Scripted(lambda t: (0.1 * np.sin(20 * t), 0, 0), damping=100.0)
    link = Link(rt, held, hand)
    for _ in range(20):
        before = rt.state.u
        link.tick()
        hand.advance(0.01)
        assert link.shown[3] == pytest.approx(-2.0 * (rt.state.u - before)[0] / 0.01, abs=1e-8)
    assert abs(link.shown[3]) > 1


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stiffness": -1}, "stiffness is -1, expected a number of 0 or more"),
        ({"damping": "much"}, "damping is 'much'"),
        ({"most_force": 0}, "most_force is 0, expected a number above 0"),
        ({"marker": "grap"}, "no marker 'grap'. Did you mean 'grip'"),
    ],
)
def test_what_is_wrong_is_told(given, said):
    asked = {"marker": "grip", "stiffness": 1, "damping": 1} | given
    with pytest.raises(ValueError, match=said):
        coupler(arm(), **asked)


def test_the_dynamics_must_have_the_coupler():
    held = coupler(arm(), "grip", **LAW)
    with pytest.raises(ValueError, match=r"coupler\.model"):
        held.felt(ph.formulate(arm()).compile())
