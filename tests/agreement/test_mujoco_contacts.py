"""Contacts and brakes against MuJoCo, whose constraints are soft: as near as short steps and hard settings come."""

import numpy as np
import pytest

import polhode as ph

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

G = 9.81
HARD = 'solref="0.002 1" solimp="0.99 0.999 0.0001"'


def run(body, end, step=1e-4, start=None):
    """The final state of a model in MuJoCo, and its data."""
    text = f"""<mujoco><option timestep="{step}" gravity="0 0 -{G}" cone="elliptic" impratio="100"/>
    <worldbody>{body}</worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    for k, value in (start or {}).items():
        data.qvel[k] = value
    while data.time < end - step / 2:
        mujoco.mj_step(model, data)
    return model, data


def test_a_sliding_block_stops_where_mujoco_s_does():
    """v^2 / (2 mu g); a sphere that cannot turn stands for the block."""
    mu, v, end = 0.4, 1.2, 0.6
    build = ph.Builder("block", gravity=(0, 0, -G))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=1.0)
    build.contact("block", friction=mu, name="floor")
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": v}, end)
    _, data = run(f"""<geom type="plane" size="9 9 1" friction="{mu}" {HARD}/><body pos="0 0 0.1">
        <joint type="slide" axis="1 0 0"/><joint type="slide" axis="0 0 1"/>
        <geom type="sphere" size="0.1" mass="1" friction="{mu}" {HARD}/></body>""", end, start={0: v})  # fmt: skip
    assert traj["x"][-1] == pytest.approx(v**2 / (2 * mu * G), abs=1e-9)
    assert data.qpos[0] == pytest.approx(traj["x"][-1], rel=5e-3)
    assert abs(data.qvel[0]) < 1e-2
    assert traj["x_dot"][-1] == pytest.approx(0, abs=1e-12)


def test_a_ball_at_rest_weighs_what_it_does_in_mujoco():
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2.0)
    build.contact("ball", shape="sphere", radius=0.1, name="floor")
    traj = ph.simulate(ph.formulate(build.build()).compile(), {"z": 0.15}, None, 0.6, reacting=True)
    model, data = run(f"""<geom type="plane" size="9 9 1" {HARD}/><body pos="0 0 0.15">
        <joint type="slide" axis="0 0 1"/><geom type="sphere" size="0.1" mass="2" {HARD}/></body>""", 0.6)  # fmt: skip
    force = np.zeros(6)
    mujoco.mj_contactForce(model, data, 0, force)
    assert traj.reactions[-1][0] == pytest.approx(2 * G, rel=1e-9)
    assert force[0] == pytest.approx(traj.reactions[-1][0], rel=1e-3)
    assert 0.15 + data.qpos[0] == pytest.approx(traj["z"][-1], abs=1e-4)


@pytest.mark.parametrize(("torque", "end"), [(0.1, 1.0), (0.1, 4.0), (0.7, 2.0)])
def test_a_brake_acts_as_the_friction_of_a_joint_in_mujoco(torque, end):
    """Slipping, it takes its capacity; it holds where the torque is less, as far as MuJoCo's creep allows."""
    inertia, capacity, v = 0.5, 0.4, 1.5
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1.0, inertia=(inertia,) * 3)
    build.brake("a_dot", capacity=capacity, name="brake")
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"a_dot": v}, end, tau={"a_dot": torque})
    text = f"""<mujoco><option timestep="1e-3" gravity="0 0 0"/><worldbody><body>
    <inertial pos="0 0 0" mass="1" diaginertia="{inertia} {inertia} {inertia}"/>
    <joint type="hinge" axis="0 0 1" frictionloss="{capacity}" solreffriction="0.002 1"
     solimpfriction="0.9999 0.9999 0.001"/></body></worldbody></mujoco>"""
    model = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(model)
    data.qvel[0], data.qfrc_applied[0] = v, torque
    while data.time < end - 5e-4:
        mujoco.mj_step(model, data)
    assert data.qvel[0] == pytest.approx(traj["a_dot"][-1], abs=2e-3)
    assert data.qpos[0] == pytest.approx(traj["a"][-1], rel=2e-3, abs=2e-3)
