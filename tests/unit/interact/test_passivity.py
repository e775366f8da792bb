"""An active wall gives energy; with the passivity controller it does not."""

import numpy as np
import pytest

from polhode.interact import Passivity, Scripted

T = 1e-3
WALL = 0.0  # beyond it, along x


def bounced(watch: Passivity, negative: float, ticks: int = 3000, stiffness: float = 3e4):
    """A device of 0.2 kg that an arm pushes weakly at a stiff wall with negative damping; its energy counted twice."""
    hand = Scripted(lambda t: (0.02, 0, 0), mass=0.2, stiffness=20.0, arm_damping=0.0, damping=0.0, at=(-0.02, 0, 0))
    begun, observed, counted = hand.kinetic, [], []
    for _ in range(ticks):
        sample = hand.read()
        x, v = sample.position[0] - WALL, sample.twist[3]
        # on the wall, by the hand
        force = stiffness * x - negative * v if x > 0 else 0.0
        shown = watch.tick([force, 0, 0], hand.moved, sample.twist[3:])
        observed.append(watch.energy)
        counted.append(hand.worked - (hand.kinetic - begun))  # what the arm did and the device does not have
        hand.write((0, 0, 0, *(-shown)))
        hand.advance(T)
    return hand, np.array(observed), np.array(counted)


def test_an_active_wall_gives_energy_and_the_observer_sees_it():
    _, observed, counted = bounced(Passivity(T, 100.0, control=False), negative=10.0, ticks=400)
    assert observed == pytest.approx(counted, abs=1e-9 * abs(counted).max())
    assert observed[-1] < -0.05


def test_the_controller_takes_it_out():
    watch = Passivity(T, 150.0)
    hand, observed, counted = bounced(watch, negative=10.0)
    assert observed == pytest.approx(counted, abs=1e-9 * abs(counted).max())
    free = bounced(Passivity(T, 150.0, control=False), negative=10.0, ticks=3000)[1]
    assert free.min() < 50 * observed.min() < 0  # what is left is that of one tick
    assert observed[-1] > -1e-3
    assert watch.taken > 0.01
    assert abs(hand.x[0]) < 0.03


def test_a_passive_wall_is_left_alone():
    watch = Passivity(T, 150.0)
    bounced(watch, negative=-20.0, stiffness=1e3)
    assert watch.taken == 0
    assert watch.energy > 0


def test_energy_that_was_there_may_be_given():
    watch = Passivity(T, 10.0, there=1.0)
    for _ in range(5):
        shown = watch.tick(-100.0, 1e-3, 1.0)
    assert shown == pytest.approx(-100.0)
    assert watch.energy == pytest.approx(1 - 4 * 0.1)
    for _ in range(8):
        shown = watch.tick(-100.0, 1e-3, 1.0)
    assert shown == pytest.approx(-90.0)  # the damper is at its limit


def test_numbers_are_required():
    with pytest.raises(ValueError, match="most_damping is inf, expected"):
        Passivity(T, np.inf)
