"""Faults of a description: found one by one, reported together."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from difflib import get_close_matches
from functools import lru_cache

_NAME = re.compile(r"'[^']*'")


class ModelError(ValueError):
    """A description that cannot be a model; `faults` has one sentence each."""

    def __init__(self, faults: Iterable[str], source: str = "") -> None:
        self.faults = tuple(faults)
        self.source = source
        where = f"{source}: " if source else ""
        if len(self.faults) == 1:
            super().__init__(where + self.faults[0])
        else:
            lines = "".join(f"\n  - {fault}" for fault in self.faults)
            super().__init__(f"{where}{len(self.faults)} faults{lines}")

    def __reduce__(self) -> tuple[type[ModelError], tuple[tuple[str, ...], str]]:
        return ModelError, (self.faults, self.source)


def fault(text: str) -> ModelError:
    """One fault, to be raised."""
    return ModelError([text])


class Faults:
    """Collects the faults of one description, to raise them all at once."""

    def __init__(self, source: str = "") -> None:
        self.source = source
        self._found: dict[str, None] = {}  # in order, each once

    @property
    def found(self) -> list[str]:
        return list(self._found)

    def add(self, text: str) -> None:
        self._found[text] = None

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Note a ModelError raised inside, and go on."""
        try:
            yield
        except ModelError as error:
            for text in error.faults:
                self.add(text)

    def raise_any(self) -> None:
        if self._found:
            raise ModelError(self.found, self.source)


def grouped(notes: Iterable[str], most: int = 3) -> list[str]:
    """Notes, where more than `most` that differ in the first name alone are one, at the place of the first.

    >>> grouped(f"Joint {name!r}: its range is not read." for name in "abcde")
    ["Joint 'a', 'b', 'c', ... (5 of them): its range is not read."]
    """
    alike: dict[tuple[str, str], list[str]] = {}
    for note in notes:
        found = _NAME.search(note)
        before, name, after = (
            (note, "", "") if found is None else (note[: found.start()], found[0], note[found.end() :])
        )
        alike.setdefault((before, after), []).append(name)
    said = []
    for (before, after), names in alike.items():
        each = list(dict.fromkeys(names))
        if len(each) > most:
            each = [f"{', '.join(each[:most])}, ... ({len(each)} of them)"]
        said += [f"{before}{name}{after}" for name in each]
    return said


def listed(names: Iterable[str], most: int = 8) -> str:
    """Names in a message, the first of many."""
    found = [repr(name) for name in names]
    return ", ".join(found[:most]) + ", ..." * (len(found) > most)


def closest(name: object, names: Iterable[str]) -> str:
    """A remedy for a name that does not exist: the closest ones, or some that do."""
    return _closest(str(name), tuple(names))


@lru_cache(maxsize=128)
def _closest(name: str, names: tuple[str, ...]) -> str:
    close = get_close_matches(name, names, 3)
    if close:
        return f"Did you mean {' or '.join(map(repr, close))}?"
    if not names:
        return "There are none."
    more = f" and {len(names) - 8} more" if len(names) > 8 else ""
    return f"There {'is' if len(names) == 1 else 'are'} {', '.join(map(repr, names[:8]))}{more}."
