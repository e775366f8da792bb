"""What a copy of the loop foresees is what happens, and is corrected where a hand changes it."""

import sys
import time

import pytest

import polhode as ph
from polhode.interact import Foresight, Session
from polhode.interact.ahead import became
from polhode.interact.realtime import realtime

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")
TICK = 1.5e-3  # s: to a tick, and rounding


def falling(restitution=0.0):
    build = ph.Builder("drop", gravity=(0, 0, -9.81))
    build.body("bob", joint=ph.prismatic("z", name="h"), mass=1)
    build.contact("bob", name="ground", restitution=restitution)
    return ph.formulate(build.build()).compile()


def slide():
    """A mass that a force moves along x, with a stop, a brake, and a switch by position and one by time."""
    build = ph.Builder("slide", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=1)
    build.stop("x", upper=0.5, name="end")
    build.brake("x_dot", name="brake", active=False)
    build.switch(when="x > 0.2", engage="brake")
    build.switch(at=0.6, release="brake")
    return ph.formulate(build.build()).compile()


def told(events):
    return [(e.name, e.kind) for e in events]


def test_a_drop_is_foreseen_where_it_then_lands():
    machine = realtime(falling(), [0.05])
    sight = Foresight(machine, horizon=0.2)
    (landing,) = sight.look()
    assert (landing.name, landing.kind, landing.confidence) == ("ground", "closes", 0.5)
    assert abs(landing.time - (2 * 0.05 / 9.81) ** 0.5) < 2 * TICK
    machine.step(60)
    (again,) = sight.look()
    assert again.time == pytest.approx(landing.time, abs=1e-12)
    assert again.confidence == 2 / 3
    machine.step(80)
    assert sight.look() == []
    (event,) = machine.events
    assert abs(event.t - landing.time) < TICK
    assert (sight.score.right, sight.score.unforeseen, sight.score.withdrawn) == (1, 0, 0)


def test_bounces_are_foreseen_by_name():
    machine = realtime(falling(0.3), [0.5])
    sight = Foresight(machine, horizon=1.0)
    found = sight.look()
    assert told(found) == [("ground", "bounces")] * 4 + [("ground", "closes")]
    machine.step(1000)
    assert [e.t for e in machine.events] == pytest.approx([e.time for e in found], abs=TICK)
    sight.look()
    assert sight.score.right == 5


def test_looking_ahead_changes_nothing_of_the_machine():
    seen, alone = (realtime(falling(0.3), [0.1]) for _ in range(2))
    sight = Foresight(seen, horizon=0.3)
    for _ in range(40):
        seen.step(10)
        alone.step(10)
        sight.look()
        assert (seen.state.q == alone.state.q).all()
        assert (seen.state.u == alone.state.u).all()
        assert seen.mode == alone.mode
    assert seen.events == alone.events


def test_a_hand_corrects_what_was_foreseen():
    machine = realtime(falling(), [0.05])
    sight = Foresight(machine, horizon=0.2)
    assert told(sight.look()) == [("ground", "closes")]
    machine.step(20)
    machine.tau = {"h_dot": 30.0}  # N, more than it weighs
    assert sight.look() == []
    assert sight.score.withdrawn == 1
    machine.step(100)
    machine.tau = {"h_dot": -200.0}
    (sooner,) = sight.look()
    machine.step(200)
    assert abs(machine.events[0].t - sooner.time) < TICK


def test_switches_of_the_model_and_stops_are_foreseen():
    machine = realtime(slide(), tau={"x_dot": 2.0})
    sight = Foresight(machine, horizon=1.5)
    found = sight.look()
    assert told(found) == [("brake", "engages"), ("brake", "releases"), ("end", "closes")]
    assert abs(found[0].time - 0.2**0.5) < TICK
    assert abs(found[1].time - 0.6) < TICK
    machine.step(1500)
    times = [e.t for e in machine.events]
    assert times == pytest.approx([e.time for e in found], abs=TICK)


def test_where_a_switch_was_done_the_rest_is_foreseen():
    machine = realtime(slide(), tau={"x_dot": 2.0})
    sight = Foresight(machine, horizon=1.5)
    first = sight.look()
    machine.step(500)  # the brake holds
    assert machine.mode["brake"] == "engaged"
    rest = sight.look()
    assert told(rest) == told(first)[1:]
    assert [e.time for e in rest] == pytest.approx([e.time for e in first[1:]], abs=TICK)


def test_commands_that_wait_are_foreseen():
    machine = realtime(slide(), u0=[0.1])
    sight = Foresight(machine, horizon=0.1)
    assert sight.look() == []
    with machine:
        machine.pause()
        time.sleep(0.05)
        machine._commands.send(ph.interact.commands.Command(engage=("brake",), release=()))
        assert told(sight.look()) == [("brake", "engages")]


def test_beside_a_machine_that_runs():
    machine = realtime(falling(0.3), [0.5])
    with machine, Foresight(machine, horizon=0.2) as sight:
        deadline = time.monotonic() + 60
        while machine.ticks < 900 and time.monotonic() < deadline:
            time.sleep(0.01)
    sight.look()
    assert not machine.failure
    assert not sight.failure
    assert sight.looks > 5
    assert len(machine.events) == 5
    assert sight.score.right >= 4  # one may come before a look, on a machine that is busy


def test_a_machine_that_is_taken_back_is_followed():
    machine = realtime(falling(), [0.05])
    sight = Foresight(machine, horizon=0.2)
    (first,) = sight.look()
    machine.step(150)
    sight.look()
    machine.reset()
    (again,) = sight.look()
    assert again.time == pytest.approx(first.time, abs=1e-12)


@pytest.mark.parametrize("given", [{"horizon": 0}, {"horizon": "long"}, {"every": -1}])
def test_what_is_no_time_is_refused(given):
    with pytest.raises(ValueError, match="expected a number of seconds above 0"):
        Foresight(realtime(falling(), [0.05]), **given)


def test_words():
    assert became("released", "engaged") == "engages"
    assert became("engaged", "released") == "releases"
    assert became("sticks", "slides") == "slips"
    assert became("slides", "sticks") == "sticks"
    assert became("closed", "open") == "opens"


@pytest.fixture
def balls(monkeypatch):
    """More than are in the code at first, as if the limit were lower; all above the ground."""
    monkeypatch.setattr("polhode.simulate.modes.WIRED", 5)
    many = 12
    build = ph.Builder("balls", gravity=(0, 0, -9.81))
    for k in range(many):
        build.body(f"ball{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1)
        build.contact(f"ball{k}", name=f"ground{k}", restitution=0.25)
    build.switch(at=0.02, release="ground7")
    build.switch(at=0.05, engage="ground7")
    return ph.formulate(build.build()).compile()


def test_contacts_of_large_models_are_made_ready_before_they_touch(balls, monkeypatch):
    """Two balls land; the loop never comes back for their code, and they do what a simulation of them does."""
    dyn = balls
    heights = [0.03, 0.05] + [1e4] * 10
    machine = realtime(dyn, heights)
    sim = ph.Simulation(dyn, heights, method="moreau", step=1e-3)
    sight = Foresight(machine, horizon=0.15)
    machine.step(10)
    for _ in range(2):
        assert told(sight.look())[:2] == [("ground7", "releases"), ("ground7", "engages")]
    assert set(machine._sim._modes.wired) == {"ground7", "ground0", "ground1"}
    monkeypatch.setattr(machine, "_came_back", lambda code: code == 0 or pytest.fail(f"the loop came back: {code}"))
    machine.step(190)
    sim.run(0.2)
    assert machine.state.q == pytest.approx(sim.q, abs=1e-9)
    assert -1e-9 < machine.state.q[0] < 0.01
    states = ph.replay(dyn, machine.session)  # as it was made ready then
    assert states[-1].u.tolist() == machine.state.u.tolist()


def test_contacts_are_made_ready_while_it_runs(balls, tmp_path):
    dyn = balls
    machine = realtime(dyn, [0.02] + [1e4] * 11, rate=500)
    with machine:
        while machine.ticks < 3:
            time.sleep(0.01)
        machine.make_ready(["ground0", "ground3"])
        deadline = time.monotonic() + 60
        while machine.ticks < 100 and time.monotonic() < deadline:
            time.sleep(0.01)
    assert not machine.failure
    assert "ground3" in machine._sim._modes.wired
    assert -1e-9 < machine.state.q[0] < 0.02
    wires = [asked.wire for _, asked in machine.session.commands]
    assert wires[-1] in (("ground3",), ("ground0", "ground3"))  # the ball may have landed first
    machine.session.save(tmp_path / "s.npz")
    states = ph.replay(dyn, Session.load(tmp_path / "s.npz"))
    assert states[-1].u.tolist() == machine.state.u.tolist()
    with pytest.raises(KeyError, match="no constraint 'ground900'"):
        machine.make_ready(["ground900"])


def test_a_machine_that_gets_more_code_while_it_is_looked_ahead_of(balls, monkeypatch):
    """What bounces is then left to the next look; a thread that looks goes on."""
    machine = realtime(balls, [0.03] + [1e4] * 11)
    sight = Foresight(machine, horizon=0.1)
    sight.look()  # has the code of the first ball
    there = sight._copy._go
    readied = []

    def meanwhile(ticks):
        there(ticks)
        if not readied:
            readied.append("ground5")
            machine.make_ready(readied)

    monkeypatch.setattr(sight._copy, "_go", meanwhile)
    sight.look()
    assert any(e.kind == "bounces" and e.name == "ground0" for e in sight.look())
    monkeypatch.setattr(sight._copy, "ahead", lambda ticks: 1 / 0)
    sight.every = 1e-3
    with sight:
        deadline = time.monotonic() + 30
        while not sight.failure and time.monotonic() < deadline:
            time.sleep(0.01)
        assert sight._thread.is_alive()
    assert "ZeroDivisionError" in sight.failure
