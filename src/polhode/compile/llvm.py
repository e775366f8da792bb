"""The LLVM target: a tape as IR text, for one state or for W states in SIMD lanes.

The tape is cut into pieces of a few thousand operations, each a function over
a workspace, because one huge basic block compiles superlinearly. Multiply-adds
may be contracted; nothing else is relaxed, so NaN and Inf survive.

Module for one state:   void state(in..., out..., work)
                        void batch(pointers, strides, count, work)
Module for W states:    void batch(pointers, strides, count, work)
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from .ir import Width, Writer
from .tape import Tape
from .trig import far_function, sincos

PIECE = 2000  # operations a function

_ARITHMETIC = {"add": "fadd contract", "sub": "fsub contract", "mul": "fmul contract", "div": "fdiv"}
_COMPARE = {"lt": "olt", "le": "ole", "eq": "oeq"}
_INTRINSIC = {"sqrt": "sqrt", "abs": "fabs", "min": "minimum", "max": "maximum"}
_LIBM = {"tan": 1, "asin": 1, "acos": 1, "atan2": 2, "exp": 1, "log": 1, "tanh": 1}


@dataclass(frozen=True, slots=True)
class Turn:
    """Sines and cosines of several angles, done together: (angle, its "sin", its "cos")."""

    angles: tuple[tuple[int, int | None, int | None], ...]


Step = int | Turn  # a value of the tape, or a group of sines and cosines


def schedule(tape: Tape, together: int) -> list[Step]:
    """Order the operations, sines and cosines of `together` angles at a time.

    Angles that depend on no other sine or cosine are grouped in the order in
    which they are needed; the first that is needed brings the group.
    """
    turned = [False] * len(tape.ops)
    early: list[int] = []
    seen: set[int] = set()
    for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)):
        if op in ("sin", "cos"):
            turned[i] = True
            if not turned[args[0]] and args[0] not in seen:
                seen.add(args[0])
                early.append(args[0])
        else:
            turned[i] = any(turned[a] for a in args)
    sines = {args[0]: i for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)) if op == "sin"}
    cosines = {args[0]: i for i, (op, args) in enumerate(zip(tape.ops, tape.args, strict=True)) if op == "cos"}
    groups = {a: early[k : k + together] for k in range(0, len(early), together) for a in early[k : k + together]}

    steps: list[Step] = []
    done = [tape.is_leaf(i) for i in range(len(tape.ops))]
    turns_done: set[int] = set()

    def bring(targets: list[int]) -> None:
        """Schedule the targets and what they need, in tape order."""
        needed: set[int] = set()
        stack = [t for t in targets if not done[t]]
        while stack:
            i = stack.pop()
            if i not in needed:
                needed.add(i)
                stack.extend(a for a in tape.args[i] if not done[a])
        for i in sorted(needed):
            done[i] = True
            steps.append(i)

    for i, op in enumerate(tape.ops):
        if op in ("sin", "cos"):
            angle = tape.args[i][0]
            if angle not in turns_done:
                group = groups.get(angle, [angle])
                bring(group)
                steps.append(Turn(tuple((a, sines.get(a), cosines.get(a)) for a in group)))
                turns_done.update(group)
            done[i] = True
        elif not done[i]:
            done[i] = True
            steps.append(i)
    return steps


@dataclass(frozen=True, slots=True, kw_only=True)
class Layout:
    """Where a piece finds its inputs and puts its outputs.

    One state: a pointer per argument. Lanes: one packed block for all, [n][W],
    the n of each argument rounded up to a multiple of W.
    """

    width: Width
    tape: Tape

    @property
    def parameters(self) -> list[str]:
        if self.width.lanes > 1:
            return ["block"]
        return [f"x{k}" for k in range(len(self.tape.inputs))] + [f"y{k}" for k in range(len(self.tape.outputs))]

    @property
    def sizes(self) -> list[int]:
        """Entries of each input, then of each output."""
        return [*self.tape.inputs, *map(len, self.tape.outputs)]

    def start(self, k: int) -> int:
        """Row of the block at which input or output k starts."""
        lanes = self.width.lanes
        return sum(-(-size // lanes) * lanes for size in self.sizes[:k])

    def input(self, out: Writer, argument: int, element: int) -> str:
        if self.width.lanes == 1:
            return out.at(f"%x{argument}", element)
        return out.at("%block", self.start(argument) + element, self.width.type)

    def output(self, out: Writer, argument: int, element: int) -> str:
        if self.width.lanes == 1:
            return out.at(f"%y{argument}", element)
        return out.at("%block", self.start(len(self.tape.inputs) + argument) + element, self.width.type)


class Piece:
    """One function: some steps of the schedule over the workspace."""

    def __init__(self, layout: Layout, slots: dict[int, int], together: int) -> None:
        self.layout, self.tape, self.width = layout, layout.tape, layout.width
        self.slots, self.together = slots, together
        self.out = Writer()
        self.names: dict[int, str] = {}
        self.flags: dict[int, str] = {}  # conditions as i1
        self.align = 8 * self.width.lanes

    def value(self, i: int) -> str:
        """The name of a value: made here, constant, input, or from the workspace."""
        name = self.names.get(i)
        if name is None:
            name = self.names[i] = self._fetch(i)
        return name

    def _fetch(self, i: int) -> str:
        op, out = self.tape.ops[i], self.out
        if op == "const":
            return self.width.splat(self.tape.data[i])
        if op == "input":
            return out.load(self.layout.input(out, *self.tape.data[i]), self.width.type, self.align)
        if i in self.flags:
            return out.line(f"uitofp {self.width.boolean} {self.flags[i]} to {self.width.type}")
        return out.load(out.at("%work", self.slots[i], self.width.type), self.width.type, self.align)

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
        else:
            self.names[step] = self._arithmetic(op, [self.value(a) for a in args])

    def _arithmetic(self, op: str, args: list[str]) -> str:
        t, out = self.width.type, self.out
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
            results = sincos(self.out, angles, self.width)
        else:  # one state: the angles themselves side by side in lanes
            wide = Width(self.together)
            packed = "undef"
            for lane in range(wide.lanes):
                packed = wide.insert(self.out, packed, angles[min(lane, len(angles) - 1)], lane)
            ((s, c),) = sincos(self.out, [packed], wide)
            results = [(wide.extract(self.out, s, k), wide.extract(self.out, c, k)) for k in range(len(angles))]
        for (_, *made), names in zip(step.angles, results, strict=True):
            self.names.update((i, name) for i, name in zip(made, names, strict=True) if i is not None)

    def store(self, i: int, pointer: str) -> None:
        self.out.raw(f"store {self.width.type} {self.value(i)}, ptr {pointer}, align {self.align}")

    def function(self, name: str) -> str:
        parameters = ", ".join(f"ptr noalias %{p}" for p in [*self.layout.parameters, "work"])
        return f"define internal void @{name}({parameters}) #0 {{\n{self.out.text()}\n  ret void\n}}\n"


def made_by(step: Step) -> list[int]:
    """The values a step makes."""
    if isinstance(step, Turn):
        return [i for _, *made in step.angles for i in made if i is not None]
    return [step]


def used_by(tape: Tape, step: Step) -> Iterable[int]:
    """The values a step needs."""
    return [a for a, _, _ in step.angles] if isinstance(step, Turn) else tape.args[step]


def allot(tape: Tape, pieces: list[list[Step]]) -> tuple[dict[int, int], int]:
    """Give a workspace slot to each value that a later piece needs.

    Returns the slot of each value and the number of slots; a slot is used
    again once its value is dead.
    """
    home = {i: k for k, steps in enumerate(pieces) for step in steps for i in made_by(step)}
    last: dict[int, int] = {}
    for k, steps in enumerate(pieces):
        for step in steps:
            for i in used_by(tape, step):
                if not tape.is_leaf(i) and home[i] < k:
                    last[i] = k
    ends: dict[int, list[int]] = {}
    slots: dict[int, int] = {}
    free: list[int] = []
    size = 0
    for k, steps in enumerate(pieces):
        free.extend(slots[i] for i in ends.pop(k - 1, []))
        for step in steps:
            for i in made_by(step):
                if i in last:
                    if not free:
                        free.append(size)
                        size += 1
                    slots[i] = free.pop()
                    ends.setdefault(last[i], []).append(i)
    return slots, size


@dataclass(frozen=True, slots=True, kw_only=True)
class Module:
    """IR text, and how many doubles of workspace its functions want."""

    text: str
    work: int


def emit(tape: Tape, lanes: int, together: int) -> Module:
    """Write the module for one state (lanes = 1) or for several in lanes.

    together : how many angles of one state are turned side by side
    """
    width = Width(lanes)
    layout = Layout(width=width, tape=tape)
    steps = schedule(tape, together)
    pieces = [steps[k : k + PIECE] for k in range(0, len(steps), PIECE)] or [[]]
    slots, size = allot(tape, pieces)
    targets: dict[int, list[tuple[int, int]]] = {}
    for k, output in enumerate(tape.outputs):
        for element, i in enumerate(output):
            targets.setdefault(i, []).append((k, element))
    functions = []
    for k, piece_steps in enumerate(pieces):
        piece = Piece(layout, slots, together)
        # outputs that are inputs or constants go with the first piece
        leaves = [i for i in targets if tape.is_leaf(i)] if k == 0 else []
        for step in [*leaves, *piece_steps]:
            made = [step] if step in leaves else made_by(step)
            if step not in leaves:
                piece.step(step)
            for i in made:
                for place in targets.get(i, ()):
                    piece.store(i, layout.output(piece.out, *place))
                if i in slots:
                    piece.store(i, piece.out.at("%work", slots[i], width.type))
        functions.append(piece.function(f"piece{k}"))
    drivers = _state_driver(layout, len(pieces)) if lanes == 1 else _lanes_driver(layout, len(pieces))
    blocks = layout.start(len(layout.sizes)) if lanes > 1 else 0
    body = "\n".join([*functions, drivers])
    widths = [Width(n) for n in sorted({1, lanes, together})]
    helpers = [far_function(w) for w in widths if f"@far{w.lanes}(" in body]
    helpers += [_by_lane(name, width) for name in _LIBM if lanes > 1 and f"@{name}{lanes}(" in body]
    return Module(text="\n".join([_declarations(widths), *helpers, body, _ATTRIBUTES]), work=(blocks + size) * lanes)


def _calls(pieces: int, arguments: str) -> str:
    return "".join(f"  call void @piece{k}({arguments})\n" for k in range(pieces))


def _state_driver(layout: Layout, pieces: int) -> str:
    """void state(in..., out..., work), and a loop of it over a batch."""
    names = [*layout.parameters, "work"]
    parameters = ", ".join(f"ptr noalias %{p}" for p in names)
    arguments = ", ".join(f"ptr %{p}" for p in names)
    state = f"define void @state({parameters}) #0 {{\n{_calls(pieces, arguments)}  ret void\n}}\n"
    out = Writer()
    first = out.block
    out.raw("br label %test")
    out.start("test")
    out.raw(f"%i = phi i64 [ 0, %{first} ], [ %next, %body ]")
    more = out.line("icmp slt i64 %i, %count")
    out.raw(f"br i1 {more}, label %body, label %end")
    out.start("body")
    pointers = [_argument(out, k) for k in range(len(layout.parameters))]
    out.raw(f"call void @state({', '.join(f'ptr {p}' for p in [*pointers, '%work'])})")
    out.raw("%next = add i64 %i, 1")
    out.raw("br label %test")
    out.start("end")
    out.raw("ret void")
    return state + _BATCH + "{\n" + out.text() + "\n}\n"


def _argument(out: Writer, k: int) -> str:
    """Point to argument k of state %i."""
    base = out.load(out.at("%pointers", k, "ptr"))
    stride = out.load(out.at("%strides", k, "i64"), "i64")
    return out.at(base, out.line(f"mul i64 {stride}, %i"))


def _lanes_driver(layout: Layout, pieces: int) -> str:
    """Walk a batch W states at a time: pack, compute, unpack.

    The last block ends with the last state, so it may overlap the one before.
    """
    lanes, t = layout.width.lanes, layout.width.type
    out = Writer()
    first = out.block
    work = out.at("%work", layout.start(len(layout.sizes)), t)
    last = out.line(f"sub i64 %count, {lanes}")
    out.raw("br label %body")
    out.start("body")
    out.raw(f"%i = phi i64 [ 0, %{first} ], [ %next, %more ]")

    def move(name: str, k: int) -> None:
        states, stride = _argument(out, k), out.load(out.at("%strides", k, "i64"), "i64")
        block = out.at("%work", layout.start(k), t)
        out.raw(f"call void @{name}(ptr {states}, ptr {block}, i64 {stride}, i64 {layout.sizes[k]})")

    inputs = len(layout.tape.inputs)
    for k in range(inputs):
        move("pack", k)
    for piece in range(pieces):
        out.raw(f"call void @piece{piece}(ptr %work, ptr {work})")
    for k in range(inputs, len(layout.sizes)):
        move("unpack", k)
    finished = out.line(f"icmp eq i64 %i, {last}")
    out.raw(f"br i1 {finished}, label %end, label %more")
    out.start("more")
    step = out.line(f"add i64 %i, {lanes}")
    out.raw(f"%next = call i64 @llvm.smin.i64(i64 {step}, i64 {last})")
    out.raw("br label %body")
    out.start("end")
    out.raw("ret void")
    return _move("pack", layout.width) + _move("unpack", layout.width) + _BATCH + "{\n" + out.text() + "\n}\n"


def _move(name: str, width: Width) -> str:
    """pack: states `stride` apart, n entries each, to a block [n][W]; unpack: back.

    W x W entries at a time; a mask keeps the last, partial ones in bounds.
    """
    w, t = width.lanes, width.type
    out = Writer()
    out.raw("br label %test")
    out.start("test")
    out.raw("%j = phi i64 [ 0, %entry ], [ %next, %body ]")
    more = out.line("icmp slt i64 %j, %n")
    out.raw(f"br i1 {more}, label %body, label %end")
    out.start("body")
    left = out.line("sub i64 %n, %j")
    ahead = out.line(f"insertelement {width.integer} undef, i64 {left}, i64 0")
    ahead = out.line(f"shufflevector {width.integer} {ahead}, {width.integer} undef, <{w} x i32> zeroinitializer")
    counted = "<" + ", ".join(f"i64 {lane}" for lane in range(w)) + ">"
    mask = out.line(f"icmp slt {width.integer} {counted}, {ahead}")
    rows = [out.at("%block", "%j", t)]
    entries = [out.at("%states", "%j")]
    for lane in range(1, w):
        rows.append(out.at(rows[0], lane, t))
        entries.append(out.at(entries[-1], "%stride"))
    if name == "pack":
        masked = f"{width.boolean} {mask}, {t} zeroinitializer"
        loads = [out.line(f"call {t} @llvm.masked.load.{width.suffix}.p0(ptr align 8 {p}, {masked})") for p in entries]
        for vector, row in zip(_transposed(out, loads, width), rows, strict=True):
            out.raw(f"store {t} {vector}, ptr {row}, align {8 * w}")
    else:
        loads = [out.load(row, t, 8 * w) for row in rows]
        for vector, p in zip(_transposed(out, loads, width), entries, strict=True):
            out.raw(
                f"call void @llvm.masked.store.{width.suffix}.p0({t} {vector}, ptr align 8 {p}, {width.boolean} {mask})"
            )
    out.raw(f"%next = add i64 %j, {w}")
    out.raw("br label %test")
    out.start("end")
    out.raw("ret void")
    header = f"define internal void @{name}(ptr noalias %states, ptr noalias %block, i64 %stride, i64 %n) #0"
    return f"{header} {{\n{out.text()}\n}}\n"


def _transposed(out: Writer, rows: list[str], width: Width) -> list[str]:
    """Transpose W vectors of W, swapping blocks of 1, 2, 4... off the diagonal."""
    w, rows = width.lanes, rows[:]
    step = 1
    while step < w:
        low = [lane if not lane & step else w + lane - step for lane in range(w)]
        high = [lane + step if not lane & step else w + lane for lane in range(w)]
        for i in range(w):
            if not i & step:
                pair = f"{width.type} {rows[i]}, {width.type} {rows[i + step]}"
                rows[i], rows[i + step] = (
                    out.line(f"shufflevector {pair}, <{w} x i32> <{', '.join(f'i32 {k}' for k in order)}>")
                    for order in (low, high)
                )
        step *= 2
    return rows


_BATCH = "define void @batch(ptr noalias %pointers, ptr noalias %strides, i64 %count, ptr noalias %work) #0 "

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
            lines.append(f"declare {w.type} @llvm.masked.load.{w.suffix}.p0(ptr, {w.boolean}, {w.type})")
            lines.append(f"declare void @llvm.masked.store.{w.suffix}.p0({w.type}, ptr, {w.boolean})")
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
