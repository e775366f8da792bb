"""Whatever hangs, jumps or ends: the machine is let go, and nothing snaps."""

import sys
import threading
import time

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

import polhode as ph
from polhode.interact import Link, Pushed, Sample, coupler, realtime


def sledge(**given):
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    build.body("other", joint=ph.prismatic("x", name="y"), mass=1.0)
    held = coupler(build.build(), "sledge", stiffness=100.0, damping=4.0, most_force=20)
    return realtime(ph.formulate(held.model).compile(), rate=1000, **given), held


def until(true, what):
    deadline = time.monotonic() + 60
    while not true():
        assert time.monotonic() < deadline, f"{what} was never so"
        time.sleep(0.002)


class Hanging(Pushed):
    """A device whose driver does not come back until it is allowed to."""

    def __init__(self):
        super().__init__(timeout=1e9)
        self.free, self.reads, self.hangs = threading.Event(), 0, False
        self.free.set()

    def read(self):
        self.hangs = not self.free.is_set()
        self.free.wait(60)
        self.reads += 1
        return super().read()


def test_of_two_that_set_inputs_at_once_none_is_lost():
    """A grip that is let go by one thread must not come back by another one."""
    rt, _ = sledge()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:

        def sets(name):
            for k in range(5000):
                rt.tau = {name: float(k)}
                assert rt.tau[rt._sim._inputs.names.index(name)] == k

        threads = [threading.Thread(target=sets, args=(name,)) for name in ("x_dot", "y_dot", "hand_grip")]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    finally:
        sys.setswitchinterval(before)
    assert rt.tau[[0, 1, -1]].tolist() == [4999.0] * 3
    assert rt._block.tau_count % 2 == 0


def test_the_watchdog_outlives_a_reset():
    rt, _ = sledge()
    rt.watchdog(0.01)
    rt.reset()
    rt.tau = {"x_dot": 1.0}
    rt.step(20)
    assert rt.stale == 1
    pushed = rt.state.u[0]
    rt.step(20)
    assert rt.state.u[0] == pushed


def test_a_driver_that_hangs_lets_go_of_the_machine_though_a_page_goes_on_to_push():
    rt, held = sledge()
    device = Hanging()
    device.push(Sample(position=(1.0, 0, 0)))
    link, ended = Link(rt, held, device), threading.Event()

    def pages():
        k = 0
        while not ended.wait(0.004):
            k += 1
            rt.tau = {"y_dot": 1e-6 * k}

    page = threading.Thread(target=pages)
    page.start()
    try:
        with rt, link:
            until(lambda: rt.state.u[0] > 0.01, "that it is pulled")
            device.free.clear()
            until(lambda: rt.tau[-1] == 0, "that it is let go")
            assert rt.stale == 0  # the loop's own watchdog sees a page that pushes
            assert link.hung == 1
            speed = rt.state.u[0]
            ticks = rt.ticks + 20
            until(lambda: rt.ticks > ticks, "that it moves on")
            assert rt.state.u[0] == pytest.approx(speed, rel=0.5)
            device.free.set()
            until(lambda: rt.tau[-1] == 1, "that it is held again")
    finally:
        device.free.set()
        ended.set()
        page.join()


def test_a_driver_that_never_comes_back_does_not_keep_the_program():
    rt, held = sledge()
    device = Hanging()
    device.push(Sample(position=(1.0, 0, 0)))
    link = Link(rt, held, device).start()
    until(lambda: rt.tau[-1] == 1, "that it is held")
    device.free.clear()
    until(lambda: device.hangs, "that it hangs")
    reads = device.reads
    link.stop()
    assert "hangs" in link.failure
    assert rt.tau[-1] == 0
    link.start()  # another try: the thread that hung must not serve beside it
    device.free.set()
    until(lambda: device.reads > reads + 10, "that it is served")
    served = [t for t in threading.enumerate() if t.name.startswith("Thread") and "_serve" in t.name]
    assert len(served) == 1
    link.stop()


def test_a_grip_where_the_device_is_elsewhere_does_not_snap():
    """Without `relative` the spring begins with the energy of 0.5 m, which nobody put in."""
    energies = {}
    for relative in (False, True):
        rt, held = sledge()
        device = Pushed(timeout=1e9)
        link = Link(rt, held, device, relative=relative)
        device.push(Sample(position=(0.5, 0.2, -0.1)))
        link.tick()
        energies[relative] = link.stored + rt.state.u[0] ** 2
        if relative:
            assert link.wrench == pytest.approx(np.zeros(6), abs=1e-12)
            device.push(Sample(position=(0.51, 0.2, -0.1)))
            link.tick()
            assert link.wrench[3] == pytest.approx(1.0, rel=0.01)
            device.push(Sample(position=(0.51, 0.2, -0.1), buttons=0))  # lifted, moved and put down
            link.tick()
            device.push(Sample(position=(0.9, 0.2, -0.1)))
            link.tick()
            assert link.wrench == pytest.approx(np.zeros(6), abs=0.1)
    assert energies[False] > 8  # J: 20 N at most, over some 0.54 m, less what it takes to reach them
    assert energies[True] < 1e-12


def test_a_turned_device_turns_the_marker_by_as_much():
    """Where both begin turned, the marker follows the same rotation of the world."""
    rng = np.random.default_rng(5)
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(name="ball"), mass=1.0, inertia=(0.01, 0.01, 0.01))
    build.marker("grip", body="ball", at=(0.1, 0.0, 0.2), rpy=(0.4, 1.0, -0.5))
    held = coupler(build.build(), "grip", stiffness=100, damping=1, turning_stiffness=2.0, turning_damping=0.05)
    rt = realtime(ph.formulate(held.model).compile(), rate=1000)
    device, start = Pushed(timeout=1e9), Rotation.random(random_state=1)
    link, way = Link(rt, held, device, relative=True), Rotation.from_rotvec(0.1 * rng.normal(size=3))

    def push(turn):
        x, y, z, w = turn.as_quat()
        device.push(Sample(position=(3, 2, 1), rotation=(w, x, y, z)))
        link.tick()

    push(start)
    assert link.wrench == pytest.approx(np.zeros(6), abs=1e-12)
    push(way * start)
    turn = way.as_rotvec()
    e = 2 * np.sin(np.linalg.norm(turn) / 2) * turn / np.linalg.norm(turn)
    assert link.wrench[:3] == pytest.approx(2.0 * e, rel=0.02, abs=1e-3)


def test_a_reset_while_it_is_held_does_not_snap():
    rt, held = sledge()
    device = Pushed(timeout=1e9)
    link = Link(rt, held, device, relative=True)
    for k in range(300):
        device.push(Sample(position=(0.001 * k, 0, 0), twist=(0, 0, 0, 1, 0, 0)))
        link.tick()
    assert rt.state.q[0] > 0.1
    rt.reset()
    device.push(Sample(position=(0.3, 0, 0)))
    link.tick()
    assert link.wrench == pytest.approx(np.zeros(6), abs=1e-9)


def test_a_device_that_breaks_in_its_answer_is_let_go_too():
    rt, held = sledge()
    device = Pushed(timeout=1e9)
    device.push(Sample(position=(1.0, 0, 0)))

    def broken(wrench):
        raise OSError("unplugged")

    device.write = broken
    link = Link(rt, held, device).start()
    link._thread.join()
    assert rt.tau[-1] == 0
    assert "unplugged" in link.failure
    with pytest.raises(OSError, match="unplugged"):  # it is asked once more, and says so
        link.stop()
