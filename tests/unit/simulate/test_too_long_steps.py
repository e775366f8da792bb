"""Steps of one size that are too long: a run that diverges is not called finished."""

import numpy as np
import pytest

import polhode as ph


def damped(rate, growth=0.0):
    """A wheel with a force -rate u + growth u."""
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 1))
    build.force("a_dot", f"{growth - rate}*a_dot")
    build.brake("a_dot", name="brake", active=False)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("method", ["moreau", "midpoint", "rk4"])
def test_a_run_that_diverges_is_not_finished(method):
    dyn, u0 = damped(1e4), {"a_dot": 1.0}
    with pytest.warns(ph.SimulationWarning, match="the step is too long"):
        run = ph.simulate(dyn, None, u0, 0.05, method=method, step=1e-3)
    assert not run.outcome.finished
    assert run.outcome.culprit == "a_dot"
    assert "a shorter step" in run.outcome.remedy
    short = ph.simulate(dyn, None, u0, 0.05, method=method, step=1e-4)  # the remedy
    assert short.outcome.finished
    assert abs(short["a_dot"][-1]) < 1e-9


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_a_growth_that_is_followed_is_finished(method):
    """exp(30) = 1e13: it is the machine that grows, not the error."""
    run = ph.simulate(damped(0.0, growth=30.0), None, {"a_dot": 1.0}, 1.0, method=method, step=1e-3)
    assert run.outcome.finished
    assert np.log(run["a_dot"][-1]) == pytest.approx(30.0, abs=0.01)
