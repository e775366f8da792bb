"""The notebooks are as their tutorials, and their cells run one after the other."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
NOTEBOOKS = sorted((ROOT / "examples" / "notebooks").glob("*.ipynb"))
RUN = """
import json, sys
whole, space = json.load(open(sys.argv[1], encoding="utf-8")), {}
for cell in whole["cells"]:
    if cell["cell_type"] == "code":
        exec(compile("".join(cell["source"]), cell["id"], "exec"), space)
print(len(space["run"].t) if "run" in space else len(space["closed"].t))
"""


def test_there_are_some_and_they_are_as_the_tutorials():
    assert len(NOTEBOOKS) == 2
    done = subprocess.run(
        [sys.executable, ROOT / "tools" / "notebooks.py", "--check"], capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_cells_run_in_order(path):
    done = subprocess.run([sys.executable, "-c", RUN, path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 100


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_every_example_of_the_tutorial_is_in_it(path):
    whole = json.loads(path.read_text(encoding="utf-8"))
    assert (whole["nbformat"], whole["nbformat_minor"]) == (4, 5)
    code = [
        line for cell in whole["cells"] if cell["cell_type"] == "code" for line in "".join(cell["source"]).splitlines()
    ]
    tutorial = (ROOT / "docs" / "tutorials" / f"{path.stem.replace('_', '-')}.md").read_text(encoding="utf-8")
    assert code == re.findall(r"^(?:>>>|\.\.\.) (.*)$", tutorial, flags=re.M)


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda p: p.stem)
def test_what_the_tutorial_shows_is_the_last_line_of_a_cell(path):
    whole = json.loads(path.read_text(encoding="utf-8"))
    ends = ["".join(c["source"]).splitlines()[-1] for c in whole["cells"] if c["cell_type"] == "code"]
    tutorial = (ROOT / "docs" / "tutorials" / f"{path.stem.replace('_', '-')}.md").read_text(encoding="utf-8")
    shown = re.findall(r"^(?:>>>|\.\.\.) (.*)\n(?!>>>|\.\.\.|\n|```)", tutorial, flags=re.M)
    assert len(shown) > 5
    for line in shown:
        assert line in ends
