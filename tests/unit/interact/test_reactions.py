"""What constraints of a machine that runs carry, against closed forms and the reactions of a trajectory."""

import numpy as np
import pytest

import polhode as ph
from polhode.interact import Link, Scripted, coupler, realtime
from polhode.interact.messages import read
from polhode.interact.table import Table

G = 9.81


def table_of(build, q0=None, u0=None, **options):
    return Table(realtime(ph.formulate(build.build()).compile(), q0, u0, **options))


def acting(table):
    """The arrows at the newest state, by the names of what acts: the first of each."""
    state = table.loop.state
    found = {}
    for name, arrow in table.forces.now(state, table.picture.poses(state), table.hands.values()):
        found.setdefault(name, arrow)
    return found


def after(table, ticks, every=None):
    """What acted in the last ticks."""
    for _ in range(0, ticks, every or ticks):
        acting(table)
        table.loop.step(every or ticks)
    return acting(table)


def block(friction=None, tilt=0.0, **options):
    build = ph.Builder("block", gravity=(G * np.sin(tilt), 0, -G * np.cos(tilt)))
    build.body("block", joint=ph.joint(np.eye(6)[:, 3:], name="block", q=["x", "y", "z"]), mass=3.0)
    build.contact("block", friction=friction, name="ground", **options)
    return build


def test_a_block_at_rest_is_held_by_its_weight():
    table = table_of(block())
    arrow = after(table, 10)["ground"]
    np.testing.assert_allclose(arrow.force, [0, 0, 3 * G], rtol=1e-9)
    np.testing.assert_allclose(arrow.at, table.loop.state.q, atol=1e-12)
    assert table.forces.weight == pytest.approx(3 * G)
    assert not arrow.torque.any()


def test_a_block_that_slides_is_rubbed_by_mu_times_its_weight():
    table = table_of(block(friction=0.3), None, [2.0, -1.0, 0.0])
    way = np.array([2.0, -1.0]) / np.hypot(2, 1)
    np.testing.assert_allclose(after(table, 20)["ground"].force, [*(-0.3 * 3 * G * way), 3 * G], rtol=1e-7)


def test_a_block_on_a_slope_is_held_by_friction():
    table = table_of(block(friction=0.5, tilt=0.2))
    expected = [-3 * G * np.sin(0.2), 0, 3 * G * np.cos(0.2)]
    np.testing.assert_allclose(after(table, 20)["ground"].force, expected, rtol=1e-7, atol=1e-9)


def test_an_impact_between_two_pictures_is_not_missed():
    """Its impulse, beside that of the weight that it carries then, by the time between the pictures."""
    h, e = 0.1, 0.5
    table = table_of(block(restitution=e), [0, 0, h])
    fall = np.sqrt(2 * h / G)
    before = int(fall * 1000) - 8
    after(table, before)
    assert "ground" not in acting(table)
    u = table.loop.state.u[2]
    arrow = after(table, 16)["ground"]
    impulse = 3 * (table.loop.state.u[2] - u) + 3 * G * 0.016  # what changed the momentum
    np.testing.assert_allclose(arrow.force, [0, 0, impulse / 0.016], rtol=1e-9)
    assert arrow.force[2] * 0.016 == pytest.approx(3 * (1 + e) * np.sqrt(2 * G * h), rel=0.02)
    assert "ground" not in after(table, 16)


def pinned(method):
    """A bar in the plane, whose end a pin holds."""
    build = ph.Builder("pendulum", gravity=(0, 0, -G))
    joint = ph.planar("y", name="bar", q=["theta", "x", "z"])
    build.body("bar", joint=joint, mass=2.0, com=(0, 0, -0.5), inertia=(2.0 / 12, 2.0 / 12, 0))
    build.loop("world", "bar", "point", name="pin")
    return table_of(build, {"theta": 1.0}, method=method)


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_the_pin_of_a_pendulum(method):
    """Along the bar m (g cos + L/2 omega^2), across it m g sin / 4, of a bar of length L that swings from rest."""
    table = pinned(method)
    names = table.loop.dynamics.equations.model.coordinates
    for _ in range(5):
        arrow = after(table, 100, every=1)["pin"]
        s = dict(zip(names, table.loop.state.q, strict=True))["theta"]
        omega2 = 3 * G * (np.cos(s) - np.cos(1.0))
        along, across = np.array([np.sin(s), 0, np.cos(s)]), np.array([np.cos(s), 0, -np.sin(s)])
        swing = 2 * (G * np.cos(s) + 0.5 * omega2)
        assert arrow.force @ along == pytest.approx(swing, rel=0.01 if method == "moreau" else 1e-5)
        assert abs(arrow.force @ across) == pytest.approx(2 * G * abs(np.sin(s)) / 4, rel=0.02, abs=0.05)
        np.testing.assert_allclose(arrow.at, 0, atol=1e-6)


def four_bar():
    build = ph.Builder("four-bar", gravity=(0, 0, -G))
    for name, parent, at, mass in (("crank", "world", 0, 1.0), ("coupler", "crank", 0.4, 2.0)):
        build.body(name, parent=parent, at=(at, 0, 0), joint=ph.revolute("y", name=name), mass=mass, com=(0.3, 0, 0),
                   inertia=(0.01, 0.05, 0.05))  # fmt: skip
    build.body("rocker", at=(1, 0, 0), joint=ph.revolute("y", name="rocker"), mass=1, com=(0, 0, 0.3),
               inertia=(0.01, 0.05, 0.05))  # fmt: skip
    build.marker("end", body="coupler", at=(0.8, 0, 0))
    build.marker("top", body="rocker", at=(0, 0, 0.7))
    build.loop("end", "top", "point", name="pin")
    return build


@pytest.mark.parametrize("method", ["moreau", "rk4"])
def test_the_pin_of_a_four_bar_as_of_the_trajectory(method):
    dyn = ph.formulate(four_bar().build()).compile()
    start = ph.assemble(dyn, {"crank": -0.9})
    table = Table(realtime(dyn, start.q, method=method))
    found = after(table, 200, every=1)["pin"]
    traj = ph.simulate(dyn, start.q, None, 0.2, method="dopri5", rtol=1e-10, atol=1e-10, reacting=True)
    lam = traj.reactions[-1]
    names = traj.reaction_names
    force = [sum(lam[names.index(n)] for n in names if n.endswith(f".{a}")) for a in "xyz"]
    np.testing.assert_allclose(found.force, force, rtol=2e-2 if method == "moreau" else 1e-5, atol=0.1)
    # and by Newton and Euler, of the rocker alone: the moment of the pin turns it about its foot
    at = found.at - [1, 0, 0]
    moment = np.cross(at, found.force)[1]
    com = table.loop.dynamics.pose("rocker")(table.loop.state.q)[:3, :3] @ [0, 0, 0.3]
    needed = 0.14 * rocker_acceleration(dyn, table) - np.cross(com, [0, 0, -G])[1]
    assert moment == pytest.approx(needed, rel=0.03)


def rocker_acceleration(dyn, table):
    s = table.loop.state
    return dyn.forward_dynamics(s.q, s.u, np.zeros(3), check=False)[2]


def test_a_brake_slips_with_its_torque_and_holds_with_what_it_needs():
    build = ph.Builder("arm", gravity=(0, 0, -G))
    build.body("arm", joint=ph.revolute("y", name="arm"), mass=1.0, com=(0.5, 0, 0), inertia=(0, 0.1, 0.1))
    build.brake("arm_dot", capacity="T", name="brake")
    dyn = ph.formulate(build.build()).compile()
    for capacity, expected in ((2.0, 2.0), (20.0, 0.5 * G)):
        table = Table(realtime(dyn, p={"T": capacity}))
        arrow = after(table, 20, every=2)["brake"]
        np.testing.assert_allclose(arrow.torque, [0, -expected, 0], rtol=1e-6)  # it falls towards +y
        assert not arrow.force.any()


def test_engaging_a_lock_shows_its_impulse():
    """Of a wheel that turns: I w, in the pictures around it, also where steps have no impulses of their own."""
    for method in ("moreau", "rk4"):
        build = ph.Builder("wheel", gravity=(0, 0, 0))
        build.body("wheel", joint=ph.revolute("z", name="wheel"), mass=1.0, inertia=(0.1, 0.1, 0.2))
        build.lock("wheel", name="lock", active=False)
        table = table_of(build, None, [5.0], method=method)
        assert "lock" not in after(table, 10)
        table.do(1, read('{"do": "engage", "name": "lock"}'))
        arrow = after(table, 10)["lock"]
        np.testing.assert_allclose(arrow.torque * 0.01, [0, 0, -1.0], rtol=1e-9)
        assert "lock" not in after(table, 10)


def test_a_rope_pulls_at_both_ends():
    build = ph.Builder("two", gravity=(0, 0, -G))
    build.body("above", joint=ph.prismatic("z", name="above"), mass=1.0)
    build.body("below", joint=ph.prismatic("z", name="below"), mass=2.0)
    build.lock("above", name="hook")
    build.rope("above", "below", length=0.5, name="rope")
    table = table_of(build, {"below": -0.5})
    after(table, 10)
    state = table.loop.state
    both = [a for n, a in table.forces.now(state, table.picture.poses(state)) if n == "rope"]
    pulls = {a.on: a.force[2] for a in both}
    assert pulls == {"above": pytest.approx(-2 * G), "below": pytest.approx(2 * G)}
    assert acting(table)["hook"].force[2] == pytest.approx(3 * G)


def test_a_contact_that_yields():
    """It carries the weight where it came to rest."""
    build = ph.Builder("ball", gravity=(0, 0, -G))
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2.0)
    build.contact("ball", radius=0.1, shape="sphere", stiffness=1e4, damping=200, name="soft")
    build.stop("z", lower=-5, stiffness=100, name="spare")
    table = table_of(build, [0.1 - 2 * G / 1e4])
    arrow = after(table, 10)["soft"]
    np.testing.assert_allclose(arrow.force, [0, 0, 2 * G], rtol=1e-9)
    np.testing.assert_allclose(arrow.at, [0, 0, -2 * G / 1e4], atol=1e-12)


def test_a_hand_and_a_device_pull():
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    held = coupler(build.build(), "sledge", stiffness=500, damping=0.5)
    table = Table(realtime(ph.formulate(held.model).compile()))
    table.do(1, read('{"do": "grab", "frame": 1, "point": [0, 0, 0]}'))
    table.do(1, read('{"do": "drag", "point": [0.5, 0.3, -0.2]}'))
    table.push()
    found = acting(table)["hand"]  # not across its rail, where nothing can be pulled
    np.testing.assert_allclose(found.force, [2 * 400 * 0.5, 0, 0], rtol=1e-9, atol=1e-9)
    table.do(1, read('{"do": "drop"}'))
    link = Link(table.loop, held, Scripted(lambda t: (0.2, 0, 0), damping=2.0))
    link.tick()
    u = table.loop.state.u[0]
    device = acting(table)["device"]
    assert device.force[0] == pytest.approx(2 * u / 1e-3, rel=1e-6)  # what changed the momentum in this tick
    link.stop()
    assert "device" not in acting(table)


def test_more_rows_than_are_wired_and_a_reset(monkeypatch):
    """Names stay those of what acts while rows are added to the code, and after a reset."""
    monkeypatch.setattr("polhode.simulate.modes.WIRED", 6)
    build = ph.Builder("rain", gravity=(0, 0, -G))
    for k in range(8):
        build.body(f"drop{k}", joint=ph.prismatic("z", name=f"z{k}"), mass=1.0 + k)
        build.contact(f"drop{k}", friction=0.5, name=f"ground{k}")
    table = table_of(build, {f"z{k}": 0.0 if k in (0, 7) else 1.0 for k in range(8)}, rate=200)
    for _ in range(2):
        found = after(table, 4)
        assert {n: round(a.force[2], 6) for n, a in found.items()} == {"ground0": G, "ground7": pytest.approx(8 * G)}
        table.do(1, read('{"do": "reset"}'))


def test_a_picture_has_arrows_for_those_who_asked():
    """Ten float32 each."""
    table = table_of(block())
    table.do("a", read('{"do": "show", "names": ["forces"]}'))
    table.frame()
    table.loop.step(5)
    frame = table.frame()
    sent = np.frombuffer(table.beside("a"), dtype="<f4").reshape(-1, 10)
    assert table.beside("b") == b""
    assert len(frame) == 8 * 8 + 28 * len(table.picture.names)
    assert [table.forces.names[int(k)] for k in sent[:, 0]] == ["ground"]
    np.testing.assert_allclose(sent[0, 1:], [0, 0, 0, 0, 0, 3 * G, 0, 0, 0], rtol=1e-6, atol=1e-6)
    table.do("a", read('{"do": "show", "names": []}'))
    table.frame()
    assert table.beside("a") == b""
    with pytest.raises(KeyError, match="Did you mean"):
        table.do("a", read('{"do": "show", "names": ["froces"]}'))


@pytest.mark.parametrize("how", ["x > 0.02", "t > 0.0082", "command"])
@pytest.mark.parametrize("method", ["rk4", "midpoint"])
def test_what_a_switch_engages_shows_its_impulse_also_within_a_step(method, how):
    """And what is commanded beside such a switch: all that takes its way through Python."""
    build = ph.Builder("sledge", gravity=(0, 0, 0))
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass=2.0)
    build.lock("x", name="lock", active=False)
    build.switch(when="x > 100" if how == "command" else how, engage="lock")
    table = table_of(build, None, [3.0], method=method)
    assert "lock" not in after(table, 5)
    if how == "command":
        table.loop.engage("lock")
    np.testing.assert_allclose(after(table, 10)["lock"].force * 0.01, [-2.0 * 3.0, 0, 0], rtol=1e-9)
    assert "lock" not in after(table, 10)


def test_arrows_are_where_parameters_that_were_changed_have_them():
    """The rod of a pendulum whose tip was moved along it: its force goes through both ends."""
    build = ph.Builder("bar", gravity=(0, 0, -G))
    L, d = ph.symbols("L d")
    build.body("bar", joint=ph.revolute("y", name="a"), mass=1.0, com=(0.1, 0, -0.5), inertia=(0.1, 0.1, 0.1))
    build.marker("tip", body="bar", at=(0, 0, -L))
    build.marker("pin", body="world", at=(1, 0, -1))
    build.loop("pin", "tip", "distance", length=d, name="rod")
    dyn = ph.formulate(build.build()).compile()
    table = Table(realtime(dyn, [0.0], p={"L": 1.0, "d": 1.0}))
    after(table, 5)
    table.loop.p = {"L": 0.8, "d": 1.1}
    after(table, 5)
    arrow = after(table, 1)["rod"]
    assert not table.loop.failure
    tip = dyn.pose("tip")(table.loop.state.q, p=table.loop.p)[:3, 3]
    np.testing.assert_allclose(arrow.at, tip, atol=1e-12)
    np.testing.assert_allclose(np.cross(arrow.force, tip - [1, 0, -1]), 0, atol=1e-9)


def test_what_yields_does_so_by_parameters_that_were_changed():
    build = ph.Builder("ball", gravity=(0, 0, -G))
    k, r = ph.symbols("k r")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=2.0)
    build.contact("ball", radius=r, shape="sphere", stiffness=k, damping=2000, name="soft")
    table = Table(realtime(ph.formulate(build.build()).compile(), [0.098], p={"k": 1e4, "r": 0.1}))
    assert acting(table)["soft"].force[2] > 0
    table.loop.p = {"k": 2e4, "r": 0.2}
    arrow = after(table, 2000)["soft"]
    np.testing.assert_allclose(arrow.force, [0, 0, 2 * G], rtol=1e-6)
    np.testing.assert_allclose(arrow.at, [0, 0, -2 * G / 2e4], rtol=1e-6, atol=1e-12)


@pytest.mark.parametrize("ends", [("hook", "grip"), ("grip", "hook")])
@pytest.mark.parametrize("kind", ["hinge", "cylinder", "parallel"])
def test_a_latch_that_turned_about_its_axis_since_it_engaged(kind, ends):
    """Its force and torque, with the weight, are what changes the momentum of a body that is thrown in space."""
    com, J, m = np.array([0.03, -0.05, 0.02]), np.diag([0.02, 0.05, 0.04]), 1.7
    build = ph.Builder("box", gravity=(0, 0, -G))
    build.body("box", joint=ph.free(name="box"), mass=m, com=com, inertia=np.diag(J))
    build.marker("grip", body="box", at=(0.2, -0.1, 0.15), rpy=(0.3, 0.5, -0.4))
    build.marker("hook", body="world", at=(0, 0, 0.6))
    build.latch(*ends, kind=kind, axis="y", name="latch", active=False)
    table = table_of(build, None, [4.0, -15.0, 3.0, 0, 0, 0], rate=8000)
    dyn, rt = table.loop.dynamics, table.loop

    def momentum():
        X, V = dyn.pose("box")(rt.state.q), dyn.velocity("box")(rt.state.q, rt.state.u)
        R, c = X[:3, :3], X[:3, :3] @ com
        p = m * (V[3:] + np.cross(V[:3], c))
        return np.array([*(np.cross(X[:3, 3] + c, p) + R @ J @ R.T @ V[:3]), *p]), X[:3, 3] + c

    rt.step(10)
    rt.engage("latch")
    rt.step(800)
    before, place = momentum()
    arrow = after(table, 1, every=1)["latch"]
    gained = (momentum()[0] - before) * 8000 - [*np.cross(place, [0, 0, -m * G]), 0, 0, -m * G]
    found = np.array([*(np.cross(arrow.at, arrow.force) + arrow.torque), *arrow.force])
    assert np.linalg.norm(arrow.torque) > 0.01
    np.testing.assert_allclose(found, gained, atol=0.02 * np.abs(gained).max())
