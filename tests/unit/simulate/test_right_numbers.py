"""Machines that once gave wrong numbers without a word."""

import numpy as np
import pytest

import polhode as ph
from polhode.simulate import AssemblyError

S, t = ph.symbol, ph.TIME
FIXED = {"dop853": {}, "rk4": {"step": 1e-3}}


def compiled(build):
    return ph.formulate(build.build()).compile()


def carts(*names, gravity=(0, 0, 0)):
    build = ph.Builder("carts", gravity=gravity)
    for name in names:
        build.body(name, joint=ph.prismatic("x", name=name), mass=1)
    return build


# rows whose size changes


@pytest.mark.parametrize("method", FIXED)
def test_a_cam_that_rests_before_it_is_pushed(method):
    """Its row grows from 1 to 1 + 3 x^2, 50 s after the run began."""
    build = carts("x", "y", "w")
    build.constraint(S("y") - S("x") - S("x") ** 3, name="cam")
    build.coupling("w", "x", ratio=2)
    build.force("x_dot", ph.select(t < 50, 0, 3))
    traj = ph.simulate(compiled(build), t_end=53.0, method=method, **FIXED[method])
    assert traj.outcome.finished
    assert np.abs(traj.residuals).max() < 1e-12
    assert traj["x"][-1] > 1.3
    # one coordinate: (5 + (1 + 3 x^2)^2) xdot^2 / 2 = 3 x
    x, xdot = traj["x"][-1], traj["x_dot"][-1]
    assert (5 + (1 + 3 * x**2) ** 2) * xdot**2 / 2 == pytest.approx(3 * x, rel=1e-3 if method == "rk4" else 1e-7)


@pytest.mark.parametrize("method", FIXED)
def test_a_quick_return_that_rests_before_it_is_driven(method):
    build = ph.Builder("quick return", gravity=(0, 0, 0))
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.1, 0.1, 0.1))
    build.body("lever", at=(0, 0, -0.4), joint=ph.revolute("y", name="b"), mass=1, inertia=(0.02, 0.02, 0.02))
    build.body("block", parent="lever", joint=ph.prismatic("z", name="s"), mass=0.2)
    build.body("ram", at=(0, 0, 0.5), joint=ph.prismatic("x", name="x"), mass=2)
    build.marker("pin", body="crank", at=(0.15, 0, 0))
    build.marker("top", body="lever", at=(0, 0, 0.9))
    build.loop("pin", "block", name="pin")
    build.loop("top", "ram", "plane", axis="x", name="slot")
    build.force("a_dot", ph.select(t < 50, 0, 1))
    dyn = compiled(build)
    q0, _ = ph.assemble(dyn, {"a": 0.5, "s": 0.4, "b": 0.3}, keep=["a"])
    traj = ph.simulate(dyn, q0, t_end=53.0, method=method, **FIXED[method])
    assert traj.outcome.finished
    assert np.abs(traj.residuals).max() < 1e-12
    assert traj["a"][-1] > 10
    assert traj.energy[-1, 0] == pytest.approx(traj["a"][-1] - q0[0], rel=1e-3 if method == "rk4" else 1e-7)


def test_what_cannot_be_closed_is_refused():
    build = carts("x")
    build.constraint(S("x") ** 10 + 0.01, name="never")
    with pytest.raises(AssemblyError, match="'never'"):
        ph.assemble(compiled(build), {"x": 1.0})


# units and gears


def test_two_lead_screws_move_one_carriage():
    lead, I = 0.5e-3 / (2 * np.pi), 1e-2
    build = ph.Builder("screws")
    build.body("carriage", joint=ph.prismatic("x", name="x"), mass=2)
    for name in "ab":
        build.body(name, joint=ph.revolute("x", name=name), mass=0.1, inertia=(I, I, I))
        build.constraint(S("x") - lead * S(name), name=f"nut {name}")
    dyn = compiled(build)
    turn = 1 / (2 * I + 2 * lead**2)
    found = ph.simulate(dyn, t_end=1.0, tau=[0, 1, 0])
    for udot in (dyn.forward_dynamics([0] * 3, [0] * 3, [0, 1, 0]), *found.accelerations):
        np.testing.assert_allclose(udot, [lead * turn, turn, turn], rtol=1e-12)
    np.testing.assert_allclose(found.q[-1], [lead * turn / 2, turn / 2, turn / 2], rtol=1e-9)


def test_two_motors_turn_a_dish():
    ratio, dish, motor = 20_000, 1e4, 1e-4
    build = ph.Builder("dish")
    build.body("dish", joint=ph.revolute("z", name="d"), mass=1000, inertia=(dish, dish, dish))
    for name in "ab":
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(motor, motor, motor))
        build.coupling(name, "d", ratio=ratio)
    dyn = compiled(build)
    turn = ratio / (dish + 2 * ratio**2 * motor)
    expected = np.array([turn, ratio * turn, ratio * turn])
    np.testing.assert_allclose(dyn.forward_dynamics([0] * 3, [0] * 3, [0, 1, 0]), expected, rtol=1e-12)
    traj = ph.simulate(dyn, t_end=1.0, tau=[0, 1, 0])
    np.testing.assert_allclose(traj.q[-1], expected / 2, rtol=1e-9)
    # each motor's gear carries what its own inertia leaves
    lam = dyn.reactions([0] * 3, [0] * 3, [0, 1, 0])
    np.testing.assert_allclose(lam, expected[1:] * motor - [1, 0], rtol=1e-9)


def four_bar(size=1.0, R=None, times=1, rod=1.0, noise=0.0):
    """Three rods of one length, closed by hinges of five rows; turned by R; places rounded."""
    R = np.eye(3) if R is None else R
    off = noise * size * np.random.default_rng(1).normal(size=(3, 3))

    def turned(*v):
        return tuple((R @ np.array(v, dtype=float)).tolist())

    build = ph.Builder("four-bar", gravity=turned(0, 0, -9.81 * size))
    axis, link = turned(0, 1, 0), {"com": turned(size / 2, 0, 0)}
    inertia = [0.01 * size**2] * 3
    build.body("crank", joint=ph.revolute(axis, name="a"), mass=1, inertia=inertia, **link)
    b = {"parent": "crank", "joint": ph.revolute(axis, name="b"), "inertia": [rod * e for e in inertia]}
    build.body("rod", at=turned(*(np.array([size, 0, 0]) + off[0])), mass=rod, **b, **link)
    at = turned(*(np.array([1.2 * size, 0, 0]) + off[1]))
    build.body("rocker", at=at, joint=ph.revolute(axis, name="c"), mass=1, inertia=inertia, **link)
    build.marker("tip", body="rod", at=turned(size, 0, 0))
    build.marker("top", body="rocker", at=turned(size, 0, 0), rpy=(off[2] / size).tolist())
    for k in range(times):
        build.loop("top", "tip", "hinge", axis=axis, name=f"close {k}")
    dyn = compiled(build)
    return dyn, ph.assemble(dyn, [-1.0, 0.6, -1.2], {"a_dot": 3.0}, keep=["a", "a_dot"])


def turns():
    for seed in range(3):
        Q, _ = np.linalg.qr(np.random.default_rng(seed).normal(size=(3, 3)))
        yield Q * np.linalg.det(Q)


def test_links_in_millimetres_move_as_in_metres():
    """With gravity in the same unit of length."""
    expected = None
    for size in (1.0, 1e-3, 1e3):
        dyn, start = four_bar(size)
        traj = ph.simulate(dyn, *start, t_end=1.0)
        assert np.abs(traj.residuals).max() < 1e-13 * size
        expected = traj.q if expected is None else expected
        np.testing.assert_allclose(traj.q, expected, atol=1e-6)


# reactions of rows that repeat others


def test_reactions_do_not_depend_on_axes_and_do_not_jump():
    dyn, start = four_bar()
    once = ph.simulate(dyn, *start, t_end=0.5, output=1e-3, reacting=True)
    step = np.abs(np.diff(once.reactions, axis=0)).max()
    for R in turns():
        dyn, start = four_bar(R=R, times=2)
        traj = ph.simulate(dyn, *start, t_end=0.5, output=1e-3, reacting=True)
        size = np.abs(once.reactions).max()
        for first in (0, 5):  # each of two equal hinges carries half
            force = traj.reactions[:, first : first + 3] @ R
            np.testing.assert_allclose(force, once.reactions[:, :3] / 2, atol=1e-6 * size)
            np.testing.assert_allclose(traj.reactions[:, first + 3 : first + 5], 0, atol=1e-9 * size)
        assert np.abs(np.diff(traj.reactions, axis=0)).max() < 1.01 * step


# what files round, and what contradicts


@pytest.mark.parametrize("noise", [1e-9, 1e-7, 1e-6])
@pytest.mark.parametrize("method", ["dop853", "rodas5p", "rk4"])
def test_loops_that_close_only_to_the_rounding_of_a_file(noise, method):
    dyn, start = four_bar(noise=noise, times=2)
    options = {"step": 1e-3} if method == "rk4" else {}
    traj = ph.simulate(dyn, *start, t_end=1.0, method=method, **options)
    assert traj.outcome.finished
    assert np.abs(traj.residuals).max() < 3 * noise
    exact, start = four_bar()
    expected = ph.simulate(exact, *start, t_end=1.0).q
    np.testing.assert_allclose(traj.q, expected, atol=100 * noise + (1e-4 if method == "rk4" else 1e-6))


def test_a_loop_that_is_further_off_is_refused_by_its_name():
    with pytest.raises(AssemblyError, match="'close 0'"):
        four_bar(noise=1e-3)


def test_positions_that_contradict_end_the_run_by_name():
    build = carts("x", "y")
    build.constraint(S("x") - S("y"), name="together")
    build.constraint(S("x") - S("y") - ph.select(t < 0.5, 0, 0.1 * (t - 0.5) ** 2), name="apart")
    traj = ph.simulate(compiled(build), {}, {"x_dot": 1.0, "y_dot": 1.0}, t_end=2.0)
    assert not traj.outcome.finished
    assert traj.outcome.culprit in ("together", "apart")
    assert 0.5 <= traj.outcome.time < 0.6


def test_a_rod_without_mass_is_the_limit_of_light_ones():
    (none, start), (light, _) = four_bar(rod=0), four_bar(rod=1e-9)
    expected = ph.simulate(none, *start, t_end=1.0)
    assert expected.outcome.finished
    np.testing.assert_allclose(ph.simulate(light, *start, t_end=1.0).q, expected.q, atol=1e-6)
    assert np.abs(expected.energy_drift).max() < 1e-6


# energy


def test_a_disc_that_rolls_on_fixed_ground_keeps_its_energy():
    build = ph.Builder("disc")
    build.body("disc", joint=ph.free(quaternion=True), mass=1, inertia=(0.1, 0.2, 0.1))
    build.marker("ground", body="world", at=(0.3, 0.2, -0.7), rpy=(0.2, 0.1, 0))
    build.rolling("disc", radius=0.5, ground="ground")
    dyn = compiled(build)
    start = ph.assemble(dyn, {"disc_qx": 0.1}, {"disc_wy": 6.0, "disc_wx": 0.3, "disc_wz": 0.4})
    traj = ph.simulate(dyn, *start, t_end=10.0)
    assert np.abs(traj.energy_drift).max() < 2e-6
    assert np.ptp(traj.energy[:, 0]) > 1  # it goes up and down


@pytest.mark.parametrize("output", [0.02, 0.7, 5.0])
@pytest.mark.parametrize("sampled", [False, True])
def test_work_of_a_saturated_control_is_known(output, sampled):
    build = ph.Builder("arm")
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))

    def control(t, q, u):
        return [np.clip(-8 * (q[0] - 1) - 2 * u[0], -2, 2)]

    tau = ph.Sampled(control, 0.01) if sampled else control
    traj = ph.simulate(compiled(build), {"a": 3.0}, t_end=10.0, tau=tau, output=output)
    assert np.abs(traj.energy_drift).max() < 1e-7
