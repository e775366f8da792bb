"""Random trees with random drive trains: transmissions as constraints by four methods, as transformations by one."""

from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.graph import evaluate
from polhode.model.grow import grow
from tests.mechanics import random_state

KINDS = ["revolute", "prismatic", "revolute", "universal", "revolute", "screw", "revolute"]
METHODS = ["poincare", "denoc", "kane", "lagrange"]


@cache
def machine(seed):
    """A grown tree whose single joints are driven by motors of all sorts, each joint by one at most."""
    draw = np.random.default_rng(seed)
    model = grow(seed, list(draw.permutation(KINDS)))
    build = ph.Builder(f"driven {seed}", gravity=model.gravity)
    build.bodies.extend(model.bodies)
    build.markers.extend(model.markers)
    free = [str(name) for name in draw.permutation([b.joint.name for b in model.bodies if b.joint.nu == 1])]
    frames = ["world", *(m.name for m in model.markers), *(b.name for b in model.bodies)]

    def some(count):
        return {free.pop(): float(draw.choice([-1, 1]) * draw.uniform(0.3, 2)) for _ in range(min(count, len(free)))}

    rotor = {"inertia": 0.02, "damping": 0.01, "on": str(draw.choice(frames)), "axis": draw.normal(size=3)}
    rotor["axis"] = tuple(rotor["axis"] / np.linalg.norm(rotor["axis"]))
    shafts = [{"ratio": 3, "inertia": 0.3, "on": str(draw.choice(frames)), "axis": "y"}, {"ratio": -1.5}]
    shafts.append({"ratio": 0.7, "inertia": 0.1, "damping": 0.02})
    build.motor("gear", ratio=float(draw.uniform(2, 30)), stages=shafts, **rotor).drives(some(2))
    build.motor("cable", inertia=0.05, ratio=3, on=str(draw.choice(frames))).sums(some(2))
    if free:
        build.motor("bare", ratio=-5, efficiency=0.8).drives(some(2))
    return build.build()


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("method", METHODS)
def test_transmissions_as_constraints_and_as_transformations(seed, method):
    model = machine(seed)
    few = ph.formulate(model, "quasicoordinate")
    embedded = few.kinematics.speeds
    assert len(few.u) < model.nu
    G = np.array(evaluate(list(embedded.G.entries), {}), dtype=float).reshape(embedded.G.shape)
    q, v = random_state(few, seed)
    push = np.random.default_rng(seed).normal(size=len(model.actuators))
    controls = {actuator.name: float(x) for actuator, x in zip(model.actuators, push, strict=True)}
    found = G @ few.compile().forward_dynamics(q, v, np.zeros(len(v)), controls=controls)
    u, joints, places = G @ v, few.kinematics.joints, list(range(model.nu))
    if method == "lagrange":  # its speeds are the rates of the coordinates, which those of single joints are anyway
        u = np.array(evaluate(list(joints.q_dot), dict(zip([*joints.q, *joints.u], [*q, *u], strict=True))))
        places = [model.speeds.index(body.joint.speeds()[0]) for body in model.bodies if body.joint.nu == 1]
    expected = ph.formulate(model, method).compile().forward_dynamics(q, u, np.zeros(model.nu), controls=controls)
    assert np.allclose(found[places], expected[places], rtol=1e-9, atol=1e-9 * np.abs(expected).max())
