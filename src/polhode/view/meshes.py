"""Meshes on their way to pictures: read, made smaller where they are large, packed for pages."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from polhode.formats.meshes import read_mesh
from polhode.spatial import Mesh
from polhode.spatial.mesh import welded

AROUND = 28  # sides of what is round
ON_FILM, ON_PAGE, ALIVE = 60_000, 60_000, 150_000  # most triangles of a picture, of a page of its own, of the live page
STEPS = 65535  # in each direction, of places in a page
# 26 directions: in the farthest points along them a mesh casts its shadow, and fits into pictures
_WAYS = np.array([(x, y, z) for x in (-1, 0, 1) for y in (-1, 0, 1) for z in (-1, 0, 1) if x or y or z], dtype=float)
_EXTREMES: WeakKeyDictionary[Mesh, np.ndarray] = WeakKeyDictionary()
_WAYS /= np.linalg.norm(_WAYS, axis=1, keepdims=True)


def surface(mesh: Mesh | str) -> Mesh:
    """The mesh of a shape: its own, a file's, or one that everybody knows."""
    if isinstance(mesh, Mesh):
        return mesh
    return known(mesh) if mesh in ("box", "sphere", "cylinder") else read_mesh(mesh)


@cache
def known(name: str) -> Mesh:
    """A box with edges of 1, a sphere with a radius of 1, or a cylinder with these along z."""
    if name == "box":
        corners = np.array([[(i >> axis & 1) - 0.5 for axis in range(3)] for i in range(8)])
        faces = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
        return Mesh(corners, [t for a, b, c, d in faces for t in ((a, b, c), (a, c, d))])
    if name == "cylinder":
        return turned([(0.0, -0.5), (1.0, -0.5), (1.0, 0.5), (0.0, 0.5)])
    angles = np.linspace(-np.pi / 2, np.pi / 2, AROUND // 2 + 1)
    return turned([(float(np.cos(a)), float(np.sin(a))) for a in angles])


@lru_cache(maxsize=1024)
def capsule(radius: float, length: float) -> Mesh:
    """A cylinder along z from 0 to a length, with half balls at its ends."""
    low, high = np.linspace(-np.pi / 2, 0, AROUND // 4 + 1), np.linspace(0, np.pi / 2, AROUND // 4 + 1)
    ends = [(radius * np.cos(a), radius * np.sin(a) + z) for angles, z in ((low, 0.0), (high, length)) for a in angles]
    return turned([(float(r), float(z)) for r, z in ends])


def turned(profile: Sequence[tuple[float, float]]) -> Mesh:
    """The surface of a profile (radius, height), from below to above, that turns about z."""
    angles = 2 * np.pi * np.arange(AROUND) / AROUND
    r, z = np.array(profile).T
    r = np.where(np.abs(r) < 1e-12 * np.abs(r).max(), 0.0, r)
    rings = np.stack([np.outer(r, np.cos(angles)), np.outer(r, np.sin(angles)), np.outer(z, np.ones(AROUND))], axis=2)
    a, b = rings[:-1], rings[1:]
    a1, b1 = np.roll(a, -1, axis=1), np.roll(b, -1, axis=1)
    T = np.concatenate([np.stack([a, a1, b1], axis=2), np.stack([a, b1, b], axis=2)]).reshape(-1, 3, 3)
    flat = np.linalg.norm(np.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0]), axis=1) > 0
    return welded(T[flat])


def extremes(mesh: Mesh) -> np.ndarray:
    """The farthest points in many directions, (n, 3)."""
    if mesh not in _EXTREMES:
        _EXTREMES[mesh] = _extremes(mesh)
    return _EXTREMES[mesh]


def _extremes(mesh: Mesh) -> np.ndarray:
    used = mesh.vertices[np.unique(mesh.triangles)]
    found: np.ndarray = used[np.unique(np.argmax(used @ _WAYS.T, axis=0))]
    return found


def thinned(meshes: Sequence[Mesh], most: int) -> list[Mesh]:
    """The meshes with about so many triangles together at most: what is finer than a common grain is made coarser."""
    total = sum(len(mesh.triangles) for mesh in meshes)
    if total <= most:
        return list(meshes)
    area = sum(_area(mesh) for mesh in meshes)
    grain, found = float(np.sqrt(1.2 * area / most)), list(meshes)
    for _ in range(8):
        found = [clustered(mesh, grain) for mesh in meshes]
        total = sum(len(mesh.triangles) for mesh in found)
        if total <= most:
            break
        grain *= max(1.1, float(np.sqrt(total / most)))
    return found


def clustered(mesh: Mesh, grain: float) -> Mesh:
    """The mesh with the vertices within each cube of a grid made one, and without the triangles that this closes.

    A mesh that is coarse already stays as it is.
    """
    if len(mesh.triangles) < 64:
        return mesh
    v = mesh.vertices
    cells = np.floor((v - v.min(axis=0)) / grain).astype(np.int64)
    cells = np.minimum(cells, (1 << 20) - 1)
    keys = (cells[:, 0] << 40) | (cells[:, 1] << 20) | cells[:, 2]
    if mesh.colors is not None:  # what has another colour lies above or below, and stays apart
        shades = np.zeros(len(v), dtype=np.int64)
        shades[mesh.triangles] = (mesh.colors.astype(np.int64) @ [65536, 256, 1])[:, None]
        _, places = np.unique(keys, return_inverse=True)
        keys = (places.ravel() << 24) | shades
    _, inverse, counts = np.unique(keys, return_inverse=True, return_counts=True)
    inverse = inverse.ravel()
    middle = np.stack([np.bincount(inverse, weights=v[:, d]) for d in range(3)], axis=1) / counts[:, None]
    f = inverse[mesh.triangles]
    kept = (f[:, 0] != f[:, 1]) & (f[:, 1] != f[:, 2]) & (f[:, 2] != f[:, 0])
    order = np.sort(f, axis=1)
    _, first = np.unique(order[:, 0] * len(counts) ** 2 + order[:, 1] * len(counts) + order[:, 2], return_index=True)
    once = np.zeros(len(f), dtype=bool)
    once[first] = True
    kept &= once
    if not kept.any() or kept.sum() > 0.9 * len(f):
        return mesh
    return Mesh(middle, f[kept], None if mesh.colors is None else mesh.colors[kept])


def packed(mesh: Mesh) -> dict[str, Any]:
    """A mesh for a page: places as whole numbers from 0 to 65535 in the box around it, then triangles, as base64.

    groups : (count, color) for triangles one after the other, the colour "" where the mesh has none
    """
    used, inverse = np.unique(mesh.triangles, return_inverse=True)
    v, f = mesh.vertices[used], inverse.reshape(-1, 3)
    groups: list[tuple[int, str]] = [(len(f), "")]
    if mesh.colors is not None:
        keys = mesh.colors.astype(np.int64) @ [65536, 256, 1]
        order = np.argsort(keys, kind="stable")
        shades, counts = np.unique(keys, return_counts=True)
        f, groups = f[order], [(int(n), f"#{key:06x}") for key, n in zip(shades, counts, strict=True)]
    low = v.min(axis=0)
    step = np.maximum(np.ptp(v, axis=0) / STEPS, 1e-30)
    whole = np.round((v - low) / step).astype("<u2")
    return {
        "low": low.tolist(), "step": step.tolist(), "places": _text(whole), "groups": groups,
        "triangles": _text(f.astype("<u2" if len(v) <= STEPS else "<u4")), "wide": len(v) > STEPS,
    }  # fmt: skip


def _area(mesh: Mesh) -> float:
    T = mesh.corners
    return float(np.linalg.norm(np.cross(T[:, 1] - T[:, 0], T[:, 2] - T[:, 0]), axis=1).sum() / 2)


def _text(array: np.ndarray) -> str:
    return base64.b64encode(np.ascontiguousarray(array).tobytes()).decode()
