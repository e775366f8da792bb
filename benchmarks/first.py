"""The first run: whole processes that load or build a machine and simulate it, with empty and with filled caches."""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from rich.table import Table

ROOT = Path(__file__).parents[1]
MACHINES = {
    "UR5 from its URDF file, its limits as stops, 1 s simulated": f"""
import polhode as ph
dyn = ph.formulate(ph.load({str(ROOT / "examples" / "ur5.urdf")!r})).compile()
ph.simulate(dyn, [0.1, -1, 1, 0, 0.3, 0], None, 1.0)
""",
    "four-bar linkage with a hinge loop, assembled, 1 s simulated": """
import polhode as ph
build = ph.Builder("four-bar", gravity=(0, 0, -9.81))
rod = {"mass": 1.0, "com": (0, 0, -0.5), "inertia": (0.1, 0.1, 0.01)}
build.body("crank", joint=ph.revolute("y"), **rod)
build.body("coupler", parent="crank", joint=ph.revolute("y"), at=(0, 0, -1.0), mass=1.0, com=(0.5, 0, 0))
build.body("rocker", joint=ph.revolute("y"), at=(1.0, 0, 0), **rod)
build.marker("left", body="coupler", at=(1.0, 0, 0))
build.marker("right", body="rocker", at=(0, 0, -1.0))
build.loop("left", "right", "axis")
dyn = ph.formulate(build.build()).compile()
ph.simulate(dyn, *ph.assemble(dyn, {"crank": 0.5}), 1.0)
""",
}


def _seconds(script: str, environment: dict[str, str]) -> float:
    """A whole process, from its start to its end."""
    began = time.perf_counter()
    subprocess.run([sys.executable, "-c", script], check=True, env=environment)
    return time.perf_counter() - began


def _round(script: str, installed: bool) -> tuple[float, float]:
    """A run with an empty cache of compiled code, and one after it.

    installed : with Python's bytecode, as pip leaves it; else from the sources, as a clone is used for the first time
    """
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(ROOT / "src", Path(folder) / "src", ignore=shutil.ignore_patterns("__pycache__"))
        environment = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
        environment |= {"PYTHONPATH": f"{folder}/src", "POLHODE_CACHE_DIR": f"{folder}/cache"}
        if installed:
            command = [sys.executable, "-m", "compileall", "-q", f"{folder}/src"]
            subprocess.run(command, check=True, env=environment)
        else:
            environment["PYTHONDONTWRITEBYTECODE"] = "1"
        return _seconds(script, environment), _seconds(script, environment)


def table(console: Any, rounds: int = 5) -> None:
    """Print medians of the first run and of the next, in seconds."""
    columns = ("installed, cold", "warm", "sources only, cold", "warm")
    shown = Table(title="The first run, whole process, seconds")
    shown.add_column("machine")
    for column in columns:
        shown.add_column(column, justify="right")
    for title, script in MACHINES.items():
        found = [(*_round(script, True), *_round(script, False)) for _ in range(rounds)]
        shown.add_row(title, *(f"{statistics.median(times):.2f}" for times in zip(*found, strict=True)))
    console.print(shown)
    console.print("Cold: an empty cache of compiled code. Sources only: Python compiles the package itself each time.")
