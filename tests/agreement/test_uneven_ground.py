"""Ground that is not flat: formulations agree, its force is across it, and its energy is kept."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml

FORMULATIONS = ("poincare", "denoc", "lagrange", "kane", "quasicoordinate")
x, y, bump = ph.symbols("x y bump")
HILLS = bump * ph.exp(-(x**2 + 2 * y**2)) + 0.05 * ph.sin(3 * x) * ph.cos(2 * y)


def machine() -> ph.Model:
    """An arm in space with feet on hills of the world, and of a table that moves. Its slide is called x, too."""
    build = ph.Builder("on hills", gravity=(0.3, 0, -9.81))
    build.body(
        "base", joint=ph.revolute((0, 0.8, 0.6), name="tilt"), mass=2, com=(0.1, 0, 0.2), inertia=(0.2, 0.3, 0.1)
    )
    build.body("arm", parent="base", at=(0.4, 0, 0), joint=ph.universal(("z", "x"), name="arm"), mass=1.5,
               com=(0, 0.2, -0.3), inertia=(0.1, 0.2, 0.3))  # fmt: skip
    build.body("slider", parent="arm", at=(0, 0, -0.5), joint=ph.prismatic((0.6, 0, 0.8), name="x"), mass=1)
    build.marker("tip", body="slider", at=(0.1, -0.2, -0.3), rpy=(0.2, 0.1, 0.4))
    build.marker("table", body="base", at=(0, 0, -0.6), rpy=(0.1, 0.3, 0))
    build.marker("floor", body="world", at=(0, 0, -0.4), rpy=(0.05, 0, 0))
    build.contact("tip", "floor", stiffness=900, dissipation=0.4, friction=0.4, slip_speed=0.05, relief=HILLS)
    build.contact("tip", "table", stiffness=700, damping=5, friction=0.3, slip_speed=0.02, relief=HILLS)
    return build.build()


def test_formulations_agree() -> None:
    model = machine()
    all_of = {name: ph.formulate(model, name).compile({"bump": 0.3}) for name in FORMULATIONS}
    rng, touched = np.random.default_rng(4), 0
    for _ in range(20):
        q, u = rng.normal(size=4) * 0.4, rng.normal(size=4)
        found = {name: dyn.forward_dynamics(q, u, 0 * u) for name, dyn in all_of.items()}
        touched += np.abs(all_of["poincare"].forces(q, u)).max() > 1
        for name in FORMULATIONS[1:]:
            assert found[name] == pytest.approx(found["poincare"], rel=1e-9, abs=1e-9)
    assert touched > 8


def ball(**ground: Any) -> ph.Dynamics:
    build = ph.Builder("ball")
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="y"), mass=0)
    build.body("ball", parent="across", joint=ph.prismatic("z", name="z"), mass=2)
    build.contact("ball", **ground)
    return ph.formulate(build.build()).compile()


def test_the_force_is_across_the_ground_and_friction_along_it() -> None:
    """On a slope of 3 in 4: lam (-3/4, 0, 1), lam = k d; friction mu of that against the sliding down."""
    dyn = ball(stiffness=100, relief=0.75 * x, friction=0.5, slip_speed=1e-9)
    at, still = [0.4, 0, 0.3 - 0.2], np.array([0, 0, -9.81])
    assert dyn.forward_dynamics(at, [0, 0, 0], [0, 0, 0]) == pytest.approx(still + np.array([-15, 0, 20]) / 2)
    sliding = np.array([-0.8, 0, -0.6])
    rubbed = 0.5 * 25 * -sliding / 2
    assert dyn.forward_dynamics(at, sliding, [0, 0, 0]) == pytest.approx(still + np.array([-15, 0, 20]) / 2 + rubbed)


def test_hills_keep_energy() -> None:
    """A ball in a bowl without friction: gravity and the ground exchange all there is."""
    dyn = ball(stiffness=2000, relief="0.5*(x**2 + 2*y**2)")
    traj = ph.simulate(dyn, {"x": 0.5, "y": 0.3, "z": 0.2}, {"y_dot": 0.4}, 3.0)
    assert np.abs(traj.energy_drift).max() < 1e-6
    assert traj["x"].min() < -0.3


def test_a_block_has_a_level_top() -> None:
    dyn = ball(stiffness=1000, relief=ph.select((x > 0.2) & (x < 0.4), 0.1, 0))
    lifts = [float(dyn.forward_dynamics([at, 0, 0.05], [0, 0, 0], [0, 0, 0])[2]) + 9.81 for at in (0.1, 0.3, 0.5)]
    assert lifts == pytest.approx([0, 25, 0])
    assert dyn.forward_dynamics([0.3, 0, 0.05], [0, 0, 0], [0, 0, 0])[0] == 0


def test_toml_both_ways() -> None:
    model = machine()
    text = write_toml(model)
    assert read_toml(text) == model
    assert "relief" in text
    assert [str(s) for s in ph.formulate(model).parameters] == ["bump"]


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"stiffness": 1, "relief": x, "shape": "sphere", "radius": 1}, "expected a point"),
        ({"stiffness": 1, "relief": ph.symbol("z")}, "depends on z, expected x and y"),
        ({"stiffness": 1, "relief": ph.symbol("t")}, "depends on t, expected x and y"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ph.ModelError, match=said):
        ball(**given)
