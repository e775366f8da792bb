"""Sticks and wheels of Linux: bytes as the kernel has them, and a device behind a socket that answers like one."""

import errno
import os
import shutil
import socket
import struct
import subprocess
import sys

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Evdev, Link, Passivity, coupler, realtime, suggest
from polhode.interact import evdev_format as fmt
from polhode.interact.evdev import nodes

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="Input devices as of Linux are not tested elsewhere")

C = r"""
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <linux/input.h>
int main(void) {
  struct ff_effect e; struct input_event v; unsigned char *bytes;
  #define SHOW(x) printf("%s %ld\n", #x, (long)(x))
  SHOW(sizeof(struct ff_effect)); SHOW(sizeof(struct input_event)); SHOW(sizeof(struct input_absinfo));
  SHOW(offsetof(struct ff_effect, u)); SHOW(offsetof(struct input_event, type));
  SHOW(EVIOCSFF); SHOW(EVIOCRMFF); SHOW(EVIOCGNAME(256)); SHOW(EVIOCGABS(5)); SHOW(EVIOCGKEY(96));
  SHOW(EVIOCGBIT(EV_FF, 16)); SHOW(EVIOCGBIT(EV_ABS, 8)); SHOW(EVIOCGBIT(EV_KEY, 96));
  SHOW(EV_SYN); SHOW(EV_KEY); SHOW(EV_ABS); SHOW(EV_FF); SHOW(SYN_REPORT); SHOW(SYN_DROPPED);
  SHOW(FF_CONSTANT); SHOW(FF_GAIN); SHOW(FF_AUTOCENTER); SHOW(KEY_CNT); SHOW(FF_CNT); SHOW(ABS_CNT);
  SHOW(ABS_X); SHOW(ABS_Y); SHOW(ABS_Z); SHOW(ABS_RX); SHOW(ABS_RY); SHOW(ABS_RZ); SHOW(ABS_THROTTLE); SHOW(ABS_RUDDER);
  SHOW(ABS_WHEEL);
  memset(&e, 0, sizeof e);
  e.type = FF_CONSTANT; e.id = -1; e.direction = 0xC123; e.replay.length = 100; e.u.constant.level = -12345;
  for (bytes = (unsigned char *)&e; bytes < (unsigned char *)(&e + 1); bytes++) printf("effect %d\n", *bytes);
  memset(&v, 0, sizeof v);
  v.type = EV_FF; v.code = 7; v.value = -3;
  for (bytes = (unsigned char *)&v; bytes < (unsigned char *)(&v + 1); bytes++) printf("event %d\n", *bytes);
  return 0;
}
"""


@pytest.fixture(scope="module")
def compiled(tmp_path_factory):
    """What the headers say, by a compiler."""
    cc = shutil.which("gcc") or shutil.which("clang")
    if cc is None:
        pytest.skip("There is no C compiler: the format of input devices is not compared with headers of the kernel")
    folder = tmp_path_factory.mktemp("headers")
    (folder / "show.c").write_text(C)
    done = subprocess.run([cc, "show.c", "-o", "show"], cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"The headers of the kernel are not there: {done.stderr[:200]}")
    lines = subprocess.run([folder / "show"], capture_output=True, text=True, check=True).stdout.splitlines()
    found, parts = {}, {"effect": [], "event": []}
    for line in lines:
        key, _, value = line.rpartition(" ")
        if key in parts:
            parts[key].append(int(value))
        else:
            found[key] = int(value)
    return found, {key: bytes(value) for key, value in parts.items()}


def test_numbers_and_sizes_are_those_of_the_headers(compiled):
    ours = {
        "sizeof(struct ff_effect)": fmt.SIZE, "sizeof(struct input_event)": fmt.EVENT.size,
        "sizeof(struct input_absinfo)": fmt.RANGE.size, "offsetof(struct ff_effect, u)": fmt.UNION,
        "offsetof(struct input_event, type)": struct.calcsize("@ll"),
        "EVIOCSFF": fmt.UPLOAD, "EVIOCRMFF": fmt.REMOVE, "EVIOCGNAME(256)": fmt.name_of(256),
        "EVIOCGABS(5)": fmt.range_of(5), "EVIOCGKEY(96)": fmt.keys_of(96),
        "EVIOCGBIT(EV_FF, 16)": fmt.bits_of(fmt.EV_FF, 16),
        "EVIOCGBIT(EV_ABS, 8)": fmt.bits_of(fmt.EV_ABS, 8), "EVIOCGBIT(EV_KEY, 96)": fmt.bits_of(fmt.EV_KEY, 96),
        **{name: getattr(fmt, name) for name in
           ("EV_SYN", "EV_KEY", "EV_ABS", "EV_FF", "SYN_REPORT", "SYN_DROPPED", "FF_CONSTANT", "FF_GAIN",
            "FF_AUTOCENTER")},
        "KEY_CNT": fmt.KEYS, "FF_CNT": fmt.EFFECTS, "ABS_CNT": fmt.ABSOLUTES,
        **{f"ABS_{name.upper()}": code for name, code in fmt.AXES.items()},
    }  # fmt: skip
    assert ours == compiled[0]


def test_effects_and_events_are_the_bytes_of_the_structures(compiled):
    effect = fmt.constant(-1, 0xC123, -12345, 100)
    assert bytes(effect) == compiled[1]["effect"]
    assert fmt.number_in(effect) == -1
    assert fmt.event(fmt.EV_FF, 7, -3) == compiled[1]["event"]
    assert fmt.events(compiled[1]["event"] + b"\0") == [(fmt.EV_FF, 7, -3)]


@pytest.mark.parametrize(
    ("force", "direction"),
    [((0, -1), 0), ((-1, 0), 0x4000), ((0, 1), 0x8000), ((1, 0), 0xC000), ((-1, -1), 0x2000), ((1e-9, -1), 0)],
)
def test_directions_are_those_of_the_documentation(force, direction):
    """Documentation of the kernel: 0 down, 0x4000 left, 0x8000 up, 0xC000 right."""
    assert fmt.direction_of(*force) == direction


class Kernel:
    """The other end: answers what is asked of a stick, and plays its effects by a clock, as the kernel does."""

    def __init__(self, effects=(fmt.FF_CONSTANT, fmt.FF_GAIN, fmt.FF_AUTOCENTER), axes=(0, 1), keys=(0x120, 0x121)):
        self.file, self.end = socket.socketpair()
        self.file.setblocking(False)
        self.end.setblocking(False)
        self.now, self.gone = 0.0, False
        self.values = dict.fromkeys(axes, 512)
        self.keys, self.pressed = keys, set()
        self.bits = {fmt.EV_ABS: axes, fmt.EV_KEY: keys, fmt.EV_FF: effects}
        self.effects, self.until, self.written, self.uploads, self.removed = {}, {}, [], 0, []

    def clock(self):
        return self.now

    def ioctl(self, file, number, data):
        if self.gone:
            raise OSError(errno.ENODEV, os.strerror(errno.ENODEV))
        if number == fmt.UPLOAD:
            kind, effect, direction, _, _, lasts, _, level, *_ = struct.unpack_from("@HhHHHHH2xhHHHH", data)
            assert kind == fmt.FF_CONSTANT
            effect = len(self.effects) + 3 if effect < 0 else effect
            struct.pack_into("@h", data, 2, effect)
            self.effects[effect] = (direction, level, lasts / 1000)
            self.uploads += 1
        elif number == fmt.REMOVE:
            del self.effects[data]
            self.removed.append(data)
        elif number == fmt.name_of(len(data)):
            data[:6] = b"Stick\0"
        elif number == fmt.keys_of(len(data)):
            self._set(data, self.pressed)
        elif (axis := (number & 0xFF) - 0x40) in range(fmt.ABSOLUTES):
            data[:] = fmt.RANGE.pack(self.values[axis], 0, 1023, 0, 0, 0)
        else:
            self._set(data, self.bits[(number & 0xFF) - 0x20])

    def _set(self, data, codes):
        for code in codes:
            data[code // 8] |= 1 << code % 8

    def say(self, *events):
        for kind, code, value in events:
            if kind == fmt.EV_ABS:
                self.values[code] = value
            self.end.send(fmt.event(kind, code, value))

    def force(self):
        """(right, up) in parts of the full level, of what plays now."""
        try:
            while True:
                for kind, code, value in fmt.events(self.end.recv(4096)):
                    self.written.append((kind, code, value))
                    if kind == fmt.EV_FF and code in self.effects:
                        self.until[code] = self.now + self.effects[code][2] if value else -1.0
        except BlockingIOError:
            pass
        playing = [self.effects[e] for e, end in self.until.items() if end > self.now and e in self.effects]
        return sum((np.array([-np.sin(a), -np.cos(a)]) * level / 0x7FFF
                    for a, level in ((d * 2 * np.pi / 65536, s) for d, s, _ in playing)), np.zeros(2))  # fmt: skip


def device(kernel, **given):
    given = {"full_force": 4.0} | given
    return Evdev("stick", file=kernel.file.detach(), ioctl=kernel.ioctl, clock=kernel.clock, **given)


def test_where_it_is():
    kernel = Kernel()
    kernel.values[0] = 1023  # it was held aside before
    with device(kernel) as stick:
        assert stick.name == "Stick"
        assert stick.read().position == (0.1, pytest.approx(-0.1 * 0.5 / 511.5), 0)
        assert stick.read().buttons == 0
        kernel.say((fmt.EV_ABS, 0, 0), (fmt.EV_ABS, 1, 1023), (fmt.EV_KEY, 0x120, 1), (fmt.EV_KEY, 0x121, 1), (0, 0, 0))
        sample = stick.read()
        assert sample.position == (-0.1, -0.1, 0)  # towards the hand is down
        assert sample.buttons == 0b111
        kernel.say((fmt.EV_KEY, 0x120, 0))
        assert stick.read().buttons == 0b100
        kernel.end.send(fmt.event(fmt.EV_ABS, 0, 1023)[:10])  # the rest is on its way
        assert stick.read().position[0] == -0.1
        kernel.end.send(fmt.event(fmt.EV_ABS, 0, 1023)[10:])
        assert stick.read().position[0] == 0.1


def test_its_speed_is_that_of_its_places():
    kernel = Kernel()
    with device(kernel) as stick:
        for _ in range(200):
            kernel.now += 1e-3
            kernel.say((fmt.EV_ABS, 0, kernel.values[0] + 2))
            sample = stick.read()
        assert sample.twist[3:] == pytest.approx((2 / 1e-3 * 0.2 / 1023, 0, 0))
        for _ in range(200):
            kernel.now += 1e-3
            sample = stick.read()
        assert sample.twist[3:] == pytest.approx((0, 0, 0), abs=1e-6)


def test_what_was_dropped_is_asked_for():
    kernel = Kernel()
    with device(kernel) as stick:
        kernel.values[0], kernel.pressed = 1023, {0x120}  # nobody says so
        kernel.say((fmt.EV_SYN, fmt.SYN_DROPPED, 0))
        sample = stick.read()
        assert sample.position[0] == 0.1
        assert sample.buttons & 1


@pytest.mark.parametrize("reverse", [False, True])
def test_a_force_is_shown_in_its_direction(reverse):
    kernel, sign = Kernel(), -1 if reverse else 1
    with device(kernel, reverse=reverse, most_force=2.0) as stick:
        for force in ((0.5, 0.0), (-0.5, 0.3), (0.0, -1.0), (1.2, 1.6)):
            kernel.now += 0.01
            stick.read()
            stick.write((0, 0, 0, *force, 7.0))
            size = max(np.linalg.norm([*force, 7.0]) / 2.0, 1.0)
            assert kernel.force() == pytest.approx(sign * np.array(force) / 4.0 / size, abs=2e-4)
        assert len(kernel.effects) == 1
    assert kernel.written[:2] == [(fmt.EV_FF, fmt.FF_GAIN, 0xFFFF), (fmt.EV_FF, fmt.FF_AUTOCENTER, 0)]
    assert kernel.removed == [3]


def test_axes_may_go_the_other_way_and_lie_elsewhere():
    """A force along an axis pushes the way in which the axis counts up in the world, whichever it is."""
    for axes in (("x", "-y"), ("-x", "y"), ("-y", "x"), ("x",)):
        kernel = Kernel()
        with device(kernel, axes=axes) as stick:
            for k, name in enumerate(axes):
                kernel.now += 0.01
                before = stick.read().position[k]
                force = [0.0] * 3
                force[k] = 1.0
                stick.write((0, 0, 0, *force))
                right, up = kernel.force()
                code = fmt.AXES[name.lstrip("-")]
                pushed = round(100 * right) if code == 0 else -round(100 * up)  # the hand gives way: sticks count down
                assert pushed != 0
                kernel.say((fmt.EV_ABS, code, kernel.values[code] + pushed))
                assert stick.read().position[k] > before


def test_a_force_ends_by_itself_where_this_program_hangs():
    kernel = Kernel()
    with device(kernel) as stick:
        stick.read()
        stick.write((0, 0, 0, 4.0, 0, 0))
        assert kernel.force()[0] == pytest.approx(1)
        kernel.now = 0.09
        assert kernel.force()[0] == pytest.approx(1)
        kernel.now = 0.101  # nobody wrote
        assert kernel.force()[0] == 0
        for _ in range(300):
            kernel.now += 1e-3
            stick.read()
            stick.write((0, 0, 0, 4.0, 0, 0))
            assert kernel.force()[0] == pytest.approx(1)
        assert kernel.uploads < 12  # renewed in time, and no more often than is needed
        kernel.now += 0.06  # it was not looked at
        stick.write((0, 0, 0, 4.0, 0, 0))
        assert kernel.force()[0] == 0


def test_a_device_that_is_pulled_out_is_stale():
    kernel = Kernel()
    with device(kernel) as stick:
        stick.read()
        assert not stick.stale
        kernel.gone = True
        assert stick.read() is None
        assert stick.stale
        assert "gone: No such device" in stick.failure
        stick.write((0, 0, 0, 4.0, 0, 0))
    kernel = Kernel()
    with device(kernel) as stick:
        kernel.end.close()
        assert stick.read() is None
        assert stick.stale


def test_a_stick_without_forces_is_no_more_than_read():
    kernel = Kernel(effects=())
    with device(kernel) as stick:
        assert stick.most_force == 0
        stick.read()
        stick.write((0, 0, 0, 4.0, 0, 0))
        assert not kernel.effects
        assert not stick.stale


def test_a_stick_that_has_no_room_for_an_effect_says_so():
    kernel = Kernel()
    with device(kernel) as stick:
        stick.read()
        ask = kernel.ioctl

        def full(file, number, data):
            if number == fmt.UPLOAD:
                raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))
            ask(file, number, data)

        stick._ioctl = full
        stick.write((0, 0, 0, 4.0, 0, 0))
        assert "does not take a force: No space" in stick.failure
        assert stick.stale


def test_a_stick_on_a_sledge_stays_passive():
    """A stick of 0.3 kg that is thrown aside, on the force that the kernel plays: nobody has more than was given."""
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    model, friction, mass = build.build(), 2.0, 0.3
    found = suggest(ph.formulate(model).compile(), "sledge", 100.0, device_damping=friction, turns=False)
    held = coupler(model, "sledge", stiffness=found.stiffness, damping=found.damping, most_force=2.0)
    rt, kernel = realtime(ph.formulate(held.model).compile(), rate=1000), Kernel()
    x, v, most, shown = 0.0, 0.15, 0.0, 0.0
    with device(kernel, grip="always", most_force=2.0, damping=friction) as stick:
        link = Link(rt, held, stick, Passivity(1e-3, 20.0))
        for _ in range(1500):
            link.tick()
            kernel.now += 1e-3
            force = 4.0 * kernel.force()[0]
            v = (v * (mass - friction * 5e-4) + force * 1e-3) / (mass + friction * 5e-4)
            x += v * 1e-3
            kernel.say((fmt.EV_ABS, 0, round(511.5 + 511.5 * x / 0.1)))
            most, shown = max(most, 0.5 * mass * v**2 + rt.state.u[0] ** 2), max(shown, abs(force))
    assert shown > 0.02
    assert most <= 0.5 * mass * 0.15**2 * 1.02
    assert abs(rt.state.u[0]) > 1e-3


def test_what_is_there_is_listed(tmp_path):
    inputs, system = tmp_path / "dev", tmp_path / "sys"
    inputs.mkdir()
    for k, (name, bits) in enumerate({"Keyboard": "0", "Wheel": "3000f0000 0", "Pad": "107030000 0"}.items()):
        (inputs / f"event{9 + k}").touch()
        about = system / f"event{9 + k}" / "device"
        (about / "capabilities").mkdir(parents=True)
        (about / "name").write_text(f"{name}\n")
        (about / "capabilities" / "ff").write_text(f"{bits}\n")
    (inputs / "event2").touch()  # nothing is known of it
    found = nodes(inputs, system)
    assert [(path.rpartition("/")[2], name) for path, name, _, _ in found] == [
        ("event2", "?"), ("event9", "Keyboard"), ("event10", "Wheel"), ("event11", "Pad")]  # fmt: skip
    assert [force for _, _, force, _ in found] == [False, False, True, False]  # the pad has rumble alone
    assert nodes(tmp_path / "none") == []


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"axes": ("x", "twist")}, "axis 'twist', expected one of x, y"),
        ({"axes": ("x", "rz")}, r"'Stick' has no axis 'rz'; it has x, y. Give axes="),
        ({"full_force": -1}, "full_force is -1"),
        ({"most_force": 5}, r"most_force is 5, expected 0 to 4"),
        ({"grip": "hard"}, "grip is 'hard'"),
        ({"lasts": 0.001}, "lasts is 0.001"),
    ],
)
def test_what_is_wrong_is_told(given, said):
    with pytest.raises(ValueError, match=said):
        device(Kernel(), **given)


def test_a_file_that_is_no_device_and_one_that_is_forbidden(tmp_path, monkeypatch):
    path = tmp_path / "event0"
    with pytest.raises(OSError, match=r"cannot open .* `polhode devices` lists"):
        Evdev(path, full_force=1.0)
    path.touch()
    with pytest.raises(OSError, match="is no input device"):
        Evdev(path, full_force=1.0)

    def forbidden(*_):
        raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(os, "open", forbidden)
    with pytest.raises(PermissionError, match=r"group 'input'.*usermod -aG input"):
        Evdev(path, full_force=1.0)
