"""Machines that start, stop and turn close to a dead point, or go through it slowly.

Each moves by equations in as few coordinates as it has freedoms, written by hand and integrated by SciPy. The
error follows the tolerance, and no machine changes its branch: the second way to move leads elsewhere at once.
"""

from functools import cache, partial
from itertools import pairwise

import numpy as np
import pytest
from numpy import cos, pi, sin
from scipy.integrate import solve_ivp

import polhode as ph
from tests.literature.test_dead_points import equal_slider_crank, parallelogram, sliding, swinging
from tests.mechanisms import GRAVITY, rod, windows

G = 9.81
DEAD = pi / 2
TIMES = np.linspace(0, 3, 301)
TOLERANCES = (1e-6, 1e-9, 1e-11, 1e-13)


def on_a_cart():
    """Three cranks under one coupler of 2 m and 2 kg, on a cart of 2 kg that rolls along x."""
    build = ph.Builder("parallelogram on a cart", gravity=GRAVITY)
    build.body("cart", joint=ph.prismatic("x"), mass=2)
    for i in range(3):
        build.body(f"crank{i}", parent="cart", joint=ph.revolute((0, 0, -1)), at=(i, 0, 0), **rod("y"))
        build.marker(f"B{i}", body=f"crank{i}", at=(0, 1, 0))
    coupler = {"mass": 2, "com": (1, 0, 0), "inertia": (0, 2 / 3, 2 / 3)}
    build.body("coupler", parent="crank0", joint=ph.revolute("z"), at=(0, 1, 0), **coupler)
    for i in (1, 2):
        build.marker(f"end{i}", body="coupler", at=(i, 0, 0))
        build.loop(f"B{i}", f"end{i}", "axis", name=f"hinge{i}")
    return build.build()


def rolling(t, x):
    """7 kg roll, of which 3.5 kg m swing: rates of place, angle and their speeds."""
    a, v, w = x[1:]
    M = [[7, 3.5 * cos(a)], [3.5 * cos(a), 3]]
    return [v, w, *np.linalg.solve(M, [3.5 * sin(a) * w**2, 3.5 * G * sin(a)])]


def apart():
    """A four-bar linkage whose coupler has coordinates x, y and an angle of its own, and two hinges."""
    build = ph.Builder("coupler apart", gravity=GRAVITY)
    for i in range(2):
        build.body(f"crank{i}", joint=ph.revolute((0, 0, -1)), at=(i, 0, 0), **rod("y"))
        build.marker(f"B{i}", body=f"crank{i}", at=(0, 1, 0))
    build.body("along", joint=ph.prismatic("x"), mass=0)
    build.body("up", parent="along", joint=ph.prismatic("y"), mass=0)
    build.body("coupler", parent="up", joint=ph.revolute("z"), **rod("x"))
    for i in range(2):
        build.marker(f"end{i}", body="coupler", at=(i, 0, 0))
        build.loop(f"B{i}", f"end{i}", "axis", name=f"hinge{i}")
    return build.build()


def same(n):
    """All n coordinates are the angle."""
    return lambda x: np.stack([x[0]] * n)


# model, rates of the equations by hand, coordinates for theirs
MACHINES = {
    "1 window": (partial(windows, 1), swinging(5 / 3, 2 * G), same(3)),
    "2 windows": (partial(windows, 2), swinging(3, 3.5 * G), same(5)),
    "10 windows": (partial(windows, 10), swinging(41 / 3, 15.5 * G), same(21)),
    "parallelogram": (parallelogram, swinging(3, 3.5 * G), same(4)),
    "coupler apart": (
        apart,
        swinging(5 / 3, 2 * G),
        lambda x: np.stack([x[0], x[0], sin(x[0]), cos(x[0]), 0 * x[0]]),
    ),
    "slider-crank": (equal_slider_crank, sliding, lambda x: np.stack([x[0], -2 * x[0], 2 * cos(x[0])])),
    "cart": (on_a_cart, rolling, lambda x: np.stack([x[0], *[x[1]] * 4])),
}

# angle from the dead point and speed at the start; windows fall on from +, and back through the point from -
STARTS = {
    **{f"at rest, {delta:+g}": (delta, 0.0) for d in (1e-1, 1e-2, 1e-3, 1e-4) for delta in (d, -d)},
    "at the point": (0.0, 2.0),
    "at the point, slowly": (0.0, 0.3),
    "through it, slowly": (-0.05, 0.5),
    "through it, fast": (-1.3, 3.0),
}
QUICK = ("at rest, -0.01", "at rest, +0.001", "at rest, -0.0001", "at the point, slowly")


@cache
def formulated(machine):
    return ph.formulate(MACHINES[machine][0]()).compile()


def errors(machine, delta, speed, tolerances=TOLERANCES, dead=DEAD, **options):
    """The largest of all coordinates, for each tolerance."""
    _, rate, coordinates = MACHINES[machine]
    start = [0, dead + delta, 0.3, speed] if machine == "cart" else [dead + delta, speed]
    half = len(start) // 2
    place, pace = np.array(start[:half]), np.array(start[half:])
    expected = solve_ivp(rate, (0, TIMES[-1]), start, "DOP853", TIMES, rtol=1e-13, atol=1e-13).y[:half]
    q0, u0 = coordinates(place), coordinates(place + 1e-30j * pace).imag / 1e-30
    found = []
    for tolerance in tolerances:
        motion = ph.simulate(
            formulated(machine),
            q0,
            u0,
            TIMES[-1],
            output=TIMES,
            rtol=tolerance,
            atol=tolerance,
            progress=False,
            **options,
        )
        assert motion.outcome.finished, motion.outcome
        found.append(np.abs(motion.q - coordinates(expected).T).max())
    return found


def follows(found, tolerances=TOLERANCES, floor=1e-11):
    for error, tolerance in zip(found, tolerances, strict=True):
        assert error < 300 * tolerance + floor, found
    for loose, tight in pairwise(found):
        assert tight < 3 * loose + floor, found


@pytest.mark.parametrize("start", QUICK)
@pytest.mark.parametrize("machine", [name for name in MACHINES if name != "10 windows"])
def test_the_error_follows_the_tolerance(machine, start):
    """Falling from rest it comes to rest at the other side, as far from the other dead point."""
    follows(errors(machine, *STARTS[start], (1e-9, 1e-13)), (1e-9, 1e-13))


@pytest.mark.slow
@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("machine", MACHINES)
def test_everywhere_at_all_tolerances(machine, start):
    """Crossed in one step, 1e-10 remain."""
    follows(errors(machine, *STARTS[start]), floor=2e-10)


@pytest.mark.parametrize("delta", [1e-2, -1e-3, pytest.param(1e-4, marks=pytest.mark.slow)])
def test_it_comes_to_rest_there(delta):
    """From the bottom, with the speed that just does: 2 windows turn before or behind the dead point."""
    speed = -np.sqrt(2 * 3.5 * G / 3 * (cos(DEAD + delta) + 1))
    follows(errors("2 windows", 0.0, speed, dead=pi))


@pytest.mark.parametrize("delta", [1e-2, 1e-4])
def test_it_swings_around_the_point(delta):
    """The slider-crank hangs, and never leaves the point."""
    follows(errors("slider-crank", delta, 0.0, (1e-9, 1e-13), dead=-DEAD), (1e-9, 1e-13))


def test_with_a_method_of_lower_order():
    follows(errors("2 windows", -1e-3, 0.0, (1e-6, 1e-9, 1e-11), method="dopri5"), (1e-6, 1e-9, 1e-11))


def uneven(gap):
    """A four-bar linkage that lies almost flat: one crank is longer, so there is no dead point."""
    build = ph.Builder("uneven", gravity=GRAVITY)
    for i in range(2):
        build.body(f"crank{i}", joint=ph.revolute((0, 0, -1)), at=(i, 0, 0), **rod("y"))
        build.marker(f"B{i}", body=f"crank{i}", at=(0, 1 + gap * i, 0))
    build.body("coupler", parent="crank0", joint=ph.revolute("z"), at=(0, 1, 0), **rod("x"))
    build.marker("end", body="coupler", at=(1 + gap, 0, 0))
    build.loop("B1", "end", "axis")
    return build.build()


@pytest.mark.parametrize("gap", [1e-2, 1e-4, 1e-6])
def test_a_machine_that_misses_a_dead_point_narrowly_turns_there(gap):
    """It changes to the other way to move at once, and keeps its energy; so tolerances agree."""
    dynamics = ph.formulate(uneven(gap)).compile()
    start = ph.assemble(dynamics, [DEAD - 0.05] * 3, keep=["crank0"])
    ends = []
    for tolerance in (1e-9, 1e-11):
        motion = ph.simulate(dynamics, *start, 2.0, rtol=tolerance, atol=tolerance, progress=False)
        assert motion.outcome.finished, motion.outcome
        assert np.ptp(motion.energy[:, 2]) < 500 * tolerance
        ends.append(motion.q[-1])
    np.testing.assert_allclose(*ends, rtol=0, atol=1e-7)
