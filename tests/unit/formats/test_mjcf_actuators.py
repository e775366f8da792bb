"""MJCF actuators and tendons: what is read, named, noted and refused."""

import json

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.cli.main import app
from polhode.formats.mjcf import read_mjcf
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import evaluate, symbol, symbols
from polhode.model import ModelError

BODIES = """<worldbody><site name="fixed"/><body name="a"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/>
  <joint name="j" range="-1 2"{j}/><site name="s" pos="0 0 1"/><geom name="g" size="0.1"/><site name="core"/>
  <body name="b"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><joint name="k" type="slide"/></body></body>
  <body name="c"><inertial pos="0 0 0" mass="2" diaginertia="1 1 1"/><joint name="ball" type="ball"/></body>
  <geom name="cube" type="box" size="1 1 1"/></worldbody>"""
TENDON = '<tendon><fixed name="sum" {}><joint joint="j" coef="2"/><joint joint="k" coef="-1"/></fixed></tendon>'

SIDED = """<tendon><spatial name="w"><site site="s"/><geom geom="g" sidesite="core"/><site site="fixed"/></spatial>
  </tendon>"""


def text(actuators, rest="", default="", j=""):
    compiler = '<compiler angle="radian"/>'
    bodies = BODIES.format(j=j)
    return f"<mujoco>{compiler}<default>{default}</default>{bodies}{rest}<actuator>{actuators}</actuator></mujoco>"


def read(actuators, *args, **options):
    return read_mjcf(text(actuators, *args, **options))


def only(actuators, *args, **options):
    (found,) = read(actuators, *args, **options).actuators
    return found


def refused(actuators, *args, **options):
    with pytest.raises(ModelError) as caught:
        read(actuators, *args, **options)
    return str(caught.value)


def test_a_motor_is_a_control_times_its_gear_within_its_ranges():
    found = only('<motor name="m" joint="j" gear="50" ctrlrange="-1 1" forcerange="-inf 0.5"/>')
    assert found.along == (("j_dot", 50),)
    assert found.force is None
    assert [None if e is None else float(e) for e in (found.lower, found.upper, found.least, found.most)] == [
        -1,
        1,
        None,
        0.5,
    ]


def test_a_position_servo_pulls_towards_its_control():
    j, u, control = symbols("j j_dot p_control")
    at = {j: 0.7, u: -0.4, control: 0.2}
    force = only('<position name="p" joint="j" kp="3" kv="2"/>').force
    assert evaluate([force], at)[0] == pytest.approx(3 * (0.2 - 0.7) + 2 * 0.4)


def test_an_activation_is_a_state_that_stops_at_its_limits():
    model = read('<intvelocity name="p" joint="j" kp="3" actrange="-1 1"/>')
    (state,) = model.states
    assert state.name == "p_activation"
    rates = {(z, v): evaluate([state.rate], {symbol("p_activation"): z, symbol("p_control"): v})[0]
             for z in (-1, 0, 1) for v in (-2, 2)}  # fmt: skip
    assert rates == {(-1, -2): 0, (-1, 2): 2, (0, -2): -2, (0, 2): 2, (1, -2): -2, (1, 2): 0}


def test_actuators_without_a_name_are_called_after_what_they_move():
    model = read('<motor joint="j"/><motor joint="j"/><motor name="j_motor2" joint="k"/><motor site="s" gear="0 0 1"/>')
    assert [a.name for a in model.actuators] == ["j_motor", "j_motor3", "j_motor2", "s_motor"]
    assert model.actuators[3].marker == "s"


def test_a_name_whose_control_is_a_variable_of_a_joint_is_changed():
    world = '<worldbody><body name="a"><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><joint name="m_control"/>'
    model = read_mjcf(
        f'<mujoco>{world}</body></worldbody><actuator><motor name="m" joint="m_control"/></actuator></mujoco>'
    )
    assert [a.name for a in model.actuators] == ["m2"]
    assert "Actuator 'm' is called 'm2' here" in str(model.report())


def test_a_name_that_is_a_speed_is_changed():
    model = read('<motor name="j_dot" joint="j" gear="3" ctrlrange="-1 1"/><motor name="j_dot2" joint="k"/>')
    assert [a.name for a in model.actuators] == ["j_dot3", "j_dot2"]
    assert "Actuator 'j_dot' is called 'j_dot3' here" in str(model.report())
    dyn = ph.formulate(model).compile()
    expected = dyn.forward_dynamics(model.neutral(), np.zeros(5), np.zeros(5), controls={"j_dot3": 10.0})
    run = ph.simulate(dyn, t_end=1e-3, controls={"j_dot3": 10.0})
    assert np.allclose(run.u[-1] / 1e-3, expected, rtol=1e-5, atol=1e-5)


def test_tendons_are_sums_of_coordinates_with_springs_and_dampers():
    model = read('<motor name="m" tendon="sum" gear="3"/>', TENDON.format('stiffness="5" damping="2"'))
    assert model.actuators[0].along == (("j_dot", 6), ("k_dot", -3))
    assert [force.name for force in model.forces] == [
        "spring of sum", "damper of sum on j_dot", "damper of sum on k_dot", "m",
    ]  # fmt: skip
    bare = read_mjcf(text("", TENDON.format('stiffness="5" damping="2"')), passive=False)
    assert bare.forces == ()


def test_a_tendon_between_two_sites_that_is_only_so_long_is_a_rope():
    cord = '<tendon><spatial name="cord" range="0 0.3"><site site="s"/><site site="fixed"/></spatial></tendon>'
    (rope,) = read("", cord).constraints
    assert (rope.name, rope.ends, float(rope.length)) == ("cord", ("s", "fixed"), 0.3)
    assert read_mjcf(text("", cord), limits="ignore").constraints == ()
    assert "its range is not read" in str(read("", cord.replace("0 0.3", "0.1 0.3")).report())


@pytest.mark.parametrize(
    ("actuator", "rest", "note"),
    [
        (
            '<adhesion body="a" ctrlrange="0 1"/>',
            "",
            "<adhesion> is not read: it presses a body against what this touches, and contacts of",
        ),
        ('<general joint="j" gaintype="user"/>', "", "'j_general' is not read: gaintype is 'user'."),
        ('<general body="a"/>', "", "'a_general' is not read: it acts at contacts of a body."),
        ('<motor joint="j" gear="0"/>', "", "'j_motor' is not read: it moves nothing."),
        ('<motor site="fixed" gear="0 0 1"/>', "", "'fixed_motor' is not read: it moves nothing."),
        ('<motor joint="j" group="2"/>', '<option actuatorgroupdisable="2"/>', "is not read: its group is disabled."),
        ('<motor joint="j"/>', '<option><flag actuation="disable"/></option>', "a <flag> disables it"),
        ('<motor joint="j" delay="0.1" nsample="3"/>', "", "The delay of 'j_motor' is not read."),
        ('<muscle joint="k"/>', "", "it has no lengthrange, which MuJoCo looks for by pulling."),
        ('<muscle joint="j"/>', "", "The lengthrange of 'j_muscle' is that of what it moves"),
        ('<position joint="j" timeconst="0.1"/>', "", "'j_position' (filterexact) has the law of filter."),
        ('<general joint="j" dyntype="filter" actearly="true"/>', "", "actearly of 'j_general' is not read"),
        ('<motor joint="ball" gear="1" armature="2"/>', "", "its armature is not read"),
        ('<motor joint="j" damping="1 2"/>', "", "only the linear part of its damping is read"),
        ("", TENDON.format('range="-1 1" frictionloss="3"'), "Tendon 'sum': its dry friction is not read."),
        ("", TENDON.format('range="-1 1"'), "Tendon 'sum': its range is not read"),
        (
            "",
            SIDED,
            "'w' is not read: it wraps around the inside of a geom, in which its sidesite is.",
        ),
        (
            "",
            SIDED.replace('sidesite="core"', 'sidesite="fixed"'),
            "'w' is not read: it wraps around a geom on the side of a site of another body.",
        ),
        (
            '<motor tendon="w"/>',
            SIDED,
            "'w_motor' is not read: of its tendon 'w', it wraps around the inside of a geom, in which",
        ),
        (
            "",
            '<equality><tendon name="e" tendon1="sum" active="false"/></equality>',
            "'e' is not read: it is not active",
        ),
        (
            "",
            SIDED + '<equality><tendon tendon1="w"/></equality>',
            "is not read: of its tendon 'w', it wraps around the inside of a geom, in which",
        ),
        ('<adhesion body="a"/>', '<keyframe><key act="1"/></keyframe>', "'key 1': its act is not read: not all actua"),
        ("", '<keyframe><key name="k" mpos="0 0 1"/></keyframe>', "Keyframe 'k': its mpos are not read."),
    ],
)
def test_what_is_not_read_is_noted(actuator, rest, note):
    assert note in str(read(actuator, rest).report())


KEYS = """<keyframe><key name="home" time="2" qpos="0.1 0.2 0 0 0 2" qvel="1 2 3 4 5" ctrl="7 8 9" act="0.5"/>
  <key ctrl="1 2 3"/></keyframe>"""
KEYED = '<motor name="m" joint="j"/><adhesion body="a"/><intvelocity name="p" joint="k" kp="3"/>'


def test_keyframes_are_states_by_name():
    actuators = KEYED.replace('<adhesion body="a"/>', '<motor name="n" joint="k"/>')
    model = read(actuators, KEYS)
    home, second, _ = model.keyframes
    assert home.start() == {
        "q0": {"j": 0.1, "k": 0.2, "ball_qw": 0.0, "ball_qx": 0.0, "ball_qy": 0.0, "ball_qz": 1.0},
        "u0": {"j_dot": 1, "k_dot": 2, "ball_wx": 3, "ball_wy": 4, "ball_wz": 5},
        "controls": {"m": 7, "n": 8, "p": 9}, "z0": {"p_activation": 0.5}, "t0": 2.0,
    }  # fmt: skip
    assert second.name == "key 2"
    assert second.start()["q0"]["ball_qw"] == 1
    assert read_toml(write_toml(model)) == model
    run = ph.simulate(ph.formulate(model).compile(), **model.keyframe("home").start(), t_end=2.1)
    assert run.t[0] == 2.0
    assert run["j_dot"][0] == 1
    assert run["p_activation"][0] == 0.5
    with pytest.raises(KeyError, match=r"no keyframe 'hoem'\. Did you mean 'home'"):
        model.keyframe("hoem")


def test_controls_of_actuators_that_are_not_read_are_left_out():
    (_, second, _) = read(KEYED, KEYS.replace('act="0.5"', "")).keyframes
    assert second.start()["controls"] == {"m": 1, "p": 3}
    (_, second, _) = read_mjcf(text(KEYED, KEYS), actuators=False).keyframes
    assert "controls" not in second.start()


def test_a_keyframe_may_leave_a_quaternion_at_0():
    model = read("", '<keyframe><key name="k" qpos="1 2 0 0 0 0"/></keyframe>')
    turned = {c: x for c, x in model.keyframe("k").start()["q0"].items() if c.startswith("ball")}
    assert turned == {"ball_qw": 1, "ball_qx": 0, "ball_qy": 0, "ball_qz": 0}
    assert any("Keyframe 'k': the quaternion of joint 'ball' is 0, which counts as" in note for note in model.notes)


@pytest.mark.parametrize(
    ("rest", "said"),
    [
        ('<keyframe><key name="k" qpos="1 2"/></keyframe>', "'k': qpos has 2 numbers, expected 6 as the model has"),
        ('<keyframe><key name="k" ctrl="1 2"/></keyframe>', "'k': ctrl has 2 numbers, expected 0"),
        ('<keyframe><key name="k"/><key name="k"/></keyframe>', "Keyframe 'k' exists twice"),
        ('<keyframe><key qops="k"/></keyframe>', "qops"),
        ('<tendon><spatial><site site="s"/><geom geom="g"/></spatial></tendon>', "geom 'g' is not between two sites"),
        (
            '<tendon><spatial><site site="s"/><geom geom="h"/><site site="s"/></spatial></tendon>',
            "geom is 'h', expected a geom of the file.",
        ),
        (
            '<tendon><spatial><site site="s"/><geom geom="cube"/><site site="s"/></spatial></tendon>',
            "geom 'cube' is a box, expected a sphere or a cylinder.",
        ),
        ('<equality><tendon tendon1="sun"/></equality>', "tendon1 is 'sun', expected a tendon of the file."),
    ],
)
def test_keyframes_and_equalities_that_cannot_be(rest, said):
    assert said in refused("", rest + TENDON.format(""))


def test_keyframes_of_nothing_are_refused():
    build = ph.Builder("bare")
    build.body("a", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 1))
    build.keyframe("k", q={"b": 1}, u={"a_dot": 2}, controls={"M": 1})
    with pytest.raises(ModelError) as caught:
        build.build()
    assert "Keyframe 'k': there is no coordinate 'b'" in str(caught.value)
    assert "Keyframe 'k': there is no actuator 'M'" in str(caught.value)
    with pytest.raises(ModelError, match="Keyframe 'k': has w, expected numbers"):
        build.keyframe("k", q={"a": ph.symbol("w")})


def test_what_a_joint_bears_limits_its_one_actuator():
    limited = ' actuatorfrcrange="-4 6"'
    found = only('<motor joint="j" gear="-2" forcerange="-1 9"/>', j=limited)
    assert (float(found.least), float(found.most)) == (-1, 2)
    model = read('<motor joint="j"/><motor joint="j"/>', j=limited)
    assert model.actuators[0].most is None
    assert "Joint 'j': actuatorfrcrange does not act: it is of more than one actuator." in model.notes


@pytest.mark.parametrize(
    ("actuator", "said"),
    [
        ('<motor joint="jj"/>', "Actuator 'jj_motor': joint is 'jj', expected a joint of the file. Did you mean 'j'?"),
        ('<motor tendon="x"/>', "tendon is 'x', expected one of the file."),
        ('<motor site="x"/>', "site is 'x', expected a site of the file."),
        ('<motor name="m"/>', "Actuator 'm': expected one of joint, jointinparent, tendon, site, cranksite to act on"),
        ('<motor joint="j" site="s"/>', "expected one of joint, jointinparent"),
        ('<motor joint="j" kp="3"/>', "<actuator> <motor> on line 5: unknown attribute 'kp'."),
        ('<mtor joint="j"/>', "<actuator>: unknown element <mtor> on line 5. Did you mean 'motor' or 'dcmotor'?"),
        ('<position joint="j" kv="1" dampratio="1"/>', "has kv and dampratio, expected one of them."),
        ('<position joint="j" kv="-1"/>', "kv is -1, expected 0 or more."),
        ('<position joint="k" inheritrange="1"/>', "has inheritrange, but what it moves has no range."),
        ('<position joint="j" inheritrange="1" ctrlrange="0 1"/>', "has ctrlrange and inheritrange, expected one"),
        ('<general joint="j" dyntype="filtr"/>', "dyntype is 'filtr', expected none, integrator, filter, filterexact"),
        ('<motor joint="j" gear="a"/>', "gear is 'a', expected 1 to 6 numbers."),
        ('<motor joint="j" ctrllimited="true"/>', "it is ctrllimited but has no ctrlrange"),
        ('<damper joint="j" kv="2"/>', "it is ctrllimited but has no ctrlrange"),
        ('<motor joint="j" ctrlrange="1 0"/>', "ctrlrange is '1 0', expected the smaller number first."),
        ('<muscle joint="j" lengthrange="0 1" lmin="2"/>', "expected range[0] < range[1] and lmin < 1 < lmax"),
        ('<muscle site="s" lengthrange="0 1"/>', "<actuator> <muscle> on line 5: unknown attribute 'site'."),
        ('<motor cranksite="s" slidersite="fixed"/>', "cranklength is 0, expected more than 0."),
        ('<motor class="x" joint="j"/>', "default class 'x' does not exist."),
        ('<motor name="m" joint="j"/><motor name="m" joint="k"/>', "Force 'm' exists 2 times"),
    ],
)
def test_what_is_wrong_is_one_clear_message(actuator, said):
    assert said in refused(actuator)


DRIVEN = """<motor name="m" joint="j" gear="50" ctrlrange="-1 1"/><muscle tendon="sum" lengthrange="-3 2"/>
  <position name="p" joint="ball" gear="0 1 1" kp="3" timeconst="0.1"/>"""


def test_a_tendon_has_a_joint_once():
    twice = '<tendon><fixed name="sum"><joint joint="j" coef="2"/><joint joint="j" coef="3"/></fixed></tendon>'
    assert "Tendon 'sum': has joint 'j' twice, expected it once." in refused("", twice)


def test_a_driven_machine_is_the_same_after_toml():
    model = read(DRIVEN, TENDON.format('stiffness="2"'))
    again = read_toml(write_toml(model))
    assert again.forces == model.forces
    assert again.states == model.states


def test_controls_of_a_file_are_inputs_of_calls():
    model = read('<motor name="m" joint="j" gear="5" ctrlrange="-1 1"/>')
    dyn = ph.formulate(model).compile()
    q, u = model.neutral(), np.zeros(model.nu)
    still, pushed = (dyn.forward_dynamics(q, u, np.zeros(model.nu), controls={"m": x}) for x in (0, 7))
    assert pushed[0] - still[0] == pytest.approx(5 / 2)  # both bodies turn about z


def test_the_command_line_shows_actuators(tmp_path):
    path = tmp_path / "machine.xml"
    path.write_text(text(DRIVEN, TENDON.format("")))
    shown = CliRunner().invoke(app, ["info", str(path)]).output
    assert "m [actuator on j_dot, control -1 to 1]" in shown
    found = json.loads(CliRunner().invoke(app, ["info", str(path), "--json"]).output)
    assert found["actuators"][0] == {"name": "m", "on": {"j_dot": 50.0}, "control": [-1.0, 1.0], "force": [None, None]}


def test_actuators_may_be_left_out(tmp_path):
    path = tmp_path / "machine.xml"
    path.write_text(text(DRIVEN, TENDON.format('stiffness="2"')))
    assert len(ph.load(path).actuators) == 3
    bare = ph.load(path, actuators=False)
    assert [force.name for force in bare.forces] == ["spring of sum"]
    assert bare.states == ()
    with pytest.raises(ValueError, match=r"actuators=1\.5: expected True or False"):
        ph.load(path, actuators=1.5)
    path = tmp_path / "machine.toml"
    path.write_text(write_toml(bare))
    with pytest.raises(ValueError, match=r"remove the \[\[actuator\]\] tables"):
        ph.load(path, actuators=False)
