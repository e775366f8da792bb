"""The walker after Nelson and Quinn, section 5, and a hexapod, walk as a prototype in another program did.

The paper has no numbers. Those here are of that prototype, by RK4 at 0.2 ms, with references that were sampled every
4 ms, and armatures in place of rotors.
"""

from dataclasses import replace
from functools import cache
from pathlib import Path

import hexapod as hexa
import numpy as np
import pytest
import walker as k2t

import polhode as ph
from polhode.compile import compile

WALK, TURN = k2t.Gait(), k2t.Gait(stride=0, turn=0.3)


@cache
def walker(relief=None, link="gear", **ground):
    made = k2t.GROUND | ground | ({} if relief is None else {"relief": relief})
    return ph.formulate(k2t.walker(made, link), "quasicoordinate").compile()


@cache
def hexapod(relief=None, **ground):
    made = hexa.GROUND | ground | ({} if relief is None else {"relief": relief})
    return ph.formulate(hexa.hexapod(made), "quasicoordinate").compile()


def test_the_file_is_the_machine():
    assert ph.load(Path(k2t.__file__).with_name("walker.toml")) == k2t.walker()


@pytest.mark.parametrize(
    ("method", "step", "x"), [("rk4", 5e-4, 0.2169), ("euler", 2e-4, 0.2169), ("euler", 5e-4, 0.2165)]
)
def test_a_cycle(method, step, x):
    traj = k2t.run(walker(), WALK, 1, step, method)
    assert traj["top_x"][-1] == pytest.approx(x, abs=1e-4)
    assert np.abs(traj["top_ay"]).max() < 0.0025
    assert traj["top_y"][-1] == pytest.approx(0, abs=1e-9)
    assert 0.2610 < traj["top_z"].min() < traj["top_z"].max() < 0.2634


def test_a_turn():
    traj = k2t.run(walker(), TURN, 2, 2e-4)
    assert traj["top_az"][-1] / 2 == pytest.approx(0.2993, abs=1e-4)
    arc = k2t.run(walker(), k2t.Gait(turn=0.2), 1, 2e-4)
    assert arc["top_az"][-1] == pytest.approx(0.1998, abs=1e-4)


def test_motors_and_the_ground_account_for_all_energy():
    """Five cycles: 31.5 J of positive work, 1.9 J net; what motors do and the ground takes adds up.

    Where references are sampled it is 32 J, see below.
    """
    traj = k2t.run(walker(), WALK, 5, 2e-4, output=2e-3)
    assert traj["top_x"][-1] == pytest.approx(1.0846, abs=1e-4)
    power = sum(traj[f"{name}_control"] * traj[f"{name}_dot"] for name in k2t.KP)
    positive = sum(np.maximum(traj[f"{name}_control"] * traj[f"{name}_dot"], 0) for name in k2t.KP)
    peaks = [np.abs(traj[f"{name}_control"]).max() * k2t.RATIO for name in k2t.KP]
    assert np.trapezoid(power, traj.t) == pytest.approx(traj.work_done[-1, 0], abs=2e-3)
    assert np.trapezoid(positive, traj.t) == pytest.approx(31.54, abs=0.01)
    assert traj.work_done[-1, 0] == pytest.approx(1.866, abs=1e-3)
    # rates of references that are sampled are off by up to 2 ms times 17 rad/s^2, which makes 0.33 N m
    assert peaks == pytest.approx([0, 10.3, 10.3, 10.3, 10.4], abs=0.4)
    assert np.abs(traj.energy_drift).max() < 1e-4


@pytest.mark.slow
def test_references_that_are_sampled():
    """What is linear between samples of 4 ms has rates that jump: 32 J and peaks as the prototype had, not 31.5 J."""
    dyn, names, every = walker(), list(k2t.KP), 4e-3
    wanted = ph.vector([WALK.reference()[name][0] for name in names])
    angles = compile([ph.vector([ph.symbol("t")])], wanted)
    table = np.array([angles(np.array([t])) for t in np.arange(0, WALK.time(5) + 5 * every, every)])
    rates = np.diff(table, axis=0) / every
    places = [[str(s) for s in dyn.equations.q].index(name) for name in names]
    speeds = [[str(s) for s in dyn.equations.u].index(f"{name}_dot") for name in names]
    Kp, Kd, limit = (np.array([gains[name] for name in names]) for gains in (k2t.KP, k2t.KD, k2t.LIMIT))

    def torques(t, q, u):
        k = int(t / every + 1e-9)
        angle = table[k] + rates[k] * (t - k * every)
        found = Kp * (angle - q[places] / k2t.RATIO) + Kd * (rates[k] - u[speeds] / k2t.RATIO)
        return np.clip(found, -limit, limit)

    def tau(t, q, u):
        found = np.zeros(len(u))
        found[speeds] = torques(t, q, u) / k2t.RATIO
        return found

    traj = ph.simulate(dyn, WALK.start(), t_end=WALK.time(5), tau=tau, method="rk4", step=2e-4, output=2e-4)
    assert traj["top_x"][-1] == pytest.approx(1.0846, abs=1e-4)
    pulls = np.array([torques(*now) for now in zip(traj.t, traj.q, traj.u, strict=True)])
    power = pulls * traj.u[:, speeds] / k2t.RATIO
    assert np.trapezoid(np.maximum(power, 0).sum(axis=1), traj.t) == pytest.approx(32.0, abs=0.1)
    assert np.abs(pulls).max(axis=0) == pytest.approx([0, 10.3, 10.3, 10.3, 10.4], abs=0.06)


def test_slippery_ground():
    traj = k2t.run(walker(friction=0.3), WALK, 3)
    assert traj["top_x"][-1] == pytest.approx(0.676, abs=1e-3)


def test_a_push():
    """It goes on after (-0.2, 0.3) m/s and 0.8 rad/s as it begins to walk."""
    sim = ph.Simulation(walker(), WALK.start(), tau=WALK.control(), method="rk4", step=2e-4)
    sim.run(WALK.stand, output=[WALK.stand])
    sim.u = {"top_vx": -0.2, "top_vy": 0.3, "top_wz": 0.8}
    sim.run(WALK.time(3), output=1e-2)
    traj = sim.trajectory()
    assert traj["top_x"][-1] == pytest.approx(0.647, abs=5e-4)
    assert [traj["top_y"][-1], traj["top_az"][-1]] == pytest.approx([0.023, 0.023], abs=6e-4)
    assert np.abs(traj["top_ax"]).max() < 0.004


@pytest.mark.slow
def test_other_walks():
    """Speeds of shorter half steps, and twenty cycles without drift."""
    for half, speed in ((0.6, 0.181), (0.5, 0.236), (0.4, 0.316), (0.3, 0.255)):
        traj = k2t.run(walker(), k2t.Gait(half=half), 5, 2e-4)
        assert traj["top_x"][-1] / (10 * half) == pytest.approx(speed, abs=1e-3)
    traj = k2t.run(walker(), WALK, 20, 2e-4)
    assert traj["top_x"][-1] == pytest.approx(4.338, abs=1e-3)


@pytest.mark.slow
def test_a_load_beside_the_middle():
    """The mass centre of the top frame 5, 4 and 2 cm off."""
    model = k2t.walker()
    top = replace(model.bodies[0], com=ph.vector([0.05, 0.04, 0.02]))
    moved = replace(model, bodies=(top, *model.bodies[1:]))
    traj = k2t.run(ph.formulate(moved, "quasicoordinate").compile(), WALK, 3, 2e-4)
    assert traj["top_x"][-1] == pytest.approx(0.651, abs=1e-3)
    assert traj["top_az"][-1] == pytest.approx(0.002, abs=1e-3)


# clutches


def test_clutches_that_hold_are_gears():
    """The machine with eight constraints more against the one in which they are embedded."""
    one, two = (k2t.run(walker(link=link), WALK, 0.5, 2e-4) for link in ("gear", "reversing clutch"))
    assert two["top_x"] == pytest.approx(one["top_x"], abs=1e-9)


@cache
def climb():
    dyn = walker(k2t.block((0.42, 0.54)), "clutch")
    return dyn, k2t.run(dyn, WALK, 6, switches=k2t.stepping(dyn.equations, WALK))


def test_a_block_is_climbed_by_braking_femurs():
    """Eight legs are switched, two at a time, 0.18 J lost; without clutches it pitches five times as much."""
    _, traj = climb()
    assert traj["top_x"][-1] == pytest.approx(1.301, abs=1e-3)
    assert np.abs(traj["top_ay"]).max() < 0.013
    changes = [event for event in traj.events[1:] if event.what]
    assert len(changes) == len(traj.events) - 1 == 4  # of two legs each
    assert sum(event.lost for event in changes) == pytest.approx(0.18, abs=0.01)
    assert {len(event.what) for event in changes} == {4}  # brakes and clutches, not those that bear their impulse
    stiff = k2t.run(walker(k2t.block((0.42, 0.54))), WALK, 6)
    assert stiff["top_x"][-1] == pytest.approx(1.297, abs=1e-3)
    assert np.abs(stiff["top_ay"]).max() == pytest.approx(0.061, abs=1e-3)


def test_momentum_across_clutches():
    """At each event M du = J^T Lam: the machine as a whole keeps its momenta, positions stay, energy is lost."""
    dyn, traj = climb()
    nq, nu = len(dyn.equations.q), len(dyn.equations.u)
    for event in traj.events[1:]:
        before, after = event.states
        assert np.array_equal(before[:nq], after[:nq])
        M = dyn.mass_matrix(before[:nq])
        u, v = before[nq : nq + nu], after[nq : nq + nu]
        jump = M @ (v - u)
        scale = np.abs(M @ u).max()
        assert np.abs(jump[:6]).max() < 1e-9 * scale  # angular and linear momentum along the speeds of the base
        assert np.abs(jump).max() > 1e-4 * scale
        assert event.lost == pytest.approx((u @ M @ u - v @ M @ v) / 2, rel=1e-8)
        assert event.lost == pytest.approx((v - u) @ M @ (v - u) / 2, rel=1e-8)  # a projection
        assert np.abs(v - u).max() / k2t.RATIO < 5.6


def test_half_a_block():
    """Under the left legs only: it rolls by 0.014, and by up to 0.02 from other places; without clutches by 0.18.

    A rear foot comes down 2.3 mm behind the block. Where the machine starts a few millimetres earlier, that foot
    meets the edge, and slips off it: then it rolls by 0.03 to 0.12. (The prototype has 0.037.)
    """
    dyn = walker(k2t.block((0.42, 0.62), (0, 1)), "clutch")
    rolls, switches = {}, k2t.stepping(dyn.equations, WALK)
    for start in (-0.02, -0.002, 0, 0.01):
        traj = k2t.run(dyn, WALK, 6, switches=switches, q0=WALK.start() | {"top_x": start})
        rolls[start] = np.abs(traj["top_ax"]).max()
        if start == 0:
            assert traj["top_x"][-1] == pytest.approx(1.3035, abs=2e-3)
            assert traj["top_y"][-1] == pytest.approx(0.003, abs=3e-3)
            assert sum(len(event.what) for event in traj.events[1:]) == 2 * 6  # a brake and a clutch each
            k = np.searchsorted(traj.t, WALK.stand + 8 * WALK.half + 0.1)
            assert dyn.pose("foot_3")(traj.q[k])[0, 3] == pytest.approx(0.6223, abs=1e-3)
    assert rolls[0] == pytest.approx(0.0138, abs=2e-4)
    assert max(rolls[-0.02], rolls[0.01]) < 0.02
    assert rolls[-0.002] > 0.03


def test_reversed_femurs_make_it_bow():
    """D_F = (-1, -1, -1, -1): pitch +-0.091 for +-0.2 of the motors, and back."""
    torques, switches = k2t.bow()
    start = k2t.Gait(stride=0).start()
    dyn = walker(link="reversing clutch")
    traj = ph.simulate(dyn, start, t_end=6.0, tau=torques, method="euler", step=5e-4, switches=switches)
    pitch = traj["top_ay"]
    assert (pitch.max() - pitch.min()) / 2 == pytest.approx(0.0915, abs=1e-3)
    assert pitch[-1] == pytest.approx(pitch[np.searchsorted(traj.t, 0.95)], abs=1e-3)


def test_a_release_is_no_jump():
    """A femur that is let go has a speed of its own, the one that it had."""
    sim = ph.Simulation(walker(link="reversing clutch"), WALK.start(), tau=WALK.control(), method="rk4", step=5e-4)
    sim.run(WALK.stand + 0.1, output=[WALK.stand + 0.1])
    before = sim.u
    sim.release("F_top femur_5")
    assert np.array_equal(sim.u, before)
    sim.run(sim.t + 0.02, output=[sim.t + 0.02])
    speed = dict(zip(map(str, sim.dynamics.equations.u), sim.u, strict=True))
    assert speed["femur_6_dot"] == pytest.approx(speed["F_top_dot"] / k2t.RATIO, abs=1e-9)
    assert abs(speed["femur_5_dot"] - speed["femur_6_dot"]) > 0.1


# the hexapod


def test_the_hexapod_stands():
    traj = hexa.run(hexapod(), hexa.Gait(stride=0, lift=0), 1.5)
    assert traj["body_z"][-1] == pytest.approx(0.1455, abs=1e-4)
    heights = [hexapod().pose(f"{leg}_foot")(traj.q[-1])[2, 3] for leg in hexa.HIPS]
    assert np.array(heights) * -2e4 == pytest.approx(14.06 * np.ones(6), abs=0.05)


def test_the_hexapod_walks():
    traj = hexa.run(hexapod(), hexa.Gait(), 7.0)
    assert traj["body_x"][-1] == pytest.approx(1.175, abs=1e-3)
    assert traj["body_y"][-1] == pytest.approx(-0.015, abs=2e-3)
    assert traj["body_az"][-1] == pytest.approx(-0.009, abs=2e-3)
    assert np.abs(traj["body_ax"]).max() < 0.0081
    assert np.abs(traj["body_ay"]).max() < 0.0014


def test_the_hexapod_turns_and_works():
    turn = hexa.run(hexapod(), hexa.Gait(stride=0, turn=-0.3), 3.0)
    assert np.abs(turn["body_az"][-1]) == pytest.approx(1.06, abs=0.01)
    walk = hexa.run(hexapod(), hexa.Gait(), 7.0, output=1e-3)
    names = [[f"{leg}_{link}" for leg in hexa.HIPS] for link, *_ in hexa.LINKS]
    peaks = [max(np.abs(walk[f"{name}_control"]).max() for name in some) for some in names]
    assert peaks == pytest.approx([4.4, 8.5, 2.8, 5.9, 5.0], abs=0.3)
    power = sum(np.maximum(walk[f"{name}_control"] * walk[f"{name}_dot"], 0) for some in names for name in some)
    assert np.trapezoid(power, walk.t) == pytest.approx(34.2, rel=0.02)


@pytest.mark.slow
def test_the_hexapod_is_pushed_and_slips():
    pushed = hexa.run(hexapod(), hexa.Gait(), 4.0, u0={"body_vx": 0.3, "body_vy": 0.4, "body_wz": 0.8})
    slippery = hexa.run(hexapod(friction=0.4), hexa.Gait(), 4.0)
    for traj in (pushed, slippery):
        assert traj["body_x"][-1] > 0.6
        assert np.abs([traj["body_ax"], traj["body_ay"]]).max() < 0.02


def test_the_hexapod_gets_up():
    """Pushed over while its motors are off it falls on its belly, and stands again a second later."""
    traj = hexa.run(hexapod(), hexa.Gait(stride=0, lift=0, limp=(0.3, 0.8)), 2.5, u0={"body_vy": 0.5, "body_wx": 1.0})
    assert traj["body_z"].min() < 0.035
    assert traj["body_z"][-1] == pytest.approx(0.1455, abs=2e-4)
    assert np.abs([traj["body_ax"][-1], traj["body_ay"][-1]]).max() < 1e-3


def test_the_hexapod_on_hills():
    """Legs that make up for roll and pitch keep the body level."""
    free, level = (hexa.run(hexapod(hexa.hills()), hexa.Gait(level=k), 5.0, 5e-4) for k in (0.0, 2.0))
    for traj in (free, level):
        assert traj["body_x"][-1] > 0.6
    assert level["body_ay"].std() < 0.5 * free["body_ay"].std()
    assert level["body_ax"].std() < 0.5 * free["body_ax"].std()


# formulations


def embedded(dyn):
    """The speeds of all joints from the independent ones."""
    eq = dyn.equations
    speeds = getattr(eq.kinematics, "speeds", None)
    if speeds is None:
        return np.eye(len(eq.u))
    return np.array(ph.evaluate(list(speeds.G.entries), {}), dtype=float).reshape(speeds.G.shape)


METHODS = ("denoc", "poincare", "kane", "lagrange")
LONGER = [pytest.param("hexapod", method, marks=pytest.mark.slow) for method in METHODS[1:]]
LONGER += [pytest.param("walker", method, marks=pytest.mark.slow) for method in METHODS[2:]]


@pytest.mark.parametrize(("machine", "method"), [*(("walker", m) for m in METHODS[:2]), ("hexapod", "denoc"), *LONGER])
def test_formulations_agree(machine, method):
    """Motors that are transformations here against motors that are constraints there, on hills."""
    model = {"walker": k2t.walker, "hexapod": hexa.hexapod}[machine]({**k2t.GROUND, "relief": hexa.hills()})
    few = ph.formulate(model, "quasicoordinate").compile()
    many = ph.formulate(model, method).compile()
    G, draw, pressed = embedded(few), np.random.default_rng(3), 0
    for _ in range(3):
        q = draw.uniform(-0.3, 0.3, model.nq)
        q[5] = 0.2
        v = draw.uniform(-1, 1, G.shape[1])
        controls = {a.name: draw.uniform(-0.1, 0.1) for a in model.actuators}
        found = G @ few.forward_dynamics(q, v, 0 * v, controls=controls)
        u = G @ v
        if method == "lagrange":
            u, found = rates(q, u, found)
        expected = many.forward_dynamics(q, u, 0 * u, controls=controls)
        assert found == pytest.approx(expected, rel=1e-9, abs=1e-9 * np.abs(expected).max())
        pressed += np.abs(few.forces(q, v, controls=controls)[3:6]).max() > 10
    assert pressed


def rates(q, u, udot):
    """Rates of coordinates and their rates: the free body's are Euler angles, and its velocity in the world."""
    build = ph.Builder("body")
    build.body("body", joint=ph.free(quaternion=False), mass=1, inertia=(1, 1, 1))
    eq = ph.formulate(build.build())
    values = dict(zip([*eq.q, *eq.u], [*q[:6], *u[:6]], strict=True))
    N, N_dot = (
        np.array(ph.evaluate(list(m.entries), values), dtype=float).reshape(6, 6)
        for m in (eq.N, eq.kinematics.rate(eq.N))
    )
    q_dot, q_ddot = u.copy(), udot.copy()
    q_dot[:6], q_ddot[:6] = N @ u[:6], N @ udot[:6] + N_dot @ u[:6]
    return q_dot, q_ddot
