"""The same dynamics expressions in each engine.

An engine prepares (builds the expressions, compiles them) and then evaluates
STATES states as often as it is asked, returning nanoseconds a state. Native
code is timed in a native loop, an interpreter through its leanest call.
"""

from __future__ import annotations

import ctypes
import math
import os
import subprocess
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from .dynamics import Link, forward_dynamics, robot

STATES = 1024
GCC = ["gcc", "-O3", "-march=native", "-shared", "-fPIC"]


@dataclass
class Prepared:
    """What an engine made, with what it took."""

    build: float  # s
    compile: float  # s
    operations: int
    evaluate: Callable[[], None]  # all states once
    result: Callable[[], np.ndarray]  # accelerations of the first state


Engine = Callable[[list[Link], np.ndarray, np.ndarray, np.ndarray], Prepared]


def clock(f: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = f()
    return result, time.perf_counter() - start


def _polhode(links: list[Link]) -> tuple[Any, Any, float]:
    from polhode.graph import cos, sin, vector, vector_of

    def build() -> Any:
        q, u, tau = (vector_of(name, len(links)) for name in ("q", "u", "tau"))
        return [q, u, tau], vector(forward_dynamics(links, q, u, tau, sin, cos))

    (inputs, outputs), seconds = clock(build)
    return inputs, outputs, seconds


def _polhode_llvm(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray, lanes: bool) -> Prepared:
    from polhode.compile import compile
    from polhode.compile.jit import workspace

    os.environ["POLHODE_CACHE_DIR"] = tempfile.mkdtemp()  # nothing kept from before
    inputs, outputs, build = _polhode(links)

    def prepare() -> Any:
        f = compile(inputs, outputs)
        if lanes:
            f(q, u, tau)  # the first batch compiles the lanes
        return f

    f, seconds = clock(prepare)
    out = np.empty_like(q)
    loop, work_size = f.kernel._many if lanes else f.kernel._one
    arrays = [q, u, tau, out]
    pointers = np.array([a.ctypes.data for a in arrays])
    strides = np.array([a.shape[1] for a in arrays])
    work = workspace(work_size)
    arguments = pointers.ctypes.data, strides.ctypes.data, len(q), work.ctypes.data
    keep = [f, pointers, strides, work]  # alive as long as the loop may run
    return Prepared(build, seconds, sum(f.op_counts().values()), lambda: loop(*arguments) or len(keep), lambda: out[0])


def polhode_scalar(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    return _polhode_llvm(links, q, u, tau, lanes=False)


def polhode_batch(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    return _polhode_llvm(links, q, u, tau, lanes=True)


def _native_loop(source: str, call: str, declarations: str, arrays: list[np.ndarray]) -> tuple[Any, float]:
    """Build C source with a loop over all states; return the loop and the build time."""
    folder = Path(tempfile.mkdtemp())
    n = arrays[0].shape[1]
    loop = f"""
    {declarations}
    void loop(const double *q, const double *u, const double *tau, double *out, long count)
    {{
        for (long i = 0; i < count; i++, q += {n}, u += {n}, tau += {n}, out += {n}) {{ {call} }}
    }}
    """
    (folder / "f.c").write_text(source)
    (folder / "loop.c").write_text(loop)
    command = [*GCC, *(str(folder / name) for name in ("f.c", "loop.c")), "-lm", "-o", str(folder / "f.so")]
    _, seconds = clock(lambda: subprocess.run(command, check=True))
    function = ctypes.CDLL(str(folder / "f.so")).loop
    function.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_long]
    pointers = [a.ctypes.data for a in arrays]
    return lambda: function(*pointers, len(arrays[0])), seconds


def polhode_c(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    from polhode.compile import compile

    inputs, outputs, build = _polhode(links)
    f, emit = clock(lambda: compile(inputs, outputs, target="c"))
    out = np.empty_like(q)
    source = f.source.replace('#include "f.h"', "")
    prototype = "void f(const double *, const double *, const double *, double *);"
    loop, seconds = _native_loop(source, "f(q, u, tau, out);", prototype, [q, u, tau, out])
    return Prepared(build, emit + seconds, sum(f.op_counts().values()), loop, lambda: out[0])


def _casadi(links: list[Link]) -> tuple[Any, float]:
    import casadi as ca

    def build() -> Any:
        n = len(links)
        q, u, tau = (ca.SX.sym(name, n) for name in ("q", "u", "tau"))
        result = forward_dynamics(links, *(ca.vertsplit(x) for x in (q, u, tau)), ca.sin, ca.cos)
        return [q, u, tau], ca.vertcat(*result)

    (inputs, output), seconds = clock(build)
    return (inputs, ca.cse(output)), seconds


def _casadi_operations(f: Any) -> int:
    import casadi as ca

    idle = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)
    return sum(f.instruction_id(k) not in idle for k in range(f.n_instructions()))


def casadi_vm(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    import casadi as ca

    (inputs, output), build = _casadi(links)
    f, seconds = clock(lambda: ca.Function("f", inputs, [output]))
    buffer, run = f.buffer()
    out = np.empty(len(links))
    buffer.set_res(0, memoryview(out))

    def evaluate() -> None:
        for i in range(len(q)):
            for k, a in enumerate((q, u, tau)):
                buffer.set_arg(k, memoryview(a[i]))
            run()

    def first() -> np.ndarray:
        for k, a in enumerate((q, u, tau)):
            buffer.set_arg(k, memoryview(a[0]))
        run()
        return out

    return Prepared(build, seconds, _casadi_operations(f), evaluate, first)


def casadi_c(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    import casadi as ca

    (inputs, output), build = _casadi(links)

    def generate() -> Any:
        f = ca.Function("f", inputs, [output])
        generator = ca.CodeGenerator("f.c")
        generator.add(f)
        return f, generator.dump()

    (f, source), emit = clock(generate)
    out = np.empty_like(q)
    declarations = (
        f"int f(const double **, double **, long long *, double *, int); static double w[{max(f.sz_w(), 1)}];"
    )
    call = f"const double *a[{f.sz_arg()}] = {{q, u, tau}}; double *r[{f.sz_res()}] = {{out}}; f(a, r, 0, w, 0);"
    loop, seconds = _native_loop(source, call, declarations, [q, u, tau, out])
    return Prepared(build, emit + seconds, _casadi_operations(f), loop, lambda: out[0])


def symengine_llvm(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    import symengine as se

    def build() -> Any:
        n = len(links)
        symbols = [[se.Symbol(f"{name}{i}") for i in range(n)] for name in ("q", "u", "tau")]
        return [s for group in symbols for s in group], forward_dynamics(links, *symbols, se.sin, se.cos)

    (symbols, outputs), build_seconds = clock(build)
    f, seconds = clock(lambda: se.Lambdify(symbols, outputs, backend="llvm", cse=True))
    states = np.ascontiguousarray(np.hstack([q, u, tau]))
    replacements, reduced = se.cse(outputs)
    operations = sum(e.count_ops() if hasattr(e, "count_ops") else se.count_ops(e) for _, e in replacements)
    operations += sum(se.count_ops(e) for e in reduced)
    return Prepared(build_seconds, seconds, operations, lambda: f(states), lambda: np.asarray(f(states[0])))


def sympy_lambdify(links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> Prepared:
    import sympy as sp

    def build() -> Any:
        n = len(links)
        symbols = [sp.symbols(f"{name}0:{n}", real=True) for name in ("q", "u", "tau")]
        return sum(symbols, ()), forward_dynamics(links, *symbols, sp.sin, sp.cos)

    (symbols, outputs), build_seconds = clock(build)
    f, seconds = clock(lambda: sp.lambdify(symbols, outputs, modules="math", cse=True))
    replacements, reduced = sp.cse(outputs, list=False)
    operations = sum(int(sp.count_ops(e)) for e in [*(e for _, e in replacements), *reduced])
    states = np.hstack([q, u, tau]).tolist()

    def evaluate() -> None:
        for state in states:
            f(*state)

    return Prepared(build_seconds, seconds, operations, evaluate, lambda: np.array(f(*states[0])))


ENGINES: dict[str, tuple[str, Engine]] = {
    "polhode": ("Polhode, one state", polhode_scalar),
    "polhode-batch": ("Polhode, batch in lanes", polhode_batch),
    "polhode-c": ("Polhode C, gcc -O3 -march=native", polhode_c),
    "casadi-vm": ("CasADi, virtual machine", casadi_vm),
    "casadi-c": ("CasADi C, gcc -O3 -march=native", casadi_c),
    "symengine": ("SymEngine, LLVM", symengine_llvm),
    "sympy": ("SymPy, lambdify(cse=True)", sympy_lambdify),
}


def check(prepared: Prepared, links: list[Link], q: np.ndarray, u: np.ndarray, tau: np.ndarray) -> float:
    """Largest error of the first state, relative, against plain floats."""
    expected = np.array(forward_dynamics(links, *(a[0].tolist() for a in (q, u, tau)), math.sin, math.cos))
    prepared.evaluate()
    return float(np.abs(prepared.result() - expected).max() / np.abs(expected).max())


def serve(name: str, which: str, pipe: Any) -> None:
    """Prepare one engine, then evaluate whenever the parent says so."""
    links, _ = robot(which)
    draw = np.random.default_rng(0)
    q, u, tau = (np.ascontiguousarray(draw.normal(size=(STATES, len(links)))) for _ in range(3))
    prepared = ENGINES[name][1](links, q, u, tau)
    error = check(prepared, links, q, u, tau)
    pipe.send((prepared.build, prepared.compile, prepared.operations, error))
    while pipe.recv():
        best = min(clock(prepared.evaluate)[1] for _ in range(3))
        pipe.send(best / STATES * 1e9)
