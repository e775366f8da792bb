"""Dry friction of joints, against closed forms."""

from __future__ import annotations

import numpy as np
import pytest
from machines import compiled

import polhode as ph


def block(**options: object) -> ph.Builder:
    build = ph.Builder("block", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x", **options), mass=1)
    return build


def test_a_block_on_a_spring_comes_to_rest_where_the_spring_no_longer_moves_it() -> None:
    """Lorenz: each half period pi / w ends 2 f / k nearer, and it rests where |x| <= f / k."""
    k, f, x0 = 4.0, 0.3, 1.0
    traj = ph.simulate(compiled(block(friction=f, stiffness=k)), {"x": x0}, t_end=20.0, rtol=1e-12, atol=1e-12)
    swings = int(np.ceil((x0 - f / k) / (2 * f / k)))
    ends = [(-1) ** n * (x0 - 2 * n * f / k) for n in range(swings + 1)]
    # it turns round at every end but the last, where it stays
    turns = [event for event in traj.events if event.why != "start"]
    assert [event.time for event in turns] == pytest.approx(np.pi / np.sqrt(k) * np.arange(1, swings + 1), abs=1e-9)
    assert traj["x"][-1] == pytest.approx(ends[-1], abs=1e-9)
    assert traj["x_dot"][-1] == 0
    assert traj.mode["friction of x"][-1] == "holds"
    assert np.abs(traj.energy_drift).max() < 1e-10
    # what friction took is the path times f
    path = np.abs(np.diff(ends)).sum()
    assert traj.energy[0, 2] - traj.energy[-1, 2] == pytest.approx(f * path, abs=1e-9)


def test_smoothed_friction_tends_to_it() -> None:
    """f tanh(u / friction_speed) creeps where dry friction holds; the motion is the same as the speed goes to 0."""
    exact = ph.simulate(compiled(block(friction=0.5)), None, {"x_dot": 1.0}, 3.0)
    assert exact["x"][-1] == pytest.approx(1.0, abs=1e-9)
    apart = []
    for speed in (1e-2, 1e-3):
        found = ph.simulate(compiled(block(friction=0.5, friction_speed=speed)), None, {"x_dot": 1.0}, 3.0)
        assert len(found.events) == 0
        apart.append(abs(found["x"][-1] - 1.0))
    assert apart[1] < apart[0] / 5 < 1e-2


def test_friction_and_a_brake_on_one_speed_add_up() -> None:
    """A torque between the two capacities is held; above both the rest accelerates."""
    build = block(friction=0.1)
    build.brake("x_dot", capacity=1.0, name="brake")
    dyn = compiled(build)
    assert ph.simulate(dyn, t_end=1.0, tau={"x_dot": 1.05})["x"][-1] == pytest.approx(0, abs=1e-15)
    moved = ph.simulate(dyn, t_end=3.0, tau={"x_dot": 1.5})
    assert moved["x_dot"][-1] == pytest.approx(3 * (1.5 - 1.1), abs=1e-12)
    stops = ph.simulate(dyn, None, {"x_dot": 2.0}, 3.0)
    assert stops.events[1].time == pytest.approx(2.0 / 1.1, abs=1e-9)
    assert stops["x"][-1] == pytest.approx(2.0 / 1.1, abs=1e-9)


def test_it_can_be_released_by_its_name() -> None:
    traj = ph.simulate(
        compiled(block(friction=0.5)), None, {"x_dot": 2.0}, 3.0, switches=ph.at(1.0, release="friction of x")
    )
    assert traj["x_dot"][-1] == pytest.approx(1.5, abs=1e-12)
    assert traj["x"][-1] == pytest.approx(1.75 + 2 * 1.5, abs=1e-10)


@pytest.mark.parametrize(("limits", "start"), [((0, 3), 1.0), ((-3, 0), -1.0)])
def test_a_limit_at_zero_is_one(limits: tuple[float, float], start: float) -> None:
    """Towards 0 with 0.5 m/s from 1 m it stops at 2 s; away from it, at 3 m after 4 s."""
    dyn = compiled(block(limits=limits))
    inward = ph.simulate(dyn, {"x": start}, {"x_dot": -0.5 * start}, 5.0)
    assert inward.events.times[1:] == pytest.approx([2.0], abs=1e-9)
    assert inward["x"][-1] == pytest.approx(0, abs=1e-12)
    outward = ph.simulate(dyn, {"x": start}, {"x_dot": 0.5 * start}, 5.0)
    assert outward.events.times[1:] == pytest.approx([4.0], abs=1e-9)
    assert outward["x"][-1] == pytest.approx(3 * start, abs=1e-12)
