"""What comes and goes, as shapes: grounds and points of contact, ropes, latches, stops, and what is held.

A part that only acts at times has them as `when`: a point of contact is drawn while it carries, a latch while it is
closed. A rope shows by itself whether it is slack.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import zeros
from polhode.model import Brake, Clutch, Contact, KnifeEdge, Latch, Lock, Rope, Stop
from polhode.model.algebra import twists

from . import looks, sections
from .scene import Spans
from .solid import aimed, pose

if TYPE_CHECKING:
    from .layout import _Layout

Modes = Mapping[str, Sequence[tuple[float, float, str]]]  # from when to when each constraint does what
Grounds = dict[tuple[int, bytes], tuple[int, np.ndarray, list[np.ndarray]]]  # a body, a pose, where feet were
Foot = Callable[[np.ndarray], np.ndarray]
IDLE = ("open", "released")


def draw(layout: _Layout, modes: Modes, U: np.ndarray) -> None:
    """Add the shapes of all that comes and goes."""
    grounds: Grounds = {}
    rotors = {speed for body in layout.model.bodies if body.rotor for speed in body.joint.speeds()}
    shaped = looks.owners(layout)
    for c in layout.model.constraints:
        acts = spans(modes, c.name)
        if isinstance(c, KnifeEdge):
            if layout.hosts[layout.frame(c.marker)[0]] not in shaped:
                _blade(layout, c, U)
        elif isinstance(c, Contact):
            _contact(layout, c, acts, U, grounds)
        elif isinstance(c, Rope):
            (a, X), (b, Y) = map(layout.frame, c.ends)
            length = float(layout.numbers([c.length])[0])
            layout.tie("rope", (a, X[:3, 3]), (b, Y[:3, 3]), length, 0.01 * layout.thick, name=c.name)
        elif isinstance(c, Latch):
            (a, X), (b, Y) = map(layout.frame, c.ends)
            layout.tie("line", (a, X[:3, 3]), (b, Y[:3, 3]), 0.012 * layout.thick, role="accent", when=acts)
            for k, frame in ((a, X), (b, Y)):
                layout.add("pin", k, frame, 0.02 * layout.thick, role="accent", when=acts)
        elif isinstance(c, Stop):
            _stop(layout, c, acts)
        elif isinstance(c, Lock | Brake | Clutch):
            names = (c.joint,) if isinstance(c, Lock) else (c.speed,) if isinstance(c, Brake) else c.ends
            if isinstance(c, Clutch) and rotors & set(names):
                continue  # a motor that drives is nothing special
            for body in layout.bodies:
                if body.joint.name in names or set(body.joint.speeds()) & set(names):
                    layout.add("pin", *sections.root(layout, body), 0.024 * layout.thick, role="accent", when=acts)
    for ground, Y, places in grounds.values():
        _ground(layout, ground, Y, np.concatenate(places))


def _blade(layout: _Layout, c: KnifeEdge, U: np.ndarray) -> None:
    """A short bar along which a knife edge may move."""
    body, X = layout.frame(c.marker)
    up = layout.poses[0, body, :3, :3].T @ U[2]
    along = np.cross(X[:3, :3] @ layout.numbers(c.axis), up)
    if np.linalg.norm(along) > 1e-6:
        half = along / np.linalg.norm(along) * 0.05 * layout.thick
        layout.rod(body, X[:3, 3] - half, X[:3, 3] + half, 0.04 * layout.thick, role="joint")


def spans(modes: Modes, name: str) -> Spans:
    """From when to when a constraint acts; () for never."""
    return tuple((a, b) for a, b, word in modes.get(name, ()) if word not in IDLE)


def foot(layout: _Layout, c: Contact) -> Foot:
    """What gives the frame of a point of contact, (k, 4, 4), in the axes of the ground, from poses, (k, n, 4, 4)."""
    (body, X), (ground, Y) = layout.frame(c.marker), layout.frame(c.ground)
    radius = 0.0 if c.radius is None else float(layout.numbers([c.radius])[0])
    axis = layout.numbers(c.axis) if c.radius is not None and c.shape == "disc" else None

    def found(poses: np.ndarray) -> np.ndarray:
        X_WM, X_WG = poses[:, body] @ X, poses[:, ground] @ Y
        n = X_WG[:, :3, 2]
        way = -n
        if axis is not None:
            a = X_WM[:, :3, :3] @ axis
            way = -n + np.einsum("ki,ki->k", n, a)[:, None] * a
            way = way / np.maximum(np.linalg.norm(way, axis=1), 1e-12)[:, None]
        frame = np.tile(np.eye(4), (len(poses), 1, 1))
        frame[:, :3, :3], frame[:, :3, 3] = X_WG[:, :3, :3], X_WM[:, :3, 3] + radius * way
        return frame

    return found


def _contact(layout: _Layout, c: Contact, acts: Spans, U: np.ndarray, grounds: Grounds) -> None:
    """The point of contact, and, where the ground is not the floor, where that was on it."""
    ground, Y = layout.frame(c.ground)
    place = foot(layout, c)
    frames = place(layout.poses)
    X_WG, lowest = layout.poses[:, ground] @ Y, frames[:, :3, 3]
    k = layout.join([f"foot of {c.name}"], frames[:, None])
    layout.feet[k] = place
    layout.add("pin", k, np.eye(4), 0.016 * layout.thick, role="accent", when=acts)
    if c.relief is None and (ground or (U @ Y[:3, 2])[2] <= 1 - 1e-9):
        feet = np.einsum("kji,kj->ki", X_WG[:, :3, :3], lowest - X_WG[:, :3, 3])
        grounds.setdefault((ground, Y.tobytes()), (ground, Y, []))[2].append(feet)


def _ground(layout: _Layout, body: int, Y: np.ndarray, feet: np.ndarray) -> None:
    """A plate under all feet, in the axes of the ground's marker."""
    low, high = feet[:, :2].min(axis=0), feet[:, :2].max(axis=0)
    edges, thick = np.maximum(high - low + 0.5 * layout.size, 0.8 * layout.size), 0.015 * layout.size
    middle = np.append((low + high) / 2, -thick / 2)
    layout.add("box", body, Y @ pose(middle), *edges, thick, role="stand")


def _stop(layout: _Layout, c: Stop, acts: Spans) -> None:
    """A plate where a slide ends; the ends of a turn are directions, drawn as short bars."""
    for body in layout.model.bodies:
        if c.coordinate not in body.joint.coordinates() or body.joint.nu != 1:
            continue
        parent, X = sections.place(layout, body.parent, body.pose)
        (h,) = twists(body.joint.parts[0].H)
        slides = h.w == zeros(3)
        axis = layout.numbers(h.v if slides else h.w)
        for bound in (c.lower, c.upper):
            if bound is None:
                continue
            value = float(layout.numbers([bound])[0])
            if slides:
                side = 1 if bound is c.upper else -1
                at = X @ pose(axis * (value + side * 0.01 * layout.size), aimed(axis))
                layout.add("box", parent, at, *[0.1 * layout.thick] * 2, 0.02 * layout.size, role="stand")
            else:
                end = layout.reach(body.name)
                if np.linalg.norm(end) > 0:
                    turned = X @ pose(np.zeros(3), _turn(axis, value))
                    ends = (turned @ [*(0.5 * end), 1])[:3], (turned @ [*(0.75 * end), 1])[:3]
                    layout.rod(parent, *ends, 0.02 * layout.thick, role="stand")
        layout.add("pin", *sections.root(layout, body), 0.02 * layout.thick, role="accent", when=acts)


def _turn(axis: np.ndarray, angle: float) -> np.ndarray:
    """The rotation about an axis, by Rodrigues' formula."""
    n = axis / np.linalg.norm(axis)
    K = np.array([[0, -n[2], n[1]], [n[2], 0, -n[0]], [-n[1], n[0], 0]])
    found: np.ndarray = np.eye(3) + np.sin(angle) * K + (1 - np.cos(angle)) * K @ K
    return found
