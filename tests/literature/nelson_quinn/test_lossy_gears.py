"""Gears with losses and with several stages, against closed forms.

    (M + k n^2 J) a + c = k n tau,   k = eta where the motor drives, 1 / eta_back where it is driven

of a load M a + c = t behind a gear of n with a rotor J before it [Nelson, Quinn]; at rest the gear sticks while
eta_back t <= n t_in <= t / eta, t > 0 [Pelchen, Schweiger, Otter 2002].
"""

import numpy as np
import pytest

import polhode as ph
from polhode.equations import METHODS

N, J, I, WEIGHT = 40.0, 2e-3, 0.2, 19.62  # of the gear, the rotor, the drum with its load, and its torque
SPRING = {"stiffness": 4e3, "loss": 40.0}


def hoist(method=None, weight=WEIGHT, **gear):
    build = ph.Builder("hoist", gravity=(0, 0, 0))
    build.body("drum", joint=ph.revolute("z", name="drum"), mass=1, inertia=(I, I, I))
    build.force("drum_dot", -weight)
    build.motor("M", **({"ratio": N} | gear)).drives({"drum": 1})
    return ph.formulate(build.build(), *([method] if method else [])).compile()


def run(dyn, torque, t_end=1.0, speed=0.0, **more):
    """A run that begins with the spring wound as far as the load at rest winds it."""
    wound = WEIGHT / SPRING["stiffness"] * N
    return ph.simulate(dyn, {"M": wound}, {"drum_dot": speed, "M_dot": N * speed}, t_end, tau={"M": torque}, **more)


@pytest.mark.parametrize("method", METHODS)
def test_without_a_rotor_driving_and_driven(method):
    eta, back = 0.7, 0.6
    dyn = hoist(method, efficiency=eta, efficiency_back=back)
    for speed, k in ((2.0, eta), (-2.0, 1 / back)):
        found = dyn.forward_dynamics([0.0], [speed], [0.0], controls={"M": 0.4})
        assert found[0] == pytest.approx((k * N * 0.4 - WEIGHT) / I, rel=1e-12)
        found = dyn.forward_dynamics([0.0], [-speed], [0.0], controls={"M": -0.4})
        assert found[0] == pytest.approx((-k * N * 0.4 - WEIGHT) / I, rel=1e-12)


def test_without_a_rotor_it_creeps_at_rest():
    """Where n tau is between eta_back W and W / eta, it comes to a speed below the slip_speed, and no further."""
    eta, torque, slow = 0.7, 0.45, 1e-2
    dyn = hoist(efficiency=eta, slip_speed=slow)
    lasts = ph.simulate(dyn, None, {"drum_dot": 1.0}, 2.0, tau={"M": torque})
    # W = n tau ((1 / eta + eta) - tanh(rho / slow) (1 / eta - eta)) / 2
    share = ((1 / eta + eta) - 2 * WEIGHT / (N * torque)) / (1 / eta - eta)
    assert lasts["drum_dot"][-1] == pytest.approx(slow / N * np.arctanh(share), rel=1e-6)
    assert abs(share) < 1


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("eta", "back"), [(0.8, None), (0.8, 0.6), (0.4, -0.5)])
def test_the_rotor_is_seen_through_the_gear(method, eta, back):
    """Up, where the motor drives, and down, where the load does, or has to be helped."""
    dyn = hoist(method, inertia=J, efficiency=eta, efficiency_back=back, **SPRING)
    eb = eta if back is None else back
    for torque, k, speed in ((2.0, eta, 1.0), (-0.4, 1 / eb, -1.0)):
        expected = (k * N * torque - WEIGHT) / (I + k * N * N * J)
        lasts = run(dyn, torque, 2.0, speed)
        early, late = np.searchsorted(lasts.t, [1.0, 2.0])
        a = (lasts["drum_dot"][late] - lasts["drum_dot"][early]) / (lasts.t[late] - lasts.t[early])
        assert np.sign(expected) == np.sign(speed)
        assert a == pytest.approx(expected, rel=1e-7)


@pytest.mark.parametrize(("torque", "k", "speed"), [(2.0, 0.8, 1.0), (-0.2, 1 / 0.6, -1.0)])
def test_time_stepping_takes_the_friction_of_the_load_that_acts(torque, k, speed):
    """Also of a light rotor with a strong damper, whose load changes much in a step."""
    light = 1e-4
    dyn = hoist(inertia=light, efficiency=0.8, efficiency_back=0.6, **SPRING)
    exact = run(dyn, torque, 0.5, speed)
    for step in (1e-3, 5e-4):
        lasts = run(dyn, torque, 0.5, speed, method="moreau", step=step)
        assert lasts["drum"][-1] == pytest.approx(exact["drum"][-1], rel=1e-4 * (step / 1e-3) ** 2)
        early, late = np.searchsorted(lasts.t, [0.3, 0.5])
        a = (lasts["drum_dot"][late] - lasts["drum_dot"][early]) / (lasts.t[late] - lasts.t[early])
        assert a == pytest.approx((k * N * torque - WEIGHT) / (I + k * N * N * light), rel=1e-6)


def test_at_rest_a_gear_sticks_within_its_cone():
    """eta_back W <= n tau <= W / eta."""
    eta, back = 0.8, 0.6
    dyn = hoist(inertia=J, efficiency=eta, efficiency_back=back, **SPRING)
    for torque, moves in ((1.01 / eta, 1), (0.99 / eta, 0), (1.01 * back, 0), (0.99 * back, -1)):
        lasts = run(dyn, torque * WEIGHT / N)
        assert np.sign(np.round(lasts["drum"][-1], 6)) == moves
        assert (lasts.mode["loss of M"][-1] == "holds") == (moves == 0)


def test_a_worm_gear_holds_its_load():
    """A motor that is switched off stops, and its load stays; a gear with the same loss forward alone lets it down."""
    for method in ({}, {"method": "moreau", "step": 1e-3}):
        worm = hoist(inertia=J, efficiency=0.4, efficiency_back=2 - 1 / 0.4, **SPRING)
        lasts = run(worm, 0.0, 2.0, 1.0, **method)
        assert lasts.t[-1] == 2.0
        assert lasts.mode["loss of M"][-1] == "holds"
        assert abs(lasts.u[-1]).max() < 1e-6
        assert lasts["drum"][-1] > 0
    gear = hoist(inertia=J, efficiency=0.4, efficiency_back=0.4, **SPRING)
    assert run(gear, 0.0, 2.0, 1.0)["drum_dot"][-1] < -1


def test_a_worm_gear_with_a_heavy_load_jams():
    """Where |eta_back| M > n^2 J no acceleration is consistent with sliding, and the load stops the worm at once."""
    eta, back, light = 0.4, -0.5, 1e-5
    assert -back * I > N * N * light
    lasts = run(hoist(inertia=light, weight=0.0, efficiency=eta, efficiency_back=back, **SPRING), 0.0, 0.5, 1.0)
    quarter = np.pi / 2 * np.sqrt(I / SPRING["stiffness"])
    stuck = next(event for event in lasts.events if event.why == "sticks")
    assert stuck.time < quarter  # of the drum on the spring, while the worm stands still
    assert abs(lasts["M"][-1] - lasts["M"][0]) < N * 1.0 * quarter


def test_power_through_a_gear():
    """At an even speed eta of the work of the motor arrives, and what does not is the work of friction."""
    eta = 0.8
    dyn = hoist(inertia=J, efficiency=eta, efficiency_back=2 - 1 / eta, **SPRING)
    lasts = run(dyn, WEIGHT / eta / N, 1.0, 2.0)
    sent, passed = WEIGHT / eta / N * np.ptp(lasts["M"]), WEIGHT * np.ptp(lasts["drum"])
    assert passed / sent == pytest.approx(eta, rel=1e-3)  # the spring is wound from the start
    assert lasts.work[-1, 2] == pytest.approx(passed - sent, rel=1e-3)
    assert abs(lasts.energy_drift).max() < 1e-6


@pytest.mark.parametrize("method", METHODS)
def test_inertia_of_shafts_between_stages(method):
    """J + J_1 / n_1^2 + J_2 / (n_1 n_2)^2 + I / (n_1 n_2 n_3)^2 at the rotor."""
    n, shafts = (5.0, -3.0, 2.0), (0.02, 0.1)
    build = ph.Builder("gearbox", gravity=(0, 0, 0))
    build.body("load", joint=ph.revolute("z", name="load"), mass=1, inertia=(I, I, I))
    stages = [{"ratio": r, "inertia": j} for r, j in zip(n[:2], shafts, strict=True)]
    build.motor("M", inertia=J, stages=stages, ratio=n[2]).drives({"load": 1})
    dyn = ph.formulate(build.build(), method).compile()
    whole = J + shafts[0] / 25 + shafts[1] / 225 + I / 900
    names = dyn.equations.u
    udot = dyn.forward_dynamics(np.zeros(4), np.zeros(len(names)), np.zeros(len(names)), controls={"M": 0.3})
    found = dict(zip((str(u.value) for u in names), udot, strict=True))
    assert found["M_dot"] == pytest.approx(0.3 / whole, rel=1e-12)
    if len(found) > 1:
        assert found["M_shaft_1_dot"] == pytest.approx(0.3 / whole / 5, rel=1e-12)
        assert found["load_dot"] == pytest.approx(-0.3 / whole / 30, rel=1e-12)


@pytest.mark.parametrize("method", METHODS)
def test_a_shaft_on_a_tilting_carrier_turns_it_aside(method):
    """Spins of the rotor and of a shaft across it, J rho and J_1 rho / n, are carried round [Euler]: omega x h."""
    first, n, rho, w = 0.3, 4.0, 400.0, 0.3
    build = ph.Builder("gimbal", gravity=(0, 0, 0))
    build.body("outer", joint=ph.revolute("x", name="tilt"), mass=1, inertia=(1, 2, 3))
    build.body("inner", parent="outer", joint=ph.revolute("y", name="nod"), mass=1, inertia=(1.5, 2.5, 3.5))
    build.motor("M", inertia=J, on="inner", axis="z", stages=[{"ratio": n, "inertia": first, "axis": "-z"}])
    dyn = ph.formulate(build.build(), method).compile()
    speeds = {"tilt_dot": w, "nod_dot": 0.0, "M_dot": rho, "M_shaft_1_dot": rho / n}
    names = [str(u.value) for u in dyn.equations.u]
    udot = dyn.forward_dynamics(np.zeros(4), [speeds[name] for name in names], np.zeros(len(names)))
    found = dict(zip(names, udot, strict=True))
    assert found["nod_dot"] == pytest.approx((J * rho - first * rho / n) * w / 2.5, rel=1e-12)
    assert found["tilt_dot"] == pytest.approx(0, abs=1e-12)


def test_losses_of_several_stages():
    """They multiply; of a worm behind a spur gear the motor has to help the one before it: eta_back / eta."""
    spur, worm = {"ratio": 4, "efficiency": 0.9, "efficiency_back": 0.85}, {"efficiency": 0.4, "efficiency_back": -0.5}
    dyn = hoist(inertia=J, stages=[spur], ratio=10, **worm, **SPRING)
    up, down = 0.9 * 0.4, 0.9 / -0.5
    for torque, k, speed in ((2.2, up, 1.0), (-0.5, down, -1.0)):
        lasts = run(dyn, torque, 2.0, speed)
        early, late = np.searchsorted(lasts.t, [1.0, 2.0])
        a = (lasts["drum_dot"][late] - lasts["drum_dot"][early]) / (lasts.t[late] - lasts.t[early])
        assert a == pytest.approx((k * N * torque - WEIGHT) / (I + k * N * N * J), rel=1e-7)


def test_a_lossy_stage_between_two_shafts():
    """A worm between rotor and shaft, and a rigid gear behind: the shaft counts as load."""
    eta, shaft, n = 0.5, 0.05, 4.0
    stage = {"ratio": 10, "inertia": shaft, "efficiency": eta, "stiffness": 400.0, "loss": 2.0}
    dyn = hoist(inertia=J, stages=[stage], ratio=n)
    lasts = ph.simulate(dyn, None, {"drum_dot": 1.0, "M_dot": 40.0, "M_shaft_1_dot": 4.0}, 3.0, tau={"M": 2.0})
    early, late = np.searchsorted(lasts.t, [2.0, 3.0])
    a = (lasts["drum_dot"][late] - lasts["drum_dot"][early]) / (lasts.t[late] - lasts.t[early])
    assert a == pytest.approx((eta * N * 2.0 - WEIGHT) / (I + n * n * shaft + eta * N * N * J), rel=1e-6)
