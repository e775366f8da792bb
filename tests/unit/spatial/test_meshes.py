"""Meshes, their hulls and what they enclose, against closed forms and another hull."""

import numpy as np
import pytest

from polhode.spatial import Mesh
from polhode.spatial.hull import convex_hull
from polhode.spatial.mesh import welded
from polhode.spatial.solids import bulk

CORNERS = np.array([[(i >> axis & 1) - 0.5 for axis in range(3)] for i in range(8)])
QUADS = ((0, 2, 3, 1), (4, 5, 7, 6), (0, 1, 5, 4), (2, 6, 7, 3), (0, 4, 6, 2), (1, 3, 7, 5))
FACES = [t for a, b, c, d in QUADS for t in ((a, b, c), (a, c, d))]
EDGES, AT = np.array([0.2, 0.5, 1.1]), np.array([3.0, -2.0, 0.7])
BOX = Mesh(CORNERS * EDGES + AT, FACES)
TETRAHEDRON = Mesh([[0, 0, 0], [2, 0, 0], [0, 3, 0], [0, 0, 5]], [[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]])


def inertia_of_box(m, edges):
    squares = edges**2
    return np.diag(m * (squares.sum() - squares) / 12)


@pytest.mark.parametrize("rule", ["exact", "convex", "legacy"])
def test_a_box_has_the_inertia_of_a_box(rule):
    found = bulk(BOX, rule)
    assert found.volume == pytest.approx(EDGES.prod(), rel=1e-12)
    assert found.com == pytest.approx(AT, rel=1e-12)
    assert np.abs(found.I - inertia_of_box(EDGES.prod(), EDGES)).max() < 1e-12


def test_a_tetrahedron_has_its_textbook_inertia():
    """About the corner with right angles: m (b^2 + c^2) / 10, and products m a b / 20; its centre at a quarter."""
    found, (a, b, c) = bulk(TETRAHEDRON), (2.0, 3.0, 5.0)
    m, d = a * b * c / 6, np.array([a, b, c]) / 4
    about = m * np.array([
        [(b * b + c * c) / 10, -a * b / 20, -a * c / 20],
        [-a * b / 20, (a * a + c * c) / 10, -b * c / 20],
        [-a * c / 20, -b * c / 20, (a * a + b * b) / 10],
    ])  # fmt: skip
    assert found.volume == pytest.approx(m, rel=1e-14)
    assert found.com == pytest.approx(d, rel=1e-14)
    assert np.allclose(found.I, about - m * (d @ d * np.eye(3) - np.outer(d, d)), rtol=1e-13, atol=0)


def test_a_shell_is_its_six_walls():
    x, y, z = EDGES
    walls = [((y, z), 0, x), ((x, z), 1, y), ((x, y), 2, z)]
    I, area = np.zeros((3, 3)), 0.0
    for (p, q), normal, apart in walls:
        edges = EDGES.copy()
        edges[normal] = 0
        off = np.zeros(3)
        off[normal] = apart / 2
        I += 2 * (inertia_of_box(p * q, edges) + p * q * (off @ off * np.eye(3) - np.outer(off, off)))
        area += 2 * p * q
    found = bulk(BOX, "shell")
    assert found.volume == pytest.approx(area, rel=1e-13)
    assert np.allclose(found.I, I, rtol=1e-12, atol=1e-14)


def test_a_box_turned_inside_out_has_a_negative_volume_but_not_by_legacy():
    inside_out = Mesh(BOX.vertices, BOX.triangles[:, ::-1])
    assert bulk(inside_out).volume == pytest.approx(-EDGES.prod())
    assert bulk(inside_out, "legacy").volume == pytest.approx(EDGES.prod())


def test_a_mirrored_mesh_keeps_its_outside():
    assert bulk(BOX.moved(np.diag([-2.0, 1, 1, 1]))).volume == pytest.approx(2 * EDGES.prod())


@pytest.mark.parametrize("seed", range(6))
def test_hulls_are_those_of_another_program(seed):
    spatial = pytest.importorskip("scipy.spatial")
    draw = np.random.default_rng(seed)
    points = draw.normal(size=(400, 3)) * [1, 0.01, 30] + 1e3 * seed
    if seed % 2:
        points = np.round(points / [0.5, 0.005, 15]) * [0.5, 0.005, 15]  # a grid: many in one plane
    ours, theirs = convex_hull(points), spatial.ConvexHull(points)
    assert bulk(ours).volume == pytest.approx(theirs.volume, rel=1e-9)
    assert bulk(ours, "shell").volume == pytest.approx(theirs.area, rel=1e-9)


def test_points_in_a_plane_have_no_hull():
    with pytest.raises(ValueError, match="lie in a plane"):
        convex_hull(np.random.default_rng(0).normal(size=(9, 3)) * [1, 1, 0])


def test_loose_triangles_are_welded_at_their_corners():
    made = welded(BOX.corners)
    assert (len(made.vertices), len(made.triangles)) == (8, 12)
    assert np.array_equal(made.corners, BOX.corners)


def test_meshes_do_not_change_and_are_compared_by_what_they_are():
    again = Mesh(BOX.vertices.copy(), FACES)
    assert again == BOX
    assert hash(again) == hash(BOX)
    assert BOX != TETRAHEDRON
    assert Mesh(BOX.vertices, FACES, [[1, 2, 3]] * 12) != BOX
    with pytest.raises(ValueError, match="read-only"):
        BOX.vertices[0, 0] = 1
    assert repr(BOX) == "Mesh(8 vertices, 12 triangles)"


WRONG = {
    "refers to vertex 3, expected 0 to 2": ([[0, 0, 0]] * 3, [[0, 1, 3]]),
    "refers to vertex -1": ([[0, 0, 0]] * 3, [[0, 1, -1]]),
    "infinite or no number": ([[0, 0, float("nan")]] * 3, [[0, 1, 2]]),
    "there are no triangles": ([[0, 0, 0]] * 3, np.zeros((0, 3), dtype=int)),
    "expected rows of three whole numbers": ([[0, 0, 0]] * 3, [[0.0, 1.0, 2.0]]),
    "expected rows of three numbers": ([[0, 0]] * 3, [[0, 1, 2]]),
}


@pytest.mark.parametrize("words", WRONG)
def test_what_is_no_mesh_is_refused(words):
    with pytest.raises(ValueError, match=words):
        Mesh(*WRONG[words])
