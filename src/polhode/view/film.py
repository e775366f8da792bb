"""A scene drawn frame by frame with matplotlib, for films."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from .optional import needed
from .scene import Scene, View

PALETTE = ("#4878b0", "#e0873e", "#4f9f6e", "#c8525f", "#8467b8", "#3fa3ad", "#b98a3c", "#c76fa8")
EDGE, DIM, ACCENT = "#26303a", "#8b95a0", "#2f6fb5"
FACES = ((0, 1, 3, 2), (4, 5, 7, 6), (0, 1, 5, 4), (2, 3, 7, 6), (0, 2, 6, 4), (1, 3, 7, 5))
SIZE, DPI = (6.4, 4.8), 100
# the sign for what is held: two struts to a line, and hatches above it
_HATCHED = np.array(
    [[[0, 0], [-0.6, 0.55]], [[0, 0], [0.6, 0.55]], [[-1, 0.55], [1, 0.55]]]
    + [[[i / 3.2, 0.55], [i / 3.2 - 0.22, 0.85]] for i in range(-3, 4)]
)
HALF = np.tan(np.radians(14))  # of the picture's height, at distance 1


def write_film(scene: Scene, path: Path, fps: int = 30) -> None:
    """Write a GIF with Pillow, or an MP4 with ffmpeg; real time, `fps` frames a second."""
    writers = needed("matplotlib.animation", "plot", "A film")
    Writer = writers.FFMpegWriter if path.suffix.lower() == ".mp4" else writers.PillowWriter
    fig = needed("matplotlib.figure", "plot", "A film").Figure(figsize=SIZE, dpi=DPI)
    needed("matplotlib.backends.backend_agg", "plot", "A film").FigureCanvasAgg(fig)
    canvas = _Canvas(fig, scene)
    film = Writer(fps=fps)
    with film.saving(fig, str(path), DPI):
        for i in range(len(scene.t)):
            canvas.draw(i)
            film.grab_frame()


class _Canvas:
    """Pixels of one picture size, with the camera of the scene."""

    def __init__(self, fig: Any, scene: Scene) -> None:
        self.scene, self.view = scene, scene.view
        self.width, self.height = SIZE[0] * DPI, SIZE[1] * DPI
        self.fig, self.ax = fig, fig.add_axes((0, 0, 1, 1))
        self.ax.set(xlim=(0, self.width), ylim=(0, self.height))
        self.ax.axis("off")
        self.background: Any = None  # the ground, which seldom changes
        self.collections = needed("matplotlib.collections", "plot", "A film")
        self.center, self.distance = _fitted(scene, self.view, self.width / self.height)

    def project(self, points: np.ndarray, target: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Pixels (n, 2), pixels a metre (n,) and nearness (n,) of points."""
        right, up, back = self.view.axes()
        seen = points - target
        near = seen @ back
        scale = self.height / 2 / HALF / np.maximum(self.distance - near, 0.02 * self.distance)
        x, y = self.width / 2 + seen @ right * scale, self.height / 2 + seen @ up * scale
        return np.stack([x, y], axis=-1), scale, near

    def draw(self, i: int) -> None:
        scene, ax = self.scene, self.ax
        target = self.center + (_middle(scene.points[i]) if self.view.follow else 0)
        if self.background is None or self.view.follow:
            self._paint_ground(target)
        self._clear()
        xy, scale, near = self.project(scene.points[i], target)
        flat = scene.points[i] * [1, 1, 0] + [0, 0, scene.floor]
        self._shadow(self.project(flat, target)[0], float(scale.mean()))
        self._trails(i, target)
        self._solids(xy, scale, near)
        ax.text(
            12, self.height - 14, scene.title, va="top", fontsize=11, fontweight="bold", color=EDGE, parse_math=False
        )
        ax.text(self.width - 12, self.height - 14, f"{scene.t[i]:.2f} s", va="top", ha="right", fontsize=10, color=EDGE)

    def lines(self, segments: Any, width: Any, color: Any, order: float, **options: Any) -> None:
        made = self.collections.LineCollection(
            segments, linewidths=np.asarray(width) * 72 / DPI, colors=color, zorder=order, capstyle="round", **options
        )
        self.ax.add_collection(made, autolim=False)

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

    def color(self, body: int) -> str:
        return PALETTE[self.scene.depths[body] % len(PALETTE)]

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

    def _shadow(self, xy: np.ndarray, scale: float) -> None:
        pairs = [(a, b) for a, b, _ in self.scene.bars] + self.scene.rods
        if pairs:
            self.lines(xy[np.array(pairs)], 0.026 * self.scene.thick * scale, "#dde2e7", 1)

    def _trails(self, i: int, target: np.ndarray) -> None:
        t = self.scene.t
        first = int(np.searchsorted(t, t[i] - self.scene.trail))
        for p in self.scene.trails if i > first else ():
            xy, _, _ = self.project(_finer(self.scene.points[first : i + 1, p]), target)
            alpha = 0.75 * np.linspace(0, 1, len(xy) - 1) ** 1.5
            self.lines(np.stack([xy[:-1], xy[1:]], axis=1), 1.8, ACCENT, 2, alpha=alpha)

    def _solids(self, xy: np.ndarray, scale: np.ndarray, near: np.ndarray) -> None:
        """Everything with a body, nearer things above; zorder from 10."""
        scene, size, thick = self.scene, self.scene.size, self.scene.thick

        def order(*points: int) -> float:
            return 10 + float(np.mean(near[list(points)])) / size

        above = [-np.inf] * len(scene.depths)  # of each body: how near its bars are
        for a, b, body in scene.bars:
            above[body] = max(above[body], order(a, b))
        for a, b, body in scene.bars:
            w = max(0.026 * thick * (scale[a] + scale[b]) / 2, 2.5)
            for width, paint in ((w + 2, EDGE), (w, self.color(body))):
                self.lines([xy[[a, b]]], width, paint, order(a, b) + (1e-6 if width == w else 0))
        for a, b in scene.posts:
            w = max(0.034 * thick * scale[a], 3)
            for width, paint in ((w + 2, EDGE), (w, "#b6bfc8")):
                self.lines([xy[[a, b]]], width, paint, order(a, b) + (1e-6 if width == w else 0))
        for plate in scene.plates:
            self.ax.fill(*xy[plate].T, color="#c3cbd3", ec=DIM, lw=0.9, zorder=2)
        for p, hangs in scene.mounts:
            if hangs:
                r = 0.055 * thick * scale[p]
                self.lines(xy[p] + r * _HATCHED, 1.3, DIM, 3)
        for a, b in [*scene.rods, *scene.springs]:
            self.lines([xy[[a, b]]], 1.8, DIM, order(a, b))
        for a, b in scene.rails:
            self.lines([xy[[a, b]]], 1.4, DIM, order(a, b), linestyles="dashed")
        for ring, body in scene.rings:
            paint = self.color(body)
            self.lines([xy[[*ring, ring[0]]]], 0.014 * thick * scale[ring[0]], paint, order(*ring))
        for p, r, body in scene.balls:
            side = 2 * r * scale[p] * 72 / DPI
            self.ax.scatter(*xy[p], s=side**2, color=self.color(body), alpha=0.25, lw=0, zorder=order(p))
        for corners, body in scene.boxes:
            for face in FACES:
                points = [corners[c] for c in face]
                self.ax.fill(*xy[points].T, color=self.color(body), alpha=0.5, ec=EDGE, lw=0.8,
                             zorder=order(*points))  # fmt: skip
        for a, b, *bodies in scene.pins:
            w, near_by = max(0.034 * thick * scale[a], 4), max([order(a, b), *(above[k] for k in bodies)])
            for width, paint, lift in ((w + 2, EDGE, 0.004), (w, "#d3dae0", 0.0041)):
                self.lines([xy[[a, b]]], width, paint, near_by + lift)
        for p in scene.knots:
            side = 2 * max(0.017 * thick * scale[p], 3) * 72 / DPI
            self.ax.scatter(*xy[p], s=side**2, color="#eef2f5", edgecolors=EDGE, lw=0.9, zorder=order(p) + 0.016)
        for p, r, body in scene.masses:
            radius, near_by = max(r * scale[p], 3), max(order(p), above[body])
            self.ax.scatter(*xy[p], s=(2 * radius * 72 / DPI) ** 2, color="white", edgecolors=EDGE, lw=0.9,
                            zorder=near_by + 0.012)  # fmt: skip
            self.ax.scatter(*xy[p], s=(radius * 72 / DPI) ** 2, color=self.color(body), lw=0,
                            zorder=near_by + 0.0121)  # fmt: skip


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


def _fitted(scene: Scene, view: View, aspect: float) -> tuple[np.ndarray, float]:
    """Where to look and from how far, to see all that will happen."""
    points = scene.points - _middle(scene.points)[:, None, :] if view.follow else scene.points
    seen = points[:: max(1, len(points) // 200)].reshape(-1, 3)
    right, up, back = view.axes()
    center = np.zeros(3) if view.follow else _middle(seen)
    wide, high = HALF * aspect * 0.88, HALF * 0.78
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
