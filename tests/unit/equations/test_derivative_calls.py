"""Derivatives of the compiled calls: what they are by, batches, parameters, constraints, impulses."""

import numpy as np
import pytest

import polhode as ph
from tests.mechanics import close
from tests.mechanisms import four_bar, windows
from tests.slopes import Moved, forward_slopes, slopes

M, m, L, g = ph.symbols("M m L g")


def cart(**values):
    build = ph.Builder("cart", gravity=(0, 0, -g))
    build.body("cart", joint=ph.prismatic("x", name="x", damping=0.3), mass=M)
    build.body("bob", parent="cart", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    return ph.formulate(build.build()).compile(values=values)


def test_a_pendulum_by_hand():
    build = ph.Builder("pendulum", gravity=(0, 0, -g))
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    dyn = ph.formulate(build.build()).compile(values={"g": 9.81, "m": 2.0})
    found = dyn.derivatives.forward_dynamics([0.3], [0.5], [0.7], p={"L": 0.5})
    # udot = (tau - m g L sin) / (m L^2)
    assert close(found.value, [0.7 / 0.5 - 9.81 / 0.5 * np.sin(0.3)])
    assert close(found.q, [[-9.81 / 0.5 * np.cos(0.3)]])
    assert close(found.u, [[0.0]])
    assert close(found.tau, [[1 / 0.5]])
    assert close(found.p, [[-2 * 0.7 / (2 * 0.5**3) + 9.81 / 0.25 * np.sin(0.3)]])
    assert found.z is None
    assert found.lam is None


def test_parameters_that_stay_inputs_are_columns_in_their_order():
    dyn = cart(g=9.81, M=1.5)
    assert dyn.derivatives.parameters == dyn.parameters == ("L", "m")
    q, u, tau, p = np.array([0.2, 0.4]), np.array([0.5, -0.6]), np.array([0.1, 0.2]), np.array([0.7, 0.3])
    found = dyn.derivatives.forward_dynamics(q, u, tau, p=p)
    assert close(found.p, slopes(lambda v: dyn.forward_dynamics(q, u, tau, p=v), p))
    assert close(found.q, forward_slopes(dyn, q, u, tau, p=p)["q"])
    inverse = dyn.derivatives.inverse_dynamics(q, u, tau, p={"m": 0.3, "L": 0.7})
    assert close(inverse.p, slopes(lambda v: dyn.inverse_dynamics(q, u, tau, p=v), p))
    assert close(inverse.u, slopes(lambda v: dyn.inverse_dynamics(q, v, tau, p=p), u))


def test_batches_threads_and_out():
    dyn = cart(g=9.81, M=1.5, m=0.3, L=0.7)
    draw = np.random.default_rng(0)
    q, u, tau = draw.normal(size=(3, 4, 5, 2))
    found = dyn.derivatives.forward_dynamics(q, u, tau, threads=2)
    assert found.q.shape == found.u.shape == found.tau.shape == (4, 5, 2, 2)
    one = dyn.derivatives.forward_dynamics(q[1, 2], u[1, 2], tau[1, 2])
    assert close(found.q[1, 2], one.q)
    kept = dyn.derivatives.forward_dynamics(q + 1, u, tau)
    assert dyn.derivatives.forward_dynamics(q, u, tau, out=kept) is kept
    assert close(kept.q, found.q)
    with pytest.raises(ValueError, match="no array 'tau'"):
        dyn.derivatives.forward_dynamics(q, u, tau, out=dyn.derivatives.inverse_dynamics(q, u, tau))


def test_turns_are_named_as_in_linear_models():
    build = ph.Builder("top")
    build.body("top", joint=ph.free(quaternion=True), mass=1, com=(0, 0, 0.2), inertia=(0.1, 0.2, 0.15))
    dyn = ph.formulate(build.build()).compile()
    lin = ph.linearize(dyn)
    nx = len(dyn.derivatives.coordinates)
    assert dyn.derivatives.coordinates == lin.states[:nx]
    assert dyn.derivatives.speeds == lin.states[nx:]


def test_they_are_the_rows_of_a_linear_model():
    dyn = cart(g=9.81, M=1.5, m=0.3, L=0.7)
    lin = ph.linearize(dyn, {"theta": 0.4}, {"x_dot": 0.5, "theta_dot": -0.6}, {"x_dot": 0.1})
    found = dyn.derivatives.forward_dynamics([0, 0.4], [0.5, -0.6], [0.1, 0])
    assert close(lin.A[2:], np.hstack([found.q, found.u]))
    assert close(lin.B[2:], found.tau)


def test_other_states_controls_and_time():
    build = ph.Builder("drive")
    q, z, t = ph.symbols("q z t")
    build.body("wheel", joint=ph.revolute("z", name="q"), mass=1, inertia=(1, 1, 2))
    build.state("z", rate=-z, start=0.5)
    build.actuator("motor", {"q_dot": 1}, force=3 * ph.symbol("motor_control") * ph.cos(q))
    build.force("q_dot", z**2 * q + ph.sin(t))
    dyn = ph.formulate(build.build()).compile()
    given = {"z": [0.7], "t": 0.4, "controls": {"motor": 0.9}}
    found = dyn.derivatives.forward_dynamics([0.3], [0.2], [0.1], **given)
    assert close(found.value, dyn.forward_dynamics([0.3], [0.2], [0.1], **given))
    assert close(found.z, [[2 * 0.7 * 0.3 / 2]])
    assert close(found.controls, [[3 * np.cos(0.3) / 2]])
    assert close(found.t, [np.cos(0.4) / 2])
    assert close(found.q, [[(0.49 - 2.7 * np.sin(0.3)) / 2]])
    still = dyn.derivatives.forward_dynamics([0.3], [0.2], [0.1], z=[0.7], t=0.4)  # controls are 0
    assert close(still.q, [[0.49 / 2]])
    assert close(still.controls, found.controls)


def closed(model, **start):
    dyn = ph.formulate(model).compile()
    return dyn, *ph.assemble(dyn, start, {f"{next(iter(start))}_dot": 1.0})


@pytest.mark.parametrize(
    "machine",
    [(four_bar(), {"a": 1.0, "b": 0.5, "c": 1.8}), (windows(2), {"crank0": 0.3})],
    ids=["four-bar", "windows"],
)
def test_closed_loops_with_rows_that_repeat_others(machine):
    dyn, q, u = closed(machine[0], **machine[1])
    tau = np.random.default_rng(1).normal(size=len(u))
    found = dyn.derivatives.forward_dynamics(q, u, tau)
    assert close(found.value, dyn.forward_dynamics(q, u, tau))
    assert close(found.lam.value, dyn.reactions(q, u, tau))
    for part, call in ((found, dyn.forward_dynamics), (found.lam, dyn.reactions)):
        for name, expected in forward_slopes(dyn, q, u, tau, call, check=False).items():
            assert close(getattr(part, name), expected, 1e-8), name


def test_constraints_that_are_named_hold_and_others_do_not():
    dyn, q, u = closed(four_bar(), a=1.0, b=0.5, c=1.8)
    tau = np.array([0.3, -0.2, 0.5])
    free = dyn.derivatives.forward_dynamics(q, u, tau, active=())
    assert free.lam is None
    for name, expected in forward_slopes(dyn, q, u, tau, dyn.tree_dynamics).items():
        assert close(getattr(free, name), expected, 1e-9), name
    with pytest.warns(ph.ConstraintWarning, match="position does not satisfy"):
        dyn.derivatives.forward_dynamics(q + 0.1, u, tau)


def test_a_batch_of_closed_machines():
    dyn, q, u = closed(four_bar(), a=1.0, b=0.5, c=1.8)
    states = [ph.assemble(dyn, {"a": a, "b": 0.5, "c": 1.8}, {"a_dot": 1.0}) for a in (0.9, 1.0, 1.1)]
    q, u = (np.array([getattr(s, name) for s in states]) for name in "qu")
    found = dyn.derivatives.forward_dynamics(q, u, np.zeros(3))
    assert found.lam.q.shape == (3, 5, 3)
    one = dyn.derivatives.forward_dynamics(q[2], u[2], np.zeros(3))
    assert close(found.q[2], one.q)
    assert close(found.lam.u[2], one.lam.u)


@pytest.mark.parametrize("restitution", [0.0, 0.4])
def test_impulses(restitution):
    dyn, q, u = closed(windows(2), crank0=0.3)
    u = u + np.random.default_rng(2).normal(size=len(u))
    found = dyn.derivatives.impulse(q, u, restitution=restitution)
    moved = Moved(dyn, q)
    for k, part in enumerate((found, found.lam)):

        def after(q, u, k=k):
            return dyn.impulse(q, u, restitution=restitution, check=False)[k]

        assert close(part.value, after(q, u))
        assert close(part.q, slopes(lambda r, f=after: f(moved(r), u), moved.still), 1e-8)
        assert close(part.u, slopes(lambda v, f=after: f(q, v), u), 1e-8)


def test_a_machine_whose_accelerations_are_not_determined_says_so():
    build = ph.Builder("bare")
    build.body("ghost", joint=ph.prismatic("x", name="x"), mass=0)
    with pytest.raises(ValueError, match="nothing with inertia moves with 'x_dot'"):
        ph.formulate(build.build()).compile().derivatives.forward_dynamics([0], [0], [0])


def linkage():
    """A four-bar linkage with a length and a mass as symbols."""
    build = ph.Builder("linkage")
    rod = {"com": (0.5, 0, 0), "inertia": (0, 0.1, 0.1)}
    build.body("crank", joint=ph.revolute("y", name="a"), mass=m, **rod)
    build.body("rod", parent="crank", at=(L, 0, 0), joint=ph.revolute("y", name="b"), mass=1, **rod)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c"), mass=1, **rod)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", name="close")
    return build.build()


def test_parameters_of_closed_machines():
    dyn = ph.formulate(linkage()).compile()
    p, tau = {"L": 1.0, "m": 1.3}, np.array([0.3, -0.2, 0.5])
    q, u = ph.assemble(dyn, {"a": 1.0, "b": 0.5, "c": 1.8}, {"a_dot": 1.0}, p=p)
    found, values = dyn.derivatives.forward_dynamics(q, u, tau, p=p), np.array([1.0, 1.3])
    for part, call in ((found, dyn.forward_dynamics), (found.lam, dyn.reactions)):
        assert close(part.p, slopes(lambda v, f=call: f(q, u, tau, p=v, check=False), values), 1e-9)
    struck = dyn.derivatives.impulse(q, u + 1, p=p)
    assert close(struck.p, slopes(lambda v: dyn.impulse(q, u + 1, p=v, check=False)[0], values), 1e-9)
    rows = dyn.derivatives.forward_dynamics(np.tile(q, (2, 1)), u, tau, p=np.array([[1.0, 1.3], [1.0, 2.0]]))
    assert close(rows.p[0], found.p)
    assert not close(rows.p[1], found.p)


def test_constraints_that_move_with_time():
    dyn = ph.formulate(four_bar("1 + sin(t)")).compile()
    q, u = ph.assemble(dyn, {"a": 1.0, "b": 0.5, "c": 1.8}, t=0.3)
    tau = np.array([0.3, -0.2, 0.5])
    found = dyn.derivatives.forward_dynamics(q, u, tau, t=0.3)
    for part, call in ((found, dyn.forward_dynamics), (found.lam, dyn.reactions)):
        expected = slopes(lambda v, f=call: f(q, u, tau, t=v[0], check=False), [0.3])[:, 0]
        assert close(part.t, expected, 1e-9)


def test_embedded_constraints_are_part_of_the_equations():
    dyn = ph.formulate(four_bar(), embed=True).compile()
    q, u = ph.assemble(dyn, {"a": 1.0, "b": 0.5, "c": 1.8})
    tau = np.array([0.4])
    found = dyn.derivatives.forward_dynamics(q, u + 1, tau)
    assert found.lam is None
    for name, expected in forward_slopes(dyn, q, u + 1, tau).items():
        assert close(getattr(found, name), expected, 1e-9), name


def test_what_comes_and_goes_by_its_name():
    build = ph.Builder("arm")
    build.body("upper", joint=ph.revolute("z", name="a"), mass=1, com=(0.3, 0, 0), inertia=(1, 1, 2))
    build.body("lower", parent="upper", at=(1, 0, 0), joint=ph.revolute("z", name="b"), mass=1, com=(0.3, 0, 0))
    build.brake("b_dot", name="brake", active=False)
    dyn = ph.formulate(build.build()).compile()
    state = np.array([0.1, 0.2]), np.array([0.3, 0.0]), np.array([0.1, 0.2])
    free, held = dyn.derivatives.forward_dynamics(*state), dyn.derivatives.forward_dynamics(*state, active=["brake"])
    assert free.lam is None
    for found, active in ((free, None), (held, ["brake"])):
        for name, expected in forward_slopes(dyn, *state, active=active, check=False).items():
            assert close(getattr(found, name), expected, 1e-9), name
    assert close(held.tau[1], [0, 0])
    assert close(held.lam.tau[0, 1], -1)


@pytest.mark.parametrize("target", ["numpy", "c"])
def test_other_targets(target):
    model = four_bar()
    dyn, same = ph.formulate(model).compile(), ph.formulate(model).compile(target=target)
    state = [0.1, 0.2, 0.3], [0.3, 0.1, -0.2], [0.1, 0.2, 0.4]
    one, other = (d.derivatives.inverse_dynamics(*state) for d in (dyn, same))
    assert all(close(array, dict(other.items())[name]) for name, array in one.items())


def test_reactions_that_rows_share_by_sizes_that_change():
    """The second row repeats the first (2 + cos y) times: beside the state it bears another share."""
    x, y = ph.symbols("x y")
    build = ph.Builder("sliders", gravity=(0, 0, 0))
    for name, mass in (("x", 2.0), ("y", 3.0)):
        build.body(name, joint=ph.prismatic("x", name=name), mass=mass)
    build.constraint(x - 2 * y, name="one")
    build.constraint((x - 2 * y) * (2 + ph.cos(y)), name="again")
    build.potential(x**2 * y)
    dyn = ph.formulate(build.build()).compile()
    q, u, tau, along = np.array([1.4, 0.7]), np.array([0.6, 0.3]), np.array([0.5, -0.2]), np.array([2.0, 1.0])
    found = dyn.derivatives.forward_dynamics(q, u, tau)
    # the least sum of (rho lam)^2: rho is (2 + cos y) times as large, so lam_2 = lam_1 / (2 + cos y)
    assert close(found.lam.value[1] * (2 + np.cos(0.7)), found.lam.value[0])
    expected = slopes(lambda s: dyn.reactions(q + s[0] * along, u, tau, check=False), [0.0])[:, 0]
    assert close(found.lam.q @ along, expected, 1e-9)
    assert close(found.lam.tau, slopes(lambda v: dyn.reactions(q, u, v, check=False), tau), 1e-9)
