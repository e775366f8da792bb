"""After its start a run allocates nothing but what it records and logs: neither steps nor switches.

That kernels call nothing that allocates native memory is in tests/unit/kernels/test_shipped.py; here it is measured.
"""

from __future__ import annotations

import tracemalloc
from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.kernels.kernel import PLAIN
from polhode.simulate import modes

native = pytest.mark.skipif(PLAIN, reason="kernels as Python make Python objects")


def ball() -> Any:
    build = ph.Builder("ball", gravity=(0, 0, -9.81))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=1, name="ground")
    build.lock("z", name="lock", active=False)
    return ph.formulate(build.build()).compile()


def _peak(call: Any) -> int:
    """Bytes that a call had more than before at its worst, NumPy's arrays among them."""
    tracemalloc.start()
    before = tracemalloc.get_traced_memory()[0]
    tracemalloc.reset_peak()
    call()
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return peak - before


@native
@pytest.mark.parametrize("wired", [240, 0])
def test_a_loop_of_many_steps_allocates_nothing(wired: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """A hundred times the steps, one call of the loop each: not a byte more; also where gaps are watched in a table."""
    monkeypatch.setattr(modes, "WIRED", wired)
    sim = ph.Simulation(ball(), {"z": 1000.0}, method="rk4", step=1e-4)
    sim.run(0.01, output=[0.01])

    def steps(count: int) -> int:
        now = sim._now
        now.stop, now.budget, now.every, now.row = np.inf, count, 0, 0
        sim._grid, sim._rows, sim._bound = np.zeros(0), np.zeros((0, sim._x.size)), {}
        loop = sim._taken()
        loop()
        now.budget = count
        return _peak(loop)

    most = steps(1_000) + 64
    assert (
        min(steps(100_000) for _ in range(3)) <= most
    )  # other threads of this process may allocate, but not each time


@native
def test_a_switch_allocates_only_its_entry_in_the_log() -> None:
    """The native part of a switch is called a thousand times without a byte; the log keeps Python objects."""
    sim = ph.Simulation(ball(), {"z": 1.0}, {"z_dot": 1.0}, method="rk4", step=1e-3)
    sim.engage("lock")
    board = sim._modes.board
    assert board is not None
    state, wanted = sim._x.copy(), board.rows.view("wanted")
    moving = state.copy()
    moving[1] = 1.0

    def switch(times: int) -> None:
        for _ in range(times):
            sim._x[:] = moving
            wanted[:] = 1
            board._resolve()

    switch(10)
    assert abs(sim._x[1]) < 1e-14  # the impulse was there
    assert _peak(lambda: switch(1000)) <= _peak(lambda: switch(10)) + 256


@native
def test_resident_memory_of_a_run_with_events_stays() -> None:
    """100,000 steps with hundreds of bounces, not recorded: what is resident grows by the log alone."""
    from pathlib import Path

    statm = Path("/proc/self/statm")
    if not statm.exists():
        pytest.skip("no /proc here")
    sim = ph.Simulation(ball(), {"z": 0.05}, method="rk4", step=1e-3)

    def resident() -> int:
        return int(statm.read_text().split()[1]) * 4096

    for _ in range(3):
        sim.run(sim.t + 10.0, output=[sim.t + 10.0])
    before, many = resident(), len(sim.events)
    sim.run(sim.t + 100.0, output=[sim.t + 100.0])
    happened = len(sim.events) - many
    assert happened > 300
    assert resident() - before < 4096 * happened + 2**20
