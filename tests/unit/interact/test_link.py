"""A link lets go of what does not hold, and of what is silent."""

import time
from dataclasses import replace

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.interact import Link, Passivity, Sample, Scripted, coupler, realtime, replay

# what a device cannot show of a coupler's force is a matter of test_passive_links
pytestmark = pytest.mark.filterwarnings("ignore:The coupler has most_force inf")


class Still:
    """A device that stays where it is put."""

    most_force, most_torque, damping = 5.0, np.inf, 0.0

    def __init__(self, sample=None):
        self.sample, self.stale, self.shown = sample, False, None

    def read(self):
        return self.sample

    def write(self, wrench):
        self.shown = wrench


THERE = Sample(position=(0.1, 0, 0))


def machine(mass=2.0, **given):
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=mass)
    held = coupler(build.build(), "sledge", stiffness=100.0, damping=4.0)
    return realtime(ph.formulate(held.model).compile(), rate=1000, **given), held


def test_it_holds_only_what_grips():
    rt, held = machine()
    device = Still()
    link = Link(rt, held, device)

    def acts():
        before = rt.state.u[0]
        link.tick()
        gained = rt.state.u[0] - before
        assert (gained != 0) == any(link.wrench) == any(device.shown)
        return gained != 0

    assert not acts()  # nothing came
    device.sample = THERE
    assert acts()
    device.sample = replace(THERE, buttons=2)
    assert not acts()
    assert link.stored == 0
    device.sample = replace(THERE, buttons=3)
    assert acts()
    assert link.stored == pytest.approx(50 * (0.1 - rt.state.q[0]) ** 2, rel=0.01)
    device.stale = True
    assert not acts()
    device.stale = False
    device.sample = replace(THERE, position=(np.nan, 0, 0))
    assert not acts()


def test_the_device_is_shown_no_more_than_it_can():
    rt, held = machine()
    device = Still(THERE)
    link = Link(rt, held, device)
    link.tick()
    assert link.wrench[3] == pytest.approx(10, rel=0.01)
    assert device.shown[3] == pytest.approx(-5)


def test_parameters_are_those_of_the_machine():
    m = ph.symbol("m")
    known, other = machine(), machine(mass=m, p={"m": 2.0})
    for rt, held in (known, other):
        link = Link(rt, held, Still(THERE))
        for _ in range(10):
            link.tick()
    assert np.array_equal(known[0].state.q, other[0].state.q)


def test_a_linked_run_replays():
    rt, held = machine()
    hand = Scripted(lambda t: (0.1 * np.sin(9 * t), 0, 0), damping=5.0)
    link, states = Link(rt, held, hand), [rt.state.q[0]]
    for _ in range(50):
        link.tick()
        hand.advance(1e-3)
        states.append(rt.state.q[0])
    assert [s.q[0] for s in replay(rt.dynamics, rt.session)] == states
    assert states[-1] != 0


def test_the_observer_counts_what_was_shown():
    """The work of the arm, less what the device has and its friction took."""
    rt, held = machine()
    watch = Passivity(1e-3, 50.0)
    hand = Scripted(lambda t: (0.1 * np.sin(9 * t), 0, 0), damping=5.0, most_force=0.5)
    link, rubbed = Link(rt, held, hand, watch), 0.0
    for _ in range(500):
        link.tick()
        counted = hand.worked - hand.kinetic - rubbed
        assert watch.energy == pytest.approx(counted, abs=1e-10)
        hand.advance(1e-3)
        rubbed += 5.0 * float(hand.moved @ hand.moved) / 1e-3
    assert abs(link.wrench[3]) > 0.5  # so the limit was in use
    assert watch.energy > 1e-3


def test_beside_a_machine_that_runs():
    rt, held = machine()
    device = Still(THERE)
    with rt, Link(rt, held, device) as link:
        while rt.state.q[0] < 0.05:
            time.sleep(0.001)
        assert any(device.shown)
    assert device.shown == (0.0,) * 6
    assert rt.tau[-1] == 0
    assert link.shown == (0.0,) * 6


def test_a_device_that_breaks_is_let_go():
    rt, held = machine()
    device = Still(THERE)

    def broken():
        raise OSError("unplugged")

    link = Link(rt, held, device)
    link.tick()
    assert rt.tau[-1] == 1
    device.read = broken
    link.start()
    link._thread.join()
    assert link.failure == "The device failed: OSError: unplugged. It was let go."
    assert rt.tau[-1] == 0
    link.stop()


def test_a_body_in_space_is_turned_by_what_the_device_feels():
    """A body of equal inertias, on quaternions: J w changes by the torque; body and springs have what was put in."""
    J, T = 0.02, 1e-3
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(name="ball"), mass=2.0, inertia=(J, J, J))
    held = coupler(build.build(), "ball", stiffness=500, damping=5, turning_stiffness=3.0, turning_damping=0.3)
    rt = realtime(ph.formulate(held.model).compile(), rate=1000)
    device, axis, put = Still(Sample()), np.array([2.0, -1.0, 1.5]), 0.0
    device.most_force = np.inf
    link, dyn = Link(rt, held, device), rt.dynamics
    turning = dyn.velocity("ball")
    for k in range(1, 400):
        before = rt.state
        link.tick()
        after = rt.state
        gained = J * (turning(after.q, after.u) - turning(before.q, before.u))[:3] / T
        assert gained == pytest.approx(link.wrench[:3], rel=1e-3, abs=1e-4)
        x, y, z, w = Rotation.from_rotvec(axis * k * T).as_quat()
        put += link.wrench[:3] @ axis * T
        device.sample = Sample(rotation=(w, x, y, z), twist=(*axis, 0, 0, 0))
        assert dyn.energy(after.q, after.u)[0] + link.stored <= put + 2e-3
    assert turning(after.q, after.u)[:3] == pytest.approx(axis, abs=0.2)
    assert put > 0.05


def test_a_rotation_that_is_not_of_length_1_turns_as_one_that_is():
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(name="ball"), mass=2.0, inertia=(0.02, 0.02, 0.02))
    held = coupler(build.build(), "ball", stiffness=0, damping=0, turning_stiffness=3.0, turning_damping=0.3)
    dyn, unit = ph.formulate(held.model).compile(), np.array([np.cos(0.2), 0, np.sin(0.2), 0])
    for size in (1.0, 0.6, 1.9):
        device = Still(Sample(rotation=tuple(size * unit)))
        link = Link(realtime(dyn), held, device)
        link.tick()
        assert link.wrench[:3] == pytest.approx([0, 2 * 3.0 * np.sin(0.2), 0], rel=1e-2)
