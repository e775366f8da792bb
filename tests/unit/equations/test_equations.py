"""Equations and Dynamics: shapes, parameters, views and messages."""

import pickle

import numpy as np
import pytest

import polhode as ph
from polhode.graph import evaluate


def pendulum(**options):
    m, L, g = ph.symbols("m L g")
    build = ph.Builder("pendulum", gravity=(0, 0, -g))
    build.body("bob", joint=ph.revolute("y", name="theta", **options), mass=m, com=(0, 0, -L))
    return build


def test_a_pendulum_comes_out_as_in_the_textbook():
    eq = ph.formulate(pendulum().build())
    assert str(eq.M) == "[[L**2*m]]"
    assert str(eq.c) == "[L*g*m*sin(theta)]"
    assert [str(s) for s in eq.parameters] == ["L", "g", "m"]
    assert eq.model.coordinates == ("theta",)
    assert eq.model.speeds == ("theta_dot",)


def test_values_are_folded_and_the_rest_stay_inputs():
    dyn = ph.formulate(pendulum().build()).compile(values={"m": 2.0, ph.symbol("L"): 0.5})
    assert dyn.parameters == ("g",)
    expected = -9.81 / 0.5 * np.sin(0.3)
    assert np.allclose(dyn.forward_dynamics([0.3], [0.0], [0.0], p={"g": 9.81}), expected)
    assert np.allclose(dyn.forward_dynamics([0.3], [0.0], [0.0], p=[9.81]), expected)
    batch = dyn.forward_dynamics([[0.3], [0.3]], [0.0], [0.0], p={"g": [9.81, 0.0]})
    assert np.allclose(batch[:, 0], [expected, 0])


def test_a_missing_parameter_is_an_error_that_names_it():
    dyn = ph.formulate(pendulum().build()).compile(values={"m": 2.0})
    with pytest.raises(ValueError, match="no value for 'L', 'g'"):
        dyn.forward_dynamics([0.3], [0.0], [0.0])
    with pytest.raises(ValueError, match=r"'l' is no parameter"):
        dyn.forward_dynamics([0.3], [0.0], [0.0], p={"L": 1, "g": 1, "l": 2})
    with pytest.raises(ValueError, match="'g' is NaN"):
        dyn.bias([0.3], [0.0], p={"L": 1, "g": np.nan})
    with pytest.raises(ValueError, match="'M' is no parameter"):
        ph.formulate(pendulum().build()).compile(values={"M": 2.0})
    for value in (np.inf, ph.symbol("theta"), "2"):
        with pytest.raises(ValueError, match="finite number"):
            ph.formulate(pendulum().build()).compile(values={"m": value})
    with pytest.raises(ValueError, match="'g' is NaN or infinite"):
        dyn.bias([0.3], [0.0], p=[1.0, np.inf])
    with pytest.raises(ValueError, match="expected 2 values last: 'L', 'g'"):
        dyn.bias([0.3], [0.0], p=[1.0])
    with pytest.raises(ValueError, match="L='x'"):
        dyn.mass_matrix([0.3], p={"L": "x"})


def test_a_call_asks_only_for_the_parameters_it_uses():
    dyn = ph.formulate(pendulum().build()).compile()
    assert dyn.mass_matrix([0.3], p={"m": 2.0, "L": 0.5}) == pytest.approx(0.5)
    assert dyn.mass_matrix([0.3], p={"m": 2.0, "L": 0.5, "g": 9.81}, t=3.0) == pytest.approx(0.5)
    assert dyn.rates([0.3], [0.1]) == pytest.approx(0.1)


def test_inputs_have_names_of_their_own():
    """A parameter may be called like an input."""
    build = ph.Builder("clash")
    build.body("a", joint=ph.revolute("z", name="x"), mass=1, com=(1, 0, 0))
    build.force("x_dot", ph.symbol("tau_x_dot"))
    dyn = ph.formulate(build.build()).compile()
    assert dyn.forward_dynamics([0.0], [0.0], [7.0], p={"tau_x_dot": 5.0}) == pytest.approx(12)


def test_lagrange_chooses_names_that_are_free():
    options = {"q": ("th", "x", "y"), "u": ("th_dot", "x_dot", "y_dot")}
    build = ph.Builder("plate")
    build.body("a", joint=ph.planar("z", **options), mass=1, com=(0.1, 0, 0), inertia=(1, 1, 1))
    build.marker("corner", body="a", at=(1, 1, 0))
    build.spring("corner", "world", stiffness=2, length=0.5, damping=0.7)
    poincare, lagrange = (ph.formulate(build.build(), method=m) for m in ("poincare", "lagrange"))
    assert [str(s) for s in lagrange.u] == ["th_rate", "x_rate", "y_rate"]
    q, u = [0.3, 0.5, -0.4], [0.2, 0.7, 0.1]
    N = np.reshape(evaluate(poincare.N, {poincare.q: q}), (3, 3))
    theirs = evaluate(lagrange.Q, {lagrange.q: q, lagrange.u: list(N @ u)})
    assert np.allclose(N.T @ theirs, evaluate(poincare.Q, {poincare.q: q, poincare.u: u}))


def test_a_singular_inertia_matrix_is_explained():
    build = ph.Builder("coaxial")
    build.body("a", joint=ph.revolute("z"), mass=1)
    build.body("b", parent="a", joint=ph.revolute("z"), mass=1, com=(1, 0, 0))
    with pytest.raises(ValueError, match="inertia matrix is singular"):
        ph.formulate(build.build()).compile().forward_dynamics
    build = ph.Builder("twice")
    build.body("a", joint=ph.universal(("z", "z")), mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
    with pytest.raises(ph.ModelError, match="2 speeds make 1 independent motions"):
        ph.formulate(build.build())


def test_a_model_with_values_for_its_parameters():
    model = pendulum().build().substituted({"m": 2, "L": 0.5})
    assert [str(s) for s in model.parameters] == ["g"]
    assert str(ph.formulate(model).M) == "[[0.5]]"
    with pytest.raises(ph.ModelError, match="'k' is no parameter of the model"):
        model.substituted({"k": 1})


def test_all_calls_take_batches_and_buffers():
    build = ph.Builder("two")
    build.body("a", joint=ph.free(quaternion=True), mass=1, inertia=(1, 1, 1))
    build.body("b", parent="a", joint=ph.revolute("x", damping=0.1), mass=1, com=(0, 0, 1), inertia=(1, 1, 1))
    dyn = ph.formulate(build.build()).compile()
    q = np.tile([1.0, 0, 0, 0, 1, 2, 3, 0.3], (4, 5, 1))
    u = np.ones((4, 5, 7))
    assert dyn.mass_matrix(q).shape == (4, 5, 7, 7)
    for call in (dyn.bias, dyn.forces):
        assert call(q, u).shape == (4, 5, 7)
    assert dyn.rates(q, u).shape == (4, 5, 8)
    assert dyn.energy(q, u).shape == (4, 5, 2)
    assert dyn.center_of_mass(q).shape == (4, 5, 3)
    assert dyn.pose("b")(q).shape == (4, 5, 4, 4)
    assert dyn.velocity("b")(q, u).shape == (4, 5, 6)
    assert dyn.jacobian("b")(q).shape == (4, 5, 6, 7)
    out = np.empty((4, 5, 7))
    udot = dyn.forward_dynamics(q, u, np.zeros(7), out=out)
    assert udot is out
    assert np.allclose(dyn.inverse_dynamics(q, u, udot), 0)


def test_forces_may_depend_on_time():
    build = pendulum()
    build.force("theta_dot", ph.sin(2 * ph.TIME))
    dyn = ph.formulate(build.build()).compile(values={"m": 1, "L": 1, "g": 0})
    assert np.allclose(dyn.forward_dynamics([0.0], [0.0], [0.0], t=0.4), np.sin(0.8))
    with pytest.raises(ValueError, match="depends on time"):
        dyn.forward_dynamics([0.0], [0.0], [0.0])
    assert np.allclose(dyn.mass_matrix([0.0]), 1)


def test_springs_dampers_and_friction_of_joints_act():
    options = {"stiffness": 3, "rest": 0.1, "damping": 0.5, "friction": 0.2, "friction_speed": 0.01}
    eq = ph.formulate(pendulum(**options).build())
    found = evaluate(eq.Q, {"theta": 0.4, "theta_dot": 2.0})
    assert found[0] == pytest.approx(-3 * 0.3 - 0.5 * 2 - 0.2)
    kept = ph.formulate(pendulum(**options, passive=False).build())
    assert kept.Q[0] == 0


def test_a_speed_that_moves_nothing_is_named():
    build = ph.Builder("idle")
    build.body("a", joint=ph.revolute("z", name="spin"), mass=0)
    with pytest.raises(ValueError, match="nothing with inertia moves with 'spin_dot'"):
        ph.formulate(build.build()).compile().forward_dynamics


def test_unknown_methods_and_markers_are_named():
    with pytest.raises(ValueError, match=r"There is no method 'newton'\. There are 'poincare'"):
        ph.formulate(pendulum().build(), method="newton")
    with pytest.raises(TypeError, match="takes a Model"):
        ph.formulate("pendulum")
    eq = ph.formulate(pendulum().build())
    with pytest.raises(KeyError, match=r"no marker or body 'bop'. Did you mean 'bob'"):
        eq.pose("bop")
    with pytest.raises(ValueError, match='"world" or "marker"'):
        eq.velocity("bob", axes="body")


def test_lagrange_refuses_what_has_no_rates():
    build = ph.Builder("ball")
    build.body("a", joint=ph.spherical(quaternion=True), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ph.ModelError, match=r"4 coordinates and 3 speeds.*quaternion=False"):
        ph.formulate(build.build(), method="lagrange")


def test_everything_can_be_pickled():
    eq = ph.formulate(pendulum().build())
    again = pickle.loads(pickle.dumps(eq))
    assert again.M == eq.M
    assert again.model == eq.model
    dyn = pickle.loads(pickle.dumps(eq.compile(values={"m": 1, "L": 1})))
    assert np.allclose(dyn.mass_matrix([0.0], p=[9.81]), 1)


def test_sympy_and_latex_views():
    eq = ph.formulate(pendulum().build())
    view = eq.to_sympy(simplify=True)
    assert str(view.M) == "Matrix([[L**2*m]])"
    assert str(view.c) == "Matrix([[L*g*m*sin(theta)]])"
    assert str(view.tau) == "Matrix([[tau_theta_dot]])"
    assert str(view.potential) == "-L*g*m*cos(theta)"
    latex = eq.latex()
    assert r"\ddot{\theta}" in latex
    assert "N" not in latex  # the rates are the speeds
    with pytest.raises(AttributeError):
        view.nonsense


@pytest.mark.parametrize(
    ("name", "written"),
    [
        ("theta1", r"\theta_{1}"),
        ("theta1_dot", r"\dot{\theta}_{1}"),
        ("q", "q"),
        ("L_1", "L_{1}"),
        ("elbow", r"\text{elbow}"),
        ("left_knee_joint", r"\text{left}_{\text{knee\_joint}}"),
        ("a-b", r"\text{a-b}"),
        ("x^2", r"\text{x\textasciicircum{}2}"),
        ("left elbow_dot", r"\dot{\text{left elbow}}"),
        ("_", r"\text{\_}"),
        ("th1_dot_dot", r"\ddot{\text{th}}_{1}"),
    ],
)
def test_names_become_latex(name, written):
    from polhode.equations.views import symbol_latex

    assert symbol_latex(name) == written


def test_a_model_without_joints_has_empty_equations():
    build = ph.Builder("rock")
    build.body("rock", joint=ph.weld(), mass=1)
    eq = ph.formulate(build.build())
    assert eq.M.shape == (0, 0)
    assert eq.kinetic == 0
