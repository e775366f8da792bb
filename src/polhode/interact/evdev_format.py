"""What Linux has its input devices say and be asked: events, ranges and effects, as bytes and numbers of ioctl.

Written from linux/input.h and linux/input-event-codes.h of the kernel, and its Documentation/input/ff.rst; a test
compares all of it with what a C compiler makes of these headers.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from math import atan2, pi

# kinds of events, and codes
EV_SYN, EV_KEY, EV_ABS, EV_FF = 0x00, 0x01, 0x03, 0x15
SYN_REPORT, SYN_DROPPED = 0, 3
FF_CONSTANT, FF_GAIN, FF_AUTOCENTER = 0x52, 0x60, 0x61
AXES = {"x": 0, "y": 1, "z": 2, "rx": 3, "ry": 4, "rz": 5, "throttle": 6, "rudder": 7, "wheel": 8}
KEYS, EFFECTS, ABSOLUTES = 0x300, 0x80, 0x40  # how many codes there are of each
MOST_LEVEL, MOST_GAIN = 0x7FFF, 0xFFFF

EVENT = struct.Struct("@llHHi")  # struct input_event: seconds, microseconds, type, code, value
RANGE = struct.Struct("@6i")  # struct input_absinfo: value, minimum, maximum, fuzz, flat, resolution
_CONSTANT = struct.Struct("@HhHHHHH2xhHHHH")  # struct ff_effect up to the end of u.constant
_PERIODIC = struct.Struct("@HHhhHHHHHIP")  # the largest of the union, as it has a pointer
UNION = 16
SIZE = UNION + _PERIODIC.size

_WRITE, _READ = 1, 2


def _number(way: int, nr: int, size: int) -> int:
    """_IOC(way, 'E', nr, size) of asm-generic/ioctl.h, as on x86, ARM and RISC-V."""
    return way << 30 | size << 16 | ord("E") << 8 | nr


def name_of(size: int) -> int:
    return _number(_READ, 0x06, size)  # EVIOCGNAME


def bits_of(kind: int, size: int) -> int:
    return _number(_READ, 0x20 + kind, size)  # EVIOCGBIT


def keys_of(size: int) -> int:
    return _number(_READ, 0x18, size)  # EVIOCGKEY


def range_of(axis: int) -> int:
    return _number(_READ, 0x40 + axis, RANGE.size)  # EVIOCGABS


UPLOAD = _number(_WRITE, 0x80, SIZE)  # EVIOCSFF
REMOVE = _number(_WRITE, 0x81, struct.calcsize("@i"))  # EVIOCRMFF


@dataclass(frozen=True, slots=True, kw_only=True)
class Range:
    """What an axis goes over, and where it is."""

    value: int
    least: int
    most: int

    @classmethod
    def read(cls, data: bytes) -> Range:
        value, least, most, *_ = RANGE.unpack(data)
        return cls(value=value, least=least, most=most)

    def place(self, value: int) -> float:
        """From -1 to 1."""
        middle, half = (self.least + self.most) / 2, max(self.most - self.least, 1) / 2
        return min(max((value - middle) / half, -1.0), 1.0)


def constant(number: int, direction: int, level: int, milliseconds: int) -> bytearray:
    """A constant force as struct ff_effect; number -1 for a new one, which the kernel then writes its own into.

    direction    : a turn is 65536, see `direction_of`
    level        : up to 32767
    milliseconds : that it lasts after it is begun, whoever began it
    """
    made = bytearray(SIZE)
    _CONSTANT.pack_into(made, 0, FF_CONSTANT, number, direction, 0, 0, milliseconds, 0, level, 0, 0, 0, 0)
    return made


def number_in(effect: bytearray) -> int:
    """The number of an effect, that the kernel gave it."""
    found: int = struct.unpack_from("@h", effect, 2)[0]
    return found


def direction_of(right: float, up: float) -> int:
    """The direction of a force in the plane of a stick: 0 is down, 0x4000 left, 0x8000 up, 0xC000 right."""
    return round(atan2(-right, -up) / (2 * pi) * 0x10000) & 0xFFFF


def events(data: bytes) -> list[tuple[int, int, int]]:
    """Type, code and value of each whole event."""
    whole = len(data) - len(data) % EVENT.size
    return [(kind, code, value) for _, _, kind, code, value in EVENT.iter_unpack(data[:whole])]


def event(kind: int, code: int, value: int) -> bytes:
    return EVENT.pack(0, 0, kind, code, value)


def has(bits: bytes, code: int) -> bool:
    """Whether a bit is set, of those that `bits_of` gives."""
    return code // 8 < len(bits) and bool(bits[code // 8] >> code % 8 & 1)
