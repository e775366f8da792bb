"""A scene as a page that plays it, or as a film."""

from __future__ import annotations

import base64
import html
import json
from importlib import resources
from pathlib import Path
from typing import Any

import numpy as np

from .film import write_film
from .scene import Scene
from .target import PAGES, for_animation

_PARTS = "depths bars boxes rings balls masses pins knots rails mounts posts plates springs rods marks trails".split()


def save(scene: Scene, path: Any, fps: int = 30) -> Path:
    """Write a scene: a page of its own for .html, a film for .gif and .mp4."""
    target = for_animation(path)
    if target.suffix.lower() in PAGES:
        target.write_text(page(scene), encoding="utf-8")
    else:
        write_film(scene, target, fps)
    return target


def page(scene: Scene) -> str:
    """Write the page: one file that needs no network."""
    span = float(scene.t[-1] - scene.t[0])
    data = {
        "title": scene.title,
        "note": scene.note,
        "alarm": scene.alarm,
        "start": float(scene.t[0]),
        "duration": span,
        "count": scene.points.shape[1],
        "points": base64.b64encode(scene.points.astype("<f4").tobytes()).decode(),
        "size": scene.size,
        "thick": scene.thick,
        "floor": scene.floor,
        "yaw": scene.view.yaw,
        "pitch": scene.view.pitch,
        "follow": scene.view.follow,
        "trail": scene.trail,
    }
    data |= {name: getattr(scene, name) for name in _PARTS}
    text = json.dumps(data, separators=(",", ":"), default=_plain).replace("<", "\\u003c")  # no tag ends the script
    player = resources.files("polhode.view").joinpath("player.html").read_text(encoding="utf-8")
    return player.replace("{{title}}", html.escape(scene.title)).replace("/*{{scene}}*/null", text)


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    raise TypeError(f"{value!r} is no number of a scene.")
