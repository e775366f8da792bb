"""A piano key in a hand, over UDP: its hammer free, thrown at the string and caught again, and stuck to the key.

Gillespie's paper names the piano action as what such a simulator is for; the geometry is ours. The reference is written
out here in steps of 5 us: key and wippen are one mass, the hammer another, which join and part.
"""

from __future__ import annotations

import numpy as np
import pytest
from in_hand import Felt, felt, felt_by_the_clock

import polhode as ph
from polhode.interact import Realtime, Scripted, coupler, effective_mass, realtime, suggest
from polhode.interact.stiffness import needed_damping

G, RATE, SPAN = 9.81, 1000.0, 0.3
HAMMER, WIPPEN, KEY = 0.02, 0.02, 2e-4  # kg, kg, kg m^2
BED, STRING, BOUNCE = 0.0435, 0.046, 0.6  # of the wippen, which rises by 1 m a rad; of the hammer; its restitution
FRONT = 0.23  # m, from the pin to where the finger is
ARM = {"mass": 0.2, "stiffness": 800.0, "arm_damping": 10.0, "damping": 4.0}


def key() -> ph.Model:
    build = ph.Builder("piano key", gravity=(0, 0, -G))
    build.body("key", joint=ph.revolute("y", name="k"), mass=0.1, inertia=(KEY,) * 3)
    build.marker("front", body="key", at=(FRONT, 0, 0))
    build.stop("k", lower=0.0, upper=BED, name="bed")
    build.body("wippen", joint=ph.prismatic("z", name="w"), mass=WIPPEN)
    build.constraint(ph.symbol("w") - ph.symbol("k"), name="capstan")
    build.body("hammer", joint=ph.prismatic("z", name="h"), mass=HAMMER)
    build.contact("hammer", "wippen", name="jack")
    build.stop("h", upper=STRING, restitution=BOUNCE, name="string")
    build.latch("hammer", "wippen", "point", name="check", active=False)
    return build.build()


def wanted(t: float) -> np.ndarray:
    """A short stroke: 14 mm down and up again in 0.2 s."""
    return np.array([FRONT, 0, -0.007 * (1 - np.cos(2 * np.pi * min(t / 0.2, 1)))])


@pytest.fixture(scope="module")
def held():
    """The key with a coupler as stiff as may be where it is lightest; J has no more of k than there, so anywhere."""
    model = key()
    found = suggest(ph.formulate(model).compile(), "front", RATE, device_damping=ARM["damping"], turns=False)
    made = coupler(model, "front", stiffness=found.stiffness, damping=found.damping, most_force=100.0)
    return made, ph.formulate(made.model).compile()


def played(held, stuck: bool, rate: float = RATE) -> tuple[Felt, Realtime]:
    made, dyn = held
    rt = realtime(dyn, rate=rate)
    if stuck:
        rt.engage("check")
    return felt(rt, made, Scripted(wanted, **ARM), round(SPAN * rate)), rt


def reference(K: float, B: float, stuck: bool, dt: float = 5e-6) -> np.ndarray:
    """How far down the hand is, and what it feels, after each ms."""
    x, v, to = np.array([FRONT, 0.0]), np.zeros(2), wanted(0)[[0, 2]]  # the hand, in the plane
    k = h = a = b = 0.0  # key and hammer, and their speeds
    whole, each, rows = KEY + WIPPEN, round(1e-3 / dt), []
    for i in range(1, round(SPAN / dt) + 1):
        c, s = FRONT * np.cos(k), FRONT * np.sin(k)
        f = np.array([K * (x[0] - c) + B * (v[0] + s * a), K * (x[1] + s) + B * (v[1] + c * a)])  # on the key
        a += dt * (-s * f[0] - c * f[1] - WIPPEN * G) / whole
        b -= dt * G
        for _ in range(40):  # what touches: each by itself, until nothing approaches
            if (h <= k and b < a) or stuck:
                a = b = (whole * a + HAMMER * b) / (whole + HAMMER)
            if (k <= 0 and a < 0) or (k >= BED and a > 0):
                a = 0.0
            if h >= STRING and b > 0:
                b *= -BOUNCE
            if k > 0 and k < BED and h < STRING:
                break
        k, h = k + dt * a, h + dt * b
        to, before = wanted(i * dt)[[0, 2]], to
        push = ARM["stiffness"] * (to - x) + ARM["arm_damping"] * ((to - before) / dt - v) - ARM["damping"] * v
        v = v + dt * (push - f) / ARM["mass"]
        x = x + dt * v
        if i % each == 0:
            rows.append([-x[1], -f[1]])
    return np.array(rows)


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_force_against_displacement(held, stuck):
    """At 4 kHz, as an impact acts at the end of its tick; what is struck late is felt late, but where it is."""
    made, _ = held
    run, _ = played(held, stuck, 4 * RATE)
    far, force = np.column_stack([-run.moved[:, 2], run.force[:, 2]])[3::4].T
    expected = reference(made.stiffness, made.damping, stuck)
    assert np.abs(far - expected[:, 0]).max() < 0.003 * expected[:, 0].max()
    assert np.quantile(np.abs(force - expected[:, 1]), 0.9) < 0.02 * expected[:, 1].max()
    assert np.abs(force - expected[:, 1]).max() < 0.05 * expected[:, 1].max()
    assert expected[:, 1].max() > 4


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_the_key_in_a_hand_is_passive(held, stuck):
    """Hand, key, hammer and the store of the coupler never have more than the arm put in, whatever touches."""
    made, dyn = held
    lightest = effective_mass(dyn, "front", np.zeros(3))[1]
    assert needed_damping(made.stiffness, made.damping, lightest, RATE) == pytest.approx(ARM["damping"])
    run, rt = played(held, stuck)
    assert np.all(run.has <= run.put + 1e-9)
    assert run.put.max() > 0.05
    assert run.gained.max() < 1e-9
    assert run.gained.min() < -5e-3  # J, where the key strikes its bed
    assert run.counted.min() > -1e-15
    assert run.taken < 1e-15
    seen = {name: {event.mode[name] for event in rt.events} for name in ("bed", "jack", "string")}
    assert seen["bed"] == {"lower", "upper", "open"}
    assert stuck or seen["jack"] == seen["string"] == {"open", "closed"}


def test_the_finger_feels_whether_the_hammer_leaves(held):
    """They rise as one to the bed; thrown from there, the hammer is no part of what comes back."""
    free, stuck = played(held, False)[0], played(held, True)[0]
    until = round(0.105 * RATE)
    assert np.abs(free.force[:until] - stuck.force[:until]).max() < 1e-6
    assert np.abs(free.force - stuck.force).max() > 1


@pytest.mark.parametrize("counts", [True, False], ids=["with its potential", "without"])
def test_a_key_that_begins_pressed_gives_what_it_has(held, counts):
    """Key and hammer lift the finger by their weight: energy that was there, and that the net must know of."""
    made, dyn = held
    rt = realtime(dyn, [BED, BED, BED], rate=RATE)
    there = float(dyn.energy(rt.state.q, rt.state.u)[1] - dyn.energy(np.zeros(3), np.zeros(3))[1])
    assert there == pytest.approx((HAMMER + WIPPEN) * G * BED)
    down = -FRONT * np.sin(BED)

    def lifted(t: float) -> np.ndarray:
        return np.array([FRONT * np.cos(BED), 0, down * max(1 - t / 0.25, 0)])

    run = felt(rt, made, Scripted(lifted, **ARM), round(0.3 * RATE), there=there if counts else 0.0)
    assert rt.state.q[0] == pytest.approx(0, abs=1e-4)
    assert np.all(run.has <= run.put + 1e-9)
    assert (run.put.min() < -0.3 * there) == counts  # the arm was lifted
    assert (run.taken < 1e-15) == counts
    assert (run.counted.min() > -1e-15) == counts


@pytest.mark.parametrize("stuck", [False, True], ids=["free", "stuck"])
def test_by_the_clock(held, stuck):
    """The loop, the thread that serves the device and the finger each go at their own pace."""
    made, dyn = held
    rt = realtime(dyn, rate=RATE)
    if stuck:
        rt.engage("check")

    def to_the_bed(rt: Realtime, _: Scripted) -> bool:
        return bool(rt.state.q[0] > 0.99 * BED)

    hand = Scripted(lambda t: wanted(min(t, 0.1)), **ARM)  # down, and there it stays
    rows, failure = felt_by_the_clock(rt, made, hand, to_the_bed)
    assert failure == ""
    assert rt.state.q[0] > 0.9 * BED
    assert rows[:, 5].max() > (WIPPEN + HAMMER) * G / FRONT  # it felt their weight at least
    assert np.isfinite(rows).all()
