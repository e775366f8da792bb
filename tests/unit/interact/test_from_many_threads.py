"""Whoever starts, stops, steps and resets a machine, from several threads or at any speed, spoils nothing."""

import gc
import random
import sys
import threading
import time
import weakref
from dataclasses import replace

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Link, Scripted, coupler, realtime, replay
from polhode.interact.lateness import Lateness
from polhode.interact.ticking import BINS, _loaded, entry

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")


def two():
    """Two masses, one of which may be locked."""
    build = ph.Builder("two", gravity=(0, 0, 0))
    for name in "xy":
        build.body(name, joint=ph.prismatic("x", name=name), mass=2)
    build.lock("x", name="lock", active=False)
    return ph.formulate(build.build()).compile()


def ends(call):
    """Whether a call ends within half a minute."""
    thread = threading.Thread(target=call, daemon=True)
    thread.start()
    thread.join(30)
    return not thread.is_alive()


def test_threads_that_start_step_reset_and_stop_at_once_spoil_nothing():
    dyn = two()
    rt, until = realtime(dyn), time.monotonic() + 0.5
    odd = []

    def hammer(seed):
        draw = random.Random(seed)
        asked = {
            "start": rt.start, "pause": rt.pause, "stop": rt.stop, "reset": rt.reset, "step": lambda: rt.step(3),
            "engage": lambda: rt.engage("lock"), "release": lambda: rt.release("lock"), "session": lambda: rt.session,
            "tau": lambda: setattr(rt, "tau", {"x_dot": draw.uniform(-1, 1)}),
        }  # fmt: skip
        while time.monotonic() < until:
            what = draw.choice(list(asked))
            try:
                asked[what]()
            except RuntimeError as error:
                if "Pause it first" not in str(error):
                    odd.append((what, str(error)))
            except Exception as error:
                odd.append((what, repr(error)))

    threads = [threading.Thread(target=hammer, args=(k,), daemon=True) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    assert not any(thread.is_alive() for thread in threads)
    assert not odd
    assert ends(rt.stop)
    assert not rt.failure
    rt.step(5)  # it still goes
    last = replay(dyn, rt.session)[-1]
    assert np.array_equal(last.u, rt.state.u)
    assert last.t == rt.state.t


def test_a_pause_does_not_undo_a_stop():
    rt = realtime(two())
    rt.start()
    thread = rt._thread
    with rt._wake:
        rt._ask("ended")
        rt.pause()  # as of a controller that fails just then
    thread.join(30)
    assert not thread.is_alive()
    rt.start()
    assert rt.running
    rt.stop()


def test_a_machine_in_very_slow_motion_stops_at_once_and_hurries_when_it_may():
    rt = realtime(two())
    rt.speed = 1e-6  # a tick in 1000 s
    rt.start()
    time.sleep(0.05)
    assert ends(rt.stop)
    assert rt.ticks == 0
    rt.start()
    time.sleep(0.05)
    rt.speed = 1.0
    until = time.monotonic() + 30
    while rt.ticks < 3 and time.monotonic() < until:
        time.sleep(0.01)
    assert rt.ticks >= 3
    rt.stop()


@pytest.mark.parametrize("speed", [1e7, 1e300, 1e-16])
def test_a_speed_without_a_period_is_refused(speed):
    rt = realtime(two())
    with pytest.raises(ValueError, match="expected 1 ns to 70 years"):
        rt.speed = speed
    assert rt.speed == 1.0
    rt.step()


def test_steps_without_the_clock_miss_no_deadline(monkeypatch):
    """Whatever else the computer does between two of them."""
    rt, now = realtime(two(), overrun="stop"), time.monotonic_ns
    monkeypatch.setattr("polhode.interact.loop.time.monotonic_ns", lambda: now() - 10_000_000)
    rt.step(20)
    assert (rt.ticks, rt.failure, rt.lateness.missed) == (20, "", 0)


def test_the_loop_is_kept_by_those_who_call_it():
    """Two threads at once may have made two, of which the cache keeps one."""
    ticks, _ = entry()
    code = weakref.ref(_loaded())
    _loaded.cache_clear()
    gc.collect()
    assert code() is not None
    assert ticks is not None


def test_what_the_watchdog_let_go_does_not_come_back_with_other_forces():
    rt = realtime(two(), tau={"y_dot": 1.0})
    rt.watchdog(0.01)
    rt.tau = {"x_dot": 2.0, "y_dot": 100.0}
    assert rt.tau.tolist() == [2.0, 100.0]
    rt.step(30)
    assert rt.stale == 1
    assert rt.tau.tolist() == [0.0, 1.0]
    rt.tau = {"x_dot": 2.0}
    assert rt.tau.tolist() == [2.0, 1.0]
    before = rt.state.u
    rt.step(5)
    np.testing.assert_allclose(rt.state.u - before, [5e-3, 2.5e-3], rtol=1e-9)


@pytest.mark.parametrize(("speed", "ticks"), [(0.1, 10), (1.0, 100), (10.0, 1000)])
def test_the_watchdog_goes_by_the_clock_whatever_the_speed(speed, ticks):
    """0.1 s of the clock is as many ticks as it takes then."""
    for first in (True, False):
        rt = realtime(two())
        for do in (lambda: rt.watchdog(0.1), lambda: setattr(rt, "speed", speed))[:: 1 if first else -1]:  # noqa: B023
            do()
        rt.tau = {"x_dot": 1.0}
        rt.step(ticks - 1)
        assert rt.stale == 0
        rt.step(2)
        assert rt.stale == 1


def test_a_link_that_ends_leaves_the_watchdog_of_others():
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2)
    held = coupler(build.build(), "sledge", stiffness=100, damping=0.2)
    rt = realtime(ph.formulate(held.model).compile())
    rt.watchdog(0.1)
    hand = Scripted(lambda t: (0, 0, 0), damping=2.0)
    with Link(rt, held, hand):
        assert rt._block.patience == 100
    assert rt._block.patience == 100
    rt.watchdog(0)
    links = [Link(rt, held, hand) for _ in range(2)]
    for link in links:
        link.start()
    links[0].stop()
    assert rt._block.patience == 250  # of the other one
    links[1].stop()
    assert rt._block.patience == 0


def test_a_controller_without_a_return_is_said():
    rt = realtime(two())
    rt.control(lambda t, q, u: None, rate=200)
    until = time.monotonic() + 30
    while not rt.failure and time.monotonic() < until:
        time.sleep(0.01)
    assert "it gave None, expected tau" in rt.failure
    rt.stop()


def test_forces_on_a_law_are_refused_by_name():
    rt = realtime(two(), tau={"x_dot": "-3*x_dot"})
    with pytest.raises(ValueError, match=r"tau: 'x_dot' follows a law, -3\*x_dot"):
        rt.tau = {"x_dot": 1.0}
    rt.tau = {"y_dot": 1.0}
    rt.tau = [0.0, 2.0]  # of all
    rt.step(10)
    np.testing.assert_allclose(rt.state.u, [0, 0.01], atol=1e-12)


def test_lateness_beyond_the_last_bin_is_as_late_as_it_was():
    class Block:
        ticks, worst, busy_worst, missed, busy = 10, int(2e8), int(1e3), 0, 1000

    bins, spans = np.zeros(BINS, dtype=np.int64), np.zeros(BINS, dtype=np.int64)
    bins[-1], spans[0] = 10, 10
    late = Lateness.of(bins, spans, Block, 1e-3, "")
    assert late.p50 == late.p99 == late.worst == 0.2
    assert late.told["late"] == [0.2, 0.2]
    assert "0 deadlines missed" in str(late)
    assert "1 deadline missed" in str(replace(late, missed=1))


def test_what_fails_between_two_ticks_is_said_and_the_machine_stands_still():
    rt = realtime(two())
    rt.start()
    with rt._wake:
        rt._between(lambda: 1 / 0)
    until = time.monotonic() + 30
    while rt.running and time.monotonic() < until:
        time.sleep(0.01)
    assert not rt.running
    assert rt.failure.startswith("ZeroDivisionError")
    assert ends(rt.stop)
