"""Shapes that pictures draw: said, checked, written, drawn."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.toml import read_toml
from polhode.formats.toml_writer import write_toml


def bare():
    build = ph.Builder("sledge")
    build.body("sledge", joint=ph.prismatic("x", name="x"), mass="20*L")
    build.body("seat", parent="sledge", at=(0, 0, 0.3), joint=ph.weld(), mass=1)
    return build


def sledge(**last):
    build = bare()
    build.shape("sledge", "wire", points=[(0, 0.2, 0), ("L", 0.2, 0), ("L", 0.2, 0.2)], width=0.03)
    build.shape("seat", points=[(0, -0.25, 0), (0.9, 0.25, 0.05)], role="accent", name="plank")
    if last:
        build.shape(**last)
    return build.build()


def scene(model):
    return ph.simulate(ph.formulate(model).compile(), t_end=0.1, p={"L": 1.0}).scene()


def test_shapes_read_back_equal():
    model = sledge()
    assert read_toml(write_toml(model)) == model
    assert [shape.name for shape in model.shapes] == ["shape of sledge", "plank"]
    assert [str(s) for s in model.parameters] == ["L"]


def test_a_body_with_shapes_is_drawn_by_them_alone():
    found = scene(sledge())
    drawn = [(shape.kind, shape.body, shape.role) for shape in found.shapes if shape.body and shape.kind != "trail"]
    assert [d for d in drawn if d[0] != "marker"] == [("rod", 1, "body"), ("rod", 1, "body"), ("box", 1, "accent")]
    box = next(shape for shape in found.shapes if shape.kind == "box")
    assert box.size == pytest.approx((0.9, 0.5, 0.05))
    np.testing.assert_allclose(box.pose[:3, 3], (0.45, 0, 0.325))  # of the seat, in the sledge


def test_shapes_move_nothing():
    assert ph.formulate(sledge()).M == ph.formulate(bare().build()).M


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"marker": "sled", "points": [(0, 0, 0), (1, 1, 1)]}, "marker 'sled' does not exist"),
        ({"marker": "seat", "kind": "wire", "points": [(0, 0, 0)], "width": 1}, "has 1 points, expected 2 or more"),
        ({"marker": "seat", "kind": "sphere", "points": [(0, 0, 0)]}, "without a width cannot be seen"),
        ({"marker": "seat", "points": [(0, 0, 0), ("x", 1, 1)]}, "depends on x, expected constants"),
        ({"marker": "seat", "points": 3}, "expected points"),
        ({"marker": "seat", "kind": "mesh"}, "is a mesh and has none"),
        ({"marker": "seat", "mesh": "a.stl"}, "has a mesh, expected kind=\"mesh\", found 'box'"),
        ({"marker": "seat", "kind": "mesh", "mesh": 3}, "expected a file, or vertices and triangles"),
        ({"marker": "seat", "kind": "mesh", "mesh": ([[0, 0, 0]], [[0, 0, 1]])}, "refers to vertex 1"),
        ({"marker": "seat", "kind": "mesh", "mesh": "box", "points": [(0, 0, 0)]}, "has 1 points, expected none, or 4"),
        ({"marker": "seat", "kind": "mesh", "mesh": "box", "color": "red"}, "color is 'red', expected red, green"),
        ({"marker": "seat", "kind": "cone", "points": []}, "kind 'cone' is unknown"),
    ],
)
def test_what_is_wrong_is_said(given, said):
    with pytest.raises(ph.ModelError, match=said):
        sledge(**given)


def test_a_mesh_of_arrays_is_written_beside_the_text(tmp_path):
    from tests.unit.spatial.test_meshes import BOX

    model = sledge(marker="seat", kind="mesh", mesh=(BOX.vertices, BOX.triangles), color="#ff8800")
    ph.save(model, tmp_path / "s.toml")
    assert ph.load(tmp_path / "s.toml") == model
    assert (tmp_path / "s_mesh1.npz").is_file()
    with pytest.raises(ph.ModelError, match="its mesh is arrays, which text cannot hold"):
        write_toml(model)


def test_a_mesh_is_drawn_in_the_axes_of_its_marker():
    """A box of 2 x 1 x 1 on the seat, which is 0.3 above the sledge; and one that its points stretch with L."""
    moved = [(0, 0, 0), ("L", 0, 0), (0, 3, 0), (0, 0, 1)]
    points = np.array([(x, y, z) for x in (0, 2) for y in (0, 1) for z in (0, 1)], dtype=float)
    faces = [[0, 1, 3], [0, 3, 2], [4, 6, 7], [4, 7, 5], [0, 4, 5], [0, 5, 1], [2, 3, 7], [2, 7, 6], [0, 2, 6],
             [0, 6, 4], [1, 5, 7], [1, 7, 3]]  # fmt: skip
    for more, expected in (({}, points), ({"points": moved}, points * [1, 3, 1])):
        found = scene(sledge(marker="seat", kind="mesh", mesh=(points, faces), color="#112233", **more))
        (shape,) = (shape for shape in found.shapes if shape.kind == "mesh")
        assert sorted(map(tuple, shape.points)) == sorted(map(tuple, expected + [0, 0, 0.3]))
        assert (shape.color, found.bodies[shape.body]) == ("#112233", "sledge")


def test_a_mesh_that_cannot_be_read_is_told_and_the_body_drawn_as_before(tmp_path):
    (tmp_path / "a.stl").write_bytes(b"nothing")
    build = bare()
    build.shape("seat", "mesh", mesh=tmp_path / "a.stl")
    with pytest.warns(UserWarning, match=r"Shape 'shape of seat' is not drawn: .*a\.stl: the file has 7 bytes") as told:
        found = scene(build.build())
    assert sum(str(w.message).startswith("Shape") for w in told) == 1
    plain = scene(bare().build())
    assert [shape.kind for shape in found.shapes] == [shape.kind for shape in plain.shapes]
