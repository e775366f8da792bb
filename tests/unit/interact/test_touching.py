"""What comes and goes by itself, in real time."""

import time

import numpy as np

import polhode as ph
from polhode.interact import realtime, replay


def falling():
    build = ph.Builder("drop", gravity=(0, 0, -9.81))
    build.body("bob", joint=ph.prismatic("z", name="h"), mass=1)
    build.contact("bob", name="ground", restitution=0.3)
    return ph.formulate(build.build()).compile()


def test_ticks_are_the_steps_of_a_simulation_also_where_something_touches():
    dyn = falling()
    loop, sim = realtime(dyn, [0.5]), ph.Simulation(dyn, [0.5], method="moreau", step=1e-3)
    lowest = 1.0
    for k in range(1, 1001):
        loop.step()
        sim.step()
        assert not loop.failure
        assert loop.ticks == k
        np.testing.assert_array_equal(loop.state.q, sim.q)
        np.testing.assert_array_equal(loop.state.u, sim.u)
        lowest = min(lowest, sim.q[0])
    assert abs(lowest) < 1e-12
    assert sim.mode == {"ground": "closed"}


def test_a_run_that_touches_goes_on_and_replays():
    dyn = falling()
    with realtime(dyn, [0.05]) as loop:
        deadline = time.monotonic() + 60
        while loop.ticks < 400 and time.monotonic() < deadline:
            time.sleep(0.01)
        loop.stop()
        assert not loop.failure
    states = replay(dyn, loop.session)
    assert len(states) == loop.ticks + 1 > 400
    np.testing.assert_array_equal(states[-1].q, loop.state.q)
    assert abs(states[-1].q[0]) < 1e-12
