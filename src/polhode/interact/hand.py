"""A hand on a machine: a spring and a damper from a point of a body to where the hand is."""

from __future__ import annotations

import numpy as np

from polhode.equations import Dynamics

from .at_state import AtState
from .loop import State

PULL = 20.0  # rad/s, of what is pulled on its spring: well below the rate at which forces are computed
FORBIDDEN = 1e-12  # of the largest mobility: what has less cannot be moved, and is not pulled
HEAVIEST = 50.0  # by how much a direction may be heavier than the lightest one, and be pulled as fast


class Hand:
    """A point of a body, held by a critically damped spring.

    F = m (w^2 (target - x) - 2 w v),  m = (J M^-1 J^T)^-1 : what the point weighs in each direction
    tau = J^T F

    m is that of the tree, without constraints: what is held is heavier, and moves less. Directions more than HEAVIEST
    times heavier than the lightest one, are pulled as if they were that heavy, and those that joints forbid not at all.
    On a body that deforms, the force acts on its frame, and not on the shapes.

    body   : its name
    point  : (3,), in the body
    target : (3,), where the hand is, in the world
    force  : (3,), with which it pulled last, N
    """

    def __init__(self, body: str, point: np.ndarray, where: AtState, mass: AtState) -> None:
        self.body, self.point, self.target = body, point, np.zeros(3)
        self.force = np.zeros(3)
        self._where, self._mass = where, mass

    def hold(self, state: State) -> None:
        """Put the hand where the point is."""
        X = self._where(state)[0]
        self.target = X[:3, :3] @ self.point + X[:3, 3]

    def forces(self, state: State) -> np.ndarray:
        """The forces on the speeds, (nu,)."""
        X, J = self._where(state)
        (M,) = self._mass(state)
        arm = X[:3, :3] @ self.point
        J = J[3:] + np.cross(J[:3].T, arm).T  # of the point: v + w x r
        mobility, axes = np.linalg.eigh(J @ np.linalg.solve(M, J.T))
        if mobility[-1] <= 0:
            self.force = np.zeros(3)
            return np.zeros(len(state.u))
        weight = 1 / np.maximum(mobility, mobility[-1] / HEAVIEST)
        wish = PULL**2 * (self.target - (arm + X[:3, 3])) - 2 * PULL * (J @ state.u)
        free = mobility > FORBIDDEN * mobility[-1]
        self.force = axes @ (free * weight * (axes.T @ wish))
        found: np.ndarray = J.T @ self.force
        return found


class Hands:
    """What may be held of a machine, compiled when it is first taken."""

    def __init__(self, dynamics: Dynamics, p: np.ndarray) -> None:
        self._dynamics, self._p = dynamics, p
        self._mass = AtState(dynamics, p, [dynamics.equations.M])
        self._where: dict[str, AtState] = {}

    def mass(self, state: State) -> np.ndarray:
        """The mass matrix, (nu, nu)."""
        (M,) = self._mass(state)
        return M

    def take(self, body: str, point: np.ndarray, state: State) -> Hand:
        """Take hold of a point of a body, given in the body."""
        if body not in self._where:
            eq = self._dynamics.equations
            self._where[body] = AtState(self._dynamics, self._p, [eq.pose(body), eq.jacobian(body)])
        found = Hand(body, point, self._where[body], self._mass)
        found.hold(state)
        return found
