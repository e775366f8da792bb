"""Runs with switches, drawn: marks, lines and strips on figures, what is there only while it acts."""

import json
import re
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.trajectory import Event
from polhode.view import page
from polhode.view.film import ROW, _Canvas
from polhode.view.scene import is_there, sag
from polhode.view.timeline import draw_lines

FigureCanvasAgg = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg


@cache
def tethered():
    """A bob in the plane, on a rope, over a tilted ground; it can be hooked."""
    build = ph.Builder("tethered", gravity=(0, 0, -9.81))
    build.body("along", joint=ph.prismatic("x", name="x"), mass=0)
    build.body("bob", parent="along", joint=ph.prismatic("z", name="z"), mass=3)
    build.marker("slope", body="world", at=(0, 0, -1.2), rpy=(0, 0.2, 0))
    build.rope("world", "bob", length=1.5, name="rope")
    build.contact("bob", "slope", friction=0.2, restitution=0.5, name="ground")
    build.latch("world", "bob", "distance", name="hook", active=False)
    build.stop("x", lower=-2, upper=2, name="walls")
    dyn = ph.formulate(build.build()).compile()
    return ph.simulate(
        dyn, {"x": 0.9, "z": -0.2}, None, 2.0, switches=[ph.at(0.1, engage="hook"), ph.at(0.3, release="hook")]
    )


def test_marks_are_the_events_unless_others_are_given():
    traj = tethered()
    scene = traj.scene()
    assert [t for t, _ in scene.marks] == traj.events.times[1:].tolist()
    assert scene.newest(0.15).startswith("at 0.1 s: hook engaged")
    bounced = next(text for _, text in scene.marks if "ground" in text)
    assert re.fullmatch(r"closes: ground bounces, [\d.]+ J lost", bounced)
    assert traj.scene(marks=()).marks == ()


def test_what_holds_is_below_the_machine():
    """Every constraint that changed has a band, on pages and in films, whose pieces follow one another to the end."""
    traj = tethered()
    scene = traj.scene(fps=20)
    assert [name for name, _ in scene.bands] == ["rope", "ground", "hook"]
    for name, pieces in scene.bands:
        assert pieces[0][0] == 0
        assert pieces[-1][1] == 2
        assert [a for a, _, _ in pieces[1:]] == [b for _, b, _ in pieces[:-1]]
        for t, word in zip(traj.t, traj.mode[name], strict=True):
            assert word in [w for a, b, w in pieces if a <= t <= b]
    written = json.loads(re.search(r"const scene = (\{.*\});", page(scene)).group(1))
    assert written["bands"][2] == ["hook", [[0, 0.1, "released"], [0.1, 0.3, "engaged"], [0.3, 2, "released"]]]
    ax = scene.picture(0.2).axes[0]
    assert {"rope", "ground", "hook"} <= {text.get_text() for text in ax.texts}


def test_what_happened_is_said_for_as_long_as_it_takes_to_read_it():
    scene = tethered().scene(marks=[(0.0, "begins")])
    assert [scene.newest(t) for t in (0.0, 2.4, 2.6)] == ["begins", "begins", ""]


def test_what_acts_is_there_while_it_acts():
    traj = tethered()
    scene = traj.scene()
    line = next(tie for tie in scene.ties if tie.kind == "line")
    assert [is_there(line, t) for t in (0.05, 0.2, 0.35)] == [False, True, False]
    pins = [shape for shape in scene.shapes if shape.kind == "pin"]
    foot = scene.bodies.index("foot of ground")
    touching = next(shape for shape in pins if shape.body == foot)
    closed = np.isin(traj.mode["ground"], ("slides", "sticks"))
    assert 0 < closed.sum() < len(traj)
    inside = np.abs(traj.t[:, None] - traj.events.times).min(axis=1) > 1e-9
    assert [is_there(touching, t) for t in traj.t[inside]] == closed[inside].tolist()
    # the ground is a plate, as it is tilted, and walls stand at both ends
    assert sum(shape.kind == "box" and shape.role == "stand" for shape in scene.shapes) == 3
    written = json.loads(re.search(r"const scene = (\{.*\});", page(scene)).group(1))
    assert [part["when"] for part in written["parts"] if part["kind"] == "line"] == [[[0.1, 0.3]]]


def test_a_rope_hangs_and_is_taut():
    assert sag(2.0, 0.0) == 1.0  # folded
    assert sag(2.0, 2.0) == 0.0
    # the length of the parabola is that of the rope
    for apart in (0.5, 1.0, 1.9):
        s = np.linspace(0, 1, 10_001)
        y = 4 * sag(2.0, apart) * s * (1 - s)
        assert np.hypot(np.diff(apart * s), np.diff(y)).sum() == pytest.approx(2.0, rel=0.05)
    rope = next(tie for tie in tethered().scene().ties if tie.kind == "rope")
    assert rope.size[0] == 1.5


def test_figures_have_lines_at_events_and_a_strip(tmp_path):
    traj = tethered()
    fig = traj.plot(path=tmp_path / "run.svg")
    strips = [ax for ax in fig.axes if ax.get_title(loc="left") == "What holds"]
    assert len(strips) == 1
    assert [label.get_text() for label in strips[0].get_yticklabels()] == ["rope", "ground", "hook"]
    first = fig.axes[0]
    drawn = [line.get_xdata()[0] for line in first.lines if line.get_label().startswith("_")]
    assert drawn == traj.events.times[1:].tolist()
    words = [text.get_text().strip() for text in first.texts]
    assert words[0] == "at 0.1 s"
    assert len(words) <= len(drawn)
    assert not fig.axes[1].texts  # each event has its word once
    renderer = FigureCanvasAgg(fig).get_renderer()
    boxes = [ax.get_window_extent(renderer) for ax in fig.axes]
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[:i])


def test_chosen_strips_and_units_of_reactions():
    fig = tethered().plot(["z", "hook"])
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Positions: 'z' [m]", "What holds"]
    assert [label.get_text() for label in fig.axes[1].get_yticklabels()] == ["hook"]
    build = ph.Builder("wheel", gravity=(0, 0, 0))
    build.body("wheel", joint=ph.revolute("z", name="a"), mass=1, inertia=(1, 1, 2))
    build.brake("a_dot", name="brake")
    build.stop("a", upper=1, name="end")
    traj = ph.simulate(ph.formulate(build.build()).compile(), t_end=1.0, tau={"a_dot": 1.0}, reacting=True)
    titles = [ax.get_title(loc="left") for ax in traj.plot().axes]
    assert any(title.startswith("Reaction moments") and title.endswith("[N m]") for title in titles)


def test_rotors_on_one_axis_are_wheels_side_by_side_in_colours_of_their_own():
    build = ph.Builder("drill", gravity=(0, 0, 0))
    for name, inertia in (("motor", 0.01), ("chuck", 0.02)):
        build.body(name, joint=ph.revolute("z", name=name), mass=1, inertia=(inertia,) * 3)
    build.clutch("motor_dot", "chuck_dot", name="clutch", active=False)
    scene = ph.simulate(ph.formulate(build.build()).compile(), u0={"motor_dot": 1.0}, t_end=1.0).scene()
    motor, chuck = (shape for shape in scene.shapes if shape.kind == "wheel")
    apart = chuck.pose[:3, 3] - motor.pose[:3, 3]
    assert apart[:2] == pytest.approx([0, 0])
    assert abs(apart[2]) > motor.size[1]
    assert not any(shape.kind == "box" for shape in scene.shapes)
    assert scene.depths[motor.body] != scene.depths[chuck.body]


def test_one_plate_is_under_all_feet():
    """Two bobs 3 m apart on one slope, both above its only plate."""
    build = ph.Builder("two")
    build.marker("slope", body="world", rpy=(0, 0.2, 0))
    for name, x in (("a", -1.5), ("b", 1.5)):
        build.body(name, joint=ph.prismatic("z", name=name), at=(x, 0, 0.6), mass=1)
        build.contact(name, "slope", name=f"ground {name}")
    run = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.8)
    scene = run.scene(fps=10)
    (plate,) = [s for s in scene.shapes if s.kind == "box" and s.role == "stand"]
    for name in ("a", "b"):
        seen = np.linalg.inv(plate.pose) @ scene.poses[-1, scene.bodies.index(name)] @ [0, 0, 0, 1]
        assert (np.abs(seen[:2]) < np.array(plate.size[:2]) / 2).all()


def test_the_strip_of_a_film_is_below_all_that_is_drawn():
    """A bob that falls from 3 m, with as many bands as a strip may have."""
    build = ph.Builder("fall")
    build.body("bob", joint=ph.prismatic("z", name="z"), mass=1)
    build.contact("bob", name="ground")
    run = ph.simulate(ph.formulate(build.build()).compile(), {"z": 3.0}, t_end=1.0)
    scene = run.scene(fps=10)
    scene = replace(scene, bands=scene.bands * 10)
    film = _Canvas(scene)
    heights = [film.project(points, film.center)[0][:, 1] for points in scene.points]
    assert 10 + ROW * 10 < np.min(heights) < np.max(heights) < film.height


def test_what_comes_to_rest_and_slides_on_does_not_stick():
    held = {"a": "slides", "b": "sticks"}
    event = {"time": 1.0, "why": "sticks", "mode": held}
    assert Event(**event, what=("a",)).short == "comes to rest: a slides on"
    assert Event(**event, what=("b",)).short == "sticks: b sticks"
    assert Event(**event, what=("a", "b")).short == "sticks: a slides, b sticks"


@pytest.mark.parametrize("times", [10, 40])
def test_every_event_that_has_room_has_its_word_unless_there_are_many(times: int) -> None:
    from matplotlib.figure import Figure

    t = np.linspace(0, 10, 101)
    events = [(10 * (k + 0.5) / times, "closes" if k % 2 else "opens") for k in range(times)]
    ax = Figure().add_subplot()
    ax.plot(t, t)
    draw_lines(ax, t, [*events[:4], (events[3][0] + 0.01, "slips"), *events[4:]], labelled=True)
    words = [text.get_text().strip() for text in ax.texts]
    assert words == ([word for _, word in events] if times == 10 else ["opens", "closes", "slips"])
    assert len(ax.lines) == times + 2
