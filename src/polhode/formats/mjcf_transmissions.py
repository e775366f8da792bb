"""MJCF transmissions: the length that an actuator changes, and what of each speed it is.

A force along the length is a force on each speed, times what the length changes by for a speed of 1.
Reference: MuJoCo, XML reference, general/joint, site, refsite, tendon, cranksite.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from polhode.graph import Expr, Matrix, absolute, as_expr, atan2, cross, less, select, sqrt, substitute, symbol, vector
from polhode.model import Joint
from polhode.spatial import quaternion_rotation

from .mjcf_places import Place, Rates, combined
from .mjcf_wrapping import Around, bent
from .xml import Number

SMALLEST = 1e-30  # of a squared sine: what turns less does not turn


@dataclass(frozen=True, slots=True, kw_only=True)
class Transmission:
    """What an actuator acts on.

    length : as MuJoCo has it
    rates  : what the length changes by, for each speed of 1
    circle : the radius of the circle that the length is on, 0 for a line
    marker : instead of rates that nothing needs: the marker where push and twist act, in its axes
    """

    length: Expr
    rates: Rates
    circle: float = 0
    marker: str | None = None

    @property
    def velocity(self) -> Expr:
        return sum((e * symbol(u) for u, e in self.rates.items()), as_expr(0))

    def length_at(self, values: Mapping[str, float]) -> Expr:
        """The length at these values of the coordinates."""
        return substitute(self.length, {symbol(name): as_expr(x) for name, x in values.items()})

    def geared(self, ratio: Number) -> Transmission:
        return Transmission(length=self.length * ratio, rates=combined((ratio, self.rates)))


def of_joint(joint: Joint, gear: Sequence[Number], in_parent: bool) -> Transmission:
    """Along a hinge or slide; about an axis of a ball, in the child or parent; for a free joint, along one too."""
    q, u = [symbol(name) for name in joint.coordinates()], joint.speeds()
    if joint.nu == 1:
        return Transmission(length=gear[0] * q[0], rates=combined((gear[0], {u[0]: as_expr(1)})))
    R = quaternion_rotation(*q[:4])
    axis = vector(gear[:3] if joint.kind == "spherical" else gear[3:])
    turning = R.T @ axis if in_parent else axis
    if joint.kind == "spherical":
        length = axis @ rotation_vector(q[0], vector(q[1:4]))  # the same in both frames
        rates = dict(zip(u, turning, strict=True))
        return Transmission(length=length, rates=combined((1, rates)), circle=math.hypot(*gear[:3]))
    six = [*turning, *(R.T @ vector(gear[:3]))]
    return Transmission(length=as_expr(0), rates=combined((1, dict(zip(u, six, strict=True)))))


def rotation_vector(w: Expr, v: Matrix) -> Matrix:
    """The axis times the angle of a unit quaternion, the short way round."""
    squared = v @ v
    still = less(squared, SMALLEST)
    sine = sqrt(select(still, 1, squared))
    size = select(still, 2, 2 * atan2(sine, absolute(w)) / sine)
    return v * select(less(w, 0), -size, size)


def of_site(site: Place, gear: Sequence[Number]) -> Transmission:
    """A force and a torque in the axes of the site; its length is 0."""
    push, twist = site.X.R @ vector(gear[:3]), site.X.R @ vector(gear[3:])
    return Transmission(length=as_expr(0), rates=combined((1, site.along(push)), (1, site.about(twist))))


def of_sites(site: Place, reference: Place, gear: Sequence[Number]) -> Transmission:
    """The same between two sites, in the axes of the second; speeds that move both do not count, as in MuJoCo."""
    R = reference.X.R
    push, twist = R @ vector(gear[:3]), R @ vector(gear[3:])
    length = push @ (site.X.p - reference.X.p)
    circle = 0.0
    if any(gear[3:]):
        length = length + vector(gear[3:]) @ _turned(R.T @ site.X.R)
        circle = 0.0 if any(gear[:3]) else math.hypot(*gear[3:])
    moves = (1, site.along(push)), (1, site.about(twist)), (-1, reference.along(push)), (-1, reference.about(twist))
    both = site.moves.keys() & reference.moves.keys()
    rates = {u: e for u, e in combined(*moves).items() if u not in both}
    return Transmission(length=length, rates=rates, circle=circle)


def _turned(R: Matrix) -> Matrix:
    """The axis times the angle of a rotation: sine and cosine are in R - R^T and its trace."""
    v = vector((R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1])) / 2
    squared = v @ v
    still = less(squared, SMALLEST)
    sine = sqrt(select(still, 1, squared))
    return v * select(still, 1, atan2(sine, (R[0, 0] + R[1, 1] + R[2, 2] - 1) / 2) / sine)


def of_crank(crank: Place, slider: Place, rod: Number) -> Transmission:
    """Where a slider is on the z axis of its site, on a rod from the pin of a crank; nearest to that if it is far."""
    axis = vector([row[2] for row in slider.X.R.rows()])
    to_pin = crank.X.p - slider.X.p
    along = to_pin @ axis
    square = along**2 + rod**2 - to_pin @ to_pin
    reaches = less(0, square)
    root = sqrt(select(reaches, square, 1))
    length = select(reaches, along - root, along)
    share = select(reaches, 1 - along / root, 1)
    towards = axis * share + to_pin * select(reaches, 1 / root, 0)
    tilting = slider.about(cross(axis, to_pin))  # to_pin . (w x axis)
    return Transmission(
        length=length, rates=combined((1, crank.along(towards)), (-1, slider.along(towards)), (share, tilting))
    )


def of_path(branches: Sequence[tuple[Number, Sequence[Place | Around]]]) -> Transmission:
    """The length of lines through sites, around geoms, each branch divided by what its pulley divides by."""
    length, parts = as_expr(0), []
    for divisor, points in branches:
        for i, j in pairwise(i for i, point in enumerate(points) if isinstance(point, Place)):
            a, b = points[i], points[j]
            assert isinstance(a, Place)
            assert isinstance(b, Place)
            size, rates = _straight(a, b)
            if isinstance(geom := points[i + 1], Around):
                size, rates = _bent(a, b, geom, size, rates)
            length = length + size / divisor
            parts.append((as_expr(1) / divisor, rates))
    return Transmission(length=length, rates=combined(*parts))


def _straight(a: Place, b: Place) -> tuple[Expr, Rates]:
    """The length of a line between two places, and its rates."""
    step = b.X.p - a.X.p
    size = sqrt(step @ step)
    if a.moves is b.moves:  # of one body
        return size, {}
    return size, combined((1, b.along(step / size)), (-1, a.along(step / size)))


def _bent(a: Place, b: Place, geom: Around, size: Expr, rates: Rates) -> tuple[Expr, Rates]:
    """The same where it wraps around a geom; what lies on the geom keeps its length."""
    bend = bent(a, b, geom)
    (before, first), (after, last) = _straight(a, bend.first), _straight(bend.last, b)
    wrapped = combined((1, first), (1, last))
    every = dict.fromkeys((*rates, *wrapped))
    zero = as_expr(0)
    found = {u: select(bend.wraps, wrapped.get(u, zero), rates.get(u, zero)) for u in every}
    return select(bend.wraps, before + bend.length + after, size), found


def of_coordinates(joints: Mapping[str, Joint], weights: Sequence[tuple[str, Number]]) -> Transmission:
    """A sum of coordinates, each with a factor."""
    length = sum((k * symbol(joints[name].coordinates()[0]) for name, k in weights), as_expr(0))
    rates = combined(*((k, {joints[name].speeds()[0]: as_expr(1)}) for name, k in weights))
    return Transmission(length=length, rates=rates)
