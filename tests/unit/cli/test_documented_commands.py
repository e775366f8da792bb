"""Every command in README and docs that names a file of ours runs."""

import shlex
import signal
import subprocess
import sys
import urllib.request
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]
LINES = [line.strip() for page in PAGES for line in page.read_text().splitlines()]
COMMANDS = sorted({line for line in LINES if line.startswith("polhode ") and "examples/" in line})


def test_there_are_commands():
    assert len(COMMANDS) >= 5


LASTING = ("view",)  # commands that go on until they are ended
PATIENCE = 300  # s


def started(command, folder):
    (folder / "examples").symlink_to(ROOT / "examples")
    words = [sys.executable, "-m", "polhode", *shlex.split(command)[1:]]
    lasts = words[3] in LASTING
    return subprocess.Popen(
        [*words, "--no-browser"] if lasts else words,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
    ), lasts


@pytest.mark.parametrize("command", COMMANDS)
def test_command_runs(command, tmp_path):
    run, lasts = started(command, tmp_path)
    with run:
        try:
            if lasts:
                said = run.stderr.readline()
                assert "is at http" in said, said + run.stderr.read()
                address = said.split()[-1]
                assert b"<canvas" in urllib.request.urlopen(address, timeout=PATIENCE).read()
                run.send_signal(signal.SIGINT)
            _, errors = run.communicate(timeout=PATIENCE)
        finally:
            run.kill()
    assert run.returncode == 0, errors
