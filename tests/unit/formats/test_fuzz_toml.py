"""Damaged TOML: whatever is wrong with a file, it is a ModelError."""

import random
import re
from contextlib import suppress

from hypothesis import given, settings
from hypothesis import strategies as st
from strategies import MANY, damaged

from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import const, cos, sin, sqrt, symbol
from polhode.model import Builder, Model, ModelError, cylindrical, free, joint, planar, prismatic, revolute, spherical

from polhode.model import screw, universal, weld  # isort: skip

VALID = """
name = "arm"
gravity = [0, 0, "-g"]
symbols = ["m", "L", "g"]
literal = false
notes = ["a note"]

[constants]
half = "L/2"

[[body]]
name = "upper"
joint = { type = "revolute", name = "elbow", axis = "y", limits = [-1, 2], friction = 1, friction_speed = 0.1 }
at = [0, 0.5, "half"]
rpy = [0.1, 0, "pi/2"]
mass = "m + 1/12"
com = [0, 0, "-half"]
inertia = [1, 1.5, 1, 0.1, 0, 0]

[[body]]
name = "lower"
parent = "upper"
joint = { type = "map", map = [[0, 0], [0, 1], [1, 0], [0, 0], [0, 0], [0, 0]], split = [1, 1], stiffness = [1, 2] }
quaternion = [1, 0, 0, 1]
mass = 2
welded = { mass = 1, moment = [0, 0, 1], inertia = [1, 1, 1] }

[[body]]
name = "base"
joint = { type = "compound", joints = [{ type = "prismatic", axis = "x" }, { type = "spherical", quaternion = true }] }
mass = 1

[[marker]]
name = "tip"
body = "lower"
at = [0, 0, 1]

[[spring]]
between = ["tip", "world"]
stiffness = 10
length = "L"

[[wrench]]
marker = "tip"
force = ["sin(t)", 0, "-q.elbow"]

[[force]]
speed = "elbow_dot"
value = "select(u.elbow_dot < 0, 1, -1)"

[[potential]]
energy = "q.elbow**2/2"

[[state]]
name = "lag"
rate = "z.lag - L*t"
start = "L/2"

[[coupling]]
coordinate = "elbow"
of = "lower_1"
ratio = 2
"""

TOKENS = re.findall(r'"[^"\n]*"|[\w.+-]+|\[\[\w+\]\]|\S|\n', VALID)
ODD = [
    *(
        '"',
        "'",
        "[",
        "]",
        "{",
        "}",
        "=",
        ",",
        "\n",
        "nan",
        "inf",
        "-inf",
        "-1",
        "0",
        "1e400",
        "1e-320",
        "9" * 400,
        "true",
    ),
    *(
        '""',
        '"\\u0000"',
        '"world"',
        '"m"',
        '"1/0"',
        '"sqrt(-L)"',
        '"9**9**9"',
        '"elbow"',
        '"q.elbow"',
        '"t"',
        '"a\\nb"',
    ),
    *("[]", "{}", "[[]]", "[[1]]", "1979-05-27", "[0, 0, 0]", "[1e200, 0, 1e200]", "[1e-200, 0, 0]", '"1e-200*L"'),
    *('"map"', '"free"', '"weld"', '"L - L"', "# x\n", "\\", "é", "\ufeff"),
]


def test_the_valid_text_is_valid():
    assert read_toml(VALID) == read_toml(write_toml(read_toml(VALID)))


def survives(text):
    with suppress(ModelError):
        assert isinstance(read_toml(text, "fuzz"), Model)


@given(st.integers(0, 2**32), st.integers(1, 4))
@settings(max_examples=150 * MANY)
def test_damaged_tokens(seed, damages):
    survives(" ".join(damaged(TOKENS, ODD, seed, damages)))


@given(st.integers(0, 2**32))
@settings(max_examples=150 * MANY)
def test_one_value_replaced(seed):
    """Only values change, so that the text stays TOML and every reader sees odd ones."""
    draw = random.Random(seed)
    values = [k for k, token in enumerate(TOKENS) if k and re.fullmatch(r'"[^"\n]*"|-?[\d.]+|true|false', token)]
    tokens = list(TOKENS)
    tokens[draw.choice(values)] = draw.choice([odd for odd in ODD if odd[0] not in "'=,}]#\\é\ufeff\n"])
    survives(" ".join(tokens))


@given(st.text(max_size=60))
@settings(max_examples=100 * MANY)
def test_any_text(text):
    survives(text)


# any model reads back equal

NUMBERS = st.one_of(
    st.integers(-9, 9),
    st.fractions(-3, 3, max_denominator=30),
    st.floats(-1e3, 1e3),
    st.sampled_from([1e-9, 1e22, -0.0]),
)
EXPRESSIONS = st.recursive(
    st.one_of(NUMBERS.map(const), st.sampled_from(["m", "L", "left mass", "lambda", "é", "pi"]).map(symbol)),
    lambda inner: st.one_of(
        st.tuples(inner, inner).map(lambda p: p[0] + p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] - p[1]),
        st.tuples(inner, inner).map(lambda p: p[0] * p[1]),
        inner.map(sin),
        inner.map(lambda e: cos(e) / (e**2 + 1)),
        inner.map(lambda e: sqrt(e**2 + 1)),
    ),
    max_leaves=6,
)
VECTORS = st.tuples(EXPRESSIONS, EXPRESSIONS, EXPRESSIONS)
AXES = st.one_of(st.sampled_from(["x", "-y", "z"]), st.tuples(*[st.integers(-5, 5)] * 3).filter(any))
JOINTS = st.one_of(
    st.builds(revolute, AXES, at=VECTORS),
    st.builds(revolute, st.tuples(*[st.floats(0.1, 1)] * 3), damping=NUMBERS.map(abs)),
    st.builds(prismatic, AXES, stiffness=NUMBERS.map(abs), rest=EXPRESSIONS),
    st.builds(screw, AXES, pitch=EXPRESSIONS),
    st.builds(cylindrical, AXES),
    st.builds(planar, AXES),
    st.builds(universal, st.sampled_from([("x", "y"), ("z", (0, 3, 4))])),
    st.builds(spherical, st.booleans()),
    st.builds(free, st.booleans(), armature=EXPRESSIONS.map(lambda e: e**2 + 1)),
    st.just(joint([[0, 0], [0, 0], [1, 0], [0, 1], [0, 0], [0, 0]], nonholonomic=True)),
    st.just(weld()),
)


@given(st.lists(st.tuples(JOINTS, VECTORS, VECTORS, EXPRESSIONS, st.integers(0, 5)), max_size=5), st.booleans())
@settings(max_examples=30 * MANY)
def test_any_model_reads_back_equal(rows, merge):
    build = Builder("grown", literal=True)
    for k, (made, at, com, e, parent) in enumerate(rows):
        name = f"link {k}"
        where = "world" if parent >= k else f"link {parent}"
        build.body(name, joint=made, parent=where, at=at, com=com, mass=e**2 + k, rpy=(0.1 * k, 0, 1))
        build.potential(e * 2)
    model = build.build()
    model = model.merged() if merge else model
    assert read_toml(write_toml(model)) == model
