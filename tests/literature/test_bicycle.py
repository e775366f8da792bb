"""The benchmark bicycle: two thin wheels that roll, a frame with its rider, a fork that steers.

References:
[Meijaard, Papadopoulos, Ruina, Schwab, Linearized dynamics equations for the balance and
steer of a bicycle: a benchmark and review, Proc. R. Soc. A 463 (2007)], tables 1 and 2, and
the matrices of the benchmark;
[Basu-Mandal, Chatterjee, Papadopoulos, Hands-free circular motions of a benchmark bicycle,
Proc. R. Soc. A 463 (2007)], table 1.

Axes as in the former: x forward, y to the right, z down.
"""

from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.simulate.assemble import assemble
from polhode.simulate.run import simulate
from tests.literature.linearised import linearised

WHEELBASE, TRAIL, TILT = 1.02, 0.08, ph.pi / 10
REAR, FRONT = 0.3, 0.35  # radii
GRAVITY = 9.81


@cache
def bicycle():
    """Table 1. The frame's origin is the rear hub, the fork's where the steer axis meets the ground."""
    build = ph.Builder("bicycle", gravity=(0, 0, ph.symbol("g")))
    pose = ph.compound([*map(ph.revolute, "yxz"), *map(ph.prismatic, "zyx")], q=("pitch", "lean", "yaw", "z", "y", "x"))
    build.body("frame", joint=pose, mass=85, com=(0.3, 0, REAR - 0.9), inertia=(9.2, 11, 2.8, 0, 2.4, 0))
    build.body(
        "rear wheel", parent="frame", joint=ph.revolute("y", name="rear"), mass=2, inertia=(0.0603, 0.12, 0.0603)
    )
    build.body(
        "fork",
        parent="frame",
        at=(WHEELBASE + TRAIL, 0, REAR),
        joint=ph.revolute((ph.sin(TILT), 0, ph.cos(TILT)), name="steer"),
        mass=4,
        com=(0.9 - WHEELBASE - TRAIL, 0, -0.7),
        inertia=(0.05892, 0.06, 0.00708, 0, -0.00756, 0),
    )
    build.body(
        "front wheel",
        parent="fork",
        at=(-TRAIL, 0, -FRONT),
        joint=ph.revolute("y", name="front"),
        mass=3,
        inertia=(0.1405, 0.28, 0.1405),
    )
    build.marker("ground", body="world", rotation=np.diag([1, -1, -1]))
    build.rolling("rear wheel", "ground", radius=REAR)
    build.rolling("front wheel", "ground", radius=FRONT)
    return ph.formulate(build.build())


@cache
def dynamics():
    return bicycle().compile({"g": GRAVITY})


# linearised about upright, straight, steady motion: M y'' + v C1 y' + (g K0 + v^2 K2) y = 0, y = (lean, steer)

M = np.array([[80.81722, 2.31941332208709], [2.31941332208709, 0.29784188199686]])
C1 = np.array([[0, 33.86641391492494], [-0.85035641456978, 1.68540397397560]])
K0 = np.array([[-80.95, -2.59951685249872], [-2.59951685249872, -0.80329488458618]])
K2 = np.array([[0, 76.59734589573222], [0, 2.65431523794604]])


@cache
def departures():
    return linearised(bicycle(), ["lean", "steer", "x"])


def straight(v, g):
    """M, C, K at a forward speed, and with the gravity given."""
    motion = {"z": -REAR, "x_dot": v, "rear_dot": -v / REAR, "front_dot": -v / FRONT, "g": g}
    return [part[:2, :2] for part in departures()(motion)]


def test_linearised_equations_are_the_published_ones():
    """14 decimals."""
    heavy, light, both = straight(0.0, 1.0), straight(1.0, 0.0), straight(5.0, GRAVITY)
    assert np.abs(heavy[0] - M).max() < 2e-14
    assert np.abs(light[1] - C1).max() < 2e-14
    assert np.abs(heavy[2] - K0).max() < 2e-14
    assert np.abs(light[2] - K2).max() < 2e-14
    assert np.abs(heavy[1]).max() == 0
    assert np.abs(both[1] - 5 * C1).max() < 1e-12
    assert np.abs(both[2] - GRAVITY * K0 - 25 * K2).max() < 1e-12


def modes(v):
    """Eigenvalues of lean and steer at a forward speed, in order."""
    M, C, K = straight(v, GRAVITY)
    rates = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
    return np.sort_complex(np.linalg.eigvals(rates))


# speed, castering, capsize, weave: real and imaginary part; with 40 digits castering at 7 m/s ends in ...5201
TABLE_2 = """
 1  -7.11008014637442  -3.13423125066578   3.52696170990070   0.80774027519930
 2  -8.67387984831735  -3.07158645641514   2.68234517512745   1.68066296590675
 3 -10.35101467245920  -2.63366137253667   1.70675605663975   2.31582447384325
 4 -12.15861426576447  -1.42944427361326   0.41325331521125   3.07910818603206
 5 -14.07838969279822  -0.32286642900409  -0.77534188219585   4.46486771378823
 6 -16.08537123098026  -0.00406690076970  -1.52644486584142   5.87673060598709
 7 -18.15788466125262   0.10268170574766  -2.13875644258362   7.19525913329805
 8 -20.27940894394569   0.14327879765713  -2.69348683581097   8.46037971396931
 9 -22.43788559040858   0.15790184030917  -3.21675402252485   9.69377351531791
10 -24.62459635017404   0.16105338653172  -3.72016840437287  10.90681139476287
"""


@pytest.mark.parametrize("row", TABLE_2.strip().splitlines(), ids=lambda row: row.split()[0])
def test_eigenvalues_are_the_published_ones(row):
    v, castering, capsize, real, imaginary = map(float, row.split())
    published = np.sort_complex([castering, capsize, complex(real, imaginary), complex(real, -imaginary)])
    assert np.abs(modes(v) - published).max() < 1e-12


@pytest.mark.parametrize("row", TABLE_2.strip().splitlines(), ids=lambda row: row.split()[0])
def test_linearize_finds_the_published_eigenvalues(row):
    """Of the compiled machine with its rolling wheels; what drifts, as place and heading do, is exactly 0."""
    v, castering, capsize, real, imaginary = map(float, row.split())
    lin = ph.linearize(dynamics(), {"z": -REAR}, {"x_dot": v, "rear_dot": -v / REAR, "front_dot": -v / FRONT})
    assert lin.sizes == (7, 3, 0)
    assert lin.steady
    found = lin.modes().eigenvalues
    assert list(found[:6]) == [0] * 6
    published = np.sort_complex([castering, capsize, complex(real, imaginary)])
    assert np.abs(np.sort_complex(found[6:]) - published).max() < 1e-12


def test_linearize_has_them_as_expressions_of_the_speed():
    """One model for all speeds of the table, with v and g as symbols."""
    v = ph.symbol("v")
    lin = ph.linearize(bicycle(), {"z": -0.3}, {"x_dot": v, "rear_dot": -v / 0.3, "front_dot": -v / 0.35})
    assert lin.parameters == ("g", "v")
    for row in TABLE_2.strip().splitlines():
        speed, castering, capsize, real, imaginary = map(float, row.split())
        A, _ = lin.evaluate({"v": speed, "g": GRAVITY})
        kept = [lin.states.index(name) for name in ("lean", "steer", "lean_dot", "steer_dot")]
        published = np.sort_complex([castering, capsize, complex(real, imaginary), complex(real, -imaginary)])
        assert np.abs(np.sort_complex(np.linalg.eigvals(A[np.ix_(kept, kept)])) - published).max() < 1e-12


def test_critical_speeds_are_the_published_ones():
    """Table 2a: where a pair becomes complex, where weave becomes stable, where capsize ceases to be."""
    assert np.abs(modes(0.0) - [-5.53094371765393, -3.13164324790656, 3.13164324790656, 5.53094371765393]).max() < 1e-12
    assert np.abs(modes(0.68428307889246)[2:] - 3.78290405129320).max() < 1e-6  # a double root
    assert np.abs(modes(4.29238253634111)[2:] - [-3.43503384866144j, 3.43503384866144j]).max() < 1e-12
    assert np.abs(modes(6.02426201538837)[3]) < 1e-12


# the nonlinear equations


def test_accelerations_in_a_turn_are_the_published_ones():
    """Table 1 of Basu-Mandal et al., 13 decimals; their x and z point the other way."""
    psi, phi, steer = 0.9501292851472, 3.1257073014894, 0.2311385135743
    q = {"z": -0.2440472102925, "lean": np.pi / 2 - psi, "pitch": np.pi - phi, "steer": -steer}
    table = """
        x      2.8069345714545   0.5041626315047
        y     -0.1480982396001  -0.3449706619454
        z     -0.1058778746261   1.4604528332980
        yaw   -0.7830033527065  -0.8353281706379
        lean  -0.6068425835418   7.8555281128244
        pitch  0.0119185528069  -0.1205543897884
        steer -0.4859824687093   4.6198904039403
        rear  -8.9129896614890  -1.8472554144217
        front -8.0133620584155  -2.4548072904550"""
    rows = [row.split() for row in table.strip().splitlines()]
    u = {f"{name}_dot": float(speed) for name, speed, _ in rows}
    dyn = dynamics()
    places, speeds = ([str(s.value) for s in part] for part in (dyn.equations.q, dyn.equations.u))
    state = [[given.get(name, 0.0) for name in names] for names, given in ((places, q), (speeds, u))]
    found = dict(zip(speeds, dyn.forward_dynamics(*state, [0.0] * len(speeds)), strict=True))
    for name, _, acceleration in rows:
        assert found[f"{name}_dot"] == pytest.approx(float(acceleration), abs=5e-12), name


def ridden(v, t, lean_dot, **options):
    """Pushed over at t = 0 while it rolls straight."""
    speeds = {"x_dot": v, "lean_dot": lean_dot, "steer_dot": 0.0}
    q0, u0 = assemble(dynamics(), {"z": -REAR}, speeds, keep=speeds)
    return simulate(dynamics(), q0, u0, t[-1], output=t, **options)


@pytest.mark.parametrize(("v", "least", "most"), [(5.0, 0, 0.05), (2.0, 1e4, np.inf)])
def test_small_departures_fade_at_5_and_grow_at_2_metres_a_second(v, least, most):
    """As the published matrices say."""
    push, t = 1e-9, np.linspace(0, 4, 41)
    traj = ridden(v, t, push, rtol=1e-12, atol=1e-18)
    K = GRAVITY * K0 + v**2 * K2
    rates = np.block([[np.zeros((2, 2)), np.eye(2)], [-np.linalg.solve(M, K), -v * np.linalg.solve(M, C1)]])
    values, vectors = np.linalg.eig(rates)
    expected = (vectors * np.exp(np.multiply.outer(t, values))[:, None]) @ np.linalg.solve(vectors, [0, 0, push, 0])
    found = np.column_stack([traj[name] for name in ("lean", "steer", "lean_dot", "steer_dot")])
    assert np.abs(found - expected).max() < 1e-6 * np.abs(found).max()
    assert least < np.abs(found[-1]).max() / push < most


def test_energy_of_a_push_becomes_forward_speed():
    """Figure 4: v = 4.6 m/s and lean rate 0.5 rad/s; it rights itself, and what swung goes straight on."""
    v, push, t = 4.6, 0.5, np.linspace(0, 40, 401)
    traj = ridden(v, t, push, rtol=1e-11, atol=1e-12)
    assert np.abs(traj["lean"]).max() > 0.1
    assert np.abs(traj.residuals).max() < 1e-12
    assert np.ptp(traj.energy[:, 2]) < 1e-9 * traj.energy[0, 2]
    assert max(abs(traj["lean"][-1]), abs(traj["steer"][-1])) < 1e-4
    moving = 94 + 0.12 / REAR**2 + 0.28 / FRONT**2
    assert -REAR * traj["rear_dot"][-1] == pytest.approx(np.sqrt(v**2 + M[0, 0] * push**2 / moving), rel=1e-9)
