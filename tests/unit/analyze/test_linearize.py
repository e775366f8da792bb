"""Linear models: closed forms, constraints, quaternions, names, words."""

import sys
from types import SimpleNamespace

import numpy as np
import pytest

import polhode as ph
from polhode.simulate.run import simulate
from tests.differences import agrees
from tests.mechanics import random_state
from tests.mechanisms import bricard, four_bar, rod, slider_crank, squeezer


def cart_pole(**more):
    build = ph.Builder("cart-pole", gravity=(0, -9.81, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass="M", **more)
    build.body("pole", parent="cart", joint=ph.revolute("z", name="theta"), mass="m", com=(0, "L", 0))
    return build.build()


PARAMETERS = {"M": 2.0, "m": 0.3, "L": 0.6}


def test_a_cart_pole_has_the_textbook_matrices():
    """x'' = F / M - m g theta_l / M, with theta to the left: signs by the right-hand rule about z."""
    M, m, L, g = 2.0, 0.3, 0.6, 9.81
    lin = ph.linearize(ph.formulate(cart_pole()).compile(), p=PARAMETERS, inputs="x_dot")
    A = [[0, 0, 1, 0], [0, 0, 0, 1], [0, m * g / M, 0, 0], [0, (M + m) * g / (M * L), 0, 0]]
    assert lin.states == ("x", "theta", "x_dot", "theta_dot")
    assert np.allclose(lin.A, A, rtol=1e-14, atol=1e-14)
    assert np.allclose(lin.B[:, 0], [0, 0, 1 / M, 1 / (M * L)], rtol=1e-14, atol=1e-14)
    assert lin.equilibrium
    assert lin.outputs == lin.states
    assert np.array_equal(lin.C, np.eye(4))
    assert (lin.D == 0).all()
    modes, w = lin.modes(), np.sqrt((M + m) * g / (M * L))
    assert np.allclose(modes.eigenvalues, [0, 0, -w, w], rtol=1e-13, atol=0)
    assert modes.largest(0) == ["x"]
    assert modes.largest(1) == ["x_dot"]
    assert not modes.stable


def test_values_that_are_compiled_in_and_given_later_are_the_same():
    eq = ph.formulate(cart_pole())
    given = ph.linearize(eq.compile(), p=PARAMETERS)
    assert np.allclose(ph.linearize(eq.compile(PARAMETERS)).A, given.A, rtol=1e-14)


def test_a_damped_swing_has_its_frequency_and_damping():
    build = ph.Builder("swing", gravity=(0, -9.81, 0))
    build.body("bob", joint=ph.revolute("z", name="theta", damping=0.08), mass=0.5, com=(0, -0.7, 0))
    modes = ph.linearize(ph.formulate(build.build()).compile()).modes()
    natural, decay = np.sqrt(9.81 / 0.7), 0.08 / (0.5 * 0.49) / 2
    assert len(modes) == 1
    assert np.isclose(modes.eigenvalues[0], complex(-decay, np.sqrt(natural**2 - decay**2)), rtol=1e-13)
    assert np.isclose(modes.frequencies[0], natural / (2 * np.pi))
    assert np.isclose(modes.damping[0], decay / natural)
    assert modes.stable


def test_a_motor_with_a_current_has_the_textbook_poles():
    """I w' = k i - d w, L i' = U - R i - k w, by the control of the motor."""
    k, R, L, d, I = 0.05, 0.5, 1e-3, 1e-3, 1e-3
    build = ph.Builder("fan", gravity=(0, 0, 0))
    build.body("fan", joint=ph.revolute("z", name="fan", damping=d), mass=1, inertia=(1, 1, I))
    build.motor("M", constant=k, resistance=R, inductance=L).drives({"fan": 1})
    for method in ("poincare", "quasicoordinate"):
        lin = ph.linearize(ph.formulate(build.build(), method).compile(), tau={"M": 12.0})
        assert (lin.states, lin.inputs, lin.sizes) == (("fan", "fan_dot", "M_current"), ("M",), (1, 1, 1))
        assert np.allclose(lin.A, [[0, 1, 0], [0, -d / I, k / I], [0, -k / L, -R / L]], rtol=1e-13)
        assert np.allclose(lin.B, [[0], [0], [1 / L]], rtol=1e-13)
        assert np.allclose(lin.drift, [0, 0, 12 / L])
        assert not lin.steady
    both = ph.linearize(ph.formulate(build.build(), "poincare").compile(), inputs=["fan_dot", "M"])
    assert np.allclose(both.B, [[0, 0], [1 / I, 0], [0, 1 / L]], rtol=1e-13)


@pytest.mark.parametrize("mechanism", [four_bar, slider_crank, squeezer, bricard])
def test_closed_loops_are_those_of_differences(mechanism):
    """Loops with rows that repeat one another among them; moving, and not at rest."""
    dyn = ph.formulate(mechanism()).compile()
    first = "beta" if mechanism is squeezer else dyn.equations.model.coordinates[0]
    start = {
        four_bar: {"a": -1.2, "b": 1.0, "c": -1.4},
        squeezer: [-0.0617, 0.4553, 0.2227, 0.4874, -0.2227, -0.4874, 1.2305],
    }.get(mechanism, {first: 0.4})
    q, u = ph.assemble(dyn, start, {f"{first}_dot": 0.7})
    lin = ph.linearize(dyn, q, u)
    assert lin.sizes == (1, 1, 0)
    assert agrees(dyn, lin, 1e-9)


def test_a_four_bar_by_its_embedded_equations():
    """Kane's method with the loop in its speeds has no rows: the same model by other equations."""
    rows = ph.formulate(four_bar()).compile()
    embedded = ph.formulate(four_bar(), "kane", embed=["close"], independent=["a_dot"]).compile()
    assert not len(embedded.equations.constraints)
    q, u = ph.assemble(rows, {"a": -1.2, "b": 1.0, "c": -1.4}, {"a_dot": 0.7})
    one = ph.linearize(rows, q, u, independent=["a", "a_dot"])
    other = ph.linearize(embedded, q, u[:1], independent=["a"])
    assert one.states == other.states == ("a", "a_dot")
    assert np.allclose(one.A, other.A, rtol=1e-12, atol=1e-12)
    assert np.allclose(one.B[:, :1], other.B, rtol=1e-12, atol=1e-12)
    assert np.allclose(one.drift, other.drift, rtol=1e-12)


def test_what_must_be_independent_is():
    dyn = ph.formulate(four_bar()).compile()
    q, u = ph.assemble(dyn, {"a": -1.2, "b": 1.0, "c": -1.4}, {"a_dot": 0.7})
    lin = ph.linearize(dyn, q, u, independent=["c", "b_dot"])
    assert lin.states == ("c", "b_dot")
    assert agrees(dyn, lin, 1e-9)
    assert lin.dependent == ("a", "b", "a_dot", "c_dot")
    with pytest.raises(ValueError, match="'a', 'c' cannot be independent together"):
        ph.linearize(dyn, q, u, independent=["a", "c"])


def top():
    build = ph.Builder("top", gravity=(0, 0, 0))
    build.body("top", joint=ph.free(quaternion=True), mass=1.3, inertia=(0.5, 0.8, 1.1))
    return ph.formulate(build.build()).compile()


def test_a_spinning_body_turns_by_euler():
    """About its third axis: speeds swing with w sqrt((C - A)(C - B) / (A B)), turns with w."""
    A, B, C, w = 0.5, 0.8, 1.1, 3.0
    dyn = top()
    quaternion, speed = dyn.equations.model.coordinates[:4], dyn.equations.model.speeds[2]
    turned = np.array([0.5, -0.1, 0.7, 0.4])
    lin = ph.linearize(dyn, dict(zip(quaternion, turned / np.linalg.norm(turned), strict=True)), {speed: w})
    assert lin.states[:3] == ("turn_top_wx", "turn_top_wy", "turn_top_wz")
    assert len(lin.states) == 12
    assert np.allclose(lin.A[:3, :3], [[0, w, 0], [-w, 0, 0], [0, 0, 0]], atol=1e-14)
    found = [v for v in lin.modes().eigenvalues if v.imag > 0]
    expected = [w * np.sqrt((C - A) * (C - B) / (A * B)), w, w]  # and velocities, in axes that turn
    assert np.allclose(sorted(v.imag for v in found), sorted(expected), rtol=1e-12)
    assert lin.steady
    assert not lin.equilibrium


def exponential(A):
    values, vectors = np.linalg.eig(A)
    return (vectors @ np.diag(np.exp(values)) @ np.linalg.inv(vectors)).real


def test_a_steady_spin_departs_as_simulated():
    """Turns are measured from where the machine would be: q = q0(t) turned by r(t)."""
    dyn, w, t = top(), np.array([0, 0, 3.0]), 0.7
    lin = ph.linearize(dyn, None, {"top_wz": 3.0})
    part = [0, 1, 2, 6, 7, 8]
    assert [lin.states[i] for i in part[3:]] == ["top_wx", "top_wy", "top_wz"]
    y = np.array([2e-6, -1e-6, 3e-6, 1e-6, 2e-6, -1e-6])
    turned = np.concatenate([[1], y[:3] / 2])
    runs = [simulate(dyn, [*q, 0, 0, 0], [*u, 0, 0, 0], t, output=t, rtol=1e-13, atol=1e-14) for q, u in (
        ([1, 0, 0, 0], w), (turned / np.linalg.norm(turned), w + y[3:]))]  # fmt: skip
    (a, u0), (b, u1) = ((run.q[-1][:4], run.u[-1][:3]) for run in runs)
    r = 2 * (a[0] * b[1:] - b[0] * a[1:] - np.cross(a[1:], b[1:]))
    found = np.concatenate([r, u1 - u0])
    A = lin.A[np.ix_(part, part)] + 1e-9 * np.diag(range(6))  # no two eigenvalues alike
    assert np.abs(found - exponential(A * t) @ y).max() < 2e-11


def test_quaternions_and_angles_give_the_same_modes():
    """A heavy top that hangs from a ball joint, by either; its modes do not depend on coordinates."""
    found = []
    for joint in (ph.spherical(quaternion=True), ph.spherical()):
        build = ph.Builder("hanging")
        build.body("arm", joint=joint, mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.12, 0.05))
        build.body("tip", parent="arm", joint=ph.revolute("y"), at=(0, 0, -1), mass=0.5, com=(0, 0, -0.3))
        dyn = ph.formulate(build.build()).compile()
        found.append(ph.linearize(dyn).modes().eigenvalues)
    assert len(found[0]) == 5
    assert np.allclose(*found, rtol=1e-12, atol=1e-12)


def rolling_disc(joint, guess, speeds):
    build = ph.Builder("disc", gravity=(0, 0, -9.81))
    build.body("disc", joint=joint, mass=1, inertia=(0.0225, 0.045, 0.0225))
    build.rolling("disc", radius=0.3)
    dyn = ph.formulate(build.build()).compile()
    return dyn, *ph.assemble(dyn, guess, speeds, keep=speeds)


ANGLES = ph.compound(
    [*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")], q=("spin", "lean", "yaw", "z", "y", "x")
)  # fmt: skip


def test_a_rolling_disc_is_steady_by_angles_alone():
    """5/4 lean'' + (3 n^2 - g/r) lean = 0 at the spin n; about its own axes the ground turns, and the model."""
    n = 4.0
    dyn, q, u = rolling_disc(ANGLES, {"z": 0.3}, {"spin_dot": n, "lean_dot": 0.0, "yaw_dot": 0.0})
    lin = ph.linearize(dyn, q, u)
    assert lin.steady
    assert np.isclose(max(lin.modes().eigenvalues.imag), np.sqrt((3 * n**2 - 9.81 / 0.3) / 1.25), rtol=1e-12)
    spin = {"disc_wx": 0.0, "disc_wy": n, "disc_wz": 0.0}
    turning = ph.linearize(*rolling_disc(ph.free(quaternion=True), {"disc_z": 0.3}, spin))
    assert np.abs(turning.drift[turning.sizes[0] :]).max() < 1e-12
    assert not turning.steady
    assert "the model changes along it" in str(turning)


def test_a_circle_is_a_steady_motion():
    """The disc leans at 0.3 and rolls in a circle: lean, yaw and spin are as they were, though x and y turn."""
    lean, yaw_dot, r, g = 0.3, -1.5, 0.3, 9.81
    p = yaw_dot * np.cos(lean)
    spin_dot = (r * p**2 * np.tan(lean) / 4 - g * np.sin(lean)) / (1.5 * r * p) - yaw_dot * np.sin(lean)
    speeds = {"spin_dot": spin_dot, "lean_dot": 0.0, "yaw_dot": yaw_dot}
    dyn, q, u = rolling_disc(ANGLES, {"z": r * np.cos(lean), "lean": lean}, speeds)
    lin = ph.linearize(dyn, q, u, independent=["lean_dot", "yaw_dot", "spin_dot"])
    assert lin.steady
    assert not lin.equilibrium
    assert agrees(dyn, lin, 1e-9)


def test_a_disc_that_swerves_is_that_of_differences():
    """Leaning, swerving: what rolls is nonholonomic, and its speeds depend on where it is."""
    dyn, q, u = rolling_disc(ANGLES, {"z": 0.3, "lean": 0.3}, {"spin_dot": 4.0, "lean_dot": 0.3, "yaw_dot": -1.5})
    lin = ph.linearize(dyn, q, u)
    assert lin.sizes == (5, 3, 0)
    assert not lin.steady
    assert agrees(dyn, lin, 1e-9)


def test_a_prescribed_motion_is_followed():
    """The crank is driven: nothing is left but the drift of time."""
    dyn = ph.formulate(four_bar("-1.2 + 0.1*sin(t)")).compile()
    q, u = ph.assemble(dyn, {"a": -1.2, "b": 1.0, "c": -1.4})
    lin = ph.linearize(dyn, q, u)
    assert lin.states == ()
    assert not lin.equilibrium
    assert "Nothing is free to change" in str(lin)
    assert len(lin.modes()) == 0
    assert "0 states" in str(lin)


def test_a_law_of_time_does_not_last():
    """sin(t) a: a spring that changes, also at t = pi / 2, where it stays for a moment."""
    build = ph.Builder("timed", gravity=(0, 0, 0))
    build.body("a", joint=ph.revolute("y", name="a"), mass=1, inertia=(1, 1, 1))
    build.force("a_dot", "-sin(t)*a")
    dyn = ph.formulate(build.build()).compile()
    lin = ph.linearize(dyn, t=1.0)
    assert np.allclose(lin.A, [[0, 1], [-np.sin(1.0), 0]], rtol=1e-14)
    assert not lin.steady
    assert not ph.linearize(dyn, t=np.pi / 2).steady


def test_a_rod_between_ball_joints_spins_freely():
    """Crank, rod, rocker in space: two exact zeros, of the rod's spin, also where equilibria are found to rounding."""
    build = ph.Builder("linkage in space")
    arm = {"mass": 1, "inertia": (0.01, 0.01, 0.01)}
    build.body("crank", joint=ph.revolute("z", name="a", damping=0.05), com=(0.1, 0, 0), **arm)
    rod = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0.01, 0.08, 0.08)}
    build.body("rod", parent="crank", at=(0.2, 0, 0), joint=ph.spherical(quaternion=True), **rod)
    build.body("rocker", at=(1, 0.3, 0), joint=ph.revolute("x", name="c"), com=(0, 0.2, 0), **arm)
    build.marker("end", body="rod", at=(1, 0, 0))
    build.marker("pin", body="rocker", at=(0, 0.4, 0))
    build.loop("end", "pin", "point", name="close")
    dyn = ph.formulate(build.build()).compile()
    for spin in (0.0, 0.4, -1.5):
        w, x = np.cos(spin / 2), np.sin(spin / 2)
        q = ph.assemble(dyn, {"a": 0.3}).q
        q[1:5] = np.array([[w, -x, 0, 0], [x, w, 0, 0], [0, 0, w, x], [0, 0, -x, w]]) @ q[1:5]
        values = ph.equilibrium(dyn, q).linear().modes().eigenvalues
        assert values[:2].tolist() == [0, 0]
        assert values[2] * values[3] < 0  # it stands, and falls


def test_a_brake_that_holds_takes_a_speed():
    build = ph.Builder("pair", gravity=(0, -9.81, 0))
    build.body("a", joint=ph.revolute("z", name="a"), mass=1, com=(0, -0.5, 0))
    build.body("b", parent="a", at=(0, -1, 0), joint=ph.revolute("z", name="b"), mass=1, com=(0, -0.5, 0))
    build.brake("b_dot", name="brake", active=False)
    dyn = ph.formulate(build.build()).compile()
    free, held = ph.linearize(dyn), ph.linearize(dyn, active=["brake"])
    assert (free.sizes, free.holds) == ((2, 2, 0), ())
    assert held.holds == ("brake",)
    assert "b_dot" in held.dependent
    # both masses on one rod: (0.25 + 2.25) w'' = -g (0.5 + 1.5) w
    assert np.isclose(max(held.modes().eigenvalues.imag), np.sqrt(9.81 * 2.0 / 2.5), rtol=1e-12)
    with pytest.raises(KeyError, match=r"there is no constraint 'break'\. Did you mean 'brake'"):
        ph.linearize(dyn, active=["break"])


def test_laws_close_the_loop():
    """Feedback as text is part of A; its input is beside it."""
    dyn = ph.formulate(cart_pole()).compile(PARAMETERS)
    lin, K = ph.linearize(dyn), np.array([[3.0, -60.0, 5.0, -12.0]])
    closed = ph.linearize(dyn, tau={"x_dot": "-3*x + 60*theta - 5*x_dot + 12*theta_dot"})
    assert np.allclose(closed.A, lin.A - lin.B[:, :1] @ K, rtol=1e-13, atol=1e-12)
    assert np.allclose(closed.B, lin.B)


def test_outputs_are_names_and_expressions():
    dyn = ph.formulate(cart_pole()).compile(PARAMETERS)
    eq = dyn.equations
    tip = eq.acceleration("pole")[3]
    lin = ph.linearize(
        dyn, {"theta": 0.3}, {"theta_dot": 0.2}, outputs={"place": "x + L*sin(theta)", "a": tip, "v": "x_dot"}
    )
    assert lin.outputs == ("place", "a", "v")
    assert np.allclose(lin.C[0], [1, 0.6 * np.cos(0.3), 0, 0])
    assert np.allclose(lin.C[1], lin.A[2])  # the pole's origin moves with the cart
    assert np.allclose(lin.D[1], lin.B[2])
    assert np.allclose(lin.C[2], [0, 0, 1, 0])
    assert ph.linearize(dyn, outputs="theta").outputs == ("theta",)


def test_dependent_coordinates_are_outputs_too():
    dyn = ph.formulate(four_bar()).compile()
    q, u = ph.assemble(dyn, {"a": -1.2, "b": 1.0, "c": -1.4}, {"a_dot": 0.7})
    lin = ph.linearize(dyn, q, u, outputs=["c", "c_dot"])
    assert np.allclose(lin.C, lin.lift[[lin.whole.index(n) for n in ("c", "c_dot")]])
    h = 1e-5
    moved = [
        ph.assemble(dyn, {"a": q[0] + s, "b": q[1], "c": q[2]}, {"a_dot": u[0]}, keep=["a", "a_dot"]) for s in (-h, h)
    ]
    assert np.isclose(lin.C[0, 0], (moved[1].q[2] - moved[0].q[2]) / (2 * h), rtol=1e-8)
    assert np.isclose(lin.C[1, 0], (moved[1].u[2] - moved[0].u[2]) / (2 * h), rtol=1e-7)


def test_the_response_is_that_of_a_long_run():
    """A swing that is driven with 0.3 Hz: size and phase after it has settled."""
    build = ph.Builder("swing", gravity=(0, -9.81, 0))
    build.body("bob", joint=ph.revolute("z", name="theta", damping=0.6), mass=0.5, com=(0, -0.7, 0))
    dyn = ph.formulate(build.build()).compile()
    f = 0.3
    g = ph.linearize(dyn, outputs="theta").response(f)[0, 0, 0]
    t = np.linspace(60 / f, 61 / f, 64, endpoint=False) - 50 / f
    run = simulate(
        dyn,
        None,
        None,
        float(t[-1]),
        tau={"theta_dot": f"1e-5*sin({2 * np.pi * f}*t)"},
        output=t,
        rtol=1e-12,
        atol=1e-17,
    )
    found = 2j * np.mean(run["theta"] * np.exp(-2j * np.pi * f * t)) / 1e-5
    assert np.isclose(found, g, rtol=1e-6)


def test_a_linear_model_prints_and_stays_as_it_is():
    dyn = ph.formulate(cart_pole()).compile(PARAMETERS)
    lin = ph.linearize(dyn, {"theta": 0.3})
    text = str(lin)
    assert f"The point is no equilibrium: theta_dot changes by {lin.drift[3]:.6g} a second" in text
    assert "rate of" in text
    assert "moves most" in text
    assert repr(lin) == "LinearModel of 'cart-pole': 4 states, 2 inputs, 4 outputs"
    assert lin._repr_html_().count("<table>") == 2
    assert "<script" not in ph.linearize(dyn, outputs={"<script>": "x"})._repr_html_()
    with pytest.raises(ValueError, match="read-only"):
        lin.A[0, 0] = 1
    with pytest.raises(AttributeError):
        lin.A = 0
    assert "About an equilibrium" in str(ph.linearize(dyn))


def test_python_control_is_asked_for_where_it_is_not():
    lin = ph.linearize(ph.formulate(cart_pole()).compile(PARAMETERS))
    try:
        import control  # noqa: F401
    except ModuleNotFoundError:
        with pytest.raises(ModuleNotFoundError, match="pip install control"):
            lin.to_control()
    else:
        system = lin.to_control()
        assert list(system.state_labels) == list(lin.states)
        assert np.allclose(system.A, lin.A)


def test_python_control_gets_arrays_and_names(monkeypatch):
    """What its `ss` is called with; the package itself need not be there."""
    monkeypatch.setitem(sys.modules, "control", SimpleNamespace(ss=lambda *args, **named: (args, named)))
    lin = ph.linearize(ph.formulate(cart_pole()).compile(PARAMETERS), inputs="x_dot", outputs=["theta"])
    args, named = lin.to_control()
    assert [a.shape for a in args] == [(4, 4), (4, 1), (1, 4), (1, 1)]
    assert named["states"] == ["x", "theta", "x_dot", "theta_dot"]
    assert (named["inputs"], named["outputs"]) == (["tau_x_dot"], ["theta"])


def test_a_figure_has_poles_and_responses(tmp_path):
    pytest.importorskip("matplotlib")
    lin = ph.linearize(ph.formulate(cart_pole()).compile(PARAMETERS))
    fig = lin.plot(["x", "theta"], "x_dot", path=tmp_path / "poles.png")
    assert (tmp_path / "poles.png").stat().st_size > 1000
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Poles [1/s]", "Size of outputs by inputs", "Phase [°]"]
    assert [line.get_label() for line in fig.axes[1].lines] == ["x by x_dot", "theta by x_dot"]
    lin.plot(str(tmp_path / "alone.svg"))
    assert (tmp_path / "alone.svg").exists()
    with pytest.raises(KeyError, match=r"outputs: there is no 'teta' in this model\. Did you mean 'theta'"):
        lin.plot("teta")


def refused(match, kind=ValueError, dyn=None, **given):
    with pytest.raises(kind, match=match):
        ph.linearize(dyn or ph.formulate(cart_pole()).compile(PARAMETERS), **given)


def test_what_cannot_be_linearised_is_refused_with_a_remedy():
    refused("inputs: there is no speed 'motor'", KeyError, inputs=["motor"])
    refused("inputs: 'x_dot' is named twice", inputs=["x_dot", "x_dot"])
    refused(
        "outputs: there is no coordinate, speed, state or parameter 'tetha'. Did you mean 'theta'",
        KeyError,
        outputs=["tetha"],
    )
    refused("outputs: 'a' is 3, expected a name or an expression", TypeError, outputs={"a": 3})
    refused("independent: there is no state 'y'", KeyError, independent=["y"])
    refused("tau is a function, which has no derivatives", TypeError, tau=lambda t, q, u: 0 * u)
    refused("tau: there is no speed 'motor'", KeyError, tau={"motor": 1.0})
    refused("q: there is no 'tetha'", KeyError, q={"tetha": 1.0})
    refused("t is 'now', expected a time", t="now")
    refused("active= is for numbers, found Equations", TypeError, dyn=ph.formulate(cart_pole()), active=["x"])
    refused("No value for parameters 'L', 'M', 'm'", dyn=ph.formulate(cart_pole()).compile())
    closed = ph.formulate(four_bar()).compile()
    refused("position does not satisfy 'close.*assemble", dyn=closed, q={"a": 0.3})
    q, _ = ph.assemble(closed, {"a": -1.2, "b": 1.0, "c": -1.4})
    refused("speed does not satisfy 'close.*assemble", dyn=closed, q=q, u={"a_dot": 1.0})


def test_singular_positions_are_refused():
    """A parallelogram that lies flat could fold either way; angles that lock have no derivatives."""
    build = ph.Builder("parallelogram")
    build.body("crank", joint=ph.revolute("y", name="a"), **rod("x"))
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y", name="b"), **rod("x"))
    build.body("rocker", at=(1, 0, 0), joint=ph.revolute("y", name="c"), **rod("x"))
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    dyn = ph.formulate(build.build()).compile()
    refused("this position is singular for 'close'", dyn=dyn)
    build = ph.Builder("gimbal")
    build.body("b", joint=ph.free(quaternion=False), mass=1, inertia=(1, 1, 1))
    locked = ph.formulate(build.build()).compile()
    refused("the angles of joint 'b' are in their singular position", dyn=locked, q={"b_ay": np.pi / 2})
    assert ph.linearize(locked, {"b_ay": np.pi / 2 - 1e-3}).sizes == (6, 6, 0)
    build = ph.Builder("corner", gravity=(0, 0, 0))
    build.body("b", joint=ph.prismatic("x", name="x"), mass=1)
    build.force("x_dot", "-sqrt(x)")
    refused("the derivative of the force on 'x_dot' by 'x' is not finite", dyn=ph.formulate(build.build()).compile())
    beside = ph.linearize(dyn, [0.3, -0.3, 0.3])
    assert beside.states == ("a", "a_dot")
    assert agrees(dyn, beside, 1e-9)


def test_grown_machines_by_all_methods_are_those_of_differences():
    """Without constraints: forces, joints of all kinds."""
    from polhode.model.grow import grow

    model = grow(3, ["revolute", "spherical", "prismatic", "universal"], forces=True)
    tau, first = np.random.default_rng(1).normal(size=model.nu), None
    for method in ("poincare", "denoc", "kane", "quasicoordinate"):
        dyn = ph.formulate(model, method).compile()
        lin = ph.linearize(dyn, *random_state(dyn.equations, 3), tau)
        assert agrees(dyn, lin, 1e-9, tau=dict(zip(model.speeds, tau, strict=True)))
        first = lin if first is None else first
        assert np.allclose(lin.A, first.A, rtol=1e-10, atol=1e-10)


def cart_pole_model(**given):
    return ph.linearize(ph.formulate(cart_pole()).compile(PARAMETERS), **given)


def test_one_name_may_stand_alone_and_other_things_are_refused():
    dyn = ph.formulate(four_bar()).compile()
    q, u = ph.assemble(dyn, {"a": -1.2, "b": 1.0, "c": -1.4})
    assert ph.linearize(dyn, q, u, independent="b_dot").states[1:] == ("b_dot",)
    refused("independent is 3, expected a name or some names", TypeError, independent=3)
    refused("inputs is 0, expected a name or some names", TypeError, inputs=0)
    refused("outputs is 0, expected names, or expressions by name", TypeError, outputs=0)
    refused("linearize takes no 'input'. Did you mean 'inputs'", TypeError, input="x_dot")
    modes = cart_pole_model().modes()
    for wrong in (9, "x", -5):
        with pytest.raises(IndexError, match=f"There is no mode {wrong!r} among 4, expected a number from 0 to 3"):
            modes.shape(wrong)
    assert modes.shape(-1) == modes.shape(3)


def test_a_state_is_taken_as_runs_and_keyframes_have_it():
    dyn = ph.formulate(four_bar()).compile()
    state = ph.assemble(dyn, {"a": -1.2, "b": 1.0, "c": -1.4}, {"a_dot": 0.7})
    expected = ph.linearize(dyn, state.q, state.u)
    run = simulate(dyn, *state, 0.1)
    for found in (
        ph.linearize(dyn, state),
        ph.linearize(dyn, q0=state.q, u0=state.u, z0=[], t0=0.0),
        ph.linearize(dyn, run.at(0.0)),
    ):
        assert np.array_equal(found.A, expected.A)
    assert cart_pole_model(q=(0.1, 0.2)).at["theta"] == 0.2  # two coordinates are no pair
    assert cart_pole_model(t0=2.0).t == 2.0
    refused("q is a pair of coordinates and speeds, and u is given too", TypeError, dyn=dyn, q=state, u=state.u)
    refused("q and q0 are both given", TypeError, q=[0, 0], q0=[0, 0])
    refused("t and t0 are both given", TypeError, t=1.0, t0=1.0)


def slider(declare):
    build = ph.Builder("slider", gravity=(0, 0, 0))
    build.body("c", joint=ph.prismatic("x", name="x"), mass=2)
    declare(build)
    return ph.formulate(build.build()).compile()


def ctrlrange(span):
    return (
        '<mujoco><worldbody><body><joint name="x" type="slide" axis="1 0 0"/><geom size="0.1" mass="2"/></body>'
        f'</worldbody><actuator><motor name="M" joint="x" ctrllimited="true" ctrlrange="{span}"/></actuator></mujoco>'
    )


def test_limits_of_controls_are_noted_and_count_from_inside(tmp_path):
    """1 / 2 of a control within and at its limits, 0 beyond, whichever way the actuator is declared."""
    for low, high in ((-24, 24), (0, 24), (-24.0, 0.0)):
        (tmp_path / "slider.xml").write_text(ctrlrange(f"{low} {high}"))
        mjcf = ph.formulate(ph.load(tmp_path / "slider.xml")).compile()
        found = [
            slider(lambda b, s=(low, high): b.actuator("M", {"x_dot": 1}, lower=s[0], upper=s[1])),
            slider(lambda b, s=(low, high): b.motor("M", lower=s[0], upper=s[1]).drives({"x": 1})),
            slider(lambda b, s=(low, high): b.actuator("M", {"x_dot": 1}, least=s[0], most=s[1])),
            mjcf,
        ]
        for i, dyn in enumerate(found):
            what = "The force of 'M'" if i == 2 else "Control 'M'"
            for control, slope, said in (
                (low - 6, 0, f"{what} is beyond its lower limit {low:g}, where it has no effect."),
                (low, 0.5, f"{what} is at its lower limit {low:g}: "),
                ((low + high) / 2, 0.5, ""),
                (high, 0.5, f"{what} is at its upper limit {high:g}: "),
                (high + 6, 0, f"{what} is beyond its upper limit {high:g}, where it has no effect."),
            ):
                lin = ph.linearize(dyn, controls={"M": control})
                assert lin.B[1, 0] == slope, (i, control)
                assert np.isclose(lin.drift[1], min(max(control, low), high) / 2, rtol=1e-14, atol=0)
                assert len(lin.notes) == bool(said)
                assert "".join(lin.notes).startswith(said)
                assert said in str(lin)


def test_a_law_that_saturates_is_noted():
    dyn = slider(lambda b: b.actuator("M", {"x_dot": 1}, lower=-24, upper=24))
    lin = ph.linearize(dyn, {"x": 0.4}, tau={"M": "-100*x"})
    assert lin.notes == ("Control 'M' is beyond its lower limit -24, where it has no effect.",)
    assert not lin.A[1].any()
    assert ph.linearize(dyn, {"x": 0.1}, tau={"M": "-100*x"}).notes == ()


def test_chains_of_zeros_are_zeros_and_slow_poles_are_not():
    """Turned and in other units, a chain of four zeros is otherwise found at the fourth root of rounding, 1e-4."""
    from polhode.analyze.modes import eigen

    draw = np.random.default_rng(4)
    for chains in ([4], [4, 2], [4, 4, 1]):
        n, J = sum(chains) + 3, np.diag([*[0.0] * sum(chains), -1e-7, -2.0, 30.0])
        for k in range(sum(chains) - 1):
            J[k, k + 1] = 0.0 if k + 1 in np.cumsum(chains) else draw.uniform(0.1, 10)
        Q, d = np.linalg.qr(draw.normal(size=(n, n)))[0], 10.0 ** draw.uniform(-2, 2, n)
        A = (Q @ J @ Q.T) * d[:, None] / d
        values = eigen(A)[0]
        assert (values == 0).sum() == sum(chains)
        assert np.allclose(np.sort(values[values != 0].real), [-2.0, -1e-7, 30.0], rtol=1e-4, atol=0)
        assert np.abs(np.linalg.eigvals(A)[np.abs(np.linalg.eigvals(A)) < 0.1]).max() > 1e-6


def test_the_response_at_a_pole_is_infinite_but_where_it_is_not_seen():
    """The pole of a cart-pole leans against a steady push, theta = -B / A; the cart runs away."""
    lin = cart_pole_model(inputs="x_dot")
    x, theta, x_dot, theta_dot = lin.response(0.0)[0, :, 0]
    assert np.isinf([x, x_dot]).all()
    assert np.isclose(theta, -lin.B[3, 0] / lin.A[3, 1], rtol=1e-13)
    assert abs(theta_dot) < 1e-15
    assert np.isclose(theta, lin.response(1e-7)[0, 1, 0], rtol=1e-6)
    hanging = cart_pole_model(q={"theta": np.pi}, inputs="x_dot")
    assert np.isinf(hanging.response(hanging.modes().frequencies[-1])).all()
    some = hanging.response([0.3, 2.0], "theta")
    assert some.shape == (2, 1, 1)
    assert np.array_equal(some[:, 0], hanging.response([0.3, 2.0])[:, 1])
    with pytest.raises(KeyError, match="outputs: there is no 'teta'"):
        hanging.response(1.0, "teta")


def test_a_figure_of_many_says_how_many_it_draws():
    pytest.importorskip("matplotlib")
    build = ph.Builder("chain")
    for i in range(6):
        build.body(f"b{i}", parent=f"b{i - 1}" if i else "world", joint=ph.revolute("y", name=f"a{i}"),
                   at=(0, 0, -1 if i else 0), mass=1, com=(0, 0, -0.5))  # fmt: skip
    lin = ph.linearize(ph.formulate(build.build()).compile())
    poles, size, _ = lin.plot().axes
    assert size.get_title(loc="left") == "Size of outputs by inputs: 4 of 12 outputs and 2 of 6 inputs"
    assert len({line.get_color() for line in size.lines}) == len(size.lines) == 8
    assert poles.get_xlim()[1] > 1  # nothing decays: rounding is not what is drawn
    every = lin.plot(lin.outputs, lin.inputs).axes[1]
    named = [text.get_text() for text in every.get_legend().get_texts()]
    assert named[-1] == f"and {len(every.lines) - 11} more"
    assert len(named) == 11
    assert every.get_title(loc="left") == "Size of outputs by inputs"


def geared_arm():
    build = ph.Builder("arm")
    bar = {"mass": 1.0, "com": (0.3, 0, 0), "inertia": (0.001, 0.03, 0.03)}
    build.body("arm", joint=ph.revolute("y", name="a", damping=0.01), **bar)
    motor = build.motor("M", inertia=1e-5, ratio=50, constant=0.05, resistance=0.5, inductance=1e-3, axis="y")
    motor.drives({"a": 1})
    return ph.formulate(build.build()).compile()


def controllable(lin):
    """The rank of [B, A B, A^2 B, ...], with columns of size 1."""
    columns, B = [], lin.B[:, 0]
    for _ in lin.states:
        columns.append(B / np.linalg.norm(B))
        B = lin.A @ columns[-1]
    return np.linalg.matrix_rank(np.array(columns), tol=1e-9)


def test_the_angle_of_a_motor_behind_a_gear_may_be_left_out():
    """It has a state that nothing controls; without it, all is controlled, and the arm answers as before."""
    lin = ph.linearize(geared_arm(), {"a": np.pi / 2})
    assert lin.states == ("a", "M", "M_dot", "M_current")
    less = lin.without("M")
    assert (less.states, less.outputs, less.sizes) == (("a", "M_dot", "M_current"),) * 2 + ((1, 1, 1),)
    assert (controllable(lin), controllable(less)) == (3, 3)
    f = [0.1, 3.0, 50.0]
    assert np.allclose(less.response(f, "a"), lin.response(f, "a"), rtol=1e-12)
    assert less.equilibrium
    assert less.modes().stable
    assert np.allclose(sorted([0, *less.modes().eigenvalues.real]), sorted(lin.modes().eigenvalues.real), rtol=1e-9)
    assert {*less.modes().shape(0)} == {"a", "a_dot", "M_dot", "M_current"}
    assert "Without 'M', which no other state depends on." in str(less)
    with pytest.raises(ValueError, match="without: the rate of 'M_dot' depends on 'a', which so cannot be left out"):
        lin.without("a")
    with pytest.raises(ValueError, match="without: the output 'both' depends on 'M'"):
        ph.linearize(geared_arm(), outputs={"both": "a + M"}).without("M")
    with pytest.raises(KeyError, match="without: there is no state 'N'"):
        lin.without("N")


def test_what_flies_has_as_many_zeros_as_it_can_drift():
    """Two legs on a free base: 8 places, and 6 speeds of momentum; the dampers of both legs decay."""
    build = ph.Builder("flyer")
    build.body("base", joint=ph.free(quaternion=False), mass=3, inertia=(0.1, 0.2, 0.25))
    for i, (x, y) in enumerate([(0.28, 0.06), (-0.28, -0.06)]):
        leg = {"mass": 0.2, "com": (0.1, 0, 0), "inertia": (0.001, 0.002, 0.002)}
        build.body(f"leg{i}", parent="base", at=(x, y, 0), joint=ph.revolute("z", name=f"a{i}", damping=0.02), **leg)
    modes = ph.linearize(ph.formulate(build.build()).compile(), {"a0": 0.3, "a1": 0.5}).modes()
    assert (modes.eigenvalues == 0).sum() == 8 + 6
    assert (modes.eigenvalues.real < -1).sum() == 2


def test_modes_do_not_depend_on_units():
    """x'' = -10 x + 4 n / s, n' = -s x' - n: s is the unit of n alone, l^3 + l^2 + 14 l + 10 = 0."""
    for unit in (1.0, 1e15):
        build = ph.Builder("ions", gravity=(0, 0, 0))
        build.body("a", joint=ph.prismatic("z", name="x"), mass=1)
        build.state("n", f"-{unit!r}*x_dot - n")
        build.force("x_dot", ph.symbol("n") * (4.0 / unit))
        build.potential("5*x**2")
        found = ph.linearize(ph.formulate(build.build()).compile()).modes().eigenvalues
        expected = [root for root in np.roots([1, 1, 14, 10]) if root.imag >= 0]
        assert np.allclose(sorted(found, key=abs), sorted(expected, key=abs), rtol=1e-9)


def test_rows_that_repeat_others_between_quaternions_are_no_singular_position():
    """A hinge that is said twice, once from either side, of bodies that fly."""

    def hinged(both, state=None):
        build = ph.Builder("pair")
        for name, size in (("a", 1.0), ("b", 0.5)):
            build.body(name, joint=ph.free(quaternion=True), mass=size, com=(0.1, 0.2, size), inertia=(0.3, 0.4, 0.5))
            build.marker(f"of {name}", body=name, at=(size, 0.2, 0.3))
        build.loop("of a", "of b", "hinge", axis="z")
        if both:
            build.loop("of b", "of a", "hinge", axis="z")
        dyn = ph.formulate(build.build()).compile()
        q = {"a_qw": 0.5, "a_qx": 0.5, "a_qy": 0.5, "a_qz": 0.5, "b_qw": 1.0}
        state = state or ph.assemble(dyn, q, {"a_wx": 0.3, "b_wz": 0.5})
        return ph.linearize(dyn, state), state

    once, state = hinged(False)
    twice, _ = hinged(True, state)
    assert twice.sizes == (7, 7, 0)
    assert once.states == twice.states
    assert np.allclose(once.A, twice.A, atol=1e-9 * abs(once.A).max())


def test_a_count_in_small_steps_does_not_hide_what_is_slow():
    """What nothing depends on has units of its own: 1e11 counts a metre, which leak."""
    build = ph.Builder("encoder", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x", damping=1e-3), mass=1)
    build.body("pendulum", joint=ph.prismatic("x", name="y", damping=2.0, stiffness=0.75), mass=1)
    build.state("count", rate="1.3e11*x_dot - 1e-5*count")
    found = ph.linearize(ph.formulate(build.build()).compile()).modes().eigenvalues
    assert np.allclose(sorted(found.real), [-1.5, -0.5, -1e-3, -1e-5, 0], rtol=1e-9, atol=0)


def test_what_falls_with_a_stiff_spring_is_no_equilibrium():
    build = ph.Builder("rod")
    for name in ("a", "b"):
        build.body(name, joint=ph.prismatic("z", name=name), mass=0.01)
    build.potential("1e8*(a - b)**2/2")
    lin = ph.linearize(ph.formulate(build.build()).compile())
    assert not lin.equilibrium
    assert not lin.steady


@pytest.mark.parametrize("t", [0.0, 0.1])
@pytest.mark.parametrize("own", [False, True])
def test_what_changes_in_time_is_not_steady(own, t):
    """Mathieu's equation, which grows, at an extreme of its coefficient too, and beside a much stiffer spring."""
    build = ph.Builder("Mathieu", gravity=(0, 0, 0))
    for name, k in (("y", 1), ("x", 1e4)):
        build.body(name, joint=ph.prismatic("x", name=name), mass=1)
        build.potential(f"{k}*{name}**2/2")
    law = "-0.5*cos(2*t)*y"
    if own:
        build.force("y_dot", law)
    lin = ph.linearize(ph.formulate(build.build()).compile(), t=t, tau=None if own else {"y_dot": law})
    assert not lin.equilibrium
    assert not lin.steady
