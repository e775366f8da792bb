"""A scene drawn frame by frame with matplotlib, for films and pictures."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from textwrap import fill
from typing import Any

import numpy as np

from .optional import needed
from .scene import Scene, Shape, Tie, is_there, sag
from .solid_film import Surfaces
from .target import for_figure
from .timeline import color_of

SIZE, DPI = (6.4, 4.8), 100
PALETTE = ("#4878b0", "#e0873e", "#4f9f6e", "#c8525f", "#8467b8", "#3fa3ad", "#b98a3c", "#c76fa8")  # of bodies
EDGE, DIM, ACCENT = "#26303a", "#8b95a0", "#2f6fb5"
ROLES = {"joint": "#dfe5ea", "stand": "#b6bfc8", "quiet": DIM, "accent": ACCENT}
FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
# the sign for what is held: two struts to a line, and hatches above it
HATCHED = np.array(
    [[[0, 0], [-0.6, 0.55]], [[0, 0], [0.6, 0.55]], [[-1, 0.55], [1, 0.55]]]
    + [[[i / 3.2, 0.55], [i / 3.2 - 0.22, 0.85]] for i in range(-3, 4)]
)
# of a spring: along it, by its length; across, by its width
ZIGZAG = np.array([(0, 0), (0.12, 0), *((0.12 + 0.76 * i / 18, (-1) ** i) for i in range(1, 18)), (0.88, 0), (1, 0)])
ROW, NAMES = 10, 112  # pixels, of a band and for its name
LETTER = 8.5  # width of one, on average, of what is written below
HALF = np.tan(np.radians(14))  # of the picture's height, at distance 1


def write_film(scene: Scene, path: Path, fps: int = 30) -> None:
    """Write a GIF with Pillow, or an MP4 with ffmpeg; real time, `fps` frames a second."""
    writers = needed("matplotlib.animation", "plot", "A film")
    Writer = writers.FFMpegWriter if path.suffix.lower() == ".mp4" else writers.PillowWriter
    canvas = _Canvas(scene)
    film = Writer(fps=fps)
    with film.saving(canvas.fig, str(path), DPI):
        for i in range(len(scene.t)):
            canvas.draw(i)
            film.grab_frame()


def picture(scene: Scene, frame: int, path: Any = None) -> Any:
    """Draw a frame; return the figure."""
    target = None if path is None else for_figure(path)
    canvas = _Canvas(scene)
    canvas.draw(frame)
    if target is not None:
        canvas.fig.savefig(target, dpi=2 * DPI)
    return canvas.fig


class _Canvas:
    """Pixels of one picture size, with the camera of the scene."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.view = scene, scene.view
        self.width, self.height = SIZE[0] * DPI, SIZE[1] * DPI
        self.fig = needed("matplotlib.figure", "plot", "A film").Figure(figsize=SIZE, dpi=DPI)
        needed("matplotlib.backends.backend_agg", "plot", "A film").FigureCanvasAgg(self.fig)
        self.ax = self.fig.add_axes((0, 0, 1, 1))
        self.ax.set(xlim=(0, self.width), ylim=(0, self.height))
        self.ax.axis("off")
        self.background: Any = None  # the ground, which seldom changes
        self.collections = needed("matplotlib.collections", "plot", "A film")
        strip = 14 + ROW * len(scene.bands) if scene.bands and len(scene.t) > 1 else 0
        self.horizon = (self.height + strip) / 2  # the middle of what is above the strip
        self.center, self.distance = _fitted(scene, self.width / self.height, 1 - strip / self.height)
        ends = np.cumsum([0, *(len(part.points) for part in scene.parts)])
        self.parts = [(part, np.arange(a, b)) for part, a, b in zip(scene.parts, ends[:-1], ends[1:], strict=True)]
        self.surfaces = Surfaces(self, needed("matplotlib.colors", "plot", "A film").to_rgba)

    def project(self, points: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixels (n, 2), pixels a metre (n,) and nearness (n,) of points."""
        right, up, back = self.view.axes()
        seen = points - target
        near = seen @ back
        scale = self.height / 2 / HALF / np.maximum(self.distance - near, 0.02 * self.distance)
        x, y = self.width / 2 + seen @ right * scale, self.horizon + seen @ up * scale
        return np.stack([x, y], axis=-1), scale, near

    def draw(self, i: int) -> None:
        scene = self.scene
        target = self.center + (_middle(scene.points[i]) if self.view.follow else 0)
        if self.background is None or self.view.follow:
            self._paint_ground(target)
        self._clear()
        xy, scale, near = self.project(scene.points[i], target)
        flat = scene.points[i] * [1, 1, 0] + [0, 0, scene.floor]
        self._shadow(*self.project(flat, target)[:2])
        ends = {id(part): scene.points[i][at] for part, at in self.parts if part.kind == "rope"}
        self.apart = {key: float(np.linalg.norm(p[1] - p[0])) for key, p in ends.items()}
        self.surfaces.draw(i, target)
        self._parts(i, xy, scale, near, target)
        top, right, span = self.height - 14, self.width - 12, float(scene.t[-1] - scene.t[0])
        say = partial(self.ax.text, color=EDGE, fontsize=10, parse_math=False)
        say(12, top, scene.title, va="top", fontsize=11, fontweight="bold")
        clock = f"{scene.t[i]:.{2 if span >= 1 else 3}f} s"
        say(right, top, f"{scene.scale}     {clock}" if scene.scale else clock, va="top", ha="right")
        said = fill(scene.newest(scene.t[i]), int(self.width / LETTER), max_lines=2, placeholder=" ...")
        say(12, 12 + self._bands(i), said, color=ACCENT)

    def _bands(self, i: int) -> float:
        """Draw what was in which mode, and where in it the frame is; return how high that is."""
        scene, (left, right) = self.scene, (NAMES, self.width - 12)
        if not scene.bands or len(scene.t) == 1:
            return 0
        start, span = float(scene.t[0]), float(scene.t[-1] - scene.t[0])
        at = [left + (right - left) * (float(t) - start) / span for t in (start, scene.t[i])]
        for row, (name, pieces) in enumerate(reversed(scene.bands)):
            y = 10 + ROW * row
            short = name if len(name) <= 18 else f"{name[:15]}..."
            self.ax.text(
                left - 6,
                y + ROW / 2,
                short,
                color=EDGE,
                fontsize=6,
                ha="right",
                va="center",
                parse_math=False,
                zorder=41,
            )
            for a, b, word in pieces:
                ends = left + (right - left) * (np.array([a, a, b, b]) - start) / span
                bar = np.stack([ends, y + np.array([1, ROW - 1, ROW - 1, 1])], axis=1)
                self.face(bar, color_of(word), 40, ec="white", lw=0.4)
        top = 10 + ROW * len(scene.bands)
        sheet = np.array([(0, 0), (0, top + 4), (self.width, top + 4), (self.width, 0)])
        self.face(sheet, "white", 39, alpha=0.85, lw=0)
        self.lines([[(at[1], 8), (at[1], top + 2)]], 1.6, EDGE, 41)
        return top + 2

    def lines(self, segments: Any, width: Any, color: Any, order: float, **options: Any) -> None:
        made = self.collections.LineCollection(
            segments, linewidths=np.asarray(width) * 72 / DPI, colors=color, zorder=order, capstyle="round", **options
        )
        self.ax.add_collection(made, autolim=False)

    def dot(self, xy: np.ndarray, radius: float, color: str, order: float, **options: Any) -> None:
        self.ax.scatter(*xy, s=(2 * radius * 72 / DPI) ** 2, color=color, zorder=order, **options)

    def face(self, xy: np.ndarray, color: str, order: float, **options: Any) -> None:
        self.ax.fill(*xy.T, color=color, zorder=order, **{"ec": EDGE, "lw": 0.8, **options})

    def _clear(self) -> None:
        for artist in [*self.ax.collections, *self.ax.patches, *self.ax.texts]:
            artist.remove()

    def _paint_ground(self, target: np.ndarray) -> None:
        """Draw the ground once, and keep it as an image behind the rest."""
        self._clear()
        if self.background is not None:
            self.background.remove()
        self._ground(target)
        self.fig.canvas.draw()
        pixels = np.array(self.fig.canvas.buffer_rgba())
        self._clear()
        box = (0, self.width, 0, self.height)
        self.background = self.ax.imshow(pixels, extent=box, interpolation="none", zorder=-1)

    def _ground(self, target: np.ndarray) -> None:
        size = self.scene.size
        cell = _nice(size / 3)
        n = int(min(40, np.ceil(max(6 * size, 0.9 * self.distance) / cell)))
        middle = np.round(target[:2] / cell) * cell
        ticks = np.arange(-n, n + 1) * cell
        a, b = np.meshgrid(ticks, np.linspace(-n, n, 25) * cell, indexing="ij")
        for one, other in ((a, b), (b, a)):
            world = np.stack([one + middle[0], other + middle[1], np.full_like(a, self.scene.floor)], axis=-1)
            fade = 1 - np.hypot(a, b) / (n * cell)
            xy, _, near = self.project(world, target)
            segments = np.stack([xy[:, :-1], xy[:, 1:]], axis=2).reshape(-1, 2, 2)
            alpha = np.clip((fade[:, :-1] + fade[:, 1:]) / 2, 0, 1).ravel() ** 2 * 0.5
            kept = (alpha > 0.01) & (near[:, :-1].ravel() < 0.9 * self.distance)
            self.lines(segments[kept], 1, DIM, 0, alpha=alpha[kept])

    def _shadow(self, xy: np.ndarray, scale: np.ndarray) -> None:
        for part, at in self.parts:
            if part.kind in ("rod", "line", "wheel", "tube") and part.role != "stand":
                around = [*at, at[0]] if part.kind == "wheel" else at
                self.lines([xy[around]], part.size[-1] * scale[at].mean(), "#dde2e7", 1)
            elif part.kind == "mesh":
                self.face(outermost(xy[at]), "#dde2e7", 1, lw=0)

    def _parts(self, i: int, xy: np.ndarray, scale: np.ndarray, near: np.ndarray, target: np.ndarray) -> None:
        """All parts, nearer ones above; zorder from 10."""
        scene, nearness = self.scene, 10 + near / self.scene.size
        bars = [-np.inf] * len(scene.bodies)  # of each body: how near its bars are
        for part, at in self.parts:
            if part.kind in ("rod", "tube") and part.role == "body":
                host = scene.hosts[part.bodies[0]]
                bars[host] = max(bars[host], float(nearness[at].mean()))
        for part, at in self.parts:
            if not is_there(part, float(scene.t[i])):
                continue
            body, order = scene.hosts[part.bodies[0]], float(nearness[at].mean())
            if part.role == "joint":
                order = max(order, bars[body], bars[scene.parents[body]]) + 0.004
            elif part.kind == "mass":
                behind = bars[body] if np.isfinite(bars[body]) else bars[scene.parents[body]]
                order = max(order, behind) + 0.012
            if part.kind == "trail":
                self._trail(i, at[0], part.size[0], target)
            elif part.kind == "patch":
                self.face(xy[at], shaded(scene.points[i][at]), 1.5 + 1e-3 * order, ec="#c3cad1", lw=0.5)
            elif part.kind == "mesh":
                continue
            elif part.kind == "box":
                for corners in at[np.array(FACES)]:
                    self.face(xy[corners], self.color(part), float(nearness[corners].mean()), alpha=0.5)
            else:
                self._part(part, xy[at], part.size[-1] * float(scale[at].mean()) if part.size else 0, order)

    def color(self, part: Shape | Tie) -> str:
        if isinstance(part, Shape) and part.color:
            return part.color
        return ROLES.get(part.role) or PALETTE[self.scene.depths[part.bodies[0]] % len(PALETTE)]

    def _part(self, part: Shape | Tie, xy: np.ndarray, width: float, order: float) -> None:
        """One part, by the pixels of its points and its width or radius in pixels."""
        color, way = self.color(part), xy[-1] - xy[0]
        across = np.array([-way[1], way[0]]) * width / (np.linalg.norm(way) or 1)
        match part.kind:
            case "ghost":
                self.lines([xy], max(width, 1), color, 2.5, alpha=0.7)
            case "rod" | "cylinder" | "tube":
                width = max(width, 4 if part.kind == "cylinder" else 2.5)
                self.lines([xy], width + 2, EDGE, order)
                self.lines([xy], width, color, order + 1e-6)
            case "sphere" if part.role == "joint":
                self.dot(xy[0], max(width, 3), color, order + 0.012, edgecolors=EDGE, lw=0.9)
            case "sphere":
                self.dot(xy[0], width, color, order, alpha=0.25, lw=0)
            case "mass":
                self.dot(xy[0], max(width, 3), "white", order, edgecolors=EDGE, lw=0.9)
                self.dot(xy[0], max(width, 3) / 2, color, order + 1e-4, lw=0)
            case "wheel" | "ring":
                self.lines([xy[[*range(len(xy)), 0]]], width, color, order)
                self.lines(xy[[[0, 32], [16, 48]]] if part.kind == "wheel" else [], 1.8, DIM, order)
            case "pin":
                self.dot(xy[0], max(width, 4), color, order + 0.3, edgecolors="white", lw=1.2)
            case "disc":
                self.face(xy, color, 2)
            case "mount":
                self.lines(xy[0] + width * HATCHED, 1.3, color, 3)
            case "spring":
                self.lines([xy[0] + ZIGZAG @ [way, across]], 1.6, color, order)
            case "line":
                self.lines([xy], max(width, 1.5), color, order)
            case "rope":
                hangs, share = sag(part.size[0], self.apart[id(part)]), np.linspace(0, 1, 33)[:, None]
                path = xy[0] + share * way - [0, 4 * hangs * width / part.size[1]] * share * (1 - share)
                self.lines([path], max(width, 2), color if hangs else ACCENT, order)
            case "rail":
                self.lines([xy], 1.4, color, order, linestyles="dashed")
            case "arrow":
                neck = xy[1] - way * min(1, 6 * width / (np.linalg.norm(way) or 1))
                self.lines([[xy[0], neck]], width, color, order + 0.02)
                self.face(np.array([xy[1], neck + 2 * across, neck - 2 * across]), color, order + 0.02, ec=color)

    def _trail(self, i: int, p: int, seconds: float, target: np.ndarray) -> None:
        t = self.scene.t
        first = int(np.searchsorted(t, t[i] - seconds))
        if i > first:
            xy, _, _ = self.project(_finer(self.scene.points[first : i + 1, p]), target)
            alpha = 0.75 * np.linspace(0, 1, len(xy) - 1) ** 1.5
            self.lines(np.stack([xy[:-1], xy[1:]], axis=1), 1.8, ACCENT, 2, alpha=alpha)


def outermost(xy: np.ndarray) -> np.ndarray:
    """The corners of what points in a plane are within, in order."""
    order = xy[np.lexsort(xy.T[::-1])]

    def side(points: np.ndarray) -> list[np.ndarray]:
        found: list[np.ndarray] = []
        for p in points:
            while len(found) > 1 and _turn(found[-2], found[-1], p) <= 0:
                found.pop()
            found.append(p)
        return found[:-1]

    return np.array([*side(order), *side(order[::-1])] or [xy[0]])


def _turn(a: np.ndarray, b: np.ndarray, c: np.ndarray) -> float:
    return float((b[0] - a[0]) * (c[1] - a[1]) - (b[1] - a[1]) * (c[0] - a[0]))


def shaded(corners: np.ndarray) -> str:
    """The colour of a patch of ground, lighter where it is turned to the light."""
    n = np.cross(corners[2] - corners[0], corners[3] - corners[1])
    lit = abs(n @ [0.45, -0.3, 0.84]) / (np.linalg.norm(n) or 1)
    level = int(150 + 80 * lit)
    return f"#{level:02x}{min(level + 5, 255):02x}{min(level + 10, 255):02x}"


def _middle(points: np.ndarray) -> np.ndarray:
    found: np.ndarray = (points.min(axis=-2) + points.max(axis=-2)) / 2
    return found


def _finer(path: np.ndarray, pieces: int = 4) -> np.ndarray:
    """A path of points, with more between them on a cubic."""
    slope = np.gradient(path, axis=0)
    s = np.arange(pieces)[None, :, None] / pieces
    w, v = s * s * (3 - 2 * s), s * (1 - s)
    a, b, m, n = path[:-1, None], path[1:, None], slope[:-1, None], slope[1:, None]
    smooth = a * (1 - w) + b * w + v * ((1 - s) * m - s * n)
    return np.concatenate([smooth.reshape(-1, path.shape[1]), path[-1:]])


def _nice(x: float) -> float:
    power = 10.0 ** np.floor(np.log10(x))
    return float(power * (1 if x / power < 2 else 2 if x / power < 5 else 5))


def _fitted(scene: Scene, aspect: float, free: float = 1.0) -> tuple[np.ndarray, float]:
    """Where to look and from how far, to see all that will happen; in the free share of the height."""
    view = scene.view
    points = scene.points - _middle(scene.points)[:, None, :] if view.follow else scene.points
    seen = points[:: max(1, len(points) // 200)].reshape(-1, 3)
    right, up, back = view.axes()
    center = np.zeros(3) if view.follow else _middle(seen)
    wide, high = HALF * aspect * 0.88, HALF * 0.78 * free
    distance = 1.0
    for _ in range(3):  # what is seen moves to the middle, then the distance follows
        x, y, z = (seen - center) @ right, (seen - center) @ up, (seen - center) @ back
        distance = float(np.max(z + np.maximum(np.abs(x) / wide, np.abs(y) / high)))
        across, tall = x / (distance - z), y / (distance - z)
        if not view.follow:
            center = center + (
                right * (across.min() + across.max()) + up * (tall.min() + tall.max())
            ) / 2 * distance  # fmt: skip
    return center, max(distance, 1.2 * scene.size)
