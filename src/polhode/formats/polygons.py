"""Faces with more corners than three, as triangles: the ones that MuJoCo makes, whose inertia depends on them.

A face of four corners is cut along its shorter diagonal. From others ears are cut, triangles of three corners in
a row with no other corner within, seen along one of the axes. What its rule cuts no more ears from is a hole there.
Reference: MuJoCo's loader of OBJ files, tinyobjloader, in single precision.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise

import numpy as np

SMALLEST = float(np.finfo(np.float32).eps)  # of an area that counts

Triangle = tuple[int, int, int]
Flat = tuple[float, float]


def triangles_of(face: Sequence[int], places: np.ndarray, holes: bool = False) -> list[Triangle]:
    """The triangles of a face, by the numbers of its corners; places in single precision, (n, 3).

    holes : whether they are left, or filled with triangles about a corner
    """
    if len(face) == 3:
        return [(face[0], face[1], face[2])]
    points = places[list(face)]
    cut = _halves(points) if len(face) == 4 else _ears(points, holes)
    return [(face[i], face[j], face[k]) for i, j, k in cut]


def _halves(points: np.ndarray) -> list[Triangle]:
    one, other = points[2] - points[0], points[3] - points[1]
    return [(0, 1, 2), (0, 2, 3)] if one @ one < other @ other else [(0, 1, 3), (1, 2, 3)]


def _ears(points: np.ndarray, holes: bool) -> list[Triangle]:
    flat: list[Flat] = points[:, _seen(points)].tolist()
    left = list(range(len(flat)))
    found: list[Triangle] = []
    at, tries, before = 0, len(left), len(left)
    while len(left) > 3 and tries > 0:
        n = len(left)
        at %= n
        tries, before = tries - 1 if n == before else n, n
        corners = [left[(at + k) % n] for k in range(3)]
        ear = [flat[k] for k in corners]
        others = (flat[left[(at + k) % n]] for k in range(3, n))
        if _turns_in(*ear) or any(_within(ear, point) for point in others):
            at += 1
            continue
        found.append((corners[0], corners[1], corners[2]))
        del left[(at + 1) % n]
    rest = [] if holes and len(left) > 3 else left
    return [*found, *((rest[0], j, k) for j, k in pairwise(rest[1:]))]


def _seen(points: np.ndarray) -> list[int]:
    """The two axes that are across the direction from which the first corner with an area is seen best."""
    for k in range(len(points)):
        a, b, c = (points[(k + j) % len(points)] for j in range(3))
        area = np.abs(np.cross(b - a, c - b))
        if area.max() > SMALLEST:
            x, y, z = area
            return [1, 2] if x > y and x > z else [0, 1] if z > x and z > y else [0, 2]
    return [1, 2]


def _turns_in(a: Flat, b: Flat, c: Flat) -> bool:
    """Whether a corner turns away from the face, as the loader finds it: against the side of the origin."""
    turn = (b[0] - a[0]) * (c[1] - b[1]) - (b[1] - a[1]) * (c[0] - b[0])
    return turn * (a[0] * b[1] - a[1] * b[0]) < 0


def _within(ear: Sequence[Flat], point: Flat) -> bool:
    """Whether a ray from the point crosses an odd number of edges."""
    inside = False
    for (x0, y0), (x1, y1) in zip(ear, (ear[2], ear[0], ear[1]), strict=True):
        if (y0 > point[1]) != (y1 > point[1]) and point[0] < (x1 - x0) * (point[1] - y0) / (y1 - y0) + x0:
            inside = not inside
    return inside
