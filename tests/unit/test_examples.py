"""Every numbered example runs."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

FOLDER = Path(__file__).parents[2] / "examples"


@pytest.mark.parametrize("path", sorted(FOLDER.glob("[0-9]*.py")), ids=lambda p: p.stem)
def test_example_runs(path):
    small = os.environ | {"COLUMNS": "40"}
    done = subprocess.run([sys.executable, path], capture_output=True, text=True, env=small, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout
