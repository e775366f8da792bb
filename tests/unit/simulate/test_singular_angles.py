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


def run(dyn, start):
    ph.Simulation(dyn, start, {"rotor_wx": 0.01}).run(1e-3)


def run_until(dyn, start):
    ph.Simulation(dyn, start, {"rotor_wx": 0.01}).run(ph.when("t > 0.001"))


def step(dyn, start):
    ph.Simulation(dyn, start, {"rotor_wx": 0.01}).step()


def set_by_hand(dyn, start):
    sim = ph.Simulation(dyn, None, {"rotor_wx": 0.01})
    sim.q = start
    sim.run(1e-3)


def many(dyn, start):
    start = {"rotor_y": np.array([0.0, start["rotor_y"]])}
    ph.simulate_many(dyn, start, {"rotor_wx": 0.01}, 1e-3, method="dop853")


def in_lanes(dyn, start):
    start = {"rotor_y": np.array([0.0, start["rotor_y"]])}
    ph.simulate_many(dyn, start, {"rotor_wx": 0.01}, 1e-3, method="rk4", step=1e-4)


def simulate(dyn, start):
    ph.simulate(dyn, start, {"rotor_wx": 0.01}, 1e-3)


@pytest.mark.parametrize("way", [simulate, run, run_until, step, set_by_hand, many, in_lanes])
@pytest.mark.parametrize(("off", "told"), [(0.0, True), (1e-3, True), (0.1, False)])
def test_the_start_is_told(way, off, told):
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        way(top(), {"rotor_y": np.pi / 2 - off})
    said = [w for w in heard if "singular position" in str(w.message)]
    assert len(said) == told
    assert all("Joint 'rotor'" in str(w.message) and "quaternion=True" in str(w.message) for w in said)
    assert all("Run 1" in str(w.message) for w in said if way in (many, in_lanes))
    assert all(w.filename == __file__ for w in said)


def test_the_remedy_works():
    """A quaternion turned by a quarter about y stands where angles are singular."""
    half = np.sqrt(0.5)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        ph.simulate(top(quaternion=True), {"rotor_qw": half, "rotor_qy": half}, {"rotor_wx": 0.01}, 1e-3)
