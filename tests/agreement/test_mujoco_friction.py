"""Dry friction of MJCF joints against MuJoCo, whose soft constraint becomes ours as it stiffens with the step."""

import mujoco
import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf

ARM = """<mujoco><compiler angle="radian"/><option timestep="{h}" integrator="implicitfast" tolerance="1e-14"/>
<worldbody><body name="arm">
  <joint name="a" axis="0 1 0" frictionloss="1.5" {stiff}/>
  <inertial pos="0.5 0 0" mass="1" diaginertia="0.05 0.05 0.05"/>
  <body name="fore" pos="1 0 0">
    <joint name="b" axis="0 1 0" frictionloss="0.3" {stiff}/>
    <inertial pos="0.3 0 0" mass="0.5" diaginertia="0.02 0.02 0.02"/>
  </body></body></worldbody></mujoco>"""
START, END = ([0.3, 0.2], [0.0, 2.0]), 2.0


def in_mujoco(h):
    stiff = f'solreffriction="{2 * h} 1" solimpfriction="0.9999 0.9999 0.001 0.5 2"'
    model = mujoco.MjModel.from_xml_string(ARM.format(h=h, stiff=stiff))
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = START
    for _ in range(round(END / h)):
        mujoco.mj_step(model, data)
    return np.concatenate([data.qpos, data.qvel])


@pytest.fixture(scope="module")
def dynamics():
    return ph.formulate(read_mjcf(ARM.format(h=1e-3, stiff=""))).compile()


def test_a_run_is_the_limit_of_mujocos(dynamics):
    """Arms that stick and slip seven times: the difference falls with MuJoCo's step."""
    traj = ph.simulate(dynamics, *START, END)
    assert [event.why for event in traj.events].count("slips") == 2
    assert traj.mode["friction of b"][-1] == "holds"
    end = np.concatenate([traj.q[-1], traj.u[-1]])
    coarse, fine = (np.abs(in_mujoco(h) - end).max() for h in (1e-3, 1e-4))
    assert coarse < 2e-3
    assert fine < 2e-4
    assert fine < coarse / 4


def test_direct_calls_leave_it_out(dynamics):
    """As MuJoCo does with its constraints disabled: the quick native call."""
    model = mujoco.MjModel.from_xml_string(ARM.format(h=1e-3, stiff=""))
    model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_FRICTIONLOSS
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = START
    mujoco.mj_forward(model, data)
    assert type(dynamics.forward_dynamics).__name__ == "Function"
    assert dynamics.forward_dynamics(*map(np.array, START), np.zeros(2)) == pytest.approx(data.qacc, rel=1e-9)
