"""The net below a coupler: energy is counted as it goes in and out, and what was made is taken out again.

    E_k = E_{k-1} + f_{k-1} . (x_k - x_{k-1})      f_{k-1} was held while the device moved

f acts on the machine, its opposite on the device: E is what the hand has put in. Where it falls below what was there to
be given, more came out than went in: then f + alpha W v is shown, with a damper that takes the difference out in a
period, alpha = -E / (T v.W v), up to 1, where W is the largest damper. A device that says no speed is taken to go on as
it moved.

A device that shows torques has one energy for both: what goes in by a push may come out by a turn. f is then [torque,
force], and x has the rotation vector of each period.

Reference: [Hannaford, Ryu 2002], Time-domain passivity control of haptic interfaces, for impedance causality, with the
energy of what is held counted exactly, once the device has moved.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.simulate.asked import is_number


class Passivity:
    """A passivity observer and controller for a force that is held between ticks.

    period       : s between ticks
    most_damping : of the largest damper, N s/m; the mass of the device by the period at most, or it shakes the device
    most_turning_damping : N m s, where torques are counted, too; the inertia by the period at most
    there        : J, energy that the machine has from the beginning and may give
    control      : False to observe alone

    energy : that the hand has put in so far, with what was there; taken : by the damper, of it
    """

    def __init__(
        self, period: float, most_damping: float, there: float = 0.0, control: bool = True,
        most_turning_damping: float | None = None,
    ) -> None:  # fmt: skip
        numbers = {"period": period, "most_damping": most_damping, "most_turning_damping": most_turning_damping}
        for key, value in numbers.items():
            if key == "most_turning_damping" and value is None:
                continue
            if not is_number(value) or not 0 < value < np.inf:
                raise ValueError(f"Passivity: {key} is {value!r:.40}, expected a number above 0.")
        self.period, self.most_damping, self.control = float(period), float(most_damping), control
        self.turns = most_turning_damping is not None
        turning, moving = (np.full(3, most) for most in (most_turning_damping or 0.0, most_damping))
        self._most = np.array([*turning, *moving]) if self.turns else self.most_damping
        self.energy, self.taken = float(there), 0.0
        self._held: np.ndarray | None = None  # the force, and of it what the damper does
        self._added: np.ndarray = np.zeros(0)

    def limit(self, force: Any) -> None:
        """Have the force that is held be another, as where a device cannot show so much."""
        if self._held is not None:
            less = np.atleast_1d(np.asarray(force, dtype=float))
            self._added = self._added + less - self._held
            self._held = less

    def tick(self, force: Any, moved: Any, velocity: Any) -> np.ndarray:
        """The force to hold until the next tick: as given, with the damper where energy was made.

        force    : on the machine, by the coupler; [torque, force] where torques are counted
        moved    : of the device, since the last tick
        velocity : of the device

        What is not a number is nothing: it is counted as such, and to be shown as such.
        """
        f, dx, v = (_sound(x) for x in (force, moved, velocity))
        if self._held is not None:
            self.energy += float(self._held @ dx)
            self.taken += float(self._added @ dx)
        self._added = self._damper(dx, v) if self.control and self.energy < 0 else np.zeros_like(f)
        self._held = f + self._added
        return self._held

    def _damper(self, moved: np.ndarray, v: np.ndarray) -> np.ndarray:
        """What takes the energy out that is missing, if the device goes on as it does."""
        if not v.any():  # a device that says nothing of its speed
            v = moved / self.period
        lost = self.period * float(v @ (self._most * v))  # J, by the largest damper
        return min(-self.energy / lost, 1.0) * self._most * v if lost > 0 else np.zeros_like(v)


def _sound(x: Any) -> np.ndarray:
    found = np.atleast_1d(np.asarray(x, dtype=float))
    return found if np.isfinite(found).all() else np.zeros_like(found)
