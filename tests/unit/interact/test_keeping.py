"""Sessions of everything that may be done to a machine: run again bit for bit, also from a file."""

import subprocess
import sys
import time

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Session, realtime, replay
from polhode.interact.commands import Command
from polhode.interact.fingerprint import fingerprint
from polhode.interact.messages import Message
from polhode.interact.table import Table
from polhode.simulate.switchboard import SwitchError
from tests.live import pendulum

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")


def arm(mass=None, length=1.0):
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    link = {"com": (0, 0, -0.5), "inertia": (0.08, 0.08, 0.001)}
    m = ph.symbol("m") if mass is None else mass
    build.body("upper", joint=ph.revolute("y", name="a", damping=0.1), mass=1, **link)
    build.body("lower", parent="upper", at=(0, 0, -length), joint=ph.revolute("y", name="b"), mass=m, **link)
    build.stop("b", lower=-1.5, upper=1.5, name="limit", restitution=0.3)
    build.contact("lower", name="floor", active=False)
    build.lock("b", name="elbow", active=False)
    build.brake("a_dot", name="brake", active=False, capacity=4)
    build.switch(when="b > 1.2 and b_dot > 0", engage="brake")
    build.switch(at=0.15, release="brake")
    return ph.formulate(build.build()).compile()


def same(machine, states):
    assert len(states) == machine.ticks + 1
    for part in ("t", "q", "u"):
        assert np.array_equal(getattr(states[-1], part), getattr(machine.state, part)), part


def everything(machine):
    """Do all that may be done to a machine, while it runs and while it is paused."""
    table = Table(machine)
    do = lambda **said: table.do("guest", Message(**said))  # noqa: E731
    machine.watchdog(0.03)
    machine.start()
    machine.control(lambda t, q, u: [0.3 * np.sin(40 * t), -u[1]], rate=300)
    do(action="grab", frame=2, point=(0, 0, -0.8))
    for k in range(30):
        do(action="drag", point=(0.5 + 0.01 * k, 0, -1.4))
        table.push()
        if k % 7 == 3:
            do(action="engage", name="elbow")
        if k % 7 == 6:
            do(action="release", name="elbow")
        if k == 12:
            do(action="parameter", name="m", value=1.4)
        if k == 15:
            machine.engage("floor")  # the elbow is below it: refused
        if k == 20:
            do(action="speed", value=0.5)
        time.sleep(0.004)
    do(action="drop")
    for controller in machine._controllers:
        controller.stop()
    time.sleep(0.08)  # the watchdog lets go
    do(action="pause")
    while machine._thread is not None and machine._block.ask == 0:
        time.sleep(0.001)
    time.sleep(0.05)
    do(action="engage", name="brake")
    do(action="step")
    with pytest.raises(ValueError, match=r"would have no mass"):
        do(action="parameter", name="m", value=-5.0)
    do(action="release", name="brake")
    machine.step(20)
    do(action="input", name="b_dot", value=2.0)
    do(action="play")
    time.sleep(0.03)
    machine.stop()


def test_whatever_is_done_is_done_again_also_from_a_file(tmp_path):
    dyn = arm()
    machine = realtime(dyn, {"a": 0.5, "b": 1.0}, p={"m": 1.0}, tau={"a_dot": "-0.5*a_dot"})
    everything(machine)
    assert not machine.failure
    assert machine.stale >= 1
    assert "floor" in machine.refused
    session = machine.session
    same(machine, replay(dyn, session))
    session.save(tmp_path / "s.npz")
    again = Session.load(tmp_path / "s.npz")
    assert again.commands == session.commands
    same(machine, replay(arm(), again))
    changed = np.array(again.inputs)
    changed[len(changed) // 2 :] += 1e-3  # the test could not fail otherwise
    other = replay(dyn, Session(**{name: getattr(again, name) for name in again.__slots__} | {"inputs": changed}))
    assert not np.array_equal(other[-1].u, machine.state.u)


def test_commands_that_wait_where_it_is_paused_come_before_those_at_once():
    dyn = arm(1.0)
    machine = realtime(dyn, [0.5, 1.0])
    machine.step(10)
    for k in range(7):  # more than a tick takes
        machine._commands.send(Command(engage=() if k % 2 else ("elbow",), release=("elbow",) if k % 2 else ()))
    machine.release("elbow")
    assert machine.mode["elbow"] == "released"
    machine._commands.send(Command(engage=("brake",), release=()))
    machine.engage("elbow")
    machine.step(30)
    assert machine.mode["elbow"] == "engaged"
    assert len(machine.session.commands) == 10
    same(machine, replay(dyn, machine.session))


def test_what_was_refused_is_refused_again():
    dyn = arm(1.0)
    machine = realtime(dyn, [0.5, 1.0])
    machine.step(10)
    with pytest.raises(SwitchError):
        machine.engage("floor")
    machine.step(10)
    assert [asked.engage for _, asked in machine.session.commands] == [("floor",)]
    same(machine, replay(dyn, machine.session))


def test_laws_and_numbers_are_kept_to_the_last_bit(tmp_path):
    dyn = arm(1.0)
    a, a_dot = ph.symbol("a"), ph.symbol("a_dot")
    for tau in ({"a_dot": 0.1 - 3 * ph.sin(a) / 7 * a_dot, "b_dot": 1 / 3}, [0.1, 0.2], None):
        machine = realtime(dyn, np.array([1 / 3, 0.7]), {"b_dot": 0.1}, tau=tau)
        machine.step(50)
        machine.session.save(tmp_path / "s.npz")
        same(machine, replay(dyn, Session.load(tmp_path / "s.npz")))


def test_a_session_of_another_model_is_refused(tmp_path):
    machine = realtime(arm(1.0))
    machine.step(3)
    assert fingerprint(arm(1.0)) == fingerprint(machine.dynamics) == machine.session.model
    for other in (arm(1.1), arm(), arm(1.0, length=1.01)):
        with pytest.raises(ValueError, match="session is of another model"):
            replay(other, machine.session)
    (tmp_path / "not.npz").write_bytes(b"PK no")
    with pytest.raises(ValueError, match=r"is no session, expected a file that session\.save wrote"):
        Session.load(tmp_path / "not.npz")
    np.savez(tmp_path / "not.npz", at=np.zeros(1), told=np.array([{}], dtype=object))
    with pytest.raises(ValueError, match="is no session"):
        Session.load(tmp_path / "not.npz")
    with pytest.raises(FileNotFoundError, match="no such file"):
        Session.load(tmp_path / "none.npz")


def test_the_fingerprint_is_the_same_in_every_process():
    code = "from tests.unit.interact.test_keeping import arm, fingerprint; print(fingerprint(arm(1.0)))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=300)
    assert done.stdout.strip() == fingerprint(arm(1.0))


def test_polhode_replay_ends_where_the_machine_was(tmp_path):
    path = pendulum(tmp_path)
    dyn = ph.formulate(ph.load(path)).compile()
    machine = realtime(dyn, [0.4, 0.2], tau={"elbow_dot": "-elbow"})
    machine.step(40)
    machine.engage("brake")
    machine.step(60)
    machine.session.save(tmp_path / "s.npz")
    words = [
        sys.executable,
        "-m",
        "polhode",
        "replay",
        path,
        "--session",
        tmp_path / "s.npz",
        "--csv",
        tmp_path / "s.csv",
    ]
    done = subprocess.run(words, capture_output=True, text=True, check=True, timeout=300)
    assert "100 ticks" in done.stdout
    table = np.loadtxt(tmp_path / "s.csv", delimiter=",", skiprows=1)
    assert table.shape == (101, 5)
    assert table[-1].tolist() == [machine.state.t, *machine.state.q, *machine.state.u]
    done = subprocess.run([*words[:-3], path], capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 1
    assert "is no session" in done.stderr
