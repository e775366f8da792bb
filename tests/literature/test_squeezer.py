"""Andrews' squeezing mechanism, from Mazzia and Magherini, Test Set for IVP Solvers, problem "andrews".

The reference solution at 0.03 s is by PSIDE on a Cray C90, with tolerances of 1e-14.
Its constraints are ours in the same order, its multipliers of the other sign.
"""

import numpy as np
import pytest

import polhode as ph
from tests.mechanics import close
from tests.mechanisms import squeezer

ANGLES = "beta theta gamma phi delta omega epsilon".split()
START = [
    -0.0617138900142764496358948458001,
    0,
    0.455279819163070380255912382449,
    0.222668390165885884674473185609,
    0.487364979543842550225598953530,
    -0.222668390165885884674473185609,
    1.23054744454982119249735015568,
]
ACCELERATIONS = [14222.4439199541138705911625887, -10666.8329399655854029433719415, 0, 0, 0, 0, 0]
MULTIPLIERS = [98.5668703962410896057654982170, -6.12268834425566265503114393122, 0, 0, 0, 0]
END = [
    0.1581077119629904e2,
    -0.1575637105984298e2,
    0.4082224013073101e-1,
    -0.5347301163226948,
    0.5244099658805304,
    0.5347301163226948,
    0.1048080741042263e1,
]
END_SPEEDS = [
    0.1139920302151208e4,
    -0.1424379294994111e4,
    0.1103291221937134e2,
    0.1929337464421385e2,
    0.5735699284790808,
    -0.1929337464421385e2,
    0.3231791658026955,
]
END_MULTIPLIERS = [
    0.1991753333731910e3,
    -0.2975531228015052e2,
    0.2306654119098399e2,
    0.3145271365475927e2,
    0.2264249232082739e2,
    0.1161740700019673e2,
]


@pytest.fixture(scope="module", params=["poincare", "lagrange", "denoc"])
def dynamics(request):
    return ph.formulate(squeezer(), method=request.param).compile()


@pytest.fixture(scope="module")
def motion(dynamics):
    start = dict(zip(ANGLES, START, strict=True))
    return ph.simulate(dynamics, start, t_end=0.03, rtol=1e-12, atol=1e-12, reacting=True, progress=False)


def multipliers(motion, k):
    """The reactions in the plane; those across it are redundant, 0 = 0."""
    return -motion.reactions[k].reshape(3, 3)[:, :2].ravel()


def test_loops_close_where_the_angles_are_published(dynamics):
    """One angle, theta = 0, is kept; the others begin at two digits."""
    near = {name: round(angle, 2) for name, angle in zip(ANGLES, START, strict=True)}
    q, _ = ph.assemble(dynamics, near, keep=["theta"])
    names = [str(s.value) for s in dynamics.equations.q]
    assert close([q[names.index(name)] for name in ANGLES], START, 1e-13)


def test_accelerations_and_reactions_at_the_start(motion):
    found = [motion.accelerations[0, motion.coordinates.index(name)] for name in ANGLES]
    assert close(found, ACCELERATIONS, 1e-14)
    assert close(multipliers(motion, 0), MULTIPLIERS, 1e-13)


def test_solution_after_three_hundredths_of_a_second(motion):
    """The crank is at 15.8 rad and 1140 rad/s: 1.4e-9 rad, where tighter tolerances end too, are 1e-12 s."""
    assert motion.outcome.finished
    assert np.abs([motion[name][-1] for name in ANGLES] - np.array(END)).max() < 2e-9
    assert close([motion[f"{name}_dot"][-1] for name in ANGLES], END_SPEEDS, 1e-9)
    assert close(multipliers(motion, -1), END_MULTIPLIERS, 1e-6)


def test_energy_and_loops_hold(motion):
    """Work of the torque, 0.033 N m, is all the energy there is."""
    gained = motion.energy[:, 2] - motion.energy[0, 2]
    assert close(gained, 0.033 * (motion["beta"] - START[0]), 1e-11)
    assert np.abs(motion.residuals).max() < 1e-14
