"""Rotating beams: published frequencies by speed, and the spin-up of Kane, Ryan and Banerjee.

The references are computed in two ways, of which one is that of the paper, so that more digits are compared than were
printed.
"""

import math

import numpy as np
import pytest
from scipy.linalg import eigvals

import polhode as ph
from polhode.graph import evaluate, jacobian
from tests.literature.rotating_beams import KANE, LAG, WRIGHT, flap, flap_by_series, spin_up


@pytest.mark.parametrize("eta", WRIGHT)
def test_the_references_are_what_was_published(eta):
    assert flap(eta) == pytest.approx(flap_by_series(eta), rel=1e-9)
    assert flap(eta) == pytest.approx(WRIGHT[eta], abs=5.5e-4)  # three decimals, some of them rounded twice


def vibrations(plane, order="first", **how):
    """The call (eta) -> lowest frequencies of a beam on a hub that turns steadily about z."""
    build = ph.Builder("blade", gravity=(0, 0, 0))
    stiff = {"EI_y" if plane == "flap" else "EI_z": 1}
    build.body(
        "blade", joint=ph.revolute("z", name="hub"), flexible=ph.beam(length=1, mu=1, order=order, **stiff, **how)
    )
    eq = ph.formulate(build.build())
    modes = range(1, len(eq.q))
    F = eq.c - eq.Q
    parts = eq.M, jacobian(F, eq.u), jacobian(F, eq.q)

    def found(eta):
        at = dict.fromkeys([*eq.q, *eq.u], 0.0) | {eq.u[0]: float(eta)}
        entries = iter(evaluate([e for part in parts for e in part.entries], at))
        M, C, K = (
            np.array([next(entries) for _ in part.entries]).reshape(part.shape)[np.ix_(modes, modes)] for part in parts
        )
        first = np.block([[np.zeros_like(M), np.eye(len(M))], [-np.linalg.solve(M, K), -np.linalg.solve(M, C)]])
        roots = eigvals(first)
        assert np.abs(roots.real).max() < 1e-6
        return np.sort(roots.imag[roots.imag > 0])[:3]

    return found


@pytest.mark.parametrize(("how", "close"), [({"shapes": "polynomial", "modes": 10}, 2e-8), ({"modes": 8}, 1e-4)])
def test_a_rotating_blade_flaps_as_published(how, close):
    blade = vibrations("flap", **how)
    for eta in WRIGHT:
        assert blade(eta) == pytest.approx(flap(eta), rel=close)


def test_in_the_plane_of_rotation_it_is_softer_by_the_speed():
    blade = vibrations("lag", shapes="polynomial", modes=10)
    for eta in (0, 2, 6, 12):
        assert blade(eta) == pytest.approx(np.sqrt(flap(eta) ** 2 - eta**2), rel=2e-8)


def test_without_shortening_it_does_not_stiffen():
    blade = vibrations("flap", order="full", shapes="polynomial", modes=10)
    assert blade(12) == pytest.approx(flap(0), rel=2e-8)


def spun(order, until, modes=4):
    """The spin-up in Polhode: times, and how far the tip is from the line that the root points along."""
    t, T = ph.TIME, KANE.T
    turned = KANE.speed * (t**2 / (2 * T) + T / (2 * math.pi) ** 2 * (ph.cos(t * (2 * math.pi / T)) - 1))
    after = KANE.speed * (t - T / 2)
    build = ph.Builder("spin-up", gravity=(0, 0, 0))
    beam = ph.beam(length=KANE.length, mu=KANE.mu, EI_z=KANE.EI, modes=modes, shapes="polynomial", order=order)
    build.body("beam", joint=ph.revolute("z", name="hub"), flexible=beam)
    build.prescribe("hub", ph.select(t < T, turned, after))
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, t_end=until, output=0.05, rtol=1e-8, atol=1e-10)
    return traj.t, sum(traj[f"beam_y{k}"] for k in range(1, modes + 1))  # shapes are 1 at the tip


def test_a_beam_that_is_spun_up_lags_and_comes_back():
    t, tip = spun("first", 20.0)
    expected = spin_up(KANE, t, modes=4)
    assert np.abs(tip - expected).max() < 1e-6
    assert tip.min() == pytest.approx(LAG, abs=1e-3)
    assert 6.5 < t[tip.argmin()] < 7.0
    assert np.abs(tip[t > 15]).max() < 0.01  # in line again


def test_without_stiffening_it_bends_without_end():
    with pytest.warns(ph.SimulationWarning, match="bends by more than 10 %"):
        t, tip = spun("full", 9.0)
    assert np.abs(tip - spin_up(KANE, t, modes=4, stiffening=False)).max() < 1e-5
    assert tip[-1] < -7


def test_a_beam_that_is_spun_up_lags_as_exudyns_that_bends_far():
    pytest.importorskip("exudyn", reason="NOT TESTED: the package exudyn is not installed")
    from tests import exudyn_machines

    _, tip = spun("first", 20.0)
    _, other = exudyn_machines.spin_up(KANE, 20.0)
    assert other.min() == pytest.approx(LAG, abs=1e-3)
    assert np.abs(tip - other).max() < 1e-3  # of 10 m: it bends by 6 per cent, and by half a millimetre less
