"""Faults of a description: found one by one, reported together."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager


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
        self.found: list[str] = []

    def add(self, text: str) -> None:
        if text not in self.found:
            self.found.append(text)

    @contextmanager
    def caught(self) -> Iterator[None]:
        """Note a ModelError raised inside, and go on."""
        try:
            yield
        except ModelError as error:
            for text in error.faults:
                self.add(text)

    def raise_any(self) -> None:
        if self.found:
            raise ModelError(self.found, self.source)
