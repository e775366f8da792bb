"""Time-stepping, method="moreau", against runs from event to event and against closed forms."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import G, ball, belt, box, compiled, disc, rocking, rotors, stack

import polhode as ph


def stepped(dyn: Any, *args: Any, step: float, **given: Any) -> ph.Trajectory:
    found = ph.simulate(dyn, *args, method="moreau", step=step, **given)
    assert found.outcome.finished
    assert found.statistics["unsolved"] == 0
    return found


def cases() -> dict[str, tuple[Any, ...]]:
    """A machine, its state, the end of the run, switches, and the most that coordinates err, of a step of 1 s."""
    block, start = rocking()
    rows = rotors(capacity=12.0)
    return {
        "ball": (ball(0.5), {"z": 1.0}, None, 0.8, (), 2.0),
        "disc": (disc(0.2, 0.3), {"z": 0.3}, {"x_dot": 3.0}, 0.7, (), 0.01),
        "belt": (belt(1.0, 100.0, 0.1, 0.5, 0.3), None, {"x_dot": 0.1, "b_dot": 0.1}, 1.2, (), 0.3),
        "rocking block": (block, start, None, 1.0, (), 3.0),
        "clutch": (rows, None, {"p_dot": 10, "q_dot": -1}, 1.5, ph.at(0.2, engage="clutch"), 1e-9),
    }


@pytest.mark.parametrize("name", ["ball", "disc", "belt", "rocking block", "clutch"])
def test_it_is_of_first_order(name: str) -> None:
    dyn, q, u, end, switches, slope = cases()[name]
    exact = ph.simulate(dyn, q, u, end, rtol=1e-10, atol=1e-10, switches=switches)
    for h in (1e-2, 5e-3, 1.25e-3):
        found = stepped(dyn, q, u, end, step=h, switches=switches)
        assert np.abs(found.q[-1] - exact.q[-1]).max() < slope * h
        # the same things happen in the same order, each within two steps of when it does
        assert [event.what for event in found.events] == [event.what for event in exact.events]
        assert found.events.times == pytest.approx(exact.events.times, abs=2 * h + 1e-9)
        assert {name: modes[-1] for name, modes in found.mode.items()} == {n: m[-1] for n, m in exact.mode.items()}
        lost = [event.lost for event in exact.events if event.impulses]
        assert [e.lost for e in found.events if e.impulses][: len(lost)] == pytest.approx(lost, rel=20 * h, abs=20 * h)


def test_a_ball_that_loses_nothing_keeps_its_energy() -> None:
    """20 s at 1 ms: 0.998 of it."""
    traj = stepped(ball(1.0), {"z": 1.0}, None, 20.0, step=1e-3)
    energy = traj.energy[:, 2]
    assert 0.997 < energy[-1] / energy[0] < 1.0
    assert np.diff(energy).max() < 1e-12


def test_a_ball_comes_to_rest_when_its_bounces_do() -> None:
    """t = sqrt(2 h / g) (1 + e) / (1 - e)."""
    rest = np.sqrt(2 / G) * 3
    for h in (4e-3, 1e-3):
        traj = stepped(ball(0.5), {"z": 1.0}, None, 1.6, step=h)
        assert traj.events[-1].mode["ground"] == "closed"
        assert traj.events[-1].time == pytest.approx(rest, abs=10 * h)
        assert traj["z"][-1] == pytest.approx(0, abs=1e-12)


@pytest.mark.parametrize("seed", [0, 1])
def test_tumbling_boxes_gain_no_energy_and_hardly_penetrate(seed: int) -> None:
    """The worst penetration is 0.56 mm at 1 ms; energy grows by what free rotation errs in a step."""
    dyn, rng = box((0.2, 0.15, 0.1), 2.0, restitution=0.3, friction=0.5), np.random.default_rng(seed)
    turn = rng.normal(size=4)
    q = {"b_z": 0.5} | dict(zip([str(s.value) for s in dyn.equations.q][:4], turn / np.linalg.norm(turn), strict=True))
    traj = stepped(dyn, q, 2 * rng.normal(size=6), 0.6, step=1e-3, output="steps")
    energy = traj.energy[:, 2]
    assert np.diff(energy).max() < 1e-6 * energy[0]
    assert energy[-1] < 0.9 * energy[0]  # it did strike the ground
    lowest = [min(dyn.pose(f"corner {i}")(q)[2, 3] for i in range(8)) for q in traj.q]
    assert min(lowest) > -0.56e-3
    assert np.linalg.norm(traj.q[:, :4], axis=1) == pytest.approx(1, abs=1e-14)


@pytest.mark.parametrize("masses", [(1.0, 1.0, 1.0), (1e-3, 1.0, 1e3), (1e3, 1e-3, 1.0)])
@pytest.mark.parametrize("size", [1e-3, 1.0])
def test_stacks_stay_at_rest(masses: tuple[float, ...], size: float) -> None:
    dyn, start = stack(masses, size)
    traj = stepped(dyn, start, None, 0.1, step=1e-3)
    sizes = np.tile([size, size, 1.0], 3)
    assert np.abs((traj.q[-1] - traj.q[0]) / sizes).max() < 1e-9
    assert np.abs(traj.u[-1] / sizes).max() < 1e-7
    assert {modes[-1] for modes in traj.mode.values()} == {"sticks"}


@pytest.mark.parametrize(("push", "acceleration"), [(0.0, 0.0), (170.0, 0.0), (185.0, 0.28067)])
def test_a_quadruped_stands_and_is_pushed(push: float, acceleration: float) -> None:
    """30 kg with mu = 0.6: it slides beyond 176.58 N, by the difference."""
    build = ph.Builder("quadruped", gravity=(0, 0, -G))
    build.body("trunk", joint=ph.free(name="t"), mass=30, inertia=(0.6, 1.5, 1.8))
    for i, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        build.marker(f"foot {i}", body="trunk", at=(0.3 * x, 0.2 * y, -0.3))
        build.contact(f"foot {i}", friction=0.6, name=f"foot {i}")
    build.wrench("trunk", force=(push, 0, 0))
    traj = stepped(compiled(build), {"t_z": 0.3}, None, 0.05, step=1e-3)
    assert traj["t_vx"][-1] == pytest.approx(acceleration * 0.05, abs=1e-6)
    assert {modes[-1] for modes in traj.mode.values()} == {"slides" if acceleration else "sticks"}
    assert traj["t_z"][-1] == pytest.approx(0.3, abs=1e-9)


def test_energy_is_accounted_for_on_a_moving_belt() -> None:
    """What the belt's drive and friction do; the block sticks until mu_s m g / (k v)."""
    traj = stepped(belt(1.0, 100.0, 0.1, 0.5, 0.3), None, {"x_dot": 0.1, "b_dot": 0.1}, 1.0, step=2e-3)
    assert np.abs(traj.energy_drift).max() < 2e-3 * np.abs(traj.work_done).max()
    assert traj.events[1].why == "slips"
    assert traj.events[1].time == pytest.approx(0.4905, abs=4e-3)
