"""Whole batches through a native loop, on one thread or several.

The loop is void batch(pointers, strides, count, work): it computes `count`
states, argument k of state i at pointers[k] + i * strides[k] doubles.
"""

from __future__ import annotations

import ctypes
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .signature import Call

_PROTOTYPE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
_GRAIN = 4_000_000  # operations that make another thread worth its start


@dataclass(frozen=True, slots=True)
class Loop:
    """A native loop, and what must live as long as it.

    work_size  : doubles of workspace it needs
    operations : of one state
    lanes      : states it computes at once, and the least it takes
    """

    address: int
    work_size: int
    operations: int
    lanes: int
    owner: Any
    function: Any = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "function", _PROTOTYPE(self.address))

    def run(self, call: Call, threads: int) -> None:
        """Compute all states of a call, whole vectors of them on each thread."""
        most = min(call.count // self.lanes, call.count * self.operations // _GRAIN)
        parts = max(1, min(threads, most))
        cuts = [call.count * k // parts // self.lanes * self.lanes for k in range(parts)] + [call.count]
        # an input with one row is the same for all states
        sizes = [a.shape[1] if len(a) > 1 else 0 for a in call.inputs] + [a.shape[1] for a in call.outputs]
        strides = np.array(sizes, dtype=np.int64)
        bases = np.array([_address(a) for a in [*call.inputs, *call.outputs]], dtype=np.int64)

        def part(start: int, stop: int) -> None:
            pointers = bases + 8 * start * strides
            work = workspace(self.work_size)
            self.function(_address(pointers), _address(strides), stop - start, _address(work))

        if parts == 1:
            part(0, call.count)
            return
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(part, cuts[:-1], cuts[1:]))


def _address(array: np.ndarray) -> int:
    return int(array.__array_interface__["data"][0])


def workspace(size: int) -> np.ndarray:
    """An uninitialised array of doubles on a cache line."""
    raw = np.empty(size + 8)
    skip = (-_address(raw) % 64) // 8
    return raw[skip : skip + max(size, 1)]
