"""Inverse dynamics, inertia matrix and forward dynamics of a robot, over any scalar.

What somebody with CasADi would write from a textbook (Featherstone, Rigid Body
Dynamics Algorithms, 2008), in vectors of three and with frames turned so that
each axis is z: recursive Newton-Euler, composite bodies, and for the
accelerations either the sparse L^T D L factorisation or articulated bodies. The
base is fixed or floats: quaternion and position, twist in its own frame,
angular part first.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from .dynamics import (
    Link,
    Vec,
    _axis,
    _snap,
    _z_to,
    about,
    add,
    apply,
    cross,
    product,
    scale,
    solve,
    transpose,
    turn_z,
)

GRAVITY = 9.81


@dataclass(frozen=True)
class Tree:
    """A robot; the first link is its base where that floats.

    names : of the joints, a hinge a link
    """

    links: list[Link]
    names: list[str]
    floating: bool

    @property
    def extra(self) -> int:
        """Speeds before those of the hinges, less the links before them."""
        return 5 if self.floating else 0

    @property
    def hinges(self) -> range:
        return range(int(self.floating), len(self.links))


def tree(model: Any) -> Tree:
    """Read a model of Pinocchio whose joints are hinges, on a base that may float."""
    floating = model.joints[1].shortname() == "JointModelFreeFlyer"
    turned, links = [np.eye(3)], []
    for i in range(1, model.njoints):
        placement, inertia, parent = model.jointPlacements[i], model.inertias[i], model.parents[i]
        T = np.eye(3) if floating and i == 1 else _z_to(_axis(model.joints[i]))
        turned.append(T)
        com = T.T @ inertia.lever
        I = T.T @ inertia.inertia @ T + inertia.mass * (com @ com * np.eye(3) - np.outer(com, com))
        R, p = turned[parent].T @ placement.rotation @ T, turned[parent].T @ placement.translation
        h = _snap(inertia.mass * com)
        links.append(Link(parent=parent - 1, R=_snap(R), p=_snap(p), m=inertia.mass, h=h, I=_snap(I)))
    return Tree(links, list(model.names)[1 + floating :], floating)


def rotations(robot: Tree, q: Vec, sin: Any, cos: Any) -> list[Any]:
    """The rotation of each link to its parent."""
    found = []
    if robot.floating:
        w, x, y, z = q[:4]
        found.append(
            [
                [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
                [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
                [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
            ]
        )
    angles = q[7:] if robot.floating else q
    hinges = robot.links[int(robot.floating) :]
    return found + [turn_z(sin(a), cos(a), link.R) for a, link in zip(angles, hinges, strict=True)]


def inverse_dynamics(robot: Tree, R: list[Any], u: Vec, udot: Vec) -> list[Any]:
    """The forces that the accelerations need."""
    links, k = robot.links, robot.extra
    w, wd, a, f, t = (_blank(links) for _ in range(5))
    # outward: motion, gravity as an acceleration of the world
    for i, link in enumerate(links):
        if robot.floating and i == 0:
            w[0], wd[0] = u[:3], udot[:3]
            a[0] = add(add(udot[3:6], cross(u[:3], u[3:6])), scale(GRAVITY, R[0][2]))
        else:
            at_base = link.parent < 0
            wp, wdp = ([0, 0, 0], [0, 0, 0]) if at_base else (w[link.parent], wd[link.parent])
            ap = [0, 0, GRAVITY] if at_base else a[link.parent]
            E, rate = transpose(R[i]), u[i + k]
            turned = apply(E, wp)
            w[i] = add(turned, [0, 0, rate])
            wd[i] = add(apply(E, wdp), [turned[1] * rate, -turned[0] * rate, udot[i + k]])
            a[i] = apply(E, add(ap, add(cross(wdp, link.p), cross(wp, cross(wp, link.p)))))
        f[i] = add(scale(link.m, a[i]), add(cross(wd[i], link.h), cross(w[i], cross(w[i], link.h))))
        t[i] = add(add(apply(link.I, wd[i]), cross(w[i], apply(link.I, w[i]))), cross(link.h, a[i]))
    # inward: forces
    for i in reversed(range(len(links))):
        if (parent := links[i].parent) >= 0:
            force, moment = _outward(R[i], links[i].p, f[i], t[i])
            f[parent], t[parent] = add(f[parent], force), add(t[parent], moment)
    return ([*t[0], *f[0]] if robot.floating else []) + [t[i][2] for i in robot.hinges]


def _blank(links: list[Link]) -> list[Any]:
    return [None] * len(links)


def _outward(R: Any, p: Vec, force: Vec, moment: Vec) -> tuple[list[Any], list[Any]]:
    """A force and moment on a link, seen from its parent."""
    force = apply(R, force)
    return force, add(apply(R, moment), cross(p, force))


def inertia_matrix(robot: Tree, R: list[Any]) -> list[list[Any]]:
    """Joint-space inertia by composite bodies, lower triangle."""
    links, k = robot.links, robot.extra
    m: list[Any] = [link.m for link in links]
    h: list[Any] = [link.h for link in links]
    I: list[Any] = [link.I for link in links]
    n = len(links) + k
    M: list[list[Any]] = [[0] * n for _ in range(n)]
    for i in reversed(range(len(links))):
        if robot.floating and i == 0:
            for r in range(3):
                M[r][:3], M[3 + r][:3], M[3 + r][3 + r] = I[0][r], scale(-1, skew(h[0])[r]), m[0]
            continue
        # the moment and force that a unit acceleration of joint i needs, up the tree
        moment, force = [I[i][0][2], I[i][1][2], I[i][2][2]], [-h[i][1], h[i][0], 0]
        M[i + k][i + k] = moment[2]
        j = i
        while links[j].parent >= 0:
            force, moment = _outward(R[j], links[j].p, force, moment)
            j = links[j].parent
            if robot.floating and j == 0:
                M[i + k][:6] = [*moment, *force]
            else:
                M[i + k][j + k] = moment[2]
        if (parent := links[i].parent) >= 0:
            turned = apply(R[i], h[i])
            rotated, shifted = rotated_by(R[i], I[i]), about(m[i], turned, links[i].p)
            m[parent] = m[parent] + m[i]
            h[parent] = add(h[parent], add(turned, scale(m[i], links[i].p)))
            I[parent] = mirrored([add(add(x, y), z) for x, y, z in zip(I[parent], rotated, shifted, strict=True)])
    return M


def factorised(robot: Tree, R: list[Any], b: list[Any]) -> list[Any]:
    """Solve M x = b by L^T D L, which a tree does not fill in."""
    k = robot.extra
    base = [replace(robot.links[0], parent=i - 1) for i in range(6)] if robot.floating else []
    hinges = [replace(robot.links[i], parent=robot.links[i].parent + k) for i in robot.hinges]
    return solve([*base, *hinges], inertia_matrix(robot, R), b)


def articulated(robot: Tree, R: list[Any], b: list[Any]) -> list[Any]:
    """Solve M x = b by articulated bodies, linear in the number of links."""
    links, k, n = robot.links, robot.extra, len(robot.links)
    # moment = J w_dot + H a, force = H^T w_dot + m a
    J: list[Any] = [link.I for link in links]
    H: list[Any] = [skew(link.h) for link in links]
    m: list[Any] = [[[link.m if r == c else 0 for c in range(3)] for r in range(3)] for link in links]
    f: list[Any] = [[0, 0, 0]] * n
    t: list[Any] = [[0, 0, 0]] * n
    kept = _blank(links)
    # inward: articulated inertias and the forces they need
    for i in reversed(robot.hinges):
        U, V = [row[2] for row in J[i]], H[i][2]
        inverse, rest = 1 / U[2], b[i + k] - t[i][2]
        kept[i] = U, V, inverse, rest
        if (parent := links[i].parent) < 0:
            continue
        U_over, V_over = scale(inverse, U), scale(inverse, V)
        A, B, C = _less(J[i], U, U_over), _less(H[i], U, V_over), _less(m[i], V, V_over)
        force, moment = _outward(R[i], links[i].p, add(f[i], scale(rest, V_over)), add(t[i], scale(rest, U_over)))
        f[parent], t[parent] = add(f[parent], force), add(t[parent], moment)
        A, C = rotated_by(R[i], A), rotated_by(R[i], C)
        B = product(product(R[i], B), transpose(R[i]))
        P = skew(links[i].p)
        PC = product(P, C)
        PB = product(P, transpose(B))
        PCP = product(PC, transpose(P))
        shift = [add(add(x, y), z) for x, y, z in zip(PB, transpose(PB), PCP, strict=True)]
        J[parent] = mirrored([add(x, add(y, z)) for x, y, z in zip(J[parent], A, shift, strict=True)])
        H[parent] = [add(x, add(y, z)) for x, y, z in zip(H[parent], B, PC, strict=True)]
        m[parent] = mirrored([add(x, y) for x, y in zip(m[parent], C, strict=True)])
    # outward: accelerations
    x: list[Any] = []
    wd, a = _blank(links), _blank(links)
    if robot.floating:
        whole = [[*J[0][r], *H[0][r]] for r in range(3)] + [[*transpose(H[0])[r], *m[0][r]] for r in range(3)]
        right = [u - v for u, v in zip(b[:6], [*t[0], *f[0]], strict=True)]
        x = solve([replace(links[0], parent=i - 1) for i in range(6)], whole, right)
        wd[0], a[0] = x[:3], x[3:6]
    for i in robot.hinges:
        U, V, inverse, rest = kept[i]
        if (parent := links[i].parent) < 0:
            wd[i], a[i] = [0, 0, 0], [0, 0, 0]
        else:
            E = transpose(R[i])
            wd[i], a[i] = apply(E, wd[parent]), apply(E, add(a[parent], cross(wd[parent], links[i].p)))
        own = (rest - _dot(U, wd[i]) - _dot(V, a[i])) * inverse
        wd[i] = add(wd[i], [0, 0, own])
        x.append(own)
    return x


def _less(A: Any, U: Vec, V: Vec) -> list[list[Any]]:
    """A - U V^T."""
    return [[x - u * v for x, v in zip(row, V, strict=True)] for row, u in zip(A, U, strict=True)]


def _dot(a: Vec, b: Vec) -> Any:
    return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]


def skew(p: Vec) -> list[list[Any]]:
    return [[0, -p[2], p[1]], [p[2], 0, -p[0]], [-p[1], p[0], 0]]


def mirrored(A: Any) -> list[list[Any]]:
    """A symmetric matrix by its lower triangle alone."""
    return [[A[max(r, c)][min(r, c)] for c in range(3)] for r in range(3)]


def rotated_by(R: Any, A: Any) -> list[list[Any]]:
    """R A R^T of a symmetric A."""
    return mirrored(product(product(R, A), transpose(R)))
