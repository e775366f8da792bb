"""Switches without end, strangers, crowds, garbage and floods: the loop goes on, and nobody gets in who should not."""

import sys

import pytest

pytest.importorskip("websockets", reason="websockets is not installed: the live page is not tested")
if not sys.platform.startswith("linux"):
    pytest.skip("the run looks at /proc, and the loop needs Linux", allow_module_level=True)

from benchmarks import torture


@pytest.mark.parametrize(
    ("seconds", "crowd"), [(8, 300), pytest.param(600, torture.CROWD, marks=pytest.mark.slow)], ids=["short", "whole"]
)
def test_a_machine_survives_those_around_it(seconds, crowd, capfd):
    found = torture.run(seconds, crowd)
    said = capfd.readouterr()  # of the servers and of the clients
    print(found.table())
    assert not found.wrong
    assert sum(found.done) >= 0.9 * torture.SWITCHES * seconds
    assert found.turned_away > 0
    assert said.err == ""


def test_what_went_wrong_is_said():
    """The run above could not fail, if these were not found."""
    good = {
        "seconds": 600.0, "asked": (5, 5), "done": (5, 5), "failure": "", "standing": 0.0, "ticks": [1, 2, 3],
        "memory": [100.0, 101.0, 102.0], "descriptors": [20, 90, 20], "turned_away": 1, "ignored": 1, "threads": 5,
        "late": None, "packets": {"tried": {"empty": 1}}, "acts": {"refused": 0, "why": ""},
        "pages": {"tried": {str(k): 1 for k in range(torture.KINDS)}, "accepted": {"no token": 0}, "junk refused": 0},
        "looks": {"pictures": 10, "backwards": 0, "longest gap": 0.1, "comings": 1},
    }  # fmt: skip
    assert not torture.Found(**good).wrong
    for key, value, words in (
        ("done", (5, 4), "switches were asked"),
        ("failure", "it broke", "it broke"),
        ("ticks", [1, 2, 2], "stood still"),
        ("memory", [100.0, 101.0, 120.0], "19.0 MB"),
        ("descriptors", [20, 900, 20], "900 files"),
        ("descriptors", [20, 90, 70], "70 files were left"),
        ("ignored", 0, "packet"),
        ("acts", {"refused": 1, "why": "because"}, "because"),
        ("looks", {**good["looks"], "pictures": 0}, "saw nothing"),
        ("looks", {**good["looks"], "backwards": 1}, "go back"),
        ("pages", {**good["pages"], "accepted": {"no token": 1}}, "let in: {'no token': 1}"),
        ("pages", {**good["pages"], "tried": {}}, "not all was tried"),
        ("pages", {**good["pages"], "junk refused": -1}, "malformed"),
    ):
        found = torture.Found(**good | {key: value}).wrong
        assert len(found) == 1
        assert words in found[0]
