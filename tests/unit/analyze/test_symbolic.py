"""Linear models as expressions: read, and against the numbers that native code has."""

import numpy as np
import pytest

import polhode as ph
from polhode.analyze.short import shortest
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


def test_no_term_has_the_same_above_and_below_its_line():
    """Also where a sum is shorter than its product."""
    L1, L2, m1, m2, g, k = ph.symbols("L1 L2 m1 m2 g k")
    long = 3 * L2 * g * m2 * (L1 + L2) / (L1**2 * L2 * m1)
    rest = (3 * L1**2 * m2 + k) * (L2 * g * m2 + k) / (L1**2 * L2**2 * m1 * m2)
    assert str(shortest(long)) == "3*g*m2*(L1 + L2)/(L1**2*m1)"
    assert str(shortest(long - rest)) == f"3*g*m2*(L1 + L2)/(L1**2*m1) - {rest}"


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


def disc():
    r, g, m = ph.symbols("r g m")
    build = ph.Builder("disc", gravity=(0, 0, -g))
    names = ("spin", "lean", "yaw", "z", "y", "x")
    angles = ph.compound([*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")], q=names)
    build.body("disc", joint=angles, mass=m, inertia=(m * r**2 / 4, m * r**2 / 2, m * r**2 / 4))
    build.rolling("disc", radius=r)
    return ph.formulate(build.build())


def test_a_rolling_disc_reads_as_in_the_textbook():
    """5/4 lean'' = g / r lean + 3/2 n yaw', yaw'' = -2 n lean'."""
    lin = ph.linearize(
        disc(), {"z": "r"}, {"x_dot": "n*r", "spin_dot": "n"}, inputs="spin_dot", outputs=["lean", "x_dot"]
    )
    assert lin.states == ("spin", "lean", "yaw", "y", "x", "spin_dot", "lean_dot", "yaw_dot")
    assert str(lin["lean_dot", "lean"]) == "4*g/(5*r)"
    assert str(lin["lean_dot", "yaw_dot"]) == "6*n/5"
    assert str(lin["yaw_dot", "lean_dot"]) == "-2*n"
    assert [str(e) for e in lin.A[6]].count("0") == 6
    assert [str(e) for e in lin.C[1]] == ["0", "0", "0", "0", "0", "r", "0", "0"]
    assert lin.outputs == ("lean", "x_dot")
    assert "Holding 'rolling disc': z, z_dot, y_dot, x_dot follow." in str(lin)
    A, B = lin.evaluate({"g": 9.81, "r": 0.3, "n": 4.0, "m": 2.0})
    assert np.isclose(max(np.linalg.eigvals(A).imag), np.sqrt((3 * 4.0**2 - 9.81 / 0.3) / 1.25), rtol=1e-12)
    assert np.isclose(B[5, 0], 2 / (3 * 2.0 * 0.3**2))
    with pytest.raises(
        ValueError, match=r"'rolling disc.height': it is .* That is so with .* as expressions that satisfy"
    ):
        ph.linearize(disc(), None, {"x_dot": "n*r", "spin_dot": "n"})


@pytest.mark.parametrize("embed", [None, True])
def test_a_parallelogram_that_hangs_is_a_pendulum(embed):
    """Rows of its hinge repeat one another; the bars swing and the rod is carried: (2/3 + 1) m l^2 a'' = -2 m g l a."""
    L, l, m, g = ph.symbols("L l m g")
    build = ph.Builder("parallelogram", gravity=(0, 0, -g))
    bar = {"mass": m, "com": (0, 0, -l / 2), "inertia": (0, m * l**2 / 12, 0)}
    build.body("crank", joint=ph.revolute("y", name="a"), **bar)
    build.body(
        "rod", parent="crank", at=(0, 0, -l), joint=ph.revolute("y", name="b"), mass=m, com=(L / 2, 0, 0),
        inertia=(0, m * L**2 / 12, 0),
    )  # fmt: skip
    build.body("rocker", at=(L, 0, 0), joint=ph.revolute("y", name="c"), **bar)
    build.marker("tip", body="rod", at=(L, 0, 0))
    build.marker("top", body="rocker", at=(0, 0, -l))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    eq = ph.formulate(build.build(), embed=embed)
    outputs = {"shaken": eq.kane.udot[0] + ph.symbol("c")}
    lin = ph.linearize(eq, outputs=outputs, independent=[] if embed else ["c", "c_dot"])
    place, speed = lin.states
    assert str(lin[speed, place]) == "-6*g/(5*l)"
    assert lin.parameters == ("g", "l", "m")
    assert np.isclose(float(ph.evaluate(lin.C[0, 0], {ph.symbol("g"): 10.0, ph.symbol("l"): 2.0})), 1 - 6)


def test_a_sleigh_that_turns_has_the_numbers_of_native_code():
    """Nonholonomic, at a point of symbols, where speeds change; outputs of accelerations."""
    m, J, c, th = ph.symbols("m J c th")
    build = ph.Builder("sleigh", gravity=(0, 0, 0))
    plane = ph.compound([ph.revolute("z"), ph.prismatic("y"), ph.prismatic("x")], q=("th", "y", "x"))
    build.body("sleigh", joint=plane, mass=m, com=(c, 0, 0), inertia=(0, 0, J))
    build.constraint(ph.symbol("y_dot") * ph.cos(th) - ph.symbol("x_dot") * ph.sin(th), name="edge")
    eq = ph.formulate(build.build())
    speeds = {"x_dot": "v*cos(a)", "y_dot": "v*sin(a)", "th_dot": "w"}
    law, felt = {"th_dot": "-2*th_dot"}, {"felt": eq.kane.udot[2]}
    values = {"m": 1.3, "J": 0.4, "c": 0.7, "v": 1.1, "a": 0.3, "w": 0.5}
    lin = ph.linearize(eq, {"th": "a"}, speeds, law, outputs=felt)
    u = {"x_dot": 1.1 * np.cos(0.3), "y_dot": 1.1 * np.sin(0.3), "th_dot": 0.5}
    dyn = eq.compile({name: values[name] for name in "mJc"})
    numbers = ph.linearize(dyn, {"th": 0.3}, u, law, outputs=felt, independent=lin.states)
    known = {ph.symbol(name): value for name, value in values.items()}
    for name in ("A", "B", "C", "D", "drift"):
        made = np.array(ph.evaluate([*getattr(lin, name).entries], known), dtype=float)
        assert np.allclose(made, getattr(numbers, name).ravel(), rtol=1e-10, atol=1e-12), name


def test_what_has_no_expressions_is_refused_with_a_way_out():
    build = ph.Builder("ball")
    build.body("ball", joint=ph.free(name="b", quaternion=True), mass=1, inertia=(1, 1, 1))
    with pytest.raises(ValueError, match="quaternions have no linear model as expressions"):
        ph.linearize(ph.formulate(build.build()))
    with pytest.raises(TypeError, match="active= is for numbers"):
        ph.linearize(cart_pole(), active=["x"])
    with pytest.raises(KeyError, match="there is no"):
        ph.linearize(cart_pole(), {"thet": 1})


def test_pi_of_numpy_is_exact():
    """float(pi) leaves a residue of 1e-16 g m in every entry, and the point looks like no equilibrium."""
    up = ph.linearize(cart_pole(), {"theta": np.pi}, inputs="x_dot")
    assert not any(e != 0 for e in up.drift)
    assert str(up["theta_dot", "theta"]) == "g*(M + m)/(L*M)"
    assert str(ph.linearize(cart_pole(), [0, -np.pi / 2])["theta_dot", "[theta_dot]"]) == str(
        ph.linearize(cart_pole(), {"theta": -ph.pi / 2})["theta_dot", "[theta_dot]"]
    )
    near = ph.linearize(cart_pole(), {"theta": 3.1415926}, inputs="x_dot")
    assert any(e != 0 for e in near.drift)  # what only looks like it is what it is


def test_as_latex_for_a_lecture():
    lin = ph.linearize(cart_pole(), inputs="x_dot")
    lines = lin.latex().splitlines()
    assert lines[1] == r"\dot{y} &= A y + B v \\"
    assert r"v &= \tau_{x} \\" in lines
    assert r"B &= \left[\begin{matrix}0\\0\\\frac{1}{M}\\\frac{1}{L M}\end{matrix}\right]" in lines
    assert lin._repr_latex_() == f"$\\displaystyle {lin.latex()}$"
    tilted = ph.linearize(cart_pole(), {"theta": "a"}, inputs="x_dot", outputs={"tip": "x - L*sin(theta)"}).latex()
    assert r"\dot{y} &= d + A y + B v" in tilted
    assert r"w &= C y + D v" in tilted
    build = ph.Builder("spring", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x", stiffness="A"), mass="m")
    assert r"\dot{\mathbf{y}} &= \mathbf{A} \mathbf{y}" in ph.linearize(ph.formulate(build.build())).latex()
