"""Figures, pages and films: what is on them, and that nothing hides anything else."""

import base64
import json
import re
import sys
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.trajectory import Outcome, Trajectory
from polhode.view import Curve, figure
from polhode.view.layout import build

FigureCanvasAgg = pytest.importorskip("matplotlib.backends.backend_agg").FigureCanvasAgg


def still(model, q, t, finished=True, tau=0.0, **values):
    """A motion through given coordinates, evenly where they are as many as the speeds."""
    dyn = ph.formulate(model).compile(values=values)
    u = np.zeros((len(t), len(dyn.equations.u)))
    if len(t) > 1 and q.shape == u.shape:
        u = np.gradient(q, t, axis=0)
    outcome = Outcome(finished=finished, reason="Stopped at t = 1 s: 'elbow' went too far.", time=float(t[-1]))
    return Trajectory(dynamics=dyn, t=t, q=q, u=u, tau=0 * u + tau, outcome=outcome)


@cache
def double():
    """A double pendulum in the plane y up, with a length as parameter."""
    L = ph.symbol("L")
    build = ph.Builder("double </script><b>", gravity=(0, -9.81, 0))
    build.body("upper", joint=ph.revolute("z", name="shoulder"), mass=1, com=(L / 2, 0, 0))
    build.body("lower", parent="upper", at=(L, 0, 0), joint=ph.revolute("z", name="elbow"), mass=1, com=(L, 0, 0))
    t = np.linspace(0, 1, 11)
    return still(build.build(), np.stack([-1.5 - t, 2 * t], axis=1), t, finished=False, tau=1.0, L=0.5)


def scene_in(text):
    data = json.loads(re.search(r"const scene = (\{.*\});", text)[1])
    points = np.frombuffer(base64.b64decode(data["points"]), dtype="<f4").reshape(-1, data["count"], 3)
    return data, points


def test_default_panels(tmp_path):
    fig = double().plot(path=tmp_path / "all.svg")
    titles = [ax.get_title(loc="left") for ax in fig.axes]
    assert titles == ["Angles [rad]", "Angular speeds [rad/s]", "Torques [N m]", "Energy [J]", "Energy drift [J]"]
    assert [line.get_label() for line in fig.axes[0].lines] == ["shoulder", "elbow"]
    text = (tmp_path / "all.svg").read_text()
    assert "went too far" in text
    assert (tmp_path / "all.svg").stat().st_size > 10_000


def test_chosen_panels_and_files(tmp_path):
    for ending in ("png", "pdf"):
        fig = double().plot("elbow", path=tmp_path / f"one.{ending}")
        assert (tmp_path / f"one.{ending}").stat().st_size > 1000
    assert [ax.get_title(loc="left") for ax in fig.axes] == ["Angles: elbow [rad]"]
    with pytest.raises(KeyError, match="Did you mean 'elbow'"):
        double().plot(["elbo"])
    with pytest.raises(ValueError, match=r"expected a name that ends in \.png"):
        double().plot(path=tmp_path / "one.txt")


def test_many_curves_are_divided_and_nothing_overlaps(tmp_path):
    t = np.linspace(0, 1, 5)
    many = [Curve(name=f"joint {k}", values=k * t, quantity="Angles", unit="rad", side=k % 2) for k in range(14)]
    many += [Curve(name=f"more {k}", values=k * t, quantity="Speeds", unit="m/s", section=1) for k in range(60)]
    fig = figure(t, many, "many", "and a note", tmp_path / "many.png")
    assert max(len(ax.lines) for ax in fig.axes) <= 6
    shown = [line.get_label() for ax in fig.axes for line in ax.lines]
    assert len(shown) == 14 + 36
    assert "more 59" in shown
    assert "more 1" not in shown
    renderer = FigureCanvasAgg(fig).get_renderer()
    boxes = [ax.get_window_extent(renderer) for ax in fig.axes]
    boxes += [ax.get_legend().get_window_extent(renderer) for ax in fig.axes]
    for i, a in enumerate(boxes):
        assert not any(a.overlaps(b) for b in boxes[:i])


def test_the_page_has_the_motion_and_needs_no_network(tmp_path):
    path = double().animate(tmp_path / "run.html")
    text = path.read_text()
    assert "http" not in text
    assert text.count("</script>") == 1
    assert "<b>" not in text
    data, points = scene_in(text)
    assert data["title"] == "double </script><b>"
    assert data["alarm"]
    assert data["duration"] == 1
    # gravity points down, bars keep their length and end at the elbow and the tip
    (a, b, _), (c, d, _) = data["bars"]
    for i, j in ((a, b), (c, d)):
        assert np.allclose(np.linalg.norm(points[:, i] - points[:, j], axis=1), 0.5, atol=1e-6)
    assert np.allclose(points[:, b], points[:, c], atol=1e-6)
    assert data["trails"]
    assert data["mounts"] == [[1, True]]
    angle = -1.5 - np.linspace(0, 1, len(points))
    assert np.allclose(points[:, b, [0, 2]], 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), atol=1e-4)
    assert abs(data["yaw"]) < 1e-6
    assert data["pitch"] < 0.2


def scene_of(model, q, t=(0.0,)):
    traj = still(model, np.atleast_2d(q), np.array(t))
    bodies = [body.name for body in model.bodies]
    return build(model, {name: traj.pose(name) for name in bodies}, {}, traj.t)


def test_bodies_without_bars_are_boxes():
    make = ph.Builder("brick")
    make.body("brick", joint=ph.free(quaternion=True), mass=12, inertia=(13, 10, 5))  # 1 x 2 x 3
    scene = scene_of(make.build(), [1, 0, 0, 0, 0, 0, 5])
    corners = scene.points[0, scene.boxes[0][0]]
    assert np.allclose(np.sort(np.ptp(corners, axis=0)), [1, 2, 3])
    assert not scene.mounts
    assert scene.floor == 0


def test_loops_wheels_and_springs():
    make = ph.Builder("parts")
    make.body("wheel", joint=ph.planar("z"), at=(0, 0, 0.3), mass=1, inertia=(1, 1, 1))
    make.body("rod", joint=ph.revolute("y"), mass=1, com=(0.5, 0, 0), inertia=(0, 1 / 12, 1 / 12))
    make.marker("end", body="rod", at=(1, 0, 0))
    make.marker("wall", body="world", at=(1, 0, 0))
    make.spring("wall", "wheel", stiffness=1, length=0)
    make.rolling("wheel", radius=0.3)
    make.loop("end", "wall", name="close")
    scene = scene_of(make.build(), np.zeros(4))
    ring = scene.points[0, scene.rings[0][0]]
    assert np.allclose(np.linalg.norm(ring - [0, 0, 0.3], axis=1), 0.3)
    assert np.allclose(ring[:, 1], 0)
    assert len(scene.springs) == len(scene.knots) == len(scene.rods) - 1 == 1
    assert len(scene.mounts) == 1
    assert [scene.points[0, b].tolist() for _, b, _ in scene.bars] == [[1, 0, 0]]  # the slender rod ends at its marker


def test_films(tmp_path):
    image = pytest.importorskip("PIL.Image")
    with image.open(double().animate(tmp_path / "run.gif", fps=5)) as film:
        assert film.n_frames == 6
        assert film.size == (640, 480)
        first = np.asarray(film.convert("RGB"), dtype=int)
        film.seek(5)
        assert np.abs(np.asarray(film.convert("RGB"), dtype=int) - first).max() > 100  # it moved
    with pytest.raises(ValueError, match=r"ends in \.html, \.htm, \.gif, \.mp4"):
        double().animate(tmp_path / "run.avi")


def test_missing_programs_say_what_to_install(monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(FileNotFoundError, match="ffmpeg is not installed"):
        double().animate(tmp_path / "run.mp4")
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    with pytest.raises(ModuleNotFoundError, match=r"needs matplotlib.*pip install polhode\[plot\]"):
        double().plot()


def test_reactions_are_forces_or_moments_and_zeros_are_left_out():
    t, a = ph.symbols("t a")
    make = ph.Builder("cantilever")
    make.body("arm", joint=ph.free(), mass=1, com=(1, 0, 0), inertia=(1, 1, 1))
    make.body("motor", joint=ph.revolute("y", name="a"), mass=1, com=(1, 0, 0))
    make.loop("world", "arm", "weld", name="wall")
    make.constraint(a - 2 * t, name="drive")
    dyn = ph.formulate(make.build()).compile()
    state = ph.assemble(dyn)
    fig = ph.simulate(dyn, *state, t_end=1.0, reacting=True).plot()
    panels = {ax.get_title(loc="left"): ax for ax in fig.axes}
    assert [line.get_label() for line in panels["Reaction moments [N m]"].lines] == [
        "reaction wall.turn y",
        "reaction drive",
    ]
    assert "Reaction forces: reaction wall.z [N]" in panels
    assert not panels["Energy drift [J]"].texts


def test_what_the_balance_of_energy_leaves_out_is_said():
    make = ph.Builder("damped")
    make.body("bob", joint=ph.revolute("y", name="a", damping=1), mass=1, com=(1, 0, 0))
    counted = ph.simulate(ph.formulate(make.build()).compile(), t_end=10.0, output=1.0)
    for traj, words in ((counted, []), (replace(counted, work_done=None), ["Outputs"])):  # of a file, for instance
        drift = next(ax for ax in traj.plot().axes if "drift" in ax.get_title(loc="left"))
        assert [text.get_text().split()[0] for text in drift.texts] == words


def test_tolerance_is_no_motion():
    t = np.linspace(0, 1, 50)
    steady, moving = 3 + 1e-10 * np.sin(9 * t), 3 + 1e-4 * np.sin(9 * t)
    for values, wide in ((steady, True), (moving, False)):
        fig = figure(t, [Curve(name="a", values=values, quantity="Speeds", unit="m/s")])
        assert (np.ptp(fig.axes[0].get_ylim()) > 1) == wide


def test_a_link_that_closes_a_ring_is_a_rod_like_the_others():
    make = ph.Builder("ring")
    rod = {"mass": 1, "com": (0.25, 0, 0), "inertia": (0.01, 0.03, 0.03), "joint": ph.spherical()}
    make.body("a", **rod)
    make.body("b", parent="a", at=(0.5, 0, 0), **rod)
    make.marker("end", body="b", at=(0.5, 0, 0))
    make.marker("wall", body="world", at=(1, 0, 0))
    make.loop("wall", "end", "point")
    scene = scene_of(make.build(), np.zeros(6))
    assert not scene.boxes
    assert [scene.points[0, k].tolist() for _, k, _ in scene.bars] == [[0.5, 0, 0], [1, 0, 0]]


def test_solids_of_made_up_inertias_hide_nothing():
    make = ph.Builder("cubes")
    unit = {"mass": 1, "inertia": (1, 1, 1)}  # 2.4 m
    make.body("a", joint=ph.revolute("y"), **unit)
    make.body("b", parent="a", at=(0, 0, 1), joint=ph.spherical(), **unit)
    make.body("ball", joint=ph.free(), at=(0.5, 0, 0.2), **unit)
    make.rolling("ball", radius=0.2, shape="sphere")
    scene = scene_of(make.build(), np.zeros(10))
    ((corners, owner),) = scene.boxes
    assert owner == 1
    assert np.ptp(scene.points[0, corners], axis=0).max() < 0.5
    ((centre, radius, _),) = scene.balls
    assert radius == 0.2
    assert np.allclose(scene.points[0, centre], [0.5, 0, 0.2])


def test_an_arm_that_falls_below_its_base_stands_on_a_post():
    make = ph.Builder("arm")
    make.body("turret", at=(0, 0, 0.1), joint=ph.revolute("z"), mass=1, inertia=(1, 1, 1))
    make.body("arm", parent="turret", joint=ph.revolute("y"), mass=1, com=(0.5, 0, 0))
    make.marker("tool", body="arm", at=(1, 0, 0))
    scene = scene_of(make.build(), [[0, 0], [0, np.pi / 2]], (0.0, 1.0))
    assert scene.floor < -0.9
    ((foot, top),) = scene.posts
    assert np.allclose(scene.points[:, foot], [0, 0, scene.floor])
    assert np.allclose(scene.points[:, top], [0, 0, 0.1])
    assert [hangs for _, hangs in scene.mounts] == [False]
