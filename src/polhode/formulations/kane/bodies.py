"""What Kane's method reads of a model: masses with their points, and forces with theirs."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, cross, diff_along, gradient, maximum, sqrt, symbol, zeros
from polhode.kinematics import Motion
from polhode.kinematics.bent import Modes
from polhode.kinematics.compliant import rubbing, stop_depths, taut
from polhode.kinematics.touch import touch_of
from polhode.model import TIME, CompliantContact, CompliantRope, CompliantStop, MarkerWrench, Part, SpringDamper
from polhode.model.body import Body
from polhode.spatial import Inertia


@dataclass(frozen=True, slots=True, kw_only=True)
class Mass:
    """A rigid body seen from one of its points, the mass centre where it has one.

    point : in the link's axes
    I     : inertia about it
    h     : first moment about it, zero at a mass centre
    """

    body: str
    link: int
    point: Matrix
    m: Expr
    I: Matrix
    h: Matrix

    def needed(self, w: Matrix, alpha: Matrix, a: Matrix) -> tuple[Matrix, Matrix]:
        """Torque about the point and force that its motion needs: I alpha + w x I w, m a.

        Reference: [Gillespie, eq. 31], with the terms of h for a point that is no mass centre.
        """
        n, f = self.I @ alpha + cross(w, self.I @ w), a * self.m
        if self.h == zeros(3):
            return n, f
        return n + cross(self.h, a), f + cross(alpha, self.h) + cross(w, cross(w, self.h))

    def momentum(self, w: Matrix, v: Matrix) -> tuple[Matrix, Matrix]:
        """Angular momentum about the point and momentum."""
        return self.I @ w + cross(self.h, v), v * self.m + cross(w, self.h)


@dataclass(frozen=True, slots=True, kw_only=True)
class Pliant:
    """A body that deforms, seen from the origin of its frame."""

    body: str
    link: int
    modes: Modes


def pliant(kin: Motion) -> list[Pliant]:
    """The bodies that deform."""
    links = kin.joints.links
    bodies = [(body.name, kin.joints.carriers[body.name]) for body in kin.model.bodies if body.flexible is not None]
    return [Pliant(body=name, link=k, modes=m) for name, k in bodies if (m := links[k].modes) is not None]


def masses(kin: Motion) -> list[Mass]:
    """The rigid bodies that have inertia."""
    found = []
    for body in kin.model.bodies:
        if body.flexible is None and body.total != Inertia.zero():
            point, about = _seen(body)
            link = kin.joints.carriers[body.name]
            found.append(Mass(body=body.name, link=link, point=point, m=about.m, I=about.I, h=about.h))
    return found


def _seen(body: Body) -> tuple[Matrix, Inertia]:
    """The mass centre and the inertia about it; the origin where there is none, or none to write down."""
    if body.welded == Inertia.zero() and body.mass != 0:
        return body.com, Inertia(body.mass, zeros(3), body.inertia)
    total = body.total
    if not total.m.number:
        return zeros(3), total
    center = total.h / total.m
    return center, Inertia(total.m, zeros(3), total.shifted(-center).I)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rotor:
    """An armature a that turns with a speed v of a joint.

    along   : slopes of v by the generalised speeds
    turning : gyroscopic force where the axes of a joint do not commute, -sum v_j c_ji^l a_l v_l
    """

    a: Expr
    v: Expr
    along: Matrix
    turning: Expr


def rotors(kin: Motion) -> list[Rotor]:
    """The armatures of all joints, on the speeds that the model names."""
    found: list[Rotor] = []
    for body in kin.model.bodies:
        speeds, first = [kin.named_speed(name) for name in body.joint.speeds()], 0
        for part in body.joint.parts:
            own = slice(first, first + part.nu)
            found += _rotors(kin, part, speeds[own], body.joint.armature[own])
            first += part.nu
    return found


def _rotors(kin: Motion, part: Part, speeds: list[Expr], armature: tuple[Expr, ...]) -> Iterator[Rotor]:
    moved = [a * v for a, v in zip(armature, speeds, strict=False)]
    for i, (a, v) in enumerate(zip(armature, speeds, strict=False)):
        turning = as_expr(0)
        for v_j, c in zip(speeds, part.structure, strict=False):
            for l, p in enumerate(moved):
                if c[l, i] != 0 and p != 0:
                    turning = turning - v_j * c[l, i] * p
        if a != 0 or turning != 0:
            yield Rotor(a=a, v=v, along=gradient(v, kin.u), turning=turning)


Load = tuple[str, str, Matrix, Matrix]  # marker, axes, torque, force


def active(kin: Motion) -> Iterator[Load]:
    """Torques and forces at markers: wrenches, and springs at both ends. Laws are in the speeds of the joints."""
    for force in kin.model.forces:
        if isinstance(force, MarkerWrench):
            yield force.marker, force.axes, force.torque, force.force
        elif isinstance(force, SpringDamper):
            pull = _tension(kin, force)
            for end, sign in zip(force.ends, (1, -1), strict=True):
                yield end, "world", zeros(3), pull * sign
        elif isinstance(force, CompliantRope):
            p_AB, l = taut(kin, force)
            pull = p_AB * (force.push(l - force.length, _rate(kin, l)) / l)
            for end, sign in zip(force.ends, (1, -1), strict=True):
                yield end, "world", zeros(3), pull * sign
        elif isinstance(force, CompliantContact):
            at = touch_of(kin, force.marker, force)
            lam = force.push(maximum(-at.height, 0), -_rate(kin, at.height))
            F = at.n * lam + rubbing(force, at, lam)
            yield force.marker, "world", cross(at.down, F), F
            yield force.ground, "world", cross(at.lever, -F), -F


def stopped(kin: Motion) -> Iterator[tuple[Expr, Expr]]:
    """Rates at which stops that yield are approached, and the forces against them."""
    for force in kin.model.forces:
        if isinstance(force, CompliantStop):
            for depth, sign in stop_depths(force):
                rate = _rate(kin, symbol(force.coordinate) * -sign)
                yield rate, -force.push(depth, rate)


def _rate(kin: Motion, e: Expr) -> Expr:
    return diff_along(e, [*kin.q, TIME], [*kin.q_dot, as_expr(1)])


def _tension(kin: Motion, spring: SpringDamper) -> Matrix:
    """The force of a spring and damper on its first end, in the world."""
    a, b = spring.ends
    p_AB = kin.pose(b).p - kin.pose(a).p
    if spring.length == 0 and spring.damping == 0:
        return p_AB * spring.stiffness  # no length to divide by
    l: Expr = sqrt(p_AB @ p_AB)
    tension = spring.stiffness * (l - spring.length)
    if spring.damping != 0:
        tension = tension + spring.damping * _rate(kin, l)
    return p_AB * (tension / l)
