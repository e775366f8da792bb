"""Gravity compensation of MJCF files against MuJoCo's: parts of weights, bodies that are welded, actuated joints."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.graph import evaluate

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo

ARM = """<mujoco><option gravity="1 -2 -9"/>{flag}<worldbody>
  <body name="base" gravcomp="{base}"><joint name="yaw" axis="0 0 1" actuatorgravcomp="true"{limit}/>
    <geom size=".1" pos=".1 0 .2"/>
    <body name="upper" pos="0 0 .4" gravcomp="0.4"><joint name="lift" axis="0 1 0"/>
      <inertial pos=".2 .1 0" mass="2" diaginertia=".1 .2 .2"/>
      <body name="tool" pos=".5 0 0" euler="30 0 20" gravcomp="1.3">
        <geom type="box" size=".1 .2 .05" pos="0 0 .1"/></body>
      <body name="lower" pos=".6 0 0"><joint name="ball" type="ball"/><geom type="capsule" size=".05 .2" pos="0 0 .2"/>
      </body></body></body>
  <body name="float" pos="1 0 1" gravcomp="1"><freejoint name="free"/>
    <geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body>
</worldbody><actuator><motor joint="lift"/></actuator></mujoco>"""


@pytest.mark.parametrize("base", ["0", "1"])
def test_compensated_weights_are_those_of_mujoco(base):
    text = ARM.format(flag="", base=base, limit="")
    theirs = mujoco.MjModel.from_xml_string(text)
    twins = [Twin(theirs, seed) for seed in (1, 2)]
    assert all(np.abs(twin.data.qfrc_gravcomp).max() > 1 for twin in twins)
    check(read_mjcf(text), twins)


def test_without_gravity_or_passive_forces_nothing_is_compensated():
    flag = '<option><flag gravity="disable"/></option>'
    text = ARM.format(flag=flag, base="1", limit="")
    check(read_mjcf(text), [Twin(mujoco.MjModel.from_xml_string(text), 1)])
    bare = read_mjcf(text.replace(flag, ""), passive=False)
    assert {force.name for force in bare.forces} == {"lift_motor"}
    assert "gravcomp of 4 bodies does not act: passive is False." in bare.notes


def test_a_body_that_is_compensated_stays_where_it_is():
    body = '<body gravcomp="1"><freejoint name="f"/><geom size=".1" pos="1 0 0"/></body>'
    text = f"<mujoco><worldbody>{body}</worldbody></mujoco>"
    dyn = ph.formulate(read_mjcf(text)).compile()
    run = ph.simulate(dyn, t_end=1.0)
    assert np.abs(run.q - run.q[0]).max() < 1e-12


def test_what_actuators_would_limit_is_noted():
    text = ARM.format(flag="", base="1", limit=' actuatorfrcrange="-1 1"')
    said = "Joint 'yaw': gravity is compensated by its actuators (actuatorgravcomp); here "
    assert f"{said}actuatorfrcrange does not limit it." in read_mjcf(text).notes
    assert f"{said}it acts without actuators too." in read_mjcf(text, actuators=False).notes
    off = ARM.format(flag='<option><flag actuation="disable"/></option>', base="1", limit="")
    assert f"{said}it acts without actuators too." in read_mjcf(off).notes
    assert not any(said in note for note in read_mjcf(ARM.format(flag="", base="1", limit="")).notes)


def test_a_body_without_weight_needs_none():
    model = read_mjcf(ARM.format(flag="", base="0", limit=""))
    pushes = {force.name: evaluate(force.force, {}) for force in model.forces if force.name != "lift_motor"}
    assert set(pushes) == {f"gravity compensation of {name}" for name in ("upper", "tool", "float")}
    assert np.allclose(pushes["gravity compensation of upper"], [-0.8, 1.6, 7.2])
