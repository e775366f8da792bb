"""Loads that pass their bounds: of what rests and holds, through long steps, and where nothing else has a size."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph

ADAPTIVE = ["dop853", "dopri5", "rodas5p"]


def slider(force: str, axis: str = "x", **law: float | str) -> ph.Dynamics:
    """A mass of 2 kg without gravity, pushed by a force, with a stop, a contact or a brake."""
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic(axis, name="x"), mass=2.0)
    build.force("x_dot", force)
    if "capacity" in law:
        build.brake("x_dot", capacity=law["capacity"], name="law")
    elif axis == "z":
        build.contact("mass", name="law")
    else:
        build.stop("x", lower=0.0, name="law")
    return ph.formulate(build.build()).compile()


def block() -> ph.Dynamics:
    build = ph.Builder("block")
    build.body("x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("z", parent="x", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("z", friction=0.3, name="law")
    build.force("x_dot", "4*sin(9*t)")
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_block_that_is_shaken_slips_in_every_half_period(method: str) -> None:
    """It breaks loose at asin(mu m g / 4) / 9; the rest as by small steps."""
    traj = ph.simulate(block(), None, None, 4.0, method=method)
    assert traj.outcome.finished
    assert len(traj.events) == 24
    assert traj.events[1].time == pytest.approx(np.arcsin(0.3 * 9.81 / 4) / 9, abs=1e-9)
    other = ph.simulate(block(), None, None, 4.0, method="rk4", step=2e-4)
    assert traj.q[-1, 0] == pytest.approx(other.q[-1, 0], abs=1e-8)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("axis", ["x", "z"])
def test_what_is_pressed_leaves_where_the_force_changes_its_sign(method: str, axis: str) -> None:
    traj = ph.simulate(slider("-2-3*sin(7*t)", axis), None, None, 4.0, method=method)
    opens = [event.time for event in traj.events if event.why == "opens"]
    expected = [(np.pi + np.arcsin(2 / 3) + 2 * np.pi * k) / 7 for k in range(4)]
    assert opens == pytest.approx(expected, abs=1e-9)


@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_bump_of_a_twentieth_of_a_second(method: str) -> None:
    traj = ph.simulate(slider("-2+5*exp(-((t-2)/0.05)**2)"), None, None, 4.0, method=method)
    assert traj.events[1].time == pytest.approx(2 - 0.05 * np.sqrt(np.log(2.5)), abs=1e-9)


@pytest.mark.parametrize("method", ADAPTIVE)
def test_a_brake_slips_where_its_capacity_falls_below_the_force(method: str) -> None:
    """2 + 1.9 sin 30 t = 1"""
    traj = ph.simulate(slider("1.0", capacity="2+1.9*sin(30*t)"), None, None, 4.0, method=method)
    slips = [event.time for event in traj.events if event.why == "slips"]
    expected = [(np.pi + np.arcsin(1 / 1.9) + 2 * np.pi * k) / 30 for k in range(19)]
    assert slips == pytest.approx(expected, abs=1e-8)


@pytest.mark.parametrize("k", np.linspace(1, 10, 19))
def test_a_crane_lifts_a_load_off_the_ground(k: float) -> None:
    """At m g / k, where its reaction is 0 and there is no other force: z = k (t - t0)^3 / (6 m)."""
    build = ph.Builder("crane")
    build.body("load", joint=ph.prismatic("z", name="z"), mass=2.0)
    build.contact("load", name="ground")
    build.force("z_dot", "k*t")
    dynamics, t0 = ph.formulate(build.build()).compile(), 2 * 9.81 / k
    for method in (*ADAPTIVE, "rk4"):
        step = 1e-3 if method == "rk4" else None
        traj = ph.simulate(dynamics, None, None, 25 / k, p={"k": float(k)}, method=method, step=step)
        assert [event.why for event in traj.events] == ["start", "opens"]
        assert traj.events[1].time == pytest.approx(t0, abs=1e-9 * t0)
        assert traj.q[-1, 0] == pytest.approx(k * (25 / k - t0) ** 3 / 12, rel=1e-7)


@pytest.mark.parametrize("method", ADAPTIVE)
@pytest.mark.parametrize("seed", range(6))
def test_a_force_that_jumps_lifts_what_it_pressed(method: str, seed: int) -> None:
    """x = F (t - T)^2 / (2 m) after the jump, wherever that lies between two steps."""
    at, force = np.random.default_rng(seed).uniform((0.3, 0.5), (3.0, 5.0))
    traj = ph.simulate(slider("select(t<T, -3, F)"), None, None, 4.0, p={"T": at, "F": force}, method=method)
    assert [event.why for event in traj.events] == ["start", "opens"]
    assert traj.events[1].time == pytest.approx(at, abs=1e-12)
    assert traj.q[-1, 0] == pytest.approx(force * (4 - at) ** 2 / 4, rel=1e-8)


def test_a_gear_whose_load_and_friction_begin_at_0() -> None:
    """The capacity of its brake is that of the load: both grow from nothing, and it slips from the start."""
    build = ph.Builder("hoist", gravity=(0, 0, 0))
    build.body("drum", joint=ph.revolute("z", name="drum"), mass=1, inertia=(1, 1, 0.2))
    build.force("drum_dot", "-20")
    build.motor("M", inertia=2e-3, ratio=40, stiffness=4000, loss=40, efficiency=0.8).drives({"drum": 1})
    dynamics = ph.formulate(build.build()).compile()
    traj = ph.simulate(dynamics, None, None, 0.1, tau={"M": 0.0})
    other = ph.simulate(dynamics, None, None, 0.1, tau={"M": 0.0}, method="moreau", step=2e-6)
    assert traj.outcome.finished
    assert traj.q[-1] == pytest.approx(other.q[-1], rel=1e-3)


@pytest.mark.parametrize(("length", "mass"), [(1.0, 1.0), (1.0, 1e9), (1e3, 1e9), (1e-3, 1e-9)])
@pytest.mark.parametrize("method", ["dop853", "dopri5"])
def test_a_table_on_three_feet_is_lifted_in_any_units(length: float, mass: float, method: str) -> None:
    """By m g t / 2 at its centre, so that it leaves at 2 s: z = g (t - 2)^3 / 12. Nine rows of which six count."""
    g = 9.81 * length
    build = ph.Builder("table", gravity=(0, 0, -g))
    inertia = (0.8 * mass * length**2, 1.0 * mass * length**2, 1.2 * mass * length**2)
    build.body("t", joint=ph.free(), mass=4 * mass, inertia=inertia, com=(0, 0, 0.3 * length))
    for i in range(3):
        a = 2 * np.pi * i / 3 + 0.4
        build.marker(f"foot {i}", body="t", at=(0.4 * length * np.cos(a), 0.4 * length * np.sin(a), 0))
        build.contact(f"foot {i}", friction=0.5, name=f"foot {i}")
    build.force("t_vz", f"{4 * mass * g!r}*t/2")
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, None, 3.0, method=method)
    assert traj.outcome.finished
    assert traj.events[1].time == pytest.approx(2.0, abs=1e-8)
    assert traj["t_z"][-1] == pytest.approx(g / 12, rel=1e-6)
