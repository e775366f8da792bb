"""What every formulation returns, and the force laws that all of them read."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, sqrt, symbol, tanh
from polhode.kinematics import Motion
from polhode.model import Potential, SpeedForce, SpringDamper


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
    forward    : where there is one, the udot for given generalised forces
    """

    kinematics: Motion
    mass: Callable[[], Matrix]
    velocity: Callable[[], Matrix]
    gravity: Callable[[], Matrix]
    forces: Callable[[], Matrix]
    convective: Callable[[], Matrix]
    inverse: Callable[[Matrix], Matrix] | None = None
    forward: Callable[[Matrix], Matrix] | None = None


def elastic_energy(kin: Motion) -> Expr:
    """Potential energy of joint springs and of the potentials the user gave."""
    total = as_expr(0)
    for body in kin.model.bodies:
        joint = body.joint
        if joint.passive:
            for name, k, rest in zip(joint.coordinates(), joint.stiffness, joint.rest, strict=False):
                total = total + k * (symbol(name) - rest) ** 2 / 2
    for force in kin.model.forces:
        if isinstance(force, Potential):
            total = total + force.energy
    return total


def spring_energy(kin: Motion) -> Expr:
    """Potential energy of the springs between markers, k (l - length)^2 / 2."""
    total = as_expr(0)
    for force in kin.model.forces:
        if isinstance(force, SpringDamper) and force.stiffness != 0:
            p_AB = kin.pose(force.ends[1]).p - kin.pose(force.ends[0]).p
            stretch2 = p_AB @ p_AB if force.length == 0 else (sqrt(p_AB @ p_AB) - force.length) ** 2
            total = total + force.stiffness * stretch2 / 2
    return total


def speed_forces(kin: Motion) -> list[tuple[str, Expr]]:
    """Forces that belong to one speed: dampers and friction of the joints, and what the user gave.

    Friction is smoothed: -f tanh(u / friction_speed).
    """
    found: list[tuple[str, Expr]] = []
    for body in kin.model.bodies:
        joint = body.joint
        rows = zip(joint.speeds(), joint.damping, joint.friction, strict=False) if joint.passive else ()
        for name, d, f in rows:
            law = -(d * symbol(name))
            if f != 0:
                law = law - f * tanh(symbol(name) / joint.friction_speed)
            found.append((name, law))
    found += [(force.speed, force.value) for force in kin.model.forces if isinstance(force, SpeedForce)]
    return [(name, law) for name, law in found if law != 0]
