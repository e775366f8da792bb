"""The graph of modes as a page has it: what there is, what leads on, what was seen and how often."""

from pathlib import Path

import numpy as np
import pytest

import polhode as ph
from polhode.formats import load
from polhode.interact.messages import Message
from polhode.interact.modegraph import KEPT, ModeGraph
from polhode.interact.table import Table

EXAMPLES = Path(__file__).parents[3] / "examples"


def clutch(speed=8.0):
    build = ph.Builder("shafts", gravity=(0, 0, 0))
    for name in ("motor", "wheel"):
        build.body(name, joint=ph.revolute("x", name=name), mass=1, inertia=(0.02, 0.02, 0.02))
    build.clutch("motor_dot", "wheel_dot", name="clutch", capacity=0.5, active=False)
    return ph.realtime(ph.formulate(build.build()).compile(), None, {"motor_dot": speed}, record=False)


def test_the_modes_and_what_leads_on_are_those_of_the_automaton():
    loop = ph.realtime(ph.formulate(load(EXAMPLES / "cart.toml")).compile(), record=False)
    graph, made = Table(loop).graph.description(), loop.dynamics.automaton()
    assert graph["whole"]
    assert graph["many"] == len(made.modes) == 8
    assert graph["words"] == {name: ["released", "engaged"] for name in made.modes[0].words}
    leads = {(a, b): why for a, b, why in graph["leads"]}
    for edge in made.transitions:
        before, after = (made.modes[k].words[edge.constraint] for k in (edge.start, edge.end))
        assert leads[before, after] == edge.why


def test_what_happens_is_counted_once_whoever_looks_and_however_often():
    """A clutch that is engaged slips until both turn alike, at 0.02 * 4 / 0.5 s, and holds then."""
    loop = clutch()
    table = Table(loop)
    table.graph.seen()
    table.do("guest", Message(action="engage", name="clutch"))
    loop.step(100)
    table.words()
    assert table.words()["seen"]["modes"] == [[0, 1], [table.graph.words["clutch"].index("slips"), 1]]
    loop.step(100)
    found = table.words()["seen"]
    at = {row[0]: row[1] for row in found["modes"]}
    words = found["words"]["clutch"]
    assert {words[k]: n for k, n in at.items()} == {"released": 1, "slips": 1, "holds": 1}
    assert found["ways"] == [[0, 1, 1], [1, 2, 1]]
    holds = next(e.t for e in loop.events if e.mode["clutch"] == "holds")
    assert holds == pytest.approx(0.16, abs=2e-3)
    table.do("guest", Message(action="release", name="clutch"))
    table.do("guest", Message(action="engage", name="clutch"))
    found = table.words()["seen"]
    assert sum(n for *_, n in found["modes"]) == 5
    assert sum(n for *_, n in found["ways"]) == 4
    table.do("guest", Message(action="reset"))
    assert table.words()["seen"]["modes"] == [[0, 1]]


def test_a_reset_by_somebody_else_is_noticed():
    loop = clutch()
    graph = ModeGraph(loop, ("clutch",))
    loop.engage("clutch")
    loop.step(10)
    assert len(graph.seen()["modes"]) == 2
    loop.reset()
    assert graph.seen() == {"words": graph.words, "modes": [[0, 1]], "ways": []}


def test_many_modes_are_not_all_kept():
    """Of 2^8 modes those are kept that came first, and nothing is said of ways to others."""
    build = ph.Builder("many", gravity=(0, 0, 0))
    for k in range(8):
        build.body(f"b{k}", joint=ph.revolute("x", name=f"a{k}"), mass=1, inertia=(1, 1, 1))
        build.lock(f"a{k}", name=f"lock {k}", active=False)
    loop = ph.realtime(ph.formulate(build.build()).compile(), record=False)
    graph = Table(loop).graph
    assert not graph.description()["whole"]
    assert graph.description()["many"] == 256
    rng = np.random.default_rng(0)
    for k in rng.integers(8, size=150):
        name = f"lock {k}"
        (loop.engage if loop.mode[name] == "released" else loop.release)(name)
        found = graph.seen()
    assert len(found["modes"]) == KEPT
    assert all(a < KEPT and b < KEPT for a, b, _ in found["ways"])


def test_a_machine_without_constraints_has_no_graph():
    build = ph.Builder("mass")
    build.body("mass", joint=ph.prismatic("x", name="x"), mass=2)
    graph = Table(ph.realtime(ph.formulate(build.build()).compile(), record=False)).graph
    assert graph.description()["words"] == {}
    assert not graph.description()["whole"]
    assert graph.seen()["ways"] == []
