"""What a page watches is told to it, and to no other."""

import json

import pytest

from polhode.interact.messages import Message
from polhode.interact.quantities import MOST
from polhode.interact.table import Table
from tests.live import loop


@pytest.fixture
def table(tmp_path):
    return Table(loop(tmp_path, [0.6, 0.4]))


def watch(table, guest, *names):
    table.do(guest, Message(action="watch", names=names))


def test_values_are_those_of_the_picture(table):
    watch(table, "a", "elbow_dot", "input shoulder_dot", "total energy", "shoulder")
    watch(table, "b", "lateness")
    table.do("a", Message(action="input", name="shoulder_dot", value=2.5))
    table.loop.step(200)
    table.frame()
    state, seen = table.loop.state, table.quantities.seen_by("a")
    assert seen["t"] == state.t == pytest.approx(0.2)
    assert seen["values"] == [state.u[1], 2.5, pytest.approx(sum(table.picture.energy(state))), state.q[0]]
    assert table.quantities.seen_by("b")["values"][0] > 0
    assert table.quantities.seen_by("c") is None
    table.leave("a")
    assert table.quantities.seen_by("a") is None
    watch(table, "b")
    assert table.quantities.seen_by("b") is None


def test_lateness_goes_on_after_a_reset(table):
    watch(table, "a", "lateness")
    table.loop.step(50)
    table.frame()
    table.do("a", Message(action="reset"))
    table.loop.step(3)
    table.frame()
    assert table.quantities.seen_by("a")["values"][0] > 0


def test_numbers_that_are_none_are_null(table):
    watch(table, "a", "kinetic energy")
    table.quantities.take(table.loop.state, (float("nan"), 1.0))
    assert json.dumps(table.quantities.seen_by("a")) == '{"t": 0.0, "values": [null]}'


def test_what_cannot_be_watched_is_said(table):
    with pytest.raises(KeyError, match="elbow"):
        watch(table, "a", "elbo")
    with pytest.raises(ValueError, match="each once"):
        watch(table, "a", "elbow", "elbow")
    with pytest.raises(ValueError, match=f"up to {MOST}"):
        watch(table, "a", *table.quantities.names[: MOST + 1])
    assert table.quantities.seen_by("a") is None
    assert table.description()["quantities"]["Speeds"] == ["shoulder_dot", "elbow_dot"]
