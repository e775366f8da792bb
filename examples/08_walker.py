"""Machines that walk: one has eight legs, five motors, and clutches that let single legs find the ground.

The walker of Nelson and Quinn ("A quasicoordinate formulation for dynamic simulation of complex multibody systems with
constraints", section 5), as it is in `walker.py`. Its motors, cables and gears are a transformation of the 23 joints to
11 speeds; ground, motors and controller are one native loop. The other has six legs, and walks over rigid hills.
"""

import tempfile
from pathlib import Path

import hexapod
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
    traj.plot(["femur_1", "femur_3", "top_ay", *brakes], folder / "clutches.png")
    traj.animate(folder / "walker.html")
    console.print(f"Its clutches are below it in [bold]{folder / 'walker.html'}[/bold], and in clutches.png.")


def hills(folder: Path) -> None:
    """Six legs on rigid hills, where feet stick, slide and leave the ground by Coulomb's law."""
    ground = {"friction": 0.8, "relief": hexapod.hills(begin=0.35)}
    dyn = ph.formulate(hexapod.hexapod(ground), "quasicoordinate").compile()
    start = hexapod.stand() | {"body_z": hexapod.DOWN}
    traj = hexapod.run(dyn, hexapod.Gait(level=2.0), 5.0, 1e-3, "moreau", q0=start)
    tilt = np.degrees(np.abs([traj["body_ax"], traj["body_ay"]]).max())
    console.print(f"Six legs go {traj['body_x'][-1]:.2f} m over hills of 3 cm in 5 s, and tilt by {tilt:.1f} deg.")
    traj.animate(folder / "hexapod.html")
    console.print(f"Where each foot stands, slides or is lifted is below it in [bold]{folder / 'hexapod.html'}[/bold].")


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="polhode-"))
    walks()
    climbs(folder)
    hills(folder)
    console.print("Open the pages in a browser.")


if __name__ == "__main__":
    main()
