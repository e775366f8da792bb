"""Devices that say little: what others push in, and inputs slower than the machine, made smooth."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from math import inf

import numpy as np

from polhode.simulate.asked import is_number

from .sample import NOTHING, Device, Sample, limited
from .turning import between


class Pushed:
    """A device whose samples are given by a call from any thread, as those of a mouse.

    shown   : [torque, force] to show; nothing where none came for `timeout`, or no sample did
    timeout : s, after which a sample is stale
    clock   : s, to measure silence by
    """

    def __init__(
        self, *, timeout: float = 0.25, most_force: float = inf, most_torque: float = inf, damping: float = 0.0,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.timeout, self.most_force, self.most_torque, self.damping = timeout, most_force, most_torque, damping
        self._clock = clock
        self._last: tuple[float, Sample | None] = (-inf, None)  # replaced as a whole: who reads has one or the other
        self._wrench: tuple[float, tuple[float, ...]] = (-inf, NOTHING)  # when it came, and what

    @property
    def shown(self) -> tuple[float, ...]:
        came, wrench = self._wrench
        return NOTHING if self.stale or self._clock() - came > self.timeout else wrench

    def push(self, sample: Sample) -> None:
        """Give a sample; one with what is not a number is left aside."""
        if sample.finite():
            self._last = (self._clock(), sample)

    @property
    def stale(self) -> bool:
        return self._clock() - self._last[0] > self.timeout

    def read(self) -> Sample | None:
        return self._last[1]

    def close(self) -> None:
        """It goes silent."""
        self._last = (-inf, None)

    def write(self, wrench: tuple[float, ...]) -> None:
        self._wrench = (self._clock(), limited(wrench, self.most_force, self.most_torque))


class Smoothed:
    """A device whose samples come more rarely than the machine steps: it glides from one to the next.

    Each reading is one period of the machine. From where it is it goes evenly to a new sample, in the time `over`, and
    stays there; so it is late by that time, and its twist is that of the glide. Quaternions go on a straight line.

    over       : s, about the time between samples: 1/60 for a mouse
    period     : s, between readings
    most_speed : m/s, that it is limited to
    """

    def __init__(self, device: Device, over: float, period: float, most_speed: float = inf) -> None:
        for key, value in {"over": over, "period": period, "most_speed": most_speed}.items():
            if not is_number(value) or not value > 0:
                raise ValueError(f"Smoothed: {key} is {value!r:.40}, expected a number above 0.")
        self.device, self.period, self.most_speed = device, period, most_speed
        self.most_force, self.most_torque, self.damping = device.most_force, device.most_torque, device.damping
        self.turning_damping = float(getattr(device, "turning_damping", 0.0))
        self._ticks = max(round(over / period), 1)
        self._left = 0  # readings until it is there
        self._aim: Sample | None = None
        self._now: Sample | None = None

    @property
    def stale(self) -> bool:
        return self.device.stale

    def write(self, wrench: tuple[float, ...]) -> None:
        self.device.write(wrench)

    def close(self) -> None:
        if close := getattr(self.device, "close", None):
            close()

    def read(self) -> Sample | None:
        """Where the glide is, a period after the last reading."""
        new = self.device.read()
        if new is None:
            return None
        if self._now is None or self.stale or not (self._now.buttons & new.buttons & 1):
            self._aim, self._left = new, 0
            self._now = replace(new, twist=(0.0,) * 6)  # it begins there, as it does with each grip
            return self._now
        if new != self._aim:  # a device in other axes makes a new one each time
            self._aim, self._left = new, self._ticks
        self._now = self._glided(self._now, new)
        self._left = max(self._left - 1, 0)
        return self._now

    def _glided(self, now: Sample, aim: Sample) -> Sample:
        share = 1 / max(self._left, 1)
        step = (np.array(aim.position) - now.position) * share
        far = float(np.linalg.norm(step))
        if far > self.most_speed * self.period:
            step *= self.most_speed * self.period / far
        before, to = np.array(now.rotation), np.array(aim.rotation)
        turned = before + (to if before @ to >= 0 else -to) * share - before * share
        turned /= np.linalg.norm(turned)
        w = between(before, turned) / self.period
        x, v = (np.array(now.position) + step).tolist(), (step / self.period).tolist()
        return Sample(t=aim.t, position=(x[0], x[1], x[2]), rotation=tuple(turned.tolist()), buttons=aim.buttons,
                      twist=(*w.tolist(), *v))  # fmt: skip
