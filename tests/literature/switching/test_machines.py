"""More machines whose constraints come and go: ropes, rods, chains, a belt, a piano key."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from machines import G, compiled, in_plane, turning

import polhode as ph

TIGHT = {"rtol": 1e-11, "atol": 1e-11}


def test_a_rope_goes_slack_and_taut() -> None:
    """A weight thrown up on a rope from its top: free flight, taut at once at z = -l, then it hangs.

    From the peg upwards with v it comes back to z = -l at t = (v + sqrt(v^2 + 2 g l)) / g.
    """
    length, v = 0.7, 1.5
    build = in_plane("weight")
    build.body("weight", parent="along z", joint=ph.revolute("y", name="a"), mass=2.0, inertia=(1, 1, 1))
    build.rope("weight", "world", length=length, restitution=0.0, name="rope")
    dyn = compiled(build)
    traj = ph.simulate(dyn, None, {"z_dot": v}, 2.0, **TIGHT)
    taut = (v + np.sqrt(v**2 + 2 * G * length)) / G
    assert traj.events[1].time == pytest.approx(taut, abs=1e-10)
    assert traj.events[1].lost == pytest.approx(v**2 + 2 * G * length, abs=1e-9)
    assert traj["z"][-1] == pytest.approx(-length, abs=1e-10)
    assert traj.mode["rope"][-1] == "closed"


def test_a_pendulum_on_a_rope_leaves_its_circle() -> None:
    """Thrown from below with v it goes slack where cos = (2 g l - v^2) / (3 g l), and flies on from there."""
    length, v = 1.0, 6.0
    build = in_plane("weight")
    turning(build, 1.0, 1.0)
    build.rope("body", "world", length=length, name="rope")
    traj = ph.simulate(compiled(build), {"z": -length}, {"x_dot": v}, 2.0, output="steps", **TIGHT)
    slack = next(event for event in traj.events if event.why == "opens")
    k = np.flatnonzero(traj.t == slack.time)[-1]
    cosine = (2 * G * length - v**2) / (3 * G * length)
    assert -traj["z"][k] / length == pytest.approx(cosine, abs=1e-9)
    speed2 = v**2 - 2 * G * length * (1 - cosine)
    assert traj["x_dot"][k] ** 2 + traj["z_dot"][k] ** 2 == pytest.approx(speed2, abs=1e-9)
    # taut again where the parabola meets the circle
    sine, fast = np.sqrt(1 - cosine**2), np.sqrt(speed2)
    x, z, vx, vz = length * sine, -length * cosine, fast * cosine, fast * sine
    roots = np.roots([G**2 / 4, -G * vz, fast**2 - G * z, 2 * (x * vx + z * vz), x**2 + z**2 - length**2])
    later = min(r.real for r in roots if abs(r.imag) < 1e-9 and r.real > 1e-3)
    taut = next(event for event in traj.events if event.time > slack.time and event.why == "closes")
    assert taut.time - slack.time == pytest.approx(later, abs=1e-8)
    assert np.hypot(traj["x"], traj["z"]).max() <= length + 1e-9


@pytest.mark.parametrize("e", [0.0, 0.6])
def test_a_rod_dropped_flat(e: float) -> None:
    """Both ends strike at once: it does not turn, and bounces as a ball; Lam = m (1 + e) v / 2 each."""
    mass, half, h = 1.5, 0.8, 0.5
    build = turning(in_plane("rod"), mass, mass * half**2 / 3)
    for name, side in (("left", -1), ("right", 1)):
        build.marker(name, body="body", at=(side * half, 0, 0))
        build.contact(name, restitution=e, name=name)
    traj = ph.simulate(compiled(build), {"z": h}, t_end=0.5, **TIGHT)
    struck = traj.events[1]
    v = np.sqrt(2 * G * h)
    assert struck.time == pytest.approx(v / G, abs=1e-10)
    for name in ("left", "right"):
        assert struck.impulses[f"{name}.height"] == pytest.approx(mass * (1 + e) * v / 2, abs=1e-9)
    assert np.abs(traj["a"]).max() < 1e-10
    after = 0.5 - v / G
    assert traj["z"][-1] == pytest.approx(e * v * after - G * after**2 / 2 if e else 0.0, abs=1e-9)


@pytest.mark.parametrize(("x", "speed"), [(0.0, 0.0), (0.06, -0.3), (-0.03, 0.2)])
def test_a_block_on_a_belt_comes_to_its_limit_cycle_from_elsewhere(x: float, speed: float) -> None:
    m, k, v, static, kinetic = 1.0, 100.0, 0.1, 0.5, 0.3
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along x", joint=ph.prismatic("x", name="x", stiffness=k), mass=0)
    build.body("block", parent="along x", joint=ph.prismatic("z", name="z"), mass=m)
    build.contact("block", "belt", friction=kinetic, static=static, name="grip")
    build.prescribe("b", v * ph.TIME)
    traj = ph.simulate(compiled(build), {"x": x}, {"x_dot": speed, "b_dot": v}, t_end=3.5, rtol=1e-11, atol=1e-12)
    D, w = (static - kinetic) * m * G / k, np.sqrt(k / m)
    period = 2 * D / v + (2 * np.pi - 2 * np.arctan(D * w / v)) / w
    slips = [event.time for event in traj.events if event.why == "slips"]
    assert len(slips) >= 3
    assert np.diff(slips) == pytest.approx(period, abs=1e-9)


def test_a_bouncing_chain() -> None:
    """Three links that fall on the ground, with friction: energy only falls, nothing sinks, all comes to rest."""
    build = in_plane("chain")
    turning(build, 1.0, 1 / 12)
    parent, at = "body", (0.5, 0, 0)
    build.marker("p0", body="body", at=(-0.5, 0, 0))
    build.marker("p1", body="body", at=at)
    for i in range(2):
        build.body(f"link{i}", parent=parent, at=at, joint=ph.revolute("y", name=f"b{i}"), mass=1.0,
                   com=(0.5, 0, 0), inertia=(1 / 12,) * 3)  # fmt: skip
        build.marker(f"p{i + 2}", body=f"link{i}", at=(1, 0, 0))
        parent, at = f"link{i}", (1, 0, 0)
    for i in range(4):
        build.contact(f"p{i}", restitution=0.4, friction=0.3, name=f"c{i}")
    traj = ph.simulate(compiled(build), {"z": 1.0, "a": 0.3, "b0": -0.4, "b1": 0.7}, {"x_dot": 0.5}, 3.0, rtol=1e-9,
                       atol=1e-9)  # fmt: skip
    assert traj.outcome.finished, traj.outcome
    assert all(event.lost >= -1e-12 for event in traj.events)
    assert sum(event.lost for event in traj.events) > 10
    assert np.abs(traj.energy_drift).max() < 1e-7
    assert np.abs(traj.u[-1]).max() < 1e-6
    assert set(traj.events[-1].mode.values()) == {"sticks"}


# a piano key; the geometry is ours

HAMMER, WIPPEN, KEY = 0.010, 0.02, 2e-4  # kg, kg, kg m^2
LET_OFF, BED, STRING, CHECK = 0.043, 0.0435, 0.045, 0.030  # heights of hammer and wippen, m; of the key, at 1 m


def piano() -> Any:
    """A key that lifts a hammer by a jack, lets it go before the string, and catches it: the geometry is ours.

    The key turns (k) and drives the wippen by its capstan, w = 1 m * k; the jack is a contact of the hammer on the
    wippen, which is withdrawn 2 mm below the string. From there the hammer flies on, strikes the string (a stop
    with restitution) and falls back past the wippen, until the check, a latch, catches it 15 mm below the string.
    """
    build = ph.Builder("piano key", gravity=(0, 0, -G))
    build.body("key", joint=ph.revolute("y", name="k"), mass=0.1, inertia=(KEY,) * 3)
    build.stop("k", lower=0.0, upper=BED, name="bed")
    build.body("wippen", joint=ph.prismatic("z", name="w"), mass=WIPPEN)
    build.constraint(ph.symbol("w") - ph.symbol("k"), name="capstan")
    build.body("hammer", joint=ph.prismatic("z", name="h"), mass=HAMMER)
    build.contact("hammer", "wippen", name="jack")
    build.stop("h", upper=STRING, restitution=0.6, name="string")
    build.latch("hammer", "wippen", "point", name="check", active=False)
    return compiled(build)


def test_a_piano_key_lets_off_strikes_and_is_checked() -> None:
    """In order: let-off, the bed and the string, the check; energy is lost where something is struck, and only there.

    Pressed by a torque T, key, wippen and hammer rise as one: (J + m_w + m_h) k'' = T - (m_w + m_h) g.
    """
    torque = 0.8
    switches = [ph.when(f"h > {LET_OFF}", release="jack"), ph.when(f"h < {CHECK}", engage="check")]
    traj = ph.simulate(piano(), None, None, 0.2, tau={"k_dot": torque}, switches=switches, output="steps", **TIGHT)
    a = (torque - (WIPPEN + HAMMER) * G) / (KEY + WIPPEN + HAMMER)
    off = np.sqrt(2 * LET_OFF / a)
    v = a * off
    # the key goes on without the hammer, to its bed
    b = (torque - WIPPEN * G) / (KEY + WIPPEN)
    bed = (np.sqrt(v**2 + 2 * b * (BED - LET_OFF)) - v) / b
    struck_bed = 0.5 * (KEY + WIPPEN) * (v + b * bed) ** 2
    # the hammer flies, bounces and falls
    up = np.sqrt(v**2 - 2 * G * (STRING - LET_OFF))
    string = (v - up) / G
    struck_string = 0.5 * HAMMER * up**2 * (1 - 0.6**2)
    down = np.sqrt((0.6 * up) ** 2 + 2 * G * (STRING - CHECK))
    check = string + (down - 0.6 * up) / G
    # caught, it takes the key from its bed, and the torque brings both back
    whole = KEY + WIPPEN + HAMMER
    along = HAMMER * down / whole
    struck_check, struck_again = 0.5 * HAMMER * down**2 - 0.5 * whole * along**2, 0.5 * whole * along**2
    times = off + np.array([0, bed, string, check, check + 2 * along / a])
    lost = [0, struck_bed, struck_string, struck_check, struck_again]
    names = ["jack", "bed", "string", "check", "bed"]
    assert list(np.argsort(times)) == [0, 1, 2, 3, 4]
    assert traj.events.times[1:] == pytest.approx(times, abs=1e-9)
    assert [event.lost for event in traj.events[1:]] == pytest.approx(lost, abs=1e-9)
    for name, event in zip(names, traj.events[1:], strict=True):
        assert name in event.what
    assert traj.mode["check"][-1] == "engaged"
    assert traj["h"][-1] == pytest.approx(CHECK, abs=1e-10)
    assert traj["w"][-1] == pytest.approx(BED, abs=1e-10)
    assert np.abs(traj.energy_drift).max() < 1e-9
