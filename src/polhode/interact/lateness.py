"""How late a loop was."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .ticking import FINEST


@dataclass(frozen=True, slots=True, kw_only=True)
class Lateness:
    """Ticks of a loop in real time: seconds by which they began late, and that they took.

    p50, p99 : of the lateness, to a quarter of a power of 2
    missed   : deadlines that went by
    busy     : of a tick, on average and at worst
    rights   : what the system granted
    """

    ticks: int
    p50: float
    p99: float
    worst: float
    missed: int
    busy: float
    busy_worst: float
    period: float
    rights: str

    @classmethod
    def of(cls, bins: np.ndarray, ticks: int, missed: int, worst: int, busy: int, busy_worst: int, period: float,
           rights: str) -> Lateness:  # fmt: skip
        edges = np.array([2.0 ** (k // 4) * (1 + (k % 4 + 1) / 4) for k in range(len(bins))]) * FINEST * 1e-9
        share = np.cumsum(bins) / max(int(bins.sum()), 1)
        p50, p99 = (float(min(edges[int(np.argmax(share >= part))], worst * 1e-9)) for part in (0.5, 0.99))
        mean = busy / max(ticks, 1)
        return cls(ticks=ticks, p50=p50, p99=p99, worst=worst * 1e-9, missed=missed, busy=mean * 1e-9,
                   busy_worst=busy_worst * 1e-9, period=period, rights=rights)  # fmt: skip

    def __str__(self) -> str:
        late = f"late by {_us(self.p50)} (half), {_us(self.p99)} (99 %), {_us(self.worst)} at worst"
        took = f"a tick takes {_us(self.busy)}, {_us(self.busy_worst)} at worst, of {_us(self.period)}"
        return f"{self.ticks:,} ticks, {self.missed:,} deadlines missed; {late}; {took}; {self.rights or 'not started'}"

    __repr__ = __str__


def _us(seconds: float) -> str:
    return f"{seconds * 1e6:.3g} us" if seconds < 1e-3 else f"{seconds * 1e3:.3g} ms"
