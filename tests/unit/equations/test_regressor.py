"""Regressors, base parameters and models with symbols for their inertias."""

import numpy as np
import pytest

import polhode as ph
from polhode.model.grow import grow
from tests.mechanics import close, random_state
from tests.robots import path_of


def two_links(**more):
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    build.body(
        "upper", joint=ph.revolute("y", name="a", **more), mass=1.5, com=(0.1, 0.02, 0.3), inertia=(0.1, 0.2, 0.15)
    )
    build.body("lower", parent="upper", at=(0, 0, 0.5), joint=ph.revolute("y", name="b"), mass=0.8, com=(0, 0, 0.2))
    return build.build()


@pytest.mark.parametrize(
    "kinds", [["free quaternion", "skewed", "prismatic"], ["nonholonomic", "spherical"]], ids=" ".join
)
def test_forces_and_energies_are_linear_in_the_parameters(kinds):
    model = grow(5, kinds, forces=True)
    eq = ph.formulate(model)
    dyn, found = eq.compile(), eq.regressor(["armature", "damping", "friction"])
    q, u = random_state(eq, 2)
    udot = np.random.default_rng(3).normal(size=model.nu)
    theta = np.array([float(e.number) for e in found.theta])
    tau = found.compile()(q, u, udot) @ theta + found.compile("rest")(q, u, udot)
    assert close(tau, dyn.inverse_dynamics(q, u, udot))
    base = found.base()
    assert len(base) < len(theta)
    assert close(
        found.compile()(q, u, udot)[:, list(base.columns)] @ (base.matrix @ theta), found.compile()(q, u, udot) @ theta
    )
    energy = found.compile("energy")(q, u) @ theta
    assert close(energy[0], dyn.energy(q, u)[0])


@pytest.mark.parametrize(("name", "held", "count"), [
    ("ur_description/urdf/ur5_robot.urdf", (), 36),
    ("panda_description/urdf/panda.urdf", ("panda_finger_joint1", "panda_finger_joint2"), 43),
])  # fmt: skip
def test_base_parameters_of_robots_are_as_many_as_published(name, held, count):
    """36 of the UR arms and of the Puma 560; 43 of the Panda: Gaz, Cognetti, Oliva, Robuffo Giordano, De Luca 2019."""
    model = ph.load(path_of(name), actuators=False)
    found = ph.formulate(ph.locked(model, held) if held else model).regressor()
    assert len(found.base()) == len(found.base(seed=7)) == count


def test_base_parameters_of_a_double_pendulum_by_hand():
    base = ph.formulate(two_links()).regressor().base()
    assert base.texts == (
        "mcx_upper",
        "mcz_upper + 0.5*m_lower",
        "Iyy_upper + 0.25*m_lower",
        "mcx_lower",
        "mcz_lower",
        "Iyy_lower",
    )
    assert {"m_upper", "Ixx_upper", "Iyz_lower"} <= {*base.idle}


def test_friction_and_dampers_are_columns():
    damped = ph.formulate(two_links(damping=0.4, friction=0.2, friction_speed=0.1, armature=0.3))
    found = damped.regressor(["armature", "damping", "friction"])
    theta = dict(zip(found.names, found.theta, strict=True))
    assert [float(theta[name].number) for name in ("armature_a_dot", "damping_a_dot", "friction_a_dot")] == [
        0.3,
        0.4,
        0.2,
    ]
    q, u, udot = np.random.default_rng(0).normal(size=(3, 2))
    Y = found.compile()(q, u, udot)
    assert close(Y[:, found.names.index("damping_a_dot")], [u[0], 0])
    assert close(Y[:, found.names.index("friction_a_dot")], [np.tanh(u[0] / 0.1), 0])
    assert close(Y[:, found.names.index("armature_a_dot")], [udot[0], 0])
    tau = Y @ [float(e.number) for e in found.theta] + found.compile("rest")(q, u, udot)
    assert close(tau, damped.compile().inverse_dynamics(q, u, udot))
    with pytest.raises(ValueError, match="there is no 'stiction' of joints"):
        damped.regressor(["stiction"])


def test_inertias_as_symbols_with_the_numbers_that_they_had():
    plain = two_links()
    model, values = ph.symbolic_inertias(plain)
    eq = ph.formulate(model, "denoc")
    dyn = eq.compile()
    assert {*values} == {*dyn.parameters}
    assert close(values["Iyy_upper"], 0.2 + 1.5 * (0.1**2 + 0.3**2))
    q, u, udot = np.random.default_rng(0).normal(size=(3, 2))
    expected = ph.formulate(plain).compile().inverse_dynamics(q, u, udot)
    assert close(dyn.inverse_dynamics(q, u, udot, p=values), expected)
    assert close(eq.compile(values=values).inverse_dynamics(q, u, udot), expected)
    # its derivatives by them are the regressor
    found = ph.formulate(plain).regressor()
    Y = found.compile()(q, u, udot)[:, [found.names.index(name) for name in dyn.parameters]]
    assert close(dyn.derivatives.inverse_dynamics(q, u, udot, p=values).p, Y)
    one, only = ph.symbolic_inertias(plain, "lower")
    assert {name.split("_")[1] for name in only} == {"lower"}
    assert ph.formulate(one).compile(values=only).parameters == ()
    with pytest.raises(KeyError, match="there is no body 'lover' that moves"):
        ph.symbolic_inertias(plain, "lover")


def test_parameters_are_identified_from_motion():
    """Forces of a motion, and least squares on the base parameters: forces of another motion follow."""
    eq = ph.formulate(two_links())
    found, dyn, draw = eq.regressor(), eq.compile(), np.random.default_rng(4)
    base, call = found.base(), found.compile()
    q, u, udot = draw.normal(size=(3, 50, 2))
    Y = call(q, u, udot)[..., list(base.columns)].reshape(-1, len(base))
    theta = np.linalg.lstsq(Y, dyn.inverse_dynamics(q, u, udot).ravel(), rcond=None)[0]
    q, u, udot = draw.normal(size=(3, 2))
    assert close(call(q, u, udot)[:, list(base.columns)] @ theta, dyn.inverse_dynamics(q, u, udot))


def test_other_speeds_are_refused():
    eq = ph.formulate(two_links(), speeds={"v1": ph.symbol("a_dot"), "v2": ph.symbol("a_dot") + ph.symbol("b_dot")})
    with pytest.raises(ValueError, match="in the speeds of the joints"):
        eq.regressor()
