"""A hand that pushes a device which goes where the marker is."""

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.interact import AdmittanceLink, admittance, realtime
from polhode.interact.turning import quaternion


class Arm:
    """A hand that wants to be at a place, with the stiffness and damping of an arm, on a device that is moved."""

    most_force = most_torque = np.inf
    stale = False

    def __init__(self, k, b, wants=(0.1, 0, 0)):
        self.k, self.b, self.wants, self.sample = k, b, np.array(wants), None

    def read_wrench(self):
        if self.sample is None:
            return None
        return (0, 0, 0, *(self.k * (self.wants - self.sample.position) - self.b * np.array(self.sample.twist[3:])))

    def move(self, to):
        self.sample = to


def linked(arm, mass=2.0, rate=1000, joint=None):
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=joint or ph.prismatic("x", name="x"), mass=mass, inertia=(0.1, 0.2, 0.25))
    build.marker("grip", body="sledge", at=(0, 0, 0.1), rpy=(0.1, 0.2, 0.3))
    made = admittance(build.build(), "grip")
    rt = realtime(ph.formulate(made.model).compile(), rate=rate)
    return AdmittanceLink(rt, made, arm), rt


def test_the_machine_moves_as_the_arm_pushes():
    """As that of a mass, a spring and a damper, the nearer the higher the rate."""
    exact = solve_ivp(lambda t, x: [x[1], (300 * (0.1 - x[0]) - 12 * x[1]) / 2], (0, 0.5), [0, 0], rtol=1e-9).y[:, -1]
    wrong = []
    for rate in (1000, 4000):
        arm = Arm(300.0, 12.0)
        link, rt = linked(arm, rate=rate)
        for _ in range(rate // 2 + 1):  # in the first it does not know where it is
            link.tick()
        wrong.append(np.abs([rt.state.q[0] - exact[0], rt.state.u[0] - exact[1]]).max())
    assert wrong[0] < 0.003  # of 0.08 m and up to 0.8 m/s on the way
    assert wrong[0] / wrong[1] == pytest.approx(4, rel=0.1)
    assert arm.sample.position == pytest.approx((rt.state.q[0], 0, 0.1))
    assert arm.sample.twist == pytest.approx((0, 0, 0, rt.state.u[0], 0, 0))


@pytest.mark.parametrize(
    ("k", "b", "stable"),
    [(100, 0.48, False), (100, 0.52, True), (100, 1.98, True), (100, 2.1, False), (0, 1.9, True), (0, 2.1, False)],
)
def test_how_stiff_and_how_damped_an_arm_may_be(k, b, stable):
    """k T / 2 < b < 2 m / T, here 0.5 < b < 2 with T = 0.01 and m = 0.01."""
    arm = Arm(k, b, wants=(0, 0, 0))
    link, rt = linked(arm, mass=0.01, rate=100)
    rt.tau = {"x_dot": 1.0}
    link.tick()
    rt.tau = {"x_dot": 0.0}
    speeds = []
    for _ in range(600):
        link.tick()
        speeds.append(abs(rt.state.u[0]))
    assert (max(speeds[-50:]) < max(speeds[:50])) == stable


def test_a_silent_device_does_not_push():
    arm = Arm(300.0, 12.0)
    link, rt = linked(arm)
    link.tick()
    assert arm.sample is not None
    link.tick()
    assert rt.state.u[0] > 0
    arm.stale = True
    before = rt.state.u[0]
    link.tick()
    assert rt.state.u[0] == before
    assert link.wrench == (0.0,) * 6


def test_forces_are_limited_and_nonsense_does_nothing():
    arm = Arm(300.0, 12.0)
    arm.most_force = 5.0
    link, _ = linked(arm)
    link.tick()
    link.tick()
    assert np.linalg.norm(link.wrench[3:]) == pytest.approx(5)
    arm.wants = np.array([np.nan, 0, 0])
    link.tick()
    assert link.wrench == (0.0,) * 6


@pytest.mark.parametrize("vector", [(0, 0, 0), (0.3, -2, 1), (np.pi, 0, 0), (0, np.pi, 0), (0, 0, 3.1)])
def test_quaternions_of_any_turn(vector):
    R = Rotation.from_rotvec(vector)
    w, x, y, z = quaternion(R.as_matrix())
    assert (Rotation.from_quat([x, y, z, w]) * R.inv()).magnitude() < 1e-12


def test_a_body_in_space_takes_the_whole_wrench():
    """Its device is where the marker is; accelerations are those of Newton and Euler from rest."""
    arm = Arm(0.0, 0.0)
    arm.read_wrench = lambda: (0.1, 0.2, -0.3, 1.0, 2.0, 3.0)
    link, rt = linked(arm, joint=ph.free(name="f"))
    link.tick()
    s = rt.state
    V = rt.dynamics.velocity("sledge")(s.q, s.u)
    torque = np.array([0.1, 0.2, -0.3]) + np.cross([0, 0, 0.1], [1.0, 2.0, 3.0])
    assert V[:3] == pytest.approx(1e-3 * torque / [0.1, 0.2, 0.25], rel=1e-5)
    assert V[3:] == pytest.approx(1e-3 * np.array([1, 2, 3]) / 2, rel=1e-5)
    turn = Rotation.from_quat([*arm.sample.rotation[1:], arm.sample.rotation[0]])
    assert turn.as_matrix() == pytest.approx(rt.dynamics.pose("grip")(s.q)[:3, :3])


def test_the_marker_must_be_there():
    with pytest.raises(ValueError, match="no marker 'grap'"):
        admittance(linked(Arm(1, 1))[1].dynamics.equations.model, "grap")
