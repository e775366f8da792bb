"""Commands in the loop, in native code: a queue without a lock, resolved between two ticks, and what happened.

Who commands writes what is wanted of each constraint into a slot of a ring and then moves `head`; the loop takes it,
calls the kernel that resolves impulses and finds the mode, and moves `tail`. What cannot be is undone: all that a
switch changes is kept aside before, and brought back. Nothing is made, and a tick does at most BURST of them, so that
its cost has a bound.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polhode.kernels.machine import OK
from polhode.kernels.mode import COMMAND, UNILATERAL
from polhode.kernels.stepping import Run

from .writing import DOUBLE, I64, Writer, words

SLOTS = 1024  # commands that may wait
EVENTS = 1024  # of the last ones that are kept
TIME_AT = getattr(Run, "t").offset  # noqa: B009 - a field of the structure, which types say is a number
BURST = 4  # commands of one tick, at most
RESULT = ("status", "row", "phi", "tick", "time")  # of each slot; `phi` and `time` have the bits of a double
HEAD = ("tick", "time", "cause")  # of each event, before the modes of rows and what is engaged; `time` is a double
IDLE, VAGUE, BEYOND = -1, 101, 102  # statuses beside those of the kernel: nothing to do; no number; beyond a bound
TOO_FAR = 1e-6  # of the size that a row is measured by

FIELDS = (
    "resolve", "resolve_words", "adopt", "adopt_words", "run",  # addresses
    "queue", "results", "head", "tail",
    "groups", "rows", "wanted", "wishes", "engaged", "group", "kind", "mode", "crossed", "crosses",
    "phi", "psi", "reach2",
    "cause", "event", "ahead",  # addresses of words of the record of the mode
    "saved", "saves",  # what a switch changes: address, words, and where they are kept
    "events", "many", "wide",  # the ring of what happened, how many there were, and words of each
)  # fmt: skip
Board = words("Board", FIELDS)

_CALL = ir.FunctionType(I64, [I64])


def define(module: ir.Module) -> tuple[ir.Function, ir.Function]:
    """Add `commands(board, tick)` and `note(board, tick)` to a module."""
    note = _note(module)
    return _commands(module, note), note


def _begun(module: ir.Module, name: str) -> tuple[ir.Function, Writer, Any]:
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer(), I64]), name)
    w = Writer(ir.IRBuilder(function.append_basic_block("start")), function.args[0], FIELDS)
    return function, w, function.args[1]


def _note(module: ir.Module) -> ir.Function:
    """Write down what all constraints do now."""
    function, w, tick = _begun(module, "note")
    b, many = w.b, w.get("many")
    row = b.gep(w.array("events"), [b.mul(b.srem(many, I64(EVENTS)), w.get("wide"))])
    time = b.load(w.field("run", TIME_AT, I64))
    for k, value in enumerate((tick, time, b.load(w.array("cause")))):
        w.set(row, I64(k), value)
    rest = b.gep(row, [I64(len(HEAD))])
    w.copy(rest, w.array("mode"), w.get("rows"))
    w.copy(b.gep(rest, [w.get("rows")]), w.array("engaged"), w.get("groups"))
    w.show("many", b.add(many, I64(1)))
    b.ret(I64(0))
    return function


def _commands(module: ir.Module, note: ir.Function) -> ir.Function:
    """Do what waits in the queue, up to BURST; how many commands were taken."""
    function, w, tick = _begun(module, "commands")
    b = w.b
    change = b.alloca(I64)
    leave = b.append_basic_block("leave")
    with w.each(I64(BURST)):
        tail = w.get("tail")
        take = b.append_basic_block("take")
        b.cbranch(b.icmp_signed("==", w.fresh("head"), tail), leave, take)
        b.position_at_end(take)
        slot = b.srem(tail, I64(SLOTS))
        result = b.gep(w.array("results"), [b.mul(slot, I64(len(RESULT)))])
        _ask(w, b.gep(w.array("queue"), [b.mul(slot, w.get("groups"))]), change)
        time = b.load(w.field("run", TIME_AT, I64))
        for k, value in enumerate((I64(IDLE), I64(0), I64(0), tick, time)):
            w.set(result, I64(k), value)
        with b.if_then(w.is_set(b.load(change))):
            _resolve(w, result, note, tick)
        w.show("tail", b.add(tail, I64(1)))
    b.branch(leave)
    b.position_at_end(leave)
    b.ret(I64(0))
    return function


def _ask(w: Writer, asked: Any, change: Any) -> None:
    """Write what is wanted, of constraints that it would change; whether there are any."""
    b = w.b
    b.store(I64(0), change)
    wanted, wishes, engaged = (w.array(name) for name in ("wanted", "wishes", "engaged"))
    with w.each(w.get("groups")) as g:
        wish, is_on = w.item(asked, g), w.is_set(w.item(engaged, g))
        on = b.and_(b.icmp_signed(">", wish, I64(0)), b.not_(is_on))
        off = b.and_(b.icmp_signed("<", wish, I64(0)), is_on)
        news = b.or_(on, off)
        wish = b.select(news, wish, I64(0))
        w.set(wanted, g, wish)
        w.set(wishes, g, wish)  # the kernel clears what is wanted
        b.store(b.select(news, I64(1), b.load(change)), change)


def _resolve(w: Writer, result: Any, note: ir.Function, tick: Any) -> None:
    """Have what is wanted happen, and write it down; or bring everything back, and say why it cannot be."""
    b = w.b
    status, row = b.gep(result, [I64(0)]), b.gep(result, [I64(1)])
    _keep(w)
    w.fill(w.array("crossed"), I64(0), w.get("crosses"))
    b.store(I64(COMMAND), w.array("cause"))
    b.store(w.called("resolve", _CALL, w.get("resolve_words")), status)
    b.store(b.load(w.array("event")), row)
    with b.if_then(b.icmp_signed("==", b.load(status), I64(OK))):
        _check(w, status, row)
    with b.if_else(b.icmp_signed("==", b.load(status), I64(OK))) as (went, failed):
        with went:
            for field, kind, value in (("rated", I64, I64(0)), ("tries", I64, I64(0)), ("error", DOUBLE, DOUBLE(0.0))):
                b.store(value, w.field("run", getattr(Run, field).offset, kind))
            b.call(note, [w.block, tick])
        with failed:
            which = b.load(row)  # of a guard, it may be beyond the rows
            known = b.and_(b.icmp_signed(">=", which, I64(0)), b.icmp_signed("<", which, w.get("rows")))
            b.store(b.select(known, which, I64(0)), row)
            w.set(result, I64(2), w.item(w.array("phi"), b.load(row)))
            _restore(w)
            w.fill(w.array("wanted"), I64(0), w.get("groups"))
            w.called("adopt", ir.FunctionType(ir.VoidType(), [I64]), w.get("adopt_words"))


def _check(w: Writer, status: Any, row: Any) -> None:
    """Refuse what is engaged beyond its bound, and rows that hold whose speed is no number."""
    b = w.b
    wishes = w.array("wishes")
    phi, psi, reach2 = (w.array(name, DOUBLE) for name in ("phi", "psi", "reach2"))
    with w.each(w.get("rows")) as i:
        g = w.item(w.array("group"), i)
        asked = b.icmp_signed(">", w.item(wishes, g), I64(0))
        bounded = b.icmp_signed("==", w.item(w.array("kind"), i), I64(UNILATERAL))
        far = w.item(phi, i)
        apart = b.fmul(b.fmul(far, far), DOUBLE(1 / TOO_FAR**2))
        inside = b.and_(b.fcmp_ordered("<", far, DOUBLE(0.0)), b.fcmp_ordered(">", apart, w.item(reach2, i)))
        is_beyond = b.and_(b.and_(asked, bounded), inside)
        speed = w.item(psi, i)
        is_vague = b.and_(w.is_set(w.item(w.array("engaged"), g)), b.fcmp_unordered("uno", speed, speed))
        with b.if_then(b.or_(is_beyond, is_vague)):
            b.store(b.select(is_beyond, I64(BEYOND), I64(VAGUE)), status)
            b.store(i, row)


def _keep(w: Writer) -> None:
    """Keep aside what a switch changes."""
    with w.each(w.get("saves")) as k:
        here, many, there = _saved(w, k)
        w.copy(there, here, many)


def _restore(w: Writer) -> None:
    with w.each(w.get("saves")) as k:
        here, many, there = _saved(w, k)
        w.copy(here, there, many)


def _saved(w: Writer, k: Any) -> tuple[Any, Any, Any]:
    b = w.b
    entry = b.gep(w.array("saved"), [b.mul(k, I64(3))])
    pointer = I64.as_pointer()
    return (b.inttoptr(w.item(entry, I64(0)), pointer), w.item(entry, I64(1)),
            b.inttoptr(w.item(entry, I64(2)), pointer))  # fmt: skip
