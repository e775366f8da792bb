"""The loop in real time, in native code: wait for the deadline, take inputs, step, hand out the state.

It is one function of LLVM IR that calls the integration loop by address, so that it serves every machine and method. It
takes no lock, makes nothing and knows no Python: ctypes lets go of the GIL while it runs.

Inputs and the state go through memory with a count before and after (a seqlock): who writes makes the count odd, writes,
and makes it even; who reads takes what was there while the count stayed even. Neither waits for the other.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from llvmlite import ir

from polhode.compile import cache
from polhode.compile.native import Loaded, host, object_code
from polhode.kernels.stepping import DONE, MORE, Run

LEFT, FAILED, FULL, OVERRUN = 0, 1, 2, 3  # why the loop came back: asked to; a step failed; the log is full; too late
SLOW, SKIP, STOP = 0, 1, 2  # what to do where a deadline was missed by a period or more
BINS = 64  # of lateness, 2^(k/4) us each

_I64, _DOUBLE = ir.IntType(64), ir.DoubleType()
_FIELDS = (
    "advance", "words", "run", "gettime", "sleep",  # addresses
    "x", "size", "tau", "inputs",  # the state and the forces that the integration loop works on, with their counts
    "in_count", "in_seen", "in_tau", "out_count", "out",  # what others write and read; `out` has the time first
    "log", "log_rows", "log_row",  # forces of each tick, a row of `inputs` entries
    "period", "next", "spin", "ask", "policy",  # ns, ns, ns
    "ticks", "missed", "worst", "bins", "busy", "busy_worst", "status",
)  # fmt: skip


class Block(ctypes.Structure):
    """What the loop works on: words of 64 bits."""

    _fields_ = tuple((name, ctypes.c_int64) for name in _FIELDS)


def entry() -> Callable[[int], int]:
    """The loop, called with the address of a Block; returns why it came back."""
    return ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(_loaded().address("ticks"))


@lru_cache(maxsize=1)
def _loaded() -> Loaded:
    text = str(_module())
    name = cache.key("ticks", host().key(), text)
    code = cache.read(name)
    if code is None:
        code = object_code(text)
        cache.write(name, code)
    return Loaded(code)


class _Writer:
    """Short ways to write the instructions."""

    def __init__(self, builder: ir.IRBuilder, block: Any) -> None:
        self.b, self.block = builder, block

    def place(self, name: str) -> Any:
        return self.b.gep(self.block, [_I64(_FIELDS.index(name))])

    def get(self, name: str) -> Any:
        found = self.b.load(self.place(name), align=8)
        return found

    def put(self, name: str, value: Any) -> None:
        self.b.store(value, self.place(name), align=8)

    def fresh(self, name: str) -> Any:
        """A word that others write."""
        return self.b.load_atomic(self.place(name), "acquire", 8)

    def show(self, name: str, value: Any) -> None:
        """Write a word that others read, after all that was written before."""
        self.b.store_atomic(value, self.place(name), "release", 8)

    def raised(self, name: str, value: Any) -> None:
        """Keep the larger of a word and a value."""
        was = self.get(name)
        self.put(name, self.b.select(self.b.icmp_signed(">", value, was), value, was))

    def doubles(self, name: str, skipped: int = 0) -> Any:
        pointer = self.b.inttoptr(self.get(name), _DOUBLE.as_pointer())
        return self.b.gep(pointer, [_I64(skipped)]) if skipped else pointer

    def copy(self, to: Any, of: Any, many: Any) -> None:
        """Copy doubles, one by one."""
        b = self.b
        head, body, done = (b.append_basic_block() for _ in range(3))
        before = b.block
        b.branch(head)
        b.position_at_end(head)
        k = b.phi(_I64)
        k.add_incoming(_I64(0), before)
        b.cbranch(b.icmp_signed("<", k, many), body, done)
        b.position_at_end(body)
        b.store(b.load(b.gep(of, [k])), b.gep(to, [k]))
        k.add_incoming(b.add(k, _I64(1)), body)
        b.branch(head)
        b.position_at_end(done)

    def called(self, name: str, kind: ir.FunctionType, *args: Any) -> Any:
        return self.b.call(self.b.inttoptr(self.get(name), kind.as_pointer()), args)

    def record(self, field: str, kind: Any) -> Any:
        """A field of the record of the run."""
        address = self.b.add(self.get("run"), _I64(getattr(Run, field).offset))
        return self.b.inttoptr(address, kind.as_pointer())


_I32 = ir.IntType(32)
_SPEC = _I64.as_pointer()  # seconds, nanoseconds
_GETTIME = ir.FunctionType(_I32, [_I32, _SPEC])
_SLEEP = ir.FunctionType(_I32, [_I32, _I32, _SPEC, _SPEC])
_SECOND, _MONOTONIC, _ABSOLUTE = 1_000_000_000, 1, 1


def _module() -> ir.Module:
    module = ir.Module("ticks")
    log2 = module.declare_intrinsic("llvm.ctlz", [_I64], ir.FunctionType(_I64, [_I64, ir.IntType(1)]))
    function = ir.Function(module, ir.FunctionType(_I64, [_I64.as_pointer()]), "ticks")
    start, head, waiting, nap, spin, due, late, stepped, ok = (
        function.append_basic_block(name)
        for name in ("start", "head", "waiting", "nap", "spin", "due", "late", "stepped", "ok")
    )
    b = ir.IRBuilder(start)
    w = _Writer(b, function.args[0])
    spec = b.alloca(_I64, 2)

    def clock() -> Any:
        w.called("gettime", _GETTIME, _I32(_MONOTONIC), spec)
        seconds, rest = b.load(spec), b.load(b.gep(spec, [_I64(1)]))
        return b.add(b.mul(seconds, _I64(_SECOND)), rest)

    b.branch(head)

    # asked to come back?
    b.position_at_end(head)
    leave = b.append_basic_block("leave")
    b.cbranch(b.icmp_signed("!=", w.fresh("ask"), _I64(0)), leave, waiting)
    b.position_at_end(leave)
    b.ret(_I64(LEFT))

    # sleep until shortly before the deadline, and look at the clock until then
    b.position_at_end(waiting)
    deadline = w.get("next")
    early = b.sub(deadline, w.get("spin"))
    b.cbranch(b.icmp_signed("<", clock(), early), nap, spin)
    b.position_at_end(nap)
    b.store(b.sdiv(early, _I64(_SECOND)), spec)
    b.store(b.srem(early, _I64(_SECOND)), b.gep(spec, [_I64(1)]))
    w.called("sleep", _SLEEP, _I32(_MONOTONIC), _I32(_ABSOLUTE), spec, _SPEC(None))
    b.branch(spin)
    b.position_at_end(spin)
    now = clock()
    b.cbranch(b.icmp_signed("<", now, deadline), spin, due)

    # how late it is, in a bin of each quarter of a power of 2, in us
    b.position_at_end(due)
    lateness = b.sub(now, deadline)
    w.raised("worst", lateness)
    scaled = b.add(b.sdiv(lateness, _I64(250)), _I64(1))  # quarters of us, at least 1
    power = b.sub(_I64(63), b.call(log2, [scaled, ir.IntType(1)(0)]))
    first = b.shl(_I64(1), power)
    part = b.sdiv(b.mul(b.sub(scaled, first), _I64(4)), first)  # 0 to 3 within the power
    bin_ = b.add(b.mul(power, _I64(4)), part)
    bin_ = b.select(b.icmp_signed("<", bin_, _I64(BINS)), bin_, _I64(BINS - 1))
    counted = b.gep(b.inttoptr(w.get("bins"), _I64.as_pointer()), [bin_])
    b.store(b.add(b.load(counted), _I64(1)), counted)

    # a deadline that was missed by a period or more
    missed = b.sdiv(lateness, w.get("period"))
    w.put("next", b.add(deadline, w.get("period")))
    taking = b.append_basic_block("taking")
    b.cbranch(b.icmp_signed(">", missed, _I64(0)), late, taking)
    b.position_at_end(late)
    w.put("missed", b.add(w.get("missed"), missed))
    skipped = b.add(deadline, b.mul(b.add(missed, _I64(1)), w.get("period")))
    slowed = b.add(now, w.get("period"))
    w.put("next", b.select(b.icmp_signed("==", w.get("policy"), _I64(SKIP)), skipped, slowed))
    overrun = b.append_basic_block("overrun")
    b.cbranch(b.icmp_signed("==", w.get("policy"), _I64(STOP)), overrun, taking)
    b.position_at_end(overrun)
    b.ret(_I64(OVERRUN))

    # forces from outside: taken where nobody is writing
    b.position_at_end(taking)
    read, known = b.append_basic_block("read"), b.append_basic_block("known")
    count = w.fresh("in_count")
    news = b.and_(b.icmp_signed("!=", count, w.get("in_seen")), b.icmp_signed("==", b.and_(count, _I64(1)), _I64(0)))
    b.cbranch(news, read, known)
    b.position_at_end(read)
    row = b.gep(w.doubles("log"), [b.mul(w.get("log_row"), w.get("inputs"))])
    w.copy(row, w.doubles("in_tau"), w.get("inputs"))
    b.fence("acquire")
    whole = b.append_basic_block("whole")
    b.cbranch(b.icmp_signed("==", w.fresh("in_count"), count), whole, known)
    b.position_at_end(whole)
    w.copy(w.doubles("tau"), row, w.get("inputs"))
    w.put("in_seen", count)
    b.store(_I64(0), w.record("rated", _I64))
    b.branch(known)

    # the step
    b.position_at_end(known)
    w.copy(b.gep(w.doubles("log"), [b.mul(w.get("log_row"), w.get("inputs"))]), w.doubles("tau"), w.get("inputs"))
    w.put("log_row", b.add(w.get("log_row"), _I64(1)))
    status = w.called("advance", ir.FunctionType(_I64, [_I64]), w.get("words"))
    good = b.or_(b.icmp_signed("==", status, _I64(MORE)), b.icmp_signed("==", status, _I64(DONE)))
    b.branch(stepped)
    b.position_at_end(stepped)
    failed = b.append_basic_block("failed")
    b.cbranch(good, ok, failed)
    b.position_at_end(failed)
    w.put("status", status)
    b.ret(_I64(FAILED))

    # the state, for others to see
    b.position_at_end(ok)
    shown = w.get("out_count")
    w.show("out_count", b.add(shown, _I64(1)))
    b.fence("release")
    b.store(b.load(w.record("t", _DOUBLE)), w.doubles("out"))
    w.copy(w.doubles("out", 1), w.doubles("x"), w.get("size"))
    w.show("out_count", b.add(shown, _I64(2)))
    w.put("ticks", b.add(w.get("ticks"), _I64(1)))
    took = b.sub(clock(), now)
    w.put("busy", b.add(w.get("busy"), took))
    w.raised("busy_worst", took)
    full = b.append_basic_block("full")
    b.cbranch(b.icmp_signed(">=", w.get("log_row"), w.get("log_rows")), full, head)
    b.position_at_end(full)
    b.ret(_I64(FULL))
    return module
