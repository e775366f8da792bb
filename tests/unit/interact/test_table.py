"""What hands, sliders and switches do to a machine, and what is drawn of it."""

from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.interact import State
from polhode.interact.hand import PULL, Hands
from polhode.interact.messages import Message
from polhode.interact.picture import HEAD, Picture
from polhode.interact.table import Table
from tests.live import loop
from tests.unit.view.test_flexible_pictures import moved

WALKER = Path(__file__).parents[3] / "examples" / "walker.toml"


@pytest.fixture
def table(tmp_path):
    return Table(loop(tmp_path))


def settle(table, ticks):
    for _ in range(ticks):
        table.push()
        table.loop.step()


def test_a_hand_brings_a_point_to_where_it_is(table):
    """At rest the spring carries the weight: its force is that of gravity on the arm, by statics."""
    table.do("guest", Message(action="grab", frame=2, point=(0, 0, -0.8)))
    assert not table.loop.dynamics.bias(table.loop.state.q, table.loop.state.u).any()
    settle(table, 5)
    assert np.allclose(table.loop.state.q, 0, atol=1e-9)  # held where it is
    target = np.array([0.9, 0, -1.2])
    table.do("guest", Message(action="drag", point=tuple(target)))
    settle(table, 6000)
    state = table.loop.state
    assert np.abs(state.u).max() < 1e-3
    tip = (table.picture.poses(state)[2] @ [0, 0, -0.8, 1])[:3]
    assert np.linalg.norm(tip - target) < 0.2
    weight = table.loop.dynamics.inverse_dynamics(state.q, 0 * state.u, 0 * state.u)
    assert np.allclose(table.loop.tau, weight, rtol=1e-2, atol=1e-2)
    assert np.abs(weight).max() > 1
    table.do("guest", Message(action="drop"))
    assert not table.loop.tau.any()


def test_the_force_of_a_hand_on_a_free_mass_is_that_of_a_spring_and_a_damper():
    """At the centre of mass: m (w^2 (target - x) - 2 w v), without a moment."""
    build = ph.Builder("ball", gravity=(0, 0, 0))
    build.body("ball", joint=ph.free(), mass=3.0, inertia=(0.1, 0.2, 0.3))
    dyn = ph.formulate(build.build()).compile()
    q = np.array([*dyn.equations.model.neutral()])
    u = np.arange(6) / 10
    state = State(t=0.0, q=q, u=u, z=np.zeros(0))
    hand = Hands(dyn, np.zeros(0)).take("ball", np.zeros(3), state)
    hand.target = np.array([0.1, -0.2, 0.3])
    v = dyn.velocity("ball")(q, u)[3:]
    force = 3.0 * (PULL**2 * hand.target - 2 * PULL * v)
    power = force @ v  # of the force, which is that of what acts on the speeds
    assert hand.forces(state) @ u == pytest.approx(power)
    np.testing.assert_allclose(hand.forces(state), dyn.jacobian("ball")(q)[3:].T @ force, atol=1e-9)


def test_hands_of_two_guests_add_up_and_leave_one_by_one(table):
    for guest, x in (("a", 0.3), ("b", 0.5)):
        table.do(guest, Message(action="grab", frame=1, point=(0, 0, -1)))
        table.do(guest, Message(action="drag", point=(x, 0, -1)))
    table.push()
    both = table.loop.tau
    table.leave("a")
    second = table.loop.tau
    assert np.allclose(both, second * 0.8 / 0.5)
    assert abs(second[0]) > 1
    table.leave("b")
    table.leave("b")
    assert not table.loop.tau.any()


def test_sliders_and_switches(table):
    table.do("guest", Message(action="input", name="shoulder_dot", value=2.0))
    assert table.loop.tau.tolist() == [2.0, 0.0]
    table.do("guest", Message(action="engage", name="brake"))
    assert table.words()["modes"] == {"brake": "engaged"}
    settle(table, 200)
    assert abs(table.loop.state.q[1]) < 1e-9 < abs(table.loop.state.q[0])
    table.do("guest", Message(action="release", name="brake"))
    settle(table, 200)
    assert abs(table.loop.state.q[1]) > 1e-6
    table.do("guest", Message(action="reset"))
    assert table.loop.state.t == 0
    assert not table.loop.tau.any()
    assert table.words()["modes"] == {"brake": "released"}


@pytest.mark.parametrize(
    ("asked", "said"),
    [
        (Message(action="input", name="nothing", value=1), "no input 'nothing'"),
        (Message(action="engage", name="nothing"), "no constraint 'nothing'"),
        (Message(action="speed", value=0), "expected 0.01 to 10"),
        (Message(action="grab", frame=0, point=(0, 0, 0)), "no frame 0"),
        (Message(action="grab", frame=99, point=(0, 0, 0)), "no frame 99"),
        (Message(action="drag", point=(0, 0, 0)), "nothing is held"),
        (Message(action="push", point=(0, 0, 0), grip=True), "no device that a page pushes"),
    ],
)
def test_what_cannot_be_done_is_refused(table, asked, said):
    with pytest.raises((ValueError, KeyError), match=said):
        table.do("guest", asked)
    assert not table.hands


def test_a_guest_has_several_hands_and_each_lets_go_of_its_own(table):
    for hand, frame in ((0, 1), (7, 2)):
        table.do("guest", Message(action="grab", frame=frame, point=(0, 0, -0.5), hand=hand))
        table.do("guest", Message(action="drag", point=(0.3 + hand, 0, -0.5), hand=hand))
    assert table.words()["held"] == ["upper", "lower"]
    both = table.loop.tau
    assert [float(hand.target[0]) for hand in table.hands.values()] == [0.3, 7.3]
    table.do("guest", Message(action="drop", hand=0))
    assert table.words()["held"] == ["lower"]
    assert table.loop.tau.tolist() != both.tolist()
    with pytest.raises(ValueError, match="nothing is held"):
        table.do("guest", Message(action="drag", point=(0, 0, 0)))
    table.do("other", Message(action="grab", frame=1, point=(0, 0, -0.5), hand=7))
    table.leave("guest")
    assert list(table.hands) == [("other", 7)]
    table.leave("other")
    assert not table.loop.tau.any()


def test_a_picture_has_the_state_in_it(table):
    settle(table, 3)
    data, state = table.frame(), table.loop.state
    head = dict(zip(HEAD, np.frombuffer(data, "<f8", len(HEAD)), strict=True))
    assert head["t"] == state.t == pytest.approx(0.003)
    assert head["kinetic"] + head["potential"] == pytest.approx(table.loop.dynamics.energy(state.q, state.u).sum())
    poses = np.frombuffer(data, "<f4", offset=8 * len(HEAD)).reshape(-1, 7)
    assert len(poses) == len(table.picture.names)
    assert np.allclose(poses[1, :3], 0)
    assert np.allclose(poses[2, :3], table.loop.dynamics.pose("lower")(state.q)[:3, 3], atol=1e-6)


def rolled():
    """A disc that falls beside a ball, each with its point of contact."""
    build = ph.Builder("disc and ball", gravity=(0, 0, -9.81))
    build.body("disc", joint=ph.free(), mass=1.0, inertia=(0.1, 0.2, 0.1))
    build.body("ball", joint=ph.free(), mass=1.0, inertia=(0.1, 0.1, 0.1))
    build.contact("disc", shape="disc", radius=0.5, axis="y", name="rim")
    build.contact("ball", shape="sphere", radius=0.2, name="skin")
    dyn = ph.formulate(build.build()).compile()
    q0, u0 = dyn.equations.model.neutral(), np.linspace(0.2, 1, 12)
    q0[[dyn.equations.model.coordinates.index(f"{name}_z") for name in ("disc", "ball")]] = 3.0
    return ph.simulate(dyn, q0, u0, 0.2)


@pytest.mark.parametrize("motion", [lambda: moved()[0], rolled], ids=["bent", "rolled"])
def test_frames_of_a_state_are_those_of_the_scene_of_a_motion(motion):
    """Sections of bodies that deform, and points of contact, as a page of the whole motion has them."""
    traj = motion()
    whole = traj.scene()
    first, *_, last = (
        State(t=t, q=q, u=u, z=np.zeros(0))
        for t, q, u in zip(whole.t, *traj.at(whole.t), strict=True)
    )  # fmt: skip
    picture = Picture(traj.dynamics, np.zeros(0), first)
    assert picture.names == whole.bodies
    assert len(picture.names) > len(traj.dynamics.equations.model.merged().bodies) + 1
    np.testing.assert_allclose(picture.poses(last), whole.poses[-1], atol=1e-12)
    assert np.abs(whole.poses[-1] - whole.poses[0]).max() > 0.1
    owned = {part["owner"] for part in picture.description()["parts"]} - {None}
    assert owned == {c.name for c in traj.dynamics.equations.model.constraints}


def test_a_machine_at_rest_is_seen_from_where_its_motion_shows():
    """A mast on a cart moves and bends along one axis, whichever it is; seen along that axis, nothing would be seen."""
    for axis in "xy":
        build = ph.Builder("mast")
        build.body("cart", joint=ph.prismatic(axis, name="s"), mass=1.0)
        strip = ph.beam(length=0.8, mu=0.94, EI_z=4.0, modes=2, damping=0.02, axis="z", across=axis)
        build.body("mast", parent="cart", joint=ph.weld(), flexible=strip)
        dyn = ph.formulate(build.build()).compile()
        picture = Picture(dyn, np.zeros(0), State(t=0.0, q=np.zeros(3), u=np.zeros(3), z=np.zeros(0)))
        right, _, _ = picture.scene.view.axes()
        assert abs(right["xy".index(axis)]) > 0.5


def test_sliders_go_as_far_as_suits_the_machine():
    """10 m/s^2 or rad/s^2 of the speed alone, to a digit; the limits of a control."""
    build = ph.Builder("light and heavy", gravity=(0, 0, 0))
    build.body("light", joint=ph.revolute("z", name="a"), mass=1e-3, inertia=(1e-6, 1e-6, 2e-6))
    build.body("heavy", joint=ph.prismatic("x", name="x"), mass=2300)
    build.motor("motor", inertia=1e-4, lower=-5, upper=24).drives({"x": 1})
    table = Table(ph.realtime(ph.formulate(build.build()).compile()))
    speeds = {"a_dot": (-2e-5, 2e-5), "x_dot": (-20000.0, 20000.0), "motor_dot": (-0.001, 0.001)}
    assert table.ranges == speeds | {"motor": (-5.0, 24.0)}
    assert table.description()["ranges"] == table.ranges


def test_pins_of_contacts_that_are_springs_belong_to_no_constraint():
    dyn = ph.formulate(ph.load(WALKER)).compile()
    q, u = dyn.equations.model.neutral(), np.zeros(len(dyn.equations.u))
    for height in (0.0, 5.0):  # on the ground, and above it
        q[dyn.equations.model.coordinates.index("top_z")] = height
        picture = Picture(dyn, np.zeros(0), State(t=0.0, q=q, u=u, z=np.zeros(len(dyn.equations.z))))
        assert {part["owner"] for part in picture.description()["parts"]} == {None}
