"""Commands in the loop, in native code: a queue without a lock, resolved between two ticks, and what happened.

Who commands writes what is wanted of each constraint into a slot of a ring and then moves `head`; the loop takes it,
calls the kernel that resolves impulses and finds the mode, and moves `tail`. What cannot be is undone: all that a
switch changes is kept aside before, and brought back. Nothing is made, and a tick does at most BURST of them, so that
its cost has a bound. Switches that wait for something (`when=`) are the same: where guards pass 0 in a step, what their
switches want stands in a table; so does what those by time want, in the order in which they are due.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir

from polhode.kernels.events import AT_ONCE
from polhode.kernels.machine import OK
from polhode.kernels.mode import COMMAND, GUARD, UNILATERAL
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
    "impulse", "impulses", "whole",  # of each row: that of the last step or event; all of them added up; see `add_up`
    "cause", "event", "ahead",  # addresses of words of the record of the mode
    "saved", "saves",  # what a switch changes: address, words, and where they are kept
    # of each guard, see `commands.Waiting`; bits of truth tables, and the words at which those of each begin
    "guards", "table", "first", "size", "truth", "truths", "sign", "guard", "guard_rate",
    "times", "plan", "dues", "past",  # of switches by time: when, what they want, how many there are and were done
    "events", "many", "wide",  # the ring of what happened, how many there were, and words of each
)  # fmt: skip
Board = words("Board", FIELDS)

_CALL = ir.FunctionType(I64, [I64])


def define(module: ir.Module) -> dict[str, ir.Function]:
    """Add `commands(board, tick)`, `passed(board, tick)`, `timed(board, tick)` and `note(board, tick)` to a module."""
    note = _note(module)
    return {
        "commands": _commands(module, note), "passed": _passed(module, note), "timed": _timed(module, note),
        "note": note,
    }  # fmt: skip


def _begun(module: ir.Module, name: str) -> tuple[ir.Function, Writer, Any]:
    function = ir.Function(module, ir.FunctionType(I64, [I64.as_pointer(), I64]), name)
    w = Writer(ir.IRBuilder(function.append_basic_block("start")), function.args[0], FIELDS)
    return function, w, function.args[1]


def add_up(w: Writer) -> None:
    """Add the impulses of a step, or of a switch, to those of all steps before."""
    b, impulse, impulses = w.b, w.array("impulse", DOUBLE), w.array("impulses", DOUBLE)
    with w.each(w.get("rows")) as i:
        w.set(impulses, i, b.fadd(w.item(impulses, i), w.item(impulse, i)))


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
            _keep(w)
            w.fill(w.array("crossed"), I64(0), w.get("crosses"))
            _resolve(w, result, COMMAND, note, tick)
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


def _passed(module: ir.Module, note: ir.Function) -> ir.Function:
    """Do what the switches want whose guards passed 0; 1 where it was done, 0 where all is as before."""
    function, w, tick = _begun(module, "passed")
    b = w.b
    result, any_true = b.alloca(I64, len(RESULT)), b.alloca(I64)
    b.store(I64(0), any_true)
    leave, go = b.append_basic_block("leave"), b.append_basic_block("go")
    b.cbranch(w.is_zero(w.get("guards")), leave, go)
    b.position_at_end(go)
    _keep(w)
    crossed, rows = w.array("crossed"), w.get("rows")
    passing, guards = b.gep(crossed, [rows]), w.get("guards")
    w.fill(b.gep(passing, [guards]), I64(0), b.sub(w.get("crosses"), b.add(rows, guards)))  # gaps, seen again
    wanted, wishes, groups = w.array("wanted"), w.array("wishes"), w.get("groups")
    w.fill(wishes, I64(0), groups)
    with w.each(guards) as k, b.if_then(w.is_set(w.item(passing, k))), b.if_then(_comes_true(w, k, passing)):
        b.store(I64(1), any_true)
        asked = b.gep(w.array("table"), [b.mul(k, groups)])
        with w.each(groups) as g:
            wish = w.item(asked, g)
            w.set(wishes, g, b.select(w.is_set(wish), wish, w.item(wishes, g)))
    with b.if_else(w.is_set(b.load(any_true))) as (some, none):
        with some:
            w.copy(wanted, wishes, groups)
            _resolve(w, result, GUARD, note, tick)
            b.store(b.select(b.icmp_signed("==", b.load(result), I64(OK)), I64(1), I64(0)), any_true)
        with none:  # comparisons of conditions that are not true for all that
            sign = w.array("sign")
            with w.each(guards) as k, b.if_then(w.is_set(w.item(passing, k))):
                w.set(sign, k, b.neg(w.item(sign, k)))
            b.store(I64(1), any_true)
    b.ret(b.load(any_true))
    b.position_at_end(leave)
    b.ret(I64(0))
    return function


def _timed(module: ir.Module, note: ir.Function) -> ir.Function:
    """Do what switches want that are due by now, as one event; 0 where it cannot be, and all is as before."""
    function, w, tick = _begun(module, "timed")
    b = w.b
    result, many = b.alloca(I64, len(RESULT)), b.alloca(I64)
    t = b.load(w.field("run", TIME_AT, DOUBLE))
    times, past = w.array("times", DOUBLE), w.get("past")
    leave, left, due, go = (b.append_basic_block(name) for name in ("leave", "left", "due", "go"))
    b.cbranch(b.icmp_signed("<", past, w.get("dues")), left, leave)
    b.position_at_end(left)
    b.cbranch(b.fcmp_ordered(">=", t, w.item(times, past)), due, leave)
    b.position_at_end(due)
    wishes, groups = w.array("wishes"), w.get("groups")
    w.fill(wishes, I64(0), groups)
    b.store(past, many)
    b.branch(go)
    b.position_at_end(go)
    asked = b.gep(w.array("plan"), [b.mul(b.load(many), groups)])
    with w.each(groups) as g:  # of what several say of one constraint, the last
        wish = w.item(asked, g)
        w.set(wishes, g, b.select(w.is_set(wish), wish, w.item(wishes, g)))
    b.store(b.add(b.load(many), I64(1)), many)
    more, some, all_ = (b.append_basic_block(name) for name in ("more", "some", "all"))
    b.cbranch(b.icmp_signed("<", b.load(many), w.get("dues")), more, all_)
    b.position_at_end(more)
    b.cbranch(b.fcmp_ordered(">=", t, w.item(times, b.load(many))), some, all_)
    b.position_at_end(some)
    b.branch(go)
    b.position_at_end(all_)
    _keep(w)
    w.fill(w.array("crossed"), I64(0), w.get("crosses"))
    w.copy(w.array("wanted"), wishes, groups)
    _resolve(w, result, COMMAND, note, tick)
    done = b.icmp_signed("==", b.load(result), I64(OK))
    w.put("past", b.select(done, b.load(many), past))
    b.ret(b.select(done, I64(1), I64(0)))
    b.position_at_end(leave)
    b.ret(I64(1))
    return function


def _comes_true(w: Writer, k: Any, passing: Any) -> Any:
    """Whether the condition of a guard becomes true as guards pass 0; its truth has a bit for all that may hold."""
    b = w.b
    with b.goto_entry_block():  # once, not for each guard
        before, after = b.alloca(I64), b.alloca(I64)
    b.store(I64(0), before)
    b.store(I64(0), after)
    first = w.item(w.array("first"), k)
    t = b.load(w.field("run", TIME_AT, DOUBLE))
    size = b.select(b.fcmp_ordered("<", t, DOUBLE(0.0)), b.fneg(t), t)
    ahead = b.fmul(DOUBLE(AT_ONCE), b.select(b.fcmp_ordered(">", size, DOUBLE(1.0)), size, DOUBLE(1.0)))
    with w.each(w.item(w.array("size"), k)) as j:
        i = b.add(first, j)
        value = b.fadd(w.item(w.array("guard", DOUBLE), i), b.fmul(ahead, w.item(w.array("guard_rate", DOUBLE), i)))
        was = b.icmp_signed(">", w.item(w.array("sign"), i), I64(0))
        stays = b.icmp_signed("==", w.item(w.array("sign"), i), I64(0))
        above, at_least = b.fcmp_ordered(">", value, DOUBLE(0.0)), b.fcmp_ordered(">=", value, DOUBLE(0.0))
        true = b.or_(b.and_(was, at_least), b.and_(stays, above))
        passes = w.is_set(w.item(passing, i))
        bit = b.shl(I64(1), j)
        for place, holds in ((before, b.and_(true, b.not_(passes))), (after, b.or_(true, passes))):
            b.store(b.or_(b.load(place), b.select(holds, bit, I64(0))), place)
    truth = b.gep(w.array("truths"), [w.item(w.array("truth"), k)])
    then, now = (_bit(w, truth, b.load(place)) for place in (before, after))
    return b.and_(w.is_set(now), w.is_zero(then))


def _bit(w: Writer, row: Any, which: Any) -> Any:
    """One bit of many, in words of 64."""
    b = w.b
    word = w.item(row, b.lshr(which, I64(6)))
    return b.and_(b.lshr(word, b.and_(which, I64(63))), I64(1))


def _resolve(w: Writer, result: Any, cause: int, note: ir.Function, tick: Any) -> None:
    """Have what is wanted happen, and write it down; or bring everything back, and say why it cannot be."""
    b = w.b
    status, row = b.gep(result, [I64(0)]), b.gep(result, [I64(1)])
    b.store(I64(cause), w.array("cause"))
    b.store(w.called("resolve", _CALL, w.get("resolve_words")), status)
    b.store(b.load(w.array("event")), row)
    with b.if_then(b.icmp_signed("==", b.load(status), I64(OK))):
        _check(w, status, row)
    with b.if_else(b.icmp_signed("==", b.load(status), I64(OK))) as (went, failed):
        with went:
            for field, kind, value in (("rated", I64, I64(0)), ("tries", I64, I64(0)), ("error", DOUBLE, DOUBLE(0.0))):
                b.store(value, w.field("run", getattr(Run, field).offset, kind))
            add_up(w)
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
