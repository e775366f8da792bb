"""The same dynamics expressions in each engine.

An engine builds the expressions, compiles them, and then evaluates STATES
states as often as it is asked, returning nanoseconds a state. Native code is
timed in a native loop, an interpreter through its leanest call.
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
TURN = 0.03  # seconds
GCC = ["gcc", "-O3", "-march=native", "-shared", "-fPIC"]


States = tuple[np.ndarray, np.ndarray, np.ndarray]  # q, u, tau, a row a state


@dataclass
class Prepared:
    """What an engine made of the expressions."""

    operations: int
    evaluate: Callable[[], Any]  # all states once
    result: Callable[[], np.ndarray]  # accelerations of the first state


def clock(f: Callable[[], Any]) -> tuple[Any, float]:
    start = time.perf_counter()
    result = f()
    return result, time.perf_counter() - start


def build_polhode(links: list[Link]) -> Any:
    from polhode.graph import cos, sin, vector, vector_of

    os.environ["POLHODE_CACHE_DIR"] = tempfile.mkdtemp()  # nothing kept from before
    q, u, tau = (vector_of(name, len(links)) for name in ("q", "u", "tau"))
    return [q, u, tau], vector(forward_dynamics(links, q, u, tau, sin, cos))


def _polhode_llvm(expressions: Any, states: States, lanes: bool) -> Prepared:
    from polhode.compile import compile
    from polhode.compile.batch import workspace

    f = compile(*expressions)
    loop = f.kernel.in_lanes if lanes else f.kernel.one_by_one
    arrays = [*states, np.empty_like(states[0])]
    pointers = np.array([a.ctypes.data for a in arrays])
    strides = np.array([a.shape[1] for a in arrays])
    work = workspace(loop.work_size)
    arguments = pointers.ctypes.data, strides.ctypes.data, STATES, work.ctypes.data
    keep = [f, pointers, strides, work]  # alive as long as the loop may run
    return Prepared(sum(f.op_counts().values()), lambda: loop.function(*arguments) or keep, lambda: arrays[-1][0])


def polhode_state(expressions: Any, states: States) -> Prepared:
    return _polhode_llvm(expressions, states, lanes=False)


def polhode_batch(expressions: Any, states: States) -> Prepared:
    return _polhode_llvm(expressions, states, lanes=True)


def _native_loop(source: str, call: str, declarations: str, states: States) -> tuple[Callable[[], Any], np.ndarray]:
    """Build C source with a loop over all states; return the loop and its output."""
    folder = Path(tempfile.mkdtemp())
    n = states[0].shape[1]
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
    subprocess.run(command, check=True)
    function = ctypes.CDLL(str(folder / "f.so")).loop
    function.argtypes = [ctypes.c_void_p] * 4 + [ctypes.c_long]
    out = np.empty_like(states[0])
    pointers = [a.ctypes.data for a in (*states, out)]
    return lambda: function(*pointers, STATES), out


def polhode_c(expressions: Any, states: States) -> Prepared:
    from polhode.compile import compile

    f = compile(*expressions, target="c")
    source = f.source.replace('#include "f.h"', "")
    prototype = "void f(const double *, const double *, const double *, double *);"
    loop, out = _native_loop(source, "f(q, u, tau, out);", prototype, states)
    return Prepared(sum(f.op_counts().values()), loop, lambda: out[0])


def build_casadi(links: list[Link]) -> Any:
    import casadi as ca

    q, u, tau = (ca.SX.sym(name, len(links)) for name in ("q", "u", "tau"))
    result = forward_dynamics(links, *(ca.vertsplit(x) for x in (q, u, tau)), ca.sin, ca.cos)
    return [q, u, tau], ca.cse(ca.vertcat(*result))


def _casadi_operations(f: Any) -> int:
    import casadi as ca

    idle = (ca.OP_INPUT, ca.OP_OUTPUT, ca.OP_CONST)
    return sum(f.instruction_id(k) not in idle for k in range(f.n_instructions()))


def casadi_vm(expressions: Any, states: States) -> Prepared:
    import casadi as ca

    inputs, output = expressions
    f = ca.Function("f", inputs, [output])
    buffer, run = f.buffer()
    out = np.empty(states[0].shape[1])
    buffer.set_res(0, memoryview(out))

    def one(i: int) -> np.ndarray:
        for k, a in enumerate(states):
            buffer.set_arg(k, memoryview(a[i]))
        run()
        return out

    return Prepared(_casadi_operations(f), lambda: [one(i) for i in range(STATES)], lambda: one(0))


def casadi_c(expressions: Any, states: States) -> Prepared:
    import casadi as ca

    inputs, output = expressions
    f = ca.Function("f", inputs, [output])
    generator = ca.CodeGenerator("f.c")
    generator.add(f)
    declarations = "int f(const double **, double **, long long *, double *, int);"
    declarations += f" static double w[{max(f.sz_w(), 1)}];"
    call = f"const double *a[{f.sz_arg()}] = {{q, u, tau}}; double *r[{f.sz_res()}] = {{out}}; f(a, r, 0, w, 0);"
    loop, out = _native_loop(generator.dump(), call, declarations, states)
    return Prepared(_casadi_operations(f), loop, lambda: out[0])


def build_symengine(links: list[Link]) -> Any:
    import symengine as se

    symbols = [[se.Symbol(f"{name}{i}") for i in range(len(links))] for name in ("q", "u", "tau")]
    return [s for group in symbols for s in group], forward_dynamics(links, *symbols, se.sin, se.cos)


def symengine_llvm(expressions: Any, states: States) -> Prepared:
    import symengine as se

    f = se.Lambdify(*expressions, backend="llvm", cse=True)
    table = np.ascontiguousarray(np.hstack(states))
    replacements, reduced = se.cse(expressions[1])
    operations = sum(se.count_ops(e) for e in [*(e for _, e in replacements), *reduced])
    return Prepared(operations, lambda: f(table), lambda: np.asarray(f(table[0])))


def build_sympy(links: list[Link]) -> Any:
    import sympy as sp

    symbols = [sp.symbols(f"{name}0:{len(links)}", real=True) for name in ("q", "u", "tau")]
    return [s for group in symbols for s in group], forward_dynamics(links, *symbols, sp.sin, sp.cos)


def sympy_lambdify(expressions: Any, states: States) -> Prepared:
    import sympy as sp

    counted = 0

    def cse(found: Any) -> Any:
        nonlocal counted
        replacements, reduced = sp.cse(found, list=False)
        counted = sum(int(sp.count_ops(e)) for e in [*(e for _, e in replacements), *reduced])
        return replacements, reduced

    f = sp.lambdify(*expressions, modules="math", cse=cse)
    table = np.hstack(states).tolist()
    return Prepared(counted, lambda: [f(*state) for state in table], lambda: np.array(f(*table[0])))


ENGINES: dict[str, tuple[str, Callable[[list[Link]], Any], Callable[[Any, States], Prepared]]] = {
    "polhode": ("Polhode, one state", build_polhode, polhode_state),
    "polhode-batch": ("Polhode, batch in lanes", build_polhode, polhode_batch),
    "polhode-c": ("Polhode C, gcc -O3 -march=native", build_polhode, polhode_c),
    "casadi-vm": ("CasADi, virtual machine", build_casadi, casadi_vm),
    "casadi-c": ("CasADi C, gcc -O3 -march=native", build_casadi, casadi_c),
    "symengine": ("SymEngine, LLVM", build_symengine, symengine_llvm),
    "sympy": ("SymPy, lambdify(cse=True)", build_sympy, sympy_lambdify),
}


def serve(name: str, which: str, pipe: Any) -> None:
    """Build, compile, check, then evaluate whenever the parent says so; report each step."""
    links, _ = robot(which)
    draw = np.random.default_rng(0)
    states = tuple(np.ascontiguousarray(draw.normal(size=(STATES, len(links)))) for _ in range(3))
    _, build, finish = ENGINES[name]
    build(links[:1])  # imports are not the question
    expressions, seconds = clock(lambda: build(links))
    pipe.send(seconds)
    prepared, seconds = clock(lambda: finish(expressions, states))
    prepared.evaluate()
    expected = np.array(forward_dynamics(links, *(a[0].tolist() for a in states), math.sin, math.cos))
    error = float(np.abs(prepared.result() - expected).max() / np.abs(expected).max())
    pipe.send((seconds, prepared.operations, error))
    while pipe.recv():
        # a turn long enough to wake the core and fill its caches
        end = time.perf_counter() + TURN
        best = clock(prepared.evaluate)[1]
        while time.perf_counter() < end:
            best = min(best, clock(prepared.evaluate)[1])
        pipe.send(best / STATES * 1e9)
