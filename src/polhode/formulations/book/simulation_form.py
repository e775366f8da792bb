"""The terms of the equations, from the recursions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from polhode.formulations.terms import Terms
from polhode.graph import Matrix, as_expr, jacobian, matrix, solve, zeros
from polhode.kinematics import Kinematics
from polhode.kinematics.loads import applied_forces
from polhode.spatial import Twist

from .axes import Axes
from .base_axes import BaseAxes
from .frames import Frame, frames
from .inertia import inertia_matrix
from .link_axes import LinkAxes
from .right_side import needed


def terms(kin: Kinematics) -> Terms:
    """Derive the equations of an arm, or any tree, whose links may deform."""
    chain = frames(kin)
    return Terms(
        kinematics=kin,
        mass=partial(mass_matrix, kin, chain),
        velocity=partial(velocity_terms, kin, chain),
        gravity=partial(gravity_terms, kin, chain),
        forces=partial(applied_forces, kin),
        convective=partial(convective_matrix, kin, chain),
        inverse=partial(inverse_dynamics, kin, chain),
        forward=partial(forward_dynamics, kin, chain),
    )


def seen(chain: Sequence[Frame], udot: Matrix, fall: Matrix) -> Axes[Any, Any]:
    """The arm in axes of its links, or of the base where rotations are linear."""
    linear = any(frame.turns for frame in chain)
    return BaseAxes(chain, udot, fall) if linear else LinkAxes(chain, udot, fall)


def mass_matrix(kin: Kinematics, chain: Sequence[Frame]) -> Matrix:
    """J, (nu, nu). Reference: [Book, eq. 66 to 81]."""
    n = len(kin.u)
    return inertia_matrix(seen(chain, zeros(n), zeros(3)), n)


def velocity_terms(kin: Kinematics, chain: Sequence[Frame]) -> Matrix:
    """What of -R is quadratic in the speeds, (nu,). Reference: [Book, eq. 83 to 88]."""
    n = len(kin.u)
    return needed(seen(chain, zeros(n), zeros(3)), n)


def gravity_terms(kin: Kinematics, chain: Sequence[Frame]) -> Matrix:
    """What of -R gravity has, (nu,). Reference: [Book, eq. 83 to 86, 89, 90]."""
    n = len(kin.u)
    return needed(seen([_still(frame) for frame in chain], zeros(n), -kin.model.gravity), n)


def inverse_dynamics(kin: Kinematics, chain: Sequence[Frame], udot: Matrix) -> Matrix:
    """The forces that accelerations need, (nu,). Reference: [Book, eq. 38, 39, 56, 57]."""
    n = len(kin.u)
    rows = needed(seen(chain, udot, -kin.model.gravity), n)
    driven = list(rows)
    for frame in chain:
        for at, a in zip(frame.at, frame.armature, strict=False):
            driven[at] = driven[at] + a * udot[at]
    return Matrix((n,), driven)


def forward_dynamics(kin: Kinematics, chain: Sequence[Frame], forces: Matrix, beside: Matrix | None = None) -> Matrix:
    """The accelerations, by solving J zdd = R. Reference: [Book, eq. 82]."""
    n = len(kin.u)
    J = mass_matrix(kin, chain)
    if beside is not None:
        J = J + matrix([[beside[i] if i == j else 0 for j in range(n)] for i in range(n)])
    return solve(J, forces - inverse_dynamics(kin, chain, zeros(n)))


def convective_matrix(kin: Kinematics, chain: Sequence[Frame]) -> Matrix:
    """C = 1/2 d(velocity)/du, with C u the velocity terms, which are quadratic in u."""
    return jacobian(velocity_terms(kin, chain), kin.u) / 2


def _still(frame: Frame) -> Frame:
    """The frame with all speeds 0."""
    mass = frame.mass
    if mass is not None:
        rest = tuple(as_expr(0) for _ in mass.rates)
        mass = replace(mass, rates=rest, H2=zeros(3), G2=zeros(3, 3), B=())
    speeds = tuple(as_expr(0) for _ in frame.speeds)
    return replace(frame, speeds=speeds, bend=Twist.zero(), mass=mass)
