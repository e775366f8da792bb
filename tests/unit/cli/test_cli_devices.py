"""polhode devices lists what is there; polhode view --device joins a device to a marker."""

import json
import re
import signal
import subprocess
import sys
import time

import numpy as np
import pytest

import polhode as ph
from polhode.cli.touching import Touching
from polhode.interact import CouplerWarning, Driver, Link, Sample, realtime
from tests.live import pendulum

pytest.importorskip("websockets", reason="websockets is not installed: polhode view is not tested")
from tests.inverse3_service import Service


def words(*more):
    return [sys.executable, "-m", "polhode", *map(str, more)]


def asked(device="udp:0", marker="tip", **given):
    usual = {"most_force": 2.0, "friction": 0.5, "scale": 1.0, "axes": "x y z", "full_force": 5.0, "stiffness": None}
    return Touching.asked(device, marker, **usual | given)


def test_devices_are_listed_and_none_is_touched():
    with Service("049D") as service:
        found = subprocess.run(words("devices", "--inverse3", service.url), capture_output=True, text=True, check=True)
        assert f"inverse3:049D                at {service.url}" in found.stdout
        whole = subprocess.run(words("devices", "--json", "--inverse3", service.url), capture_output=True, check=True)
        data = json.loads(whole.stdout)
        assert data["inverse3"]["devices"] == ["049D"]
        assert data["inverse3"]["reachable"] is True
        assert not service.forces
        url = service.url
    none = subprocess.run(words("devices", "--inverse3", url), capture_output=True, text=True, check=True)
    assert re.search(r"inverse3 +none: .*refused", none.stdout)
    assert "evdev" in none.stdout


@pytest.mark.skipif(sys.platform == "win32", reason="Ctrl-C is sent as a signal")
def test_a_driver_moves_the_machine_that_is_served(tmp_path):
    """Samples by UDP pull the tip aside, and its force comes back; with Ctrl-C it ends."""
    command = words(
        "view", pendulum(tmp_path), "--no-browser", "--device", "udp:0", "--marker", "tip", "--friction", "2"
    )
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as run:
        line = run.stderr.readline()
        said = re.search(r"udp at 127.0.0.1:(\d+) holds 'tip': stiffness (\S+) N/m.* 2 N at most", line)
        assert said, line
        assert float(said[2]) > 100
        shown, deadline = np.zeros(6), time.monotonic() + 60
        with Driver(("127.0.0.1", int(said[1]))) as driver:
            x = 0.0
            while shown[3] > -1.0 and time.monotonic() < deadline:  # a machine that swung may push before
                driver.send(Sample(position=(x, 0, 0)))
                shown = np.array(driver.receive(wait=0.02))
                x += 2e-4
        run.send_signal(signal.SIGINT)
        rest = run.stderr.read()
    assert shown[3] < -1.0  # it holds the hand back
    assert np.linalg.norm(shown[3:]) <= 2.0 + 1e-9
    assert run.returncode == 0
    assert "Traceback" not in rest


@pytest.mark.parametrize(
    ("more", "said"),
    [
        (["--marker", "tip"], "there is no --device that holds it. Give --device udp:5005, inverse3"),
        (["--device", "udp:5005"], "--device needs --marker"),
        (["--device", "phantom", "--marker", "tip"], "--device phantom: expected udp:5005, inverse3"),
        (["--device", "udp:99999", "--marker", "tip"], "expected a port, 0 to 65535"),
        (["--device", "udp:0", "--marker", "tap"], "--marker tap: there is none. Did you mean 'tip'"),
        (["--device", "udp:0", "--marker", "tip", "--most-force", "-1"], "--most-force -1: expected a number above 0"),
        (["--device", "inverse3", "--marker", "tip", "--most-force", "12"], "most_force is 12.0, expected 0 to 10"),
        (["--device", "evdev:/dev/input/event999", "--marker", "tip"], "cannot open /dev/input/event999"),
        (["--device", "udp:0", "--marker", "tip", "--axes", "x y -z"], "mirror image"),
        (
            ["--device", "udp:0", "--marker", "tip", "--record", "a"],
            "--record: a session with a --device cannot be replayed",
        ),
    ],
)
def test_bad_input_is_one_message(tmp_path, more, said):
    command = words("view", pendulum(tmp_path), "--no-browser", *more)
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 1
    assert said in " ".join((done.stdout + done.stderr).split())
    assert "Traceback" not in done.stderr


def linked(tmp_path, rate=1000.0, **given):
    touching, dynamics = asked(**given), ph.formulate(ph.load(pendulum(tmp_path))).compile()
    device = touching.opened(rate)
    placed = touching.placed(device)
    held = touching.held(dynamics, rate, [0.5, 0.4], {}, placed.most_force)
    rt = realtime(ph.formulate(held.model).compile(), [0.5, 0.4], rate=rate)
    return held, placed, device, lambda: touching.link(rt, held, placed)


@pytest.mark.filterwarnings("error::polhode.interact.CouplerWarning")
@pytest.mark.parametrize("given", [{}, {"scale": 3.0, "axes": "x -z y"}, {"device": "page"}])
def test_what_is_made_is_within_the_bounds(tmp_path, given):
    """The link does not warn; the machine and the device are limited alike, whatever the scale."""
    held, placed, device, link = linked(tmp_path, **given)
    try:
        assert isinstance(link(), Link)
        assert held.most_force == placed.most_force
        if "scale" in given:
            assert placed.most_force == pytest.approx(2.0 / 3)
            assert placed.damping == pytest.approx(0.5 / 9)
    finally:
        device.close()


def test_a_stiffness_beyond_the_bounds_is_warned_of(tmp_path):
    _, _, device, link = linked(tmp_path, stiffness=1e5)
    try:
        with pytest.warns(CouplerWarning, match="the device needs friction of"):
            link()
    finally:
        device.close()
