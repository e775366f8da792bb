"""Long chains: time to derive and compile forward dynamics, and what comes out, by the number of links."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from .engines import clock

LINKS = (100, 300, 1000)


def urdf(n: int) -> str:
    """A chain of hinges about y and z in turn, with full inertias."""
    inertia = '<mass value="1"/><inertia ixx=".1" iyy=".12" izz=".1" ixy="0.01" ixz="0" iyz="0.02"/>'
    limit = '<limit lower="-1" upper="1" effort="1" velocity="1"/>'
    links = "".join(
        f'<link name="l{i}"><inertial><origin xyz="0 0.1 0.5"/>{inertia}</inertial></link>' for i in range(1, n + 1)
    )
    joints = "".join(
        f'<joint name="j{i:04d}" type="revolute"><parent link="l{i - 1}"/><child link="l{i}"/>'
        f'<origin xyz="0 0.1 1"/><axis xyz="{"0 1 0" if i % 2 else "0 0 1"}"/>{limit}</joint>'
        for i in range(1, n + 1)
    )
    return f'<robot name="chain"><link name="l0"/>{links}{joints}</robot>'


def grown(n: int) -> None:
    """Print the seconds to derive, to compile and for a state, operations and bytes of code for n links."""
    import polhode as ph
    from polhode.compile import compile
    from polhode.graph import op_counts, vector_of

    path = Path(os.environ["POLHODE_CACHE_DIR"]) / "chain.urdf"
    path.write_text(urdf(n))

    def derive() -> Any:
        eq = ph.formulate(ph.load(path, floating=False, actuators=False))
        tau = vector_of("tau", n)
        return {"q": eq.q, "u": eq.u, "tau": tau}, eq.terms.forward(tau)

    (inputs, udot), derived = clock(derive)
    f, compiled = clock(lambda: compile(inputs, udot))
    x = np.random.default_rng(0).uniform(-1, 1, n)
    state = min(clock(lambda: f(x, x, x))[1] for _ in range(1000))
    size = sum(file.stat().st_size for file in path.parent.glob("*.o"))
    print(derived, compiled, state, sum(op_counts(udot).values()), size)


def table(console: Any) -> None:
    """Print a row a length, each in a new process with an empty cache."""
    from rich.table import Table

    shown = Table(title="Long chains: forward dynamics from a URDF", title_justify="left")
    for column in ("links", "derive", "a link", "operations", "a link", "compile", "an operation", "code", "a state"):
        shown.add_column(column, justify="right")
    for n in LINKS:
        with tempfile.TemporaryDirectory() as folder:
            command = [sys.executable, "-c", f"from benchmarks.chains import grown; grown({n})"]
            environment = os.environ | {"POLHODE_CACHE_DIR": folder}
            done = subprocess.run(command, capture_output=True, text=True, check=True, env=environment)
        derived, compiled, state, operations, size = map(float, done.stdout.split())
        shown.add_row(
            f"{n:,}",
            f"{derived:.1f} s",
            f"{derived / n * 1e3:.1f} ms",
            f"{operations:,.0f}",
            f"{operations / n:,.0f}",
            f"{compiled:.1f} s",
            f"{compiled / operations * 1e6:.0f} us",
            f"{size / 1e6:.1f} MB",
            f"{state * 1e6:.0f} us",
        )
    console.print(shown)
