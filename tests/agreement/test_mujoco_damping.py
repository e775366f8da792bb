"""Euler's method with dampers in the joints, step by step as MuJoCo takes them."""

import numpy as np
import pytest

import polhode as ph

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

STEPS = 300


def chain(n):
    """A chain in MJCF, some of whose joints are damped far beyond what an explicit step could take."""
    inner = ""
    for i in reversed(range(n)):
        axis, damping = (("0 1 0", 0.5), ("1 0 0", 30), ("0.6 0 0.8", 200))[i % 3]
        inner = (
            f'<body pos="0 0.05 -0.2">'
            f'<joint name="j{i}" axis="{axis}" damping="{damping}" armature="{0.01 * (i % 2)}"/>'
            f'<inertial mass="{1 + 0.1 * i}" pos="0.02 0 -0.1" diaginertia="0.01 0.012 0.005"/>{inner}</body>'
        )
    return f'<mujoco><option timestep="0.001" integrator="Euler"/><worldbody>{inner}</worldbody></mujoco>'


def test_damped_steps_are_those_of_mujoco(tmp_path):
    path = tmp_path / "chain.xml"
    path.write_text(chain(7))
    theirs = mujoco.MjModel.from_xml_path(str(path))
    data = mujoco.MjData(theirs)
    rng = np.random.default_rng(1)
    data.qpos[:], data.qvel[:] = rng.normal(size=7), 3 * rng.normal(size=7)
    dyn = ph.formulate(ph.load(path)).compile()
    traj = ph.simulate(dyn, data.qpos, data.qvel, STEPS * 1e-3, method="euler", step=1e-3, output="steps")
    assert len(traj) == STEPS + 1
    for q, u in zip(traj.q[1:], traj.u[1:], strict=True):
        mujoco.mj_step(theirs, data)
        np.testing.assert_allclose(q, data.qpos, rtol=0, atol=1e-12)
        np.testing.assert_allclose(u, data.qvel, rtol=0, atol=1e-11)
