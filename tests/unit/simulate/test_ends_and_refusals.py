"""How runs end that wait for something, and switches that cannot act."""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.model import ModelError


def ball(**options):
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", name="ground", **options)
    build.lock("z", name="hold", active=False)
    return build


def dynamics(build=None):
    return ph.formulate((build or ball()).build()).compile()


def test_what_did_not_happen_is_said():
    traj = ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, until=ph.when("z > 5"))
    assert traj.outcome.finished
    assert "when z > 5 did not happen" in traj.outcome.reason
    met = ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, until=ph.when("z < 0.5"))
    assert "did not happen" not in met.outcome.reason


def test_nobody_waits_for_ever():
    with pytest.warns(ph.SimulationWarning, match="when z > 5 did not happen. Give t_end="):
        traj = ph.simulate(dynamics(), {"z": 1.0}, until=ph.when("z > 5"))
    assert not traj.outcome.finished
    assert np.isfinite(traj.t).all()
    sim = ph.Simulation(dynamics(), {"z": 1.0})
    with pytest.warns(ph.SimulationWarning, match="did not happen"):
        assert not sim.run("z > 5").finished


def test_text_may_end_a_run():
    fallen = np.sqrt(2 * 0.5 / 9.81)
    for given in ({"t_end": 1.0}, {}):
        traj = ph.simulate(dynamics(), {"z": 1.0}, until="z < 0.5", **given)
        assert traj.t[-1] == pytest.approx(fallen, abs=1e-9)
    sim = ph.Simulation(dynamics(), {"z": 1.0})
    sim.run("z < 0.5")
    assert sim.t == pytest.approx(fallen, abs=1e-9)
    many = ph.simulate_many(dynamics(), {"z": np.array([1.0, 0.8])}, t_end=1.0, method="dop853", until="z < 0.5")
    assert [traj.t[-1] for traj in many] == pytest.approx([fallen, np.sqrt(2 * 0.3 / 9.81)], abs=1e-9)
    with pytest.raises(ValueError, match="t_end=, too"):
        ph.simulate_many(dynamics(), {"z": 1.0}, method="dop853", until="z < 0.5")
    with pytest.raises(TypeError, match="until is"):
        ph.simulate(dynamics(), {"z": 1.0}, until=["z < 0.5"])


def test_switches_that_cannot_act_are_refused_or_said():
    with pytest.raises(ValueError, match=r"at 0\.1 s: engages and releases nothing"):
        ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, switches=ph.at(0.1))
    with pytest.raises(ModelError, match=r"at 0\.1 s: engages and releases 'hold'"):
        ph.at(0.1, engage=["hold", "ground"], release="hold")
    with pytest.raises(ModelError, match="when z < 1: engages and releases 'hold'"):
        ph.when("z < 1", engage="hold", release="hold")
    with pytest.raises(ValueError, match=r"when z < 1: engages and releases nothing.*until="):
        ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, switches=ph.when("z < 1"))
    with pytest.raises(ValueError, match=r"at -1 s: is before the start of the run, 0 s"):
        ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, switches=ph.at(-1.0, engage="hold"))
    late = ph.at(5, engage="hold"), ph.at(1.0, engage="hold")
    with pytest.warns(ph.SimulationWarning, match="ends at 1 s, so that what is to switch hold at 5 s does not act"):
        traj = ph.simulate(dynamics(), {"z": 1.0}, t_end=1.0, switches=late)
    assert traj.outcome.finished
    with pytest.raises(ModelError, match="Constraint 'clutch z_dot z_dot': ties 'z_dot' to itself"):
        ball().clutch("z_dot", "z_dot")


@pytest.mark.parametrize(("text", "said"), [("(z < 1) & (z > 0)", 'by "and"'), ("(z < 1) | (z > 0)", 'by "or"')])
def test_operators_of_bits_have_a_remedy(text, said):
    with pytest.raises(ModelError, match=said):
        ph.when(text)


def test_a_start_beyond_is_said_in_metres_and_radians():
    build = ball()
    build.rope("world", "ball", 0.5, name="rope")
    with pytest.raises(ValueError, match=r"is 0\.5 m beyond 'rope'"):
        ph.simulate(dynamics(build), {"z": 1.0}, t_end=1.0)
    with pytest.raises(ValueError, match=r"is 0\.1 m beyond 'ground'"):
        ph.simulate(dynamics(), {"z": -0.1}, t_end=1.0)
    arm = ph.Builder("arm")
    arm.body("arm", joint=ph.revolute("y", name="a", limits=(-1, 1)), mass=1, com=(0, 0, -1))
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        ph.simulate(dynamics(arm), {"a": 1.25}, t_end=0.1)
    assert "starts 0.25 rad beyond its limits" in str(heard[0].message)
    assert heard[0].filename == __file__


def test_many_runs_without_a_step_are_told_of_methods_that_need_none():
    with pytest.raises(ValueError, match='method="dop853"'):
        ph.simulate_many(dynamics(), {"z": 1.0}, t_end=1.0)


def test_a_law_that_leads_into_the_ground_is_named_with_it():
    build = ball()
    build.prescribe("z", "1 - 2*t", name="law")
    with pytest.warns(ph.SimulationWarning, match=r"'ground' and 'law' contradict each other"):
        traj = ph.simulate(dynamics(build), {"z": 1.0}, {"z_dot": -2.0}, 1.0)
    assert traj.t[-1] == pytest.approx(0.5, abs=1e-9)
    assert len(str(traj.events).splitlines()) < 6


def coin(**contact: object) -> ph.Builder:
    build = ph.Builder("coin")
    build.body("coin", joint=ph.free(quaternion=True, name="f"), mass=1, inertia=(0.01, 0.01, 0.02))
    if contact:
        build.contact("coin", shape="disc", radius=0.2, axis="z", name="c", **contact)
    return build


def test_a_coin_that_lands_flat_is_told_that_it_has_no_lowest_point():
    with pytest.warns(ph.SimulationWarning, match=r"'c' at t = 0.0451\d* s: .* flat has no lowest point"):
        traj = ph.simulate(dynamics(coin(friction=0.3)), {"f_z": 0.01, "f_qw": 1.0}, t_end=0.1)
    assert traj.t[-1] == pytest.approx(np.sqrt(2 * 0.01 / 9.81), abs=1e-6)
    assert len(traj.events) < 3


def test_a_coin_that_passes_flat_is_told_so_and_lands_on_points_of_its_rim():
    tilted = {"f_z": 0.01, "f_qw": np.cos(5e-4), "f_qx": np.sin(5e-4)}
    with pytest.warns(ph.SimulationWarning, match="passes flat has another lowest point: give it three or more"):
        ph.simulate(dynamics(coin(restitution=0)), tilted, t_end=0.1)
    build = coin()
    for k, angle in enumerate(np.arange(3) * 2 * np.pi / 3):
        build.marker(f"rim {k}", body="coin", at=(0.2 * np.cos(angle), 0.2 * np.sin(angle), 0))
        build.contact(f"rim {k}")
    assert ph.simulate(dynamics(build), tilted, t_end=0.1).outcome.finished
