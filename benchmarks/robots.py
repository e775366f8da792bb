"""Dynamics of whole robots: Polhode against Pinocchio in C++ and from Python.

The C++ program (pinocchio.cpp) is built against the headers of the `pin` wheel
with -O3 -march=native, which takes some minutes, once. Without a compiler the
comparison is of calls from Python alone.
"""

from __future__ import annotations

import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from .engines import clock

STATES = 1024
ROBOTS = {  # title: description, floating base, joints held
    "UR5": ("ur_description/urdf/ur5_robot.urdf", False, ()),
    "Panda arm": ("panda_description/urdf/panda.urdf", False, ("panda_finger_joint1", "panda_finger_joint2")),
    "Talos, fixed": ("talos_data/robots/talos_reduced.urdf", False, ()),
    "Solo12, floating": ("solo_description/robots/solo12.urdf", True, ()),
    "Anymal, floating": ("anymal_b_simple_description/robots/anymal.urdf", True, ()),
    "Talos, floating": ("talos_data/robots/talos_reduced.urdf", True, ()),
}


def _prefix() -> Path:
    return next(Path(p) / "cmeel.prefix" for p in sys.path if (Path(p) / "cmeel.prefix").is_dir())


def driver(console: Any) -> Path | None:
    """The C++ program, built if it is not there yet; None where it cannot be."""
    target = Path(sys.prefix) / "pinocchio_benchmark"
    compiler = shutil.which("g++")
    if target.exists() or compiler is None:
        return target if target.exists() else None
    console.print("[dim]building the C++ program for Pinocchio, some minutes, once ...[/dim]")
    prefix = _prefix()
    limits = ["-DBOOST_MPL_CFG_NO_PREPROCESSED_HEADERS", "-DBOOST_MPL_LIMIT_LIST_SIZE=30"]
    limits += ["-DBOOST_MPL_LIMIT_VECTOR_SIZE=30", "-DBOOST_FUSION_INVOKE_MAX_ARITY=12"]
    command = [compiler, "-O3", "-DNDEBUG", "-march=native", "-std=c++17", "-w", *limits]
    command += [str(Path(__file__).with_name("pinocchio.cpp"))]
    command += [f"-I{prefix}/include", f"-I{prefix}/include/eigen3", f"-L{prefix}/lib"]
    command += ["-lboost_filesystem", "-lboost_serialization", f"-Wl,-rpath,{prefix}/lib"]
    command += ["-Wl,--allow-shlib-undefined", "-o", str(target)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        console.print(f"[dim]the C++ program cannot be built: {done.stderr.strip()[-300:]}[/dim]")
        return None
    return target


def _loop(f: Any, arrays: list[np.ndarray], lanes: bool) -> Callable[[], Any]:
    """A call that computes all states in native code, one by one or in lanes."""
    from polhode.compile.batch import workspace

    loop = f.kernel.in_lanes if lanes else f.kernel.one_by_one
    pointers = np.array([a.ctypes.data for a in arrays])
    strides = np.array([a.size // STATES for a in arrays])
    if not lanes:
        strides[-1] = 0  # each result in the place of the last one, as in the data of Pinocchio
    work = workspace(loop.work_size)
    keep = (f, arrays)
    return lambda: loop.function(pointers.ctypes.data, strides.ctypes.data, STATES, work.ctypes.data) or keep


def _best(call: Callable[[], Any], each: int = STATES, seconds: float = 0.3) -> float:
    found = []
    end = time.perf_counter() + seconds
    while time.perf_counter() < end:
        found.append(clock(call)[1])
    return min(found) / each * 1e9


def measure(title: str, program: Path | None, rounds: int) -> dict[str, Any]:
    """Nanoseconds a state of inverse dynamics, inertia matrix and forward dynamics."""
    import pinocchio as pin

    import polhode as ph

    name, floating, held = ROBOTS[title]
    path = _prefix() / "share/example-robot-data/robots" / name
    model, loading = clock(lambda: ph.load(path, floating=floating))
    model = ph.locked(model, held) if held else model
    theirs = pin.buildModelFromUrdf(str(path), *([pin.JointModelFreeFlyer()] if floating else []))
    theirs = pin.buildReducedModel(theirs, [theirs.getJointId(j) for j in held], pin.neutral(theirs))
    dyn = ph.formulate(model).compile()
    _, first = clock(lambda: dyn.forward_dynamics)
    draw, n = np.random.default_rng(0), model.nu
    q, u, x = (draw.uniform(-1, 1, (STATES, k)) for k in (model.nq, n, n))
    out, M = np.empty((STATES, n)), np.empty((STATES, n * n))
    calls = {
        "rnea": (dyn.inverse_dynamics, [q, u, x, out]),
        "crba": (dyn.mass_matrix, [q, M]),
        "aba": (dyn.forward_dynamics, [q, u, x, out]),
    }
    data = theirs.createData()
    pq, pv = pin.randomConfiguration(theirs, -np.ones(theirs.nq), np.ones(theirs.nq)), u[0].copy()
    python = {
        "rnea": lambda: pin.rnea(theirs, data, pq, pv, pv),
        "crba": lambda: pin.crba(theirs, data, pq),
        "aba": lambda: pin.aba(theirs, data, pq, pv, pv),
    }
    times: dict[str, dict[str, list[float]]] = {key: {} for key in calls}
    with tempfile.TemporaryDirectory() as folder:
        file = str(Path(folder) / "robot.txt")
        theirs.saveToText(file)
        for _ in range(rounds):
            if program is not None:
                done = subprocess.run([str(program), file], capture_output=True, text=True, check=True).stdout
                for line in done.splitlines():  # two conventions: the faster one counts
                    key, value = line.split()
                    times[key].setdefault("C++ all", []).append(float(value))
            for key, (f, arrays) in calls.items():
                for kind, call in (("one", _loop(f, arrays, False)), ("batch", _loop(f, arrays, True))):
                    times[key].setdefault(kind, []).append(_best(call))
                times[key].setdefault("wheel", []).append(_best(python[key], 1))
    found: dict[str, Any] = {"n": n, "start": loading + first}
    for key, (f, _) in calls.items():
        row = {kind: statistics.median(values) for kind, values in times[key].items() if kind != "C++ all"}
        if "C++ all" in times[key]:
            ways = len(times[key]["C++ all"]) // rounds
            rows = np.reshape(times[key]["C++ all"], (rounds, ways))
            row["C++"] = float(np.median(rows, axis=0).min())
        found[key] = row | {"operations": sum(f.op_counts().values())}
    return found


def table(console: Any, rounds: int = 3) -> None:
    """Print the comparison."""
    from rich.table import Table

    program = driver(console)
    titles = {"rnea": "Inverse dynamics", "crba": "Inertia matrix", "aba": "Forward dynamics"}
    results = {title: measure(title, program, rounds) for title in ROBOTS}
    for key, title in titles.items():
        shown = Table(title=f"{title}, nanoseconds a state", title_justify="left")
        for column in (
            "",
            "speeds",
            "operations",
            "Pinocchio C++",
            "one state",
            "ratio",
            "batch",
            "ratio",
            "pin from Python",
        ):
            shown.add_column(column, justify="left" if not column else "right")
        for robot, found in results.items():
            row = found[key]
            theirs = row.get("C++", float("nan"))
            cells = [f"{theirs:,.0f}", f"{row['one']:,.0f}", f"x {theirs / row['one']:.1f}"]
            cells += [f"{row['batch']:,.0f}", f"x {theirs / row['batch']:.1f}", f"{row['wheel']:,.0f}"]
            shown.add_row(robot, str(found["n"]), f"{row['operations']:,}", *cells)
        console.print(shown)
