"""Commands, switches and what they leave: from Python, from a control, from another thread."""

from __future__ import annotations

import threading
import time

import numpy as np
import pytest

import polhode as ph

G = 9.81


def wheel(**brake):
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.brake("a_dot", name="brake", active=False, **brake)
    return ph.formulate(build.build()).compile()


def pendulum(**contact):
    build = ph.Builder("pendulum", gravity=(0, 0, -G))
    build.body("bob", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.lock("a", name="lock", active=False)
    build.stop("a", upper=0.8, restitution=0.5, name="stop")
    return ph.formulate(build.build()).compile()


def test_a_command_changes_speeds_at_once_and_keeps_positions():
    sim = ph.Simulation(wheel(), {"a": 0.3}, {"a_dot": 2.0})
    assert sim.mode == {"brake": "released"}
    assert sim.active == ()
    sim.engage("brake")
    assert sim.active == ("brake",)
    assert sim.u == pytest.approx([0.0], abs=1e-15)
    assert sim.q == pytest.approx([0.3], abs=0)
    assert sim.events[-1].lost == pytest.approx(4.0)
    sim.release("brake")
    assert sim.events[-1].lost == 0
    assert sim.events[-1].why == "command"


def test_what_is_not_declared_cannot_be_engaged_and_nothing_is_lost():
    sim = ph.Simulation(wheel(), {"a": 0.3}, {"a_dot": 2.0})
    sim.run(0.5)
    before = sim.t, sim.q, sim.u
    with pytest.raises(KeyError, match="'brake'"):
        sim.engage("brak")
    assert sim.t == before[0]
    assert sim.q == pytest.approx(before[1], abs=0)
    sim.run(1.0)
    assert sim.u == pytest.approx([2.0])


def test_an_open_loop_is_not_engaged():
    build = ph.Builder("arm", gravity=(0, 0, -G))
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.marker("tip", body="arm", at=(0, 0, -1))
    build.marker("hook", body="world", at=(1, 0, 0))
    build.loop("tip", "hook", "point", name="hook", active=False)
    dyn = ph.formulate(build.build()).compile()
    sim = ph.Simulation(dyn, {"a": 0.2})
    with pytest.raises(ph.SwitchError, match=r"'hook' cannot be engaged at t = 0 s: 'hook\.x' is .* off"):
        sim.engage("hook")
    assert sim.mode == {"hook": "released"}
    sim.run(0.1)
    assert sim.t == 0.1
    caught = ph.Simulation(dyn, {"a": -np.pi / 2}, {"a_dot": 1.0})
    caught.engage("hook")
    assert caught.u == pytest.approx([0], abs=1e-12)


def test_switches_by_time_and_by_what_happens():
    traj = ph.simulate(pendulum(), {"a": 0.5}, t_end=3.0,
                       switches=[ph.when("a < 0", engage="lock"), ph.at(2.0, release="lock")])  # fmt: skip
    caught = traj.events[1]
    assert caught.why.startswith("when")
    quarter = ph.simulate(pendulum(), {"a": 0.5}, until=ph.when("a", -1))
    assert caught.time == pytest.approx(quarter.t[-1], abs=1e-9)
    held = (traj.t > caught.time) & (traj.t < 2.0)
    assert np.abs(traj["a"][held]).max() < 1e-9
    assert set(traj.mode["lock"][held]) == {"engaged"}
    assert traj.mode["lock"][-1] == "released"


def test_a_comparison_counts_where_it_becomes_true_and_a_direction_its_way():
    dyn = pendulum()
    for value, direction, sign in (("a > 0.1", 0, 1), ("a < -0.1", 0, -1), ("a - 0.1", 1, 1), ("a - 0.1", -1, -1)):
        traj = ph.simulate(dyn, {"a": -0.3}, {"a_dot": 0.1}, until=ph.when(value, direction), t_end=5.0)
        assert np.sign(traj["a_dot"][-1]) == sign
        assert abs(traj["a"][-1]) == pytest.approx(0.1, abs=1e-12)


def test_several_switches_at_one_time_are_one_event():
    """What is engaged and released at once is released, so nothing is struck."""
    dyn = wheel()
    traj = ph.simulate(dyn, None, {"a_dot": 1.0}, 3.0,
                       switches=[ph.at(1.0, engage="brake"), ph.at(1.0, release="brake")])  # fmt: skip
    assert traj.mode["brake"][-1] == "released"
    assert len(traj.events) == 2
    assert traj["a"][-1] == pytest.approx(3.0, abs=1e-9)


def test_a_control_may_engage_a_brake():
    dyn = wheel()

    def control(t, q, u):
        if t > 0.5 and not sim.active:
            sim.engage("brake")
        return [0.0]

    sim = ph.Simulation(dyn, None, {"a_dot": 1.0}, tau=ph.Sampled(control, 0.03))
    sim.run(1.0)
    assert sim.events.times == pytest.approx([0, 0.51])
    sim = ph.Simulation(dyn, None, {"a_dot": 1.0}, tau=ph.Sampled(control, 0.03))
    while sim.t < 1:
        sim.step()
    assert sim.events.times == pytest.approx([0, 0.51])
    assert sim.u == pytest.approx([0.0], abs=1e-15)


def test_another_thread_may_engage_a_brake():
    sim = ph.Simulation(wheel(), None, {"a_dot": 1.0}, method="euler", step=1e-6)
    found = []

    def hand():
        while sim.t < 1e-4:
            time.sleep(1e-3)
        sim.engage("brake")
        found.append(sim.t)

    thread = threading.Thread(target=hand)
    thread.start()
    for k in range(1, 100_000):
        sim.run(k * 1e-3, output=[k * 1e-3])
        if not thread.is_alive():
            break
    thread.join()
    assert sim.active == ("brake",)
    assert sim.u == pytest.approx([0.0], abs=1e-15)


def test_what_nothing_holds_can_be_struck():
    build = ph.Builder("sled", gravity=(0, 0, 0))
    build.body("sled", joint=ph.prismatic("x", name="x"), mass=2)
    sim = ph.Simulation(ph.formulate(build.build()).compile())
    sim.strike("sled", (1.0, 0, 0))
    sim.run(until=2.0)
    assert sim.q == pytest.approx([1.0])


def test_a_strike_from_outside_is_an_event():
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(name="ball"), mass=2, inertia=(1, 1, 1))
    build.lock("ball", name="lock", active=False)
    dyn = ph.formulate(build.build()).compile()
    sim = ph.Simulation(dyn)
    sim.strike("ball", (2.0, 0.0, 4.0))
    assert dyn.velocity("ball")(sim.q, sim.u)[3:] == pytest.approx([1, 0, 2])
    assert "strike" in sim.events[-1].why


def test_a_start_beyond_a_stop_is_refused_and_beyond_a_limit_is_said():
    with pytest.raises(ValueError, match="'stop'"):
        ph.Simulation(pendulum(), {"a": 1.0})
    build = ph.Builder("arm", gravity=(0, 0, -G))
    build.body("arm", joint=ph.revolute("y", name="a", limits=[(-0.5, 0.5)]), mass=1, com=(0, 0, -1))
    dyn = ph.formulate(build.build()).compile()
    with pytest.warns(ph.SimulationWarning, match="beyond its limits"):
        sim = ph.Simulation(dyn, {"a": 1.0})
    assert sim.mode == {"limit of a": "released"}


def test_limits_of_joints_are_stops_unless_they_are_ignored():
    for limits, most in (("stop", 0.5), ("ignore", 0.9)):
        build = ph.Builder("arm", gravity=(0, 0, -G), limits=limits)
        build.body("arm", joint=ph.revolute("y", name="a", limits=[(-0.5, 0.5)]), mass=1, com=(0, 0, -1))
        dyn = ph.formulate(build.build()).compile()
        traj = ph.simulate(dyn, {"a": 0.3}, {"a_dot": 3.0}, 1.0, output="steps")
        assert traj["a"].max() == pytest.approx(most, abs=0.05) if limits == "stop" else traj["a"].max() > most
        if limits == "stop":
            assert traj["a"].max() <= 0.5 + 1e-12


def test_steps_end_at_events_and_go_on():
    sim = ph.Simulation(pendulum(), {"a": 0.5}, {"a_dot": 2.0}, method="rk4", step=0.01)
    while not any(event.why == "closes" for event in sim.events):
        sim.step()
    event = sim.events[-1]
    assert sim.t == event.time
    assert sim.q == pytest.approx([0.8], abs=1e-12)
    assert sim.u[0] < 0
    sim.step()
    assert sim.t == pytest.approx(event.time + 0.01, abs=1e-12)


def test_both_sides_of_a_jump_are_recorded():
    traj = ph.simulate(pendulum(), {"a": 0.5}, {"a_dot": 2.0}, 0.3, output="steps")
    event = traj.events[1]
    before, after = traj["a_dot"][traj.t == event.time]
    assert after == pytest.approx(-0.5 * before, abs=1e-12)
    assert list(traj.mode["stop"][traj.t == event.time]) == ["open", "open"]
    assert np.abs(traj.energy_drift).max() < 1e-8


def test_a_state_that_is_set_has_a_mode_of_its_own():
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", name="ground")
    sim = ph.Simulation(ph.formulate(build.build()).compile(), {"z": 0.1})
    sim.run(1.0)
    assert sim.mode == {"ground": "closed"}
    sim.u = {"z_dot": 2.0}
    sim.run(1.1)
    assert sim.mode == {"ground": "open"}
    assert sim.q == pytest.approx([2.0 * 0.1 - G * 0.01 / 2], abs=1e-9)
    sim.q = {"z": -1.0}
    with pytest.raises(ValueError, match="beyond 'ground'"):
        sim.run(1.2)


def hoist():
    build = ph.Builder("hoist", gravity=(0, 0, -G))
    build.body("load", joint=ph.prismatic("z", name="z"), mass=2)
    build.brake("z_dot", capacity=10, name="brake", active=False)
    build.stop("z", lower=-3, name="floor")
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("word", ["engage", "release"])
@pytest.mark.parametrize("through", ["run", "step"])
def test_a_control_that_is_asked_within_steps_may_not_command(word, through):
    def control(t, q, u):
        if u[0] < -3:
            getattr(sim, word)("brake")
        return [0.0]

    sim = ph.Simulation(hoist(), {"z": 0.0}, tau=control)

    def go():
        for _ in range(30):
            sim.run(sim.t + 0.1) if through == "run" else sim.step()

    with pytest.raises(RuntimeError, match=rf"control called {word} .*Sampled.*switches=ph\.when"):
        go()
    assert [event.why for event in sim.events] == ["start"]


def test_another_thread_may_command_while_a_control_is_asked():
    """The refusal is of the control itself, not of those who happen to call at the same time."""
    called = threading.Event()

    def control(t, q, u):
        called.set()
        time.sleep(1e-4)
        return [0.0]

    sim = ph.Simulation(wheel(), None, {"a_dot": 1.0}, tau=control, longest=1e-3)
    other = threading.Thread(target=lambda: (called.wait(), sim.engage("brake")))
    other.start()
    sim.run(0.2)
    other.join()
    assert [event.why for event in sim.events] == ["start", "command"]


@pytest.mark.parametrize("how", ["between", "sampled", "until", "set"])
def test_a_run_that_was_switched_late_still_starts_at_its_start(how):
    def control(t, q, u):
        if 0.295 < t < 0.305:
            sim.engage("brake")
        return [0.0]

    sim = ph.Simulation(hoist(), {"z": 0.0}, tau=ph.Sampled(control, 0.01) if how == "sampled" else None)
    sim.run(0.3)
    if how == "between":
        sim.engage("brake")
    if how == "set":
        sim.q = {"z": -3.0}
    sim.run(ph.when("z < -1", 0) if how == "until" else 0.5)
    traj = sim.trajectory()
    assert traj.events[0].why == "start"
    assert traj.events[0].time == 0
    assert set(traj.events[0].mode.values()) == {"released", "open"}
    assert len(traj.events) == 2
    if how == "set":
        assert traj.events[1].mode["floor"] == "closed"
        assert traj.events[1].why == "closes, set by hand"


def test_what_changes_nothing_is_no_event_and_lists_of_names_are_taken():
    sim = ph.Simulation(pendulum(), {"a": 0.5})
    sim.release("lock")
    assert len(sim.events) == 1
    sim.engage(["lock", "stop"])
    sim.engage("lock")
    assert [event.why for event in sim.events] == ["start", "command"]
    sim.run(0.5)
    assert sim.q == pytest.approx([0.5], abs=1e-9)
    with pytest.raises(TypeError, match="found none"):
        sim.engage()


def test_what_has_no_restitution_touches_and_what_has_some_bounces():
    """A mass that a spring pulls back meets a stop at speed 1, where the spring pulls already."""
    for restitution, word in ((0, "touches"), (0.5, "bounces")):
        build = ph.Builder("mass", gravity=(0, 0, 0))
        build.body("mass", joint=ph.prismatic("x", name="x", stiffness=1), mass=1)
        build.stop("x", upper=0.5, restitution=restitution, name="stop")
        traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": 1.0}, 1.0)
        assert f"stop {word}" in str(traj.events)
