"""The tracked vehicle with a flexible hull and ten road wheels, the largest system that section V mentions.

The paper gives neither numbers nor equations of it; `examples/vehicle.py` says how 15 degrees of freedom are counted.
"""

import sys
from pathlib import Path

import numpy as np
import pytest

import polhode as ph

sys.path.insert(0, str(Path(__file__).parents[3] / "examples"))
import vehicle

WEIGHT = (vehicle.LINE * vehicle.LENGTH + len(vehicle.WHEELS) * vehicle.WHEEL) * 9.81


@pytest.fixture(scope="module")
def driven():
    return {s: ph.formulate(vehicle.vehicle(s, vehicle.bump()), "denoc").compile() for s in (None, 1.0, 100.0)}


@pytest.fixture(scope="module")
def standing(driven):
    return {s: vehicle.stand(dyn) for s, dyn in driven.items()}


def test_it_has_fifteen_degrees_of_freedom(driven, standing):
    eq = driven[1.0].equations
    assert len(eq.u) - len(eq.constraints.labels) == 15
    modes = ph.linearize(driven[1.0], standing[1.0], {"way_dot": vehicle.SPEED}).modes()
    assert len(modes.frequencies) == 15
    assert modes.stable


@pytest.mark.parametrize("free", [False, pytest.param(True, marks=pytest.mark.slow)])
def test_formulations_agree_on_a_bump(free):
    model, rng = vehicle.vehicle(road=vehicle.bump(begin=0.0, long=4.0), free=free), np.random.default_rng(1)
    n = len(model.speeds)
    q, u, tau = 0.05 * rng.standard_normal(n), rng.standard_normal(n), 1e3 * rng.standard_normal(n)
    q[model.coordinates.index("hull_z" if free else "heave")] = 0.35  # some wheels touch
    methods = [
        "poincare",
        "denoc",
        "kane",
        "quasicoordinate",
        "book",
        *([] if free else ["lagrange"]),
    ]  # whose u is qdot
    found = {m: ph.formulate(model, m).compile(target="numpy").tree_dynamics(q, u, tau) for m in methods}
    for a in found.values():
        assert a == pytest.approx(found["poincare"], rel=0, abs=1e-11 * abs(found["poincare"]).max())


def test_wheels_carry_the_weight_and_bend_the_hull(driven, standing):
    """K z1 is the work of wheels and weights along sin(pi x / L), by hand."""
    eq, q = driven[1.0].equations, standing[1.0]
    at = ph.simulate(driven[1.0], q, {"way_dot": vehicle.SPEED}, 1e-3)
    carried = {wheel: float(at.evaluate(vehicle.carried(eq, wheel))[0]) for wheel in vehicle.WHEELS}
    assert sum(carried.values()) == pytest.approx(WEIGHT, rel=1e-9)
    work, L, g = -vehicle.LINE * 9.81 * vehicle.LENGTH * 2 / np.pi, vehicle.LENGTH, 9.81
    for wheel, force in carried.items():
        x = vehicle.STATIONS[int(wheel[1]) - 1]
        behind = -vehicle.ARM * np.cos(q[wheel])
        moved = np.sin(np.pi * x / L) + np.pi / L * np.cos(np.pi * x / L) * behind
        work += (force - vehicle.WHEEL * g) * moved
    assert q["hull_z1"] == pytest.approx(work / (vehicle.BENDING * np.pi**4 / (2 * L**3)), rel=5e-3)


def test_a_stiff_hull_moves_as_a_rigid_one(driven, standing):
    runs = {
        s: ph.simulate(dyn, standing[s], {"way_dot": vehicle.SPEED}, 2.0, rtol=1e-7, atol=1e-8)
        for s, dyn in driven.items()
    }
    off = {s: max(np.abs(runs[s][c] - runs[None][c]).max() for c in ("roll", "pitch", "heave")) for s in runs}
    assert off[1.0] > 1e-3  # m and rad
    assert off[100.0] < 0.02 * off[1.0]
    assert abs(runs[1.0].energy_drift).max() < 1e-7 * runs[1.0].energy.max()


def test_it_coasts_without_loss_where_nothing_is_damped(monkeypatch, standing):
    monkeypatch.setitem(vehicle.BAR, "damping", 0)
    model = vehicle.vehicle(road=vehicle.bump(), free=True, tyre={"stiffness": 1e6}, damping=0)
    q0, u0 = vehicle.coasting(standing[1.0])
    traj = ph.simulate(ph.formulate(model, "denoc").compile(), q0, u0, 2.0)
    assert np.ptp(traj["hull_twist1"]) > 1e-3
    kinetic, _, total = traj.energy.T
    assert np.ptp(kinetic) > 1e3
    assert np.ptp(total) < 1e-8 * total[0]
