"""A tracked vehicle with ten road wheels and a hull that bends and twists, beside one with a rigid hull.

The vehicle is in `vehicle.py`. It drives over a bump under its left track at 8 m/s.
"""

import tempfile
import time
from pathlib import Path

import numpy as np
import vehicle
from rich.console import Console
from rich.table import Table

import polhode as ph

console = Console(highlight=False)
HULLS = {"rigid": None, "flexible": 1.0, "100 times as stiff": 100.0}


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="polhode-"))
    table = Table("hull", "dof", "native code in", "operations", "x real time", "roll", "heave")
    runs = {}
    for name, stiffness in HULLS.items():
        model = vehicle.vehicle(stiffness, vehicle.bump())
        begin = time.perf_counter()
        eq = ph.formulate(model, "denoc")
        dyn = eq.compile()
        operations = sum(dyn.tree_dynamics.op_counts().values())
        derived = time.perf_counter() - begin
        rest = vehicle.stand(dyn)
        sim = ph.Simulation(dyn, rest, {"way_dot": vehicle.SPEED}, method="rk4", step=1e-3)
        begin = time.process_time()
        sim.run(until=2.0)
        fast = 2.0 / (time.process_time() - begin)
        traj = runs[name] = sim.trajectory()
        moved = f"{np.degrees(np.ptp(traj['roll'])):.3f} deg", f"{np.ptp(traj['heave']) * 1e3:.2f} mm"
        freedoms = len(eq.u) - len(eq.constraints.labels)
        table.add_row(name, str(freedoms), f"{derived:.2f} s", f"{operations:,}", f"{fast:.0f}", *moved)
        if name == "flexible":
            weighed = sum(float(traj.evaluate(vehicle.carried(eq, wheel))[0]) for wheel in vehicle.WHEELS)
            weight = (vehicle.LINE * vehicle.LENGTH + len(vehicle.WHEELS) * vehicle.WHEEL) * 9.81
            modes = ph.linearize(dyn, traj.at(0.0)).modes()
    console.print(table)
    off = {n: max(np.abs(runs[n][c] - runs["rigid"][c]).max() for c in ("roll", "pitch", "heave")) for n in HULLS}
    console.print(
        f"The flexible hull is up to {off['flexible']:.1e} m or rad off the rigid one, a hundred times as stiff "
        f"{off['100 times as stiff']:.0e}. At rest its wheels carry {weighed:.3f} N of the weight of {weight:.3f} N."
    )
    hull = runs["flexible"]
    console.print(f"Its {len(modes.frequencies)} modes of vibration are from {min(modes.frequencies):.1f} to ", end="")
    bends, twists = np.ptp(hull["hull_z1"]) * 1e3, np.degrees(np.ptp(hull["hull_twist1"]))
    console.print(
        f"{max(modes.frequencies):.1f} Hz; the bump bends it by {bends:.1f} mm and twists it by {twists:.2f} deg."
    )
    console.print(str(hull.audit()).splitlines()[-1], markup=False, soft_wrap=True)
    hull.plot(["roll", "pitch", "hull_z1", "hull_twist1"], folder / "vehicle.png")
    hull.animate(folder / "vehicle.html", magnify=10)
    console.print(f"[bold]Open {folder / 'vehicle.html'} in a browser; vehicle.png has its hull.[/bold]")


if __name__ == "__main__":
    main()
