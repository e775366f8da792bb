"""The loop of a machine in real time as WebAssembly: the same code as native, and its memory as it is now.

The kernels that a tick calls, the tick itself and the functions of the model are IR; together they are one module. Its
memory is that of a `Realtime` that was prepared here and has not moved yet, at other addresses.
"""

from __future__ import annotations

import base64
import ctypes
import sys
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.compile.wasm import Wasm, module, renamed, written
from polhode.equations import Dynamics
from polhode.equations.inputs import inputs as symbols_of_inputs
from polhode.kernels import shipped
from polhode.kernels.after import impose
from polhode.kernels.arguments import layout
from polhode.kernels.kernel import Kernel
from polhode.kernels.loop import advance, advance_whole
from polhode.kernels.switch import adopt
from polhode.model import Model, Stop, When
from polhode.simulate import Simulation
from polhode.simulate.modes import WIRED

from . import commanding, ticking
from .commanding import RESULT, SLOTS
from .commands import MOST
from .image import WORD, Image
from .loop import Realtime

STACK = 1 << 18  # bytes
# words of the block and of the board that are numbers; all others are addresses, of what is held or of functions
_NUMBERS = """size inputs parameters tau_count tau_seen p_count p_seen out_count patience silent stale rests log_rows
log_row period next spin ask left policy due ticks missed worst busy busy_worst status""".split()
_BOARD_NUMBERS = "head tail groups rows crosses whole saves guards dues past many wide".split()
_CALLS = "gettime sleep".split()
_BOARD_CALLS = "resolve adopt".split()
_LINKS = [name for name in ticking.FIELDS if name not in {"advance", *_CALLS, *_NUMBERS}]
_BOARD_LINKS = [name for name in commanding.FIELDS if name not in {*_BOARD_CALLS, *_BOARD_NUMBERS}]

# a clock that stands at 0, for the page has its own
_CLOCK = """
define i32 @gettime(i32 %clock, ptr %now) {
  %rest = getelementptr i64, ptr %now, i64 1
  store i64 0, ptr %now
  store i64 0, ptr %rest
  ret i32 0
}
define i32 @sleep(i32 %clock, i32 %flags, ptr %until, ptr %rest) {
  ret i32 0
}
"""
# calls by address give a kernel its words as a number, which a kernel takes as an address
_BRIDGE = """
declare i64 @{name}_kernel(ptr)
define {kind} @{name}(i64 %words) {{
  %there = inttoptr i64 %words to ptr
  %status = call i64 @{name}_kernel(ptr %there)
  ret {result}
}}
"""


def comes_and_goes(dynamics: Dynamics) -> bool:
    """Whether anything comes and goes by itself."""
    model = dynamics.equations.model
    waits = any(isinstance(switch, When) for switch in model.switches)
    return waits or any(c.law != "equal" for c in model.candidates)


def check_rows(model: Model) -> None:
    """Refuse models of so many rows that not all of them are in the code: Python adds them where they touch."""
    if sum(c.rows for c in model.candidates) > WIRED:
        raise ValueError(
            f"export: model {model.name!r} has more than {WIRED} rows of contacts, stops and other things that come "
            "and go, which a page cannot have. Leave some out."
        )


def prepared(sim: Simulation, begin: Mapping[str, Any]) -> Realtime:
    """The machine of a simulation in real time, by its arguments; forces act beside laws of speeds."""
    if sys.platform != "linux":
        raise RuntimeError(
            "export: a machine with contacts, stops and the like is made into a page from the loop of real time, which "
            "needs Linux for now. Make the page there; it runs anywhere."
        )
    inputs, of = sim._inputs, dict(zip(sim._inputs.symbols, symbols_of_inputs(sim.dynamics.equations), strict=True))
    laws = {s: law + of[s] if s in sim.dynamics.equations.u else law for s, law in inputs.laws.items()}
    driven = dict(begin) | {"tau": replace(inputs, laws=laws)}
    return Realtime(sim.dynamics, 1 / begin["step"], "skip", driven, record=False)


def check(machine: Realtime) -> None:
    """Refuse machines whose loop leaves switches to Python, beside those at given times."""
    model, board = machine.dynamics.equations.model, machine._sim._modes.board
    if board is not None and board.guards and (machine._commands is None or not machine._commands._waiting.words):
        long = max(board.guards, key=lambda guard: len(str(guard.switch)))
        raise ValueError(
            f"export: a switch of model {model.name!r} waits for too many comparisons, {long.switch}, expected "
            f"{MOST} at most. Write several switches instead."
        )


def carried(machine: Realtime) -> dict[str, Any]:
    """What a page runs a machine with: code and memory, packed, and where in memory what it reads and writes is.

    The machine is one that was prepared and has not moved.
    """
    check(machine)
    kernels, codes = _kernels(machine), _codes(machine)
    texts = [renamed(_text(kernel, values), "kernel", f"{name}_kernel") for name, kernel, values, _ in kernels]
    texts += [str(ticking._module()), _CLOCK, *(_bridge(name, kernel) for name, kernel, *_ in kernels)]
    work = 0
    for name, function in codes.values():
        text, needs = written(function, name)
        texts.append(text)
        work = max(work, needs)
    called = [*(name for name, *_ in kernels), *_CALLS, *(name for name, _ in codes.values())]
    made = module(texts, ["ticks", "commands"], called)
    image, first = Image(), -(-(made.end + STACK) // 16) * 16
    _fill(image, machine, made, kernels, codes, work)
    content = image.lay(first)
    return {
        "code": _packed(made.code), "memory": _packed(content), "first": first, "bytes": first + len(content),
        "table": made.table, "at": _places(image, machine), "sizes": _sizes(machine),
        "constraints": _constraints(machine),
    }  # fmt: skip


def _packed(content: bytes) -> str:
    return base64.b64encode(zlib.compress(content, 9)).decode()


_Bound = tuple[str, Kernel[Any, Any], list[Any], Any]


def _kernels(machine: Realtime) -> list[_Bound]:
    """What a tick calls: its name, the kernel, its arguments and their words."""
    sim, commands = machine._sim, machine._commands
    loop = advance_whole if sim._chosen.rule.whole else advance
    found: list[tuple[str, Any, Any]] = [("advance", loop, sim._advance)]
    if commands is not None:
        found += [("resolve", impose, commands._bound[1]), ("adopt", adopt, commands._bound[0])]
    return [(name, kernel, *_alive(kernel, bound)) for name, kernel, bound in found]


def _alive(kernel: Kernel[Any, Any], bound: Any) -> tuple[list[Any], Any]:
    if not hasattr(bound, "alive"):
        raise RuntimeError(f"export: kernel {kernel.name!r} is not shipped as IR for this machine. Run `make kernels`.")
    values, words = bound.alive
    return values, words


def _text(kernel: Kernel[Any, Any], values: list[Any]) -> str:
    found: str = shipped.read(shipped.index()["kernels"][kernel.name][layout(values)]["file"])
    return found


def _bridge(name: str, kernel: Kernel[Any, Any]) -> str:
    silent = kernel is adopt
    return _BRIDGE.format(name=name, kind="void" if silent else "i64", result="void" if silent else "i64 %status")


def _codes(machine: Realtime) -> dict[int, tuple[str, Function]]:
    """The functions of the model that kernels call, by address, with names for them."""
    modes = machine._sim._modes
    program = modes.program
    known: list[Function | None] = [
        program.flow, program.rates, program.residuals, program.factors, program.table, program.closure, program.moves,
        program.laws_of_rows, program.capture, modes._guards if modes.switched else None,
    ]  # fmt: skip
    by_address = {f.address: f for f in known if f is not None}
    used = dict.fromkeys(int(a) for a in modes.used.code if a)
    if unknown := [a for a in used if a not in by_address]:
        raise ValueError(f"export: {len(unknown)} functions that the machine calls are none of its equations.")
    return {a: (f"model{k}", by_address[a]) for k, a in enumerate(used)}


def _addresses(values: Any, at: int = 0) -> Iterator[tuple[int, Any]]:
    """Where in the words of arguments addresses are, and of which arrays; see `kernels.arguments`."""
    for value in values:
        if isinstance(value, np.ndarray):
            yield at, value
            at += 1 + value.ndim
        elif isinstance(value, tuple):
            yield from _addresses(value, at)
            at += _many(value)
        elif value is not None:
            at += 1


def _many(values: Any) -> int:
    """How many words arguments take."""
    return sum(
        1 + v.ndim if isinstance(v, np.ndarray) else _many(v) if isinstance(v, tuple) else v is not None for v in values
    )


def _fill(
    image: Image,
    machine: Realtime,
    made: Wasm,
    kernels: list[_Bound],
    codes: dict[int, tuple[str, Function]],
    work: int,
) -> None:
    """Take all that the loop works on."""
    used = machine._sim._modes.used
    for _, _, values, words in kernels:
        begin = image.hold(words)
        for at, array in _addresses(values):
            image.hold(array)
            image.link(begin + WORD * at)
    image.hold(used.work, WORD * work)
    code = image.hold(used.code)
    for k, address in enumerate(used.code):
        if address:
            image.call(code + WORD * k, made.places[codes[int(address)][0]])
    own = (machine._tau, machine._p, machine._rest, machine._out, machine._bins, machine._spans, *machine._log._arrays)
    for array in (*own, used.tau, used.p):
        image.hold(array)
    block = machine._block
    image.hold(block)
    for name in _LINKS:
        image.link(_field(block, name))
    for name in ("advance", *_CALLS):
        image.call(_field(block, name), made.places[name])
    commands = machine._commands
    if commands is None:
        return
    image.hold(commands.block)
    kept = (commands._queue, commands._results, commands._wishes, commands._events, commands.impulses)
    planned = commands._plan
    kept += (planned._times, planned._plan, *commands._kept, *commands._shadows)
    for array in (*kept, *getattr(commands._waiting, "_kept", {}).values()):
        image.hold(array)
    saved = image.hold(commands._saved)
    for row in range(len(commands._saved)):
        image.link(saved + WORD * 3 * row)
        image.link(saved + WORD * (3 * row + 2))
    for name in _BOARD_LINKS:
        image.link(_field(commands.block, name))
    for name in _BOARD_CALLS:
        image.call(_field(commands.block, name), made.places[name])


def _field(block: Any, name: str) -> int:
    return ctypes.addressof(block) + int(getattr(type(block), name).offset)


def _places(image: Image, machine: Realtime) -> dict[str, int]:
    """Where the page finds things in memory."""
    block, commands = machine._block, machine._commands
    found = {
        name: image.place(_field(block, name)) for name in "next ask left status ticks due tau_count p_count".split()
    }
    found |= {"block": image.place(ctypes.addressof(block))}
    found |= {name: image.place(getattr(block, name)) for name in "tau_in p_in p x".split()}
    if commands is not None:
        board = commands.block
        found |= {name: image.place(_field(board, name)) for name in ("head",)}
        found |= {"board": image.place(ctypes.addressof(board))}
        found |= {name: image.place(getattr(board, name)) for name in "queue results engaged mode".split()}
    return found


def _sizes(machine: Realtime) -> dict[str, int]:
    block = machine._block
    return {"x": block.size, "tau": block.inputs, "p": block.parameters, "slots": SLOTS, "result": len(RESULT)}


def _constraints(machine: Realtime) -> list[dict[str, Any]]:
    """What can be engaged and released: names, their rows with the kind of the first two, and whether it is a stop."""
    if machine._commands is None:
        return []
    board = machine._commands.board
    kind, model = board.rows.view("kind"), machine.dynamics.equations.model
    stops = {c.name for c in model.candidates if isinstance(c, Stop)}
    return [
        {"name": name, "rows": rows.tolist(), "kinds": kind[rows].tolist(), "stop": name in stops}
        for name, rows in zip(board.names, board._of, strict=True)
    ]
