"""Figures of what changes with time."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest
from typing import Any

import numpy as np

from .optional import needed
from .target import for_figure
from .timeline import Bands, draw_bands, draw_lines, height

MOST_LINES = 6  # in one panel
MOST_CURVES = 36  # of one quantity; beyond, those that change most
STILL = 1e-6  # a change by less than this share of a curve is tolerance, no motion
COLORS = ("#3b6fb6", "#e07b39", "#3f9b6c", "#c8475a", "#7d62b3", "#8a6d4b", "#d06fae", "#5d6570")
_ALARM = "#b3261e"
STYLE: dict[str, Any] = {
    "font.size": 9,
    "axes.titlesize": 9.5,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": "#9aa3ad",
    "axes.linewidth": 0.8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.axisbelow": True,
    "grid.color": "#e6e9ed",
    "grid.linewidth": 0.8,
    "xtick.color": "#4a525b",
    "ytick.color": "#4a525b",
    "lines.linewidth": 1.3,
    "lines.solid_capstyle": "round",
    "legend.frameon": False,
    "legend.fontsize": 8,
    "legend.handlelength": 1.4,
    "legend.borderaxespad": 0.0,
    "axes.formatter.limits": (-3, 4),
    "axes.formatter.use_mathtext": True,
    "savefig.dpi": 150,
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Curve:
    """A quantity over time.

    values   : (k,)
    quantity : what it is, the title of its panel: "Angles"
    unit     : "rad"; "" for a pure number
    section  : rows of panels, from above; side : the column in them, 0 or 1, None for either
    note   : a line under the title of its panel
    least  : a change by less is rounding, and not drawn as motion
    """

    name: str
    values: np.ndarray
    quantity: str
    unit: str = ""
    section: int = 0
    side: int | None = None
    note: str = ""
    least: float = 0.0


def figure(
    t: np.ndarray,
    curves: Sequence[Curve],
    title: str = "",
    note: str = "",
    path: Any = None,
    events: Sequence[tuple[float, str]] = (),
    bands: Bands | None = None,
) -> Any:
    """Draw curves over time, a panel for each quantity.

    note   : a line below the title, such as why a run stopped
    path   : also write it, as PNG, SVG or PDF by its ending
    events : when something happened, with a word for it; lines in every panel
    bands  : from when to when something did what, by name; a strip below the curves

    Returns the matplotlib Figure. Without a path it belongs to pyplot, for plt.show().
    """
    matplotlib = needed("matplotlib", "plot", "A plot")
    target = None if path is None else for_figure(path)
    rows = _rows(curves)
    width = max(map(len, rows), default=1)
    heights = [1.0] * len(rows) + ([height(bands)] if bands else [])
    with matplotlib.rc_context(STYLE | {"axes.prop_cycle": matplotlib.cycler(color=COLORS)}):
        fig = new_figure((6.2 * width, 0.7 + 2.1 * sum(heights)), managed=path is None)
        grid = fig.add_gridspec(max(len(heights), 1), width, height_ratios=heights or None)
        for i, row in enumerate(rows):
            for j, panel in enumerate(row):
                if panel:
                    ax = fig.add_subplot(grid[i, j])
                    _draw(ax, t, panel)
                    draw_lines(ax, t, events, labelled=i == j == 0)
                    below = any(j < len(other) and other[j] for other in rows[i + 1 :])
                    below = below or bool(bands)
                    ax.tick_params(labelbottom=not below)
                    ax.set_xlabel("" if below else "time [s]")
        for j in range(width) if bands else ():  # in line with the panels above
            ax = fig.add_subplot(grid[len(rows), j])
            draw_bands(ax, t, bands or {}, 5.2, first=j == 0, last=j == width - 1)
            ax.set_xlim(*_span(t))
            ax.set_xlabel("time [s]")
        head(fig, title, note)
        if target is not None:
            fig.savefig(target)
    return fig


def phase_figure(
    across: tuple[str, np.ndarray], up: tuple[str, np.ndarray], jumps: Sequence[int], title: str, note: str, path: Any
) -> Any:
    """Draw a curve of one quantity over another, from a dot; jumps, by the number of the state after each, are dotted.

    across, up : a label and values, (k,)
    """
    matplotlib = needed("matplotlib", "plot", "A plot")
    target = None if path is None else for_figure(path)
    with matplotlib.rc_context(STYLE):
        fig = new_figure((5.4, 4.6), managed=path is None)
        ax = fig.add_subplot()
        (xs, ys), cuts = (across[1], up[1]), [0, *jumps, len(across[1])]
        for a, b in pairwise(cuts):
            ax.plot(xs[a:b], ys[a:b], color=COLORS[0])
        for k in jumps:
            ax.plot(xs[k - 1 : k + 1], ys[k - 1 : k + 1], ":", color=COLORS[1], linewidth=1)
        ax.plot(xs[:1], ys[:1], "o", color=COLORS[0], markersize=5)
        ax.set_xlabel(shortened(across[0], 60))
        ax.set_ylabel(shortened(up[0], 60))
        head(fig, title, note)
        if target is not None:
            fig.savefig(target)
    return fig


def _span(t: np.ndarray) -> tuple[float, float]:
    """The times that a panel shows, a hundredth beyond its curves."""
    more = 0.01 * float(t[-1] - t[0])
    return float(t[0]) - more, float(t[-1]) + more


def new_figure(size: tuple[float, float], managed: bool) -> Any:
    """A figure: pyplot's where somebody may show it, its own where it goes to a file."""
    if not managed:
        return needed("matplotlib.figure", "plot", "A plot").Figure(figsize=size, layout="constrained")
    pyplot = needed("matplotlib.pyplot", "plot", "A plot")
    fig = pyplot.figure(figsize=size, layout="constrained")
    if "inline" in pyplot.get_backend().lower():
        pyplot.close(fig)  # a notebook shows what is returned, and would show it again
    return fig


def _rows(curves: Sequence[Curve]) -> list[list[list[Curve]]]:
    """Panels by row and column: sections one below the other, their sides next to each other."""
    found: list[list[list[Curve]]] = []
    for section in sorted({c.section for c in curves}):
        sides = [_panels([c for c in curves if c.section == section and c.side == side]) for side in (0, 1, None)]
        columns, rest = sides[:2], sides[2]
        for panel in rest:
            min(columns, key=len).append(panel)
        found += [list(row) for row in zip_longest(*columns, fillvalue=[])]
    if not any(row[1] for row in found):
        return [row[:1] for row in found]
    return found


def _panels(curves: Sequence[Curve]) -> list[list[Curve]]:
    """The curves of each quantity, as many to a panel as can be told apart."""
    groups: dict[tuple[str, str], list[Curve]] = {}
    for curve in curves:
        groups.setdefault((curve.quantity, curve.unit), []).append(curve)
    found = []
    for group in groups.values():
        shown = group
        if len(group) > MOST_CURVES:
            by_range = sorted(group, key=lambda c: -np.ptp(c.values[np.isfinite(c.values)]) if c.values.size else 0)
            kept = {id(c) for c in by_range[:MOST_CURVES]}
            shown = [c for c in group if id(c) in kept]
        size = math.ceil(len(shown) / math.ceil(len(shown) / MOST_LINES))
        found += [shown[k : k + size] for k in range(0, len(shown), size)]
    return found


def _draw(ax: Any, t: np.ndarray, panel: Sequence[Curve]) -> None:
    first = panel[0]
    titled = all(curve.name.startswith("reaction ") for curve in panel) and first.quantity.startswith("Reaction")
    for curve in panel:
        mark = {"marker": "o", "markersize": 3} if len(t) == 1 else {}
        ax.plot(
            t, curve.values, label=shortened(curve.name.removeprefix("reaction ") if titled else curve.name), **mark
        )
    alone = len(panel) == 1 and first.quantity.split()[-1] != first.name
    heading = f"{first.quantity}: '{shortened(first.name)}'" if alone else first.quantity  # quoted: 'm' is no unit
    notes = textwrap.wrap(" ".join(dict.fromkeys(c.note for c in panel if c.note)), 85)
    heading = f"{heading} [{first.unit}]" if first.unit else heading
    ax.set_title(heading, color="#2a3038", pad=5 + 9.5 * len(notes))
    if notes:
        ax.text(0, 1.03, "\n".join(notes), transform=ax.transAxes, fontsize=7.5, color=_ALARM, parse_math=False)
    ax.margins(x=0.01)
    values = np.concatenate([c.values[np.isfinite(c.values)] for c in panel])
    if values.size and np.ptp(values) <= max(STILL * np.abs(values).max(), *(c.least for c in panel)):
        size = abs(values[0]) if abs(values[0]) > max(c.least for c in panel) else 1
        ax.set_ylim(*(values[0] + np.array([-0.5, 0.5]) * size))
    if values.size and 0 < np.abs(values).max() < min(1e-3, 10 * np.ptp(values)):
        ax.yaxis.set_major_formatter(lambda y, _: f"{y:.3g}".replace("e-0", "e-"))
    if len(panel) > 1:
        ax.legend(loc="center left", bbox_to_anchor=(1.015, 0.5))


def shortened(name: str, most: int = 26) -> str:
    name = name.replace("$", r"\$")  # no mathematics in names
    name = f"\u200b{name}" if name.startswith("_") else name  # matplotlib hides labels that start so
    return name if len(name) <= most else f"{name[: most // 2]}…{name[-(most // 2 - 1) :]}"


def head(fig: Any, title: str, note: str) -> None:
    """The title and, in a line of its own, the note."""
    left, top = {"x": 0.01, "ha": "left"}, 1 - 0.33 / fig.get_figheight()
    text = title.replace("$", r"\$") + ("\n" if note else "")
    fig.suptitle(text, **left, fontsize=12, fontweight="bold", color="#2a3038")
    if note:
        fig.text(0.01, top, textwrap.shorten(note, 170).replace("$", r"\$"), va="top", fontsize=8.5, color=_ALARM)
