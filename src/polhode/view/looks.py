"""Shapes that a model gives its bodies, as shapes of a scene."""

from __future__ import annotations

import warnings
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np

from polhode.model import Look, ModelError
from polhode.spatial import Mesh

from .meshes import capsule, extremes, surface
from .solid import aimed, pose

if TYPE_CHECKING:
    from .layout import _Layout


def owners(layout: _Layout) -> set[int]:
    """The bodies that are drawn by shapes of their own, and those without mass that only carry such."""
    shown = [look for look in layout.model.shapes if look.name not in layout.unseen]
    found = {layout.hosts[layout.frame(look.marker)[0]] for look in shown}
    for body in reversed(layout.bodies):
        below = [layout.index[each.name] for each in layout.bodies if each.parent == body.name]
        if below and found.issuperset(below) and layout.solids[body.name].mass == 0 and body.flexible is None:
            found.add(layout.index[body.name])
    return found


def places(layout: _Layout) -> list[tuple[int, np.ndarray]]:
    """The points of all shapes of bodies, each with its body."""
    found = []
    for look in layout.model.shapes:
        if (mesh := surface_of(layout, look)) is not None:
            body = layout.frame(look.marker)[0]
            found += [(body, p) for p in (extremes(mesh) if body else ())]
        elif look.kind in ("box", "sphere", "cylinder", "wire"):
            body, points = _placed(layout, look)
            found += [(body, p) for p in points]
    return found


def surface_of(layout: _Layout, look: Look) -> Mesh | None:
    """The mesh of a shape in the axes of its body, None where it is no mesh, or one that cannot be read."""
    if look.name in layout.unseen or not _solid(layout, look):
        return None
    if look.name not in layout.surfaces:
        try:
            layout.surfaces[look.name] = _surface(layout, look)
        except (ModelError, ValueError) as error:
            layout.unseen.add(look.name)
            said = str(error).strip().replace("\n", " ")
            warnings.warn(f"{look.what} is not drawn: {said}", UserWarning, stacklevel=2)
    return layout.surfaces.get(look.name)


def _solid(layout: _Layout, look: Look) -> bool:
    """Whether it is drawn by its surface: also a cylinder wider than long, which as a stroke would be a ball."""
    if look.kind != "cylinder":
        return look.kind in ("mesh", "capsule")
    _, points = _placed(layout, look)
    return bool(layout.numbers([look.width])[0] > np.linalg.norm(points[1] - points[0]) > 0)


def _surface(layout: _Layout, look: Look) -> Mesh:
    _, points = _placed(layout, look)
    if look.kind in ("capsule", "cylinder"):
        (width,) = layout.numbers([look.width])
        way = points[1] - points[0]
        length = float(np.linalg.norm(way))
        X = pose(points[0], aimed(way if length > 0 else np.array([0.0, 0.0, 1.0])))
        if look.kind == "capsule":
            return capsule(float(width) / 2, length).moved(X)
        size = pose(points.mean(axis=0), X[:3, :3] @ np.diag([width / 2, width / 2, length]))
        return surface("cylinder").moved(size)
    assert look.mesh is not None
    found = surface(look.mesh)
    if len(points):
        A = np.eye(4)
        A[:3, 3], A[:3, :3] = points[0], (points[1:] - points[0]).T
        return found.moved(A)
    X = layout.frame(look.marker)[1]
    return found if np.array_equal(X, np.eye(4)) else found.moved(X)


def draw(layout: _Layout) -> None:
    """Add what the model gives."""
    for look in layout.model.shapes:
        if look.name in layout.unseen or _solid(layout, look):
            if (mesh := surface_of(layout, look)) is not None:
                body = layout.frame(look.marker)[0]
                layout.mesh(body, mesh, role=look.role, color=look.color)
            continue
        body, points = _placed(layout, look)
        _, X = layout.frame(look.marker)
        (width,) = layout.numbers([look.width])
        if look.kind == "box":
            edges = np.abs(X[:3, :3].T @ (points[1] - points[0]))
            layout.add("box", body, pose(points.mean(axis=0), X[:3, :3]), *edges, role=look.role, color=look.color)
        elif look.kind == "sphere":
            layout.add("pin", body, pose(points[0]), width / 2, role=look.role, color=look.color)
        else:
            more = width / 2 if look.kind == "wire" else 0.0  # so that corners close
            for k, (a, b) in enumerate(pairwise(points)):
                _bar(layout, body, a, b, width, more * (k > 0), more * (k < len(points) - 2), look)


def _bar(
    layout: _Layout, body: int, a: np.ndarray, b: np.ndarray, width: float, before: float, after: float, look: Look
) -> None:
    """A cylinder from one point to another, and a little further at its ends."""
    length = float(np.linalg.norm(b - a))
    if length > 0:
        way = (b - a) / length
        start = a - before * way
        layout.add(
            "rod", body, pose(start, aimed(way)), length + before + after, width, role=look.role, color=look.color
        )


def _placed(layout: _Layout, look: Look) -> tuple[int, np.ndarray]:
    """The body of a shape, and its points there, (n, 3)."""
    body, X = layout.frame(look.marker)
    local = np.array([layout.numbers(point) for point in look.points]).reshape(-1, 3)
    return body, local @ X[:3, :3].T + X[:3, 3]
