"""A sampled controller of expressions in the loop: native code, called every so many ticks, whose forces are held."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from typing import Any

import numpy as np
from llvmlite import ir

from polhode.compile import cache
from polhode.compile.native import Loaded, host, object_code
from polhode.kernels.stepping import Run
from polhode.simulate import Sampled, Simulation
from polhode.simulate.inputs import read_inputs

from .writing import DOUBLE, I64, Writer, words

FIELDS = (
    "advance", "words",  # the step that this one stands before
    "law", "run", "x", "p", "out", "work",  # what it calls, and with what; `p` is 0 where it takes none
    "tau", "places", "many", "rate", "every",  # where forces go; ticks a second, as a double; ticks between two calls
)  # fmt: skip
Block = words("HeldBlock", FIELDS)
_POINTER = DOUBLE.as_pointer()


class Held:
    """The step of a loop with a sampled controller before it.

    values : of the forces now, in the order of `places`, which they have among all inputs
    laws   : of the inputs that it sets, by name
    """

    def __init__(self, sim: Simulation, sampled: Sampled, rate: float) -> None:
        found = read_inputs(sampled, sim.dynamics.equations)
        assert found.held is not None
        self._function = found.held.compiled(sim.dynamics)
        self.places = np.array(list(found.held.laws), dtype=np.int64)
        self.laws = {found.names[k]: law for k, law in found.held.laws.items()}
        self.values, work = np.zeros(self.places.size), np.zeros(max(self._function.work_size, 1))
        self._kept = work
        self._takes_p = len(self._function.inputs) > 2
        self._block: Any = Block(
            law=self._function.address, out=self.values.ctypes.data, work=work.ctypes.data,
            places=self.places.ctypes.data, many=self.places.size, every=ticks_of(sampled.period, rate),
        )  # fmt: skip
        ctypes.c_double.from_address(ctypes.addressof(self._block) + 8 * FIELDS.index("rate")).value = rate

    def before(self, sim: Simulation, advance: int, words: int) -> tuple[int, int]:
        """The address of the whole step, and of its words."""
        block = self._block
        block.advance, block.words = advance, words
        block.run, block.x = sim._record.ctypes.data, sim._x.ctypes.data
        block.tau = sim._modes.used.tau.ctypes.data
        block.p = sim._modes.used.p.ctypes.data if self._takes_p else 0
        return _loaded().address("held"), ctypes.addressof(block)


def ticks_of(period: float, rate: float) -> int:
    """Ticks between two calls."""
    ticks = round(period * rate)
    if ticks < 1 or abs(period * rate - ticks) > 1e-6 * ticks:
        near = max(ticks, 1) / rate
        raise ValueError(
            f"realtime: the period of Sampled is {period:g} s, expected a whole number of ticks of {1 / rate:g} s. "
            f"Take {near:g} s."
        )
    return ticks


@lru_cache(maxsize=1)
def _loaded() -> Loaded:
    text = str(_module())
    name = cache.key("held", host().key(), text)
    code = cache.read(name)
    if code is None:
        code = object_code(text)
        cache.write(name, code)
    return Loaded(code)


def _module() -> ir.Module:
    """Ask the law where it is time, have its forces act, and step."""
    module = ir.Module("held")
    function = ir.Function(module, ir.FunctionType(I64, [I64]), "held")
    b = ir.IRBuilder(function.append_basic_block("start"))
    w = Writer(b, b.inttoptr(function.args[0], I64.as_pointer()), FIELDS)
    t = w.field("run", getattr(Run, "t").offset, DOUBLE)  # noqa: B009 - a field of the structure
    rate = b.bitcast(w.get("rate"), DOUBLE)
    tick = b.fptosi(b.fadd(b.fmul(b.load(t), rate), DOUBLE(0.5)), I64)
    with b.if_then(w.is_zero(b.srem(tick, w.get("every")))):
        x, p, out, work = (w.array(name, DOUBLE) for name in ("x", "p", "out", "work"))
        with b.if_else(w.is_set(w.get("p"))) as (with_p, without):
            with with_p:
                w.called("law", _takes(5), t, x, p, out, work)
            with without:
                w.called("law", _takes(4), t, x, out, work)
        b.store(I64(0), w.field("run", getattr(Run, "rated").offset, I64))  # noqa: B009 - the rate at this state changed
    with w.each(w.get("many")) as k:
        w.set(w.array("tau", DOUBLE), w.item(w.array("places"), k), w.item(w.array("out", DOUBLE), k))
    b.ret(w.called("advance", ir.FunctionType(I64, [I64]), w.get("words")))
    return module


def _takes(many: int) -> ir.FunctionType:
    return ir.FunctionType(ir.VoidType(), [_POINTER] * many)
