"""What pages do to the inputs of a machine beside others who set them too: links of devices, controllers, scripts."""

from __future__ import annotations

import threading
from collections.abc import Hashable

import numpy as np

from .loop import Realtime

RECENT = 8  # of the last pulls, that are known again
REPEATS = 16  # pushes after a change that make sure of it

_making = threading.Lock()


class Pulls:
    """Inputs that sliders set, and forces that hands add to those that act anyway.

    tau = inputs + sum of pulls

    Pulls are lent: where none comes for a while, inputs act alone, see `Realtime._lend`. Only inputs that change by it
    are written, so that others keep theirs. Where another one has set an input since, that is what pulls are added to
    from then on; a slider does the same. All pages of a loop share one, see `of`: what hands of one server add must not
    be taken for an input by another.

    inputs : without what hands add
    """

    def __init__(self, loop: Realtime) -> None:
        self._loop, self._lock = loop, threading.RLock()
        self._names = tuple(loop._sim._inputs.names)
        self._ruled = np.isin(self._names, loop.lawful)  # by laws, which hands do not pull at
        self.begin()

    @staticmethod
    def of(loop: Realtime) -> Pulls:
        """That of a loop, which all of its pages have in common."""
        with _making:
            found: Pulls = vars(loop).get("_pulls") or Pulls(loop)
            vars(loop)["_pulls"] = found  # it goes with the loop
            return found

    def begin(self) -> None:
        """Nothing is pulled, and inputs are what they are."""
        with self._lock:
            self._pulls: dict[Hashable, np.ndarray] = {}
            self._written = self._loop.tau
            self.inputs = self._written.copy()
            self._recent = np.full((RECENT, self.inputs.size), np.nan)
            self._many, self._left = 0, 0

    @property
    def settled(self) -> bool:
        """Whether what was set last need not be looked after any more."""
        return not self._pulls and self._left <= 0

    def set(self, name: str, value: float) -> None:
        """Set an input, as a slider does."""
        with self._lock:
            self.look()
            self.inputs[self._names.index(name)] = value
            self._write()

    def pull(self, who: Hashable, forces: np.ndarray | None) -> None:
        """Have forces on speeds act beside the inputs, instead of those of before; None for nothing any more."""
        with self._lock:
            self.look()
            if forces is None:
                self._pulls.pop(who, None)
            elif np.isfinite(forces).all():
                self._pulls[who] = forces
            self._write()

    def look(self) -> None:
        """See what others have set."""
        with self._lock:
            tau = self._loop.tau
            # one who wrote another input may have written an old pull again, which he had read before
            theirs = (tau != self._written) & ~(tau == self._recent).any(axis=0)
            self.inputs[theirs] = tau[theirs]
            self._written = tau

    def _write(self) -> None:
        wish, added = self.inputs.copy(), np.zeros_like(self.inputs)
        for forces in self._pulls.values():
            added[: forces.size] += forces
        added[self._ruled] = 0.0
        wish += added
        self._loop._lend(self.inputs if self._pulls else None)
        new = wish != self._written
        self._left -= 1
        if not new.any() or not np.isfinite(wish[new]).all():
            if self._pulls:
                self._loop.tau = {}  # as before, and anew
            return
        self._left = REPEATS
        self._recent[self._many % RECENT] = np.where(added != 0, wish, np.nan)
        self._many += 1
        self._loop.tau = {self._names[k]: float(wish[k]) for k in np.flatnonzero(new)}
        self._written = np.where(new, wish, self._written)
