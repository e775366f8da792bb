"""A hand that follows a script, with the arm of a person: for tests, and where there is no device."""

from __future__ import annotations

from collections.abc import Callable
from math import inf
from typing import Any

import numpy as np

from polhode.simulate.asked import is_number

from .sample import Sample, limited

Script = Callable[[float], Any]  # t -> where the hand wants to be, (3,)


class Scripted:
    """A device held by an arm that wants to be where a script says; it feels what it is shown.

        m x'' = k (target - x) + b_a (target' - x') - b x' + force

    in steps of the implicit midpoint, which make no energy.

    script    : t -> (x, y, z), m
    mass      : of device, hand and what of the arm moves with them, kg
    stiffness, arm_damping : k, N/m, and b_a, N s/m, of the arm. [Hogan 1989] has 50 to 800 N/m; at rest about 300
    damping   : b of the device itself, N s/m
    worked    : J that the arm has done on the device so far
    """

    def __init__(
        self, script: Script, *, mass: float = 1.0, stiffness: float = 300.0, arm_damping: float = 12.0,
        damping: float = 1.0, most_force: float = inf, at: Any = None,
    ) -> None:  # fmt: skip
        for key, value in {"stiffness": stiffness, "arm_damping": arm_damping, "damping": damping}.items():
            if not is_number(value) or not 0 <= value < inf:
                raise ValueError(f"Scripted: {key} is {value!r:.40}, expected a number of 0 or more.")
        if not is_number(mass) or not 0 < mass < inf:
            raise ValueError(f"Scripted: mass is {mass!r:.40}, expected a number above 0.")
        self.script, self.mass, self.stiffness, self.arm_damping = script, mass, stiffness, arm_damping
        self.damping, self.most_force, self.most_torque = damping, most_force, inf
        self.t, self.worked = 0.0, 0.0
        self.x = np.array(script(0.0) if at is None else at, dtype=float)
        self.v, self.moved = np.zeros(3), np.zeros(3)
        self.buttons, self.stale = 1, False
        self._speed = np.zeros(3)  # as encoders give it: of the last step
        self._force = np.zeros(3)

    def read(self) -> Sample:
        """Where the hand is; its speed is the mean of the last step."""
        x, v = self.x.tolist(), self._speed.tolist()
        return Sample(t=self.t, position=(x[0], x[1], x[2]), twist=(0.0, 0.0, 0.0, v[0], v[1], v[2]),
                      buttons=self.buttons)  # fmt: skip

    def write(self, wrench: tuple[float, ...]) -> None:
        """Show a wrench to the hand until the next one."""
        self._force = np.array(limited(wrench, self.most_force)[3:])

    @property
    def kinetic(self) -> float:
        return 0.5 * self.mass * float(self.v @ self.v)

    def advance(self, T: float) -> None:
        """Move for a time, in one step, under the force that is shown."""
        m, k, b_a, b = self.mass, self.stiffness, self.arm_damping, self.damping
        now, then = (np.asarray(self.script(t), dtype=float) for t in (self.t, self.t + T))
        wanted, wanted_speed = (now + then) / 2, (then - now) / T
        # with the mean speed w: 2 m (w - v) / T = k (wanted - x - w T / 2) + b_a (wanted' - w) - b w + force
        push = k * (wanted - self.x) + b_a * wanted_speed + self._force
        w = (2 * m / T * self.v + push) / (2 * m / T + k * T / 2 + b_a + b)
        arm = k * (wanted - self.x - w * T / 2) + b_a * (wanted_speed - w)
        self.worked += float(arm @ w) * T
        self.moved, self._speed = w * T, w
        self.x, self.v, self.t = self.x + w * T, 2 * w - self.v, self.t + T
