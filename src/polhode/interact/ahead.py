"""What will happen: a copy of the loop that runs ahead of real time, with the forces that act now.

[Gillespie, section 4] would have such a copy foresee collisions, and prepare their resolution and the equations after
them. Here each switch is resolved by the same native code as a step, so that there is little to prepare; what there is,
the code of contacts that are not wired yet, is made where the copy meets them, and the loop adopts it before it does.
See docs/realtime.md for what it buys.
"""

from __future__ import annotations

import ctypes
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from polhode.kinematics.candidates import UNILATERAL
from polhode.model.errors import listed
from polhode.simulate.asked import is_number
from polhode.simulate.switches import At
from polhode.trajectory.events import OPEN, RELEASED

from .commands import Happening
from .loop import Realtime
from .ticking import LEFT

ROUNDS = 5  # of looking ahead within a horizon, unless it is said
TRIES = 50  # to find the loop between two ticks
BOUNCES = "bounces"
KNOWN = 1000  # of the last things that happened, that are compared with what was foreseen


class Foreseen(NamedTuple):
    """Something that will happen if the forces stay as they are.

    time       : of the machine, s
    name, kind : a constraint, and what becomes of it: "closes", "opens", "bounces", "slips", "sticks", "engages" or
                 "releases"
    confidence : n / (n + 1), where it was foreseen n times in a row at this time, to a tick
    """

    time: float
    name: str
    kind: str
    confidence: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """What became of it: how much happened as foreseen, and unforeseen; and what was foreseen but did not happen."""

    right: int
    unforeseen: int
    withdrawn: int


class Snapshot(NamedTuple):
    """All that the next ticks of a loop depend on, at one moment."""

    t: float
    x: np.ndarray
    parts: tuple[np.ndarray, ...]  # of the mode, parameters and what a sampled controller holds
    tau: np.ndarray
    p: np.ndarray
    wired: tuple[str, ...] | None  # what is in the code, that the memory is of


class Foresight:
    """Looks ahead of a machine in real time, in a thread of its own, until `stop`.

    machine : which runs, or stands still
    horizon : how far it looks, s of the machine
    every   : s of the clock between two looks; a fifth of the horizon unless it is said

    prepare : whether contacts of large models that it meets are made ready in the machine, see `Realtime.make_ready`

    `foreseen` is what the last look found. Forces and parameters stay as they are in it, commands that wait and
    switches of the model act; what a hand does after that is seen in the next look, which corrects it.
    """

    def __init__(self, machine: Realtime, horizon: float = 0.05, every: float | None = None,
                 prepare: bool = True) -> None:  # fmt: skip
        for name, value in (("horizon", horizon), ("every", every)):
            if value is not None and not (is_number(value) and 0 < value < np.inf):
                raise ValueError(f"Foresight: {name} is {value!r:.40}, expected a number of seconds above 0.")
        self.machine, self.horizon = machine, float(horizon)
        self.every = float(every) if every is not None else self.horizon / ROUNDS
        self.prepare = bool(prepare)
        self.foreseen: list[Foreseen] = []
        self.failure = ""  # why the copy could not go on, where it could not
        self.seconds = 0.0  # that the last look took
        self.looks = 0
        self._copy = Copy(machine)
        self._tally = Tally(machine)
        self._ended = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self) -> Foresight:
        """Look ahead again and again, in a thread."""
        if self._thread is None:
            self._ended.clear()
            self._thread = threading.Thread(target=self._run, name="polhode foresight", daemon=True)
            self._thread.start()
        return self

    def stop(self) -> None:
        """End: the thread is gone after this. What was foreseen last stays."""
        self._ended.set()
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def __enter__(self) -> Foresight:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self) -> None:
        while not self._ended.wait(self.every):
            try:
                self.look()
            except Exception as error:  # it looks again, and says so
                self.failure = f"{type(error).__name__}: {error}"

    def look(self) -> list[Foreseen]:
        """Look ahead once, from where the machine is now: what will happen, in order."""
        began = time.perf_counter()
        now, found = self._copy.ahead(round(self.horizon * self.machine.rate))
        self.failure = self._copy.failure
        if self.prepare:
            self.machine.make_ready(self._copy.wired)
        self._tally.happened(self.machine.events)
        self.foreseen = self._tally.foresee(now, found)
        self.seconds, self.looks = time.perf_counter() - began, self.looks + 1
        return self.foreseen

    @property
    def score(self) -> Score:
        """What became of what was foreseen, up to the last look."""
        return self._tally.score

    def __repr__(self) -> str:
        soon = listed([f"{e.name} {e.kind} at {e.time:.6g} s" for e in self.foreseen]) if self.foreseen else "nothing"
        return f"Foresight of {self.horizon:g} s: {soon}."


class Copy:
    """A second loop of the same machine, which has no clock: it takes ticks as fast as they come."""

    def __init__(self, machine: Realtime) -> None:
        self.machine, self.failure = machine, ""
        self.loop = Realtime(machine.dynamics, machine.rate, "slow", machine._begin, record=False)

    @property
    def wired(self) -> tuple[str, ...]:
        """Contacts that are in its code, where not all are."""
        return self.loop._sim._modes.wired or ()

    def ahead(self, ticks: int) -> tuple[float, list[tuple[float, str, str]]]:
        """What happens within some ticks: the time now, and of each event its time, the constraint and what it does."""
        begun = self._begin()
        assert begun is not None
        start, mode = begun
        self._go(ticks)
        self.failure = self.loop.failure
        found, struck = [], []
        for event in self.loop.events:
            news = changes(mode, event.mode)
            found += [(event.t, name, kind) for name, kind in news]
            struck += [event.tick] * (not news)
            mode = event.mode
        if struck:
            found += self._bounced(start, struck)
        return start.t, sorted(found)

    def _begin(self, start: Snapshot | None = None) -> tuple[Snapshot, dict[str, str]] | None:
        """Be where the machine is now, or where it was, with the commands that wait there; and what its mode is.

        None where it was elsewhere in memory then, as more is in its code now.
        """
        mine, theirs = self.loop, self.machine
        with theirs._wake:  # nothing of the layout changes while it is copied
            self._wire()
            start = snapshot(theirs) if start is None else start
            if start.wired != theirs._sim._modes.wired:
                return None
            times = to_come(theirs, start.t)
            last = [] if theirs._sim._modes.board is None else theirs._sim._modes.board.events[-1:]
            waiting = [] if theirs._commands is None else theirs._commands.unsent()
        sim, block = mine._sim, mine._block
        sim._x[:], sim._now.t = start.x, start.t
        for here, there in zip(parts(mine), start.parts, strict=True):
            here[...] = there
        sim._machine.tau[:] = start.tau
        if sim._modes.board is not None:
            sim._modes.board.times, sim._modes.board.events = times, list(last)
        mine.failure, mine.tau, mine.p = "", start.tau, start.p
        mine._happened.clear()
        if mine._commands is not None:
            mine._commands.block.tail = mine._commands.block.head  # of a look before
            mine._commands.gather()
            mine._seen = int(mine._commands.block.many)
            for asked in waiting:
                mine._commands.send(asked)
        sim._modes.machine.time[0] = start.t
        block.ticks = 0
        mine._go_on()
        return start, mine.mode

    def _wire(self) -> None:
        """Have the same rows in the code, and the same layout."""
        mine, theirs = self.loop._sim._modes, self.machine._sim._modes
        if mine.wired == theirs.wired and (mine.board is None) == (theirs.board is None):
            return
        self.loop.reset()
        mine = self.loop._sim._modes
        if theirs.wired is not None and mine.wired != theirs.wired:
            new = [name for name in theirs.wired if name not in (mine.wired or ())]
            mine.rewire(self.loop._sim.t, names=new)
            self.loop._go_on()

    def _go(self, ticks: int) -> None:
        """Take ticks at once; the GIL is free in all of them between which Python has nothing to do."""
        loop, block = self.loop, self.loop._block
        end, block.period, block.ask = block.ticks + ticks, 1, 0
        while block.ticks < end and not loop.failure:
            block.next, block.left = time.monotonic_ns() - 1, end - block.ticks
            code = loop._ticks(ctypes.addressof(block))
            if code != LEFT and not loop._came_back(code):
                break
        loop._tidy()

    def _bounced(self, start: Snapshot, ticks: Iterable[int]) -> list[tuple[float, str, str]]:
        """What was struck at ticks after which it does what it did before."""
        if self._begin(start) is None:
            return []  # they are seen by the next look
        found, board = [], self.loop._sim._modes.board
        assert board is not None
        for tick in dict.fromkeys(ticks):
            self._go(tick + 1 - self.loop.ticks)
            pushed = (board.rows.view("kind") == UNILATERAL) & (board.rows.view("impulse") > 0)
            names = [board.program.constraints.names[i] for i in np.flatnonzero(pushed)]
            mode = board.mode()
            found += [(self.loop._sim.t, name, BOUNCES) for name in dict.fromkeys(names) if mode[name] == OPEN]
        return found


def parts(loop: Realtime) -> tuple[np.ndarray, ...]:
    """The memory of a loop that has its mode, what constraints captured, and its parameters."""
    machine = loop._sim._machine
    rows = machine.switching
    held = () if loop._held is None else (loop._held.values,)
    return (machine.p, *held) if rows is None else (machine.p, *held, rows.real, rows.whole, rows.places)


def snapshot(loop: Realtime) -> Snapshot:
    """Where a loop is between two ticks.

    A tick counts itself in the bins of its lateness before anything of it is done, and as taken after all: where both
    counts agree, and still do after the memory was copied, no tick had a part in it.
    """
    for _ in range(TRIES):
        begun = loop.begun
        whole = begun == loop.ticks
        found = Snapshot(
            t=loop._sim.t, x=loop._sim._x.copy(), parts=tuple(a.copy() for a in parts(loop)), tau=loop.tau, p=loop.p,
            wired=loop._sim._modes.wired,
        )  # fmt: skip
        if whole and loop.begun == begun:
            return found
        time.sleep(0.1 / loop.rate)
    return found


def to_come(loop: Realtime, t: float) -> list[At]:
    """Switches by time that a loop has still to do after a tick."""
    if loop._commands is not None:
        return loop._commands.to_come(t)
    board = loop._sim._modes.board
    return [] if board is None else list(board.times)


def changes(before: dict[str, str], after: dict[str, str]) -> list[tuple[str, str]]:
    """What constraints became, by name, where it is not what they were."""
    return [(name, became(before.get(name, OPEN), word)) for name, word in after.items() if before.get(name) != word]


def became(before: str, after: str) -> str:
    """What leads from one word to another."""
    if RELEASED in (before, after):
        return "engages" if before == RELEASED else "releases"
    if after == OPEN:
        return "opens"
    if before == OPEN:
        return "closes"
    return "slips" if after in ("slides", "slips") else "sticks"


class Tally:
    """What is foreseen of a machine, how steadily, and what became of it; times are the same to a tick."""

    def __init__(self, machine: Realtime) -> None:
        self.within, self._mode = 1.5 / machine.rate, machine.mode
        self.right = self.unforeseen = self.withdrawn = 0
        self._steady: list[tuple[float, str, str, int]] = []
        self._since = self._counted = machine.state.t  # of the last look, and of the last event that was compared
        self._done: deque[tuple[float, str, str]] = deque(maxlen=KNOWN)

    @property
    def score(self) -> Score:
        return Score(right=self.right, unforeseen=self.unforeseen, withdrawn=self.withdrawn)

    def happened(self, events: Iterable[Happening]) -> None:
        """Compare what happened since the last look with what was foreseen then."""
        for event in events:
            if event.t <= self._counted:
                continue
            # what bounces is not told by name: its mode stays
            news = changes(self._mode, event.mode) or [("", BOUNCES)]
            self._mode, self._counted = event.mode, event.t
            for name, kind in news:
                self._done.append((event.t, name, kind))
                known = any(same(self._done[-1], each, self.within) for each in self._steady)
                self.right, self.unforeseen = self.right + known, self.unforeseen + (not known)

    def foresee(self, now: float, found: Iterable[tuple[float, str, str]]) -> list[Foreseen]:
        """Take what a look found, each with how often in a row it was."""
        if now < self._since:  # the machine was taken back
            self._steady, self._counted = [], now
            self._done.clear()
        steady = []
        for each in found:
            before = [old[3] for old in self._steady if same(each, old, self.within)]
            steady.append((*each, 1 + max(before, default=0)))
        still = [*steady, *self._done]
        self.withdrawn += sum(not any(same(new, old, self.within) for new in still) for old in self._steady)
        self._steady, self._since = steady, now
        return [Foreseen(t, name, kind, n / (n + 1)) for t, name, kind, n in steady]


def same(one: tuple[Any, ...], other: tuple[Any, ...], within: float) -> bool:
    """Whether two are one event, told twice."""
    named = one[1] == other[1] or one[2] == BOUNCES
    return bool(named and one[2] == other[2] and abs(one[0] - other[0]) <= within)
