"""`polhode simulate`, run as a user runs it."""

import csv
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import pytest

from polhode.cli.wording import for_shell

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
        (("--tau", "a_dot"), 'expected "NAME=EXPRESSION", of a speed or an actuator.'),
        (("--tau", "a_dot=nan"), "--tau: a_dot is nan, expected a finite number"),
        (("--limits", "foo"), '--limits \'foo\': expected "stop" or "ignore".\n'),
        (("--tau", "a_dot=__import__('os')"), "--tau of 'a_dot'"),
        (("--tau", "w=1"), "there is no speed 'w'"),
        (("--integrator", "rk9"), "'rk9' is unknown"),
        (("--integrator", "rk4"), "Give --step 1e-3"),
        (("--step", "0.1"), "--longest, --rtol and --atol"),
        (("--longest", "0"), "expected seconds, more than 0"),
        (("--every", "2"), "--every is 2.0"),
        (("--tau", "a_dot=k*a"), "--tau of 'a_dot' has 'k', expected coordinates, speeds, states, t and parameters"),
        (("--set", "b=5,a=1"), "'slide' cannot be satisfied"),
        (("--set", "b=5,a=1"), "--guess, --set less"),
        (("--guess", "q.c=1"), "--guess: there is no variable 'q.c'"),
        (("--animate", "run.avi"), "ends in .html"),
        (("--animate", "nowhere/run.html"), "no folder 'nowhere'"),
        (("--magnify", "10"), "--magnify 10: it goes with --animate, which draws deflections. Add --animate FILE."),
        (("--animate", "run.html", "--magnify", "big"), "--magnify big: expected a number above 0, such as 10, or"),
        (("--animate", "run.html", "--magnify", "0"), "--magnify 0: expected a number above 0"),
        (("--plot", "nowhere/run.png"), "no folder 'nowhere'"),
        (("--plot", "run.bmp"), "ends in .png"),
        (("--csv", "nowhere/run.csv"), "no folder 'nowhere'"),
        (("--hdf5", "."), "this is a folder"),
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
    assert "try --integrator rodas5p" in done.stdout


def test_a_guess_chooses_how_a_loop_closes(slider):
    for b in (1, 3):  # the rod to the right, and to the left
        options = ("--set", "a=0.5", "--guess", f"b={b}", "--t", 1e-9, "--json")
        data = json.loads(run(slider, *options).stdout)
        assert abs(data["q"]["a"] - 0.5) < 1e-6
        assert (math.cos(data["q"]["a"] + data["q"]["b"]) > 0) == (b == 1)


def test_reactions_on_request(slider, tmp_path):
    table = tmp_path / "out.csv"
    assert run(slider, "--t", 0.1, "--reacting", "--longest", 0.01, "--csv", table).returncode == 0
    assert "reaction slide.off y" in next(csv.reader(table.open()))


ARM = """
name = "arm"
[[body]]
name = "arm"
joint = { type = "revolute", axis = "y" }
[body.beam]
length = 1.0
mu = 1.0
EI_y = 200.0
modes = { z = 1 }
"""


@pytest.mark.parametrize(
    ("options", "said"), [((), ""), (("--magnify", "auto"), "\u00d7 50"), (("--magnify", 7), "\u00d7 7")]
)
def test_deflections_are_magnified_as_asked(options, said, tmp_path):
    path, page = tmp_path / "arm.toml", tmp_path / "run.html"
    path.write_text(ARM)
    done = run(path, "--t", 0.05, "--set", "arm_z1=0.0015", "--animate", page, *options)
    assert done.returncode == 0, done.stderr
    (scale,) = re.findall('"scale":"(.*?)"', page.read_text(encoding="utf-8"))
    assert json.loads(f'"{scale}"') == (f"deflections {said}" if said else "")


def test_a_film_without_its_program_is_refused_first(slider, tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", str(tmp_path))
    done = run(slider, "--t", 1, "--animate", tmp_path / "run.mp4", "--csv", tmp_path / "run.csv")
    assert done.returncode == 1
    assert "ffmpeg is not installed" in done.stderr
    assert not (tmp_path / "run.csv").exists()


def test_words_of_python_become_options():
    assert for_shell("There is no method 'x'. There are 'kane'.").startswith("There")  # of formulate
    assert for_shell("rtol is -1, expected a tolerance.").startswith("--rtol is")
    assert for_shell("Outputs are far apart. Make them denser.").endswith("with --every.")


def test_states_beside_motion_are_set_and_shown(tmp_path):
    """x'' = i with i' = 0, so that x = i t^2 / 2; a rail that follows i is closed where i is set."""
    path = tmp_path / "motor.toml"
    path.write_text(
        'name = "motor"\ngravity = [0, 0, 0]\n'
        '[[body]]\nname = "cart"\njoint = { type = "prismatic", axis = "x", name = "x" }\nmass = 1\n'
        '[[body]]\nname = "rail"\njoint = { type = "prismatic", axis = "y", name = "y" }\nmass = 1\n'
        '[[state]]\nname = "i"\nrate = 0\nstart = 0.1\n'
        '[[force]]\nspeed = "x_dot"\nvalue = "i"\n'
        '[[constraint]]\nvalue = "y - 2*i"\n'
    )
    for setting, i in (((), 0.1), (("--set", "z.i=0.5"), 0.5), (("--set", "i=0.5"), 0.5)):
        done = run(path, "--t", 2, *setting, "--json")
        assert done.returncode == 0, done.stderr + done.stdout
        found = json.loads(done.stdout)
        assert found["z"] == {"i": i}
        assert found["q"]["x"] == pytest.approx(2 * i)
        assert found["q"]["y"] == pytest.approx(2 * i)
    for given, i in (((), 0.1), (("--z", "0.5"), 0.5), (("--z", "i=0.5"), 0.5)):
        words = [sys.executable, "-m", "polhode", "eval", path, "--q", f"y={2 * i}", *given, "--json"]
        found = json.loads(subprocess.run(words, capture_output=True, text=True, check=True).stdout)
        assert found["z"] == [i]
        assert found["forces"] == [i, 0]
    wrong = run(path, "--t", 2, "--set", "z.j=1")
    assert wrong.returncode == 1
    assert "--set: there is no variable 'z.j'. Did you mean 'z.i'" in wrong.stderr


HOPPER = """<mujoco><compiler angle="radian"/>
  <worldbody><geom name="floor" type="plane" size="1 1 1"/><body name="torso" pos="0 0 1.25">
  <joint name="z" type="slide" axis="0 0 1" ref="1.25"/><joint name="knee" axis="0 1 0" range="0.1 1" ref="0.5"/>
  <joint name="toe" axis="1 0 0" range="0.2 1" ref="0.5"/><geom type="capsule" size=".1 .2"/></body></worldbody>
  <actuator><motor name="push" joint="z"/></actuator>
  <keyframe><key name="up" time="2" qpos="3 0.4 0.5" qvel="0 0 0" ctrl="7"/></keyframe></mujoco>"""


def motion(tmp_path, *options):
    """The first and the last row of a run of the hopper, and what it said."""
    path, table = tmp_path / "hopper.xml", tmp_path / "out.csv"
    path.write_text(HOPPER)
    done = run(path, "--t", 0.1, "--csv", table, *options)
    assert done.returncode == 0, done.stderr
    rows = [{k: float(v) for k, v in row.items()} for row in csv.DictReader(table.read_text().splitlines())]
    return rows[0], rows[-1], done


def test_a_run_begins_in_the_pose_of_the_file_or_another_keyframe(tmp_path):
    first, last, _ = motion(tmp_path, "--keyframe", "file")
    assert [first[name] for name in ("t", "z", "knee", "toe", "push_control")] == [0, 1.25, 0.5, 0.5, 0]
    assert last["z"] < 1.25
    first, last, _ = motion(tmp_path, "--keyframe", "up", "--set", "knee=0.7")
    assert [first[name] for name in ("t", "z", "knee", "toe", "push_control")] == [2, 3, 0.7, 0.5, 7]
    assert last["t"] == pytest.approx(2.1)
    first, _, _ = motion(tmp_path, "--keyframe", "up", "--tau", "push=2")
    assert first["push_control"] == 2
    done = run(tmp_path / "hopper.xml", "--t", 1, "--keyframe", "uup")
    assert done.returncode == 1
    assert done.stderr == "polhode: --keyframe: there is no keyframe 'uup'. Did you mean 'up'?\n"


def test_warnings_are_plain_lines_with_the_words_of_options(tmp_path):
    _, _, done = motion(tmp_path)
    said = done.stderr.splitlines()
    end = "beyond its limits, so these do not act in this run. Start within them, or give --limits ignore."
    assert said[:2] == [f"polhode: 'knee' starts 0.1 rad {end}", f"polhode: 'toe' starts 0.2 rad {end}"]
    assert [line for line in said[2:] if not line.startswith("Wrote ")] == []
    _, _, done = motion(tmp_path, "--limits", "ignore")
    assert "limits" not in done.stderr


def test_the_report_names_options(tmp_path):
    done = subprocess.run(
        [sys.executable, "-m", "polhode", "info", str(UR5)], capture_output=True, text=True, check=True
    )
    assert "passive=True" not in done.stdout
    assert for_shell("kept but do not act; load(..., passive=True) lets them.").endswith("--passive lets them.")
    path = tmp_path / "hopper.xml"
    path.write_text(HOPPER)
    done = subprocess.run(
        [sys.executable, "-m", "polhode", "info", str(path)], capture_output=True, text=True, check=True
    )
    assert "Begin there with simulate --keyframe 'file'." in done.stdout
    assert "Keyframes: 'up', 'file'. simulate --keyframe NAME begins there." in done.stdout


SOFT = """
name = "soft arm"
[[body]]
name = "link"
joint = { type = "revolute", name = "hub", axis = "y", damping = 0.2 }
mass = 0.5
inertia = [0.01, 0.02, 0.02]
[body.beam]
length = 0.8
mu = 0.94
EI_y = 32.0
modes = 2
"""


@pytest.mark.parametrize(("amplitude", "trust"), [(0.15, "less and less true"), (0.5, "not to be trusted")])
def test_a_body_that_bends_too_far_is_one_line_and_in_json(tmp_path, amplitude, trust):
    path = tmp_path / "arm.toml"
    path.write_text(SOFT)
    given = (path, "--t", 0.02, "--set", f"link_z1={amplitude}")
    done, told = run(*given), run(*given, "--json")
    assert done.returncode == told.returncode == 0
    (line,) = done.stderr.splitlines()
    assert line.startswith("polhode: Body 'link' bends by more than 10 % of its length at t = 0 s, and by ")
    assert line.endswith(f'{trust}. Make it stiffer, or of several flexible bodies in a row with shapes="polynomial".')
    assert [f"polhode: {said}" for said in json.loads(told.stdout)["warnings"]] == [line]
    assert json.loads(run(path, "--t", 0.02, "--set", "link_z1=0.01", "--json").stdout)["warnings"] == []


def test_switches_that_come_too_late_are_warned_of_too(tmp_path):
    path = tmp_path / "arm.toml"
    path.write_text(SOFT + '[[brake]]\nname = "brake"\nspeed = "hub_dot"\nactive = false\n')
    done = run(path, "--t", 0.02, "--at", "2: engage brake")
    assert done.stderr.startswith("polhode: The run ends at 0.02 s"), done.stderr
