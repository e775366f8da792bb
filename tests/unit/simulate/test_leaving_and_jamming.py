"""What leaves its ground, jams on it, or comes to rest on ground that is held by something else."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polhode as ph


def ball(law: str, restitution: float = 0.0) -> ph.Dynamics:
    build = ph.Builder("ball on a plate")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=0.5)
    build.body("plate", joint=ph.prismatic("z", name="l"), mass=4)
    if law == "lock":
        build.lock("l")
    else:
        build.prescribe("l", law)
    build.contact("ball", "plate", restitution=restitution, name="c")
    return ph.formulate(build.build()).compile()


def test_a_ball_leaves_a_plate_that_shakes_wherever_the_plate_falls_as_fast() -> None:
    # z'' = -g where 0.05 * 20^2 sin(20 t) = g: rising, once a period; caught again in each
    traj = ph.simulate(ball("0.05*sin(20*t)"), {"z": 0.2}, {"l_dot": 1.0}, 2.0)
    assert traj.outcome.finished
    left = [event.time for event in traj.events if event.why == "opens"]
    first = np.arcsin(9.81 / 20) / 20
    periods = (np.array(left) - first) * 20 / (2 * np.pi)
    assert len(left) == 6
    assert periods == pytest.approx(np.round(periods), abs=1e-9)


@pytest.mark.parametrize("law", ["lock", "0*t", "0.1*t"])
def test_bounces_end_on_a_plate_that_is_held(law: str) -> None:
    # seen from the plate: h = 0.2, v = v_0; e = 0.3; rest at t_1 + 2 v_1 / g * e / (1 - e)
    speed = 0.1 if law == "0.1*t" else 0.0
    traj = ph.simulate(ball(law, 0.3), {"z": 0.2}, {"l_dot": speed}, 0.6)
    met = np.sqrt(speed**2 + 2 * 9.81 * 0.2)
    rest = (met - speed) / 9.81 + 2 * met / 9.81 * 0.3 / 0.7
    assert traj.outcome.finished
    assert [e.rest for e in traj.events if e.rest] == [pytest.approx(rest, abs=1e-9)]
    assert traj.mode["c"][-1] == "closed"


@pytest.mark.parametrize("kind", ["hinge", "cylinder", "parallel"])
def test_latches_hold_axes_at_right_angles(kind: str) -> None:
    build = ph.Builder("latched", gravity=(0, 0, 0))
    build.body("b", joint=ph.free(quaternion=True, name="f"), mass=1, inertia=(0.1, 0.2, 0.3))
    build.body("a", joint=ph.free(quaternion=True, name="g"), mass=2, inertia=(0.5, 0.4, 0.3))
    build.latch("a", "b", kind, axis="z", name="latch", active=False)
    dyn = ph.formulate(build.build()).compile()
    for angle in (np.pi / 2, np.pi / 2 - 1e-5):
        q = [np.cos(angle / 2), np.sin(angle / 2), 0, 0, 0.5, 0.2, 0.1, 1, 0, 0, 0, 0, 0, 0]
        u = [0.3, 0.5, -0.7, 0, 0, 0, 0.2, -0.4, 0.6, 0.1, 0.2, 0.3]
        traj = ph.simulate(dyn, q, u, 0.5, switches=ph.at(0.0, engage="latch"))
        assert traj.outcome.finished
        axis = np.einsum("kji,kj->ki", traj.pose("a")[:, :3, :3], traj.pose("b")[:, :3, 2])
        assert np.abs(axis - axis[0]).max() < 1e-10
        turned = np.einsum("kji,kj->ki", traj.pose("a")[:, :3, :3], traj.pose("b")[:, :3, 0])
        assert np.abs(turned - turned[0]).max() > 0.01  # it turns about that axis


def test_a_foot_that_jams_does_not_sink_into_the_ground() -> None:
    build = ph.Builder("biped")
    build.body("trunk", joint=ph.planar("y", name="base"), mass=10, inertia=(0.3, 0.3, 0.3))
    torques = {}
    for side, hip in (("left", -0.4), ("right", 0.2)):
        thigh = ph.revolute("y", name=f"{side}_hip", damping=0.2, limits=(-1.5, 1.5))
        shank = ph.revolute("y", name=f"{side}_knee", damping=0.2, limits=(0, 2.5))
        build.body(f"{side} thigh", parent="trunk", joint=thigh, mass=1, com=(0, 0, -0.2), inertia=(0.01, 0.01, 0.002))
        build.body(
            f"{side} shank", parent=f"{side} thigh", at=(0, 0, -0.4), joint=shank, mass=0.7, com=(0, 0, -0.2),
            inertia=(0.008, 0.008, 0.001),
        )  # fmt: skip
        build.marker(f"{side} foot", body=f"{side} shank", at=(0, 0, -0.4))
        build.contact(f"{side} foot", friction=0.7, name=f"{side} ground")
        for joint, wanted in (("hip", hip), ("knee", 0.5)):
            torques[f"{side}_{joint}_dot"] = f"-150*({side}_{joint} - {wanted}) - 8*{side}_{joint}_dot"
    dyn = ph.formulate(build.build()).compile()
    q = {"base_z": 1.2, "left_hip": -0.5, "right_hip": 0.3, "left_knee": 0.5, "right_knee": 0.4}
    traj = ph.simulate(dyn, q, {"base_vx": 1.0}, 1.8, tau=torques, output="steps")
    assert traj.outcome.finished
    for side in ("left", "right"):
        assert traj.pose(f"{side} foot")[:, 2, 3].min() > -1e-10
    assert np.abs(traj.energy_drift).max() < 1e-9
    # slides stop at a stroke where friction jams
    assert any(event.impulses and event.lost > 5 for event in traj.events if 1.72 < event.time < 1.73)


def test_a_capacity_that_falls_below_0_holds_nothing() -> None:
    build = ph.Builder("brake", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.brake("x_dot", capacity="2*sin(3*t)", name="brake")
    # it has stopped where (2/3) (1 - cos 3 t) = 1
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": 1.0}, 2.0)
    assert traj.outcome.finished
    assert traj.events[1].time == pytest.approx(np.arccos(-0.5) / 3, abs=1e-9)
    assert traj["x_dot"][-1] == pytest.approx(0.0, abs=1e-12)


@pytest.mark.parametrize("method", ["dop853", "rodas5p"])
@pytest.mark.parametrize(("feet", "friction", "size", "mass"), [(4, 0.0, 1, 1), (4, 0.5, 1e3, 1e9), (5, 0.5, 1e-3, 1)])
def test_a_table_lifted_at_its_centre_leaves_with_all_feet_at_once(
    feet: int, friction: float, size: float, mass: float, method: str
) -> None:
    # lifted by m g t / 2: z = g (t - 2)^3 / 12 from t = 2 on, and no foot leaves before, though how they share is open
    g = 9.81 * size
    build = ph.Builder("table", gravity=(0, 0, -g))
    inertia = (0.2 * mass * size**2, 0.25 * mass * size**2, 0.3 * mass * size**2)
    build.body("t", joint=ph.free(quaternion=False), mass=4 * mass, inertia=inertia, com=(0, 0, 0.3 * size))
    for k in range(feet):
        angle = 2 * np.pi * k / feet + 0.4
        build.marker(f"f{k}", body="t", at=(0.4 * size * np.cos(angle), 0.3 * size * np.sin(angle), 0.0))
        build.contact(f"f{k}", name=f"c{k}", friction=friction)
    build.force("t_vz", f"{4 * mass * g!r}*t/2")
    traj = ph.simulate(ph.formulate(build.build()).compile(), None, None, 3.0, method=method)
    assert traj.outcome.finished
    assert [event.why for event in traj.events] == ["start", "opens"]
    assert traj.events[1].time == pytest.approx(2, abs=1e-9)
    assert traj["t_z"][-1] == pytest.approx(g / 12, rel=1e-6)


def latched_arm(ends: tuple[str, str], kind: str, method: str) -> Any:
    """An arm of two links on the origin of the world, with a hand at its end."""
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    link = {"mass": 1, "com": (0.1, 0, -0.5), "inertia": (0.1, 0.2, 0.3)}
    build.body("upper", joint=ph.revolute("y", name="a"), **link)
    build.body("lower", parent="upper", at=(0, 0, -1), joint=ph.spherical(quaternion=True, name="b"), **link)
    build.marker("hand", body="lower", at=(0, 0.2, -1))
    build.latch(*ends, kind, axis="y", name="grab", active=False)
    return ph.formulate(build.build(), method).compile()


@pytest.mark.parametrize("method", ["poincare", "denoc"])
@pytest.mark.parametrize("kind", ["point", "hinge"])
@pytest.mark.parametrize("ends", [("hand", "world"), ("world", "hand")])
def test_a_latch_to_the_world_holds_what_moves_in_either_order(ends: tuple[str, str], kind: str, method: str) -> None:
    sim = ph.Simulation(latched_arm(ends, kind, method), {"a": 1.0}, {"a_dot": 1.0, "b_wz": 0.5})
    sim.run(0.2)
    sim.engage("grab")
    assert sim.events[-1].note == ""
    place = sim.dynamics.pose("hand")
    held = place(sim.q)
    sim.run(0.5)
    assert place(sim.q)[:3, 3] == pytest.approx(held[:3, 3], abs=1e-8)
    if kind == "hinge" and ends[1] == "world":
        assert place(sim.q)[1, :3] == pytest.approx(held[1, :3], abs=1e-8)  # y of the world, in the hand


@pytest.mark.parametrize("ends", [("hand", "upper"), ("upper", "hand")])
def test_a_latch_to_a_body_that_carries_a_marker_holds_the_marker(ends: tuple[str, str]) -> None:
    sim = ph.Simulation(latched_arm(ends, "point", "poincare"), {"a": 1.0}, {"b_wx": 0.5})
    sim.engage("grab")
    seen = []
    for _ in range(2):
        X_U, X_H = (sim.dynamics.pose(name)(sim.q) for name in ("upper", "hand"))
        seen.append(X_U[:3, :3].T @ (X_H[:3, 3] - X_U[:3, 3]))
        sim.run(sim.t + 0.5)
    assert seen[1] == pytest.approx(seen[0], abs=1e-8)


def test_what_engages_and_restricts_nothing_says_so() -> None:
    """The distance of a tip from the pivot that it turns about never changes."""
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.marker("tip", body="bob", at=(0, 0, -1))
    build.latch("tip", "world", "distance", name="leash", active=False)
    build.latch("tip", "world", "point", name="grab", active=False)
    sim = ph.Simulation(ph.formulate(build.build()).compile(), {"a": 1.0})
    sim.engage("leash")
    assert sim.events[-1].note == "'leash' restricts nothing here"
    sim.engage("grab")
    assert sim.events[-1].note == ""
