"""A machine as points and what to draw between them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field

import numpy as np


@dataclass(frozen=True, slots=True)
class View:
    """A direction to look from: at yaw 0 along y, with x to the right; pitch looks down.

    follow : keep the machine in the middle
    """

    yaw: float
    pitch: float
    follow: bool

    def axes(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The directions to the right, up and towards the viewer."""
        cy, sy, cp, sp = math.cos(self.yaw), math.sin(self.yaw), math.cos(self.pitch), math.sin(self.pitch)
        right, up, back = [cy, sy, 0], [-sy * sp, cy * sp, cp], [sy * cp, -cy * cp, sp]
        return np.array(right), np.array(up), np.array(back)


@dataclass(kw_only=True)
class Scene:
    """Points over time, up along z, and what to draw between them by index.

    t      : (k,), evenly spaced
    points : (k, n, 3)
    view   : where to look from
    size   : a length that is typical of the machine; thick : the measure of how thick its parts are drawn
    floor  : height of the ground
    depths : of every body in the tree, for its colour
    bars   : (from, to, body)
    boxes  : (eight corners, body), bodies by their inertia
    rings  : (points, body), wheels; balls : (point, radius, body), spheres that roll
    masses : (point, radius, body), the centres of mass
    pins   : (from, to, body, parent), axes of hinges
    knots  : joints that turn about more than an axis
    rails  : (from, to), what slides
    mounts : (point, whether the machine hangs there), joints on the world
    posts  : (from, to), and plates: points around, what it stands on
    springs, rods : (from, to)
    marks  : (point, name)
    trails : points whose path is drawn
    trail  : for how long, in seconds
    alarm  : whether the note is bad news
    """

    title: str
    note: str
    t: np.ndarray
    points: np.ndarray
    view: View = field(default_factory=lambda: View(0.6, 0.32, False))
    size: float = 1.0
    thick: float = 1.0
    floor: float = 0.0
    depths: list[int] = field(default_factory=list)
    bars: list[tuple[int, int, int]] = field(default_factory=list)
    boxes: list[tuple[list[int], int]] = field(default_factory=list)
    rings: list[tuple[list[int], int]] = field(default_factory=list)
    balls: list[tuple[int, float, int]] = field(default_factory=list)
    masses: list[tuple[int, float, int]] = field(default_factory=list)
    pins: list[tuple[int, ...]] = field(default_factory=list)
    knots: list[int] = field(default_factory=list)
    rails: list[tuple[int, int]] = field(default_factory=list)
    mounts: list[tuple[int, bool]] = field(default_factory=list)
    posts: list[tuple[int, int]] = field(default_factory=list)
    plates: list[list[int]] = field(default_factory=list)
    springs: list[tuple[int, int]] = field(default_factory=list)
    rods: list[tuple[int, int]] = field(default_factory=list)
    marks: list[tuple[int, str]] = field(default_factory=list)
    trails: list[int] = field(default_factory=list)
    trail: float = 1.0
    alarm: bool = False


def viewpoint(scene: Scene) -> View:
    """Look at a plane motion from the front or from above, at any other from a corner."""
    points = scene.points
    middle = points.mean(axis=1)
    follow = bool(np.ptp(middle, axis=0).max() > 2.5 * scene.size)
    thin = 0.1 * scene.size  # pins are about as long
    if np.ptp(points[..., 2]) < thin:
        return View(0.0, 1.1, follow)
    flat = points[..., :2].reshape(-1, 2)
    _, directions = np.linalg.eigh(np.cov(flat.T)) if len(flat) > 1 else (None, np.eye(2))
    if np.ptp(flat @ directions[:, 0]) < thin:
        x, y = directions[:, 1] * (1 if directions[:, 1].sum() >= 0 else -1)
        return View(math.atan2(y, x), 0.12, follow)
    return View(0.6, 0.32, follow)
