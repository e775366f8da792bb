"""A flexible arm that slews by a quarter turn and rings, a rigid one beside it, and commands that leave it still.

Four arms with the same servo and the same payload: a rigid one, a flexible one, and two flexible ones whose commands
pass an input shaper. A shaper splits a command into two (ZV) or three (ZVD) that come half a period apart, so that
what they leave of the vibration cancels. Its period and damping are those of the linear model of an arm with its servo.

Reference: [Singer, Seering 1990], Preshaping command inputs to reduce system vibration.
"""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

import polhode as ph
from polhode.graph import diff

console = Console(highlight=False)
LENGTH, LINE, STIFF = 0.8, 0.94, 32.0  # m, kg/m, N m^2: a strip of steel, 30 by 4 mm
HUB, PAYLOAD, HEAVIER = 0.02, 0.2, 0.25  # kg m^2, kg, kg
SIDE = 1.0  # m, between arms
KP, KD = 1500.0, 15.0  # N m/rad, N m s/rad, of the servo
TURN, SPAN, END = np.pi / 2, 0.65, 4.0  # rad, s, s
Impulses = list[tuple[float, float]]  # times and shares of a command
AT_ONCE: Impulses = [(0.0, 1.0)]


def add_arm(build: ph.Builder, name: str, x: float, flexible: bool = True) -> None:
    """Put an arm on its motor, with a payload at its tip."""
    slender = LINE * LENGTH**3 / 12
    strip = {"mass": LINE * LENGTH, "com": (LENGTH / 2, 0, 0), "inertia": (0, slender, slender)}
    if flexible:
        strip = {"flexible": ph.beam(length=LENGTH, mu=LINE, EI_z=STIFF, modes=3, damping=0.004)}
    build.body(name, joint=ph.revolute("z", armature=HUB), at=(x, 0, 0), **strip)
    build.body(f"{name} payload", parent=name, joint=ph.weld(), at=(LENGTH, 0, 0), mass="payload")
    build.marker(f"{name} tip", body=f"{name} payload")


def ramp(t: Any) -> Any:
    """From 0 at t = 0 to TURN at SPAN: x^3 (10 - 15 x + 6 x^2)."""
    x = ph.maximum(ph.minimum(t / SPAN, 1), 0)
    return TURN * x**3 * (10 - 15 * x + 6 * x**2)


def servo(name: str, impulses: Impulses) -> Any:
    """The torque of a motor: proportional to what angle and rate are off a command that is split into some."""
    t, (q, u) = ph.TIME, ph.symbols(f"{name} {name}_dot")
    wanted = sum(share * ramp(t - late) for late, share in impulses)
    return KP * (wanted - q) + KD * (diff(wanted, t) - u)


def zero_vibration(frequency: float, damping: float, n: int = 1) -> Impulses:
    """Impulses that leave no vibration of a mode: n = 1 is ZV; n = 2 is ZVD, for frequencies that are known less well.

    Their shares are the terms of (1 + K)^n, divided by it, half a damped period apart.
    K = exp(-pi zeta / sqrt(1 - zeta^2)) is what half a period leaves of the vibration.

    frequency : Hz, undamped, as `modes().frequencies`; damping : ratio
    """
    root = np.sqrt(1 - damping**2)
    K, half = np.exp(-np.pi * damping / root), 1 / (2 * frequency * root)
    shares = np.poly1d([1.0, K]) ** n / (1 + K) ** n
    return [(k * half, float(share)) for k, share in enumerate(shares.coeffs)]


def swinging() -> tuple[float, float]:
    """Frequency in Hz and damping ratio of the slowest vibration of an arm with its servo, by its linear model."""
    build = ph.Builder("arm")
    add_arm(build, "arm", 0)
    arm = ph.formulate(build.build()).compile()
    modes = ph.linearize(arm, tau={"arm_dot": servo("arm", AT_ONCE)}, p={"payload": PAYLOAD}).modes()
    slow = int(np.argmin(np.where(modes.damping < 0.5, modes.frequencies, np.inf)))
    return float(modes.frequencies[slow]), float(modes.damping[slow])


def slewed(commands: dict[str, Impulses], payload: float) -> ph.Trajectory:
    """Arms side by side, each by its command; that which is called "rigid" is."""
    build = ph.Builder("slewing arms")
    for k, name in enumerate(commands):
        add_arm(build, name, SIDE * k, name != "rigid")
    tau = {f"{name}_dot": servo(name, impulses) for name, impulses in commands.items()}
    return ph.simulate(ph.formulate(build.build()).compile(), t_end=END, tau=tau, p={"payload": payload})


def main() -> None:
    folder = Path(tempfile.mkdtemp(prefix="polhode-"))
    frequency, damping = swinging()
    console.print(f"With its servo the arm swings at {frequency:.3f} Hz, damped by {damping:.4f}.")
    commands = {"rigid": AT_ONCE, "flexible": AT_ONCE}
    commands |= {name: zero_vibration(frequency, damping, n) for n, name in enumerate(("ZV", "ZVD"), 1)}

    # with the payload that the shapers were made for, and with a heavier one
    expected, heavier = (slewed(commands, payload) for payload in (PAYLOAD, HEAVIER))
    table = Table("arm", "command", "bends by", "rings by", "ratio", f"with {HEAVIER:g} kg")
    left, more = ({n: ringing(traj, n, commands[n]) for n in commands} for traj in (expected, heavier))
    for name, impulses in commands.items():
        most = abs(deflection(expected, name)).max()
        cells = f"{SPAN + impulses[-1][0]:.2f} s", f"{most * 1e3:.1f} mm", f"{left[name] * 1e3:.2f} mm"
        table.add_row(name, *cells, *(f"{found[name] / found['flexible']:.1%}" for found in (left, more)))
    console.print(table)
    console.print(str(expected.audit()).splitlines()[-1], markup=False, soft_wrap=True)

    expected.plot([f"{name}_y1" for name in commands if name != "rigid"], folder / "slewing.png")
    expected.animate(folder / "slewing.html")
    console.print(
        f"[bold]Open {folder / 'slewing.html'} in a browser[/bold]; from left to right: {', '.join(commands)}."
    )
    console.print("What the tips do is in slewing.png.")


def ringing(traj: ph.Trajectory, name: str, impulses: Impulses) -> float:
    """How far a tip swings in the 1.5 s after its command has ended."""
    since = SPAN + impulses[-1][0]
    return float(np.ptp(deflection(traj, name)[(traj.t >= since) & (traj.t <= since + 1.5)]) / 2)


def deflection(traj: ph.Trajectory, name: str) -> np.ndarray:
    """Of the tip from the line that its motor points along, (k,)."""
    tip, hub = traj.pose(f"{name} tip"), traj.pose(name)
    return np.einsum("ki,ki->k", tip[:, :3, 3] - hub[:, :3, 3], hub[:, :3, 1])


if __name__ == "__main__":
    main()
