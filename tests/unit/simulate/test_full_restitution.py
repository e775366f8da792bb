"""Impacts that lose nothing: rounding is not taken for energy that restitution makes."""

from __future__ import annotations

import numpy as np
import pytest

import polhode as ph


def test_a_point_keeps_its_speed_on_planes_in_all_directions() -> None:
    n = np.random.default_rng(7).normal(size=(24, 3))
    n /= np.linalg.norm(n, axis=1)[:, None]
    build, parent = ph.Builder("point", gravity=(0, 0, 0)), "world"
    for axis in "xyz":
        build.body(axis, parent=parent, joint=ph.prismatic(axis, name=f"q{axis}"), mass=1 if axis == "z" else 0)
        parent = axis
    for k, (a, b, c) in enumerate(n.tolist()):
        build.marker(f"plane {k}", body="world", at=(-a, -b, -c), rpy=(0, np.arccos(c), np.arctan2(b, a)))
        build.contact("z", f"plane {k}", restitution=1, name=f"c{k}")
    dyn = ph.formulate(build.build()).compile()
    for normal in n:
        v = -1.1 * normal + np.array([0.1, 0.2, -0.05])
        traj = ph.simulate(dyn, -0.8 * normal, v, 0.25, output=[0, 0.25])
        assert len(traj.events) > 1
        assert np.linalg.norm(traj.u[-1]) == pytest.approx(np.linalg.norm(v), rel=1e-9)
