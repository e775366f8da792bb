"""Where the bodies of an MJCF file are as expressions of its coordinates, and how its speeds move them.

For transmissions that depend on places: sites, cranks and tendons through sites; and for M at the pose of the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from polhode.graph import Expr, Matrix, as_expr, cos, cross, identity, sin, symbol, vector, zeros
from polhode.model import WORLD, Body, Builder, Joint
from polhode.model.algebra import twists
from polhode.spatial import Pose, Twist, axis_angle, quaternion_rotation

Rates = dict[str, Expr]  # by speed: what a quantity changes by, for a speed of 1


@dataclass(frozen=True, slots=True)
class Place:
    """A frame: its pose in the world, and by speed the twist it gets from a speed of 1, at the origin of the world."""

    X: Pose
    moves: dict[str, Twist]

    def along(self, direction: Matrix) -> Rates:
        """How its origin moves in a direction of the world."""
        return {u: direction @ (t.v + cross(t.w, self.X.p)) for u, t in self.moves.items()}

    def about(self, axis: Matrix) -> Rates:
        """How it turns about an axis of the world."""
        return {u: axis @ t.w for u, t in self.moves.items()}


def combined(*parts: tuple[Expr | int | float, Rates]) -> Rates:
    """A sum of rates, each with a factor."""
    found: Rates = {}
    for factor, rates in parts:
        for u, e in rates.items():
            found[u] = found.get(u, as_expr(0)) + factor * e
    return {u: e for u, e in found.items() if e != 0}


class Places:
    """The frames of a builder's bodies and markers, at coordinates that are symbols or the numbers given."""

    def __init__(self, builder: Builder, at: Mapping[str, float] | None = None) -> None:
        self.bodies = {body.name: body for body in builder.bodies}
        self.markers = {marker.name: marker for marker in builder.markers}
        self.at = at
        self.found: dict[str, Place] = {WORLD: Place(Pose.identity(), {})}

    def frame(self, name: str) -> Place:
        """The place of a body or marker."""
        if name not in self.markers:
            return self.body(name)
        marker = self.markers[name]
        host = self.body(marker.body)
        return Place(host.X @ marker.pose, host.moves)

    def body(self, name: str) -> Place:
        chain = []
        while name not in self.found:
            chain.append(self.bodies[name])
            name = chain[-1].parent
        for body in reversed(chain):
            self.found[body.name] = self._next(body, self.found[body.parent])
        return self.found[chain[0].name] if chain else self.found[name]

    def _next(self, body: Body, parent: Place) -> Place:
        if not body.joint.nu:
            return Place(parent.X @ body.pose, parent.moves)
        q = [self.value(name) for name in body.joint.coordinates()]
        X = parent.X @ body.pose @ across(body.joint, q)
        own = [h for part in body.joint.parts for h in twists(part.H)]
        return Place(X, parent.moves | {u: X @ h for u, h in zip(body.joint.speeds(), own, strict=True)})

    def value(self, name: str) -> Expr:
        return symbol(name) if self.at is None else as_expr(self.at[name])


def across(joint: Joint, q: list[Expr]) -> Pose:
    """The pose across a joint of MJCF: a slide, a hinge about an axis off the origin, a ball, a free joint."""
    if joint.kind in ("spherical", "free"):
        return Pose(quaternion_rotation(*q[:4]), vector(q[4:]) if len(q) > 4 else zeros(3))
    h = Twist.of(joint.parts[0].H[:, 0])
    if h.w == zeros(3):
        return Pose(identity(3), h.v * q[0])
    return Pose(axis_angle(h.w, q[0]), h.v * sin(q[0]) + cross(h.w, h.v) * (1 - cos(q[0])))


class Reference:
    """The mass matrix in the pose of the file, for what MuJoCo scales by it."""

    def __init__(self, builder: Builder, at: Mapping[str, float]) -> None:
        self.builder, self.at = builder, at

    @cached_property
    def speeds(self) -> dict[str, int]:
        names = [name for body in self.builder.bodies for name in body.joint.speeds()]
        return {name: k for k, name in enumerate(names)}

    @cached_property
    def M(self) -> np.ndarray:
        """M = sum J^T I J and the armatures, (nu, nu)."""
        places = Places(self.builder, self.at)
        M = np.diag([float(e) for body in self.builder.bodies for e in body.joint.armature or [0] * body.joint.nu])
        for body in self.builder.bodies:
            place = places.body(body.name)
            rows = [self.speeds[u] for u in place.moves]
            if not rows:
                continue
            J = np.array([_numbers(place.X.back(t).vector()) for t in place.moves.values()])  # in the axes of the body
            total = body.total
            m, h, I = float(total.m), _numbers(total.h), np.reshape(_numbers(total.I), (3, 3))
            S = np.array([[0, -h[2], h[1]], [h[2], 0, -h[0]], [-h[1], h[0], 0]])
            M[np.ix_(rows, rows)] += J @ np.block([[I, S], [S.T, m * np.eye(3)]]) @ J.T
        return M

    def row(self, rates: Rates) -> np.ndarray:
        """Rates in the pose of the file, (nu,)."""
        from polhode.graph import evaluate

        found = np.zeros(len(self.speeds))
        values = {symbol(name): x for name, x in self.at.items()}
        for u, x in zip(rates, evaluate(list(rates.values()), values), strict=True):
            found[self.speeds[u]] = x
        return found

    def acceleration(self, rates: Rates) -> float:
        """What a force of 1 accelerates: |M^-1 row|."""
        return float(np.linalg.norm(np.linalg.solve(self.M, self.row(rates))))

    def mass(self, rates: Rates) -> float:
        """What is moved, as seen along the row: 1 / (row M^-1 row^T)."""
        row = self.row(rates)
        return 1 / max(1e-15, float(row @ np.linalg.solve(self.M, row)))


def _numbers(m: Matrix) -> list[float]:
    return [float(e) for e in m.entries]
