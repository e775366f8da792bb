"""Parameters that a script sets while a machine runs: what is shown to devices and on pages is by the new ones."""

import numpy as np
import pytest

import polhode as ph
from polhode.interact import AdmittanceLink, Link, Pushed, Sample, admittance, coupler, effective_mass, realtime
from polhode.interact.messages import Message
from polhode.interact.table import Table

A, TO = 0.1, np.array([0.3, 0.0, -1.0])  # the angle at first; where the device is


def pendulum():
    """A bar with a tip at L, which changes nothing but where the hand is."""
    build, L, m = ph.Builder("pendulum"), ph.symbol("L"), ph.symbol("m")
    build.body("bar", joint=ph.revolute("y", name="a"), mass=m, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.01))
    build.marker("tip", body="bar", at=(0, 0, -L))
    return build.build()


def tip(L, a=A):
    return L * np.array([-np.sin(a), 0, -np.cos(a)])


def test_a_device_is_shown_the_force_of_the_machine_that_is():
    held = coupler(pendulum(), "tip", stiffness=100, damping=0)
    rt = realtime(ph.formulate(held.model).compile(), [A], method="rk4", p={"L": 0.5, "m": 1.0})
    hand = Pushed(timeout=1e9)
    link = Link(rt, held, hand)
    hand.push(Sample(position=tuple(TO)))
    rt.p = {"L": 1.0}
    link.tick()
    np.testing.assert_allclose(link.wrench[3:], 100 * (TO - tip(1.0)), rtol=1e-12, atol=1e-12)
    assert link.stored == pytest.approx(50 * ((TO - tip(1.0)) ** 2).sum())


def test_a_device_is_moved_to_where_the_marker_is():
    class Arm:
        most_force = most_torque = np.inf
        stale = False

        def read_wrench(self):
            return (0.0,) * 6

        def move(self, to):
            self.to = to

    made, arm = admittance(pendulum(), "tip"), Arm()
    rt = realtime(ph.formulate(made.model).compile(), [A], p={"L": 0.5, "m": 1.0})
    link = AdmittanceLink(rt, made, arm)
    rt.p = {"L": 1.0}
    link.tick()
    np.testing.assert_allclose(arm.to.position, tip(1.0, rt.state.q[0]), rtol=1e-12)


def test_a_page_shows_and_keeps_what_a_script_set():
    """A slider used to take other parameters back to what the page had seen of them."""
    rt = realtime(ph.formulate(pendulum()).compile(), [A], p={"L": 0.5, "m": 1.0})
    table = Table(rt)
    rt.p = {"m": 3.0}
    assert table.words()["parameters"] == {"L": 0.5, "m": 3.0}
    potential = np.frombuffer(table.frame()[:64], "<f8")[2]
    assert potential == pytest.approx(-3.0 * 9.81 * 0.5 * np.cos(A))
    table.do("guest", Message(action="parameter", name="L", value=0.7))
    assert rt.p.tolist() == [0.7, 3.0]
    rt.p = {"m": 4.0}
    table.do("guest", Message(action="reset"))
    assert rt.p.tolist() == [0.7, 4.0]


@pytest.mark.parametrize("size", [1e-7, 1.0, 1e7])
def test_masses_of_the_smallest_and_largest_units(size):
    """What is small in its units was taken for what a force cannot move, what is large for what no torque turns."""
    build = ph.Builder("cube", gravity=(0, 0, 0))
    build.body("cube", joint=ph.free(), mass=2.0, inertia=(0.3 * size**2,) * 3)
    found = effective_mass(ph.formulate(build.build()).compile(), "cube", np.zeros(6))
    np.testing.assert_allclose(found, (0.3 * size**2, 2.0), rtol=1e-9)
