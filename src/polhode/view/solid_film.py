"""Meshes in pictures of matplotlib: triangles, shaded by how they are turned."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from .meshes import ON_FILM, thinned
from .raster import rastered
from .scene import Shape, is_there

if TYPE_CHECKING:
    from .film import _Canvas

FINE = 2  # pixels of the image for one of the picture, along each side
ORDER = 9.5  # above the ground and the shadows, below what is drawn by lines
SUN = np.array([0.35, -0.5, 0.79])


class Surfaces:
    """The meshes of a scene, made smaller together."""

    def __init__(self, canvas: _Canvas, rgb: Callable[[str], Any]) -> None:
        self.canvas, self.image = canvas, None
        self.shapes = [shape for shape in canvas.scene.shapes if shape.mesh is not None]
        made = thinned([shape.mesh for shape in self.shapes if shape.mesh is not None], ON_FILM)
        self.corners = [
            mesh.corners.reshape(-1, 3) @ shape.pose[:3, :3].T + shape.pose[:3, 3]
            for mesh, shape in zip(made, self.shapes, strict=True)
        ]
        self.colors = [_colors(mesh.colors, len(mesh.triangles), shape, rgb(canvas.color(shape)))
                       for mesh, shape in zip(made, self.shapes, strict=True)]  # fmt: skip

    def draw(self, i: int, target: np.ndarray) -> None:
        """Draw them in frame i."""
        if self.image is not None:
            self.image.remove()
            self.image = None
        scene, canvas = self.canvas.scene, self.canvas
        there = [k for k, shape in enumerate(self.shapes) if is_there(shape, float(scene.t[i]))]
        if not there:
            return
        world, colors = [], []
        for k in there:
            X = scene.poses[i, self.shapes[k].body]
            world.append((self.corners[k] @ X[:3, :3].T + X[:3, 3]) @ scene.upright.T)
            colors.append(self.colors[k])
        points, paint = np.concatenate(world), np.concatenate(colors).copy()
        xy, scale, _ = canvas.project(points, target)
        T = points.reshape(-1, 3, 3)
        paint[:, :3] *= _light(T, canvas.view.axes()[2])[:, None]
        np.clip(paint, 0, 1, out=paint)
        width, height = (round(FINE * pixels) for pixels in (canvas.width, canvas.height))
        image = rastered(FINE * xy.reshape(-1, 3, 2), scale.reshape(-1, 3), paint, width, height)
        box = (0, canvas.width, 0, canvas.height)
        self.image = canvas.ax.imshow(
            image, extent=box, origin="lower", interpolation="antialiased", zorder=ORDER, aspect="auto"
        )


def _light(T: np.ndarray, back: np.ndarray) -> np.ndarray:
    """How bright triangles are, (m,), about 0.55 to 1.1; both of their sides are seen."""
    n = np.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0])
    n /= np.maximum(np.linalg.norm(n, axis=1, keepdims=True), 1e-300)
    n *= np.where(n @ back < 0, -1.0, 1.0)[:, None]
    found: np.ndarray = 0.5 + 0.36 * np.maximum(n @ SUN, 0) + 0.22 * np.maximum(n @ back, 0)
    return found


def _colors(own: np.ndarray | None, n: int, shape: Shape, rgba: Any) -> np.ndarray:
    """Of each triangle, (n, 4)."""
    if own is None:
        return np.tile(np.array(rgba, dtype=float), (n, 1))
    return np.concatenate([own / 255.0, np.ones((n, 1))], axis=1)
