"""polhode study: values as they are typed, files, and what it refuses."""

import csv
import json
import subprocess
import sys

import pytest

import polhode as ph


@pytest.fixture(scope="module")
def pendulum(tmp_path_factory):
    m, L = ph.symbols("m L")
    build = ph.Builder("pendulum", gravity=(0, 0, -9.81))
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=m, com=(0, 0, -L))
    path = tmp_path_factory.mktemp("study") / "pendulum.toml"
    ph.save(build.build(), path)
    return path


def run(*words):
    command = [sys.executable, "-m", "polhode", "study", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_a_grid_as_in_python(pendulum, tmp_path):
    given = ("--over", "L=0.5:1:3", "--over", "q.theta=0.1,1", "--p", "m=2", "--keep", "max(theta_dot)", "--t", 2)
    done = run(pendulum, *given, "--csv", tmp_path / "s.csv", "--out", tmp_path / "runs", "--json")
    assert done.returncode == 0, done.stderr
    columns = json.loads(done.stdout)["columns"]
    dyn = ph.formulate(ph.load(pendulum)).compile()
    over = {"L": [0.5, 0.75, 1.0], "q.theta": [0.1, 1.0]}
    found = ph.study(dyn, over, {"t_end": 2.0, "p": {"m": 2.0}}, "max(theta_dot)")
    assert columns["max(theta_dot)"] == pytest.approx(found["max(theta_dot)"].tolist())
    with (tmp_path / "s.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [float(row["L"]) for row in rows] == [0.5, 0.5, 0.75, 0.75, 1.0, 1.0]
    assert (tmp_path / "runs" / "study.json").exists()


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--over", "L=1:2", "--p", "m=1", "--keep", "max(theta)"), "expected FROM:TO:COUNT"),
        (("--over", "L=1:2:3", "--keep", "max(theta)"), "Give --p 'm=...', or --over"),
        (("--over", "L=1:2:3", "--p", "m=1"), "--keep is missing"),
        (("--over", "l=1:2:3", "--p", "m=1,L=1", "--keep", "max(theta)"), "input 'l'"),
    ],
)
def test_what_is_wrong_is_said(pendulum, words, said):
    done = run(pendulum, *words)
    assert done.returncode == 1
    assert said in done.stderr
