"""Many runs side by side of machines with stops and contacts: those that meet one are as if they ran alone."""

from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.simulate import many as many_module

UR5 = Path(__file__).parents[3] / "examples/ur5.urdf"
GIVEN = {"method": "rk4", "step": 2e-3, "output": 0.02}


@pytest.fixture(scope="module")
def arm():
    return ph.formulate(ph.load(UR5)).compile()


def alone(dyn, bundle, i, q, u, **given):
    """A run of the bundle equals one that is made for itself, with its events."""
    one = ph.simulate(dyn, q, u, float(bundle.t[-1]), **GIVEN, **given)
    found = bundle[i]
    for name in ("t", "q", "u", "tau", "work", "parameters"):
        np.testing.assert_allclose(getattr(found, name), getattr(one, name), rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(bundle.q[i], one.q, rtol=1e-10, atol=1e-10)
    assert [str(event) for event in found.events] == [str(event) for event in one.events]
    assert (found.outcome.finished, found.outcome.time) == (one.outcome.finished, one.outcome.time)
    return one


def test_arms_of_which_some_reach_their_limits(arm):
    """Joints of a UR5 turn by 2 pi either way: those that start near that and fast reach it."""
    rng, count = np.random.default_rng(0), 24
    q, u = rng.uniform(-1, 1, (count, 6)), rng.normal(size=(count, 6))
    q[::4, 5], u[::4, 5] = 2 * np.pi - 0.1, 4.0
    bundle = ph.simulate_many(arm, q, u, 0.3, **GIVEN)
    assert set(range(0, count, 4)) <= set(bundle.runs)
    assert len(bundle.runs) < count / 2  # the others stayed side by side
    met = [i for i in range(count) if len(alone(arm, bundle, i, q[i], u[i]).events) > 1]
    assert set(met) <= set(bundle.runs)
    assert len(met) >= count / 4


def test_no_run_alone_where_none_meets(arm):
    rng = np.random.default_rng(1)
    q, u = rng.uniform(-1, 1, (9, 6)), rng.normal(size=(9, 6))
    bundle = ph.simulate_many(arm, q, u, 0.1, **GIVEN, tau={"wrist_3_dot": 0.1})
    assert not bundle.runs
    alone(arm, bundle, -1, q[-1], u[-1], tau={"wrist_3_dot": 0.1})


@pytest.mark.parametrize("room", [1, 2**19])
@pytest.mark.parametrize("output", [None, 0.02])
def test_a_gap_that_is_grazed_within_a_step(room, output, monkeypatch):
    """Balls thrown up under a ceiling that they touch between two steps, or stay just below; one lies on the floor."""
    monkeypatch.setattr("polhode.simulate.meeting.ROOM", room)
    build = ph.Builder("ball", gravity=(0, 0, -9.81))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.stop("z", upper=0.2, restitution=0.5, name="ceiling")
    build.contact("ball", restitution=0.5, name="floor")
    dyn = ph.formulate(build.build()).compile()
    peak = 0.2 + np.array([1e-7, -1e-3, 0.05, -0.05])  # at t = v / g, in the middle of a step
    v = 9.81 * 0.101
    z = np.append(peak - v**2 / (2 * 9.81), 0.0)
    given = GIVEN | {"output": output}
    bundle = ph.simulate_many(dyn, {"z": z}, {"z_dot": [v, v, v, v, 0.0]}, 0.12, **given)
    assert {0, 2, 4} <= set(bundle.runs)
    assert {1, 3}.isdisjoint(bundle.runs)
    for i in range(5):
        one = ph.simulate(dyn, {"z": z[i]}, {"z_dot": v if i < 4 else 0.0}, 0.12, method="rk4", step=2e-3)
        assert bundle.q[i, -1] == pytest.approx(one.q[-1], abs=1e-11)
        assert [event.why for event in bundle[i].events] == [event.why for event in one.events]


def test_machines_that_hold_something_run_alone():
    build = ph.Builder("two rotors", gravity=(0, 0, 0))
    build.body("motor", joint=ph.revolute("z", name="a"), mass=1, inertia=(2, 2, 2))
    build.body("load", joint=ph.revolute("z", name="b"), mass=1, inertia=(3, 3, 3))
    build.clutch("a_dot", "b_dot", name="clutch", capacity=1.0)
    dyn = ph.formulate(build.build()).compile()
    bundle = ph.simulate_many(dyn, None, {"a_dot": [1.0, 2.0]}, 0.1, **GIVEN)
    assert list(bundle.runs) == [0, 1]
    assert many_module.Bundle is type(bundle)
    with pytest.raises(IndexError, match="no run 2, there are 2"):
        bundle[2]
