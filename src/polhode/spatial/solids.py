"""Volume, centre and inertia of what a mesh encloses."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .hull import convex_hull
from .mesh import Mesh

RULES = ("convex", "exact", "legacy", "shell")


@dataclass(frozen=True, slots=True)
class Bulk:
    """What fills a mesh at density 1: its volume, centre (3,), and inertia about the centre (3, 3).

    Of a shell the volume is the area.
    """

    volume: float
    com: np.ndarray
    I: np.ndarray


def bulk(mesh: Mesh, rule: str = "exact") -> Bulk:
    """Sum over the triangles of a closed mesh.

    A triangle with corners a, b, c and the origin are a tetrahedron of volume v = a . (b x c) / 6, with sign, whose
    centre is (a + b + c) / 4 and whose second moment is v / 20 (a a^T + b b^T + c c^T + s s^T), s = a + b + c.

    rule : as MuJoCo's: "exact", the sum with signs; "convex", that of the convex hull; "legacy", the sum without
           signs, from the centre of the surface, too large for what is not convex; "shell", a thin skin
    """
    T = convex_hull(mesh.vertices).corners if rule == "convex" else mesh.corners
    a, b, c = T[:, 0], T[:, 1], T[:, 2]
    areas = np.linalg.norm(np.cross(b - a, c - a), axis=1) / 2
    if rule == "shell":
        return _summed(T, areas, np.zeros(3), shell=True)
    total = float(areas.sum())
    middle = areas @ T.mean(axis=1) / total if total > 0 else T.mean(axis=(0, 1))
    first = _summed(T, _volumes(T - middle, rule), middle)
    if rule != "legacy" or first.volume <= 0:
        return first
    v = _volumes(T - first.com, rule)  # counted anew from the centre
    return Bulk(float(v.sum()), first.com, _second(T - first.com, v, 20))


def _volumes(T: np.ndarray, rule: str) -> np.ndarray:
    """Of the tetrahedra from the origin."""
    v: np.ndarray = np.einsum("ij,ij->i", T[:, 0], np.cross(T[:, 1], T[:, 2])) / 6
    return np.abs(v) if rule == "legacy" else v


def _summed(T: np.ndarray, v: np.ndarray, apex: np.ndarray, shell: bool = False) -> Bulk:
    """The sum over simplices of volumes v: triangles of a shell, else tetrahedra from an apex."""
    total = float(v.sum())
    if total == 0:
        return Bulk(0.0, apex, np.zeros((3, 3)))
    com = v @ T.sum(axis=1) / (3 * total) if shell else apex + v @ (T - apex).sum(axis=1) / (4 * total)
    I = _second(T - apex, v, 12 if shell else 20)
    d = com - apex
    return Bulk(total, com, I - total * (d @ d * np.eye(3) - np.outer(d, d)))


def _second(T: np.ndarray, v: np.ndarray, parts: int) -> np.ndarray:
    """The inertia about the origin of simplices with these corners, and the origin as one of a tetrahedron's."""
    s = T.sum(axis=1)
    second = (np.einsum("i,ija,ijb->ab", v, T, T) + np.einsum("i,ia,ib->ab", v, s, s)) / parts
    found: np.ndarray = np.trace(second) * np.eye(3) - second
    return found
