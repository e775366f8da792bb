"""Linear models as expressions: read, and against the numbers that native code has."""

import numpy as np
import pytest

import polhode as ph
from polhode.model.grow import grow


def cart_pole():
    M, m, L, g = ph.symbols("M m L g")
    build = ph.Builder("cart", gravity=(0, 0, -g))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=M)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    return ph.formulate(build.build())


def test_a_cart_with_a_pendulum_reads_as_in_the_textbook():
    lin = ph.linearize(cart_pole(), inputs="x_dot")
    assert str(lin["x_dot", "theta"]) == "-g*m/M"
    assert str(lin["theta_dot", "theta"]) == "-g*(M + m)/(L*M)"
    assert str(lin["x_dot", "[x_dot]"]) == "1/M"
    assert str(lin["theta_dot", "[x_dot]"]) == "1/(L*M)"
    assert lin["x", "x_dot"] == 1
    assert not any(e != 0 for e in lin.drift)
    assert lin.parameters == ("L", "M", "g", "m")
    assert lin.inputs == ("x_dot",)
    assert "About an equilibrium" in str(lin)
    up = ph.linearize(cart_pole(), {"theta": ph.pi}, inputs="x_dot")
    assert str(up["theta_dot", "theta"]) == "g*(M + m)/(L*M)"
    A, B = lin.to_sympy()
    assert A.shape == (4, 4)
    assert B.shape == (4, 1)
    assert str(A[2, 1]) == "-g*m/M"


def test_parameters_may_be_numbers_or_texts_and_laws_close_the_loop():
    lin = ph.linearize(cart_pole(), p={"m": 2, "M": 4, "L": "g/10"})
    assert lin.parameters == ("g",)
    assert str(lin["theta_dot", "theta"]) == "-15"
    k = ph.symbol("k")
    held = ph.linearize(cart_pole(), tau={"x_dot": -k * ph.symbol("x")}, inputs="x_dot")
    assert str(held["x_dot", "x"]) == "-k/M"
    assert str(held["x_dot", "[x_dot]"]) == "1/M"


def test_a_symbolic_point_has_the_numbers_of_native_code():
    eq = cart_pole()
    lin = ph.linearize(eq, {"theta": "a"}, {"theta_dot": "w"}, {"x_dot": "F"})
    values = {"M": 1.3, "m": 0.4, "L": 0.7, "g": 9.81, "a": 0.5, "w": -0.8, "F": 2.0}
    numbers = ph.linearize(
        eq.compile({name: values[name] for name in "MmLg"}), {"theta": 0.5}, {"theta_dot": -0.8}, {"x_dot": 2.0}
    )
    A, B = lin.evaluate(values)
    assert np.allclose(A, numbers.A, rtol=1e-10, atol=1e-12)
    assert np.allclose(B, numbers.B, rtol=1e-10, atol=1e-12)
    f = lin.compile()
    made = f(np.array([values[name] for name in lin.parameters]))
    assert np.allclose(made[0], numbers.A, rtol=1e-10, atol=1e-12)
    with pytest.raises(ValueError, match="no value for"):
        lin.evaluate({"M": 1})


@pytest.mark.parametrize("seed", range(5))
def test_grown_machines_have_the_numbers_of_native_code(seed):
    eq = ph.formulate(grow(seed, ["revolute", "prismatic"], forces=True, symbolic=True))
    draw = np.random.default_rng(seed)
    names = [str(s) for s in eq.parameters]
    values = dict(zip(names, draw.uniform(0.7, 1.4, len(names)).tolist(), strict=True))
    q = {name: round(float(x), 3) for name, x in zip(eq.model.coordinates, draw.normal(size=2), strict=True)}
    lin = ph.linearize(eq, q)
    numbers = ph.linearize(eq.compile(values), q, inputs=lin.inputs)
    A, B = lin.evaluate(values)
    assert np.allclose(A, numbers.A, rtol=1e-8, atol=1e-9)
    assert np.allclose(B, numbers.B, rtol=1e-8, atol=1e-9)


def test_a_motor_has_its_current():
    R, L, k, J = ph.symbols("R L k J")
    build = ph.Builder("fan", gravity=(0, 0, 0))
    build.body("fan", joint=ph.revolute("z", name="fan"), mass=1, inertia=(1, 1, J))
    build.motor("M", constant=k, resistance=R, inductance=L).drives({"fan": 1})
    lin = ph.linearize(ph.formulate(build.build()))
    assert lin.states == ("fan", "fan_dot", "M_current")
    assert lin.inputs == ("M",)
    assert str(lin["M_current", "M_current"]) == "-R/L"
    assert str(lin["M_current", "fan_dot"]) == "-k/L"
    assert str(lin["fan_dot", "M_current"]) == "k/J"
    assert str(lin["M_current", "[M]"]) == "1/L"


def test_what_has_no_expressions_is_refused_with_a_way_out():
    build = ph.Builder("ball")
    build.body("ball", joint=ph.free(name="b", quaternion=True), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ValueError, match="quaternions have no linear model as expressions"):
        ph.linearize(ph.formulate(build.build()))
    build = ph.Builder("tied")
    build.body("a", joint=ph.prismatic("x", name="a"), mass=1)
    build.body("b", joint=ph.prismatic("x", name="b"), mass=1)
    build.coupling("a", "b", name="ab")
    with pytest.raises(ValueError, match="has constraints, 'ab'"):
        ph.linearize(ph.formulate(build.build()))
    with pytest.raises(TypeError, match="active= is for numbers"):
        ph.linearize(cart_pole(), active=["x"])
    with pytest.raises(KeyError, match="there is no"):
        ph.linearize(cart_pole(), {"thet": 1})
