"""Lagrange's equations, as Poincare's with V = I, by differentiating the energies.

    d/dt (dT/dqdot) - dT/dq + dU/dq = Q

The joints are split into single columns, so that the speeds are the rates of
the coordinates. Nothing of the spatial structure is used beyond the energies,
which makes this the independent check of the other formulations.

Reference: [KwatnyBlankenship, eq. 37 and the remark after eq. 41].
"""

from __future__ import annotations

from functools import partial

from polhode.graph import (
    Expr,
    Matrix,
    diff_along,
    gradient,
    jacobian,
    maximum,
    mirrored,
    sqrt,
    substitute,
    symbol,
    vector,
    zeros,
)
from polhode.kinematics import Kinematics
from polhode.kinematics.compliant import rubbing, stop_depths, taut
from polhode.kinematics.loads import elastic_energy, speed_forces, spring_energy
from polhode.kinematics.touch import touch_of
from polhode.model import Compliant, CompliantContact, CompliantRope, CompliantStop, MarkerWrench, SpringDamper

from .terms import Terms


def terms(kin: Kinematics) -> Terms:
    """Derive the terms of Lagrange's equations; the links' speeds are q_dot."""
    if kin.q_dot != kin.u:
        raise ValueError(
            f"Model {kin.model.name!r}: Lagrange's equations are in the rates of the coordinates, found other speeds. "
            "Use derive(model, rates=True), and project the terms on those speeds."
        )
    momentum = gradient(kin.kinetic, kin.u)  # dT/dqdot, backward in one pass
    return Terms(
        kinematics=kin,
        mass=partial(_inertia, momentum, kin.u),
        velocity=partial(_velocity, kin, momentum),
        gravity=partial(_gravity, kin),
        forces=partial(_applied, kin),
        convective=partial(convective_matrix, momentum, kin.q),
    )


def _velocity(kin: Kinematics, momentum: Matrix) -> Matrix:
    return diff_along(momentum, kin.q, kin.u) - gradient(kin.kinetic, kin.q)


def _gravity(kin: Kinematics) -> Matrix:
    return gradient(kin.gravitational, kin.q)


def _inertia(momentum: Matrix, u: Matrix) -> Matrix:
    """M = d2T/dqdot2, the lower triangle mirrored."""
    return mirrored(jacobian(momentum, u).T)


def convective_matrix(momentum: Matrix, q: Matrix) -> Matrix:
    """C = D - D^T / 2 with D = d(M u)/dq.

    Reference: [KwatnyBlankenship, eq. 53b] with V = I, signs reversed.
    """
    D = jacobian(momentum, q)
    return D - D.T / 2


def _applied(kin: Kinematics) -> Matrix:
    """Generalised forces by virtual power: the derivative of each force's power by the speeds."""
    Q: Matrix = -gradient(elastic_energy(kin) + spring_energy(kin), kin.q)
    for force in kin.model.forces:
        if isinstance(force, MarkerWrench):
            V = kin.velocity(force.marker, axes=force.axes)
            Q = Q + jacobian(V.vector(), kin.u).T @ vector([*force.torque, *force.force])
        elif isinstance(force, SpringDamper) and force.damping != 0:
            p_AB = kin.pose(force.ends[1]).p - kin.pose(force.ends[0]).p
            rate: Expr = diff_along(sqrt(p_AB @ p_AB), kin.q, kin.u)
            Q = Q - gradient(rate, kin.u) * (force.damping * rate)
        elif isinstance(force, Compliant):
            Q = Q + _yielding(kin, force)
    for name, law in speed_forces(kin):
        Q = Q + gradient(kin.named_speed(name), kin.u) * law
    return substitute(Q, kin.quasi)  # force laws are written in the speeds of the model


def _yielding(kin: Kinematics, force: Compliant) -> Matrix:
    """What a contact, stop or rope does beside its elastic force, which the energy has: along its depth, and across."""
    Q, depths = zeros(len(kin.u)), []
    if isinstance(force, CompliantStop):
        depths = [depth for depth, _ in stop_depths(force)]
        ways = [symbol(force.coordinate) * -sign for _, sign in stop_depths(force)]
    elif isinstance(force, CompliantRope):
        l = taut(kin, force)[1]
        depths, ways = [l - force.length], [l]
    elif isinstance(force, CompliantContact):
        at = touch_of(kin, force.marker, force)
        depths, ways = [maximum(-at.height, 0)], [-at.height]
        rate = diff_along(ways[0], kin.q, kin.u)
        Q = Q + jacobian(at.slip, kin.u).T @ rubbing(force, at, force.push(depths[0], rate))
    for depth, way in zip(depths, ways, strict=True):
        rate = diff_along(way, kin.q, kin.u)
        Q = Q - gradient(rate, kin.u) * (force.push(depth, rate) - force.elastic(depth))
    return Q
