"""Bodies that deform in pictures: sections where the dynamics put them, and magnified deflections that are said."""

from functools import cache

import numpy as np
import pytest
from scipy.linalg import expm

import polhode as ph
from polhode.graph import vector
from polhode.view import page
from polhode.view.bent import magnification, turned
from tests.motions import still
from tests.unit.view.test_scene import at, composed, of

PARTS = 20  # stations of a line, as beams with few modes have


def on(beam, part, off=0.0):
    """A point beside the axis of a beam."""
    x, y = (np.array([float(e.number) for e in beam.frame.T[i]]) for i in (0, 1))
    return tuple(part * float(beam.length.number) * x + off * y)


@cache
def mast():
    """A mast that bends, twists and stretches; on it, beside its axis, a jib that bends, and what is welded to both."""
    make = ph.Builder("mast", gravity=(0, 0, -9.81))
    modes = {"y": 2, "z": 1, "twist": 1, "stretch": 1}
    tall = ph.beam(length=2, mu=2, EI_y=300, EI_z=400, GJ=60, J=0.02, EA=1e5, axis=(0.1, 0.2, 1), modes=modes)
    make.body("mast", joint=ph.revolute("z", name="slew"), at=(0.3, 0, 0.2), rpy=(0, 0.2, 0), mass=1, flexible=tall)
    jib = ph.beam(length=1.2, mu=0.7, EI_z=60, axis="y", modes=2)
    make.body("jib", parent="mast", joint=ph.revolute("z", name="luff"), at=on(tall, 0.9, 0.1), flexible=jib)
    make.body("bob", parent="jib", joint=ph.revolute("x"), at=(0, 1.2, 0), mass=0.4, com=(0, 0, -0.5))
    make.body("counter", parent="mast", joint=ph.weld(), at=on(tall, 0.7, 0.3), rpy=(0.4, 0, 1), mass=1)
    for i in range(0, PARTS + 1, 4):
        make.marker(f"mast {i}", body="mast", at=on(tall, i / PARTS))
        make.marker(f"jib {i}", body="jib", at=on(jib, i / PARTS))
    make.marker("beside", body="mast", at=on(tall, 0.55, 0.1), rpy=(1, 2, 3))
    make.marker("half", body="jib", at=(0, 0.6, 0.1))
    make.marker("plumb", body="bob", at=(0, 0, -0.5))
    return make.build()


@cache
def moved():
    """A motion with deflections, and the dynamics."""
    model, draw = mast(), np.random.default_rng(4)
    q = draw.uniform(-1, 1, (3, model.nq)) * [0.03 if "_" in name else 1.0 for name in model.coordinates]
    traj = still(model, q, np.arange(3.0))
    return traj, traj.dynamics


def magnified(traj, factor):
    """Coordinates with the amplitudes of modes multiplied."""
    return traj.q * [factor if "_" in name else 1.0 for name in traj.coordinates]


@pytest.mark.parametrize("factor", [1, 4])
def test_what_stands_on_bent_bodies_is_where_the_dynamics_of_the_amplitudes_put_it(factor):
    traj, dyn = moved()
    scene = traj.scene(fps=1, magnify=factor)
    shapes = of(scene, "marker")
    assert len(shapes) == len(mast().markers)
    for shape in shapes:
        for i, q in enumerate(magnified(traj, factor)):
            X = dyn.pose(shape.name)(q)
            np.testing.assert_allclose(scene.poses[i, shape.body] @ shape.pose, X, atol=1e-12)
    for name in ("mast", "jib", "bob", "counter"):
        for i, q in enumerate(magnified(traj, factor)):
            np.testing.assert_allclose(scene.poses[i, scene.bodies.index(name)], dyn.pose(name)(q), atol=1e-12)


@pytest.mark.parametrize("factor", [1, 4])
def test_bars_that_bend_go_through_the_sections(factor):
    traj, dyn = moved()
    scene = traj.scene(fps=1, magnify=factor)
    for name, tube, ghost in zip(("mast", "jib"), of(scene, "tube"), of(scene, "ghost"), strict=True):
        assert len(tube.points) == PARTS + 1
        for i, q in enumerate(magnified(traj, factor)):
            drawn = at(scene, tube, i)[::4]
            expected = [dyn.pose(f"{name} {k}")(q)[:3, 3] for k in range(0, PARTS + 1, 4)]
            np.testing.assert_allclose(drawn, expected @ scene.upright.T, atol=1e-12)
            X = dyn.pose(name)(q)
            straight = X[:3, :3] @ np.array([on(mast().body(name).flexible, k) for k in (0, 1)]).T
            np.testing.assert_allclose(at(scene, ghost, i), (straight.T + X[:3, 3]) @ scene.upright.T, atol=1e-12)


def test_parts_of_a_body_have_its_colour():
    scene = moved()[0].scene(fps=1)
    for name, tube in zip(("mast", "jib"), of(scene, "tube"), strict=True):
        assert {scene.depths[b] for b in tube.bodies} == {scene.depths[scene.bodies.index(name)]}
    assert scene.depths[1:5] == (0, 1, 2, 1)
    assert len(scene.arrow("pull", "jib section 3", (0, 0, 0), np.ones((3, 3))).depths) == len(scene.bodies) + 1


def test_what_is_beside_the_axis_is_joined_to_it_and_twists_are_seen():
    scene = moved()[0].scene(fps=1)
    rods = [at(scene, rod) for rod in of(scene, "rod", role="body")]
    mast, jib = (at(scene, tube) for tube in of(scene, "tube"))

    def along(tube, points):
        return sum(np.abs(tube - p).sum(axis=1).min() < 1e-9 for p in points)

    assert along(mast, [ends[0] for ends in rods]) == 2  # bars to the jib and the counterweight
    assert along(mast, [ends.mean(axis=0) for ends in rods]) == 7
    assert along(jib, [ends.mean(axis=0) for ends in rods]) == 0  # it does not twist


def test_the_page_has_the_sections_and_says_the_magnification():
    scene = moved()[0].scene(fps=1, magnify=4)
    data, drawn = composed(page(scene))
    np.testing.assert_allclose(np.concatenate(drawn, axis=1), scene.points, atol=1e-5)
    assert data["scale"] == "deflections × 4"
    assert [data["hosts"][part["bodies"][-1]] for part in data["parts"] if part["kind"] == "tube"] == [1, 2]
    assert moved()[0].scene(fps=1).scale == ""


def texts(figure):
    return " ".join(text.get_text() for text in figure.axes[0].texts)


def test_a_picture_says_the_magnification_where_it_is_not_1():
    traj, _ = moved()
    assert "deflections × 2.5" in texts(traj.scene(fps=1, magnify=2.5).picture(0))
    assert "deflections" not in texts(traj.scene(fps=1).picture(0))


@pytest.mark.parametrize("factor", [1, 3])
def test_frames_are_drawn_by_their_lines(factor):
    """A square of beams, which is a closed line, on a post: every corner where the dynamics put it, no bars across."""
    corners = {"post": (0, 0, 0), "a": (0, 0, 1), "b": (1, 0, 1), "c": (1, 1, 1), "d": (0, 1, 1)}
    frame = ph.Frame(corners)
    for one, other in ("post", "a"), ("a", "b"), ("b", "c"), ("c", "d"), ("d", "a"):
        frame.beam(one, other, EA=7e4, EI_y=60, EI_z=50, GJ=45, mu=0.3)
    make = ph.Builder("table")
    make.body("table", joint=ph.weld(), flexible=frame.flexible(root="post", modes=3, order="full"))
    for name, p in corners.items():
        make.marker(name, body="table", at=p)
    traj = still(make.build(), np.array([[0.02, -0.03, 0.01]]), np.zeros(1))
    scene = traj.scene(magnify=factor)
    lines = [at(scene, tube) for tube in of(scene, "tube")]
    for name in corners:
        p = scene.upright @ traj.dynamics.pose(name)(factor * traj.q[0])[:3, 3]
        assert min(np.linalg.norm(line - p, axis=1).min() for line in lines) < 1e-12
    edges = {frozenset(map(tuple, straight.points[[0, 1]].round(6).tolist())) for straight in of(scene, "ghost")}
    assert len(edges) == len(lines)
    assert not of(scene, "rod", role="body")


def test_parameters_that_are_symbols_have_their_values():
    L, b = ph.symbols("L b")
    make = ph.Builder("arm", gravity=(0, 0, 0))
    beam = ph.beam(length=L, mu=2, EI_z=5, EI_y=5, modes=1)
    make.body("arm", joint=ph.free(quaternion=True), flexible=beam)
    make.body("load", parent="arm", joint=ph.weld(), at=(L / 2, b, 0), mass=1)
    model = make.build()
    q = np.array([[*model.neutral()[:-2], 0.05, -0.08]])
    traj = still(model, q, np.zeros(1), L=3.0, b=0.2)
    scene = traj.scene(magnify=2)
    expected = traj.dynamics.pose("load")(q[0] + [*np.zeros(7), 0.05, -0.08])
    np.testing.assert_allclose(scene.poses[0, scene.bodies.index("load")], expected, atol=1e-12)
    ends = at(scene, of(scene, "tube")[0])[[0, -1]]
    np.testing.assert_allclose(np.linalg.norm(np.diff(ends, axis=0)), 3, rtol=0.01)


# loops and joints that turn with the modes


def four_bar(ends):
    make = ph.Builder("four-bar", gravity=(0, 0, -9.81))
    make.body("crank", joint=ph.revolute("y", name="a"), mass=1, com=(0.15, 0, 0), inertia=(0.01,) * 3)
    coupler = ph.beam(length=1, mu=0.8, EI_y=60, modes=2, ends=ends)
    make.body("coupler", parent="crank", joint=ph.revolute("y", name="c"), at=(0.3, 0, 0), flexible=coupler)
    make.marker("end", body="coupler", at=(1, 0, 0))
    return make.build()


def test_pinned_beams_keep_their_ends_and_bend_more_between():
    model = four_bar("pinned-pinned")
    d = 1e-4  # the shortening is of its square
    traj = still(model, np.array([[0.3, 0.4, d, 0.2 * d]]), np.zeros(1))
    scenes = traj.scene(), traj.scene(magnify=50)
    true, more = (at(scene, of(scene, "tube")[0]) for scene in scenes)
    straight = at(scenes[0], of(scenes[0], "ghost")[0])
    x = np.linspace(0, 1, PARTS + 1)
    np.testing.assert_allclose(more[[0, -1]], straight, atol=(50 * d) ** 2 * 3)
    np.testing.assert_allclose(true[0], more[0], atol=1e-12)
    chord = straight[0] + x[:, None] * (straight[1] - straight[0])
    off, far = np.linalg.norm(true - chord, axis=1), np.linalg.norm(more - chord, axis=1)
    np.testing.assert_allclose(off, d * np.abs(np.sin(np.pi * x) + 0.2 * np.sin(2 * np.pi * x)), atol=d**2 * 5)
    np.testing.assert_allclose(far, 50 * off, atol=(50 * d) ** 2 * 5)


@pytest.mark.parametrize("factor", [1, 5])
def test_a_joint_in_the_middle_of_a_beam_stays_where_it_is(factor):
    make = ph.Builder("seesaw", gravity=(0, 0, -9.81))
    plank = ph.beam(length=2, mu=3, EI_y=90, modes=2, start=(-1, 0, 0))
    make.body("plank", joint=ph.revolute("y", name="tilt"), at=(0.2, 0, 0.5), flexible=plank)
    model = make.build()
    d = np.array([2e-4, -1e-4])
    traj = still(model, np.array([[0.3, *d]]), np.zeros(1))
    scene = traj.scene(magnify=factor)
    np.testing.assert_allclose(at(scene, of(scene, "cylinder")[0]).mean(axis=0), [0.2, 0, 0.5], atol=1e-12)
    tube = at(scene, of(scene, "tube")[0])
    np.testing.assert_allclose(tube[PARTS // 2], [0.2, 0, 0.5], atol=1e-12)
    assert not of(scene, "rail")
    bent = np.linalg.norm(np.diff(tube[[0, PARTS // 2, PARTS]], n=2, axis=0))
    shapes = np.array([[float(e) for e in plank.station(vector([x, 0, 0]), "").Phi[2]] for x in (-1, 0, 1)])
    np.testing.assert_allclose(bent, factor * abs(np.diff(shapes @ d, n=2)[0]), rtol=1e-4)


@pytest.mark.parametrize("factor", [1, 20])
def test_what_touches_is_told_by_the_true_shape(factor):
    """A foot on ground that yields: it presses while the tip is down as it is, not as it is drawn."""
    make = ph.Builder("diving board")
    board = ph.beam(length=1, mu=1, EI_y=9, modes=1)
    make.body("board", joint=ph.weld(), at=(0, 0, 0.01), flexible=board)
    make.marker("foot", body="board", at=(1, 0, 0))
    make.contact("foot", stiffness=1e4)
    d = np.array([[0.0], [-0.005], [-0.02], [-0.02], [0.0]])
    scene = still(make.build(), d, np.arange(5.0)).scene(fps=1, magnify=factor)
    (pin,) = of(scene, "pin")
    assert pin.when == ((2.0, 3.0),)
    np.testing.assert_allclose(at(scene, pin, 1)[0, 2], 0.01 - factor * 0.005, atol=1e-12)


# the number


def test_auto_shows_deflections_and_is_never_below_1():
    arm = ph.beam(length=2, mu=1, EI_z=1, modes=1)  # its tip moves by the amplitude
    amplitudes = (1e-5, 3e-3, 0.019, 0.02, 0.15, 1.0)
    bodies = [(d, [(arm, np.array([[0.0], [-d]]))]) for d in amplitudes]
    found = {amplitude: magnification("auto", pairs, {}) for amplitude, pairs in bodies}
    assert found == {1e-5: 20000, 3e-3: 50, 0.019: 10, 0.02: 10, 0.15: 1, 1.0: 1}
    assert magnification("auto", [(arm, np.zeros((3, 1)))], {}) == 1
    assert magnification("auto", [(arm, np.full((3, 1), 1e-12))], {}) == 1  # rounding is not shown
    two = [bodies[0][1][0], bodies[1][1][0]]
    assert magnification("auto", two, {}) == 50  # the one that bends most


def test_auto_looks_at_twists_where_nothing_bends():
    rod = ph.beam(length=2, mu=1, GJ=1, J=0.1, modes={"twist": 1})
    assert magnification("auto", [(rod, np.array([[0.02]]))], {}) == 20  # of 0.5 rad


@pytest.mark.parametrize("bad", ["big", 0, -3, np.nan, np.inf, True, None, [2]])
def test_no_magnification(bad, tmp_path):
    traj, _ = moved()
    with pytest.raises(ValueError, match=r'magnify is .*expected a number above 0, such as 10, or "auto"'):
        traj.scene(magnify=bad)
    with pytest.raises(ValueError, match="magnify is"):
        traj.animate(tmp_path / "run.html", magnify=bad)
    assert not list(tmp_path.iterdir())


def test_a_rigid_machine_has_nothing_to_magnify():
    make = ph.Builder("rigid")
    make.body("arm", joint=ph.revolute("y"), mass=1, com=(1, 0, 0))
    traj = still(make.build(), np.array([[0.3]]), np.zeros(1))
    scene = traj.scene(magnify=10)
    assert scene.scale == ""
    np.testing.assert_allclose(scene.poses, traj.scene().poses)


def test_rotations_of_sections():
    vectors = np.array([[0.3, -2.0, 1.1], [1e-9, 0, 2e-9], [0, 0, 0], [0, 0.2, 0]])
    skew = [[[0, -z, y], [z, 0, -x], [-y, x, 0]] for x, y, z in vectors]
    np.testing.assert_allclose(turned(vectors), [expm(np.array(S)) for S in skew], atol=1e-14)


# curves


def test_deflections_have_panels_of_their_own():
    panels = {}
    for ax in moved()[0].plot().axes:
        names = [line.get_label() for line in ax.get_lines()]
        panels[ax.get_title(loc="left")] = {name for name in names if not name.startswith("_child")}
    deflections = {f"mast_{mode}" for mode in ("y1", "y2", "z1", "stretch1")}
    assert panels["Deflections of mast [m]"] == deflections
    assert panels["Deflections of jib [m]"] == {"jib_y1", "jib_y2"}
    assert panels["Speeds of deflections of mast [m/s]"] == {f"{name}_dot" for name in deflections}
    assert "Twists of mast: 'mast_twist1' [rad]" in panels
    assert panels["Angles [rad]"] == {"slew", "luff", "bob"}


def test_panels_of_deflections_name_their_body_and_leave_out_what_stays_straight():
    build = ph.Builder("two", gravity=(0, 0, 0))
    parent, at = "world", (0, 0, 0)
    for name in ("upper", "lower"):
        beam = ph.beam(length=1, mu=1, EI_z=10, EI_y=10, GJ=1, J=0.01, modes=2, shapes="polynomial")
        joint = ph.revolute("z", name=f"{name}_joint")
        build.body(name, parent=parent, at=at, joint=joint, flexible=beam, mass=1, inertia=(1, 1, 1))
        parent, at = name, (1, 0, 0)
    dyn = ph.formulate(build.build()).compile()
    traj = ph.simulate(dyn, {"upper_y1": 0.01}, t_end=0.05)
    titles = [ax.get_title(loc="left") for ax in traj.plot(path=None).axes]
    assert {"Deflections of upper [m]", "Deflections of lower [m]"} <= set(titles)
    assert not [title for title in titles if "wists" in title]
    assert any("wist" in ax.get_title(loc="left") for ax in traj.plot(["upper_twist1"]).axes)  # asked for


def test_bodies_of_two_trees_have_colours_of_their_own():
    build = ph.Builder("four-bar")
    bar = {"mass": 1, "com": (0.5, 0, 0)}
    build.body("crank", joint=ph.revolute("y"), **bar)
    build.body("coupler", parent="crank", at=(1, 0, 0), joint=ph.revolute("y"), **bar)
    build.body("rocker", at=(1.5, 0, 0), joint=ph.revolute("y"), **bar)
    traj = ph.simulate(ph.formulate(build.build()).compile(), t_end=0.01)
    assert traj.scene().depths[1:4] == (0, 1, 2)
