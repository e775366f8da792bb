"""The command line, run as a user runs it."""

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph

UR5 = Path(__file__).parents[3] / "examples/ur5.urdf"
PENDULUM = """
name = "pendulum"
gravity = [0, 0, "-g"]
symbols = ["m", "L", "g"]
[[body]]
name = "bob"
joint = { type = "revolute", axis = "y", name = "theta" }
mass = "m"
com = [0, 0, "-L"]
"""


def run(*arguments):
    done = subprocess.run(
        [sys.executable, "-m", "polhode", *map(str, arguments)], capture_output=True, text=True, check=False
    )
    assert "Traceback" not in done.stderr + done.stdout
    return done


@pytest.fixture
def pendulum(tmp_path):
    path = tmp_path / "pendulum.toml"
    path.write_text(PENDULUM)
    return path


def test_info_draws_the_tree_and_lists_what_is_doubtful():
    done = run("info", UR5)
    assert done.returncode == 0
    assert "└─ shoulder [revolute shoulder_pan, 3.7 kg]" in done.stdout


def test_info_as_json():
    data = json.loads(run("info", UR5, "--json").stdout)
    assert data["coordinates"] == ["shoulder_pan", "shoulder_lift", "elbow", "wrist_1", "wrist_2", "wrist_3"]
    assert data["bodies"][1]["parent"] == "shoulder"
    assert data["markers"] == {"base_link": "world", "tool": "wrist_3_link"}


def test_floating_gives_the_root_six_more_speeds():
    assert json.loads(run("info", UR5, "--floating", "--json").stdout)["nq"] == 13
    assert json.loads(run("info", UR5, "--floating", "--angles", "--json").stdout)["nq"] == 12


@pytest.mark.parametrize("method", ["poincare", "lagrange"])
def test_derive_writes_text_that_a_person_reads(pendulum, method):
    done = run("derive", pendulum, "--method", method)
    assert done.returncode == 0
    assert "M = [[L**2*m]]" in done.stdout
    assert "c = [L*g*m*sin(theta)]" in done.stdout


def test_derive_writes_latex(pendulum):
    done = run("derive", pendulum, "--to", "latex")
    assert r"\ddot{\theta}" in done.stdout
    assert r"L^{2} m" in done.stdout


def test_derive_writes_json_that_can_be_read_back(pendulum):
    from polhode.model.expression import parse

    data = json.loads(run("derive", pendulum, "--to", "json").stdout)
    names = {s: ph.symbol(s) for s in (*data["q"], *data["u"], *data["parameters"])}
    values = {name: 0.3 + i for i, name in enumerate(names)}
    expected = ph.evaluate(ph.formulate(ph.load(pendulum)).c[0], {k: values[k] for k in ("L", "g", "m", "theta")})
    assert ph.evaluate(parse(data["c"][0], names, "c"), values) == pytest.approx(expected)


def test_long_equations_name_their_parts():
    from polhode.model.expression import parse

    data = json.loads(run("derive", UR5, "--to", "json").stdout)
    names = {s: ph.symbol(s) for s in (*data["q"], *data["u"])}
    for name, text in data["where"]:
        names[name] = parse(text, names, name)
    eq = ph.formulate(ph.load(UR5))
    values = {s: 0.1 + 0.2 * i for i, s in enumerate([*data["q"], *data["u"]])}
    found = [parse(text, names, "c") for text in data["c"]]
    assert np.allclose(ph.evaluate(found, values), ph.evaluate(eq.c.entries, values))


def test_derive_writes_python_that_runs(pendulum, tmp_path):
    out = tmp_path / "out.py"
    done = run("derive", pendulum, "--to", "python", "--output", out, "--p", "m=2, L=0.5")
    assert done.returncode == 0, done.stderr
    space = {}
    exec(out.read_text(), space)
    found = space["dynamics"]([[0.3], [0.3]], [0.0], [0.1], p=[9.81])
    assert found["mass_matrix"].shape == (2, 1, 1)
    assert np.allclose(found["udot"], (0.1 - 2 * 9.81 * 0.5 * np.sin(0.3)) / (2 * 0.25))


def test_derive_writes_c_files(pendulum, tmp_path):
    done = run("derive", pendulum, "--to", "c", "--output", tmp_path / "code")
    assert done.returncode == 0, done.stderr
    assert {path.name for path in (tmp_path / "code").iterdir()} == {"dynamics_pendulum.c", "dynamics_pendulum.h"}


def test_eval_agrees_with_the_compiled_calls():
    q, u = [0.1, -0.4, 0.3, 0.2, 0.5, -0.6], [0.3, 0.1, -0.2, 0.5, 0.7, 0.2]
    data = json.loads(run("eval", UR5, "--q", " ".join(map(str, q)), "--u", ",".join(map(str, u)), "--json").stdout)
    dyn = ph.formulate(ph.load(UR5)).compile()
    assert np.allclose(data["mass_matrix"], dyn.mass_matrix(q))
    assert np.allclose(data["udot"], dyn.forward_dynamics(q, u, np.zeros(6)))
    assert np.allclose([data["kinetic"], data["potential"]], dyn.energy(q, u))


def test_eval_takes_names(pendulum):
    done = run("eval", pendulum, "--q", "theta=0.3", "--u", "theta_dot=0", "--p", "m=1, L=1, g=9.81")
    assert done.returncode == 0, done.stderr
    assert re.search(r"theta_dot .* -2.899", done.stdout)


def test_eval_takes_the_state_as_other_commands_do():
    one = run("eval", UR5, "--set", "q.elbow=1", "--set", "u.wrist_1_dot=2", "--json")
    other = run("eval", UR5, "--q", "elbow=1", "--u", "wrist_1_dot=2", "--json")
    assert json.loads(one.stdout) == json.loads(other.stdout)
    assert "Did you mean 'q.elbow'" in run("eval", UR5, "--set", "q.elbw=1").stderr


def test_an_integrator_is_no_method():
    done = run("simulate", UR5, "--t", "1", "--method", "rk4")
    assert "--method rk4: that is an integrator. Give simulate --integrator rk4." in done.stderr
    assert done.returncode == 1


def test_eval_knows_the_states(tmp_path):
    path = tmp_path / "servo.toml"
    path.write_text(
        PENDULUM + '[[state]]\nname = "lag"\nrate = "theta - 2*lag"\nstart = "m/4"\n'
        '[[force]]\nspeed = "theta_dot"\nvalue = "3*lag"\n'
    )
    given = ("eval", path, "--q", "0", "--p", "m=2, L=1, g=9.81")
    data = json.loads(run(*given, "--json").stdout)
    assert (data["states"], data["z"], data["zdot"], data["forces"]) == (["lag"], [0.5], [-1.0], [1.5])
    assert re.search(r"lag +0.5 +-1\n", run(*given).stdout)
    assert json.loads(run("info", path, "--json").stdout)["states"] == ["lag"]


WRONG = [
    (["info", "nowhere.urdf"], "no such file"),
    (["derive", UR5, "--method", "magic"], "There is no method 'magic'"),
    (["derive", UR5, "--to", "word"], "expected one of text, latex"),
    (["derive", UR5, "--to", "c", "--p", "m=1"], "'m' is no parameter"),
    (["eval", UR5, "--q", "1,2", "--u", "0,0,0,0,0,0"], "2 numbers for 6 coordinates"),
    (["eval", UR5, "--q", "elbo=1", "--u", "0,0,0,0,0,0"], "Did you mean 'elbow'?"),
    (["eval", UR5, "--q", "1e999,0,0,0,0,0"], "'1e999' is not a finite number"),
    (["eval", UR5, "--q", "a,0,0,0,0,0"], "'a' is not a finite number"),
    (["eval", UR5, "--q", "30deg,0,0,0,0,0"], "'30deg' is not a finite number. Angles are in radians: 30*pi/180."),
    (["info", str(UR5).replace(".urdf", ".udf")], "there is no such file. Did you mean '"),
    (["simulate", UR5, "--t", "1", "--method", "RK45"], "nearest to 'dopri5' here. Give simulate --integrator dopri5."),
    (["eval", UR5, "--t", "nan"], "nan is not a finite number"),
    (["eval", UR5, "--floating", "--q", "0 " * 13, "--u", "0 " * 12], "has length 0, expected 1"),
    (["info", UR5, "--angles"], "only goes with --floating"),
]


@pytest.mark.parametrize(("arguments", "words"), WRONG, ids=[words for _, words in WRONG])
def test_a_wrong_command_gets_one_clear_message(arguments, words):
    done = run(*arguments)
    assert done.returncode == 1
    assert words in done.stderr
    assert done.stdout == ""
    data = json.loads(run(*arguments, "--json").stdout)
    assert words in data["error"]


def test_a_missing_parameter_is_named(pendulum):
    done = run("eval", pendulum, "--q", "0", "--u", "0", "--p", "m=1")
    assert done.returncode == 1
    assert "L, g" in done.stderr


def test_all_faults_of_a_file_are_listed(tmp_path):
    path = tmp_path / "bad.urdf"
    path.write_text(
        '<robot name="r"><link name="a"><inertial><mass value="x"/></inertial></link>'
        '<joint name="j" type="hinge"><parent link="a"/><child link="b"/></joint></robot>'
    )
    done = run("info", path)
    assert done.returncode == 1
    assert done.stderr.count("\n  - ") >= 2
    assert len(json.loads(run("info", path, "--json").stdout)["faults"]) >= 2


def test_wrong_usage_is_one_message_too():
    done = run("explode", UR5)
    assert done.returncode == 2
    assert "No such command 'explode'" in done.stderr
    assert "Did you mean 'linearize'? See polhode --help." in run("linearise").stderr
    assert "error" in json.loads(run("info", "--json").stdout)


def test_what_is_not_given_is_at_rest():
    data = json.loads(run("eval", UR5, "--q", "elbow=pi/2", "--json").stdout)
    assert data["q"] == [0, 0, pytest.approx(np.pi / 2), 0, 0, 0]
    assert data["u"] == [0] * 6
    assert json.loads(run("eval", UR5, "--floating", "--json").stdout)["q"][:4] == [1, 0, 0, 0]


def test_what_is_not_finite_is_null(tmp_path):
    path = tmp_path / "pole.toml"
    path.write_text(PENDULUM + '[[force]]\nspeed = "theta_dot"\nvalue = "1/theta"\n')
    data = json.loads(run("eval", path, "--p", "m=1,L=1,g=1", "--json").stdout)
    assert data["forces"] == [None]


def test_names_may_have_blanks(tmp_path):
    path = tmp_path / "blanks.toml"
    text = PENDULUM.replace('"theta"', '"left elbow"').replace('["m",', '["arm mass",')
    path.write_text(text.replace('mass = "m"', """mass = "p['arm mass']\""""))
    done = run("eval", path, "--q", "left elbow=0.3", "--p", "arm mass=1, L=1, g=1")
    assert done.returncode == 0, done.stderr


def test_c_on_its_own_compiles(pendulum, tmp_path):
    compiler = shutil.which("gcc") or shutil.which("cc")
    if compiler is None:
        pytest.skip("NOT TESTED: there is no C compiler")
    path = tmp_path / "one.c"
    path.write_text(run("derive", pendulum, "--to", "c").stdout)
    command = [compiler, "-std=c99", "-Wall", "-Wextra", "-Werror", "-c", path, "-o", tmp_path / "one.o"]
    assert subprocess.run(command, check=False).returncode == 0
    run("derive", pendulum, "--to", "c", "-o", tmp_path / "two.c")
    assert '#include "two.h"' in (tmp_path / "two.c").read_text()
    assert (tmp_path / "two.h").exists()


def test_the_version():
    assert run("--version").stdout == f"polhode {ph.__version__}\n"


def test_help_names_the_commands():
    done = run("--help")
    assert done.returncode == 0
    assert all(word in done.stdout for word in ("info", "derive", "eval"))


def test_export_writes_a_robot_with_its_limits(tmp_path):
    path = tmp_path / "page.html"
    done = run("export", UR5, "--set", "elbow=0.5", "-o", path)
    assert done.returncode == 0, done.stderr
    machine = json.loads(re.search(r"machine = (\{.*\});", path.read_text()).group(1))
    assert "limit of elbow" in machine["holds"]["groups"]
    assert run("export", UR5, "--limits", "ignore", "-o", path).returncode == 0
    machine = json.loads(re.search(r"machine = (\{.*\});", path.read_text()).group(1))
    assert "native" not in machine


def test_export_writes_a_page_with_sliders_for_parameters(pendulum, tmp_path):
    path = tmp_path / "page.html"
    given = ["--p", "m=2, L=0.5, g=9.81", "--set", "theta=1", "--tau", "theta_dot=-0.1*theta_dot"]
    done = run("export", pendulum, *given, "-o", path)
    assert done.returncode == 0, done.stderr
    machine = json.loads(re.search(r"machine = (\{.*\});", path.read_text()).group(1))
    assert machine["parameters"] == [[0, "L", 0, 1], [1, "g", 0, 19.62], [2, "m", 0, 4]]
    assert machine["x"][:2] == [1, 0]
    assert machine["p"] == [0.5, 9.81, 2]
    assert "Give --p 'L=..., g=..., m=...'" in run("export", pendulum).stderr
    assert "--to pdf: expected html." in run("export", pendulum, "--to", "pdf").stderr
