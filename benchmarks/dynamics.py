"""Forward dynamics of a tree of revolute joints, over any scalar.

One text serves floats and every symbolic engine in the comparison: bias by the
recursive Newton-Euler algorithm, inertia by composite bodies, and the sparse
L^T D L factorisation that a tree does not fill in. Not tuned: what is compared
is what each engine makes of the same operations.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

Vec = Sequence[Any]


@dataclass(frozen=True)
class Link:
    """A body on a revolute joint about the z axis of its own frame."""

    parent: int  # -1 is the base
    R: list[list[float]]  # rotation to the parent's frame, at q = 0
    p: list[float]  # joint in the parent's frame
    m: float
    h: list[float]  # m * centre of mass
    I: list[list[float]]  # about the joint


ROBOTS = {  # fixed base, sliding fingers held
    "panda": "panda_description/urdf/panda.urdf",
    "talos": "talos_data/robots/talos_reduced.urdf",
}


def robot(name: str) -> tuple[list[Link], Any]:
    """Read a fixed-base robot of example-robot-data; return it and Pinocchio's model."""
    import pinocchio as pin

    path = next(Path(p) for p in sys.path if (Path(p) / "cmeel.prefix").is_dir())
    model = pin.buildModelFromUrdf(str(path / "cmeel.prefix/share/example-robot-data/robots" / ROBOTS[name]))
    fingers = [i for i in range(1, model.njoints) if model.joints[i].shortname().startswith("JointModelP")]
    model = pin.buildReducedModel(model, fingers, pin.neutral(model))
    turned = [np.eye(3)]
    links = []
    for i in range(1, model.njoints):
        turned.append(_z_to(_axis(model.joints[i])))
        placement, inertia = model.jointPlacements[i], model.inertias[i]
        T, parent = turned[i], model.parents[i]
        com = T.T @ inertia.lever
        about_joint = T.T @ inertia.inertia @ T + inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        links.append(
            Link(
                parent=parent - 1,
                R=_snap(turned[parent].T @ placement.rotation @ T),
                p=_snap(turned[parent].T @ placement.translation),
                m=inertia.mass,
                h=_snap(inertia.mass * com),
                I=_snap(about_joint),
            )
        )
    return links, model


def _axis(joint: Any) -> np.ndarray:
    kind = joint.shortname()
    unit = {"JointModelRX": 0, "JointModelRY": 1, "JointModelRZ": 2}
    if kind in unit:
        return np.eye(3)[unit[kind]]
    return np.asarray(joint.extract().axis if hasattr(joint, "extract") else joint.axis)


def _z_to(axis: np.ndarray) -> np.ndarray:
    """A rotation whose third column is the axis."""
    x = np.roll(np.eye(3)[np.argmax(np.abs(axis))], 1)
    y = np.cross(axis, x)
    y /= np.linalg.norm(y)
    return np.column_stack([np.cross(y, axis), y, axis])


def _snap(a: np.ndarray) -> Any:
    """Clear the rounding dust of angles given in decimals."""
    a = np.array(a)
    for value in (0.0, 1.0, -1.0, 0.5, -0.5):
        a[np.abs(a - value) < 1e-10] = value
    return a.tolist()


def add(a: Vec, b: Vec) -> list[Any]:
    return [x + y for x, y in zip(a, b, strict=True)]


def scale(c: Any, a: Vec) -> list[Any]:
    return [c * x for x in a]


def cross(a: Vec, b: Vec) -> list[Any]:
    return [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]


def apply(A: Sequence[Vec], b: Vec) -> list[Any]:
    return [r[0] * b[0] + r[1] * b[1] + r[2] * b[2] for r in A]


def transpose(A: Sequence[Vec]) -> list[list[Any]]:
    return [list(row) for row in zip(*A, strict=True)]


def product(A: Sequence[Vec], B: Sequence[Vec]) -> list[list[Any]]:
    return transpose([apply(A, column) for column in transpose(B)])


def turn_z(s: Any, c: Any, R: Sequence[Vec]) -> list[list[Any]]:
    """R Rz(q)."""
    return [[r[0] * c + r[1] * s, r[1] * c - r[0] * s, r[2]] for r in R]


def about(m: Any, h: Vec, p: Vec) -> list[list[Any]]:
    """What moving the origin by p adds to the inertia: 2 (h.p) 1 - h p^T - p h^T + m (p.p 1 - p p^T)."""
    hp = h[0] * p[0] + h[1] * p[1] + h[2] * p[2]
    pp = p[0] * p[0] + p[1] * p[1] + p[2] * p[2]
    diagonal = 2 * hp + m * pp
    return [
        [(diagonal if i == j else 0) - (h[i] * p[j] + p[i] * h[j] + m * p[i] * p[j]) for j in range(3)]
        for i in range(3)
    ]


def bias(links: list[Link], R: list[Any], u: Vec) -> list[Any]:
    """Joint torques at zero acceleration."""
    n = len(links)
    zero: list[Any] = [0, 0, 0]
    w: list[Any] = [zero] * n
    wd: list[Any] = [zero] * n
    a: list[Any] = [zero] * n
    f: list[Any] = [zero] * n
    t: list[Any] = [zero] * n
    # forward pass: velocities and accelerations, gravity as an acceleration of the base
    for i, link in enumerate(links):
        k = link.parent
        wp, wdp, ap = (w[k], wd[k], a[k]) if k >= 0 else (zero, zero, [0, 0, 9.81])
        E = transpose(R[i])
        turned = apply(E, wp)
        w[i] = add(turned, [0, 0, u[i]])
        wd[i] = add(apply(E, wdp), [turned[1] * u[i], -turned[0] * u[i], 0])
        a[i] = apply(E, add(ap, add(cross(wdp, link.p), cross(wp, cross(wp, link.p)))))
        f[i] = add(scale(link.m, a[i]), add(cross(wd[i], link.h), cross(w[i], cross(w[i], link.h))))
        t[i] = add(add(apply(link.I, wd[i]), cross(w[i], apply(link.I, w[i]))), cross(link.h, a[i]))
    # backward pass: forces
    for i in range(n - 1, -1, -1):
        k = links[i].parent
        if k >= 0:
            force = apply(R[i], f[i])
            f[k] = add(f[k], force)
            t[k] = add(t[k], add(apply(R[i], t[i]), cross(links[i].p, force)))
    return [moment[2] for moment in t]


def inertia(links: list[Link], R: list[Any]) -> list[list[Any]]:
    """Joint-space inertia by composite bodies, lower triangle."""
    n = len(links)
    m: list[Any] = [link.m for link in links]
    h: list[Any] = [link.h for link in links]
    I: list[Any] = [link.I for link in links]
    M: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in range(n - 1, -1, -1):
        # the moment and force that a unit acceleration of joint i needs, up the tree
        moment, force = [I[i][0][2], I[i][1][2], I[i][2][2]], [-h[i][1], h[i][0], 0]
        M[i][i] = moment[2]
        j = i
        while links[j].parent >= 0:
            force = apply(R[j], force)
            moment = add(apply(R[j], moment), cross(links[j].p, force))
            j = links[j].parent
            M[i][j] = moment[2]
        k = links[i].parent
        if k >= 0:
            turned = apply(R[i], h[i])
            shifted = about(m[i], turned, links[i].p)
            rotated = product(product(R[i], I[i]), transpose(R[i]))
            m[k] = m[k] + m[i]
            h[k] = add(h[k], add(turned, scale(m[i], links[i].p)))
            I[k] = [add(add(x, y), z) for x, y, z in zip(I[k], rotated, shifted, strict=True)]
    return M


def solve(links: list[Link], M: list[list[Any]], b: list[Any]) -> list[Any]:
    """Solve M x = b by L^T D L along the branches, leaves first."""
    n = len(links)
    M = [row[:] for row in M]
    x = list(b)
    inverse: list[Any] = [None] * n

    def ancestors(i: int) -> list[int]:
        found = []
        while links[i].parent >= 0:
            i = links[i].parent
            found.append(i)
        return found

    for k in range(n - 1, -1, -1):
        inverse[k] = 1 / M[k][k]
        above = ancestors(k)
        for s, i in enumerate(above):
            factor = M[k][i] * inverse[k]
            for j in above[s:]:
                M[i][j] = M[i][j] - factor * M[k][j]
            M[k][i] = factor
    for i in range(n - 1, -1, -1):
        for j in ancestors(i):
            x[j] = x[j] - M[i][j] * x[i]
    x = [e * d for e, d in zip(x, inverse, strict=True)]
    for i in range(n):
        for j in ancestors(i):
            x[i] = x[i] - M[i][j] * x[j]
    return x


def forward_dynamics(
    links: list[Link], q: Vec, u: Vec, tau: Vec, sin: Callable[[Any], Any], cos: Callable[[Any], Any]
) -> list[Any]:
    """Joint accelerations."""
    R = [turn_z(sin(angle), cos(angle), link.R) for angle, link in zip(q, links, strict=True)]
    right = [x - y for x, y in zip(tau, bias(links, R, u), strict=True)]
    return solve(links, inertia(links, R), right)
