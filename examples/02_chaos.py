"""Tens of thousands of double pendulums at once.

One step of the classical Runge-Kutta method is an expression like any other, so
the whole step is compiled, and a batch runs in the lanes of the processor. Each
pixel is a pendulum let go at rest, q1 to the right and q2 upward; its colour
tells how soon the lower rod first swings over the top.
"""

import sys
import time

import numpy as np
from double_pendulum import L1, L2, energy, g, m1, m2, q, u, udot
from rich.console import Console
from rich.progress import track
from rich.text import Text

from polhode.compile import compile
from polhode.graph import Matrix, substitute, vector

console = Console(highlight=False)


def derivative(state: Matrix) -> Matrix:
    """(q, u) -> (u, udot), at all parameters 1."""
    values = {m1: 1, m2: 1, L1: 1, L2: 1, g: 9.81, q: state[:2], u: state[2:]}
    return vector([*state[2:], *substitute(udot, values)])


def runge_kutta(x: Matrix, h: float) -> Matrix:
    """One step of the classical fourth-order method, as an expression."""
    k1 = derivative(x)
    k2 = derivative(x + k1 * (h / 2))
    k3 = derivative(x + k2 * (h / 2))
    k4 = derivative(x + k3 * h)
    return x + (k1 + k2 * 2 + k3 * 2 + k4) * (h / 6)


def shade(seconds: float, longest: float) -> str:
    """A colour for the time of the first flip; black for none."""
    if not np.isfinite(seconds):
        return "#101018"
    warm = 1 - (seconds / longest) ** 0.5
    return f"#{int(40 + 215 * warm):02x}{int(60 + 150 * warm**2):02x}{int(190 * (1 - warm) + 30):02x}"


def main(width: int = min(console.width, 120), t_end: float = 10.0, fine: int = 3) -> None:
    height = width * 3 // 10 * 2
    h = 0.01
    start = time.perf_counter()
    state = vector([*q, *u])
    step = compile({"x": state}, {"next": runge_kutta(state, h)}, name="step")
    hamiltonian = compile({"x": state, "p": [m1, m2, L1, L2, g]}, {"E": energy}, name="energy")
    console.print(f"[cyan]derived and compiled in {time.perf_counter() - start:.2f} s[/cyan]  {step}")

    # each pixel is fine x fine pendulums, let go at rest
    q1, q2 = (np.linspace(-np.pi, np.pi, n * fine) for n in (width, height))
    x = np.zeros((q1.size * q2.size, 4))
    x[:, 0], x[:, 1] = (a.ravel() for a in np.meshgrid(q1, q2[::-1]))
    p = np.array([1, 1, 1, 1, 9.81])
    before = hamiltonian(x, p)
    flipped = np.full(len(x), np.inf)
    new = np.empty_like(x)
    start = time.perf_counter()
    for k in track(range(int(t_end / h)), f"{len(x):,} pendulums", console=console, disable=not sys.stdout.isatty()):
        step(x, out=new, threads=2)
        x, new = new, x
        flipped[(np.abs(x[:, 1]) > np.pi) & np.isinf(flipped)] = (k + 1) * h
    seconds = time.perf_counter() - start
    steps = len(x) * int(t_end / h)
    drift = np.median(np.abs(hamiltonian(x, p) - before))
    console.print(
        f"[cyan]{steps / 1e6:,.0f} million steps in {seconds:.1f} s[/cyan], {seconds / steps * 1e9:.0f} ns a step; "
        f"median energy drift {drift:.0e} J"
    )

    image = np.median(flipped.reshape(height, fine, width, fine), axis=(1, 3))
    console.print("q1 to the right, q2 upward, each from -pi to pi; the brighter or denser, the sooner it flips")
    if console.color_system is None:  # no colours: the sooner, the darker
        for row in image[::2]:
            line = "".join(" " if np.isinf(t) else ".:-=+*#%@"[int(8.99 * (1 - t / t_end))] for t in row)
            console.print(line, markup=False)
        return
    # two pixels a character, upper half and lower half
    for row in range(0, height, 2):
        line = Text()
        for column in range(width):
            upper, lower = (shade(image[row + k, column], t_end) for k in (0, 1))
            line.append("▀", style=f"{upper} on {lower}")
        console.print(line)


if __name__ == "__main__":
    main()
