"""Polhode against MuJoCo: mechanisms of our own in MJCF, and the URDFs MuJoCo accepts."""

import re

import pytest

import polhode as ph
from polhode.formats.urdf import read_urdf
from tests.robots import path_of, urdfs
from tests.unit.formats.test_mjcf import MECHANISMS

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo


@pytest.mark.parametrize("name", MECHANISMS)
def test_a_mechanism_of_ours_moves_as_in_mujoco(name, tmp_path):
    path = tmp_path / "mechanism.xml"
    path.write_text(MECHANISMS[name])
    theirs = mujoco.MjModel.from_xml_string(MECHANISMS[name])
    check(ph.load(path), [Twin(theirs, seed) for seed in (1, 2)])


# what MuJoCo reads differently, with the reason
DIFFERENT = {
    "bolt_description/robots/bolt.urdf": "its feet have inertia without mass, which MuJoCo drops and Pinocchio keeps",
    "ur_description/urdf/ur3.urdf": "it has no links",
}


def _without_shapes(text):
    """The URDF without what MuJoCo would look for in other files."""
    text = re.sub(r"<!--.*?-->", "", text, flags=re.DOTALL)
    for tag in ("visual", "collision", "gazebo", "transmission"):
        text = re.sub(rf"<{tag}\b[^>]*?/>|<{tag}\b.*?</{tag}>", "", text, flags=re.DOTALL)
    return text


@pytest.mark.parametrize("name", urdfs())
def test_a_urdf_that_mujoco_accepts_moves_as_there(name):
    if name in DIFFERENT:
        pytest.skip(DIFFERENT[name])
    text = _without_shapes(path_of(name).read_text())
    try:
        theirs = mujoco.MjModel.from_xml_string(text)
    except ValueError as refusal:
        pytest.skip(f"MuJoCo refuses it: {str(refusal).splitlines()[0][:90]}")
    theirs.dof_damping[:] = 0
    ours = read_urdf(text, source=name, floating=None, passive=False)
    if len(ours.bodies) != theirs.njnt or not theirs.njnt:
        pytest.skip("MuJoCo merges other bodies than we do")
    by_name = [theirs.joint(j).name for j in range(theirs.njnt)]
    assert by_name == [body.joint.name for body in ours.bodies]
    check(ours, [Twin(theirs, 1)], tolerance=1e-9)
