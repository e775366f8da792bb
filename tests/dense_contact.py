"""A judge of contacts in space that knows poses of markers and the tree of bodies, and nothing of rows or modes.

    s = R^T (p - o)  is where a foot is, in axes of its ground: s_z the gap, d/dt s the normal speed and the slip

Its Jacobian and accelerations are differences of s along motions; forces and impulses are whatever of the right kind,
in cones of 64 edges around the true ones, explains M du/dt - f and M (u+ - u-).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.spatial.transform import Rotation

EDGES = 64
CLOSE, TOUCHES = 1e-7, 3e-10  # m: a foot may touch; it does
SLOW, LOW = 1e-6, 1e-4  # m/s across: a foot stays; it comes to rest without a bounce
CREEPS, STILL = 3e-6, 1e-9  # m/s along: it may be about to stop; it has


@dataclass(frozen=True, kw_only=True)
class Foot:
    """A contact: the marker, its ground, and its coefficients."""

    marker: str
    ground: str
    friction: float
    static: float
    restitution: float


@dataclass(frozen=True, kw_only=True)
class Holding:
    """Friction of a joint or a brake, on one speed: what it carries, and from when on."""

    speed: int
    capacity: float
    since: float = 0.0


@dataclass(frozen=True, kw_only=True)
class Judge:
    """What the laws say of a machine with one free body, whose other joints have one coordinate each.

    tree   : the machine without contacts, stops, friction and brakes, compiled; by another method
    stops  : coordinate, speed, least, largest
    driven : speeds that are prescribed, by forces of any kind
    """

    tree: object
    feet: tuple[Foot, ...]
    holdings: tuple[Holding, ...] = ()
    stops: tuple[tuple[int, int, float, float], ...] = ()
    driven: tuple[int, ...] = ()

    def moved(self, q, u, h):
        """Where constant speeds lead in a time h: turns and speeds of the free body are in its own axes."""
        turn = Rotation.from_quat(q[:4], scalar_first=True)
        half = turn * Rotation.from_rotvec(u[:3] * h / 2)  # of second order in h, as differences need it
        found = np.array(q)
        found[:4] = (turn * Rotation.from_rotvec(u[:3] * h)).as_quat(scalar_first=True)
        found[4:7] = q[4:7] + half.as_matrix() @ u[3:6] * h
        found[7:] = q[7:] + u[6:] * h
        return found

    def places(self, q):
        """s of all feet: (feet, 3)."""
        found = []
        for foot in self.feet:
            X, G = self.tree.pose(foot.marker)(q), self.tree.pose(foot.ground)(q)
            found.append(G[:3, :3].T @ (X[:3, 3] - G[:3, 3]))
        return np.array(found)

    def speeds(self, q, u, h=1e-5):
        size = max(1.0, np.abs(u).max())
        return (self.places(self.moved(q, u, h / size)) - self.places(self.moved(q, u, -h / size))) * size / (2 * h)

    def jacobian(self, q, n):
        return np.stack([self.speeds(q, e) for e in np.eye(n)], axis=-1)  # (feet, 3, n)

    def accelerations(self, q, u, udot, J, h=3e-4):
        """d^2/dt^2 s = J du/dt + what constant speeds make."""
        size = max(1.0, np.abs(u).max())
        ends = [self.speeds(self.moved(q, u, k * h / size), u) for k in (1, -1)]
        return J @ udot + (ends[0] - ends[1]) * size / (2 * h)

    def edges(self, J, mu):
        """Generalized forces of the edges of a cone, around the true one."""
        turns = 2 * np.pi * np.arange(EDGES) / EDGES
        out = mu / np.cos(np.pi / EDGES)
        return [J[2] + out * (np.cos(a) * J[0] + np.sin(a) * J[1]) for a in turns]

    def forces(self, q, u, udot, t):
        """What is against a law at a state with these accelerations."""
        n = len(u)
        M, free = self.tree.mass_matrix(q), self.tree.forward_dynamics(q, u, np.zeros(n))
        needed, size = M @ (udot - free), np.abs(M) @ (np.abs(udot) + np.abs(free) + 1)
        J, v, s = self.jacobian(q, n), self.speeds(q, u), self.places(q)
        a = self.accelerations(q, u, udot, J)
        quick = 1e-4 * (1 + np.abs(udot).max() + np.abs(u).max() ** 2)
        said, given, pushes = [], [], []  # forces of any size >= 0; between -1 and 1
        for k, foot in enumerate(self.feet):
            if s[k, 2] < -1e-8:
                said.append(f"foot {k} is {s[k, 2]:.2g} m below its ground")
            if s[k, 2] > CLOSE or abs(v[k, 2]) > SLOW:
                continue
            if a[k, 2] < -quick:
                said.append(f"foot {k} falls into its ground by {a[k, 2]:.2g} m/s^2")
            if a[k, 2] > quick:
                continue
            slips, along = np.linalg.norm(v[k, :2]), np.linalg.norm(a[k, :2])
            if slips > CREEPS or (along > quick and slips < STILL):
                d = v[k, :2] / slips if slips > CREEPS else a[k, :2] / along
                given.append(J[k, 2] - foot.friction * d @ J[k, :2])
            elif along > quick:  # it creeps: about to stop, or just begun to slip
                given += self.edges(J[k], foot.friction)
            else:
                given += self.edges(J[k], foot.static)
        for at, speed, least, most in self.stops:
            for sign, gap in ((1, q[at] - least), (-1, most - q[at])):
                if gap < -1e-8:
                    said.append(f"a stop is passed by {gap:.2g}")
                if gap < CLOSE and abs(u[speed]) < SLOW and abs(udot[speed]) < quick:
                    given.append(sign * np.eye(n)[speed])
        for hold in self.holdings:
            if t < hold.since:
                continue
            here, changes = u[hold.speed], udot[hold.speed]
            if abs(here) > CREEPS or (abs(here) < STILL and abs(changes) > quick):
                way = here if abs(here) > CREEPS else changes
                needed = needed + np.sign(way) * hold.capacity * np.eye(n)[hold.speed]
            else:
                pushes.append(hold.capacity * np.eye(n)[hold.speed])
        left = self.unexplained(needed, given, pushes, size)
        if left > 1e-5:
            said.append(f"forces are not of the right kind: {left:.2g} is left")
        return [f"t = {t:.6g}: {word}" for word in said]

    def unexplained(self, needed, given, pushes, size):
        """How much of what is needed no forces of the right kind make, of what was added up."""
        n = len(needed)
        rows = np.setdiff1d(np.arange(n), self.driven)
        given, pushes = ([force[rows] / size[rows].max() for force in forces] for forces in (given, pushes))
        needed, many = needed[rows] / size[rows].max(), len(pushes)
        G = np.zeros((len(rows) + many, len(given) + 2 * many))
        for k, force in enumerate([*given, *pushes]):
            G[: len(rows), k] = force
        G[len(rows) :, len(given) :] = np.hstack([np.eye(many)] * 2)  # x + y = 2, so that -1 <= x - 1 <= 1
        right = np.r_[needed + sum(pushes, np.zeros(len(rows))), np.full(many, 2.0)]
        return np.abs(G @ nnls(G, right, maxiter=10_000)[0] - right).max() if G.size else np.abs(right).max()

    def impulses(self, q, before, after, t):
        """What is against a law where speeds jump, at positions that stay."""
        n, said, given = len(before), [], []
        M = self.tree.mass_matrix(q)
        J, s, v0, v1 = self.jacobian(q, n), self.places(q), self.speeds(q, before), self.speeds(q, after)
        quick = 1e-6 * (1 + np.abs(before).max())
        for k, foot in enumerate(self.feet):
            if s[k, 2] > CLOSE:
                continue
            if s[k, 2] < TOUCHES and v1[k, 2] < -quick:
                said.append(f"foot {k} goes on into its ground with {v1[k, 2]:.2g} m/s")
            if v1[k, 2] > foot.restitution * max(-v0[k, 2], 0.0) + quick + LOW:
                continue
            if 0 < v0[k, 2] < LOW and v1[k, 2] < SLOW:  # too low a bounce to be seen: it stays
                given.append(-J[k, 2])
            slips = np.linalg.norm(v1[k, :2])
            if slips > 1e-4:
                given.append(J[k, 2] - foot.friction * v1[k, :2] / slips @ J[k, :2])
            else:
                given += self.edges(J[k], foot.friction)
        for at, speed, least, most in self.stops:
            for sign, gap in ((1, q[at] - least), (-1, most - q[at])):
                if gap < CLOSE:
                    given.append(sign * np.eye(n)[speed])
                    if gap < TOUCHES and sign * after[speed] < -quick:
                        said.append(f"a stop is passed with {after[speed]:.2g}")
        needed, size = M @ (after - before), np.abs(M) @ (np.abs(after) + np.abs(before) + 1e-2)
        left = self.unexplained(needed, given, [], size)
        if left > 1e-3:  # what strikes several times at once slides in several directions
            said.append(f"impulses are not of the right kind: {left:.2g} is left")
        gained = (after @ M @ after - before @ M @ before) / 2
        if not self.driven and gained > 1e-9 * (before @ M @ before + 1e-6):
            said.append(f"an impact makes {gained:.2g} J")
        return [f"t = {t:.6g}: {word}" for word in said]
