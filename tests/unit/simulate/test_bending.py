"""Warnings of bodies that bend further than their modes can say."""

import warnings

import numpy as np
import pytest

import polhode as ph


def pendulum(EI, **said):
    build = ph.Builder("pendulum", gravity=(0, -9.81, 0))
    build.body("arm", joint=ph.revolute("z"), flexible=ph.beam(length=1.0, mu=1.0, EI_z=EI, **said))
    return ph.formulate(build.build()).compile()


def said_of(dyn, **given):
    n = len(dyn.equations.u)
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        ph.simulate(dyn, np.zeros(n), np.zeros(n), 0.3, **given)
    return [str(warning.message) for warning in seen]


def test_a_stiff_arm_is_small():
    assert said_of(pendulum(500.0)) == []


@pytest.mark.parametrize("given", [{}, {"method": "rk4", "step": 1e-3}])
def test_large_deflections_are_said_with_their_time(given):
    found = said_of(pendulum(2.0, modes=1, order="full"), **given)
    assert len(found) == 1
    assert found[0].startswith("Body 'arm' bends by more than 10 % of its length at t = ")
    assert "small deflections" in found[0]


def test_steps_of_one_size_do_not_pass_over_inertia_that_is_negative():
    """Adaptive methods stop there; this one goes on, and says that it means nothing."""
    soft = {"EI": 2.0, "modes": 4, "shapes": "polynomial"}
    found = said_of(pendulum(**soft), method="euler", step=1e-4)
    assert any('order "first" leaves a motion without inertia' in text for text in found)
    assert not any("without inertia" in text for text in said_of(pendulum(**soft, order="second")))
