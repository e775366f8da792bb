"""Robots that nobody here wrote, from packages that have their files: URDF of example-robot-data, MJCF of others."""

import sys
from functools import cache
from hashlib import sha256
from importlib.util import find_spec
from pathlib import Path

import pytest

FOLDER = "cmeel.prefix/share/example-robot-data/robots"
MJCF_PACKAGES = ("gymnasium", "brax", "dm_control")
MORE_PACKAGES = ("gymnasium_robotics", "mujoco_playground", "mjlab", "gym_hil", "myo_sim")  # for the long tests


def folder():
    """Where the URDFs lie, or None where the package is missing."""
    return next((Path(p) / FOLDER for p in sys.path if (Path(p) / FOLDER).is_dir()), None)


@cache
def urdfs():
    """Every URDF file, by its name within the package."""
    root = folder()
    return [] if root is None else sorted(str(path.relative_to(root)) for path in root.rglob("*.urdf"))


def path_of(name):
    root = folder()
    if root is None:
        pytest.skip("NOT TESTED: the package example-robot-data is not installed")
    return root / name


@cache
def mjcfs(packages=MJCF_PACKAGES):
    """Every MJCF file with a joint of its own or of one it includes, by its name with that of the package; copies once.

    Files that are only to be included count for nothing. The packages are not imported: they are here for their files.
    """
    found, seen = {}, set()
    for package in packages:
        spec = find_spec(package)
        root = None if spec is None else Path(spec.submodule_search_locations[0])
        for path in [] if root is None else sorted(root.rglob("*.xml")):
            data = path.read_bytes()
            mark = sha256(data).digest()
            whole = b"<mujoco" in data and b"<mujocoinclude" not in data
            if whole and (b"joint" in data or b"<include" in data) and mark not in seen:
                seen.add(mark)
                found[path.relative_to(root.parent).as_posix()] = path
    return found


def more_mjcfs():
    """Those of more packages, without copies of the others."""
    return {name: path for name, path in mjcfs(MJCF_PACKAGES + MORE_PACKAGES).items() if name not in mjcfs()}


def missing_packages(packages=MJCF_PACKAGES):
    """The packages of MJCF files that are not installed."""
    return [name for name in packages if find_spec(name) is None]
