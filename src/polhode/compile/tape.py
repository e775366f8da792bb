"""The tape: expressions as a flat list of float operations, ready for a target."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from polhode.graph import Expr
from polhode.graph.algebra import halves
from polhode.graph.scalar import FLOAT
from polhode.graph.walk import expand_powers


@dataclass(frozen=True, slots=True, kw_only=True)
class Tape:
    """Operations in an order in which they can be carried out.

    Value i is ops[i] applied to the values args[i]. A leaf keeps what it is in
    data[i]: the float of a "const", (argument, element) of an "input".
    outputs[k] lists the values of output k. widths[i] counts the lanes of value i
    where some have several (twins.py); "pack" makes lanes of scalars, "lane" reads one.
    """

    ops: list[str]
    args: list[tuple[int, ...]]
    data: list[Any]
    inputs: tuple[int, ...]
    outputs: list[list[int]]
    widths: list[int] = field(default_factory=list)

    def width(self, i: int) -> int:
        return self.widths[i] if self.widths else 1

    def is_leaf(self, i: int) -> bool:
        return not self.args[i]

    def operations(self) -> int:
        return sum(1 for a in self.args if a)

    def digest(self) -> str:
        """A hash of the content, the same in every process."""
        content = repr((self.ops, self.args, self.data, self.inputs, self.outputs))
        return hashlib.sha256(content.encode()).hexdigest()


def record(places: Mapping[Expr, tuple[int, int]], inputs: tuple[int, ...], outputs: Sequence[Sequence[Expr]]) -> Tape:
    """Flatten outputs to a tape.

    places : (argument, element) of each symbol
    inputs : size of each argument

    Constant subexpressions become floats, powers products, and -(a - b) is b - a.
    """
    tape = Tape(ops=[], args=[], data=[], inputs=inputs, outputs=[])
    index: dict[Expr, int] = {}
    constants: dict[str, int] = {}

    def emit(op: str, args: tuple[int, ...], data: Any = None) -> int:
        tape.ops.append(op)
        tape.args.append(args)
        tape.data.append(data)
        return len(tape.ops) - 1

    def constant(value: float) -> int:
        key = value.hex()
        if key not in constants:
            constants[key] = emit("const", (), value)
        return constants[key]

    order = expand_powers([e for output in outputs for e in output])
    for e in order:
        if e.op == "const":
            index[e] = constant(FLOAT["const"](e.value))
        elif e.op == "symbol":
            index[e] = emit("input", (), places[e])
        else:
            operands = halves(e) if e.op == "pow" else e.args
            args = tuple([index[a] for a in operands])
            op = "mul" if e.op == "pow" else e.op
            if all(tape.ops[a] == "const" for a in args):
                index[e] = constant(float(FLOAT[op](*[tape.data[a] for a in args])))
            elif op == "neg" and tape.ops[args[0]] == "sub":
                index[e] = emit("sub", tape.args[args[0]][::-1])
            else:
                index[e] = emit(op, args)
    tape.outputs.extend([index[e] for e in output] for output in outputs)
    return _without_dead(tape)


def _without_dead(tape: Tape) -> Tape:
    """Drop the values that no output needs."""
    live = [False] * len(tape.ops)
    for output in tape.outputs:
        for i in output:
            live[i] = True
    for i in range(len(tape.ops) - 1, -1, -1):
        if live[i]:
            for a in tape.args[i]:
                live[a] = True
    new = {i: k for k, i in enumerate(i for i, alive in enumerate(live) if alive)}
    return Tape(
        ops=[tape.ops[i] for i in new],
        args=[tuple([new[a] for a in tape.args[i]]) for i in new],
        data=[tape.data[i] for i in new],
        inputs=tape.inputs,
        outputs=[[new[i] for i in output] for output in tape.outputs],
    )
