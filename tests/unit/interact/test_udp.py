"""Samples and wrenches by UDP; what is no packet does nothing."""

import math
import os
import struct
import subprocess
import sys

import pytest

from polhode.interact import Driver, Sample, Udp
from polhode.interact.udp import packed, unpacked

HERE = Sample(t=1.5, position=(0.1, -0.2, 0.3), rotation=(0.6, 0, 0.8, 0), twist=(1, 2, 3, 4, 5, 6), buttons=3)


class Clock:
    now = 0.0

    def __call__(self):
        return self.now


@pytest.fixture
def pair():
    clock = Clock()
    with Udp(clock=clock, most_force=10.0) as device, Driver(device.address) as driver:
        yield device, driver, clock


def until(device, count):
    """Read until so many packets were ignored: on one machine they arrive in order, but not at once."""
    for _ in range(100_000):
        found = device.read()
        if device.ignored >= count:
            break
    return found


def arrived(device, position):
    for _ in range(100_000):
        found = device.read()
        if found is not None and found.position == position:
            break
    return found


def test_a_sample_as_documented():
    """The table of the docs, byte by byte."""
    data = packed(HERE, 7)
    assert len(data) == 128
    assert data[:4] == b"PHS1"
    assert struct.unpack_from("<I", data, 4) == (7,)
    assert struct.unpack_from("<d", data, 8) == (1.5,)
    assert struct.unpack_from("<3d", data, 16) == HERE.position
    assert struct.unpack_from("<4d", data, 40) == HERE.rotation
    assert struct.unpack_from("<3d", data, 72) == (1, 2, 3)
    assert struct.unpack_from("<3d", data, 96) == (4, 5, 6)
    assert struct.unpack_from("<2I", data, 120) == (3, 0)
    number, sample = unpacked(data)
    assert number == 7
    assert sample.position == HERE.position
    assert sample.rotation == pytest.approx(HERE.rotation)


def test_there_and_back(pair):
    device, driver, _ = pair
    assert device.read() is None
    assert device.stale
    driver.send(HERE)
    assert arrived(device, HERE.position).buttons == 3
    assert not device.stale
    device.write((1, 2, 3, 4, 0, 0), t=0.25)
    assert driver.receive(wait=5) == (1, 2, 3, 4, 0, 0)
    device.write((0, 0, 0, 30, 40, 0))
    assert driver.receive(wait=5) == pytest.approx((0, 0, 0, 6, 8, 0))  # within 10 N


def test_what_is_no_packet_is_left_aside(pair):
    device, driver, _ = pair
    driver.send(HERE)
    arrived(device, HERE.position)
    good = packed(HERE, 2)
    bad = [b"", b"PHS1", good[:-1], good + b"\0", b"PHS2" + good[4:], os.urandom(128), bytes(60_000)]
    bad += [good[:16] + struct.pack("<d", value) + good[24:] for value in (math.nan, math.inf)]
    bad += [good[:at] + struct.pack("<d", 1e300) + good[at + 8 :] for at in (16, 72, 96, 112)]
    bad += [good[:40] + struct.pack("<4d", 0, 0, 0, 0) + good[72:]]
    for data in bad:
        driver._socket.send(data)
    assert until(device, len(bad)).position == HERE.position
    assert device.ignored == len(bad)
    driver.send(Sample(position=(1, 1, 1)))
    assert arrived(device, (1, 1, 1)).position == (1, 1, 1)


def test_old_samples_and_other_senders_are_left_aside_until_silence(pair):
    device, driver, clock = pair
    driver.number = 2**32 - 2
    driver.send(HERE)
    arrived(device, HERE.position)
    driver.send(Sample(position=(1, 0, 0)))  # its number is 0: they go round
    assert driver.number == 0
    assert arrived(device, (1, 0, 0)).position == (1, 0, 0)
    driver._socket.send(packed(Sample(position=(2, 0, 0)), 0))
    driver._socket.send(packed(Sample(position=(2, 0, 0)), 2**32 - 5))
    with Driver(device.address) as other:
        other.send(Sample(position=(3, 0, 0)))
        assert until(device, 3).position == (1, 0, 0)
        clock.now = 1.0
        assert device.stale
        other.send(Sample(position=(4, 0, 0)))
        assert arrived(device, (4, 0, 0)).position == (4, 0, 0)


def test_who_is_silent_is_shown_no_force(pair):
    device, driver, clock = pair
    driver.send(HERE)
    arrived(device, HERE.position)
    clock.now = 0.06
    device.write((0, 0, 0, 5, 0, 0))
    assert driver.receive(wait=5) == (0,) * 6


def test_a_driver_that_hears_nothing_shows_nothing():
    clock = Clock()
    with Udp() as device, Driver(device.address, clock=clock) as driver:
        driver.send(HERE)
        arrived(device, HERE.position)
        device.write((0, 0, 0, 5, 0, 0))
        assert driver.receive(wait=5)[3] == 5
        clock.now = 0.06
        assert driver.receive() == (0,) * 6


def test_a_flood_is_taken_in_parts(pair):
    device, driver, _ = pair
    for _ in range(200):
        driver._socket.send(b"x")
    until(device, 1)
    assert device.ignored <= 64


def test_nobody_else_is_heard_unless_asked_for():
    with Udp() as device:
        assert device.address[0] == "127.0.0.1"
        with pytest.raises(OSError, match="Give another port="):
            Udp(device.address[1])


def test_the_echo_tool_answers():
    command = [sys.executable, "-m", "polhode.interact.echo", "--port", "0", "--stiffness", "10", "--seconds", "60"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as tool:
        try:
            said = tool.stdout.readline()
            port = int(said.split(";")[0].rpartition(":")[2])
            with Driver(("127.0.0.1", port), timeout=60) as driver:
                driver.send(Sample(position=(1, 0, 0)))
                assert driver.receive(wait=30)[3:] == (0, 0, 0)
                driver.send(Sample(position=(1.1, 0, 0)))
                assert driver.receive(wait=30)[3:] == pytest.approx((-1, 0, 0))
            assert "at +1.0000 +0.0000" in tool.stdout.readline()
        finally:
            tool.kill()
