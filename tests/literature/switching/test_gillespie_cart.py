"""Gillespie's cart runs free, stuck and free again; its disk rolls, slips and rolls again: to 1e-9.

[Gillespie, example 3] with the corrections of (63) and (67); the free cart has no closed form, so it is integrated
from (63), written out here; the stuck one has.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import G, disc
from scipy.integrate import solve_ivp
from scipy.optimize import brentq

import polhode as ph

TIGHT = {"rtol": 1e-13, "atol": 1e-13}
P = {"m_B": 20.0, "m_C": 3.0, "I_B": 2.5, "L1": 0.45, "L2": 0.8, "L3": 0.12}
WHEELS = ["back wheels", "front wheel"]
START = {"q1": 0.3, "q2": -0.2, "q3": 0.4, "q4": 0.7}
U1, U2 = 0.9, 0.35
FORCE, TORQUE = 6.0, 1.5


# (59) to (67) in numbers, of the speeds u1 along the cart and u2 of its turning


def mass(q4: float) -> np.ndarray:
    """The inertia of (63)."""
    s, c = np.sin(q4), np.cos(q4)
    across = P["L2"] * P["m_C"] * s * c
    turn = P["I_B"] + P["m_B"] * P["L1"] ** 2 + P["m_C"] * P["L2"] ** 2 * s**2
    return np.array([[P["m_B"] + P["m_C"] * c**2, across], [across, turn]])


def bias(q4: float, u1: float, u2: float) -> np.ndarray:
    """The rest of (63), its first term with u2^2."""
    s, c, m_B, m_C, L1, L2, L3 = np.sin(q4), np.cos(q4), *(P[n] for n in "m_B m_C L1 L2 L3".split())
    u3 = caster(q4, u1, u2)
    first = (L1 * m_B + L2 * m_C * c**2) * u2**2 - L3 * m_C * c * u3**2 - m_C * s * c * u1 * u2
    second = m_C * L2**2 * s * c * u2**2 - L2 * L3 * m_C * s * u3**2 - (L1 * m_B + L2 * m_C * s**2) * u1 * u2
    return -np.array([first, second])


def caster(q4: float, u1: float, u2: float) -> float:
    return (P["L2"] * np.cos(q4) * u2 - np.sin(q4) * u1) / P["L3"]


def turning_of_caster(q4: float) -> np.ndarray:
    """Of q4' = J u."""
    return np.array([-np.sin(q4), P["L2"] * np.cos(q4) - P["L3"]]) / P["L3"]


def free_cart(span: float, state: np.ndarray, t0: float = 0.0, capacity: float = 0.0, rate: float = 0.0, **given: Any):
    """[q1 q2 q3 q4 u1 u2] after a time; where a brake slips, with its torque; the force grows with a rate."""

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        _, _, q3, q4, u1, u2 = x
        turns = caster(q4, u1, u2) - u2
        push = np.array([FORCE + rate * t, TORQUE]) - capacity * np.sign(turns) * turning_of_caster(q4)
        return np.array(
            [u1 * np.cos(q3), u1 * np.sin(q3), u2, turns, *np.linalg.solve(mass(q4), push - bias(q4, u1, u2))]
        )

    found = solve_ivp(slope, (t0, t0 + span), state, method="DOP853", rtol=1e-13, atol=1e-14, **given)
    return found


def ratio(q4: float) -> float:
    """k of u2 = k u1 where the caster is stuck (65)."""
    return np.sin(q4) / (P["L2"] * np.cos(q4) - P["L3"])


def struck(state: np.ndarray) -> np.ndarray:
    """The state after the caster sticks at once: u1+ = [1 k] M u / mu."""
    k, M = ratio(state[3]), mass(state[3])
    row = np.array([1.0, k])
    u1 = row @ M @ state[4:] / (row @ M @ row)
    return np.array([*state[:4], u1, k * u1])


def stuck_cart(span: float, state: np.ndarray) -> np.ndarray:
    """u1 grows by (F + k tau) / mu; P1 goes along an arc of curvature k."""
    k, M = ratio(state[3]), mass(state[3])
    row = np.array([1.0, k])
    a = (FORCE + k * TORQUE) / (row @ M @ row)
    along = state[4] * span + 0.5 * a * span**2
    q3 = state[2] + k * along
    x = state[0] + (np.sin(q3) - np.sin(state[2])) / k
    y = state[1] - (np.cos(q3) - np.cos(state[2])) / k
    u1 = state[4] + a * span
    return np.array([x, y, q3, state[3], u1, k * u1])


def cart(embed: bool, **brake: Any) -> Any:
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
    rate = brake.pop("rate", 0.0)
    build.wrench("P1", force=(FORCE + rate * ph.TIME, 0, 0), torque=(0, 0, TORQUE), axes="marker")
    build.knife_edge("P1", axis="y", name="back wheels")
    build.knife_edge("P3", axis="y", name="front wheel")
    build.brake("q4_dot", name="caster", **brake)
    model = build.build()
    plain = ph.formulate(model)
    if not embed:
        return plain.compile()
    along, turn, caster = plain.velocity("P1", axes="marker")[3], plain.velocity("B")[2], plain.velocity("C")[2]
    return ph.formulate(model, speeds={"u1": along, "u2": turn, "u3": caster}, embed=WHEELS).compile()


def speeds(state: np.ndarray) -> dict[str, float]:
    """(51) to (53), and the rates of the coordinates."""
    _, _, q3, q4, u1, u2 = state
    rates = {"q1_dot": u1 * np.cos(q3), "q2_dot": u1 * np.sin(q3), "q3_dot": u2, "q4_dot": caster(q4, u1, u2) - u2}
    return rates | {"u1": u1, "u2": u2}


def started(dyn: Any, state: np.ndarray) -> tuple[dict[str, float], dict[str, float]]:
    q = dict(zip(("q1", "q2", "q3", "q4"), state[:4], strict=True))
    free = [str(v) for v in dyn.equations.u]
    return q, {name: value for name, value in speeds(state).items() if name in free}


def there(traj: Any, row: int = -1) -> np.ndarray:
    """[q1 q2 q3 q4 u1 u2] of a trajectory."""
    q = [traj[n][row] for n in ("q1", "q2", "q3", "q4")]
    if traj.u.shape[1] == 2:
        return np.array([*q, *traj.u[row]])
    return np.array([*q, traj["q1_dot"][row] * np.cos(q[2]) + traj["q2_dot"][row] * np.sin(q[2]), traj["q3_dot"][row]])


BEGIN = np.array([*START.values(), U1, U2])


@pytest.mark.parametrize("embed", [False, True], ids=["held", "embedded"])
def test_the_cart_runs_free_stuck_and_free_again(embed: bool) -> None:
    dyn = cart(embed, active=False)
    q, u = started(dyn, BEGIN)
    switches = [ph.at(0.4, engage="caster"), ph.at(1.0, release="caster")]
    traj = ph.simulate(dyn, q, u, 1.5, switches=switches, output="steps", **TIGHT)
    before = free_cart(0.4, BEGIN).y[:, -1]
    after = struck(before)
    late = stuck_cart(0.6, after)
    end = free_cart(0.5, late).y[:, -1]
    at = {t: there(traj, k) for k, t in enumerate(traj.t)}  # of two rows at a switch, the one after it
    assert at[0.4] == pytest.approx(after, abs=1e-10)
    between = next(t for t in at if 0.4 < t < 1.0)
    assert at[between] == pytest.approx(stuck_cart(between - 0.4, after), abs=1e-10)
    assert at[1.0] == pytest.approx(late, abs=1e-10)
    assert at[1.5] == pytest.approx(end, abs=1e-9)
    M = mass(before[3])
    lost = 0.5 * (before[4:] @ M @ before[4:] - after[4:] @ M @ after[4:])
    assert traj.events[1].lost == pytest.approx(lost, abs=1e-11)
    assert abs(lost) > 1e-3
    assert traj.events[2].lost == 0


def test_the_caster_sticks_where_u1_no_longer_determines_u2() -> None:
    """At L2 cos q4 = L3 the cart can only turn about P1: u1 = 0, u2 = (M u)_2 / M_22 (ERRATA, figure 2)."""
    q4 = float(np.arccos(P["L3"] / P["L2"]))
    state = np.array([0.0, 0.0, 0.4, q4, U1, U2])
    dyn = cart(False, active=False)
    sim = ph.Simulation(dyn, *started(dyn, state))
    sim.engage("caster")
    M = mass(q4)
    assert sim.u[:2] == pytest.approx([0, 0], abs=1e-12)
    assert sim.u[2] == pytest.approx((M @ state[4:])[1] / M[1, 1], abs=1e-12)
    sim.run(0.5)
    turn = sim.u[2]
    assert turn == pytest.approx((M @ state[4:])[1] / M[1, 1] + 0.5 * TORQUE / M[1, 1], abs=1e-9)


@pytest.mark.parametrize("embed", [False, True], ids=["held", "embedded"])
def test_the_caster_sticks_by_friction_and_breaks_loose(embed: bool) -> None:
    """It slips until it stops; it breaks loose where the reaction in it reaches its capacity."""
    capacity, rate = 2.0, 30.0
    dyn = cart(embed, capacity=capacity, rate=rate)
    q, u = started(dyn, BEGIN)
    traj = ph.simulate(dyn, q, u, 2.0, output=[0, 2.0], **TIGHT)

    def turns(_: float, x: np.ndarray) -> float:
        return caster(x[3], x[4], x[5]) - x[5]

    turns.terminal = True  # type: ignore[attr-defined]
    slowing = free_cart(2.0, BEGIN, capacity=capacity, rate=rate, events=turns)
    sticks, state = slowing.t[-1], slowing.y[:, -1]
    assert [event.why for event in traj.events][:2] == ["start", "sticks"]
    assert traj.events[1].time == pytest.approx(sticks, abs=1e-9)

    k, M, J = ratio(state[3]), mass(state[3]), turning_of_caster(state[3])
    row = np.array([1.0, k])
    mu = row @ M @ row

    def stuck_u1(t: float) -> float:
        gained = (FORCE + k * TORQUE) * (t - sticks) + 0.5 * rate * (t**2 - sticks**2)
        return state[4] + gained / mu

    def reaction(t: float) -> float:
        u1 = stuck_u1(t)
        force = np.array([FORCE + rate * t, TORQUE])
        udot = row * (force @ row) / mu
        left = M @ udot + bias(state[3], u1, k * u1) - force
        return float(left @ J / (J @ J))

    first, last = (abs(reaction(t)) - capacity for t in (sticks, 2.0))
    assert first < 0 < last
    loose = brentq(lambda t: abs(reaction(t)) - capacity, sticks, 2.0, xtol=1e-14)
    assert traj.events[2].why == "slips"
    assert traj.events[2].time == pytest.approx(loose, abs=1e-9)
    assert len(traj.events) == 3

    u1, along = stuck_u1(loose), 0.0
    span = loose - sticks
    along = state[4] * span + ((FORCE + k * TORQUE) * span**2 / 2) / mu
    along += 0.5 * rate * ((loose**3 - sticks**3) / 3 - sticks**2 * span) / mu
    q3 = state[2] + k * along
    x = state[0] + (np.sin(q3) - np.sin(state[2])) / k
    y = state[1] - (np.cos(q3) - np.cos(state[2])) / k
    # the sign of its friction is that of the motion to come
    nudged = np.array([x, y, q3, state[3], u1, k * u1])
    way = -np.sign(reaction(loose))
    end = loosened(2.0 - loose, nudged, loose, way * capacity, rate)
    assert there(traj) == pytest.approx(end, abs=2e-9)


def loosened(span: float, state: np.ndarray, t0: float, friction: float, rate: float) -> np.ndarray:
    """The cart whose caster turns one way, against a torque."""

    def slope(t: float, x: np.ndarray) -> np.ndarray:
        _, _, q3, q4, u1, u2 = x
        push = np.array([FORCE + rate * t, TORQUE]) - friction * turning_of_caster(q4)
        udot = np.linalg.solve(mass(q4), push - bias(q4, u1, u2))
        return np.array([u1 * np.cos(q3), u1 * np.sin(q3), u2, caster(q4, u1, u2) - u2, *udot])

    return solve_ivp(slope, (t0, t0 + span), state, method="DOP853", rtol=1e-13, atol=1e-14).y[:, -1]


# example 1: a disk on a ramp


def test_the_disk_rolls_slips_and_rolls_again() -> None:
    """A torque slows it as it rolls down: tau grows until friction is all used, and is taken away.

    Rolling, from m a = m g s - f, J w' = r f - tau with J = m r^2 / 2 and tau = c t:
    a = (m g s - tau / r) / (3 m / 2), f = (m g s + 2 tau / r) / 3. It slips from f = mu m g cos on; then
    a = g s - mu g cos, w' = (r mu m g cos - tau) / J.
    """
    m, r, slope, mu, c, off = 2.0, 0.3, 0.25, 0.3, 2.0, 2.2
    s, n = G * np.sin(slope), G * np.cos(slope)
    J, end = 0.5 * m * r**2, 4.0
    slips = (3 * mu * m * n - m * s) * r / (2 * c)
    a = lambda t: (s * t - 0.5 * c * t**2 / (m * r)) / 1.5  # noqa: E731
    v0 = 6.0
    v1, w1 = v0 + a(slips), (v0 + a(slips)) / r
    assert 0 < slips < off
    # slipping, with the torque and then without it
    v2 = v1 + (s - mu * n) * (off - slips)
    w2 = w1 + (r * mu * m * n * (off - slips) - 0.5 * c * (off**2 - slips**2)) / J
    gap, closing = v2 - r * w2, mu * n - s + r**2 * mu * m * n / J
    rolls = off + gap / closing
    v3 = v2 + (s - mu * n) * (rolls - off) + s / 1.5 * (end - rolls)
    assert off < rolls < end

    dyn = disc(mu, r, m, slope)
    sim = ph.Simulation(dyn, {"z": r}, {"x_dot": v0, "a_dot": v0 / r}, tau={"a_dot": f"-{c}*t"}, **TIGHT)
    sim.run(off)
    other = ph.Simulation(dyn, sim.q, sim.u, t0=off, **TIGHT)
    other.run(end)
    assert [event.why for event in sim.events] == ["start", "slips"]
    assert [event.why for event in other.events] == ["start", "sticks"]
    assert sim.events[1].time == pytest.approx(slips, abs=1e-9)
    assert sim.u == pytest.approx([v2, 0, w2], abs=1e-9)
    assert other.events[1].time == pytest.approx(rolls, abs=1e-9)
    assert other.u == pytest.approx([v3, 0, v3 / r], abs=1e-9)


def test_the_disk_slides_uphill_and_rolls_down() -> None:
    """Thrown up the ramp without spin: friction and gravity slow it, it rolls from s = 0 on and comes back."""
    m, r, slope, mu, v0 = 1.0, 0.2, 0.3, 0.25, -4.0
    s, n = G * np.sin(slope), G * np.cos(slope)
    # going up, it slides with friction down the slope
    rolls = -v0 / (s + mu * n + 2 * mu * n)
    v1 = v0 + (s + mu * n) * rolls
    assert mu > np.tan(slope) / 3
    dyn = disc(mu, r, m, slope)
    traj = ph.simulate(dyn, {"z": r}, {"x_dot": v0}, 3.0, **TIGHT)
    assert [event.why for event in traj.events] == ["start", "sticks"]
    assert traj.events[1].time == pytest.approx(rolls, abs=1e-9)
    assert traj["x_dot"][-1] == pytest.approx(v1 + s / 1.5 * (3.0 - rolls), abs=1e-9)
    assert traj["a_dot"][-1] == pytest.approx((v1 + s / 1.5 * (3.0 - rolls)) / r, abs=1e-8)
