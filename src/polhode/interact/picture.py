"""A machine at a state, as what a page draws: its shapes once, and a few numbers for each frame."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.compile import compile
from polhode.equations import Dynamics
from polhode.graph import Expr, Matrix, free_symbols, substitute, symbol, vector
from polhode.model import TIME
from polhode.view import build_live
from polhode.view.animate import places
from polhode.view.film import PALETTE

HEAD = ("t", "kinetic", "potential", "running", "speed", "ticks", "late", "missed")  # float64 before the poses


class Picture:
    """The scene of a machine that moves, and what is computed of a state to draw it.

    names : of the frames that move or stand still, the world first
    hosts : the body that each frame is a part of, by its place
    """

    def __init__(self, dynamics: Dynamics, p: np.ndarray, q: np.ndarray, u: np.ndarray, z: np.ndarray) -> None:
        self.dynamics, self.p = dynamics, p
        eq = dynamics.equations
        self._poses = self._compiled([eq.pose(body.name) for body in eq.model.merged().bodies])
        self._energy = self._compiled([vector([eq.kinetic, eq.potential])])
        coordinates = [str(s.value) for s in eq.q]
        bent = [body for body in eq.model.merged().bodies if body.flexible is not None]
        self._modes = {body.name: [coordinates.index(name) for name in body.modes] for body in bent}
        bodies = [body.name for body in eq.model.merged().bodies]
        X = self._bodies(0.0, q, u, z)
        values = {s: float(e) for s, e in dynamics.values.items()}
        values |= dict(zip(map(symbol, dynamics.parameters), map(float, p), strict=True))
        at = {name: X[None, k] for k, name in enumerate(bodies)}
        amplitudes = {name: q[None, where] for name, where in self._modes.items()}
        self.scene, self.frames = build_live(eq.model, at, values, amplitudes)
        self.names, self.hosts = self.scene.bodies, self.scene.hosts
        self.upright = self.scene.upright

    def _compiled(self, outputs: list[Matrix]) -> Any:
        """Compile expressions of t, q, u, z and p, with those as inputs that there are."""
        dyn, eq = self.dynamics, self.dynamics.equations
        written = [substitute(substitute(e, eq.kinematics.quasi), dyn.values) for e in outputs]
        if not written:
            return lambda *_: []
        inputs: dict[str, Matrix] = {"t": vector([TIME]), "q": eq.q, "u": eq.u, "z": eq.z}
        inputs["p"] = vector(map(symbol, dyn.parameters))
        seen: set[Expr] = {s for e in written for s in free_symbols(e)}
        used = {name: part for name, part in inputs.items() if len(part) and (name == "q" or seen & set(part))}
        made = compile(used, written, target=dyn.target, name="picture")
        order = [list(inputs).index(name) for name in used]

        def call(*given: np.ndarray) -> Any:
            return made(*[given[k] for k in order])

        return call

    def _bodies(self, t: float, q: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
        found = self._poses(np.array([t]), q, u, z, self.p)
        found = found if isinstance(found, list | tuple) else [found]
        return np.array(found).reshape(-1, 4, 4)

    def energy(self, t: float, q: np.ndarray, u: np.ndarray, z: np.ndarray) -> tuple[float, float]:
        """Kinetic and potential energy, J."""
        found = self._energy(np.array([t]), q, u, z, self.p)
        kinetic, potential = np.ravel(found)
        return float(kinetic), float(potential)

    def poses(self, t: float, q: np.ndarray, u: np.ndarray, z: np.ndarray) -> np.ndarray:
        """X_WF of all frames, (n, 4, 4)."""
        amplitudes = {name: q[where] for name, where in self._modes.items()}
        return self.frames.at(self._bodies(t, q, u, z), amplitudes)

    def frame(self, head: dict[str, float], poses: np.ndarray) -> bytes:
        """One frame for a page: the numbers of HEAD as float64, then a place and a quaternion of each frame, float32."""
        first = np.array([head[name] for name in HEAD], dtype="<f8").tobytes()
        return first + places(poses[None], self.upright)[0].astype("<f4").tobytes()

    def description(self) -> dict[str, Any]:
        """What a page has to know once: shapes in their frames, names, where to look from."""
        scene = self.scene
        constraints = [c.name for c in self.dynamics.equations.model.merged().constraints]
        parts = []
        for part in scene.parts:
            owner = None if part.when is None else constraints[int(part.when[0][0])]
            parts.append({
                "kind": part.kind, "size": list(part.size), "role": part.role, "name": part.name,
                "bodies": list(part.bodies), "points": part.points.tolist(), "owner": owner,
                "pose": getattr(part, "pose", np.eye(4)).tolist(),
            })  # fmt: skip
        return {
            "title": scene.title, "size": scene.size, "floor": scene.floor, "yaw": scene.view.yaw, "head": list(HEAD),
            "pitch": scene.view.pitch, "bodies": list(scene.bodies), "hosts": list(scene.hosts),
            "depths": list(scene.depths), "palette": list(PALETTE), "parts": parts,
        }  # fmt: skip
