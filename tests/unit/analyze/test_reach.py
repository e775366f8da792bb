"""Inverse kinematics: targets that are reached, and what is said of those that are not."""

import numpy as np
import pytest
from scipy.optimize import minimize

import polhode as ph
from tests.mechanisms import four_bar
from tests.robots import path_of


def arm(limits=None, links=2):
    build, parent = ph.Builder("arm"), "world"
    for k in range(links):
        joint = ph.revolute("z", name=f"q{k + 1}", **({"limits": limits} if limits and k == 1 else {}))
        build.body(f"link{k + 1}", parent=parent, at=(float(k > 0), 0, 0), joint=joint, mass=1, inertia=(0.1, 0.1, 0.1))
        parent = f"link{k + 1}"
    build.marker("tip", body=parent, at=(1, 0, 0))
    return ph.formulate(build.build()).compile()


def test_two_links_by_the_law_of_cosines():
    x, y = 1.1, 0.7
    found = ph.reach(arm(), "tip", (x, y, 0), q0=(0.2, 0.5))
    elbow = np.arccos((x * x + y * y - 2) / 2)
    assert found
    assert np.allclose(found.q, [np.arctan2(y, x) - elbow / 2, elbow], atol=1e-8)
    other = ph.reach(arm(), "tip", (x, y, 0), q0=(1.0, -0.5))
    assert np.allclose(other.q, [np.arctan2(y, x) + elbow / 2, -elbow], atol=1e-8)


def test_out_of_reach_the_nearest_place_with_how_far_it_is():
    found = ph.reach(arm(), "tip", (3, 3, 0), q0=(0.2, 0.5), starts=3)
    assert not found
    assert np.isclose(found.distance, 3 * np.sqrt(2) - 2, atol=1e-6)
    assert np.allclose(np.sin(found.q[0]), np.sqrt(0.5), atol=1e-3)
    assert "no small motion gets nearer" in found.reason
    assert "2.24 m" in repr(found)
    assert found.starts == 3


def test_limits_hold_and_are_named():
    dyn = arm(limits=(0.0, 1.0))
    found = ph.reach(dyn, "tip", (1.0, 0.5, 0), q0=(0.2, 0.5))
    assert not found
    assert found.limits == ("q2",)
    assert np.isclose(found.q[1], 1.0)
    assert "within the limits of 'q2'" in found.reason
    # the tip is 2 cos(1/2) away from the shoulder there
    assert np.isclose(found.distance, 2 * np.cos(0.5) - np.hypot(1, 0.5), atol=1e-8)
    assert ph.reach(dyn, "tip", (1.0, 0.5, 0), q0=(0.2, 0.5), limits=False)


def test_what_is_free_stays_near_where_it_was():
    dyn, q0, target = arm(links=4), np.array([0.3, 0.4, -0.2, 0.5]), np.array([2.2, 1.0, 0.0])
    found = ph.reach(dyn, "tip", target, q0=q0)
    assert found
    tip = dyn.pose("tip")
    nearest = minimize(
        lambda q: ((q - q0) ** 2).sum(), found.q, method="SLSQP", options={"ftol": 1e-15, "maxiter": 300},
        constraints={"type": "eq", "fun": lambda q: tip(q)[:2, 3] - target[:2]},
    )  # fmt: skip
    assert np.isclose(np.linalg.norm(found.q - q0), np.linalg.norm(nearest.x - q0), atol=1e-5)


def test_closed_loops_stay_closed():
    dyn = ph.formulate(four_bar()).compile()
    start = {"a": 1.0, "b": 0.5, "c": 1.8}
    wanted, _ = ph.assemble(dyn, {"a": 1.2, "b": 0.5, "c": 1.8})
    at = dyn.pose("tip")(wanted)[:3, 3]
    found = ph.reach(dyn, "tip", at, q0=start)
    assert found
    phi = dyn.pose("tip")(found.q)[:3, 3] - dyn.pose("top")(found.q)[:3, 3]
    assert np.abs(phi).max() < 1e-9
    far = ph.reach(dyn, "tip", (2, 0, -2), q0=start, starts=1)
    assert not far
    assert np.abs(dyn.pose("tip")(far.q)[:3, 3] - dyn.pose("top")(far.q)[:3, 3]).max() < 1e-9
    # the rocker's end on its circle about (1.2, 0, 0), as near as it gets, unless the crank stops it
    assert np.isclose(far.distance, np.hypot(0.8, 2) - 1, atol=1e-6)


@pytest.fixture(scope="module")
def ur5():
    return ph.formulate(ph.load(path_of("ur_description/urdf/ur5_robot.urdf"), actuators=False)).compile()


def test_poses_of_a_robot(ur5):
    draw = np.random.default_rng(0)
    pose, steps = ur5.pose("wrist_3_link"), []
    for _ in range(20):
        q = draw.uniform(-2, 2, 6)
        found = ph.reach(ur5, "wrist_3_link", pose(q))  # from a stretched arm, far away
        assert found, found
        assert np.abs(pose(found.q) - pose(q)).max() < 1e-8
        near = ph.reach(ur5, "wrist_3_link", pose(q), q0=q + 0.02 * draw.normal(size=6), starts=1)
        assert near
        steps.append(near.steps)
        assert np.abs(near.q - q).max() < 0.5
    assert np.median(steps) <= 5  # quadratic near the target


def test_one_answer_of_a_robot_is_among_those_of_its_closed_form(ur5):
    """The UR5's wrist lies d4 beside the plane of its arm: q1 = atan2(y5, x5) + acos(d4 / |p5|) + pi / 2, or - acos.

    Hawkins, Analytic inverse kinematics for the Universal Robots UR-5/UR-10 arms, 2013.
    """
    q = np.array([0.4, -1.1, 1.3, 0.6, 0.9, -0.5])
    found = ph.reach(ur5, "wrist_3_link", ur5.pose("wrist_3_link")(q), q0=np.array([2.0, -1, 1, 0, 1, 0]))
    assert found
    x, y = ur5.pose("wrist_2_link")(q)[:2, 3]
    assert np.allclose(ur5.pose("wrist_2_link")(found.q)[:2, 3], (x, y), atol=1e-8)  # fixed by the pose
    beside = [float(np.array([-np.sin(a), np.cos(a)]) @ (x, y)) for a in (q[0], found.q[0])]
    assert np.isclose(*beside, atol=1e-8)


def test_free_bodies_and_quaternions():
    build = ph.Builder("drone")
    build.body("drone", joint=ph.free(quaternion=True), mass=1, inertia=(0.1, 0.1, 0.2))
    build.body("arm", parent="drone", at=(0, 0, -0.1), joint=ph.revolute("y", name="hinge"), mass=0.1, com=(0, 0, -0.2))
    dyn = ph.formulate(build.build()).compile()
    q = dyn.unit(np.array([0.2, -0.7, 0.4, 0.5, 1.0, 2.0, -0.5, 0.3]))
    found = ph.reach(dyn, "arm", dyn.pose("arm")(q))
    assert found
    assert np.abs(dyn.pose("arm")(found.q) - dyn.pose("arm")(q)).max() < 1e-8
    assert np.isclose(np.linalg.norm(found.q[:4]), 1)


def test_what_cannot_be_meant_is_refused():
    dyn = arm()
    with pytest.raises(KeyError, match="there is no marker or body 'tpi'"):
        ph.reach(dyn, "tpi", (1, 1, 0))
    with pytest.raises(ValueError, match="target has shape"):
        ph.reach(dyn, "tip", (1, 1))
    with pytest.raises(ValueError, match="target is no pose"):
        ph.reach(dyn, "tip", 2 * np.eye(4))
    with pytest.raises(ValueError, match="starts=0"):
        ph.reach(dyn, "tip", (1, 1, 0), starts=0)


def test_embedded_loops_stay_closed_too():
    dyn = ph.formulate(four_bar(), embed=True).compile()
    wanted, _ = ph.assemble(dyn, {"a": 1.2, "b": 0.5, "c": 1.8})
    found = ph.reach(dyn, "tip", dyn.pose("tip")(wanted)[:3, 3], q0={"a": 1.0, "b": 0.5, "c": 1.8})
    assert found
    assert np.abs(dyn.pose("tip")(found.q)[:3, 3] - dyn.pose("top")(found.q)[:3, 3]).max() < 1e-9
