"""Dynamics of whole robots: Polhode against Pinocchio, CasADi's generated C and MuJoCo.

Everything runs in native loops over random states, in turns. Without a compiler,
CasADi or MuJoCo their columns stay empty, and a note says why.
"""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from . import cpp, rivals
from .chains import urdf
from .cpp import prefix as _prefix
from .engines import clock
from .recursions import tree

STATES, BATCH = 1024, 4096  # one by one, and in a batch
THREADS = os.cpu_count() or 1
LARGE = 100  # speeds; beyond, the inertia matrix is left out
CHAIN = "chain, 300 links"
ROBOTS = {  # title: description, floating base, joints held
    "UR5": ("ur_description/urdf/ur5_robot.urdf", False, ()),
    "Panda arm": ("panda_description/urdf/panda.urdf", False, ("panda_finger_joint1", "panda_finger_joint2")),
    "Talos, fixed": ("talos_data/robots/talos_reduced.urdf", False, ()),
    "Solo12, floating": ("solo_description/robots/solo12.urdf", True, ()),
    "Anymal, floating": ("anymal_b_simple_description/robots/anymal.urdf", True, ()),
    "Talos, floating": ("talos_data/robots/talos_reduced.urdf", True, ()),
    CHAIN: ("", False, ()),
}
TITLES = {"aba": "Forward dynamics", "rnea": "Inverse dynamics", "crba": "Inertia matrix"}
Ways = dict[str, Callable[[], float]]  # by engine: measure once, nanoseconds a state


def described(title: str) -> Path:
    """The file of a robot of example-robot-data."""
    return _prefix() / "share/example-robot-data/robots" / ROBOTS[title][0]


@dataclass(frozen=True)
class Robot:
    """A robot, compiled by us and as Pinocchio's model.

    functions : ours, by the name of Pinocchio's algorithm
    states    : random q, u and accelerations or forces, a row a state
    """

    model: Any
    theirs: Any
    functions: dict[str, Any]
    states: list[np.ndarray]


def load(title: str, folder: Path) -> Robot:
    import pinocchio as pin

    import polhode as ph

    _, floating, held = ROBOTS[title]
    path = described(title)
    if title == CHAIN:
        path = folder / "chain.urdf"
        path.write_text(urdf(300))
    model = ph.load(path, floating=floating, actuators=False)
    model = ph.locked(model, held) if held else model
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    theirs = pin.buildReducedModel(theirs, [theirs.getJointId(j) for j in held], pin.neutral(theirs))
    dyn = ph.formulate(model).compile()
    functions = {"aba": dyn.forward_dynamics, "rnea": dyn.inverse_dynamics}
    if model.nu <= LARGE:
        functions["crba"] = dyn.mass_matrix
    draw = np.random.default_rng(0)
    q, u, x = (draw.uniform(-1, 1, (BATCH, k)) for k in (model.nq, model.nu, model.nu))
    if floating:
        q[:, :4] /= np.linalg.norm(q[:, :4], axis=1, keepdims=True)
        u[:, 3:6] = x[:, 3:6] = 0  # MuJoCo measures them in the world
    return Robot(model, theirs, functions, [q, u, x])


def _best(call: Callable[[], Any], each: int = STATES, seconds: float = 0.12) -> float:
    """Nanoseconds a state, the best of at least three passes."""
    found: list[float] = []
    end = time.perf_counter() + seconds
    while len(found) < 3 or time.perf_counter() < end:
        found.append(clock(call)[1])
    return min(found) / each * 1e9


def _loop(f: Any, arrays: list[np.ndarray], lanes: bool) -> Callable[[], Any]:
    """A call that computes the states in native code, one by one or in lanes."""
    from polhode.compile.batch import workspace

    loop = f.kernel.in_lanes if lanes else f.kernel.one_by_one
    pointers = np.array([a.ctypes.data for a in arrays])
    strides = np.array([a[0].size for a in arrays])
    if not lanes:
        strides[-1] = 0  # each result in the place of the last one, as in the data of Pinocchio
    work, count = workspace(loop.work_size), BATCH if lanes else STATES
    keep = (f, arrays)
    return lambda: loop.function(pointers.ctypes.data, strides.ctypes.data, count, work.ctypes.data) or keep


def ours(f: Any, states: list[np.ndarray]) -> tuple[Ways, np.ndarray]:
    """Ways to compute one of our functions, and its value at the last of the states one by one."""
    inputs = states[: len(f.inputs)]
    out = np.empty((BATCH, *f.outputs[0].shape))
    one = _loop(f, [*inputs, out], lanes=False)
    one()
    value = out[0].copy()
    ways = {
        "one": partial(_best, one),
        "batch": partial(_best, _loop(f, [*inputs, out], lanes=True), BATCH),
        "threads": partial(_best, partial(f, *inputs, out=out, threads=THREADS), BATCH),
    }
    return ways, value


def wheel(robot: Robot) -> dict[str, Callable[[], float]]:
    """Pinocchio called from Python."""
    import pinocchio as pin

    theirs, v = robot.theirs, robot.states[1][0].copy()
    data, q = theirs.createData(), pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq))
    calls = {"aba": (pin.aba, q, v, v), "rnea": (pin.rnea, q, v, v), "crba": (pin.crba, q)}
    return {key: partial(_best, partial(f, theirs, data, *rest), 1) for key, (f, *rest) in calls.items()}


def measure(title: str, program: Path | None, rounds: int, folder: Path) -> dict[str, Any]:
    """Nanoseconds a state by algorithm and engine, the best of rounds in which all take turns."""
    robot = load(title, folder)
    model, names = robot.model, tree(robot.theirs).names
    base = model.nu - len(names)
    # the columns of our arrays in the order of Pinocchio's joints
    hinges = [model.coordinates.index(name) for name in names]
    speeds = [*range(base), *(k - model.nq + model.nu for k in hinges)]
    order = [*range(model.nq - len(names)), *hinges], speeds, speeds
    states = tuple(np.ascontiguousarray(a[:STATES, k]) for a, k in zip(robot.states, order, strict=True))
    casadi, no_casadi = rivals.casadi_c(robot.theirs, states)
    mujoco, no_mujoco = rivals.mujoco(robot.theirs, states)
    ways: dict[str, Ways] = {}
    python = wheel(robot)
    for key, f in robot.functions.items():
        ways[key], value = ours(f, robot.states)
        ways[key]["wheel"] = python[key]
        value = value[np.ix_(*[speeds] * value.ndim)]
        for label, rival, expected in (
            ("CasADi", casadi.get(key), value.ravel()),
            ("MuJoCo", mujoco.get(key), value[base:]),
            ("step", mujoco.get("step") if key == "aba" else None, value[base:]),
        ):
            if rival is not None:
                _check(f"{title}, {label}, {key}", rival, expected)
                ways[key][label] = partial(_best, rival.run)
    file = folder / "robot.txt"
    robot.theirs.saveToText(str(file))
    times: dict[str, dict[str, list[float]]] = {key: {} for key in ways}
    for _ in range(rounds):
        for key, value in cpp.run(program, str(file)):
            times.setdefault(key, {}).setdefault("C++", []).append(value)
        for key, row in ways.items():
            for label, way in row.items():
                times[key].setdefault(label, []).append(way())
    found: dict[str, Any] = {"n": model.nu, "notes": [text for text in (no_casadi, no_mujoco) if text]}
    for key, f in robot.functions.items():
        row = {label: min(values) for label, values in times[key].items()}  # C++ has two conventions
        counts = {"operations": sum(f.op_counts().values())}
        if key in casadi:
            counts["CasADi operations"] = casadi[key].operations
        found[key] = row | counts
    return found


def _check(what: str, rival: rivals.Rival, expected: np.ndarray) -> None:
    """Require that an engine computes what we do."""
    rival.run()
    found = rival.result()[-expected.size :]
    error = np.abs(found - expected).max() / np.abs(expected).max()
    if not error < 1e-6:
        raise RuntimeError(f"{what}: the results differ by {error:.0e}, expected the same dynamics.")


def cold_start(rounds: int) -> tuple[float, float]:
    """Seconds to import what is used, and from the Panda's URDF to its first accelerations; empty cache."""
    script = f"""
import time; start = time.perf_counter()
import polhode as ph, polhode.compile, polhode.equations.dynamics, polhode.formats
ph.load, ph.locked, ph.formulate; imported = time.perf_counter()
model = ph.locked(ph.load({str(described("Panda arm"))!r}, floating=False, actuators=False), {ROBOTS["Panda arm"][2]})
ph.formulate(model).compile().forward_dynamics([0.1] * 7, [0.2] * 7, [0.3] * 7)
print(imported - start, time.perf_counter() - imported)
"""
    found = []
    for _ in range(rounds):
        with tempfile.TemporaryDirectory() as folder:
            environment = os.environ | {"POLHODE_CACHE_DIR": folder}
            command = [sys.executable, "-c", script]
            done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True, env=environment)
            found.append([float(text) for text in done.stdout.split()])
    loading, start = np.median(found, axis=0)
    return loading, start


def table(console: Any, rounds: int = 7) -> None:
    """Print the comparisons, and what they compare."""
    program = cpp.driver(console)
    results = {}
    for title in ROBOTS:
        console.print(f"[dim]measuring {title} ...[/dim]")
        with tempfile.TemporaryDirectory() as folder:
            results[title] = measure(title, program, rounds, Path(folder))
    for key in TITLES:
        _against_pinocchio(console, key, results)
    console.print(
        f"One: {STATES:,} states in a native loop, one by one. Batch: {BATCH:,} in SIMD lanes on one thread. "
        f"{THREADS} threads: f(..., threads={THREADS}), which starts another only for four million operations. "
        "Pinocchio has no batch: its loop over single states in C++ stands against all; Python: a call of pin's."
    )
    if program is None:
        console.print("Pinocchio in C++ is missing: there is no g++, or it failed.")
    for key in TITLES:
        _against_others(console, key, results)
    console.print(
        f"Native loops over {STATES:,} states, one by one, one thread. CasADi: benchmarks/recursions.py, for the "
        "accelerations the way with fewer operations, as C by gcc -O3 -march=native. MuJoCo: no contacts, "
        "constraints, actuators and sensors, but mj_forward and mj_inverse also leave poses, velocities and "
        "the factorised inertia matrix behind, and mj_step integrates (Euler)."
    )
    for note in dict.fromkeys(note for found in results.values() for note in found["notes"]):
        console.print(f"{note}: {', '.join(title for title, found in results.items() if note in found['notes'])}.")
    loading, start = cold_start(rounds)
    console.print(
        f"Cold start, Panda arm, new process, empty cache: {start:.2f} s from the URDF to the first accelerations, "
        f"after {loading:.2f} s for imports."
    )


def _against_pinocchio(console: Any, key: str, results: dict[str, Any]) -> None:
    columns = ["speeds", "operations", "C++", "one", "", "batch", "", f"{THREADS} threads", "", "Python"]
    rows = {}
    for title, found in results.items():
        if row := found.get(key):
            rows[title] = [str(found["n"]), _number(row["operations"]), _number(row.get("C++"))]
            for way in ("one", "batch", "threads"):
                rows[title] += [_number(row[way]), _ratio(row.get("C++"), row[way])]
            rows[title].append(_number(row["wheel"]))
    _show(console, f"{TITLES[key]} against Pinocchio, nanoseconds a state", columns, rows)


def _against_others(console: Any, key: str, results: dict[str, Any]) -> None:
    names = {"CasADi": "CasADi C", "MuJoCo": "mj_inverse" if key == "rnea" else "mj_forward", "step": "mj_step"}
    labels = [label for label in names if any(label in found.get(key, ()) for found in results.values())]
    if not labels:
        return
    columns = ["one", "operations"]
    for label in labels:
        columns += [names[label], "", *(["operations"] if label == "CasADi" else [])]
    rows = {}
    for title, found in results.items():
        if row := found.get(key):
            rows[title] = [_number(row["one"]), _number(row["operations"])]
            for label in labels:
                rows[title] += [_number(row.get(label)), _ratio(row.get(label), row["one"])]
                rows[title] += [_number(row.get("CasADi operations"))] if label == "CasADi" else []
    engines = "CasADi and MuJoCo" if "MuJoCo" in labels else "CasADi"
    _show(console, f"{TITLES[key]} against {engines}, nanoseconds a state", columns, rows)


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:,.0f}"


def _ratio(slow: float | None, fast: float) -> str:
    return "" if slow is None else f"x {slow / fast:.1f}"


def _show(console: Any, title: str, columns: list[str], rows: dict[str, list[str]]) -> None:
    from rich.table import Table

    shown = Table("", title=title, title_justify="left")
    for column in columns:
        shown.add_column(column, justify="right")
    for name, cells in rows.items():
        shown.add_row(name, *cells)
    console.print(shown)
