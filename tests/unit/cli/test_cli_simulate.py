"""`polhode simulate`, run as a user runs it."""

import csv
import json
import subprocess
import sys
from pathlib import Path

import pytest

UR5 = Path(__file__).parents[3] / "examples/ur5.urdf"
SLIDER = """
name = "slider-crank"
[[body]]
name = "crank"
joint = { type = "revolute", axis = "y", name = "a" }
mass = 1
com = [0.5, 0, 0]
[[body]]
name = "rod"
parent = "crank"
at = [1, 0, 0]
joint = { type = "revolute", axis = "y", name = "b" }
mass = 1
com = [1, 0, 0]
[[marker]]
name = "pin"
body = "rod"
at = [2, 0, 0]
[[loop]]
between = ["world", "pin"]
kind = "axis"
axis = "x"
name = "slide"
"""


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "polhode", "simulate", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


@pytest.fixture
def slider(tmp_path):
    path = tmp_path / "slider.toml"
    path.write_text(SLIDER)
    return path


def test_a_robot_falls_and_files_are_written(tmp_path):
    picture, table, page = (tmp_path / name for name in ("out.png", "out.csv", "out.html"))
    done = run(UR5, "--t", 0.5, "--set", "q.elbow=0.3", "--plot", picture, "--csv", table, "--animate", page)
    assert done.returncode == 0, done.stderr
    assert "Energy is accounted for" in done.stdout
    assert picture.read_bytes()[:4] == b"\x89PNG"
    rows = list(csv.DictReader(table.open()))
    assert len(rows) == 501
    assert float(rows[0]["elbow"]) == 0.3
    assert "<canvas" in page.read_text()


def test_loops_are_closed_first_and_what_is_set_is_kept(slider):
    done = run(slider, "--t", 1, "--set", "a=0.5", "--set", "u.a_dot=2", "--json")
    assert done.returncode == 0, done.stderr
    data = json.loads(done.stdout)
    assert data["finished"]
    assert data["largest_residual"] < 1e-12
    assert abs(data["energy"]["end"] - data["energy"]["start"]) < 1e-7


def test_a_force_law(slider):
    data = json.loads(run(slider, "--t", 1, "--tau", "a_dot=-3*a_dot + sin(t)", "--json", "--every", 0.5).stdout)
    assert data["energy"]["end"] < data["energy"]["start"]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--set", "q.c=1"), "there is no variable 'q.c'"),
        (("--set", "a"), "expected NAME=NUMBER"),
        (("--tau", "a_dot"), 'expected "SPEED=EXPRESSION"'),
        (("--tau", "a_dot=__import__('os')"), "--tau: a_dot"),
        (("--tau", "w=1"), "there is no speed 'w'"),
        (("--integrator", "rk9"), "'rk9' is unknown"),
        (("--integrator", "rk4"), "Give step=1e-3"),
        (("--set", "b=5,a=1"), "'slide' cannot be satisfied"),
    ],
)
def test_faults_are_one_message(slider, options, message):
    done = run(slider, "--t", 1, *options)
    assert done.returncode == 1
    assert message in done.stderr


def test_a_run_that_ends_early_says_so(slider):
    done = run(slider, "--t", 10, "--tau", "a_dot=exp(exp(t))")
    assert done.returncode == 1
    assert "Stopped at t =" in done.stdout
