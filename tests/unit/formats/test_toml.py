"""TOML: the same models as in Python, all faults together, and back again."""

from fractions import Fraction

import pytest

from polhode.formats import load
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import save, write_toml
from polhode.graph import cos, pi, select, sin, symbol, symbols
from polhode.model import (
    Body,
    Builder,
    Limits,
    Model,
    ModelError,
    compound,
    cylindrical,
    free,
    joint,
    planar,
    prismatic,
    revolute,
    screw,
    spherical,
    universal,
    weld,
)
from polhode.spatial import Pose

L, M, G, K = symbols("L m g k")
SLIDE_AND_TURN = [[0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 0]]

PENDULUM = """
name = "pendulum"
gravity = [0, 0, "-g"]
symbols = ["m", "L", "g", "k"]

[constants]
half = "L/2"

[[body]]
name = "rod"
joint = { type = "revolute", name = "theta", axis = "y", damping = 0.1, limits = [-1, "pi"] }
at = [0, 0, 1]
mass = "m"
com = [0, 0, "-half"]
inertia = ["m*L**2/12", "m*L**2/12", 0]

[[marker]]
name = "tip"
body = "rod"
at = [0, 0, "-L"]
rpy = ["pi/2", 0, 0]

[definitions]
swing = "sin(theta)"

[[spring]]
between = ["tip", "world"]
stiffness = "k"
length = 1

[[wrench]]
marker = "tip"
force = ["-k*u.theta_dot", 0, "t"]

[[force]]
speed = "theta_dot"
value = "select(swing > 0, -k*swing, 0)"

[[potential]]
energy = "k*q.theta**2/2"
"""


def pendulum():
    theta, rate, t = symbols("theta theta_dot t")
    build = Builder("pendulum", gravity=(0, 0, -G))
    build.body(
        "rod",
        joint=revolute("y", name="theta", damping=0.1, limits=(-1, float(pi))),
        at=(0, 0, 1),
        mass=M,
        com=(0, 0, -L / 2),
        inertia=(M * L**2 / 12, M * L**2 / 12, 0),
    )
    build.marker("tip", body="rod", at=(0, 0, -L), rpy=(pi / 2, 0, 0))
    build.spring("tip", "world", stiffness=K, length=1)
    build.wrench("tip", force=(-K * rate, 0, t))
    build.force("theta_dot", select(sin(theta) > 0, -K * sin(theta), 0))
    build.potential(K * theta**2 / 2)
    return build.build()


def one_body(joint_text, top="", mass="1", more=""):
    return f'{top}\n[[body]]\nname = "arm"\nmass = {mass}\njoint = {joint_text}\n{more}'


def faults(text):
    with pytest.raises(ModelError) as caught:
        read_toml(text, "some.toml")
    assert caught.value.source == "some.toml"
    assert str(caught.value).startswith("some.toml: ")
    return caught.value.faults


def test_the_same_model_in_python_and_toml():
    assert read_toml(PENDULUM) == pendulum()


def test_load_reads_toml(tmp_path):
    (tmp_path / "a.toml").write_text(PENDULUM)
    assert load(tmp_path / "a.toml") == pendulum()


JOINTS = {
    '{ type = "revolute", axis = "z" }': revolute("z"),
    '{ type = "revolute", axis = [1, 2, 2], at = [1, 0, 0] }': revolute((1, 2, 2), at=(1, 0, 0)),
    '{ type = "prismatic", axis = "-x", name = "rail" }': prismatic("-x", name="rail"),
    '{ type = "screw", axis = "x", pitch = "1/100" }': screw("x", pitch=Fraction(1, 100)),
    '{ type = "cylindrical", axis = "y", q = ["a", "b"] }': cylindrical("y", q=("a", "b")),
    '{ type = "universal", axes = ["z", [0, 1, 0]] }': universal(("z", "y")),
    '{ type = "planar", axis = "z", u = ["w", "vx", "vy"] }': planar("z", u=("w", "vx", "vy")),
    '{ type = "spherical" }': spherical(),
    '{ type = "free", quaternion = true }': free(quaternion=True),
    '{ type = "weld" }': weld(),
    f'{{ type = "map", map = {SLIDE_AND_TURN}, split = [1, 1] }}': joint(SLIDE_AND_TURN, split=[1, 1]),
    f'{{ type = "map", map = {SLIDE_AND_TURN}, nonholonomic = true }}': joint(SLIDE_AND_TURN, nonholonomic=True),
    '{ type = "map", map = [0, 0, 1, 0, 0, 0.1], kind = "thread" }': joint([0, 0, 1, 0, 0, 0.1], kind="thread"),
    '{ type = "compound", joints = [{ type = "revolute", axis = "x" }, { type = "spherical", quaternion = true }] }': (
        compound([revolute("x"), spherical(quaternion=True)])
    ),
    '{ type = "revolute", axis = "x", friction = "1/2", friction_speed = 1e-3, armature = 2, passive = false }': (
        revolute("x", friction=Fraction(1, 2), friction_speed=1e-3, armature=2, passive=False)
    ),
    '{ type = "cylindrical", axis = "x", damping = [1, 2], stiffness = 3, rest = [0, 1] }': (
        cylindrical("x", damping=[1, 2], stiffness=3, rest=[0, 1])
    ),
    '{ type = "cylindrical", axis = "x", limits = [[0, 1], { effort = 5, upper = inf }] }': (
        cylindrical("x", limits=[(0, 1), Limits(effort=5, upper=float("inf"))])
    ),
}


@pytest.mark.parametrize(("text", "made"), JOINTS.items(), ids=[text[:60] for text in JOINTS])
def test_joints(text, made):
    build = Builder()
    build.body("arm", joint=made, mass=1)
    assert read_toml(one_body(text)) == build.build()


WRONG_JOINTS = {
    '{ type = "revolut", axis = "z" }': "Did you mean 'revolute'",
    '{ axis = "z" }': "type is None",
    '"weld"': "expected a table",
    '{ type = "revolute" }': "axis is missing",
    '{ type = "revolute", axis = "w" }': "axis is 'w'",
    '{ type = "revolute", axis = [0, 0, 0] }': "length 0",
    '{ type = "revolute", axis = "x", dampng = 1 }': "Did you mean 'damping'",
    '{ type = "revolute", axis = "x", damping = -1 }': "expected 0 or more",
    '{ type = "revolute", axis = "x", friction = 1, friction_speed = -1 }': "friction_speed",
    '{ type = "revolute", axis = "x", limits = [1, 2, 3] }': "expected \\[lower, upper\\]",
    '{ type = "revolute", axis = "x", limits = { low = 1 } }': "expected \\[lower, upper\\]",
    '{ type = "revolute", axis = "x", limits = ["m", 1] }': "unknown name m",
    '{ type = "revolute", axis = "x", q = ["a", "b"] }': "names of its 1 coordinates",
    '{ type = "revolute", axis = "x", q = "a\\nb" }': "printable",
    '{ type = "revolute", axis = "x", passive = 1 }': "true or false",
    '{ type = "weld", damping = 1 }': "unknown key 'damping'",
    '{ type = "screw", axis = "x" }': "pitch is missing",
    '{ type = "map", map = [[1, 1], [0, 0], [0, 0], [0, 0], [0, 0], [0, 0]] }': "rank 1",
    f'{{ type = "map", map = {SLIDE_AND_TURN} }}': "Lie bracket",
    f'{{ type = "map", map = {SLIDE_AND_TURN}, split = [1, 2] }}': "split",
    f'{{ type = "map", map = {SLIDE_AND_TURN}, split = ["a"] }}': "whole numbers",
    '{ type = "map", map = [[1], [2]] }': "shape",
    '{ type = "map", map = [["sqrt(-1)"], [0], [0], [0], [0], [0]] }': "finite",
    '{ type = "compound", joints = [] }': "expected a list of joints",
    '{ type = "compound", joints = [3] }': "expected a table",
    '{ type = "compound", joints = [{ type = "revolute", axis = "x", limits = [0, 1] }] }': "unknown key 'limits'",
}


@pytest.mark.parametrize("text", WRONG_JOINTS, ids=[text[:70] for text in WRONG_JOINTS])
def test_wrong_joints(text):
    with pytest.raises(ModelError, match=WRONG_JOINTS[text]) as caught:
        read_toml(one_body(text))
    assert len(caught.value.faults) == 1
    assert "arm" in str(caught.value) or "(compound)" in str(caught.value)


BODY = '[[body]]\nname = "{}"\nparent = "{}"\nmass = 1\njoint = {{ type = "revolute", axis = "x" }}\n'
WRONG = {
    BODY.format("a", "b") + BODY.format("b", "a"): "'a' on 'b' on 'a' form a cycle",
    BODY.format("a", "a"): "'a' on 'a' form a cycle",
    BODY.format("arm", "world") + BODY.format("hand", "amr"): "parent 'amr' does not exist. Did you mean 'arm'",
    BODY.format("a", "world") + BODY.format("a", "world"): "Body 'a' exists 2 times",
    BODY.format("", "world"): "name is '', expected text",
    BODY.format("world", "world"): "belongs to the ground",
    one_body('{ type = "weld" }', mass="-1"): "mass is -1",
    one_body('{ type = "weld" }', mass="nan"): "mass is nan, expected a finite number",
    one_body('{ type = "weld" }', mass="1e301"): "finite",
    one_body('{ type = "weld" }', mass="9" * 400): "finite",
    one_body('{ type = "weld" }', mass="true"): "expected a number or an expression",
    one_body('{ type = "weld" }', mass="1979-05-27"): "expected a number or an expression",
    one_body('{ type = "weld" }', mass="[1]"): "expected a number or an expression",
    one_body('{ type = "weld" }', mass='"mm"', top='symbols = ["m"]'): "unknown name mm. Did you mean 'm'",
    one_body('{ type = "weld" }', more="inertia = [[1, 2, 0], [0, 1, 0], [0, 0, 1]]"): "not symmetric",
    one_body('{ type = "weld" }', more="inertia = [1, 1, 3]"): "above the sum",
    one_body('{ type = "weld" }', more="inertia = 3"): "principal moments",
    one_body('{ type = "weld" }', more="com = [1, 2]"): "com has 2 entries",
    one_body('{ type = "weld" }', more="at = 3"): "expected a list",
    one_body('{ type = "weld" }', more="rpy = [0, 0, 0]\nquaternion = [1, 0, 0, 0]"): "only one",
    one_body('{ type = "weld" }', more="quaternion = [0, 0, 0, 0]"): "length 0",
    one_body('{ type = "weld" }', more="rotation = [[1, 0, 0], [0, 1, 0], [0, 0, -1]]"): "not a rotation",
    one_body('{ type = "weld" }', more="welded = { mass = 1 }"): "moment is missing",
    one_body('{ type = "weld" }', more="weight = 1"): "unknown key 'weight'",
    one_body('{ type = "revolute", axis = "x" }', top='symbols = ["arm"]'): "variable 'arm' is also declared",
    'symbols = ["t"]': "belongs to time",
    'symbols = ["a", "a"]': "declared twice",
    'symbols = "a"': "expected a list of texts",
    "[constants]\na = 1\n[definitions]\na = 2": "Rename",
    "constants = 3": "expected a table",
    "[constants]\na = 'b'\nb = 1": "unknown name b",
    "gravity = 9.81": "expected a list",
    "gravty = [0, 0, 1]": "Did you mean 'gravity'",
    "body = 3": "expected tables \\[\\[body\\]\\]",
    "literal = 1": "true or false",
    "notes = [1]": "list of texts",
    '[[marker]]\nname = "a"\nbody = "b"': "body 'b' does not exist",
    '[[spring]]\nbetween = ["world"]\nstiffness = 1\nlength = 0': "expected two",
    '[[spring]]\nbetween = ["world", "a"]\nstiffness = 1\nlength = 0': "marker 'a' does not exist",
    '[[spring]]\nbetween = ["world", "a"]\nstiffness = 1': "length is missing",
    '[[wrench]]\nmarker = "world"\naxes = "body"': 'expected "world" or "marker"',
    '[[force]]\nspeed = "a"\nvalue = 1': "speed 'a' does not exist",
    '[[force]]\nspeed = "a"': "value is missing",
    one_body('{ type = "revolute", axis = "x" }', more='[[potential]]\nenergy = "u.arm_dot"'): "depends on arm_dot",
    '[[coupling]]\ncoordinate = "a"\nof = "b"': "coordinate 'a' does not exist",
    'force_order = ["a"]': "does not name every force",
    "a = [1\nb = 2": "not TOML: .*line 2",
    "a = " + "[" * 20_000: "nested too deeply",
    "a = " + "9" * 9000: "thousands of digits",
}


@pytest.mark.parametrize("text", WRONG, ids=[f"{n}-{match[:30]}" for n, match in enumerate(WRONG.values())])
def test_wrong_files(text):
    with pytest.raises(ModelError, match=WRONG[text]):
        read_toml(text)


def test_all_faults_come_together():
    found = faults(
        one_body(
            '{ type = "revolute", axis = [0, 0, 0], dampng = 1 }', top="gravty = 1", mass='"m"', more="com = [1]\n"
        )
        + BODY.format("hand", "amr")
        + '[[force]]\nspeed = "arm_dot"\nvalue = "q.arm + q.nobody"'  # unknown: the joint of arm was not read
    )
    assert [fault.split(":")[0] for fault in found] == [
        "Model",
        "Joint of body 'arm'",
        "Joint 'arm'",
        "Body 'arm'",
        "Body 'arm'",
        "Body 'hand'",
    ]


def test_a_broken_constant_is_one_fault():
    assert len(faults("[constants]\na = 'zz'\nb = 'a*2'\nc = 'a + b'")) == 1


def test_time_is_no_constant():
    assert "unknown name t" in faults(one_body('{ type = "weld" }', mass='"t"'))[0]


# writing


def same_again(model):
    assert read_toml(write_toml(model)) == model


def test_the_pendulum_reads_back_equal():
    same_again(pendulum())


@pytest.mark.parametrize("made", JOINTS.values(), ids=[text[:60] for text in JOINTS])
def test_joints_read_back_equal(made):
    build = Builder()
    build.body("arm", joint=made, mass=1)
    same_again(build.build())


HARD_JOINTS = [
    revolute("z", at=(L, 0, 0)),
    revolute((0.1, 0.2, 0.3), at=(1, 2, 3)),
    revolute((M, 0, L)),
    planar((1, 1, 0)),
    screw((1, 2, 2), pitch=L),
    spherical(name="hip").split(),
    free(q=list("abcdef"), limits=[(0, 1)] * 6),
    joint([[K], [0], [0], [0], [L], [0]]),
    compound([spherical(quaternion=True), spherical(), joint(SLIDE_AND_TURN, nonholonomic=True), prismatic((3, 4, 0))]),
    joint([1, 0, 0, 0, 0, 0], kind="hinge", q="a b"),
]


@pytest.mark.parametrize("made", HARD_JOINTS, ids=[f"{n}-{j.kind}" for n, j in enumerate(HARD_JOINTS)])
def test_any_joint_reads_back_equal(made):
    build = Builder()
    build.body("arm", joint=made, mass=1)
    same_again(build.build())


def many_parts():
    """A model with everything at once: odd names, large expressions, mixed forces, notes, welded bodies."""
    build = Builder('odd "names" \\', gravity=(0, 0.1, -G), literal=True)
    build.body("left-arm", joint=revolute((1, 1, 0)), mass=M, rpy=(0.1, 0.2, 0.3), inertia=(1, 2, 3.5, 0.1, 0, 0))
    build.body("hand", parent="left-arm", joint=weld(), mass=symbol("hand mass"), at=(L / 3, 0, 1e-20))
    build.body("tool", parent="hand", joint=cylindrical("y"), mass=1, inertia=(1, 1, 9))  # literal
    build.body("ground", joint=weld(), mass=1e22)
    q, big = symbol("left-arm"), symbol("tool_slide")
    for _ in range(30):
        big = sin(big) * big + cos(q) * K
    build.potential(big, name="large")
    build.force("tool_slide_dot", big * symbol("lambda") / 3 + symbol("pi"))
    build.spring("hand", "ground", stiffness=K, length=Fraction(1, 3))
    build.potential(q + K + q + K)
    build.coupling("tool_slide", "tool_angle", ratio=symbol("gear"))
    build.note("first\nsecond \x7f \u2028 line")
    return build.build()


def test_everything_reads_back_equal():
    same_again(many_parts())


def test_a_merged_model_reads_back_equal():
    merged = many_parts().merged()
    assert merged.bodies[0].welded.m != 0
    same_again(merged)


def test_save_and_load(tmp_path):
    save(many_parts(), tmp_path / "a.toml")
    assert load(tmp_path / "a.toml") == many_parts()
    with pytest.raises(ValueError, match=r"ends in \.toml"):
        save(many_parts(), tmp_path / "a.urdf")


def test_the_text_is_for_people():
    assert write_toml(pendulum()).startswith(
        """\
name = "pendulum"
gravity = [0, 0, "-g"]
symbols = ["L", "g", "k", "m"]

[[body]]
name = "rod"
parent = "world"
at = [0, 0, 1]
mass = "m"
com = [0, 0, "-L/2"]
inertia = ["L**2*m/12", "L**2*m/12", 0]
joint = { type = "revolute", axis = "y", name = "theta", damping = 0.1, limits = [-1, 3.141592653589793] }
"""
    )


def test_what_cannot_be_written_says_so():
    made = revolute("x", name="j")
    odd = Body(name="a", parent="world", joint=type(made)(kind="x", parts=made.parts, name="j"), pose=Pose.identity(),
               mass=M, com=pendulum().bodies[0].com, inertia=pendulum().bodies[0].inertia)  # fmt: skip
    with pytest.raises(ModelError, match="Joint 'j'"):
        write_toml(Model(name="m", bodies=(odd,), gravity=pendulum().gravity))
