"""From a model and its motion to a scene: bodies between their joints, solids, ties, where it stands."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.graph import Expr, Matrix, zeros
from polhode.model import WORLD, Contact, Joint, Latch, Loop, Model, Rolling, Rope, SpringDamper
from polhode.model.algebra import twists
from polhode.model.body import Body
from polhode.model.flexible import Station
from polhode.spatial import Mesh, Pose

from . import ground, looks, sections, switched
from .frames import Frames
from .scene import Scene, Shape, Spans, Tie, viewpoint, where
from .solid import Solid, aimed, numbers, pose, upright

TIPS = 4  # most ends whose path is drawn
MARKERS = 24  # most markers drawn
FEET = 2  # most posts under a machine
FRAME = 4  # from so many bodies that it carries, a body is drawn as a frame
BULK = 0.25  # longest edge of a box, by the size of a machine that has more than it


def build(
    model: Model,
    poses: Mapping[str, np.ndarray],
    values: Mapping[Expr, float],
    t: np.ndarray,
    modes: switched.Modes | None = None,
    amplitudes: Mapping[str, np.ndarray] | None = None,
    magnified: float = 1.0,
    **words: Any,
) -> Scene:
    """Lay out a model: bodies between their joints, centres of mass, markers.

    poses  : (k, 4, 4) of every body that is not welded to another
    values : of the parameters
    modes  : from when to when what comes and goes does what
    amplitudes : (k, m), of the modes of every body that deforms, with which the poses were computed
    magnified  : by how much the amplitudes, and with them what stands on such bodies, are drawn larger
    words  : title, note, alarm, marks and bands of the scene
    """
    layout = _Layout(model.merged(), poses, values, t)
    sections.join(layout, amplitudes or {}, magnified)
    return layout.scene(modes or {}, {**words, "magnified": magnified if layout.lines else 1.0})


def build_live(
    model: Model, poses: Mapping[str, np.ndarray], values: Mapping[Expr, float], amplitudes: Mapping[str, np.ndarray]
) -> tuple[Scene, Frames]:
    """Lay out a model at one state, and say where its frames are at others.

    poses, amplitudes : as of `build`, (1, 4, 4) and (1, m)

    A part that comes and goes has as `when` the place of its constraint among the model's, from k to k, from 1 on.
    What is there while bodies are somewhere, as of contacts that are springs, has 0, or nothing.
    """
    owners = {c.name: [(float(k), float(k), "acts")] for k, c in enumerate(model.merged().constraints, start=1)}
    layout = _Layout(model.merged(), poses, values, np.zeros(1))
    sections.join(layout, amplitudes, 1.0)
    scene = layout.scene(owners, {"title": model.name})
    return scene, Frames(layout)


class _Layout:
    """Collects shapes while it goes through a model without welds."""

    def __init__(
        self, model: Model, poses: Mapping[str, np.ndarray], values: Mapping[Expr, float], t: np.ndarray
    ) -> None:
        self.model, self.values, self.t = model, values, t
        self.bodies = [body for body in model.bodies if not body.rotor]  # rotors are within others
        self.names = (WORLD, *(body.name for body in model.bodies))
        self.index = {name: k for k, name in enumerate(self.names)}
        self.parents = (0, *(self.index[body.parent] for body in model.bodies))
        self.hosts = tuple(range(len(self.names)))
        still = np.broadcast_to(np.eye(4), (len(t), 4, 4))
        self.poses = np.stack([still, *(poses[name] for name in self.names[1:])], axis=1)
        self.true = self.poses  # as they are, where those that are drawn are magnified
        self.solids = {body.name: Solid(body, values) for body in model.bodies}
        self.shapes: list[Shape] = []
        self.ties: list[Tie] = []
        self.size = self.thick = 1.0  # of the machine; the measure of how thick its parts are drawn
        self.alone = False  # one body without bars or wheels
        self.bars: Mapping[str, Sequence[np.ndarray]] = {}
        # of bodies that deform: their lines, the stations that carry something, and the frames of those that move
        self.lines: dict[str, tuple[tuple[Station, ...], ...]] = {}
        self.stations: dict[tuple[str, Matrix], Station] = {}
        self.sections: dict[tuple[str, Station], int] = {}
        self.surfaces: dict[str, Mesh] = {}  # of shapes that are meshes, in the axes of their bodies
        self.unseen: set[str] = set()  # shapes that cannot be read
        self.feet: dict[int, switched.Foot] = {}  # the frames of points of contact

    def numbers(self, part: Matrix | Iterable[Expr]) -> np.ndarray:
        return numbers(part, self.values)

    def frame(self, name: str) -> tuple[int, np.ndarray]:
        """The body of a marker or body, or the section of one that deforms, and its pose in it."""
        return sections.place(self, *self.model.frame(name))

    def join(self, names: Sequence[str], poses: np.ndarray, host: int | None = None) -> int:
        """Have frames that move, (k, n, 4, 4), as if they were bodies, or as parts of one; the index of the first."""
        first, more = len(self.names), len(names)
        self.names, self.parents = (*self.names, *names), (*self.parents, *[host or 0] * more)
        self.hosts += tuple(range(first, first + more)) if host is None else (host,) * more
        self.poses = np.concatenate([self.poses, poses], axis=1)
        return first

    def reach(self, name: str) -> np.ndarray:
        """The farthest end of the bars of a body."""
        return max(self.bars[name], key=lambda p: float(p @ p), default=np.zeros(3))

    def add(
        self,
        kind: str,
        body: int,
        X: np.ndarray,
        *size: float,
        role: str = "body",
        name: str = "",
        when: Spans | None = None,
        color: str = "",
    ) -> None:
        made = Shape(
            kind=kind, body=body, pose=X, size=tuple(map(float, size)), role=role, name=name, when=when, color=color
        )
        self.shapes.append(made)

    def mesh(self, body: int, mesh: Mesh, role: str, color: str) -> None:
        self.shapes.append(Shape(kind="mesh", body=body, pose=np.eye(4), mesh=mesh, role=role, color=color))

    def rod(self, body: int, a: np.ndarray, b: np.ndarray, width: float, role: str = "body") -> None:
        self.add("rod", body, pose(a, aimed(b - a)), float(np.linalg.norm(b - a)), width, role=role)

    def tie(self, kind: str, a: tuple[int, np.ndarray], b: tuple[int, np.ndarray], *size: float, **more: Any) -> None:
        self.ties.append(Tie(kind=kind, bodies=(a[0], b[0]), points=np.array([a[1], b[1]]), size=size, **more))

    def patch(self, body: int, corners: np.ndarray) -> None:
        self.ties.append(Tie(kind="patch", bodies=(body,) * len(corners), points=corners, role="stand"))

    def scene(self, modes: switched.Modes, words: Mapping[str, Any]) -> Scene:
        tips = {body.name: self._tip(body.name) for body in self.bodies if not self._carried(body.name)}
        bars = {body.name: self._ends(body.name, tips.get(body.name)) for body in self.bodies}
        self.bars = bars
        self._measure(bars)
        self._ties()
        looks.draw(self)
        shaped = looks.owners(self)
        bare = [body for body in self.bodies if self.index[body.name] not in shaped]
        for body in bare:
            self._skeleton(body, bars[body.name])
        self._solids(bare, bars)
        for marker in self.model.markers[:MARKERS]:
            self.add("marker", *self.frame(marker.name), role="quiet", name=marker.name)
        seconds = float(np.clip(0.15 * (self.t[-1] - self.t[0]), 0.3, 2.0))
        for name in list(tips)[-TIPS:]:
            tip, frame = tips[name], self.index[name]
            if name in self.lines:
                frame, tip = sections.point(self, name, sections.tip(self, name))
            self.add("trail", frame, pose(np.zeros(3) if tip is None else tip), seconds, role="accent")
        U = upright(self.numbers(self.model.gravity))
        switched.draw(self, modes, U)
        ground.draw(self)
        parts: list[Shape | Tie] = [*self.shapes, *self.ties]
        points = where(self.poses, parts) @ U.T if parts else np.zeros((len(self.t), 1, 3))
        low = float(np.nanmin(points[..., 2]))
        floor = 0.0 if low > -0.05 * self.size else low - 0.04 * self.size
        level = ground.level(self, U)
        floor = floor if level is None else level
        self._stand(points, floor, U, grounded=level is not None, shaped=shaped)
        view = viewpoint(points, self.size)
        return Scene(
            t=self.t,
            bodies=self.names,
            parents=self.parents,
            hosts=self.hosts,
            poses=self.poses,
            shapes=tuple(self.shapes),
            ties=tuple(self.ties),
            upright=U,
            view=replace(view, follow=False) if any(tie.kind == "patch" for tie in self.ties) else view,
            size=self.size,
            floor=floor,
            **words,
        )

    def _carried(self, name: str) -> int:
        return sum(body.parent == name for body in self.bodies)

    def _ends(self, name: str, tip: np.ndarray | None) -> list[np.ndarray]:
        """Where bars go from a body's origin: to what it carries, to what is tied to it, to its tip."""
        ends = [self.numbers(X.p) for X in self._carries(name)]
        if name in self.lines:
            tip = self.numbers(sections.tip(self, name).p)
        found = [np.zeros(3)]
        for p in [*ends, *([] if tip is None else [tip])]:
            if all(_apart(p, other) for other in found):
                found.append(p)
        return found[1:]

    def _carries(self, name: str) -> list[Pose]:
        """Where on a body others are, or are tied to it, or it touches the ground."""
        feet = [c.marker for c in ground.contacts(self.model)]
        on = [*self._tied(name, Loop, SpringDamper, Rope, Latch), *feet]
        frames = [X for body, X in map(self.model.frame, on) if body == name]
        return [*(child.pose for child in self.bodies if child.parent == name), *frames]

    def _tied(self, name: str, *kinds: type) -> list[str]:
        """The markers of a body that are ends of loops or springs."""
        ends = [e for part in _between(self.model) if isinstance(part, kinds) for e in part.ends]
        return [end for end in ends if end not in self.index and self.model.frame(end)[0] == name]

    def _tip(self, name: str) -> np.ndarray | None:
        """The far end of a body that carries nothing: its farthest marker, or as far as its mass goes."""
        solid, found = self.solids[name], [np.zeros(3)]
        found += [self.numbers(marker.pose.p) for marker in self.model.markers if marker.body == name]
        far = max(found, key=lambda p: float(p @ p))
        far = far if far @ far > solid.com @ solid.com else solid.reach  # markers know better than inertias
        return far if far @ far > 0 else None

    def _measure(self, bars: Mapping[str, Sequence[np.ndarray]]) -> None:
        """The extent of the machine at a typical moment; of its way, where it is a point."""
        places = [(self.index[name], np.zeros(3)) for name in bars]
        places += [(self.index[name], end) for name, ends in bars.items() for end in ends]
        bases = [sections.place(self, b.parent, b.pose) for b in self.bodies if _slides(b.joint) < 2]
        places += [(k, X[:3, 3]) for k, X in bases]
        places += [(k, X[:3, 3]) for part in _between(self.model) for k, X in map(self.frame, part.ends)]
        places += looks.places(self)
        self._wheels()
        self.alone = len(bars) == 1 and not any(bars.values()) and not self.shapes
        if not places:
            return
        dots = [Shape(kind="marker", body=k, pose=pose(p)) for k, p in places]
        points = where(self.poses, [*dots, *self.shapes])
        extents = np.linalg.norm(np.ptp(points, axis=1), axis=1)
        found = float(np.median(extents[np.isfinite(extents)])) if np.isfinite(extents).any() else 0.0
        if self.alone and (edges := self.solids[self.names[1]].edges()) is not None:
            found = max(found, float(np.linalg.norm(edges)))
        way = float(np.linalg.norm(np.ptp(points.reshape(-1, 3), axis=0)))
        if not any(bars.values()) and not self.shapes and any(isinstance(c, Contact) for c in self.model.constraints):
            found = max(found, 0.4 * way)  # a point, which is small beside the way to the ground
        self.size = next((x for x in (found, way) if x > 1e-9), 1.0)
        lengths = [float(np.linalg.norm(end)) for ends in bars.values() for end in ends]
        self.thick = min(self.size, 4 * float(np.mean(lengths))) if lengths else self.size
        rim = 0.014 * self.thick
        self.shapes = [s if s.kind == "sphere" else replace(s, size=(s.size[0], rim)) for s in self.shapes]

    def _wheels(self) -> None:
        """Discs with spokes, which show that they turn, and spheres with three rings."""
        rolls = [c for c in self.model.constraints if isinstance(c, Rolling)]
        for roll in (*rolls, *ground.contacts(self.model)):
            if roll.radius is not None:
                body, X = self.frame(roll.wheel if isinstance(roll, Rolling) else roll.marker)
                radius, disc = self.numbers([roll.radius])[0], roll.shape == "disc"
                for n in [self.numbers(roll.axis)] if disc else np.eye(3):
                    self.add("wheel" if disc else "ring", body, X @ pose(np.zeros(3), aimed(n)), radius, 0)
                if not disc:
                    self.add("sphere", body, X, radius)

    def _ties(self) -> None:
        """Springs, lines that keep a length, and the joints that close loops."""
        for part in _between(self.model):
            if isinstance(part, Rope | Latch):
                continue  # which come and go
            (a, X), (b, Y) = map(self.frame, part.ends)
            if isinstance(part, SpringDamper):
                self.tie("spring", (a, X[:3, 3]), (b, Y[:3, 3]), 0.03 * self.thick)
            elif part.kind == "distance":
                self.tie("line", (a, X[:3, 3]), (b, Y[:3, 3]), 0.008 * self.thick)
            elif part.kind in ("point", "hinge"):
                for k, frame in ((a, X), (b, Y)) if b else ((a, X),):  # of both, as either may hide the other's
                    self.add("sphere", k, frame, 0.017 * self.thick, role="joint")

    def _skeleton(self, body: Body, ends: Iterable[np.ndarray]) -> None:
        """Bars, the way that the body slid, and its joint: a piece of the axis of a hinge, or a ball."""
        if body.flexible is not None:
            sections.draw(self, body, self._carries(body.name))
        for end in ends if body.flexible is None else ():
            self.rod(self.index[body.name], np.zeros(3), end, 0.026 * self.thick)
        slides, hinge = _slides(body.joint), _hinge(body.joint)
        (parent, X_PJ), (k, X_BJ) = sections.place(self, body.parent, body.pose), sections.root(self, body)
        base, origin = X_PJ[:3, 3], X_BJ[:3, 3]
        X_P, X_B = self.poses[:, parent], self.poses[:, k]
        if slides < 2 and _apart(X_P[:, :3, :3] @ base + X_P[:, :3, 3], X_B[:, :3, :3] @ origin + X_B[:, :3, 3]):
            self.tie("rail", (parent, base), (k, origin))
        if hinge is not None:
            w, v = map(self.numbers, hinge)
            X = X_BJ @ pose(np.cross(w, v) / (w @ w), aimed(w))
            self.add("cylinder", k, X, 0.06 * self.thick, 0.034 * self.thick, role="joint")
        elif body.joint.nu > 1 and not slides:
            self.add("sphere", k, X_BJ, 0.017 * self.thick, role="joint")

    def _solids(self, bodies: Iterable[Body], bars: Mapping[str, Sequence[np.ndarray]]) -> None:
        """Centres of mass; and boxes for bodies whose bars would not show how they turn."""
        heaviest = max((s.mass for s in self.solids.values()), default=0.0)
        wheels = {s.body for s in self.shapes if s.kind in ("wheel", "ring")}
        for body in bodies:
            name, solid = body.name, self.solids[body.name]
            k, carried = self.index[name], self._carried(name)
            if solid.mass > 0:
                radius = (0.012 + 0.016 * (solid.mass / heaviest) ** (1 / 3)) * self.thick
                self.add("mass", k, pose(solid.com), radius)
            turning = body.joint.nu >= 3 and carried == 0 and not 1 <= len(self._tied(name, Loop)) <= 2  # a rod
            bare = not bars[name] and (carried == 0 or _slides(body.joint) > 0)
            if (carried >= 3 or turning or bare) and k not in wheels:
                edges = solid.edges(math.inf if self.alone else (1.0 if carried >= 3 else BULK) * self.size)
                if edges is None:
                    continue
                if carried >= FRAME and body.flexible is None:
                    self._plate(k, bars[name], edges)
                elif not self._rotor(body, solid, float(edges.max())):
                    self.add("box", k, pose(solid.com, solid.axes), *edges)

    def _plate(self, k: int, ends: Sequence[np.ndarray], edges: np.ndarray) -> None:
        """A frame that carries legs, as a plate out to where they are, no thicker than its mass is."""
        low, high = np.min(ends, axis=0), np.max(ends, axis=0)
        span = np.maximum(high - low, 0.4 * float(edges.min()))
        self.add("box", k, pose((low + high) / 2), *span)

    def _rotor(self, body: Body, solid: Solid, wide: float) -> bool:
        """Draw a body that turns about its own centre of mass as a wheel; beside one that is there, along the axis."""
        hinge = _hinge(body.joint)
        if hinge is None or body.joint.nu != 1 or _slides(body.joint):
            return False
        w, v = map(self.numbers, hinge)
        axis, through = w / np.linalg.norm(w), np.cross(w, v) / (w @ w)
        if np.linalg.norm(np.cross(solid.com - through, axis)) > 1e-3 * wide:
            return False
        k, width = self.index[body.name], 0.1 * wide
        X = pose(solid.com, aimed(axis))
        placed = [(self.poses[0, s.body] @ s.pose)[:3, 3] for s in self.shapes if s.kind == "wheel"]
        while any(np.linalg.norm((self.poses[0, k] @ X)[:3, 3] - p) < 0.5 * width for p in placed):
            X[:3, 3] += 4 * width * axis
        self.add("wheel", k, X, wide / 2, width)
        return True

    def _stand(self, points: np.ndarray, floor: float, U: np.ndarray, grounded: bool, shaped: set[int]) -> None:
        """Tell where the machine hangs, from what goes far below; put a post and a plate under where it stands.

        An arm, which turns about the vertical, stands unless it begins far below.
        """
        held = [body for body in self.bodies if body.parent == WORLD and _slides(body.joint) < 2]
        first, low = float(np.nanmin(points[0, :, 2])), float(np.nanmin(points[..., 2]))
        for body in held if len(held) <= FEET else ():
            if grounded and _slides(body.joint):
                continue  # it lies on the ground
            if self.index[body.name] in shaped and (0 in shaped or self.solids[body.name].mass == 0):
                continue  # it has a base of its own, or is one of several joints of what is drawn
            p, pans = self.numbers(body.pose.p), self._pans(body)
            x, y, z = U @ p
            foot = np.array([x, y, floor]) @ U
            if z - (first if pans else low) > (0.6 if pans else 0.3) * self.size:
                self.add("mount", 0, pose(p), 0.055 * self.thick, role="quiet")
            elif z >= floor:
                self.add("disc", 0, pose(foot, U.T), 0.07 * self.size, role="stand")
                if z > floor + 1e-6 * self.size:
                    self.rod(0, foot, p, 0.034 * self.thick, role="stand")

    def _pans(self, body: Body) -> bool:
        """Whether a body on the world turns about the vertical, as the base of an arm does."""
        hinge, g = _hinge(body.joint), self.numbers(self.model.gravity)
        if hinge is None or not g.any():
            return False
        w = self.numbers(body.pose.R) @ self.numbers(hinge[0])
        return bool(abs(w @ g) > 0.95 * np.linalg.norm(w) * np.linalg.norm(g))


def _between(model: Model) -> list[SpringDamper | Loop | Rope | Latch]:
    """What has two ends."""
    return [
        part for part in (*model.forces, *model.constraints) if isinstance(part, SpringDamper | Loop | Rope | Latch)
    ]


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
