"""A machine at a state, as what a page draws: its shapes once, and a few numbers for each frame."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import symbol, vector
from polhode.view import Scene, build_live
from polhode.view.animate import places
from polhode.view.film import PALETTE
from polhode.view.meshes import ALIVE, packed, thinned
from polhode.view.scene import View, viewpoint, where
from polhode.view.solid import Solid, numbers

from .at_state import AtState
from .loop import State

HEAD = ("t", "kinetic", "potential", "running", "speed", "ticks", "late", "missed")  # float64 before the poses
NUDGE, FAR = 1e-4, 0.5  # of a coordinate; and sizes of the machine, by which it may be elsewhere then


class Picture:
    """The scene of a machine that moves, and what is computed of a state to draw it.

    names : of the frames that move or stand still, the world first
    hosts : the body that each frame is a part of, by its place
    values : of all parameters, at first
    """

    def __init__(self, dynamics: Dynamics, p: np.ndarray, state: State) -> None:
        eq, self.dynamics = dynamics.equations, dynamics
        bodies = eq.model.merged().bodies
        self._poses = AtState(dynamics, p, [eq.pose(body.name) for body in bodies])
        self._energy = AtState(dynamics, p, [vector([eq.kinetic, eq.potential])])
        places = [str(s.value) for s in eq.q]
        self._modes = {b.name: [places.index(name) for name in b.modes] for b in bodies if b.flexible is not None}
        values = {s: float(e) for s, e in dynamics.values.items()}
        values |= dict(zip(map(symbol, dynamics.parameters), map(float, p), strict=True))
        self.values, X = values, self._bodies(state)
        at = {body.name: X[None, k] for k, body in enumerate(bodies)}
        amplitudes = {name: state.q[None, where] for name, where in self._modes.items()}
        self.scene, self.frames = build_live(eq.model, at, values, amplitudes)
        self.scene = replace(self.scene, view=self._view(state))
        surfaces = {id(shape): shape.mesh for shape in self.scene.shapes if shape.mesh is not None}
        made = thinned(list(surfaces.values()), ALIVE)
        self._meshes = {key: packed(mesh) for key, mesh in zip(surfaces, made, strict=True)}  # once, for all pages
        self.names, self.hosts, self.upright = self.scene.bodies, self.scene.hosts, self.scene.upright

    def _bodies(self, state: State) -> np.ndarray:
        return np.array(self._poses(state)).reshape(-1, 4, 4)

    def _view(self, state: State) -> View:
        """Where to look from, by where each of the coordinates leads from here, though nothing moves yet."""
        scene = self.scene
        if not scene.parts:
            return scene.view
        seen = [where(self.poses(state)[None], scene.parts)[0] @ scene.upright.T]
        for k in range(len(state.q)):
            nudged = replace(state, q=state.q + NUDGE * np.eye(len(state.q))[k])
            way = where(self.poses(nudged)[None], scene.parts)[0] @ scene.upright.T - seen[0]
            far = float(np.nanmax(np.linalg.norm(way, axis=1)))
            if np.isfinite(way).all() and far > 0:
                seen += [seen[0] + sign * FAR * scene.size / far * way for sign in (1, -1)]
        return replace(viewpoint(np.array(seen), scene.size), follow=scene.view.follow)

    @property
    def weight(self) -> float:
        """Of all that moves, N; 0 without gravity."""
        model = self.dynamics.equations.model.merged()
        g = float(np.linalg.norm(numbers(model.gravity, self.values)))
        return g * sum(Solid(body, self.values).mass for body in model.bodies)

    def _axes(self) -> list[dict[str, Any]]:
        """The axes of the world, of bodies and of markers, in their frames; of bodies that have mass, its centre."""
        solids = {body.name: Solid(body, self.values) for body in self.dynamics.equations.model.merged().bodies}
        found = []
        for name, (frame, X) in self.frames.places.items():
            kind = "body" if name in solids else "world" if frame == 0 and name == self.names[0] else "marker"
            massive = name in solids and solids[name].mass > 0
            middle = {"middle": solids[name].com.tolist()} if massive else {}
            found.append({"name": name, "kind": kind, "frame": frame, "pose": X.tolist(), **middle})
        return found

    def energy(self, state: State) -> tuple[float, float]:
        """Kinetic and potential energy, J."""
        kinetic, potential = self._energy(state)[0]
        return float(kinetic), float(potential)

    def poses(self, state: State) -> np.ndarray:
        """X_WF of all frames, (n, 4, 4)."""
        amplitudes = {name: state.q[where] for name, where in self._modes.items()}
        return self.frames.at(self._bodies(state), amplitudes)

    def frame(self, head: dict[str, float], poses: np.ndarray) -> bytes:
        """One picture: the numbers of HEAD as float64, then a place and a quaternion of each frame as float32."""
        first = np.array([head[name] for name in HEAD], dtype="<f8")
        with np.errstate(over="ignore"):  # of a machine that flew away, which says so itself
            rest = places(poses[None], self.upright)[0].astype("<f4")
        return bytes(first.tobytes() + rest.tobytes())

    def still(self, state: State, acts: Collection[str]) -> Scene:
        """The machine at a state as a scene of one frame, in which those constraints act."""
        constraints = [c.name for c in self.dynamics.equations.model.merged().constraints]

        def there(part: Any) -> Any:
            place = None if part.when is None else int(part.when[0][0]) if part.when else 0
            drawn = place is None or (place > 0 and constraints[place - 1] in acts)
            return replace(part, when=None if drawn else ())

        scene = self.scene
        shapes, ties = tuple(map(there, scene.shapes)), tuple(map(there, scene.ties))
        return replace(scene, t=np.array([state.t]), poses=self.poses(state)[None], shapes=shapes, ties=ties)

    def description(self) -> dict[str, Any]:
        """What a page has to know once: shapes in their frames, names, where to look from."""
        scene = self.scene
        constraints = [c.name for c in self.dynamics.equations.model.merged().constraints]
        parts = []
        for part in scene.parts:
            place = None if part.when is None else int(part.when[0][0]) if part.when else 0
            if place == 0:
                continue  # of no constraint
            owner = None if place is None else constraints[place - 1]
            told = {"mesh": self._meshes[id(part)]} if id(part) in self._meshes else {}
            parts.append(told | {
                "color": getattr(part, "color", ""),
                "kind": part.kind, "size": list(part.size), "role": part.role, "name": part.name,
                "bodies": list(part.bodies), "points": part.points.tolist(), "owner": owner,
                "pose": getattr(part, "pose", np.eye(4)).tolist(),
            })  # fmt: skip
        return {
            "title": scene.title, "size": scene.size, "floor": scene.floor, "yaw": scene.view.yaw, "head": list(HEAD),
            "pitch": scene.view.pitch, "bodies": list(scene.bodies), "hosts": list(scene.hosts),
            "depths": list(scene.depths), "palette": list(PALETTE), "parts": parts,
            "axes": self._axes(),
        }  # fmt: skip
