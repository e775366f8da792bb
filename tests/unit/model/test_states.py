"""States that are not motion: declared, checked, drawn, written, and in the equations."""

import math
import pickle

import numpy as np
import pytest
from mechanics import close, random_state

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml
from polhode.graph import const, evaluate, jacobian, symbol, symbols
from polhode.kinematics import locked
from polhode.model import Builder, ModelError, State

x, x_dot, a, a_dot, i, w, k, r, t = symbols("x x_dot a a_dot i w k r t")


def servo():
    build = Builder("servo")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("arm", parent="cart", joint=ph.spherical(name="a"), mass=2, com=(0, 0, 1), inertia=(1, 2, 3))
    build.state("i", rate=k * (r - x) - i / 3, start=r / 2)
    build.state("w", "x_dot*sin(x) + cos(i)*t")
    build.force("x_dot", 5 * i - x_dot, name="control")
    build.wrench("arm", force=(w, 0, 0))
    return build


def test_states_are_parts_of_a_model():
    model = servo().build()
    assert [s.name for s in model.states] == ["i", "w"]
    assert model.states[0] == State(name="i", rate=k * (r - x) - i / 3, start=r / 2)
    assert model.states[1].rate == x_dot * ph.sin(x) + ph.cos(i) * t
    assert model.nz == 2
    assert model.parameters == (k, r)
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.substituted({"r": 4}).states[0].start == 2
    assert model.merged().states == model.states


def test_states_are_drawn():
    text = str(servo().build())
    assert text.startswith("servo: 2 bodies, nq = 4, nu = 4, nz = 2\n")
    assert text.endswith("i [state with rate -i/3 - k*(x - r), from r/2]\nw [state with rate t*cos(i) + x_dot*sin(x)]")


def test_a_held_joint_stands_still_in_rates():
    found = locked(servo().build(), {"x": 2}).states
    assert [s.rate for s in found] == [k * (r - 2) - i / 3, ph.cos(i) * t]


WRONG = {
    "coordinate": (lambda b: b.state("x", rate=1), "Variable 'x' exists 2 times"),
    "twice": (lambda b: b.state("i", rate=1), "Variable 'i' exists 2 times"),
    "time": (lambda b: b.state("t", rate=1), "'t': that name belongs to time"),
    "nameless": (lambda b: b.state(" ", rate=1), "without a name"),
    "no text": (lambda b: b.state(3, rate=1), "name is 3, expected the name as text"),
    "NaN": (lambda b: b.state("j", rate=1, start=math.nan), "State 'j': start is nan, expected a finite number"),
    "moving start": (lambda b: b.state("j", rate=1, start=2 * x), "its start depends on x, expected a number"),
    "start by state": (lambda b: b.state("j", rate=1, start=i), "State 'j': its start depends on i"),
    "no rate": (lambda b: b.state("j", rate=None), "State 'j': rate is None, expected a number or an expression"),
    "code": (lambda b: b.state("j", rate="__import__('os')"), "there is no function __import__"),
    "pole": (lambda b: b.state("j", rate="1/0"), "expected a finite number"),
    "mass": (lambda b: b.body("late", joint=ph.weld(), mass=i), "depends on i, a coordinate, speed, state or time"),
    "spring": (lambda b: b.spring("cart", "world", stiffness=i, length=1), "depends on i, expected constants"),
    "potential": (lambda b: b.potential(i * x), "depends on i, expected coordinates and parameters only"),
    "idle": (lambda b: b.constraint(i - w), "has no coordinate and no speed"),
    "loop": (lambda b: b.loop("cart", "world", "distance", length=i), "its numbers depend on i"),
    "nonlinear rate": (
        lambda b: (b.state("j", rate=x_dot**2), b.constraint(x - symbol("j"))),
        "depends on the state 'j', whose rate is not linear in the speed 'x_dot'",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", WRONG)
def test_wrong_states(name):
    spoil, text = WRONG[name]
    build = servo()
    with pytest.raises(ModelError) as caught:  # noqa: PT012 - in one or the other
        spoil(build)
        build.build()
    assert text in str(caught.value)


# as TOML


def test_states_are_written_and_read():
    build = servo()
    build.constraint(x - w, name="follow")
    build.state("a b-c", rate=symbol("a b-c") * i - 1)
    long = sum((ph.sin(n * x) * symbol("a b-c") for n in range(1, 60)), const(0))
    build.state("long", rate=long)
    model = build.build()
    text = write_toml(model)
    assert '[[state]]\nname = "i"\nrate = "-(i/3 + k*(x - r))"\nstart = "r/2"\n' in text
    assert read_toml(text) == model


HEAD = 'symbols = ["k"]\n[[body]]\nname = "x"\nmass = 1\njoint = { type = "prismatic", axis = "x" }\n'
STATE = '[[state]]\nname = "i"\nrate = "k*x - z.i"\n'
WRONG_TEXT = {
    STATE.replace("k*x", "m*x"): "State 'i': rate is 'm[*]x - z.i': unknown name m",
    STATE.replace('"i"', '"k"'): "State 'k': that name is taken by a symbol or constant",
    STATE.replace('"i"', '"x"').replace(".i", ".x"): "Variable 'x' exists 2 times",
    STATE + "start = nan\n": "State 'i': start is nan, expected a finite number",
    STATE + 'begin = "0"\n': "State 'i': unknown key 'begin'",
    '[[state]]\nname = "i"\n': "State 'i': rate is missing",
    '[[state]]\nrate = "x"\n': "State number 1: name is missing",
    '[state]\nname = "i"\n': r"state is .*, expected tables \[\[state\]\]",
    STATE + '[definitions]\ni = "x"\n': "Definition 'i': that name is taken",
}


@pytest.mark.parametrize("text", WRONG_TEXT)
def test_wrong_tables(text):
    with pytest.raises(ModelError, match=WRONG_TEXT[text]):
        read_toml(HEAD + text)


def test_what_uses_a_wrong_state_is_no_fault_of_its_own():
    with pytest.raises(ModelError) as caught:
        read_toml(HEAD + STATE.replace("k*x", "m*x") + '[[force]]\nspeed = "x_dot"\nvalue = "3*i"\n')
    assert len(caught.value.faults) == 1


# in the equations


METHODS = {
    "poincare": {"method": "poincare"},
    "denoc": {"method": "denoc"},
    "lagrange": {"method": "lagrange"},
    "kane": {"speeds": {"u1": 2 * x_dot, "u2": symbol("a_wx") + x_dot, "u3": symbol("a_wy"), "u4": symbol("a_wz")}},
}


def tied():
    build = servo()
    build.constraint(x - ph.sin(w) * i, name="positions")
    build.constraint(symbol("a_wx") * i - x_dot * w + symbol("a_x"), name="speeds")
    return build.build()


def along(eq, parts, q, u, z, h):
    """Values a time h later on a motion with constant u, to second order."""
    given = {eq.u: u, "k": 0.7, "r": 1.3}

    def flow(q, z, t):
        at = given | {eq.q: q, eq.z: z, eq.t: t}
        return evaluate(eq.kinematics.q_dot, at), evaluate(eq.z_dot, at)

    dq, dz = flow(q, z, 0.3)
    dq, dz = flow(q + h / 2 * dq, z + h / 2 * dz, 0.3 + h / 2)
    at = given | {eq.q: q + h * dq, eq.z: z + h * dz, eq.t: 0.3 + h}
    return [evaluate(part, at) for part in parts]


@pytest.mark.parametrize("name", METHODS)
def test_rates_of_constraints_follow_the_states(name):
    eq = ph.formulate(tied(), **METHODS[name])
    held = eq.constraints
    assert held.names == ("positions", "speeds")
    assert held.holonomic == (True, False)
    q, u = random_state(eq, 3)
    z, h = np.array([0.4, -0.8]), 1e-4
    parts = [held.phi, held.psi]
    (phi_before, psi_before), (phi, psi) = (along(eq, parts, q, u, z, s) for s in (-h, h))
    _, now, gamma, J = along(eq, [held.phi, held.psi, held.gamma, held.J], q, u, z, 0)
    assert close((phi - phi_before)[0] / (2 * h), now[0], 1e-7)
    assert close((psi - psi_before) / (2 * h), gamma, 1e-6)
    (at_rest,) = along(eq, [held.psi], q, 0 * u, z, 0)
    assert close(now, J @ u + at_rest)


@pytest.mark.parametrize("name", METHODS)
def test_states_are_no_parameters(name):
    eq = ph.formulate(tied(), **METHODS[name])
    assert eq.z.shape == eq.z_dot.shape == (2,)
    assert [str(s) for s in eq.z] == ["i", "w"]
    assert [str(s) for s in eq.parameters] == ["k", "r"]
    # the law of w in the speeds of the equations is that in those of the joints
    q, u = random_state(eq, 1)
    at = {eq.q: q, eq.u: u, eq.z: [0.2, 0.5], "t": 2.0, "k": 1.0, "r": 1.0}
    rate = evaluate(eq.kinematics.q_dot, at)[0]
    assert evaluate(eq.z_dot[1], at) == pytest.approx(rate * math.sin(q[0]) + math.cos(0.2) * 2)
    # power of the control and of the wrench: 5 i and w times the speeds they act on
    power = eq.Q @ eq.u
    tip = evaluate(eq.velocity("arm"), at)[3]
    assert evaluate(jacobian([power], eq.z), at)[0] == pytest.approx([5 * rate, tip])


def test_embedded_constraints_follow_the_states():
    plain, eq = ph.formulate(tied()), ph.formulate(tied(), embed=True)
    assert not eq.constraints.names
    q, u = random_state(eq, 2)
    assert len(u) == 2
    given = {eq.q: q, eq.u: u, eq.z: [0.4, -0.8], "t": 0.3, "k": 0.7, "r": 1.3}
    speeds = {s: float(evaluate(eq.kinematics.quasi[s], given)) for s in plain.u}
    there = {key: value for key, value in given.items() if key is not eq.u} | speeds
    assert close(evaluate(plain.constraints.psi, there), 0)
    assert close(evaluate(plain.z_dot, there), evaluate(eq.z_dot, given))
    # accelerations: M udot = f embedded, against [M J^T; J 0] of all speeds
    udot = np.linalg.solve(evaluate(eq.M, given), evaluate(eq.Q - eq.c, given))
    M, f, J, gamma = (
        evaluate(e, there) for e in (plain.M, plain.Q - plain.c, plain.constraints.J, plain.constraints.gamma)
    )
    whole = np.linalg.solve(np.block([[M, J.T], [J, np.zeros((2, 2))]]), np.concatenate([f, -gamma]))[:4]
    rates = eq.kane.rate(ph.vector([eq.kinematics.quasi[s] for s in plain.u]), eq.kane.udot)
    assert close(evaluate(rates, given | {eq.kane.udot: udot}), whole, 1e-9)
