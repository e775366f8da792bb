"""Switches that cannot be are refused, and leave everything as it was; bounds at 0 are bounds."""

import numpy as np
import pytest

import polhode as ph
from polhode.simulate import SwitchError


def sliding(**stop):
    build = ph.Builder("sliding", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("z", name="z"), mass=1)
    build.stop("z", name="stop", **stop)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize(("stop", "z", "speed"), [({"lower": 0.0}, 0.1, -0.2), ({"upper": 0.0}, -0.1, 0.2)])
def test_a_stop_at_0_is_reached(stop, z, speed):
    traj = ph.simulate(sliding(**stop), {"z": z}, {"z_dot": speed}, 1.0)
    assert traj.events[1].time == pytest.approx(0.5, abs=1e-12)
    assert traj["z"][-1] == pytest.approx(0, abs=1e-12)
    assert traj.events[1].lost == pytest.approx(0.02, abs=1e-12)


def test_a_stop_is_not_engaged_beyond_its_bound():
    sim = ph.Simulation(sliding(lower=0.0, active=False), {"z": -0.5}, {"z_dot": -0.2})
    mode = sim.mode
    with pytest.raises(SwitchError, match=r"'stop' cannot be engaged at t = 0 s: the position is 0.5 m beyond"):
        sim.engage("stop")
    assert (sim.q[0], sim.u[0]) == (-0.5, -0.2)
    assert sim.mode == mode
    sim.run(1.0)
    assert sim.q[0] == pytest.approx(-0.7, abs=1e-12)


def test_a_loop_that_is_open_leaves_what_else_was_asked_for_as_it_was():
    build = ph.Builder("two", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("b", joint=ph.prismatic("x", name="y"), mass=1)
    build.loop("a", "b", "point", name="loop", active=False)
    build.brake("x_dot", name="brake", active=False)
    sim = ph.Simulation(ph.formulate(build.build()).compile(), {"x": 1.0}, {"x_dot": 1.0})
    with pytest.raises(SwitchError, match="'loop' cannot be engaged"):
        sim.engage("loop", "brake")
    assert set(sim.mode.values()) == {"released"}
    assert np.array_equal(sim.u, [1.0, 0.0])


def test_a_switch_of_the_model_before_the_start_does_not_act():
    build = ph.Builder("one", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.brake("x_dot", name="brake", active=False)
    build.switch(at=-1.0, engage="brake")
    dynamics = ph.formulate(build.build()).compile()
    with pytest.warns(ph.SimulationWarning, match=r"starts at 0 s, so that what the model .* brake at -1 s does not"):
        late = ph.simulate(dynamics, u0={"x_dot": 1.0}, t_end=1.0)
    assert late["x"][-1] == pytest.approx(1.0, abs=1e-12)
    with pytest.warns(ph.SimulationWarning, match=r"give switches=ph\.at\(0, engage="):
        held = ph.simulate(dynamics, u0={"x_dot": 1.0}, t_end=1.0, switches=ph.at(0, engage="brake"))
    assert held["x"][-1] == pytest.approx(0.0, abs=1e-12)
    with pytest.raises(ValueError, match=r"at -3 s: is before the start of the run, -2 s"):
        ph.simulate(dynamics, t0=-2.0, t_end=1.0, switches=ph.at(-3, engage="brake"))
    traj = ph.simulate(dynamics, u0={"x_dot": 1.0}, t0=-2.0, t_end=0.0)
    assert traj["x"][-1] == pytest.approx(1.0, abs=1e-12)


def test_many_runs_tell_once_of_a_switch_before_the_start():
    build = ph.Builder("one", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.brake("x_dot", name="brake", active=False)
    build.switch(at=1.0, engage="brake")
    dynamics, speeds = ph.formulate(build.build()).compile(), np.arange(4.0)
    with pytest.warns(ph.SimulationWarning) as heard:
        runs = ph.simulate_many(dynamics, None, {"x_dot": speeds}, 6.0, t0=5.0, method="dop853", threads=2)
    assert [w.filename for w in heard] == [__file__]
    assert np.allclose(runs.q[:, -1, 0], speeds, atol=1e-12)


def four_bar(armature, brake=True):
    """With a rod that has inertia by its joint alone, and where it begins."""
    build = ph.Builder("four-bar", gravity=(0, 0, 0))
    solid = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0, 0.1, 0.1)}
    build.body("crank", joint=ph.revolute("y", name="crank"), **solid)
    rod = ph.revolute("y", name="rod", armature=armature)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=rod, mass=0)
    build.body("rocker", at=(2, 0, 0), joint=ph.revolute("y", name="rocker"), **solid)
    build.marker("end", body="rod", at=(2, 0, 0))
    build.marker("top", body="rocker", at=(1.5, 0, 0))
    build.loop("end", "top", "point", name="pin")
    if brake:
        build.brake("crank_dot", name="brake", active=False)
    dyn = ph.formulate(build.build()).compile()
    return dyn, ph.assemble(dyn, [-1, 0.7, -1.3], {"crank_dot": 1.0}, keep=["crank", "crank_dot"])


@pytest.mark.parametrize("given", [{}, {"method": "rk4", "step": 1e-3}, {"method": "moreau", "step": 1e-3}])
def test_links_without_mass_are_refused_where_something_comes_and_goes(given):
    """Their loop determines how they move, but not what an impulse does without it."""

    def braked(armature):
        dyn, start = four_bar(armature)
        return ph.simulate(dyn, start.q, start.u, 0.1, switches=ph.at(0.05, engage="brake"), **given)

    with pytest.raises(SwitchError, match=r"inertia matrix is singular without its constraints\. Give .* an armature"):
        braked(0)
    assert abs(braked(0.01).u[-1]).max() < 1e-9  # the remedy


def test_links_without_mass_run_with_what_always_holds_and_refuse_the_rest():
    dyn, start = four_bar(0, brake=False)
    sim = ph.Simulation(dyn, start.q, start.u)
    sim.run(0.05)
    u = sim.u
    for refused in (lambda: sim.release("pin"), lambda: sim.strike("crank", (0, 0, 1.0))):
        with pytest.raises(RuntimeError, match="inertia matrix is singular without"):
            refused()
    assert np.array_equal(sim.u, u)
    assert sim.run(0.1).finished
    with pytest.raises(ValueError, match="step_cost: Model 'four-bar': nothing with inertia moves with 'rod_dot'"):
        dyn.step_cost()
