"""A machine that walks: eight legs, five motors, and clutches that let single legs find the ground.

The walker of Nelson and Quinn ("A quasicoordinate formulation for dynamic simulation of complex multibody systems with
constraints", section 5), as it is in `walker.py`. Its motors, cables and gears are a transformation of the 23 joints to
11 speeds; ground, motors and controller are one native loop.
"""

import tempfile
from pathlib import Path

import numpy as np
import walker
from rich.console import Console
from rich.table import Table

import polhode as ph

console = Console(highlight=False)


def walks() -> None:
    """On flat ground: straight on, on slippery ground, in an arc, in place."""
    eq = ph.formulate(walker.walker(), "quasicoordinate")
    console.print(f"{len(eq.limbs)} limbs; the first is {eq.limbs[0]}", markup=False, soft_wrap=True)
    joints, speeds = len(eq.kinematics.joints.u) - len(walker.KP), len(eq.u)
    console.print(f"{joints} joint speeds, {speeds} with the transmissions of its {len(walker.KP)} motors.")
    dyn = eq.compile()
    table = Table("two cycles", "way", "turn", "work of the motors")
    gaits = {"straight": walker.Gait(), "in an arc": walker.Gait(turn=0.2), "in place": walker.Gait(stride=0, turn=0.3)}
    for name, gait in gaits.items():
        traj = walker.run(dyn, gait, 2)
        way, turn = np.hypot(traj["top_x"][-1], traj["top_y"][-1]), np.degrees(traj["top_az"][-1])
        table.add_row(name, f"{way:.3f} m", f"{turn:.1f} deg", f"{traj.work_done[-1, 0]:.2f} J")
    console.print(table)


def climbs(folder: Path) -> None:
    """Over a block of 3 cm, then round a corner."""
    gait = walker.Gait(turn=0.25, later=6.0)
    ground = walker.GROUND | {"relief": walker.block((0.42, 0.54))}
    pitch = {}
    for link in ("gear", "clutch"):
        eq = ph.formulate(walker.walker(ground, link), "quasicoordinate")
        switches = walker.stepping(eq, gait) if link == "clutch" else []
        traj = walker.run(eq.compile(), gait, 8, switches=switches)
        pitch[link] = np.degrees(np.abs(traj["top_ay"]).max())
    console.print(f"Over the block it pitches by {pitch['gear']:.1f} deg; with clutches by {pitch['clutch']:.1f} deg:")
    for event in traj.events[1:]:
        console.print(
            f"  {event.time:.3f} s, {event.why}: {', '.join(event.what)}; {event.lost:.3f} J lost", markup=False
        )
    brakes = [f"brake {leg}" for leg in (1, 2, 5, 6)]
    traj.plot(["top_z", "top_ay", "femur_1", "femur_3", *brakes], folder / "clutches.png")
    traj.animate(folder / "walker.html")
    console.print(
        f"[bold]Open {folder / 'walker.html'} in a browser.[/bold] {folder / 'clutches.png'} has its clutches."
    )


def main() -> None:
    walks()
    climbs(Path(tempfile.mkdtemp(prefix="polhode-")))


if __name__ == "__main__":
    main()
