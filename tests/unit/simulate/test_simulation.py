"""Simulation: steps, legs of a run, states and forces that are set, what is recorded."""

import numpy as np
import pytest

import polhode as ph
from polhode.simulate.recording import STEPS
from tests import mechanisms

METHODS = {"euler": 1e-3, "midpoint": 1e-3, "rk4": 1e-3, "dopri5": None, "dop853": None, "rodas5p": None}
CLOSED = {"a": -1.0, "b": 1.0, "c": -1.0}


def pendulum():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1), inertia=(0.1, 0.1, 0))
    return ph.formulate(build.build()).compile()


def cart():
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", METHODS)
def test_steps_are_those_of_a_run(method):
    dyn, options = pendulum(), {"method": method, "step": METHODS[method]}
    sim = ph.Simulation(dyn, {"theta": 1.0}, **options)
    whole = ph.simulate(dyn, {"theta": 1.0}, t_end=100.0 if METHODS[method] is None else 0.1, output="steps", **options)
    for t, q, u in zip(whole.t[:20], whole.q, whole.u, strict=False):
        assert (sim.t, *sim.q, *sim.u) == pytest.approx((t, *q, *u), abs=1e-9)
        sim.step()
    found = sim.trajectory()
    assert len(found) == 21
    np.testing.assert_allclose(found.t[:20], whole.t[:20], atol=1e-9)
    assert found.outcome.finished
    assert found.statistics["steps"] == 20


@pytest.mark.parametrize("method", METHODS)
def test_legs_join(method):
    dyn, options = pendulum(), {"method": method, "step": METHODS[method]}
    whole = ph.simulate(dyn, {"theta": 1.0}, t_end=1.0, output=0.1, **options)
    sim = ph.Simulation(dyn, {"theta": 1.0}, **options)
    assert sim.run(until=0.5, output=0.1).finished
    sim.run(until=1.0, output=0.1)
    found = sim.trajectory()
    np.testing.assert_allclose(found.t, whole.t, atol=1e-15)
    np.testing.assert_allclose(found.q, whole.q, atol=1e-7 if method == "euler" else 1e-9)
    sim.run(until=1.2)  # every step
    sim.step()
    more = sim.trajectory()
    assert (np.diff(more.t) > 0).all()
    assert more.t[-1] == sim.t > 1.2
    np.testing.assert_array_equal(more.q[-1], sim.q)


def test_more_steps_than_the_buffer_holds():
    sim = ph.Simulation(pendulum(), {"theta": 1.0}, method="rk4", step=1e-4)
    for _ in range(2 * STEPS + 10):
        sim.step()
    np.testing.assert_allclose(sim.trajectory().t, 1e-4 * np.arange(2 * STEPS + 11), atol=1e-12)


def test_a_state_that_is_set_goes_on_from_there():
    dyn = pendulum()
    for method, step in METHODS.items():
        sim = ph.Simulation(dyn, {"theta": 1.0}, method=method, step=step)
        sim.run(until=0.3)
        sim.q, sim.u = {"theta": -0.4}, [2.0]
        sim.run(until=0.8)
        fresh = ph.simulate(dyn, [-0.4], [2.0], 0.8, t0=0.3, method=method, step=step, output="steps")
        np.testing.assert_array_equal(sim.q, fresh.q[-1])
        traj = sim.trajectory()
        (jump,) = np.flatnonzero(np.diff(traj.t) == 0)  # both sides are there
        assert traj["theta"][jump] > 0
        assert (traj["theta"][jump + 1], traj["theta_dot"][jump + 1]) == (-0.4, 2.0)


def test_forces_that_are_set_act_from_then_on():
    for method, step in METHODS.items():
        sim = ph.Simulation(cart(), method=method, step=step, tau={"x_dot": 1.0})
        sim.run(until=1.0)
        sim.tau = [-3.0]
        sim.run(until=2.0)
        sim.tau = {"x_dot": 4.0}
        np.testing.assert_array_equal(sim.tau, [4.0])
        sim.run(until=3.0)
        assert sim.u[0] == pytest.approx((1 - 3 + 4) / 2, abs=1e-9)
        traj = sim.trajectory()
        for k, force in enumerate((1.0, -3.0, 4.0)):
            assert set(traj.tau[(traj.t > k) & (traj.t <= k + 1), 0]) == {force}
        assert abs(traj.audit().relative_drift) < (1e-2 if method == "euler" else 1e-6)


def test_a_law_stays_a_law_beside_forces_that_are_set():
    build = ph.Builder("two")
    for name in "ab":
        build.body(name, joint=ph.prismatic("x", name=name), mass=1)
    dyn = ph.formulate(build.build()).compile()
    sim = ph.Simulation(dyn, tau={"a_dot": "1 + 0*t", "b_dot": 1.0})
    sim.tau = {"b_dot": 2.0}
    sim.run(until=1.0, output=0.5)
    np.testing.assert_allclose(sim.u, [1.0, 2.0], atol=1e-9)
    np.testing.assert_allclose(sim.trajectory().tau, [[1.0, 2.0]] * 3)


def test_what_is_set_is_checked():
    sim = ph.Simulation(pendulum(), {"theta": 1.0})
    with pytest.raises(ValueError, match=r"q has shape \(2,\), expected \(1,\)"):
        sim.q = [1, 2]
    with pytest.raises(KeyError, match="there is no 'phi'"):
        sim.u = {"phi": 1.0}
    with pytest.raises(ValueError, match="'theta' is NaN"):
        sim.q = [np.nan]
    with pytest.raises(ValueError, match=r"tau has shape \(2,\)"):
        sim.tau = [1.0, 2.0]
    with pytest.raises(ValueError, match="read-only"):
        sim.q[0] = 3.0
    with pytest.raises(ValueError, match="expected a time after now, t = 0"):
        sim.run(until=0.0)
    assert sim.z.shape == (0,)
    held = ph.Simulation(pendulum(), tau=lambda t, q, u: [0.0])
    with pytest.raises(TypeError, match="comes from a control"):
        held.tau = [1.0]


def test_a_set_state_must_satisfy_the_constraints_when_it_moves():
    dyn = ph.formulate(mechanisms.four_bar()).compile()
    q, u = ph.assemble(dyn, CLOSED)
    sim = ph.Simulation(dyn, q, u)
    sim.run(until=0.2)
    sim.q = CLOSED
    with pytest.raises(ValueError, match=r"does not satisfy 'close\.x'"):
        sim.step()
    sim.q, sim.u = ph.assemble(dyn, CLOSED, {"a_dot": 1.0}, keep=["a_dot"])
    sim.run(until=0.4)
    assert abs(sim.trajectory().residuals).max() < 1e-9


def test_sampled_controls_are_asked_in_steps_and_legs():
    calls = []

    def control(t, q, u):
        calls.append(t)
        return [float(len(calls))]

    sim = ph.Simulation(cart(), tau=ph.Sampled(control, 0.1))
    while sim.t < 0.25:
        sim.step()
    sim.run(until=0.5)
    np.testing.assert_allclose(calls, [0, 0.1, 0.2, 0.3, 0.4], atol=1e-15)
    assert sim.u[0] == pytest.approx(0.05 * 15, abs=1e-12)
    assert abs(sim.trajectory().audit().relative_drift) < 1e-9


def test_a_run_that_stops_early_warns_and_a_step_raises():
    law = {"x_dot": 2 * ph.symbol("x") ** 3}
    with pytest.warns(ph.SimulationWarning, match=r"Stopped at t = 1\.85") as seen:
        traj = ph.simulate(cart(), {"x": 1.0}, t_end=10.0, tau=law)
    assert (len(seen), seen[0].filename, str(seen[0].message)) == (1, __file__, str(traj.outcome))
    sim = ph.Simulation(cart(), {"x": 1.0}, tau=law)
    with pytest.warns(ph.SimulationWarning) as seen:
        assert not sim.run(until=10.0).finished
    assert (len(seen), seen[0].filename) == (1, __file__)
    assert sim.trajectory().t[-1] == sim.t == pytest.approx(1.8541, abs=2e-3)
    with pytest.raises(RuntimeError, match="Stopped at t ="):
        sim.step()
    assert not sim.outcome.finished
    sim.q, sim.u = [0.0], [0.0]  # it can move again
    assert sim.run(until=3.0).finished


def test_a_sampled_control_that_gives_nan_can_recover():
    sim = ph.Simulation(cart(), tau=ph.Sampled(lambda t, q, u: [np.nan if broken and t > 0.15 else 1.0], 0.1))
    broken = True
    with pytest.raises(RuntimeError, match="control gave a force on 'x_dot'"):
        [sim.step() for _ in range(1000)]
    assert sim.t == pytest.approx(0.2)
    broken = False
    assert sim.run(until=1.0).finished
    assert sim.u[0] == pytest.approx(0.5, abs=1e-9)


def test_what_a_control_raises_leaves_the_state_where_it_was():
    def control(t, q, u):
        if t > 0.5 and broken:
            raise RuntimeError("no signal")
        return [1.0]

    broken = True
    sim = ph.Simulation(cart(), tau=control, longest=0.1)
    with pytest.raises(RuntimeError, match="no signal"):
        sim.run(until=1.0)
    assert 0.3 < sim.t <= 0.5
    with pytest.raises(RuntimeError, match="no signal"):
        [sim.step() for _ in range(3)]
    broken = False
    sim.run(until=1.0)
    assert sim.u[0] == pytest.approx(0.5, abs=1e-9)


@pytest.mark.parametrize(
    "answer",
    [
        lambda f: [f, 0.0],
        lambda f: np.array([f, 0]),
        lambda f: (f, 0),
        lambda f: np.array([f, 0], dtype=np.float32),
        lambda f: {"a_dot": f},
        lambda f: np.array([[f, 7], [0, 7]])[:, 0],
        lambda f: [np.float64(f), 0],
    ],
)
def test_answers_of_every_kind(answer):
    build = ph.Builder("two")
    for name in "ab":
        build.body(name, joint=ph.prismatic("x", name=name), mass=1)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, t_end=1.0, tau=lambda t, q, u: answer(2.0), output=[1.0])
    np.testing.assert_allclose(traj.u, [[2.0, 0.0]], atol=1e-12)


@pytest.mark.parametrize("answer", [3.0, [1.0, 2.0], [[1.0]], [np.array([1.0])], "x", None, {"y_dot": 1.0}])
def test_answers_that_are_none(answer):
    with pytest.raises((ValueError, TypeError, KeyError)):
        ph.simulate(cart(), t_end=1.0, tau=lambda t, q, u: answer)


@pytest.mark.parametrize("output", ["steps", 0.25, [0.4]])
def test_what_a_state_brings_that_is_set_is_no_drift(output):
    dyn = pendulum()
    sim = ph.Simulation(dyn, {"theta": 1.0})
    sim.run(until=1.0, output=output)
    before = dyn.energy(sim.q, sim.u).sum()
    sim.u = {"theta_dot": 3.0}
    sim.q = {"theta": 0.2}  # both at once: the state in between is none
    brought = dyn.energy(sim.q, sim.u).sum() - before
    sim.run(until=2.0, output=output if output != [0.4] else [1.5])
    traj = sim.trajectory()
    assert abs(brought) > 0.5
    assert traj.audit().by_hand == pytest.approx(brought, rel=1e-12)
    assert np.abs(traj.energy_drift).max() < 1e-6
    assert "set by hand [J]" in str(traj.audit())
    row = traj.set_rows[0]
    assert traj.t[row] == traj.t[row - 1] == 1.0
    assert (traj.set_by_hand[:row] == 0).all()


def test_a_state_that_is_set_before_the_start_brings_nothing():
    sim = ph.Simulation(pendulum(), {"theta": 1.0})
    sim.u = [2.0]
    sim.run(until=1.0)
    assert sim.trajectory().set_rows == ()
    assert "set by hand" not in str(sim.trajectory().audit())
