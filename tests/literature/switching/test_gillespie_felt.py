"""Gillespie's cart in a hand: free and with its caster stuck, through the coupler and over UDP.

The paper's section 5 and example 3. The reference is (63) and (67) with hand and coupler written out here, solved
by scipy in continuous time.
"""

from __future__ import annotations

import numpy as np
import pytest
from in_hand import Felt, felt, felt_by_the_clock
from scipy.integrate import solve_ivp
from test_gillespie_cart import P, bias, caster, mass, ratio

import polhode as ph
from polhode.interact import Realtime, Scripted, coupler, effective_mass, realtime, suggest
from polhode.interact.stiffness import needed_damping

RATE, SPAN = 1000.0, 1.2
T = 1 / RATE
GRIP = np.array([-0.3, 0.2])  # of the handle, in the cart
Q0 = {"q1": 0.0, "q2": 0.0, "q3": 0.0, "q4": 0.7}
ARM = {"mass": 1.0, "stiffness": 300.0, "arm_damping": 12.0, "damping": 4.0}
K, B = 1500.0, 2.0


def cart() -> ph.Model:
    build = ph.Builder("cart", gravity=(0, 0, 0))
    build.body("along", joint=ph.prismatic("x", name="q1"), mass=0)
    build.body("across", parent="along", joint=ph.prismatic("y", name="q2"), mass=0)
    I_B = P["I_B"]
    build.body("B", parent="across", joint=ph.revolute("z", name="q3"), mass=P["m_B"], com=(P["L1"], 0, 0),
               inertia=(I_B / 2, I_B / 2, I_B))  # fmt: skip
    build.body("C", parent="B", at=(P["L2"], 0, 0), joint=ph.revolute("z", name="q4"), mass=P["m_C"],
               com=(-P["L3"], 0, 0))  # fmt: skip
    build.marker("P1", body="B")
    build.marker("P3", body="C", at=(-P["L3"], 0, 0))
    build.marker("handle", body="B", at=(*GRIP, 0))
    build.knife_edge("P1", axis="y", name="back wheels")
    build.knife_edge("P3", axis="y", name="front wheel")
    build.brake("q4_dot", name="caster", active=False)
    return build.build()


def wanted(t: float) -> np.ndarray:
    """The hand goes 0.15 m ahead and back, from the handle."""
    return np.array([*GRIP, 0.0]) + [0.075 * (1 - np.cos(2 * np.pi * t / SPAN)), 0, 0]


@pytest.fixture(scope="module")
def held():
    made = coupler(cart(), "handle", stiffness=K, damping=B, most_force=200.0)
    return made, ph.formulate(made.model).compile()


def taken_along(held, stuck: bool) -> tuple[Felt, Realtime]:
    """The cart in a hand, tick by tick."""
    made, dyn = held
    rt = realtime(dyn, Q0, rate=RATE)
    if stuck:
        rt.engage("caster")
    return felt(rt, made, Scripted(wanted, **ARM), round(SPAN * RATE)), rt


def reference(stuck: bool) -> np.ndarray:
    """The same in continuous time: displacement of the hand and force on it, after each period."""
    k = ratio(Q0["q4"])

    def force(x: np.ndarray, u: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        c, s = np.cos(x[2]), np.sin(x[2])
        r = np.array([c * GRIP[0] - s * GRIP[1], s * GRIP[0] + c * GRIP[1]])
        v = u[0] * np.array([c, s]) + u[1] * np.array([-r[1], r[0]])
        f = K * (x[4:6] - x[:2] - r) + B * (x[6:8] - v)
        return f, np.array([f @ [c, s], r[0] * f[1] - r[1] * f[0]])

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        u = np.array([x[8], k * x[8]]) if stuck else x[8:10]
        f, push = force(x, u)
        M, row = mass(x[3]), np.array([1.0, k])
        udot = row * (row @ push) / (row @ M @ row) if stuck else np.linalg.solve(M, push - bias(x[3], *u))
        to, h = wanted(t)[:2], 1e-6
        speed = (wanted(t + h)[:2] - wanted(t - h)[:2]) / (2 * h)
        arm = ARM["stiffness"] * (to - x[4:6]) + ARM["arm_damping"] * (speed - x[6:8]) - ARM["damping"] * x[6:8]
        turns = 0.0 if stuck else caster(x[3], *u) - u[1]
        rates = [u[0] * np.cos(x[2]), u[0] * np.sin(x[2]), u[1], turns]
        return np.array([*rates, *x[6:8], *((arm - f) / ARM["mass"]), *udot])

    begin = np.array([*Q0.values(), *GRIP, 0, 0, 0, 0], dtype=float)
    times = T * np.arange(1, round(SPAN * RATE) + 1)
    found = solve_ivp(slope, (0, times[-1]), begin, t_eval=times, rtol=1e-9, atol=1e-11).y.T
    rows = []
    for x in found:
        u = np.array([x[8], k * x[8]]) if stuck else x[8:10]
        rows.append([*(x[4:6] - GRIP), *(-force(x, u)[0])])
    return np.array(rows)


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_force_against_displacement(held, stuck):
    found, rt = taken_along(held, stuck)
    expected = reference(stuck)
    rows = np.hstack([found.moved[:, :2], found.force[:, :2]])
    assert np.abs(expected[:, 2:]).max() > 5
    for column in range(4):
        size = np.abs(expected[:, column // 2 * 2 : column // 2 * 2 + 2]).max()
        assert np.abs(rows[:, column] - expected[:, column]).max() < 0.01 * size
    assert (rt.state.q[3] == pytest.approx(Q0["q4"], abs=1e-9)) == stuck


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_the_cart_in_a_hand_is_passive(held, stuck):
    """Hand, cart and the store of the coupler never have more than the arm has put in."""
    _, dyn = held
    q = np.array(list(Q0.values()))
    found = suggest(dyn, "handle", RATE, q, device_damping=ARM["damping"], turns=False)
    assert found.stiffness > K
    assert needed_damping(K, B, effective_mass(dyn, "handle", q)[1], RATE) < ARM["damping"]
    run, _ = taken_along(held, stuck)
    assert np.all(run.has <= run.put + 1e-9)
    assert run.put.max() > 0.1
    assert np.cumsum(run.gained).max() < 1e-3 * run.put.max()  # the step is of order 2 where it turns
    assert run.counted.min() >= 0  # so that the net below has nothing to do
    assert run.taken == 0


def test_the_hand_feels_that_the_caster_sticks(held):
    """Stuck, the cart goes along an arc; the hand, which goes straight, is pushed aside and gets less far."""
    free, stuck = taken_along(held, False)[0], taken_along(held, True)[0]
    assert np.abs(stuck.moved - free.moved).max() > 0.005
    assert np.abs(stuck.force - free.force).max() > 2


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_by_the_clock(held, stuck):
    """The loop, the thread that serves the device and the hand each go at their own pace."""
    made, dyn = held
    rt = realtime(dyn, Q0, rate=RATE)
    if stuck:
        rt.engage("caster")
    rows, failure = felt_by_the_clock(rt, made, Scripted(wanted, **ARM), lambda rt, hand: hand.t > SPAN / 2)
    assert failure == ""
    assert rt.state.q[0] > 0.02  # it was taken along
    assert rows[:, 3].min() < -1  # and held the hand back
    assert (rt.state.q[3] == pytest.approx(Q0["q4"], abs=1e-9)) == stuck
