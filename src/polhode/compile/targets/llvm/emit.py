"""A tape as IR text, for one state or for W states in SIMD lanes.

The tape is cut into pieces of a few thousand operations, each a function over
a workspace, because one huge basic block compiles superlinearly. Multiply-adds
may be contracted; nothing else is relaxed, so NaN and Inf survive.

Module for one state:   void state(in..., out..., work)
                        void batch(pointers, strides, count, work)
Module for W states:    void batch(pointers, strides, count, work)
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...schedule import Step, Turn, allot, made_by, pieces, schedule
from ...tape import Tape
from .drivers import Layout, lanes_driver, state_driver
from .ir import Width, Writer
from .trig import far_function, sincos
from .twins import widened

_ARITHMETIC = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "min": "minimum", "max": "maximum"}
_Place = tuple[int, int]  # output, element
_LIBM = {"tan": 1, "asin": 1, "acos": 1, "atan2": 2, "exp": 1, "log": 1, "tanh": 1}


class Piece:
    """One function: some steps of the schedule over the workspace."""

    def __init__(self, layout: Layout, slots: dict[int, int], together: int, fused: bool) -> None:
        self.fused = fused
        self.layout, self.tape, self.width = layout, layout.tape, layout.width
        self.slots, self.together = slots, together
        self.out = Writer()
        self.names: dict[int, str] = {}
        self.flags: dict[int, str] = {}  # conditions as i1
        self.align = 8 * self.width.lanes

    def of(self, i: int) -> Width:
        """The width of a value: that of the states, or of its twins in one state."""
        return self.width if self.width.lanes > 1 else Width(self.tape.width(i))

    def value(self, i: int) -> str:
        """The name of a value: made here, constant, input, or from the workspace."""
        name = self.names.get(i)
        if name is None:
            name = self.names[i] = self._fetch(i)
        return name

    def _fetch(self, i: int) -> str:
        op, out = self.tape.ops[i], self.out
        if op == "const":
            return self.of(i).constant(self.tape.data[i])
        if op == "input":
            return out.load(self.layout.input(out, *self.tape.data[i]), self.width.type, self.align)
        if i in self.flags:
            return out.line(f"uitofp {self.width.boolean} {self.flags[i]} to {self.width.type}")
        return out.load(out.at("%work", self.slots[i], self.width.type), self.of(i).type, self.align)

    def _flag(self, i: int) -> str:
        """A condition as i1."""
        if i not in self.flags:
            value = self.value(i)
            self.flags[i] = self.out.line(f"fcmp une {self.width.type} {value}, {self.width.splat(0.0)}")
        return self.flags[i]

    def step(self, step: Step) -> None:
        """Emit one step."""
        if isinstance(step, Turn):
            self._turn(step)
            return
        op, args = self.tape.ops[step], self.tape.args[step]
        t = self.width.type
        if op in _COMPARE:
            a, b = map(self.value, args)
            self.flags[step] = self.out.line(f"fcmp {_COMPARE[op]} {t} {a}, {b}")
        elif op == "select":
            flag = self._flag(args[0])
            a, b = map(self.value, args[1:])
            self.names[step] = self.out.line(f"select {self.width.boolean} {flag}, {t} {a}, {t} {b}")
        elif op == "pack":
            wide, packed = self.of(step), "undef"
            for lane, i in enumerate(args):
                packed = wide.insert(self.out, packed, self.value(i), lane)
            self.names[step] = packed
        elif op == "lane":
            self.names[step] = self.of(args[0]).extract(self.out, self.value(args[0]), self.tape.data[step])
        else:
            self.names[step] = self._arithmetic(op, [self.value(a) for a in args], self.of(step).type)

    def _arithmetic(self, op: str, args: list[str], t: str) -> str:
        out = self.out
        if op in _ARITHMETIC:
            return out.line(f"{_ARITHMETIC[op]} {t} {args[0]}, {args[1]}")
        if op == "neg":
            return out.line(f"fneg {t} {args[0]}")
        if op == "sign":
            zero, one = self.width.splat(0.0), self.width.splat(1.0)
            size = out.line(f"call {t} @llvm.copysign.{self.width.suffix}({t} {one}, {t} {args[0]})")
            nonzero = out.line(f"fcmp one {t} {args[0]}, {zero}")
            return out.line(f"select {self.width.boolean} {nonzero}, {t} {size}, {t} {args[0]}")
        if op == "atan2":  # zero has no sign
            args = [out.line(f"fadd {t} {a}, {self.width.splat(0.0)}") for a in args]
        arguments = ", ".join(f"{t} {a}" for a in args)
        if op in _INTRINSIC:
            return out.line(f"call {t} @llvm.{_INTRINSIC[op]}.{self.width.suffix}({arguments})")
        return out.line(f"call {t} @{op}{'' if self.width.lanes == 1 else self.width.lanes}({arguments})")

    def _turn(self, step: Turn) -> None:
        angles = [self.value(a) for a, _, _ in step.angles]
        if self.width.lanes > 1 or len(angles) == 1:
            results = sincos(self.out, angles, self.width, self.fused)
        else:  # one state: the angles themselves side by side in lanes
            wide = Width(self.together)
            packed = "undef"
            for lane in range(wide.lanes):
                packed = wide.insert(self.out, packed, angles[min(lane, len(angles) - 1)], lane)
            ((s, c),) = sincos(self.out, [packed], wide, self.fused)
            results = [(wide.extract(self.out, s, k), wide.extract(self.out, c, k)) for k in range(len(angles))]
        for (_, *made), names in zip(step.angles, results, strict=True):
            self.names.update((i, name) for i, name in zip(made, names, strict=True) if i is not None)

    def store(self, i: int, pointer: str) -> None:
        self.out.raw(f"store {self.of(i).type} {self.value(i)}, ptr {pointer}, align {self.align}")

    def store_constants(self, values: list[float], pointer: str) -> None:
        wide = Width(len(values))
        self.out.raw(f"store {wide.type} {wide.constant(tuple(values))}, ptr {pointer}, align 8")

    def function(self, name: str) -> str:
        parameters = ", ".join(f"ptr noalias %{p}" for p in [*self.layout.parameters, "work"])
        return f"define internal void @{name}({parameters}) #0 {{\n{self.out.text()}\n  ret void\n}}\n"


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """IR text, and how many doubles of workspace its functions want."""

    text: str
    work: int


def emit(tape: Tape, lanes: int, together: int, plain: bool = False) -> Module:
    """Write the module for one state (lanes = 1) or for several in lanes.

    together : how many angles of one state are turned side by side
    plain    : for a processor without wide registers and multiply-adds of one instruction
    """
    tape = widened(tape) if lanes == 1 and not plain else tape
    width = Width(lanes)
    layout = Layout(width=width, tape=tape)
    cut = pieces(schedule(tape, together))
    slots, size = allot(tape, cut)
    targets: dict[int, list[tuple[int, int]]] = {}
    for k, output in enumerate(tape.outputs):
        for element, i in enumerate(output):
            targets.setdefault(i, []).append((k, element))
    functions: list[str] = []
    for steps in cut:
        piece = Piece(layout, slots, together, not plain)
        for step in steps:
            piece.step(step)
            for i in made_by(step):
                for place in targets.get(i, ()):
                    piece.store(i, layout.output(piece.out, *place))
                if i in slots:
                    piece.store(i, piece.out.at("%work", slots[i], width.type))
        functions.append(piece.function(f"piece{len(functions)}"))
    # outputs that are inputs or constants
    leaves = sorted((place, i) for i, found in targets.items() if tape.is_leaf(i) for place in found)
    for group in pieces(list(_runs(tape, leaves, 1 if lanes > 1 else together))) if leaves else []:
        piece = Piece(layout, slots, together, not plain)
        for place, run in group:
            if len(run) == 1:
                piece.store(run[0], layout.output(piece.out, *place))
            else:
                piece.store_constants([tape.data[i] for i in run], layout.output(piece.out, *place))
        functions.append(piece.function(f"piece{len(functions)}"))
    drivers = state_driver(layout, len(functions)) if lanes == 1 else lanes_driver(layout, len(functions))
    blocks = layout.start(len(layout.sizes)) if lanes > 1 else 0
    body = "\n".join([*functions, drivers])
    widths = [Width(n) for n in sorted({1, lanes, together})]
    helpers = [far_function(w) for w in widths if f"@far{w.lanes}(" in body]
    helpers += [_by_lane(name, width) for name in _LIBM if lanes > 1 and f"@{name}{lanes}(" in body]
    return Module(text="\n".join([_declarations(widths), *helpers, body, _ATTRIBUTES]), work=(blocks + size) * lanes)


def _runs(tape: Tape, leaves: list[tuple[_Place, int]], most: int) -> Iterator[tuple[_Place, list[int]]]:
    """Cut leaves into single ones and runs of `most` constants side by side."""
    k = 0
    while k < len(leaves):
        (output, element), _ = leaves[k]
        ahead = leaves[k : k + most]
        values = [i for _, i in ahead]
        side_by_side = [place for place, _ in ahead] == [(output, element + j) for j in range(most)]
        if side_by_side and all(tape.ops[i] == "const" for i in values):
            yield (output, element), values
            k += most
        else:
            yield leaves[k][0], values[:1]
            k += 1


_ATTRIBUTES = """
attributes #0 = { nounwind "prefer-vector-width"="512" "min-legal-vector-width"="512" }
attributes #1 = { nounwind noinline cold "min-legal-vector-width"="512" }
!0 = !{!"branch_weights", i32 1, i32 1000000}
"""


def _declarations(widths: list[Width]) -> str:
    libm = _LIBM | {"sin": 1, "cos": 1}
    lines = [f"declare double @{name}({', '.join(['double'] * n)})" for name, n in libm.items()]
    lines.append("declare i64 @llvm.smin.i64(i64, i64)")
    for w in widths:
        for name, n in {"fma": 3, "fabs": 1, "sqrt": 1, "minimum": 2, "maximum": 2, "copysign": 2}.items():
            lines.append(f"declare {w.type} @llvm.{name}.{w.suffix}({', '.join([w.type] * n)})")
        if w.lanes > 1:
            lines.append(f"declare i1 @llvm.vector.reduce.or.v{w.lanes}i1({w.boolean})")
            lines.append(f"declare {w.type} @llvm.masked.load.{w.suffix}.p0(ptr, i32, {w.boolean}, {w.type})")
            lines.append(f"declare void @llvm.masked.store.{w.suffix}.p0({w.type}, ptr, i32, {w.boolean})")
    return "\n".join(lines) + "\n"


def _by_lane(name: str, width: Width) -> str:
    """One of the system's functions, lane by lane."""
    out = Writer()
    result = "undef"
    for lane in range(width.lanes):
        args = ", ".join(f"double {width.extract(out, f'%a{k}', lane)}" for k in range(_LIBM[name]))
        result = width.insert(out, result, out.line(f"call double @{name}({args})"), lane)
    out.raw(f"ret {width.type} {result}")
    parameters = ", ".join(f"{width.type} %a{k}" for k in range(_LIBM[name]))
    return f"define internal {width.type} @{name}{width.lanes}({parameters}) #1 {{\n{out.text()}\n}}\n"
