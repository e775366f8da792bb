"""The loop in real time: what it computes, taken tick by tick, and what goes in and out while it runs."""

import ctypes
import errno
import os
import sys
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Realtime, realtime, replay
from polhode.interact.ticking import OVERRUN

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")


def cart(brake=True):
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    pole = {"mass": 0.5, "com": (0, 0, 0.5), "inertia": (0.01, 0.01, 0.01)}
    build.body("pole", parent="cart", joint=ph.revolute("y", name="th"), **pole)
    if brake:
        build.brake("x_dot", name="brake", active=False)
    return ph.formulate(build.build()).compile()


def slider():
    """A mass that moves at 2 m/s for ever: its place says when it was there."""
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", ["rk4", "midpoint", "euler", "moreau"])
def test_ticks_are_steps_of_the_method(method):
    dyn = cart(brake=False)
    machine = realtime(dyn, {"th": 0.2}, method=method, rate=500, tau={"x_dot": 0.3})
    machine.step(400)
    run = ph.simulate(dyn, {"th": 0.2}, t_end=0.8, method=method, step=1 / 500, tau={"x_dot": 0.3})
    state = machine.state
    assert state.t == pytest.approx(0.8)
    assert np.array_equal(state.q, run.q[-1])
    assert np.array_equal(state.u, run.u[-1])


def test_forces_act_from_the_next_tick():
    machine = realtime(slider(), method="rk4")
    machine.step(3)
    machine.tau = {"x_dot": 2.0}
    machine.step(5)
    assert machine.state.u == pytest.approx([5 * 2.0 / 1000])
    assert machine.tau.tolist() == [2.0]


def test_constraints_are_engaged_between_ticks():
    machine = realtime(cart(), {"th": 0.2}, method="rk4")
    machine.step(100)
    assert machine.state.u[0] != 0
    machine.engage("brake")
    machine.step(100)
    assert machine.state.u[0] == pytest.approx(0, abs=1e-12)
    machine.release("brake")
    machine.step(100)
    assert machine.state.u[0] != pytest.approx(0, abs=1e-3)


@pytest.mark.parametrize("method", ["rk4", "moreau"])
def test_a_session_replays_bit_for_bit(method):
    dyn = cart()
    machine = realtime(dyn, {"th": 0.2}, method=method)
    draw = np.random.default_rng(1)
    machine.start()
    for k in range(6):
        machine.tau = {"x_dot": draw.uniform(-1, 1)}
        time.sleep(0.02)
        (machine.engage if k % 2 else machine.release)("brake")
    machine.stop()
    states = replay(dyn, machine.session)
    assert len(states) == machine.ticks + 1 > 2
    assert states[-1].t == machine.state.t
    assert np.array_equal(states[-1].q, machine.state.q)
    assert np.array_equal(states[-1].u, machine.state.u)


def test_a_state_is_of_one_moment():
    """Read by others while it runs, as fast as they can: never half of one tick and half of the next."""
    machine = realtime(slider(), u0=[2.0], rate=5000, method="euler")
    faults, done = [], threading.Event()

    def watch():
        while not done.is_set():
            state = machine.state
            if abs(state.q[0] - 2 * state.t) > 1e-9:
                faults.append(state)

    readers = [threading.Thread(target=watch) for _ in range(2)]
    with machine:
        for reader in readers:
            reader.start()
        time.sleep(0.3)
        done.set()
        for reader in readers:
            reader.join()
    assert machine.ticks > 0
    assert not faults


def test_pause_reset_and_speed():
    machine = realtime(slider(), u0=[2.0], method="rk4")
    machine.start()
    while machine.ticks == 0:
        time.sleep(0.01)
    machine.pause()
    time.sleep(0.02)
    at = machine.ticks
    time.sleep(0.03)
    assert machine.ticks == at
    assert not machine.running
    machine.speed = 0.5
    assert machine.speed == 0.5
    machine.reset()
    assert machine.ticks == 0
    assert machine.state.q.tolist() == [0.0]
    machine.step()
    assert machine.state.q == pytest.approx([0.002])


def test_lateness_is_counted():
    machine = realtime(slider(), method="rk4")
    assert "not started" in str(machine.lateness)
    with machine:
        time.sleep(0.05)
    late = machine.lateness
    assert late.ticks == machine.ticks > 0
    assert 0 <= late.p50 <= late.p99 <= late.worst
    assert 0 < late.busy <= late.busy_worst
    assert "SCHED_FIFO" in late.rights


def test_it_runs_without_rights_and_says_so(monkeypatch):
    """Where nobody may ask for a scheduler of its own, and no memory may be locked."""

    def refused(*_):
        raise PermissionError(errno.EPERM, os.strerror(errno.EPERM))

    library = SimpleNamespace(mlockall=lambda _: -1, munlockall=lambda: 0)
    fake = SimpleNamespace(CDLL=lambda *_, **__: library, get_errno=lambda: errno.EPERM)
    monkeypatch.setattr("polhode.interact.privileges.ctypes", fake)
    monkeypatch.setattr(os, "sched_setscheduler", refused)
    machine = realtime(slider(), method="rk4")
    with machine:
        time.sleep(0.05)
    assert machine.ticks > 0
    assert str(machine.lateness).endswith(
        "no SCHED_FIFO (Operation not permitted), memory not locked (Operation not permitted)"
    )


def test_other_systems_are_told_what_they_lack(monkeypatch):
    dyn = slider()
    monkeypatch.setattr("polhode.interact.loop.sys.platform", "darwin")
    with pytest.raises(RuntimeError, match=r"realtime: deadlines .* of Linux, and this is darwin. Use Linux"):
        realtime(dyn)


@pytest.mark.parametrize(("policy", "missed"), [("slow", 4), ("skip", 4), ("stop", 4)])
def test_deadlines_that_are_missed(policy, missed):
    """A deadline that was four and a half periods ago, as if the loop had slept."""
    machine = Realtime(slider(), 1000, policy, {"u0": [2.0], "method": "rk4", "step": 1e-3})
    block, period = machine._block, machine._block.period
    now = time.monotonic_ns()
    block.next, block.ask, block.left = now - 4 * period - period // 2, 0, 1
    code = machine._ticks(ctypes.addressof(block))
    assert block.missed >= missed
    assert (code == OVERRUN) == (policy == "stop")
    if policy == "skip":  # in phase with the deadline before
        assert (block.next - now + period // 2) % period == 0
    if policy == "slow":
        assert block.next >= now + period


def test_a_tick_that_was_not_taken_is_not_waited_for():
    """After a stop, and after a failure that was mended, readers find the machine between two ticks."""
    machine = realtime(slider(), method="rk4", overrun="stop")
    machine.step(3)
    machine._block.next, machine._block.ask = time.monotonic_ns() - 10 * machine._block.period, 0
    assert not machine._came_back(machine._ticks(ctypes.addressof(machine._block)))
    machine._block.ask = 1
    assert "a deadline was missed" in machine.failure
    assert machine.begun == machine.ticks == 3
    machine.tau = [1.7e308]
    machine.step(2000)
    assert "infinite" in machine.failure
    machine.tau = [0.0]
    before = machine.ticks
    machine.step(2)
    assert machine.begun == machine.ticks >= before


def test_a_controller_in_python_beside_the_loop():
    """A servo at 200 Hz that holds the mass at 0.1 m."""
    machine = realtime(slider(), method="rk4")
    machine.control(lambda t, q, u: [100 * (0.1 - q[0]) - 20 * u[0]], rate=200)
    with machine:
        time.sleep(1.0)
    assert machine.state.t > 0
    assert machine.failure == ""
    assert abs(machine.tau[0]) < 50
    machine = realtime(slider(), method="rk4")
    machine.start()
    machine.control(lambda t, q, u: 1 / 0, rate=200)
    time.sleep(0.1)
    assert "The controller raised ZeroDivisionError" in machine.failure
    machine.stop()


def test_a_machine_does_not_start_without_a_controller_that_failed():
    machine = realtime(slider(), method="rk4")
    machine.control(lambda t, q, u: 1 / 0, rate=200)
    deadline = time.monotonic() + 30
    while not machine.failure:
        assert time.monotonic() < deadline
        time.sleep(0.01)
    with pytest.raises(RuntimeError, match=r"start: The controller raised ZeroDivisionError .* Call stop\(\)"):
        machine.start()
    assert not machine.running
    machine.stop()
    with machine:  # as it was asked to be, without any
        time.sleep(0.02)
    assert machine.ticks > 0


def test_what_cannot_be_is_refused():
    dyn = slider()
    with pytest.raises(ValueError, match="rate is 0, expected ticks a second"):
        realtime(dyn, rate=0)
    with pytest.raises(ValueError, match=r"overrun is 'wait', expected one of 'slow', 'skip', 'stop'"):
        realtime(dyn, overrun="wait")
    with pytest.raises(ValueError, match="method is 'dop853', expected one of fixed step"):
        realtime(dyn, method="dop853")
    with pytest.raises(TypeError, match=r"rt\.control"):
        realtime(dyn, tau=lambda t, q, u: [0])
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball")
    falling = ph.formulate(build.build()).compile()
    with pytest.raises(ValueError, match=r'comes and goes by itself.*Use method="moreau"'):
        realtime(falling, method="rk4")
    machine = realtime(falling, {"z": 0.1})
    machine.step(1000)
    assert machine.state.q == pytest.approx([0], abs=1e-6)  # it lies there
    with pytest.raises(KeyError, match="y_dot"):
        machine.tau = {"y_dot": 1}
    with pytest.raises(ValueError, match="speed is -1, expected a number above 0"):
        machine.speed = -1
    with pytest.raises(ValueError, match="ticks is 0"):
        machine.step(0)


def slow():
    """Balls that lie on the ground: a step takes longer than 10 us, which is a period at 100 kHz."""
    build = ph.Builder("balls", gravity=(0, 0, -9.81))
    for k in range(40):
        build.body(f"ball{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1)
        build.contact(f"ball{k}", name=f"ground{k}")
    return ph.formulate(build.build()).compile()


def test_a_step_that_takes_longer_than_a_period():
    """It is refused; where it is had all the same, each policy does as it says, and all is counted."""
    dyn, rate = slow(), 100_000
    with pytest.raises(ValueError, match=r"a step.* takes.* and a period is 10 us"):
        realtime(dyn, rate=rate)
    for policy in ("slow", "skip", "stop"):
        machine = Realtime(dyn, rate, policy, {"method": "moreau", "step": 1 / rate}, record=False)
        began = time.monotonic()
        machine.start()
        while machine.ticks < 2000 and not machine.failure and time.monotonic() < began + 60:
            time.sleep(0.01)
        machine.stop()
        took, late = time.monotonic() - began, machine.lateness
        assert late.missed > 0
        assert late.p50 <= late.p99 <= late.p999 <= late.worst
        assert late.busy <= late.busy_worst
        assert late.busy_p999 <= late.busy_worst
        assert "99.9 %" in str(late)
        assert f"{late.missed:,} deadlines missed" in str(late)
        if policy == "stop":
            assert "a deadline was missed by a period or more" in machine.failure
            assert not machine.running
            continue
        assert not machine.failure
        assert late.busy > 1 / rate
        assert machine.state.t == pytest.approx(machine.ticks / rate)
        assert machine.state.t < took  # behind the clock
        if policy == "skip":  # in phase: deadlines that were kept, and those left out, are all that there were
            assert late.ticks + late.missed <= rate * took
            assert late.ticks + late.missed >= 0.5 * late.busy * late.ticks * rate


def test_how_long_ticks_take_is_counted_one_by_one():
    machine = realtime(slider(), method="rk4", record=False)
    machine.step(500)
    assert int(machine._spans.sum()) == int(machine._bins.sum()) == 500


def test_what_comes_after_a_pause_waits_for_the_tick_in_hand():
    """Ticks of 50 ms, one of which is in hand when the machine is paused: it is not done beside those that follow."""
    machine = realtime(slider(), u0=[2.0], rate=20)
    machine.start()
    while not machine.ticks:
        time.sleep(0.001)
    machine.pause()
    machine.step(3)
    done, state = machine.ticks, machine.state
    assert done in (4, 5)
    time.sleep(0.12)
    assert (machine.ticks, machine.state.t) == (done, state.t)
    last = replay(machine.dynamics, machine.session)[-1]
    assert last.t == state.t
    assert (last.q == state.q).all()
