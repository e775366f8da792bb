"""The commands say which constraints hold in what they print, and --bare leaves them out."""

import ctypes
import json
import shutil
import subprocess
import sys

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.cli.main import app, main
from tests.mechanisms import four_bar, slider_crank

GEARS = """
name = "gears"
[[body]]
name = "one"
joint = { type = "revolute", axis = "z", name = "a" }
mass = 1
inertia = [1, 1, 1]
[[body]]
name = "two"
joint = { type = "revolute", axis = "z", name = "b" }
mass = 1
inertia = [2, 2, 3]
[[coupling]]
coordinate = "b"
of = "a"
ratio = -2
"""


def run(*arguments):
    done = CliRunner().invoke(app, [*map(str, arguments)])
    assert done.exit_code == 0, done.output
    return done.output


@pytest.fixture
def linkage(tmp_path):
    path = tmp_path / "four-bar.toml"
    ph.save(four_bar(), path)
    return path


@pytest.fixture
def closed():
    """A state of the four-bar linkage where its loop is closed, as options."""
    model = four_bar()
    q, u = ph.assemble(model, {"a": -0.9, "b": 0.7}, {"a_dot": 1.0}, keep=["a", "a_dot"])
    return ["--q", ",".join(map(repr, q.tolist())), "--u", ",".join(map(repr, u.tolist()))]


def test_eval_gives_the_accelerations_of_the_machine_with_its_loops(linkage, closed):
    data = json.loads(run("eval", linkage, *closed, "--tau", "a_dot=0.5", "--json"))
    assert (data["holds"], data["left_out"]) == (["close"], [])
    # another way: constraints embedded, one speed left
    eq = ph.formulate(four_bar(), method="kane", embed=True, independent=["a_dot"])
    found = eq.compile().forward_dynamics(data["q"], [data["u"][0]], [0.5])
    assert data["udot"][0] == pytest.approx(found[0], rel=1e-9)
    eq = ph.formulate(four_bar())
    values = {eq.q: data["q"], eq.u: data["u"], eq.t: 0}
    J, gamma = (np.array(ph.evaluate(part, values)) for part in (eq.constraints.J, eq.constraints.gamma))
    assert np.abs(J.reshape(-1, 3) @ data["udot"] + gamma).max() < 1e-9
    lam = [row["reaction"] for row in data["constraints"]]
    balance = np.array(data["mass_matrix"]) @ data["udot"] + data["bias"] - [0.5, 0, 0] - J.reshape(-1, 3).T @ lam
    assert np.abs(balance).max() < 1e-9


def test_bare_gives_those_of_the_tree_and_says_so(linkage, closed):
    data = json.loads(run("eval", linkage, *closed, "--bare", "--json"))
    assert (data["holds"], data["left_out"]) == ([], ["close"])
    assert "constraints" not in data
    held = json.loads(run("eval", linkage, *closed, "--json"))
    assert np.abs(np.subtract(data["udot"], held["udot"])).max() > 0.1
    free = np.linalg.solve(data["mass_matrix"], -np.array(data["bias"]))
    assert data["udot"] == pytest.approx(free.tolist(), rel=1e-12)
    text = run("eval", linkage, *closed, "--bare")
    assert "Left out by --bare: 'close' (hinge top, tip; 5 equations). This is the bare tree." in text


def test_eval_shows_reactions_and_states_that_are_off(linkage, closed):
    text = run("eval", linkage, *closed)
    assert "Holding 'close' (hinge top, tip; 5 equations). udot is that of the machine with them." in text
    assert "close.tilt y" in text
    assert "does not satisfy" not in text
    assert "The state does not satisfy 'close.x'" in run("eval", linkage)


def test_couplings_hold_too(tmp_path):
    path = tmp_path / "gears.toml"
    path.write_text(GEARS)
    data = json.loads(run("eval", path, "--tau", "a_dot=1", "--json"))
    assert data["udot"] == pytest.approx([1 / 13, -2 / 13])  # 1 + 4 * 3
    assert json.loads(run("eval", path, "--tau", "a_dot=1", "--bare", "--json"))["udot"] == pytest.approx([1, 0])
    assert "Holding 'coupling of b' (b = -2 a; 1 equation)." in run("eval", path)
    assert "Constraints: 'coupling of b' (b = -2 a; 1 equation)." in run("info", path)


def test_rows_that_contradict_are_an_error(tmp_path, monkeypatch, capsys):
    build = ph.Builder("stuck")
    build.body("block", joint=ph.prismatic("x", name="x"), mass=1)
    build.constraint(ph.symbol("x") - ph.sin(ph.TIME), name="one")
    build.constraint(ph.symbol("x") - ph.cos(ph.TIME), name="other")
    path = tmp_path / "stuck.toml"
    ph.save(build.build(), path)
    monkeypatch.setattr(sys, "argv", ["polhode", "eval", str(path)])
    with pytest.raises(SystemExit) as end:
        main()
    assert end.value.code == 1
    assert "no acceleration satisfies it together with the others" in capsys.readouterr().err
    assert "bare tree" in run("eval", path, "--bare")


def test_derive_writes_the_rows_or_says_that_they_are_left_out(linkage):
    text = run("derive", linkage)
    assert "M udot + c = Q + tau + J^T lam, J udot + gamma = 0" in text
    assert "Holding 'close'" in text
    assert "\ngamma = [" in text
    data = json.loads(run("derive", linkage, "--to", "json"))
    assert data["holds"] == ["close"]
    assert (len(data["J"]), len(data["J"][0]), data["rows"][0]) == (5, 3, "close.x")
    bare = run("derive", linkage, "--bare")
    assert "Left out by --bare: 'close'" in bare
    assert "J = " not in bare
    assert json.loads(run("derive", linkage, "--to", "json", "--bare"))["left_out"] == ["close"]


@pytest.mark.parametrize("simplify", [[], pytest.param(["--simplify"], marks=pytest.mark.slow)])
def test_latex_has_the_reactions(linkage, simplify):
    text = run("derive", linkage, "--to", "latex", *simplify)
    assert text.startswith("% Holding 'close'")
    assert r"\mathbf{J}^{T} \boldsymbol{\lambda}" in text  # as a coordinate is called c
    assert r"\mathbf{J} \dot{\mathbf{u}} + \boldsymbol{\gamma} &= 0" in text
    assert r"\lambda" not in run("derive", linkage, "--to", "latex", "--bare", *simplify)


def test_python_code_holds_them(linkage, closed):
    space = {}
    exec(run("derive", linkage, "--to", "python"), space)
    assert "Holding 'close'" in space["__doc__"]
    data = json.loads(run("eval", linkage, *closed, "--tau", "a_dot=0.5", "--json"))
    found = space["dynamics"](data["q"], data["u"], [0.5, 0, 0])
    assert found["udot"] == pytest.approx(data["udot"], rel=1e-10)
    assert found["lam"] == pytest.approx([row["reaction"] for row in data["constraints"]], abs=1e-10)
    assert np.abs(found["J"] @ data["udot"] + found["gamma"]).max() < 1e-9
    assert np.abs(found["phi"]).max() < 1e-9
    exec(run("derive", linkage, "--to", "python", "--bare"), space)
    assert "Left out by --bare: 'close'" in space["__doc__"]
    bare = json.loads(run("eval", linkage, *closed, "--bare", "--json"))
    found = space["dynamics"](data["q"], data["u"], [0, 0, 0])
    assert found["udot"] == pytest.approx(bare["udot"])
    assert "lam" not in found


def test_c_code_holds_them(linkage, tmp_path, closed):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT TESTED: there is no C compiler")
    run("derive", linkage, "--to", "c", "-o", tmp_path / "code.c")
    run("derive", linkage, "--to", "c", "-o", tmp_path / "folder")
    (tmp_path / "alone.c").write_text(run("derive", linkage, "--to", "c"))
    data = json.loads(run("eval", linkage, *closed, "--tau", "a_dot=0.5", "--json"))
    for path in (tmp_path / "code.c", tmp_path / "folder/dynamics_four_bar.c", tmp_path / "alone.c"):
        assert path.read_text().startswith("/* Holding 'close'")
        command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-shared", "-fPIC", path, "-lm"]
        assert subprocess.run([*command, "-o", path.with_suffix(".so")], check=False).returncode == 0
        udot, lam = np.zeros(3), np.zeros(5)
        given = [np.array(a, dtype=float) for a in (data["q"], data["u"], [0.5, 0, 0], [0])]
        pointers = [a.ctypes.data_as(ctypes.c_void_p) for a in (*given, udot, lam)]
        assert ctypes.CDLL(str(path.with_suffix(".so"))).forward_dynamics_four_bar(*pointers) == 0
        assert udot == pytest.approx(data["udot"], rel=1e-10)
        assert lam == pytest.approx([row["reaction"] for row in data["constraints"]], abs=1e-10)
    bare = run("derive", linkage, "--to", "c", "--bare")
    assert bare.startswith("/* Left out by --bare: 'close'")
    assert "forward_dynamics" not in bare
    assert "udot[0]" in bare


def test_simulate_says_what_held(tmp_path):
    path = tmp_path / "crank.toml"
    ph.save(slider_crank(), path)
    assert "(point pin, tip; 3 equations). Residuals are below." in run("simulate", path, "--t", 0.01)
    assert "This is the bare tree." in run("simulate", path, "--t", 0.01, "--bare")
    data = json.loads(run("simulate", path, "--t", 0.01, "--json"))
    assert (len(data["holds"]), data["left_out"]) == (1, [])
    bare = json.loads(run("simulate", path, "--t", 0.01, "--bare", "--json"))
    assert (bare["holds"], bare["left_out"]) == ([], data["holds"])
    assert bare["largest_residual"] is None


def test_info_says_where_constraints_hold(linkage):
    assert "Constraints: 'close' (hinge top, tip; 5 equations). simulate, eval and derive hold them" in run(
        "info", linkage
    )


GEARED = """
name = "arm"
[[body]]
name = "arm"
mass = 1
inertia = [1, 1, 0.5]
com = [0.1, 0, 0]
joint = { type = "revolute", axis = "y", name = "elbow" }
[[motor]]
name = "M"
inertia = 1e-4
ratio = 100
drives = { elbow = 1 }
"""


@pytest.fixture
def geared(tmp_path):
    path = tmp_path / "geared.toml"
    path.write_text(GEARED)
    return path


def test_embedded_gears_are_not_called_rows(geared):
    options = [geared, "--q", "0.3,0", "--tau", "M=0.1", "--json"]
    rows, embedded = (json.loads(run("eval", *options, *more)) for more in ([], ["--method", "quasicoordinate"]))
    assert embedded["udot"] == pytest.approx([rows["udot"][1]], rel=1e-12)
    assert embedded["holds"] == embedded["embedded"] == rows["holds"] == ["M drives elbow_dot"]
    assert rows["embedded"] == []
    moved = run("simulate", geared, "--t", "0.1", "--method", "quasicoordinate")
    assert "Embedded 'M drives elbow_dot'" in moved
    assert "Residuals" not in moved
    assert "Residuals are below" in run("simulate", geared, "--t", "0.1")
    for kind in ("latex", "text", "python"):
        written = run("derive", geared, "--method", "quasicoordinate", "--to", kind)
        assert "Embedded 'M drives elbow_dot'" in written
        assert "J^T lam" not in written


def test_the_bare_tree_has_no_gears_by_any_method(geared):
    for command, options in (("eval", ["--q", "0.3,0"]), ("simulate", ["--t", "0.1"]), ("derive", [])):
        outputs = [run(command, geared, *options, "--bare", "--method", m) for m in ("poincare", "quasicoordinate")]
        assert all("Left out by --bare: 'M drives elbow_dot'" in output for output in outputs)
        if command == "eval":
            assert outputs[0].splitlines()[1:] == outputs[1].splitlines()[1:]
