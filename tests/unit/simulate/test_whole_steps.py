"""Time-stepping, method="moreau": commands, guards, controls, states and loops, against adaptive runs."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from mechanisms import four_bar

import polhode as ph

G = 9.81


def arm(**more: Any) -> Any:
    build = ph.Builder("arm", gravity=(0, 0, -G))
    build.body("upper", joint=ph.revolute("y", name="a", damping=0.3), mass=1, com=(0, 0, -0.5), inertia=(0.1,) * 3)
    build.body("fore", parent="upper", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=2, com=(0, 0, -0.4),
               inertia=(0.2,) * 3)  # fmt: skip
    build.marker("hand", body="fore", at=(0, 0, -0.8))
    for name, given in more.items():
        getattr(build, name)(**given)
    return ph.formulate(build.build()).compile()


def both(dyn: Any, h: float, *args: Any, **given: Any) -> tuple[ph.Trajectory, ph.Trajectory]:
    """Runs by whole steps and from event to event."""
    found = ph.simulate(dyn, *args, method="moreau", step=h, **given)
    assert found.statistics["unsolved"] == 0
    return found, ph.simulate(dyn, *args, **given)


def test_smooth_motion_is_of_second_order() -> None:
    """Without candidates, with a damper and a force of time; work and energy, too."""
    off = []
    for h in (1e-2, 5e-3):
        found, exact = both(arm(), h, {"a": 1.0, "b": -0.5}, None, 0.5, tau={"b_dot": "2*sin(5*t)"})
        off.append(np.abs(found.q[-1] - exact.q[-1]).max())
        assert found.work_done[-1] == pytest.approx(exact.work_done[-1], abs=100 * h**2)
        assert np.abs(found.energy_drift).max() < 100 * h**2
    assert off[0] < 2e-3
    assert off[1] < 0.3 * off[0]


def test_loops_and_quaternions_stay_exact() -> None:
    dyn = ph.formulate(four_bar()).compile()
    q, u = ph.assemble(dyn, [-1.0, 0.5, -1.5], {"a_dot": 2.0}, keep=["a_dot"])
    off = []
    for h in (1e-2, 2.5e-3):
        found, exact = both(dyn, h, q, u, 0.2)
        assert np.abs(found.residuals).max() < 1e-12
        off.append(np.abs(found.q[-1] - exact.q[-1]).max())
    assert off[1] < 0.4 * off[0] < 1e-2


def test_states_beside_motion_are_moved() -> None:
    """z' = v - z of a brake that holds from t = 0.5: a charge that follows the speed."""
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.state("c", rate=ph.symbol("a_dot") - ph.symbol("c"), start=0.2)
    build.brake("a_dot", name="brake", active=False)
    dyn = ph.formulate(build.build()).compile()
    found, _ = both(dyn, 5e-3, None, {"a_dot": 3.0}, 1.0, switches=ph.at(0.5, engage="brake"))
    assert found.z[-1, 0] == pytest.approx((3 - 2.8 * np.exp(-0.5)) * np.exp(-0.5), abs=1e-4)
    assert found["a_dot"][-1] == 0
    assert found.events[1].lost == pytest.approx(9.0, abs=1e-12)


def test_commands_between_steps() -> None:
    dyn = arm(lock={"joint": "b", "name": "lock", "active": False})
    sim = ph.Simulation(dyn, {"a": 0.3, "b": 0.7}, {"a_dot": 1.0, "b_dot": -2.0}, method="moreau", step=1e-3)
    M = dyn.mass_matrix(sim.q)
    momentum = (M @ sim.u)[0]
    sim.engage("lock")
    assert sim.u == pytest.approx([momentum / M[0, 0], 0.0], abs=1e-13)
    assert sim.active == ("lock",)
    sim.run(0.05)
    assert sim.q[1] == pytest.approx(0.7, abs=1e-13)
    sim.release("lock")
    before, J = sim.u, dyn.jacobian("hand")(sim.q)[3:]
    sim.strike("hand", (1.0, 0, 0))
    assert dyn.mass_matrix(sim.q) @ (sim.u - before) == pytest.approx(J[0], abs=1e-12)
    sim.run(0.1)
    assert sim.q[1] != pytest.approx(0.7, abs=1e-3)
    assert [event.why for event in sim.events] == ["start", "command", "command", "strike at hand"]


def test_a_latch_keeps_the_place_where_it_engages() -> None:
    dyn = arm(latch={"a": "world", "b": "hand", "kind": "point", "name": "latch", "active": False})
    traj, exact = both(dyn, 1e-3, {"a": 1.0, "b": -0.5}, None, 0.3, switches=ph.when("a < 0.8", engage="latch"))
    event = traj.events[1]
    assert event.why == "when a < 0.8"
    assert event.time == pytest.approx(exact.events[1].time, abs=1e-3)
    places = np.array([dyn.pose("hand")(q)[:3, 3] for q in traj.q[traj.t > event.time]])
    assert np.ptp(places, axis=0) == pytest.approx(0, abs=1e-9)


def test_guards_end_the_step_in_which_they_are_crossed() -> None:
    traj = ph.simulate(arm(), {"a": 1.0}, method="moreau", step=1e-2, until=ph.when("a < 0.5", direction=0))
    assert traj.outcome.finished
    assert traj["a"][-1] < 0.5 < traj["a"][traj.t < traj.t[-1]][-1]
    sim = ph.Simulation(arm(), {"a": 1.0}, method="moreau", step=1e-2)
    sim.run(ph.when("a < 0.5"))
    assert sim.t == pytest.approx(traj.t[-1])
    sim.run(ph.when("a < 0.2"))
    assert 0.1 < sim.q[0] < 0.2


def test_two_guards_in_one_step_are_one_event() -> None:
    dyn = arm(
        lock={"joint": "b", "name": "lock", "active": False}, brake={"speed": "a_dot", "name": "brake", "active": False}
    )
    switches = [ph.when("a < 0.5", engage="lock"), ph.when("a < 0.499", engage="brake")]
    traj = ph.simulate(dyn, {"a": 1.0}, None, 1.0, method="moreau", step=2e-2, switches=switches)
    assert [event.what for event in traj.events[1:]] == [("lock", "brake")]
    assert traj.u[-1] == pytest.approx(0, abs=1e-14)


@pytest.mark.parametrize("sampled", [False, True])
def test_controls(sampled: bool) -> None:
    def pull(t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        return np.array([-20 * (q[0] - 0.5) - 3 * u[0], -5 * q[1] - u[1]])

    dyn = arm(stop={"coordinate": "b", "lower": -0.3, "name": "stop"})
    tau = ph.Sampled(pull, 0.01) if sampled else pull
    found, exact = both(dyn, 2e-3, {"a": 1.0, "b": 0.5}, None, 0.8, tau=tau)
    assert found.q[-1] == pytest.approx(exact.q[-1], abs=0.02)
    assert found["b"].min() > -0.3 - 1e-3


def test_the_laws_of_restitution_agree_on_one_contact() -> None:
    ends = []
    for law in ("newton", "poisson"):
        stop = {"coordinate": "b", "lower": -0.3, "name": "stop", "restitution": 0.5, "restitution_law": law}
        traj = ph.simulate(arm(stop=stop), {"b": 0.5}, {"b_dot": -2.0}, t_end=0.8, method="moreau", step=2e-3)
        assert any(event.lost > 0.01 for event in traj.events)
        ends.append(traj.q[-1])
    assert ends[0] == pytest.approx(ends[1], abs=2e-3)


def test_of_many_candidates_those_act_that_touch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where their rows are wired when a gap closes, balls still bounce where they do."""
    from polhode.simulate import modes

    monkeypatch.setattr(modes, "WIRED", 1)
    build = ph.Builder("balls", gravity=(0, 0, -G))
    for i in range(3):
        build.body(f"ball {i}", joint=ph.prismatic("z", name=f"z{i}"), mass=1)
        build.contact(f"ball {i}", restitution=0.5, name=f"c{i}")
    dyn, start = ph.formulate(build.build()).compile(), {"z0": 0.2, "z1": 0.2, "z2": 5.0}
    found, exact = both(dyn, 1e-3, start, None, 0.5)
    assert found.q[-1] == pytest.approx(exact.q[-1], abs=5e-3)
    assert {name for event in found.events for name in event.what} == {"c0", "c1"}
