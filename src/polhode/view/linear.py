"""Figures of linear models: poles, and size and phase over frequency."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from .optional import needed
from .plot import COLORS, STYLE, head, new_figure, shortened
from .target import for_figure

_GROWS = "#b3261e"
_STYLES = ("-", "--", ":", "-.")
_NAMED = 10  # curves in the legend
_POINTS = 600
ROUNDING = 1e-12  # of the largest response of an output: less is none


def linear_figure(
    poles: np.ndarray,
    response: Callable[[np.ndarray], np.ndarray],
    outputs: Sequence[str],
    inputs: Sequence[str],
    title: str = "",
    note: str = "",
    drawn: str = "",
    path: Any = None,
) -> Any:
    """Draw poles on the left, and the response of outputs to inputs on the right: size above phase.

    response : frequencies (k,) in Hz -> (k, outputs, inputs), complex
    drawn    : which part of all outputs and inputs that is, in words

    Returns the matplotlib Figure. Without a path it belongs to pyplot, for plt.show().
    """
    matplotlib = needed("matplotlib", "plot", "A plot")
    target = None if path is None else for_figure(path)
    bode = bool(len(outputs) and len(inputs))
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": matplotlib.cycler(color=COLORS)}):
        fig = new_figure((11.0 if bode else 5.2, 4.9), managed=path is None)
        grid = fig.add_gridspec(2, 2 if bode else 1, width_ratios=[1, 1.5] if bode else None)
        _draw_poles(fig.add_subplot(grid[:, 0]), poles)
        if bode:
            size = fig.add_subplot(grid[0, 1])
            phase = fig.add_subplot(grid[1, 1], sharex=size)
            _draw_bode(size, phase, span(poles), response, outputs, inputs, drawn)
        head(fig, title, note)
        if target is not None:
            fig.savefig(target)
    return fig


def span(poles: np.ndarray) -> np.ndarray:
    """Frequencies in Hz around those of the poles, a decade beyond on either side."""
    size = np.abs(poles)
    moves = size > 1e-6 * size.max(initial=0)
    size, peaks = (size[on] / (2 * np.pi) for on in (moves, moves & (np.abs(poles.real) > 1e-6 * size)))
    low, high = (float(size.min()), float(size.max())) if size.size else (0.1, 10.0)
    grid = np.logspace(np.log10(low) - 1, np.log10(high) + 1, _POINTS)
    return np.unique(np.concatenate([grid, peaks]))  # without those that have no end


def _draw_poles(ax: Any, poles: np.ndarray) -> None:
    grows = poles.real > 1e-7 * np.abs(poles).max(initial=0)
    for which, color, label in ((~grows, COLORS[0], "decays or stays"), (grows, _GROWS, "grows")):
        if which.any():
            ax.plot(poles[which].real, poles[which].imag, "x", color=color, markersize=7, mew=1.8, label=label)
    ax.axvline(0, color="#9aa3ad", linewidth=0.9, zorder=0)
    ax.axhline(0, color="#9aa3ad", linewidth=0.9, zorder=0)
    reach = max(float(np.abs(poles.imag).max(initial=0)), 0.2 * float(np.abs(poles.real).max(initial=0)), 1e-3)
    ax.set_ylim(-1.15 * reach, 1.15 * reach)
    ax.margins(x=0.12)
    if np.abs(poles.real).max(initial=0) <= ROUNDING * np.abs(poles).max(initial=0):  # nothing decays or grows
        ax.set_xlim(-1.15 * reach, 1.15 * reach)
    ax.set_title("Poles [1/s]", color="#2a3038")
    ax.set_xlabel("real part: decay, growth")
    ax.set_ylabel("imaginary part: $2\\pi$ times the frequency")
    if grows.any():
        ax.legend(loc="best")


def _draw_bode(
    size: Any,
    phase: Any,
    f: np.ndarray,
    response: Callable[[np.ndarray], np.ndarray],
    outputs: Sequence[str],
    inputs: Sequence[str],
    drawn: str,
) -> None:
    found = response(f)
    found = np.where(np.isfinite(found), found, 0.0)
    largest, count = np.abs(found).max(axis=(0, 2)), 0
    for i, out in enumerate(outputs):
        for j, into in enumerate(inputs):
            g = found[:, i, j]
            known = np.abs(g) > 1e-14 * np.abs(g).max(initial=0)
            if np.abs(g).max(initial=0) <= ROUNDING * largest[i]:
                continue
            label = f"{shortened(out, 18)} by {shortened(into, 18)}"
            style, color = _STYLES[count // len(COLORS) % len(_STYLES)], COLORS[count % len(COLORS)]
            label, count = label if count < _NAMED else "_", count + 1
            size.plot(f[known], np.abs(g[known]), style, color=color, label=label)
            phase.plot(f[known], np.degrees(np.unwrap(np.angle(g[known]))), style, color=color)
    size.set_xscale("log")
    size.set_yscale("log")
    size.set_title("Size of outputs by inputs" + (f": {drawn}" if drawn else ""), color="#2a3038")
    size.tick_params(labelbottom=False)
    phase.set_title("Phase [°]", color="#2a3038")
    phase.set_xlabel("frequency [Hz]")
    low, high = phase.get_ylim()
    phase.set_ylim(min(low, high - 180), max(high, low + 180))
    phase.yaxis.set_major_locator(needed("matplotlib.ticker", "plot", "A plot").MultipleLocator(90))
    if count:
        if count > _NAMED:
            size.plot([], [], " ", label=f"and {count - _NAMED} more")
        size.legend(loc="upper left", bbox_to_anchor=(1.015, 1.0))
