"""Commands that the loop carries out by itself, inputs that it watches, and switches that are due."""

import sys
import time

import numpy as np
import pytest

import polhode as ph
from polhode.interact import realtime, replay
from polhode.interact.commanding import SLOTS
from polhode.simulate.switchboard import SwitchError

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")


def arm():
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    link = {"mass": 1, "com": (0, 0, -0.5), "inertia": (0.08, 0.08, 0.001)}
    build.body("upper", joint=ph.revolute("y", name="a"), **link)
    build.body("lower", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), **link)
    build.lock("b", name="elbow", active=False)
    build.brake("a_dot", name="brake", active=False)
    build.marker("tip", body="lower", at=(0, 0, -1))
    return ph.formulate(build.build()).compile()


def pairs(many):
    """Balls in a row above the ground, each on a slide of its own."""
    build = ph.Builder("balls", gravity=(0, 0, -9.81))
    for k in range(many):
        build.body(f"ball{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1)
        build.contact(f"ball{k}", name=f"ground{k}", restitution=0.5)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_a_command_does_what_that_of_a_simulation_does(method):
    dyn = arm()
    machine = realtime(dyn, [0.5, 0.7], method=method)
    sim = ph.Simulation(dyn, [0.5, 0.7], method=method, step=1e-3)
    script = {100: ("engage", "elbow"), 150: ("engage", "brake"), 220: ("release", "brake"), 300: ("release", "elbow")}
    for k in range(400):
        if k in script:
            do, name = script[k]
            getattr(machine, do)(name)
            getattr(sim, do)(name)
            assert machine.mode == sim.mode
        machine.step()
        sim.step()
        np.testing.assert_allclose(machine.state.q, sim.q, rtol=1e-13, atol=1e-14)
        np.testing.assert_allclose(machine.state.u, sim.u, rtol=1e-12, atol=1e-13)
    assert [event.mode for event in machine.events][-1] == {"elbow": "released", "brake": "released"}


def test_commands_are_carried_out_without_python():
    machine = realtime(arm(), [0.5, 0.7])
    came_back = []
    real = machine._came_back
    machine._came_back = lambda code: came_back.append(code) or real(code)
    with machine:
        for k in range(60):
            (machine.release if k % 2 else machine.engage)("elbow")
            time.sleep(0.002)
        deadline = time.monotonic() + 30
        while machine._commands.block.tail < 60 and time.monotonic() < deadline:
            time.sleep(0.01)
        during = list(came_back)
    assert during == []  # the loop went on all the time
    assert len(machine.events) == 60
    assert machine.mode == {"elbow": "released", "brake": "released"}
    assert not machine.refused
    states = replay(machine.dynamics, machine.session)
    assert np.array_equal(states[-1].u, machine.state.u)
    assert np.array_equal(states[-1].q, machine.state.q)


def test_what_is_engaged_stays_so_and_is_no_event():
    machine = realtime(arm(), [0.5, 0.7])
    machine.engage("elbow")
    machine.step(50)
    bend, many = machine.state.q[1], len(machine.events)
    machine.engage("elbow")  # does not capture anew
    machine.step(50)
    assert machine.state.q[1] == pytest.approx(bend, abs=1e-9)
    assert len(machine.events) == many


def test_what_cannot_be_engaged_changes_nothing():
    build = ph.Builder("gap", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("b", joint=ph.prismatic("x", name="y"), mass=1)
    build.stop("y", name="wall", upper=0.5, active=False)
    build.loop("a", "b", "point", name="tie", active=False)
    machine = realtime(ph.formulate(build.build()).compile(), [0.0, 1.0], u0=[1.0, 0.0])
    machine.step(10)
    before = machine.state
    with pytest.raises(SwitchError, match=r"'tie' cannot be engaged at t = 0.01 s.* 0.99 off, expected 0"):
        machine.engage("tie")
    with pytest.raises(SwitchError, match=r"'wall' cannot be engaged at t = 0.01 s: the position is 0.5 m beyond it"):
        machine.engage("wall")
    machine.step()
    after = machine.state
    assert after.u.tolist() == before.u.tolist()
    assert machine.mode == {"tie": "released", "wall": "released"}
    with machine:
        machine.engage("tie")
        deadline = time.monotonic() + 30
        while not machine.refused and time.monotonic() < deadline:
            time.sleep(0.01)
    assert "'tie' cannot be engaged" in machine.refused
    assert machine.failure == ""


def test_a_queue_that_is_full_says_so():
    machine = realtime(arm())
    machine._commands.block.head = machine._commands._taken + SLOTS
    with pytest.raises(RuntimeError, match="1024 commands wait"):
        machine.engage("elbow")


def test_forces_that_nobody_renews_are_let_go():
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    machine = realtime(ph.formulate(build.build()).compile())
    machine.watchdog(0.01)
    machine.tau = [2.0]
    machine.step(50)
    assert machine.state.u == pytest.approx([10 * 2e-3])  # it acted for ten ticks
    assert machine.stale == 1
    machine.tau = [1.0]
    machine.step(5)
    assert machine.state.u == pytest.approx([10 * 2e-3 + 5e-3])
    machine.watchdog(0)
    machine.step(50)
    assert machine.state.u == pytest.approx([10 * 2e-3 + 55e-3])
    states = replay(machine.dynamics, machine.session)
    assert states[-1].u.tolist() == machine.state.u.tolist()
    with pytest.raises(ValueError, match="seconds is -1"):
        machine.watchdog(-1)


def test_parameters_change_while_it_runs():
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=ph.symbol("m"))
    dyn = ph.formulate(build.build()).compile()
    machine = realtime(dyn, p={"m": 2.0}, tau=[4.0])
    machine.step(100)
    assert machine.state.u == pytest.approx([0.2])
    machine.p = {"m": 8.0}
    assert machine.p.tolist() == [8.0]
    machine.step(100)
    assert machine.state.u == pytest.approx([0.25])
    states = replay(dyn, machine.session)
    assert states[-1].u.tolist() == machine.state.u.tolist()
    with pytest.raises(KeyError, match="'k'"):
        machine.p = {"k": 1}
    machine.reset()
    assert machine.p.tolist() == [2.0]


def test_switches_of_the_model_are_done_when_they_are_due():
    build = ph.Builder("timed", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.brake("x_dot", name="brake", active=False)
    build.switch(at=0.05, engage="brake")
    dyn = ph.formulate(build.build()).compile()
    machine = realtime(dyn, u0=[1.0])
    machine.step(200)
    assert machine.state.q == pytest.approx([0.05])
    assert machine.state.u == pytest.approx([0.0])
    assert [(e.t, e.mode) for e in machine.events if e.t > 0] == [(pytest.approx(0.05), {"brake": "engaged"})]


def test_many_contacts_are_met_that_are_not_in_the_code_at_first():
    """More rows than are compiled in from the start: each ball comes to lie on the ground, as in a simulation."""
    dyn = pairs(260)
    heights = [0.002 if k % 50 == 0 else 5.0 for k in range(260)]
    machine = realtime(dyn, heights)
    sim = ph.Simulation(dyn, heights, method="moreau", step=1e-3)
    for _ in range(60):
        machine.step()
        sim.step()
    assert not machine.failure
    np.testing.assert_allclose(machine.state.q, sim.q, atol=1e-12)
    assert machine.state.q[0] > -1e-9
    assert machine.state.q[1] == pytest.approx(5 - 9.81 * 0.06**2 / 2, abs=1e-6)


def test_switches_that_wait_for_something_are_done_in_the_tick_after():
    build = ph.Builder("waiting", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.brake("x_dot", name="brake", active=False)
    build.switch(when="x > 0.0305", engage="brake")
    dyn = ph.formulate(build.build()).compile()
    for method in ("moreau", "rk4"):
        machine = realtime(dyn, u0=[1.0], method=method)
        machine.step(200)
        assert not machine.failure
        assert machine.state.q == pytest.approx([0.0305], abs=1.1e-3)
        assert machine.state.u == pytest.approx([0.0])
        assert machine.mode["brake"] != "released"
        with machine:
            time.sleep(0.02)
        assert machine.state.u == pytest.approx([0.0])


@pytest.mark.parametrize(
    "said", ["x > 0.0305", "x > 0.0305 and x_dot < 0.4", "x < -0.02 or x > 0.02", "0.1 > x and x > 0.05 or x_dot < 0"]
)
def test_switches_that_wait_are_done_without_python_and_as_in_a_simulation(said, monkeypatch):
    """A mass on a spring, with a brake that slips: engaged and released by what it does, again and again."""
    build = ph.Builder("waiting", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.force("x_dot", "-400*x")
    build.brake("x_dot", name="brake", active=False, capacity=3)
    build.switch(when=said, engage="brake")
    build.switch(when="x_dot < -0.3", release="brake")
    dyn = ph.formulate(build.build()).compile()
    machine = realtime(dyn, u0=[2.0])
    sim = ph.Simulation(dyn, u0=[2.0], method="moreau", step=1e-3)
    monkeypatch.setattr(machine, "_came_back", lambda code: code == 0 or pytest.fail(f"the loop came back: {code}"))
    for _ in range(600):
        machine.step()
        sim.step()
        np.testing.assert_allclose([*machine.state.q, *machine.state.u], [*sim.q, *sim.u], atol=1e-12)
    assert len([e for e in machine.events if e.mode["brake"] == "released"]) >= 2
    assert [e.t for e in machine.events] == pytest.approx([e.time for e in sim.events][1:])


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_a_loop_stays_closed_where_a_length_is_changed_and_stops_where_it_cannot(method):
    L, build = ph.symbol("L"), ph.Builder("four-bar")
    for name, parent, at, com in (
        ("crank", "world", 0, 0.1),
        ("rod", "crank", 0.2, 0.3),
        ("rocker", "world", 0.5, 0.2),
    ):
        joint, turns = ph.revolute("y", name=f"turn of {name}"), (0.01, 0.02, 0.02)
        build.body(name, parent=parent, joint=joint, at=(at, 0, 0), mass=1, com=(com, 0, 0), inertia=turns)
    build.marker("a", body="rod", at=(0.6, 0, 0))
    build.marker("b", body="rocker", at=(L, 0, 0))
    build.loop("a", "b", "hinge", axis="y", name="close")
    dyn = ph.formulate(build.build()).compile()
    p = {"L": 0.4}
    machine = realtime(dyn, *ph.assemble(dyn, [1.0, 0.5, 1.2], p=p), p=p, method=method)

    def gap() -> float:
        crank, rod, rocker = machine.state.q
        ends = [(0.2, crank), (0.6, crank + rod), (-machine.p[0], rocker)]
        return np.linalg.norm(sum(r * np.array([np.cos(a), -np.sin(a)]) for r, a in ends) - [0.5, 0])

    for length in (0.4, 0.41, 0.45, 0.6):
        machine.p = {"L": length}
        machine.step(50)
        assert gap() < 1e-12
    machine.p = {"L": 3.0}
    machine.step()
    assert "close" in machine.failure


def timed(*switches, capacity=None):
    """A mass with a brake and a lock, pushed, and switches of both."""
    build = ph.Builder("timed", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("arm", parent="cart", joint=ph.revolute("y", name="a"), mass=1, com=(0.1, 0, 0.4), inertia=(0.1,) * 3)
    build.brake("x_dot", name="brake", active=False, capacity=capacity)
    build.lock("a", name="lock", active=False)
    for given in switches:
        build.switch(**given)
    return ph.formulate(build.build()).compile()


def without_python(machine, monkeypatch):
    monkeypatch.setattr(machine, "_came_back", lambda code: code == 0 or pytest.fail(f"the loop came back: {code}"))


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_switches_by_time_are_done_without_python_and_as_in_a_simulation(method, monkeypatch):
    """Those of one time are one event, of which the last counts; the others come one by one."""
    dyn = timed(
        {"at": 0.05, "engage": ["brake", "lock"]}, {"at": 0.05, "release": "lock"}, {"at": 0.09, "engage": "lock"},
        {"at": 0.2, "release": ["brake", "lock"]}, {"at": 0.3, "engage": "lock"}, {"at": 9.0, "release": "lock"},
        capacity=3 if method == "moreau" else None,
    )  # fmt: skip
    machine, given = realtime(dyn, u0=[1.0, 2.0], method=method), {"method": method, "step": 1e-3}
    sim = ph.Simulation(dyn, u0=[1.0, 2.0], **given)
    without_python(machine, monkeypatch)
    machine.step(400)
    sim.run(0.4)
    np.testing.assert_allclose([*machine.state.q, *machine.state.u], [*sim.q, *sim.u], atol=1e-9)
    done = [(round(e.t, 9), e.mode["brake"] != "released", e.mode["lock"] != "released") for e in machine.events]
    expected = [(0.05, True, False), (0.09, True, True), (0.2, False, False), (0.3, False, True)]
    assert [each for each in done if each[0] in (0.05, 0.09, 0.2, 0.3)] == expected
    machine.reset()
    machine.step(60)
    assert machine.mode["brake"] != "released"  # they are to come again
    states = replay(dyn, machine.session)
    assert states[-1].u.tolist() == machine.state.u.tolist()


def test_a_switch_by_time_that_cannot_be_stops_the_machine_and_says_why():
    build = ph.Builder("gap", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("b", joint=ph.prismatic("x", name="y"), mass=1)
    build.loop("a", "b", "point", name="tie", active=False)
    build.switch(at=0.01, engage="tie")
    machine = realtime(ph.formulate(build.build()).compile(), [0.0, 1.0], u0=[1.0, 0.0])
    machine.step(20)
    assert machine.ticks == 10
    assert "'tie' cannot be engaged at t = 0.01 s" in machine.failure


def test_conditions_of_many_comparisons_are_decided_on_in_the_loop(monkeypatch):
    """Nine of them: it becomes true where the place is between two marks, of four pairs, and the speed is positive."""
    pairs = " or ".join(f"x > {a} and x < {a + 0.02:.2f}" for a in (0.03, 0.09, 0.15, 0.21))
    dyn = timed(
        {"when": f"x_dot > 0 and ({pairs})", "engage": "brake"}, {"when": "x_dot < 0.4", "release": "brake"}, capacity=3
    )
    given = {"u0": [1.5, 0.0], "tau": {"x_dot": 2.0}}
    machine = realtime(dyn, **given)
    sim = ph.Simulation(dyn, method="moreau", step=1e-3, **given)
    without_python(machine, monkeypatch)
    for _ in range(400):
        machine.step()
        sim.step()
        np.testing.assert_allclose([*machine.state.q, *machine.state.u], [*sim.q, *sim.u], atol=1e-12)
    assert len(machine.events) > 2


@pytest.mark.parametrize("method", ["euler", "midpoint", "rk4"])
def test_a_tick_with_an_event_is_as_long_as_others(method):
    """Methods that stop at an event within a step take the rest of it too: the machine stays in time with the clock."""
    dyn = timed({"when": "x > 0.0305", "engage": "lock"}, {"when": "x > 0.0309", "release": "lock"})
    start = [1.0, 2.0]
    machine = realtime(dyn, u0=start, method=method)
    machine.step(100)
    assert machine.state.t == pytest.approx(0.1, abs=1e-12)
    assert [event.tick for event in machine.events] == [30, 30]
    run = ph.simulate(dyn, None, start, 0.1, output=[0, 0.1], rtol=1e-12, atol=1e-12)
    assert machine.state.q == pytest.approx(run.q[-1], abs=1e-3 if method == "euler" else 1e-6)
    states = replay(dyn, machine.session)
    assert states[-1].u.tolist() == machine.state.u.tolist()
