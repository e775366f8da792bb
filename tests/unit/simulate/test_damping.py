"""Dampers of joints in Euler's method: implicit, so that no damping is too large for a step."""

import numpy as np
import pytest

import polhode as ph
from polhode.compile import compile
from polhode.equations.program import program_of
from polhode.kernels.hold import evaluate

H = 1e-3


def arm(damping, joint=None):
    """Seven links with skew axes; `joint` carries the last one, where it is given."""
    build = ph.Builder("arm")
    parent = "world"
    for i in range(7):
        axis = ("y", "x", (0.6, 0, 0.8))[i % 3]
        hinge = ph.revolute(axis, name=f"j{i}", damping=damping, armature=0.01 * (i % 2))
        build.body(
            f"b{i}",
            parent=parent,
            at=(0, 0.05, -0.2) if i else (0, 0, 0),
            joint=joint if joint is not None and i == 6 else hinge,
            mass=1 + 0.1 * i,
            com=(0.02, 0, -0.1),
            inertia=(0.01, 0.012, 0.005),
        )
        parent = f"b{i}"
    return build.build()


def start(dyn, seed=1):
    rng = np.random.default_rng(seed)
    eq = dyn.equations
    q = dyn.unit(np.array(eq.model.neutral()) + 0.5 * rng.normal(size=len(eq.q)))
    return q, 3 * rng.normal(size=len(eq.u))


def new_speeds(dyn, q, u, D):
    """Speeds after a step: u + h (M + h D)^-1 (Q - c)."""
    b = dyn.forces(q, u) - dyn.bias(q, u)
    return u + H * np.linalg.solve(dyn.mass_matrix(q) + H * D, b)


@pytest.mark.parametrize("method", ["denoc", "poincare", "kane", "lagrange"])
def test_a_step_solves_with_the_damping_of_its_end(method):
    dyn = ph.formulate(arm(40), method).compile()
    q, u = start(dyn)
    sim = ph.Simulation(dyn, q, u, method="euler", step=H)
    sim.step()
    expected = new_speeds(dyn, q, u, np.diag([40.0] * 7))
    np.testing.assert_allclose(sim.u, expected, rtol=1e-11)
    np.testing.assert_allclose(sim.q, q + H * expected, rtol=1e-12)


@pytest.mark.parametrize("method", ["denoc", "poincare"])
def test_dampers_of_a_ball_have_no_gyroscopic_force(method):
    ball = ph.spherical(name="wrist", damping=(3, 200, 0), armature=(0.1, 0.2, 0.3))
    dyn = ph.formulate(arm(40, ball), method).compile()
    q, u = start(dyn)
    sim = ph.Simulation(dyn, q, u, method="euler", step=H)
    sim.step()
    np.testing.assert_allclose(sim.u, new_speeds(dyn, q, u, np.diag([40.0] * 6 + [3.0, 200.0, 0.0])), rtol=1e-11)


def two_links(damping=5.0):
    build = ph.Builder("two")
    for name, parent in (("a", "world"), ("b", "a")):
        joint = ph.revolute("y", name=name, damping=damping)
        build.body(
            name, parent=parent, at=(0, 0, -1) if name == "b" else (0, 0, 0), joint=joint, mass=1, com=(0, 0, -1)
        )
    return build.build()


def test_dampers_act_on_the_speeds_of_their_joints_whatever_the_equations_are_written_in():
    model = two_links()
    joints = ph.formulate(model).compile()
    absolute = ph.formulate(model, speeds=_absolute()).compile()
    q, u = np.array([0.3, -0.5]), np.array([1.0, -2.0])
    sim = ph.Simulation(absolute, q, [u[0], u.sum()], method="euler", step=H)
    sim.step()
    v = new_speeds(joints, q, u, np.diag([5.0, 5.0]))
    np.testing.assert_allclose(sim.u, [v[0], v.sum()], rtol=1e-12)


def _absolute():
    a, b = ph.symbols("a_dot b_dot")
    return {"w1": a, "w2": a + b}


def test_no_damping_is_too_large():
    """A thousand times what the inertias could take in a step."""
    dyn = ph.formulate(arm(1e3 * 0.5 / H)).compile()
    q, u = start(dyn)
    traj = ph.simulate(dyn, q, u, 1.0, method="euler", step=H)
    assert traj.outcome.finished
    assert abs(traj.u[1:]).max() < 1e-2
    assert abs(traj.audit().relative_drift) < 0.05
    with pytest.warns(ph.SimulationWarning):
        assert not ph.simulate(dyn, q, u, 1.0, method="midpoint", step=H).outcome.finished


def test_it_converges_to_the_same_motion():
    dyn = ph.formulate(arm(2.0)).compile()
    q, u = start(dyn)
    exact = ph.simulate(dyn, q, u, 0.5).q[-1]
    off = [abs(ph.simulate(dyn, q, u, 0.5, method="euler", step=h).q[-1] - exact).max() for h in (1e-3, 5e-4)]
    assert off[1] < 1e-2
    assert off[0] / off[1] == pytest.approx(2, rel=0.1)


@pytest.mark.parametrize("passive", [True, False])
def test_lanes_do_as_runs_do_with_damping_as_a_parameter(passive):
    d = ph.symbol("d")
    build = ph.Builder("pendulum")
    joint = ph.revolute("y", name="theta", damping=d, passive=passive)
    build.body("bob", joint=joint, mass=1, com=(0, 0, -1))
    build.marker("tip", body="bob", at=(d, 0, 0))
    dyn = ph.formulate(build.build()).compile()
    values = np.array([0.1, 10.0, 1e6])
    many = ph.simulate_many(dyn, [1.0], [2.0], 0.1, p={"d": values}, method="euler", step=H, output=0.01)
    assert not many.runs
    for i, value in enumerate(values):
        one = ph.simulate(dyn, [1.0], [2.0], 0.1, p={"d": value}, method="euler", step=H, output=0.01)
        np.testing.assert_array_equal(many.q[i], one.q)
        np.testing.assert_allclose(many.work[i], one.work, atol=1e-12)
        assert (abs(one.u[-1, 0]) < 1e-3) == (passive and value == 1e6)


def test_the_work_of_dampers_is_what_the_bodies_lose():
    build = ph.Builder("slide", gravity=(0, 0, 0))
    build.body("block", joint=ph.prismatic("x", name="x", damping=1e6), mass=2)
    traj = ph.simulate(ph.formulate(build.build()).compile(), [0.0], [3.0], 0.01, method="euler", step=H)
    assert traj.energy[-1, 0] < 1e-5
    assert traj.work[-1, 1] == pytest.approx(-9.0, rel=1e-12)


def four_bar(damping):
    build = ph.Builder("four-bar")
    rod = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0, 1 / 12, 1 / 12)}
    build.body("crank", joint=ph.revolute("y", name="a", damping=damping), **rod)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y", name="b", damping=2 * damping), **rod)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c"), **rod)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    dyn = ph.formulate(build.build()).compile()
    return dyn, *ph.assemble(dyn, {"a": -1.0, "b": 1.0, "c": -1.0}, {"a_dot": 2.0}, keep=["a", "a_dot"])


def test_constraints_hold_beside_implicit_dampers():
    dyn, q, u = four_bar(50.0)
    program, eq = program_of(dyn, stepping=True), dyn.equations
    x = program.state(q, u)
    dx = np.zeros_like(x)
    evaluate(program.machine(p=program.given(np.zeros(0), H)), 0.0, x, dx, True)
    rows = eq.constraints
    call = compile({"q": eq.q, "u": eq.u}, {"J": rows.J, "gamma": rows.gamma})
    J, gamma = call(q, u)
    M = dyn.mass_matrix(q) + H * np.diag([50.0, 100.0, 0.0])
    b = dyn.forces(q, u) - dyn.bias(q, u)
    K = np.block([[M, J.T], [J, np.zeros((len(J), len(J)))]])
    udot = np.linalg.lstsq(K, np.concatenate([b, -gamma]), rcond=1e-10)[0][:3]
    np.testing.assert_allclose(dx[3:6], udot, rtol=1e-9)
    sim = ph.Simulation(dyn, q, u, method="euler", step=H)
    sim.step()
    np.testing.assert_allclose(sim.u, u + H * udot, atol=1e-3)  # it turns the speeds along the loop at the end


def test_a_damped_loop_is_stable_and_its_reactions_are_those_of_its_states():
    dyn, q, u = four_bar(1e6)
    traj = ph.simulate(dyn, q, u, 0.5, method="euler", step=H, output=0.1, reacting=True)
    assert traj.outcome.finished
    assert abs(traj.u[1:]).max() < 1e-3
    assert abs(traj.residuals).max() < 1e-12
    np.testing.assert_allclose(traj.reactions, dyn.reactions(traj.q, traj.u, traj.tau), rtol=1e-6, atol=1e-9)
