"""Numbers that come as parameters are held to the same bounds as those in a model."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph


def dynamics(values=None, **contact):
    build = ph.Builder("block")
    build.body("along", joint=ph.prismatic("x", name="x", friction="dry"), mass=0)
    build.body("block", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("block", name="ground", restitution="e", friction="mu", static="2*mu", **contact)
    build.brake("x_dot", capacity="most", name="brake", active=False)
    return ph.formulate(build.build()).compile(values)


GOOD = {"e": 0.5, "mu": 0.2, "most": 1.0, "dry": 0.1}


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("e", 1.5, r"With e = 1\.5.*: Constraint 'ground': restitution is 1\.5, expected a number from 0 to 1"),
        ("e", -1.0, "restitution is -1, expected a number from 0 to 1"),
        ("mu", -0.1, "friction is -0.1, expected 0 or more"),
        ("most", -2.0, "Constraint 'brake': capacity is -2, expected 0 or more"),
        ("dry", -2.0, "Constraint 'friction of x': capacity is -2, expected 0 or more"),
    ],
)
def test_values_of_a_run_are_held_to_the_bounds(name, value, said):
    dyn = dynamics()
    bad = GOOD | {name: value}
    with pytest.raises(ValueError, match=said):
        ph.simulate(dyn, {"z": 1.0}, t_end=0.1, p=bad)
    with pytest.raises(ValueError, match=said):
        ph.Simulation(dyn, {"z": 1.0}, p=bad)
    with pytest.raises(ValueError, match=said):
        ph.simulate(dynamics(bad), {"z": 1.0}, t_end=0.1)
    many = {key: np.array([x, bad[key]]) for key, x in GOOD.items()}
    with pytest.raises(ValueError, match=f"Run 1: (.|\n)*{said}"):
        ph.simulate_many(dyn, {"z": 1.0}, t_end=0.1, method="dop853", p=many)
    assert ph.simulate(dyn, {"z": 1.0}, t_end=0.1, p=GOOD).outcome.finished


@pytest.mark.parametrize(("wrong", "said"), [({"m": -1.0}, "mass is -1"), ({"I": -1.0}, "moments of inertia are -1")])
@pytest.mark.parametrize("compiled", [False, True])
def test_masses_and_inertias_below_0_are_refused(wrong, said, compiled):
    build = ph.Builder("top")
    build.body("top", joint=ph.revolute("x", name="a"), mass="m", com=(0, 0, -1), inertia=("I", "I", "I"))
    values = {"m": 1.0, "I": 1.0} | wrong
    dyn = ph.formulate(build.build()).compile(values=values if compiled else None)
    with pytest.raises(ph.ModelError, match=f"With .*{next(iter(wrong))} = -1.*: Body 'top': .*{said}"):
        ph.simulate(dyn, t_end=0.01, p=None if compiled else values)
    assert ph.simulate(dyn, t_end=0.01, p=values | {"m": 1.0, "I": 1.0}).outcome.finished if not compiled else True
