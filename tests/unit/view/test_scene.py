"""Scenes, pages and films: shapes at the poses of their bodies, and what is drawn for which machine."""

import base64
import dataclasses
import html
import json
import re
from functools import cache

import numpy as np
import pytest

import polhode as ph
from polhode.model.grow import grow
from polhode.view import Shape, page, save
from polhode.view.layout import build
from tests.mechanics import random_state
from tests.motions import double, still


def scene_of(model, q, t=(0.0,), **words):
    traj = still(model, np.atleast_2d(q), np.array(t))
    bodies = [body.name for body in model.merged().bodies]
    return build(model, {name: traj.pose(name) for name in bodies}, {}, traj.t, **words)


def of(scene, *kinds, role=None):
    return [part for part in scene.parts if part.kind in kinds and role in (None, part.role)]


def at(scene, part, frame=0):
    """The points of a part as drawn."""
    first = sum(len(p.points) for p in scene.parts[: scene.parts.index(part)])
    return scene.points[frame, first : first + len(part.points)]


def ends(scene, *kinds, role=None):
    return [at(scene, part)[1] for part in of(scene, *kinds, role=role)]


# where shapes are


def scrambled(scale=1.0, gravity=(3, -7, 2)):
    """A tilted base, joints with quaternions, welds in the middle and at the end, children before parents."""
    make = ph.Builder("scrambled", gravity=gravity)
    solid = {"inertia": np.array([3, 4, 5]) * scale**2}

    def place(*p):
        return tuple(scale * x for x in p)

    camera = {"at": place(0, 0.2, 0.1), "rpy": (0.3, 0, 1)}
    make.body("camera", parent="plate", joint=ph.weld(), mass=1, com=place(0, 0.1, 0), **camera, **solid)
    make.body("arm", parent="plate", joint=ph.revolute((1, 2, 0.5)), at=place(1, 0, 0.2), mass=2, com=place(0.3, 0, 0))
    make.body("plate", parent="ball", joint=ph.weld(), at=place(0.5, 0.1, 0), rpy=(1, 0.2, 0), mass=0.5, **solid)
    make.body("ball", parent="base", joint=ph.spherical(quaternion=True), at=place(0, 0, 1), mass=1, **solid)
    make.body("drone", joint=ph.free(quaternion=True), at=place(0, 2, 0), mass=1, com=place(0.1, 0, 0), **solid)
    make.body("base", joint=ph.weld(), at=place(0.1, 0.2, 0.3), rpy=(0.4, -0.3, 0.8), mass=1, **solid)
    for body in ("camera", "arm", "plate", "ball", "drone", "base", "world"):
        make.marker(f"m {body}", body=body, at=place(0.1, -0.2, 0.3), rpy=(0.5, 0.6, -0.7))
    make.spring("m drone", "m camera", stiffness=1, length=0)
    return make.build()


MACHINES = {
    "scrambled": scrambled(),
    "millimetres": scrambled(1e-3),
    "upside down": scrambled(gravity=(0, 0, 9.81)),
    "without gravity": scrambled(gravity=(0, 0, 0)),
    "grown": grow(5, ["free quaternion", "spherical quaternion", "screw", "planar", "revolute", "map"]),
}


@cache
def through(name, k=4):
    """The dynamics of a machine, states drawn at random, and the scene of them."""
    model = MACHINES[name]
    dyn = ph.formulate(model).compile()
    q = np.array([random_state(dyn.equations, seed)[0] for seed in range(k)])
    if name == "millimetres":
        q[:, [n in ("drone_x", "drone_y", "drone_z") for n in model.coordinates]] *= 1e-3
    poses = {body.name: np.array([dyn.pose(body.name)(x) for x in q]) for body in model.merged().bodies}
    return dyn, q, build(model, poses, {}, np.arange(float(k)))


@pytest.mark.parametrize("name", MACHINES)
def test_markers_are_drawn_where_the_dynamics_put_them(name):
    dyn, q, scene = through(name)
    shapes = of(scene, "marker")
    assert {shape.name for shape in shapes} >= {marker.name for marker in MACHINES[name].markers}
    for shape in shapes:
        for i, x in enumerate(q):
            X = dyn.pose(shape.name)(x)
            np.testing.assert_allclose(scene.poses[i, shape.body] @ shape.pose, X, atol=1e-12)
            np.testing.assert_allclose(at(scene, shape, i)[0], scene.upright @ X[:3, 3], atol=1e-12 * scene.size)


@pytest.mark.parametrize("name", MACHINES)
def test_centres_of_mass_are_those_of_the_dynamics_and_height_is_energy(name):
    """The drawn centres, weighted by masses, are the machine's; and m g times their height is the potential energy."""
    dyn, q, scene = through(name)
    model = MACHINES[name].merged()
    masses = {scene.bodies[shape.body]: shape for shape in of(scene, "mass")}
    weights = np.array([float(model.body(body).total.m.number) for body in masses])
    g = np.linalg.norm([float(x) for x in model.gravity])
    tied = {f.name for f in model.forces}
    heights = []
    for i, x in enumerate(q):
        drawn = np.array([at(scene, shape, i)[0] for shape in masses.values()])
        mean = weights @ drawn / weights.sum()
        np.testing.assert_allclose(mean, scene.upright @ dyn.center_of_mass(x), atol=1e-10 * scene.size)
        spring = sum(np.sum(np.diff(at(scene, tie, i), axis=0) ** 2) / 2 for tie in of(scene, "spring") if tied)
        heights.append((g * weights.sum() * mean[2], dyn.energy(x, np.zeros(model.nu))[1] - spring))
    drawn, stored = np.array(heights).T
    np.testing.assert_allclose(drawn - drawn[0], stored - stored[0], atol=1e-10 * (1 + g) * scene.size)


@pytest.mark.parametrize("name", MACHINES)
def test_the_page_composes_the_same_points(name):
    """Quaternions and places of the page, with its shapes, against the poses of the dynamics."""
    dyn, q, scene = through(name, k=40)
    data, drawn = composed(page(scene))
    for part, points in zip(data["parts"], drawn, strict=True):
        if part["kind"] == "marker":
            for i, x in enumerate(q):
                expected = scene.upright @ dyn.pose(part["name"])(x)[:3, 3]
                np.testing.assert_allclose(points[i, 0], expected, atol=2e-6 * scene.size)
    every = np.concatenate(drawn, axis=1)
    np.testing.assert_allclose(every, scene.points, atol=2e-6 * np.abs(scene.points).max())
    quaternions = data["poses"][..., 3:]
    assert (np.sum(quaternions[1:] * quaternions[:-1], axis=-1) >= 0).all()  # no jump of a sign, to go between frames


def scene_in(text):
    data = json.loads(re.search(r"const scene = (\{.*\});", text)[1])
    poses = np.frombuffer(base64.b64decode(data["poses"]), dtype="<f4").astype(float)
    return data | {"poses": poses.reshape(data["frames"], len(data["parents"]) - 1, 7)}


def composed(text):
    """The scene of a page, and the points of its parts, (k, n, 3) each, by products of quaternions."""
    data = scene_in(text)
    world = np.broadcast_to(data["world"], (data["frames"], 1, 7))
    poses, drawn = np.concatenate([world, data["poses"]], axis=1), []
    for part in data["parts"]:
        places, w, v = np.split(poses[:, part["bodies"]], [3, 4], axis=-1)
        p = np.broadcast_to(part["points"], places.shape)
        drawn.append(places + p + 2 * np.cross(v, np.cross(v, p) + w * p))
    return data, drawn


def test_bars_end_at_what_they_carry():
    dyn, q, scene = through("scrambled")
    (arm,) = [part for part in of(scene, "rod", role="body") if part.body == scene.bodies.index("ball")][:1]
    assert np.allclose(at(scene, arm, 2)[0], scene.upright @ dyn.pose("ball")(q[2])[:3, 3])
    assert np.allclose(at(scene, arm, 2)[1], scene.upright @ dyn.pose("arm")(q[2])[:3, 3])
    (spring,) = of(scene, "spring")
    for name, p in zip(("m drone", "m camera"), at(scene, spring, 1), strict=True):
        assert np.allclose(p, scene.upright @ dyn.pose(name)(q[1])[:3, 3])


def test_an_axis_stays_where_two_bodies_share_it():
    """The pin of a hinge that is not at the origin, drawn with the body, is where the parent has it."""
    make = ph.Builder("door")
    make.body("frame", joint=ph.prismatic("x"), mass=1)
    make.body("door", parent="frame", at=(0, 0, 1), joint=ph.revolute((1, 0, 2), at=(0.5, 0.3, 0)), mass=1)
    scene = scene_of(make.build(), [[0, 0], [0.4, 1.0], [-1, 2.5]], (0.0, 1.0, 2.0))
    (pin,) = of(scene, "cylinder")
    for i, x in enumerate((0, 0.4, -1)):
        a, b = at(scene, pin, i)
        axis = np.array([1, 0, 2]) / np.sqrt(5)
        assert np.allclose(np.abs((b - a) @ axis), np.linalg.norm(b - a))
        assert np.allclose(np.cross(a - [x + 0.5, 0.3, 1], axis), 0, atol=1e-12)


# scenes as values


def test_a_scene_does_not_change_and_says_what_does_not_fit():
    scene = double().scene(fps=10)
    assert scene.poses.shape == (11, 3, 4, 4)
    with pytest.raises(dataclasses.FrozenInstanceError):
        scene.title = "other"
    with pytest.raises(ValueError, match="read-only"):
        scene.poses[0, 0, 0, 0] = 2
    with pytest.raises(ValueError, match=r"poses have shape \(10, 3, 4, 4\), expected \(11, 3, 4, 4\)"):
        dataclasses.replace(scene, poses=scene.poses[:10])
    with pytest.raises(ValueError, match=r"no kind of shape 'sfere'\. Did you mean 'sphere'"):
        Shape(kind="sfere", body=0, pose=np.eye(4))
    with pytest.raises(ValueError, match="A rod: its size has 1 numbers, expected 2"):
        Shape(kind="rod", body=0, pose=np.eye(4), size=(1.0,))
    with pytest.raises(KeyError, match=r"Arrow 'pull': there is no body 'uper'\. Did you mean 'upper'"):
        scene.arrow("pull", "uper", (0, 0, 0), np.zeros((11, 3)))


def test_marks_and_arrows():
    assert double().scene(fps=10).marks == ()
    scene = double().scene(fps=10, marks=[(0.8, "free"), (0.25, "held <b>")])
    pull = np.linspace(0, 1, 11)[:, None] * [0, -0.3, 0]
    pulled = scene.arrow("pull", "lower", (0.5, 0, 0), pull)
    assert [pulled.newest(t) for t in (0, 0.25, 0.79, 0.9)] == ["", "held <b>", "held <b>", "free"]
    data, drawn = composed(page(pulled))
    assert data["marks"] == [[0.25, "held <b>"], [0.8, "free"]]
    foot, tip = drawn[-1][-1]
    assert data["parts"][-1]["name"] == "pull"
    assert np.allclose(tip - foot, [0, 0, -0.3], atol=1e-6)  # y is up in this machine
    assert len(scene.ties) == len(pulled.ties) - 1
    shown = pulled.picture(0.9)
    assert "free" in [text.get_text() for text in shown.axes[0].texts]


def test_a_notebook_plays_it():
    text = double().scene(fps=10)._repr_html_()
    inner = html.unescape(re.fullmatch(r'<iframe [^<>]*srcdoc="([^"]*)"></iframe>', text)[1])
    assert scene_in(inner)["title"] == "double </script><b>"


def test_a_picture_of_a_moment(tmp_path):
    image = pytest.importorskip("PIL.Image")
    scene = double().scene()
    for time in (0.0, 1.0):
        scene.picture(time, tmp_path / f"{time}.png")
    first, last = (np.asarray(image.open(tmp_path / f"{time}.png").convert("L"), dtype=int) for time in (0.0, 1.0))
    assert np.abs(first - last).max() > 100
    with pytest.raises(ValueError, match=r"ends in \.png"):
        scene.picture(0.0, tmp_path / "moment.gif")


# what is drawn


def test_the_page_has_the_motion_and_needs_no_network(tmp_path):
    text = double().animate(tmp_path / "run.html").read_text()
    assert "http" not in text
    assert text.count("</script>") == 1
    assert "<b>" not in text
    data, drawn = composed(text)
    assert data["title"] == "double </script><b>"
    assert data["alarm"]
    assert data["duration"] == 1
    # gravity points down, bars keep their length and end at the elbow and the tip
    kinds = [part["kind"] for part in data["parts"]]
    upper, lower = (points for points, kind in zip(drawn, kinds, strict=True) if kind == "rod")
    for bar in (upper, lower):
        assert np.allclose(np.linalg.norm(bar[:, 1] - bar[:, 0], axis=1), 0.5, atol=1e-6)
    assert np.allclose(upper[:, 1], lower[:, 0], atol=1e-6)
    assert "trail" in kinds
    assert np.allclose(drawn[kinds.index("mount")], 0)
    angle = -1.5 - np.linspace(0, 1, len(upper))
    assert np.allclose(upper[:, 1, [0, 2]], 0.5 * np.stack([np.cos(angle), np.sin(angle)], axis=1), atol=1e-4)
    assert abs(data["yaw"]) < 1e-6
    assert data["pitch"] < 0.2


def test_bodies_without_bars_are_boxes():
    make = ph.Builder("brick")
    make.body("brick", joint=ph.free(quaternion=True), mass=12, inertia=(13, 10, 5))  # 1 x 2 x 3
    scene = scene_of(make.build(), [1, 0, 0, 0, 0, 0, 5])
    (box,) = of(scene, "box")
    assert np.allclose(np.sort(np.ptp(at(scene, box), axis=0)), [1, 2, 3])
    assert np.isclose(scene.size, np.sqrt(14))
    assert not of(scene, "mount", "disc")
    assert scene.floor == 0


def test_a_machine_that_rolls_away_is_as_large_as_itself():
    make = ph.Builder("disc")
    make.body("disc", joint=ph.planar("y"), mass=1, inertia=(1, 1, 1))
    make.rolling("disc", radius=0.1)
    far = np.linspace(0, 50, 30)
    scene = scene_of(make.build(), np.column_stack([0 * far, far, 0 * far]), far)
    assert scene.size < 0.3
    assert scene.view.follow


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
    (wheel,) = of(scene, "wheel")
    ring = at(scene, wheel)
    assert np.allclose(np.linalg.norm(ring - [0, 0, 0.3], axis=1), 0.3)
    assert np.allclose(ring[:, 1], 0)
    assert len(of(scene, "spring")) == len(of(scene, "sphere", role="joint")) == 1
    assert len(of(scene, "mount", "disc")) == 1
    assert np.allclose(ends(scene, "rod", role="body"), [[1, 0, 0]])  # the slender rod ends at its marker


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


def test_every_kind_of_part_is_drawn_in_films(tmp_path):
    scene = through("scrambled")[2].arrow("push", "drone", (0, 0, 0), np.ones((4, 3)))
    assert save(scene, tmp_path / "all.gif").stat().st_size > 10_000


def test_a_link_that_closes_a_ring_is_a_rod_like_the_others():
    make = ph.Builder("ring")
    rod = {"mass": 1, "com": (0.25, 0, 0), "inertia": (0.01, 0.03, 0.03), "joint": ph.spherical()}
    make.body("a", **rod)
    make.body("b", parent="a", at=(0.5, 0, 0), **rod)
    make.marker("end", body="b", at=(0.5, 0, 0))
    make.marker("wall", body="world", at=(1, 0, 0))
    make.loop("wall", "end", "point")
    scene = scene_of(make.build(), np.zeros(6))
    assert not of(scene, "box")
    assert np.allclose(at(scene, of(scene, "sphere", role="joint")[1]), [1, 0, 0])  # where the ring closes
    assert np.allclose(ends(scene, "rod", role="body"), [[0.5, 0, 0], [1, 0, 0]])


def test_solids_of_made_up_inertias_hide_nothing():
    make = ph.Builder("cubes")
    unit = {"mass": 1, "inertia": (1, 1, 1)}  # 2.4 m
    make.body("a", joint=ph.revolute("y"), **unit)
    make.body("b", parent="a", at=(0, 0, 1), joint=ph.spherical(), **unit)
    make.body("ball", joint=ph.free(), at=(0.5, 0, 0.2), **unit)
    make.rolling("ball", radius=0.2, shape="sphere")
    scene = scene_of(make.build(), np.zeros(10))
    (box,) = of(scene, "box")
    assert scene.bodies[box.body] == "b"
    assert np.ptp(at(scene, box), axis=0).max() < 0.5
    (ball,) = of(scene, "sphere", role="body")
    assert ball.size == (0.2,)
    assert np.allclose(at(scene, ball), [[0.5, 0, 0.2]])
    assert len(of(scene, "ring")) == 3


def test_an_arm_that_falls_below_its_base_stands_on_a_post():
    make = ph.Builder("arm")
    make.body("turret", at=(0, 0, 0.1), joint=ph.revolute("z"), mass=1, inertia=(1, 1, 1))
    make.body("arm", parent="turret", joint=ph.revolute("y"), mass=1, com=(0.5, 0, 0))
    make.marker("tool", body="arm", at=(1, 0, 0))
    scene = scene_of(make.build(), [[0, 0], [0, np.pi / 2]], (0.0, 1.0))
    assert scene.floor < -0.9
    (post,) = of(scene, "rod", role="stand")
    for frame in (0, 1):
        assert np.allclose(at(scene, post, frame), [[0, 0, scene.floor], [0, 0, 0.1]])
    assert len(of(scene, "disc")) == 1
    assert not of(scene, "mount")
