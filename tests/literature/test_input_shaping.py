"""Input shapers of Singer and Seering (1990) on a flexible arm, as `examples/10_slewing_arm.py` has them."""

import runpy
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest


@pytest.fixture(scope="module")
def arm():
    return SimpleNamespace(**runpy.run_path(str(Path(__file__).parents[2] / "examples" / "10_slewing_arm.py")))


@pytest.fixture(scope="module")
def mode(arm):
    return arm.swinging()


@pytest.fixture(scope="module")
def slewed(arm, mode):
    """A bare command, ZV, ZVD, and ZV for a frequency that is wrong by a tenth; runs by their payload."""
    f, zeta = mode
    commands = {"rigid": arm.AT_ONCE, "bare": arm.AT_ONCE, "ZV": arm.zero_vibration(f, zeta)}
    commands |= {"ZVD": arm.zero_vibration(f, zeta, 2), "off": arm.zero_vibration(1.1 * f, zeta)}
    return commands, {m: arm.slewed(commands, m) for m in (arm.PAYLOAD, arm.HEAVIER)}


def test_impulses_leave_nothing_of_an_oscillator(arm):
    """Halves without damping; with it, what decaying swings add up to after the last impulse."""
    assert arm.zero_vibration(2.0, 0.0) == [(0, 0.5), (0.25, 0.5)]
    assert arm.zero_vibration(2.0, 0.0, 2) == [(0, 0.25), (0.25, 0.5), (0.5, 0.25)]
    for n in (1, 2):
        impulses = arm.zero_vibration(2.0, 0.1, n)
        pole = 2 * np.pi * 2.0 * (-0.1 + 1j * np.sqrt(0.99))
        assert sum(share for _, share in impulses) == pytest.approx(1)
        assert abs(sum(share * np.exp(-pole * late) for late, share in impulses)) < 1e-12


def test_the_arm_rings_as_its_linear_model_says(arm, mode, slewed):
    """Period and decrement of the swings that the run shows, against the eigenvalue."""
    traj = slewed[1][arm.PAYLOAD]
    t, y = traj.t, arm.deflection(traj, "bare")
    t, y = t[t > 1.2], y[t > 1.2]
    tops = [i for i in range(1, len(y) - 1) if y[i - 1] < y[i] > y[i + 1]]
    vertex = [_top(t[i - 1 : i + 2], y[i - 1 : i + 2]) for i in tops]
    (first, high), (last, low) = vertex[0], vertex[-1]
    swings = len(vertex) - 1
    f, zeta = mode
    assert (last - first) / swings == pytest.approx(1 / (f * np.sqrt(1 - zeta**2)), rel=2e-3)
    assert np.log(high / low) / (2 * np.pi * swings) == pytest.approx(zeta / np.sqrt(1 - zeta**2), rel=0.03)


def _top(t, y):
    a, b, c = np.polyfit(t - t[1], y, 2)
    return t[1] - b / (2 * a), c - b**2 / (4 * a)


def test_shaped_commands_leave_the_arm_still(arm, slewed):
    commands, runs = slewed
    left = {name: arm.ringing(runs[arm.PAYLOAD], name, commands[name]) for name in commands}
    assert left["bare"] > 0.03  # m
    assert left["rigid"] < 1e-12
    assert left["ZVD"] < left["ZV"] < 0.02 * left["bare"]
    assert left["off"] > 0.1 * left["bare"]


def test_three_impulses_forgive_another_payload(arm, slewed):
    commands, runs = slewed
    left = {name: arm.ringing(runs[arm.HEAVIER], name, commands[name]) for name in commands}
    assert left["ZVD"] < 0.03 * left["bare"] < 0.05 * left["bare"] < left["ZV"]
