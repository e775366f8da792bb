"""The JavaScript target: functions of arrays for browsers, without libraries."""

from __future__ import annotations

import math
import shutil
import subprocess
import tempfile
from functools import cached_property

import numpy as np

from ..naming import Names, comment
from ..schedule import allot, pieces
from ..signature import Call, Signature
from ..tape import Tape
from .kernel import Kernel

_PIECE = 500  # operations a function: engines leave long ones unoptimised

_TEXT = {
    "add": "{} + {}",
    "sub": "{} - {}",
    "neg": "-{}",
    "mul": "{} * {}",
    "div": "{} / {}",
    "sqrt": "Math.sqrt({})",
    "sin": "Math.sin({})",
    "cos": "Math.cos({})",
    "tan": "Math.tan({})",
    "asin": "Math.asin({})",
    "acos": "Math.acos({})",
    "atan2": "Math.atan2({} + 0, {} + 0)",
    "exp": "Math.exp({})",
    "log": "Math.log({})",
    "tanh": "Math.tanh({})",
    "abs": "Math.abs({})",
    "sign": "Math.sign({})",
    "min": "({0} < {1} || {0} !== {0} ? {0} : {1})",
    "max": "({0} > {1} || {0} !== {0} ? {0} : {1})",
    "lt": "({} < {} ? 1 : 0)",
    "le": "({} <= {} ? 1 : 0)",
    "eq": "({} === {} ? 1 : 0)",
    "select": "({} !== 0 ? {} : {})",
}

# reads states, the inputs of each one after the other, and writes their outputs
_DRIVER = """
const bytes = require("fs").readFileSync(0), sizes = {sizes}, made = {made};
const room = sizes.map(n => new Float64Array(n)), out = made.map(n => new Float64Array(n));
const all = new Float64Array(bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.length));
const width = sizes.reduce((a, b) => a + b, 0), length = made.reduce((a, b) => a + b, 0);
const found = new Float64Array(length * {count});
for (let i = 0; i < {count}; i++) {{
  let at = i * width;
  for (const part of room) {{ part.set(all.subarray(at, at + part.length)); at += part.length; }}
  {name}(...room, ...out);
  at = i * length;
  for (const part of out) {{ found.set(part, at); at += part.length; }}
}}
process.stdout.write(Buffer.from(found.buffer));
"""


class JavaScriptKernel(Kernel):
    """JavaScript source for browsers; it can be called from Python where Node is found, to try it."""

    target = "javascript"

    @cached_property
    def source(self) -> str:
        return _Source(self.tape, self.signature).source()

    def run(self, call: Call, threads: int) -> None:
        node = shutil.which("node") or shutil.which("nodejs")
        name = self.signature.name
        if node is None:
            raise RuntimeError(
                f"Function {name!r}: calling a JavaScript function from Python needs Node, and none was found. "
                'Use its .source, or target="llvm".'
            )
        sizes, made = ([port.size for port in side] for side in (self.signature.inputs, self.signature.outputs))
        driver = _DRIVER.format(sizes=sizes, made=made, count=call.count, name=name)
        rows = [np.broadcast_to(a, (call.count, a.shape[1])) for a in call.inputs]
        states = np.ascontiguousarray(np.concatenate([np.zeros((call.count, 0)), *rows], axis=1), dtype="<f8")
        found = np.frombuffer(_node(node, self.source + driver, states.tobytes()), dtype="<f8")
        parts = np.split(found.reshape(call.count, sum(made)), np.cumsum(made)[:-1], axis=1)
        for output, part in zip(call.outputs, parts, strict=True):
            output[:] = part


def _node(node: str, program: str, given: bytes) -> bytes:
    """Run a program that reads bytes and writes bytes."""
    with tempfile.NamedTemporaryFile("w", suffix=".cjs", encoding="utf-8") as file:
        file.write(program)
        file.flush()
        done = subprocess.run([node, file.name], input=given, capture_output=True, check=False)
    if done.returncode:
        raise RuntimeError(f"Node failed:\n{done.stderr.decode(errors='replace')[:2000]}")
    return done.stdout


def _literal(value: float) -> str:
    if math.isfinite(value):
        text = repr(value)
        return f"({text})" if math.copysign(1.0, value) < 0 else text
    return "NaN" if value != value else "Infinity" if value > 0 else "(-Infinity)"


class _Source:
    """Writes the function; a long tape is cut into several over a workspace, as in C."""

    def __init__(self, tape: Tape, signature: Signature) -> None:
        self.tape, self.signature, name = tape, signature, signature.name
        names = Names([name], reserved=rf"t\d+|{name}_work|{name}_piece\d+")
        self.inputs = [names.fresh(port.name) for port in signature.inputs]
        self.outputs = [names.fresh(port.name) for port in signature.outputs]
        self.ends: dict[int, list[str]] = {}  # where each value is written to
        for output, values in zip(self.outputs, tape.outputs, strict=True):
            for k, i in enumerate(values):
                self.ends.setdefault(i, []).append(f"{output}[{k}]")
        self.pieces = pieces([i for i in range(len(tape.ops)) if not tape.is_leaf(i)], most=_PIECE)
        self.slots, self.size = allot(tape, self.pieces)

    def source(self) -> str:
        name, arguments = self.signature.name, ", ".join([*self.inputs, *self.outputs])
        lines = [f"// {comment(str(self.signature))}: arrays of doubles, matrices row by row; the outputs are written."]
        if len(self.pieces) == 1:
            return "\n".join([*lines, f"function {name}({arguments}) {{", *self.body(0), "}", ""])
        lines.append(f"const {name}_work = new Float64Array({self.size});")
        for k in range(len(self.pieces)):
            lines += [f"function {name}_piece{k}({arguments}) {{", *self.body(k), "}"]
        calls = [f"  {name}_piece{k}({arguments});" for k in range(len(self.pieces))]
        return "\n".join([*lines, f"function {name}({arguments}) {{", *calls, "}", ""])

    def body(self, k: int) -> list[str]:
        tape, local, work = self.tape, set(self.pieces[k]), f"{self.signature.name}_work"

        def operand(i: int) -> str:
            if tape.ops[i] == "const":
                return _literal(tape.data[i])
            if tape.ops[i] == "input":
                argument, element = tape.data[i]
                return f"{self.inputs[argument]}[{element}]"
            return f"t{i}" if i in local else f"{work}[{self.slots[i]}]"

        lines = []
        for i in self.pieces[k]:
            text = _TEXT[tape.ops[i]].format(*[operand(a) for a in tape.args[i]])
            lines.append(f"  const t{i} = {text};")
            stored = [f"{work}[{self.slots[i]}]"] if i in self.slots else []
            lines.extend(f"  {place} = t{i};" for place in stored + self.ends.get(i, []))
        if k == 0:  # outputs that are inputs or constants
            leaves = [i for i in self.ends if tape.is_leaf(i)]
            lines.extend(f"  {place} = {operand(i)};" for i in leaves for place in self.ends[i])
        return lines
