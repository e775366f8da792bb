"""Where the energy of a walk goes: from the terminals of the motors to heat, by powers that are written out here.

    U i = d/dt (T + V) + R i^2 + bearings + joints + pressing + rubbing,   and what clutches take as they engage

Each is a state of its own, integrated with the motion; T + V is that of the machine, with the springs of the ground.
"""

from dataclasses import replace

import numpy as np
import pytest
import walker as k2t

import polhode as ph
from polhode.graph import as_expr
from polhode.model.states import State

WALK = k2t.Gait()
CONSTANT, RESISTANCE, BEARING, JOINT = 0.05, 0.4, 2e-6, 0.002
LOSSES = ("copper", "bearings", "joints", "pressing", "rubbing")


def voltages():
    """What makes the torques of the gait: U = R tau / k + k rho."""
    return {
        name: RESISTANCE / CONSTANT * tau + CONSTANT * ph.symbol(f"{name}_dot") for name, tau in WALK.control().items()
    }


def of_motors():
    """Electrical power, that of heat in the wires, and of bearings."""
    rho = {name: ph.symbol(f"{name}_dot") for name in k2t.KP}
    U = voltages()
    i = {name: (U[name] - CONSTANT * rho[name]) / RESISTANCE for name in rho}
    return {
        "electrical": sum(U[name] * i[name] for name in rho),
        "copper": sum(RESISTANCE * e**2 for e in i.values()),
        "bearings": sum(BEARING * e**2 for e in rho.values()),
    }


def of_the_ground(model, relief):
    """k d ((1 + 3/2 c d') d' - d') of pressing, mu N v^2 / sqrt(v^2 + v_s^2) of rubbing."""
    eq, (x, y) = ph.formulate(model, "denoc"), ph.symbols("x y")
    pressing = rubbing = as_expr(0)
    for leg in range(1, 9):
        at, v = eq.pose(f"foot_{leg}")[:3, 3], eq.velocity(f"foot_{leg}")[3:]
        below = ph.substitute(as_expr(relief), {x: at[0], y: at[1]}) - at[2]
        spring, rate, slip2 = 2e4 * ph.maximum(below, 0), -v[2], v[0] ** 2 + v[1] ** 2
        N = spring * ph.maximum(1 + 3 * rate, 0)
        pressing = pressing + (N - spring) * rate
        rubbing = rubbing + 0.8 * N * slip2 / ph.sqrt(slip2 + 0.02**2)
    return {"pressing": pressing, "rubbing": rubbing}


def audited(link, relief):
    """The walker with electrical motors, and states that count."""
    model = k2t.walker(k2t.GROUND | {"relief": relief}, link, constant=CONSTANT, resistance=RESISTANCE, damping=BEARING)
    turning = ["body", *(f"{part}_{leg}" for part in ("femur", "tibia") for leg in range(1, 9))]
    joints = {"joints": sum(JOINT * ph.symbol(f"{name}_dot") ** 2 for name in turning)}
    rates = of_motors() | joints | of_the_ground(model, relief)
    states = tuple(State(name=name, rate=rate, start=as_expr(0)) for name, rate in rates.items())
    return ph.formulate(replace(model, states=states), "quasicoordinate").compile()


def missing(traj):
    """What is not accounted for, at every output."""
    lost = np.array([sum(event.lost for event in traj.events if event.time <= t) for t in traj.t])
    gained = traj.energy[:, 2] - traj.energy[0, 2]
    return traj["electrical"] - gained - lost - sum(traj[name] for name in LOSSES)


def test_a_walk():
    """Of 2.9 J in a cycle four fifths heat the wires; all are found to 1e-8 J."""
    traj = ph.simulate(audited("gear", 0), WALK.start(), t_end=WALK.time(1), tau=voltages())
    assert traj["top_x"][-1] == pytest.approx(0.2169, abs=1e-4)  # the gait of motors that are told their torques
    assert traj["electrical"][-1] == pytest.approx(2.878, abs=1e-3)
    assert traj["copper"][-1] == pytest.approx(2.261, abs=1e-3)
    assert all(traj[name][-1] > 0.05 for name in LOSSES)
    assert np.abs(missing(traj)).max() < 1e-8
    assert np.abs(traj.energy_drift).max() < 1e-8


@pytest.mark.slow
def test_a_climb_with_clutches():
    """Over the block, with what eight clutches and brakes take: 15.7 J to 1e-7 J."""
    dyn = audited("clutch", k2t.block((0.42, 0.54)))
    switches = k2t.stepping(dyn.equations, WALK)
    traj = ph.simulate(dyn, WALK.start(), t_end=WALK.time(6), tau=voltages(), switches=switches)
    assert traj["top_x"][-1] == pytest.approx(1.301, abs=1e-3)
    assert traj["electrical"][-1] == pytest.approx(15.675, abs=1e-3)
    assert sum(event.lost for event in traj.events) == pytest.approx(0.1776, abs=1e-4)
    assert np.abs(missing(traj)).max() < 1e-7
