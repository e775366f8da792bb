"""Pages beside links, controllers and scripts: each keeps what it sets."""

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Link, Sample, coupler, realtime
from polhode.interact.messages import Message
from polhode.interact.pulls import RECENT, REPEATS, Pulls
from polhode.interact.slow import Pushed
from polhode.interact.table import Table
from tests.live import loop, pendulum


@pytest.fixture
def rt(tmp_path):
    return loop(tmp_path)


def test_a_slider_writes_its_own_input_and_no_other(rt):
    table = Table(rt)
    rt.tau = {"elbow_dot": 3.0}  # of a script
    table.do("guest", Message(action="input", name="shoulder_dot", value=2.0))
    assert rt.tau.tolist() == [2.0, 3.0]
    rt.tau = {"elbow_dot": 4.0}
    table.push()
    assert rt.tau.tolist() == [2.0, 4.0]
    assert table.words()["inputs"] == {"shoulder_dot": 2.0, "elbow_dot": 4.0}


def test_a_hand_adds_to_what_a_controller_sets_and_leaves_that(rt):
    table = Table(rt)
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))
    table.do("guest", Message(action="drag", point=(0.5, 0, -1.5)))
    table.push()
    pull = rt.tau
    assert np.abs(pull).min() > 0.1
    for given in ([1.0, 2.0], [-5.0, 0.25], [0.0, 0.0]):  # the controller overwrites all, again and again
        rt.tau = given
        for _ in range(3):
            table.push()
        np.testing.assert_allclose(rt.tau, pull + given, atol=1e-12)
        np.testing.assert_allclose(table.inputs, given, atol=1e-12)
    rt.tau = [7.0, 8.0]
    table.do("guest", Message(action="drop"))
    assert rt.tau.tolist() == [7.0, 8.0]


def test_a_hand_that_pulls_for_long_does_not_pull_more(rt):
    """Forces change with each push; none of them is taken for an input."""
    table = Table(rt)
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))
    table.do("guest", Message(action="drag", point=(0.4, 0, -1.6)))
    for _ in range(500):
        table.push()
        rt.step()
    assert not table.inputs.any()
    table.leave("guest")
    assert not rt.tau.any()


def test_hands_of_two_servers_add_up_and_do_not_run_away(rt):
    one, two = Table(rt), Table(rt)
    for table, guest in ((one, "a"), (two, "b")):
        table.do(guest, Message(action="grab", frame=1, point=(0, 0, -1)))
        table.do(guest, Message(action="drag", point=(0.3, 0, -1)))
    one.push()
    two.push()
    both = rt.tau
    for _ in range(50):
        one.push()
        two.push()
    np.testing.assert_allclose(rt.tau, both, atol=1e-12)
    one.leave("a")
    np.testing.assert_allclose(rt.tau, both / 2, atol=1e-12)
    two.leave("b")
    assert not rt.tau.any()
    assert not one.inputs.any()


def test_an_old_pull_that_another_thread_writes_again_is_no_input(rt):
    """Who sets one input reads all and writes all; what was pulled between these is overwritten by what was before."""
    pulls = Pulls.of(rt)
    for k in range(RECENT):
        pulls.pull("hand", np.array([1.0 + k, 0.0]))
        old = rt.tau
    pulls.pull("hand", np.array([9.0, 0.0]))
    rt.tau = [old[0], 5.0]  # it meant the second one
    pulls.pull("hand", np.array([10.0, 0.0]))
    assert rt.tau.tolist() == [10.0, 5.0]
    old = rt.tau
    pulls.pull("hand", None)
    rt.tau = [old[0], 6.0]
    assert not pulls.settled  # it will be looked at again
    pulls.pull("hand", None)
    assert rt.tau.tolist() == [0.0, 6.0]
    for _ in range(REPEATS):
        pulls.pull("hand", None)
    assert pulls.settled


def test_a_push_without_a_change_sets_nothing(rt):
    """Else it would renew forces that nobody holds any more, and the watchdog of the loop would never act."""
    table = Table(rt)
    table.do("guest", Message(action="input", name="shoulder_dot", value=2.0))
    rt.watchdog(0.01)
    for _ in range(100):
        table.push()
        rt.step()
    assert rt.stale == 1


def test_a_reset_forgets_what_was_pulled(rt):
    table, other = Table(rt), Table(rt)
    other.do("b", Message(action="grab", frame=1, point=(0, 0, -1)))
    other.do("b", Message(action="drag", point=(0.3, 0, -1)))
    other.push()
    table.do("a", Message(action="input", name="elbow_dot", value=2.0))
    table.do("a", Message(action="reset"))
    assert not rt.tau.any()
    other.leave("b")
    assert not rt.tau.any()


def test_a_state_of_which_nothing_can_be_said_is_let_go(rt, monkeypatch):
    table = Table(rt)
    table.do("guest", Message(action="grab", frame=1, point=(0, 0, -1)))

    def fails(self, state):
        raise np.linalg.LinAlgError("Eigenvalues did not converge")

    monkeypatch.setattr("polhode.interact.hand.Hand.forces", fails)
    table.push()
    assert not table.hands
    assert not rt.tau.any()


def test_a_device_and_a_page_pull_at_the_same_time(tmp_path):
    """The page has one end of the pendulum, the device the other: the machine feels both."""
    held = coupler(ph.load(pendulum(tmp_path)), "tip", stiffness=50.0, damping=1.0, most_force=20.0)
    rt = realtime(ph.formulate(held.model).compile())
    device, table = Pushed(timeout=60.0), Table(rt)
    link = Link(rt, held, device)
    device.push(Sample(position=(0.4, 0, -1.7), buttons=1))
    table.do("guest", Message(action="grab", frame=1, point=(0, 0, -1)))
    table.do("guest", Message(action="drag", point=(-0.3, 0, -0.95)))
    for k in range(2000):
        link.tick()
        if k % 4 == 0:
            table.push()
    where = table.picture.poses(rt.state)
    knee, tip = (where[2] @ [0, 0, 0, 1])[:3], (where[2] @ [0, 0, -0.8, 1])[:3]
    assert knee[0] < -0.2 < 0.0 < tip[0]
    assert link.wrench[3] > 1.0
    table.leave("guest")
    assert rt.tau[: len(rt.state.u)].tolist() == [0.0, 0.0]
    assert rt.tau[-1] > 0  # the device holds on
