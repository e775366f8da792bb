"""What a device says of itself, and what a device is."""

from __future__ import annotations

from dataclasses import dataclass, replace
from math import inf, isfinite
from typing import Protocol

NOTHING: tuple[float, ...] = (0.0,) * 6  # of a wrench
FURTHEST = (
    1e9  # m, m/s, rad/s: beyond it no device is, and squares of forces would overflow before a coupler limits them
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Sample:
    """A device at a moment, in the axes of the world.

    t        : s, by the clock of the device
    position : m
    rotation : quaternion (w, x, y, z), of length 1
    twist    : angular velocity, rad/s, and velocity, m/s
    buttons  : bits; the first is the one that grips
    """

    t: float = 0.0
    position: tuple[float, float, float] = (0.0, 0.0, 0.0)
    rotation: tuple[float, float, float, float] = (1.0, 0.0, 0.0, 0.0)
    twist: tuple[float, float, float, float, float, float] = (0.0,) * 6
    buttons: int = 1

    def finite(self) -> bool:
        """Whether all of it are numbers that a device may have, and the rotation is one."""
        size = sum(x * x for x in self.rotation)
        near = all(abs(x) <= FURTHEST for x in (*self.position, *self.twist))  # not where one is NaN
        return near and isfinite(self.t) and 0.25 < size < 4

    def unit(self) -> Sample:
        """The same, with a rotation of length 1."""
        w, x, y, z = self.rotation
        size = (w * w + x * x + y * y + z * z) ** 0.5
        return replace(self, rotation=(w / size, x / size, y / size, z / size))


class Device(Protocol):
    """Something that is moved by a hand, and may push back.

    read       : the last sample, or None where none came yet
    write      : show [torque, force] to the hand
    stale      : whether the last sample is too old to act on
    most_force, most_torque : what it can show, N, N m
    damping    : its own friction b, N s/m, that passivity rests on; 0 where it is not known
    """

    most_force: float
    most_torque: float
    damping: float

    def read(self) -> Sample | None: ...

    def write(self, wrench: tuple[float, ...]) -> None: ...

    @property
    def stale(self) -> bool: ...


def limited(wrench: tuple[float, ...], most_force: float = inf, most_torque: float = inf) -> tuple[float, ...]:
    """[torque, force] within limits, in the same directions; nothing where it is not a number."""
    if not all(map(isfinite, wrench)):
        return NOTHING
    return (*_within(wrench[:3], most_torque), *_within(wrench[3:], most_force))


def _within(part: tuple[float, ...], most: float) -> tuple[float, ...]:
    size = sum(x * x for x in part) ** 0.5
    return part if size <= most else tuple(x * most / size for x in part)
