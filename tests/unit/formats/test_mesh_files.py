"""Files of meshes: hand-made ones, those that are broken, and MuJoCo's eyes on the same file."""

import struct

import numpy as np
import pytest

from polhode.formats.meshes import READERS, read_mesh, save_mesh
from polhode.model import ModelError
from polhode.spatial import Mesh
from polhode.spatial.solids import bulk
from tests.unit.spatial.test_meshes import TETRAHEDRON

V, F = TETRAHEDRON.vertices, TETRAHEDRON.triangles


def stl(corners=TETRAHEDRON.corners, count=None):
    rows = b"".join(struct.pack("<12fH", 0, 0, 0, *c.ravel(), 0) for c in corners)
    return b"solid or not".ljust(80) + struct.pack("<I", len(corners) if count is None else count) + rows


def text_of(corners=TETRAHEDRON.corners):
    rows = "".join(
        "facet normal 0 0 0\n outer loop\n"
        + "".join(f"  vertex {x:g} {y:.3e} {z:g}\n" for x, y, z in c)
        + " endloop\nendfacet\n"
        for c in corners
    )
    return f"solid t\n{rows}endsolid t\n".encode()


def obj():
    vertices = "".join(f"v {x} {y} {z} 1 0 0\n" for x, y, z in V)
    faces = "usemtl red\nf 1/1/1 3//1 2\nusemtl none\nf 1 2 4\nf -4 -1 -2\nf 2 3 4\n"
    return f"# a comment\nmtllib t.mtl\n{vertices}vn 0 0 1\n{faces}".encode()


def msh(v=V, f=F):
    return (
        struct.pack("<4i", len(v), 1, 1, len(f))
        + np.concatenate([v.ravel(), [0, 0, 1, 0, 0]]).astype("<f4").tobytes()
        + f.astype("<i4").tobytes()
    )


DAE = """<?xml version="1.0"?><COLLADA xmlns="http://www.collada.org/2005/11/COLLADASchema" version="1.4.1">
<asset><unit name="mm" meter="0.5"/><up_axis>Y_UP</up_axis></asset>
<library_effects><effect id="e"><profile_COMMON><technique sid="c"><phong><diffuse><color>1 0.5 0 1</color></diffuse>
</phong></technique></profile_COMMON></effect></library_effects>
<library_materials><material id="m"><instance_effect url="#e"/></material></library_materials>
<library_geometries><geometry id="g"><mesh>
<source id="p"><float_array id="pa" count="12">{numbers}</float_array>
<technique_common><accessor source="#pa" count="4" stride="3"/></technique_common></source>
<vertices id="v"><input semantic="POSITION" source="#p"/></vertices>
<triangles material="s" count="2"><input semantic="VERTEX" source="#v" offset="0"/><input semantic="NORMAL" source="#p"
 offset="1"/><p>0 0 2 0 1 0 0 0 1 0 3 0</p></triangles>
<polylist count="2"><input semantic="VERTEX" source="#v" offset="0"/><vcount>3 3</vcount><p>0 3 2 1 2 3</p></polylist>
</mesh></geometry></library_geometries>
<library_visual_scenes><visual_scene id="vs"><node><scale>2 2 2</scale><node><translate>1 0 0</translate>
<rotate>0 0 1 90</rotate><instance_geometry url="#g"><bind_material><technique_common>
<instance_material symbol="s" target="#m"/></technique_common></bind_material></instance_geometry></node></node>
</visual_scene></library_visual_scenes><scene><instance_visual_scene url="#vs"/></scene></COLLADA>"""


def dae():
    return DAE.format(numbers=" ".join(map(str, V.ravel()))).encode()


def read(folder, name, data):
    path = folder / name
    path.write_bytes(data)
    return read_mesh(path)


@pytest.mark.parametrize(("name", "make"), [("b.stl", stl), ("t.STL", text_of), ("t.obj", obj), ("t.msh", msh)])
def test_a_tetrahedron_is_read_from_each_kind_of_file(tmp_path, name, make):
    found = read(tmp_path, name, make())
    assert len(found.vertices) == 4
    assert np.allclose(found.corners, TETRAHEDRON.corners) or bulk(found).volume == pytest.approx(5)
    assert np.allclose(bulk(found).I, bulk(TETRAHEDRON).I, rtol=1e-6)


def test_collada_is_put_where_its_scene_has_it_in_metres_with_its_colours(tmp_path):
    found = read(tmp_path, "t.dae", dae())
    turned = np.stack([-V[:, 1], V[:, 0], V[:, 2]], axis=1) + [1, 0, 0]  # by 90 degrees about z, at (1, 0, 0), 2 / 2
    assert np.allclose(found.corners, turned[[[0, 2, 1], [0, 1, 3], [0, 3, 2], [1, 2, 3]]])
    assert found.colors[0].tolist() == [255, 128, 0]
    assert found.colors[2].tolist() == [180, 186, 192]
    assert bulk(found).volume == pytest.approx(5)


def test_faces_with_many_corners_become_triangles(tmp_path):
    square = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0\nf 1 2 3 4\n"
    assert read(tmp_path, "s.obj", square).triangles.tolist() == [[0, 1, 3], [1, 2, 3]]
    kite = b"v 0 0 0\nv 2 1 0\nv 2.2 2.2 0\nv 1 2 0\nf 1 2 3 4\n"  # along its shorter diagonal, from 2 to 4
    assert read(tmp_path, "k.obj", kite).triangles.tolist() == [[0, 1, 3], [1, 2, 3]]
    arrow = b"v 5 1 3\nv 7 1 3\nv 7 1 5\nv 6 1 3.2\nv 5 1 5\nf 1 2 3 4 5\n"  # no triangle beyond its notch
    corners = read(tmp_path, "a.obj", arrow).corners
    areas = np.linalg.norm(np.cross(corners[:, 1] - corners[:, 0], corners[:, 2] - corners[:, 0]), axis=1) / 2
    assert areas.sum() == pytest.approx(4 - 1.8)


def test_obj_has_the_colours_of_its_materials(tmp_path):
    (tmp_path / "t.mtl").write_text("newmtl red\nKd 1 0 0\n")
    assert read(tmp_path, "t.obj", obj()).colors.tolist() == [[255, 0, 0], *[[180, 186, 192]] * 3]


def test_arrays_are_written_and_read_back(tmp_path):
    for colors in (None, [[1, 2, 3]] * 4):
        made = Mesh(V / 3, F, colors)
        save_mesh(made, tmp_path / "t.npz")
        assert read_mesh(tmp_path / "t.npz") == made


def test_a_file_that_changed_is_read_again(tmp_path):
    first = read(tmp_path, "t.stl", stl())
    assert read_mesh(tmp_path / "t.stl") is first
    second = read(tmp_path, "t.stl", stl(2 * np.concatenate([TETRAHEDRON.corners] * 2)))
    assert bulk(second).volume == pytest.approx(80)


BROKEN = {
    "b.stl": {
        stl()[:-1]: "bytes, expected STL",
        stl(count=5): "bytes, expected STL",
        stl(TETRAHEDRON.corners * np.nan): "infinite or no number",
        b"": "0 bytes, expected STL",
        text_of().replace(b"vertex 2 ", b"vertex __import__('os') "): "a vertex is no number",
        text_of().replace(b"endfacet", b"", 1): "12 vertices in 3 facets",
        text_of().replace(b"vertex 2 ", b"vertex inf "): "infinite",
    },
    "b.obj": {
        b"v 1 2\n": "line 1: a vertex has 2 numbers",
        b"v 1 2 x\nf 1 1 1": "a vertex is no number",
        b"v 0 0 0\nf 1 2 3\n": "line 2: a face names vertex 2, and there are 1",
        b"v 0 0 0\nf 1 a 3\n": "line 2: a face names vertex 'a'",
        b"v 0 0 0\nf 0 1 1\n": "names vertex 0",
        b"v 0 0 0\nf 1 1\n": "2 corners",
        b"v 0 0 0\n": "there are no faces",
    },
    "b.msh": {
        msh()[:-4]: "by its counts",
        b"abc": "does not begin with four counts",
        struct.pack("<4i", -1, 0, 0, 1): "does not begin with four counts",
        msh(f=F + 1): "refers to vertex 4",
    },
    "b.dae": {
        dae().replace(b"<vcount>3 3", b"<vcount>5000 3"): "has 5000 corners",
        dae().replace(b"<COLLADA", b"<!DOCTYPE a [<!ENTITY b 'c'>]><COLLADA", 1): "are refused",
        dae().replace(b"<p>0 3 2", b"<p>0 9 2"): "refers to a vertex that is not there",
        dae().replace(b"<vcount>3 3", b"<vcount>3 4"): "counts 7 corners, expected 6",
        dae().replace(b'source="#v"', b'source="#nobody"'): "leads to no places",
        dae().replace(b"<p>0 0 2", b"<p>0 0 2.5"): "no whole numbers",
        dae().replace(b"<scale>2 2 2", b"<scale>2 2 2 2"): "<scale> on line",
        b"<a/>": "the root element is <a>",
    },
    "b.npz": {b"PK": "no mesh"},
    "b.blend": {b"x": "meshes end in .stl, .obj"},
}


@pytest.mark.parametrize(("name", "data"), [(name, data) for name in BROKEN for data in BROKEN[name]])
def test_what_is_broken_is_told(tmp_path, name, data):
    with pytest.raises(ModelError) as caught:
        read(tmp_path, name, data)
    assert BROKEN[name][data] in str(caught.value)
    assert str(tmp_path / name) in str(caught.value)


def test_nodes_that_carry_themselves_end(tmp_path):
    looped = dae().replace(b"<node><scale>", b'<node id="n"><instance_node url="#n"/><scale>', 1)
    with pytest.raises(ModelError, match="nested more than"):
        read(tmp_path, "t.dae", looped)


def test_what_is_no_file_is_told(tmp_path):
    with pytest.raises(ModelError, match="there is no such file"):
        read_mesh(tmp_path / "a.stl")
    (tmp_path / "b.stl").mkdir()
    with pytest.raises(ModelError, match="no regular file"):
        read_mesh(tmp_path / "b.stl")


def test_arrays_with_pickles_are_refused(tmp_path):
    np.savez(tmp_path / "p.npz", vertices=np.array([{}], dtype=object), triangles=F)
    with pytest.raises(ModelError):
        read_mesh(tmp_path / "p.npz")


def test_random_bytes_are_a_mesh_or_a_model_error(tmp_path):
    draw = np.random.default_rng(3)
    whole = {".stl": stl(), ".obj": obj(), ".msh": msh(), ".dae": dae(), ".npz": b"PK\3\4"}
    assert whole.keys() == READERS.keys()
    for k in range(200):
        suffix = list(whole)[k % 5]
        data = bytearray(whole[suffix])
        for at in draw.integers(len(data), size=3):
            data[at] = draw.integers(256)
        try:
            assert isinstance(read(tmp_path, f"{k}{suffix}", bytes(data)), Mesh)
        except ModelError:
            continue


PLAIN = "".join(f"v {x} {y} {z}\n" for x, y, z in V) + "".join(f"f {a} {b} {c}\n" for a, b, c in F + 1)
BARE = struct.pack("<4i", 4, 0, 0, 4) + V.astype("<f4").tobytes() + F.astype("<i4").tobytes()


@pytest.mark.parametrize(("name", "data"), [("b.stl", stl()), ("t.obj", PLAIN.encode()), ("t.msh", BARE)])
def test_mujoco_reads_the_same_surface(tmp_path, name, data):
    """Its vertices, taken back from the frame at the centre that it gives them."""
    mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")
    ours = read(tmp_path, name, data)
    theirs = mujoco.MjModel.from_xml_string(
        f'<mujoco><asset><mesh name="m" file="{tmp_path / name}"/></asset><worldbody><body>'
        '<geom type="mesh" mesh="m"/></body></worldbody></mujoco>'
    )
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, theirs.mesh_quat[0])
    vertices = theirs.mesh_vert @ R.reshape(3, 3).T + theirs.mesh_pos[0]
    assert _set(vertices[theirs.mesh_face]) == _set(ours.corners)


def _set(corners):
    return sorted(sorted(map(tuple, np.round(c, 4) + 0.0)) for c in corners)
