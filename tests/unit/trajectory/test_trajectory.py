"""Trajectories: names, states between outputs, derived quantities."""

import numpy as np
import pytest

import polhode as ph
from tests.motions import made, pendulum, runge_kutta, swing


def test_columns_by_name():
    traj = swing()
    assert np.array_equal(traj["theta"], traj.q[:, 0])
    assert np.array_equal(traj["tau_theta_dot"], traj.tau[:, 0])
    assert list(traj) == ["theta", "theta_dot", "tau_theta_dot", "t"]
    assert "theta" in traj
    assert "phi" not in traj
    assert traj.units == {"theta": "rad", "theta_dot": "rad/s", "tau_theta_dot": "N m", "t": "s"}
    with pytest.raises(KeyError, match="Did you mean 'theta'"):
        traj["thta"]
    assert len(traj) == 201
    assert repr(traj) == "Trajectory of 'pendulum': 201 states, t = 0 to 2 s. Reached t = 2 s."
    with pytest.raises(ValueError, match="read-only"):
        traj.q[0] = 0


def test_wrong_shapes_are_named():
    with pytest.raises(ValueError, match=r"u has shape \(2, 2\), expected \(2, 1\)"):
        made(pendulum(), t=[0, 1], q=np.zeros((2, 1)), u=np.zeros((2, 2)), tau=np.zeros((2, 1)), parameters=[1.0])


def test_states_between_outputs_converge_with_the_fourth_power():
    fine, errors = swing(), []
    for step in (4, 8):
        fields = {name: getattr(fine, name)[::step] for name in ("t", "q", "u", "tau")}
        found = made(pendulum(), **fields, parameters=[0.7]).at(fine.t[step // 2 :: step])
        truth = fine.q[step // 2 :: step], fine.u[step // 2 :: step]
        errors.append([np.abs(a - b).max() for a, b in zip(found, truth, strict=True)])
    assert np.max(errors) < 1e-3
    assert np.all(np.array(errors[1]) / errors[0] > 12)
    q, u = fine.at(0.5)
    assert q.shape == u.shape == (1,)
    assert fine.at(np.ones((2, 10)))[0].shape == (2, 10, 1)
    with pytest.raises(ValueError, match=r"Time 3 is not in the trajectory, expected 0 to 2 s"):
        fine.at(3)


def test_one_state_and_jumps():
    dyn = pendulum()
    alone = made(dyn, t=[1.0], q=[[0.2]], u=[[0.3]], tau=[[0.0]], parameters=[1.0])
    assert alone.at(1.0)[0] == 0.2
    assert alone.work.tolist() == [[0, 0, 0, 0]]
    assert alone.energy_drift.tolist() == [0]
    jump = made(
        dyn, t=[0, 1, 1, 2], q=np.zeros((4, 1)), u=[[1], [1], [-1], [-1]], tau=np.zeros((4, 1)), parameters=[1.0]
    )
    assert jump.at(1.0)[1] == -1
    assert np.isfinite(jump.work).all()


def test_quantities_from_expressions_and_text():
    traj, theta, L = swing(), ph.symbol("theta"), ph.symbol("L")
    height = -0.7 * np.cos(traj["theta"])
    assert np.allclose(traj.evaluate(-L * ph.cos(theta)), height)
    assert np.allclose(traj.evaluate("-p.L * cos(q.theta) + 0*m"), height)
    found = traj.evaluate({"z": "-L*cos(theta)", "both": [theta, "tau_theta_dot + t"], "one": ph.vector([1])})
    assert found["both"].shape == (201, 2)
    assert found["one"].tolist() == [[1]] * 201
    assert np.allclose(found["both"][:, 1], traj["tau_theta_dot"] + traj.t)
    assert np.allclose(found["z"], height)
    assert np.allclose(traj.pose("tip")[:, 2, 3], height)
    assert np.allclose(traj.velocity("tip")[:, 5], traj.evaluate("L*sin(theta)*theta_dot"))
    for wrong in ("L*cos(tetha)", ph.symbol("tetha")):
        with pytest.raises(ValueError, match="Did you mean 'theta'"):
            traj.evaluate(wrong)


def test_speeds_that_are_not_a_joints():
    eq = ph.formulate(pendulum().equations.model, "kane", speeds={"w": 2 * ph.symbol("theta_dot")})
    traj = runge_kutta(eq.compile(values={"m": 2.0, "d": 0.3, "L": 0.7}), [1.0], [0.0], 0.5)
    assert traj.units["w"] == ""
    assert np.allclose(traj.evaluate("theta_dot"), traj["w"] / 2)
    assert np.abs(traj.energy_drift).max() < 1e-7


def servo():
    build = ph.Builder("servo")
    build.body("arm", joint=ph.revolute("y", name="elbow"), mass=1, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    limits = {"lower": -0.1, "upper": ph.symbol("most")}
    build.motor("M", inertia=1e-4, ratio=50, axis="y", **limits).drives({"elbow": 1})
    return ph.formulate(build.build(), "quasicoordinate").compile()


def test_controls_are_shown_as_they_act():
    run = ph.simulate(servo(), t_end=0.5, tau={"M": "3*cos(20*t)"}, p={"most": 0.2})
    assert np.allclose(run["M_control"], np.clip(3 * np.cos(20 * run.t), -0.1, 0.2), rtol=0, atol=1e-12)
    assert set(run["M_control"][[0, -1]]) == {-0.1, 0.2}


def test_speeds_of_driven_joints_are_known_by_name(tmp_path):
    """elbow' = M' / 50, in controllers, columns and figures."""
    dyn = servo()
    one, other = (ph.simulate(dyn, t_end=0.5, tau={"M": f"1 - elbow - {v}"}, p=[5]) for v in ("elbow_dot", "M_dot/50"))
    assert np.allclose(one.q, other.q, rtol=0, atol=1e-12)
    assert np.ptp(one["elbow_dot"]) > 0.1
    assert np.allclose(one["elbow_dot"], one["M_dot"] / 50, rtol=0, atol=1e-14)
    assert one.units["elbow_dot"] == "rad/s"
    assert "elbow_dot" in one
    assert one.plot(["elbow_dot"], path=tmp_path / "a.png").axes[0].get_title(loc="left").endswith("[rad/s]")
    with pytest.raises(ValueError, match="elbow_dt"):
        ph.simulate(dyn, t_end=0.5, tau={"M": "-elbow_dt"}, p=[5])


def test_figures_have_rotors_apart_and_units_of_motors(tmp_path):
    build = ph.Builder("servo")
    build.body("arm", joint=ph.revolute("y", name="elbow"), mass=1, com=(0, 0, -0.3), inertia=(0.01, 0.01, 0.01))
    electrical = {"constant": 0.05, "resistance": 1, "inductance": 1e-3}
    build.motor("M", inertia=1e-4, ratio=50, axis="y", **electrical).drives({"elbow": 1})
    build.actuator("push", {"elbow_dot": 1})
    run = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.1, tau={"M": 3.0, "push": 0.1})
    assert [run.units[name] for name in ("M_control", "push_control", "M_current")] == ["V", "N m", "A"]
    titles = [ax.get_title(loc="left") for ax in run.plot(path=tmp_path / "a.png").axes]
    for title in ("Angles: 'elbow' [rad]", "Angles of rotors: 'M' [rad]", "Currents: 'M_current' [A]"):
        assert title in titles


def test_accelerations_are_those_of_the_controls():
    """Also where nothing but the control is an input: no parameters, states or events. They had no control."""
    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=2)
    build.actuator("motor", {"x_dot": 1}, upper=3)
    run = ph.simulate(ph.formulate(build.build()).compile(), t_end=1.0, tau={"motor": 5.0}, output=[0.0, 1.0])
    assert np.array_equal(run.accelerations, [[1.5], [1.5]])
    q, u = run.at(0.5)[:2]  # between outputs
    assert (q[0], u[0]) == (pytest.approx(1.5 / 8), pytest.approx(0.75))
