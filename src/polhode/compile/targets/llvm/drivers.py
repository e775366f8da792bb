"""How the pieces of a function are called: for one state, and over a batch."""

from __future__ import annotations

from dataclasses import dataclass

from ...tape import Tape
from .ir import Width, Writer


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


def _calls(pieces: int, arguments: str) -> str:
    return "".join(f"  call void @piece{k}({arguments})\n" for k in range(pieces))


def state_driver(layout: Layout, pieces: int) -> str:
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


def lanes_driver(layout: Layout, pieces: int) -> str:
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
        masked = f"i32 8, {width.boolean} {mask}, {t} zeroinitializer"
        loads = [out.line(f"call {t} @llvm.masked.load.{width.suffix}.p0(ptr {p}, {masked})") for p in entries]
        for vector, row in zip(_transposed(out, loads, width), rows, strict=True):
            out.raw(f"store {t} {vector}, ptr {row}, align {8 * w}")
    else:
        loads = [out.load(row, t, 8 * w) for row in rows]
        for vector, p in zip(_transposed(out, loads, width), entries, strict=True):
            masked = f"i32 8, {width.boolean} {mask}"
            out.raw(f"call void @llvm.masked.store.{width.suffix}.p0({t} {vector}, ptr {p}, {masked})")
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
