"""What those read first who mistype: the file, the option, the name, and a remedy that works."""

import subprocess
import sys

import pytest

from polhode.formats import load
from polhode.interact.server import _bound
from polhode.model import ModelError
from tests.live import pendulum

FREE = """
[[body]]
name = "ball"
mass = "m"
joint = { type = "prismatic", axis = "z", name = "z" }
"""


def said(*words):
    done = subprocess.run(
        [sys.executable, "-m", "polhode", *map(str, words)], check=False, capture_output=True, text=True, timeout=120
    )
    assert done.returncode in (1, 2)
    assert not done.stdout
    return done.stderr.strip()


@pytest.fixture
def free(tmp_path):
    path = tmp_path / "free.toml"
    path.write_text(f'name = "free"\nsymbols = ["m"]\n{FREE}')
    return path


def test_a_file_that_is_not_there_has_a_neighbour(tmp_path):
    path = pendulum(tmp_path)
    with pytest.raises(ModelError, match=f"no such file. Did you mean '{path}'"):
        load(path.with_name("pendulums.toml"))
    with pytest.raises(ModelError, match=r"there is no such file\.$"):
        load(path.with_name("walker.toml"))
    with pytest.raises(ModelError, match=r"there is no such file\.$"):
        load(tmp_path / "nowhere" / "pendulum.toml")


def test_a_program_is_no_model(tmp_path):
    path = tmp_path / "cart.py"
    path.write_text("import polhode as ph\n")
    with pytest.raises(ModelError, match=r"a program in Python, expected a URDF.* ph\.save\(model, \"NAME\.toml\"\)"):
        load(path)


@pytest.mark.parametrize("command", ["view", "export"])
def test_parameters_that_are_none_are_named_before_those_that_are_missing(free, command):
    assert said(command, free, "--p", "mm=3") == "polhode: --p: there is no parameter 'mm'. Did you mean 'm'?"
    assert said(command, free) == "polhode: The model has parameters without values. Give --p 'm=...'."


def test_options_are_called_what_they_are_called(free):
    view = ("view", free, "--p", "m=1", "--no-browser")
    assert said(*view, "--integrator", "moro").startswith("polhode: --integrator moro: expected one of")
    assert said(*view, "--rate", "1e9").startswith("polhode: --rate 1000000000.0: expected")
    assert said("export", free, "--p", "m=1", "--step", "0").startswith("polhode: --step 0.0: expected seconds")
    assert said("view", "--no-browser").endswith("See polhode view --help.")
    assert said("vew").endswith("See polhode --help.")


def test_a_session_has_a_place_before_it_is_recorded(free, tmp_path):
    view = ("view", free, "--p", "m=1", "--no-browser", "--record")
    assert "there is no folder" in said(*view, tmp_path / "nowhere" / "s.npz")
    before = free.read_text()
    assert said(*view, free) == f"polhode: --record {free}: expected a name that ends in .npz."
    assert free.read_text() == before


def test_addresses_and_ports_have_remedies_of_their_own():
    taken = _bound("127.0.0.1", 0)
    with taken, pytest.raises(OSError, match=r"already in use\. Give another port, or 0"):
        _bound("127.0.0.1", taken.getsockname()[1])
    with pytest.raises(OSError, match=r"port 0: [^()]*\. Give an address of this computer"):
        _bound("192.0.2.1", 0)  # which is nobody's
    with pytest.raises(OSError, match="Give another port"):
        _bound("127.0.0.1", 70_000)
