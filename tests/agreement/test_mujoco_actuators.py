"""Actuators of MJCF against MuJoCo: their forces on the speeds, the rates of their activations, and motion."""

from collections import Counter
from functools import cache

import numpy as np
import pytest

from polhode.graph import evaluate, symbol
from polhode.model.drives import acted
from polhode.model.forces import SpeedForce
from tests.mechanics import close
from tests.robots import missing_packages

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.agreement.test_mujoco_files import FILES, both, pair  # noqa: E402 - it needs MuJoCo
from tests.mujoco_twin import Twin  # noqa: E402


@cache
def driven():
    """The files with actuators that both engines read."""
    return {name: both(name) for name in FILES if not isinstance(both(name), str) and both(name)[1].nu}


def values_at(model, twin):
    """The values of a model's variables at the state of a twin."""
    names = (*model.coordinates, *model.speeds, *(state.name for state in model.states))
    found = dict(zip(map(symbol, names), [*twin.q, *twin.u, *twin.data.act], strict=True))
    return found | dict(zip(model.controls, twin.data.ctrl, strict=True))


def pushed(model, at):
    """What actuators on speeds do, (nu,)."""
    places = {speed: k for k, speed in enumerate(model.speeds)}
    found = np.zeros(model.nu)
    own = {f"{a.name} on {speed}" for a in model.actuators for speed, _ in a.along}
    forces = [force for force in acted(model).forces if isinstance(force, SpeedForce) and force.name in own]
    for force, x in zip(forces, evaluate([force.value for force in forces], at), strict=True):
        found[places[force.speed]] += x
    return found


def activation_rates(model, at):
    return evaluate([state.rate for state in acted(model).states], at)


def kinds(theirs):
    """What the actuators are: dynamics, gain, bias and transmission."""
    rows = zip(
        theirs.actuator_dyntype,
        theirs.actuator_gaintype,
        theirs.actuator_biastype,
        theirs.actuator_trntype,
        strict=True,
    )
    enums = (mujoco.mjtDyn, mujoco.mjtGain, mujoco.mjtBias, mujoco.mjtTrn)
    return Counter(
        " ".join(kind(x).name.split("_")[1].lower() for kind, x in zip(enums, row, strict=True)) for row in rows
    )


def test_sixty_files_with_actuators_are_compared():
    if missing := missing_packages():
        pytest.skip(f"NOT TESTED: the packages {', '.join(missing)} are not installed. Use make .venv/robots")
    found = sum((kinds(theirs) for _, theirs in driven().values()), Counter())
    print(f"{len(driven())} files, {sum(found.values())} actuators: {dict(found)}")
    assert len(driven()) >= 60
    assert sum(found.values()) >= 500


@pytest.mark.parametrize("name", FILES)
def test_the_actuators_of_a_file_push_as_in_mujoco(name):
    model, theirs = pair(name)
    if not theirs.nu:
        pytest.skip("no actuators")
    assert len(model.actuators) == theirs.nu
    for seed in (1, 2, 3):
        twin = Twin(theirs, seed)
        at = values_at(model, twin)
        assert close(pushed(model, at), twin.pushed)
        assert close(activation_rates(model, at), twin.data.act_dot)
