"""Steady motions against closed forms and published matrices: tops, governors, the benchmark bicycle in a circle.

References:
[Meijaard, Papadopoulos, Ruina, Schwab, Linearized dynamics equations for the balance and
steer of a bicycle: a benchmark and review, Proc. R. Soc. A 463 (2007)]: its matrices;
[Goldstein, Classical mechanics, 1980, section 5.7]: the heavy top.
"""

import numpy as np
import pytest

import polhode as ph
from tests.literature.test_bicycle import GRAVITY, K0, K2, REAR, dynamics

EARTH = 9.81


def top():
    build = ph.Builder("top", gravity=(0, 0, -EARTH))
    angles = ph.compound([*map(ph.revolute, "zxz")], q=("spin", "lean", "turn"))
    build.body("top", joint=angles, mass=1, com=(0, 0, 0.3), inertia=(0.1, 0.1, 0.02))
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize(("guess", "branch"), [(0.5, -1), (40.0, 1)])
def test_a_top_precesses_slowly_or_fast(guess, branch):
    """(A - C) cos(lean) w^2 - C spin w + m g l = 0."""
    dyn, lean, spin = top(), 0.5, 200.0
    found = ph.equilibrium(dyn, {"lean": lean}, {"spin_dot": spin, "turn_dot": guess}, unknowns=["turn_dot"])
    A, C = 0.1 + 0.3**2, 0.02
    a, b, c = (A - C) * np.cos(lean), -C * spin, EARTH * 0.3
    expected = (-b + branch * np.sqrt(b * b - 4 * a * c)) / (2 * a)
    assert found["turn_dot"] == pytest.approx(expected, rel=1e-12)
    assert found.rates == pytest.approx({"spin": spin, "turn": expected})
    assert not found.at_rest
    assert found.stable
    traj = ph.simulate(dyn, **found.start(), t_end=2.0)
    assert abs(traj["lean"] - lean).max() < 1e-7


def test_a_top_that_spins_too_slowly_does_not_precess():
    with pytest.raises(ph.EquilibriumError, match="'lean_dot' accelerates"):
        ph.equilibrium(top(), {"lean": 0.5}, {"spin_dot": 50.0}, unknowns=["turn_dot"])


@pytest.mark.parametrize("rate", [5.0, 8.0])
def test_the_arms_of_a_governor_rise(rate):
    """cos(a) = g / (l w^2), with the masses as points on arms from the axis; hanging where that has no angle."""
    build = ph.Builder("governor", gravity=(0, 0, -EARTH))
    build.body("shaft", joint=ph.revolute("z", name="w"), mass=1, inertia=(0.1, 0.1, 0.1))
    for name, side in (("left", 1), ("right", -1)):
        build.body(
            name, parent="shaft", joint=ph.revolute((0, -side, 0), name=name), mass=2, com=(0, 0, -0.4),
            inertia=(0, 0, 0),
        )  # fmt: skip
    dyn = ph.formulate(build.build()).compile()
    found = ph.equilibrium(dyn, {"left": 0.9, "right": 0.9}, {"w_dot": rate})
    expected = np.arccos(EARTH / (0.4 * rate**2))
    assert abs(found["left"]) == pytest.approx(expected, rel=1e-10)
    assert found.rates == pytest.approx({"w": rate})
    assert found.stable
    hanging = ph.equilibrium(dyn, {"left": 0.0, "right": 0.0}, {"w_dot": rate})
    assert hanging["left"] == 0
    assert not hanging.stable
    # how fast it turns for an angle, as the unknown
    turns = ph.equilibrium(dyn, {"left": 0.7, "right": 0.7}, {"w_dot": 4.0}, unknowns=["w_dot"])
    assert turns["w_dot"] == pytest.approx(np.sqrt(EARTH / (0.4 * np.cos(0.7))), rel=1e-12)


@pytest.mark.parametrize("speed", [2.0, 5.0, 8.0])
def test_a_bicycle_in_a_wide_circle_is_that_of_the_benchmark(speed):
    """(g K0 + v^2 K2) (lean, steer) = (0, torque), for small angles: the rest is their squares."""
    lean = 1e-3
    found = ph.equilibrium(dynamics(), {"lean": lean}, {"rear_dot": -speed / REAR}, unknowns=["steer", "tau.steer_dot"])
    K = GRAVITY * K0 + speed**2 * K2
    steer = -K[0, 0] / K[0, 1] * lean
    assert found["steer"] == pytest.approx(steer, rel=1e-4)
    assert found["tau.steer_dot"] == pytest.approx(K[1] @ [lean, steer], rel=1e-4)
    assert {"x", "yaw", "rear", "front"} <= set(found.rates)
    assert set(found.rates).isdisjoint({"lean", "steer", "z", "pitch"})


def test_a_bicycle_leans_far_in_a_circle_and_stays():
    lean, speed = 0.5, 5.0
    found = ph.equilibrium(dynamics(), {"lean": lean}, {"rear_dot": -speed / REAR}, unknowns=["steer", "tau.steer_dot"])
    assert found["z"] > -0.28
    assert found["steer"] > 0.1
    traj = ph.simulate(dynamics(), **found.start(), t_end=2.0)
    assert abs(traj["lean"] - lean).max() < 1e-6
    assert abs(traj["steer"] - found["steer"]).max() < 1e-6
    # it goes around in a circle
    x, y = traj["x"], traj["y"]
    radius = np.hypot(found["x_dot"], found["y_dot"]) / abs(found["yaw_dot"])
    middle = np.array([-found["y_dot"], found["x_dot"]]) / found["yaw_dot"]
    assert abs(np.hypot(x - middle[0], y - middle[1]) - radius).max() < 1e-5


def test_hands_off_a_bicycle_has_one_speed_for_a_lean():
    """Without a torque: det (g K0 + v^2 K2) = 0 for small angles: the rest is their squares."""
    lean = 1e-3
    found = ph.equilibrium(dynamics(), {"lean": lean}, {"rear_dot": -5.0 / REAR}, unknowns=["steer", "rear_dot"])
    ratio = -GRAVITY * K0[0, 0]
    v2 = (found["rear_dot"] * REAR) ** 2
    assert abs(np.linalg.det(GRAVITY * K0 + v2 * K2)) < 1e-3 * ratio
    assert not found["tau.steer_dot"]
