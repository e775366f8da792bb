"""Guards of machines whose parameters were compiled in."""

import pytest

import polhode as ph


def test_a_guard_may_have_parameters_that_were_folded_in():
    m = ph.symbol("m")
    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("cart", joint=ph.prismatic("x", name="x"), mass=m)
    build.lock("x", name="catch", active=False)
    dyn = ph.formulate(build.build()).compile(values={"m": 2.0})
    traj = ph.simulate(dyn, None, {"x_dot": 2.0}, 1.0, switches=ph.when("x > 0.5*m - 0.4", engage="catch"))
    assert traj.events[1].time == pytest.approx(0.3, abs=1e-9)
    assert traj["x"][-1] == pytest.approx(0.6, abs=1e-9)
