"""Surfaces of triangles."""

from __future__ import annotations

from hashlib import sha256
from typing import Any

import numpy as np

MOST = 4_000_000  # triangles, and vertices, of one mesh


class Mesh:
    """A surface of triangles, which does not change.

    vertices  : (n, 3); triangles : (m, 3), places of vertices, counterclockwise as seen from outside
    colors    : (m, 3) from 0 to 255, red, green and blue of each triangle, or None
    """

    __slots__ = ("__weakref__", "_digest", "colors", "triangles", "vertices")

    vertices: np.ndarray
    triangles: np.ndarray
    colors: np.ndarray | None

    def __init__(self, vertices: Any, triangles: Any, colors: Any = None) -> None:
        v, f = _array(vertices, "vertices", "f"), _array(triangles, "triangles", "iu")
        if not np.isfinite(v).all():
            raise ValueError("Mesh: a vertex is infinite or no number, expected finite numbers.")
        if len(f) == 0:
            raise ValueError("Mesh: there are no triangles, expected one at least.")
        if f.min() < 0 or f.max() >= len(v):
            wrong = int(f.min() if f.min() < 0 else f.max())
            raise ValueError(f"Mesh: a triangle refers to vertex {wrong}, expected 0 to {len(v) - 1}.")
        self.vertices, self.triangles, self.colors = v, f, None
        if colors is not None:
            self.colors = _array(colors, "colors", "iu").astype(np.uint8)
            self.colors.flags.writeable = False
            if len(self.colors) != len(f):
                raise ValueError(f"Mesh: there are {len(self.colors)} colors, expected one for each of {len(f)}.")
        self._digest = b""

    def __repr__(self) -> str:
        return f"Mesh({len(self.vertices):,} vertices, {len(self.triangles):,} triangles)"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Mesh) and self.digest == other.digest

    def __hash__(self) -> int:
        return hash(self.digest)

    @property
    def digest(self) -> bytes:
        """What two meshes have alike only where they are equal."""
        if not self._digest:
            colors = b"" if self.colors is None else self.colors.tobytes()
            counts = f"{len(self.vertices)} {len(self.triangles)} ".encode()
            text = counts + self.vertices.tobytes() + self.triangles.astype("<i8").tobytes() + colors
            self._digest = sha256(text).digest()
        return self._digest

    @property
    def corners(self) -> np.ndarray:
        """The three points of each triangle, (m, 3, 3)."""
        found: np.ndarray = self.vertices[self.triangles]
        return found

    def moved(self, A: np.ndarray) -> Mesh:
        """The mesh under an affine map, (4, 4); one that mirrors turns the triangles over, so that out stays out."""
        v = self.vertices @ A[:3, :3].T + A[:3, 3]
        f = self.triangles[:, ::-1] if np.linalg.det(A[:3, :3]) < 0 else self.triangles
        return Mesh(v, np.ascontiguousarray(f), self.colors)


def welded(corners: np.ndarray, colors: np.ndarray | None = None) -> Mesh:
    """The mesh of loose triangles, (m, 3, 3): corners at one place become one vertex."""
    points = np.ascontiguousarray(corners.reshape(-1, 3), dtype=np.float64) + 0.0  # no minus zeros
    bits = points.view(np.uint64)
    with np.errstate(over="ignore"):
        mixed = (bits[:, 0] * np.uint64(0x9E3779B97F4A7C15)) ^ (bits[:, 1] >> np.uint64(17))
        mixed = (mixed * np.uint64(0xC2B2AE3D27D4EB4F)) ^ bits[:, 1]
        mixed = (mixed * np.uint64(0x165667B19E3779F9)) ^ (bits[:, 2] >> np.uint64(23)) ^ (bits[:, 2] << np.uint64(11))
    _, first, inverse = np.unique(mixed, return_index=True, return_inverse=True)
    vertices = points[first]
    if not np.array_equal(vertices[inverse.ravel()], points):  # two places that look alike to the mixture
        vertices, inverse = np.unique(points, axis=0, return_inverse=True)
    return Mesh(vertices, inverse.reshape(-1, 3), colors)


def _array(given: Any, what: str, kinds: str) -> np.ndarray:
    """Rows of three numbers, read-only."""
    try:
        found = np.asarray(given)
        if found.ndim == 2 and found.shape[1] == 3 and found.dtype.kind in ("f" + "iu"):
            if found.dtype.kind not in kinds and kinds == "iu":
                raise ValueError
            if len(found) > MOST:
                raise ValueError(f"Mesh: there are {len(found):,} {what}, expected {MOST:,} at most.")
            found = np.array(found, dtype=float if kinds == "f" else np.int64, order="C")
            found.flags.writeable = False
            return found
    except (TypeError, ValueError) as error:
        if str(error).startswith("Mesh:"):
            raise
    wanted = "numbers" if kinds == "f" else "whole numbers"
    raise ValueError(f"Mesh: {what} are {_short(given)}, expected rows of three {wanted}.") from None


def _short(given: Any) -> str:
    return f"an array of shape {given.shape}" if isinstance(given, np.ndarray) else f"{given!r:.60}"
