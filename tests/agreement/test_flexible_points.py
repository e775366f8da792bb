"""Flexible arms in space against points of mass: joints about other axes than beams bend, which no planar machine has.

The field is linear in the amplitudes (order "full"), or of second order by the shortening (order "second"), with
nothing left out; sections turn by exp(skew(Psi d)). Points at the places of
Lobatto's rule have the inertia of the beams exactly, six points that of a hub. Velocities come from complex steps of
their places. Exudyn's reduced body (1.13) is no reference here: such an arm with clamped shapes departs from these
points by 2 mm in half a second with Euler parameters, and by centimetres with three angles; ours by 6e-9 m.
"""

import math

import numpy as np
import pytest

import polhode as ph
from polhode.graph import vector
from tests.beam_shapes import lobatto, shapes

L, MU, EI_Z, EI_Y, TIP, G, TORQUE = 0.8, 0.5, 20.0, 60.0, 0.2, 9.81, 3.0
HUB, TURNING = 0.4, 0.02
MODES, TINY = 2, 1e-25


def arm(ends, order):
    """A shoulder about z and an elbow about y, in Polhode."""
    build = ph.Builder("arm", gravity=(0, 0, -G))
    beam = ph.beam(length=L, mu=MU, EI_z=EI_Z, EI_y=EI_Y, modes=MODES, shapes="polynomial", ends=ends, order=order)
    body = {"flexible": beam, "mass": HUB, "inertia": (TURNING, TURNING, TURNING)}
    build.body("upper", joint=ph.revolute("z"), **body)
    build.body("lower", parent="upper", at=(L, 0, 0), joint=ph.revolute("y"), **body)
    build.body("load", parent="lower", at=(L, 0, 0), joint=ph.weld(), mass=TIP)
    return build.build(), beam


def turned(theta):
    """exp(skew(theta)), also of complex angles."""
    x, y, z = theta
    K, n2 = np.array([[0 * x, -z, y], [z, 0 * x, -x], [-y, x, 0 * x]]), theta @ theta
    n = np.sqrt(n2 + 0j)
    A, B = (np.sin(n) / n, (1 - np.cos(n)) / n2) if abs(n) > 1e-3 else (1 - n2 / 6 + n2**2 / 120, 0.5 - n2 / 24)
    return np.eye(3) + A * K + B * K @ K


class Points:
    """The same arm as points of mass, with modes of the same scale."""

    def __init__(self, ends, beam):
        self.shortening = beam.order == "second"
        x, w = lobatto(12)
        kept = shapes(MODES, ends)
        Phi = np.array(ph.evaluate(list(beam.station(vector([0.3 * L, 0, 0]), "point").Phi[1, :].entries), {}))
        kept = [f * (size / f(0.3)) for f, size in zip(kept, Phi, strict=False)]
        self.x, self.F = L * x, np.array([f(x) for f in kept])
        swept = [[(f.deriv() * g.deriv()).integ() for g in kept] for f in kept]
        self.swept = np.array([[h(x) - h(0) for h in row] for row in swept]) / L
        self.ends = np.array([f(1) for f in kept]), [np.array([f.deriv()(e) / L for f in kept]) for e in (0, 1)]
        bent = np.array([[(f.deriv(2) * g.deriv(2)).integ()(1) for g in kept] for f in kept]) / L**3
        self.K = np.kron(np.diag([EI_Z, EI_Y]), bent)
        self.hub = math.sqrt(1.5 * TURNING / HUB) * np.concatenate([np.eye(3), -np.eye(3)])
        own = np.concatenate([MU * L * w, np.full(6, HUB / 6)])
        self.masses = np.concatenate([own, own, [TIP]])

    def beam(self, R, p, d):
        """Points of a beam whose joint is at p, turned by R; the frame and the place of its end."""
        y, z = d[:MODES], d[MODES:]
        (tip, slopes), still = self.ends, 0 * d[0]
        root, end = (np.array([still, -(z @ s), y @ s]) for s in slopes)
        hub = p + self.hub @ R.T  # the joint holds it
        R = R @ turned(root).T  # to the frame of the body
        short = 0 * self.x + still
        if self.shortening:
            short = sum(np.einsum("k,l,klp->p", d, d, self.swept) for d in (y, z)) / 2
        line = np.stack([self.x - short, y @ self.F, z @ self.F], 1)
        points = np.concatenate([p + line @ R.T, hub])
        return points, R @ turned(end), p + R @ np.array([L - short[-1], y @ tip, z @ tip])

    def places(self, q):
        """Where the points are."""
        shoulder, elbow = (turned(np.array(axis) * a) for axis, a in (((0, 0, 1), q[0]), ((0, 1, 0), q[1 + 2 * MODES])))
        first, R, p = self.beam(shoulder, np.zeros(3), q[1 : 1 + 2 * MODES])
        second, _, p = self.beam(R @ elbow, p, q[2 + 2 * MODES :])
        return np.concatenate([first, second, [p]])

    def accelerations(self, q, u):
        """M udot = tau - K d - sum J^T m (Jdot u - g)."""
        n, step = len(q), 1e-4
        J = np.array([self.places(q + 1j * TINY * e).imag / TINY for e in np.eye(n)])
        after, before = (self.places(q + s * step * u + 1j * TINY * u).imag / TINY for s in (1, -1))
        M = np.einsum("ipk,jpk,p->ij", J, J, self.masses)
        force = -np.einsum("ipk,pk,p->i", J, (after - before) / (2 * step) + np.array([0, 0, G]), self.masses)
        force[0] += TORQUE
        for first in (1, 2 + 2 * MODES):
            part = slice(first, first + 2 * MODES)
            force[part] -= self.K @ q[part]
        return np.linalg.solve(M, force)


@pytest.mark.parametrize("order", ["full", "second"])
@pytest.mark.parametrize(("ends", "bent"), [("clamped-free", 0.2), ("pinned-pinned", 0.05)])  # turned by up to 2.4 rad
@pytest.mark.parametrize("formulation", ["poincare", "denoc", "kane"])
def test_an_arm_in_space_moves_as_points_of_mass(ends, formulation, order, bent):
    model, beam = arm(ends, order)
    points, dyn = Points(ends, beam), ph.formulate(model, formulation).compile()
    draw, n = np.random.default_rng(3), 2 + 4 * MODES
    joints = np.zeros(n, dtype=bool)
    joints[[0, 1 + 2 * MODES]] = True
    for _ in range(3):
        q, u = draw.normal(size=(2, n)) * np.where(joints, 1.0, [[bent], [0.5]])
        found = dyn.forward_dynamics(q, u, np.where(np.arange(n) == 0, TORQUE, 0.0))
        expected = points.accelerations(q, u)
        assert np.abs(found - expected).max() < 1e-7 * np.abs(expected).max()
