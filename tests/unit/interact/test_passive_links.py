"""What keeps a link passive: limits of device and coupler, springs that move and turn at once, torques."""

import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.interact import CouplerWarning, Link, Passivity, Sample, coupler, realtime, suggest
from polhode.interact.stiffness import load

RATE = 1000.0
T = 1 / RATE


class Told:
    """A device that goes where it is told, and counts what the hand does against what it is shown."""

    damping, stale = 0.0, False

    def __init__(self, most_force=np.inf, most_torque=np.inf):
        self.most_force, self.most_torque = most_force, most_torque
        self.sample, self.put, self.shown = Sample(), 0.0, np.zeros(6)

    def to(self, x, T):
        """Move along x in one period; the hand works against what is held."""
        by = x - self.sample.position[0]
        self.put -= self.shown[3] * by
        self.sample = Sample(position=(x, 0, 0), twist=(0, 0, 0, by / T, 0, 0))

    def read(self):
        return self.sample

    def write(self, wrench):
        self.shown = np.array(wrench)


def dragged(most_force):
    """J that a hand gets of a sledge which it drags far stretched, and brakes little stretched."""
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    held = coupler(build.build(), "sledge", stiffness=100.0, damping=0.1, most_force=most_force)
    rt, device = realtime(ph.formulate(held.model).compile(), rate=RATE), Told(most_force=1.0)
    link = Link(rt, held, device)
    for k in range(60_000):
        stretch = np.interp(k, [0, 300, 1000, 1300], [0.0, 0.1, 0.1, -0.01])
        if k > 1300 and rt.state.u[0] < 0.01:
            break
        link.tick()
        device.to(rt.state.q[0] + stretch, T)
    return -device.put


def test_a_device_that_shows_less_than_the_machine_feels_gives_energy():
    """The clamp of the coupler is for both sides; one of the device alone is not."""
    with pytest.warns(CouplerWarning, match="most_force inf N, and the device shows 1 at most"):
        gained = dragged(np.inf)
    assert gained > 10  # J, out of a sledge that was at rest at first
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert dragged(1.0) < 0


def rod(K, B, K_r, B_r):
    """A rod that turns, held at its tip by springs that move and turn it, and a device that stays."""
    build = ph.Builder("rod", gravity=(0, 0, 0))
    build.body("rod", joint=ph.revolute("y", name="a"), mass=1.0, com=(0.25, 0, 0), inertia=(0.01, 0.02, 0.015))
    build.marker("tip", body="rod", at=(0.5, 0, 0))
    held = coupler(build.build(), "tip", stiffness=K, damping=B, turning_stiffness=K_r, turning_damping=B_r)
    rt = realtime(ph.formulate(held.model).compile(), [1e-4], rate=RATE)
    device = Told()
    device.sample = Sample(position=(0.5, 0, 0))
    return rt, held, device


I_TIP = 0.02 + 0.25**2  # kg m^2 about the joint
M_TIP = I_TIP / 0.5**2


def swings(rt, held, device):
    link, found = Link(rt, held, device), []
    for _ in range(400):
        link.tick()
        found.append(abs(rt.state.q[0]))
        if found[-1] > 0.1:
            break
    return np.array(found)


def test_springs_that_move_and_turn_one_joint_add_up():
    """Each at 0.7 of its bound makes no energy alone; together they do, and a warning says so."""
    K, K_r = 0.7 * 4 * M_TIP / T**2, 0.7 * 4 * I_TIP / T**2
    for alone in ((K, 0.0), (0.0, K_r)):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            assert swings(*rod(alone[0], 0.0, alone[1], 0.0)).max() < 2e-4
    with pytest.warns(CouplerWarning, match=r"moves and turns 'tip' at once: .* is 1\.4, expected below 1"):
        assert swings(*rod(K, 0.0, K_r, 0.0)).max() > 0.1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert swings(*rod(0.7 * K, 0.0, 0.7 * K_r, 0.0)).max() < 2e-4


def test_a_suggestion_for_both_keeps_the_bound_of_both():
    rt, _, _ = rod(1.0, 0.0, 1.0, 0.0)
    found = suggest(rt.dynamics, "tip", RATE)
    both = (found.stiffness, found.damping), (found.turning_stiffness, found.turning_damping)
    assert load(*both, rt.dynamics, "tip", RATE, [0.0]) < 1
    # alone it is what the bound of one direction says
    K, B = 0.3 * 4 * M_TIP / T**2, 0.1 * M_TIP / T
    assert load((K, B), (0, 0), rt.dynamics, "tip", RATE, [0.0]) == pytest.approx((K * T**2 + 2 * B * T) / (4 * M_TIP))


def knob(watch, negative, ticks=4000, inertia=2e-4):
    """A knob on a torsion spring with negative damping, held weakly; its energy, counted from its motion."""
    theta, w, held, counted = 0.3, 0.0, 0.0, []
    begun = 0.0
    for _ in range(ticks):
        torque = 0.5 * theta - negative * w  # on the spring, by the knob
        moved = np.array([0, 0, held, 0, 0, 0])
        shown = watch.tick([0, 0, torque, 0, 0, 0], moved, [0, 0, w, 0, 0, 0])
        counted.append(begun - inertia * w**2 / 2)
        before = w
        w = before - shown[2] * T / inertia
        held = (before + w) / 2 * T
        theta += held
    return np.array(counted), watch


def test_torques_are_counted_and_taken_out():
    loose, observed = knob(Passivity(T, 1.0, control=False, most_turning_damping=0.1), negative=0.001, ticks=600)
    assert observed.energy == pytest.approx(loose[-1], abs=1e-12)  # what the knob has is what the wall gave
    assert observed.energy < -0.1
    tamed, watch = knob(Passivity(T, 1.0, there=0.0225, most_turning_damping=0.1), negative=0.001)  # 0.5 0.3^2 / 2
    assert tamed.min() > -0.0225 * 1.2
    assert watch.taken > 0.01


def test_what_goes_in_by_a_push_may_come_out_by_a_turn():
    watch = Passivity(T, 10.0, most_turning_damping=1.0)
    push, turn = np.array([0, 0, 0, 5.0, 0, 0]), np.array([-1.0, 0, 0, 0, 0, 0])
    for _ in range(100):
        watch.tick(push, [0, 0, 0, 1e-3, 0, 0], [0, 0, 0, 1.0, 0, 0])
    assert watch.energy == pytest.approx(99 * 5e-3)
    watch.tick(turn, [0, 0, 0, 1e-3, 0, 0], np.zeros(6))
    for k in range(400):
        shown = watch.tick(turn, [1e-3, 0, 0, 0, 0, 0], [1.0, 0, 0, 0, 0, 0])
        assert (shown[0] == -1.0) == (0.5 - 1e-3 * (k + 1) > -1e-12)


def test_a_device_that_says_no_speed_is_damped_by_how_it_moved():
    watch = Passivity(T, 50.0)
    watch.tick(-1.0, 0.0, 0.0)
    shown = watch.tick(-1.0, 1e-3, 0.0)  # it was given 1 mJ, at 1 m/s
    assert shown == pytest.approx(-1.0 + 1.0)  # alpha = E / T v^2 = 1 N s/m
    assert watch.energy == pytest.approx(-1e-3)


def test_what_is_no_number_is_nothing():
    watch = Passivity(T, 50.0)
    assert watch.tick(np.nan, 1e-3, 1.0) == 0
    watch.tick(2.0, np.inf, 1.0)
    watch.tick(2.0, 1e-3, 1.0)
    assert watch.energy == pytest.approx(2e-3)


def test_a_link_counts_turning_where_it_is_asked_to():
    """The energy that the observer has is what the hand did by pushes and by turns."""
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(name="ball"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    held = coupler(build.build(), "ball", stiffness=100, damping=1, turning_stiffness=2.0, turning_damping=0.02)
    rt, device = realtime(ph.formulate(held.model).compile(), rate=RATE), Told()
    watch = Passivity(T, 1.0, most_turning_damping=0.01, control=False)
    link, put, turned = Link(rt, held, device, watch), 0.0, 0.0
    for k in range(1, 200):
        link.tick()
        assert watch.energy == pytest.approx(put, abs=1e-12)
        way = np.array([0.002 * np.sin(0.05 * k), 0.0, 0.001 * np.cos(0.03 * k)])
        angle = 0.003 * np.sin(0.04 * k)
        put -= device.shown[3:] @ way + device.shown[1] * angle
        turned += angle
        x = tuple(np.array(device.sample.position) + way)
        device.sample = Sample(position=x, rotation=(np.cos(turned / 2), 0, np.sin(turned / 2), 0))
    assert abs(put) > 1e-4
