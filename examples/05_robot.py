"""A real robot: from its URDF file to equations, native code and a million states."""

import time
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import polhode as ph

console = Console(highlight=False)


def timed(what, f, *args):
    start = time.perf_counter()
    found = f(*args)
    console.print(f"[dim]{what}: {(time.perf_counter() - start) * 1e3:,.0f} ms[/dim]")
    return found


def main() -> None:
    model = timed("read the file", ph.load, Path(__file__).with_name("ur5.urdf"))
    console.print(str(model), markup=False)
    eq = timed("derive the equations", ph.formulate, model)
    console.print(str(eq), markup=False, soft_wrap=True)
    dyn = eq.compile()
    timed("compile the forward dynamics (cached for the next run)", lambda: dyn.forward_dynamics)

    q = np.array([0.0, -1.2, 1.5, -0.3, 0.4, 0.0])
    u, tau = np.zeros(6), np.zeros(6)
    hold, udot = dyn.bias(q, u), dyn.forward_dynamics(q, u, tau)
    table = Table(title="At rest, arm stretched forward", title_justify="left")
    for column in ("joint", "q", "torque that holds it", "acceleration when let go"):
        table.add_column(column, justify="left" if column == "joint" else "right")
    for row in zip(model.coordinates, q, hold, udot, strict=True):
        table.add_row(row[0], f"{row[1]:.2f} rad", f"{row[2]:+.2f} N m", f"{row[3]:+.2f} rad/s²")
    console.print(table)
    tool = dyn.pose("tool")(q)[:3, 3]
    console.print("tool at", np.array2string(tool, precision=3), "m; energies", np.round(dyn.energy(q, u), 2), "J")

    states = np.random.default_rng(0).uniform(-1, 1, size=(3, 1_000_000, 6))
    start = time.perf_counter()
    dyn.forward_dynamics(*states)
    seconds = time.perf_counter() - start
    console.print(f"[bold]Forward dynamics of a million states in {seconds * 1e3:,.0f} ms, on one core.[/bold]")


if __name__ == "__main__":
    main()
