"""Actuators and motors: names, controls and limits that mean one thing in every call, and what is refused."""

from dataclasses import replace

import numpy as np
import pytest

import polhode as ph


def sled():
    build = ph.Builder("sled", gravity=(0, 0, 0))
    build.body("sled", joint=ph.prismatic("x", name="x"), mass=2)
    return build


def arm(**motor):
    """A base that tilts, an arm on it, and a motor that turns the arm."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    build.body("base", joint=ph.revolute("x", name="tilt"), mass=1, inertia=(1, 1, 1))
    build.body("arm", parent="base", joint=ph.revolute("z", name="elbow"), mass=1, inertia=(1, 1, 0.5))
    build.motor("M", on="base", inertia=0.1, **motor)
    return build


# names


@pytest.mark.parametrize("add", [
    lambda build: build.actuator("x_dot", {"x_dot": 5}),
    lambda build: build.motor("x_dot", ratio=5).drives({"x": 1}),
])  # fmt: skip
def test_an_actuator_has_not_the_name_of_a_speed(add):
    build = sled()
    add(build)
    with pytest.raises(ph.ModelError, match=r"Actuator 'x_dot': that name is a speed's.*Rename the actuator"):
        build.build()


def test_speeds_of_the_analyst_have_not_the_name_of_an_actuator():
    build = sled()
    build.actuator("jet", {"x_dot": 5})
    with pytest.raises(ValueError, match="Speed 'jet': that name belongs to an actuator"):
        ph.formulate(build.build(), speeds={"jet": 2 * ph.symbol("x_dot")})


def test_rates_of_lagrange_leave_the_name_of_an_actuator_alone():
    build = ph.Builder("top", gravity=(0, 0, 0))
    build.body("top", joint=ph.spherical(name="s"), mass=1, inertia=(1, 2, 3))
    build.actuator("s_x_dot", {"s_wx": 5})
    dyn = ph.formulate(build.build(), "lagrange").compile()
    assert [str(u) for u in dyn.equations.u] == ["s_x_rate", "s_y_dot", "s_z_dot"]
    expected = dyn.forward_dynamics(np.zeros(3), np.zeros(3), np.zeros(3), controls={"s_x_dot": 1.0})
    assert expected[0] == pytest.approx(5.0)
    run = ph.simulate(dyn, t_end=1e-3, controls={"s_x_dot": 1.0})
    assert np.allclose(run.u[-1] / 1e-3, expected, rtol=1e-6, atol=1e-6)


# controls


@pytest.mark.parametrize("tau", [0.5, "0.5*t"])
@pytest.mark.parametrize("controls", [{"jet": 1.0}, {"jet": "1 + t"}, [1.0]])
def test_a_control_is_given_once(tau, controls):
    build = sled()
    build.actuator("jet", {"x_dot": 1})
    dyn = ph.formulate(build.build()).compile()
    with pytest.raises(ValueError, match="The control of 'jet' is given in tau= and in controls=, expected it once"):
        ph.simulate(dyn, t_end=1.0, tau={"jet": tau}, controls=controls)
    run = ph.simulate(dyn, t_end=1.0, tau={"x_dot": 1.0}, controls=controls)
    assert run["jet_control"][0] == 1.0
    assert run["tau_x_dot"][0] == 1.0


def add_actuator(build, control):
    build.actuator("b", {"x_dot": 1}, force=control + ph.symbol("b_control"))


@pytest.mark.parametrize(
    "add",
    [
        add_actuator,
        lambda build, control: build.force("x_dot", control),
        lambda build, control: build.wrench("sled", force=(control, 0, 0)),
        lambda build, control: build.actuator("b", {"x_dot": control}, force=1),
    ],
)
def test_a_control_is_within_its_limits_wherever_it_stands(add):
    """(a + a) / 2 for a limited to 1; the work of tau in the audit closes the balance."""
    build = sled()
    build.actuator("a", {"x_dot": 1}, upper=1.0)
    add(build, ph.symbol("a_control"))
    dyn = ph.formulate(build.build()).compile()
    assert dyn.forward_dynamics([0], [0], [0], controls={"a": 10.0}) == pytest.approx([1.0])
    run = ph.simulate(dyn, t_end=1.0, controls={"a": 10.0})
    assert run.u[-1] == pytest.approx([1.0])
    assert run["a_control"][-1] == 1.0  # as it acts
    assert abs(run.energy_drift).max() < 1e-12


# transmissions that are embedded, and the same model without its constraints


def test_equations_without_constraints_have_no_transmissions_to_embed():
    model = arm(drives={"elbow": 1}, ratio=10).build()
    bare = ph.formulate(replace(model, constraints=()), "quasicoordinate")
    assert [str(u) for u in bare.u] == list(model.speeds)


def test_what_a_step_costs_needs_the_speeds_of_joints():
    model = arm(drives={"elbow": 1}, ratio=10).build()
    with pytest.raises(ValueError, match=r"Use formulate\(model, 'quasicoordinate', embed=False\), without speeds="):
        ph.formulate(model, "quasicoordinate").compile().automaton()
    found = ph.formulate(model, "quasicoordinate", embed=False).compile().automaton()
    assert sorted(len(mode.independent) for mode in found.modes) == [2, 3]  # engaged, and released
    assert all(mode.program is not None for mode in found.modes)


# numbers of motors

TILT = ph.symbol("tilt")


@pytest.mark.parametrize(
    "given",
    [
        {"ratio": 2 + TILT**2, "stiffness": 10},
        {"ratio": 2, "efficiency": 2 + TILT, "stiffness": 10},
        {"constant": 1 + TILT, "resistance": 1},
        {"damping": ph.symbol("elbow_dot")},
        {"inductance": 1 + ph.symbol("t"), "constant": 1, "resistance": 1},
        {"upper": TILT},
    ],
)
def test_numbers_of_a_motor_do_not_change(given):
    with pytest.raises(ph.ModelError, match=r"Motor 'M': its numbers depend on (tilt|elbow_dot|t), expected constants"):
        arm(drives={"elbow": 1}, **given).build()


def test_an_efficiency_that_is_a_parameter_is_at_most_1():
    model = arm(drives={"elbow": 1}, efficiency=ph.symbol("eta"), stiffness=100).build()
    with pytest.raises(ph.ModelError, match="Motor 'M': efficiency is 2, expected a number from 0 to 1"):
        model.substituted({"eta": 2})
    dyn = ph.formulate(model).compile()
    with pytest.raises(ph.ModelError, match="With eta = 2: Motor 'M': efficiency is 2, expected a number from 0 to 1"):
        ph.simulate(dyn, t_end=1.0, p={"eta": 2.0})


def test_what_a_motor_turns_by_does_not_change():
    with pytest.raises(ph.ModelError, match="Motor 'M': its numbers depend on tilt, expected constants"):
        arm(drives={"elbow": 1 + TILT}).build()


def test_a_ratio_that_changes_is_a_gear():
    """The remedy: u_elbow = u_M / n(tilt), so that the arm has a torque n and an inertia 0.5 + 0.1 n^2 at rest."""
    build = arm()
    build.gear("elbow_dot", "M_dot", 1 / (2 + TILT**2))
    dyn = ph.formulate(build.build()).compile()
    udot, _ = dyn.response([0.5, 0.0, 0.0], np.zeros(3), np.zeros(3), controls={"M": 1.0})
    n = 2.25
    place = list(dyn.equations.model.speeds).index("elbow_dot")
    assert udot[place] == pytest.approx(n / (0.5 + 0.1 * n * n), rel=1e-12)


# gears


def test_gears_are_of_different_speeds():
    build = sled()
    with pytest.raises(ph.ModelError, match=r"has the speed 'x_dot' 2 times, expected 3 speeds"):
        build.planetary("x_dot", "y_dot", "x_dot", 20, 60)
    with pytest.raises(ph.ModelError, match=r"has the speed 'x_dot' 2 times, expected 2 speeds"):
        build.gear("x_dot", "x_dot", 2)


def test_a_motor_sums_a_joint_up_once():
    build = arm()
    build.motor("N", inertia=1e-9).sums({"elbow": 1}).sums({"elbow": 2})
    with pytest.raises(ph.ModelError, match="Motor 'N': turns 'elbow_dot' 2 times, expected once"):
        build.build()


# files


@pytest.mark.parametrize("law", ["M_current", "M_dot", "M", "M_control"])
def test_laws_of_what_motors_have_are_saved(law, tmp_path):
    build = sled()
    build.motor("M", constant=0.05, resistance=0.5, inductance=1e-3, inertia=1e-3, drives={"x": 1})
    build.force("x_dot", -1e-3 * ph.symbol(law))
    build.constraint(ph.symbol("x"), name="M", active=False)  # the actuator of the motor is called the same
    model = build.build()
    path = tmp_path / "fan.toml"
    ph.save(model, path)
    assert ph.load(path) == model


def test_a_current_is_not_declared_again(tmp_path):
    build = sled()
    build.motor("M", constant=0.05, resistance=0.5, inductance=1e-3, inertia=1e-3, drives={"x": 1})
    path = tmp_path / "fan.toml"
    ph.save(build.build(), path)
    path.write_text('symbols = ["M_current"]\n' + path.read_text())
    with pytest.raises(ph.ModelError, match="State 'M_current': that name is taken by a symbol or constant"):
        ph.load(path)


def test_losses_of_stages_are_named_by_what_is_before_them():
    build = ph.Builder("gearbox")
    build.body("arm", joint=ph.revolute("z", name="arm"), mass=1, inertia=(1, 1, 1))
    gear = {"efficiency": 0.8, "stiffness": 1e3}
    stages = [{"ratio": 5, "inertia": 0.05, **gear}]
    build.motor("M", inertia=0.01, ratio=3, stages=stages, **gear).drives({"arm": 1})
    brakes = {c.name: c.speed for c in build.build().constraints if isinstance(c, ph.model.Brake)}
    assert brakes == {"loss of M": "M_dot", "loss of M_shaft_1": "M_shaft_1_dot"}
