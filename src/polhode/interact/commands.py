"""Commands to a machine that runs, as Python sees them: what was asked for, what became of it, and what happened."""

from __future__ import annotations

import ctypes
from collections import deque
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.kernels.machine import OK
from polhode.kernels.mode import Places
from polhode.kernels.switch import adopt
from polhode.simulate.switchboard import Switchboard

from .commanding import BEYOND, EVENTS, HEAD, IDLE, RESULT, SLOTS, VAGUE, Board


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that changed between two ticks, or in one: when, and what each constraint does since then."""

    t: float
    tick: int
    mode: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What was asked for: names to engage and to release; at_once where the machine stood still."""

    engage: tuple[str, ...]
    release: tuple[str, ...]
    at_once: bool = False


class Commands:
    """The queue of one switchboard, and what the loop wrote down.

    done    : commands that took effect, with the tick that they came before
    refused : why one was last not done
    """

    def __init__(self, board: Switchboard, run: int) -> None:
        self.board, rows = board, board.rows
        groups, many = len(board.names), len(rows.view("kind"))
        self._queue = np.zeros((SLOTS, max(groups, 1)), dtype=np.int64)
        self._results = np.zeros((SLOTS, len(RESULT)), dtype=np.int64)
        self._wishes = np.zeros(max(groups, 1), dtype=np.int64)
        wide = len(HEAD) + many + groups
        self._events = np.zeros((EVENTS, wide), dtype=np.int64)
        self._kept = [np.ascontiguousarray(a) for a in board._changing]
        self._shadows = [np.zeros(a.nbytes // 8, dtype=np.int64) for a in self._kept]
        sizes = [(a.ctypes.data, a.nbytes // 8, s.ctypes.data) for a, s in zip(self._kept, self._shadows, strict=True)]
        self._saved = np.array(sizes, dtype=np.int64)
        adopting: Any = adopt.bind(board.machine)
        resolving: Any = board._resolve
        self._bound = adopting, resolving  # kept alive: the loop has their addresses
        held = board.machine.constrained
        assert held is not None
        record = rows.places.ctypes.data
        views = {n: rows.view(n).ctypes.data for n in ("wanted", "engaged", "group", "kind", "mode", "crossed")}
        sized = {n: held.view(n).ctypes.data for n in ("phi", "psi", "reach2")}
        words = {n: record + getattr(Places, n).offset for n in ("cause", "event", "ahead")}
        self.block: Any = Board(
            resolve=address(resolving.func), resolve_words=resolving.args[0],
            adopt=address(adopting.func), adopt_words=adopting.args[0], run=run,
            queue=self._queue.ctypes.data, results=self._results.ctypes.data, groups=groups, rows=many,
            wishes=self._wishes.ctypes.data, crosses=rows.view("crossed").size, saved=self._saved.ctypes.data,
            saves=len(self._saved), events=self._events.ctypes.data, wide=wide, **views, **sized, **words,
        )  # fmt: skip
        self._sent: deque[Command] = deque()
        self._taken = 0
        self.done: list[tuple[int, Command]] = []
        self.refused = ""

    def send(self, asked: Command) -> None:
        """Put a command into the queue; refused where it is full."""
        self.gather()
        if self.block.head - self._taken >= SLOTS:
            raise RuntimeError(f"{SLOTS} commands wait for the next ticks already. Let the machine run before others.")
        row = self._queue[self.block.head % SLOTS]
        row[:] = 0
        for names, wish in ((asked.engage, 1), (asked.release, -1)):
            for name in names:
                row[self.board.names.index(name)] = wish
        self._sent.append(asked)
        self.block.head += 1

    def unsent(self) -> list[Command]:
        """What the loop has not taken."""
        return list(self._sent)

    def gather(self) -> None:
        """See what became of commands."""
        while self._taken < self.block.tail:
            result, asked = self._results[self._taken % SLOTS], self._sent.popleft()
            status, row, _, tick, _ = result.tolist()
            off, t = result.view(np.float64)[[2, 4]].tolist()
            if status == OK:
                self.done.append((tick, asked))
            elif status != IDLE:
                self.refused = self._why(status, t, asked, row, off)
            self._taken += 1

    def _why(self, status: int, t: float, asked: Command, row: int, off: float) -> str:
        if status == BEYOND:
            return self.board.said_beyond(row, t, off)
        if status == VAGUE:
            return self.board.said_vague(row, t)
        return self.board.why_not(status, t, asked.engage, row, off)

    def happenings(self, since: int = 0) -> tuple[int, list[Happening]]:
        """What was written down from a number on; how many there were, the last ones of which are known."""
        while True:
            many = int(self.block.many)
            rows = self._events[[k % EVENTS for k in range(max(since, many - EVENTS), many)]].copy()
            if int(self.block.many) - many < EVENTS - len(rows) or int(self.block.many) == many:
                break
        return many, [self._happening(row) for row in rows]

    def _happening(self, row: np.ndarray) -> Happening:
        many = int(self.block.rows)
        first = len(HEAD)
        t = float(row[1:2].view(np.float64)[0])
        mode = self.board.words(row[first : first + many], row[first + many :])
        return Happening(t=t, tick=int(row[0]), mode=mode)


def address(function: Any) -> int:
    """Where native code is."""
    found = ctypes.cast(function, ctypes.c_void_p).value
    assert found is not None
    return found
