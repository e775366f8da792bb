"""A hand on a shopping cart: dragged by its nose, with its caster free, and stuck.

`cart.toml` is Gillespie's cart ("Kane's equations for haptic display of multibody systems", example 3). A scripted hand
holds the nose of the basket by a virtual coupler and drags it ahead and to the left, a step of the real-time loop
each millisecond. Free, the cart follows; stuck, it can only roll straight on, and the hand feels that.

To do the same with your own hand: polhode view examples/cart.toml
"""

import tempfile
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from rich.console import Console
from rich.table import Table

import polhode as ph
from polhode.interact import Link, Scripted, coupler, realtime

console = Console(highlight=False)
FILE = Path(__file__).parent / "cart.toml"
RATE, SECONDS = 1000, 5.0
NOSE = np.array([0.9, 0.0, 0.8])  # m, where the hand takes hold
AHEAD, LEFT = 1.6, 1.2  # m, how far it goes


def hand(t: float) -> tuple[float, float, float]:
    """Where the hand wants to be: ahead and to the left, slowly at first and at last."""
    s = min(t / (SECONDS - 1), 1.0)
    s = s * s * (3 - 2 * s)
    x, y, z = NOSE + np.array([AHEAD * s, LEFT * s * s, 0])
    return float(x), float(y), float(z)


def dragged(stuck: bool) -> dict[str, np.ndarray]:
    """Drag the cart; what it does, 100 times a second."""
    held = coupler(ph.load(FILE), "nose", stiffness=600, damping=120, most_force=60)
    dyn = ph.formulate(held.model).compile()
    rt = realtime(dyn, rate=RATE)
    device = Scripted(hand, damping=150.0)
    link = Link(rt, held, device)
    if stuck:
        rt.engage("stuck caster")
    nose, rows = dyn.pose("nose"), []
    for k in range(int(SECONDS * RATE)):
        link.tick()
        device.advance(1 / RATE)
        if k % 10 == 0:
            state = rt.state
            q = dict(zip(dyn.equations.model.coordinates, state.q, strict=True))
            rows.append(
                [state.t, q["q1"], q["q2"], q["q3"], *nose(state.q)[:2, 3], *hand(state.t)[:2], *link.wrench[3:5]]
            )
    names = ("t", "q1", "q2", "q3", "nose x", "nose y", "hand x", "hand y", "force x", "force y")
    return dict(zip(names, np.array(rows).T, strict=True))


def main() -> None:
    runs = {"free": dragged(stuck=False), "stuck": dragged(stuck=True)}
    table = Table("caster", "goes ahead", "to the left", "turns", "nose off the hand", "largest pull")
    for name, run in runs.items():
        off = np.hypot(run["nose x"] - run["hand x"], run["nose y"] - run["hand y"])
        pull = np.hypot(run["force x"], run["force y"]).max()
        turn = np.degrees(run["q3"][-1])
        cells = f"{run['q1'][-1]:.2f} m", f"{run['q2'][-1]:.2f} m", f"{turn:.0f}°", f"{off[-1]:.2f} m", f"{pull:.0f} N"
        table.add_row(name, *cells)
    console.print(table)
    sideways = abs(runs["stuck"]["force y"]).max()
    console.print(f"Stuck, it gives way ahead alone: the hand feels {sideways:.0f} N from the side.")
    picture = Path(tempfile.mkdtemp(prefix="polhode-")) / "cart.png"
    draw(runs, picture)
    console.print(f"[bold]{picture}[/bold] shows both from above. With your own hand: polhode view examples/cart.toml")


def draw(runs: dict[str, dict[str, np.ndarray]], path: Path) -> None:
    """The way of the cart from above, and the pull of the hand."""
    figure = Figure(figsize=(9, 4), layout="constrained")
    above, pull = figure.subplots(1, 2)
    for colour, (name, run) in zip(("#2f6fb5", "#c65d12"), runs.items(), strict=True):
        above.plot(run["nose x"], run["nose y"], color=colour, label=f"nose, caster {name}")
        for k in range(0, len(run["t"]), 80):
            c, s = np.cos(run["q3"][k]), np.sin(run["q3"][k])
            box = np.array([(-0.04, -0.26), (0.9, -0.21), (0.9, 0.21), (-0.04, 0.26), (-0.04, -0.26)])
            x, y = run["q1"][k] + c * box[:, 0] - s * box[:, 1], run["q2"][k] + s * box[:, 0] + c * box[:, 1]
            above.plot(x, y, color=colour, alpha=0.25, lw=1)
        pull.plot(run["t"], np.hypot(run["force x"], run["force y"]), color=colour, label=f"caster {name}")
    first = next(iter(runs.values()))
    above.plot(first["hand x"], first["hand y"], color="#888", ls="--", label="hand")
    above.set(aspect="equal", xlabel="x, m", ylabel="y, m")
    pull.set(xlabel="t, s", ylabel="pull of the hand, N")
    for axes in (above, pull):
        axes.legend(frameon=False)
    figure.savefig(path, dpi=120)


if __name__ == "__main__":
    main()
