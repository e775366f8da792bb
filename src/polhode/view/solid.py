"""Where the mass of a body is, and small geometry."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping

import numpy as np

from polhode.graph import Expr, Matrix, evaluate
from polhode.model.body import Body


def numbers(part: Matrix | Iterable[Expr], values: Mapping[Expr, float]) -> np.ndarray:
    """Expressions as an array, with values for parameters."""
    return np.array(evaluate(part, values), dtype=float)


class Solid:
    """Where the mass of a body is, as the box of uniform density with its inertia."""

    def __init__(self, body: Body, values: Mapping[Expr, float]) -> None:
        total = body.total
        self.mass = float(numbers([total.m], values)[0])
        self.com, self.axes = np.zeros(3), np.eye(3)
        self.box: np.ndarray | None = None
        if self.mass <= 0:
            return
        c = self.com = numbers(total.h, values) / self.mass
        central = numbers(total.I, values) - self.mass * (c @ c * np.eye(3) - np.outer(c, c))
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

    def edges(self, largest: float = math.inf) -> np.ndarray | None:
        """Of the box, (3,), smaller where an inertia was made up; None where it is a point."""
        if self.box is None or not self.box.max() > 0:
            return None
        found: np.ndarray = np.maximum(self.box, 0.02 * self.box.max()) * min(1.0, largest / self.box.max())
        return found


def pose(p: np.ndarray, R: np.ndarray | None = None) -> np.ndarray:
    """A place, and axes there, as (4, 4)."""
    found = np.eye(4)
    found[:3, 3] = p
    if R is not None:
        found[:3, :3] = R
    return found


def aimed(n: np.ndarray) -> np.ndarray:
    """A rotation that takes z to the direction of n."""
    n = n / np.linalg.norm(n)
    a = np.cross(n, np.eye(3)[np.argmin(np.abs(n))])
    a = a / np.linalg.norm(a)
    return np.stack([a, np.cross(n, a), n], axis=1)


def upright(gravity: np.ndarray) -> np.ndarray:
    """The rotation that takes the direction against gravity to z, and keeps x to the right where it can."""
    g = float(np.linalg.norm(gravity))
    if g == 0:
        return np.eye(3)
    up = -gravity / g
    right = np.eye(3)[1 if np.argmax(np.abs(up)) == 0 else 0]
    right = right - up * (right @ up)
    right = right / np.linalg.norm(right)
    return np.array([right, np.cross(up, right), up])
