"""States beside motion wherever a run or a model is looked at."""

import numpy as np
import pytest

import polhode as ph


def servo(**start):
    """A cart pulled to x = 1 by a spring, a damper and the integral e of what is left."""
    x, speed, e = ph.symbols("x x_dot e")
    build = ph.Builder("servo", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.state("e", rate=1 - x, **start)
    build.force("x_dot", 3 * e - 4 * speed + 10 * (1 - x))
    return build.build()


def exact(t, e0=0.0):
    """x''' + 4 x'' + 10 x' + 3 x = 3, by the matrix exponential."""
    from scipy.linalg import expm

    A = np.array([[0, 1, 0], [-10, -4, 3], [-1, 0, 0.0]])
    rest = np.linalg.solve(A, -np.array([0, 10, 1.0]))
    return np.array([rest + expm(A * s) @ ([0, 0, e0] - rest) for s in t])


@pytest.mark.parametrize("e0", [None, 0.7])
def test_a_state_is_integrated_from_where_it_starts(e0):
    dyn = ph.formulate(servo()).compile()
    traj = ph.simulate(dyn, t_end=3.0, z0=None if e0 is None else {"e": e0})
    expected = exact(traj.t, e0 or 0.0)
    np.testing.assert_allclose(np.column_stack([traj["x"], traj["x_dot"], traj["e"]]), expected, atol=1e-8)
    assert traj["e"][0] == (e0 or 0.0)


def test_pictures_and_units_know_states(tmp_path):
    traj = ph.simulate(ph.formulate(servo(start=0.2)).compile(), t_end=3.0)
    page = traj.animate(tmp_path / "servo.html")
    assert page.stat().st_size > 1000
    assert traj.units["e"] == ""
    figure = traj.plot()
    assert any("States" in axes.get_title("left") for axes in figure.axes)
    assert traj.plot("e").axes


def test_formulations_agree_with_states_in_the_forces():
    found = ph.check(servo())
    assert found.agree
    assert "zdot" in found.table


def test_inputs_may_depend_on_states():
    traj = ph.simulate(ph.formulate(servo()).compile(), t_end=1.0, tau={"x_dot": "-2*e"})
    np.testing.assert_allclose(traj["tau_x_dot"], -2 * traj["e"], atol=1e-12)


def test_a_simulation_refuses_what_it_does_not_have():
    sim = ph.Simulation(ph.formulate(servo()).compile(), z0=[0.5])
    assert sim.z == [0.5]
    for name in ("p", "tauu"):
        with pytest.raises(AttributeError, match=f"no {name!r} that can be set"):
            setattr(sim, name, [9.0])


@pytest.mark.parametrize("options", [{"step": 1e-3}, {"method": "dop853"}], ids=["in lanes", "one by one"])
def test_many_runs_start_their_states_each_for_itself(options):
    dyn = ph.formulate(servo(start=0.2)).compile()
    for z0, starts in (({"e": [0.0, 0.7]}, [0.0, 0.7]), ([[0.3]], [0.3]), (None, [0.2])):
        many = ph.simulate_many(dyn, t_end=1.0, z0=z0, **options)
        assert len(many) == len(starts)
        for k, e0 in enumerate(starts):
            last = [many[k]["x"][-1], many[k]["x_dot"][-1], many[k]["e"][-1]]
            np.testing.assert_allclose(last, exact([1.0], e0)[0], atol=1e-8)
