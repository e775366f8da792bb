"""Below the bounds a coupled machine makes no energy; above them it does."""

import warnings

import numpy as np
import pytest

import polhode as ph
from polhode.interact import CouplerWarning, Sample, Scripted, coupler, effective_mass, realtime, suggest
from polhode.interact.link import Link
from polhode.interact.stiffness import margin, needed_damping

M, RATE = 2.0, 100.0
T = 1 / RATE


def sledge(K, B, mass=M, x=0.0, v=0.0):
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=mass)
    held = coupler(build.build(), "sledge", stiffness=K, damping=B)
    return realtime(ph.formulate(held.model).compile(), [x], [v], rate=RATE), held


class Prescribed:
    """A hand that no force holds back, which moves along x as it is told."""

    most_force = most_torque = np.inf
    damping = 0.0
    stale = False

    def __init__(self):
        self.x = self.v = self.force = 0.0

    def move(self, by):
        self.x, self.v = self.x + by, by / T

    def read(self):
        return Sample(position=(self.x, 0, 0), twist=(0, 0, 0, self.v, 0, 0))

    def write(self, wrench):
        self.force = wrench[3]


def linked(rt, held, hand):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", CouplerWarning)
        return Link(rt, held, hand)


def test_a_step_is_the_implicit_midpoint_of_a_stiffer_coupler():
    K, B = 2.0 * M / T**2, 0.4 * M / T
    D = margin(K, B, M, RATE)
    rt, held = sledge(K, B, x=0.1, v=-0.4)
    hand, rng = Prescribed(), np.random.default_rng(1)
    link = linked(rt, held, hand)
    x = 0.1
    for _ in range(30):
        link.tick()
        x_new = rt.state.q[0]
        w = (x_new - x) / T
        felt = K / D * (hand.x - (x + x_new) / 2) + B / D * (hand.v - w)
        assert -hand.force == pytest.approx(felt, rel=1e-9, abs=1e-6)
        x = x_new
        hand.move(rng.normal() * 0.01)


@pytest.mark.parametrize("b", [0.0, 0.6, 1.2])
def test_the_side_of_the_machine(b):
    """The device stands still: M v^2 / 2 + K' x^2 / 2 falls where D > 0; beyond 4 - 2 b + b^2 the machine gains."""

    def run(k):
        K, B = k * M / T**2, b * M / T
        rt, held = sledge(K, B, x=0.01, v=0.3)
        link = linked(rt, held, Prescribed())
        D, found = margin(K, B, M, RATE), []
        for _ in range(300):
            s = rt.state
            if abs(s.u[0]) > 1e6:
                break
            found.append((0.5 * M * s.u[0] ** 2, 0.5 * K / D * s.q[0] ** 2))
            link.tick()
        return D, np.array(found)

    D, found = run(0.98 * (4 - 2 * b))
    E = found.sum(axis=1)
    assert D > 0
    assert np.all(np.diff(E) <= 1e-9 * E[0])
    D, found = run(1.02 * (4 - 2 * b + b**2))
    assert D < 0
    assert found[-1, 0] > 100 * found[0, 0]


def test_the_side_of_the_device_where_the_marker_stands():
    """Colgate and Schenkel: a hand that goes to and fro each tick gains where b < K' T / 2 + B'."""
    K, B = 4000.0, 7.0
    rt, held = sledge(K, B, mass=1e9)
    hand = Prescribed()
    link = linked(rt, held, hand)
    given = moved = 0.0
    for k in range(400):
        link.tick()
        by = 0.001 * (-1) ** k
        given -= -hand.force * by
        moved += by**2
        hand.move(by)
    bound = K * T / 2 + B
    assert given == pytest.approx(bound * moved / T, rel=0.01)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mass", [0.3, 2.0, 50.0])
def test_no_motion_of_the_hand_gains_where_the_device_has_the_friction(mass, seed):
    """What the hand does on device and machine is never less than what the machine and the coupler have of it."""
    rng = np.random.default_rng(seed)
    K = rng.uniform(0.1, 2.0) * mass / T**2
    B = rng.uniform(0.1, 0.8) * mass / T
    b = needed_damping(K, B, mass, RATE)
    rt, held = sledge(K, B, mass=mass)
    hand = Prescribed()
    link = linked(rt, held, hand)
    put, steps = 0.0, rng.normal(size=300) * np.where(np.arange(300) % 100 < 50, 1, (-1.0) ** np.arange(300))
    for by in steps * 0.001:
        link.tick()
        put += -hand.force * by + b * by**2 / T
        hand.move(by)
        s = rt.state
        has = 0.5 * mass * s.u[0] ** 2 + 0.5 * K / margin(K, B, mass, RATE) * (hand.x - s.q[0]) ** 2
        assert has <= put * (1 + 1e-9) + 1e-12


@pytest.mark.parametrize(("K", "B"), [(100.0, 1.0), (5000.0, 3.0), (20.0, 6.0)])
def test_the_friction_is_enough_and_no_less_will_do(K, B):
    """The loss L of the docstring, of any motion of device and marker, and of the worst one."""
    D = margin(K, B, M, RATE)
    k, d, b = K / D, B / D, needed_damping(K, B, M, RATE)

    def lost(a, c):
        before = np.array([0.0, *a[:-1]])
        return np.sum(b * a**2 / T - k * (a - c) * a / 2 + d * (before - c) * (a - c) / T)

    rng = np.random.default_rng(0)
    for _ in range(200):
        mixed = rng.normal(size=(2, 50)) + 2 * rng.normal(size=(2, 1)) * (-1.0) ** np.arange(50)
        assert lost(*mixed) > 0
    a = (-1.0) ** np.arange(100_000)
    worst = lost(a, -a * k * T / (4 * d))
    assert 0 <= worst < 1e-4 * b * len(a) / T


def free_device(b, K, B, mass, device_mass):
    """Energy of a device that nobody holds, thrown at a machine."""
    rt, held = sledge(K, B, mass=mass)
    hand = Scripted(lambda t: (0, 0, 0), mass=device_mass, stiffness=0, arm_damping=0, damping=b)
    hand.v[:] = (0.1, 0, 0)
    link = linked(rt, held, hand)
    K_felt, energies = K / margin(K, B, mass, RATE), []
    for _ in range(400):
        s = rt.state
        energies.append(hand.kinetic + 0.5 * mass * s.u[0] ** 2 + 0.5 * K_felt * (hand.x[0] - s.q[0]) ** 2)
        if energies[-1] > 1e6:
            break
        link.tick()
        hand.advance(T)
    return np.array(energies)


@pytest.mark.parametrize("mass", [1.0, 100.0])
@pytest.mark.parametrize("device_mass", [0.01, 0.2, 1.0])
def test_a_device_with_a_suggested_coupler_loses_energy_and_with_a_stiffer_one_gains(mass, device_mass):
    b = 5.0
    rt, _ = sledge(1.0, 1.0, mass=mass)
    found = suggest(rt.dynamics, "sledge", RATE, device_damping=b, turns=False)
    E = free_device(b, found.stiffness, found.damping, mass, device_mass)
    assert max(E) <= E[0] * (1 + 1e-9)
    if device_mass == 0.01:  # what is heavy filters what is fast
        E = free_device(b, 6 * found.stiffness, 6 * found.damping, mass, device_mass)
        assert E[-1] > 10 * E[0]


def test_the_suggestion_keeps_its_bounds():
    rt, _ = sledge(1.0, 1.0)
    for b in (0.1, 5.0, 1e3, 1e6, None):
        found = suggest(rt.dynamics, "sledge", RATE, device_damping=b, turns=False)
        D = margin(found.stiffness, found.damping, M, RATE)
        assert D >= 0.5 * (1 - 1e-12)
        needed = needed_damping(found.stiffness, found.damping, M, RATE)
        assert b is None or needed <= b * (1 + 1e-12)
        if b is not None and D > 0.51:
            assert needed == pytest.approx(b)
            assert found.stiffness / D == pytest.approx(b / T)
    assert found.stiffness == pytest.approx(1.6 * M / T**2)


def test_a_stiffer_coupler_is_warned_of():
    rt, held = sledge(5 * M / T**2, 1.0)
    with pytest.warns(CouplerWarning, match=r"is 1\.25\d*, expected below 1"):
        Link(rt, held, Prescribed())
    hand = Prescribed()
    hand.damping = 5.0
    found = suggest(rt.dynamics, "sledge", RATE, device_damping=5.0, turns=False)
    rt, held = sledge(2 * found.stiffness, found.damping)
    with pytest.warns(CouplerWarning, match="needs friction of"):
        Link(rt, held, hand)
    rt, held = sledge(found.stiffness, found.damping)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Link(rt, held, hand)


def test_the_effective_mass_is_the_least_that_a_push_meets():
    build = ph.Builder("arm", gravity=(0, 0, 0))
    for k, parent in enumerate(["world", "b0", "b1"]):
        build.body(f"b{k}", parent=parent, at=(0.3 * (k > 0), 0, 0), joint=ph.revolute("zyx"[k], name=f"a{k}"),
                   mass=1 + k, com=(0.1, 0.05, 0), inertia=(0.02, 0.03, 0.04))  # fmt: skip
    build.marker("tip", body="b2", at=(0.2, 0.1, 0))
    dyn = ph.formulate(build.build()).compile()
    q = [0.3, 0.5, -0.4]
    J = dyn.jacobian("tip")(q)
    turning, moving = effective_mass(dyn, "tip", q)
    rng = np.random.default_rng(0)
    for least, rows in ((turning, J[:3]), (moving, J[3:])):
        met = []
        for direction in rng.normal(size=(3000, 3)):
            n = direction / np.linalg.norm(direction)
            met.append(1 / (n @ rows @ dyn.forward_dynamics(q, [0, 0, 0], rows.T @ n)))
        assert least <= min(met) <= 1.01 * least


def sprung(k, c):
    """A sledge with a spring and a damper of its own, in parts of what steps of T can follow."""
    build = ph.Builder("sprung", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x", damping=c * M / T), mass=M)
    build.force("x_dot", -k * M / T**2 * ph.symbol("x"))
    return build.build()


@pytest.mark.parametrize(("k", "c"), [(1.5, 0.0), (3.5, 0.0), (0.0, 1.9), (1.5, 0.5)])
def test_a_machine_with_springs_of_its_own_leaves_less_to_its_coupler(k, c):
    """The hand is never given more than it gave, beyond what machine and coupler have at first."""
    model, b = sprung(k, c), 1e4
    found = suggest(ph.formulate(model).compile(), "sledge", RATE, device_damping=b, turns=False)
    assert found.stiffness < suggest(sledge(1, 1)[0].dynamics, "sledge", RATE, device_damping=b, turns=False).stiffness
    held = coupler(model, "sledge", stiffness=found.stiffness, damping=found.damping)
    rt, hand, rng, put = (
        realtime(ph.formulate(held.model).compile(), rate=RATE),
        Prescribed(),
        np.random.default_rng(2),
        0.0,
    )
    hand.damping = b
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        link = Link(rt, held, hand)
    for n in range(1500):
        link.tick()
        by = 1e-3 * rng.normal() * ((-1) ** n if n > 700 else 1) * (n < 1400)
        put += -hand.force * by + b * by**2 / T
        hand.move(by)
        x, v = rt.state.q[0], rt.state.u[0]
        has = 0.5 * M * v**2 + 0.5 * k * M / T**2 * x**2 + 0.5 * found.stiffness * (hand.x - x) ** 2
        assert has <= put * (1 + 1e-9) + 1e-12


def test_a_coupler_that_a_machine_with_springs_cannot_bear_is_warned_of():
    free = suggest(sledge(1, 1)[0].dynamics, "sledge", RATE, device_damping=1e4, turns=False)
    held = coupler(sprung(3.0, 0.0), "sledge", stiffness=free.stiffness, damping=free.damping)
    rt = realtime(ph.formulate(held.model).compile(), rate=RATE)
    with pytest.warns(CouplerWarning, match=r"\(K T\^2 \+ 2 B T\) / 4 m is 2.4, expected below 1"):
        Link(rt, held, Prescribed())
    with pytest.warns(
        CouplerWarning, match=r"springs of its own that are too stiff for 100 ticks a second: .* is 1.1,"
    ):
        suggest(ph.formulate(sprung(4.4, 0.0)).compile(), "sledge", RATE)


def test_two_couplers_share_what_a_machine_allows():
    """Each alone makes no energy; both together fling a sledge away, and half of each holds it."""
    found = suggest(sledge(1, 1)[0].dynamics, "sledge", RATE, turns=False)

    def ends(share):
        one = coupler(sprung(0, 0), "sledge", name="left", stiffness=share * found.stiffness,
                      damping=share * found.damping)  # fmt: skip
        two = coupler(one.model, "sledge", name="right", stiffness=one.stiffness, damping=one.damping)
        rt = realtime(ph.formulate(two.model).compile(), [1e-3], rate=RATE)
        links = [Link(rt, made, Prescribed()) for made in (one, two)]
        for _ in range(200):
            for link in links:
                link._take()
            rt.step()
        return abs(rt.state.q[0])

    with pytest.warns(CouplerWarning, match=r"The coupler has stiffness .* is 1.5, expected below 1"):
        assert ends(1.0) > 1
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert ends(0.5) < 1e-6


def test_links_without_mass_have_that_of_what_they_are_tied_to():
    """A four-bar whose coupler weighs nothing, in its one motion, by differences of positions that close."""
    build = ph.Builder("four-bar")
    for name, at, parent, mass in (("crank", 0, "world", 1), ("rod", 1, "crank", 0), ("rocker", 2, "world", 1)):
        build.body(name, at=(at, 0, 0), parent=parent, joint=ph.revolute("y", name=name), mass=mass, com=(0.5, 0, 0),
                   inertia=(0, 0.1 * mass, 0.1 * mass))  # fmt: skip
    build.marker("end", body="rod", at=(2, 0, 0))
    build.marker("top", body="rocker", at=(1.5, 0, 0))
    build.loop("end", "top", "point", name="pin")
    dyn = ph.formulate(build.build()).compile()
    at, h = ph.assemble(dyn, [-1, 0.7, -1.3], keep=["crank"]).q, 1e-5
    ahead, behind = (ph.assemble(dyn, at + [way, 0, 0], keep=["crank"]).q for way in (h, -h))
    motion = (ahead - behind) / (2 * h)
    mass = motion @ dyn.mass_matrix(at) @ motion
    w, v = np.split(dyn.jacobian("end")(at) @ motion, 2)
    assert effective_mass(dyn, "end", at) == pytest.approx((mass / (w @ w), mass / (v @ v)), rel=1e-6)
    assert effective_mass(dyn, "end", at, RATE)[1] == pytest.approx(mass / (v @ v), rel=1e-2)  # gravity is soft
    loose = ph.Builder("loose")
    loose.body("bob", joint=ph.free(name="bob"), mass=1)
    with pytest.raises(ValueError, match="'loose': something moves without mass at these coordinates"):
        suggest(ph.formulate(loose.build()).compile(), "bob", RATE)


@pytest.mark.parametrize("given", [{"rate": 0}, {"rate": 100, "device_damping": 0}])
def test_what_is_wrong_is_told(given):
    rt, _ = sledge(1.0, 1.0)
    with pytest.raises(ValueError, match=r"suggest: .* expected"):
        suggest(rt.dynamics, "sledge", **given)
