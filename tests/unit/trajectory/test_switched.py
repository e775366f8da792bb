"""What a run with switches leaves behind: reactions, accelerations and states in changing modes, energy, events."""

import numpy as np
import pytest

import polhode as ph

G = 9.81


def compiled(build):
    return ph.formulate(build.build()).compile()


def ball(e=0.5):
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2)
    build.contact("ball", restitution=e, name="ground")
    return compiled(build)


def block(mu=0.3, static=None, mass=2.0):
    """A block that slides along x and z on the ground."""
    build = ph.Builder("block", gravity=(0, 0, -G))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("block", parent="along", joint=ph.prismatic("z", name="z"), mass=mass)
    build.contact("block", friction=mu, static=static, name="ground")
    return compiled(build)


def belt(speed, stiffness=100.0):
    build = ph.Builder("belt", gravity=(0, 0, -G))
    build.body("belt", joint=ph.prismatic("x", name="b"), mass=1)
    build.body("along", joint=ph.prismatic("x", name="x", stiffness=stiffness), mass=0)
    build.body("block", parent="along", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("block", "belt", friction=0.3, static=0.5, name="grip")
    build.prescribe("b", speed * ph.TIME)
    return compiled(build)


def wheel(capacity=0.5):
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.brake("a_dot", capacity=capacity, name="brake")
    return compiled(build)


# reactions and accelerations


def test_reactions_of_a_block_that_slides_and_sticks():
    """Pushed by 4 N: it slides with mu m g against it, stops, and is held by what pushes it."""
    traj = ph.simulate(block(), None, {"x_dot": 1.0}, 2.0, tau={"x_dot": 4.0}, reacting=True)
    slides = traj.mode["ground"] == "slides"
    assert 0 < slides.sum() < len(traj)
    assert traj["reaction ground.height"] == pytest.approx(2 * G, abs=1e-10)
    assert traj["reaction ground.slip x"][slides] == pytest.approx(-0.3 * 2 * G, abs=1e-10)
    assert traj["reaction ground.slip x"][~slides] == pytest.approx(-4, abs=1e-10)
    assert traj.accelerations[slides, 0] == pytest.approx(2 - 0.3 * G, abs=1e-10)
    assert np.abs(traj.accelerations[~slides]).max() < 1e-10
    assert traj.events[1].time == pytest.approx(1 / (0.3 * G - 2), abs=1e-9)


def test_the_tension_of_a_rope_that_catches_and_swings():
    """m (g cos a + L a'^2) along it once it is taut; 0 while it is slack."""
    build = ph.Builder("tethered", gravity=(0, 0, -G))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("bob", parent="along", joint=ph.prismatic("z", name="z"), mass=3)
    build.rope("world", "bob", length=1.5, name="rope")
    traj = ph.simulate(compiled(build), {"x": 0.9, "z": -0.2}, {"x_dot": 0.4}, 2.0, reacting=True)
    taut, tension = traj.mode["rope"] == "closed", traj["reaction rope"]
    assert 0 < taut.sum() < len(traj)
    assert not tension[~taut].any()
    v2 = traj["x_dot"] ** 2 + traj["z_dot"] ** 2
    assert tension[taut] == pytest.approx((3 * (-G * traj["z"] / 1.5 + v2 / 1.5))[taut], rel=1e-9)
    assert np.abs(traj.energy_drift).max() < 1e-7


def test_the_force_of_a_stop_and_of_a_brake():
    """A slide pressed to its upper stop with 7 N; a brake that bears what turns it, and slips at 0.5."""
    build = ph.Builder("slide", gravity=(0, 0, 0))
    build.body("slide", joint=ph.prismatic("x", name="x"), mass=1)
    build.stop("x", lower=-1, upper=1, name="ends")
    traj = ph.simulate(compiled(build), None, None, 2.0, tau={"x_dot": 7.0}, reacting=True)
    there = traj.mode["ends"] == "upper"
    assert traj.events[1].time == pytest.approx(np.sqrt(2 / 7), abs=1e-9)
    assert traj["reaction ends.upper"][there] == pytest.approx(7, abs=1e-10)
    assert not traj["reaction ends.upper"][~there].any()
    assert not traj["reaction ends.lower"].any()
    traj = ph.simulate(wheel(), None, None, 10.0, tau={"a_dot": "0.1*t"}, reacting=True)
    holds = traj.mode["brake"] == "holds"
    assert traj["reaction brake"] == pytest.approx(np.where(holds, -0.1 * traj.t, -0.5), abs=1e-9)
    assert traj.accelerations[:, 0] == pytest.approx(np.where(holds, 0, (0.1 * traj.t - 0.5) / 2), abs=1e-9)


def test_a_latch_that_engages_twice_reacts_by_where_it_engaged_each_time():
    """A weight on a carriage that is driven along x: while it is latched, the latch bears its weight and drives it."""
    build = ph.Builder("hook", gravity=(0, 0, -G))
    build.body("carriage", joint=ph.prismatic("x", name="c"), mass=1)
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("load", parent="along", joint=ph.prismatic("z", name="z"), mass=2)
    build.latch("carriage", "load", "point", name="hook")
    build.prescribe("c", ph.TIME**2)
    switches = [ph.at(0.2, engage="hook"), ph.at(0.5, release="hook"), ph.at(0.8, engage="hook")]
    traj = ph.simulate(compiled(build), t_end=1.0, switches=switches, reacting=True)
    held = traj.mode["hook"] == "engaged"
    assert traj["reaction hook.z"] == pytest.approx(np.where(held, 2 * G, 0), abs=1e-8)
    assert traj["reaction hook.x"] == pytest.approx(np.where(held, 2 * 2.0, 0), abs=1e-8)
    assert np.isfinite(traj.reactions).all()
    assert np.abs(traj.energy_drift).max() < 1e-8


def test_states_between_outputs_are_not_smeared_over_events():
    """Ten outputs of a ball that bounces: between them it flies along parabolas, and never is below the ground."""
    traj = ph.simulate(ball(), {"z": 1.0}, t_end=1.2, output=0.12)
    t = np.linspace(0, 1.2, 401)
    fall = np.sqrt(2 / G)
    up = t - fall
    first = np.where(up < 0, 1 - G * t**2 / 2, G * fall / 2 * up - G * up**2 / 2)
    shown = t < 2 * fall
    assert traj.at(t)[0][shown, 0] == pytest.approx(first[shown], abs=1e-10)
    assert traj.at(t)[0].min() > -1e-10


def test_an_output_at_a_switch_is_the_state_after_it():
    build = ph.Builder("rotor", gravity=(0, 0, 0))
    build.body("rotor", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 1))
    build.lock("a", name="lock", active=False)
    traj = ph.simulate(compiled(build), None, {"a_dot": 1.0}, 2.0, switches=ph.at(1.0, engage="lock"), output=0.5)
    assert traj["a_dot"].tolist() == [1, 1, 0, 0, 0]
    assert traj.mode["lock"].tolist() == ["released", "released", "engaged", "engaged", "engaged"]
    assert np.abs(traj.energy_drift).max() < 1e-14
    assert traj.at(0.999)[1] == pytest.approx(1)


# energy


@pytest.mark.parametrize("output", [None, 0.37, "steps"])
def test_energy_is_accounted_for_whatever_is_recorded(output):
    runs = {
        "impacts": (ball(), {"z": 1.0}, None, {}),
        "friction": (block(), None, {"x_dot": 1.0}, {"tau": {"x_dot": 4.0}}),
        "brake": (wheel(), None, {"a_dot": 0.3}, {"tau": {"a_dot": "0.3*t"}}),
        "sampled": (wheel(), None, {"a_dot": 0.3}, {"tau": ph.Sampled(lambda t, q, u: [0.3 * t], period=0.1)}),
        "belt": (belt(0.1), None, {"x_dot": 0.1, "b_dot": 0.1}, {}),
    }
    taken = {}
    for name, (dyn, q, u, more) in runs.items():
        traj = ph.simulate(dyn, q, u, 2.0, output=output, **more)
        assert np.abs(traj.energy_drift).max() < 1e-9, name
        taken[name] = traj.work[-1, 2]
    assert taken["impacts"] == pytest.approx(-2 * G, abs=1e-9)  # all that it had
    stop = 1 / (0.3 * G - 2)
    assert taken["friction"] == pytest.approx(-0.3 * 2 * G * stop / 2, abs=1e-8)
    assert -0.6 < taken["belt"] < -0.4  # 0.3 to 0.5 of its weight, for a part of 0.2 m


def test_the_audit_says_what_impacts_took_and_what_a_strike_gave():
    sim = ph.Simulation(ball(), {"z": 1.0})
    sim.run(0.1)
    before = sim.u[0]
    sim.strike("ball", (0, 0, 3.0))
    sim.run(1.0)
    traj = sim.trajectory()
    assert traj.set_by_hand[-1] == pytest.approx((before + 1.5) ** 2 - before**2, abs=1e-12)
    assert np.abs(traj.energy_drift).max() < 1e-10
    audit = traj.audit()
    assert audit.impacts == (1, pytest.approx(-traj.work[-1, 2]))
    assert "of this 1 impact" in str(audit)
    assert "impacts and friction" in str(audit)


def test_time_stepping_counts_the_work_of_moving_ground_and_of_friction():
    """A block that a belt drags against a spring, from rest on: half a period of sliding."""
    start = {"b_dot": 0.1}
    errors = []
    for step in (2e-3, 1e-3):
        traj = ph.simulate(belt(0.1), None, start, 0.3, method="moreau", step=step)
        errors.append(np.abs(traj.energy_drift).max())
        assert traj.work[-1, 3] > 0.01
        assert traj.work[-1, 2] < -0.001
    assert errors[1] < 1e-5
    assert errors[1] < 0.6 * errors[0]


def test_time_stepping_has_outputs_at_whole_steps_and_knows_its_modes():
    traj = ph.simulate(ball(), {"z": 1.0}, t_end=1.5, method="moreau", step=1.1e-3)
    steps = traj.t[:-1] / 1.1e-3
    assert np.abs(steps - steps.round()).max() < 1e-9
    assert traj.t[-1] == 1.5
    assert len(traj) == 501
    closes = [event.time for event in traj.events if event.why == "closes"]
    fall = np.sqrt(2 / G)
    assert closes[:3] == pytest.approx([fall, 2 * fall, 2.5 * fall], abs=3e-3)
    assert traj.mode["ground"][-1] == "closed"
    # forces at outputs where it lies
    lies = ph.simulate(
        block(), None, {"x_dot": 1.0}, 2.0, tau={"x_dot": 4.0}, method="moreau", step=1e-3, reacting=True
    )
    slides = lies.mode["ground"] == "slides"
    assert lies.events[1].time == pytest.approx(1 / (0.3 * G - 2), abs=2e-3)
    assert lies["reaction ground.height"][1:] == pytest.approx(2 * G, abs=1e-9)
    assert lies["reaction ground.slip x"][1:] == pytest.approx(np.where(slides, -0.6 * G, -4)[1:], abs=1e-9)


def test_names_are_those_that_are_taken_and_others_are_told_what_there_is():
    build = ph.Builder("pendulum")
    build.body("bob", joint=ph.revolute("y", name="theta"), mass=1, com=(0, 0, -1))
    build.marker("tip", body="bob", at=(0, 0, -1))
    build.latch("world", "tip", name="latch")
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"theta": -0.8}, t_end=0.1, reacting=True)
    assert set(traj.to_numpy()) <= {*traj.names, *(f"residual {name}" for name in traj.constraint_names)}
    for name in traj.names:
        assert len(traj[name]) == len(traj)
    assert traj["mode latch"][0] == "engaged"
    assert "reaction latch.x" in traj
    with pytest.raises(KeyError, match=r"reaction latch\.x"):
        traj["reaction latch"]
    with pytest.raises(KeyError, match="Did you mean 'latch'"):
        traj.mode["lach"]
    with pytest.raises(KeyError, match="Did you mean 'latch'"):
        traj.events.about("lach")
    bare = ph.simulate(dyn, {"theta": -0.8}, t_end=0.1)
    with pytest.raises(KeyError, match="reacting=True"):
        bare["reaction latch.x"]


def test_what_happens_again_and_again_is_printed_once():
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=0.9, name="ground")
    traj = ph.simulate(ph.formulate(build.build()).compile(), {"z": 1.0}, t_end=20.0)
    lines = str(traj.events).splitlines()
    assert len(lines) == 4
    assert lines[2].startswith(f"... this again {len(traj.events) - 3} times, up to t = {traj.events[-2].time:.6g} s")
    lost = float(lines[2].split(", ")[2].split()[0])
    assert lost == pytest.approx(sum(event.lost for event in traj.events[2:-1]), rel=1e-3)
    assert "at rest from" in lines[3]


def test_rest_is_the_same_in_every_table(tmp_path):
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution=0.5, name="ground")
    events = ph.simulate(ph.formulate(build.build()).compile(), {"z": 1.0}, t_end=2.0).events
    column = events.columns()["rest"]
    assert np.isnan(column[:-1]).all()
    assert column[-1] == events[-1].rest == events[-1].plain()["rest"]
    assert [event.plain()["rest"] for event in events[:-1]] == [None] * (len(events) - 1)
