"""A slow input glides, and says a speed that is that of its glide."""

from itertools import pairwise

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from polhode.interact import Placed, Pushed, Sample, Smoothed

T = 1e-3


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


def quaternion(vector):
    x, y, z, w = Rotation.from_rotvec(vector).as_quat()
    return (w, x, y, z)


def test_it_glides_from_sample_to_sample():
    """60 samples a second of a turn and a way at even speed, read at 1 kHz."""
    mouse, rng = Pushed(clock=lambda: 0.0), np.random.default_rng(0)
    smooth, samples, found = Smoothed(mouse, over=0.016, period=T), 0, []
    axis = rng.normal(size=3)
    for k in range(160):
        if k % 16 == 0:
            t = samples * 0.016
            mouse.push(Sample(t=t, position=(0.5 * t, -t, 0), rotation=quaternion(axis * t)))
            samples += 1
        found.append(smooth.read())
    late = found[40:]
    for before, after in pairwise(late):
        assert np.subtract(after.position, before.position) / T == pytest.approx(after.twist[3:], abs=1e-9)
        turn = [Rotation.from_quat([*s.rotation[1:], s.rotation[0]]) for s in (before, after)]
        assert (turn[1] * turn[0].inv()).as_rotvec() / T == pytest.approx(after.twist[:3], abs=1e-7)
        assert after.twist[3:] == pytest.approx((0.5, -1, 0), abs=1e-9)
        assert after.twist[:3] == pytest.approx(axis, rel=1e-3)
    assert late[-1].position == pytest.approx((0.5 * 9 * 0.016, -9 * 0.016, 0))


def test_it_is_there_after_its_time_and_stays():
    mouse = Pushed(clock=lambda: 0.0)
    smooth = Smoothed(mouse, over=0.01, period=T)
    mouse.push(Sample())
    assert smooth.read().position == (0, 0, 0)
    mouse.push(Sample(position=(1, 0, 0)))
    assert [round(smooth.read().position[0], 12) for _ in range(12)] == [*np.round(np.arange(1, 11) / 10, 12), 1, 1]
    assert smooth.read().twist == (0,) * 6


def test_its_speed_is_limited():
    mouse = Pushed(clock=lambda: 0.0)
    smooth = Smoothed(mouse, over=0.01, period=T, most_speed=2.0)
    mouse.push(Sample())
    smooth.read()
    mouse.push(Sample(position=(0, 0.3, 0.4)))
    speeds = [np.linalg.norm(smooth.read().twist[3:]) for _ in range(251)]
    assert max(speeds) == pytest.approx(2)
    assert smooth.read().position == pytest.approx((0, 0.3, 0.4))
    assert sum(speeds) * T == pytest.approx(0.5)


def test_a_new_grip_begins_where_it_is():
    mouse = Pushed(clock=lambda: 0.0)
    smooth = Smoothed(mouse, over=0.01, period=T)
    assert smooth.read() is None
    mouse.push(Sample(buttons=0))
    smooth.read()
    mouse.push(Sample(position=(3, 0, 0), buttons=1))
    assert smooth.read().position == (3, 0, 0)
    assert smooth.read().twist == (0,) * 6


def test_silence_is_stale_and_nonsense_left_aside():
    clock = Clock()
    mouse = Pushed(clock=clock, most_force=1.0)
    smooth = Smoothed(mouse, over=0.01, period=T)
    assert smooth.stale
    mouse.push(Sample())
    assert not smooth.stale
    clock.now = 0.2
    smooth.write((0, 0, 0, 3, 4, 0))
    assert mouse.shown == pytest.approx((0, 0, 0, 0.6, 0.8, 0))
    mouse.push(Sample(position=(np.inf, 0, 0)))
    assert mouse.read() == Sample()
    clock.now = 0.3
    assert smooth.stale
    assert not any(mouse.shown)
    smooth.write((0, 0, 0, 3, 4, 0))
    assert not any(mouse.shown)
    mouse.push(Sample())
    assert any(mouse.shown)
    clock.now = 0.5
    mouse.push(Sample())
    clock.now = 0.6  # nobody has said for long what to show
    assert not mouse.stale
    assert not any(mouse.shown)
    with pytest.raises(ValueError, match="over is 0, expected"):
        Smoothed(mouse, over=0, period=T)


def test_it_is_there_in_time_also_where_each_reading_is_a_new_sample():
    """As of a device in other axes, which turns each."""
    mouse = Pushed(clock=lambda: 0.0)
    smooth = Smoothed(Placed(mouse, axes="y z x", scale=2.0), over=0.01, period=T)
    mouse.push(Sample())
    smooth.read()
    mouse.push(Sample(position=(0, 1, 0)))
    assert [smooth.read().position[0] for _ in range(11)] == pytest.approx([*(2 * np.arange(1, 11) / 10), 2])


def test_what_the_device_rubs_is_said():
    class Wheel(Pushed):
        turning_damping = 0.3

    assert Smoothed(Wheel(damping=2.0), over=0.01, period=T).turning_damping == 0.3
