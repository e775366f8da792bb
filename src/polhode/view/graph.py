"""Pictures of graphs: modes as boxes, in rows by how much holds in them, and what leads from one to the other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from .optional import needed
from .plot import COLORS
from .target import for_figure

WORDS = 9  # pairs of boxes with lines between them, up to which each line says what it is about
_INK, _PALE, _LINE = "#2b3138", "#f4f6f8", "#9aa3ad"
_WIDTH, _GAP, _CHARACTER, _LEAD = 2.3, 0.9, 0.082, 0.2  # of boxes and letters, inches


class Node(NamedTuple):
    """A box: what holds in it, in bold; what else is said; whether it is drawn with a dashed edge."""

    titles: Sequence[str]
    lines: Sequence[str]
    dashed: bool = False


class Edge(NamedTuple):
    """An arrow between two boxes, by number; about what, and why."""

    start: int
    end: int
    about: str
    why: str


def draw(nodes: Sequence[Node], edges: Sequence[Edge], title: str, path: Any = None) -> Any:
    """Draw a graph; the matplotlib Figure. Without a path it belongs to pyplot, for plt.show()."""
    matplotlib = needed("matplotlib", "plot", "A plot")
    target = None if path is None else for_figure(path)
    texts = [(_shortened(node.titles), list(node.lines)) for node in nodes]
    width = max(_WIDTH, max((len(w) for t, l in texts for w in (*t, *l)), default=0) * _CHARACTER + 0.3)
    heights = [0.26 + _LEAD * (len(t) + len(l)) for t, l in texts]
    pairs = _pairs(edges)
    about = list(dict.fromkeys(edge.about for edge in edges))
    spoken = len(pairs) <= WORDS
    beside = max((len(_said(edge)) for edge in edges), default=0) * 0.075 + 0.7 if spoken else _GAP
    at, size = _placed(nodes, edges, width, heights, (beside, 1.35 if spoken else 0.95))
    arcs = 0.55 if not spoken and any(_is_far(at, width, *pair) for pair in pairs) else 0.0
    below = 0.9 if spoken else 1.0 + arcs + 0.22 * -(-len(about) // 4)
    size = np.maximum(size, (4.5, 0.0)) + np.array((0.6, below))
    figure = _figure(matplotlib, size, target is None)
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(-size[0] / 2, size[0] / 2)
    axes.set_ylim(-size[1] + 0.75, 0.75)
    axes.axis("off")
    axes.text(-size[0] / 2 + 0.25, 0.42, title, fontsize=11, fontweight="bold", color=_INK, va="center")
    color = {name: COLORS[k % len(COLORS)] for k, name in enumerate(about)}
    for (a, b), found in pairs.items():
        _line(axes, at, heights, width, a, b, found, color, spoken)
    for place, height, (titles, lines), node in zip(at, heights, texts, nodes, strict=True):
        _box(axes, place, width, height, titles, lines, node.dashed)
    if not spoken:
        handles = [matplotlib.lines.Line2D([], [], color=color[name], lw=2, label=name) for name in about]
        axes.legend(handles=handles, loc="lower center", ncols=4, frameon=False, fontsize=8)
    if target is not None:
        figure.savefig(target, dpi=150, facecolor="white")
    return figure


def _said(edge: Edge) -> str:
    command = edge.why in ("engage", "release")
    return f"{edge.why} {edge.about}" if command else f"{edge.about} {edge.why}"


def _shortened(titles: Sequence[str]) -> list[str]:
    return [t if len(t) <= 32 else f"{t[:31]}…" for t in titles]


def _figure(matplotlib: Any, size: np.ndarray, shown: bool) -> Any:
    if shown:
        return needed("matplotlib.pyplot", "plot", "A plot").figure(figsize=tuple(size))
    needed("matplotlib.lines", "plot", "A plot")
    return needed("matplotlib.figure", "plot", "A plot").Figure(figsize=tuple(size))


def _pairs(edges: Sequence[Edge]) -> dict[tuple[int, int], list[Edge]]:
    """The edges between each two boxes, in both directions."""
    found: dict[tuple[int, int], list[Edge]] = {}
    for edge in edges:
        found.setdefault((min(edge.start, edge.end), max(edge.start, edge.end)), []).append(edge)
    return found


def _placed(
    nodes: Sequence[Node], edges: Sequence[Edge], width: float, heights: Sequence[float], apart: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """The centres of boxes, in rows by how many edges lead there from the first, and the size of all."""
    level = [-1] * len(nodes)
    level[0], waiting = 0, [0]
    while waiting:
        k = waiting.pop(0)
        for edge in edges:
            if edge.start == k and level[edge.end] < 0:
                level[edge.end] = level[k] + 1
                waiting.append(edge.end)
    level = [max(n, 0) for n in level]
    at, top, widest = np.zeros((len(nodes), 2)), 0.0, 0.0
    for row in range(max(level) + 1):
        here = [k for k, n in enumerate(level) if n == row]
        before = {k: [at[e.start, 0] for e in edges if e.end == k and level[e.start] < row] for k in here}
        here.sort(key=lambda k: (float(np.mean(before[k])) if before[k] else 0.0, k))
        tall = max(heights[k] for k in here)
        for place, k in enumerate(here):
            at[k] = (place - (len(here) - 1) / 2) * (width + apart[0]), -(top + tall / 2)
        top += tall + apart[1]
        widest = max(widest, len(here) * (width + apart[0]) - apart[0])
    return at, np.array([widest, top - apart[1]])


def _box(
    axes: Any, at: np.ndarray, width: float, height: float, titles: list[str], lines: list[str], dashed: bool
) -> None:
    patches = needed("matplotlib.patches", "plot", "A plot")
    corner = at - (width / 2, height / 2)
    style = {"facecolor": _PALE, "edgecolor": _LINE, "linewidth": 1.1, "linestyle": "--" if dashed else "-"}
    axes.add_patch(
        patches.FancyBboxPatch(corner, width, height, boxstyle="round,pad=0,rounding_size=0.09", zorder=3, **style)
    )
    y = at[1] + _LEAD * (len(titles) + len(lines) - 1) / 2
    for text in titles:
        axes.text(at[0], y, text, ha="center", va="center", fontsize=8.5, fontweight="bold", color=_INK, zorder=4)
        y -= _LEAD
    for text in lines:
        axes.text(at[0], y, text, ha="center", va="center", fontsize=7.5, color="#5d6570", zorder=4)
        y -= _LEAD


def _line(
    axes: Any, at: np.ndarray, heights: Sequence[float], width: float, a: int, b: int, found: list[Edge],
    color: dict[str, str], spoken: bool,
) -> None:  # fmt: skip
    """A line between two boxes, with an arrow at each end that an edge leads to, and what the edges are about."""
    level = abs(at[a, 1] - at[b, 1]) < 0.2
    start, end = (_border(at[k], at[other], width, heights[k], level) for k, other in ((a, b), (b, a)))
    ahead, back = (any(e.start == k for e in found) for k in (a, b))
    style = "<|-|>" if ahead and back else "-|>" if ahead else "<|-"
    tint = color[found[0].about]
    arrow = {"arrowstyle": style, "color": tint, "lw": 1.2, "mutation_scale": 9, "shrinkA": 0, "shrinkB": 0}
    if _is_far(at, width, a, b) and not spoken:  # below what stands between
        right = np.sign(at[b, 0] - at[a, 0])
        start, end = (at[k] + (s * 0.3 * width * right, -heights[k] / 2 - 0.03) for k, s in ((a, 1), (b, -1)))
        arrow["connectionstyle"] = f"arc3,rad={0.18 * right}"
    axes.annotate("", end, start, arrowprops=arrow, zorder=1 if not level else 2)
    if not spoken:
        _whisper(axes, start, end, a, b, level, found, tint)
        return
    text = [_said(e) for e in found if e.start == a], [_said(e) for e in found if e.start == b]
    down = (a, b) if at[a, 1] > at[b, 1] or (level and at[a, 0] < at[b, 0]) else (b, a)
    first, second = text if down == (a, b) else text[::-1]
    marks = ("→", "←") if level else ("↓", "↑")
    said = [f"{marks[0]} {t}" for t in first] + [f"{marks[1]} {t}" for t in second]
    place = (start + end) / 2
    box = {"facecolor": "white", "edgecolor": "none", "pad": 1.5}
    axes.text(*place, "\n".join(said), ha="center", va="center", fontsize=7, color=tint, bbox=box, zorder=2.5)


def _is_far(at: np.ndarray, width: float, a: int, b: int) -> bool:
    """Whether other boxes stand between two of the same row."""
    return bool(abs(at[a, 1] - at[b, 1]) < 0.2 and abs(at[a, 0] - at[b, 0]) > 1.8 * (width + _GAP))


def _whisper(
    axes: Any, start: np.ndarray, end: np.ndarray, a: int, b: int, level: bool, found: list[Edge], tint: str
) -> None:
    """Say at each end of a line, in a word, what leads away from there; the colour says of what."""
    for origin, here, there in ((a, start, end), (b, end, start)):
        words = list(dict.fromkeys(e.why for e in found if e.start == origin))
        if not words:
            continue
        along = there - here
        if level and abs(along[1]) < 0.05 and abs(along[0]) < 2 * _GAP:  # between neighbours, one above the other
            place = (here + there) / 2 + (0, 0.11 if origin == a else -0.11)
        else:
            down = np.array([0.0, -0.12])
            place = here + (down if level else along * min(0.5, 0.32 / max(abs(along[1]), 0.32)))
        box = {"facecolor": "white", "edgecolor": "none", "pad": 0.6, "alpha": 0.85}
        axes.text(*place, ", ".join(words), ha="center", va="center", fontsize=6, color=tint, bbox=box, zorder=2.5)


def _border(at: np.ndarray, to: np.ndarray, width: float, height: float, level: bool) -> np.ndarray:
    """Where a line to another box leaves this one: in the middle of a side, or nearer to where it leads."""
    if level:
        return np.array([at[0] + np.sign(to[0] - at[0]) * (width / 2 + 0.03), at[1]])
    shift = np.clip((to[0] - at[0]) * 0.12, -0.4 * width, 0.4 * width)
    return np.array([at[0] + shift, at[1] + np.sign(to[1] - at[1]) * (height / 2 + 0.03)])
