"""Constraints that are engaged and released in an exported page: as native code does it, to 1e-9."""

import numpy as np
import pytest
from mechanisms import four_bar
from test_exported import linkage_start, needs_node, played

import polhode as ph
from polhode.interact import realtime
from polhode.interact.exported import live_page

STEP = 1e-3


def cart():
    """Gillespie's cart, whose caster can be stuck, [Gillespie, example 3]; it may also be parked where it is."""
    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("along", joint=ph.prismatic("x", name="q1"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="q2"), mass=0)
    build.body(
        "basket", parent="across", joint=ph.revolute("z", name="q3"), mass=20, com=(0.45, 0, 0), inertia=(1.3, 1.3, 2.5)
    )
    build.body("fork", parent="basket", at=(0.8, 0, 0), joint=ph.revolute("z", name="q4"), mass=3, com=(-0.12, 0, 0))
    build.marker("back", body="basket")
    build.marker("front", body="fork", at=(-0.12, 0, 0))
    build.knife_edge("back", axis="y", name="back wheels")
    build.knife_edge("front", axis="y", name="front wheel")
    build.brake("q4_dot", name="caster", active=False)
    build.latch("back", "world", name="parked", active=False)
    return build.build()


def cart_start():
    dyn, q = ph.formulate(cart()).compile(), [0.3, -0.2, 0.4, 0.7]
    q, u = ph.assemble(dyn, q, {"q1_dot": 0.9, "q3_dot": 0.35}, keep=["q1_dot", "q3_dot"])
    return {"q0": q, "u0": u, "tau": {"q1_dot": "6*cos(q3)", "q2_dot": "6*sin(q3)", "q3_dot": 1.5}}


def rotors():
    build = ph.Builder("rotors", gravity=(0, 0, 0))
    build.body("motor", joint=ph.revolute("z", name="a"), mass=1, inertia=(2, 2, 2))
    build.body("load", joint=ph.revolute("z", name="b", damping=0.4), mass=1, inertia=(3, 3, 3))
    build.clutch("a_dot", "b_dot", ratio=2, name="clutch", active=False)
    build.lock("b", name="lock")
    return build.build()


def swing():
    """A pendulum of two rods whose tip is tied to the world where it happens to be, and let go."""
    build = ph.Builder("swing")
    build.body("upper", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    build.body("middle", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=1, com=(0, 0, -0.5),
               inertia=(0.1, 0.1, 0.01))  # fmt: skip
    build.body("lower", parent="middle", at=(0, 0, -1), joint=ph.revolute("y", name="c"), mass=0.5, com=(0, 0, -0.3),
               inertia=(0.1, 0.1, 0.01))  # fmt: skip
    build.marker("tip", body="lower", at=(0, 0, -0.6))
    build.latch("tip", "world", kind="point", name="hook", active=False)
    return build.build()


# of each: the model, where it begins, and at which ticks what is engaged (1) and released (-1)
CASTER = {250: {"caster": 1}, 900: {"caster": -1}, 1300: {"caster": 1}}
PARKED = {1700: {"parked": 1, "caster": -1}, 1800: {"parked": -1}}
CLUTCH = {400: {"lock": -1, "clutch": 1}, 900: {"clutch": -1}, 1500: {"clutch": 1}}
HOOK = {300: {"hook": 1}, 800: {"hook": -1}, 1100: {"hook": 1}}
RUNS = {
    "cart": (cart, cart_start(), CASTER | PARKED),
    "rotors": (rotors, {"u0": {"a_dot": 10.0}}, CLUTCH),
    "swing": (swing, {"q0": [0.9, 0.3, -0.4]}, HOOK),
    "four-bar let go": (four_bar, linkage_start(), {600: {"close": -1}}),
}


def switches_of(commands):
    return [
        ph.at(k * STEP, engage=[n for n, on in each.items() if on > 0], release=[n for n, on in each.items() if on < 0])
        for k, each in commands.items()
    ]


@needs_node
@pytest.mark.parametrize("name", RUNS)
def test_it_is_switched_as_native_code_does(name):
    make, given, commands = RUNS[name]
    dyn = ph.formulate(make()).compile()
    found = played(live_page(dyn, step=STEP, **given), 2000, commands)
    assert set(found["said"]) == {""}
    traj = ph.simulate(dyn, t_end=2.0, method="rk4", step=STEP, switches=switches_of(commands), **given)
    free = ph.simulate(dyn, t_end=2.0, method="rk4", step=STEP, **given)
    nq, nu = traj.q.shape[1], traj.u.shape[1]
    assert np.abs(traj.q[-1] - free.q[-1]).max() > 0.01  # the switches matter
    np.testing.assert_allclose(found["x"][:nq], traj.q[-1], rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["x"][nq : nq + nu], traj.u[-1], rtol=0, atol=1e-9)


@needs_node
def test_the_cart_goes_as_in_real_time():
    """The loop of `realtime`, told what to do at the same ticks."""
    _, given, commands = RUNS["cart"]
    dyn = ph.formulate(cart()).compile()
    found = played(live_page(dyn, step=STEP, **given), 2000, commands)
    rt = realtime(dyn, given["q0"], given["u0"], tau=given["tau"], rate=1 / STEP, method="rk4")
    for tick in range(2000):
        for name, on in commands.get(tick, {}).items():
            (rt.engage if on > 0 else rt.release)(name)
        rt.step()
    np.testing.assert_allclose(found["x"][:4], rt.state.q, rtol=0, atol=1e-9)
    np.testing.assert_allclose(found["x"][4:8], rt.state.u, rtol=0, atol=1e-9)


@needs_node
def test_what_the_model_switches_by_itself_is_in_the_page():
    build = ph.Builder("rotor", gravity=(0, 0, 0))
    build.body("rotor", joint=ph.revolute("z", name="a"), mass=1, inertia=(2, 2, 2))
    build.brake("a_dot", name="brake", active=False)
    build.switch(at=0.5, engage="brake")
    text = live_page(ph.formulate(build.build()).compile(), None, [3.0], step=STEP)
    assert '"plan": [[0.5, [1]]]' in text or '"plan":[[0.5,[1]]]' in text


@needs_node
def test_a_loop_that_is_open_is_not_engaged():
    """It says so, and nothing changes; native code refuses it too."""
    dyn = ph.formulate(four_bar()).compile()
    given, commands = linkage_start(), {300: {"close": -1}, 600: {"close": 1}}
    found = played(live_page(dyn, step=STEP, **given), 1000, commands)
    assert found["said"] == ["", "close"]
    traj = ph.simulate(dyn, t_end=1.0, method="rk4", step=STEP, switches=switches_of({300: {"close": -1}}), **given)
    np.testing.assert_allclose(found["x"][:3], traj.q[-1], rtol=0, atol=1e-9)
