"""Bodies that roll and slide without slip, against their closed forms: a thin disc and Chaplygin's sleigh.

References: [Appell, Rend. Circ. Mat. Palermo 14 (1900)]; [O'Reilly, The dynamics of rolling disks and sliding
disks, Nonlinear Dynamics 10 (1996)]; [Neimark and Fufaev, Dynamics of Nonholonomic Systems];
[Bloch, Nonholonomic Mechanics and Control, section 1.7].

With th the angle from the vertical to the disc's axis, n the angular velocity about
this axis, p that about the line of steepest ascent in the disc, and m = 1:

    dn/dth = k p,   dp/dth + p cot th = 2 n,   5/4 r th'' + 3/2 r p n - 1/4 r p^2 cot th + g cos th = 0

with k = r^2 / (C + r^2) = 2/3, C = 2 A = r^2 / 2.
"""

from functools import cache

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from polhode.simulate.assemble import assemble
from polhode.simulate.run import simulate
from tests.literature.linearised import linearised

R, G = 0.4, 9.81
TIGHT = {"rtol": 1e-12, "atol": 1e-13}
YAW_LEAN_SPIN = ph.compound(
    [*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")], q=("spin", "lean", "yaw", "z", "y", "x")
)


@cache
def disc(joint):
    """A uniform thin disc that rolls on the ground, its axis along its y."""
    build = ph.Builder("disc", gravity=(0, 0, -G))
    build.body("disc", joint=joint, mass=1, inertia=(R**2 / 4, R**2 / 2, R**2 / 4))
    build.rolling("disc", radius=R)
    return ph.formulate(build.build()).compile()


def circling(lean, yaw_dot):
    """The spin with which a leaning disc rolls in a circle, from th'' = 0."""
    p = yaw_dot * np.cos(lean)
    n = (R * p**2 * np.tan(lean) / 4 - G * np.sin(lean)) / (1.5 * R * p)
    return n - yaw_dot * np.sin(lean)


@pytest.mark.parametrize(("lean", "yaw_dot"), [(0.3, -1.5), (-0.7, 2.0), (1.2, 6.0), (0.5, 12.0)])
def test_disc_rolls_in_circles_at_constant_lean(lean, yaw_dot):
    """Many rounds: in a wide circle, in a narrow one, settling like a coin, and spinning like a top."""
    spin_dot, rounds = circling(lean, yaw_dot), 20
    t = np.linspace(0, rounds * 2 * np.pi / abs(yaw_dot), 200)
    radius = R * (spin_dot + yaw_dot * np.sin(lean)) / yaw_dot  # of the centre's circle, from v = R n
    q0 = {"lean": lean, "z": R * np.cos(lean), "y": -radius}
    u0 = {"yaw_dot": yaw_dot, "spin_dot": spin_dot, "x_dot": radius * yaw_dot}
    traj = simulate(disc(YAW_LEAN_SPIN), q0, u0, t[-1], output=t, **TIGHT)
    angle = yaw_dot * t
    expected = {"lean": lean, "yaw": angle, "spin": spin_dot * t, "spin_dot": spin_dot}
    expected |= {"x": radius * np.sin(angle), "y": -radius * np.cos(angle), "z": R * np.cos(lean)}
    for name, value in expected.items():
        assert np.abs(traj[name] - value).max() < 1e-9 * max(1, np.abs(value).max()), name
    assert np.abs(traj.residuals).max() < 1e-12


def legendre(th):
    """P_v(cos th), P_v(-cos th) with v (v + 1) = -2 k, which solve n'' + n' cot th = 2 k n, over their slopes."""
    a = mp.mpc(0.5, mp.sqrt(mp.mpf(4) / 3 - mp.mpf(1) / 4))
    b = mp.conj(a)

    def pair(x):
        s = (1 - mp.cos(x)) / 2
        slope = a * b * mp.hyp2f1(a + 1, b + 1, 2, s) * mp.sin(x) / 2
        return [float(mp.re(mp.hyp2f1(a, b, 1, s))), float(mp.re(slope))]

    one, other = np.array([pair(x) for x in th]), np.array([pair(mp.pi - x) for x in th]) * [1, -1]
    return np.stack([one, other], axis=-1)


@pytest.mark.parametrize("joint", [YAW_LEAN_SPIN, ph.free(quaternion=True)], ids=["angles", "quaternion"])
def test_disc_conserves_energy_and_appells_two_integrals(joint):
    """n = c1 P_v(cos th) + c2 P_v(-cos th): c1 and c2 are constants of every motion."""
    dyn = disc(joint)
    if joint is YAW_LEAN_SPIN:
        guess, speeds = {"lean": 0.4, "z": R}, {"lean_dot": 1.0, "spin_dot": -3.0, "yaw_dot": 4.0}
    else:
        guess = {"disc_qw": np.cos(0.2), "disc_qx": np.sin(0.2), "disc_z": R}
        speeds = {"disc_wx": 1.0, "disc_wy": -3.0, "disc_wz": 4.0}
    q0, u0 = assemble(dyn, guess, speeds, keep=speeds)
    traj = simulate(dyn, q0, u0, 20, output=np.linspace(0, 20, 100), **TIGHT)
    axis, w = traj.pose("disc")[:, :3, 1], traj.velocity("disc")[:, :3]
    th = np.arccos(axis[:, 2])
    n = np.einsum("ki,ki->k", axis, w)
    p = (w[:, 2] - n * np.cos(th)) / np.sin(th)
    assert np.ptp(th) > 0.5  # it sways
    assert np.ptp(n) > 0.5
    constants = np.linalg.solve(legendre(th), np.stack([n, 2 / 3 * p], axis=-1)[..., None])
    assert np.abs(constants - constants[0]).max() < 1e-10
    assert np.ptp(traj.energy[:, 2]) < 1e-10
    assert np.abs(traj.residuals).max() < 1e-13


@pytest.mark.parametrize("n", [0.5, 2.0, 2.8, 10.0])
def test_small_lean_of_a_rolling_disc_obeys_its_equation(n):
    """5/4 lean'' + (3 n^2 - g/r) lean = 0, once yaw' = -2 n lean is eliminated: stable where n^2 > g / (3 r)."""
    departures = linearised(disc(YAW_LEAN_SPIN).equations, ["lean", "yaw", "spin"])
    M, C, K = departures({"z": R, "spin_dot": n, "x_dot": R * n})
    assert np.abs(M - R**2 * np.diag([1.25, 0.25, 1.5])).max() < 1e-15
    assert C[1, 0] / M[1, 1] == pytest.approx(2 * n, rel=1e-14, abs=0)
    stiffness = K[0, 0] - C[0, 1] * C[1, 0] / M[1, 1]
    assert stiffness == pytest.approx(R**2 * (3 * n**2 - G / R), rel=1e-13, abs=0)


@pytest.mark.parametrize(("share", "law"), [(1.02, np.sin), (0.98, np.sinh)])
def test_disc_stays_upright_above_its_critical_spin_alone(share, law):
    """A push of 1e-7 rad/s to either side of n = sqrt(g / 3r): the lean swings, or grows."""
    n, push = share * np.sqrt(G / (3 * R)), 1e-7
    rate = np.sqrt(abs(12 * n**2 - 4 * G / R) / 5)
    t = np.linspace(0, 5 / rate, 50)
    u0 = {"spin_dot": n, "x_dot": R * n, "lean_dot": push, "y_dot": -R * push}
    traj = simulate(disc(YAW_LEAN_SPIN), {"z": R}, u0, t[-1], output=t, rtol=1e-13, atol=1e-19)
    assert np.abs(traj["lean"] - push / rate * law(rate * t)).max() < 1e-8 * np.abs(traj["lean"]).max()


# Chaplygin's sleigh: a knife edge at the origin, the centre of mass a ahead, b^2 = a^2 + I/m

JOINTS = {
    "body": ph.planar("z", q=("angle", "x", "y")),
    "world": ph.compound([ph.revolute("z"), ph.prismatic("x"), ph.prismatic("y")], q=("angle", "x", "y")),
}


def sleigh(joint, a, mass, inertia):
    build = ph.Builder("sleigh", gravity=(0, 0, -G))
    build.body("sleigh", joint=JOINTS[joint], mass=mass, com=(a, 0, 0), inertia=(0, inertia, inertia))
    build.knife_edge("sleigh", axis="y")
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("joint", JOINTS)
def test_chaplygins_sleigh_turns_to_run_with_its_mass_ahead(joint):
    """v = V tanh s, w = V/b sech s with s = a V t / b^2; for b = 2 a the track is elementary too.

    angle = b/a gd(s) and x + i y = integral of v exp(i angle), with cos gd = sech, sin gd = tanh.
    """
    a, mass, V = 0.25, 3.0, 1.7
    b = 2 * a
    k = a * V / b**2
    t = np.linspace(-6 / k, 6 / k, 201)
    s = k * t
    sech, tanh, gd = 1 / np.cosh(s), np.tanh(s), 2 * np.arctan(np.tanh(s / 2))
    angle, v, w = 2 * gd, V * tanh, V / b * sech
    x, y = V / k * (tanh**2 - np.log(np.cosh(s))), V / k * (gd - sech * tanh)
    q = np.column_stack([angle, x, y])
    dyn = sleigh(joint, a, mass, 3 * mass * a**2)
    ahead = [1, 0] if joint == "body" else [np.cos(angle[0]), np.sin(angle[0])]
    traj = simulate(dyn, q[0], [w[0], *np.multiply(v[0], ahead)], t[-1], t0=t[0], output=t, **TIGHT)
    found = traj.velocity("sleigh", axes="marker")
    assert np.abs(found - np.column_stack([0 * s, 0 * s, w, v, 0 * s, 0 * s])).max() < 1e-10
    assert np.abs(traj.q - q).max() < 1e-10
    assert np.abs(traj.energy[:, 0] - mass * V**2 / 2).max() < 1e-10
    assert np.abs(traj.residuals).max() < 1e-13


def test_chaplygins_sleigh_turns_by_pi_b_over_a_in_all():
    """From running backwards to running forwards."""
    a, mass, inertia, V = 0.3, 2.0, 0.5, 2.0
    b = np.sqrt(a**2 + inertia / mass)
    k, s = a * V / b**2, 18
    u0 = [V / b / np.cosh(s), -V * np.tanh(s), 0]
    traj = simulate(sleigh("body", a, mass, inertia), None, u0, 2 * s / k, rtol=1e-13, atol=1e-18)
    left = 2 * b / a * (np.pi / 2 - 2 * np.arctan(np.tanh(s / 2)))  # before the start and after the end
    assert traj["angle"][-1] + left == pytest.approx(np.pi * b / a, rel=1e-8)
    assert traj.u[-1, 1] == pytest.approx(V, rel=1e-12)
