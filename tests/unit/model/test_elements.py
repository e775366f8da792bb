"""Elements: one class is checked, built, written, read, renamed and printed."""

import inspect
import math
import pydoc
from dataclasses import dataclass, replace
from fractions import Fraction

import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import Expr, Matrix, sin, symbols
from polhode.graph import vector as row
from polhode.model import Builder, Constraint, Force, ModelError, fields
from polhode.model.elements import ELEMENTS, element

K, L, arm, arm_dot = symbols("k L arm arm_dot")


@pytest.fixture(scope="module", autouse=True)
def throw_away():
    """Elements that exist for these tests alone."""
    before = dict(ELEMENTS)
    declare()
    yield
    ELEMENTS.clear()
    ELEMENTS.update(before)


def declare():
    @dataclass(frozen=True, slots=True, kw_only=True)
    class Switched(Constraint):
        active: bool = fields.flag(True)

    @element
    class Clasp(Switched):
        """Hold a speed near another while it is active."""

        table = "clasp"
        named = "clasp {speed}"
        positional = 2

        name: str
        speed: str = fields.speed()
        ground: str = fields.marker("world")
        grip: Expr = fields.scalar(above=0)
        reach: Expr = fields.scalar(1, least=0.5, when=("way", "far"))
        way: str = fields.choice(("near", "far"), "near")
        axis: Matrix = fields.axis("x")

    @element
    class WindForce(Force):
        """Blow along a line between two markers."""

        table = "wind"
        call = "blow"
        named = "wind {a} {b}"

        name: str
        ends: tuple[str, str] = fields.markers()
        law: Expr = fields.scalar(0, of="anything")
        push: Matrix = fields.vector()
        of: str = fields.coordinate()


def machine():
    build = Builder("machine")
    build.body("arm", joint=ph.revolute("y"), mass=1, com=(0, 0, 1))
    build.body("hand", parent="arm", joint=ph.prismatic("x"), mass=1, at=(0, 0, 1))
    build.marker("tip", body="hand", at=(0, 0, 1))
    return build


def full():
    build = machine()
    build.clasp("arm_dot", grip=K)
    build.constraint(arm, name="still")
    build.clasp("arm_dot", "tip", grip=2, way="far", reach=L, axis=(3, 0, 4), active=False, name="second")
    build.blow("tip", "world", arm_dot**2 * K, of="arm")
    build.spring("tip", "world", stiffness=K, length=1)
    build.blow(a="tip", b="world", push=(sin(arm), 0, ph.TIME), of="hand")
    return build


def test_it_is_built():
    clasp, _, second = full().build().constraints
    assert (clasp.name, clasp.speed, clasp.ground, clasp.grip) == ("clasp arm_dot", "arm_dot", "world", K)
    assert (clasp.way, clasp.reach, clasp.axis, clasp.active) == ("near", 1, row([1, 0, 0]), True)
    assert (second.name, second.ground, second.reach, second.active) == ("second", "tip", L, False)
    assert second.axis == row([Fraction(3, 5), 0, Fraction(4, 5)])
    wind, spring, other = full().build().forces
    assert [part.name for part in (wind, spring, other)] == ["wind tip world", "spring tip world", "wind tip world 2"]
    assert (wind.ends, wind.law, wind.push, wind.of) == (("tip", "world"), arm_dot**2 * K, row([0, 0, 0]), "arm")
    assert full().build().parameters == (L, K)
    assert hash(clasp) == hash(replace(clasp))
    assert clasp != second


def test_its_method_explains_itself():
    method = Builder().clasp
    assert method.__doc__ == "Hold a speed near another while it is active."
    text = str(inspect.signature(method))
    assert text == "(speed, ground='world', *, grip, reach=None, way='near', axis='x', name='', active=True)"
    assert "clasp" in dir(Builder())
    assert "blow" in dir(Builder())
    with pytest.raises(AttributeError, match=r"Builder has no 'clasb'. Did you mean 'clasp'"):
        Builder().clasb("arm_dot")
    with pytest.raises(TypeError, match="grip"):
        machine().clasp("arm_dot")
    with pytest.raises(TypeError, match=r"there is no 'grasp'. Did you mean 'grip'"):
        machine().clasp("arm_dot", grip=1, grasp=2)


def test_it_is_printed():
    lines = str(full().build()).splitlines()
    assert lines[-6:-3] == ["wind tip world", "spring tip world", "wind tip world 2"]
    assert lines[-3] == "clasp arm_dot [clasp world, arm_dot]"
    assert lines[-1] == "second [clasp tip, arm_dot]"


def test_it_is_written_and_read():
    model = full().build()
    text = write_toml(model)
    assert read_toml(text) == model
    assert '[[wind]]\nname = "wind tip world"\nbetween = ["tip", "world"]\nlaw = "arm_dot**2*k"\n' in text
    assert 'constraint_order = ["clasp arm_dot", "still", "second"]' in text
    clasps = text.partition("[[clasp]]")[2].split("[[clasp]]")
    assert "reach" not in clasps[0]
    assert "axis" not in clasps[0]
    assert 'reach = "L"' in clasps[1]
    assert 'axis = ["3/5", 0, "4/5"]' in clasps[1]
    assert "active = false" in clasps[1]


WRONG = {
    "speed": (lambda b: b.clasp("arm", grip=1), "speed 'arm' does not exist. Did you mean 'arm_dot'?"),
    "marker": (lambda b: b.clasp("arm_dot", "tap", grip=1), "marker 'tap' does not exist. Did you mean 'tip'?"),
    "coordinate": (lambda b: b.blow("tip", "world", of="t"), "Wind 'wind tip world': coordinate 't' does not exist."),
    "bound": (lambda b: b.clasp("arm_dot", grip=0), "Constraint 'clasp arm_dot': grip is 0, expected more than 0."),
    "other bound": (lambda b: b.clasp("arm_dot", grip=1, way="far", reach=0), "reach is 0, expected 0.5 or more."),
    "belongs": (lambda b: b.clasp("arm_dot", grip=1, reach=1), 'has a reach, expected one for way "far"'),
    "missing": (lambda b: b.clasp("arm_dot", grip=1, way="far"), 'has no reach, expected one for way "far"'),
    "choice": (lambda b: b.clasp("arm_dot", grip=1, way="up"), 'way is \'up\', expected "near" or "far".'),
    "flag": (lambda b: b.clasp("arm_dot", grip=1, active=1), "active is 1, expected true or false."),
    "axis": (lambda b: b.clasp("arm_dot", grip=1, axis=(L, 0, 1)), "its axis has symbols, expected numbers."),
    "direction": (lambda b: b.clasp("arm_dot", grip=1, axis=(0, 0, 0)), "axis has length 0"),
    "moving": (lambda b: b.clasp("arm_dot", grip=arm), "its numbers depend on arm, expected constants."),
    "nan": (lambda b: b.blow("tip", "world", math.nan, of="arm"), "law is nan, expected a finite number."),
    "text": (lambda b: b.clasp(3, grip=1), "speed is 3, expected the name as text."),
    "vector": (lambda b: b.blow("tip", "world", push=(1, 2), of="arm"), "push has 2 entries, expected 3."),
    "rigid": (lambda b: b.blow("tip", "hand", of="arm"), "has both ends on 'hand', which is rigid"),
    "name": (lambda b: [b.clasp("arm_dot", grip=1, name="a") for _ in "12"], "Constraint 'a' exists 2 times"),
}


@pytest.mark.parametrize("name", WRONG)
def test_it_is_checked(name):
    spoil, text = WRONG[name]
    build = machine()
    with pytest.raises(ModelError) as caught:  # noqa: PT012 - some faults are told at once
        spoil(build)
        build.build()
    assert text in str(caught.value)


HEAD = '[[body]]\nname = "arm"\nmass = 1\njoint = { type = "revolute", axis = "y" }\n'
CLASP = '[[clasp]]\nspeed = "arm_dot"\ngrip = 1\n'
WRONG_TEXT = {
    "[[clasp]]\ngrip = 1": "Clasp number 1: speed is missing",
    CLASP + "gripp = 1": "Clasp 'arm_dot': unknown key 'gripp'. Did you mean 'grip'",
    CLASP + "active = 1": "active is 1, expected true or false",
    CLASP + "way = 1": "way is 1, expected text",
    CLASP.replace("1", '"m"'): "Clasp: grip is 'm': unknown name m",
    CLASP.replace("1", '"m"') + 'name = "a"': "Constraint 'a': grip is 'm': unknown name m",
    '[[wind]]\nbetween = ["arm"]\nof = "arm"': "Wind: between is .'arm'., expected two markers or bodies",
    '[[wind]]\nbetween = ["arm", "world"]\nof = "arm"\npush = [1, 2]': "push has 2 entries, expected 3",
    "clasp = 3": r"Model: clasp is 3, expected tables \[\[clasp\]\]",
    "clsap = 3": "unknown key 'clsap'. Did you mean 'clasp'",
}


@pytest.mark.parametrize("text", WRONG_TEXT)
def test_its_table_is_checked(text):
    with pytest.raises(ModelError, match=WRONG_TEXT[text]):
        read_toml(text + "\n" + HEAD if "= 3" in text else HEAD + text)


def test_values_and_names_reach_it():
    model = full().build()
    assert model.substituted({"k": 5}).constraints[0].grip == 5
    with pytest.raises(ModelError, match="grip is -1, expected more than 0"):
        model.substituted({"k": -1})
    clasp = model.constraints[0]
    assert clasp.renamed({"arm_dot": "hand_dot"}, "speed") == replace(clasp, speed="hand_dot")
    assert model.forces[0].renamed({"tip": "hand"}, "marker").ends == ("hand", "world")
    assert clasp.expressions() == [K, 1, 1, 0, 0]  # grip, reach, axis
    assert model.merged().constraints == model.constraints


def test_what_it_does_must_be_said():
    build = machine()
    build.clasp("arm_dot", grip=1)
    with pytest.raises(TypeError, match="Constraint 'clasp arm_dot': nothing says what rows a Clasp has"):
        _ = ph.formulate(build.build()).constraints


def written_by(read):
    """A model of every call that takes expressions, each given as read(text)."""
    build = Builder("machine", gravity=(0, 0, read("-g")))
    build.body(
        "cart", joint=ph.prismatic("x", name="x", damping=read("d")), mass=read("m + 1"), com=(read("L/2"), 0, 0)
    )
    build.body(
        "bob", parent="cart", joint=ph.screw("y", pitch=read("h"), name="a"), at=(0, 0, read("L")), mass=read("m")
    )
    build.marker("tip", body="bob", at=(read("2*L"), 0, 0), rpy=(read("pi/2"), 0, 0))
    build.state("i", rate=read("x - i"), start=read("L/3"))
    build.force("x_dot", read("-k*x + i*sin(t)"))
    build.potential(read("k*cos(a)"))
    build.spring("tip", "world", stiffness=read("k"), length=read("L"), damping=read("d"))
    build.wrench("tip", force=(read("u.x_dot"), 0, 0), torque=(0, read("q.a*k"), 0))
    build.constraint(read("x - L*sin(a)"))
    build.loop("tip", "world", "distance", length=read("3*L"))
    return build.build()


def test_text_stands_for_expressions_wherever_they_are_taken():
    from polhode.model.expression import Symbols, parse

    assert written_by(str) == written_by(lambda text: parse(text, Symbols(), "test"))


def test_what_an_element_is_about_comes_first_and_by_position():
    """Of a rigid element and of the force in its place, whichever class declares the field."""
    for table, first in {"stop": ["coordinate"], "rope": ["a", "b", "length"], "contact": ["marker", "ground"]}.items():
        for kind in (ELEMENTS[table], ELEMENTS[f"compliant_{table}"]):
            by_position = [p.name for p in kind.signature.parameters.values() if p.kind is p.POSITIONAL_OR_KEYWORD]
            assert by_position == first
            assert set(kind.specs) >= {"stiffness", "damping", "dissipation", "exponent"}


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda build: build.lock("z", actve=False), r"build\.lock: there is no 'actve'. Did you mean 'active'\?"),
        (lambda build: build.clutch("z_dot"), r"build\.clutch: missing a required argument: 'b'. It takes \(a, b, "),
        (lambda build: build.brake("z_dot", 8), r"build\.brake: too many positional arguments. It takes \(speed, \*, "),
    ],
)
def test_a_call_that_does_not_fit_is_named(call, said):
    with pytest.raises(TypeError, match=said):
        call(ph.Builder("x"))


def test_methods_of_elements_belong_to_the_class():
    """help(ph.Builder.motor), help(ph.Builder) and completion have them, each with its arguments."""
    assert {"motor", "spring", "contact", "brake", "keyframe", "actuator"} <= {*dir(ph.Builder)}
    assert pydoc.render_doc(ph.Builder.motor, renderer=pydoc.plaintext).count("efficiency_back") > 1
    assert "rolling(self, /" in pydoc.render_doc(ph.Builder, renderer=pydoc.plaintext)
    assert list(inspect.signature(ph.Builder().spring).parameters) == list(ELEMENTS["spring"].signature.parameters)
