"""Geometry of robot files as shapes of a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from polhode.graph import Matrix
from polhode.model import Builder
from polhode.model.looks import Look
from polhode.spatial import Mesh

from .xml import to_number


def placed(at: Sequence[float] | Matrix, R: Matrix, scale: Sequence[float]) -> np.ndarray:
    """Where the origin goes and the points at 1 along the axes, (4, 3): at a place, turned, of some size."""
    p = np.array([float(e) for e in at])
    axes = np.array([[float(e) for e in row] for row in R.rows()]) * np.array([float(e) for e in scale])
    return np.array([p, *(p + axes.T)])


def add_mesh(builder: Builder, body: str, mesh: Mesh | str, points: np.ndarray, color: str) -> bool:
    """Give a body a mesh, or a "capsule", whose width is the first scale and whose straight part the third.

    Returns whether there is anything of it to be seen.
    """
    given = {"marker": body, "color": color}
    if mesh == "capsule":
        p, half = points[0], (points[3] - points[0]) / 2
        width = 2 * float(np.linalg.norm(points[1] - points[0]))
        builder.add(Look, **given, kind="capsule", points=[(p - half).tolist(), (p + half).tolist()], width=width)
    elif not abs(np.linalg.det(points[1:] - points[0])) > 0:
        return False
    else:
        here = np.array_equal(points, np.array([[0, 0, 0], *np.eye(3)]))
        builder.add(Look, **given, kind="mesh", mesh=mesh, points=() if here else points.tolist())
    return True


def hexadecimal(words: str) -> str:
    """A colour of three or four numbers from 0 to 1 as "#rrggbb" or "#rrggbbaa"; "" if it is none."""
    found = [to_number(word) for word in words.split(maxsplit=4)]
    if len(found) not in (3, 4):
        return ""
    parts = [round(255 * min(max(float(x), 0.0), 1.0)) for x in found if x is not None]
    if len(parts) != len(found):
        return ""
    return "#" + "".join(f"{part:02x}" for part in (parts[:3] if parts[3:] == [255] else parts))
