"""Constraints in TOML: the same as in Python, all faults together, and back again."""

import random
import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import MANY, damaged

from polhode.formats import load, save
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import cos, pi, sin, symbol, symbols
from polhode.model import Builder, Model, ModelError, free, prismatic, revolute
from polhode.model.constraints import LOOPS

BODIES = """
name = "all kinds"
symbols = ["L", "r", "n"]

[[body]]
name = "crank"
joint = { type = "revolute", axis = "y" }
mass = 1

[[body]]
name = "left-wheel"
joint = { type = "free" }
mass = 1

[[marker]]
name = "tip"
body = "crank"
at = ["L", 0, 0]
"""
CONSTRAINTS = """
[definitions]
lift = "L*sin(crank)"

[[loop]]
name = "close"
between = ["tip", "left-wheel"]
kind = "hinge"
axis = [3, 0, 4]

[[loop]]
between = ["tip", "world"]

[[loop]]
between = ["crank", "left-wheel"]
kind = "distance"
length = "2*L"

[[constraint]]
name = "cam"
value = "q['left-wheel_z'] - lift"

[[constraint]]
value = "crank_dot - sin(t)*u['left-wheel_wx']"

[[gear]]
between = ["crank_dot", "left-wheel_wy"]
ratio = "1/n"

[[law]]
coordinate = "crank"
value = "pi/2 + 3*t"

[[knife_edge]]
marker = "left-wheel"

[[rolling]]
wheel = "left-wheel"
radius = "r"

[[rolling]]
name = "ball"
wheel = "left-wheel"
ground = "tip"
radius = 0.5
shape = "sphere"
axis = "-x"
"""


def bodies():
    build = Builder("all kinds")
    build.body("crank", joint=revolute("y"), mass=1)
    build.body("left-wheel", joint=free(), mass=1)
    build.marker("tip", body="crank", at=(symbol("L"), 0, 0))
    return build


def all_kinds():
    L, r, n, t, crank, rate = symbols("L r n t crank crank_dot")
    build = bodies()
    build.loop("tip", "left-wheel", "hinge", axis=(3, 0, 4), name="close")
    build.loop("tip", "world")
    build.loop("crank", "left-wheel", "distance", length=2 * L)
    build.constraint(symbol("left-wheel_z") - L * sin(crank), name="cam")
    build.constraint(rate - sin(t) * symbol("left-wheel_wx"))
    build.gear("crank_dot", "left-wheel_wy", 1 / n)
    build.prescribe("crank", pi / 2 + 3 * t)
    build.knife_edge("left-wheel")
    build.rolling("left-wheel", radius=r)
    build.rolling("left-wheel", "tip", radius=0.5, shape="sphere", axis="-x", name="ball")
    return build


def test_the_same_constraints_in_python_and_toml():
    model = read_toml(BODIES + CONSTRAINTS)
    assert model == all_kinds().build()
    assert [c.name for c in model.constraints][1:3] == ["point tip world", "distance crank left-wheel"]


# writing


def same_again(model):
    text = write_toml(model)
    assert read_toml(text) == model
    return text


def test_every_kind_reads_back_equal(tmp_path):
    model = all_kinds().build()
    same_again(model)
    save(model, tmp_path / "a.toml")
    assert load(tmp_path / "a.toml") == model


@pytest.mark.parametrize("kind", LOOPS)
def test_every_loop_reads_back_equal(kind):
    build = bodies()
    build.loop("tip", "left-wheel", kind, axis=(0.1, 0.2, -0.7), length=2 if kind == "distance" else None)
    same_again(build.build())


def test_the_order_is_kept():
    build = all_kinds()
    build.constraints = build.constraints[::-1]
    assert "constraint_order = [" in same_again(build.build())
    build.constraints = build.constraints[3:7]  # all of one kind
    assert "constraint_order" not in same_again(build.build())


def test_large_expressions_and_odd_names_read_back_equal():
    build = bodies()
    big = symbol("left-wheel_z")
    for _ in range(30):
        big = sin(big) * big + cos(symbol("crank")) * symbol("odd name")
    build.constraint(big, name='a "name" \\ of π')
    model = build.build()
    assert "[definitions]" in same_again(model)
    same_again(model.merged())


def test_the_text_is_for_people():
    build = bodies()
    build.loop("tip", "left-wheel", "hinge", axis="y", name="close")
    build.prescribe("crank", 3 * symbol("t"))
    build.knife_edge("left-wheel", axis="x")
    assert write_toml(build.build()).endswith(
        """
[[loop]]
name = "close"
between = ["tip", "left-wheel"]
kind = "hinge"
axis = "y"

[[constraint]]
name = "law of crank"
value = "crank - 3*t"

[[knife_edge]]
name = "knife edge left-wheel"
marker = "left-wheel"
axis = "x"
"""
    )


# faults

COUPLING = '[[coupling]]\ncoordinate = "crank"\nof = "left-wheel_x"\n'
LAW = '[[law]]\nname = "{}"\ncoordinate = "crank"\nvalue = 1\n'
WRONG = {
    "[loop]\nbetween = 3": r"expected tables \[\[loop\]\]",
    '[[loop]]\nkind = "point"': "Loop number 1: between is missing",
    '[[loop]]\nbetween = ["tip"]': "Loop: between is .'tip'., expected two markers or bodies",
    '[[loop]]\nname = "a"\nbetween = "tip"': "Constraint 'a': between is 'tip', expected two",
    '[[loop]]\nbetween = ["tip", 3]': "expected two",
    '[[loop]]\nbetween = ["tip", "left_wheel"]': "marker 'left_wheel' does not exist. Did you mean 'left-wheel'",
    '[[loop]]\nbetween = ["tip", "crank"]': "both ends on 'crank', which is rigid, so it restricts nothing",
    '[[loop]]\nbetween = ["tip", "tip"]': "both ends on 'crank'",
    '[[loop]]\nbetween = ["tip", "world"]\nkind = "pont"': "kind 'pont' is unknown. Did you mean 'point'",
    '[[loop]]\nbetween = ["tip", "world"]\nkind = 3': "kind is 3, expected text",
    '[[loop]]\nbetween = ["tip", "world"]\nlength = 1': 'has a length, expected one for kind "distance"',
    '[[loop]]\nbetween = ["tip", "world"]\nkind = "distance"': 'has no length, expected one for kind "distance"',
    '[[loop]]\nbetween = ["tip", "world"]\nkind = "distance"\nlength = 0': 'length is 0, .* are a "point"',
    '[[loop]]\nbetween = ["tip", "world"]\nkind = "distance"\nlength = -1': "length is -1, expected more than 0.$",
    '[[loop]]\nbetween = ["tip", "world"]\nkind = "distance"\nlength = "crank"': "depend on crank, expected constants",
    '[[loop]]\nbetween = ["tip", "world"]\naxis = [0, 0, 0]': "axis has length 0",
    '[[loop]]\nbetween = ["tip", "world"]\naxis = [0, 1]': "axis has 2 entries, expected 3",
    '[[loop]]\nbetween = ["tip", "world"]\naxis = "w"': "axis is 'w', expected \"x\"",
    '[[loop]]\nbetween = ["tip", "world"]\naxis = ["L", 0, 1]': "axis has symbols, expected numbers",
    '[[loop]]\nbetween = ["tip", "world"]\naxis = true': "axis is True, expected",
    '[[loop]]\nbetween = ["tip", "world"]\naxes = "x"': "unknown key 'axes'. Did you mean 'axis'",
    '[[loop]]\nbetween = ["tip", "world"]\nname = ""': "Loop: name is '', expected text",
    '[[constraint]]\nname = "a"': "Constraint 'a': value is missing",
    '[[constraint]]\nvalue = "L - r"': "has no coordinate and no speed, so it restricts nothing",
    '[[constraint]]\nvalue = "L*t"': "has no coordinate and no speed",
    '[[constraint]]\nvalue = 3': "has no coordinate and no speed",
    '[[constraint]]\nvalue = "crank_dot**2 - 1"': "not linear in the speed 'crank_dot'",
    '[[constraint]]\nvalue = "abs(crank_dot) - 1"': "not linear in the speed 'crank_dot'",
    '[[constraint]]\nvalue = "crank + sign(crank_dot)"': "not linear in the speed 'crank_dot'",
    "[[constraint]]\nvalue = \"crank_dot*u['left-wheel_wx']\"": "not linear in the speed 'crank_dot'",
    '[[constraint]]\nvalue = "1/crank_dot"': "not linear",
    '[[constraint]]\nvalue = "crnk"': "unknown name crnk. Did you mean 'crank'",
    '[[constraint]]\nvalue = "__import__(\'os\').getpid()"': "is not allowed here",
    '[[constraint]]\nvalue = "1/0"': "expected a finite number",
    "[[constraint]]\nvalue = [1]": "expected a number or an expression",
    '[[gear]]\nbetween = ["crank_dot", "left-wheel_wx"]': "ratio is missing",
    '[[gear]]\nbetween = ["crank_dot", "crnk_dot"]\nratio = 2': "speed 'crnk_dot' does not exist. Did you",
    '[[gear]]\nbetween = ["crank", "left-wheel_wx"]\nratio = 2': "speed 'crank' does not exist. Did you mean 'crank_d",
    '[[law]]\ncoordinate = "crank_dot"\nvalue = 2': "coordinate 'crank_dot' does not exist. Did you mean 'crank'",
    '[[law]]\ncoordinate = "crank"': "Law 'crank': value is missing",
    '[[knife_edge]]\naxis = "x"': "Knife edge number 1: marker is missing",
    '[[knife_edge]]\nmarker = "tipp"': "marker 'tipp' does not exist. Did you mean 'tip'",
    '[[knife_edge]]\nmarker = "world"': "both ends on 'world'",
    '[[rolling]]\nwheel = "tip"': "radius is missing",
    '[[rolling]]\nwheel = "tip"\nradius = 0': "radius is 0, expected more than 0",
    '[[rolling]]\nwheel = "tip"\nradius = "t"': "depend on t, expected constants",
    '[[rolling]]\nwheel = "tip"\nradius = 1\nshape = "cube"': "shape is 'cube', expected \"disc\" or \"sphere\"",
    '[[rolling]]\nwheel = "tip"\nradius = 1\nground = "crank"': "both ends on 'crank'",
    '[[rolling]]\nwheel = 3\nradius = 1': "wheel is 3, expected text",
    LAW.format("a") + '[[knife_edge]]\nname = "a"\nmarker = "tip"': "'a' exists 2 times",
    COUPLING + LAW.format("coupling of crank"): "'coupling of crank' exists 2 times",
    2 * COUPLING: "Coordinate 'crank' has 2 couplings, expected one",
}  # fmt: skip


@pytest.mark.parametrize("text", WRONG, ids=[f"{n}-{words[:30]}" for n, words in enumerate(WRONG.values())])
def test_wrong_constraints(text):
    with pytest.raises(ModelError, match=WRONG[text]):
        read_toml(BODIES + text)


def test_an_order_names_every_constraint():
    with pytest.raises(ModelError, match="constraint_order does not name every constraint once"):
        read_toml('constraint_order = ["close"]\n' + BODIES)


def faults(text):
    with pytest.raises(ModelError) as caught:
        read_toml(text, "some.toml")
    return caught.value.faults


def test_all_faults_come_together():
    found = faults(
        BODIES + '[[loop]]\nbetween = ["tip", "nowhere"]\n[[constraint]]\nvalue = "crnk"\n'
        '[[gear]]\nbetween = ["a", "crank_dot"]\nratio = 1\n'
        '[[knife_edge]]\nmarker = "none"\naxis = [0, 0, 0]\n[[rolling]]\nwheel = "tip"\nradius = -1\n'
    )
    assert [fault.split(":")[0] for fault in found] == [
        "Constraint",
        "Constraint 'knife edge none'",
        "Constraint 'rolling tip'",
        "Constraint 'gear a crank_dot'",
        "Constraint 'point tip nowhere'",
    ]


def test_a_joint_that_cannot_be_read_is_the_only_fault():
    spring = '[[spring]]\nbetween = ["tip", "world"]\nstiffness = 1\nlength = 1\n'
    assert len(faults((BODIES + CONSTRAINTS + spring).replace('type = "revolute"', 'type = "revolut"'))) == 1


# damaged files

TOKENS = re.findall(r'"[^"\n]*"|[\w.+-]+|\[\[\w+\]\]|\S|\n', CONSTRAINTS)
ODD = [
    *('"', "[", "]", "=", "\n", "nan", "-inf", "0", "-1", "1e400", "true", '""', '"world"', '"tip"', '"crank"', '"t"'),
    *('"L"', '"1/0"', '"sqrt(-L)"', '"u.crank_dot**2"', '"crank_dot"', '"distance"', '"weld"', '"x"', "[]", "{}", "é"),
    *("[0, 0, 0]", "[1e200, 0, 1e200]", "[1e-200, 0, 0]", '["L", 0, 0]', '["tip", "world"]', '["tip", "tip"]'),
]


def survives(text):
    try:
        model = read_toml(text, "fuzz")
    except ModelError:
        return
    assert isinstance(model, Model)
    same_again(model)


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=150 * MANY)
def test_damaged_tokens(seed, damages):
    survives(BODIES + " ".join(damaged(TOKENS, ODD, seed, damages)))


@given(st.integers(0, 2**32))
@settings(max_examples=150 * MANY)
def test_one_value_replaced(seed):
    """Only values change, so that the text stays TOML and every reader sees odd ones."""
    draw = random.Random(seed)
    values = [k for k, token in enumerate(TOKENS) if k and re.fullmatch(r'"[^"\n]*"|-?[\d.]+', token)]
    tokens = list(TOKENS)
    tokens[draw.choice(values)] = draw.choice([odd for odd in ODD if odd not in ('"', "[", "]", "=", "\n", "é")])
    survives(BODIES + " ".join(tokens))


# any constraints read back equal

FRAMES = st.sampled_from([("a", "b"), ("b", "world"), ("tip", "b"), ("a", "end of b")])
AXES = st.one_of(st.sampled_from(["x", "-y", "z"]), st.tuples(*[st.integers(-5, 5)] * 3).filter(any),
                 st.tuples(*[st.floats(0.1, 1)] * 3))  # fmt: skip
NUMBERS = st.one_of(st.integers(1, 9), st.fractions(1, 3, max_denominator=30), st.floats(1e-3, 1e3),
                    st.sampled_from(["L", "odd length"]).map(lambda s: symbol(s) + 1))  # fmt: skip
LINEAR = st.tuples(st.sampled_from(["a", "b"]), NUMBERS, st.sampled_from(["a_dot", "b_dot", "t"]), NUMBERS).map(
    lambda p: p[1] * cos(symbol(p[0])) * symbol(p[2]) + p[3] * symbol(p[0])
)
CALLS = st.one_of(
    st.tuples(st.just("loop"), st.tuples(FRAMES, st.sampled_from(sorted(LOOPS)), AXES, NUMBERS)),
    st.tuples(st.just("constraint"), st.tuples(LINEAR)),
    st.tuples(st.just("gear"), st.tuples(NUMBERS)),
    st.tuples(st.just("prescribe"), st.tuples(NUMBERS)),
    st.tuples(st.just("knife_edge"), st.tuples(FRAMES, AXES)),
    st.tuples(st.just("rolling"), st.tuples(FRAMES, NUMBERS, AXES, st.sampled_from(["disc", "sphere"]))),
)


@given(st.lists(CALLS, max_size=6), st.booleans())
@settings(max_examples=50 * MANY)
def test_any_constraints_read_back_equal(calls, merge):
    build = Builder("grown")
    build.body("a", joint=revolute("x"), mass=1)
    build.body("b", joint=prismatic((1, 2, 3)), mass=1)
    build.marker("tip", body="a", at=(0, symbol("L"), 1), rpy=(0.1, 0.2, 0.3))
    build.marker("end of b", body="b")
    law = next((call for call in calls if call[0] == "prescribe"), None)
    for call in calls:
        match call if call[0] != "prescribe" else law:  # one law a coordinate
            case "loop", (ends, which, axis, length):
                build.loop(*ends, which, axis=axis, length=length if which == "distance" else None)
            case "constraint", (value,):
                build.constraint(value)
            case "gear", (ratio,):
                build.gear("a_dot", "b_dot", ratio)
            case "prescribe", (value,):
                build.prescribe("a", value * symbol("t"))
            case "knife_edge", (ends, axis):
                build.knife_edge(ends[0], axis=axis)
            case "rolling", (ends, radius, axis, shape):
                build.rolling(*ends, radius=radius, axis=axis, shape=shape)
    model = build.build()
    same_again(model.merged() if merge else model)
