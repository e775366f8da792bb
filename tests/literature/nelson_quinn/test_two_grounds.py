"""Both machines on ground that yields, and on rigid ground with Coulomb's friction, flat and with hills."""

import hexapod as hexa
import numpy as np
import pytest
import walker as k2t

import polhode as ph

WALK = k2t.Gait()
FIRM = {"stiffness": 2e5, "slip_speed": 2e-3}
SOFT_WAY = {  # docs/drives.md has these, and those of rigid ground: x, roll, pitch
    ("walker", "flat"): (0.6507, 0.0000, 0.0024),
    ("walker", "hills"): (0.6481, 0.0269, 0.0137),
    ("hexapod", "flat"): (0.8094, 0.0080, 0.0013),
    ("hexapod", "hills"): (0.7942, 0.0088, 0.0107),
}
RIGID_WAY = {
    ("walker", "flat"): (0.6511, 0.0000, 0.0000),
    ("walker", "hills"): (0.6520, 0.0264, 0.0124),
    ("hexapod", "flat"): (0.8484, 0.0058, 0.0019),
    ("hexapod", "hills"): (0.8299, 0.0092, 0.0144),
}


def same_gait(machine, ground, step, method, **given):
    """Walk three cycles, or five seconds, on ground that is given, flat or with hills after the start."""
    hilly = ground == "hills"
    if machine == "walker":
        relief = {"relief": hexa.hills(0.01, begin=0.45)} if hilly else {}
        dyn = ph.formulate(k2t.walker(given | relief), "quasicoordinate").compile()
        start = WALK.start() | ({} if "stiffness" in given else {"top_z": 0.05 + WALK.height})
        return k2t.run(dyn, WALK, 3, step, method, q0=start)
    relief = {"relief": hexa.hills(begin=0.35)} if hilly else {}
    dyn = ph.formulate(hexa.hexapod(given | relief), "quasicoordinate").compile()
    start = hexa.stand() | ({} if "stiffness" in given else {"body_z": hexa.DOWN})
    return hexa.run(dyn, hexa.Gait(level=2.0 if hilly else 0.0), 5.0, step, method, q0=start)


def went(traj):
    """How far along, and the most roll and pitch."""
    assert traj.outcome.finished
    base = "top" if "top_x" in traj.names else "body"
    return [traj[f"{base}_x"][-1], *(np.abs(traj[f"{base}_{a}"]).max() for a in ("ax", "ay"))]


LONGER = [("walker", "flat"), ("hexapod", "flat"), ("hexapod", "hills")]
BOTH = [("walker", "hills"), *(pytest.param(*which, marks=pytest.mark.slow) for which in LONGER)]


@pytest.mark.parametrize(("machine", "ground"), BOTH)
def test_the_same_gait_on_two_grounds(machine, ground):
    """On ground that yields, and on constraints that come and go with Coulomb's law, by time-stepping."""
    soft = same_gait(machine, ground, 2e-4, "rk4" if machine == "walker" else "euler", **k2t.GROUND)
    hard = same_gait(machine, ground, 1e-3, "moreau", friction=0.8)
    assert went(soft) == pytest.approx(SOFT_WAY[machine, ground], abs=1e-3)
    assert went(hard) == pytest.approx(RIGID_WAY[machine, ground], abs=1e-3)
    foot = "ground 1" if machine == "walker" else "ground front_left"
    assert {"sticks", "open"} <= set(hard.mode[foot])
    assert hard.energy_drift[-1] == pytest.approx(0, abs=0.05)  # of the first order in the step


@pytest.mark.slow
@pytest.mark.parametrize("ground", ["flat", "hills"])
@pytest.mark.parametrize("machine", ["walker", "hexapod"])
def test_the_grounds_meet(machine, ground):
    """What yields a tenth as much, and creeps a tenth as fast, is nearer to rigid ground, by smaller steps."""
    firm = same_gait(machine, ground, 2e-5, "rk4" if machine == "walker" else "euler", **k2t.GROUND | FIRM)
    hard = same_gait(machine, ground, 2.5e-4, "moreau", friction=0.8)
    assert went(hard) == pytest.approx(RIGID_WAY[machine, ground], abs=2e-4)
    left, was = (abs(x - went(hard)[0]) for x in (went(firm)[0], SOFT_WAY[machine, ground][0]))
    assert left < max(0.5 * was, 5e-4)
    assert went(firm)[1:] == pytest.approx(went(hard)[1:], abs=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("ground", ["flat", "hills"])
def test_the_hexapod_walks_from_event_to_event(ground):
    """On rigid ground, as by time-stepping, and with all energy accounted for."""
    traj = same_gait("hexapod", ground, None, "dop853", friction=0.8)
    assert went(traj) == pytest.approx(RIGID_WAY["hexapod", ground], abs=2e-4)
    assert len(traj.events) > 200
    assert np.abs(traj.energy_drift).max() < 1e-6


def test_the_walker_from_event_to_event_says_where_it_stops():
    """Its femurs start level: front and rear feet of a frame stick together only there, not once the femurs turn.

    Time-stepping, the remedy, lets feet slip.
    """
    traj = same_gait("walker", "flat", None, "dop853", friction=0.8)
    assert not traj.outcome.finished
    assert "can no longer stick with the others that do" in traj.outcome.reason
    assert 'method="moreau"' in traj.outcome.remedy
    dyn = ph.formulate(k2t.walker({"friction": 0.8}), "quasicoordinate").compile()
    start = {"q0": WALK.start() | {"top_z": 0.05 + WALK.height}, "tau": WALK.control()}
    stepped = ph.simulate(dyn, t_end=1.6e-3, method="moreau", step=1e-4, output="steps", **start)
    assert stepped.outcome.finished
    assert any("slides" in stepped.mode[f"ground {leg}"] for leg in range(1, 9))
