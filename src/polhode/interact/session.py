"""What went into a machine in real time: kept while it runs, without waiting for anybody."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .commands import Command

ROWS = 20_000  # ticks of a log, before the other one is used


@dataclass(frozen=True, slots=True, kw_only=True)
class Session:
    """What went into a run: where it began, inputs where they changed, and commands with the tick they came before.

    begin    : arguments of the simulation that it began with
    ticks    : how many there were
    at       : (k,), ticks before which inputs changed; inputs : (k, n), forces, controls and parameters from there on
    commands : those that were tried, with the tick that each came before
    model    : what tells its model from others, see `fingerprint`
    """

    begin: dict[str, Any]
    ticks: int
    at: np.ndarray
    inputs: np.ndarray
    commands: tuple[tuple[int, Command], ...]
    model: str = ""

    def save(self, path: str | Path) -> None:
        """Write it to a file of arrays, NAME.npz, without pickles."""
        from .keeping import save

        save(self, path)

    @staticmethod
    def load(path: str | Path) -> Session:
        """Read what `save` wrote."""
        from .keeping import load

        return load(path)


class Log:
    """Two arrays that the loop writes inputs of ticks to, in turn; what is full is taken away, as changes alone.

    block : the words of the loop; wide : inputs of a tick
    """

    def __init__(self, block: Any, wide: int, keep: bool) -> None:
        self.block, self._first = block, 0
        self._arrays = [np.zeros((ROWS, max(wide, 1))[: 2 if keep else 0] or (0,)) for _ in range(2)]
        self._at: list[np.ndarray] = []
        self._rows: list[np.ndarray] = []
        self._last: np.ndarray | None = None
        self.wide, self.keep = wide, keep
        block.log_rows = ROWS if keep and wide else 0
        block.log, block.spare = (a.ctypes.data for a in self._arrays)

    def gather(self) -> None:
        """Take a log that is full."""
        if full := self.block.full:
            array = next(a for a in self._arrays if a.ctypes.data == full)
            self._compress(array)
            self.block.full = 0
            self.block.spare = full  # last: it may be written to from now on

    def rest(self) -> None:
        """Take also what is in the log in hand; only while the loop does not run."""
        self.gather()
        if self.block.log_rows:
            array = next(a for a in self._arrays if a.ctypes.data == self.block.log)
            self._compress(array[: self.block.log_row])
            self.block.log_row = 0

    def _compress(self, rows: np.ndarray) -> None:
        """Keep the rows that differ from the one before."""
        if not len(rows):
            return
        before = np.concatenate([np.full((1, rows.shape[1]), np.nan) if self._last is None else self._last, rows[:-1]])
        new = np.flatnonzero((rows != before).any(axis=1))
        self._at.append(new + self._first)
        self._rows.append(rows[new].copy())
        self._last = rows[-1:].copy()
        self._first += len(rows)

    def changes(self) -> tuple[np.ndarray, np.ndarray]:
        """The ticks before which inputs changed, and the inputs since then."""
        if not self._at:
            return np.zeros(0, dtype=np.int64), np.zeros((0, self.wide))
        return np.concatenate(self._at), np.concatenate(self._rows)


def in_order(commands: Sequence[tuple[int, Command]]) -> tuple[tuple[int, Command], ...]:
    """Commands by the tick that they came before, as they came."""
    return tuple(sorted(commands, key=lambda each: each[0]))
