"""The woodpecker toy of Glocker, with the parameters of Siconos: three coordinates, small angles, three contacts.

    M = [ mS + mM    mS lM            mS lG         ]   gaps   lM + lG - lS - rO - hS b
        [ mS lM      JM + mS lM^2     mS lM lG      ]          rM - rO + hM a,  rM - rO - hM a
        [ mS lG      mS lM lG         JS + mS lG^2  ]   slips  (1, lM, lG - lS),  (1, rM, 0) twice

of y, the angle a of the sleeve and b of the bird. Bodies that slide stand for the small angles: each contact has a
screw along its own line, which advances as far as the angle moves it, and turns with the inertia.

Reference: [Glocker 1995], Dynamik von Starrkoerpersystemen mit Reibung und Stoessen; Siconos, example Woodpecker.
"""

from __future__ import annotations

import numpy as np
import pytest
from machines import G, compiled

import polhode as ph

rO, rM, hM, lM, lG, hS, lS = 0.0025, 0.0031, 0.0058, 0.010, 0.015, 0.02, 0.0201  # noqa: N816
mM, mS, JM, JS, SPRING = 0.0003, 0.0045, 5.0e-9, 7.0e-7, 0.0056  # noqa: N816
MU, BEAK = 0.3, 0.5  # friction, and the restitution of the beak; the sleeve has none
STATE = (0.0, -0.1036, -0.2788), (-0.3411, 0.0, -7.4583)


def along(x: float, z: float, name: str) -> ph.Joint:
    """A screw that advances by (x, 0, z) in a radian."""
    return ph.screw((x, 0, z), pitch=float(np.hypot(x, z)), name=name)


def woodpecker() -> ph.Dynamics:
    build = ph.Builder("woodpecker", gravity=(0, 0, -G))
    build.body("sleeve", joint=ph.prismatic("z", name="y"), mass=mM)
    # the sleeve's two edges, on either side of the pole
    build.body("edges", parent="sleeve", joint=along(hM, rM, "a"), mass=0, inertia=(JM,) * 3)
    build.marker("left", body="world", at=(-(rM - rO), 0, 0), rpy=(0, np.pi / 2, 0))
    build.marker("right", body="world", at=(rM - rO, 0, 0), rpy=(0, -np.pi / 2, 0))
    for side in ("left", "right"):
        build.contact("edges", side, friction=MU, name=f"sleeve {side}")
    # the bird: its centre, and its beak
    build.body("spring", parent="sleeve", joint=ph.joint([0, 0, 0, 0, 0, lM], name="a2"), mass=0)
    build.body("centre", parent="spring", joint=along(0, lG, "b2"), mass=mS, inertia=(JS / 2,) * 3)
    build.body("beak", parent="spring", joint=along(-hS, lG - lS, "b"), mass=0, inertia=(JS / 2,) * 3)
    build.marker("pole", body="world", at=(-(lM + lG - lS - rO), 0, 0), rpy=(0, np.pi / 2, 0))
    build.contact("beak", "pole", restitution=BEAK, friction=MU, name="beak")
    a, a2, b, b2 = ph.symbols("a a2 b b2")
    build.constraint(a - a2, name="one angle of the sleeve")
    build.constraint(b - b2, name="one angle of the bird")
    build.potential(SPRING * (a - b) ** 2 / 2)
    return compiled(build)


@pytest.fixture(scope="module")
def toy() -> ph.Dynamics:
    return woodpecker()


def started(toy: ph.Dynamics, **options: float) -> ph.Simulation:
    (y, a, b), (y_dot, a_dot, b_dot) = STATE
    a = -(rM - rO) / hM  # printed to four digits, which are 0.9 um within the pole
    q = {"y": y, "a": a, "a2": a, "b": b, "b2": b}
    u = {"y_dot": y_dot, "a_dot": a_dot, "a2_dot": a_dot, "b_dot": b_dot, "b2_dot": b_dot}
    return ph.Simulation(toy, q, u, **options)


def test_the_inertia_is_glocker_s(toy: ph.Dynamics) -> None:
    names = toy.equations.model.speeds
    one = {"y_dot": (1, 0, 0), "a_dot": (0, 1, 0), "a2_dot": (0, 1, 0), "b_dot": (0, 0, 1), "b2_dot": (0, 0, 1)}
    T = np.array([one[name] for name in names], dtype=float)
    M = T.T @ toy.mass_matrix(np.zeros(5)) @ T
    expected = [
        [mS + mM, mS * lM, mS * lG],
        [mS * lM, JM + mS * lM**2, mS * lM * lG],
        [mS * lG, mS * lM * lG, JS + mS * lG**2],
    ]
    assert pytest.approx(np.array(expected), rel=1e-12) == M


def limit(x: np.ndarray) -> float:
    """What a sequence tends to, as a geometric one would [Aitken]."""
    first, second = x[-2] - x[-3], x[-1] - x[-2]
    return float(x[-1] - second**2 / (second - first))


def test_it_settles_on_its_limit_cycle(toy: ph.Dynamics) -> None:
    """Period 0.14597607 s, 19.44538 mm lower each time; the beak strikes once a period.

    It comes there in turns from both sides, 0.84 times as far off each time.
    """
    sim = started(toy, rtol=1e-11, atol=1e-11)
    sim.run(2.4)
    pecks = [event for event in sim.events if event.impulses and "beak" in event.what]
    times = np.array([event.time for event in pecks])
    traj = sim.trajectory()
    heights = np.array([traj["y"][np.flatnonzero(traj.t == t)[-1]] for t in times])
    assert limit(np.diff(times)) == pytest.approx(0.14597607, abs=2e-8)
    assert limit(np.diff(heights)) == pytest.approx(-19.44538e-3, abs=2e-8)
    assert np.abs(traj.energy_drift).max() < 1e-9
