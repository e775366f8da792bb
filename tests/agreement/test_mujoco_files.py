"""Polhode against MuJoCo on MJCF files that nobody here wrote: those of Gymnasium, Brax and dm_control.

M, c, Q, accelerations, poses and energy at random states, by every method. A file is
left out, with the reason, where MuJoCo does not load it, where nothing in it moves, or
where Polhode refuses it by one of the reasons below; another refusal is a failure.
"""

from functools import cache

import pytest

import polhode as ph
from tests.robots import missing_packages, mjcfs

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo

FILES = mjcfs()
ROUNDED = 2e-7  # MuJoCo's, of the axes of a mesh's inertia
LARGEST = {"kane": 14, "lagrange": 12}  # speeds, beyond which a method takes seconds
REFUSALS = (
    "leaves the folder of the model",  # an include
)


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
    try:
        ours = ph.load(path)
        timed = {j.name for j in mujoco.MjSpec.from_file(str(path)).joints if any(j.springdamper)}
        assert bool(timed) == any("springdamper is not read" in note for note in ours.notes)
        for body in ours.bodies:  # what is reported as not read is switched off
            if body.joint.name in timed:
                joint = theirs.joint(body.joint.name)
                joint.stiffness[:], joint.damping[:] = map(float, (body.joint.stiffness[0], body.joint.damping[0]))
        return ours, theirs
    except ph.ModelError as refusal:
        if known := [reason for reason in REFUSALS if reason in str(refusal)]:
            return f"refused: {known[0]}"
        raise


def pair(name):
    found = both(name)
    if isinstance(found, str):
        pytest.skip(found)
    return found


def methods(model, theirs, costly):
    """The methods that are quick for a model, or those that are not; Lagrange's takes no quaternions."""
    taken = ["poincare", "denoc", "kane"] + ["lagrange"] * (model.nq == model.nu)
    return [m for m in taken if (theirs.nv > LARGEST.get(m, theirs.nv)) == costly]


def test_sixty_files_are_compared():
    if missing := missing_packages():
        pytest.skip(f"NOT TESTED: the packages {', '.join(missing)} are not installed. Use make .venv/robots")
    assert sum(not isinstance(both(name), str) for name in FILES) >= 60


@pytest.mark.parametrize("name", FILES)
def test_a_file_moves_as_in_mujoco(name):
    model, theirs = pair(name)
    assert model.nu == theirs.nv
    check(model, [Twin(theirs, seed) for seed in (1, 2)], methods(model, theirs, costly=False), **tolerance(theirs))


@pytest.mark.slow
@pytest.mark.parametrize("name", FILES)
def test_a_large_file_moves_as_in_mujoco_by_the_other_methods_too(name):
    model, theirs = pair(name)
    others = methods(model, theirs, costly=True)
    if not others:
        pytest.skip("every method was compared")
    check(model, [Twin(theirs, 1)], others, **tolerance(theirs))
