"""`make bench`: engines, sizes, calls, derivation, robots, derivatives, chains, simulation, machines, real time."""

from __future__ import annotations

import argparse
import multiprocessing as mp
import os
import platform
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from . import (
    chains,
    constrained,
    derivation,
    derivatives,
    first,
    flexible,
    realtime,
    robots,
    simulation,
    study,
    switching,
    vehicle,
    walking,
)
from .dynamics import Link, forward_dynamics
from .engines import ENGINES, clock, serve

PARTS = [
    *(
        "engines",
        "sizes",
        "calls",
        "derivation",
        "robots",
        "derivatives",
        "chains",
        "first",
        "simulation",
        "constrained",
        "switching",
        "walking",
        "flexible",
        "vehicle",
        "realtime",
        "study",
    )
]
console = Console(width=120)


def compare(which: str, title: str, limit: float, rounds: int) -> None:
    """Prepare every engine in its own process, then evaluate them in turns."""
    context = mp.get_context("spawn")
    pipes: dict[str, Any] = {}
    facts: dict[str, list[Any]] = {}
    times: dict[str, list[float]] = {}
    for name, (label, *_) in ENGINES.items():
        console.print(f"[dim]preparing {label}, {which} ...[/dim]")
        here, there = context.Pipe()
        process = context.Process(target=serve, args=(name, which, there), daemon=True)
        process.start()
        there.close()
        facts[name] = []
        end = time.monotonic() + limit
        try:
            while len(facts[name]) < 2 and here.poll(max(0.0, end - time.monotonic())):
                facts[name].append(here.recv())
        except EOFError:
            facts[name].append("failed")
        if len(facts[name]) == 2 and facts[name][1] != "failed":
            pipes[name], times[name] = here, []
        else:
            process.kill()
    for _ in range(rounds):
        for name, pipe in pipes.items():
            pipe.send(True)
            times[name].append(pipe.recv())
    for pipe in pipes.values():
        pipe.send(False)
    table = Table(title=title, title_justify="left")
    for column in ("", "build", "compile", "operations", "a state", "against Polhode", "error"):
        table.add_column(column, justify="left" if not column else "right")
    base = statistics.median(times["polhode"])
    for name, (label, *_) in ENGINES.items():
        build = _seconds(facts[name][0]) if facts[name] else f"> {limit:.0f} s"
        if name not in times:
            table.add_row(label, build, f"> {limit:.0f} s" if len(facts[name]) == 1 else "failed", "", "", "", "")
            continue
        compile_seconds, operations, error = facts[name][1]
        state = statistics.median(times[name])
        cells = build, _seconds(compile_seconds), f"{operations:,}", f"{state:,.0f} ns"
        table.add_row(label, *cells, f"x {state / base:,.2f}", f"{error:.0e}")
    console.print(table)


def _seconds(t: float | str) -> str:
    if isinstance(t, str):
        return t
    return f"{t * 1e3:,.0f} ms" if t < 10 else f"{t:,.0f} s"


def chain(n: int) -> list[Link]:
    """A serial chain with nothing to fold: skew axes, full inertias."""
    I = [[0.10, 0.01, 0.02], [0.01, 0.20, 0.03], [0.02, 0.03, 0.30]]
    R = [[1, 0, 0], [0, 0.8, -0.6], [0, 0.6, 0.8]]
    return [Link(parent=i - 1, R=R, p=[0.1, 0.2, 0.3], m=1.5, h=[0.1, 0.2, 0.3], I=I) for i in range(n)]


def sizes() -> None:
    """Build rate and compile time per operation, by size of the graph."""
    from polhode.compile import compile
    from polhode.graph import cos, op_counts, sin, vector, vector_of

    os.environ["POLHODE_CACHE_DIR"] = tempfile.mkdtemp()
    table = Table(title="Size of the graph (serial chains)", title_justify="left")
    for column in ("joints", "operations", "build", "operations a second", "compile", "per operation"):
        table.add_column(column, justify="right")
    for n in (19, 34, 57):  # about 14,000, 45,000 and 140,000 operations
        q, u, tau = (vector_of(name, n) for name in ("q", "u", "tau"))
        e, build = clock(partial(forward_dynamics, chain(n), q, u, tau, sin, cos))
        operations = sum(op_counts(e).values())
        _, seconds = clock(partial(compile, [q, u, tau], vector(e)))
        rate, each = f"{operations / build:,.0f}", f"{seconds / operations * 1e6:.0f} us"
        table.add_row(str(n), f"{operations:,}", _seconds(build), rate, _seconds(seconds), each)
    console.print(table)


def calls(rounds: int) -> None:
    """A call from Python of a function that has next to nothing to compute."""
    import pinocchio as pin

    from polhode.compile import compile
    from polhode.graph import sin, symbol, vector

    model = pin.Model()
    joint = model.addJoint(0, pin.JointModelRY(), pin.SE3.Identity(), "hinge")
    model.appendBodyToJoint(joint, pin.Inertia(1.0, np.array([0.0, 0.0, -1.0]), np.zeros((3, 3))), pin.SE3.Identity())
    data = model.createData()
    q, u, tau = (vector([symbol(name)]) for name in ("q", "u", "tau"))
    f = compile([q, u, tau], vector([tau[0] - 9.81 * sin(q[0])]))
    state = np.array([0.3])
    out = np.empty(1)
    contenders: dict[str, Callable[[], Any]] = {
        "Pinocchio, pin.aba(model, data, q, u, tau)": lambda: pin.aba(model, data, state, state, state),
        "Pinocchio, pin.crba(model, data, q)": lambda: pin.crba(model, data, state),
        "Polhode, f(q, u, tau)": lambda: f(state, state, state),
        "Polhode, f(q, u, tau, out=out)": lambda: f(state, state, state, out=out),
    }
    assert abs(contenders["Polhode, f(q, u, tau)"]()[0] - pin.aba(model, data, state, state, state)[0]) < 1e-12
    times: dict[str, list[float]] = {name: [] for name in contenders}
    repeats = 20_000
    for _ in range(rounds):
        for name, call in contenders.items():
            start = time.perf_counter()
            for _ in range(repeats):
                call()
            times[name].append((time.perf_counter() - start) / repeats * 1e9)
    table = Table(title="A call from Python (a pendulum, one state)", title_justify="left")
    table.add_column("")
    table.add_column("a call", justify="right")
    for name, found in times.items():
        table.add_row(name, f"{statistics.median(found):,.0f} ns")
    console.print(table)


def main() -> None:
    parser = argparse.ArgumentParser(prog="make bench", description=__doc__)
    parser.add_argument("--limit", type=float, help="seconds an engine may take to prepare (else 900 and 120)")
    parser.add_argument("--rounds", type=int, default=15, help="how often the engines take turns")
    parser.add_argument("--only", choices=PARTS, help="one part alone")
    parser.add_argument(
        "--minutes", type=float, default=10.0, help="of a loop by the clock, for its lateness; 0 for none"
    )
    parser.add_argument("--budget", type=float, default=realtime.BUDGET, help="seconds to look for a largest machine")
    parser.add_argument("--against", help="an older checkout of Polhode, for the part on constraints")
    options = parser.parse_args()
    console.print(f"[dim]{platform.processor() or platform.machine()}, Python {platform.python_version()}[/dim]")
    if options.only in (None, "engines"):
        compare("panda", "Forward dynamics, Panda arm, 7 joints", options.limit or 900.0, options.rounds)
        compare("talos", "Forward dynamics, Talos with fixed base, 32 joints", options.limit or 120.0, options.rounds)
    if options.only in (None, "sizes"):
        sizes()
    if options.only in (None, "calls"):
        calls(options.rounds)
    if options.only in (None, "derivation"):
        derivation.table(console, options.limit or 900.0)
    if options.only in (None, "robots"):
        robots.table(console)
    if options.only in (None, "derivatives"):
        derivatives.table(console)
    if options.only in (None, "chains"):
        chains.table(console)
    if options.only in (None, "first"):
        first.table(console)
    if options.only in (None, "simulation"):
        simulation.table(console)
    if options.only in (None, "constrained"):
        constrained.table(console, options.against)
    if options.only in (None, "switching"):
        switching.table(console)
    if options.only in (None, "walking"):
        walking.table(console)
    if options.only in (None, "flexible"):
        flexible.table(console)
    if options.only in (None, "vehicle"):
        vehicle.table(console)
    if options.only in (None, "realtime"):
        realtime.table(console, options.minutes, options.budget)
    if options.only in (None, "study"):
        study.table(console)


if __name__ == "__main__":
    main()
