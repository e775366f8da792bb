"""Machines that pass dead points, where a row repeats others and another way to move begins.

Each moves as one pendulum with one equation, written by hand and integrated by SciPy; the second way leads
elsewhere at once. The other side of the accuracy is the tolerance: a tighter one must not be worse.
"""

from functools import cache, partial

import numpy as np
import pytest
from numpy import cos, pi, sin
from scipy.integrate import solve_ivp

import polhode as ph
from tests.mechanisms import GOVERNOR, GRAVITY, bricard, governor, rod, windows

G = 9.81
TIMES = np.linspace(0, 5, 501)


def parallelogram():
    """Three cranks under one coupler of 2 m and 2 kg: one row of four repeats others, at dead points two do."""
    build = ph.Builder("double parallelogram", gravity=GRAVITY)
    for i in range(3):
        build.body(f"crank{i}", joint=ph.revolute((0, 0, -1)), at=(i, 0, 0), **rod("y"))
        build.marker(f"B{i}", body=f"crank{i}", at=(0, 1, 0))
    coupler = {"mass": 2, "com": (1, 0, 0), "inertia": (0, 2 / 3, 2 / 3)}
    build.body("coupler", parent="crank0", joint=ph.revolute("z"), at=(0, 1, 0), **coupler)
    for i in (1, 2):
        build.marker(f"end{i}", body="coupler", at=(i, 0, 0))
        build.loop(f"B{i}", f"end{i}", "axis", name=f"hinge{i}")
    return build.build()


def equal_slider_crank():
    """Crank and rod of one length: where they stand, the block may stay while they turn together."""
    build = ph.Builder("equal slider-crank", gravity=GRAVITY)
    build.body("crank", joint=ph.revolute("z"), **rod("x"))
    build.body("rod", parent="crank", joint=ph.revolute("z"), at=(1, 0, 0), **rod("x"))
    build.body("block", joint=ph.prismatic("x"), mass=1)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("pin", body="block")
    build.loop("pin", "tip")
    return build.build()


def swinging(inertia, weight):
    """All angles are one, from upright; its rate of change."""
    return lambda t, x: [x[1], weight / inertia * sin(x[0])]


def sliding(t, x):
    """The crank at a, the rod at -a, the block at 2 cos a: (2/3 + 6 sin^2 a) w^2 / 2 + G sin a stays."""
    a, w = x
    return [w, -(6 * sin(a) * cos(a) * w**2 + G * cos(a)) / (2 / 3 + 6 * sin(a) ** 2)]


# model, rate of the one equation, coordinates for its angle, start of both
CASES = {
    "1 window": (partial(windows, 1), swinging(5 / 3, 2 * G), lambda a: [a] * 3, (0.0, 1.0)),
    "2 windows": (partial(windows, 2), swinging(3, 3.5 * G), lambda a: [a] * 5, (0.0, 1.0)),
    "10 windows": (partial(windows, 10), swinging(41 / 3, 15.5 * G), lambda a: [a] * 21, (0.0, 1.0)),
    "parallelogram": (parallelogram, swinging(3, 3.5 * G), lambda a: [a] * 4, (0.0, 1.0)),
    "slider-crank": (equal_slider_crank, sliding, lambda a: [a, -2 * a, 2 * cos(a)], (-0.5, -5.0)),
}


@cache
def started(name):
    """The dynamics and where it starts."""
    model, _, coordinates, (angle, rate) = CASES[name]
    dynamics = ph.formulate(model()).compile()
    names = [str(s.value) for s in dynamics.equations.q]
    first = names[0]
    guess = dict(zip(names, coordinates(angle), strict=True))
    return dynamics, *ph.assemble(dynamics, guess, {f"{first}_dot": rate}, keep=[first, f"{first}_dot"])


@cache
def expected(name):
    _, rate, coordinates, start = CASES[name]
    angle = solve_ivp(rate, (0, 5), start, "DOP853", TIMES, rtol=1e-13, atol=1e-13).y[0]
    assert np.ptp(angle) > 2 * pi  # it turns over
    return np.stack(coordinates(angle), axis=-1)


def moved(dynamics, q0, u0, tolerance, times=TIMES, **options):
    motion = ph.simulate(
        dynamics, q0, u0, times[-1], output=times, rtol=tolerance, atol=tolerance, progress=False, **options
    )
    assert motion.outcome.finished, motion.outcome
    return motion


def error(name, tolerance, **options):
    return np.abs(moved(*started(name), tolerance, **options).q - expected(name)).max()


@pytest.mark.parametrize("name", CASES)
def test_the_error_follows_the_tolerance(name):
    """Between steps too, and on one branch. The one equation itself has errors of 7e-8, 6e-10 and 5e-12."""
    loose, tight, tightest = (error(name, tolerance) for tolerance in (1e-9, 1e-11, 1e-13))
    assert loose < 2e-7
    assert tight < min(1e-9, loose)
    assert tightest < min(6e-10, loose)


@pytest.mark.parametrize("name", CASES)
def test_energy_and_closure_stay(name):
    motion = moved(*started(name), 1e-13)
    assert np.ptp(motion.energy[:, 2]) < 1e-11 * np.ptp(motion.energy[:, 0])
    assert np.abs(motion.residuals).max() < 1e-13


@pytest.mark.parametrize("speed", [1.7, 3.1, 5.3, 8.9])
def test_at_any_speed(speed):
    """From slow to fast, so that steps begin anywhere before a dead point."""
    dynamics, q0, _ = started("2 windows")
    _, u0 = ph.assemble(dynamics, q0, {"crank0_dot": speed}, keep=["crank0", "crank0_dot"])
    angle = solve_ivp(swinging(3, 3.5 * G), (0, 5), [0, speed], "DOP853", TIMES, rtol=1e-13, atol=1e-13).y[0]
    for tolerance, most in ((1e-9, 1e-7), (1e-11, 3e-9), (1e-13, 1e-10)):
        assert np.abs(moved(dynamics, q0, u0, tolerance).q - angle[:, None]).max() < most


def test_with_a_method_of_lower_order():
    assert error("2 windows", 1e-11, method="dopri5") < 5e-9
    assert error("2 windows", 1e-13, method="dopri5") < 2e-10


def test_fewer_evaluations_than_short_steps_would_take():
    """Plain steps take 10,319 for 2 windows, with an error of 3e-9."""
    assert moved(*started("2 windows"), 1e-13).statistics["evaluations"] < 4000


@pytest.mark.parametrize("tolerance", [1e-6, 1e-9, 1e-13])
@pytest.mark.parametrize(
    ("model", "start"), [(bricard, (None, None)), (partial(governor, True), GOVERNOR)], ids=["Bricard", "governor"]
)
def test_machines_without_dead_points_pay_nothing(model, start, tolerance):
    """Twelve evaluations an attempt, and two for the first size."""
    motion = moved(ph.formulate(model()).compile(), *start, tolerance, np.array([0.0, 10.0]))
    attempts = motion.statistics["steps"] + motion.statistics["rejected"]
    assert motion.statistics["evaluations"] <= 12 * attempts + 2
