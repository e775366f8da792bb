"""Conditions of several comparisons: each is located by itself, the whole is decided where one becomes true."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph

G = 9.81


def fall(beside=False):
    """A ball that falls; beside it something that is held, so that there is always a constraint."""
    build = ph.Builder("fall", gravity=(0, 0, -G))
    if beside:
        build.body("beside", joint=ph.prismatic("x", name="x"), mass=1)
        build.lock("x", name="held")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.lock("z", name="catch", active=False)
    build.brake("z_dot", capacity=2, name="pad", active=False)
    return ph.formulate(build.build()).compile()


HALF = np.sqrt(2 * 0.5 / G)  # when it has fallen from 1 to 0.5


@pytest.mark.parametrize("text", ["z > 0.2 and z < 0.5", "0.2 < z < 0.5", "not (z <= 0.2 or z >= 0.5)"])
@pytest.mark.parametrize("through", ["simulate", "automaton"])
@pytest.mark.parametrize("beside", [False, True])
def test_a_window_that_one_step_passes_is_seen(text, through, beside):
    """The default steps of a fall are seconds long, the window lasts 0.08 s."""
    dyn = fall(beside)
    run = dyn.automaton().simulate if through == "automaton" else lambda *a, **k: ph.simulate(dyn, *a, **k)
    traj = run({"z": 1.0}, t_end=1.0, switches=ph.when(text, engage="catch"))
    assert [event.why for event in traj.events] == ["start", f"when {text}"]
    assert traj.events[1].time == pytest.approx(HALF, abs=1e-9)
    assert traj["z"][-1] == pytest.approx(0.5, abs=1e-9)


def test_it_happens_where_the_last_of_several_comparisons_becomes_true():
    dyn = fall()
    text = "z < 0.5 and t > 0.1 and z_dot < -1 and z > -100"
    traj = ph.simulate(dyn, {"z": 1.0}, t_end=1.0, switches=ph.when(text, engage="catch"))
    assert traj.events.times == pytest.approx([0, HALF], abs=1e-9)
    other = ph.simulate(dyn, {"z": 1.0}, t_end=1.0, switches=ph.when("z < 0.5 and t > 0.4", engage="catch"))
    assert other.events.times == pytest.approx([0, 0.4], abs=1e-9)
    either = ph.simulate(dyn, {"z": 1.0}, t_end=1.0, switches=ph.when("z < 0.5 or t > 0.4", engage="pad"))
    assert either.events.times == pytest.approx([0, HALF], abs=1e-9)


def test_what_becomes_true_again_and_again_is_no_event_while_the_whole_does_not():
    build = ph.Builder("swing", gravity=(0, 0, 0))
    build.body("mass", joint=ph.prismatic("x", name="x", stiffness=1), mass=1)
    build.lock("x", name="catch", active=False)
    dyn = ph.formulate(build.build()).compile()
    switch = ph.when("x > 0.5 and t > 20", engage="catch")
    traj = ph.simulate(dyn, {"x": 1.0}, t_end=40.0, switches=switch, output="steps")
    first = next(t for t in (2 * np.pi * k - np.pi / 3 for k in range(9)) if t > 20)  # cos t = 1/2 on its way up
    assert traj.events.times == pytest.approx([0, first], abs=1e-8)
    assert (np.diff(traj.t) == 0).sum() == 1  # two sides of the one event alone
    never = ph.simulate(dyn, {"x": 1.0}, t_end=40.0, switches=ph.when("x > 0.5 and x < -0.5", engage="catch"))
    assert len(never.events) == 1
    assert never.outcome.finished


def test_time_stepping_decides_at_the_ends_of_steps():
    switch = ph.when("z > 0.2 and z < 0.5", engage="catch")
    traj = ph.simulate(fall(), {"z": 1.0}, t_end=1.0, switches=switch, method="moreau", step=1e-3)
    assert traj.events[1].time == pytest.approx(HALF, abs=1.5e-3)
    assert len(traj.events) == 2


def test_time_stepping_notes_the_impact_of_the_step_that_ends_a_run():
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", name="ground", restitution=0.5)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"z": 1.0}, until=ph.when("z_dot > 1"), method="moreau", step=1e-3)
    assert [event.why for event in traj.events] == ["start", "closes", "when z_dot > 1"]
    assert traj.events[1].lost == pytest.approx(G * 0.75, rel=1e-2)
    assert traj.events[2].lost == 0
