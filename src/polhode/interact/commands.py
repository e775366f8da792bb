"""Commands to a machine that runs, as Python sees them: what was asked for, what became of it, and what happened."""

from __future__ import annotations

import ctypes
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from polhode.kernels.machine import OK
from polhode.kernels.mode import Places
from polhode.kernels.switch import adopt
from polhode.simulate.switchboard import GUARDED, Switchboard
from polhode.simulate.switches import At, Guard, When

from .commanding import BEYOND, EVENTS, HEAD, IDLE, RESULT, SLOTS, VAGUE, Board

MOST = 12  # comparisons of one condition, that the loop decides on


@dataclass(frozen=True, slots=True, kw_only=True)
class Happening:
    """Something that changed between two ticks, or in one: when, and what each constraint does since then."""

    t: float
    tick: int
    mode: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Command:
    """What was asked for: names to engage and to release; at_once where the machine stood still.

    wire : names of contacts of which the code was made ready before they touch, instead
    """

    engage: tuple[str, ...]
    release: tuple[str, ...]
    at_once: bool = False
    wire: tuple[str, ...] = ()


class Waiting:
    """What switches of a run wait for, as the loop reads it; without any where one is of too many comparisons.

    words : of the board: for each guard what its switch wants of each constraint, where those of its condition begin,
            how many they are, and where a bit begins for each combination of them that is true
    """

    def __init__(self, board: Switchboard) -> None:
        guards, groups = board.guards, len(board.names)
        many = [sum(other.first == guard.first for other in guards) for guard in guards]
        if not board.whole or max(many, default=0) > MOST or not _known(board):
            self.words: dict[str, int] = {}
            return
        table = np.zeros((len(guards), max(groups, 1)), dtype=np.int64)
        for row, guard in zip(table, guards, strict=True):
            for names, wish in ((guard.switch.engage, 1), (guard.switch.release, -1)):
                row[[board.names.index(name) for name in names]] = wish
        self._kept = {
            "table": table,
            "first": np.array([guard.first for guard in guards], dtype=np.int64),
            "size": np.array(many, dtype=np.int64),
            **_truths(guards, many),
        }
        addresses = {name: array.ctypes.data for name, array in self._kept.items()}
        views = {name: board.rows.view(name).ctypes.data for name in GUARDED}
        self.words = addresses | views | {"guards": len(guards)}


def _known(board: Switchboard) -> bool:
    """Whether all that switches want is in the code of the machine."""
    return all(name in board.names for g in board.guards for name in (*g.switch.engage, *g.switch.release))


def _truths(guards: Sequence[Guard], many: Sequence[int]) -> dict[str, np.ndarray]:
    """Bits of all conditions, in words of 64, and the word at which those of each guard begin."""
    begin: dict[int, int] = {}
    words: list[int] = []
    for guard, n in zip(guards, many, strict=True):
        if guard.first not in begin:
            begin[guard.first] = len(words)
            bits = _truth(guard.switch, n)
            words += [bits >> 64 * k & (1 << 64) - 1 for k in range(max(1, (1 << n) // 64))]
    truth = np.array([begin[guard.first] for guard in guards], dtype=np.int64)
    return {"truth": truth, "truths": np.array(words, dtype=np.uint64)}


def _truth(switch: When, many: int) -> int:
    """A bit for each combination of comparisons: whether a condition is true with these."""
    if many == 1:
        return 0b10
    every = range(1 << many)
    return sum(1 << case for case in every if switch.holds([bool(case >> j & 1) for j in range(many)]))


class Plan:
    """Switches by time that are to come, as the loop reads them: in order, each from half a step before its time on."""

    def __init__(self, board: Switchboard, half: float) -> None:
        self.board, self.every = board, list(board.times)
        self._times = np.array([switch.time - half for switch in self.every])
        self._plan = np.zeros((len(self.every), max(len(board.names), 1)), dtype=np.int64)
        for row, switch in zip(self._plan, self.every, strict=True):
            for names, wish in ((switch.engage, 1), (switch.release, -1)):
                row[[board.names.index(name) for name in names]] = wish
        self.words = {"times": self._times.ctypes.data, "plan": self._plan.ctypes.data, "dues": len(self.every)}


class Commands:
    """The queue of one switchboard, and what the loop wrote down.

    done    : commands that were tried, with the tick that they came before; those that would change nothing are not
    refused : why one was last not done
    """

    def __init__(self, board: Switchboard, run: int, half: float) -> None:
        self.board, self._half, rows = board, half, board.rows
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
        self.impulses = np.zeros(max(many, 1))  # of each row since the beginning, N s or N m s
        self._waiting, self._plan = Waiting(board), Plan(board, half)
        self.block: Any = Board(
            resolve=address(resolving.func), resolve_words=resolving.args[0],
            adopt=address(adopting.func), adopt_words=adopting.args[0], run=run,
            queue=self._queue.ctypes.data, results=self._results.ctypes.data, groups=groups, rows=many,
            wishes=self._wishes.ctypes.data, crosses=rows.view("crossed").size, saved=self._saved.ctypes.data,
            impulse=rows.view("impulse").ctypes.data, impulses=self.impulses.ctypes.data, whole=int(board.whole),
            saves=len(self._saved), events=self._events.ctypes.data, wide=wide, **views, **sized, **words,
            **self._waiting.words, **self._plan.words,
        )  # fmt: skip
        self._sent: deque[Command] = deque()
        self._taken = 0
        self.done: list[tuple[int, Command]] = []
        self.refused = ""

    def follow(self) -> None:
        """Have the switchboard know which switches by time were done."""
        self.board.times[:] = self._plan.every[int(self.block.past) :]

    def plan(self) -> None:
        """Have the loop know which switches by time are to come, as the switchboard does."""
        if len(self.board.times) > len(self._plan.every):
            self._plan = Plan(self.board, self._half)
            for name, word in self._plan.words.items():
                setattr(self.block, name, word)
        self.block.past = len(self._plan.every) - len(self.board.times)

    def to_come(self, t: float) -> list[At]:
        """Switches by time that are still to come after a tick that ended at a time, which may be over."""
        past = int(self.block.past)
        return [s for k, s in enumerate(self._plan.every) if k >= past or s.time - self._half > t]

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

    @property
    def waits(self) -> bool:
        """Whether there is any that the loop has not taken."""
        return bool(self.block.tail < self.block.head)

    def unsent(self) -> list[Command]:
        """What the loop has not taken."""
        return list(self._sent)

    def gather(self) -> None:
        """See what became of commands."""
        while self._taken < self.block.tail:
            result, asked = self._results[self._taken % SLOTS], self._sent.popleft()
            status, row, _, tick, _ = result.tolist()
            off, t = result.view(np.float64)[[2, 4]].tolist()
            if status != IDLE:  # what is refused is tried again in a replay: its search may leave traces
                self.done.append((tick, asked))
            if status not in (OK, IDLE):
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
