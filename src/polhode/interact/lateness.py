"""How late a loop was."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from .ticking import FINEST

PARTS = (0.5, 0.99, 0.999)


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Ticks of a loop in real time: seconds by which they began late, and that they took.

    p50, p99, p999 : of the lateness, to a quarter of a power of 2; one tick of 1,000 is later than the last
    missed   : deadlines that went by
    busy     : of a tick, on average; one of 1,000 takes longer than busy_p999
    rights   : what the system granted
    """

    ticks: int
    p50: float
    p99: float
    p999: float
    worst: float
    missed: int
    busy: float
    busy_p999: float
    busy_worst: float
    period: float
    rights: str

    @classmethod
    def of(cls, bins: np.ndarray, spans: np.ndarray, block: Any, period: float, rights: str) -> Lateness:
        """By what the loop counted in its block and its bins."""
        ticks, worst, busy_worst = int(block.ticks), block.worst * 1e-9, block.busy_worst * 1e-9
        p50, p99, p999 = _parts(bins, worst, PARTS)
        busy_p999 = _parts(spans, busy_worst, PARTS[-1:])[0]
        return cls(ticks=ticks, p50=p50, p99=p99, p999=p999, worst=worst, missed=int(block.missed),
                   busy=block.busy * 1e-9 / max(ticks, 1), busy_p999=busy_p999, busy_worst=busy_worst, period=period,
                   rights=rights)  # fmt: skip

    @property
    def told(self) -> dict[str, Any]:
        """For a page, in seconds."""
        return {
            "late": [self.p50, self.p99], "worst": self.worst, "busy": self.busy, "longest": self.busy_worst,
            "missed": self.missed, "ticks": self.ticks, "period": self.period, "rights": self.rights,
        }  # fmt: skip

    def __str__(self) -> str:
        p50, p99, p999, worst = map(spelled, (self.p50, self.p99, self.p999, self.worst))
        late = f"late by {p50} (half), {p99} (99 %), {p999} (99.9 %), {worst} at worst"
        busy, most, longest, period = map(spelled, (self.busy, self.busy_p999, self.busy_worst, self.period))
        took = f"a tick takes {busy}, {most} (99.9 %), {longest} at worst, of {period}"
        missed = f"{self.missed:,} deadline{'' if self.missed == 1 else 's'} missed"
        return f"{self.ticks:,} ticks, {missed}; {late}; {took}; {self.rights or 'not started'}"

    __repr__ = __str__


def _parts(bins: np.ndarray, worst: float, parts: Sequence[float]) -> list[float]:
    """Seconds within which shares of what was counted are."""
    edges = np.array([2.0 ** (k // 4) * (1 + (k % 4 + 1) / 4) for k in range(len(bins))]) * FINEST * 1e-9
    edges[-1] = np.inf  # of all that is longer
    share = np.cumsum(bins) / max(int(bins.sum()), 1)
    return [float(min(edges[int(np.argmax(share >= part))], worst)) for part in parts]


def spelled(seconds: float) -> str:
    """A short time with its unit."""
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
