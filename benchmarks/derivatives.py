"""Derivatives of inverse and forward dynamics: Polhode against Pinocchio's analytical ones and CasADi's generated C.

Ours come with the result and M or its inverse, in closed forms or by plain derivatives, whichever take fewer
operations. Pinocchio: computeRNEADerivatives and computeABADerivatives in C++, of which the first has M and the second
M^-1 besides. CasADi: jacobians of the recursions of `recursions.py` by (q, u), after its own elimination of common
parts, as C; by quaternions where the base floats, so of fixed bases only.
"""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import cpp, rivals
from .engines import _casadi_operations
from .recursions import tree
from .robots import STATES, _best, _check, _number, _ratio, _show, load

ROBOTS = ("UR5", "Panda arm", "Talos, fixed", "Solo12, floating", "Talos, floating")
LANES = 256  # states in a batch, written to the same place again: more would measure memory
LONG = 60_000  # operations; C of more takes gcc minutes
TITLES = {"drnea": "Derivatives of inverse dynamics", "daba": "Derivatives of forward dynamics"}


def _ours(f: Any, states: list[np.ndarray]) -> tuple[dict[str, Callable[[], float]], list[np.ndarray]]:
    """Ways to compute a call with several outputs, and these at the last of the states one by one."""
    from polhode.compile.batch import workspace

    outputs = [np.empty((LANES, *port.shape)) for port in f.outputs]
    pointers = np.array([a.ctypes.data for a in (*states, *outputs)])
    strides = np.array([a[0].size for a in (*states, *outputs)])
    still = strides.copy()
    still[len(states) :] = 0  # each result in the place of the last one
    ways = {}
    for label, loop, count, steps in (
        ("one", f.kernel.one_by_one, STATES, still),
        ("batch", f.kernel.in_lanes, LANES, strides),
    ):
        work = workspace(loop.work_size)
        keep = (f, states, outputs, pointers, steps, work)

        def run(
            loop: Any = loop, count: int = count, steps: np.ndarray = steps, work: Any = work, keep: Any = keep
        ) -> Any:
            return loop.function(pointers.ctypes.data, steps.ctypes.data, count, work.ctypes.data) or keep

        ways[label] = partial(_best, run, count)
        if label == "one":
            run()
            last = [a[0].copy() for a in outputs]
    return ways, last


def _casadi(theirs: Any, states: tuple[np.ndarray, ...]) -> tuple[dict[str, rivals.Rival], str]:
    """C from CasADi for the jacobians, and why some are missing."""
    try:
        import casadi as ca
    except ImportError:
        return {}, "CasADi is not installed"
    found, notes = {}, []
    for key, (inputs, output) in rivals._expressions(theirs, ca).items():
        if key == "crba":
            continue
        f = ca.Function(f"d{key}", inputs, [ca.cse(ca.jacobian(output, ca.vertcat(*inputs[:2])))])
        if _casadi_operations(f) > LONG:
            notes.append(f"CasADi's {_casadi_operations(f):,} operations are left out: gcc would take minutes")
            continue
        dense = ca.Function(f"d{key}", inputs, [ca.densify(f(*inputs))])
        found[f"d{key}"] = rivals._built(dense, states, ca)
    return found, "; ".join(notes)


def measure(title: str, program: Path | None, rounds: int, folder: Path) -> dict[str, Any]:
    """Nanoseconds a state by call and engine, the best of rounds in which all take turns."""
    robot = load(title, folder)
    names = tree(robot.theirs).names
    floating = robot.model.nq > robot.model.nu
    derivatives = _derivatives(robot)
    calls = {"drnea": derivatives._call("inverse"), "daba": derivatives._call("forward")}
    order = [robot.model.coordinates.index(name) for name in names]
    casadi: dict[str, rivals.Rival] = {}
    note = ""
    if not floating:
        casadi, note = _casadi(robot.theirs, tuple(np.ascontiguousarray(a[:STATES, order]) for a in robot.states))
    file = folder / "robot.txt"
    robot.theirs.saveToText(str(file))
    ways: dict[str, dict[str, Callable[[], float]]] = {}
    for key, (f, parts) in calls.items():
        ways[key], last = _ours(f, robot.states)
        value = dict(zip(parts, last, strict=True))
        if key in casadi:
            expected = np.hstack([value["q"][np.ix_(order, order)], value["u"][np.ix_(order, order)]])
            _check(f"{title}, CasADi, {key}", casadi[key], expected.T.ravel())
            ways[key]["CasADi"] = partial(_best, casadi[key].run)
    times: dict[str, dict[str, list[float]]] = {key: {} for key in ways}
    for _ in range(rounds):
        for key, value in cpp.run(program, str(file)):
            if key in times:
                times[key].setdefault("C++", []).append(value)
        for key, row in ways.items():
            for label, way in row.items():
                times[key].setdefault(label, []).append(way())
    found: dict[str, Any] = {"n": robot.model.nu, "note": note}
    for key, (f, _) in calls.items():
        found[key] = {label: min(values) for label, values in times[key].items()}
        found[key]["operations"] = sum(f.op_counts().values())
        if key in casadi:
            found[key]["CasADi operations"] = casadi[key].operations
    return found


def _derivatives(robot: Any) -> Any:
    import polhode as ph

    return ph.formulate(robot.model).compile().derivatives


def table(console: Any, rounds: int = 7) -> None:
    """Print the comparisons."""
    program = cpp.driver(console)
    results = {}
    for title in ROBOTS:
        console.print(f"[dim]measuring {title} ...[/dim]")
        with tempfile.TemporaryDirectory() as folder:
            results[title] = measure(title, program, rounds, Path(folder))
    columns = ["speeds", "operations", "C++", "one", "", "batch", "", "CasADi C", "", "operations"]
    for key, title in TITLES.items():
        rows = {}
        for name, found in results.items():
            row = found[key]
            rows[name] = [str(found["n"]), _number(row["operations"]), _number(row.get("C++"))]
            for way in ("one", "batch"):
                rows[name] += [_number(row[way]), _ratio(row.get("C++"), row[way])]
            rows[name] += [_number(row.get("CasADi")), _ratio(row.get("CasADi"), row["one"])]
            rows[name].append(_number(row.get("CasADi operations")))
        _show(console, f"{title}, nanoseconds a state", columns, rows)
    console.print(
        f"One: {STATES:,} states in a native loop, one by one. Batch: {LANES} in SIMD lanes on one thread. Pinocchio "
        "and CasADi: one by one. All with the result; ours and Pinocchio's with M, or M^-1, besides."
    )
    for note in dict.fromkeys(found["note"] for found in results.values() if found["note"]):
        console.print(f"{note}.")
