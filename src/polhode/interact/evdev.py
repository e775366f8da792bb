"""Joysticks and wheels with force feedback, as Linux has them: /dev/input/event*.

A force is a constant effect that lasts for `lasts` and is begun anew while it is written: where this program hangs or
is gone, the kernel ends it. One that is shown is renewed where it changed, or half of its time is over, and no more
often than `rate`: what is behind a cable takes milliseconds for each.
"""

from __future__ import annotations

import errno
import os
import time
from collections.abc import Callable, Sequence
from math import hypot
from pathlib import Path
from typing import Any

from . import evdev_format as fmt
from .evdev_format import AXES, Range, has
from .placed import limit_of
from .sample import Sample, limited

GRIPS = ("button", "always")
ACROSS = (AXES["x"], AXES["wheel"])
AT_ONCE = 256  # events that a reading takes
SMOOTH = 0.01  # s, over which speeds are told from places
INPUTS = Path("/dev/input")


class Evdev:
    """A stick or wheel: its first axis is x, to the right; its second y, away from the hand; its third z, up.

    path       : such as /dev/input/event5
    full_force : N, that the device shows at its full level: its maker says, or a scale; forces are parts of it
    most_force : N, that it is asked for; full_force, unless less is given. Begin with little
    span       : m, from one end of an axis to the other
    axes       : of its own axes, which are x, y and z; with "-" where they go the other way. Sticks count down as up
    reverse    : whether its forces go the other way than Linux has them: some drivers do
    grip       : "button" for the first one, "always" for none
    lasts      : s, that a force goes on where nobody renews it
    timeout    : s, after which a device that was not looked at is stale; one that is there answers each look
    file, ioctl, clock : to be used instead, as by tests

    failure : what is wrong, if anything
    It shows no torque. A wheel has one axis: its force acts along x.
    """

    def __init__(
        self, path: str | Path, *, full_force: float, most_force: float | None = None, span: float = 0.2,
        axes: Sequence[str] = ("x", "-y"), reverse: bool = False, grip: str = "button", lasts: float = 0.1,
        rate: float = 250.0, timeout: float = 0.05, damping: float = 0.0, file: int | None = None,
        ioctl: Callable[[int, int, Any], Any] | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self._full = limit_of("Evdev", "full_force", full_force, 1e4)
        self.most_force = limit_of("Evdev", "most_force", full_force if most_force is None else most_force, full_force)
        self.most_torque, self.damping = 0.0, limit_of("Evdev", "damping", damping, 1e6)
        self.span, self.lasts = limit_of("Evdev", "span", span, 100.0), limit_of("Evdev", "lasts", lasts, 30.0)
        self.rate, self.timeout, self.failure = float(rate), timeout, ""
        if self.lasts < 0.01:
            raise ValueError(f"Evdev: lasts is {lasts!r:.40}, expected 0.01 to 30 s.")
        if grip not in GRIPS:
            raise ValueError(f"Evdev: grip is {grip!r:.40}, expected one of {', '.join(GRIPS)}.")
        self.grip, self._sign, self._clock = grip, -1.0 if reverse else 1.0, clock
        self._axes = [(AXES[_known(name)], -1.0 if name.startswith("-") else 1.0) for name in axes]
        if not 0 < len(self._axes) <= 3:
            raise ValueError(f"Evdev: axes are {axes!r:.60}, expected one to three.")
        self._ioctl = ioctl or _real_ioctl()
        self._file = _opened(path) if file is None else file
        try:
            self._look(str(path))
        except BaseException:
            os.close(self._file)
            raise
        self._came, self._rest, self._speed = self._clock(), b"", [0.0] * len(self._axes)
        self._before, self._at = self._places(), self._clock()
        self._effect, self._plays, self._shown, self._told = -1, False, (0, 0), -1e9

    # what it is

    def _look(self, path: str) -> None:
        """What it has: a name, axes, buttons, effects."""
        try:
            name = self._asked(fmt.name_of(256), 256)
            kinds = {fmt.EV_ABS: fmt.ABSOLUTES // 8, fmt.EV_KEY: fmt.KEYS // 8, fmt.EV_FF: fmt.EFFECTS // 8}
            axes, keys, effects = (self._asked(fmt.bits_of(kind, size), size) for kind, size in kinds.items())
        except OSError as error:
            said = f"Evdev: {path} is no input device ({error.strerror}). `polhode devices` lists them."
            raise OSError(said) from None
        self.name = name.split(b"\0")[0].decode(errors="replace")
        missing = [word for word, code in AXES.items() if code in {a for a, _ in self._axes} and not has(axes, code)]
        if missing:
            there = ", ".join(word for word, code in AXES.items() if has(axes, code)) or "none"
            raise ValueError(f"Evdev: {self.name!r} has no axis {missing[0]!r}; it has {there}. Give axes=.")
        self._ranges = {code: Range.read(self._asked(fmt.range_of(code), fmt.RANGE.size)) for code, _ in self._axes}
        self._values = {code: found.value for code, found in self._ranges.items()}
        self._keys = [code for code in range(0x100, fmt.KEYS) if has(keys, code)][:16]
        self._pressed = self._held()
        self.shows_force = has(effects, fmt.FF_CONSTANT)
        if not self.shows_force:
            self.most_force = 0.0
            return
        os.write(self._file, fmt.event(fmt.EV_FF, fmt.FF_GAIN, fmt.MOST_GAIN))
        if has(effects, fmt.FF_AUTOCENTER):
            os.write(self._file, fmt.event(fmt.EV_FF, fmt.FF_AUTOCENTER, 0))  # a spring of its own

    def _asked(self, number: int, size: int) -> bytes:
        data = bytearray(size)
        self._ioctl(self._file, number, data)
        return bytes(data)

    def _held(self) -> set[int]:
        bits = self._asked(fmt.keys_of(fmt.KEYS // 8), fmt.KEYS // 8)
        return {code for code in self._keys if has(bits, code)}

    # where it is

    @property
    def stale(self) -> bool:
        return bool(self.failure) or self._clock() - self._came > self.timeout

    def read(self) -> Sample | None:
        """Where it is now; it says so only when it moves, so that one that is still there is asked whether it is."""
        if self._file < 0:
            return None
        try:
            self._drain()
            self._asked(fmt.range_of(self._axes[0][0]), fmt.RANGE.size)
        except OSError as error:
            self.failure = f"The device is gone: {error.strerror or error}."
            return None
        self._came = now = self._clock()
        places, passed = self._places(), now - self._at
        if passed > 0:
            share = passed / (SMOOTH + passed)
            for k, (new, old) in enumerate(zip(places, self._before, strict=True)):
                self._speed[k] += share * ((new - old) / passed - self._speed[k])
            self._before, self._at = places, now
        x, y, z = (*places, 0.0, 0.0)[:3]
        vx, vy, vz = (*self._speed, 0.0, 0.0)[:3]
        bits = sum(1 << k for k, code in enumerate(self._keys) if code in self._pressed)
        held = 1 if self.grip == "always" else bits & 1
        return Sample(t=now, position=(x, y, z), twist=(0.0, 0.0, 0.0, vx, vy, vz), buttons=held | bits << 1)

    def _places(self) -> list[float]:
        return [sign * self.span / 2 * self._ranges[code].place(self._values[code]) for code, sign in self._axes]

    def _drain(self) -> None:
        """Take what happened since; what was lost is asked for."""
        try:
            data = self._rest + os.read(self._file, AT_ONCE * fmt.EVENT.size)
        except BlockingIOError:
            return
        if not data:
            raise OSError(errno.ENODEV, "it was closed")
        self._rest = data[len(data) - len(data) % fmt.EVENT.size :]
        for kind, code, value in fmt.events(data):
            if kind == fmt.EV_ABS and code in self._values:
                self._values[code] = value
            elif kind == fmt.EV_KEY and code in self._keys:
                (self._pressed.add if value else self._pressed.discard)(code)
            elif kind == fmt.EV_SYN and code == fmt.SYN_DROPPED:
                for axis in self._values:
                    self._values[axis] = Range.read(self._asked(fmt.range_of(axis), fmt.RANGE.size)).value
                self._pressed = self._held()

    # what it shows

    def write(self, wrench: tuple[float, ...]) -> None:
        if not self.shows_force or self._file < 0:
            return
        force = (0.0, 0.0, 0.0) if self.stale else limited(wrench, self.most_force, 0.0)[3:]
        try:
            self._show(*self._level(force))
        except OSError as error:
            self.failure = f"The device does not take a force: {error.strerror or error}."

    def _level(self, force: tuple[float, ...]) -> tuple[int, int]:
        """Direction and level of a force: of its part along the axes x and y of the device, which counts down as up."""
        right = up = 0.0
        for (code, sign), f in zip(self._axes, force, strict=False):
            right += self._sign * sign * f if code in ACROSS else 0.0
            up -= self._sign * sign * f if code == AXES["y"] else 0.0
        level = round(min(hypot(right, up) / self._full, 1.0) * fmt.MOST_LEVEL) if self._full else 0
        return (fmt.direction_of(right, up) if level else 0), level

    def _show(self, direction: int, level: int) -> None:
        now = self._clock()
        if level == 0:
            if self._plays:
                os.write(self._file, fmt.event(fmt.EV_FF, self._effect, 0))
                self._plays, self._shown = False, (0, 0)
            return
        old = now - self._told
        if self._plays and (old < 1 / self.rate or ((direction, level) == self._shown and old < self.lasts / 2)):
            return
        effect = fmt.constant(self._effect, direction, level, round(self.lasts * 1000))
        self._ioctl(self._file, fmt.UPLOAD, effect)
        self._effect = fmt.number_in(effect)
        os.write(self._file, fmt.event(fmt.EV_FF, self._effect, 1))
        self._plays, self._shown, self._told = True, (direction, level), now

    def close(self) -> None:
        """Show no force, and remove what was made."""
        if self._file < 0:
            return
        try:
            self._show(0, 0)
            if self._effect >= 0:
                self._ioctl(self._file, fmt.REMOVE, self._effect)
        except OSError:
            pass  # it is gone, and with it what it showed
        os.close(self._file)
        self._file = -1

    def __enter__(self) -> Evdev:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _known(name: str) -> str:
    if name.lstrip("-") not in AXES:
        raise ValueError(f"Evdev: axis {name!r:.40}, expected one of {', '.join(AXES)}, with - for the other way.")
    return name.lstrip("-")


def _real_ioctl() -> Callable[[int, int, Any], Any]:
    try:
        from fcntl import ioctl
    except ModuleNotFoundError:
        raise OSError("Evdev: these devices are of Linux, which this is not. Use Udp with a driver of yours.") from None
    return ioctl


def _opened(path: str | Path) -> int:
    try:
        return os.open(path, os.O_RDWR | os.O_NONBLOCK | os.O_CLOEXEC)
    except PermissionError:
        raise PermissionError(
            f"Evdev: this user may not use {path}. Input devices belong to the group 'input': "
            "`sudo usermod -aG input $USER`, and log in again."
        ) from None
    except OSError as error:
        raise OSError(f"Evdev: cannot open {path} ({error.strerror}). `polhode devices` lists what is there.") from None


def nodes(inputs: Path = INPUTS, system: Path = Path("/sys/class/input")) -> list[tuple[str, str, bool, bool]]:
    """The input devices of this computer: path, name, whether it shows constant forces, whether this user may use it.

    Read from what the system says of them; none is opened.
    """
    found = []
    for node in sorted(inputs.glob("event*"), key=lambda node: (len(node.name), node.name)):
        about = system / node.name / "device"
        try:
            name = (about / "name").read_text(errors="replace").strip()
            words = (about / "capabilities" / "ff").read_text().split()
            bits = sum(int(word, 16) << 64 * k for k, word in enumerate(reversed(words)))
        except (OSError, ValueError):
            name, bits = "?", 0
        found.append((str(node), name, bool(bits >> fmt.FF_CONSTANT & 1), os.access(node, os.R_OK | os.W_OK)))
    return found
