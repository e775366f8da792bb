"""Motion that is simple takes long steps: what passes 0 within one is seen all the same, and first the first."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import compiled
from scipy.optimize import brentq

import polhode as ph

METHODS = [("dop853", {}), ("dopri5", {}), ("rodas5p", {}), ("rk4", {"step": 0.25})]


def blade() -> Any:
    """A blade of 1 m turns and sinks evenly: its tip is at z - sin(a)."""
    build = ph.Builder("blade", gravity=(0, 0, 0))
    build.body("hub", joint=ph.prismatic("z", name="z"), mass=1)
    build.body("blade", parent="hub", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.1, 0.1, 0.1))
    build.marker("tip", body="blade", at=(1, 0, 0))
    build.contact("tip", name="ground", restitution=1)
    return compiled(build)


def slider() -> Any:
    """A mass that moves evenly, and one at rest whose brake is switched."""
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("other", joint=ph.prismatic("y", name="y"), mass=1)
    build.brake("y_dot", name="brake", active=False)
    return compiled(build)


@pytest.mark.parametrize("turns", [3.0, 30.0])
@pytest.mark.parametrize(("method", "given"), METHODS)
def test_the_tip_of_a_turning_blade_does_not_go_through_the_ground(method: str, given: Any, turns: float) -> None:
    def height(t: Any) -> Any:
        return 1.5 - 0.1 * t - np.sin(turns * t)

    t = np.arange(0, 8, 0.01 / turns)
    k = int(np.argmax(height(t) < 0))
    touches = brentq(height, t[k - 1], t[k], xtol=1e-15)
    traj = ph.simulate(blade(), {"z": 1.5}, {"z_dot": -0.1, "a_dot": turns}, touches + 1e-3, method=method, **given)
    assert traj.events[1].what == ("ground",)
    assert traj.events[1].time == pytest.approx(touches, abs=1e-8)


@pytest.mark.parametrize(("clear", "touches"), [(1e-6, False), (-1e-6, True)])
def test_a_tip_that_grazes(clear: float, touches: bool) -> None:
    traj = ph.simulate(blade(), {"z": 1 + clear, "a": 0.1}, {"a_dot": 2.0}, 0.5 * (np.pi / 2 + 0.5))
    assert (len(traj.events) > 1) == touches
    if touches:
        assert traj.events[1].time == pytest.approx((np.arcsin(1 + clear) - 0.1) / 2, abs=1e-9)


@pytest.mark.parametrize(
    ("guard", "first"),
    [
        ("sin(40*t)", np.pi / 40),
        ("sin(40*x)", np.pi / 40),
        ("sin(1000*t)", 4 * np.pi / 1000),
        ("sin(7*t) - 0.9999", np.arcsin(0.9999) / 7),
        ("x > 0.5001 and x < 0.5002", 0.5001),
        ("abs(x - 0.5) < 1e-4", 0.4999),
    ],
)
@pytest.mark.parametrize(("method", "given"), METHODS)
def test_the_first_of_many_crossings_in_a_step(method: str, given: Any, guard: str, first: float) -> None:
    start = {"q0": {"x": 0.01}, "u0": {"x_dot": 1.0}, "t0": 0.01}
    traj = ph.simulate(slider(), t_end=1.0, until=ph.when(guard), method=method, **start, **given)
    assert traj.t[-1] == pytest.approx(first, abs=1e-12)


def test_all_crossings_of_a_step_are_met_in_order() -> None:
    """sin 40 t passes 0 at k pi / 40, by turns down and up."""
    switches = [ph.when("sin(40*t)", -1, engage="brake"), ph.when("sin(40*t)", +1, release="brake")]
    traj = ph.simulate(slider(), None, {"x_dot": 1.0}, 1.0, t0=0.01, switches=switches)
    assert traj.events.times[1:] == pytest.approx(np.arange(1, 13) * np.pi / 40, abs=1e-12)
    assert [event.mode["brake"] for event in traj.events[1:]] == ["engaged", "released"] * 6


@pytest.mark.parametrize(("method", "given"), [*METHODS[:2], METHODS[3]])
def test_what_is_far_away_costs_no_evaluations(method: str, given: Any) -> None:
    def evaluations(**stops: Any) -> int:
        build = ph.Builder("pendulum")
        build.body("bob", joint=ph.revolute("y", name="a", **stops), mass=1, com=(0, 0, -1))
        traj = ph.simulate(compiled(build), {"a": 1.0}, t_end=3.0, method=method, **given)
        return int(traj.statistics["evaluations"])

    assert evaluations(limits=(-20, 20)) == evaluations()


def ball() -> Any:
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=1)
    build.contact("ball", restitution=0.5, name="floor")
    build.brake("x_dot", name="brake", active=False)
    return compiled(build)


@pytest.mark.parametrize("until", [ph.when("z_dot > 0"), ph.when("z_dot", 1), ph.when("z_dot > 1")])
def test_what_becomes_true_in_the_jump_of_an_impact_has_become_true(until: Any) -> None:
    traj = ph.simulate(ball(), {"z": 1.0}, {"x_dot": 1.0}, 0.8, until=until)
    assert traj.t[-1] == pytest.approx(np.sqrt(2 / 9.81), abs=1e-12)
    assert traj["z_dot"][-1] == pytest.approx(0.5 * np.sqrt(2 * 9.81), abs=1e-9)


def test_a_guard_counts_once_in_a_jump() -> None:
    """It engages at each of two bounces, when z_dot rises above 0, and not while it falls below it in between."""
    switches = [ph.when("z_dot > 0", engage="brake"), ph.when("z_dot < 0", release="brake")]
    fall = float(np.sqrt(2 / 9.81))
    traj = ph.simulate(ball(), {"z": 1.0}, None, 2.4 * fall, switches=switches)
    engaged = [event.time for event in traj.events if "brake" in event.what and event.mode["brake"] == "engaged"]
    assert engaged == pytest.approx([fall, 2 * fall], abs=1e-9)


def test_what_becomes_true_by_an_engagement_has_become_true() -> None:
    switches = ph.at(0.2, engage="brake")
    traj = ph.simulate(ball(), {"z": 1.0}, {"x_dot": 1.0}, 0.4, switches=switches, until=ph.when("x_dot < 0.5"))
    assert traj.t[-1] == pytest.approx(0.2, abs=1e-12)


@pytest.mark.parametrize(("guard", "speed", "end"), [("x > 0", 1, 0), ("x >= 0", 1, 0.4), ("x > 0", -1, 0.4)])
def test_a_condition_that_starts_at_equality(guard: str, speed: float, end: float) -> None:
    """x > 0 is not true at 0 and becomes true at once; x >= 0 is true from the start, and does not become so."""
    traj = ph.simulate(ball(), {"z": 1.0}, {"x_dot": speed}, 0.4, until=ph.when(guard))
    assert traj.t[-1] == pytest.approx(end, abs=1e-12)
