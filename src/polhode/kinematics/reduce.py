"""The same motion in frames and with inertias that need fewer operations.

A joint's frame may sit anywhere on its axis and turn about it: z goes along the
axis and x along the common normal to the next one. And of a body on a revolute
joint, the mass, the first moment along the axis and one transverse moment of
inertia act the same when they belong to its parent.

No frame goes far: axes that are parallel but for the digits of a file have their
common normal kilometres away. What comes out is compared with what went in, and
links whose inertia it would change keep their own frames.
"""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Any

from polhode.graph import Constant, Expr, Matrix, as_expr, const, matrix, substitute, vector, zeros
from polhode.model import Part
from polhode.model.algebra import twists
from polhode.model.values import whole
from polhode.spatial import Inertia, Pose, Twist, axis_angle

from .numeric import altered
from .tree import Kinematics, Link

DUST = 5e-12  # of a sine or cosine: what the right angle 1.57079632679 leaves, and no more
PARALLEL = 1e-9  # sine of the angle between two axes, below which their common normal has no direction
FAR = 2  # distances between two axes' points, beyond which no frame is put


def reduced(kin: Kinematics) -> Kinematics:
    """Choose frames and regroup inertias; the links' poses change, the equations do not."""
    as_they_are: set[int] = set()
    while True:
        light = _reduced(kin, as_they_are)
        changed = altered(kin, light) - as_they_are
        if not changed:
            return light
        as_they_are |= changed


def _reduced(kin: Kinematics, as_they_are: set[int]) -> Kinematics:
    axes = [None if k in as_they_are else _axis(link) for k, link in enumerate(kin.links)]
    rest = [_at_rest(link) for link in kin.links]
    children: list[list[int]] = [[] for _ in kin.links]
    for k, link in enumerate(kin.links):
        if link.parent >= 0 and axes[k] is not None:
            children[link.parent].append(k)
    frames = [
        _frame(link.inertia, axes[k], [(axes[j], rest[j]) for j in children[k]]) for k, link in enumerate(kin.links)
    ]
    links: list[Link] = []
    bases: list[Pose] = []  # pose of each new frame in its parent's, before the joint moves
    for k, link in enumerate(kin.links):
        base = rest[k] @ frames[k]
        if link.parent >= 0:
            base = frames[link.parent].inverse() @ base
        lengths = [rest[k].p, frames[k].p, *([frames[link.parent].p] if link.parent >= 0 else [])]
        base = _dusted_pose(base, sum(_size(p) for p in lengths))
        bases.append(base)
        inertia = _dusted_inertia(frames[k].inverse() @ link.inertia)
        if axes[k] is None:
            X = link.X if link.parent < 0 else frames[link.parent].inverse() @ link.X
            links.append(replace(link, X=X, inertia=inertia))
        else:
            links.append(_on_z(link, base, inertia))
    return replace(kin, links=tuple(_regrouped(links, bases, axes)))


_Axis = tuple[str, Matrix, Matrix]  # kind, unit direction and a point of it, in the link's frame


def _axis(link: Link) -> _Axis | None:
    """The axis of a revolute or prismatic joint with numbers that carries a rigid body, None for others."""
    if len(link.H) != 1 or link.part.quaternion or link.part.nq != 1 or link.modes is not None:
        return None
    (h,) = link.H
    numbers = [e.value for e in h.vector() if isinstance(e, Constant)]
    if len(numbers) < 6:
        return None
    w, v = numbers[:3], numbers[3:]
    length = math.sqrt(_dot(w, w))
    if length == 0:
        size = math.sqrt(_dot(v, v))
        return "prismatic", vector([x / size if size != 1 else x for x in v]), zeros(3)
    if abs(_dot(w, v)) > 1e-14 * length * math.sqrt(_dot(v, v)):
        return None  # a screw
    point = [e / length**2 for e in _cross(w, v)]
    unit = w if abs(length - 1) < 1e-15 else [x / length for x in w]
    return "revolute", vector(unit), vector(point) if any(point) else zeros(3)


def _at_rest(link: Link) -> Pose:
    """The link's pose in its parent with its coordinate at zero."""
    if link.part.nq == 1:
        still = {link.coordinates[0]: 0}
        return Pose(substitute(link.X.R, still), substitute(link.X.p, still))
    return Pose.identity()


def _frame(inertia: Inertia, here: _Axis | None, next_ones: list[tuple[_Axis | None, Pose]]) -> Pose:
    """The new frame of a link in its old one: z on the axis, x and the origin by what comes next."""
    if here is None:
        return Pose.identity()
    kind, z, point = here
    p = _floats(point)
    for there, X in next_ones[:1]:
        if there is not None:
            x, origin = _normal(_floats(z), p, _floats(X.R @ there[1]), _floats(X @ there[2]))
            if x is not None:
                return _made(z, x, origin if kind == there[0] == "revolute" else p)
    h, m = _floats(inertia.h), _floats(vector([inertia.m]))
    if kind == "revolute" and h and m and not next_ones:
        # the last body: x towards its centre of mass
        return _made(z, _across(_floats(z), [a - m[0] * b for a, b in zip(h, p, strict=True)]), p)
    return _made(z, None, p)


def _size(v: Matrix) -> float:
    """The length of a vector, as far as it is numbers."""
    return math.sqrt(sum(float(e.value) ** 2 for e in v if isinstance(e, Constant)))


def _floats(v: Matrix) -> list[float]:
    """The numbers of a vector, nothing where it has symbols."""
    return [float(e.value) for e in v if isinstance(e, Constant)] if all(isinstance(e, Constant) for e in v) else []


def _cross(a: list[Any], b: list[Any]) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def _dot(a: list[float], b: list[float]) -> float:
    return sum(x * y for x, y in zip(a, b, strict=True))


def _across(z: list[float], v: list[float]) -> list[float] | None:
    """The unit vector along v across z, None where there is none."""
    along = _dot(z, v)
    rest = [a - along * b for a, b in zip(v, z, strict=True)]
    size = math.sqrt(_dot(rest, rest))
    return [a / size for a in rest] if size > 1e-9 * math.sqrt(_dot(v, v)) else None


def _normal(z: list[float], p: list[float], a: list[float], r: list[float]) -> tuple[list[float] | None, list[float]]:
    """Direction of the common normal of two axes, and its foot on the first where that is near."""
    if not p or not a or not r:
        return None, p
    between = [x - y for x, y in zip(r, p, strict=True)]
    n = [float(e) for e in _cross([*map(Fraction, z)], [*map(Fraction, a)])]  # exact: across both, however small
    sine = math.sqrt(_dot(n, n))
    if sine < PARALLEL:
        return _across(z, between), p
    x = [e / sine for e in n]
    # foot: p + t z with (between - t z) x a . x = 0
    t = _dot(_cross(between, a), x) / sine
    near = abs(t) <= FAR * math.sqrt(_dot(between, between))
    return x, [e + t * f for e, f in zip(p, z, strict=True)] if near else p


def _made(z: Matrix, x: list[float] | None, origin: list[float]) -> Pose:
    third = _floats(z)
    if x is None:
        # keep the old axes where z is one of them, in order
        k = max(range(3), key=lambda i: abs(third[i]))
        x = _across(third, [1.0 if i == (k + 1) % 3 else 0.0 for i in range(3)])
    assert x is not None
    y = _cross(third, x)
    return Pose(matrix([x, y, third]).T.map(_dusted), vector(origin))


def _dusted(e: Expr) -> Expr:
    """Clear dust: what is 0 or +-1 but for the digits of an angle."""
    return whole(e, DUST)


def _dusted_pose(X: Pose, size: float) -> Pose:
    """Clear dust of directions, and of lengths beside those they were made from."""
    return Pose(X.R.map(_dusted), _cleared(X.p, DUST * size))


def _cleared(m: Matrix, least: float) -> Matrix:
    return m.map(lambda e: const(0) if isinstance(e, Constant) and abs(e.value) <= least else e)


def _dusted_inertia(inertia: Inertia, before: Inertia | None = None) -> Inertia:
    """Clear dust beside the largest entry of the same kind, in what it was made from."""
    h, I = (
        1e-13 * max((abs(e.value) for e in m.entries if isinstance(e, Constant)), default=0)
        for m in ((before or inertia).h, (before or inertia).I)
    )
    return Inertia(inertia.m, _cleared(inertia.h, h), _cleared(inertia.I, I))


def _on_z(link: Link, base: Pose, inertia: Inertia) -> Link:
    """The link with its joint along z, and its pose written for that."""
    (h,) = link.H
    w, v = _floats(h.w), _floats(h.v)
    (q,) = link.coordinates
    turning = any(w)
    size = math.sqrt(_dot(w, w) if turning else _dot(v, v))
    scale: Any = 1 if abs(size - 1) < 1e-15 else size
    twist = Twist.of([0, 0, scale, 0, 0, 0] if turning else [0, 0, 0, 0, 0, scale])
    H = matrix([[e] for e in twist.vector()])
    if turning:
        X = Pose(_turned(base.R, scale * q), base.p)
    else:
        X = Pose(base.R, base.p + base.R @ vector([0, 0, scale * q]))
    return replace(link, part=Part(H, H), X=X, H=tuple(twists(H)), inertia=inertia)


def _turned(R: Matrix, angle: Expr) -> Matrix:
    """R Rz(angle), a constant turn about z taken into the angle."""
    first = _floats(R[0])
    if first and first[2] == 0 and not {abs(x) for x in first[:2]} & {0, 1}:
        # R = Rx(a) Rz(b): row 0 is (cos b, -sin b, 0)
        offset = math.atan2(-first[1], first[0])
        s, c = math.sin(offset), math.cos(offset)
        plain = R @ matrix([[c, s, 0], [-s, c, 0], [0, 0, 1]])
        R, angle = plain.map(_dusted), angle + offset
    turned: Matrix = R @ axis_angle((0, 0, 1), angle)
    return turned


def _regrouped(links: list[Link], bases: list[Pose], axes: list[_Axis | None]) -> list[Link]:
    """Give to each parent what of its child acts as its own, outermost first.

    Revolute about z: (m, (0, 0, hz), diag(Iyy, Iyy, 0)) turns into itself and has no
    momentum along z. Prismatic: the moments of inertia do not notice a slide.
    """
    found = list(links)
    for k in reversed(range(len(found))):
        axis, link = axes[k], found[k]
        if axis is None:
            continue
        own = link.inertia
        zero = as_expr(0)
        if axis[0] == "revolute":
            yy = own.I[1, 1]
            given = Inertia(own.m, vector([0, 0, own.h[2]]), matrix([[yy, 0, 0], [0, yy, 0], [0, 0, 0]]))
            I = own.I
            I_left = matrix([[I[0, 0] - yy, I[0, 1], I[0, 2]], [I[0, 1], 0, I[1, 2]], [I[0, 2], I[1, 2], I[2, 2]]])
            left = Inertia(zero, vector([own.h[0], own.h[1], 0]), I_left)
        else:
            given = Inertia(zero, zeros(3), own.I)
            left = Inertia(own.m, own.h, zeros(3, 3))
        found[k] = replace(link, inertia=_dusted_inertia(left, own))
        if link.parent >= 0:
            above = found[link.parent]
            found[link.parent] = replace(above, inertia=above.inertia + bases[k] @ given)
    return found
