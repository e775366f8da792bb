"""Every command in README and docs that names a file of ours runs."""

import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = [line.strip() for page in PAGES for line in page.read_text().splitlines()]
COMMANDS = sorted({line for line in LINES if line.startswith("polhode ") and "examples/" in line})


def test_there_are_commands():
    assert len(COMMANDS) >= 5


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, tmp_path):
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, "-m", "polhode", *shlex.split(command)[1:]]
    done = subprocess.run(words, capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 0, done.stderr
