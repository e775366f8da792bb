"""What happens at one time is one event, whatever it is and in whatever order it is said; against closed forms."""

from __future__ import annotations

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from machines import G, compiled

import polhode as ph

FALL = float(np.sqrt(2 / G))  # s, from a height of 1


def ball_and_carts(e: float = 0.5) -> Any:
    """A ball that falls, and carts x and y of masses 1 and 3 that a clutch may join, with a brake on each."""
    build = ph.Builder("at once")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("other", joint=ph.prismatic("x", name="y"), mass=3)
    build.contact("ball", restitution=e, name="ground")
    build.clutch("x_dot", "y_dot", name="clutch", active=False)
    build.brake("x_dot", name="brake", active=False)
    return compiled(build)


def run(*switches: Any, e: float = 0.5, **given: Any) -> Any:
    return ph.simulate(ball_and_carts(e), {"z": 1.0}, {"x_dot": 4.0}, 0.6, switches=list(switches), rtol=1e-11,
                       atol=1e-11, **given)  # fmt: skip


@pytest.mark.parametrize("late", [0.0, 2e-11, -2e-11])
def test_an_impact_and_a_switch_at_its_time_are_one_event(late: float) -> None:
    """The ball loses (1 - e^2) m g h, the carts 3/4 of 8 J: 1 * 4 = (1 + 3) * 1."""
    traj = run(ph.at(FALL + late, engage="clutch"))
    assert [event.why for event in traj.events] == ["start", f"closes, at {FALL + late:g} s"]
    met = traj.events[1]
    assert met.time == pytest.approx(FALL, abs=1e-10)
    assert set(met.what) == {"ground", "clutch"}
    assert met.lost == pytest.approx(0.75 * G + 6.0, abs=1e-8)
    assert met.impulses["ground.height"] == pytest.approx(1.5 * G * FALL, abs=1e-8)
    assert met.impulses["clutch"] == pytest.approx(-3.0, abs=1e-9)
    assert traj["x_dot"][-1] == pytest.approx(1.0, abs=1e-9)
    assert np.abs(traj.energy_drift).max() < 1e-8


def test_guards_that_pass_0_at_once_are_one_event_in_any_order() -> None:
    """x = 4 t and t pass 0.3 and 1.2 at one time."""
    switches = [
        ph.when("x > 1.2", engage="clutch"),
        ph.when("t > 0.3", engage="brake"),
        ph.at(0.3, engage="ground"),
    ]
    found = []
    for order in permutations(switches):
        traj = run(*order)
        assert len(traj.events) == 3  # the ball meets the ground later
        assert all(str(switch) in traj.events[1].why for switch in switches)
        found.append((traj.events[1].time, traj.events[1].what, traj.events[1].lost, *traj.u[-1]))
    assert {len(set(column)) for column in zip(*found, strict=True)} == {1}
    time, what, lost, _, x, y = found[0]
    assert time == pytest.approx(0.3, abs=1e-10)
    assert set(what) == {"clutch", "brake"}
    assert (lost, x, y) == pytest.approx((8.0, 0.0, 0.0), abs=1e-9)


def test_a_guard_and_an_impact_at_its_time_are_one_event() -> None:
    """x reaches 4 FALL as the ball meets the ground."""
    for e in (0.0, 0.5):
        traj = run(ph.when(f"x > {4 * FALL!r}", engage="clutch"), e=e)
        assert len(traj.events) == 2
        assert traj.events[1].why.startswith("closes, when x > ")
        assert traj.events[1].lost == pytest.approx((1 - e**2) * G + 6.0, abs=1e-8)


def test_an_impact_ends_a_run_that_waits_for_its_time() -> None:
    traj = ph.simulate(ball_and_carts(), {"z": 1.0}, {"x_dot": 4.0}, until=ph.when(f"x > {4 * FALL!r}"),
                       switches=ph.at(FALL, engage="brake"), rtol=1e-11, atol=1e-11)  # fmt: skip
    assert traj.outcome.finished
    assert len(traj.events) == 2
    assert set(traj.events[-1].what) == {"ground", "brake"}
    assert traj["x_dot"][-1] == pytest.approx(0.0, abs=1e-12)


def test_what_follows_at_a_later_time_stays_an_event_of_its_own() -> None:
    traj = run(ph.at(FALL + 1e-8, engage="clutch"))
    assert [event.why for event in traj.events[:2]] == ["start", "closes"]
    assert len(traj.events) == 3


@pytest.mark.parametrize("guard", ["1 / (x - 1)", "tan(x)", "-1 / (x - 1)"])
def test_a_guard_does_not_pass_0_at_a_pole(guard: str) -> None:
    """x = 4 t: 1 / (x - 1) is never 0, and tan(x) is at pi, not at pi / 2."""
    traj = run(ph.when(guard, engage="brake"), e=0.0)
    about = [event.time for event in traj.events.about("brake")]
    assert about == []
    traj = ph.simulate(ball_and_carts(0.0), {"z": 1.0}, {"x_dot": 4.0}, 1.0, switches=ph.when(guard, engage="brake"))
    about = [event.time for event in traj.events.about("brake")]
    assert about == (pytest.approx([np.pi / 4], abs=1e-8) if "tan" in guard else [])


def test_a_guard_that_jumps_through_0_counts() -> None:
    traj = run(ph.when("sign(x - 1)", engage="brake"), e=0.0)
    assert [event.time for event in traj.events.about("brake")] == pytest.approx([0.25], abs=1e-9)
