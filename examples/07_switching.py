"""Constraints that come and go: a shopping cart whose caster sticks, and is free again.

Gillespie's cart ("Kane's equations for haptic display of multibody systems", example 3): a basket on two wheels that
do not slip sideways, and a caster in front. Free, it has two degrees of freedom; stuck, one. The equations are
derived and compiled once; the caster is locked and released between two steps.
"""

import tempfile
from pathlib import Path

import numpy as np
from rich.console import Console
from rich.table import Table

import polhode as ph

console = Console(highlight=False)
L2, L3 = 0.9, 0.12  # from the back wheels to the caster, and from its axis to its wheel
WHEELS = ["back wheels", "front wheel"]


def cart() -> ph.Model:
    build = ph.Builder("shopping cart")
    build.body("basket", joint=ph.planar("z", name="at"), mass=20, com=(0.5, 0, 0), inertia=(1, 1, 2))
    build.body("caster", parent="basket", at=(L2, 0, 0), joint=ph.revolute("z", name="q4"), mass=1, com=(-L3, 0, 0))
    build.marker("handle", body="basket")
    build.marker("wheel", body="caster", at=(-L3, 0, 0))
    build.knife_edge("handle", axis="y", name="back wheels")
    build.knife_edge("wheel", axis="y", name="front wheel")
    build.lock("q4", name="stuck", active=False)
    return build.build()


def formulated(model: ph.Model) -> ph.Equations:
    """(51) to (53): the speed of the handle, the turning of the basket and of the caster."""
    plain = ph.formulate(model)
    forward = plain.velocity("handle", axes="marker")[3]
    speeds = {"u1": forward, "u2": plain.velocity("basket")[2], "u3": plain.velocity("caster")[2]}
    return ph.formulate(model, speeds=speeds, embed=WHEELS)


def show_modes(picture: Path) -> None:
    """The finite state machine of section 4: each mode with embedded equations of its own."""
    machine = ph.formulate(cart()).compile().automaton(over=["stuck"])
    table = Table("mode", "independent speeds", "operations")
    for mode in machine.modes:
        table.add_row(mode.title, ", ".join(map(str, mode.independent)), str(mode.operations))
    console.print(table)
    machine.plot(picture)


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="polhode-"))
    show_modes(folder / "modes.png")

    # pushed forward and turned to and fro; the caster sticks at 2.5 s, where it is turned, and comes free at 5.5 s
    dyn = formulated(cart()).compile()
    switches = [ph.at(2.5, engage="stuck"), ph.at(5.5, release="stuck")]
    push = {"u1": "4 - 3*u1", "u2": "6*sin(2*t) - 4*u2"}
    traj = ph.simulate(dyn, {"q4": 0.3}, {"u1": 1.0}, 8.0, tau=push, switches=switches, reacting=True)
    console.print(str(traj.events), markup=False, soft_wrap=True)
    console.print(str(traj.audit()), markup=False, soft_wrap=True)

    # while it sticks, the basket turns with the way it goes: (65), u2 = u1 sin(q4) / (L2 cos(q4) - L3)
    held = traj.mode["stuck"] == "engaged"
    ratio = np.sin(traj["q4"]) / (L2 * np.cos(traj["q4"]) - L3)
    off = abs(traj["u2"] - ratio * traj["u1"])[held].max()
    console.print(f"Stuck, the cart runs in a circle of {1 / abs(ratio[held][0]):.2f} m; off (65) by {off:.0e} rad/s.")
    lock = traj["reaction stuck"][held]
    console.print(f"The caster is held by {lock.min():.2f} to {lock.max():.2f} N m.")

    traj.plot(["at_angle", "q4", "u1", "u2", "tau_u2", "reaction stuck"], folder / "cart.png")
    traj.animate(folder / "cart.html")
    console.print(f"[bold]Open {folder / 'cart.html'} in a browser.[/bold]")
    console.print(f"{folder / 'cart.png'} shows the switches, {folder / 'modes.png'} the graph of modes.")


if __name__ == "__main__":
    main()
