"""LLVM on this machine: IR text to object code, object code to addresses."""

from __future__ import annotations

import gc
import threading
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import llvmlite
import llvmlite.binding as llvm

_lock = threading.Lock()
_MAPS = 3  # of memory, that object code takes of those that the system allows a program
_held = _looked = 0  # object code in memory, and how much there was when room was last made
compilations = 0  # in this process; a function taken from the cache adds none


@dataclass(frozen=True, slots=True, kw_only=True)
class Host:
    """The processor that code is generated for."""

    triple: str
    cpu: str
    features: str
    lanes: int  # doubles in a vector register

    def key(self) -> str:
        return "|".join((self.triple, self.cpu, self.features, llvmlite.__version__))


@lru_cache(maxsize=1)
def host() -> Host:
    """Look at this machine, once."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features()
    lanes = 8 if features.get("avx512f") else 4 if features.get("avx") else 2
    return Host(
        triple=llvm.get_process_triple(),
        cpu=llvm.get_host_cpu_name(),
        features=features.flatten(),
        lanes=lanes,
    )


def object_code(ir: str, vectorised: bool = False) -> bytes:
    """Compile IR text for this machine; its loops in the lanes of the processor, if that is wanted."""
    global compilations  # noqa: PLW0603 - a count of this process
    here = host()
    with _lock:
        target = llvm.Target.from_triple(here.triple)
        machine = target.create_target_machine(
            cpu=here.cpu, features=here.features, opt=2, reloc="pic", codemodel="small"
        )
        module = llvm.parse_assembly(ir)
        module.verify()  # a fault in our text is an error here, and would be an abort below
        module.triple = here.triple
        module.data_layout = str(machine.target_data)
        if vectorised:
            _vectorise(module, machine)
        code: bytes = machine.emit_object(module)
        compilations += 1
    return code


def _vectorise(module: Any, machine: Any) -> None:
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_vectorization = True
    tuning.slp_vectorization = tuning.loop_unrolling = tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(machine, tuning)
    builder.getModulePassManager().run(module, builder)


class Loaded:
    """Object code in memory; its functions live as long as this does."""

    def __init__(self, code: bytes) -> None:
        global _held  # noqa: PLW0603 - a count of this process
        here = host()
        with _lock:
            _held += 1
            make_room()
            target = llvm.Target.from_triple(here.triple)
            machine = target.create_target_machine(cpu=here.cpu, features=here.features)
            self._engine: Any = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
            self._engine.add_object_file(llvm.object_file.ObjectFileRef.from_data(code))
            self._engine.finalize_object()

    def __del__(self) -> None:
        global _held  # noqa: PLW0603
        _held -= 1

    def address(self, name: str) -> int:
        found = int(self._engine.get_function_address(name))
        if not found:
            raise LookupError(f"Object code has no function {name!r}.")
        return found

    def variable(self, name: str) -> int:
        return int(self._engine.get_global_value_address(name))


@lru_cache(maxsize=1)
def most() -> int:
    """How much object code a program may have in memory: beyond, LLVM would end it without a word."""
    limit = Path("/proc/sys/vm/max_map_count")
    return int(limit.read_text()) // _MAPS if limit.exists() else 1 << 40


def make_room() -> None:
    """Let go of object code that nobody holds where there is much; MemoryError where the system allows no more."""
    global _looked  # noqa: PLW0603
    if _held > max(0.6 * most(), 1.05 * _looked):
        gc.collect()
        _looked = _held
    if _held > 0.95 * most():
        raise MemoryError(
            f"{_held:,} compiled functions are held, of some {most():,} that this system allows a program. Let go of "
            "dynamics and functions that are no longer needed, or raise vm.max_map_count."
        )
