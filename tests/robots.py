"""The robots of the package example-robot-data, for tests that compare engines on them."""

import sys
from functools import cache
from pathlib import Path

import pytest

FOLDER = "cmeel.prefix/share/example-robot-data/robots"


def folder():
    """Where the descriptions lie, or None where the package is missing."""
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
