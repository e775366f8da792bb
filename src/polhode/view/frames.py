"""Where the frames of a scene are at a state, for what is drawn while it moves."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from polhode.model import WORLD

from .bent import Sections

if TYPE_CHECKING:
    from .layout import _Layout


class Frames:
    """The frames of a scene: the world, its bodies, sections of those that deform, and points of contact.

    bodies : names, without the world, in the order in which poses are given
    places : of the world, of bodies and markers, by name: the frame that each is in, and its pose there
    """

    def __init__(self, layout: _Layout) -> None:
        self.bodies = tuple(body.name for body in layout.model.bodies)
        self.size = len(layout.names)
        names = (WORLD, *self.bodies, *(marker.name for marker in layout.model.markers))
        self.places: dict[str, tuple[int, np.ndarray]] = {name: layout.frame(name) for name in names}
        self._feet = dict(layout.feet)
        self._bent: list[tuple[str, int, list[int], Sections]] = []
        for name in dict.fromkeys(body for body, _ in layout.sections):
            own = {station: k for (body, station), k in layout.sections.items() if body == name}
            made = Sections(list(own), layout.values)
            self._bent.append((name, layout.index[name], list(own.values()), made))

    def at(self, poses: np.ndarray, amplitudes: Mapping[str, np.ndarray]) -> np.ndarray:
        """X_WF of all frames, (n, 4, 4), from the poses of the bodies and the amplitudes of those that deform, (m,)."""
        found = np.empty((1, self.size, 4, 4))
        found[0, 0] = np.eye(4)
        found[0, 1 : 1 + len(self.bodies)] = poses
        for name, k, places, made in self._bent:
            found[0, places] = found[0, k] @ made.poses(amplitudes[name][None])[0]
        for k, foot in self._feet.items():
            found[:, k] = foot(found)
        every: np.ndarray = found[0]
        return every
