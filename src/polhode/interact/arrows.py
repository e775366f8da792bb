"""What rows of constraints carry, as forces and torques in the world: where, on which side, and which way.

A row with the reaction lam does the power lam psi, where psi is a relative velocity; so its force or torque is lam
times what psi takes of the velocities. What is said here of loops, touches and the like is that, of the rows in
`kinematics.constraints` and `kinematics.candidates`; tests compare it with J^T lam of machines in space.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from polhode.graph import Expr, Matrix, symbol, zeros
from polhode.kinematics import Kinematics
from polhode.kinematics.constraints import across_of, captured_turn, ties_first
from polhode.kinematics.touch import along_relief, relief_of, upward
from polhode.model import (
    WORLD,
    Brake,
    Clutch,
    CompliantContact,
    CompliantStop,
    Contact,
    KnifeEdge,
    Latch,
    Lock,
    Loop,
    Rolling,
    Rope,
    Stop,
)
from polhode.model.algebra import twists
from polhode.model.body import Body
from polhode.view.solid import numbers

NOTHING = np.zeros(3)
Place = Callable[[str], np.ndarray]  # the pose in the world of a marker, a body or the world


class Arrow(NamedTuple):
    """A force and a torque on a body, in the world.

    on     : the body or marker that they act on
    at     : (3,), where the force acts, m
    force  : (3,), N; torque : (3,), N m, beside it
    """

    on: str
    at: np.ndarray
    force: np.ndarray
    torque: np.ndarray

    def opposite(self, on: str, at: np.ndarray | None = None) -> Arrow:
        """What acts on the other side."""
        return Arrow(on, self.at if at is None else at, -self.force, -self.torque)


class Arrows:
    """How constraints of a model act, by their names.

    kin    : in the speeds of the joints
    values : of the parameters, and of what latches captured where they engaged; without those they engage now
    """

    def __init__(self, kin: Kinematics, values: Mapping[Expr, float]) -> None:
        self._kin, self._values, model = kin, values, kin.model
        self.elements: dict[str, Any] = {c.name: c for c in (*model.constraints, *model.candidates)}
        self._bodies = {body.name: body for body in model.bodies}
        self._axes: dict[str, _Axis | None] = {}

    def of(self, name: str, lam: np.ndarray, place: Place) -> list[Arrow]:
        """What a constraint does to bodies, of the reactions of its rows; none where it has no place.

        Of what acts between two bodies it is the side that moves, and of these the second; of ropes and distances
        both sides.
        """
        c = self.elements.get(name)
        if isinstance(c, Loop | Latch):
            return self._sides(*c.ends, self._tied(c, lam, place), place, both=c.kind == "distance")
        if isinstance(c, Rope):
            return self._sides(*c.ends, self._pulled(c, float(lam[0]), place), place, both=True)
        if isinstance(c, Contact | Rolling):
            return [self._touching(c, lam, place)]
        if isinstance(c, KnifeEdge):
            X = place(c.marker)
            return [Arrow(c.marker, X[:3, 3], X[:3, :3] @ self._numbers(c.axis) * lam[0], NOTHING)]
        return [found for speed, load in _loads(c, lam, self) if (found := self.along(speed, load, place)) is not None]

    def along(self, variable: str, load: float, place: Place) -> Arrow | None:
        """A force or torque on a speed or coordinate of a joint; None where its axis is not that of a frame."""
        if variable not in self._axes:
            self._axes[variable] = _axis(variable, self._bodies, self._numbers)
        axis = self._axes[variable]
        if axis is None:
            return None
        X = place(axis.frame) @ axis.pose
        w, v = (X[:3, :3] @ part for part in (axis.w, axis.v))
        if not w.any():
            return Arrow(axis.body, place(axis.body)[:3, 3], v * (load / (v @ v)), NOTHING)
        at = place(axis.body)[:3, 3]
        if axis.frame == axis.body:
            at = at + np.cross(w, v) / (w @ w)
        return Arrow(axis.body, at, NOTHING, w * (load / (w @ w)))

    def foot(self, c: Contact | Rolling | CompliantContact, place: Place) -> tuple[np.ndarray, np.ndarray]:
        """Where a body touches the ground, and the axes of the ground there, (3, 3): along it, along it, up.

        Of ground with a relief the last is (-dh/dx, -dh/dy, 1), as lam is measured along z.
        """
        X, Y = place(_touches(c)), place(c.ground)
        axes, at = Y[:3, :3], X[:3, 3]
        if (relief := relief_of(c)) is not None:
            inside = axes.T @ (at - Y[:3, 3])
            spot = {symbol("x"): float(inside[0]), symbol("y"): float(inside[1])}
            ahead, aside = along_relief(relief)
            local = [numbers(e, {**self._values, **spot}) for e in (ahead, aside, upward(relief))]
            return at, axes @ np.array(local).T
        if c.radius is None:
            return at, axes
        n, radius = axes[:, 2], float(self._numbers([c.radius])[0])
        if c.shape == "sphere":
            return at - radius * n, axes
        a = X[:3, :3] @ self._numbers(c.axis)
        down = np.cross(a, np.cross(a, n))
        return at + radius * down / max(float(np.linalg.norm(down)), 1e-12), axes

    def _numbers(self, part: Matrix | Sequence[Expr]) -> np.ndarray:
        return numbers(part, self._values)

    def _sides(self, a: str, b: str, found: tuple[Arrow, np.ndarray], place: Place, both: bool) -> list[Arrow]:
        """What is done to b, or to a where b does not move; or to both of them that move."""
        on_b, at_a = found
        sides = [on_b] if self._moves(b) else []
        if self._moves(a) and (both or not sides):
            sides.append(on_b.opposite(a, at_a))
        return sides

    def _moves(self, name: str) -> bool:
        return bool(self._kin.model.frame(name)[0] != WORLD)

    def _tied(self, c: Loop | Latch, lam: np.ndarray, place: Place) -> tuple[Arrow, np.ndarray]:
        """The force and torque of a loop on its second marker; where the opposite force acts on the first."""
        (a, b), kind, latched = c.ends, c.kind, isinstance(c, Latch)
        (R_A, p_A), (R_B, p_B) = ((X[:3, :3], X[:3, 3]) for X in (place(a), place(b)))
        axis = self._numbers(c.axis)
        across = [self._numbers(v) for v in across_of(c.axis)]
        force, torque, at, k = NOTHING.copy(), NOTHING.copy(), p_B, 0
        if kind in ("point", "hinge", "weld"):
            first = ties_first(self._kin, c)
            own = R_B if first else R_A if latched else place(self._kin.carrier_of_both(a, b))[:3, :3]
            force, at, k = own @ lam[:3], p_A if first else p_B, 3
        elif kind in ("axis", "cylinder", "slider"):
            force, k = R_A @ (across[0] * lam[0] + across[1] * lam[1]), 2
        elif kind == "plane":
            force, k = R_A @ axis * lam[0], 1
        elif kind == "distance":
            d = p_B - p_A
            return Arrow(b, p_B, d * (lam[0] / max(float(np.linalg.norm(d)), 1e-300)), torque), p_A
        if kind in ("parallel", "hinge", "cylinder"):
            there, tilted = R_B @ axis, self._engaged(c, R_A, R_B)
            for v, load in zip(across, lam[k:], strict=True):
                torque += np.cross(there, tilted @ v) * load
        elif kind in ("orientation", "slider", "weld"):
            torque = R_B @ lam[k:]
        return Arrow(b, at, force, torque), at

    def _engaged(self, c: Loop | Latch, R_A: np.ndarray, R_B: np.ndarray) -> np.ndarray:
        """The axes by which tilts are told, which are carried by a: those of b where a latch engaged, or those of a."""
        if not isinstance(c, Latch):
            return R_A
        turn = captured_turn(c)
        known = turn[0, 0] in self._values
        return R_A @ self._numbers(turn.entries).reshape(3, 3) if known else R_B

    def _pulled(self, c: Rope, tension: float, place: Place) -> tuple[Arrow, np.ndarray]:
        p_A, p_B = (place(end)[:3, 3] for end in c.ends)
        d = p_B - p_A
        return Arrow(c.ends[1], p_B, d * (-tension / max(float(np.linalg.norm(d)), 1e-300)), NOTHING), p_A

    def _touching(self, c: Contact | Rolling, lam: np.ndarray, place: Place) -> Arrow:
        at, axes = self.foot(c, place)
        loads = np.zeros(3)
        loads[2], loads[: len(lam) - 1] = lam[0], lam[1:]
        return Arrow(_touches(c), at, axes @ loads, NOTHING)


class _Axis(NamedTuple):
    """The twist by a speed, or by the rate of a coordinate: of a body, in a pose in a frame that it is constant in."""

    body: str
    frame: str
    pose: np.ndarray
    w: np.ndarray
    v: np.ndarray


def _touches(c: Contact | Rolling | CompliantContact) -> str:
    return c.wheel if isinstance(c, Rolling) else c.marker


def _loads(c: Any, lam: np.ndarray, arrows: Arrows) -> Iterator[tuple[str, float]]:
    """Speeds or coordinates that a constraint pulls at, and with how much."""
    if isinstance(c, Stop | CompliantStop):
        signs = [sign for bound, sign in ((c.lower, 1.0), (c.upper, -1.0)) if bound is not None]
        yield c.coordinate, float(np.dot(signs, lam))
    elif isinstance(c, Brake):
        yield c.speed, float(lam[0])
    elif isinstance(c, Lock):
        joint = next(body.joint for body in arrows._bodies.values() if body.joint.name == c.joint)
        yield from zip(joint.speeds(), map(float, lam), strict=True)
    elif isinstance(c, Clutch):
        yield c.ends[0], float(lam[0])
        yield c.ends[1], -float(arrows._numbers([c.ratio])[0]) * float(lam[0])


def _axis(variable: str, bodies: Mapping[str, Body], number: Callable[[Any], np.ndarray]) -> _Axis | None:
    """Where the axis of a speed or coordinate is constant: in the body, or in what carries it."""
    for body in bodies.values():
        joint = body.joint
        if variable in joint.speeds():
            steps = [(part, h) for part in joint.parts for h in twists(part.H)]
            k, alone = joint.speeds().index(variable), False
        elif variable in joint.coordinates() and not any(part.quaternion for part in joint.parts):
            steps = [(part, h) for part in joint.parts for h in twists(part.basis)]
            k, alone = joint.coordinates().index(variable), True
        else:
            continue
        part, h = steps[k]
        w, v = number(h.w), number(h.v)
        # a twist by a speed is in the axes after its whole part, one by a coordinate in those after its own step
        inner = [step for other, step in steps[:k] if alone or other is not part]
        outer = [step for other, step in steps[k + 1 :] if alone or other is not part]
        if all(_slides(step) for step in inner) and (not w.any() or not inner):
            return _Axis(body.name, body.name, np.eye(4), w, v)
        if all(_slides(step) for step in outer) and (alone or part.nu == 1):
            # its direction is that in what carries the joint; its place is that of the body
            return _Axis(body.name, body.parent, number(body.pose.matrix().entries).reshape(4, 4), w, v)
        return None
    return None


def _slides(h: Any) -> bool:
    return bool(h.w == zeros(3))
