"""Mechanisms with loops from the IFToMM library of computational benchmarks, see tests/mechanisms.py.

Each moves with few degrees of freedom; the other side of a comparison is an
equation for these, written by hand or found from positions alone.
"""

from collections import namedtuple

import numpy as np
import pytest
from numpy import cos, pi, sin
from numpy.polynomial import Chebyshev
from scipy.integrate import solve_ivp

import polhode as ph
from polhode.equations.program import Program
from polhode.kernels.hold import evaluate
from tests.mechanics import close
from tests.mechanisms import GOVERNOR, bricard, governor, slider_crank, windows

G = 9.81
Bar = namedtuple("Bar", "mass inertia centre R")  # principal moments in the axes of R


def solved(rate, start, times, method="DOP853", tolerance=1e-13):
    found = solve_ivp(rate, (0, times[-1]), start, method, times, rtol=tolerance, atol=tolerance)
    return found.y


def simulated(dynamics, q0, u0, times, tolerance=1e-12, **options):
    motion = ph.simulate(
        dynamics, q0, u0, times[-1], output=times, rtol=tolerance, atol=tolerance, progress=False, **options
    )
    assert motion.outcome.finished, motion.outcome
    return motion


def one_degree(bodies, up, span, degree):
    """Inertia I and potential V of bodies whose poses follow one coordinate s: I s'^2 / 2 + V stays.

    bodies : s -> Bars, for complex s: their slopes are imaginary parts
    span   : of s; I and V are Chebyshev series there
    """

    def inertia(s):
        total = 0.0
        for bar in bodies(s + 1e-30j):
            dp, W = bar.centre.imag / 1e-30, bar.R.real.T @ bar.R.imag / 1e-30
            w = np.array([W[2, 1], W[0, 2], W[1, 0]])
            total += bar.mass * dp @ dp + w @ (bar.inertia * w)
        return total

    def potential(s):
        return sum(bar.mass * G * (up @ bar.centre.real) for bar in bodies(s + 0j))

    return [Chebyshev.interpolate(np.vectorize(f), degree, span) for f in (inertia, potential)]


# n four-bar linkages


def upright(n):
    """Cranks that stand, and move at 1 m/s at their tops."""
    dynamics = ph.formulate(windows(n)).compile()
    return dynamics, *ph.assemble(dynamics, u0={"crank0_dot": 1.0}, keep=["crank0", "crank0_dot"])


def pendulum(n, times):
    """All cranks turn together: (n + 1) / 3 + n kg m^2 fall over."""
    inertia, weight = (n + 1) / 3 + n, G * ((n + 1) / 2 + n)
    return solved(lambda t, x: [x[1], weight / inertia * sin(x[0])], [0, 1], times)


@pytest.mark.parametrize("n", [1, 2, 3, 5, pytest.param(40, marks=pytest.mark.slow)])
def test_windows_pass_their_singular_positions(n):
    """Ten times they lie flat, with n rows of 2 n and n + 1 ways to go; the smooth one goes on.

    The library starts them at 1 m/s and asks for B0 to 1e-3.
    """
    times = np.linspace(0, 10, 401)
    motion = simulated(*upright(n), times, tolerance=1e-9)
    angle, rate = pendulum(n, times)
    assert angle[-1] > 9 * pi
    assert np.abs(motion.q[:, : n + 1] - angle[:, None]).max() < 1e-3
    assert np.abs(motion.u[:, : n + 1] - rate[:, None]).max() < 1e-2
    assert np.ptp(motion.energy[:, 2]) < 1e-2
    assert np.abs(motion.residuals).max() < 1e-9


@pytest.mark.parametrize("longest", [0.02, 0.005, 0.001])
def test_windows_pass_with_any_step(longest):
    """Steps that end near a flat position and steps that end far from one."""
    dynamics, q0, u0 = upright(2)
    motion = simulated(dynamics, q0, u0, np.linspace(0, 10, 101), tolerance=1e-9, longest=longest)
    assert np.abs(motion["crank0"] - pendulum(2, motion.t)[0]).max() < 1e-2
    assert np.ptp(motion.energy[:, 2]) < 1e-2


def test_two_windows_after_ten_seconds():
    """Position and velocity of B0 that J. Gerstmayr's Exudyn finds with steps of 0.25 and 0.125 ms.

    fourBarMechanismIftomm.py; its errors fall by four, and are extrapolated.
    """
    coarse = np.array([0.3284552113, 0.9445195467, 1.423045728, -0.4948619021])
    fine = np.array([0.3284573768, 0.9445187937, 1.423050003, -0.4948670827])
    motion = simulated(*upright(2), np.array([0.0, 10.0]), tolerance=1e-9)
    found = [*motion.pose("B0")[-1, :2, 3], *motion.velocity("B0")[-1, 3:5]]
    assert np.abs(found - (4 * fine - coarse) / 3).max() < 1e-3


# the spatial slider-crank

SLIDER = {  # position of the slider by M. González, in the IFToMM library
    0.5: 0.184952803,
    1: 0.211754668,
    1.5: 0.25696554,
    2: 0.289063554,
    2.5: 0.256509783,
    3: 0.228450093,
    3.5: 0.206512886,
    4: 0.188208161,
    4.5: 0.199295373,
    5: 0.240761815,
}


def crank_rod_slider(angle):
    """The bodies of the slider-crank; the rod's z axis stays across the line of the slider."""
    pin = np.array([0 * angle, 0.1 - 0.08 * sin(angle), 0.12 + 0.08 * cos(angle)])
    slider = np.array([np.sqrt(0.09 - pin[1] ** 2 - pin[2] ** 2), 0, 0])
    along = (pin - slider) / 0.3
    across = np.array([0, -along[2], along[1]])
    across = across / np.sqrt(across @ across)
    rod = np.array([np.cross(along, across), along, across]).T
    return [
        Bar(0.12, np.array([1e-4, 1e-4, 1e-5]), (pin + [0, 0.1, 0.12]) / 2, turn("x", angle)),
        Bar(0.5, np.array([4e-3, 4e-4, 4e-3]), (pin + slider) / 2, rod),
        Bar(2, np.zeros(3), slider, np.eye(3) + 0j),
    ]


def turn(axis, angle):
    """The rotation about a coordinate axis, of a complex angle too."""
    k = "xyz".index(axis)
    i, j = (k + 1) % 3, (k + 2) % 3
    R = np.eye(3) + 0j
    R[i, i] = R[j, j] = cos(angle)
    R[j, i] = sin(angle)
    R[i, j] = -R[j, i]
    return R


@pytest.fixture(scope="module")
def crank():
    dynamics = ph.formulate(slider_crank()).compile()
    start = {"slider": 0.2}, {"crank_dot": 6.0}
    state = ph.assemble(dynamics, *start, keep=["crank", "slider", "crank_dot"])
    return simulated(dynamics, *state, np.linspace(0, 5, 501))


def test_slider_crank_by_quadrature(crank):
    """Eight turns under gravity alone, always forward: energy says how fast, and so when."""
    I, V = one_degree(crank_rod_slider, np.array([0, 0, 1]), [0, 2 * pi], 128)
    energy = I(0.0) * 6**2 / 2 + V(0.0)
    spent = Chebyshev.interpolate(lambda a: np.sqrt(I(a) / (energy - V(a)) / 2), 128, [0, 2 * pi]).integ(lbnd=0)
    turns, angle = np.divmod(crank["crank"], 2 * pi)
    assert turns[-1] == 8
    assert np.abs(turns * spent(2 * pi) + spent(angle) - crank.t).max() < 1e-10
    assert np.abs(crank["crank_dot"] - np.sqrt(2 * (energy - V(angle)) / I(angle))).max() < 1e-9
    slider = [crank_rod_slider(a + 0j)[2].centre[0].real for a in angle]
    assert np.abs(crank["slider"] - slider).max() < 1e-12
    assert np.ptp(crank.energy[:, 2]) < 1e-11


def test_slider_crank_of_the_library(crank):
    """González's slider to 0.1 mm, of 105 mm that it travels."""
    found = np.interp(list(SLIDER), crank.t, crank["slider"])
    assert np.abs(found - list(SLIDER.values())).max() < 1e-4


# the flyball governor

TIMES = np.linspace(0, 10, 101)
OUT, BALL, BAR, BLOCK = 0.05, 5.0, 0.3, 3.0  # m, kg
THICK, LONG = BAR * 2e-4 / 12, BAR * (1 + 1e-4) / 12  # kg m^2, of a bar
ARM = LONG + BAR / 4 + BALL  # kg m^2, about its hinge
WEIGHT = G * (BAR / 2 + BALL)  # N m, of an arm that lies


def spin(a):
    """Inertia about the shaft with both arms at angle a, and its slope."""
    fixed = THICK + BLOCK * 0.02 / 12
    ball, middle = OUT + sin(a), OUT + sin(a) / 2
    arms = 2 * (BALL * ball**2 + BAR * middle**2 + LONG * sin(a) ** 2 + THICK * cos(a) ** 2)
    return fixed + arms, 2 * cos(a) * (2 * BALL * ball + BAR * middle + 2 * (LONG - THICK) * sin(a))


MOMENTUM = 2 * pi * spin(2 * pi / 3)[0]  # N m s, stays


def lifted(a):
    """The torque on both arms together, of weight and of turning."""
    I, slope = spin(a)
    return slope * (MOMENTUM / I) ** 2 / 2 + 2 * WEIGHT * sin(a)


def test_governor_with_rods():
    """The slider at 1 + cos a of arms at a: one equation."""

    def rate(t, x):
        a, w = x
        inertia = 2 * ARM + BLOCK * sin(a) ** 2
        return [w, (lifted(a) + BLOCK * sin(a) * (G - cos(a) * w**2)) / inertia]

    a, _ = solved(rate, [2 * pi / 3, 0], TIMES)
    motion = simulated(ph.formulate(governor(rigid=True)).compile(), *GOVERNOR, TIMES)
    assert np.ptp(1 + cos(a)) > 0.24
    assert np.abs(motion["slider"] - 1 - cos(a)).max() < 1e-11
    assert np.abs(motion["shaft_dot"] - MOMENTUM / spin(a)[0]).max() < 1e-9
    assert np.ptp(motion.energy[:, 2]) < 1e-9
    assert close(motion.momentum[:, 2], np.full(101, MOMENTUM), 1e-11)


def springs(t, x):
    """Arms at a, slider at s, springs and dampers of 800 kN/m and 40 kN s/m between."""
    a, s, w, v = x
    reach, rise = sin(a) / 2, 1 + cos(a) / 2 - s  # from a lug to the middle of an arm
    length = np.hypot(reach, rise)
    by_a, by_s = (reach * cos(a) - rise * sin(a)) / 2 / length, -rise / length
    pull = 8e5 * (length - 0.5) + 4e4 * (by_a * w + by_s * v)
    return [w, v, (lifted(a) / 2 - pull * by_a) / ARM, -G - 2 * pull * by_s / BLOCK]


@pytest.fixture(scope="module")
def bouncing():
    return solved(springs, [2 * pi / 3, 0.5, 0, 0], TIMES, "Radau", 1e-10)


@pytest.mark.parametrize(("tolerance", "error"), [(1e-6, 1e-5), (1e-8, 1e-8), (1e-10, 1e-9)])
def test_stiff_governor(bouncing, tolerance, error):
    """Rodas5P with SciPy's Radau on the two equations above; the fastest part dies in 0.2 ms."""
    dynamics = ph.formulate(governor(rigid=False)).compile()
    motion = simulated(dynamics, *GOVERNOR, TIMES, tolerance, method="rodas5p")
    assert np.abs(motion["slider"] - bouncing[1]).max() < error
    assert np.abs(motion["right"] - bouncing[0]).max() < error
    assert np.abs(motion["left"] - bouncing[0]).max() < error


def test_stiff_governor_by_an_explicit_method(bouncing):
    """It gets there, in steps as short as the fastest part."""
    dynamics = ph.formulate(governor(rigid=False)).compile()
    motion, stiff = (simulated(dynamics, *GOVERNOR, TIMES, 1e-6, method=method) for method in ("dopri5", "rodas5p"))
    assert np.abs(motion["slider"] - bouncing[1]).max() < 1e-5
    assert motion.statistics["steps"] > 20 * stiff.statistics["steps"]


# Bricard's mechanism


def bars(angle):
    """The five bars where every second hinge is at one angle a, the others at b.

    sin a sin b + sin a + sin b = 0, from T. Arponen, S. Piipponen and J. Tuomela, Kinematic
    analysis of Bricard's mechanism (2007), for angles from those of the cube.
    """
    other = -np.arcsin(sin(angle) / (1 + sin(angle)))
    R, p, found = np.eye(3) + 0j, np.zeros(3) + 0j, []
    for k, (along, about) in enumerate(zip(((0, 1), (1, -1), (2, 1), (0, -1), (1, 1)), "yzxyz", strict=True)):
        R = R @ turn(about, (angle, other)[k % 2])
        arm = along[1] * np.eye(3)[along[0]]
        moments = np.where(np.arange(3) == along[0], 0.01 / 6, 1.01 / 12)
        found.append(Bar(1, moments, p + R @ arm / 2, R))
        p = p + R @ arm
    return found


@pytest.fixture(scope="module")
def loop():
    return simulated(ph.formulate(bricard()).compile(), None, None, np.linspace(0, 10, 401), 1e-13)


def test_bricard_has_a_hinge_too_many():
    """Five joints and five rows, one of which repeats the others all the way: it moves."""
    system = Program(ph.formulate(bricard()).compile())
    machine = system.machine()
    assert len(system.constraints) == 5
    for angle in (0.0, 0.3, 1.0, 2.0, 3.0):
        q = np.where(np.arange(5) % 2, -np.arcsin(sin(angle) / (1 + sin(angle))), angle)
        x = np.array([*q, *np.zeros(5)])
        assert evaluate(machine, 0.0, x, np.zeros(10), True) == 0
        assert machine.constrained.places[0]["rank"] == 4


def test_bricard_falls_as_its_one_angle_does(loop):
    """Two and a half swings from one flat side to the other, to 1e-9."""
    I, V = one_degree(bars, np.array([0, 1, 0]), [-0.1, pi + 0.1], 96)
    dI, dV = I.deriv(), V.deriv()
    angle, rate = solved(lambda t, x: [x[1], -(dI(x[0]) * x[1] ** 2 / 2 + dV(x[0])) / I(x[0])], [0, 0], loop.t)
    assert np.ptp(angle) > 3.14
    assert np.abs(loop["bar1"] - angle).max() < 1e-9
    assert np.abs(loop["bar1_dot"] - rate).max() < 1e-8
    assert np.abs(loop["bar3"] - loop["bar1"]).max() < 1e-12
    assert np.abs(sin(loop["bar1"]) * (1 + sin(loop["bar2"])) + sin(loop["bar2"])).max() < 1e-12
    centre = [np.mean([bar.centre.real for bar in bars(a + 0j)], axis=0) for a in angle]
    assert np.abs(loop.evaluate(loop.dynamics.equations.center_of_mass) - centre).max() < 1e-9


def test_bricard_keeps_its_energy_and_closes(loop):
    assert np.ptp(loop.energy[:, 2]) < 1e-8
    assert np.abs(loop.residuals).max() < 3e-14
