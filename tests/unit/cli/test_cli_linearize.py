"""polhode linearize: what it prints, what it closes, what it refuses."""

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph

UR5 = Path(__file__).parents[3] / "examples" / "ur5.urdf"


@pytest.fixture
def linkage(tmp_path):
    build = ph.Builder("linkage")
    bar = {"com": (0.5, 0, 0), "inertia": (0.001, 0.083, 0.083)}
    build.body("crank", joint=ph.revolute("y", name="a"), mass=1, **bar)
    build.body("rod", parent="crank", at=(1, 0, 0), joint=ph.revolute("y", name="b"), mass="m", **bar)
    build.body("rocker", at=(1.2, 0, 0), joint=ph.revolute("y", name="c", damping=0.3), mass=1, **bar)
    build.marker("tip", body="rod", at=(1, 0, 0))
    build.marker("top", body="rocker", at=(1, 0, 0))
    build.loop("top", "tip", "hinge", axis="y", name="close")
    ph.save(build.build(), tmp_path / "linkage.toml")
    return tmp_path / "linkage.toml"


def run(*words):
    command = [sys.executable, "-m", "polhode", "linearize", *map(str, words)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_loops_are_closed_and_numbers_are_those_of_python(linkage, tmp_path):
    done = run(
        linkage, "--p", "m=2", "--set", "a=1.6", "--guess", "b=-1.6,c=1.4", "--independent", "a", "--output", "c",
        "--output", "high=sin(a)", "--input", "c_dot", "--json", "--plot", tmp_path / "poles.svg",
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(done.stdout)
    dyn = ph.formulate(ph.load(linkage)).compile({"m": 2})
    q, u = ph.assemble(dyn, {"a": 1.6, "b": -1.6, "c": 1.4}, keep=["a"])
    lin = ph.linearize(
        dyn, q, u, inputs="c_dot", outputs={"c": "c", "high": "sin(a)"}, independent=["a"]
    )  # fmt: skip
    assert found["at"]["a"] == 1.6
    for name in "ABCD":
        assert np.allclose(found[name], getattr(lin, name), rtol=1e-9, atol=1e-12), name
    assert (found["states"], found["outputs"]) == (list(lin.states), ["c", "high"])
    assert found["files"] == [str(tmp_path / "poles.svg")]
    assert (tmp_path / "poles.svg").exists()


def test_a_table_of_states_and_modes_is_printed():
    done = run(UR5, "--set", "elbow=1", "--limits", "ignore")
    assert done.returncode == 0, done.stderr
    lines = done.stdout.splitlines()
    assert lines[0] == "Linear model of 'ur5': 12 states (6 coordinates, 6 speeds)"
    assert lines[1].startswith("The point is no equilibrium: ")
    assert any(line.startswith("States: shoulder_pan, ") for line in lines)
    assert "The matrices are too large to print: --json has them." in lines
    assert "see drift" not in done.stdout
    assert any("moves most" in line for line in lines)


def test_what_is_wrong_is_said_in_words_of_options(linkage):
    for words, said in (
        ([UR5, "--input", "motor"], "--input: there is no speed 'motor'."),
        ([UR5, "--output", "elbw"], "--output: there is no coordinate, speed, state or parameter 'elbw'. Did you mean"),
        ([UR5, "--independent", "elbw"], "--independent: there is no state 'elbw'. Did you mean"),
        ([UR5, "--active", "brake"], "--active: there is no constraint 'brake'."),
        ([linkage], "The model has parameters without values. Give --p 'm=...'."),
    ):
        done = run(*words)
        assert done.returncode == 1
        assert done.stderr.startswith(f"polhode: {said}"), done.stderr


def test_what_does_not_hold_is_mended_with_options(tmp_path):
    build = ph.Builder("slide", gravity=(0, 0, 0))
    build.body("c", joint=ph.prismatic("x", name="x"), mass=1)
    build.body("d", joint=ph.prismatic("y", name="y"), mass=1)
    build.brake("x_dot", name="brake", active=False)
    ph.save(build.build(), tmp_path / "slide.toml")
    done = run(tmp_path / "slide.toml", "--set", "u.x_dot=1", "--active", "brake")
    assert done.returncode == 1
    assert "Find a state that does with --set and --guess, or name what holds with --active." in done.stderr
    done = run(tmp_path / "slide.toml", "--without", "x", "--json")
    assert json.loads(done.stdout)["states"] == ["y", "x_dot", "y_dot"]
    done = run(tmp_path / "slide.toml", "--without", "x_dot")
    assert done.stderr.startswith("polhode: --without: the rate of 'x' depends on 'x_dot'")


def test_names_of_what_holds_are_given_one_by_one(linkage):
    done = run(linkage, "--p", "m=2", "--active", "close,brake")
    assert done.returncode == 1
    assert "Repeat the option for several: --active 'close' --active 'brake'." in done.stderr
