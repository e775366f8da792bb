"""Sensors of MJCF files against MuJoCo's, at random states; and those of models of one's own."""

import numpy as np
import pytest

import polhode as ph
from polhode.equations.inputs import fresh
from polhode.equations.sensors import sensed
from polhode.formats.mjcf import read_mjcf
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.model import ModelError
from tests.mechanics import At

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin  # noqa: E402 - it needs MuJoCo

MARKS = [("site", "imu"), ("site", "tip"), ("xbody", "upper"), ("body", "upper"), ("body", "free"), ("geom", "rod")]
SEEN = [f'objtype="{kind}" objname="{name}"' for kind, name in MARKS]
BY = ['reftype="xbody" refname="upper"', 'reftype="site" refname="imu"', 'reftype="xbody" refname="lower"']
SENSORS = "".join(
    [
        *(f'<{tag} name="{tag} {site}" site="{site}"/>' for tag in ("gyro", "velocimeter", "accelerometer")
          for site in ("imu", "tip", "still")),
        *(f'<{tag} name="{tag} {k} {j}" {seen} {by}/>' for tag in ("framepos", "framelinvel", "frameangvel")
          for k, seen in enumerate(SEEN) for j, by in enumerate(["", *BY])),
        *(f'<{tag} name="{tag} {j}" objtype="site" objname="tip" {by}/>'
          for tag in ("framequat", "framexaxis", "frameyaxis", "framezaxis") for j, by in enumerate(["", *BY[:2]])),
        '<jointpos name="jp" joint="lift"/><jointvel name="jv" joint="lift"/>'
        '<jointactuatorfrc name="jf" joint="lift"/>',
        '<tendonpos name="tp" tendon="cord"/><tendonvel name="tv" tendon="cord"/><tendonpos name="fp" tendon="sum"/>',
        *(f'<actuator{tag} name="{tag} {name}" actuator="{name}"/>' for tag in ("pos", "vel", "frc")
          for name in ("servo", "lag", "push", "pull")),
        '<tendonactuatorfrc name="tf" tendon="cord"/>',
    ]
)  # fmt: skip
WORLD = """<worldbody><site name="still" pos="1 0 0" euler="10 20 30"/>
  <body name="upper" pos="0 0 .4" euler="0 10 40"><joint name="lift" axis="0 1 0" ref="20" range="-90 90"/>
    <inertial pos=".2 .1 0" mass="2" diaginertia=".1 .2 .2"/><site name="imu" pos=".1 .2 .3" euler="40 0 20"/>
    <body name="lower" pos=".6 0 0"><joint name="slide" type="slide" axis="1 1 0"/><joint name="ball" type="ball"/>
      <geom name="rod" type="capsule" size=".05" fromto="0 0 0 .1 .2 .4"/>
      <body name="tool" pos="0 0 .5" euler="0 30 0"><geom size=".03"/>
        <site name="tip" pos="0 .1 .2" euler="0 0 50"/></body>
    </body></body>
  <body name="free" pos="1 0 1"><freejoint/><geom type="box" size=".1 .2 .3" pos=".1 0 0"/></body></worldbody>
<tendon><spatial name="cord"><site site="still"/><site site="tip"/></spatial>
  <fixed name="sum"><joint joint="lift" coef="2"/><joint joint="slide" coef="-1"/></fixed></tendon>
<actuator><position name="servo" joint="lift" kp="9" kv="2" ctrlrange="-1 1" forcerange="-3 3" gear="2"/>
  <position name="lag" joint="slide" kp="5" timeconst=".2"/><motor name="push" site="tip" gear="1 2 3 0 0 1"/>
  <motor name="pull" tendon="cord" ctrlrange="0 1"/></actuator>"""


ARM = """<mujoco><worldbody><body name="upper"><joint name="lift" axis="0 1 0"/>
  <inertial pos=".2 .1 0" mass="2" diaginertia=".1 .2 .2"/>
  <site name="imu" pos=".1 .2 .3" euler="40 0 20"/></body></worldbody>
<actuator><position name="servo" joint="lift" kp="9" kv="2" ctrlrange="-1 1" forcerange="-3 3" gear="2"/></actuator>
<sensor>{}</sensor></mujoco>"""


def model_of(sensors):
    return f"<mujoco>{WORLD}<sensor>{sensors}</sensor></mujoco>"


@pytest.mark.parametrize("seed", [1, 2])
def test_sensors_show_what_those_of_mujoco_do(seed):
    text = model_of(SENSORS)
    model, theirs = read_mjcf(text), mujoco.MjModel.from_xml_string(text)
    assert [s.name for s in model.sensors] == [theirs.sensor(k).name for k in range(theirs.nsensor)]
    twin, eq = Twin(theirs, seed), ph.formulate(model)
    udot = fresh("udot", eq)
    at = At(eq, twin.q, twin.u)
    at.values |= {udot: list(twin.udot), eq.controls: list(twin.data.ctrl), eq.z: list(twin.data.act)}
    for sensor in model.sensors:
        found, wanted = at(sensed(eq, sensor, udot)), twin.data.sensor(sensor.name).data
        if sensor.kind == "rotation":
            R = np.zeros(9)
            mujoco.mju_quat2Mat(R, wanted)
            found, wanted = np.ravel(found), R
        assert np.allclose(np.ravel(found), wanted, rtol=1e-9, atol=1e-9), sensor.name


def test_a_trajectory_has_them_by_name():
    model = read_mjcf(ARM.format(
        '<accelerometer name="imu" site="imu"/>'
        '<framequat name="R" objtype="site" objname="imu"/>'
        '<jointpos name="lift" joint="lift"/>'
        '<actuatorfrc name="f" actuator="servo"/>'
    ))  # fmt: skip
    run = ph.simulate(ph.formulate(model).compile(), t_end=0.5, tau={"servo": 7.0})
    assert {name: a.shape[1:] for name, a in run.sensors.items()} == {"imu": (3,), "R": (3, 3), "lift": (), "f": ()}
    assert np.array_equal(run.sensors["lift"], run["lift"])
    assert np.allclose(run.sensors["R"], run.pose("imu")[:, :3, :3], atol=1e-14)
    # the control is limited to 1: kp (1 - l) - kv l_dot with the length l = 2 lift, between -3 and 3
    law = 9 * (1 - 2 * run["lift"]) - 2 * 2 * run["lift_dot"]
    assert np.allclose(run.sensors["f"], np.clip(law, -3, 3))
    # an accelerometer by differences of the velocity of its site
    t, v = run.t, run.velocity("imu")[:, 3:]
    R = run.pose("imu")[:, :3, :3]
    a = np.gradient(v, t, axis=0) + [0, 0, 9.81]
    error = np.abs(run.sensors["imu"] - np.einsum("kji,kj->ki", R, a)).max(axis=1)
    assert np.median(error) < 1e-4  # larger where the force meets its limit
    with pytest.raises(KeyError, match=r"There is no sensor 'imo'. Did you mean 'imu'"):
        run.sensors["imo"]


def test_what_is_not_read_is_noted_once_for_a_kind():
    text = model_of(
        '<touch site="imu"/><touch site="tip"/><jointpos joint="ball"/><framexaxis objtype="body" objname="upper"/>'
        '<user dim="1"/><clock/><clock name="time"/><gyro site="imu"/><gyro site="imu" cutoff="3"/>'
    )
    model = read_mjcf(text.replace('<jointpos joint="ball"/>', ""))
    mujoco.MjModel.from_xml_string(text.replace('<jointpos joint="ball"/>', ""))
    assert [s.name for s in model.sensors] == ["clock", "time", "gyro imu", "gyro imu 2"]
    said = [note for note in model.notes if "ensor" in note]
    assert said == [
        "Sensor 'gyro imu 2': its cutoff and delay are not read.",
        "<sensor> <touch> is not read (2 of them).",
        "<sensor> <framexaxis> is not read: it is about the axes of inertia of a body.",
        "<sensor> <user> is not read.",
    ]
    bare = read_mjcf(model_of('<actuatorfrc actuator="push"/>'), actuators=False)
    assert "<sensor> <actuatorfrc> is not read: its actuator is not read." in bare.notes
    with pytest.raises(
        ModelError, match=r"Sensor 'gyro imo': site is 'imo', expected a site of the file. Did you mean 'imu'"
    ):
        read_mjcf(model_of('<gyro site="imo"/>'))


def test_sensors_are_part_of_a_model_and_move_nothing():
    text = model_of(SENSORS)
    model, bare = read_mjcf(text), read_mjcf(model_of(""))
    assert read_toml(write_toml(model)) == model
    states = [ph.simulate(ph.formulate(m).compile(), t_end=0.1).q for m in (model, bare)]
    assert np.array_equal(*states)
    build = ph.Builder("arm")
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(1, 0, 0))
    build.sensor("twice", value="k*a")
    build.sensor("spin", "gyro", marker="arm")
    assert [str(p) for p in build.build().parameters] == ["k"]
    with pytest.raises(ModelError, match="Sensor 'worse': has a marker and the kind \"value\""):
        build.sensor("worse", marker="arm")
    build.sensor("bad", "gyro", marker="amr")
    with pytest.raises(ModelError, match=r"Sensor 'bad': marker 'amr' does not exist. Did you mean 'arm'?"):
        build.build()
