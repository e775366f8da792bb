"""Machines that fall as a whole: what touches carries nothing, and rounding is no event."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polhode as ph


def falling(count: int) -> Any:
    """A body with arms of hinges, all at their lower stops."""
    random = np.random.default_rng(1)
    build = ph.Builder("falls", gravity=(0, 0, -9.81))
    build.body("base", joint=ph.free(quaternion=True), mass=10, inertia=(1, 1.2, 0.7))
    for k in range(count):
        place, com = random.normal(size=3) * 0.3, random.normal(size=3) * 0.2
        joint, mass = ph.revolute("xyz"[k % 3], name=f"j{k}"), float(random.uniform(0.1, 3))
        parent = "base" if k % 2 == 0 else f"l{k - 1}"
        build.body(f"l{k}", parent=parent, at=place, joint=joint, mass=mass, com=com, inertia=(0.01, 0.02, 0.015))
        build.stop(f"j{k}", lower=0, upper=1)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize("count", [1, 2, 4, 6, 9])
def test_a_machine_at_its_stops_falls_as_one_body(count: int) -> None:
    traj = ph.simulate(falling(count), None, None, 0.3)
    assert traj.outcome.finished
    assert len(traj.events) <= 2
    joints = [traj[f"j{k}"] for k in range(count)]
    assert np.abs(joints).max() < 1e-12
    assert traj["base_z"][-1] == pytest.approx(-9.81 * 0.3**2 / 2, rel=1e-12)
