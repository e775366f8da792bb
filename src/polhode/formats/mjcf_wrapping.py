"""Tendons that wrap around spheres and cylinders: where they touch, and how long they are there.

In the plane across the cylinder, or through both sites and the centre of the sphere, a tendon from A to B touches a
circle of radius r at T_A and T_B, which lie acos(r / |A|) and acos(r / |B|) from A and B: one way round or the other.

    length = |A T_A| + r angle + |T_B B|,  along a cylinder with a height in proportion

As in MuJoCo it wraps where the straight line would go through, and on the way on which these points are nearer to each
other. With a site S at its side, it goes the other way round where the centre is within the triangle A B S: S is beyond
the centre then, and the tendon with it. Reference: MuJoCo, XML reference, spatial/geom; the side as found by
experiment with MuJoCo 4.0.0. Its sources up to 3.12 have another rule, by the middle of the points where it touches.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from polhode.graph import Expr, Matrix, as_expr, atan2, cross, less, less_equal, maximum, minimum, select, sqrt, vector
from polhode.spatial import Pose

from .mjcf_places import Place

Flat = tuple[Expr, Expr]  # a point in the plane of the circle
CLOSEST = 1e-15  # what MuJoCo takes for nothing
KINDS = ("sphere", "cylinder")


@dataclass(frozen=True, slots=True, kw_only=True)
class Around:
    """A sphere, or a cylinder about its z axis, that a tendon goes round, on the side of a site where there is one."""

    place: Place
    kind: str
    radius: float
    side: Place | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Bend:
    """How a tendon goes round: whether it does, where it touches, as places on the geom, and the length in between."""

    wraps: Expr
    first: Place
    last: Place
    length: Expr


def bent(a: Place, b: Place, round_: Around) -> Bend:
    """The bend of a tendon from a site to another."""
    X = round_.place.X
    p, q = (X.R.T @ (end.X.p - X.p) for end in (a, b))
    if round_.kind == "cylinder":
        axes = vector([1, 0, 0]), vector([0, 1, 0])
    else:
        axes = _plane(p, q)
    A, B = ((point @ axes[0], point @ axes[1]) for point in (p, q))
    side = None
    if round_.side is not None:
        s = X.R.T @ (round_.side.X.p - X.p)
        side = s @ axes[0], s @ axes[1]
    wraps, touching, angle = _round(A, B, round_.radius, side)
    first, last = (axes[0] * x + axes[1] * y for x, y in touching)
    length = round_.radius * angle
    if round_.kind == "cylinder":
        before, after = (_apart(point, end) for point, end in zip((A, B), touching, strict=True))
        rise = (q[2] - p[2]) / (before + length + after)
        up = vector([0, 0, 1])
        first, last = first + up * (p[2] + rise * before), last + up * (p[2] + rise * (before + length))
        length = sqrt(length * length + (rise * length) ** 2)
    ends = (Place(Pose(X.R, X.p + X.R @ point), round_.place.moves) for point in (first, last))
    return Bend(wraps=wraps, first=next(ends), last=next(ends), length=length)


def _plane(p: Matrix, q: Matrix) -> tuple[Matrix, Matrix]:
    """Axes of the plane through two points and the origin, the first towards p, the second to the side of q."""
    ahead = p / sqrt(p @ p)
    normal = cross(p, q)
    size = normal @ normal
    aside = cross(normal / sqrt(select(less(size, CLOSEST**2), 1, size)), ahead)
    return ahead, aside


def _round(A: Flat, B: Flat, r: float, side: Flat | None) -> tuple[Expr, tuple[Flat, Flat], Expr]:
    """Whether a tendon wraps around a circle, on which side, where it touches, and the angle between."""
    outside = less_equal(r * r, _dot(A, A)) * less_equal(r * r, _dot(B, B))
    step = (B[0] - A[0], B[1] - A[1])
    size = _dot(step, step)
    apart = less_equal(CLOSEST, size)
    share = minimum(maximum(-_dot(step, A) / select(apart, size, 1), 0), 1)
    near = (A[0] + share * step[0], A[1] + share * step[1])
    meets = less_equal(_dot(near, near), r * r)
    ways = [_way(A, B, r, way) for way in (1, -1)]
    (first, merit, crosses), (second, other, _) = ways
    better, beyond = less(other, merit), as_expr(0)
    if side is not None:
        beyond = _encloses(A, B, side)
        better = select(beyond, less(0, _turn(A, B)), better)
    x = [select(better, e, f) for e, f in zip(first, second, strict=True)]
    crossed = select(better, crosses, ways[1][2])
    touching = (x[0], x[1]), (x[2], x[3])
    turn = select(better, 1, -1) * (x[1] * x[2] - x[0] * x[3])  # clockwise on the first way
    angle = atan2(turn, _dot(*touching))
    angle = select(less(turn, 0), angle + 2 * math.pi, angle)
    return outside * apart * maximum(beyond, meets * less(crossed, 0.5)), touching, angle


def _encloses(A: Flat, B: Flat, side: Flat) -> Expr:
    """Whether the centre is within the triangle of three points: all turns from one to the next are the same way."""
    turns = _turn(A, side), _turn(side, B), _turn(B, A)
    left, right = ([less(0, way * turn) for turn in turns] for way in (1, -1))
    return left[0] * left[1] * left[2] + right[0] * right[1] * right[2]


def _way(A: Flat, B: Flat, r: float, way: int) -> tuple[list[Expr], Expr, Expr]:
    """Where a tendon touches on one way round, how good that is, and whether its straight parts cross."""
    T, U = _touch(A, r, way), _touch(B, r, -way)
    merit = -((T[0] - U[0]) ** 2 + (T[1] - U[1]) ** 2)
    crosses = _cross(A, T, B, U)
    return [*T, *U], select(crosses, -1e4 * max(1.0, r * r), merit), crosses


def _touch(A: Flat, r: float, way: int) -> Flat:
    """The point where a line from A touches the circle, on one side: r (cos, sin) of acos(r / |A|) from A."""
    square = _dot(A, A)
    far = less_equal(r * r, square)
    square = select(far, square, 2 * r * r)
    c, s = r * r / square, way * r * sqrt(select(far, square - r * r, 1)) / square
    return c * A[0] + s * A[1], c * A[1] - s * A[0]


def _cross(A: Flat, T: Flat, B: Flat, U: Flat) -> Expr:
    """Whether the lines from A to T and from B to U have a point in common."""
    one, two, between = _less(T, A), _less(U, B), _less(B, A)
    det = one[0] * two[1] - one[1] * two[0]
    parallel = less(det * det, CLOSEST**2)
    det = select(parallel, 1, det)
    a = (between[0] * two[1] - between[1] * two[0]) / det
    b = (between[0] * one[1] - between[1] * one[0]) / det
    on = less_equal(0, a) * less_equal(a, 1) * less_equal(0, b) * less_equal(b, 1)
    return select(parallel, 0, on)


def _turn(a: Flat, b: Flat) -> Expr:
    """a x b, positive where b is to the left of a."""
    return a[0] * b[1] - a[1] * b[0]


def _dot(a: Flat, b: Flat) -> Expr:
    return a[0] * b[0] + a[1] * b[1]


def _less(a: Flat, b: Flat) -> Flat:
    return a[0] - b[0], a[1] - b[1]


def _apart(a: Flat, b: Flat) -> Expr:
    d = _less(a, b)
    return sqrt(_dot(d, d))
