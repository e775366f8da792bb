"""All formulations on one model: they agree, and where one is broken the check says which."""

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

import polhode as ph
from polhode.analyze.quantities import drawn
from polhode.cli.main import app, main
from polhode.equations.formulate import IN_JOINTS, METHODS, WAYS
from polhode.model.grow import grow
from tests.mechanisms import bricard, four_bar, governor, slider_crank, squeezer

UR5 = Path(__file__).parents[3] / "examples/ur5.urdf"
MACHINES = {
    "squeezer": squeezer,
    "slider-crank": slider_crank,
    "driven four-bar": lambda: four_bar(ph.sin(3 * ph.TIME)),
    "governor": lambda: governor(False),
    "bricard": bricard,
}
ROWS = {"M", "c", "Q", "qdot", "kinetic energy", "potential energy", "pose", "Jacobian", "accelerations"}
CONSTRAINED = {"phi", "psi", "J", "gamma"}


def pendulum(**options):
    m, L = ph.symbols("m L")
    build = ph.Builder("pendulum")
    build.body("rod", joint=ph.revolute("y", name="a"), mass=m, com=(0, 0, -L), inertia=(0.1, 0.1, 0.02))
    build.body("bob", parent="rod", at=(0, 0, -1), joint=ph.spherical(**options), mass=1, com=(0.1, 0, -L),
               inertia=(0.1, 0.2, 0.15))  # fmt: skip
    return build.build()


@pytest.mark.parametrize("name", MACHINES)
def test_published_machines_agree_in_everything(name):
    model = MACHINES[name]()
    found = ph.check(model, states=3)
    assert found.agree, str(found)
    assert found.methods == tuple(METHODS)
    assert set(found.table) == ROWS | (CONSTRAINED if model.constraints else set())
    assert max(found.apart.values()) > 0  # they were not computed by one function


def test_sources_are_counted_and_shown():
    found = ph.check(four_bar(), states=1)
    assert [len(found.sources[name]) for name in ("M", "c", "Q", "accelerations", "pose", "J")] == [5, 6, 4, 4, 1, 1]
    row = next(line for line in str(found).splitlines() if line.startswith("M "))
    assert row.split()[-1] == "5"
    two = ph.check(four_bar(), states=1, methods=["denoc", "poincare"])
    assert two.sources["M"] == [("denoc", "poincare")]


@pytest.mark.parametrize("seed", range(8))
def test_grown_mechanisms_agree(seed):
    found = ph.check(grow(seed, 4), states=2, seed=seed)
    assert found.agree, str(found)


def test_speeds_that_are_no_rates_are_brought_together():
    found = ph.check(pendulum(), states=4)
    assert found.agree, str(found)
    assert "lagrange" in found.methods
    assert found.table["c"]["lagrange"] > 0


def test_quaternions_leave_lagrange_out_and_say_so():
    found = ph.check(pendulum(quaternion=True), states=2)
    assert found.agree
    assert found.methods == ("poincare", "denoc", "quasicoordinate", "book", "kane")
    assert "4 coordinates and 3 speeds" in found.left_out["lagrange"]
    assert "lagrange: left out." in str(found)


def test_parameters_are_drawn_positive_and_shown_or_taken():
    found = ph.check(pendulum(), states=1, values={"m": 3.0}, seed=4)
    assert found.parameters["m"] == 3.0
    assert found.drawn == ("L",)
    assert 0.5 <= found.parameters["L"] <= 2
    assert f"L = {found.parameters['L']:.6g} (drawn), m = 3" in str(found)
    assert found.parameters == ph.check(pendulum(), states=1, values={ph.symbol("m"): 3}, seed=4).parameters
    assert found.parameters != ph.check(pendulum(), states=1, values={"m": 3.0}, seed=5).parameters


def broken(monkeypatch, method, **terms):
    """Let a formulation have other terms than it derives."""
    real = ways(method)

    def derive(kin):
        found = real(kin)
        return replace(found, **{name: change(getattr(found, name)) for name, change in terms.items()})

    patched(monkeypatch, method, derive)


def ways(method):
    return WAYS["substitution"] if method == "kane" else IN_JOINTS[method]


def patched(monkeypatch, method, derive):
    if method == "kane":
        monkeypatch.setitem(WAYS, "substitution", derive)
    else:
        monkeypatch.setitem(IN_JOINTS, method, derive)


def scaled(factor):
    return lambda make: lambda *args: make(*args) * factor


@pytest.mark.parametrize("method", ["poincare", "lagrange", "kane", "denoc"])
def test_a_broken_formulation_is_found_and_named(method, monkeypatch):
    broken(monkeypatch, method, mass=scaled(1 + 1e-8))
    found = ph.check(four_bar(), states=2)
    assert not found.agree
    assert list(found.disagreements) == [method]  # the one that stands alone, also where it comes first
    assert found.reference != method
    assert "M" in found.disagreements[method]
    assert found.table["M"][method] == pytest.approx(1e-8, rel=1e-3)
    assert f"DISAGREE. {method} differs from {found.reference} by 1.0e-08 in M" in found.verdict
    assert "1.0e-08 !" in str(found)
    assert ph.check(four_bar(), states=2, tolerance=1e-7).agree


@pytest.mark.parametrize(
    ("term", "method", "rows"),
    [
        ("velocity", "kane", {"c", "accelerations"}),
        ("gravity", "lagrange", {"c", "accelerations"}),
        ("forces", "poincare", {"Q", "accelerations"}),
        ("inverse", "denoc", {"c"}),
        ("forward", "denoc", {"accelerations"}),
    ],
)
def test_every_term_is_looked_at(term, method, rows, monkeypatch):
    broken(monkeypatch, method, **{term: scaled(1.001)})
    found = ph.check(governor(False), states=2)
    assert {method: rows} == {name: set(quantities) for name, quantities in found.disagreements.items()}


def test_millimetres_hide_nothing(monkeypatch):
    build = ph.Builder("small")
    build.body("slide", joint=ph.prismatic("x"), mass=5)
    build.body("arm", parent="slide", joint=ph.revolute("y"), mass=1e-6, com=(1e-3, 0, 0), inertia=[1e-12] * 3)
    model = build.build()
    assert ph.check(model).agree
    real = ways("kane")

    def off(kin):
        found = real(kin)
        M = found.mass()
        tiny = ph.matrix([[0, 0], [0, 1e-18]])  # a millionth of the arm's inertia
        return replace(found, mass=lambda: M + tiny)

    patched(monkeypatch, "kane", off)
    assert list(ph.check(model).disagreements) == ["kane"]


def test_what_is_no_number_is_no_agreement():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.force("a_dot", ph.sqrt(-1 - ph.symbol("a") ** 2))
    found = ph.check(build.build(), states=2)
    assert not found.agree
    assert np.isnan(found.apart["Q"])
    assert "no number !" in str(found)


def test_a_singular_inertia_leaves_accelerations_out():
    build = ph.Builder("massless")
    build.body("frame", joint=ph.revolute("y"), mass=0)
    found = ph.check(build.build(), states=2)
    assert found.agree
    assert "accelerations" not in found.table
    assert "singular" in found.left_out["accelerations"]


def test_wrong_arguments_are_named():
    model = four_bar()
    for options, words in {
        ("methods", ("kane",)): "expected two or more",
        ("methods", ("kane", "lagrang")): "Did you mean 'lagrange'",
        ("states", 0): "states is 0",
        ("seed", -1): "seed is -1",
        ("tolerance", 0): "tolerance is 0",
        ("values", (("mass", 1),)): "'mass' is no parameter",
    }.items():
        name, value = options
        with pytest.raises(ValueError, match=words):
            ph.check(model, **{name: dict(value) if name == "values" else value})
    with pytest.raises(TypeError, match="takes a Model"):
        ph.check("ur5.urdf")
    with pytest.raises(ValueError, match="nothing in it moves"):
        ph.check(ph.Builder("empty").build())


@pytest.fixture
def file(tmp_path):
    path = tmp_path / "four-bar.toml"
    ph.save(four_bar(ph.sin(ph.TIME)), path)
    return path


def run(*arguments):
    done = subprocess.run([sys.executable, "-m", "polhode", "check", *map(str, arguments)], capture_output=True,
                          text=True, check=False)  # fmt: skip
    assert "Traceback" not in done.stderr + done.stdout
    return done


def test_the_command_prints_a_table_and_a_verdict(file):
    done = run(file, "--states", 2)
    assert done.returncode == 0, done.stderr
    assert "gamma" in done.stdout
    assert "Accelerations are those of the bare tree" in done.stdout
    assert "poincare, lagrange, denoc, quasicoordinate, book and kane agree" in done.stdout


def test_the_command_gives_advice_for_the_shell():
    done = CliRunner().invoke(app, ["check", str(UR5), "--floating", "--states", "1"])
    assert "lagrange: left out." in done.output
    assert "or --floating --angles" in done.output


def test_the_command_takes_methods_and_parameters(tmp_path):
    path = tmp_path / "pendulum.toml"
    ph.save(pendulum(), path)
    for option in ("--p", "--set"):
        done = CliRunner().invoke(app, ["check", str(path), option, "m=2", "--states", "1"])
        assert (done.exit_code, "m = 2\n" in done.output, "L = " in done.output) == (0, True, True)
    done = CliRunner().invoke(app, ["check", str(path), "--method", "kane", "--method", "denoc", "--json"])
    data = json.loads(done.output)
    assert data["agree"] is True
    assert set(data["differences"]["M"]) == {"kane", "denoc"}
    assert data["drawn"] == ["L", "m"]


WRONG = [
    (("--p", "k=2"), "'k' is no parameter", 1),
    (("--p", "m=x"), "'x' is not a finite number", 1),
    (("--states", "0"), "--states is 0", 1),
    (("--method", "kane"), "--method kane: expected two or more", 1),
    (("--method", "kan", "--method", "kane"), "Did you mean 'kane'", 1),
    (("--tolerance", "nan"), "--tolerance is nan", 1),
    (("--seed", "x"), "--seed", 2),
]


@pytest.mark.parametrize(("arguments", "words", "code"), WRONG)
def test_the_command_refuses_in_one_message(arguments, words, code, tmp_path, monkeypatch, capsys):
    path = tmp_path / "pendulum.toml"
    ph.save(pendulum(), path)
    monkeypatch.setattr(sys, "argv", ["polhode", "check", str(path), *arguments])
    with pytest.raises(SystemExit) as end:
        main()
    found = capsys.readouterr()
    assert (end.value.code, found.out) == (code, "")
    assert words in found.err


def test_the_command_fails_where_methods_disagree(file, monkeypatch):
    runner = CliRunner()
    assert runner.invoke(app, ["check", str(file), "--states", "2"]).exit_code == 0
    broken(monkeypatch, "denoc", mass=scaled(1 + 1e-6))
    found = runner.invoke(app, ["check", str(file), "--states", "2"])
    assert found.exit_code == 1
    assert "denoc differs from poincare by 1.0e-06 in M" in found.output
    data = json.loads(runner.invoke(app, ["check", str(file), "--json"]).output)
    assert data["agree"] is False


def bent_arm():
    """Beams of some millimetres with a symbol for their length, and a quaternion after the modes."""
    L = ph.symbol("L")
    build = ph.Builder("bent")
    build.body("root", joint=ph.revolute("y"), mass=1, flexible=ph.beam(length=L, mu=1, EI_y=2, EI_z=3, modes=1))
    build.body("ball", parent="root", at=(L, 0, 0), joint=ph.spherical(quaternion=True), mass=1,
               inertia=(0.1, 0.1, 0.1), flexible=ph.beam(length=L / 2, mu=1, EI_y=2, modes=1))  # fmt: skip
    return build.build()


def test_states_of_bodies_that_deform_are_small_and_have_unit_quaternions():
    model = bent_arm()
    at = drawn(model, 20, 0, {"L": 0.004})
    place = model.coordinates.index("ball_q0") if "ball_q0" in model.coordinates else 3
    assert np.linalg.norm(at.q[:, place : place + 4], axis=1) == pytest.approx(np.ones(20))
    bent = [i for i, name in enumerate(model.coordinates) if name.endswith(("_y1", "_z1"))]
    assert len(bent) == 3
    assert np.abs(at.q[:, bent]).max() < 0.05 * 0.004 < 40 * np.abs(at.q[:, bent]).max()


def test_formulations_agree_on_bodies_that_deform():
    found = ph.check(bent_arm(), values={"L": 0.004}, states=2)
    assert found.agree
    assert {*found.methods} == {*METHODS} - {"lagrange"}
    assert "quaternion" in found.left_out["lagrange"]


def test_the_command_line_takes_a_file_with_beams(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(
        'name = "arm"\n'
        '[[body]]\nname = "arm"\njoint = { type = "revolute", axis = "y" }\n'
        "beam = { length = 1, mu = 1, EI_y = 50, modes = 2 }\n"
        '[[body]]\nname = "load"\nparent = "arm"\nat = [1, 0, 0]\nmass = 0.2\njoint = { type = "weld" }\n'
    )
    for command in (["check", "--json"], ["linearize", "--json"], ["derive"], ["simulate", "--t", "0.01"]):
        done = CliRunner().invoke(app, [command[0], str(path), *command[1:]])
        assert done.exit_code == 0, done.output
        assert "arm_z1" in done.output or command[0] in ("check", "simulate")
