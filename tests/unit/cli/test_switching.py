"""Switches on the command line, and what commands say of constraints that come and go."""

import json
import sys

import pytest

from polhode.cli.main import main

WHEELS = """
name = "wheels"
gravity = [0, 0, 0]
[[body]]
name = "drive"
joint = { type = "revolute", axis = "z", name = "p", friction = 0.1, limits = [-50, 50] }
mass = 1
inertia = [1, 1, 2]
[[body]]
name = "load"
joint = { type = "revolute", axis = "z", name = "q" }
mass = 1
inertia = [2, 2, 3]
[[clutch]]
name = "clutch"
between = ["p_dot", "q_dot"]
capacity = 1.2
active = false
[[lock]]
name = "lock"
joint = "q"
active = false
[[switch]]
at = 1.0
engage = ["clutch"]
"""


@pytest.fixture
def polhode(tmp_path, monkeypatch, capsys):
    """A command on the wheels; its exit code, what it printed and what it complained of."""
    path = tmp_path / "wheels.toml"

    def run(command, *arguments, text=WHEELS):
        path.write_text(text)
        monkeypatch.setattr(sys, "argv", ["polhode", command, str(path), *map(str, arguments)])
        with pytest.raises(SystemExit) as ended:
            main()
        found = capsys.readouterr()
        assert "Traceback" not in found.err + found.out
        return ended.value.code, found.out, found.err

    return run


def test_a_run_prints_its_events(polhode):
    """The clutch of 1.2 N m turns the load by 0.4 rad/s^2 from 1 s on; the lock takes 1.5 * 1.2^2 J at 4 s."""
    code, out, _ = polhode("simulate", "--t", 4.5, "--set", "u.p_dot=10", "--at", "4: engage lock; release clutch")
    assert code == 0
    assert "Events\nt = 0 s, start: friction of p slips\nt = 1 s, at 1 s: clutch slips\n" in out
    assert "t = 4 s, at 4 s: lock engaged, clutch released, 2.16 J lost" in out


def test_events_as_json(polhode):
    code, out, _ = polhode("simulate", "--t", 9, "--set", "u.p_dot=10", "--when", "q > 0.2: release clutch", "--json")
    found = json.loads(out)["events"]
    assert code == 0
    assert [event["why"] for event in found] == ["start", "at 1 s", "when q > 0.2", "closes"]
    assert found[2]["time"] == pytest.approx(1 + (2 * 0.2 / 0.4) ** 0.5, abs=1e-9)
    assert found[2]["what"] == ["clutch"]
    assert found[2]["mode"]["clutch"] == "released"
    # p_dot falls by 0.05 rad/s^2, and by 0.6 more while the clutch slips, from 1 s to 2 s
    speed = 10 - 0.05 * found[3]["time"] - 0.6
    assert found[3]["lost"] == pytest.approx(speed**2, abs=1e-8)
    assert found[3]["impulses"]["limit of p.upper"] == pytest.approx(2 * speed, abs=1e-8)


def test_a_run_ends_when_something_happens(polhode):
    """0.2 rad of the load, without an end in time; p_dot = 10 - 0.05 t - 0.6 (t - 1)."""
    code, out, _ = polhode("simulate", "--set", "u.p_dot=10", "--until", "q > 0.2", "--json")
    found = json.loads(out)
    assert code == 0
    assert found["t"] == pytest.approx(2.0, abs=1e-9)
    assert found["u"]["p_dot"] == pytest.approx(10 - 0.1 - 0.6, abs=1e-9)
    assert found["reason"].startswith("when q > 0.2: ended")
    # at most for so long
    assert json.loads(polhode("simulate", "--t", 1.5, "--until", "q > 0.2", "--json")[1])["t"] == 1.5
    assert polhode("simulate")[2] == (
        "polhode: --t is missing. Give the seconds to simulate, or --until what ends the run.\n"
    )


def test_all_faults_of_switches_come_in_one_message(polhode):
    code, _, err = polhode(
        *("simulate", "--t", 1, "--at", "x: engage brke", "--at", "2: enage lock", "--at", "2 engage lock"),
        *("--when", "q > 1: release cluch, lock", "--when", "qq > 1: release lock", "--when", ": engage lock"),
        *("--until", "q <", "--until", "q > 1", "--at", "3: engage"),
    )
    assert code == 1
    assert err.startswith("polhode: 10 faults")
    for text in (
        "--at 'x: engage brke': there is no constraint 'brke' to engage. There are 'lock', 'clutch', 'friction of p'",
        "--at 'x: engage brke': 'x' is no time in seconds",
        "--at '2: enage lock': 'enage' is no word for a switch, expected engage or release. Did you mean 'engage'?",
        "--at '2 engage lock': expected \"2: engage brake\"",
        "--when 'q > 1: release cluch, lock': there is no constraint 'cluch' to release. Did you mean 'clutch'?",
        "--when 'qq > 1: release lock': 'qq > 1': unknown name qq. Did you mean 'q'?",
        "--when ': engage lock': expected",
        "--until 'q <'",
        "--until is given 2 times",
        "--at '3: engage': engage what? There are 'lock'",
    ):
        assert text in err


def test_info_lists_what_can_be_switched(polhode):
    _, out, _ = polhode("info")
    assert (
        "  clutch (clutch p_dot, q_dot, up to 1.2): released\n  friction of p (brake p_dot, up to 0.1): engaged\n"
        in out
    )
    assert "  limit of p (-50 <= p <= 50): engaged where it closes\n" in out
    assert "Switches\n  at 1 s: engage clutch\n" in out
    assert "--limits ignore leaves them out" in out
    found = json.loads(polhode("info", "--json")[1])
    assert {"name": "lock", "is": "lock q", "state": "released"} in found["switchable"]
    assert found["switches"] == [{"at": 1.0, "engage": ["clutch"], "release": []}]


@pytest.mark.parametrize("command", [("derive",), ("derive", "--to", "c"), ("derive", "--to", "python"), ("eval",)])
def test_equations_say_what_they_leave_out(polhode, command):
    code, out, _ = polhode(*command)
    assert code == 0
    assert (
        "Left out, for it comes and goes in simulations: 'lock' (lock q), 'clutch' (clutch p_dot, q_dot, up to 1.2)"
        in out
    )


def test_check_says_what_it_leaves_out(polhode):
    code, out, _ = polhode("check")
    assert code == 0
    assert "'lock', 'clutch', 'friction of p' and 'limit of p': left out. Simulations engage and release them." in out
    assert len(json.loads(polhode("check", "--json")[1])["left_out"]) == 1


def test_limits_and_bare(polhode):
    """Without its stop at 50 the wheel goes on: 10 t - 0.025 t^2 at 6 s, less what the clutch takes; never beyond."""
    far = json.loads(polhode("simulate", "--t", 6, "--set", "u.p_dot=10", "--limits", "ignore", "--json")[1])
    assert far["q"]["p"] > 50.1
    near = json.loads(polhode("simulate", "--t", 6, "--set", "u.p_dot=10", "--json")[1])
    assert near["q"]["p"] == pytest.approx(50, abs=1e-12)
    bare = json.loads(polhode("simulate", "--t", 6, "--set", "u.p_dot=10", "--bare", "--json")[1])
    assert bare["left_out"] == ["lock", "clutch", "limit of p"]
    assert bare["q"]["p"] == pytest.approx(60 - 0.025 * 36, abs=1e-9)
    code, _, err = polhode("info", "--limits", "ignor")
    assert (code, err) == (1, "polhode: --limits 'ignor': expected \"stop\" or \"ignore\". Did you mean 'ignore'?\n")


ALIGNED = """
name = "aligned"
[[body]]
name = "a"
mass = 0
joint = { type = "revolute", axis = "x", name = "j", limits = [-1, 1] }
[[body]]
name = "b"
parent = "a"
at = [0, 0, -1]
mass = 1
com = [0, 0, -1]
joint = { type = "revolute", axis = "x", name = "k" }
"""


def test_a_start_in_a_singular_position_is_one_message(polhode):
    """Two bars in a line, of which one has no mass, started beyond a limit; bent, they run."""
    code, _, said = polhode("simulate", "--t", 0.1, "--set", "j=2", text=ALIGNED)
    assert code == 1
    assert "the inertia matrix is singular in this position. Start in another one" in said.splitlines()[-1]
    assert polhode("simulate", "--t", 0.1, "--set", "j=2", "--set", "k=1", text=ALIGNED)[0] == 0


def test_a_keyframe_after_a_switch_begins_as_declared(polhode):
    text = WHEELS + '[[keyframe]]\nname = "late"\ntime = 5.0\nu = { p_dot = 1.0 }\n'
    code, out, said = polhode("simulate", "--t", 1, "--keyframe", "late", text=text)
    assert code == 0
    assert "The run starts at 5 s, so that what the model has to switch clutch at 1 s does not act" in said
    assert 'give --at "5: engage ..., release ..."' in said
    assert "Events\nt = 5 s, start: friction of p slips\n\n" in out
