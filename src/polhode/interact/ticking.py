"""The loop in real time, in native code: wait for the deadline, take inputs, step, hand out the state.

It is one function of LLVM IR that calls the integration loop by address, so that it serves every machine and method. It
takes no lock, makes nothing and knows no Python: ctypes lets go of the GIL while it runs.

Inputs and the state go through memory with a count (a seqlock): who writes makes the count odd, writes, and makes it
even; who reads takes what was there while the count stayed even. Neither waits for the other.
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
BINS, FINEST = 64, 250  # of lateness, four for each power of 2, and ns of the first

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
        return self.b.load(self.place(name), align=8)

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
    """The loop: each part goes on in the block that it leaves."""
    module = ir.Module("ticks")
    zeros = module.declare_intrinsic("llvm.ctlz", [_I64], ir.FunctionType(_I64, [_I64, ir.IntType(1)]))
    function = ir.Function(module, ir.FunctionType(_I64, [_I64.as_pointer()]), "ticks")
    w = _Writer(ir.IRBuilder(function.append_basic_block("start")), function.args[0])
    spec = w.b.alloca(_I64, 2)
    head = w.b.append_basic_block("head")
    w.b.branch(head)
    w.b.position_at_end(head)
    _leave(w, w.b.icmp_signed("!=", w.fresh("ask"), _I64(0)), LEFT)
    deadline, now = _wait(w, spec)
    _count(w, zeros, w.b.sub(now, deadline))
    _catch_up(w, deadline, now)
    _take(w)
    _step(w)
    _show(w)
    took = w.b.sub(_clock(w, spec), now)
    w.put("busy", w.b.add(w.get("busy"), took))
    w.raised("busy_worst", took)
    _leave(w, w.b.icmp_signed(">=", w.get("log_row"), w.get("log_rows")), FULL)
    w.b.branch(head)
    return module


def _leave(w: _Writer, condition: Any, code: int) -> None:
    """Come back with a code where a condition holds."""
    leaving, staying = (w.b.append_basic_block() for _ in range(2))
    w.b.cbranch(condition, leaving, staying)
    w.b.position_at_end(leaving)
    w.b.ret(_I64(code))
    w.b.position_at_end(staying)


def _clock(w: _Writer, spec: Any) -> Any:
    """The time in ns."""
    w.called("gettime", _GETTIME, _I32(_MONOTONIC), spec)
    seconds, rest = w.b.load(spec), w.b.load(w.b.gep(spec, [_I64(1)]))
    return w.b.add(w.b.mul(seconds, _I64(_SECOND)), rest)


def _wait(w: _Writer, spec: Any) -> tuple[Any, Any]:
    """Sleep until shortly before the deadline, and look at the clock until then; the deadline, and the time after."""
    b = w.b
    nap, spin, due = (b.append_basic_block(name) for name in ("nap", "spin", "due"))
    deadline = w.get("next")
    early = b.sub(deadline, w.get("spin"))
    b.cbranch(b.icmp_signed("<", _clock(w, spec), early), nap, spin)
    b.position_at_end(nap)
    b.store(b.sdiv(early, _I64(_SECOND)), spec)
    b.store(b.srem(early, _I64(_SECOND)), b.gep(spec, [_I64(1)]))
    w.called("sleep", _SLEEP, _I32(_MONOTONIC), _I32(_ABSOLUTE), spec, _SPEC(None))
    b.branch(spin)
    b.position_at_end(spin)
    now = _clock(w, spec)
    b.cbranch(b.icmp_signed("<", now, deadline), spin, due)
    b.position_at_end(due)
    return deadline, now


def _count(w: _Writer, zeros: Any, lateness: Any) -> None:
    """Count how late it is: the bins are quarters of powers of 2, from a quarter of a us."""
    b = w.b
    w.raised("worst", lateness)
    scaled = b.add(b.sdiv(lateness, _I64(FINEST)), _I64(1))
    power = b.sub(_I64(63), b.call(zeros, [scaled, ir.IntType(1)(0)]))
    first = b.shl(_I64(1), power)
    part = b.sdiv(b.mul(b.sub(scaled, first), _I64(4)), first)  # 0 to 3 within the power
    place = b.add(b.mul(power, _I64(4)), part)
    place = b.select(b.icmp_signed("<", place, _I64(BINS)), place, _I64(BINS - 1))
    counted = b.gep(b.inttoptr(w.get("bins"), _I64.as_pointer()), [place])
    b.store(b.add(b.load(counted), _I64(1)), counted)


def _catch_up(w: _Writer, deadline: Any, now: Any) -> None:
    """Set the next deadline: a period after this one, or by the policy where one or more were missed."""
    b = w.b
    late, going = b.append_basic_block("late"), b.append_basic_block("going")
    missed = b.sdiv(b.sub(now, deadline), w.get("period"))
    w.put("next", b.add(deadline, w.get("period")))
    b.cbranch(b.icmp_signed(">", missed, _I64(0)), late, going)
    b.position_at_end(late)
    w.put("missed", b.add(w.get("missed"), missed))
    skipped = b.add(deadline, b.mul(b.add(missed, _I64(1)), w.get("period")))
    slowed = b.add(now, w.get("period"))
    w.put("next", b.select(b.icmp_signed("==", w.get("policy"), _I64(SKIP)), skipped, slowed))
    _leave(w, b.icmp_signed("==", w.get("policy"), _I64(STOP)), OVERRUN)
    b.branch(going)
    b.position_at_end(going)


def _take(w: _Writer) -> None:
    """Take forces from outside where there are new ones and nobody is writing; keep those that act in the log."""
    b = w.b
    read, whole, known = (b.append_basic_block(name) for name in ("read", "whole", "known"))
    row = b.gep(w.doubles("log"), [b.mul(w.get("log_row"), w.get("inputs"))])
    count = w.fresh("in_count")
    even = b.icmp_signed("==", b.and_(count, _I64(1)), _I64(0))
    b.cbranch(b.and_(b.icmp_signed("!=", count, w.get("in_seen")), even), read, known)
    b.position_at_end(read)
    w.copy(row, w.doubles("in_tau"), w.get("inputs"))
    b.fence("acquire")
    b.cbranch(b.icmp_signed("==", w.fresh("in_count"), count), whole, known)
    b.position_at_end(whole)
    w.copy(w.doubles("tau"), row, w.get("inputs"))
    w.put("in_seen", count)
    b.store(_I64(0), w.record("rated", _I64))  # the rate at this state changed with the force
    b.branch(known)
    b.position_at_end(known)
    w.copy(row, w.doubles("tau"), w.get("inputs"))
    w.put("log_row", b.add(w.get("log_row"), _I64(1)))


def _step(w: _Writer) -> None:
    """Call the integration loop, which has a budget of one step."""
    status = w.called("advance", ir.FunctionType(_I64, [_I64]), w.get("words"))
    w.put("status", status)
    went = [w.b.icmp_signed("!=", status, _I64(good)) for good in (MORE, DONE)]
    _leave(w, w.b.and_(*went), FAILED)


def _show(w: _Writer) -> None:
    """Hand out the state."""
    b, shown = w.b, w.get("out_count")
    w.show("out_count", b.add(shown, _I64(1)))
    b.fence("release")
    b.store(b.load(w.record("t", _DOUBLE)), w.doubles("out"))
    w.copy(w.doubles("out", 1), w.doubles("x"), w.get("size"))
    w.show("out_count", b.add(shown, _I64(2)))
    w.put("ticks", b.add(w.get("ticks"), _I64(1)))
