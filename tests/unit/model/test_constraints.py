"""Constraints: what a model says of them, what it refuses, and what becomes of them when it changes."""

import pickle

import pytest

from polhode.graph import evaluate, sin, sqrt, symbol, symbols
from polhode.kinematics import constrain, derive, locked
from polhode.model import (
    TIME,
    Builder,
    Loop,
    ModelError,
    free,
    prismatic,
    revolute,
    weld,
)
from polhode.model.constraints import LOOPS

L, R = symbols("L r")


def machine():
    """A crank with a welded pin, a slider and a wheel."""
    build = Builder("machine")
    build.body("crank", joint=revolute("y"), mass=1, inertia=(1, 1, 1))
    build.body("pin", parent="crank", joint=weld(), at=(L, 0, 0), mass=1)
    build.body("slider", joint=prismatic("x"), mass=1)
    build.body("wheel", joint=free(), mass=1, inertia=(1, 1, 1))
    build.marker("tip", body="pin", at=(0, 0, 1))
    return build


def faults(build):
    with pytest.raises(ModelError) as caught:
        build.build()
    return caught.value.faults


def every_kind():
    build = machine()
    for kind in LOOPS:
        build.loop("tip", "slider", kind, length=L if kind == "distance" else None)
    build.constraint(sin(symbol("crank")) - symbol("slider"))
    build.gear("crank_dot", "slider_dot", 2)
    build.prescribe("crank", 3 * TIME)
    build.knife_edge("wheel")
    build.rolling("wheel", radius=R)
    build.rolling("wheel", "tip", radius=1, shape="sphere")
    return build.build()


def test_equal_constraints_make_equal_models():
    assert every_kind() == every_kind()
    assert hash(every_kind().constraints) == hash(every_kind().constraints)
    assert pickle.loads(pickle.dumps(every_kind())) == every_kind()
    other = machine()
    other.loop("tip", "slider", "point")
    assert other.build() != machine().build()


def test_their_symbols_are_parameters():
    assert every_kind().parameters == (L, R)


def test_every_row_is_counted():
    model = every_kind()
    names = constrain(derive(model)).names
    assert [names.count(c.name) for c in model.constraints] == [c.rows for c in model.constraints]
    assert sum(c.rows for c in model.constraints) == 32 + 3 + 1 + 3 + 3


def test_they_are_drawn_with_their_ends():
    build = machine()
    build.loop("tip", "slider", "hinge", name="close")
    build.loop("tip", "world", "distance", length=2 * L)
    build.prescribe("crank", 3 * TIME)
    build.knife_edge("wheel", name="blade")
    build.rolling("wheel", radius=R, name="roll")
    big = symbol("crank")
    for _ in range(99):
        big = sin(big) * big + big
    build.constraint(big, name="large")
    lines = str(build.build()).splitlines()[-6:]
    assert lines[:5] == [
        "close [hinge tip, slider]",
        "distance tip world [distance 2*L tip, world]",
        "law of crank [crank - 3*t = 0]",
        "blade [knife edge wheel]",
        "roll [rolling disc wheel on world]",
    ]
    assert lines[5].startswith("large [")
    assert len(lines[5]) < 90


def test_the_report_counts_their_equations():
    build = machine()
    build.loop("tip", "slider", "hinge", name="close")
    build.rolling("wheel", radius=R, name="roll")
    assert build.build().report().findings == (
        "The constraints have 8 equations: 'close' 5, 'roll' 3. "
        "Simulations hold them; M, c and tau leave all 8 speeds free.",
    )


# names


def test_names_are_made_where_none_are_given():
    build = machine()
    build.coupling("slider", "crank")
    for _ in range(2):
        build.loop("tip", "slider")
        build.constraint(symbol("crank"))
        build.knife_edge("wheel")
    assert [c.name for c in build.build().constraints] == [
        "coupling of slider",
        *("point tip slider", "constraint", "knife edge wheel"),
        *("point tip slider 2", "constraint 2", "knife edge wheel 2"),
    ]


@pytest.mark.parametrize("name", ["same", "coupling of slider"])
def test_a_name_is_used_once(name):
    build = machine()
    build.coupling("slider", "crank")
    build.loop("tip", "slider", name="same")
    build.knife_edge("wheel", name=name)
    assert faults(build) == (f"Constraint {name!r} exists 2 times, expected once. Rename all but one.",)


def test_a_coordinate_has_one_coupling():
    build = machine()
    build.coupling("slider", "crank")
    build.coupling("slider", "wheel_x")
    assert faults(build) == ("Coordinate 'slider' has 2 couplings, expected one. Make the others constraints.",)


# faults


def test_all_faults_come_together():
    build = machine()
    build.loop("tip", "slidr")
    build.loop("tip", "crank", name="rigid")
    build.knife_edge("blade")
    build.rolling("tip", "pin", radius=1)
    build.gear("crank_dot", "slider", 1)
    build.prescribe("crnk", 1)
    assert faults(build) == (
        "Constraint 'gear crank_dot slider': speed 'slider' does not exist. Did you mean 'slider_dot'?",
        "Constraint 'law of crnk': coordinate 'crnk' does not exist. Did you mean 'crank'?",
        "Constraint 'point tip slidr': marker 'slidr' does not exist. Did you mean 'slider'?",
        "Constraint 'rigid' has both ends on 'crank', which is rigid, so it restricts nothing.",
        "Constraint 'knife edge blade': marker 'blade' does not exist. "
        "There are 'world', 'crank', 'pin', 'slider', 'wheel', 'tip'.",
        "Constraint 'rolling tip' has both ends on 'crank', which is rigid, so it restricts nothing.",
    )


RATE, SPIN, ANGLE = symbols("crank_dot wheel_wx crank")
WRONG = {
    "a constant": (lambda b: b.constraint(L - 1), "has no coordinate and no speed, so it restricts nothing"),
    "time": (lambda b: b.constraint(TIME * L), "has no coordinate and no speed"),
    "a square": (lambda b: b.constraint(RATE**2 - 1), "not linear in the speed 'crank_dot'"),
    "a product": (lambda b: b.constraint(RATE * SPIN), "not linear in the speed 'crank_dot'"),
    "a size": (lambda b: b.constraint(abs(RATE) - 1), "not linear in the speed 'crank_dot'"),
    "a root": (lambda b: b.constraint(sqrt(RATE) + ANGLE), "not linear in the speed 'crank_dot'"),
    "nan": (lambda b: b.constraint(float("nan")), "expected a finite number"),
    "text": (lambda b: b.constraint("crank = 1"), "value is 'crank = 1', expected a number or an expression"),
    "kind": (lambda b: b.loop("tip", "slider", "hing"), "kind 'hing' is unknown. Did you mean 'hinge'"),
    "axis": (lambda b: b.loop("tip", "slider", axis=(0, 0, 0)), "axis has length 0"),
    "symbols": (lambda b: b.loop("tip", "slider", "axis", axis=(L, 0, 1)), "axis has symbols, expected numbers"),
    "no length": (lambda b: b.loop("tip", "slider", "distance"), "has no length"),
    "length": (lambda b: b.loop("tip", "slider", length=1), "has a length"),
    "length 0": (lambda b: b.loop("tip", "slider", "distance", length=0), 'Origins that meet are a "point"'),
    "length -1": (lambda b: b.loop("tip", "slider", "distance", length=-1), "length is -1, expected more than 0"),
    "moving length": (lambda b: b.loop("tip", "slider", "distance", length=ANGLE), "depend on crank, expected"),
    "radius": (lambda b: b.rolling("wheel", radius=0), "radius is 0, expected more than 0"),
    "shape": (lambda b: b.rolling("wheel", radius=1, shape="cube"), 'expected "disc" or "sphere"'),
    "flat": (lambda b: b.knife_edge("wheel", axis="w"), "axis is 'w'"),
    "ground": (lambda b: b.knife_edge("world"), "both ends on 'world'"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_constraints(name):
    call, words = WRONG[name]
    build = machine()
    with pytest.raises(ModelError) as caught:  # noqa: PT012 - some faults are told at once
        call(build)
        build.build()
    assert words in str(caught.value)
    assert len(caught.value.faults) <= 2


def test_linear_in_the_speeds_is_enough():
    build = machine()
    build.constraint((RATE * sin(ANGLE) + SPIN * TIME) / (2 + ANGLE) + RATE + L)
    build.constraint(sin(ANGLE) ** 2 + TIME)
    assert len(build.build().constraints) == 2


# models that change


def test_merged_bodies_keep_their_constraints():
    model = every_kind()
    assert model.merged().constraints == model.constraints
    assert model.merged().frame("tip")[0] == "crank"


def test_values_reach_the_constraints():
    model = every_kind().substituted({"L": 2, "r": L / 3})
    distance = next(c for c in model.constraints if isinstance(c, Loop) and c.kind == "distance")
    assert distance.length == 2
    assert model.constraints[-2].radius == L / 3
    with pytest.raises(ModelError, match="length is 0"):
        every_kind().substituted({"L": 0})


def test_a_locked_joint_keeps_what_can_still_move():
    build = machine()
    build.coupling("slider", "crank", ratio=2, offset=1)
    build.loop("tip", "slider", name="near")
    build.loop("tip", "wheel", name="far")
    build.constraint(symbol("crank") * symbol("slider") + 3 * RATE - TIME, name="law")
    build.knife_edge("tip", name="edge")
    build.gear("crank_dot", "wheel_wx", 2, name="gear")
    model = locked(build.build(), {"crank": 0.5})
    assert [c.name for c in model.constraints] == ["coupling of slider", "near", "far", "law", "gear"]
    held, law, gear = (model.constraints[k].value for k in (0, 3, 4))
    assert evaluate(held, {symbol("slider"): 2.0}) == 0
    assert law == 0.5 * symbol("slider") - TIME
    assert gear == -2 * symbol("wheel_wx")
    assert model.couplings == ()
    assert model.notes == ("Constraint 'edge' is left out: everything it is about is held.",)
    both = locked(build.build(), ["crank", "slider"])
    assert [c.name for c in both.constraints] == ["far", "gear"]
    assert "Constraint 'near' is left out" in str(both.report())
    rest = locked(build.build(), ["wheel"])
    assert rest.couplings == build.build().couplings
    assert [c.name for c in rest.constraints] == ["coupling of slider", "near", "far", "law", "edge", "gear"]


def test_a_locked_joint_takes_its_forces_along():
    build = machine()
    build.spring("tip", "slider", stiffness=1, length=1, name="spring")
    build.force("crank_dot", 3, name="motor")
    build.force("slider_dot", symbol("crank") - RATE, name="push")
    model = locked(build.build(), {"crank": 0.5})
    assert [force.name for force in model.forces] == ["spring", "push"]
    assert model.forces[1].value == 0.5
    assert [force.name for force in locked(build.build(), ["crank", "slider"]).forces] == []
