"""The C target: one C99 source and header, no allocation, no globals."""

from __future__ import annotations

import ctypes
import math
import re
import shutil
import subprocess
import tempfile
from functools import cached_property
from pathlib import Path
from typing import Any

from ..batch import Loop
from ..naming import Names, comment
from ..schedule import allot, pieces
from ..signature import Call, Signature
from ..tape import Tape
from .kernel import Kernel

_PIECE = 500  # operations a static function: small ones compile faster, and run no slower (gcc 12)
FLAGS = ("-O3", "-march=native")  # not -std=c99, with which gcc contracts no multiply-adds

_TEXT = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "neg": "-{}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "sqrt": "sqrt({})",
    "sin": "sin({})",
    "cos": "cos({})",
    "tan": "tan({})",
    "asin": "asin({})",
    "acos": "acos({})",
    "atan2": "atan2({} + 0.0, {} + 0.0)",
    "exp": "exp({})",
    "log": "log({})",
    "tanh": "tanh({})",
    "abs": "fabs({})",
    "sign": "({0} > 0.0 ? 1.0 : {0} < 0.0 ? -1.0 : {0})",
    "min": "({0} < {1} || {0} != {0} ? {0} : {1})",
    "max": "({0} > {1} || {0} != {0} ? {0} : {1})",
    "lt": "({} < {} ? 1.0 : 0.0)",
    "le": "({} <= {} ? 1.0 : 0.0)",
    "eq": "({} == {} ? 1.0 : 0.0)",
    "select": "({} != 0.0 ? {} : {})",
}


class CKernel(Kernel):
    """C source; it can be called from Python where a C compiler is found. Its workspace is on the stack."""

    target = "c"

    @cached_property
    def _text(self) -> _Source:
        return _Source(self.tape, self.signature)

    @cached_property
    def source(self) -> str:
        return self._text.source()

    @cached_property
    def header(self) -> str:
        return self._text.header()

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        target = Path(folder)
        target.mkdir(parents=True, exist_ok=True)
        paths = target / f"{self.signature.name}.c", target / f"{self.signature.name}.h"
        for path, text in zip(paths, (self.source, self.header), strict=True):
            path.write_text(text)
        return paths

    @cached_property
    def library(self) -> ctypes.CDLL:
        """The source built as a shared library by the system's C compiler."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise RuntimeError(
                f"Function {self.signature.name!r}: calling a C function from Python needs a C compiler, "
                'and none was found. Use its .source, or target="llvm".'
            )
        with tempfile.TemporaryDirectory() as folder:
            source, _ = self.save(folder)
            with source.open("a") as file:
                file.write(self._batch_source())
            built = Path(folder) / "function.so"
            command = [compiler, *FLAGS, "-shared", "-fPIC", str(source), "-o", str(built), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"The C compiler failed:\n{done.stderr[:2000]}")
            return ctypes.CDLL(str(built))

    def _batch_source(self) -> str:
        """The loop that calls from Python go through."""
        count = len(self.signature.inputs) + len(self.signature.outputs)
        arguments = ", ".join(f"pointers_[{k}] + i_ * strides_[{k}]" for k in range(count))
        prototype = "void polhode_batch(double **pointers_, long long *strides_, long long count_)"
        return f"""
{prototype};
{prototype}
{{
    for (long long i_ = 0; i_ < count_; i_++) {self.signature.name}({arguments});
}}
"""

    @property
    def address(self) -> int:
        return _pointer(self.library[self.signature.name])

    @cached_property
    def _loop(self) -> Loop:
        return Loop(_pointer(self.library.polhode_batch), 0, self.tape.operations(), 1, self.library)

    def run(self, call: Call, threads: int) -> None:
        self._loop.run(call, threads)


def _pointer(function: Any) -> int:
    return int(ctypes.cast(function, ctypes.c_void_p).value or 0)


def _literal(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return f"({text})" if value < 0 else text
    return "(0.0 / 0.0)" if value != value else "HUGE_VAL" if value > 0 else "(-HUGE_VAL)"


class _Source:
    """Writes header and source; the tape is cut into static functions over a workspace."""

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self.tape, self.name, self.title = tape, signature.name, comment(str(signature))
        names = Names([signature.name], reserved=rf"w|t\d+|{signature.name}_piece\d+")
        self.inputs = [names.fresh(port.name) for port in signature.inputs]
        self.outputs = [names.fresh(port.name) for port in signature.outputs]
        self.ports = signature.inputs + signature.outputs
        self.ends: dict[int, list[str]] = {}  # where each value is written to
        for output, values in zip(self.outputs, tape.outputs, strict=True):
            for k, i in enumerate(values):
                self.ends.setdefault(i, []).append(f"{output}[{k}]")
        self.pieces = pieces([i for i in range(len(tape.ops)) if not tape.is_leaf(i)], most=_PIECE)
        self.slots, self.size = allot(tape, self.pieces)

    def parameters(self, pointer: str) -> str:
        inputs = [f"const double {pointer}{name}" for name in self.inputs]
        return ", ".join(inputs + [f"double {pointer}{name}" for name in self.outputs])

    def header(self) -> str:
        guard = f"POLHODE_{self.name.upper()}_H"
        about = []
        for k, (name, port) in enumerate(zip(self.inputs + self.outputs, self.ports, strict=True)):
            kind = "input" if k < len(self.inputs) else "output"
            rows = f", {port.shape[0]} x {port.shape[1]} row by row" if len(port.shape) == 2 else ""
            symbols = ": " + ", ".join(comment(e.value) for e in port.entries) if kind == "input" else ""
            about.append(f" * {name}: {kind}, {port.size} double{'s' * (port.size != 1)}{rows}{symbols}")
        about.append(" * The arrays must not overlap.")
        lines = [f"/* {self.title}", " *", *about, " */", f"#ifndef {guard}", f"#define {guard}", ""]
        lines += ["#ifdef __cplusplus", 'extern "C" {', "#endif", ""]
        lines += [f"void {self.name}({self.parameters('*')});", ""]
        lines += ["#ifdef __cplusplus", "}", "#endif", "", "#endif", ""]
        return "\n".join(lines)

    def source(self) -> str:
        lines = [f"/* {self.title} */", f'#include "{self.name}.h"', "", "#include <math.h>", ""]
        parameters = self.parameters("*restrict ")  # C++ knows no restrict, so the header goes without
        if len(self.pieces) == 1:
            lines += [f"void {self.name}({parameters})", "{", *self.body(0), "}", ""]
            return "\n".join(lines)
        for k in range(len(self.pieces)):
            lines += [
                f"static void {self.name}_piece{k}({parameters}, double *restrict w)",
                "{",
                "    (void)w;",
                *self.body(k),
                "}",
                "",
            ]
        arguments = ", ".join([*self.inputs, *self.outputs, "w"])
        lines += [f"void {self.name}({parameters})", "{", f"    double w[{max(self.size, 1)}];"]
        lines += [f"    {self.name}_piece{k}({arguments});" for k in range(len(self.pieces))]
        return "\n".join([*lines, "}", ""])

    def body(self, k: int) -> list[str]:
        tape, local = self.tape, set(self.pieces[k])

        def operand(i: int) -> str:
            if tape.ops[i] == "const":
                return _literal(tape.data[i])
            if tape.ops[i] == "input":
                argument, element = tape.data[i]
                return f"{self.inputs[argument]}[{element}]"
            return f"t{i}" if i in local else f"w[{self.slots[i]}]"

        lines = []
        for i in self.pieces[k]:
            text = _TEXT[tape.ops[i]].format(*[operand(a) for a in tape.args[i]])
            lines.append(f"    const double t{i} = {text};")
            stored = [f"w[{self.slots[i]}]"] if i in self.slots else []
            lines.extend(f"    {place} = t{i};" for place in stored + self.ends.get(i, []))
        if k == 0:  # outputs that are inputs or constants
            leaves = [i for i in self.ends if tape.is_leaf(i)]
            lines.extend(f"    {place} = {operand(i)};" for i in leaves for place in self.ends[i])
        used = set(re.findall(r"(\w+)\[", "\n".join(lines)))
        work = ["w"] if len(self.pieces) > 1 else []
        return [f"    (void){name};" for name in self.inputs + self.outputs + work if name not in used] + lines
