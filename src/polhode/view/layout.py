"""From a model and its motion to a scene: bodies between their joints, solids, ties, where it stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, evaluate, zeros
from polhode.model import WORLD, Joint, Loop, Model, Rolling, SpringDamper
from polhode.model.algebra import twists
from polhode.model.body import Body

from .scene import Scene, viewpoint

TIPS = 4  # most ends whose path is drawn
MARKS = 24  # most markers drawn
FEET = 2  # most posts under a machine
BULK = 0.25  # longest edge of a box, by the size of a machine that has more than it


def build(
    model: Model,
    poses: Mapping[str, np.ndarray],
    values: Mapping[Expr, float],
    t: np.ndarray,
    title: str = "",
    note: str = "",
) -> Scene:
    """Lay out a model as points: bodies between their joints, centres of mass, markers.

    model  : without welds
    poses  : (k, 4, 4) of every body
    values : of the parameters
    """
    return _Layout(model, poses, values, len(t)).scene(t, title, note)


class _Layout:
    """Collects points, each fixed to a body, while it goes through a model."""

    def __init__(self, model: Model, poses: Mapping[str, np.ndarray], values: Mapping[Expr, float], k: int) -> None:
        self.model, self.values = model, values
        self.poses = {WORLD: np.broadcast_to(np.eye(4), (k, 4, 4)), **poses}
        self.tracks: list[np.ndarray] = []  # (k, 3) each
        self.barred: set[str] = set()  # bodies that have a bar
        self.index = {body.name: k for k, body in enumerate(model.bodies)}
        self.depth = {WORLD: -1}
        for body in model.bodies:
            self.depth[body.name] = self.depth[body.parent] + 1
        self.held = {marker.name: (marker.body, self.numbers(marker.pose.p)) for marker in model.markers}
        self.held |= {name: (name, np.zeros(3)) for name in self.depth}

    def numbers(self, part: Matrix | Iterable[Expr]) -> np.ndarray:
        return np.array(evaluate(part, self.values), dtype=float)

    def point(self, body: str, at: Any) -> int:
        """A point of a body, by its place in it."""
        X = self.poses[body]
        self.tracks.append(X[:, :3, :3] @ np.asarray(at, dtype=float) + X[:, :3, 3])
        return len(self.tracks) - 1

    def marker(self, name: str) -> int:
        return self.point(*self.held[name])

    def scene(self, t: np.ndarray, title: str, note: str) -> Scene:
        made = Scene(title=title, note=note, t=t, points=np.zeros((len(t), 0, 3)))
        solids = {body.name: _Solid(self, body) for body in self.model.bodies}
        tied = _tied(self.model, [*_loops(self.model), *_springs(self.model)])
        tips = [self._skeleton(made, body, solids[body.name], tied) for body in self.model.bodies]
        self._ties(made)
        size = made.size = _size(self.tracks)
        lengths = [np.linalg.norm(self.tracks[a][0] - self.tracks[b][0]) for a, b, _ in made.bars]
        made.thick = min(size, 4 * float(np.mean(lengths))) if lengths else size
        made.trails = [tip for tip in tips if tip is not None][-TIPS:]
        self._solids(made, solids)
        self._pins(made)
        for marker in self.model.markers[:MARKS]:
            made.marks.append((self.marker(marker.name), marker.name))
        points = np.stack(self.tracks, axis=1) if self.tracks else np.zeros((len(t), 1, 3))
        made.points = points @ _upright(self.numbers(self.model.gravity)).T
        made.trail = float(np.clip(0.15 * (t[-1] - t[0]), 0.3, 2.0))
        made.depths = [self.depth[body.name] for body in self.model.bodies]
        low = float(np.nanmin(made.points[..., 2]))
        made.floor = 0.0 if low > -0.05 * size else low - 0.04 * size
        made.view = viewpoint(made)
        _stand(made)
        return made

    def _skeleton(self, made: Scene, body: Body, solid: _Solid, tied: Mapping[str, list[str]]) -> int | None:
        """Bars from a body's origin to what it carries, or to its tip; the index of the tip, if it has one."""
        name, index = body.name, self.index[body.name]
        children = [child for child in self.model.bodies if child.parent == name]
        ends = [self.numbers(child.pose.p) for child in children]
        ends += [self.held[marker][1] for marker in tied.get(name, [])]
        tip = None if children else self._tip(name, solid)
        if tip is not None:
            ends.append(tip)
        origin = self.point(name, np.zeros(3))
        base = self.point(body.parent, self.numbers(body.pose.p))
        free = _slides(body.joint) > 1
        if not free and _apart(self.tracks[origin], self.tracks[base]):
            made.rails.append((base, origin))
        if body.parent == WORLD and not free:
            made.mounts.append((base, self._pans(body)))
        for end in _distinct(ends):
            self.barred.add(name)
            made.bars.append((origin, self.point(name, end), index))
        return self.point(name, np.zeros(3) if tip is None else tip) if not children else None

    def _pans(self, body: Body) -> bool:
        """Whether a body on the world turns about the vertical, as the base of an arm does."""
        hinge, g = _hinge(body.joint), self.numbers(self.model.gravity)
        if hinge is None or not g.any():
            return False
        w = self.numbers(body.pose.R) @ self.numbers(hinge[0])
        return bool(abs(w @ g) > 0.95 * np.linalg.norm(w) * np.linalg.norm(g))

    def _tip(self, name: str, solid: _Solid) -> np.ndarray | None:
        """The far end of a body that carries nothing: its farthest marker, or as far as its mass goes."""
        found = [at for marker, (body, at) in self.held.items() if body == name and marker != name]
        far = max(found, key=lambda p: float(p @ p), default=np.zeros(3))
        far = far if far @ far > solid.com @ solid.com else solid.reach  # markers know better than inertias
        return far if far @ far > 0 else None

    def _solids(self, made: Scene, solids: Mapping[str, _Solid]) -> None:
        """Centres of mass; and boxes for bodies whose bars would not show how they turn."""
        heaviest = max((s.mass for s in solids.values()), default=0.0)
        parents = [body.parent for body in self.model.bodies]
        looped = _tied(self.model, _loops(self.model))
        for body in self.model.bodies:
            name, solid = body.name, solids[body.name]
            index, carried = self.index[name], parents.count(name)
            if solid.mass > 0:
                radius = (0.012 + 0.016 * (solid.mass / heaviest) ** (1 / 3)) * made.thick
                made.masses.append((self.point(name, solid.com), radius, index))
            turning = body.joint.nu >= 3 and carried == 0 and not 1 <= len(looped.get(name, ())) <= 2  # a rod
            bare = name not in self.barred and (carried == 0 or _slides(body.joint) > 0)
            if (carried >= 3 or turning or bare) and not any(index == owner for _, owner in made.rings):
                alone = len(solids) == 1 and not made.bars
                corners = solid.corners(math.inf if alone else (1.0 if carried >= 3 else BULK) * made.size)
                if corners is not None:
                    made.boxes.append(([self.point(name, corner) for corner in corners], index))

    def _pins(self, made: Scene) -> None:
        """A short piece of the axis of every hinge, a ball for joints that turn about more."""
        for body in self.model.bodies:
            hinge = _hinge(body.joint)
            if hinge is not None:
                w, v = self.numbers(hinge[0]), self.numbers(hinge[1])
                axis, at = w / np.linalg.norm(w), np.cross(w, v) / (w @ w)
                ends = [self.point(body.name, at + axis * (s * 0.03 * made.thick)) for s in (-1, 1)]
                bodies = [self.index[name] for name in (body.name, body.parent) if name != WORLD]
                made.pins.append((*ends, *bodies))
            elif body.joint.nu > 1 and not _slides(body.joint):
                made.knots.append(self.point(body.name, np.zeros(3)))

    def _ties(self, made: Scene) -> None:
        """Springs, rods and wheels."""
        for force in self.model.forces:
            if isinstance(force, SpringDamper):
                made.springs.append((self.marker(force.ends[0]), self.marker(force.ends[1])))
        for constraint in self.model.constraints:
            if isinstance(constraint, Loop) and constraint.kind == "distance":
                made.rods.append((self.marker(constraint.ends[0]), self.marker(constraint.ends[1])))
            elif isinstance(constraint, Loop) and constraint.kind in ("point", "hinge"):
                made.knots.append(self.marker(constraint.ends[0]))
            elif isinstance(constraint, Rolling):
                self._wheel(made, constraint)

    def _wheel(self, made: Scene, roll: Rolling) -> None:
        X = next((m.pose for m in self.model.markers if m.name == roll.wheel), None)
        R = np.eye(3) if X is None else self.numbers(X.R)
        body, at = self.held[roll.wheel]
        radius = float(self.numbers([roll.radius])[0])
        n = R @ self.numbers(roll.axis)
        normals = [n] if roll.shape == "disc" else list(R.T)
        if roll.shape == "sphere":
            made.balls.append((self.point(body, at), radius, self.index.get(body, 0)))
        for normal in normals:
            a, b = _across(normal)
            turns = np.linspace(0, 2 * np.pi, 33)[:-1]
            ring = [self.point(body, at + radius * (math.cos(x) * a + math.sin(x) * b)) for x in turns]
            made.rings.append((ring, self.index.get(body, 0)))
            if roll.shape == "disc":  # spokes show that it turns
                made.rods += [(ring[0], ring[16]), (ring[8], ring[24])]


class _Solid:
    """Where the mass of a body is, as the box of uniform density with its inertia."""

    def __init__(self, layout: _Layout, body: Body) -> None:
        total = body.total
        self.mass = float(layout.numbers([total.m])[0])
        self.com, self.axes = np.zeros(3), np.eye(3)
        self.box: np.ndarray | None = None
        if self.mass <= 0:
            return
        self.com = layout.numbers(total.h) / self.mass
        c = self.com
        central = layout.numbers(total.I) - self.mass * (c @ c * np.eye(3) - np.outer(c, c))
        moments, self.axes = np.linalg.eigh((central + central.T) / 2)
        squares = 6 * (moments.sum() - 2 * moments) / self.mass  # of the edges
        if np.all(np.isfinite(squares)):
            self.box = np.sqrt(np.maximum(squares, 0))

    @property
    def reach(self) -> np.ndarray:
        """How far the mass goes from the origin through its centre."""
        far = float(np.linalg.norm(self.com))
        if far == 0 or self.box is None:
            return self.com
        along = np.abs(self.axes.T @ (self.com / far))
        half = 0.5 * float(np.max(np.where(along > 0.95, self.box, 0.0)))
        return self.com * (1 + half / far)

    def corners(self, largest: float) -> np.ndarray | None:
        """The eight corners, (8, 3), smaller where an inertia was made up; None where it is a point."""
        if self.box is None or not self.box.max() > 0:
            return None
        box = np.maximum(self.box, 0.02 * self.box.max()) * min(1.0, largest / self.box.max())
        signs = np.array([[(i >> axis & 1) - 0.5 for axis in range(3)] for i in range(8)])
        found: np.ndarray = self.com + (signs * box) @ self.axes.T
        return found


def _stand(made: Scene) -> None:
    """Tell where the machine hangs, from what goes far below; put a post and a plate under where it stands.

    An arm, which turns about the vertical, stands unless it begins far below.
    """
    held = made.mounts
    made.mounts = []
    if len(held) > FEET:
        return
    first, low = float(np.nanmin(made.points[0, :, 2])), float(np.nanmin(made.points[..., 2]))
    added: list[tuple[float, float, float]] = []
    for p, pans in held:
        x, y, z = made.points[0, p]
        hangs = bool(z - (first if pans else low) > (0.6 if pans else 0.3) * made.size)
        made.mounts.append((p, hangs))
        if not hangs and z >= made.floor:
            foot = made.points.shape[1] + len(added)
            turns = np.linspace(0, 2 * np.pi, 25)[:-1]
            ring = [(x + 0.07 * made.size * math.cos(s), y + 0.07 * made.size * math.sin(s)) for s in turns]
            added += [(a, b, made.floor) for a, b in [(x, y), *ring]]
            made.plates.append(list(range(foot + 1, foot + 25)))
            if z > made.floor + 1e-6 * made.size:
                made.posts.append((foot, p))
    if added:
        still = np.broadcast_to(np.array(added), (len(made.t), len(added), 3))
        made.points = np.concatenate([made.points, still], axis=1)


def _loops(model: Model) -> list[tuple[str, str]]:
    return [c.ends for c in model.constraints if isinstance(c, Loop)]


def _springs(model: Model) -> list[tuple[str, str]]:
    return [f.ends for f in model.forces if isinstance(f, SpringDamper)]


def _tied(model: Model, ties: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """The markers of each body that are ends of something."""
    carrier = {marker.name: marker.body for marker in model.markers}
    found: dict[str, list[str]] = {}
    for end in (end for ends in ties for end in ends):
        if end in carrier:
            found.setdefault(carrier[end], []).append(end)
    return found


def _slides(joint: Joint) -> int:
    """How many directions a joint slides in without turning."""
    return sum(h.w == zeros(3) for part in joint.parts for h in twists(part.basis))


def _hinge(joint: Joint) -> tuple[Matrix, Matrix] | None:
    """Angular and linear part of the twist of a joint that turns about one axis."""
    if joint.nu != 1 or joint.nq != 1:
        return None
    (h,) = twists(joint.parts[0].H)
    return (h.w, h.v) if any(e != 0 for e in h.w) else None


def _apart(a: np.ndarray, b: np.ndarray) -> bool:
    return bool(np.abs(a - b).max(initial=0) > 1e-9)


def _distinct(points: Iterable[np.ndarray]) -> list[np.ndarray]:
    """Points other than the origin, each once."""
    found: list[np.ndarray] = []
    for p in points:
        if all(_apart(p, other) for other in [np.zeros(3), *found]):
            found.append(p)
    return found


def _across(n: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Two unit vectors across n."""
    a = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    a = a / np.linalg.norm(a)
    return a, np.cross(n / np.linalg.norm(n), a)


def _size(tracks: list[np.ndarray]) -> float:
    """The extent of the machine at a typical moment."""
    if not tracks:
        return 1.0
    points = np.stack(tracks, axis=1)
    extents = np.linalg.norm(points.max(axis=1) - points.min(axis=1), axis=1)
    found = float(np.median(extents[np.isfinite(extents)])) if np.isfinite(extents).any() else 0.0
    return found if found > 1e-9 else 1.0


def _upright(gravity: np.ndarray) -> np.ndarray:
    """The rotation that takes the direction against gravity to z; none where it is there, or there is no gravity."""
    g = float(np.linalg.norm(gravity))
    if g == 0:
        return np.eye(3)
    up = -gravity / g
    if up[2] > 1 - 1e-9:
        return np.eye(3)
    axis = int(np.argmax(np.abs(up)))
    if abs(up[axis]) > 1 - 1e-9:
        right = np.eye(3)[1 if axis == 0 else 0]
        return np.array([right, np.cross(up, right), up])
    a, b = _across(up)
    return np.array([a, b, up])
