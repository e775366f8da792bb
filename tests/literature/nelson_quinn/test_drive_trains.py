"""Motors and what they turn, against closed forms: reflected inertia, gyroscopic moments, clutches, differentials,
planetary gears, cables, springs with play, electrical circuits."""

import numpy as np
import pytest

import polhode as ph
from polhode.equations import METHODS


def disc(build, name, J, parent="world", axis="z", **more):
    build.body(name, parent=parent, joint=ph.revolute(axis, name=name), mass=1, inertia=(J, J, J), **more)


@pytest.mark.parametrize("method", METHODS)
def test_inertia_is_reflected_through_the_ratio(method):
    """A base that turns at Omega, an arm at theta_dot on it, a rotor at n theta_dot: J (n theta_dot + Omega)^2 / 2."""
    n, J, base, arm = 20.0, 0.3, 5.0, 2.0
    build = ph.Builder("table", gravity=(0, 0, 0))
    disc(build, "base", base)
    disc(build, "arm", arm, "base")
    build.motor("M", inertia=J, ratio=n, on="base").drives({"arm": 1})
    dyn = ph.formulate(build.build(), method, embed=["M drives arm_dot"], independent=["base_dot", "arm_dot"]).compile()
    M = [[base + arm + J, arm + n * J], [arm + n * J, arm + n * n * J]]
    assert np.allclose(dyn.mass_matrix(np.zeros(3)), M, rtol=1e-14)
    udot = dyn.forward_dynamics(np.zeros(3), [0.3, 0.7], [0.0, 0.0], controls={"M": 0.5})
    assert np.allclose(udot, np.linalg.solve(M, [0, n * 0.5]), rtol=1e-13)


@pytest.mark.parametrize("method", METHODS)
def test_a_rotor_on_a_tilting_base_turns_it_aside(method):
    """Spin h = J rho along z of a body that turns at w about x is carried round: a moment h w about -y [Euler]."""
    J, rho, w = 0.02, 400.0, 0.3
    build = ph.Builder("gimbal", gravity=(0, 0, 0))
    build.body("outer", joint=ph.revolute("x", name="tilt"), mass=1, inertia=(1, 2, 3))
    build.body("inner", parent="outer", joint=ph.revolute("y", name="nod"), mass=1, inertia=(1.5, 2.5, 3.5))
    build.motor("M", inertia=J, on="inner", axis="z")
    dyn = ph.formulate(build.build(), method).compile()
    model = dyn.equations.model
    u = dict(zip(model.speeds, [w, 0.0, rho], strict=True))
    udot = dyn.forward_dynamics([0.0, 0.0, 0.0], [u[name] for name in model.speeds], np.zeros(3))
    # nod: 2.5 nod_ddot = -(omega x h)_y = J rho w
    assert np.allclose(udot, [0.0, J * rho * w / 2.5, 0.0], rtol=1e-12, atol=1e-12)


def test_a_free_rotor_keeps_its_spin_in_space():
    """Without a torque J (rho + a . omega) stays, whatever its carrier does."""
    J = 0.05
    build = ph.Builder("gyro")
    build.body("outer", joint=ph.revolute("x", name="tilt"), mass=2, com=(0, 0.1, -0.3), inertia=(1, 2, 3))
    build.body(
        "inner", parent="outer", joint=ph.revolute("y", name="nod"), mass=1, com=(0.1, 0, 0.4), inertia=(1, 1, 1)
    )
    build.motor("M", inertia=J, on="inner", axis="z")
    dyn = ph.formulate(build.build(), "quasicoordinate").compile()
    run = ph.simulate(dyn, {"tilt": 0.5}, {"M_dot": 30.0, "nod_dot": 1.0}, 5.0)
    around = run["tilt_dot"] * np.sin(run["nod"])  # omega along z of the inner body
    spin = run["M_dot"] + around
    assert np.ptp(run["M_dot"]) > 0.1
    assert np.ptp(spin) < 1e-7
    assert abs(run.energy_drift).max() < 1e-7


def drill(**more):
    """A motor, a gear of two stages, and a spindle."""
    build = ph.Builder("drill", gravity=(0, 0, 0))
    disc(build, "spindle", 0.6)
    build.motor("M", inertia=0.01, ratio=5 * 4, **more).drives({"spindle": 1})
    return build


def test_a_drill_through_two_stages():
    dyn = ph.formulate(drill().build(), "quasicoordinate").compile()
    run = ph.simulate(dyn, t_end=2.0, tau={"M": 0.3})
    rate = 0.3 / (0.01 + 0.6 / 20**2)
    assert np.allclose(run["M_dot"], rate * run.t, rtol=1e-10, atol=1e-10)
    assert np.allclose(run["spindle"], rate / 20 * run.t**2 / 2, rtol=1e-9, atol=1e-9)


def test_a_clutch_brings_the_spindle_along():
    """Momentum across the event: Lam at the spindle, Lam / n at the rotor; then with a capacity, that slips."""
    build = drill(link="clutch")
    dyn = ph.formulate(build.build()).compile()
    sim = ph.Simulation(dyn, None, None)
    sim.release("M spindle")
    sim.u = {"M_dot": 100.0}
    sim.engage("M spindle")
    J, I, n = 0.01, 0.6, 20
    after = J * 100.0 / (J + I / n**2)
    assert np.allclose(sim.u, [after / n, after], rtol=1e-12)
    assert sim.events[-1].lost == pytest.approx(J * 100.0**2 / 2 - (J + I / n**2) * after**2 / 2, rel=1e-10)

    slipping = ph.formulate(drill(link="clutch", capacity=0.5).build()).compile()
    run = ph.simulate(slipping, None, {"M_dot": 100.0}, 20.0)
    # rotor -c / n, spindle +c until rho = n omega
    until = 100.0 / (0.5 / n / J + n * 0.5 / I)
    assert [event.why for event in run.events] == ["start", "sticks"]
    assert run.events[1].time == pytest.approx(until, rel=1e-9)
    assert run["M_dot"][-1] == pytest.approx(after, rel=1e-9)


def test_a_reversing_clutch_changes_a_sign():
    """alpha_dot+ = (D+^T M D+)^-1 D+^T M v-: from the printed matrices to impulses, and back."""
    build = drill(link="reversing clutch")
    disc(build, "arm", 0.2, "spindle", axis="x")
    dyn = ph.formulate(build.build()).compile()
    model = dyn.equations.model
    sim = ph.Simulation(dyn, {"arm": 0.4}, {"M_dot": 60.0, "spindle_dot": 3.0, "arm_dot": 1.0})
    before, M = sim.u, dyn.mass_matrix(sim.q)
    sim._command(("M spindle reversed",), ("M spindle",))  # both at once
    place = {name: i for i, name in enumerate(model.speeds)}
    D = np.zeros((3, 2))
    D[place["M_dot"], 0], D[place["spindle_dot"], 0], D[place["arm_dot"], 1] = 1.0, -1 / 20, 1.0
    expected = D @ np.linalg.solve(D.T @ M @ D, D.T @ M @ before)
    assert np.allclose(sim.u, expected, rtol=1e-10, atol=1e-12)
    assert sim.mode["M spindle reversed"] == "engaged"
    assert sim.mode["M spindle"] == "released"


@pytest.mark.parametrize("method", METHODS)
def test_a_differential(method):
    """Wheels l and r, cage (l + r) / 2: T = (Jl l^2 + Jr r^2 + Jc (l + r)^2 / 4) / 2, a torque on the cage halves."""
    build = ph.Builder("differential", gravity=(0, 0, 0))
    for name, J in (("l", 1.0), ("r", 3.0), ("c", 0.5)):
        disc(build, name, J)
    build.differential({"l_dot": 1, "r_dot": 1, "c_dot": -2}, name="cage")
    dyn = ph.formulate(build.build(), method).compile()
    udot = dyn.forward_dynamics(np.zeros(3), [1.0, 3.0, 2.0], [0.2, 0.0, 4.0])
    M = np.array([[1 + 0.125, 0.125], [0.125, 3 + 0.125]])
    l, r = np.linalg.solve(M, [0.2 + 2.0, 2.0])
    assert np.allclose(udot, [l, r, (l + r) / 2], rtol=1e-12)


def test_a_planetary_gear():
    """N_s w_s + N_r w_r = (N_s + N_r) w_c: ring held, sun driven, the carrier turns N_s / (N_s + N_r) as fast."""
    build = ph.Builder("planetary", gravity=(0, 0, 0))
    for name, J in (("sun", 0.1), ("ring", 2.0), ("carrier", 1.0)):
        disc(build, name, J)
    build.planetary("sun_dot", "ring_dot", "carrier_dot", 20, 60, name="gear")
    build.brake("ring_dot", name="held")
    dyn = ph.formulate(build.build()).compile()
    run = ph.simulate(dyn, t_end=1.0, tau={"sun_dot": 0.7})
    rate = 0.7 / (0.1 + 1.0 / 16)
    assert np.allclose(run["sun_dot"], rate * run.t, rtol=1e-10, atol=1e-10)
    assert np.allclose(run["carrier_dot"], rate / 4 * run.t, rtol=1e-10, atol=1e-10)
    assert abs(run["ring"]).max() < 1e-12


def test_a_cable_sums_joints_up():
    """r_m alpha = r_1 theta_1 + r_2 theta_2, a row of D for any axes: tau_j = r_j tau."""
    build = ph.Builder("arm", gravity=(0, 0, 0))
    disc(build, "a", 1.0)
    disc(build, "b", 2.0, "a", axis="x")
    build.motor("M", sums={"a": 0.3, "b": 0.5})
    dyn = ph.formulate(build.build()).compile()
    q, u = [0.3, 0.4], [0.0, 0.0]
    expected = dyn.tree_dynamics(q, u, [0.3 * 2.0, 0.5 * 2.0])
    assert np.allclose(dyn.forward_dynamics(q, u, [0.0, 0.0], controls={"M": 2.0}), expected, rtol=1e-13)


def test_two_joints_on_one_motor_without_a_rotor():
    """(27): equal and opposite rotations, driven by one torque."""
    build = ph.Builder("pair", gravity=(0, 0, 0))
    disc(build, "a", 1.0)
    disc(build, "b", 2.0)
    build.motor("M", ratio=4).drives({"a": 1, "b": -1})
    for method in ("poincare", "quasicoordinate"):
        eq = ph.formulate(build.build(), method, embed=None if method == "quasicoordinate" else False)
        run = ph.simulate(eq.compile(), t_end=1.0, tau={"M": 0.6})
        assert run["a"][-1] == pytest.approx(4 * 0.6 / 3 / 2, rel=1e-10)
        assert run["b"][-1] == pytest.approx(-4 * 0.6 / 3 / 2, rel=1e-10)


def test_a_voltage_speeds_a_motor_up():
    """Without an inductance rho = V / K (1 - exp(-K^2 t / (R J))); with one two exponentials."""
    K, R, J, V, L = 0.05, 2.0, 1e-4, 12.0, 1e-3
    build = ph.Builder("motor")
    build.motor("M", inertia=J, constant=K, resistance=R)
    run = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.3, tau={"M": V})
    assert np.allclose(run["M_dot"], V / K * (1 - np.exp(-(K**2) * run.t / (R * J))), rtol=1e-7, atol=1e-6)
    assert abs(run.energy_drift).max() < 1e-7

    build = ph.Builder("motor")
    build.motor("M", inertia=J, constant=K, resistance=R, inductance=L)
    run = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.3, tau={"M": V})
    A = np.array([[0, K / J], [-K / L, -R / L]])
    values, modes = np.linalg.eig(A)
    end = -np.linalg.solve(A, [0, V / L])
    shares = np.linalg.solve(modes, -end)
    expected = end[:, None] + modes @ (shares[:, None] * np.exp(values[:, None] * run.t))
    assert np.allclose(run["M_dot"], expected[0].real, rtol=1e-7, atol=1e-6)
    assert np.allclose(run["M_current"], expected[1].real, rtol=1e-6, atol=1e-6)


def test_a_shaft_that_yields():
    """Rotor and load on a spring: sqrt(k (1 / I + 1 / (n^2 J))) at the joint; with play they fly freely in between."""
    J, I, n, k = 0.01, 0.6, 5.0, 80.0
    build = ph.Builder("shaft", gravity=(0, 0, 0))
    disc(build, "load", I)
    build.motor("M", inertia=J, ratio=n, stiffness=k).drives({"load": 1})
    run = ph.simulate(ph.formulate(build.build()).compile(), None, {"M_dot": n}, 3.0)
    twist = run["M"] / n - run["load"]
    w = np.sqrt(k * (1 / I + 1 / (n * n * J)))
    assert np.allclose(twist, np.sin(w * run.t) / w, atol=1e-7)

    build = ph.Builder("loose", gravity=(0, 0, 0))
    disc(build, "load", I)
    build.motor("M", inertia=J, ratio=n, stiffness=k, play=0.2).drives({"load": 1})
    run = ph.simulate(ph.formulate(build.build()).compile(), None, {"M_dot": n}, 0.5)
    free = run.t < 0.1  # half of the play at 1 rad/s
    assert np.allclose(run["M_dot"][free], n, rtol=1e-12)
    hit = 0.1 + np.pi / w  # half a period in contact
    after = run.t > hit + 1e-3
    assert run.t[after].size > 50
    back = run["M_dot"][after] / n - run["load_dot"][after]
    assert np.allclose(back[run.t[after] < hit + 0.19], -1.0, atol=1e-6)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"drives": {"nobody": 1}}, "there is no joint or speed 'nobody'"),
        ({"drives": {"ball": 1}}, "joint 'ball' has 3 speeds, expected one. Name the speed"),
        ({"drives": {"a": 0}}, "turns a joint by 0"),
        ({"drives": {"a": 1, "a_dot": 2}, "inertia": 1}, "Motor 'M': turns 'a_dot' 2 times, expected once"),
        ({"sums": {"a": 1, "a_dot": 2}, "inertia": 1}, "Motor 'M': turns 'a_dot' 2 times, expected once"),
        ({"sums": {"a": 1, "a_dot": 2}}, "Motor 'M': turns 'a_dot' 2 times, expected once"),
        ({"drives": {"a": 1}, "sums": {"b": 1}}, "drives joints and sums others up"),
        ({"drives": {"a": 1}, "link": "clutch"}, "has a clutch but no rotor to turn by itself. Give its inertia="),
        ({"drives": {"a": 1}, "inertia": 1, "capacity": 2}, "has a capacity but no clutch"),
        ({"drives": {"a": 1}, "inertia": 1, "play": 0.1}, "has play or loss but no stiffness"),
        ({"drives": {"a": 1}, "resistance": 1}, "expected both of an electrical motor"),
        ({"drives": {"a": 1}, "ratio": 0}, "its ratio is 0"),
        ({"drives": {"a": 1}, "efficiency": 1.5}, "efficiency is 1.5, expected a number from 0 to 1"),
        ({"drives": {"a": 1}, "on": "nowhere", "inertia": 1}, "on is 'nowhere', expected a body or marker"),
        ({"drives": [1]}, r'expected names with numbers: {"hip_dot": 1}'),
        ({"drives": {"ball_wx": 1}, "inertia": 1, "stiffness": 5}, "one of 3 speeds of joint 'ball', expected a joint"),
        ({}, "has neither a rotor nor a joint to turn"),
        ({"drives": {"a": 1}, "efficiency": 0.5, "inertia": 1}, "its load is not known before the acceler"),
        ({"drives": {"a": 1}, "efficiency": 0.5, "efficiency_back": 0}, "locks itself, and has no rotor"),
        ({"drives": {"a": 1}, "efficiency": 0.5, "efficiency_back": 2}, "efficiency_back is 2, expected 1 or less"),
        ({"drives": {"a": 1}, "slip_speed": 1e-2}, "has a slip_speed, and no efficiency. Leave out slip_speed="),
        ({"drives": {"a": 1}, "stages": {"ratio": 1}}, "expected a list, a stage each"),
        ({"drives": {"a": 1}, "stages": [3]}, "stages 1 is 3, expected its fields by name"),
        ({"drives": {"a": 1}, "stages": [{"ratoi": 3}]}, "stages 1: there is no 'ratoi'. Did you mean 'ratio'"),
        ({"drives": {"a": 1}, "stages": [{"ratio": 0}]}, "stage 1: its ratio is 0"),
        ({"drives": {"a": 1}, "stages": [{"inertia": -1}]}, "stage 1: inertia is -1, expected 0 or more"),
        ({"drives": {"a": 1}, "stages": [{"stiffness": 1}], "inertia": 1, "stiffness": 1}, "has two springs"),
        ({"drives": {"a": 1}, "stages": [{"inertia": 1, "efficiency": 0.9}], "inertia": 1}, "efficiency behind the in"),
        ({"drives": {"a": 1}, "stages": [{"inertia": 1, "on": "nowhere"}]}, "its parent 'nowhere' does not exist"),
    ],
)
def test_motors_that_cannot_be(given, said):
    build = ph.Builder("bad")
    disc(build, "a", 1.0)
    disc(build, "b", 1.0)
    build.body("c", joint=ph.spherical(name="ball"), mass=1, inertia=(1, 1, 1))

    def made():
        build.motor("M", **given)
        return build.build()

    with pytest.raises(ph.ModelError, match=said):
        made()


def test_the_remedies_for_a_rigid_gear_with_a_loss_work():
    """One is the armature that is named, another a stiffness: after a while both speed up by closed forms."""
    n, J, I, eta, torque = 30.0, 2e-4, 0.5, 0.7, 0.3

    def geared(armature=0.0, **motor):
        build = ph.Builder("geared", gravity=(0, 0, 0))
        joint = ph.revolute("z", name="arm", armature=armature)
        build.body("arm", joint=joint, mass=1, inertia=(1, 1, I))
        build.motor("M", ratio=n, efficiency=eta, drives={"arm": 2}, **motor)
        return ph.formulate(build.build()).compile()

    with pytest.raises(ph.ModelError, match=r"give the joint of 'arm(_dot)?' an armature=0\.045") as said:
        geared(inertia=J)
    assert "stiffness=" in str(said.value)
    m = n / 2  # turns of the rotor for one of the arm
    run = ph.simulate(geared(armature=0.045), None, None, 1.0, tau={"M": torque})
    assert run["arm_dot"][-1] == pytest.approx(eta * m * torque / (I + m**2 * J), rel=1e-4)  # it begins at rest
    run = ph.simulate(geared(inertia=J, stiffness=1e4, loss=30.0), None, None, 1.0, tau={"M": torque})
    gained = run["arm_dot"][-1] - run["arm_dot"][250]
    assert gained / (run.t[-1] - run.t[250]) == pytest.approx(eta * m * torque / (I + eta * m**2 * J), rel=1e-6)


def test_motors_in_toml(tmp_path):
    build = ph.Builder("all")
    disc(build, "a", 1.0)
    disc(build, "b", 1.0, "a")
    disc(build, "c", 1.0)
    build.marker("seat", body="a", at=(0, 0, 1), rpy=(0.3, 0, 0))
    build.motor("M1", inertia=1, ratio=ph.symbol("n"), on="seat").drives({"b": 1, "c": -0.5})
    build.motor("M2", inertia=0.1, link="reversing clutch", capacity=3, drives={"a": 2})
    build.motor("M3", sums={"a": 1, "c": 0.5}, constant=0.1, resistance=1, inductance=0.01, lower=-12, upper=12)
    build.motor("M4", inertia=0.1, stiffness=50, loss=0.1, play=0.01, drives={"c": 1}, efficiency=0.9)
    build.motor("M5", inertia=0.1, on="world", cable=True, drives={"b": 1})
    worm = {"ratio": ph.symbol("k"), "inertia": 0.2, "efficiency": 0.4, "efficiency_back": -0.2, "stiffness": 1e3}
    last = {"ratio": -2, "inertia": 0.1, "damping": 0.01, "on": "seat", "axis": (0.6, 0, 0.8)}
    build.motor("M6", inertia=0.1, stages=[{"ratio": 3}, worm, last], drives={"c": 1}, ratio=2)
    model = build.build()
    path = tmp_path / "all.toml"
    ph.save(model, path)
    assert ph.load(path) == model
    assert "[[motor]]" in path.read_text()
    assert "rotor" not in path.read_text()
    assert "shaft" not in path.read_text()


def test_a_lossy_gear_behind_a_shaft_that_is_embedded():
    """The capacity of its friction is by the speed of a shaft, which "quasicoordinate" has eliminated."""
    build = ph.Builder("hoist", gravity=(0, 0, 0))
    disc(build, "drum", 0.2)
    build.force("drum_dot", "-5")
    stages = [{"ratio": 3, "inertia": 0.001}]
    build.motor("M", inertia=2e-3, ratio=20, stiffness=2000, loss=20, stages=stages, efficiency=0.8).drives({"drum": 1})
    model = build.build()
    found = [
        ph.simulate(ph.formulate(model, method).compile(), None, None, 0.2, tau={"M": 1.0})["drum"][-1]
        for method in ("denoc", "quasicoordinate")
    ]
    assert found[0] == pytest.approx(found[1], rel=1e-9)
