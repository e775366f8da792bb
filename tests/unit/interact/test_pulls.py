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

    def fails(self, state, lasts):
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


def test_a_pull_that_is_not_renewed_ends_in_the_loop(rt):
    """Python hangs, with a slider set and a body pulled: 20 ms later the slider acts alone, as if it was let go."""
    table = Table(rt)
    table.do("guest", Message(action="input", name="elbow_dot", value=2.0))
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))
    table.do("guest", Message(action="drag", point=(0.8, 0, -1.4)))
    table.push()
    pulled = rt.tau
    rt.step(100)
    assert rt.stale == 1
    other = ph.realtime(rt.dynamics)
    other.tau = pulled
    other.step(20)
    assert np.abs(other.state.u).max() > 0.1
    other.tau = [0.0, 2.0]
    other.step(80)
    np.testing.assert_array_equal(rt.state.q, other.state.q)
    np.testing.assert_array_equal(ph.replay(rt.dynamics, rt.session)[-1].q, rt.state.q)
    table.push()  # it comes by again, and pulls again
    rt.step()
    assert rt.stale == 1
    table.do("guest", Message(action="drop"))
    rt.step(100)
    assert rt.stale == 1  # what sliders set stays
    np.testing.assert_array_equal(rt.tau, [0.0, 2.0])


def test_a_pull_that_does_not_change_goes_on(rt):
    table = Table(rt)
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))  # it hangs straight down, and stays
    for _ in range(30):
        table.push()
        rt.step(4)
    assert rt.stale == 0


def test_a_watchdog_of_the_machine_s_own_counts_before_that_of_a_hand(rt):
    rt.watchdog(0.1)
    table = Table(rt)
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))
    table.do("guest", Message(action="drag", point=(0.8, 0, -1.4)))
    table.push()
    rt.step(99)
    assert rt.stale == 0
    rt.step(2)
    assert rt.stale == 1
    table.do("guest", Message(action="drop"))
    rt.tau = [1.0, 1.0]
    rt.step(99)
    assert rt.stale == 1
    rt.step(2)
    assert rt.stale == 2


@pytest.mark.parametrize("every", [1, 4, 50, 250])
def test_a_hand_makes_no_energy_however_rarely_python_comes_by(every):
    """An arm without friction is pulled near its axis, where a point weighs tons: it never has more than springs give.

    The spring is at most that of the whole mass; it was given 0.4 m once, and carries the fall besides.
    """
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    build.body("turret", joint=ph.revolute("z", name="pan"), mass=4, com=(0, 0, 0.1), inertia=(0.02, 0.02, 0.02))
    build.body("upper", parent="turret", at=(0, 0.1, 0.2), joint=ph.revolute("y", name="lift"), mass=8,
               com=(0.2, 0, 0), inertia=(0.01, 0.2, 0.2))  # fmt: skip
    build.body("fore", parent="upper", at=(0.4, 0, 0), joint=ph.revolute("y", name="elbow"), mass=3, com=(0.2, 0, 0),
               inertia=(0.01, 0.1, 0.1))  # fmt: skip
    rt = realtime(ph.formulate(build.build()).compile(), {"elbow": 0.5})
    table, point = Table(rt), (0.0, 0.0, 0.05)
    table.do("guest", Message(action="grab", frame=2, point=point))
    start = table.hands["guest", 0].target
    table.do("guest", Message(action="drag", point=tuple(start + [0.3, 0.2, 0.15])))
    has, weight = [], table.picture.energy(rt.state)[1]
    for k in range(1500):
        if k % every == 0:
            table.push()
        rt.step()
        has.append(sum(table.picture.energy(rt.state)) - weight)
    spring = 0.5 * 15 * 400 * (0.3**2 + 0.2**2 + 0.15**2)
    assert max(has) < spring
    assert max(has) > 1
    assert np.linalg.norm(table.hands["guest", 0].force) < 15 * 400 * 1.5
