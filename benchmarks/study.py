"""10,000 runs of an arm with other masses: a study, and a loop over SciPy with Pinocchio's accelerations.

The loop is timed on fewer runs, of which each takes as long. Both have the same tolerances; the study on one thread, on
as many as there are processors, and what that gains.
"""

from __future__ import annotations

import os
import time
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

RUNS, THEIRS, T_END, TOLERANCE = 10_000, 50, 2.0, 1e-8
LENGTHS, MASSES, START = (0.4, 0.3, 0.2), (2.0, 1.5, 1.0), (1.0, 0.5, -0.5)


def ours() -> Any:
    """An arm of three bars whose tip has a mass that is a parameter."""
    import polhode as ph

    build, parent, at = ph.Builder("arm", gravity=(0, 0, -9.81)), "world", 0.0
    for i, (length, mass) in enumerate(zip(LENGTHS, MASSES, strict=True)):
        tip = i == len(LENGTHS) - 1
        whole = ph.symbol("m") if tip else mass
        build.body(f"bar {i}", parent=parent, at=(0, 0, -at), joint=ph.revolute("xyx"[i], name=f"a{i}"), mass=whole,
                   com=(0, 0, -length / 2), inertia=(0.02, 0.02, 0.01))  # fmt: skip
        parent, at = f"bar {i}", length
    return ph.formulate(build.build()).compile()


def theirs(mass: float) -> tuple[Any, Any]:
    """The same in Pinocchio."""
    import pinocchio as pin

    model, parent, at = pin.Model(), 0, 0.0
    kinds = {"x": pin.JointModelRX, "y": pin.JointModelRY}
    for i, (length, m) in enumerate(zip(LENGTHS, (*MASSES[:-1], mass), strict=True)):
        place = pin.SE3(np.eye(3), np.array([0, 0, -at]))
        parent = model.addJoint(parent, kinds["xyx"[i]](), place, f"a{i}")
        inertia = pin.Inertia(m, np.array([0, 0, -length / 2]), np.diag([0.02, 0.02, 0.01]))
        model.appendBodyToJoint(parent, inertia, pin.SE3.Identity())
        at = length
    return model, model.createData()


def scipy_runs(masses: np.ndarray) -> np.ndarray:
    """The last angle of every run."""
    import pinocchio as pin
    from scipy.integrate import solve_ivp

    found, nothing = [], np.zeros(3)
    for mass in masses.tolist():
        model, data = theirs(mass)

        def flow(t: float, x: np.ndarray, model: Any = model, data: Any = data) -> np.ndarray:
            return np.concatenate([x[3:], pin.aba(model, data, x[:3], x[3:], nothing)])

        start = np.concatenate([START, np.zeros(3)])
        found.append(solve_ivp(flow, (0, T_END), start, method="DOP853", rtol=TOLERANCE, atol=TOLERANCE).y[2, -1])
    return np.array(found)


def table(console: Console) -> None:
    import polhode as ph

    dyn, masses = ours(), np.linspace(0.2, 3.0, RUNS)
    run = {"t_end": T_END, "q0": dict(zip(("a0", "a1", "a2"), START, strict=True)), "rtol": TOLERANCE,
           "atol": TOLERANCE}  # fmt: skip
    ph.study(dyn, {"m": masses[:100]}, run, "final(a2)")  # compiled
    some = masses[:: RUNS // THEIRS]
    start = time.perf_counter()
    reference = scipy_runs(some)
    slow = (time.perf_counter() - start) / len(some) * RUNS
    shown = Table(title=f"{RUNS:,} runs of {T_END:g} s, tolerance {TOLERANCE:g}", title_justify="left")
    for column in ("", "seconds", "against the study", "gain of threads", "difference"):
        shown.add_column(column, justify="left" if not column else "right")
    times: dict[int, float] = {}
    for threads in sorted({1, os.cpu_count() or 1}):
        start = time.perf_counter()
        found = ph.study(dyn, {"m": masses}, run, "final(a2)", threads=threads, progress=False)
        times[threads] = time.perf_counter() - start
    off = float(np.abs(found["final(a2)"][:: RUNS // THEIRS] - reference).max())
    best = times[max(times)]
    for threads, seconds in times.items():
        gain = f"{times[1] / seconds / threads:.0%} of {threads}" if threads > 1 else ""
        shown.add_row(f"study, threads={threads}", f"{seconds:.2f}", f"x {seconds / best:.1f}", gain, f"{off:.0e}")
    shown.add_row("a loop over SciPy and Pinocchio", f"{slow:.0f}", f"x {slow / best:.0f}", "", "reference")
    console.print(shown)
