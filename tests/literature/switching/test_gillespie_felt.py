"""Gillespie's cart in a hand: free and with its caster stuck, through the coupler and over UDP.

The paper's section 5 and example 3. The reference is (63) and (67) with hand and coupler written out here, solved
by scipy in continuous time.
"""

from __future__ import annotations

import select

import numpy as np
import pytest
from scipy.integrate import solve_ivp
from test_gillespie_cart import P, bias, caster, mass, ratio

import polhode as ph
from polhode.interact import Driver, Link, Scripted, Udp, coupler, effective_mass, realtime, suggest
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


def felt(held, stuck: bool):
    """Rows of displacement of the hand, x and y; force that it feels; what it has put in; what all have of it."""
    made, dyn = held
    rt = realtime(dyn, Q0, rate=RATE)
    if stuck:
        rt.engage("caster")
    hand, now, rows = Scripted(wanted, **ARM), [0.0], []
    with Udp(clock=lambda: now[0], damping=ARM["damping"]) as device, Driver(device.address) as driver:
        link = Link(rt, made, device)
        for _ in range(round(SPAN * RATE)):
            driver.send(hand.read())
            assert select.select([device._socket], [], [], 10)[0]
            link.tick()
            shown = driver.receive(wait=10)
            assert shown == link.shown
            hand.write(shown)
            hand.advance(T)
            now[0] += T
            s = rt.state
            handle = dyn.pose("handle")(s.q)[:3, 3]
            has = hand.kinetic + dyn.energy(s.q, s.u)[0] + 0.5 * K * np.sum((hand.x - handle) ** 2)
            rows.append([*(hand.x[:2] - GRIP), *shown[3:5], hand.worked, has])
        assert device.ignored == 0
    return np.array(rows), rt


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
    rows, rt = felt(held, stuck)
    expected = reference(stuck)
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
    rows, _ = felt(held, stuck)
    put, has = rows[:, 4], rows[:, 5]
    assert np.all(has <= put + 1e-9)
    assert put.max() > 0.1


def test_the_hand_feels_that_the_caster_sticks(held):
    """Stuck, the cart goes along an arc; the hand, which goes straight, is pushed aside and gets less far."""
    free, stuck = felt(held, False)[0], felt(held, True)[0]
    assert np.abs(stuck[:, :2] - free[:, :2]).max() > 0.005
    assert np.abs(stuck[:, 2:4] - free[:, 2:4]).max() > 2
