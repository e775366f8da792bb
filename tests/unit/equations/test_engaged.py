"""Direct calls of machines with what can be engaged: what is declared engaged, and has no capacity, holds."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

import polhode as ph

pytestmark = pytest.mark.filterwarnings("error::polhode.ConstraintWarning")  # what engages here is satisfied here
Added = Callable[[ph.Builder], object]
FIRM: dict[str, Added] = {
    "brake": lambda build: build.brake("b_dot", name="k"),
    "lock": lambda build: build.lock("b", name="k"),
    "clutch": lambda build: build.clutch("a_dot", "b_dot", name="k"),
    "point": lambda build: build.latch("p", "r", kind="point", name="k"),
    "hinge": lambda build: build.latch("p", "r", kind="hinge", name="k"),
    "weld": lambda build: build.latch("p", "r", kind="weld", name="k"),
    "distance": lambda build: build.latch("p", "r", kind="distance", name="k"),
}


def arm(add: Added, free: bool = False) -> ph.Dynamics:
    build = ph.Builder("arm", gravity=(0, 0, -9.81))
    rod = {"mass": 1, "com": (0.5, 0, 0), "inertia": (0.01, 0.1, 0.1)}
    joint = ph.free(quaternion=True, name="f") if free else ph.revolute("y", name="a")
    build.body("upper", joint=joint, **rod)
    build.body("lower", parent="upper", at=(1, 0, 0), joint=ph.revolute("y", name="b"), **rod)
    build.marker("p", body="lower", at=(1, 0, 0))
    build.marker("r", body="world", at=(2, 0, 0.3))
    add(build)
    return ph.formulate(build.build()).compile()


def started(dyn: ph.Dynamics, q: object, u: object) -> np.ndarray:
    """The accelerations with which a run begins."""
    found: np.ndarray = ph.simulate(dyn, q, u, 1e-6, method="rk4", step=1e-6, output="steps").accelerations[0]
    return found


@pytest.mark.parametrize("name", FIRM)
def test_what_is_declared_engaged_holds(name: str) -> None:
    dyn = arm(FIRM[name])
    states = [[0.3, 0.4], [0.5, -0.2]]
    for q in states:
        found = dyn.forward_dynamics(q, [0, 0], [0.2, 0.1])
        assert np.allclose(found, dyn.forward_dynamics(q, [0, 0], [0.2, 0.1], active="k"), atol=1e-12)
        run = ph.simulate(dyn, q, None, 1e-6, tau=[0.2, 0.1], method="rk4", step=1e-6, output="steps")
        assert np.allclose(found, run.accelerations[0], atol=1e-9)
    many = dyn.forward_dynamics(states, np.zeros((2, 2)), np.tile([0.2, 0.1], (2, 1)))
    each = [dyn.forward_dynamics(q, [0, 0], [0.2, 0.1]) for q in states]
    assert np.allclose(many, each, atol=1e-14)
    bare = dyn.forward_dynamics(states[0], [0, 0], [0.2, 0.1], active=())
    assert not np.allclose(bare, each[0], atol=1e-3)


def test_a_weld_in_space_is_captured_where_it_is_asked_for() -> None:
    """A free arm whose tip is welded to the world somewhere swings about its elbow alone, whatever it turned before."""
    dyn = arm(FIRM["weld"], free=True)
    q = np.array([0.8, 0.2, -0.4, 0.4, 1.0, -2.0, 0.5, 0.7])
    q[:4] /= np.linalg.norm(q[:4])
    found = dyn.forward_dynamics(q, np.zeros(7), np.zeros(7))
    assert np.abs(found).max() > 1e-3
    assert np.abs(dyn.acceleration("p")(q, np.zeros(7), np.zeros(7))).max() < 1e-9
    assert np.allclose(found, started(dyn, q, None), atol=1e-9)
    after, _ = dyn.impulse(q, np.ones(7), active="k")
    sim = ph.Simulation(dyn, q, np.ones(7))
    assert np.allclose(after, sim.u, atol=1e-12)


@pytest.mark.parametrize(
    "add",
    [
        lambda build: build.brake("b_dot", capacity=1.0, name="k"),
        lambda build: build.brake("b_dot", active=False, name="k"),
        lambda build: build.stop("b", lower=-1, name="k"),
    ],
)
def test_what_depends_on_the_state_is_left_out(add: Added) -> None:
    dyn, bare = arm(add), arm(lambda build: None)
    q = [0.3, 0.4]
    assert np.allclose(dyn.forward_dynamics(q, [0, 0], [0, 0]), bare.forward_dynamics(q, [0, 0], [0, 0]), atol=1e-14)


def test_machines_with_latches_are_assembled() -> None:
    assert np.allclose(ph.assemble(arm(FIRM["weld"]), [0.3, 0.1]).q, [0.3, 0.1])


def test_linear_models_hold_what_is_engaged() -> None:
    lin = ph.linearize(arm(FIRM["brake"]), [0.3, 0.4])
    assert lin.holds == ("k",)
    assert len(lin.states) == 3  # the brake keeps a speed, not a coordinate
