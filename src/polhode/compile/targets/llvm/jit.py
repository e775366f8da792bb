"""Native code through LLVM, cached on disk."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import cached_property, lru_cache
from pathlib import Path
from typing import Any

from ... import cache
from ...batch import Loop, workspace
from ...native import Loaded, host, object_code
from ...signature import Call, Signature
from ...tape import Tape
from ..kernel import Kernel
from . import entry
from .emit import Module, emit


@lru_cache(maxsize=1)
def _emitter() -> str:
    """What wrote the code: a hash of the source of this stage."""
    sources = sorted(Path(cache.__file__).parent.rglob("*.py"))
    return hashlib.sha256(b"".join(path.read_bytes() for path in sources)).hexdigest()


class LlvmKernel(Kernel):
    """Code for one state, and for W states in lanes once a batch asks for it."""

    target = "llvm"

    def __init__(self, tape: Tape, signature: Signature) -> None:
        super().__init__(tape, signature)
        self._digest = tape.digest()
        self._code, self.work_size = self._load(lanes=1)
        self._opened = False

    @cached_property
    def address(self) -> int:
        return self._code.address("state")

    def _load(self, lanes: int) -> tuple[Loaded, int]:
        """Take the code from the cache, or compile and keep it."""
        inputs, outputs = ([port.shape for port in side] for side in (self.signature.inputs, self.signature.outputs))
        door = lanes == 1 and entry.supported()
        way_in = f"{entry.LAYOUT} {inputs} {outputs} {self.signature.single}" if door else ""
        name = cache.key(_emitter(), host().key(), self._digest, f"{lanes}", way_in)
        cached = cache.read(name)
        if cached is not None:
            work, code = int.from_bytes(cached[:8], "little"), cached[8:]
        else:
            module = self._module(lanes)
            text = module.text + (entry.emit_entry(inputs, outputs, self.signature.single) if door else "")
            work, code = module.work, object_code(text)
            cache.write(name, work.to_bytes(8, "little") + code)
        return Loaded(code), work

    def _module(self, lanes: int) -> Module:
        # one state turns four angles at a time: eight cost it nearly half as much again (AVX-512, measured)
        return emit(self.tape, lanes, together=min(host().lanes, 4))

    def _loop(self, code: Loaded, work_size: int, lanes: int) -> Loop:
        return Loop(code.address("batch"), work_size, self.tape.operations(), lanes, code)

    @cached_property
    def one_by_one(self) -> Loop:
        """The loop over single states."""
        return self._loop(self._code, self.work_size, lanes=1)

    @cached_property
    def in_lanes(self) -> Loop:
        """The loop over W states at a time."""
        return self._loop(*self._load(host().lanes), lanes=host().lanes)

    @property
    def source(self) -> str:
        """The LLVM IR for one state."""
        return self._module(1).text

    def plain(self) -> tuple[str, int]:
        made = emit(self.tape, lanes=1, together=1, plain=True)
        return made.text, made.work

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        if not entry.supported() or self._opened:  # the code knows one caller
            return slow
        self._opened = True
        outputs = [port.shape for port in self.signature.outputs]
        return entry.open_door(self._code, self.signature.name, outputs, slow, workspace(self.work_size))

    def run(self, call: Call, threads: int) -> None:
        loop = self.in_lanes if call.count >= host().lanes else self.one_by_one
        loop.run(call, threads)
