"""The C target: one C99 source and header, no allocation, no globals."""

from __future__ import annotations

import ctypes
import math
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import Any

from .llvm import allot
from .naming import Names
from .signature import Call, Signature
from .tape import Tape

PIECE = 2000  # operations a function
FLAGS = ("-std=c99", "-O3", "-march=native")

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


class CKernel:
    """C source; it can be called from Python where a C compiler is found."""

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self._signature = signature
        self.header, self.source = _write(tape, signature)

    def entry(self, slow: Callable[..., Any]) -> Callable[..., Any]:
        return slow

    def save(self, folder: str | Path) -> tuple[Path, Path]:
        """Write NAME.c and NAME.h; return their paths."""
        target = Path(folder)
        paths = target / f"{self._signature.name}.c", target / f"{self._signature.name}.h"
        for path, text in zip(paths, (self.source, self.header), strict=True):
            path.write_text(text)
        return paths

    @cached_property
    def library(self) -> ctypes.CDLL:
        """The source built as a shared library by the system's C compiler."""
        compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
        if compiler is None:
            raise RuntimeError(
                f"Function {self._signature.name!r}: calling a C function from Python needs a C compiler, "
                'and none was found. Use its .source, or target="llvm".'
            )
        with tempfile.TemporaryDirectory() as folder:
            source, _ = self.save(folder)
            built = Path(folder) / "function.so"
            command = [compiler, *FLAGS, "-shared", "-fPIC", str(source), "-o", str(built), "-lm"]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            if done.returncode:
                raise RuntimeError(f"The C compiler failed:\n{done.stderr[:2000]}")
            return ctypes.CDLL(str(built))

    @property
    def address(self) -> int:
        return int(ctypes.cast(self.library[self._signature.name], ctypes.c_void_p).value or 0)

    def run(self, call: Call, threads: int) -> None:
        function = self.library[self._signature.name]
        function.restype = None
        for state in range(call.count):
            rows = [a[state if a.shape[0] > 1 else 0] for a in call.inputs] + [a[state] for a in call.outputs]
            function(*[ctypes.c_void_p(row.ctypes.data) for row in rows])


def _literal(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return f"({text})" if value < 0 else text
    return "(0.0 / 0.0)" if value != value else "HUGE_VAL" if value > 0 else "(-HUGE_VAL)"


def _write(tape: Tape, signature: Signature) -> tuple[str, str]:
    """Header and source. The tape is cut into static functions over a workspace."""
    names = Names([signature.name, "w"])
    arguments = [names.fresh(port.name) for port in signature.inputs]
    outputs = [names.fresh(port.name) for port in signature.outputs]
    parameters = ", ".join([f"const double *{a}" for a in arguments] + [f"double *{o}" for o in outputs])
    steps = [i for i in range(len(tape.ops)) if not tape.is_leaf(i)]
    pieces = [steps[k : k + PIECE] for k in range(0, len(steps), PIECE)]
    slots, size = allot(tape, [list(p) for p in pieces])
    ends: dict[int, list[tuple[str, int]]] = {}
    for output, values in zip(outputs, tape.outputs, strict=True):
        for k, i in enumerate(values):
            ends.setdefault(i, []).append((output, k))

    def operand(i: int, local: set[int]) -> str:
        if tape.ops[i] == "const":
            return _literal(tape.data[i])
        if tape.ops[i] == "input":
            argument, element = tape.data[i]
            return f"{arguments[argument]}[{element}]"
        return f"t{i}" if i in local else f"w[{slots[i]}]"

    def body(piece: list[int], leaves: list[int]) -> list[str]:
        local = set(piece)
        lines = []
        # values that this piece needs are read before their slots are used again
        for i in piece:
            lines.append(
                f"    const double t{i} = {_TEXT[tape.ops[i]].format(*[operand(a, local) for a in tape.args[i]])};"
            )
            if i in slots:
                lines.append(f"    w[{slots[i]}] = t{i};")
            lines.extend(f"    {o}[{k}] = t{i};" for o, k in ends.get(i, ()))
        lines.extend(f"    {o}[{k}] = {operand(i, local)};" for i in leaves for o, k in ends[i])
        return lines

    leaves = [i for i in ends if tape.is_leaf(i)]
    prototype = f"void {signature.name}({parameters})"
    title = names.comment(str(signature))
    shapes = [
        f" * {a}: {'input' if port in signature.inputs else 'output'}, {port.size} doubles"
        + (f", {' x '.join(map(str, port.shape))} row by row" if len(port.shape) == 2 else "")
        for a, port in zip(arguments + outputs, signature.inputs + signature.outputs, strict=True)
    ]
    guard = f"POLHODE_{signature.name.upper()}_H"
    header = "\n".join(
        [
            f"/* {title}",
            " *",
            *shapes,
            " */",
            f"#ifndef {guard}",
            f"#define {guard}",
            "",
            "#ifdef __cplusplus",
            'extern "C" {',
            "#endif",
            "",
            f"{prototype};",
            "",
            "#ifdef __cplusplus",
            "}",
            "#endif",
            "",
            "#endif",
            "",
        ]
    )
    unused = [f"    (void){a};" for a in arguments]
    lines = [f"/* {title} */", f'#include "{signature.name}.h"', "", "#include <math.h>", ""]
    if size == 0:
        lines += [prototype, "{", *unused, *body(steps, leaves), "}", ""]
    else:
        for k, piece in enumerate(pieces):
            lines += [f"static void piece{k}({parameters}, double *w)", "{"]
            lines += [*unused, *[f"    (void){o};" for o in outputs]]
            lines += [*body(piece, leaves if k == 0 else []), "}", ""]
        call = ", ".join([*arguments, *outputs, "w"])
        lines += [prototype, "{", f"    double w[{size}];"]
        lines += [f"    piece{k}({call});" for k in range(len(pieces))] + ["}", ""]
    return header, "\n".join(lines)
