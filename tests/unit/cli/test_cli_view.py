"""polhode view: it serves until Ctrl-C, and refuses in one message."""

import http.client
import json
import re
import signal
import subprocess
import sys
import time

import pytest

from tests.live import pendulum

pytest.importorskip("websockets", reason="websockets is not installed: polhode view is not tested")


def words(*more):
    return [sys.executable, "-m", "polhode", "view", *map(str, more)]


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_it_serves_until_it_is_interrupted(tmp_path):
    asked = words(pendulum(tmp_path), "--no-browser", "--set", "elbow=0.3", "--tau", "shoulder_dot=-shoulder")
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as run:
        said = re.search(r"braked pendulum is at http://127.0.0.1:(\d+)/", run.stderr.readline())
        page = http.client.HTTPConnection("127.0.0.1", int(said[1]), timeout=60)
        page.request("GET", "/")
        assert b"Polhode" in page.getresponse().read()
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    assert run.returncode == 0
    assert "Traceback" not in rest
    assert "deadlines missed" in rest


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_it_records_what_polhode_replay_runs_again(tmp_path):
    path, kept = pendulum(tmp_path), tmp_path / "s.npz"
    asked = words(path, "--no-browser", "--set", "elbow=0.3", "--tau", "shoulder_dot=-shoulder", "--record", kept)
    with subprocess.Popen(asked, stderr=subprocess.PIPE, text=True) as run:
        run.stderr.readline()
        time.sleep(1.0)
        run.send_signal(signal.SIGINT)
        said = run.stderr.read()
    ticks = int(re.search(r"what was done in ([\d,]+) ticks", said)[1].replace(",", ""))
    assert ticks > 0
    again = [sys.executable, "-m", "polhode", "replay", path, "--session", kept, "--json"]
    done = subprocess.run(list(map(str, again)), capture_output=True, text=True, check=True, timeout=120)
    found = json.loads(done.stdout)
    assert found["ticks"] == ticks
    assert found["end"]["t"] == pytest.approx(ticks / 1000)


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--port", "70000"], "--port 70000: expected 0 to 65535"),
        (["--rate", "-1"], "--rate -1: expected ticks a second"),
        (["--integrator", "dop853"], "expected one of fixed step"),
        (["--set", "wrist=1"], "there is no variable 'wrist'"),
        (["--address", "192.0.2.7"], "cannot serve on '192.0.2.7'"),
        (["--json"], "Leave it out"),
    ],
)
def test_bad_input_is_one_message(tmp_path, more, said):
    done = subprocess.run(
        words(pendulum(tmp_path), "--no-browser", *more), capture_output=True, text=True, check=False, timeout=120
    )
    assert done.returncode == 1
    assert said in done.stdout + done.stderr
    assert len((done.stdout + done.stderr).strip().splitlines()) <= 6
    assert "Traceback" not in done.stderr
