"""CITATION.cff says what the package says of itself."""

import re
import tomllib
from pathlib import Path

import polhode

ROOT = Path(__file__).parents[2]


def test_the_citation_is_of_this_version():
    text = (ROOT / "CITATION.cff").read_text(encoding="utf-8")
    said = dict(re.findall(r"^([a-z-]+): (.+)$", text, flags=re.M))
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    assert said["version"] == polhode.__version__
    assert said["license"] == project["license"]
    assert re.findall(r"^  - (?!name)(.+)$", text, flags=re.M) == project["keywords"]
