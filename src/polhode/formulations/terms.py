"""What every formulation returns."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polhode.graph import Matrix
from polhode.kinematics import Motion


@dataclass(frozen=True, kw_only=True)
class Terms:
    """The terms of M udot + velocity + gravity = forces + tau, each made when asked for.

    kinematics : of the speeds that the equations are written in
    mass       : makes M (nu, nu), symmetric, both triangles filled
    velocity   : makes (nu,), quadratic in the speeds
    gravity    : makes (nu,)
    forces     : makes (nu,), of the model's own force laws
    convective : makes C (nu, nu) with C u = velocity
    inverse    : where there is a recursion, M udot + velocity + gravity for a given udot
    forward    : where there is one, the udot for given generalised forces; a second argument, (nu,), is inertia
                 beside the armatures
    """

    kinematics: Motion
    mass: Callable[[], Matrix]
    velocity: Callable[[], Matrix]
    gravity: Callable[[], Matrix]
    forces: Callable[[], Matrix]
    convective: Callable[[], Matrix]
    inverse: Callable[[Matrix], Matrix] | None = None
    forward: Callable[..., Matrix] | None = None
