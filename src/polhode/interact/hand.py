"""A hand on a machine: a spring and a damper from a point of a body to where the hand is."""

from __future__ import annotations

import numpy as np

from polhode.equations import Dynamics
from polhode.graph import vector

from .at_state import AtState
from .loop import State

PULL = 20.0  # rad/s, of what is pulled on its spring: well below the rate at which forces are computed
FORBIDDEN = 1e-12  # of the largest mobility: what has less cannot be moved, and is not pulled
HEAVIEST = 50.0  # by how much a direction may be heavier than the lightest one, and be pulled as fast


class Hand:
    """A point of a body, held by a critically damped spring.

    F = k (target - x) - c v,  k = w^2 a,  c = 2 w sqrt(a m)
    m = (J M^-1 J^T)^-1 : what the point weighs in each direction
    tau = J^T F

    where a = m, but no more than HEAVIEST times the lightest direction, and no more than the whole machine weighs: a
    point near an axis is as heavy as its lever is short, and would be torn at with tons. Directions that joints forbid
    are not pulled at all. m is that of the tree, without constraints: what is held is heavier, and moves less. A target
    further away than `reach` pulls no more than one that is so far.

    A force that acts for a time h, as Python comes by now and then, is that of the spring at its end:
    F = (k (target - x - h v) - c v) / (1 + (c h + k h^2) / m), which makes no energy however long h is.
    On a body that deforms, the force acts on its frame, and not on the shapes.

    body   : its name
    point  : (3,), in the body
    target : (3,), where the hand is, in the world
    force  : (3,), with which it pulled last, N
    """

    def __init__(self, body: str, point: np.ndarray, where: AtState, mass: AtState, reach: float = np.inf) -> None:
        self.body, self.point, self.target = body, point, np.zeros(3)
        self.force = np.zeros(3)
        self._where, self._mass, self._reach = where, mass, reach
        self._t = np.inf  # of the state at which it pulled last

    def hold(self, state: State) -> None:
        """Put the hand where the point is."""
        X = self._where(state)[0]
        self.target = X[:3, :3] @ self.point + X[:3, 3]

    def forces(self, state: State, lasts: float = 0.0) -> np.ndarray:
        """The forces on the speeds, (nu,), for as long as it was since the last ones, up to `lasts`."""
        X, J = self._where(state)
        M, (whole,) = self._mass(state)
        arm = X[:3, :3] @ self.point
        J = J[3:] + np.cross(J[:3].T, arm).T  # of the point: v + w x r
        h, self._t = min(max(state.t - self._t, 0.0), lasts), state.t
        mobility, axes = np.linalg.eigh(J @ np.linalg.solve(M, J.T))
        if mobility[-1] <= 0:
            self.force = np.zeros(3)
            return np.zeros(len(state.u))
        free = mobility > FORBIDDEN * mobility[-1]
        m = 1 / np.maximum(mobility, FORBIDDEN * mobility[-1])
        acts = np.minimum(m, HEAVIEST / mobility[-1])
        if whole > 0:
            acts = np.minimum(acts, whole)
        k, c = PULL**2 * acts, 2 * PULL * np.sqrt(acts * m)
        away, v = self.target - (arm + X[:3, 3]), axes.T @ (J @ state.u)
        away = axes.T @ away * min(1.0, self._reach / max(float(np.linalg.norm(away)), 1e-300))
        pull = (k * (away - h * v) - c * v) / (1 + (c + k * h) * h / m)
        self.force = axes @ np.where(free, pull, 0.0)
        found: np.ndarray = J.T @ self.force
        return found


class Hands:
    """What may be held of a machine, compiled when it is first taken."""

    def __init__(self, dynamics: Dynamics, p: np.ndarray, reach: float = np.inf) -> None:
        self._dynamics, self._p, self._reach = dynamics, p, reach
        bodies = dynamics.equations.model.merged().bodies
        self._mass = AtState(dynamics, p, [dynamics.equations.M, vector([sum(body.undeformed.m for body in bodies)])])
        self._where: dict[str, AtState] = {}

    def mass(self, state: State) -> np.ndarray:
        """The mass matrix, (nu, nu)."""
        return self._mass(state)[0]

    def take(self, body: str, point: np.ndarray, state: State) -> Hand:
        """Take hold of a point of a body, given in the body."""
        if body not in self._where:
            eq = self._dynamics.equations
            self._where[body] = AtState(self._dynamics, self._p, [eq.pose(body), eq.jacobian(body)])
        found = Hand(body, point, self._where[body], self._mass, self._reach)
        found.hold(state)
        return found
