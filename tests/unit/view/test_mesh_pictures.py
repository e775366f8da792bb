"""Meshes in pictures and pages: made smaller, packed, nearest first, and where the bodies are."""

import base64
import json
import re
import shutil
import subprocess

import numpy as np
import pytest

import polhode as ph
from polhode.spatial import Mesh
from polhode.spatial.solids import bulk
from polhode.view import meshes
from polhode.view.animate import page
from polhode.view.film import outermost
from polhode.view.raster import rastered
from tests.unit.spatial.test_meshes import BOX, FACES


def ball(n=60):
    angles = np.linspace(-np.pi / 2, np.pi / 2, n)
    return meshes.turned([(float(np.cos(a)), float(np.sin(a))) for a in angles])


@pytest.mark.parametrize(
    ("mesh", "volume"),
    [
        (meshes.known("box"), 1.0),
        (meshes.known("sphere"), 4 / 3 * np.pi),
        (meshes.known("cylinder"), np.pi),
        (meshes.capsule(0.5, 2.0), np.pi / 4 * 2 + np.pi / 6),
    ],
)
def test_known_bodies_are_closed_and_almost_as_large(mesh, volume):
    found = bulk(mesh)
    assert 0.97 * volume < found.volume <= volume * (1 + 1e-12)
    edges = np.sort(np.concatenate([mesh.triangles[:, [i, (i + 1) % 3]] for i in range(3)]), axis=1)
    assert (np.unique(edges, axis=0, return_counts=True)[1] == 2).all()


def test_large_meshes_are_thinned_together_and_small_ones_stay():
    large, small = ball(200), meshes.known("box")
    found = meshes.thinned([large, small, large.moved(np.diag([0.1, 0.1, 0.1, 1]))], 2000)
    assert sum(len(mesh.triangles) for mesh in found) <= 2000
    assert found[1] is small
    assert len(found[0].triangles) > 500
    assert bulk(found[0]).volume == pytest.approx(bulk(large).volume, rel=0.06)
    assert meshes.thinned([large], len(large.triangles)) == [large]


def test_thinned_meshes_keep_the_colours_of_their_triangles():
    large = ball(200)
    up = large.corners.mean(axis=1)[:, 2] > 0
    painted = Mesh(large.vertices, large.triangles, np.where(up[:, None], [255, 0, 0], [0, 0, 255]))
    (found,) = meshes.thinned([painted], 3000)
    middle = found.corners.mean(axis=1)[:, 2]
    assert ((found.colors[:, 0] == 255) == (middle > 0))[np.abs(middle) > 0.1].all()


def test_layers_of_two_colours_stay_one_above_the_other():
    """A ball of radius 1.01 around one of radius 1, in cells that are ten times as wide as the gap."""
    inner = ball(200)
    outer = inner.moved(np.diag([1.01, 1.01, 1.01, 1]))
    n = len(inner.triangles)
    both = Mesh(
        np.concatenate([inner.vertices, outer.vertices]),
        np.concatenate([inner.triangles, outer.triangles + len(inner.vertices)]),
        [[0, 0, 255]] * n + [[255, 0, 0]] * n,
    )
    found = meshes.clustered(both, 0.1)
    assert len(found.triangles) < n / 2
    red = found.colors[:, 0] == 255
    far = [np.linalg.norm(found.vertices[np.unique(found.triangles[which])], axis=1).mean() for which in (red, ~red)]
    assert 0.008 < far[0] - far[1] < 0.012


def test_extremes_bound_the_mesh():
    assert sorted(map(tuple, meshes.extremes(BOX))) == sorted(map(tuple, BOX.vertices))
    assert np.abs(np.abs(meshes.extremes(ball())).max(axis=0) - 1).max() < 2e-3


def unpacked(told):
    kind = "<u4" if told["wide"] else "<u2"
    places = np.frombuffer(base64.b64decode(told["places"]), dtype="<u2").reshape(-1, 3)
    index = np.frombuffer(base64.b64decode(told["triangles"]), dtype=kind).reshape(-1, 3)
    return (np.array(told["low"]) + np.array(told["step"]) * places)[index]


def test_packed_meshes_are_where_they_were_to_a_step():
    colors = np.array([[9, 9, 9]] * 4 + [[1, 2, 3]] * 8)
    mesh = Mesh(BOX.vertices, FACES, colors)
    told = meshes.packed(mesh)
    assert told["groups"] == [(8, "#010203"), (4, "#090909")]
    assert np.abs(unpacked(told) - mesh.corners[[*range(4, 12), *range(4)]]).max() < 1.1 / 65535
    assert meshes.packed(BOX)["groups"] == [(12, "")]


@pytest.mark.skipif(shutil.which("node") is None, reason="NOT TESTED: there is no node")
def test_a_page_unpacks_what_was_packed(tmp_path):
    """And makes normals: of a box each corner of a face has that of the face; of a ball they point outwards."""
    source = meshes.__file__.replace("meshes.py", "unpack.js")
    shutil.copy(source, tmp_path / "unpack.mjs")
    round_ = ball(40)
    for mesh in (BOX, round_):
        script = f"""import {{ unpack }} from "./unpack.mjs";
            const {{ places, normals }} = unpack({json.dumps(meshes.packed(mesh))});
            console.log(JSON.stringify([[...places], [...normals]]));"""
        (tmp_path / "run.mjs").write_text(script)
        said = subprocess.run(["node", tmp_path / "run.mjs"], capture_output=True, text=True, check=True).stdout
        places, normals = (np.array(each).reshape(-1, 3, 3) for each in json.loads(said))
        assert np.abs(places - mesh.corners).max() < 1e-4
        flat = np.cross(mesh.corners[:, 1] - mesh.corners[:, 0], mesh.corners[:, 2] - mesh.corners[:, 0])
        flat /= np.linalg.norm(flat, axis=1, keepdims=True)
        if mesh is BOX:
            assert np.abs(normals - flat[:, None]).max() < 1e-3
        else:
            assert np.abs(normals - mesh.corners).max() < 0.1


def test_the_nearest_triangle_is_seen_at_each_pixel():
    red, blue, clear = [1, 0, 0, 1], [0, 0, 1, 1], [0, 1, 0, 0.5]
    left = [[0, 0], [20, 0], [0, 20]]
    xy = np.array([left, left, [[0, 0], [6, 0], [0, 6]]], dtype=float)
    near = np.array([[1, 1, 1], [0, 2.5, 0], [9, 9, 9]], dtype=float)  # the second comes nearer to the right
    image = rastered(xy, near, np.array([red, blue, clear], dtype=float), 30, 25)
    assert image[:, 25:].max() == 0
    assert image[24].max() == 0
    assert image[1, 15].tolist() == [0, 0, 255, 255]
    assert image[10, 2].tolist() == [255, 0, 0, 255]
    assert image[1, 1].tolist() == [128, 128, 0, 255]
    area = (image[:, :, 3] > 0).sum()
    assert area == pytest.approx(200, abs=15)


def test_triangles_side_by_side_leave_no_gap_and_do_not_overlap():
    """A square of many random triangles covers exactly its pixels."""
    draw = np.random.default_rng(5)
    spatial = pytest.importorskip("scipy.spatial")
    points = np.concatenate([[[3, 3], [33, 3], [3, 33], [33, 33]], draw.uniform(3, 33, (80, 2))])
    xy = points[spatial.Delaunay(points).simplices]
    image = rastered(xy, np.ones(xy.shape[:2]), np.ones((len(xy), 4)), 40, 40)
    expected = np.zeros((40, 40))
    expected[3:33, 3:33] = 255
    assert np.array_equal(image[:, :, 3], expected)


def test_outlines_are_hulls():
    draw = np.random.default_rng(1)
    spatial = pytest.importorskip("scipy.spatial")
    points = draw.normal(size=(40, 2))
    assert set(map(tuple, outermost(points))) == set(map(tuple, points[spatial.ConvexHull(points).vertices]))


def machine():
    build = ph.Builder("m")
    build.body("arm", joint=ph.revolute("y", name="a"), mass=1, com=(0, 0, -1))
    build.body("bare", parent="arm", at=(0, 0, -2), joint=ph.revolute("y", name="b"), mass=1, com=(0, 0, -1))
    build.shape("arm", "mesh", mesh="box", points=[(0, 0, -1), (0.4, 0, -1), (0, 0.4, -1), (0, 0, 1)], color="#00ff00")
    return ph.simulate(ph.formulate(build.build()).compile(), {"a": 0.5}, t_end=0.2)


def test_a_body_with_a_mesh_is_drawn_by_it_and_others_as_before():
    found = machine().scene()
    kinds = {name: [s.kind for s in found.shapes if found.bodies[s.body] == name] for name in ("arm", "bare")}
    assert kinds["arm"] == ["mesh"]
    assert {"rod", "cylinder", "mass"} <= set(kinds["bare"])
    assert found.size == pytest.approx(np.ptp(found.points[0], axis=0)[2], rel=0.3)


def test_a_picture_shows_the_mesh_where_the_body_is(tmp_path):
    """Green pixels of the picture are within the corners of the box as the scene's camera sees them, and fill it."""
    image = pytest.importorskip("matplotlib.image")
    from polhode.view.film import _Canvas

    found = machine().scene()
    found.picture(0.0, tmp_path / "p.png")
    pixels = image.imread(tmp_path / "p.png")
    green = (pixels[:, :, 1] > 0.4) & (pixels[:, :, 0] < 0.3) & (pixels[:, :, 2] < 0.3)
    canvas = _Canvas(found)
    shape = next(s for s in found.shapes if s.kind == "mesh")
    X = found.poses[0, shape.body]
    corners = (shape.mesh.vertices @ X[:3, :3].T + X[:3, 3]) @ found.upright.T
    xy, _, _ = canvas.project(corners, canvas.center)
    rows, columns = np.nonzero(green)
    x, y = columns / 2, canvas.height - rows / 2
    assert len(x) > 2000
    assert np.allclose([x.min(), x.max(), y.min(), y.max()], [*_ends(xy[:, 0]), *_ends(xy[:, 1])], atol=4)


def _ends(x):
    return x.min(), x.max()


def test_a_page_has_the_mesh_once_and_no_bar_for_its_body():
    text = page(machine().scene())
    assert len(re.findall(r'"places":', text)) == 1
    assert '"color":"#00ff00"' in text
    assert "export function" not in text


def test_a_disc_is_no_ball():
    """As a stroke of its width it would be round from every side, and higher than it is."""
    build = ph.Builder("wheel")
    build.body("wheel", joint=ph.revolute("z"), mass=1, inertia=(1, 1, 2))
    build.shape("wheel", "cylinder", points=[(0.5, 0, 0), (0.5, 0, 0.1)], width=0.8, name="disc")
    build.shape("wheel", "cylinder", points=[(0, 0, 0), (0, 0, 1)], width=0.1, name="axle")
    scene = ph.simulate(ph.formulate(build.build()).compile(), u0={"wheel_dot": 1}, t_end=0.1).scene()
    shapes = {shape.kind: shape for shape in scene.shapes}
    assert {"mesh", "rod"} <= set(shapes)
    corners = shapes["mesh"].mesh.vertices @ shapes["mesh"].pose[:3, :3].T + shapes["mesh"].pose[:3, 3]
    assert np.allclose([corners.min(axis=0), corners.max(axis=0)], [[0.1, -0.4, 0], [0.9, 0.4, 0.1]], atol=1e-3)
