"""The net below a coupler: energy is counted as it goes in and out, and what was made is taken out again.

    E_k = E_{k-1} + f_{k-1} . (x_k - x_{k-1})      f_{k-1} was held while the device moved

f acts on the machine, its opposite on the device: E is what the hand has put in. Where it falls below what was there to
be given, more came out than went in: then f + alpha v is shown, with a damper that takes the difference out in a
period, alpha = -E / (T |v|^2), up to a limit.

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
    most_damping : the largest alpha, N s/m; the mass of the device by the period at most, or it shakes the device
    there        : J, energy that the machine has from the beginning and may give
    control      : False to observe alone

    energy : that the hand has put in so far, with what was there; taken : by the damper, of it
    """

    def __init__(self, period: float, most_damping: float, there: float = 0.0, control: bool = True) -> None:
        for key, value in {"period": period, "most_damping": most_damping}.items():
            if not is_number(value) or not 0 < value < np.inf:
                raise ValueError(f"Passivity: {key} is {value!r:.40}, expected a number above 0.")
        self.period, self.most_damping, self.control = float(period), float(most_damping), control
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

        force    : on the machine, by the coupler
        moved    : of the device, since the last tick
        velocity : of the device
        """
        f, dx, v = (np.atleast_1d(np.asarray(x, dtype=float)) for x in (force, moved, velocity))
        if self._held is not None:
            self.energy += float(self._held @ dx)
            self.taken += float(self._added @ dx)
        speed = float(v @ v)
        alpha = 0.0
        if self.control and self.energy < 0 and speed > 0:
            alpha = min(-self.energy / (self.period * speed), self.most_damping)
        self._added = alpha * v
        self._held = f + self._added
        return self._held
