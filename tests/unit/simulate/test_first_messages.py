"""Messages that new users meet in their first hour."""

import numpy as np
import pytest

import polhode as ph


@pytest.fixture(scope="module")
def dyn():
    build = ph.Builder("cart")
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=0.2, com=(0, 0, -0.5))
    return ph.formulate(build.build()).compile()


def run(dyn, *state, **given):
    return ph.simulate(dyn, *state, t_end=0.01, **given)


def test_a_speed_among_coordinates_is_pointed_to_its_place(dyn):
    with pytest.raises(KeyError, match=r"q0: 'theta_dot' is a speed. Give it in u0=\{'theta_dot'"):
        run(dyn, {"theta_dot": 1.0})
    with pytest.raises(KeyError, match=r"u0: 'theta' is a coordinate. Give it in q0="):
        run(dyn, None, {"theta": 1.0})
    with pytest.raises(KeyError, match=r"q: 'theta_dot' is a speed. Give it in u="):
        ph.linearize(dyn, {"theta_dot": 1.0})
    with pytest.raises(KeyError, match=r"q0: 'theta_dot' is a speed"):
        ph.assemble(dyn, {"theta_dot": 1.0})
    assert run(dyn, {"theta": 0.1}, {"theta_dot": 1.0}).outcome.finished


def test_a_misspelt_force_names_the_speed_that_was_meant(dyn):
    with pytest.raises(KeyError, match=r"no speed 'thata'\. There is 'theta_dot'"):
        run(dyn, tau={"thata": 1.0})


def test_a_control_that_returns_nothing_says_so(dyn):
    with pytest.raises(TypeError, match=r"gave nothing \(None\) at t = 0, .* return \{'x_dot': ...\}"):
        run(dyn, tau=lambda t, q, u: None)
    assert run(dyn, tau=lambda t, q, u: {"x_dot": 1.0}).outcome.finished


@pytest.mark.parametrize("given", [{"rtol": 1e-6}, {"atol": 1e-6}, {"longest": 0.1}])
def test_tolerances_of_a_fixed_step_are_refused(dyn, given):
    name = next(iter(given))
    with pytest.raises(ValueError, match=f"{name}= is for methods that choose their steps, and 'rk4'"):
        run(dyn, method="rk4", step=1e-3, **given)


def test_an_absolute_tolerance_of_0_is_refused(dyn):
    with pytest.raises(ValueError, match=r"atol is 0, expected more than 0: .* Give atol=1e-12"):
        run(dyn, atol=0)
    assert run(dyn, atol=1e-12).outcome.finished


def test_the_state_goes_into_the_call(dyn):
    q, u = np.zeros(2), np.zeros(2)
    with pytest.raises(
        TypeError, match=r"dyn.pose\('bob'\) is the call, which takes the state: dyn.pose\('bob'\)\(q\)"
    ):
        dyn.pose("bob", q)
    with pytest.raises(TypeError, match=r"dyn.velocity\('bob'\)\(q, u\)"):
        dyn.velocity("bob", q, u)
    assert dyn.pose("bob")(q).shape == (4, 4)
    assert dyn.velocity("bob", "marker")(q, u).shape == (6,)


def test_symbols_of_sympy_are_told_apart():
    sympy = pytest.importorskip("sympy")
    build = ph.Builder("one")
    with pytest.raises(ph.ModelError, match=r"mass is m, expected .* Of SymPy's, make one with polhode.symbol\('m'\)"):
        build.body("cart", joint=ph.prismatic("x", name="x"), mass=sympy.Symbol("m"))


def test_a_builder_is_no_file():
    with pytest.raises(TypeError, match="load takes the path of a file, found the builder 'one'"):
        ph.load(ph.Builder("one"))


def pendulum(**given):
    build = ph.Builder("plane", **given)
    build.body("bob", joint=ph.revolute("z", name="theta"), mass=1, com=(0, -1, 0))
    return ph.formulate(build.build()).compile()


def test_a_machine_across_which_gravity_acts_is_told(recwarn):
    with pytest.warns(
        ph.SimulationWarning, match=r"Nothing moved: gravity, \(0, 0, -9.81\), acts along no joint of 'pl"
    ):
        ph.simulate(pendulum(), {"theta": 1.0}, t_end=0.1)
    recwarn.clear()
    for machine, start in (
        (pendulum(), {"u0": {"theta_dot": 1.0}}),
        (pendulum(gravity=(0, 0, 0)), {"q0": {"theta": 1.0}}),
        (pendulum(gravity=(0, -9.81, 0)), {}),  # it hangs
        (pendulum(), {"tau": {"theta_dot": 1.0}}),
    ):
        ph.simulate(machine, t_end=0.1, **start)
    assert not recwarn.list


def test_a_rate_given_for_a_period_and_a_control_of_something_else_are_told(dyn, recwarn):
    with pytest.warns(ph.SimulationWarning, match=r"asked once: its period is 100 s, .* period=0\.01\."):
        ph.simulate(dyn, t_end=1.0, tau=ph.Sampled(lambda t, q, u: [0, 0], 100))
    recwarn.clear()
    ph.simulate(dyn, t_end=1.0, tau=ph.Sampled(lambda t, q, u: [0, 0], period=0.1))
    assert not recwarn.list
    for control in (lambda t: [0, 0], lambda: None):
        with pytest.raises(TypeError, match=r"the control takes \(t?\), expected \(t, q, u\)"):
            ph.simulate(dyn, t_end=1.0, tau=control)
        with pytest.raises(TypeError, match=r"Sampled: the control takes"):
            ph.Sampled(control, period=0.1)
    ph.simulate(dyn, t_end=0.1, tau=lambda *state: [0, 0])


def test_parameters_by_place_are_told():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass="m", com=(0, 0, -1))
    open_ = ph.formulate(build.build()).compile()
    with pytest.raises(TypeError, match=r"have no place among its arguments. Give p="):
        open_.mass_matrix([0.0], {"m": 1.0})
    held = ph.equilibrium(open_, {"theta": 0.1}, p={"m": 1.0})
    with pytest.raises(AttributeError, match=r"Write held\['theta'\]"):
        _ = held.theta
    with pytest.raises(AttributeError, match=r"Modes has no 'plot'. Write lin.plot\(\)"):
        held.linear().modes().plot()
