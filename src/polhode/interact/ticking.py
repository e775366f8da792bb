"""The loop in real time, in native code: wait for the deadline, take inputs and commands, step, hand out the state.

It is one function of LLVM IR that calls the integration loop by address, so that it serves every machine and method. It
takes no lock, makes nothing and knows no Python: ctypes lets go of the GIL while it runs.

Inputs and the state go through memory with a count (a seqlock): who writes makes the count odd, writes, and makes it
even; who reads takes what was there while the count stayed even. Neither waits for the other. Commands wait in a queue,
see `commanding`.
"""

from __future__ import annotations

import ctypes
from collections.abc import Callable
from functools import lru_cache
from typing import Any

from llvmlite import ir

from polhode.compile import cache
from polhode.compile.native import Loaded, host, object_code
from polhode.kernels.mode import GUARD, STEPPED
from polhode.kernels.stepping import DONE, EVENT, MORE, Run

from . import commanding
from .writing import DOUBLE, I32, I64, Writer, words

# why the loop came back: asked to; a step failed; no room to write inputs; too late; a switch is due; rows are missing
LEFT, FAILED, FULL, OVERRUN, DUE, AHEAD = range(6)
SLOW, SKIP, STOP = 0, 1, 2  # what to do where a deadline was missed by a period or more
BINS, FINEST = 64, 250  # of lateness, four for each power of 2, and ns of the first
NAP = 20_000_000  # ns, that the loop sleeps without looking whether it is asked for

FIELDS = (
    "advance", "words", "run", "gettime", "sleep", "board",  # addresses; `board` is 0 where nothing can be switched
    "x", "size", "tau", "inputs", "p", "parameters",  # what the integration loop works on, with counts
    "tau_count", "tau_seen", "tau_in", "p_count", "p_seen", "p_in",  # what others write
    "out_count", "out",  # what others read; `out` has the time first
    "patience", "silent", "rest", "stale", "rests",  # ticks without new forces, until those at rest act; how often
    # that was, and whether they do now
    "log", "log_rows", "log_row", "spare", "full",  # inputs of each tick; another log, and one to be taken away
    "period", "next", "spin", "ask", "left", "policy",  # ns, ns, ns; `left` are ticks to take, below 0 for no end
    "due",  # a double: the time of the next switch that Python does, less half a step
    "ticks", "missed", "worst", "bins", "busy", "busy_worst", "spans", "status",  # bins: of lateness; spans: of ticks
)  # fmt: skip
Block = words("Block", FIELDS)  # what the loop works on


def entry() -> tuple[Callable[[int], int], Callable[[int, int], int]]:
    """The loop, called with the address of a Block; returns why it came back. And commands, between two ticks."""
    loaded = _loaded()
    ticks: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p)(loaded.address("ticks"))
    commands: Any = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_void_p, ctypes.c_int64)(loaded.address("commands"))
    ticks.loaded = commands.loaded = loaded  # its code goes with it: two threads at once may have made two of them
    return ticks, commands


@lru_cache(maxsize=1)
def _loaded() -> Loaded:
    text = str(_module())
    name = cache.key("ticks", host().key(), text)
    code = cache.read(name)
    if code is None:
        code = object_code(text)
        cache.write(name, code)
    return Loaded(code)


_SPEC = I64.as_pointer()  # seconds, nanoseconds
_GETTIME = ir.FunctionType(I32, [I32, _SPEC])
_SLEEP = ir.FunctionType(I32, [I32, I32, _SPEC, _SPEC])
_SECOND, _MONOTONIC, _ABSOLUTE = 1_000_000_000, 1, 1


def _module() -> ir.Module:
    """The loop: each part goes on in the block that it leaves."""
    module = ir.Module("ticks")
    zeros = module.declare_intrinsic("llvm.ctlz", [I64], ir.FunctionType(I64, [I64, ir.IntType(1)]))
    parts = commanding.define(module)
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer()]), "ticks")
    w = Writer(ir.IRBuilder(function.append_basic_block("start")), function.args[0], FIELDS)
    spec = w.b.alloca(I64, 2)
    head = w.b.append_basic_block("head")
    w.b.branch(head)
    w.b.position_at_end(head)
    _leave(w, w.is_set(w.fresh("ask")), LEFT)
    _leave(w, w.is_zero(w.get("left")), LEFT)
    _leave(w, _is_full(w), FULL)
    deadline, now = _wait(w, spec)
    _count(w, zeros, w.b.sub(now, deadline))
    _catch_up(w, deadline, now)
    _take(w)
    with w.b.if_then(w.is_set(w.get("board"))):
        w.b.call(parts["commands"], [w.array("board"), w.get("ticks")])
    _step(w, parts["passed"], parts["note"])
    _show(w)
    took = w.b.sub(_clock(w, spec), now)
    w.add("busy", took)
    w.raised("busy_worst", took)
    _binned(w, zeros, "spans", took)
    _leave(w, w.b.fcmp_ordered(">=", w.b.load(_record(w, "t", DOUBLE)), w.b.bitcast(w.get("due"), DOUBLE)), DUE)
    _do_due(w, parts["timed"])
    _look_ahead(w)
    w.b.branch(head)
    return module


def _record(w: Writer, field: str, kind: Any) -> Any:
    """A field of the record of the run."""
    return w.field("run", getattr(Run, field).offset, kind)


def _leave(w: Writer, condition: Any, code: int) -> None:
    """Come back with a code where a condition holds."""
    leaving, staying = (w.b.append_basic_block() for _ in range(2))
    w.b.cbranch(condition, leaving, staying)
    w.b.position_at_end(leaving)
    w.b.ret(I64(code))
    w.b.position_at_end(staying)


def _clock(w: Writer, spec: Any) -> Any:
    """The time in ns."""
    w.called("gettime", _GETTIME, I32(_MONOTONIC), spec)
    seconds, rest = w.b.load(spec), w.b.load(w.b.gep(spec, [I64(1)]))
    return w.b.add(w.b.mul(seconds, I64(_SECOND)), rest)


def _wait(w: Writer, spec: Any) -> tuple[Any, Any]:
    """Sleep until shortly before the deadline, and look at the clock until then; the deadline, and the time after.

    Long sleeps are taken in naps: after each it comes back if it is asked to, and hurries if periods became shorter.
    """
    b = w.b
    look, nap, spin, due = (b.append_basic_block(name) for name in ("look", "nap", "spin", "due"))
    b.branch(look)
    b.position_at_end(look)
    now = _clock(w, spec)
    w.put("next", _least(b, w.get("next"), b.add(now, w.fresh("period"))))
    early = b.sub(w.get("next"), w.get("spin"))
    b.cbranch(b.icmp_signed("<", now, early), nap, spin)
    b.position_at_end(nap)
    until = _least(b, early, b.add(now, I64(NAP)))
    b.store(b.sdiv(until, I64(_SECOND)), spec)
    b.store(b.srem(until, I64(_SECOND)), b.gep(spec, [I64(1)]))
    w.called("sleep", _SLEEP, I32(_MONOTONIC), I32(_ABSOLUTE), spec, _SPEC(None))
    _leave(w, w.is_set(w.fresh("ask")), LEFT)
    b.branch(look)
    b.position_at_end(spin)
    deadline = w.get("next")
    now = _clock(w, spec)
    b.cbranch(b.icmp_signed("<", now, deadline), spin, due)
    b.position_at_end(due)
    return deadline, now


def _least(b: Any, one: Any, other: Any) -> Any:
    return b.select(b.icmp_signed("<", one, other), one, other)


def _count(w: Writer, zeros: Any, lateness: Any) -> None:
    """Count how late it is."""
    w.raised("worst", lateness)
    _binned(w, zeros, "bins", lateness)


def _binned(w: Writer, zeros: Any, name: str, span: Any) -> None:
    """Count a time in ns: the bins are quarters of powers of 2, from a quarter of a us."""
    b = w.b
    scaled = b.add(b.sdiv(span, I64(FINEST)), I64(1))
    power = b.sub(I64(63), b.call(zeros, [scaled, ir.IntType(1)(0)]))
    first = b.shl(I64(1), power)
    part = b.sdiv(b.mul(b.sub(scaled, first), I64(4)), first)  # 0 to 3 within the power
    place = b.add(b.mul(power, I64(4)), part)
    place = b.select(b.icmp_signed("<", place, I64(BINS)), place, I64(BINS - 1))
    bins = w.array(name)
    w.set(bins, place, b.add(w.item(bins, place), I64(1)))


def _catch_up(w: Writer, deadline: Any, now: Any) -> None:
    """Set the next deadline: a period after this one, or by the policy where one or more were missed."""
    b = w.b
    late, going = b.append_basic_block("late"), b.append_basic_block("going")
    missed = b.sdiv(b.sub(now, deadline), w.get("period"))
    w.put("next", b.add(deadline, w.get("period")))
    b.cbranch(b.icmp_signed(">", missed, I64(0)), late, going)
    b.position_at_end(late)
    w.add("missed", missed)
    skipped = b.add(deadline, b.mul(b.add(missed, I64(1)), w.get("period")))
    slowed = b.add(now, w.get("period"))
    w.put("next", b.select(b.icmp_signed("==", w.get("policy"), I64(SKIP)), skipped, slowed))
    _leave(w, b.icmp_signed("==", w.get("policy"), I64(STOP)), OVERRUN)
    b.branch(going)
    b.position_at_end(going)


def _is_full(w: Writer) -> Any:
    """Whether inputs are to be written down, and there is nowhere to; a log that is full gives way to a spare one."""
    b = w.b
    kept = w.is_set(w.get("log_rows"))
    used = b.and_(kept, b.icmp_signed(">=", w.get("log_row"), w.get("log_rows")))
    with b.if_then(used):
        spare = w.fresh("spare")
        with b.if_then(w.is_set(spare)):
            w.put("spare", I64(0))
            w.show("full", w.get("log"))
            w.put("log", spare)
            w.put("log_row", I64(0))
    return b.and_(kept, b.icmp_signed(">=", w.get("log_row"), w.get("log_rows")))


def _take(w: Writer) -> None:
    """Take forces and parameters from outside, have forces rest where none came for long; keep those that act."""
    b = w.b
    w.add("silent", I64(1))
    _take_one(w, "tau", "inputs", lambda: _renewed(w))
    _take_one(w, "p", "parameters", lambda: None)
    late = b.icmp_signed("==", w.get("silent"), w.get("patience"))
    with b.if_then(b.and_(w.is_set(w.get("patience")), late)):
        w.copy(w.array("tau", DOUBLE), w.array("rest", DOUBLE), w.get("inputs"))
        b.store(I64(0), _record(w, "rated", I64))
        w.add("stale", I64(1))
        w.put("rests", I64(1))
    with b.if_then(w.is_set(w.get("log_rows"))):
        wide = b.add(w.get("inputs"), w.get("parameters"))
        row = b.gep(w.array("log", DOUBLE), [b.mul(w.get("log_row"), wide)])
        w.copy(row, w.array("tau", DOUBLE), w.get("inputs"))
        w.copy(b.gep(row, [w.get("inputs")]), w.array("p", DOUBLE), w.get("parameters"))
        w.add("log_row", I64(1))


def _renewed(w: Writer) -> None:
    w.put("silent", I64(0))
    w.put("rests", I64(0))


def _take_one(w: Writer, name: str, many: str, then: Callable[[], None]) -> None:
    """Take what is new, where nobody is writing; what was written meanwhile is read once more in the next tick."""
    b = w.b
    count = w.fresh(f"{name}_count")
    even = w.is_zero(b.and_(count, I64(1)))
    with b.if_then(b.and_(b.icmp_signed("!=", count, w.get(f"{name}_seen")), even)):
        # twice as wide: what is read is only used where it is whole
        given = w.array(f"{name}_in", DOUBLE)
        aside = b.gep(given, [w.get(many)])
        w.copy(aside, given, w.get(many))
        b.fence("acquire")
        with b.if_then(b.icmp_signed("==", w.fresh(f"{name}_count"), count)):
            w.copy(w.array(name, DOUBLE), aside, w.get(many))
            w.put(f"{name}_seen", count)
            b.store(I64(0), _record(w, "rated", I64))  # the rate at this state changed with it
            then()


def _step(w: Writer, passed: ir.Function, note: ir.Function) -> None:
    """Call the integration loop, which has a budget of one step; what changed in it is written down."""
    b = w.b
    status = w.called("advance", ir.FunctionType(I64, [I64]), w.get("words"))
    w.put("status", status)
    with b.if_then(w.is_set(w.get("board"))):
        board = Writer(b, w.array("board"), commanding.FIELDS)
        with b.if_then(w.is_set(board.get("whole"))):  # a step of impulses
            commanding.add_up(board)
    with b.if_then(b.and_(b.icmp_signed("==", status, I64(EVENT)), w.is_set(w.get("board")))):
        board = Writer(b, w.array("board"), commanding.FIELDS)
        cause, tick = b.load(board.array("cause")), w.get("ticks")
        with b.if_then(b.icmp_signed("==", cause, I64(STEPPED))):
            b.call(note, [board.block, tick])
            w.put("status", I64(MORE))
        with b.if_then(b.icmp_signed("==", cause, I64(GUARD))):
            done = w.is_set(b.call(passed, [board.block, tick]))
            w.put("status", b.select(done, I64(MORE), I64(EVENT)))
    went = [b.icmp_signed("!=", w.get("status"), I64(good)) for good in (MORE, DONE)]
    _leave(w, b.and_(*went), FAILED)


def _show(w: Writer) -> None:
    """Hand out the state."""
    b, shown = w.b, w.get("out_count")
    w.show("out_count", b.add(shown, I64(1)))
    b.fence("release")
    out = w.array("out", DOUBLE)
    b.store(b.load(_record(w, "t", DOUBLE)), out)
    w.copy(b.gep(out, [I64(1)]), w.array("x", DOUBLE), w.get("size"))
    w.show("out_count", b.add(shown, I64(2)))
    w.add("ticks", I64(1))
    w.add("left", I64(-1))


def _do_due(w: Writer, timed: ir.Function) -> None:
    """Do switches that are due; come back where one cannot be, so that it is said."""
    b = w.b
    there, going = b.append_basic_block("may be due"), b.append_basic_block("not due")
    b.cbranch(w.is_set(w.get("board")), there, going)
    b.position_at_end(there)
    _leave(w, w.is_zero(b.call(timed, [w.array("board"), w.get("ticks")])), DUE)
    b.branch(going)
    b.position_at_end(going)


def _look_ahead(w: Writer) -> None:
    """Come back where rows that are not in the code may act in the next step."""
    b = w.b
    there, going = b.append_basic_block("there"), b.append_basic_block("none")
    b.cbranch(w.is_set(w.get("board")), there, going)
    b.position_at_end(there)
    board = Writer(b, w.array("board"), commanding.FIELDS)
    _leave(w, w.is_set(b.load(board.array("ahead"))), AHEAD)
    b.branch(going)
    b.position_at_end(going)
