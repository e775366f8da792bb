"""The graph of modes as a page draws it: what each constraint may do, what leads on, and what was seen so far."""

from __future__ import annotations

import math
from typing import Any

from polhode.simulate.automaton import WHY, states_of
from polhode.trajectory.events import OPEN, RELEASED

from .commands import Happening
from .loop import Realtime

WHOLE = 64  # modes, up to which all of them are drawn
KEPT = 64  # modes that were seen, that are kept


class ModeGraph:
    """The modes of a machine in real time, and how often each was entered.

    words : for each constraint that may be switched what it may do, in words
    modes : those that were seen, as places of words, with how often they were entered
    ways  : from which mode, by its place, to which, with how often
    """

    def __init__(self, loop: Realtime, switches: tuple[str, ...]) -> None:
        self._loop = loop
        known = states_of(loop._sim._modes.program, None) if switches else {}
        self.words = {name: [word for word, _ in known.get(name, [])] for name in switches}
        self._whole = math.prod(map(len, self.words.values())) if switches else 0
        self.begin()

    def begin(self) -> None:
        """Forget what was seen: the machine is at its beginning."""
        self.modes: dict[tuple[int, ...], int] = {}
        self.ways: dict[tuple[int, int], int] = {}
        self._last: Happening | None = None
        self._at: int | None = None
        self._t = -math.inf
        self._enter(self._loop.mode)

    def look(self) -> None:
        """See what happened since."""
        t = self._loop.state.t
        if t < self._t:
            self.begin()
        self._t = t
        new = []
        for event in reversed(self._loop.events):
            if event is self._last:
                break
            new.append(event)
        for event in reversed(new):
            self._enter(event.mode)
            self._last = event

    def _enter(self, mode: Any) -> None:
        place = tuple(self._word(name, mode.get(name, RELEASED)) for name in self.words)
        if place not in self.modes and len(self.modes) >= KEPT:
            self._at = None
            return
        places = list(self.modes)
        now = places.index(place) if place in self.modes else len(places)
        if now == self._at:
            return
        self.modes[place] = self.modes.get(place, 0) + 1
        if self._at is not None:
            self.ways[self._at, now] = self.ways.get((self._at, now), 0) + 1
        self._at = now

    def _word(self, name: str, word: str) -> int:
        if word not in self.words[name]:
            self.words[name].append(word)
        return self.words[name].index(word)

    def description(self) -> dict[str, Any]:
        """What a page has to know once."""
        leads = [[a, b, why] for (a, b), why in WHY.items()]
        for word in sorted({OPEN, *(word for found in self.words.values() for word in found)} - {RELEASED}):
            more = (word, RELEASED, "release"), (RELEASED, word, "engage")
            leads += [[a, b, why] for a, b, why in more if (a, b) not in WHY]
        return {"words": self.words, "leads": leads, "whole": 0 < self._whole <= WHOLE, "many": self._whole}

    def seen(self) -> dict[str, Any]:
        """What changes: modes with how often they were entered, and the ways between them."""
        self.look()
        return {
            "words": self.words,
            "modes": [[*place, n] for place, n in self.modes.items()],
            "ways": [[a, b, n] for (a, b), n in self.ways.items()],
        }
