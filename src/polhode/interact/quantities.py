"""What a page may plot: coordinates, speeds, energies, inputs and how late the loop is, by name."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np

from polhode.model.errors import closest
from polhode.trajectory.pictures import units_of

from .loop import Realtime, State
from .ticking import FINEST

MOST = 6  # quantities that a page may watch at a time
ENERGIES = ("kinetic energy", "potential energy", "total energy")  # J
LATE = "lateness"  # us, of the latest tick since the last picture


class Quantities:
    """The numbers of a picture that may be plotted, and who watches which.

    groups  : names by what they are, in the order of the values
    names   : all of them
    units   : of those that have one that is known
    inputs  : the same, of the inputs by themselves
    watched : names that each guest chose
    """

    def __init__(self, loop: Realtime, inputs: Sequence[str]) -> None:
        eq, self._loop = loop.dynamics.equations, loop
        self.groups = {
            "Coordinates": [str(s.value) for s in eq.q],
            "Speeds": [str(s.value) for s in eq.u],
            "States": [str(s.value) for s in eq.z],
            "Energies": list(ENERGIES),
            "Inputs": [f"input {name}" for name in inputs],
            "Loop": [LATE],
        }
        self.names = tuple(name for group in self.groups.values() for name in group)
        known, efforts = units_of(eq, self.groups["Speeds"], self.groups["States"])
        self.inputs = {name: unit for name, unit in zip(inputs, efforts, strict=True) if unit}
        known |= dict.fromkeys(ENERGIES, "J") | {f"input {name}": unit for name, unit in self.inputs.items()}
        self.units = {name: unit for name, unit in (known | {LATE: "us"}).items() if unit not in ("", "1")}
        self.watched: dict[Hashable, tuple[int, ...]] = {}
        self._bins = loop._bins.copy()
        self._late, self._t, self._values = 0.0, 0.0, np.zeros(len(self.names))

    def watch(self, guest: Hashable, names: Sequence[str]) -> None:
        """Have a guest watch some quantities, and no others; KeyError or ValueError says why not."""
        for name in names:
            if name not in self.names:
                raise KeyError(f"There is no quantity {name!r:.60} to watch. {closest(name, self.names)}")
        if len(names) > MOST or len(set(names)) < len(names):
            raise ValueError(f"watch: {len(names)} names, expected up to {MOST}, each once.")
        self.watched[guest] = tuple(self.names.index(name) for name in names)

    def leave(self, guest: Hashable) -> None:
        self.watched.pop(guest, None)

    def take(self, state: State, energy: tuple[float, float]) -> None:
        """Keep the values of a picture."""
        if any(self.watched.values()):
            self._t = state.t
            self._values = np.concatenate(
                [state.q, state.u, state.z, [*energy, sum(energy)], self._loop.tau, [self._latest()]]
            )

    def seen_by(self, guest: Hashable) -> dict[str, Any] | None:
        """What a guest watches, at the last picture; numbers that are none are null."""
        if not (places := self.watched.get(guest)):
            return None
        values = self._values[list(places)]
        return {"t": self._t, "values": [float(v) if np.isfinite(v) else None for v in values]}

    def _latest(self) -> float:
        """By how much the latest tick since the last picture began late, us, to a quarter of a power of 2."""
        bins = self._loop._bins.copy()
        before = self._bins if (bins >= self._bins).all() else 0  # it was reset
        self._bins, new = bins, np.flatnonzero(bins - before)
        if len(new):
            k = int(new[-1])
            self._late = 2.0 ** (k // 4) * (1 + (k % 4 + 1) / 4) * FINEST * 1e-3
        return self._late
