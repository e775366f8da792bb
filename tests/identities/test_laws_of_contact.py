"""Machines at random that fall on ground which is fixed, sprung or shaken: the laws of contact hold wherever one looks.

Gaps are measured from poses of markers, not from the rows that hold them.
"""

from __future__ import annotations

import warnings

import numpy as np
import pytest

import polhode as ph

GROUNDS = ("fixed", "sprung", "shaken")


def machine(seed: int) -> tuple[ph.Model, list[float]]:
    """A body with one to four feet, and a pendulum on it for every other seed; the friction of each foot."""
    draw = np.random.default_rng(seed)
    build = ph.Builder(f"feet {seed}")
    mass = 10 ** draw.uniform(-1, 1)
    build.body("box", joint=ph.planar("y", name="box"), mass=mass, inertia=(mass * draw.uniform(0.01, 0.1),) * 3)
    if seed % 2:
        at = (draw.uniform(-0.2, 0.2), 0, draw.uniform(0, 0.2))
        swing = ph.revolute("y", name="swing", friction=draw.uniform(0, 0.2) * mass)
        build.body(
            "arm", parent="box", at=at, joint=swing, mass=mass / 2, com=(0, 0, -0.15), inertia=(0.01 * mass,) * 3
        )
    ground, along = GROUNDS[seed % 3], (draw.uniform(-0.3, 0.3), 0, 1)
    if ground != "fixed":
        build.body("plate", joint=ph.prismatic(along, name="plate"), mass=3 * mass)
    if ground == "sprung":
        build.force("plate_dot", f"{30 * mass} - {300 * mass}*plate - {3 * mass}*plate_dot")
    elif ground == "shaken":
        rate = draw.uniform(10, 30)
        build.prescribe("plate", f"{draw.uniform(5, 25) / rate**2}*sin({rate}*t)")
    on = "world" if ground == "fixed" else "plate"
    build.marker("floor", body=on, rpy=(0, draw.uniform(-0.15, 0.15), 0))
    frictions = []
    for k in range(int(draw.integers(1, 5))):
        at = (draw.uniform(-0.3, 0.3), 0, -0.2 + draw.choice([0, draw.uniform(0, 0.1)]))
        build.marker(f"foot {k}", body="box", at=at)
        frictions.append(float(draw.uniform(0, 0.8)))
        restitution = float(draw.choice([0, 0, 0.4]))
        build.contact(f"foot {k}", "floor", friction=frictions[-1], restitution=restitution, name=f"c{k}")
    return build.build(), frictions


def faults(seed: int, t_end: float = 0.6) -> list[str]:
    """What is against a law in a run."""
    model, frictions = machine(seed)
    dyn, draw = ph.formulate(model).compile(), np.random.default_rng(1000 + seed)
    u = dict(zip(model.speeds, draw.normal(size=len(model.speeds)) * 0.7, strict=True)) if seed % 5 == 0 else {}
    q0 = dict.fromkeys(model.coordinates, 0.0)
    q0[model.coordinates[1]] = 0.3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if GROUNDS[seed % 3] == "shaken":
            found = ph.assemble(dyn, q0, u, keep=[n for n in (*model.coordinates, *model.speeds) if "plate" not in n])
            traj = ph.simulate(dyn, found.q, found.u, t_end, output="steps", reacting=True)
        else:
            traj = ph.simulate(dyn, q0, u, t_end, output="steps", reacting=True)
    said = [] if traj.outcome.finished else [str(traj.outcome)]
    floor = traj.pose("floor")
    stick = np.sum([np.asarray(traj.mode[f"c{k}"]) == "sticks" for k in range(len(frictions))], axis=0)
    told = stick < 2  # two feet that stick share their reactions in many ways
    for k, mu in enumerate(frictions):
        normal, pushes = floor[:, :3, 2], traj[f"reaction c{k}.height"]
        gap = np.sum(normal * (traj.pose(f"foot {k}")[:, :3, 3] - floor[:, :3, 3]), axis=1)
        pulls = np.hypot(traj[f"reaction c{k}.slip x"], traj[f"reaction c{k}.slip y"])
        size = 1e-6 * (1 + np.abs(pushes).max())
        if gap.min() < -1e-8:
            said.append(f"c{k} is {gap.min():.2g} m below the floor")
        if pushes[told].min() < -size:
            said.append(f"c{k} pulls by {pushes[told].min():.2g} N")
        if (pulls - mu * pushes)[told].max() > size:
            said.append(f"c{k} grips by {(pulls - mu * pushes)[told].max():.2g} N more than it can")
    if np.abs(traj.energy_drift - traj.energy_drift[0]).max() > 1e-5 * (1 + np.abs(traj.energy).max()):
        said.append("energy is not accounted for")
    return said


@pytest.mark.parametrize("seed", range(6))
def test_laws_hold_in_a_few_machines(seed: int) -> None:
    assert not faults(seed)


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(100, 200))
def test_laws_hold_in_many_machines(seed: int) -> None:
    assert not faults(seed)
