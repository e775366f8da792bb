"""Sections of bodies that deform as frames, against finite differences and exponentials."""

import numpy as np
import pytest
from scipy.linalg import expm

from polhode.graph import evaluate, matrix, symbols, vector
from polhode.kinematics.bent import bent
from polhode.model.flexible import Station

RNG = np.random.default_rng(2)
MODES = 3
D, RATES = symbols("d1 d2 d3"), symbols("r1 r2 r3")


def station(Psi):
    g = RNG.normal(size=(MODES, MODES, 3))
    g = g + g.transpose(1, 0, 2)
    rows = tuple(tuple(vector(e.tolist()) for e in row) for row in g)
    return Station(
        p=vector([0.3, 0.1, -0.2]), Phi=matrix(RNG.normal(size=(3, MODES)).tolist()), Psi=matrix(Psi.tolist()), g=rows
    )


PLANAR = np.array([[0, 0, 0], [0, 0, 0], [1.0, 0.4, -2.0]])
SPATIAL = RNG.normal(size=(3, MODES))


def skew(w):
    return np.array([[0, -w[2], w[1]], [w[2], 0, -w[0]], [-w[1], w[0], 0]])


def pose(seen, d):
    value = np.array(evaluate(seen.X.matrix(), dict(zip(D, d, strict=True))), dtype=float)
    return value


def twist_of(seen, d, rates):
    """The twist by differences of the pose: X^-1 X'."""
    step = 1e-6
    X = pose(seen, d)
    change = (pose(seen, d + step * rates) - pose(seen, d - step * rates)) / (2 * step)
    V = np.linalg.inv(X) @ change
    return np.array([V[2, 1], V[0, 2], V[1, 0], *V[:3, 3]])


def by_columns(seen, d, rates):
    known = dict(zip((*D, *RATES), (*d, *rates), strict=True))
    H = np.array([evaluate(h.vector(), known) for h in seen.H], dtype=float)
    return rates @ H, np.array(evaluate(seen.bend.vector(), known), dtype=float)


@pytest.mark.parametrize("Psi", [PLANAR, SPATIAL, np.zeros((3, MODES))], ids=["plane", "space", "no turns"])
@pytest.mark.parametrize("inverse", [False, True])
@pytest.mark.parametrize("size", [0.0, 1e-9, 0.1, 0.5])
def test_columns_are_the_rates_of_the_pose(Psi, inverse, size):
    seen = bent(station(Psi), D, RATES)
    seen = seen.inverse() if inverse else seen
    d, rates = size * RNG.normal(size=MODES), RNG.normal(size=MODES)
    found, bend = by_columns(seen, d, rates)
    assert np.allclose(found, twist_of(seen, d, rates), atol=2e-8)
    step = 1e-5
    ahead, behind = (by_columns(seen, d + s * step * rates, rates)[0] for s in (1, -1))
    assert np.allclose(bend, (ahead - behind) / (2 * step), atol=1e-7)


@pytest.mark.parametrize("angle", [0.0, 1e-8, 0.3, 1.0])
def test_sections_turn_by_the_exponential(angle):
    d = np.array([0.4, -0.7, 1.1])
    d = d * angle / np.linalg.norm(SPATIAL @ d)
    found = pose(bent(station(SPATIAL), D, RATES), d)[:3, :3]
    assert np.abs(found - expm(skew(SPATIAL @ d))).max() < 1e-15 * 4
    assert np.abs(found.T @ found - np.eye(3)).max() < 1e-15 * 4


def test_a_turn_in_a_plane_is_a_sine_and_a_cosine():
    d = np.array([0.4, -0.7, 1.1])
    found = pose(bent(station(PLANAR), D, RATES), d)[:3, :3]
    assert np.abs(found - expm(skew(PLANAR @ d))).max() < 1e-14
