"""No crossing within a step is missed that a guard's own rate shows; what happens at once, happens once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import G, compiled

import polhode as ph

LONG = {"method": "dop853", "rtol": 1e-6, "atol": 1e-6}


def oscillator(**contact: Any) -> Any:
    """A mass on a spring, z'' = -z: the step of an adaptive method is long."""
    build = ph.Builder("mass", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("z", name="z", stiffness=1.0), mass=1.0)
    if contact:
        build.marker("floor", body="world", at=(0, 0, contact.pop("at")))
        build.contact("mass", "floor", **contact, name="floor")
    return compiled(build)


@pytest.mark.parametrize("phase", np.linspace(0.05, 0.95, 10))
def test_a_gap_that_is_grazed_by_1e_6_within_a_long_step_is_seen(phase: float) -> None:
    """z = cos(t + phase) has its least value -1 at pi - phase; the floor is 1e-6 above that: 10 of 10."""
    deep = 1e-6
    traj = ph.simulate(oscillator(at=-1 + deep, restitution=1.0), {"z": np.cos(phase)}, {"z_dot": -np.sin(phase)}, 4.0,
                       output="steps", rtol=1e-9, atol=1e-9)  # fmt: skip
    assert np.diff(traj.t).max() > 0.2
    struck = [event.time for event in traj.events if event.why == "closes"]
    assert len(struck) == 1
    assert struck[0] == pytest.approx(np.arccos(-1 + deep) + np.pi * 0 - phase, abs=1e-7)


@pytest.mark.parametrize("deep", [1e-3, 1e-6])
def test_a_guard_that_is_crossed_twice_in_a_step_is_met_twice(deep: float) -> None:
    """It falls below 0 and comes back before the step ends: both are switches."""
    build = ph.Builder("mass", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("z", name="z", stiffness=1.0), mass=1.0)
    build.body("other", joint=ph.prismatic("x", name="x"), mass=1.0)
    build.brake("x_dot", name="brake", active=False)
    dyn = compiled(build)
    z = ph.symbol("z")
    guard = z + 1 - deep
    switches = [ph.when(guard, -1, engage="brake"), ph.when(guard, +1, release="brake")]
    traj = ph.simulate(dyn, {"z": np.cos(0.3)}, {"z_dot": -np.sin(0.3), "x_dot": 1.0}, 4.0, switches=switches,
                       output="steps", rtol=1e-9, atol=1e-9)  # fmt: skip
    half = np.arccos(1 - deep)
    assert traj.events.times[1:] == pytest.approx([np.pi - 0.3 - half, np.pi - 0.3 + half], abs=1e-7)
    assert list(traj.mode["brake"][[0, -1]]) == ["released", "released"]


@pytest.mark.parametrize(("speed", "expected"), [(1.0, [np.pi]), (-1.0, [np.pi])])
def test_a_guard_that_starts_at_0_is_met_when_it_comes_back(speed: float, expected: list[float]) -> None:
    """sin t: at its start it only leaves 0."""
    build = ph.Builder("mass", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("z", name="z", stiffness=1.0), mass=1.0)
    build.lock("z", name="lock", active=False)
    traj = ph.simulate(compiled(build), {"z": 0.0}, {"z_dot": speed}, 5.0, switches=ph.when("z", engage="lock"),
                       rtol=1e-11, atol=1e-11)  # fmt: skip
    assert traj.events.times[1:] == pytest.approx(expected, abs=1e-9)
    assert traj["z"][-1] == pytest.approx(0, abs=1e-9)


def test_a_contact_that_starts_at_0_and_leaves_is_met_when_it_comes_back() -> None:
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=0.5, name="floor")
    traj = ph.simulate(compiled(build), {"z": 0.0}, {"z_dot": 2.0}, 1.0)
    assert traj.events.times[1:3] == pytest.approx([4.0 / G, 6.0 / G], abs=1e-10)


def test_only_the_way_that_was_asked_for_counts() -> None:
    """sin t passes 0 upwards at 2 pi, downwards at pi and 3 pi."""
    dyn = oscillator()
    for way, expected in ((+1, [2 * np.pi]), (-1, [np.pi, 3 * np.pi])):
        sim = ph.Simulation(dyn, {"z": 0.0}, {"z_dot": 1.0}, rtol=1e-11, atol=1e-11)
        met = []
        for _ in expected:
            sim.run(ph.when("z", way))
            met.append(sim.t)
        assert met == pytest.approx(expected, abs=1e-9)


def two_balls(**first: Any) -> Any:
    build = ph.Builder("balls", gravity=(0, 0, -G))
    for name in ("a", "b"):
        build.body(name, joint=ph.prismatic("z", name=name), mass=1)
        build.contact(name, restitution=0.5, name=f"floor {name}")
    build.clutch("a_dot", "b_dot", name="clutch", active=False)
    return compiled(build)


def test_two_contacts_that_close_at_once() -> None:
    """Two balls that fall from one height: each bounces as it does alone."""
    traj = ph.simulate(two_balls(), {"a": 1.0, "b": 1.0}, t_end=0.8, rtol=1e-11, atol=1e-11)
    alone = ph.simulate(two_balls(), {"a": 1.0, "b": 5.0}, t_end=0.8, rtol=1e-11, atol=1e-11)
    assert traj["a"][-1] == pytest.approx(traj["b"][-1], abs=1e-10)
    assert traj["a"][-1] == pytest.approx(alone["a"][-1], abs=1e-10)
    assert traj.events.times[1:] == pytest.approx(np.sqrt(2 / G), abs=1e-10)
    lost = sum(event.lost for event in traj.events)
    assert lost == pytest.approx(2 * 0.75 * G, abs=1e-9)


def test_a_switch_at_the_time_of_an_impact() -> None:
    """The clutch engages as one ball lands: whichever comes first, energy falls and speeds are one afterwards."""
    lands = float(np.sqrt(2 / G))
    switch = ph.at(lands, engage="clutch")
    traj = ph.simulate(two_balls(), {"a": 1.0, "b": 2.0}, t_end=lands + 0.01, switches=switch, rtol=1e-11, atol=1e-11)
    assert traj.u[-1][0] == pytest.approx(traj.u[-1][1], abs=1e-12)
    assert {name for event in traj.events for name in event.what} >= {"floor a", "clutch"}
    assert traj.events.times[1:] == pytest.approx(lands, abs=1e-9)
    assert all(event.lost >= -1e-12 for event in traj.events)
    assert traj["a"].min() >= -1e-9


def test_switches_at_one_time_are_one_event() -> None:
    """Engaged one after the other the second would find what the first left; at once, both hold at once."""
    build = ph.Builder("masses", gravity=(0, 0, 0))
    for i, mass in enumerate((1.0, 2.0, 3.0)):
        build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=mass)
    build.clutch("x0_dot", "x1_dot", name="first", active=False)
    build.clutch("x1_dot", "x2_dot", name="second", active=False)
    build.brake("x0_dot", name="brake")
    switches = [ph.at(1.0, engage="first"), ph.at(1.0, engage="second"), ph.at(1.0, release="brake")]
    traj = ph.simulate(compiled(build), None, {"x1_dot": 3.0, "x2_dot": 2.0}, 2.0, switches=switches)
    assert traj.events.times == pytest.approx([0, 1.0])
    assert set(traj.events[1].what) == {"first", "second", "brake"}
    assert traj.u[-1] == pytest.approx([2.0, 2.0, 2.0], abs=1e-12)  # (2 * 3 + 3 * 2) / 6


@pytest.mark.parametrize("deep", [1e-3, 1e-6])
def test_a_guard_that_counts_on_its_way_back_within_a_step(deep: float) -> None:
    dyn = oscillator()
    sim = ph.Simulation(dyn, {"z": np.cos(0.3)}, {"z_dot": -np.sin(0.3)}, rtol=1e-9, atol=1e-9)
    sim.run(ph.when(ph.symbol("z") + 1 - deep, +1))
    assert sim.t == pytest.approx(np.pi - 0.3 + np.arccos(1 - deep), abs=1e-7)


@pytest.mark.parametrize("name", ["lock", "brake", "clutch"])
def test_what_holds_from_the_start_can_be_released(name: str) -> None:
    """Declared as active, without a capacity."""
    build = ph.Builder("two", gravity=(0, 0, 0))
    for each in ("x", "y"):
        build.body(each, joint=ph.prismatic(each, name=each), mass=1.0)
    given = {"lock": ("x",), "brake": ("x_dot",), "clutch": ("x_dot", "y_dot")}[name]
    getattr(build, name)(*given, name="held")
    sim = ph.Simulation(compiled(build), None, None, tau={"x_dot": 1.0})
    sim.run(1.0)
    expected = 0.5 if name == "clutch" else 0.0
    assert sim.u[0] == pytest.approx(expected, abs=1e-12)
    sim.release("held")
    sim.run(2.0)
    assert sim.u[0] == pytest.approx(expected + 1.0, abs=1e-12)
