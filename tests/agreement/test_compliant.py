"""Contacts, stops and ropes that yield: formulations agree, and laws are what is known of them."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml

G = 9.81
FORMULATIONS = ("poincare", "denoc", "lagrange", "kane")


def cluttered() -> ph.Model:
    """Bodies in space with contacts of all shapes, on the world and on each other, a stop and a rope."""
    build = ph.Builder("cluttered", gravity=(0.3, 0, -G))
    build.body("base", joint=ph.revolute("y", name="tilt"), mass=2, com=(0.1, 0, 0.2), inertia=(0.2, 0.3, 0.1))
    build.body("arm", parent="base", at=(0.4, 0, 0), joint=ph.universal(("z", "x"), name="arm"), mass=1.5,
               com=(0, 0.2, -0.3), inertia=(0.1, 0.2, 0.3))  # fmt: skip
    build.body("slider", parent="arm", at=(0, 0, -0.5), joint=ph.prismatic((0.6, 0, 0.8), name="s"), mass=1)
    build.marker("tip", body="slider", at=(0.1, -0.2, -0.3), rpy=(0.2, 0.1, 0.4))
    build.marker("plate", body="base", at=(0, 0, -0.6), rpy=(0.1, 0.3, 0))
    build.marker("floor", body="world", at=(0, 0, -0.4), rpy=(0.05, 0, 0))
    build.contact("tip", "floor", stiffness=900, damping=20, friction=0.4, slip_speed=0.05)
    build.contact("tip", "plate", stiffness=700, dissipation=0.4, exponent=1.5, friction=0.3, slip_speed=0.02)
    build.contact("arm", "floor", stiffness=500, dissipation=0.2, shape="sphere", radius=0.6, friction=0.2)
    build.contact("slider", "floor", stiffness=400, damping=3, shape="disc", radius=0.5, axis=(0.6, 0, 0.8))
    build.stop("s", lower=-0.1, upper=0.1, stiffness=300, damping=4)
    build.stop("tilt", upper=0.2, stiffness=200, dissipation=0.3, exponent=2)
    build.rope("tip", "world", length=0.5, stiffness=600, damping=5)
    return build.build()


def states(dyn: Any) -> Any:
    rng = np.random.default_rng(4)
    for _ in range(20):
        yield rng.normal(size=len(dyn.equations.q)) * 0.4, rng.normal(size=len(dyn.equations.u))


def test_formulations_agree() -> None:
    model = cluttered()
    all_of = {name: ph.formulate(model, name).compile() for name in FORMULATIONS}
    assert not model.candidates
    for q, u in states(all_of["poincare"]):
        found = {name: dyn.forward_dynamics(q, u, 0 * u) for name, dyn in all_of.items()}
        for name in FORMULATIONS[1:]:
            assert found[name] == pytest.approx(found["poincare"], rel=1e-9, abs=1e-9)


def test_energy_is_accounted_for() -> None:
    """What dampers and friction took; steps are short, for forces of dampers jump where they touch."""
    traj = ph.simulate(ph.formulate(cluttered()).compile(), {"s": 0.05}, t_end=0.3, longest=5e-4)
    assert traj.outcome.finished
    assert traj.work_done[-1, 1] < -1.0
    assert np.abs(traj.energy_drift).max() < -1e-5 * traj.work_done[-1, 1]


def falling(**law: Any) -> Any:
    build = ph.Builder("ball", gravity=(0, 0, -ph.symbol("g")))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2)
    build.contact("ball", **law)
    return ph.formulate(build.build()).compile()


@pytest.mark.parametrize(("n", "law"), [(1, {"damping": 60}), (1.5, {"dissipation": 2.0, "exponent": 1.5})])
def test_a_ball_at_rest_penetrates_by_its_weight(n: float, law: dict[str, float]) -> None:
    k = 5000
    traj = ph.simulate(falling(stiffness=k, **law), {"z": 0.01}, t_end=15.0, p={"g": G})
    assert traj["z"][-1] == pytest.approx(-((2 * G / k) ** (1 / n)), rel=1e-3)


@pytest.mark.parametrize("v", [0.01, 0.1, 1.0])
@pytest.mark.parametrize("n", [1, 1.5])
def test_hunt_and_crossleys_restitution(v: float, n: float) -> None:
    """a (v + v') = log((1 + a v) / (1 - a v')) with a = 3/2 c, whatever k and n; e = 1 - c v at small speeds."""
    c = 0.3
    law = falling(stiffness=1e5, dissipation=c, exponent=n)
    traj = ph.simulate(law, {"z": 1e-4}, {"z_dot": -v}, t_end=1e-3 / v + 0.1, p={"g": 0.0}, rtol=1e-11, atol=1e-13)
    left, a = traj["z_dot"][-1], 1.5 * c
    assert a * (v + left) == pytest.approx(np.log((1 + a * v) / (1 - a * left)), rel=1e-7)
    assert left / v == pytest.approx(1 - c * v, abs=(c * v) ** 2 + 1e-6)


def test_stiffer_contacts_tend_to_the_rigid_one() -> None:
    """A block that slides on the ground and against a stop; at 4 times the stiffness it is 4 times as near."""

    def end(**law: Any) -> np.ndarray:
        build = ph.Builder("block", gravity=(0, 0, -G))
        build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
        build.body("block", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
        build.contact("block", friction=0.2, **law)
        traj = ph.simulate(ph.formulate(build.build()).compile(), None, {"x_dot": 1.0}, t_end=0.3, rtol=1e-8)
        return traj.q[-1]

    rigid = end()
    assert rigid == pytest.approx([0.3 - 0.1 * G * 0.09, 0], abs=1e-8)
    off = [np.abs(end(stiffness=k, damping=2 * np.sqrt(k), slip_speed=1e-3) - rigid).max() for k in (1e4, 4e4)]
    assert off[0] < 2e-3
    assert off[1] < 0.3 * off[0]


def test_a_rope_that_yields_is_slack_below_its_length() -> None:
    build = ph.Builder("yoyo", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.rope("ball", "world", length=0.5, stiffness=400)
    dyn = ph.formulate(build.build()).compile()
    assert dyn.forward_dynamics([0.0], [0.0], [0.0]) == pytest.approx([-G])  # also where its ends meet
    assert dyn.forward_dynamics([-0.4], [0.0], [0.0]) == pytest.approx([-G])
    assert dyn.forward_dynamics([-0.6], [0.0], [0.0]) == pytest.approx([-G + 40])
    assert dyn.forward_dynamics([0.6], [0.0], [0.0]) == pytest.approx([-G - 40])


def test_toml_both_ways() -> None:
    model = cluttered()
    text = write_toml(model)
    again = read_toml(text)
    assert again == model
    assert "[[compliant_contact]]" in text
    short = read_toml(text.replace("[[compliant_", "[["))
    assert short == model


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"damping": 1}, "has damping but no stiffness"),
        ({"stiffness": 1, "restitution": 0.5}, "stiffness and restitution"),
        ({"stiffness": 1, "active": False}, "always acts"),
        ({"stiffness": 1, "friction": 0.2, "static": 0.3}, "static friction"),
        ({"stiffness": 1, "exponent": ph.symbol("n")}, "expected a number"),
        ({"stiffness": -1}, "stiffness is -1"),
    ],
)
def test_what_does_not_fit_is_refused(given: dict[str, Any], said: str) -> None:
    with pytest.raises(ph.ModelError, match=said):
        falling(**given)
