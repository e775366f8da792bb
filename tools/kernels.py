"""Make the kernels that are shipped: `make kernels`.

The machines below are simulated. Each kernel that is called, for each layout of its
arguments, is compiled by Numba, taken as LLVM IR before Numba optimises it for this
machine, made into one function of the words that hold its arguments, and written to
src/polhode/kernels/ir/. The runs then go on with that code.

Done with the oldest Numba that is supported: newer versions of LLVM read the text of older
ones, not the other way round. The same sources and versions give the same bytes.
"""

from __future__ import annotations

import hashlib
import json
import lzma
import os
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any

import llvmlite.binding as llvm
import numpy as np

import polhode as ph
from polhode.compile.invoke import Intrinsic
from polhode.kernels import shipped
from polhode.kernels.kernel import Kernel
from polhode.kernels.views import fill_array

# Numba reads these when it is first used: plain code, for no processor in particular
PLAIN = {"NUMBA_OPT": "0", "NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": "", "NUMBA_LOOP_VECTORIZE": "0"}
# what a kernel may call; LLVM itself puts in the last three
EXTERNALS = {"sqrt", "pow", "memset", "memcpy", "memmove"}
VECTORISED = {"lanes.march"}  # loops over many states, 7 % faster for it; the others gain nothing
ADAPTIVE = ("dop853", "dopri5", "rodas5p")
FIXED = ("rk4", "midpoint", "euler")
SCOPES = re.compile(r", !(?:noalias|alias\.scope) !\d+")
NOTE = re.compile(r"!\d+")
marks: dict[str, str] = {}  # what functions are marked by, by the start of Numba's names of them


def pendulum() -> Any:
    build = ph.Builder("pendulum", gravity=(0, 0, -9.81))
    build.body("rod", joint=ph.revolute("y", name="angle"), mass=1.0, com=(0, 0, -1.0))
    return ph.formulate(build.build()).compile()


def fourbar() -> Any:
    """A parallelogram: a machine with constraints."""
    build = ph.Builder("four-bar", gravity=(0, 0, -9.81))
    rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
    build.body("crank", joint=ph.revolute("y"), **rod)
    build.body("coupler", parent="crank", joint=ph.revolute("y"), at=(0, 0, -1.0), mass=1.0, com=(0.5, 0, 0))
    build.body("rocker", joint=ph.revolute("y"), at=(1.0, 0, 0), **rod)
    build.marker("left", body="coupler", at=(1.0, 0, 0))
    build.marker("right", body="rocker", at=(0, 0, -1.0))
    build.loop("left", "right", "axis")
    return ph.formulate(build.build()).compile()


def bouncing() -> Any:
    """A machine whose constraints come and go: a disc that falls on a plane, bounces, slides and rolls."""
    build = ph.Builder("disc", gravity=(0, 0, -9.81))
    build.body("along x", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("along z", parent="along x", joint=ph.prismatic("z", name="z"), mass=0)
    build.body("disc", parent="along z", joint=ph.revolute("y", name="a"), mass=1, inertia=(0.1, 0.1, 0.1))
    build.contact("disc", shape="disc", radius=0.1, restitution=0.1, friction=0.3)
    return ph.formulate(build.build()).compile()


def runs() -> None:
    """Call every kernel that a simulation may call, with arguments of every layout."""
    for dynamics in (pendulum(), fourbar()):
        q, u = ph.assemble(dynamics)
        for method in ADAPTIVE:
            ph.simulate(dynamics, q, u, 0.01, method=method)
        for method in FIXED:
            ph.simulate(dynamics, q, u, 0.01, method=method, step=0.005)
            ph.simulate_many(dynamics, [q, q], [u, u], 0.01, method=method, step=0.005)
    ph.simulate(dynamics, q, u, 0.01, reacting=True)
    dynamics.impulse(q, u)
    disc, start = bouncing(), ({"z": 0.11}, {"x_dot": 1.0})
    switch = ph.when("x", engage="contact disc")
    traj = ph.simulate(disc, *start, 0.3, reacting=True, switches=switch)
    traj.accelerations  # noqa: B018 - they have a kernel of their own
    ph.simulate(disc, *start, 0.3, method="moreau", step=0.005, switches=switch)


def unpacking(values: list[Any]) -> Intrinsic:
    """An operation that makes arguments like these from the address of their words."""
    from numba import typeof, types

    made = types.Tuple([typeof(value) for value in values])

    @Intrinsic
    def unpack(typing_context: Any, address: Any) -> Any:
        """Make the arguments of a kernel from the address of its words."""

        def codegen(context: Any, builder: Any, signature: Any, given: Any) -> Any:
            word = context.get_value_type(types.int64)
            place = builder.inttoptr(given[0], word.as_pointer())
            count = 0

            def next_word() -> Any:
                nonlocal count
                count += 1
                return builder.load(builder.gep(place, [context.get_constant(types.intp, count - 1)]))

            def member(kind: Any) -> Any:
                if isinstance(kind, types.BaseTuple):
                    return context.make_tuple(builder, kind, [member(k) for k in kind])
                if isinstance(kind, types.Array):
                    array = context.make_array(kind)(context, builder)
                    data = builder.inttoptr(next_word(), array.data.type)
                    fill_array(context, builder, kind, array, data, [next_word() for _ in range(kind.ndim)])
                    return array._getvalue()
                if kind is types.none:
                    return context.get_dummy_value()
                if kind is types.float64:
                    return builder.bitcast(next_word(), context.get_value_type(kind))
                return context.cast(builder, next_word(), types.int64, kind)

            return member(made)

        return made(address), codegen

    return unpack


def only_text() -> None:
    """Have Numba make LLVM IR and no machine code of it, which nobody would run: most of the time it takes."""
    from numba.core import codegen, cpu

    codegen.JITCodeLibrary._finalize_specific = lambda library: None
    # functions are known by what is called from Python: here, by something of their own that never is
    cpu.CPUContext.get_executable = lambda context, library, description, environment: [].append


def uncached(kernel: Kernel[Any, Any]) -> Any:
    """A function as Numba compiles it here: not kept on disk, and without a way in from Python, to save time."""
    from numba import njit

    if kernel.marks:
        words = f"{kernel.function.__module__}.{kernel.function.__qualname__}".split(".")
        marks["_ZN" + "".join(f"{len(word)}{word}" for word in words) + "B"] = kernel.marks
    options = shipped.OPTIONS | kernel.options | {"no_cpython_wrapper": True, "no_cfunc_wrapper": True}
    return njit(kernel.function, **options)


def text_of(kernel: Kernel[Any, Any], values: list[Any]) -> tuple[str, str]:
    """The LLVM IR of a kernel for arguments like these, and what it returns."""
    from numba import njit, typeof, types
    from numba.core.compiler_lock import global_compiler_lock

    kinds = tuple(typeof(value) for value in values)
    kernel.dispatcher.compile(kinds)
    result = kernel.dispatcher.overloads[kinds].signature.return_type
    returns = {types.none: "none", types.boolean: "bool", types.int64: "int"}.get(types.unliteral(result))
    if returns is None:
        raise TypeError(f"Kernel {kernel.name!r} returns {result}, expected None, a bool or an int.")
    unpack = unpacking(values)

    def ignored(address: int) -> int:
        kernel(*unpack(address))
        return 0

    def returned(address: int) -> int:
        return np.int64(kernel(*unpack(address)))  # type: ignore[return-value]

    options = {"nogil": True, "error_model": "numpy", "_nrt": False, "no_cpython_wrapper": True}
    entry = njit(ignored if returns == "none" else returned, no_cfunc_wrapper=True, **options)
    entry.compile((types.int64,))
    (made,) = entry.overloads.values()
    with global_compiler_lock:
        made.library._ensure_finalized()  # with all that it calls
    return tidied(made.library.get_llvm_str(), made.fndesc.mangled_name, kernel.name), returns


def tidied(text: str, inner: str, name: str) -> str:
    """One function, i64 kernel(ptr words), around that of Numba: optimised, and the same on every machine."""
    way_in = f"""
        declare i32 @"{inner}"(ptr, ptr, i64)
        declare void @raised()
        define i64 @kernel(ptr %words) {{
            %result = alloca i64
            %failure = alloca ptr
            %address = ptrtoint ptr %words to i64
            %status = call i32 @"{inner}"(ptr %result, ptr %failure, i64 %address)
            %fine = icmp eq i32 %status, 0
            br i1 %fine, label %leave, label %fail
        leave:
            %value = load i64, ptr %result
            ret i64 %value
        fail:
            call void @raised()
            unreachable
        }}"""
    module = llvm.parse_assembly(marked(text, marks, "noinline"))
    module.link_in(llvm.parse_assembly(way_in))
    own = [v for v in (*module.functions, *module.global_variables) if not v.is_declaration and v.name != "kernel"]
    hurried = {}
    for i, value in enumerate(own):
        if "optnone" in marks.get(value.name.partition("B")[0] + "B", ""):
            hurried[f"part{i}("] = "optnone"
        value.linkage = "internal"
        value.name = f"part{i}"  # Numba's own names count how much it has compiled before
    target = llvm.Target.from_default_triple().create_target_machine(cpu="generic", features="", opt=2)
    tuning = llvm.create_pipeline_tuning_options(speed_level=2)
    tuning.loop_unrolling = tuning.loop_vectorization = tuning.slp_vectorization = tuning.loop_interleaving = False
    builder = llvm.create_pass_builder(target, tuning)
    for _ in range(3):  # that a large function never raises may only be seen when all of it has been simplified
        builder.getModulePassManager().run(module, builder)
        outside = {f.name for f in module.functions if f.is_declaration and not f.name.startswith("llvm.")}
        outside |= {v.name for v in module.global_variables if v.is_declaration}
        if "raised" not in outside:
            break
    if unknown := outside - EXTERNALS - {"raised"}:
        raise ValueError(f"Kernel {name!r} calls {', '.join(sorted(unknown))}. Write it without.")
    if "raised" in outside:
        raise ValueError(f"Kernel {name!r} may raise an exception, which nobody would see. Return a status instead.")
    lines = [line.partition(" ; preds = ")[0].rstrip() for line in str(module).splitlines()]
    skipped = ("target ", "source_filename", "; ModuleID")
    kept = [line for line in lines if line and not line.startswith(skipped)]
    return marked("\n".join(without_scopes(kept)) + "\n", hurried, "optnone")


def without_scopes(lines: list[str]) -> list[str]:
    """Leave out what LLVM noted of aliases when it put functions into each other.

    Two thirds of the text, with names of 5,000 letters, and it has done its work: the object
    code is the same without, bit for bit.
    """
    lines = [SCOPES.sub("", line) for line in lines if "@llvm.experimental.noalias.scope.decl" not in line]
    notes = {line.partition(" ")[0]: line for line in lines if line.startswith("!")}
    text = [line for line in lines if not line.startswith("!")]
    used: set[str] = set()
    wanted = [name for name in notes if not NOTE.fullmatch(name)]
    wanted += [name for line in text for name in NOTE.findall(line)]
    while wanted:
        name = wanted.pop()
        if name not in used:
            used.add(name)
            wanted += NOTE.findall(notes[name].partition("=")[2])
    return text + [line for name, line in notes.items() if name in used]


def marked(text: str, marks: dict[str, str], mark: str) -> str:
    """Put a mark on the definitions of functions whose names start so."""

    def with_mark(line: str) -> str:
        name = line.partition("@")[2].lstrip('"')
        wanted = any(mark in found and name.startswith(start) for start, found in marks.items())
        return f"{line.removesuffix('{')}{mark} {{" if wanted else line

    return "\n".join(with_mark(line) if line.startswith("define ") else line for line in text.split("\n"))


class Maker:
    """Takes the place of looking a kernel up: makes it, and writes it down."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.found: dict[str, dict[str, Any]] = {}

    def make(self, kernel: Kernel[Any, Any], layout: str, values: list[Any]) -> Callable[[int], Any]:
        began = time.perf_counter()
        text, returns = text_of(kernel, values)
        digest = hashlib.sha256(text.encode()).hexdigest()
        file = f"{kernel.name}-{hashlib.sha256(layout.encode()).hexdigest()[:8]}.ll.xz"
        data = lzma.compress(text.encode(), preset=9 | lzma.PRESET_EXTREME)
        (self.folder / file).write_bytes(data)
        entry = {"file": file, "digest": digest, "returns": returns, "vectorised": kernel.name in VECTORISED}
        self.found.setdefault(kernel.name, {})[layout] = entry
        print(
            f"{file:44} {len(text) / 1e3:6.0f} KB, {len(data) / 1e3:4.1f} packed, {time.perf_counter() - began:5.1f} s"
        )
        return shipped.load(digest, returns, lambda: text, kernel.name in VECTORISED)


def main(folder: Path = shipped.FOLDER) -> None:
    """Put kernels made from the sources as they are now in the place of those in a folder."""
    sources = shipped.sources()
    with tempfile.TemporaryDirectory() as made:
        maker = Maker(Path(made))

        def native(kernel: Kernel[Any, Any], layout: str, values: list[Any]) -> Callable[[int], Any]:
            return maker.make(kernel, layout, values)

        Kernel._native = native  # type: ignore[method-assign]
        Kernel.dispatcher = property(cache(uncached))  # type: ignore[assignment, arg-type]
        only_text()
        runs()
        index = {"sources": sources, "kernels": maker.found}
        (maker.folder / shipped.INDEX.name).write_text(json.dumps(index, indent=1, sort_keys=True) + "\n")
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        for file in maker.folder.iterdir():
            shutil.copyfile(file, folder / file.name)


if __name__ == "__main__":
    os.environ |= PLAIN
    main(*map(Path, sys.argv[1:]))
