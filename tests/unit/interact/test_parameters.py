"""Parameters set from a page: the loop, the picture and the hands follow."""

import numpy as np
import pytest

import polhode as ph
from polhode.interact.messages import Message
from polhode.interact.table import Table


def swing(p, q0=0.5):
    """A point mass m on a rod of length L."""
    build = ph.Builder("swing", gravity=(0, 0, -9.81))
    L, m = ph.symbol("L"), ph.symbol("m")
    build.body("rod", joint=ph.revolute("y", name="a"), mass=m, com=(0, 0, -L), inertia=(0, 0, 0))
    build.body("end", parent="rod", at=(0, 0, -L), joint=ph.revolute("y", name="b"), mass=0.1, inertia=(1, 1, 1))
    return Table(ph.realtime(ph.formulate(build.build()).compile(), [q0, 0.0], p=p))


@pytest.fixture
def table():
    return swing({"L": 0.5, "m": 2.0})


def put(table, name, value):
    table.do("guest", Message(action="parameter", name=name, value=value))


def test_all_that_is_shown_and_pulled_follows(table):
    """As if the machine had been made with the value."""
    table.do("guest", Message(action="grab", frame=1, point=(0, 0, -0.3)))
    table.hands["guest", 0].target = np.array([0.3, 0.0, 0.1])
    put(table, "L", 0.8)
    put(table, "m", 3.0)
    other = swing({"L": 0.8, "m": 3.0})
    other.do("guest", Message(action="grab", frame=1, point=(0, 0, -0.3)))
    other.hands["guest", 0].target = np.array([0.3, 0.0, 0.1])
    state = table.loop.state
    assert np.allclose(table.picture.poses(state), other.picture.poses(state))
    assert table.picture.energy(state) == pytest.approx(other.picture.energy(state))
    assert np.allclose(table.hands["guest", 0].forces(state), other.hands["guest", 0].forces(state))
    table.do("guest", Message(action="drop"))
    other.do("guest", Message(action="drop"))
    table.loop.step(300)
    other.loop.step(300)
    assert np.array_equal(table.loop.state.q, other.loop.state.q)
    assert abs(table.loop.state.q[0] - 0.5) > 0.05
    assert table.words()["parameters"] == {"L": 0.8, "m": 3.0}
    assert table.description()["parameters"] == {"L": 0.5, "m": 2.0}  # what a double click goes back to


def test_they_stay_as_set_over_a_reset(table):
    put(table, "m", 3.0)
    table.loop.step(10)
    table.do("guest", Message(action="reset"))
    assert table.loop.state.q[0] == 0.5
    assert table.loop.p.tolist() == [*table.parameters.p] == [0.5, 3.0]


@pytest.mark.parametrize(
    ("name", "value", "said"), [("l", 1.0, "no parameter 'l'"), ("L", 0.0, "no mass"), ("m", -9.0, "mass")]
)
def test_what_cannot_be_is_refused_and_nothing_changes(table, name, value, said):
    with pytest.raises((KeyError, ValueError), match=said):
        put(table, name, value)
    assert table.loop.p.tolist() == [0.5, 2.0]
    assert table.words()["parameters"] == {"L": 0.5, "m": 2.0}


def test_a_bound_of_the_model_is_said():
    build = ph.Builder("ball")
    build.body("ball", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("ball", restitution="e", name="ground")
    table = Table(ph.realtime(ph.formulate(build.build()).compile(), [1.0], p={"e": 0.5}))
    with pytest.raises(ValueError, match=r"With e = 1\.5"):
        put(table, "e", 1.5)
    assert table.loop.p.tolist() == [0.5]
    put(table, "e", 0.25)
    assert table.loop.p.tolist() == [0.25]
