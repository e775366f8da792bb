"""Constraints that come and go, against closed forms: times and speeds to 1e-9."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import G, compiled, disc, in_plane, rotors, turning

import polhode as ph

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


@pytest.mark.parametrize(("h", "e", "rest"), [(1.0, 0.5, 1.354570922957), (1.0, 0.9, 8.578949178729)])
def test_a_ball_bounces_to_its_zeno_time(h: float, e: float, rest: float) -> None:
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=e)
    traj = ph.simulate(compiled(build), {"z": h}, t_end=rest + 1)
    fall = np.sqrt(2 * h / G)
    bounces = fall + 2 * fall * np.cumsum([0, *(e ** np.arange(1, 6))])
    assert traj.events.times[1:7] == pytest.approx(bounces, abs=1e-10)
    assert traj.events[-1].rest == pytest.approx(fall * (1 + e) / (1 - e), abs=1e-9)
    assert traj.events[-1].rest == pytest.approx(rest, abs=1e-9)
    assert traj["z"][-1] == pytest.approx(0, abs=1e-14)
    assert traj.events[-1].mode["contact ball"] == "closed"
    assert np.abs(traj.energy_drift).max() < 1e-11


def test_a_disc_slides_and_then_rolls() -> None:
    """[Gillespie, example 1]: it rolls from t = v0 / (3 mu g), with 2/3 v0."""
    v0, mu, radius = 3.0, 0.2, 0.3
    traj = ph.simulate(disc(mu, radius), {"z": radius}, {"x_dot": v0}, t_end=2.0, **TIGHT)
    assert [event.why for event in traj.events] == ["start", "sticks"]
    assert traj.events[1].time == pytest.approx(v0 / (3 * mu * G), abs=1e-9)
    assert traj["x_dot"][-1] == pytest.approx(2 * v0 / 3, abs=1e-9)
    assert traj["a_dot"][-1] == pytest.approx(2 * v0 / 3 / radius, abs=1e-9)
    assert set(traj.mode["ground"]) == {"slides", "sticks"}


@pytest.mark.parametrize("turned", [False, True])
def test_a_disc_on_a_ramp_rolls_where_friction_suffices_and_slides_where_not(turned: bool) -> None:
    """It slides where tan(slope) > 3 mu: g sin - mu g cos; else 2/3 g sin."""
    slope, radius = 0.5, 0.2
    mu = np.tan(slope) / 3 * (0.9 if turned else 1.1)
    traj = ph.simulate(disc(mu, radius, slope=slope), {"z": radius}, t_end=1.0, **TIGHT)
    a = G * np.sin(slope) - mu * G * np.cos(slope) if turned else 2 / 3 * G * np.sin(slope)
    assert traj["x_dot"][-1] == pytest.approx(a, abs=1e-9)
    assert traj.mode["ground"][-1] == ("slides" if turned else "sticks")


def test_a_driven_wheel_slips_beyond_a_torque() -> None:
    """tau_c = mu m g r (1 + I / (m r^2))... with I = m r^2 / 2: 3/2 mu m g r at the hub, with its force, in balance."""
    mu, radius, mass = 0.4, 0.3, 2.0
    wheel = disc(mu, radius, mass)
    critical = mu * mass * G * radius * (1 + 0.5)
    for torque, word in ((0.999 * critical, "sticks"), (1.001 * critical, "slides")):
        sim = ph.Simulation(wheel, {"z": radius}, tau={"a_dot": torque})
        assert sim.mode["ground"] == word
    # a torque that grows: from 0 at a rate of 1
    traj = ph.simulate(wheel, {"z": radius}, t_end=critical + 1, tau={"a_dot": "t"}, **TIGHT)
    assert traj.events[1].why == "slips"
    assert traj.events[1].time == pytest.approx(critical, abs=1e-9)


def test_a_clutch_engages_at_once() -> None:
    traj = ph.simulate(rotors(), None, {"p_dot": 10, "q_dot": -1}, 2.0, switches=ph.at(1.0, engage="clutch"))
    together = (2 * 10 - 3 * 1) / 5
    assert traj.u[-1] == pytest.approx([together, together], abs=1e-12)
    assert traj.events[1].lost == pytest.approx(0.5 * (2 * 100 + 3) - 2.5 * together**2, abs=1e-12)
    assert traj.events[1].impulses["clutch"] == pytest.approx(2 * (together - 10), abs=1e-12)
    # it keeps the offset that it engaged at
    assert traj["p"][-1] - traj["q"][-1] == pytest.approx(11.0, abs=1e-12)
    assert np.abs(traj.energy_drift).max() < 1e-12


def test_a_clutch_with_a_capacity_slips_and_locks() -> None:
    capacity = 1.2
    traj = ph.simulate(rotors(capacity=capacity), None, {"p_dot": 10, "q_dot": -1}, 20.0,
                       switches=ph.at(1.0, engage="clutch"))  # fmt: skip
    assert [event.why for event in traj.events] == ["start", "at 1 s", "sticks"]
    assert traj.events[2].time == pytest.approx(1 + 11 / (capacity * (1 / 2 + 1 / 3)), abs=1e-9)
    assert traj.u[-1] == pytest.approx([3.4, 3.4], abs=1e-10)
    assert np.abs(traj.energy_drift).max() < 1e-10


def test_a_brake_holds_up_to_its_capacity() -> None:
    """2 a'' = 0.1 t - 0.5 until it stops; it slips again when the torque exceeds 0.5, at t = 5."""
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.brake("a_dot", capacity=0.5, name="brake")
    traj = ph.simulate(compiled(build), None, {"a_dot": 0.3}, 10.0, tau={"a_dot": "0.1*t"}, **TIGHT)
    stops = (0.5 - np.sqrt(0.25 - 4 * 0.05 * 0.6)) / 0.1
    assert traj.events.times[1:] == pytest.approx([stops, 5.0], abs=1e-9)
    assert traj["a_dot"][-1] == pytest.approx((0.05 * (100 - 25) - 0.5 * 5) / 2, abs=1e-9)
    assert list(traj.mode["brake"][[0, -1]]) == ["slips", "slips"]


def test_a_joint_of_a_moving_arm_is_locked() -> None:
    """Angular momentum about the first joint is kept, and the second stands still: I_0 a' = H."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("upper", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    build.body("fore", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=2, com=(0, 0, -0.4),
               inertia=(0.2, 0.2, 0.01))  # fmt: skip
    build.lock("b", name="lock", active=False)
    dyn = compiled(build)
    sim = ph.Simulation(dyn, {"a": 0.3, "b": 0.7}, {"a_dot": 1.0, "b_dot": -2.0})
    M = dyn.mass_matrix(sim.q)
    momentum = (M @ sim.u)[0]
    sim.engage("lock")
    assert sim.u == pytest.approx([momentum / M[0, 0], 0.0], abs=1e-13)
    sim.run(1.0)
    assert sim.q[1] == pytest.approx(0.7, abs=1e-13)
    sim.release("lock")
    before = sim.u
    assert sim.events[-1].lost == 0
    sim.run(1.5)
    assert sim.q[1] != pytest.approx(0.7, abs=1e-3)
    assert before[1] == pytest.approx(0, abs=1e-13)


def test_the_end_of_a_rod_strikes_the_ground() -> None:
    """Lam = m (1 + e) v / (1 + 3 cos^2 theta), theta the angle to the ground."""
    mass, half, e, v, theta = 1.0, 1.0, 0.6, 2.0, 0.7
    build = turning(in_plane("rod", gravity=0), mass, mass * half**2 / 3)
    build.marker("end", body="body", at=(half, 0, 0))
    build.contact("end", restitution=e, name="ground")
    dyn = compiled(build)
    traj = ph.simulate(dyn, {"z": half * np.sin(theta) + 1, "a": theta}, {"z_dot": -v}, 1.0)
    struck = traj.events[1]
    assert struck.time == pytest.approx(0.5, abs=1e-12)
    assert struck.impulses["ground.height"] == pytest.approx(
        mass * (1 + e) * v / (1 + 3 * np.cos(theta) ** 2), abs=1e-12
    )


def test_a_block_rocks() -> None:
    """Housner's block, half sizes 0.2 and 0.8: speeds fall by 1 - 3/2 sin^2 alpha at each impact."""
    wide, high = 0.2, 0.8
    alpha, inertia = np.arctan(wide / high), (wide**2 + high**2) / 3
    build = turning(in_plane("block"), 1.0, inertia)
    for name, side in (("left", -1), ("right", 1)):
        build.marker(name, body="body", at=(side * wide, 0, -high))
        build.contact(name, friction=10.0, name=name)
    theta = alpha / 2
    corner = np.array([np.cos(theta) * wide - np.sin(theta) * high, -np.sin(theta) * wide - np.cos(theta) * high])
    traj = ph.simulate(
        compiled(build), {"x": -corner[0], "z": -corner[1], "a": theta}, t_end=2.0, output="steps", **TIGHT
    )
    impacts = [event for event in traj.events if event.impulses]
    assert [event.time for event in impacts] == pytest.approx([0.44167102, 1.16049266, 1.77042107], abs=1e-8)
    for event in impacts:
        before, after = traj["a_dot"][traj.t == event.time]
        assert after / before == pytest.approx(1 - 1.5 * np.sin(alpha) ** 2, abs=1e-9)


def test_newtons_cradle_of_three() -> None:
    """Struck at once, not one after the other: (-1/3, 2/3, 2/3) by Newton's restitution."""
    build = ph.Builder("cradle", gravity=(0, 0, 0))
    for i in range(3):
        build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
    for i in range(2):
        build.marker(f"face{i}", body=f"m{i}", rpy=(0, np.pi / 2, 0))
        build.contact(f"m{i + 1}", f"face{i}", restitution=1, name=f"c{i}")
    traj = ph.simulate(compiled(build), {"x0": -1.0}, {"x0_dot": 1.0}, t_end=2.0)
    assert traj.u[-1] == pytest.approx([-1 / 3, 2 / 3, 2 / 3], abs=1e-12)
    assert traj.events[1].lost == pytest.approx(0, abs=1e-12)
    assert traj.u[-1].sum() == pytest.approx(1, abs=1e-12)


def test_masses_collide_one_after_the_other_where_they_are_apart() -> None:
    """Equal masses with e = 1 exchange their speeds."""
    build = ph.Builder("row", gravity=(0, 0, 0))
    for i in range(3):
        build.body(f"m{i}", joint=ph.prismatic("x", name=f"x{i}"), mass=1)
    for i in range(2):
        build.marker(f"face{i}", body=f"m{i}", rpy=(0, np.pi / 2, 0))
        build.contact(f"m{i + 1}", f"face{i}", restitution=1, name=f"c{i}")
    traj = ph.simulate(compiled(build), {"x0": -1.0, "x1": 0.0, "x2": 0.5}, {"x0_dot": 1.0}, t_end=3.0)
    assert traj.events.times == pytest.approx([0, 1.0, 1.5], abs=1e-12)
    assert traj.u[-1] == pytest.approx([0, 0, 1], abs=1e-12)


def test_a_block_on_a_belt_sticks_and_slips() -> None:
    """Its period is 2 D / v + (2 pi - 2 atan(D w / v)) / w, D = (mu_s - mu_k) m g / k."""
    m, k, v, static, kinetic = 1.0, 100.0, 0.1, 0.5, 0.3
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along x", joint=ph.prismatic("x", name="x", stiffness=k), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=m)
    build.contact("block", "belt", friction=kinetic, static=static, name="grip")
    build.prescribe("b", v * ph.TIME)
    traj = ph.simulate(compiled(build), None, {"x_dot": v, "b_dot": v}, t_end=5.0, rtol=1e-11, atol=1e-12)
    D, w = (static - kinetic) * m * G / k, np.sqrt(k / m)
    period = 2 * D / v + (2 * np.pi - 2 * np.arctan(D * w / v)) / w
    assert period == pytest.approx(0.80083221712, abs=1e-11)
    slips = [event.time for event in traj.events if event.why == "slips"]
    assert slips[0] == pytest.approx(static * m * G / (k * v), abs=1e-9)
    assert np.diff(slips) == pytest.approx(period, abs=1e-9)
    assert len(slips) == 6


@pytest.mark.parametrize("spin", [0.0, 4.0])
def test_the_rod_of_painleve(spin: float) -> None:
    """mu = 2 at theta = 1.1: no solution at rest, so an impact without a collision; two with omega = 4."""
    half, mu, theta = 1.0, 2.0, 1.1
    build = turning(in_plane("rod"), 1.0, half**2 / 3)
    build.marker("end", body="body", at=(-half, 0, 0))
    build.contact("end", friction=mu, name="ground")
    a, slides = -theta, -1.0
    u = {"a_dot": spin, "x_dot": slides - half * np.sin(a) * spin, "z_dot": -half * np.cos(a) * spin}
    sim = ph.Simulation(compiled(build), {"z": half * np.sin(theta), "a": a}, u)
    event = sim.events[0]
    if spin:
        assert "several" in event.note
        assert not event.impulses
    else:
        assert event.impulses["ground.height"] == pytest.approx(0.3032, abs=5e-5)
        assert event.impulses["ground.slip x"] == pytest.approx(0.4043, abs=5e-5)
        assert event.mode["ground"] == "sticks"


def test_a_sphere_slides_and_then_rolls_in_space() -> None:
    """t = 2 |s0| / (7 mu g), v = v0 - 2 s0 / 7 for any slip s0."""
    mu, radius, mass = 0.3, 0.2, 1.5
    build = ph.Builder("sphere", gravity=(0, 0, -G))
    build.body("ball", joint=ph.free(name="ball"), mass=mass, inertia=(0.4 * mass * radius**2,) * 3)
    build.contact("ball", shape="sphere", radius=radius, friction=mu, name="ground")
    dyn = compiled(build)
    u = {"ball_vx": 2.0, "ball_vy": 1.0, "ball_wx": 3.0, "ball_wy": -4.0, "ball_wz": 1.0}
    traj = ph.simulate(dyn, {"ball_z": radius}, u, t_end=1.0, rtol=1e-11, atol=1e-11)
    slip = np.array([2.0 + 4.0 * radius, 1.0 + 3.0 * radius])
    assert traj.events[1].why == "sticks"
    assert traj.events[1].time == pytest.approx(2 * np.hypot(*slip) / (7 * mu * G), abs=1e-9)
    v = dyn.velocity("ball")(traj.q[-1], traj.u[-1])[3:]
    assert v == pytest.approx([*(np.array([2.0, 1.0]) - 2 * slip / 7), 0], abs=1e-8)


@pytest.mark.parametrize(("force", "word"), [(0.95, "sticks"), (1.05, "slides")])
def test_a_table_on_four_feet(force: float, word: str) -> None:
    """Twelve rows of which six are independent: it stays below mu m g, and above it slides by the difference."""
    mass, mu = 3.0, 0.5
    build = ph.Builder("table", gravity=(0, 0, -G))
    build.body("top", joint=ph.free(name="t"), mass=mass, inertia=(0.3, 0.3, 0.4))
    for i, (x, y) in enumerate([(1, 1), (1, -1), (-1, 1), (-1, -1)]):
        build.marker(f"foot {i}", body="top", at=(0.4 * x, 0.3 * y, -0.5))
        build.contact(f"foot {i}", friction=mu, name=f"foot {i}")
    traj = ph.simulate(compiled(build), {"t_z": 0.5}, t_end=1.0, tau={"t_vx": force * mu * mass * G})
    assert {modes[-1] for modes in traj.mode.values()} == {word}
    assert len(traj.events) == 1
    expected = max(force - 1, 0) * mu * G / 2
    assert traj["t_x"][-1] == pytest.approx(expected, abs=1e-9)
    assert traj.q[-1, [0, 1, 2, 4]] == pytest.approx(0, abs=1e-9)


CORNERS = [(1, 1), (1, -1), (-1, 1), (-1, -1)]


def sliding_table(yaw: float, friction: list[float], order: list[int]) -> tuple[Any, dict[int, float]]:
    """A square table of mass 3 that is pushed along x, its feet declared in an order; what feet carry at first."""
    build = ph.Builder("table", gravity=(0, 0, -G))
    build.body("top", joint=ph.free(name="t"), mass=3.0, inertia=(0.3, 0.3, 0.4))
    for i in order:
        build.marker(f"foot {i}", body="top", at=(0.4 * CORNERS[i][0], 0.4 * CORNERS[i][1], -0.5))
        build.contact(f"foot {i}", friction=friction[i], name=f"foot {i}")
    dyn = compiled(build)
    u0 = {"t_vx": 2.0 * np.cos(yaw), "t_vy": -2.0 * np.sin(yaw)}
    traj = ph.simulate(dyn, {"t_z": 0.5, "t_az": yaw}, u0, 0.3, reacting=True, **TIGHT)
    return traj, {i: float(traj[f"reaction foot {i}.height"][0]) for i in range(4)}


@pytest.mark.parametrize("yaw", [0.0, 0.4])
def test_feet_of_a_table_that_slides_share_its_load(yaw: float) -> None:
    """The least loads are m g / 4 (1 + mu h x / a^2): the moment of friction is carried by the feet ahead."""
    mu, a, h, mass = 0.3, 0.4, 0.5, 3.0
    traj, loads = sliding_table(yaw, [mu] * 4, [0, 1, 2, 3])
    for i, (x, y) in enumerate(CORNERS):
        ahead = a * (x * np.cos(yaw) - y * np.sin(yaw))
        assert loads[i] == pytest.approx(mass * G / 4 * (1 + mu * h * ahead / a**2), abs=1e-8)
    assert traj["t_x"][-1] == pytest.approx(2 * 0.3 - mu * G * 0.3**2 / 2, abs=1e-9)
    assert np.abs(traj.energy_drift).max() < 1e-8


def test_loads_of_feet_with_unequal_friction_do_not_depend_on_their_order() -> None:
    """There the motion depends on how they share the load: a foot that grips more turns the table."""
    first, loads = sliding_table(0.0, [0.4, 0.2, 0.3, 0.2], [0, 1, 2, 3])
    again, others = sliding_table(0.0, [0.4, 0.2, 0.3, 0.2], [2, 0, 3, 1])
    assert list(others.values()) == pytest.approx(list(loads.values()), abs=1e-8)
    assert again.q[-1] == pytest.approx(first.q[-1], abs=1e-8)
    assert sum(loads.values()) == pytest.approx(3.0 * G, abs=1e-8)
    assert np.abs(first.energy_drift).max() < 1e-8


def test_the_coupler_of_a_four_bar_is_released() -> None:
    """Nothing jumps; then it is a double pendulum and a pendulum, which move as models of their own."""
    from tests.mechanisms import four_bar

    model = four_bar()
    dyn = ph.formulate(model).compile()
    q, u = ph.assemble(dyn, [-1.0, 0.5, -1.5], {"a_dot": 2.0}, keep=["a_dot"])
    sim = ph.Simulation(dyn, q, u, rtol=1e-11, atol=1e-11)
    sim.run(0.5)
    there = sim.q, sim.u
    sim.release("close")
    assert sim.u == pytest.approx(there[1], abs=1e-13)
    sim.run(1.0)
    bare = ph.formulate(__import__("dataclasses").replace(model, constraints=())).compile()
    free = ph.simulate(bare, *there, 0.5, rtol=1e-11, atol=1e-11)
    assert sim.q == pytest.approx(free.q[-1], abs=1e-9)
    assert sim.active == ()


def test_a_bob_comes_to_rest_between_a_rope_and_a_slope() -> None:
    """Bounces on one push the other open by less than can be seen; both end closed, where circle and line meet."""
    build = ph.Builder("tethered", gravity=(0, 0, -G))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("bob", parent="along", joint=ph.prismatic("z", name="z"), mass=3)
    build.marker("slope", body="world", at=(0, 0, -1.2), rpy=(0, 0.2, 0))
    build.rope("world", "bob", length=1.5, name="rope")
    build.contact("bob", "slope", friction=0.1, restitution=0.5, name="ground")
    traj = ph.simulate(compiled(build), {"x": 0.9, "z": -0.2}, t_end=12.0)
    assert traj.outcome.finished
    x, z = traj.q[-1]
    assert np.hypot(x, z) == pytest.approx(1.5, abs=1e-9)
    assert np.sin(0.2) * x + np.cos(0.2) * (z + 1.2) == pytest.approx(0, abs=1e-9)
    assert traj.u[-1] == pytest.approx([0, 0], abs=1e-9)


def test_a_brake_slips_through_the_dead_points_of_a_slider_that_a_crank_drives() -> None:
    """There no force on the slider stops it, and reactions are not determined: a turn takes 4 r times the capacity."""
    r, rod, pull = 0.3, 1.0, 0.5
    build = ph.Builder("slider crank", gravity=(0, 0, 0))
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, inertia=(1, 1, 1))
    build.body("rod", parent="crank", at=(r, 0, 0), joint=ph.revolute("y", name="b"), mass=0.5, inertia=(0.1, 0.1, 0.1))
    build.body("slider", joint=ph.prismatic("x", name="x"), mass=0.4)
    build.marker("tip", body="rod", at=(rod, 0, 0))
    build.loop("tip", "slider", "point", name="pin")
    build.brake("x_dot", capacity=pull, name="brake")
    a = 0.5
    tilt = np.arcsin(r * np.sin(a) / rod)
    q0 = {"a": a, "b": -a - tilt, "x": r * np.cos(a) + rod * np.cos(tilt)}
    # speeds of a crank that turns with 2: of the rod's angle and of the slider
    turns = -2 * r * np.cos(a) / (rod * np.cos(tilt))
    u0 = {"a_dot": 2.0, "b_dot": -2.0 + turns, "x_dot": -2 * r * np.sin(a) + rod * np.sin(tilt) * turns}
    traj = ph.simulate(compiled(build), q0, u0, until=ph.when(f"a > {a + 4 * np.pi}"), **TIGHT)
    assert traj.outcome.finished
    assert set(traj.mode["brake"]) == {"slips"}
    turned = traj.events[1:-1]
    assert [event.why for event in turned] == ["sticks"] * 4
    assert [float(event.states[0][0]) for event in turned] == pytest.approx(np.pi * np.arange(1, 5), abs=1e-7)
    assert traj.work[-1, 2] == pytest.approx(-2 * 4 * r * pull, abs=1e-8)
    assert traj["a_dot"][-1] < 2.0
    assert np.abs(traj.energy_drift).max() < 1e-8
