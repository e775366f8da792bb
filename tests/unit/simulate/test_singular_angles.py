"""Angles in their singular position are told, with the joint and the remedy."""

import warnings

import numpy as np
import pytest

import polhode as ph


def top(**angles):
    build = ph.Builder("top", gravity=(0, 0, 0))
    build.body("arm", joint=ph.revolute("x", name="hinge"), mass=1, inertia=(1, 1, 1))
    build.body("rotor", parent="arm", joint=ph.spherical(**angles), mass=1, inertia=(0.1, 0.2, 0.3))
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize(("off", "told"), [(0.0, True), (1e-3, True), (0.1, False)])
def test_the_start_is_told(off, told):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ph.simulate(top(), {"rotor_y": np.pi / 2 - off}, {"rotor_wx": 0.01}, 1e-3)
    said = [str(w.message) for w in heard if "singular position" in str(w.message)]
    assert bool(said) == told
    assert all("Joint 'rotor'" in text and "quaternion=True" in text for text in said)


def test_the_remedy_works():
    """A quaternion turned by a quarter about y stands where angles are singular."""
    half = np.sqrt(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.simulate(top(quaternion=True), {"rotor_qw": half, "rotor_qy": half}, {"rotor_wx": 0.01}, 1e-3)
