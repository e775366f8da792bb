"""Polhode against MuJoCo on MJCF files that nobody here wrote: those of Gymnasium, Brax and dm_control; and, among the
long tests, of Gymnasium-Robotics, MuJoCo Playground, mjlab and gym-hil.

M, c, Q, accelerations, poses and energy at random states, by every method. A file is
left out, with the reason, where MuJoCo does not load it or where nothing in it moves.
Where Polhode refuses one, the test of it fails.
"""

from functools import cache

import numpy as np
import pytest

import polhode as ph
from tests.robots import MJCF_PACKAGES, MORE_PACKAGES, missing_packages, mjcfs, more_mjcfs

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo

QUICK, MORE = mjcfs(), more_mjcfs()
FILES = QUICK | MORE
ALL = [*QUICK, *(pytest.param(name, marks=pytest.mark.slow) for name in MORE)]
ROUNDED = 2e-7  # MuJoCo's, of the axes of a mesh's inertia
LARGEST = {"kane": 14, "lagrange": 12}  # speeds, beyond which a method takes seconds


def tolerance(theirs):
    return {"tolerance": ROUNDED} if theirs.nmesh else {}


@cache
def both(name):
    """The file in both engines, or why it is left out."""
    path = FILES[name]
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as refusal:
        return f"MuJoCo does not load it: {str(refusal).splitlines()[0][:90]}"
    if not theirs.nv:
        return "nothing moves"
    ours = ph.load(path)
    timed = {j.name for j in mujoco.MjSpec.from_file(str(path)).joints if any(j.springdamper)}
    assert bool(timed) == any("springdamper is not read" in note for note in ours.notes)
    theirs = without(path, theirs, ours)
    for body in ours.bodies:  # what is reported as not read is switched off
        if body.joint.name in timed:
            joint = theirs.joint(body.joint.name)
            joint.stiffness[:], joint.damping[:] = map(float, (body.joint.stiffness[0], body.joint.damping[0]))
    return ours, theirs


def without(path, theirs, ours):
    """The model of MuJoCo without actuators that are noted as not read, with ranges of muscles as they are noted."""
    if any(note.startswith("The lengthrange of") for note in ours.notes):  # found by pulling there
        for k, (kind, (target, _)) in enumerate(zip(theirs.actuator_trntype, theirs.actuator_trnid, strict=True)):
            reach = theirs.tendon_range if kind == mujoco.mjtTrn.mjTRN_TENDON else theirs.jnt_range
            theirs.actuator_lengthrange[k] = np.sort(reach[target] * theirs.actuator_gear[k, 0])
    if len(ours.actuators) == theirs.nu:
        return theirs
    assert any("actuator" in note.lower() and "is not read" in note for note in ours.notes)
    names, spec = {actuator.name for actuator in ours.actuators}, mujoco.MjSpec.from_file(str(path))
    for actuator in list(spec.actuators):
        if actuator.name not in names:
            spec.delete(actuator)
    return spec.compile()


def pair(name):
    found = both(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def methods(model, theirs, costly):
    """The methods that are quick for a model, or those that are not; Lagrange's takes no quaternions."""
    taken = ["poincare", "denoc", "kane"] + ["lagrange"] * (model.nq == model.nu)
    return [m for m in taken if (theirs.nv > LARGEST.get(m, theirs.nv)) == costly]


def need(packages):
    if missing := missing_packages(packages):
        pytest.skip(f"NOT TESTED: the packages {', '.join(missing)} are not installed. Use make .venv/robots")


def test_eighty_files_are_compared():
    need(MJCF_PACKAGES)
    assert sum(not isinstance(both(name), str) for name in QUICK) >= 80


@pytest.mark.slow
def test_of_130_robots_95_percent_load_and_agree():
    """Of every file that MuJoCo loads and in which something moves."""
    need(MJCF_PACKAGES + MORE_PACKAGES)
    agree, differ = [], []
    for name in FILES:
        try:
            found = both(name)
            if isinstance(found, str):
                continue
            check(found[0], [Twin(found[1], 3)], ["poincare", "denoc"], **tolerance(found[1]))
            agree.append(name)
        except (ph.ModelError, AssertionError):
            differ.append(name)
    assert len(agree) + len(differ) >= 130
    assert len(agree) >= 0.95 * (len(agree) + len(differ)), differ


@pytest.mark.parametrize("name", ALL)
def test_a_file_moves_as_in_mujoco(name):
    model, theirs = pair(name)
    assert model.nu == theirs.nv
    check(model, [Twin(theirs, seed) for seed in (1, 2)], methods(model, theirs, costly=False), **tolerance(theirs))


@pytest.mark.slow
@pytest.mark.parametrize("name", QUICK)
def test_a_large_file_moves_as_in_mujoco_by_the_other_methods_too(name):
    model, theirs = pair(name)
    others = methods(model, theirs, costly=True)
    if not others:
        pytest.skip("every method was compared")
    check(model, [Twin(theirs, 1)], others, **tolerance(theirs))
