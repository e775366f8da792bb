"""The default kernel: native code through LLVM, cached on disk."""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cached_property
from typing import Any

import numpy as np

from . import cache, entry
from .llvm import Module, emit
from .native import Loaded, host, object_code
from .signature import Call, Signature
from .tape import Tape

_VERSION = "5"  # of the emitted code: raise it when the emitter changes
_BATCH = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)


class LlvmKernel:
    """Code for one state, and for W states in lanes once a batch asks for it."""

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self._tape, self._signature = tape, signature
        self._digest = tape.digest()
        self._code, self.work_size = self._load(lanes=1)
        self.address = self._code.address("state")

    def _load(self, lanes: int) -> tuple[Loaded, int]:
        """Take the code from the cache, or compile and keep it."""
        inputs, outputs = ([port.shape for port in side] for side in (self._signature.inputs, self._signature.outputs))
        door = lanes == 1 and entry.supported()
        way_in = f"{entry.LAYOUT} {inputs} {outputs} {self._signature.single}" if door else ""
        name = cache.key(_VERSION, host().key(), self._digest, f"{lanes}", way_in)
        kept = cache.read(name)
        if kept is not None:
            work, code = int.from_bytes(kept[:8], "little"), kept[8:]
        else:
            module = self._module(lanes)
            text = module.text + (entry.emit_entry(inputs, outputs, self._signature.single) if door else "")
            work, code = module.work, object_code(text)
            cache.write(name, work.to_bytes(8, "little") + code)
        return Loaded(code), work

    def _module(self, lanes: int) -> Module:
        # one state turns four angles at a time: eight cost it a third more (AVX-512, measured)
        return emit(self._tape, lanes, together=min(host().lanes, 4))

    @cached_property
    def _one(self) -> tuple[Any, int]:
        return _BATCH(self._code.address("batch")), self.work_size

    @cached_property
    def _many(self) -> tuple[Any, int]:
        self._lanes_code, work = self._load(host().lanes)
        return _BATCH(self._lanes_code.address("batch")), work

    @property
    def source(self) -> str:
        """The LLVM IR for one state."""
        return self._module(1).text

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        if not entry.supported():
            return slow
        outputs = [port.shape for port in self._signature.outputs]
        return entry.open_door(self._code, self._signature.name, outputs, slow, workspace(self.work_size))

    def run(self, call: Call, threads: int) -> None:
        lanes = host().lanes
        batch, work_size = self._many if call.count >= lanes else self._one
        strides = np.array(
            [a.shape[1] if a.shape[0] == call.count and call.count > 1 else 0 for a in call.inputs]
            + [a.shape[1] for a in call.outputs],
            dtype=np.int64,
        )
        arrays = [*call.inputs, *call.outputs]

        def part(start: int, stop: int) -> None:
            bases = np.array([a.ctypes.data for a in arrays], dtype=np.int64)
            pointers = bases + 8 * start * strides
            work = workspace(work_size)
            batch(pointers.ctypes.data, strides.ctypes.data, stop - start, work.ctypes.data)

        # whole vectors for each thread
        parts = max(1, min(threads, call.count // lanes))
        cuts = [call.count * k // parts // lanes * lanes for k in range(parts)] + [call.count]
        if parts == 1:
            part(0, call.count)
            return
        with ThreadPoolExecutor(parts) as pool:
            list(pool.map(part, cuts[:-1], cuts[1:]))


def workspace(size: int) -> np.ndarray:
    """An uninitialised array of doubles on a cache line."""
    raw = np.empty(size + 8)
    skip = (-raw.ctypes.data % 64) // 8
    return raw[skip : skip + max(size, 1)]
