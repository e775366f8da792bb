"""Contacts, stops and ropes that yield: how deep they are pressed, and what they push with."""

from __future__ import annotations

from collections.abc import Iterator

from polhode.graph import Expr, Matrix, as_expr, cross, maximum, sqrt, symbol, zeros
from polhode.model import Compliant, CompliantContact, CompliantRope, CompliantStop

from .motion import Motion
from .touch import Touch, touch_of


def compliant_energy(kin: Motion) -> Expr:
    """Elastic energy of all that yields."""
    total = as_expr(0)
    for force in kin.model.forces:
        if isinstance(force, Compliant):
            for depth in _depths(kin, force):
                total = total + force.energy(depth)
    return total


def _depths(kin: Motion, force: Compliant) -> list[Expr]:
    if isinstance(force, CompliantStop):
        return [depth for depth, _ in stop_depths(force)]
    if isinstance(force, CompliantRope):
        return [taut(kin, force)[1] - force.length]
    assert isinstance(force, CompliantContact)
    return [maximum(-touch_of(kin, force.marker, force).height, 0)]


def stop_depths(stop: CompliantStop) -> list[tuple[Expr, int]]:
    """How far a coordinate is beyond each bound, and the sign of the force on it."""
    q = symbol(stop.coordinate)
    found = []
    if stop.lower is not None:
        found.append((maximum(stop.lower - q, 0), 1))
    if stop.upper is not None:
        found.append((maximum(q - stop.upper, 0), -1))
    return found


def taut(kin: Motion, rope: CompliantRope) -> tuple[Matrix, Expr]:
    """The way from one end of a rope to the other, and its length; that of the rope where it is slack."""
    a, b = rope.ends
    p_AB = kin.pose(b).p - kin.pose(a).p
    return p_AB, sqrt(maximum(p_AB @ p_AB, rope.length * rope.length))


def rubbing(contact: CompliantContact, at: Touch, pressing: Expr) -> Matrix:
    """The friction of a contact: -mu lam v / sqrt(v^2 + slip_speed^2)."""
    if contact.friction is None:
        return zeros(3)
    if contact.relief is None:
        v = at.slip - at.n * (at.n @ at.slip)
    else:
        steep = at.n @ at.n
        v, pressing = at.slip - at.n * (at.n @ at.slip / steep), pressing * sqrt(steep)
    found: Matrix = v * (-contact.friction * pressing / sqrt(v @ v + contact.slip_speed**2))
    return found


def compliant_loads(kin: Motion) -> Iterator[tuple[str, Matrix, Matrix]]:
    """Markers with the torques and forces of contacts and ropes, in the world."""
    for force in kin.model.forces:
        if isinstance(force, CompliantRope):
            (a, b), (p_AB, l) = force.ends, taut(kin, force)
            rate = p_AB @ (kin.velocity(b).v - kin.velocity(a).v) / l
            pull = p_AB * (force.push(l - force.length, rate) / l)
            yield a, zeros(3), pull
            yield b, zeros(3), -pull
        elif isinstance(force, CompliantContact):
            at = touch_of(kin, force.marker, force)
            lam = force.push(maximum(-at.height, 0), -(at.n @ at.slip))
            F = at.n * lam + rubbing(force, at, lam)
            yield force.marker, cross(at.down, F), F
            yield force.ground, -cross(at.lever, F), -F


def stop_forces(kin: Motion) -> Iterator[tuple[int, Expr]]:
    """Coordinates with the forces of stops on them."""
    places = {str(q.value): i for i, q in enumerate(kin.q)}
    for force in kin.model.forces:
        if isinstance(force, CompliantStop):
            i = places[force.coordinate]
            for depth, sign in stop_depths(force):
                yield i, force.push(depth, kin.q_dot[i] * -sign) * sign
