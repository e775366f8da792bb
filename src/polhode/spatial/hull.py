"""Convex hulls of points in space."""

from __future__ import annotations

import numpy as np

from .mesh import Mesh

THIN = 1e-12  # of the extent: points nearer than that to a face are on it


def convex_hull(points: np.ndarray) -> Mesh:
    """The convex hull as a mesh, by quickhull: to a tetrahedron, the farthest point outside a face is added again and
    again; the faces that it sees make way for those between it and their rim.

    Reference: Barber, Dobkin, Huhdanpaa, The Quickhull Algorithm for Convex Hulls, 1996.
    """
    points = np.unique(np.asarray(points, dtype=float), axis=0)
    extent = float(np.ptp(points, axis=0).max()) if len(points) else 0.0
    first = _tetrahedron(points, THIN * extent)
    if first is None:
        raise ValueError("The points lie in a plane or on a line, expected some that enclose a volume.")
    made, inside = _Hull(points, THIN * extent), points[first].mean(axis=0)
    for k in range(4):
        a, b, c = (first[j] for j in range(4) if j != k)
        n = np.cross(points[b] - points[a], points[c] - points[a])
        made.add(a, b, c) if n @ (points[a] - inside) > 0 else made.add(a, c, b)
    made.share(range(4), np.setdiff1d(np.arange(len(points)), first))
    made.grow()
    faces = np.array(made.alive())
    used, inverse = np.unique(faces, return_inverse=True)
    return Mesh(points[used], inverse.reshape(-1, 3))


def _tetrahedron(points: np.ndarray, thin: float) -> list[int] | None:
    """Four points that are far apart."""
    if len(points) < 4:
        return None
    i = int(points[:, 0].argmin())
    d = points - points[i]
    j = int((d * d).sum(axis=1).argmax())
    across = np.cross(d, d[j])
    k = int((across * across).sum(axis=1).argmax())
    n = np.cross(d[j], d[k])
    size = float(np.linalg.norm(n))
    if size <= thin * float(np.linalg.norm(d[j])):
        return None
    height = np.abs(d @ n) / size
    m = int(height.argmax())
    return [i, j, k, m] if height[m] > thin else None


class _Hull:
    """Faces with the points that each sees, and who is beside whom."""

    def __init__(self, points: np.ndarray, thin: float) -> None:
        self.points, self.thin = points, thin
        self.faces: list[tuple[int, int, int] | None] = []
        self.planes: list[tuple[np.ndarray, float]] = []
        self.outside: list[np.ndarray] = []
        self.beside: dict[tuple[int, int], int] = {}  # the face that has an edge in that direction

    def add(self, a: int, b: int, c: int) -> None:
        p = self.points
        n = np.cross(p[b] - p[a], p[c] - p[a])
        size = float(np.linalg.norm(n))
        n = n / size if size > 0 else n
        k = len(self.faces)
        self.faces.append((a, b, c))
        self.planes.append((n, float(n @ p[a])))
        self.outside.append(np.zeros(0, dtype=int))
        for edge in ((a, b), (b, c), (c, a)):
            self.beside[edge] = k

    def share(self, faces: range, left: np.ndarray) -> None:
        """Give each point to the first of these faces that sees it; what none sees is inside."""
        for k in faces:
            n, d = self.planes[k]
            seen = self.points[left] @ n - d > self.thin
            self.outside[k], left = left[seen], left[~seen]

    def grow(self) -> None:
        at = 0
        while at < len(self.faces):
            if self.faces[at] is None or not len(self.outside[at]):
                at += 1
                continue
            n, _ = self.planes[at]
            far = int(self.outside[at][(self.points[self.outside[at]] @ n).argmax()])
            seen, rim = self._seen(at, far)
            left = np.concatenate([self.outside[k] for k in seen])
            for k in seen:
                self.faces[k] = None
            first = len(self.faces)
            for a, b in rim:
                self.add(a, b, far)
            self.share(range(first, len(self.faces)), left[left != far])

    def _seen(self, start: int, far: int) -> tuple[list[int], list[tuple[int, int]]]:
        """The faces that a point sees, connected with the first, and the edges around them."""
        p, seen, waiting, rim = self.points[far], {start}, [start], []
        while waiting:
            a, b, c = self.faces[waiting.pop()]  # type: ignore[misc]  # alive
            for edge in ((a, b), (b, c), (c, a)):
                other = self.beside[edge[::-1]]
                if other in seen:
                    continue
                n, d = self.planes[other]
                if n @ p - d > self.thin:
                    seen.add(other)
                    waiting.append(other)
                else:
                    rim.append((edge, other))
        return list(seen), [edge for edge, other in rim if other not in seen]

    def alive(self) -> list[tuple[int, int, int]]:
        return [face for face in self.faces if face is not None]
