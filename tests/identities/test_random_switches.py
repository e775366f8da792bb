"""Random switches on mechanisms grown from a seed: whatever is engaged, struck or hit, what holds is satisfied."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from tests.shaken import Shaken, floats, shake


@pytest.mark.parametrize("seed", range(3))
def test_random_switches_leave_every_constraint_satisfied(seed):
    shaken = Shaken(seed)
    shake(shaken, 60)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(50))
def test_100_000_random_switches(seed):
    shaken = Shaken(seed)
    shake(shaken, 2000)


@pytest.mark.parametrize("seed", [seed for seed in range(12) if floats(seed)][:3])
def test_a_machine_that_floats_keeps_its_momentum_whatever_is_switched_within(seed):
    shaken = Shaken(seed, free=True)
    before, many = shaken.momentum(), 0
    while many < 40:
        state = shaken.sim
        shaken.switch(strikes=False)
        if shaken.draw.random() < 0.3:
            shaken.sim.run(shaken.sim.t + 0.01)
        assert shaken.sim is state
        now = shaken.momentum()
        assert np.abs(now - before).max() < 1e-8 * (1 + np.abs(before).max())
        many += 1
    assert any(event.lost > 1e-6 for event in shaken.sim.events)


FLOATING = [seed for seed in range(12) if floats(seed)][:2]
some = st.lists(st.integers(0, 20), min_size=1, max_size=3)
number = st.floats(-1, 1, allow_subnormal=False)


class Switched(RuleBasedStateMachine):
    """Any order of switches, strikes, runs, states set by hand and new starts, on machines that stand or float."""

    seeds = (0, 1)

    @initialize(data=st.data(), free=st.booleans())
    def begin(self, data, free):
        self.shaken = Shaken(data.draw(st.sampled_from(FLOATING if free else self.seeds)), free=free)
        self.note()

    def note(self):
        """Remember the momentum, which only what comes from outside changes."""
        self.sim, self.momentum = self.shaken.sim, self.shaken.momentum()

    def names(self, picked):
        known = self.shaken.switchable
        return sorted({known[k % len(known)] for k in picked})

    @rule(picked=some)
    def engage(self, picked):
        self.shaken.engage(*self.names(picked))

    @rule(picked=some)
    def release(self, picked):
        self.shaken.release(*self.names(picked))

    @rule(tip=st.integers(1, 4), impulse=st.tuples(number, number, number))
    def strike(self, tip, impulse):
        self.shaken.strike(tip, impulse)
        self.note()

    @rule(span=st.floats(1e-3, 0.05))
    def run(self, span):
        self.shaken.go_on(span)
        if self.shaken.sim is not self.sim:  # it left the region of interest
            self.note()

    @rule(loop=st.booleans())
    def restart(self, loop):
        self.shaken.restart()
        if loop and not self.shaken.free:
            self.shaken.engage("loop", forget=False)
        self.note()

    @rule(share=number)
    def set_by_hand(self, share):
        self.shaken.scale(share)
        self.note()

    @invariant()
    def everything_that_holds_is_satisfied(self):
        self.shaken.look(())

    @invariant()
    @precondition(lambda self: self.shaken.free)
    def momentum_is_kept(self):
        off = np.abs(self.shaken.momentum() - self.momentum).max()
        assert off < 1e-7 * (1 + np.abs(self.momentum).max())


class SwitchedAtLength(Switched):
    seeds = tuple(range(50))


quiet = {"deadline": None, "suppress_health_check": list(HealthCheck)}
TestSwitched = Switched.TestCase
TestSwitched.settings = settings(max_examples=8, stateful_step_count=15, derandomize=True, **quiet)
TestSwitchedAtLength = pytest.mark.slow(SwitchedAtLength.TestCase)
TestSwitchedAtLength.settings = settings(max_examples=300, stateful_step_count=50, **quiet)
