"""Bodies that deform, as shapes: their lines through sections that move, and what stands on these.

Each section that is drawn, or that carries something, is a frame of the scene, as if it were a body. In a picture with
magnified deflections the amplitudes of all modes are multiplied, and what stands on a body stays on it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from polhode.graph import zeros
from polhode.model.body import Body
from polhode.model.flexible import Station
from polhode.spatial import Pose

from .bent import Sections
from .scene import Tie
from .solid import aimed, pose

if TYPE_CHECKING:
    from .layout import _Layout

TICKS = 7  # across a line that twists
FEW = 4  # lines; more are drawn thinner, and all thinner than what is rigid


def join(layout: _Layout, amplitudes: Mapping[str, np.ndarray], scale: float) -> None:
    """Have the sections of all bodies that deform as frames of the scene, and magnify how they deform.

    amplitudes : (k, m) of every such body, with which the poses of the layout were computed
    scale      : by which they are multiplied
    """
    model, bent = layout.model, [body for body in layout.model.bodies if body.flexible is not None]
    local: dict[tuple[str, Station], tuple[np.ndarray, np.ndarray]] = {}  # poses in the body, as they are and magnified
    for body in bent:
        assert body.flexible is not None
        on = [child.pose.p for child in model.bodies if child.parent == body.name]
        on += [marker.pose.p for marker in model.markers if marker.body == body.name]
        for p in dict.fromkeys([zeros(3), *on]):
            layout.stations[body.name, p] = body.flexible.station(p, f"Body {body.name!r}")
        layout.lines[body.name] = body.flexible.lines
        every = [station for line in layout.lines[body.name] for station in line]
        every += [station for (name, _), station in layout.stations.items() if name == body.name]
        stations = list(dict.fromkeys(every))
        made, d = Sections(stations, layout.values), amplitudes[body.name]
        both = made.poses(d), made.poses(scale * d)
        local |= {(body.name, station): (both[0][:, i], both[1][:, i]) for i, station in enumerate(stations)}
    true = [layout.poses]
    if scale != 1:
        layout.poses = _magnified(layout, local)
    for body in bent:
        k, moving = layout.index[body.name], [s for name, s in local if name == body.name and not s.still]
        if not moving:
            continue  # it has no lines, and nothing on it
        X = np.stack([layout.poses[:, k] @ local[body.name, s][1] for s in moving], axis=1)
        first = layout.join([f"{body.name} section {i}" for i in range(len(moving))], X, k)
        layout.sections |= {(body.name, station): first + i for i, station in enumerate(moving)}
        true.append(np.stack([true[0][:, k] @ local[body.name, s][0] for s in moving], axis=1))
    layout.true = np.concatenate(true, axis=1)


def _magnified(layout: _Layout, local: Mapping[tuple[str, Station], tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Poses of all bodies where those that deform do so more: each is on the section that carries it as it was.

    The section that its own joint holds stays there; that it turns, as of pinned shapes, turns the body as it did, so
    that both ends of a pinned beam stay where they are.
    """
    true, found = layout.poses, layout.poses.copy()
    for body in layout.model.bodies:
        k, parent = layout.index[body.name], layout.index[body.parent]
        was, now = true[:, parent], found[:, parent]
        if (body.parent, body.pose.p) in layout.stations:
            before, after = local[body.parent, layout.stations[body.parent, body.pose.p]]
            was, now = was @ before, now @ after
        X = np.linalg.inv(was) @ true[:, k]
        if body.flexible is not None:
            before, after = local[body.name, layout.stations[body.name, zeros(3)]]
            X[:, :3, 3] += np.einsum("kij,kj->ki", X[:, :3, :3], before[:, :3, 3] - after[:, :3, 3])
        found[:, k] = now @ X
    return found


def place(layout: _Layout, name: str, X: Pose) -> tuple[int, np.ndarray]:
    """The frame of the scene that carries a pose on a body, and the pose in it."""
    station = layout.stations.get((name, X.p))
    if station is None or station.still:
        return layout.index[name], layout.numbers(X.matrix())
    return layout.sections[name, station], layout.numbers(Pose(X.R, X.p - station.p).matrix())


def point(layout: _Layout, name: str, station: Station) -> tuple[int, np.ndarray]:
    """The frame of the scene that a station is in, and its place in it."""
    if station.still:
        return layout.index[name], layout.numbers(station.p)
    return layout.sections[name, station], np.zeros(3)


def tip(layout: _Layout, name: str) -> Station:
    """The station that is farthest from the joint."""
    every = [layout.stations[name, zeros(3)], *(station for line in layout.lines[name] for station in line)]
    far = [float(np.linalg.norm(layout.numbers(station.p))) for station in every]
    return every[int(np.argmax(far))]


def draw(layout: _Layout, body: Body, carried: list[Pose]) -> None:
    """Draw the lines of a body through its sections, its undeformed shape, and bars to what stands off them."""
    k, lines = layout.index[body.name], layout.lines[body.name]
    width = (0.018 if len(lines) <= FEW else 0.01) * layout.thick
    for line in lines:
        straight = np.array([layout.numbers(station.p) for station in line])
        ends = straight if _bent(straight) else straight[[0, -1]]
        layout.ties.append(Tie(kind="ghost", bodies=(k,) * len(ends), points=ends, size=(0.15 * width,)))
        frames, places = zip(*(point(layout, body.name, station) for station in line), strict=True)
        made = Tie(kind="tube", bodies=frames, points=np.array(places), size=(width,), role="body")
        layout.ties.append(made)
        if len(lines) == 1 and not _bent(straight):
            _ticks(layout, body.name, line, straight, 2.2 * width)
    for X in carried:
        frame, Y = place(layout, body.name, X)
        station = layout.stations[body.name, X.p]
        foot = layout.numbers(station.p) if station.still else np.zeros(3)
        if np.linalg.norm(Y[:3, 3] - foot) > 1e-9 * layout.size:
            layout.rod(frame, foot, Y[:3, 3], width)


def _ticks(layout: _Layout, name: str, line: tuple[Station, ...], straight: np.ndarray, wide: float) -> None:
    """Draw short bars across a straight line that twists, which it would not show alone."""
    along = straight[-1] - straight[0]
    if not any((np.abs(along @ layout.numbers(station.Psi)) > 0).any() for station in line):
        return
    across = aimed(along)[:, 1] * wide
    for i in np.unique(np.linspace(0, len(line) - 1, TICKS).round().astype(int)):
        frame, p = point(layout, name, line[i])
        layout.rod(frame, p - across, p + across, 0.18 * wide, role="body")


def _bent(points: np.ndarray) -> bool:
    """Whether points are not on the line from the first to the last."""
    way = points[-1] - points[0]
    off = np.cross(points - points[0], way)
    return not way.any() or bool(np.abs(off).max() > 1e-9 * (way @ way))


def root(layout: _Layout, body: Body) -> tuple[int, np.ndarray]:
    """Where the joint of a body is: its own frame, or that of the section that its joint holds."""
    return (layout.index[body.name], pose(np.zeros(3))) if body.flexible is None else place(layout, body.name, _ORIGIN)


_ORIGIN = Pose.identity()
