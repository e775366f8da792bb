"""Sampled controllers of expressions in the loop: those of a simulation, and of a function in Python."""

import math
import sys

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Foresight, Session, export, realtime
from polhode.interact.table import Table

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="deadlines by clock_nanosleep, which Linux has")

LAW = {"a_dot": "-20*a - K*a_dot + sin(t)", "b_dot": 0.25}
Q = [0.9, -0.4]


@pytest.fixture(scope="module")
def dyn():
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    build.body("one", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -0.5), inertia=(0.1, 0.1, 0.001))
    build.body("two", parent="one", at=(0, 0, -1), joint=ph.revolute("y", name="b"), mass=1, com=(0, 0, -0.5),
               inertia=(0.1, 0.1, 0.001))  # fmt: skip
    build.brake("b_dot", name="brake", active=False)
    build.force("a_dot", -0.1 * ph.symbol("K") * ph.symbol("a_dot"))
    return ph.formulate(build.build()).compile()


def of_python(t, q, u):
    """The same as LAW, with K = 3."""
    return [-20 * q[0] - 3 * u[0] + math.sin(t), 0.25]


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_the_loop_does_what_a_simulation_does_and_python(dyn, method):
    rt = realtime(dyn, Q, tau=ph.Sampled(LAW, 0.02), p={"K": 3.0}, method=method)
    rt.step(500)
    given = {"p": {"K": 3.0}, "method": method, "step": 1e-3}
    for law in (LAW, of_python):
        traj = ph.simulate(dyn, Q, None, 0.5, tau=ph.Sampled(law, 0.02), **given)
        np.testing.assert_allclose(rt.state.q, traj.q[-1], atol=1e-12)
    finer = ph.simulate(dyn, Q, None, 0.5, tau=ph.Sampled(of_python, 0.001), **given)
    assert np.abs(finer.q[-1] - rt.state.q).max() > 1e-3  # that it is held matters


def test_gains_change_while_it_runs_and_a_session_replays(dyn, tmp_path):
    rt = realtime(dyn, Q, tau=ph.Sampled(LAW, 0.01), p={"K": 3.0})
    rt.step(105)
    slow = rt.state
    rt.p = {"K": 30.0}
    rt.engage("brake")
    rt.step(95)
    assert abs(rt.state.u[0]) < abs(slow.u[0])
    assert abs(rt.state.u[1]) < 1e-12
    rt.session.save(tmp_path / "s.npz")
    for session in (rt.session, Session.load(tmp_path / "s.npz")):
        last = ph.replay(dyn, session)[-1]
        np.testing.assert_array_equal(last.q, rt.state.q)
        np.testing.assert_array_equal(last.u, rt.state.u)
    rt.reset()
    rt.step(105)
    np.testing.assert_array_equal(rt.state.q, slow.q)


def test_foresight_holds_what_is_held(dyn):
    rt = realtime(dyn, Q, tau=ph.Sampled(LAW, 0.02), p={"K": 3.0})
    rt.step(137)  # between two calls
    sight = Foresight(rt, horizon=0.1)
    sight.look()
    rt.step(100)
    np.testing.assert_allclose(sight._copy.loop.state.q, rt.state.q, atol=1e-12)


def test_by_the_clock_and_on_a_page(dyn):
    rt = realtime(dyn, Q, tau=ph.Sampled({"a_dot": "-20*a"}, 0.01), p={"K": 3.0})
    assert Table(rt).sliders == ("b_dot",)
    rt.tau = {"b_dot": 0.25}
    other = realtime(dyn, Q, tau=ph.Sampled({"a_dot": "-20*a", "b_dot": 0.25}, 0.01), p={"K": 3.0})
    with rt:
        while rt.ticks < 50 and not rt.failure:
            pass
    other.step(rt.ticks)
    np.testing.assert_allclose(rt.state.q, other.state.q, atol=1e-12)


def test_what_it_sets_is_refused_by_name_and_not_pulled(dyn):
    """As of laws that are not sampled; it was taken, and did nothing."""
    rt = realtime(dyn, Q, tau=ph.Sampled({"a_dot": "-20*a"}, 0.01), p={"K": 3.0})
    assert rt.lawful == ("a_dot",)
    with pytest.raises(ValueError, match=r"tau: 'a_dot' follows a law, -20\*a, that was given to realtime"):
        rt.tau = {"a_dot": 5.0}
    assert not rt.tau.any()
    assert Table(rt)._pulls._ruled.tolist() == [True, False]


@pytest.mark.parametrize(
    ("tau", "said"),
    [
        (ph.Sampled(of_python, 0.01), r"Give it to rt.control\(function, rate=100\)"),
        (ph.Sampled(LAW, 0.0105), r"a whole number of ticks of 0.001 s. Take 0.01 s"),
        (ph.Sampled(LAW, 1e-4), r"Take 0.001 s"),
        (ph.Sampled({"c_dot": "a"}, 0.01), "c_dot"),
        (ph.Sampled({"a_dot": "nothing"}, 0.01), "'nothing', expected coordinates, speeds"),
    ],
)
def test_what_cannot_be_is_refused(dyn, tau, said):
    with pytest.raises((TypeError, ValueError, KeyError), match=said):
        realtime(dyn, Q, tau=tau, p={"K": 3.0})


def test_a_page_without_a_server_has_none(dyn, tmp_path):
    with pytest.raises(TypeError, match="export: tau is Sampled, which a page does not have"):
        export(dyn, tmp_path / "x.html", tau=ph.Sampled(LAW, 0.01), p={"K": 3.0})
    with pytest.raises(TypeError, match="expected a function of t, q, u, or expressions by name"):
        ph.Sampled({}, 0.01)
