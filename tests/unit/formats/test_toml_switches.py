"""Switches, limits and joint friction in TOML: both ways, and what is refused."""

import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import sin, symbol
from polhode.model import At, ModelError, When

WHEELS = """
name = "wheels"
gravity = [0, 0, 0]
symbols = ["L"]
[[body]]
name = "drive"
joint = { type = "revolute", axis = "z", name = "p", friction = 0.1, limits = [-50, 50] }
mass = 1
inertia = [1, 1, 2]
[[body]]
name = "load"
joint = { type = "revolute", axis = "z", name = "left-q" }
mass = 1
inertia = [2, 2, 3]
[[clutch]]
name = "clutch"
between = ["p_dot", "left-q_dot"]
capacity = 1.2
active = false
[[lock]]
name = "lock"
joint = "left-q"
active = false
"""
SWITCHES = """
[[switch]]
at = 1
engage = ["clutch"]
[[switch]]
when = "p > L and not p_dot < 3"
release = "clutch"
engage = ["lock", "friction of p"]
[[switch]]
when = "sin(q['left-q'])"
direction = -1
release = ["limit of p"]
"""


def test_switches_are_read():
    first, second, third = read_toml(WHEELS + SWITCHES).switches
    assert first == At(1.0, ("clutch",), ())
    p, rate, L = map(symbol, ("p", "p_dot", "L"))
    assert second.guards() == ph.when((p > L) & ~(rate < 3)).guards()
    assert (second.engage, second.release) == (("lock", "friction of p"), ("clutch",))
    assert third == When(sin(symbol("left-q")), -1, (), ("limit of p",))


def test_they_are_the_same_as_in_python_and_read_back_equal():
    model = read_toml(WHEELS + SWITCHES)
    text = write_toml(model)
    assert read_toml(text) == model
    assert 'at = 1.0\nengage = ["clutch"]' in text
    build = ph.Builder("wheels", gravity=(0, 0, 0))
    joint = ph.revolute("z", name="p", friction=0.1, limits=(-50, 50))
    build.body("drive", joint=joint, mass=1, inertia=(1, 1, 2))
    build.body("load", joint=ph.revolute("z", name="left-q"), mass=1, inertia=(2, 2, 3))
    build.lock("left-q", name="lock", active=False)
    build.clutch("p_dot", "left-q_dot", capacity=1.2, name="clutch", active=False)
    build.switch(at=1, engage="clutch")
    build.switch(when="p > L and not p_dot < 3", engage=("lock", "friction of p"), release="clutch")
    build.switch(when=sin(symbol("left-q")), direction=-1, release=["limit of p"])
    assert build.build() == model
    assert [str(s.value) for s in model.parameters] == ["L"]


def test_a_comparison_is_written_as_one():
    model = read_toml(WHEELS + '[[switch]]\nwhen = "p >= 2"\nengage = "lock"\n')
    assert 'when = "2 <= p"' in write_toml(model)


def test_parameters_of_switches_take_values():
    model = read_toml(WHEELS + SWITCHES).substituted({"L": 2})
    assert model.parameters == ()
    assert model.switches[1].value == ph.when("p > 2 and not p_dot < 3").value


def test_a_model_switches_in_every_simulation_besides_what_the_call_says():
    """Two rotors, engaged by the file at 1 s and released by the call at 2 s: the clutch moves 1.2 N m s."""
    model = read_toml(WHEELS.replace("friction = 0.1, ", "") + "[[switch]]\nat = 1\nengage = 'clutch'\n")
    dyn = ph.formulate(model).compile()
    traj = ph.simulate(dyn, None, {"p_dot": 10.0}, 3.0, switches=ph.at(2.0, release="clutch"))
    assert traj.events.times == pytest.approx([0, 1, 2])
    assert traj.u[-1] == pytest.approx([10 - 1.2 / 2, 1.2 / 3], abs=1e-10)


WRONG = {
    '[[switch]]\nat = 2\nengage = "cluch"': "there is no constraint 'cluch' to engage. Did you mean 'clutch'?",
    '[[switch]]\nat = 2\nrelease = "friction of left-q"': "to release. Did you mean 'friction of p'?",
    '[[switch]]\nwhen = "p > 1"\nat = 1\nengage = "lock"': "has both at and when, expected one",
    '[[switch]]\nengage = "lock"': "has neither at nor when",
    "[[switch]]\nat = 1": "does nothing. Give the names",
    '[[switch]]\nat = 1\nengage = "lock"\nrelease = "lock"': "engages and releases 'lock'",
    '[[switch]]\nat = "soon"\nengage = "lock"': "time is 'soon', expected seconds",
    "[[switch]]\nat = nan\nengage = 'lock'": "time is nan, expected seconds",
    "[[switch]]\nat = 1\nengage = 3": "engage is 3, expected names",
    '[[switch]]\nat = 1\ndirection = 1\nengage = "lock"': "a time and a direction",
    '[[switch]]\nwhen = "p > 1"\ndirection = -1\nengage = "lock"': "counts as it becomes true",
    '[[switch]]\nwhen = "p"\ndirection = 2\nengage = "lock"': "direction is 2, expected",
    '[[switch]]\nwhen = "pp > 1"\nengage = "lock"': "unknown name pp. Did you mean 'p'",
    '[[switch]]\nwhen = "p == 1"\nengage = "lock"': "holds for no time at all",
    '[[switch]]\nwhen = "0/0 * p"\nengage = "lock"': "0/0 is nan, expected a finite number",
    '[[switch]]\nwhen = "L > 1"\nengage = "lock"': "nothing in it changes",
    '[[switch]]\nwhen = "p > 1"\nengag = "lock"': "unknown key 'engag'. Did you mean 'engage'?",
    "[[switch]]\nwhen = 3\nengage = 'lock'": "expected an expression, or its text",
    "switch = 3": "expected tables [[switch]]",
}


@pytest.mark.parametrize("text", WRONG)
def test_wrong_switches(text):
    whole = text + WHEELS if text.startswith("switch") else WHEELS + text
    with pytest.raises(ModelError) as error:
        read_toml(whole)
    assert WRONG[text] in str(error.value)


def test_all_faults_come_together():
    texts = [
        '[[switch]]\nat = 2\nengage = "cluch"',
        "[[switch]]\nat = 1",
        '[[switch]]\nwhen = "L > 1"\nengage = "lock"',
    ]
    with pytest.raises(ModelError) as error:
        read_toml(WHEELS + "\n".join(texts))
    assert len(error.value.faults) == 3
    for text, fault in zip(texts, error.value.faults, strict=True):
        assert WRONG[text] in fault


# limits


def test_limits_are_stops_or_are_ignored(tmp_path):
    path = tmp_path / "a.toml"
    model = read_toml('limits = "ignore"' + WHEELS)
    assert model.limits == "ignore"
    assert "limit of p" not in [c.name for c in model.candidates]
    ph.save(model, path)
    assert 'limits = "ignore"' in path.read_text()
    assert ph.load(path) == model
    assert ph.load(path, limits="stop").limits == "stop"
    assert "limit of p" in [c.name for c in ph.load(path, limits="stop").candidates]
    with pytest.raises(ModelError, match=r"limits is 'stopp', expected \"stop\" or \"ignore\""):
        read_toml('limits = "stopp"' + WHEELS)
    with pytest.raises(ModelError, match="limits is 3, expected text"):
        read_toml("limits = 3" + WHEELS)


URDF = """<robot name="r"><link name="a"/><link name="b"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1"
 ixy="0" ixz="0" iyz="0"/></inertial></link><joint name="j" type="revolute"><parent link="a"/><child link="b"/>
 <limit lower="-1" upper="0.5" effort="1" velocity="1"/></joint></robot>"""
MJCF = """<mujoco><compiler angle="radian"/><worldbody><body><joint name="j" range="-1 0.5"/>
 <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></worldbody></mujoco>"""


@pytest.mark.parametrize(("name", "text"), [("r.urdf", URDF), ("m.xml", MJCF)])
def test_limits_of_files_act_unless_they_are_ignored(tmp_path, name, text):
    """A wheel with 1 rad/s reaches 0.5 rad at 0.5 s, and stays; without its limits it goes on."""
    path = tmp_path / name
    path.write_text(text)
    ends = {}
    for limits in ("stop", "ignore"):
        model = ph.load(path, limits=limits)
        said = "are stops in simulations" if limits == "stop" else "are kept, but do not act in simulations"
        assert f"Limits of 'j' {said}" in str(model.report())
        traj = ph.simulate(ph.formulate(model).compile(), None, {"j_dot": 1.0}, 2.0)
        ends[limits] = traj["j"][-1]
    assert ends == pytest.approx({"stop": 0.5, "ignore": 2.0}, abs=1e-9)
    assert ph.load(path) == ph.load(path, limits="stop")


def test_other_words_for_limits_are_refused(tmp_path):
    path = tmp_path / "r.urdf"
    path.write_text(URDF)
    with pytest.raises(ValueError, match=r"limits='ignor': expected .* Did you mean 'ignore'\?"):
        ph.load(path, limits="ignor")
    with pytest.raises(ValueError, match="limits=False: expected"):
        ph.load(path, limits=False)


@pytest.mark.parametrize(
    ("was", "now", "said"),
    [
        ("capacity = 1.2", 'capacity = "4 Nm"', "capacity is '4 Nm'"),
        ("friction = 0.1", 'friction = "x y"', "friction is 'x y'"),
        ("ratio = 10", "ratio = 10\nefficiency = 80", "efficiency is 80, expected a number from 0 to 1."),
    ],
)
def test_what_follows_from_a_fault_is_none(was, now, said):
    more = '\n[[switch]]\nat = 1\nengage = "clutch"\n[[keyframe]]\nname = "home"\nq = { p = 0.2 }\n'
    motor = '[[motor]]\nname = "M"\nratio = 10\ndrives = { left-q = 1 }\n'
    text = WHEELS + more + motor
    assert read_toml(text).keyframes
    with pytest.raises(ModelError) as caught:
        read_toml(text.replace(was, now))
    (fault,) = caught.value.faults
    assert said in fault
