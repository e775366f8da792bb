"""Switches as parts of a model, and what becomes of them where joints are held."""

import pytest

import polhode as ph
from polhode.graph import const, symbol
from polhode.model import At, Brake, ModelError

A, B, V = symbol("a"), symbol("b"), symbol("v")


@pytest.mark.parametrize(
    ("given", "margins", "way"),
    [
        (A - 1, {A - 1}, 0),
        ("a > 1", {A - 1}, 1),
        ("1 >= a", {1 - A}, 1),
        ("a > 1 and b < 2", {A - 1, 2 - B}, 1),
        ("a > 1 or b < 2", {A - 1, 2 - B}, 1),
        ("not a > 1", {1 - A}, 1),
        ("1 < a < 3", {A - 1, 3 - A}, 1),
        ((A > 1) & (B < 2), {A - 1, 2 - B}, 1),
        ("not (a > 1 and b < 2) and b > 0", {1 - A, B - 2, B}, 1),
        ("a > 1 and b < 2 and a < b and b > 0", {A - 1, 2 - B, B - A, B}, 1),
    ],
)
def test_what_passes_zero(given, margins, way):
    found = ph.when(given).guards()
    assert {margin for margin, _ in found} == margins
    assert {counted for _, counted in found} == {way}


@pytest.mark.parametrize(
    "text",
    ["a > 1", "a > 1 and b < 2", "a > 1 or b < 2 and a < b", "not (a > 1 and not b < 2) or b > 3", "1 < a < b < 2",
     "a > 1 and a > 1 and b < 2"],
)  # fmt: skip
@pytest.mark.parametrize("a", [0.5, 1.5, 2.5])
@pytest.mark.parametrize("b", [0.7, 1.7, 3.7])
def test_a_condition_holds_where_its_comparisons_say_so(text, a, b):
    """As Python decides it, which reads the same words."""
    found = ph.when(text)
    above = [bool(ph.evaluate(margin, {"a": a, "b": b}) > 0) for margin, _ in found.guards()]
    assert found.holds(above) == eval(text, {"a": a, "b": b})


def test_how_they_are_shown():
    assert str(ph.when("a > 1  and b < 2")) == "when a > 1 and b < 2"
    assert str(ph.when((A > 1) & ((B < 2) | ~(A > B)))) == "when (not (b < a) or b < 2) and a > 1"
    assert str(ph.when("a > 1")) == "when a > 1"
    assert str(ph.when("a <= b")) == "when a <= b"
    assert str(ph.at(2, engage="brake")) == "at 2 s"


def pair():
    build = ph.Builder("pair", gravity=(0, 0, 0))
    for name in ("a", "b"):
        build.body(name, joint=ph.revolute("z", friction=0.1), mass=1, inertia=(1, 1, 2))
    build.clutch("a_dot", "b_dot", ratio=-3, capacity=2, name="clutch")
    build.stop("b", upper=1, name="end")
    build.lock("b", name="lock", active=False)
    build.switch(at=1, engage="lock", release="clutch")
    build.switch(when="a > 1", release="clutch")
    build.switch(when="b > 1", release="clutch")
    return build


def test_what_is_held_takes_its_switches_along():
    """With b held a clutch is a brake on a, and the other way round it bears 3 times as much."""
    found = ph.locked(pair().build(), ["b"])
    assert found.constraints == (Brake(name="clutch", speed="a_dot", capacity=const(2), active=True),)
    assert [c.name for c in found.switchable] == ["clutch", "friction of a"]
    assert [str(switch) for switch in found.switches] == ["at 1 s", "when a > 1"]
    assert found.switches[0] == At(1.0, (), ("clutch",))
    other = ph.locked(pair().build(), ["a"])
    assert [c.name for c in other.switchable] == ["clutch", "end", "lock", "friction of b"]
    clutch = next(c for c in other.constraints if c.name == "clutch")
    assert (clutch.speed, float(clutch.capacity)) == ("b_dot", 6.0)


def test_faults_of_switches_in_python():
    build = pair()
    build.switch(at=1, engage="lok")
    build.switch(when="a", engage="friction of c")
    with pytest.raises(ModelError) as error:
        build.build()
    assert error.value.faults == (
        "Switch 'at 1 s': there is no constraint 'lok' to engage. Did you mean 'lock'?",
        "Switch 'when a': there is no constraint 'friction of c' to engage. "
        "Did you mean 'friction of b' or 'friction of a'?",
    )
    for wrong in ({"at": 1, "when": "a"}, {}, {"at": 1, "direction": 1}, {"at": True}, {"at": float("inf")}):
        with pytest.raises(ModelError):
            pair().switch(engage="lock", **wrong)


def test_many_conditions_are_one():
    """Three comparisons joined by & or | are a condition: each has a margin that is above 0 where it is true."""
    a, b, c = ph.symbols("a b c")
    every, some = ph.when((a > 1) & (b < 2) & ~(c > 3)), ph.when((a > 1) | (b < 2) | (c > 3))
    assert [way for _, way in every.guards()] == [1, 1, 1]
    for values, expected in (((3, 0, 1), True), ((0.5, 0, 1), False), ((3, 5, 1), False), ((3, 0, 7), False)):
        above = [ph.evaluate(margin, dict(zip((a, b, c), values, strict=True))) > 0 for margin, _ in every.guards()]
        assert every.holds(above) == expected
    margins = [ph.evaluate(margin, {a: 0, b: 4, c: 5}) for margin, _ in some.guards()]
    assert sorted(margins) == [-2, -1, 2]
    assert some.holds([margin > 0 for margin in margins])


def test_a_name_is_what_events_say():
    assert str(ph.when("a > 1", engage="b", name="too far")) == "too far"
    with pytest.raises(ph.ModelError, match="name is 3, expected text"):
        ph.when("a > 1", name=3)
