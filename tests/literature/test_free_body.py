"""Torque-free motion of a rigid body, whose closed form is by Jacobi's elliptic functions.

Reference: [Landau and Lifshitz, Mechanics, section 37], with the third angle, which
they give by theta functions, as an elliptic integral of the third kind.
"""

from functools import cache

import numpy as np
import pytest
from mpmath import mp

import polhode as ph
from polhode.simulate.run import simulate

I1, I2, I3 = INERTIA = np.array([1.5, 2.0, 3.0])
JOINTS = {
    "free": ph.free(quaternion=True),
    "quaternion": ph.spherical(quaternion=True),
    "angles": ph.spherical(),
}


def turn_z(a):
    c, s, o = np.cos(a), np.sin(a), np.zeros_like(a)
    return np.moveaxis(np.array([[c, -s, o], [s, c, o], [o, o, o + 1]]), -1, 0)


def turn_x(a):
    return np.roll(turn_z(a), (1, 1), axis=(1, 2))


class Motion:
    """The motion with angular momentum L along the world's z, and energy E with L^2 > 2 E I2.

    At t = 0 the body turns about an axis between its first and third.
    """

    def __init__(self, L, E):
        self.L, self.E = L, E
        short, long = 2 * E * I3 - L**2, L**2 - 2 * E * I1
        self.sizes = np.sqrt([short / I1 / (I3 - I1), short / I2 / (I3 - I2), long / I3 / (I3 - I1)])
        self.rate = np.sqrt((I3 - I2) * long / (I1 * I2 * I3))
        self.m = (I2 - I1) * short / ((I3 - I2) * long)
        self.period = 4 * float(mp.ellipk(self.m)) / self.rate

    def times(self, periods):
        return np.linspace(0, periods * self.period, 101)

    def speeds(self, t):
        """The angular velocity in the axes of the body, (37.10)."""
        found = [[mp.ellipfun(f, self.rate * s, m=self.m) for f in ("cn", "sn", "dn")] for s in t]
        return self.sizes * np.array(found, dtype=float)

    def attitude(self, t, w):
        """R = Rz(phi) Rx(theta) Rz(psi), with phi' = L (2 E - I3 w3^2) / (L^2 - I3^2 w3^2)."""
        theta, psi = np.arccos(I3 * w[:, 2] / self.L), np.arctan2(I1 * w[:, 0], I2 * w[:, 1])
        # the amplitude, which gains 2 pi a period
        part = np.arctan2(w[:, 1] / self.sizes[1], w[:, 0] / self.sizes[0])
        am = part + 2 * np.pi * np.round(t / self.period - part / (2 * np.pi))
        along = (I3 * self.sizes[2]) ** 2
        across = self.L**2 - along
        turned = np.array([mp.ellippi(-self.m * along / across, a, self.m) for a in am], dtype=float)
        phi = self.L / I3 * (t + (2 * self.E * I3 - self.L**2) / (across * self.rate) * turned)
        return turn_z(phi) @ turn_x(theta) @ turn_z(psi)


STEADY = Motion(L=3.0, E=9 / 5.8)  # close to the third axis
TUMBLING = Motion(L=3.0, E=9 / 4.0012)  # close to the separatrix: the second axis flips


@cache
def simulated(motion, joint, periods):
    """The motion by Polhode, from the closed form at t = 0; a free body also drifts."""
    build = ph.Builder("body", gravity=(0, 0, 0))
    build.body("body", joint=JOINTS[joint], mass=2, inertia=INERTIA)
    eq = ph.formulate(build.build())
    # R = Rx(theta) Rz(pi / 2) = Rz(pi / 2) Ry(-theta)
    w = motion.sizes * [1, 0, 1]
    theta = np.arccos(I3 * w[2] / motion.L)
    c, s = np.cos([theta / 2, (np.pi - theta) / 2]) / np.sqrt(2)
    turned = [0, -theta, np.pi / 2] if joint == "angles" else [c, s, -s, c]
    q0, u0 = [*turned, 1, -2, 3][: len(eq.q)], [*w, 0.5, -0.2, 0.1][: len(eq.u)]
    t = motion.times(periods)
    return simulate(eq.compile(), q0, u0, t[-1], output=t, rtol=1e-13, atol=1e-14)


@pytest.mark.parametrize("joint", JOINTS)
@pytest.mark.parametrize(("motion", "periods"), [(STEADY, 50), (TUMBLING, 5)], ids=["steady", "tumbling"])
def test_speeds_and_attitude_are_jacobis_over_many_periods(motion, periods, joint):
    traj, w = simulated(motion, joint, periods), motion.speeds(motion.times(periods))
    assert np.abs(traj.u[:, :3] - w).max() < 1e-10
    assert np.abs(traj.pose("body")[:, :3, :3] - motion.attitude(traj.t, w)).max() < 1e-10


@pytest.mark.parametrize("joint", JOINTS)
def test_momentum_stays_in_the_world_and_energy_in_the_body(joint):
    """For a free body the angular momentum about its centre of mass."""
    traj = simulated(STEADY, joint, 50)
    about_origin, linear = np.split(traj.momentum, 2, axis=1)
    angular = about_origin - np.cross(traj.pose("body")[:, :3, 3], linear)
    assert np.abs(angular - [0, 0, STEADY.L]).max() < 1e-11
    assert np.ptp(linear, axis=0).max() < 1e-10
    assert np.abs(traj.energy[:, 2] - traj.energy[0, 2]).max() < 1e-11


@pytest.mark.parametrize("joint", ["free", "quaternion"])
def test_quaternion_stays_of_unit_length(joint):
    traj = simulated(STEADY, joint, 50)
    assert np.abs(np.linalg.norm(traj.q[:, :4], axis=1) - 1).max() < 4e-16


def test_free_body_goes_straight_while_it_turns():
    """Its velocity is constant in the world, though not in the axes of the body."""
    traj = simulated(STEADY, "free", 50)
    velocity, t = traj.velocity("body")[0, 3:], STEADY.times(50)
    path = [1, -2, 3] + np.outer(t, velocity)
    assert np.ptp(traj.u[:, 3:], axis=0).max() > 1
    assert np.abs(traj.pose("body")[:, :3, 3] - path).max() < 1e-10 * np.abs(path).max()


def test_second_axis_flips_every_half_period():
    """The period 4 K(m) / rate grows without bound towards the separatrix: as 2 log(16 / (1 - m)) / rate."""
    motions = [Motion(L=3.0, E=9 / (4 + e)) for e in (1e-3, 1e-5, 1e-7)]
    for motion in motions:
        w2 = simulated(motion, "quaternion", 2.5).u[:, 1] / motion.sizes[1]
        rounding = 5e-14 / (1 - motion.m)  # as it has grown in a period
        assert np.abs(w2[::20]).max() < rounding
        assert np.abs(w2[10::20] - [1, -1, 1, -1, 1]).max() < rounding
        assert motion.period == pytest.approx(2 * np.log(16 / (1 - motion.m)) / motion.rate, rel=1e-3)
    assert motions[0].period < motions[1].period - 10 < motions[2].period - 20
