"""How a simulation ended: in a sentence, with the culprit by name and a remedy."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a simulation ended.

    finished : whether it reached the time asked for
    reason   : one sentence
    time     : where it ended
    culprit  : the variable or constraint that stopped it
    remedy   : what to try, one sentence
    """

    finished: bool
    reason: str
    time: float
    culprit: str | None = None
    remedy: str | None = None

    def __str__(self) -> str:
        return f"{self.reason} {self.remedy}" if self.remedy else self.reason
