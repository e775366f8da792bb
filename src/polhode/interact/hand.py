"""A hand on a machine: a spring and a damper from a point of a body to where the hand is."""

from __future__ import annotations

from typing import Any

import numpy as np

from polhode.equations import Dynamics

PULL = 20.0  # rad/s, of the point on its spring: below a tenth of the rate at which forces are computed
STIFFEST = 50.0  # by how much a direction may be heavier than the lightest one, and still be pulled as fast


class Hand:
    """What one hand holds: a point of a body.

    body   : its name
    point  : (3,), in the body
    target : (3,), where the hand is, in the world
    """

    def __init__(self, dynamics: Dynamics, p: np.ndarray, body: str, point: np.ndarray, target: np.ndarray) -> None:
        self.body, self.point, self.target = body, point, target
        self._pose, self._jacobian = dynamics.pose(body), dynamics.jacobian(body)
        self._mass = dynamics.mass_matrix
        self._p = {"p": p} if len(p) else {}

    def _at(self, call: Any, state: Any) -> np.ndarray:
        more = dict(self._p) if getattr(call, "takes_p", True) else {}
        return np.asarray(call(state.q, **more))
