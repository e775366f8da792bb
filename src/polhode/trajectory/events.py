"""What happened at the switches of a run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

OPEN, RELEASED = ("open", "released")  # modes of a constraint in which it does nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A moment at which constraints were engaged or released, or let go, caught, stuck or slipped.

    time     : when
    what     : names of the constraints whose mode changed, or that were struck
    why      : "closes", "opens", "slips", "sticks", "command", "start", or what a switch waited for
    mode     : of every constraint afterwards, by name: "engaged", "released", "open", "closed", "holds", "sticks",
               "slides", "slips", "lower", "upper"
    impulses : of rows, by label; none where nothing was struck
    lost     : kinetic energy that went, J
    rest     : when what bounced comes to rest, where that is later than `time`; the bounces in between are not followed
    note     : what else is to be said: that there were several solutions
    rows     : of rows, for those who go on from it: their modes, the directions in which they slide, and what was
               captured where they engaged
    states   : x = [q, u, z, work] before and after; None where time-stepping met it between the ends of a step
    """

    time: float
    what: tuple[str, ...]
    why: str
    mode: Mapping[str, str]
    impulses: Mapping[str, float] = field(default_factory=dict)
    lost: float = 0.0
    rest: float | None = None
    note: str = ""
    rows: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    states: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)

    def __str__(self) -> str:
        what = ", ".join(f"{name} {self.mode.get(name, '')}".rstrip() for name in self.what) or "nothing changes"
        lost = f", {self.lost:.4g} J lost" if self.lost else ""
        rest = "" if self.rest is None else f", at rest from t = {self.rest:.6g} s"
        note = f" ({self.note})" if self.note else ""
        return f"t = {self.time:.6g} s, {self.why}: {what}{lost}{rest}{note}"

    __repr__ = __str__

    def row(self) -> dict[str, Any]:
        """The same as a row of a table."""
        return {
            "time": self.time,
            "why": self.why,
            "what": ", ".join(self.what),
            "lost": self.lost,
            "rest": self.time if self.rest is None else self.rest,
            "impulses": ", ".join(f"{name}={value:.9g}" for name, value in self.impulses.items()),
            "mode": ", ".join(f"{name} {word}" for name, word in self.mode.items()),
            "note": self.note,
        }


class Events(tuple[Event, ...]):
    """The events of a run, in order; printed a line each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(map(str, self)) if self else "no events"

    __repr__ = __str__

    @property
    def times(self) -> np.ndarray:
        """When they happened, (k,)."""
        return np.array([event.time for event in self])

    def about(self, name: str) -> Events:
        """Those that changed or struck a constraint."""
        return Events(event for event in self if name in event.what)


def modes_at(events: Sequence[Event], t: np.ndarray) -> dict[str, np.ndarray]:
    """The mode of every constraint at times, as words by name."""
    if not events:
        return {}
    place = places_at(events, t)
    return {name: np.array([event.mode[name] for event in events], dtype=object)[place] for name in events[0].mode}


def places_at(events: Sequence[Event], t: np.ndarray) -> np.ndarray:
    """The event whose mode lasts at each of some times, (k,); of the two sides of a jump, the first is before it."""
    times = np.array([event.time for event in events])
    place = np.searchsorted(times, t, side="right") - 1
    twice = np.flatnonzero((np.diff(t) == 0) & np.isin(t[:-1], times))
    place[twice] = np.searchsorted(times, t[twice], side="left") - 1
    return np.clip(place, 0, None)
