"""Derivatives of motions, against differences of runs and closed forms."""

import math

import numpy as np
import pytest

import polhode as ph
from polhode.study.collocation import integrate, nodes_of

TIGHT = {"rtol": 1e-12, "atol": 1e-12}


def cart():
    m, L, d = ph.symbols("m L d")
    build = ph.Builder("cart", gravity=(0, 0, -9.81))
    build.body("cart", joint=ph.prismatic("x", name="x", damping=d), mass=1.0)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    return ph.formulate(build.build()).compile()


def differences(run, values, h=5e-4):
    """Differences of fourth order of the states of a run by each of its values, (k, n, np)."""
    found = []
    for name in values:
        at = [run(**values | {name: values[name] + way * h}) for way in (-2, -1, 1, 2)]
        found.append((at[0] - 8 * at[1] + 8 * at[2] - at[3]) / (12 * h))
    return np.stack(found, axis=-1)


def close(a, b, tolerance):
    assert (np.abs(a - b).max(axis=(0, 1)) <= tolerance * np.abs(b).max(axis=(0, 1))).all()


def test_parameters_and_initial_values_against_differences():
    dyn, values = cart(), {"m": 0.3, "L": 0.7, "d": 0.2, "theta": 1.0, "x_dot": 0.1}

    def run(theta, x_dot, **p):
        traj = ph.simulate(dyn, {"theta": theta}, {"x_dot": x_dot}, 3.0, p=p, output=0.1, **TIGHT)
        return np.hstack([traj.q, traj.u, traj.accelerations])

    by = ["m", "L", "p.d", "q.theta", "u.x_dot"]
    p = {"m": 0.3, "L": 0.7, "d": 0.2}
    found = ph.sensitivities(dyn, {"theta": 1.0}, {"x_dot": 0.1}, 3.0, by=by, p=p, output=0.1)
    assert found.error < 1e-7
    close(np.concatenate([found.q, found.u, found.udot], axis=1), differences(run, values), 1e-7)


def test_small_swings_change_with_the_length_as_in_the_closed_form():
    """theta = a cos(w t), w = sqrt(g/L): d theta/dL = a t sin(w t) w / (2 L)."""
    L = ph.symbol("L")
    build = ph.Builder("pendulum", gravity=(0, 0, -9.81))
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1.0, com=(0, 0, -L))
    dyn = ph.formulate(build.build()).compile()
    found = ph.sensitivities(dyn, {"theta": 1e-5}, t_end=5.0, by="L", p={"L": 0.8}, rtol=1e-13, atol=1e-16)
    w, t = math.sqrt(9.81 / 0.8), found.traj.t
    assert np.allclose(found["theta"][:, 0], 1e-5 * t * np.sin(w * t) * w / 1.6, rtol=0, atol=1e-12)


def test_a_loop_moves_with_its_lengths_and_stays_closed():
    L = ph.symbol("L")
    build = ph.Builder("four-bar", gravity=(0, -9.81, 0))
    build.body("a", joint=ph.revolute("z", name="a"), mass=1.0, com=(L / 2, 0, 0), inertia=(0.01, 0.1, 0.1))
    build.body("b", parent="a", at=(L, 0, 0), joint=ph.revolute("z", name="b"), mass=1.5, com=(0.7, 0, 0),
               inertia=(0.01, 0.2, 0.2))  # fmt: skip
    build.body("c", at=(2, 0, 0), joint=ph.revolute("z", name="c"), mass=1.0, com=(0.5, 0, 0),
               inertia=(0.01, 0.1, 0.1))  # fmt: skip
    build.marker("tip", body="b", at=(1.8, 0, 0))
    build.marker("end", body="c", at=(1.2, 0, 0))
    build.loop("tip", "end", "hinge", axis="z", name="close")
    dyn = ph.formulate(build.build(), embed=False).compile()

    def start(a, L):
        return ph.assemble(dyn, {"a": a, "b": -0.7, "c": 1.4}, keep=["a"], p={"L": L})

    def run(a, L):
        q, u = start(a, L)
        traj = ph.simulate(dyn, q, u, 1.0, p={"L": L}, output=0.1, **TIGHT)
        return np.hstack([traj.q, traj.u])

    q, u = start(1.0, 0.9)
    found = ph.sensitivities(dyn, q, u, 1.0, by=["q.a", "L"], p={"L": 0.9}, output=0.1, independent=["a", "a_dot"])
    whole = np.concatenate([found.q, found.u], axis=1)
    close(whole, differences(run, {"a": 1.0, "L": 0.9}), 1e-6)
    with pytest.raises(ValueError, match=r"'q\.c' is not independent here"):
        ph.sensitivities(dyn, q, u, 1.0, by="q.c", p={"L": 0.9}, independent=["a"])


@pytest.mark.parametrize("tilt", [1e-10, 1e-6])
def test_rows_that_repeat_others_to_the_digits_of_a_file_hold_nothing_more(tilt):
    """A hinge closes a loop in the plane with five rows, of which three hardly differ from nothing."""
    k = ph.symbol("k")
    build = ph.Builder("four-bar")
    bar = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0.001, 0.083, 0.083)}
    build.body("crank", joint=ph.revolute("y", name="a"), **bar)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute((tilt, 1, 0), name="b"), **bar)
    build.body("rocker", at=(1.2, tilt, 0), joint=ph.revolute((0, 1, tilt), name="c", stiffness=k), **bar)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    dyn = ph.formulate(build.build()).compile()
    q, u = ph.assemble(dyn, {"a": 1.6, "b": -1.6, "c": 1.4}, p={"k": 3.0})

    def run(k):
        return ph.simulate(dyn, q, u, 1.0, p={"k": k}, output=0.1, **TIGHT).q

    found = ph.sensitivities(dyn, q, u, 1.0, by="k", p={"k": 3.0}, output=0.1)
    close(found.q, differences(run, {"k": 3.0}), 1e-6)


def test_a_control_that_follows_a_law_changes_with_the_state():
    build = ph.Builder("servo", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("z", name="a", damping=ph.symbol("c")), mass=1.0, inertia=(1, 1, 0.1))
    build.motor("M", constant=0.5, resistance=2.0).drives({"a": 1})
    dyn = ph.formulate(build.build()).compile()
    found = ph.sensitivities(dyn, {"a": 1.0}, t_end=1.0, by=["c", "q.a"], p={"c": 0.1}, tau={"M": "-3*a - a_dot"})
    control = dyn.equations.controls[0]
    assert np.allclose(found.of(control), -3 * found["a"] - found["a_dot"], rtol=1e-12, atol=1e-14)


def test_quaternions_start_with_turns():
    """A free body in space: by turning it at the start, and by its inertia."""
    I = ph.symbol("I")
    build = ph.Builder("top")
    build.body("top", joint=ph.spherical(quaternion=True, name="j"), mass=1.0, inertia=(I, 0.2, 0.3))
    dyn = ph.formulate(build.build()).compile()
    u = [1.0, 2.0, 0.5]

    def run(turn, I):
        q = [math.cos(turn / 2), math.sin(turn / 2), 0, 0]
        traj = ph.simulate(dyn, q, u, 2.0, p={"I": I}, output=0.1, **TIGHT)
        return np.hstack([traj.q, traj.u])

    names = [str(s.value) for s in dyn.equations.u]
    found = ph.sensitivities(dyn, u0=u, t_end=2.0, by=[f"q.turn_{names[0]}", "I"], p={"I": 0.15}, output=0.1)
    whole = np.concatenate([found.q, found.u], axis=1)
    assert np.abs(whole - differences(run, {"turn": 0.0, "I": 0.15})).max() < 1e-7


def test_a_rolling_wheel_against_differences():
    m = ph.symbol("m")
    build = ph.Builder("wheel")
    build.body("wheel", joint=ph.free(quaternion=True, name="w"), mass=m, inertia=(0.1, 0.2, 0.1))
    build.rolling("wheel", radius=0.5, name="roll")
    dyn = ph.formulate(build.build(), embed=False).compile()
    q0 = ph.assemble(dyn, {"w_qw": math.cos(0.1), "w_qx": math.sin(0.1), "w_z": 0.5}, p={"m": 2.0}, keep=[])
    q, u = ph.assemble(dyn, q0.q, {str(dyn.equations.u[1].value): 4.0}, p={"m": 2.0})

    def run(m):
        traj = ph.simulate(dyn, q, u, 1.0, p={"m": m}, output=0.1, **TIGHT)
        return np.hstack([traj.q, traj.u])

    found = ph.sensitivities(dyn, q, u, 1.0, by="m", p={"m": 2.0}, output=0.1)
    expected = differences(run, {"m": 2.0})
    assert np.abs(expected).max() > 0.01
    assert np.abs(np.concatenate([found.q, found.u], axis=1) - expected).max() < 1e-7


def test_sampled_inputs_and_expressions_of_the_motion():
    dyn, p = cart(), {"m": 0.3, "L": 0.7, "d": 0.2}
    t = np.linspace(0, 2, 21)
    force = np.sin(7 * t)

    def run(m):
        drive = lambda s, q, u: [np.interp(s, t, force), 0]  # noqa: E731
        traj = ph.simulate(dyn, {"theta": 0.5}, None, 2.0, p=p | {"m": m}, tau=drive, output=0.2, **TIGHT)
        return traj.evaluate(["m*theta_dot**2 + x"])

    found = ph.sensitivities(dyn, {"theta": 0.5}, None, 2.0, by="m", p=p, tau={"x_dot": (t, force)}, output=0.2,
                             **TIGHT)  # fmt: skip
    close(found.of("m*theta_dot**2 + x")[:, None], differences(run, {"m": 0.3}), 1e-7)
    with pytest.raises(ValueError, match=r"ends at t = 2 s, expected samples until 3 s"):
        ph.sensitivities(dyn, None, None, 3.0, by="m", p=p, tau={"x_dot": (t, force)})


def test_what_cannot_be_differentiated_is_refused():
    dyn = cart()
    p = {"m": 0.3, "L": 0.7, "d": 0.2}
    with pytest.raises(TypeError, match="no derivatives"):
        ph.sensitivities(dyn, None, None, 1.0, by="m", p=p, tau=lambda t, q, u: [0, 0])
    with pytest.raises(KeyError, match="no parameter, initial value or input 'M'"):
        ph.sensitivities(dyn, None, None, 1.0, by="M", p=p)
    folded = dyn.equations.compile(values={"m": 0.3})
    with pytest.raises(ValueError, match="was compiled in"):
        ph.sensitivities(folded, None, None, 1.0, by="m", p={"L": 0.7, "d": 0.2})
    build = ph.Builder("ball", gravity=(0, 0, -9.81))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=ph.symbol("m"))
    build.stop("z", lower=0.0, name="ground")
    ball = ph.formulate(build.build()).compile()
    with pytest.raises(ValueError, match="where derivatives jump"):
        ph.sensitivities(ball, {"z": 1.0}, None, 1.0, by="m", p={"m": 1.0})
    high = ph.sensitivities(ball, {"z": 10.0}, None, 1.0, by="q.z", p={"m": 1.0})  # does not get there
    assert np.allclose(high["z"][:, 0], 1.0)


def pushed(law):
    build = ph.Builder("pushed", gravity=(0, 0, 0))
    build.body("a", joint=ph.prismatic("x", name="x"), mass=1)
    build.force("x_dot", law)
    return ph.formulate(build.build()).compile()


JUMPS = {
    "-k*sign(x - gap)": True,
    "select(x > gap, -k, 0)": True,
    "k*less(gap, t)": True,
    "-k*gap*sign(x_dot)": False,  # which does not turn back
    "select(t > 0.4, k*gap, 0)": False,  # at a time that nothing moves
    "select(x > gap, -k*(x - gap), 0)": False,  # a kink
    "-k*max(0, x - gap)": False,
}


@pytest.mark.parametrize("law", JUMPS)
def test_laws_that_jump_are_refused_and_kinks_are_not(law):
    """Derivatives jump with a law; they were those of the law without its jump, and wrong in their first digit."""
    dyn, by, p = pushed(law), ["k", "gap", "q.x"], {"k": 3.0, "gap": 0.3}
    if JUMPS[law]:
        with pytest.raises(ValueError, match=r"a law jumps at t = 0.\d+ s, where .*gap.* changes"):
            ph.sensitivities(dyn, {"x": 0.0}, {"x_dot": 1.0}, 0.7, by=by, p=p)
        return
    found = ph.sensitivities(dyn, {"x": 0.0}, {"x_dot": 4.0}, 0.7, by=by, p=p, output=[0.1, 0.7])

    def run(x, **p):
        return ph.simulate(dyn, {"x": x}, {"x_dot": 4.0}, 0.7, p=p, output=[0.1, 0.7], **TIGHT)["x"][:, None]

    close(found["x"][:, None], differences(run, {**p, "x": 0.0}), 1e-5)


def test_derivatives_that_are_rough_are_told():
    with pytest.warns(ph.simulate.SimulationWarning, match="still changed by .*Give smaller rtol and atol"):
        ph.sensitivities(pushed("-3*sqrt(abs(x - gap))"), u0={"x_dot": 1.0}, t_end=1.0, by="gap", p={"gap": 0.3})


def test_collocation_is_of_order_six():
    """S' = A S with A constant, and with A(t) of a known solution exp(sin t)."""

    def error(k):
        mesh = np.linspace(0, 2, k)
        A = np.cos(nodes_of(mesh))[..., None, None]
        S = integrate(mesh, A, np.zeros((*A.shape[:2], 1, 1)), np.ones((1, 1)))
        return abs(S[-1, 0, 0] - math.exp(math.sin(2)))

    assert 50 < error(5) / error(9) < 80
