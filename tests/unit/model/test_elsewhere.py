"""What an object has not is said with where it is, and what a call does not take with what is meant."""

import copy
import pickle

import numpy as np
import pytest

import polhode as ph


@pytest.fixture(scope="module")
def pendulum():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass="m", com=(0, 0, -1))
    model = build.build()
    eq = ph.formulate(model)
    dyn = eq.compile(values={"m": 1})
    run = ph.simulate(dyn, {"theta": 0.1}, t_end=0.1)
    return {"model": model, "eq": eq, "dyn": dyn, "traj": run, "lin": ph.linearize(dyn), "symbolic": ph.linearize(eq)}


@pytest.mark.parametrize(
    ("which", "name", "said"),
    [
        ("model", "compile", "Model has no 'compile'. Write eq = ph.formulate(model), then eq.compile()."),
        ("model", "simulate", "Write ph.simulate(ph.formulate(model).compile(), q0, u0, t_end)."),
        ("model", "bodis", "Did you mean 'bodies'"),
        ("eq", "forward_dynamics", "Equations has no 'forward_dynamics'. Write dyn = eq.compile(), then dyn.forw"),
        ("eq", "subs", "eq.compile(values={...})"),
        ("dyn", "M", "dyn.mass_matrix(q), or dyn.equations.M"),
        ("dyn", "linearise", "Write ph.linearize(dyn, q)."),
        ("traj", "theta", "Trajectory has no 'theta'. Write traj['theta']."),
        ("traj", "y", "traj.q and traj.u"),
        ("lin", "poles", "lin.modes().eigenvalues"),
        ("symbolic", "modes", "A, B = lin.evaluate({...})"),
    ],
)
def test_what_is_elsewhere_is_said(pendulum, which, name, said):
    with pytest.raises(AttributeError) as refused:
        getattr(pendulum[which], name)
    assert said in str(refused.value)
    assert not hasattr(pendulum[which], name)


def test_what_is_written_there_works(pendulum):
    model, eq, dyn, traj, lin = (pendulum[name] for name in ("model", "eq", "dyn", "traj", "lin"))
    assert ph.formulate(model).compile().parameters == ("m",)
    assert dyn.mass_matrix([0.0]).shape == dyn.equations.M.shape == (1, 1)
    assert len(traj["theta"]) == len(traj.t) == len(traj.rates) == len(traj.accelerations)
    assert np.allclose(abs(lin.modes().eigenvalues), 9.81**0.5)
    assert pendulum["symbolic"].evaluate({"m": 2.0})[0].shape == (2, 2)
    assert eq.to_sympy().tau.shape == (1, 1)


def test_objects_travel_and_a_property_that_fails_says_why(pendulum):
    assert copy.deepcopy(pendulum["model"]) == pendulum["model"]
    assert pickle.loads(pickle.dumps(pendulum["dyn"])).parameters == ()

    class Broken(ph.SymbolicModel):
        @property
        def half(self):
            return None.whole

    made = object.__new__(Broken)
    with pytest.raises(AttributeError, match="'NoneType' object has no attribute 'whole'"):
        _ = made.half


def test_a_name_of_the_package_is_guessed():
    with pytest.raises(AttributeError, match=r"no attribute 'linearise'\. Did you mean 'linearize'"):
        _ = ph.linearise


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"t_end": 1, "dt": 0.1}, "there is no 'dt'. A spacing of the output is output=0.01; equal steps are method="),
        ({"t_span": (0, 1)}, "there is no 't_span'. Give t_end=10.0, and t0="),
        ({"t_end": 1, "controller": None}, "What acts is tau=."),
        ({"t_end": 1, "rtoll": 1e-3}, "Did you mean 'rtol'"),
    ],
)
def test_arguments_of_others_are_said(pendulum, given, said):
    with pytest.raises(TypeError) as refused:
        ph.simulate(pendulum["dyn"], {"theta": 1.0}, **given)
    assert said in str(refused.value)


def test_a_run_without_an_end_and_functions_by_name(pendulum):
    with pytest.raises(ValueError, match=r"t_end is None, expected .* Give t_end=10, or what suits\."):
        ph.simulate(pendulum["dyn"], {"theta": 1.0})
    with pytest.raises(ValueError, match="One function gives all: tau=lambda t, q, u"):
        ph.simulate(pendulum["dyn"], t_end=1, tau={"theta_dot": lambda t, q, u: 1.0})
    with pytest.raises(KeyError, match="expected the names of a row and a column"):
        pendulum["lin"]["theta"]
    assert np.isclose(pendulum["lin"]["theta_dot", "theta"], -9.81)
    assert np.isclose(pendulum["lin"]["theta_dot", "[theta_dot]"], 1.0)


def test_options_that_are_handed_on_are_taken(pendulum):
    many = ph.simulate_many(pendulum["dyn"], [[0.1], [0.2]], t_end=0.1, method="dop853", longest=0.05)
    assert many[1].outcome.finished
    with pytest.raises(TypeError, match="The longest step is longest="):
        ph.simulate_many(pendulum["dyn"], [[0.1]], t_end=0.1, max_step=0.1)


@pytest.mark.parametrize("text", ["2 kg", "9.81 m/s^2", "1e-3 kg*m**2"])
def test_units_are_not_written(text):
    with pytest.raises(ph.ModelError, match=r"Units are SI and not written, angles in radians: [0-9.e-]+") as refused:
        ph.Builder("cart").body("cart", joint=ph.prismatic("x"), mass=text)
    assert str(refused.value).endswith(f"radians: {text.split()[0]}.")


def test_what_is_misspelt_without_a_unit_has_no_such_remedy():
    with pytest.raises(ph.ModelError) as refused:
        ph.Builder("cart").body("cart", joint=ph.prismatic("x"), mass="2 +* m")
    assert "Units" not in str(refused.value)
