"""A tracked vehicle with ten road wheels, rigid and flexible hulls side by side: derivation, operations, real time.

It is that of `examples/vehicle.py`, driven over a bump at 8 m/s. Each is derived and compiled in a new process with an
empty cache; then all take turns, so that ratios do not depend on what else the machine does.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

from rich.table import Table

from .engines import clock

sys.path.insert(0, str(Path(__file__).parents[1] / "examples"))

SPAN, STEP, ROUNDS = 2.0, 1e-3, 5
HULLS: dict[str, dict[str, Any]] = {
    "rigid hull": {"stiffness": None},
    "flexible hull, bending and twist": {},
    "flexible hull, three modes of each": {"modes": 3},
    "rigid hull, free": {"stiffness": None, "free": True},
    "flexible hull, free": {"free": True},
}


def derived(name: str, method: str) -> None:
    """Print the freedoms, the seconds to derive and to compile accelerations, and their operations."""
    import vehicle

    import polhode as ph
    from polhode.compile import compile
    from polhode.equations.dynamics import accelerations
    from polhode.graph import op_counts, vector_of

    def derive() -> Any:
        eq = ph.formulate(vehicle.vehicle(road=vehicle.bump(), **HULLS[name]), method)
        tau = vector_of("tau", len(eq.u))
        return eq, {"q": eq.q, "u": eq.u, "tau": tau}, accelerations(eq, tau)

    (eq, inputs, udot), derivation = clock(derive)
    _, compiled = clock(lambda: compile(inputs, udot))
    freedoms = len(eq.u) - len(eq.constraints.labels)
    print(freedoms, derivation, compiled, sum(op_counts(udot).values()))


def _prepared(name: str, method: str) -> Any:
    """A function that drives for SPAN and returns its processor time."""
    import time

    import vehicle

    import polhode as ph

    said = HULLS[name]
    dyn = ph.formulate(vehicle.vehicle(road=vehicle.bump(), **said), method).compile()
    if said.get("free"):
        driven = vehicle.vehicle(road=vehicle.bump(), **said | {"free": False})
        q0, u0 = vehicle.coasting(vehicle.stand(ph.formulate(driven).compile()))
    else:
        q0, u0 = vehicle.stand(dyn), {"way_dot": vehicle.SPEED}

    def drive() -> float:
        sim = ph.Simulation(dyn, q0, u0, method="rk4", step=STEP)
        begin = time.process_time()
        sim.run(SPAN, output=[SPAN])
        return time.process_time() - begin

    return drive


def table(console: Any) -> None:
    """Print a row a hull and method."""
    shown = Table(title="Tracked vehicle, ten road wheels, accelerations with the road", title_justify="left")
    for column in (
        "",
        "method",
        "dof",
        "derive",
        "operations",
        "compile",
        f"rk4, {STEP * 1e3:g} ms",
        "x real time",
        "",
    ):
        shown.add_column(column, justify="left" if column in ("", "method") else "right")
    cases = [(name, method) for name in HULLS for method in ("denoc", "poincare")]
    facts = {}
    for name, method in cases:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", f"from benchmarks.vehicle import derived; derived({name!r}, {method!r})"]
            environment = os.environ | {"POLHODE_CACHE_DIR": folder}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        facts[name, method] = [float(e) for e in done.stdout.split()]
    drives = {case: _prepared(*case) for case in cases}
    rounds = [{case: drive() for case, drive in drives.items()} for _ in range(ROUNDS)]
    best = {case: min(found[case] for found in rounds) for case in cases}
    for (name, method), (freedoms, derivation, compiled, operations) in facts.items():
        seconds, base = best[name, method], best["rigid hull", "denoc"]
        shown.add_row(
            name,
            method,
            f"{freedoms:.0f}",
            f"{derivation:.2f} s",
            f"{operations:,.0f}",
            f"{compiled:.2f} s",
            f"{seconds / (SPAN / STEP) * 1e6:.1f} us",
            f"{SPAN / seconds:.0f}",
            f"x {seconds / base:.2f}",
        )
    console.print(shown)
