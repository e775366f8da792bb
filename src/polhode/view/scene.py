"""A machine to be drawn: shapes fixed to bodies, and where the bodies are at every time."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from html import escape
from typing import Any

import numpy as np

from polhode.model.errors import closest
from polhode.spatial import Mesh

from .meshes import extremes

SIZES = {  # how many numbers the size of each kind has
    **{"rod": 2, "cylinder": 2, "box": 3, "sphere": 1, "wheel": 2, "ring": 2, "disc": 1},
    **{"mass": 1, "mount": 1, "pin": 1, "marker": 0, "trail": 1},
    **{"spring": 1, "line": 1, "rail": 0, "arrow": 1, "rope": 2, "patch": 0, "tube": 1, "ghost": 1},
    "mesh": 0,
}
CIRCLE = np.array([(math.cos(x), math.sin(x), 0) for x in np.linspace(0, 2 * np.pi, 65)[:-1]])
CORNERS = np.array([[(i >> axis & 1) - 0.5 for axis in range(3)] for i in range(8)])
_ENDS = {"rod": np.array([[0, 0, 0], [0, 0, 1]]), "cylinder": np.array([[0, 0, -0.5], [0, 0, 0.5]])}

TAUT = 1e-4  # of its length: a rope that is looser sags
READ = 2.5  # s, that what happened is said
Spans = tuple[tuple[float, float], ...]


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Shape:
    """Something fixed to a body.

    kind : with its size, in the axes of the shape
           rod (length, width) from the origin along z; cylinder (length, width) about the origin along z;
           box (edges); sphere (radius); wheel and ring (radius, width) and disc (radius) across z;
           mass and mount (radius), the signs for a centre of mass and for what hangs from the world;
           pin (radius), a dot where something is held;
           marker (), a cross with a name; trail (seconds), the path behind the origin; mesh (), a surface
    body : by its place in the scene, 0 for the world
    pose : X_BS, (4, 4)
    role : what its colour says: "body", "joint", "stand", "quiet" or "accent"
    when : from when to when it is there; None for always
    mesh : of that kind, in the axes of the shape
    color : "#rrggbb" or "#rrggbbaa" instead of that of the role; a mesh that has colours keeps them
    """

    kind: str
    body: int
    pose: np.ndarray
    size: tuple[float, ...] = ()
    role: str = "body"
    name: str = ""
    when: Spans | None = None
    mesh: Mesh | None = None
    color: str = ""

    def __post_init__(self) -> None:
        _check(self)

    @property
    def bodies(self) -> tuple[int, ...]:
        """The body of each point."""
        return (self.body,) * len(self.points)

    @property
    def points(self) -> np.ndarray:
        """What it is drawn by, in its body, (n, 3): ends, corners, points around or farthest points, or the middle."""
        if self.kind in _ENDS:
            local = _ENDS[self.kind] * self.size[0]
        elif self.kind == "box":
            local = CORNERS * self.size
        elif self.mesh is not None:
            local = extremes(self.mesh)
        else:
            local = CIRCLE * self.size[0] if self.kind in ("wheel", "ring", "disc") else np.zeros((1, 3))
        found: np.ndarray = local @ self.pose[:3, :3].T + self.pose[:3, 3]
        return found


@dataclass(frozen=True, slots=True, kw_only=True, eq=False)
class Tie:
    """Something between points of bodies, mostly of two.

    kind   : "spring" and "line" (width), "rail", dashed, "arrow" (width), "rope" (length, width), which sags;
             "patch", a piece of the ground with its corners; "tube" (width), a bar that bends, through its points,
             and "ghost" (width), a faint line where it would be straight
    bodies : of its ends; points : (n, 3), each in its body
    when   : from when to when it is there; None for always
    """

    kind: str
    bodies: tuple[int, ...]
    points: np.ndarray
    size: tuple[float, ...] = ()
    role: str = "quiet"
    name: str = ""
    when: Spans | None = None

    def __post_init__(self) -> None:
        _check(self)


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Scene:
    """Shapes fixed to bodies, ties between them, and a pose for each body and time.

    t       : (k,), evenly spaced
    bodies  : names, the world first; parents : what carries each, by its place, the world itself
    hosts   : the body that each is a part of, by its place: of sections of bodies that deform; its own for others
    poses   : X_WB, (k, n, 4, 4)
    upright : (3, 3), turns the world so that z is up; view, floor and points are seen after it
    size    : a length that is typical of the machine; floor : the height of the ground
    marks   : (time, text), what happened when
    bands   : (name, ((start, end, word), ...)), what was in which mode from when to when
    alarm   : whether the note is bad news
    magnified : by how much deflections are larger than they are
    """

    t: np.ndarray
    bodies: tuple[str, ...]
    parents: tuple[int, ...]
    poses: np.ndarray
    shapes: tuple[Shape, ...] = ()
    ties: tuple[Tie, ...] = ()
    upright: np.ndarray
    view: View
    size: float = 1.0
    floor: float = 0.0
    title: str = ""
    note: str = ""
    alarm: bool = False
    marks: tuple[tuple[float, str], ...] = ()
    bands: tuple[tuple[str, tuple[tuple[float, float, str], ...]], ...] = ()
    magnified: float = 1.0
    hosts: tuple[int, ...] = ()

    def __post_init__(self) -> None:
        expected = (len(self.t), len(self.bodies), 4, 4)
        if self.poses.shape != expected:
            raise ValueError(f"Scene {self.title!r}: poses have shape {self.poses.shape}, expected {expected}.")
        for array in (self.t, self.poses, self.upright):
            array.flags.writeable = False
        object.__setattr__(self, "marks", tuple(sorted(self.marks)))
        object.__setattr__(self, "hosts", self.hosts or tuple(range(len(self.bodies))))

    @property
    def scale(self) -> str:
        """What has to be said of deflections that are not drawn as they are."""
        return "" if self.magnified == 1 else f"deflections \u00d7 {self.magnified:.6g}"

    @property
    def parts(self) -> tuple[Shape | Tie, ...]:
        """All that is drawn."""
        return (*self.shapes, *self.ties)

    @cached_property
    def depths(self) -> tuple[int, ...]:
        """How many bodies carry each, for its colour; the world has -1.

        Bodies of trees that stand side by side are told apart: each is counted on from the one before.
        """
        found = [-1]
        for k, parent in enumerate(self.parents[1:], start=1):
            own = (found[parent] if parent else max(found)) + 1
            found.append(own if self.hosts[k] == k else found[self.hosts[k]])
        return tuple(found)

    @cached_property
    def points(self) -> np.ndarray:
        """The points of all parts, one after the other, up along z, (k, m, 3)."""
        found: np.ndarray = where(self.poses, self.parts) @ self.upright.T
        return found if found.shape[1] else np.zeros((len(self.t), 1, 3))

    def newest(self, time: float) -> str:
        """The text of the last mark until a time, for as long as it takes to read it."""
        return next((text for t, text in reversed(self.marks) if t <= time < t + READ), "")

    def arrow(self, name: str, body: str, at: Any, vectors: Any, role: str = "accent") -> Scene:
        """The same scene with an arrow from a point of a body, such as a force times a scale.

        at : (3,), in the body; vectors : (k, 3), in the world
        """
        if body not in self.bodies:
            raise KeyError(f"Arrow {name!r}: there is no body {body!r}. {closest(body, self.bodies)}")
        index = self.bodies.index(body)
        tip = np.tile(np.eye(4), (len(self.t), 1, 1, 1))
        tip[:, 0, :3, 3] = self.poses[:, index, :3, :3] @ at + self.poses[:, index, :3, 3] + vectors
        ends = np.array([at, np.zeros(3)], dtype=float)
        tie = Tie(kind="arrow", bodies=(index, len(self.bodies)), points=ends, size=(0.012 * self.size,), role=role)
        return replace(
            self,
            bodies=(*self.bodies, name),
            parents=(*self.parents, index),
            hosts=(*self.hosts, len(self.bodies)),
            poses=np.concatenate([self.poses, tip], axis=1),
            ties=(*self.ties, replace(tie, name=name)),
        )

    def picture(self, time: float, path: Any = None) -> Any:
        """Draw the frame nearest to a time; return the matplotlib Figure, and write it where a path is given."""
        from .film import picture

        return picture(self, int(np.argmin(np.abs(self.t - time))), path)

    def _repr_html_(self) -> str:
        from .animate import page

        style = "width:100%;height:480px;border:0"
        return f'<iframe sandbox="allow-scripts" style="{style}" srcdoc="{escape(page(self))}"></iframe>'


def sag(length: float, apart: float) -> float:
    """How far a rope of a length hangs below the middle of its ends, as a parabola of about that length; 0 if taut."""
    if apart >= (1 - TAUT) * length:
        return 0.0
    return math.sqrt(length**2 - apart**2) * (0.5 - 0.067 * apart / length)


def is_there(part: Shape | Tie, time: float) -> bool:
    """Whether a part is there at a time."""
    return part.when is None or any(a <= time <= b for a, b in part.when)


def _check(part: Shape | Tie) -> None:
    if part.kind not in SIZES:
        raise ValueError(f"There is no kind of shape {part.kind!r}. {closest(part.kind, SIZES)}")
    if part.kind == "mesh" and getattr(part, "mesh", None) is None:
        raise ValueError("A shape of kind 'mesh' has no mesh, expected mesh=Mesh(vertices, triangles).")
    if len(part.size) != SIZES[part.kind]:
        raise ValueError(f"A {part.kind}: its size has {len(part.size)} numbers, expected {SIZES[part.kind]}.")


def where(poses: np.ndarray, parts: Iterable[Shape | Tie]) -> np.ndarray:
    """The points of parts in the world, (k, m, 3), from the poses of all bodies, (k, n, 4, 4)."""
    listed = list(parts)
    bodies = np.array([b for part in listed for b in part.bodies], dtype=int)
    points = np.concatenate([np.zeros((0, 3)), *(part.points for part in listed)])
    found = np.empty((len(poses), len(points), 3))
    for b in np.unique(bodies):
        R, p = poses[:, b, :3, :3], poses[:, b, None, :3, 3]
        found[:, bodies == b] = points[bodies == b] @ R.transpose(0, 2, 1) + p
    return found


def viewpoint(points: np.ndarray, size: float) -> View:
    """Look at a plane motion from the front or from above, at any other from a corner."""
    middle = points.mean(axis=1)
    follow = bool(np.ptp(middle, axis=0).max() > 2.5 * size)
    thin = 0.1 * size  # pins are about as long
    if np.ptp(points[..., 2]) < thin:
        return View(0.0, 1.1, follow)
    flat = points[..., :2].reshape(-1, 2)
    _, directions = np.linalg.eigh(np.cov(flat.T)) if len(flat) > 1 else (None, np.eye(2))
    if np.ptp(flat @ directions[:, 0]) < thin:
        x, y = directions[:, 1] * (1 if directions[:, 1].sum() >= 0 else -1)
        return View(math.atan2(y, x), 0.12, follow)
    return View(0.6, 0.32, follow)
