"""What a run has written so far."""

from __future__ import annotations

import numpy as np

STEPS = 4096  # that the buffer holds


class Recording:
    """States in order of time, and the constant forces that acted up to each.

    t, x : (STEPS,), (STEPS, n), where the loop records every step; `add` takes what is there
    """

    def __init__(self, n: int) -> None:
        self.t, self.x = np.zeros(STEPS), np.zeros((STEPS, n))
        self.rows = 0
        self.set_rows: list[int] = []  # states that were set by hand, each beside the one before it
        self._parts: list[tuple[np.ndarray, np.ndarray]] = []
        self._forces: list[tuple[int, np.ndarray]] = []  # up to which row, and which

    def add(self, t: np.ndarray, x: np.ndarray) -> None:
        """Append states, (k,) and (k, n)."""
        if len(t):
            self._parts.append((t.copy(), x.copy()))
            self.rows += len(t)

    @property
    def last(self) -> float:
        """The time of the last state; -inf before the first."""
        return float(self._parts[-1][0][-1]) if self._parts else -np.inf

    def acted(self, rows: int, forces: np.ndarray) -> None:
        """Note that forces acted up to the first so many rows, and no further."""
        if rows > (self._forces[-1][0] if self._forces else 0):
            self._forces.append((rows, forces.copy()))

    @property
    def forces_changed(self) -> bool:
        return bool(self._forces)

    def states(self) -> tuple[np.ndarray, np.ndarray]:
        """All times and states, (k,) and (k, n)."""
        self._parts = [(np.concatenate([t for t, _ in self._parts]), np.concatenate([x for _, x in self._parts]))]
        return self._parts[0]

    def forces(self, now: np.ndarray) -> np.ndarray:
        """The constant forces at every state, (k, nu), or (nu,) if they never changed."""
        if not self._forces:
            return now
        ends = [rows for rows, _ in self._forces] + [self.rows]
        return np.repeat([f for _, f in self._forces] + [now], np.diff(ends, prepend=0), axis=0)
