"""What happened at the switches of a run."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from polhode.model.errors import closest
from polhode.view import needed

FOLDED = 4  # times in a row, from which on what happens is said once
MOST_IN_TURN = 4  # events that follow one another again and again
OPEN, RELEASED = ("open", "released")  # modes of a constraint in which it does nothing


@dataclass(frozen=True, slots=True, kw_only=True)
class Event:
    """A moment at which constraints were engaged or released, or let go, caught, stuck or slipped.

    time     : when
    what     : names of the constraints whose mode changed, or that were struck
    why      : "closes", "opens", "slips", "sticks", "command", "start", or what a switch waited for; what happens
               at once is named with commas: "closes, at 1 s"
    mode     : of every constraint afterwards, by name: "engaged", "released", "open", "closed", "holds", "sticks",
               "slides", "slips", "lower", "upper"
    impulses : of rows, by label; none where nothing was struck
    touched  : of what was struck and is open, that which left without a bounce
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
    touched: tuple[str, ...] = ()
    lost: float = 0.0
    rest: float | None = None
    note: str = ""
    rows: tuple[np.ndarray, np.ndarray, np.ndarray] | None = field(default=None, repr=False)
    states: tuple[np.ndarray, np.ndarray] | None = field(default=None, repr=False)

    @property
    def reason(self) -> str:
        """`why` in print: what came to rest, and slides on at once, did not stick."""
        if not self.what or self._words & {"sticks", "holds"}:
            return self.why
        return ", ".join("comes to rest" if word == "sticks" else word for word in self.why.split(", "))

    @property
    def _words(self) -> set[str]:
        """What those do afterwards that the event is about."""
        return {self.mode.get(name, "") for name in self.what}

    @property
    def short(self) -> str:
        """What happened, in a few words."""
        what = ", ".join(f"{name} {self._became(name)}".rstrip() for name in self.what) or "nothing changes"
        lost = f", {abs(self.lost):.4g} J {'lost' if self.lost > 0 else 'gained'}" if self.lost else ""
        alone = self.reason == "comes to rest" and len(self.what) == 1 and self._words <= {"slides", "slips"}
        return f"{self.reason}: {what}{' on' if alone else ''}{lost}"

    def _became(self, name: str) -> str:
        """What a constraint does afterwards; what was struck and is open bounces, unless it lost all of its speed."""
        struck = any(label == name or label.startswith(f"{name}.") for label in self.impulses)
        if not (struck and self.mode.get(name) == OPEN):
            return self.mode.get(name, "")
        return "touches" if name in self.touched else "bounces"

    def __str__(self) -> str:
        rest = "" if self.rest is None else f", at rest from t = {self.rest:.6g} s"
        note = f" ({self.note})" if self.note else ""
        return f"t = {self.time:.6g} s, {self.short}{rest}{note}"

    __repr__ = __str__

    def plain(self) -> dict[str, Any]:
        """The same as numbers, texts, lists and dicts, for JSON."""
        return {
            "time": self.time,
            "why": self.why,
            "what": list(self.what),
            "mode": dict(self.mode),
            "impulses": dict(self.impulses),
            "lost": self.lost,
            "rest": self.rest,
            "note": self.note,
        }


class Events(tuple[Event, ...]):
    """The events of a run, in order; printed a line each."""

    __slots__ = ()

    def __str__(self) -> str:
        return "\n".join(_folded(self)) if self else "no events"

    __repr__ = __str__

    def __getitem__(self, place: Any) -> Any:
        try:
            return super().__getitem__(place)
        except IndexError:
            raise IndexError(f"There is no event {place}: the run has {len(self)}, counted from 0.") from None

    @property
    def times(self) -> np.ndarray:
        """When they happened, (k,)."""
        return np.array([event.time for event in self])

    def columns(self) -> dict[str, np.ndarray]:
        """The events as columns of a table: time, why, what, lost, rest, note, then impulses and modes.

        An impulse is 0 where a row was not struck; rest is NaN where nothing comes to rest later.
        """
        rows = list(dict.fromkeys(label for event in self for label in event.impulses))
        names = list(dict.fromkeys(name for event in self for name in event.mode))
        found = {
            "time": self.times,
            "why": _words(event.why for event in self),
            "what": _words(", ".join(event.what) for event in self),
            "lost": np.array([event.lost for event in self]),
            "rest": np.array([np.nan if event.rest is None else event.rest for event in self]),
            "note": _words(event.note for event in self),
        }
        found |= {f"impulse {label}": np.array([event.impulses.get(label, 0.0) for event in self]) for label in rows}
        return found | {f"mode {name}": _words(event.mode.get(name, "") for event in self) for name in names}

    def to_pandas(self) -> Any:
        """A pandas DataFrame with these columns, a row for each event; modes and reasons are categories."""
        return frame(self.columns())

    def about(self, name: str) -> Events:
        """Those that changed or struck a constraint."""
        known = dict.fromkeys(name for event in self for name in (*event.mode, *event.what))
        if known and name not in known:
            raise KeyError(f"There is no constraint {name!r} that comes and goes. {closest(name, known)}")
        return Events(event for event in self if name in event.what)


class Named(dict[str, np.ndarray]):
    """Columns by name, which tell what there is where one is not."""

    def __init__(self, columns: Mapping[str, np.ndarray], what: str) -> None:
        super().__init__(columns)
        self._what = what

    def __missing__(self, name: object) -> np.ndarray:
        raise KeyError(f"There is no {self._what} {name!r}. {closest(name, self)}")


def _folded(events: Sequence[Event]) -> Iterable[str]:
    """A line for each event; what happens again and again, one by one or in turns, is said once."""
    keys = [(e.why, *(f"{name} {e._became(name)}" for name in e.what), e.rest, e.note) for e in events]
    at = 0
    while at < len(events):
        turns = ((size, _turns(keys, at, size)) for size in range(1, MOST_IN_TURN + 1))
        size, times = max(turns, key=lambda turn: (turn[0] * turn[1] if turn[1] >= FOLDED else 0, -turn[0]))
        shown = size if times >= FOLDED else 1
        yield from map(str, events[at : at + shown])
        if times >= FOLDED:
            rest = events[at + size : at + size * times]
            lost = sum(e.lost for e in rest)
            took = f", {lost:.4g} J lost" if lost else ""
            these = "this" if size == 1 else f"these {size}"
            yield f"... {these} again {times - 1:,} times, up to t = {rest[-1].time:.6g} s{took}"
        at += size * times if times >= FOLDED else 1


def _turns(keys: Sequence[Any], at: int, size: int) -> int:
    """How often some entries follow one another from a place on."""
    times = 1
    while keys[at + times * size : at + (times + 1) * size] == keys[at : at + size]:
        times += 1
    return times


def _words(found: Iterable[str]) -> np.ndarray:
    return np.array(list(found), dtype=object)


def frame(columns: Mapping[str, np.ndarray], index: Any = None) -> Any:
    """Columns as a pandas DataFrame, modes and reasons as categories."""
    pandas = needed("pandas", "data", "A DataFrame")
    made = pandas.DataFrame({name: np.array(values) for name, values in columns.items()}, index=index)
    words = {name: "category" for name in columns if name == "why" or name.startswith("mode ")}
    return made.astype(words) if words else made


def modes_at(events: Sequence[Event], t: np.ndarray) -> dict[str, np.ndarray]:
    """The mode of every constraint at times, as words by name."""
    if not events:
        return {}
    place = places_at(events, t)
    names = dict.fromkeys(name for event in events for name in event.mode)
    return {name: np.array([event.mode.get(name, OPEN) for event in events], dtype=object)[place] for name in names}


def spans_of(events: Sequence[Event], end: float) -> dict[str, list[tuple[float, float, str]]]:
    """From when to when every constraint was in which mode, by name, up to the end of a run."""
    found: dict[str, list[tuple[float, float, str]]] = {}
    times = [*(event.time for event in events), float(end)]
    for event, start, stop in zip(events, times[:-1], times[1:], strict=True):
        for name, word in event.mode.items():
            spans = found.setdefault(name, [])
            if spans and (spans[-1][2] == word or spans[-1][0] == start):
                start_was, word_was = spans[-1][0], spans[-1][2]
                spans[-1] = (start_was, stop, word if start_was == start else word_was)
            else:
                spans.append((start, stop, word))
    return found


def places_at(events: Sequence[Event], t: np.ndarray) -> np.ndarray:
    """The event whose mode lasts at each of some times, (k,); of the two sides of a jump, the first is before it."""
    times = np.array([event.time for event in events])
    place = np.searchsorted(times, t, side="right") - 1
    twice = np.flatnonzero((np.diff(t) == 0) & np.isin(t[:-1], times))
    place[twice] = np.searchsorted(times, t[twice], side="left") - 1
    return np.clip(place, 0, None)
