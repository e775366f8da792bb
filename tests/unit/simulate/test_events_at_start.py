"""What happens at the start is in the balance of energy; events name what changed, not what stays held."""

from typing import Any

import numpy as np
import pytest

import polhode as ph


def rotors(active: bool) -> Any:
    build = ph.Builder("two rotors", gravity=(0, 0, 0))
    build.body("motor", joint=ph.revolute("z", name="a"), mass=1, inertia=(2, 2, 2))
    build.body("load", joint=ph.revolute("z", name="b"), mass=1, inertia=(3, 3, 3))
    build.clutch("a_dot", "b_dot", name="clutch", active=active)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("output", [None, "steps"])
@pytest.mark.parametrize("active", [False, True])
def test_energy_that_goes_at_the_start_is_accounted_for(active: bool, output: Any) -> None:
    """2 kg m^2 at 10 rad/s drive 3 kg m^2 along: of 100 J, 60 go, whether by a switch or as speeds are made to fit."""
    switches = () if active else ph.at(0.0, engage="clutch")
    traj = ph.simulate(rotors(active), None, {"a_dot": 10.0}, 1.0, switches=switches, output=output)
    assert np.abs(traj.energy_drift).max() < 1e-9
    found = traj.audit()
    assert found.energies[:, 2] == pytest.approx([100.0, 40.0])
    assert found.work[2] == pytest.approx(-60.0)
    assert found.drift < 1e-9


def test_events_do_not_name_what_stays_held() -> None:
    build = ph.Builder("shaken plate")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=0.5)
    build.body("plate", joint=ph.prismatic((0.3, 0.1, 1), name="l"), mass=4)
    build.prescribe("l", "0.05*sin(9*t)")
    build.contact("ball", "plate", restitution=0.3, name="contact")
    dyn = ph.formulate(build.build()).compile()
    start = ph.assemble(dyn, {"z": 0.2}, keep=["z", "z_dot"])
    traj = ph.simulate(dyn, start.q, start.u, 0.25)
    assert [event.what for event in traj.events] == [(), ("contact",)]
    assert any(label.startswith("law of l") for label in traj.events[1].impulses)


def welded(kind: str) -> Any:
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1))
    build.marker("tip", body="bob", at=(0, 0, -1))
    if kind == "latch":
        build.latch("world", "tip", name="weld", kind="weld")
    else:
        build.marker("hook", body="world", at=(np.sin(0.8), 0, -np.cos(0.8)), rpy=(0, -0.8, 0))
        build.loop("hook", "tip", "weld", name="weld")
    return ph.formulate(build.build()).compile()


def test_a_latch_reacts_as_a_loop_does_where_its_rows_repeat() -> None:
    """One speed, three rows that hold it: of all reactions the least ones."""
    latch, loop = (
        ph.simulate(welded(kind), {"theta": -0.8}, t_end=0.1, reacting=True).reactions for kind in ("latch", "loop")
    )
    assert latch[3] == pytest.approx(loop[3], abs=1e-9)
    x, z, turn = latch[3][[0, 2, 4]]
    assert min(abs(x), abs(z), abs(turn)) > 1.0
    # the moment about the axis is that of the weight, sin 0.8 m g
    assert -x * np.cos(0.8) - z * np.sin(0.8) + turn == pytest.approx(-9.81 * np.sin(0.8), abs=1e-9)


def test_an_impulse_of_a_latch_is_the_least_one() -> None:
    """It is as the reactions are, by one factor, where both are of the same position."""
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1))
    build.marker("tip", body="bob", at=(0, 0, -1))
    build.latch("world", "tip", name="weld", kind="weld", active=False)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"theta": -0.8}, {"theta_dot": 1.0}, 0.01, switches=ph.at(0.0, engage="weld"))
    found = np.array([traj.events[-1].impulses[f"weld.{name}"] for name in ("x", "z", "turn y")])
    reaction = ph.simulate(welded("loop"), {"theta": -0.8}, t_end=0.1, reacting=True).reactions[0][[0, 2, 4]]
    assert found / found[0] == pytest.approx(reaction / reaction[0], rel=1e-6)
