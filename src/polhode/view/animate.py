"""A scene as a page that plays it, a film, or a picture of a moment."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Iterator
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from polhode.spatial import Mesh

from .film import PALETTE, write_film
from .meshes import ON_PAGE, packed, thinned
from .scene import Scene, Shape, Tie
from .target import PAGES, for_animation

FIELDS = tuple("title note alarm scale size floor marks bands depths parents hosts".split())


def save(scene: Scene, path: Any, fps: int = 30) -> Path:
    """Write a scene: a page of its own for .html, a film for .gif and .mp4."""
    target = for_animation(path)
    if target.suffix.lower() in PAGES:
        target.write_text(page(scene), encoding="utf-8")
    else:
        write_film(scene, target, fps)
    return target


def page(scene: Scene) -> str:
    """Write the page: one file that needs no network. It has the shapes once, and a pose for each body and frame."""
    return filled(_source("player.html"), scene.title, scene=as_json(scene_data(scene)))


def scene_data(scene: Scene) -> dict[str, Any]:
    """All that a page needs to draw a scene."""
    world, moving = poses7(scene)
    digits = 7 - int(np.floor(np.log10(scene.size)))
    made = iter(thinned([shape.mesh for shape in scene.shapes if shape.mesh is not None], ON_PAGE))
    return {
        **{name: getattr(scene, name) for name in FIELDS},
        **{name: getattr(scene.view, name) for name in ("yaw", "pitch", "follow")},
        **{"start": scene.t[0], "duration": scene.t[-1] - scene.t[0], "frames": len(scene.t), "palette": PALETTE},
        "parts": [part_data(part, made) | {"points": part.points.round(digits)} for part in scene.parts],
        "world": world,
        "poses": base64.b64encode(moving.astype("<f4").tobytes()).decode(),
    }


def part_data(part: Shape | Tie, meshes: Iterator[Mesh]) -> dict[str, Any]:
    """What a page knows of a part, but for its points; a mesh is the next of those made for it."""
    fields = ("kind", "size", "role", "name", "bodies", "when")
    found = {field: getattr(part, field) for field in fields}
    if isinstance(part, Shape) and part.color:
        found["color"] = part.color
    if isinstance(part, Shape) and part.mesh is not None:
        found["mesh"] = packed(next(meshes))
    return found


def as_json(data: Any) -> str:
    """Data as a value in a script of a page, which no tag in it ends."""
    return json.dumps(data, separators=(",", ":"), default=_plain).replace("<", "\\u003c")


def filled(text: str, title: str, **values: str) -> str:
    """A page with the look and the drawing that all have, and with values: each in place of /*{{its name}}*/.

    All at once, so that nothing in a value is taken for a place.
    """
    drawing = "".join(_source(name) for name in ("drawing.js", "unpack.js", "meshes.js"))
    drawing = drawing.replace("export function", "function")  # of modules for the live page
    known = {"look": _source("look.css"), "drawing": drawing, "title": html.escape(title), **values}
    place = re.compile(r"/\*\{\{(\w+)\}\}\*/(?:null|\n)|\{\{(title)\}\}")
    return place.sub(lambda found: known[found[1] or found[2]], text)


def _source(name: str) -> str:
    return resources.files("polhode.view").joinpath(name).read_text(encoding="utf-8")


def poses7(scene: Scene) -> tuple[np.ndarray, np.ndarray]:
    """Places and unit quaternions w, x, y, z, whose signs do not jump; up along z.

    Returns the world's, (7,), and those of the other bodies, (k, n, 7).
    """
    found = places(scene.poses, scene.upright)
    same = np.where(np.sum(found[1:, :, 3:] * found[:-1, :, 3:], axis=-1) < 0, -1.0, 1.0)
    found[1:, :, 3:] *= np.cumprod(same, axis=0)[..., None]
    return found[0, 0], found[:, 1:]


def places(poses: np.ndarray, upright: np.ndarray) -> np.ndarray:
    """Places and unit quaternions w, x, y, z, (k, n, 7), of poses, (k, n, 4, 4), in a world turned so that z is up."""
    U = np.eye(4)
    U[:3, :3] = upright
    X = U @ poses
    R, trace = X[..., :3, :3], np.trace(X[..., :3, :3], axis1=-2, axis2=-1)[..., None, None]
    Q = np.empty((*R.shape[:2], 4, 4))  # 4 q q^T
    Q[..., :1, :1] = 1 + trace
    Q[..., 1:, 1:] = R + R.swapaxes(-1, -2) + (1 - trace) * np.eye(3)
    for k, (i, j) in enumerate(((2, 1), (0, 2), (1, 0)), start=1):
        Q[..., 0, k] = Q[..., k, 0] = R[..., i, j] - R[..., j, i]
    largest = np.argmax(np.diagonal(Q, axis1=-2, axis2=-1), axis=-1)[..., None, None]
    q = np.take_along_axis(Q, largest, axis=-2)[..., 0, :]
    q /= np.linalg.norm(q, axis=-1, keepdims=True)
    return np.concatenate([X[..., :3, 3], q], axis=-1)


def _plain(value: Any) -> Any:
    if isinstance(value, np.ndarray | np.generic):
        return value.tolist()
    raise TypeError(f"{value!r} is no number of a scene.")
