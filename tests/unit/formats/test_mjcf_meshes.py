"""Inertia from meshes against MuJoCo's: each rule, scale and frame, fitted primitives, and whole files."""

import numpy as np
import pytest

import polhode as ph
from polhode.formats.meshes import read_mesh
from polhode.formats.mjcf import read_mjcf
from polhode.model import ModelError
from tests.robots import mjcfs

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

# a thick L, which is not convex, and none of whose axes is one of symmetry
PROFILE = np.array([(0, 0), (3, 0), (3, 1), (1, 1), (1, 2), (0, 2)], dtype=float)
VERTICES = np.concatenate([np.c_[PROFILE, np.zeros(6)], np.c_[PROFILE, np.full(6, 1.5)]])
CAPS = [t for a, b, c in ((0, 1, 3), (1, 2, 3), (0, 3, 4), (0, 4, 5)) for t in ((a, c, b), (a + 6, b + 6, c + 6))]
SIDES = [t for k in range(6) for j in [(k + 1) % 6] for t in ((k, j, j + 6), (k, j + 6, k + 6))]
INLINE = f'vertex="{" ".join(map(str, VERTICES.ravel()))}" face="{" ".join(map(str, np.ravel([*CAPS, *SIDES])))}"'
MOVED = 'scale="0.1 0.2 0.15" refpos="0.3 0.2 0.1" refquat="0.9 0.1 0.2 0.3"'
PLACED = 'pos="1 2 3" quat="0.5 0.1 0.4 0.2"'


def model_of(mesh, geom, compiler=""):
    return (
        f'<mujoco><compiler {compiler}/><asset><mesh name="m" {mesh}/></asset><worldbody><body name="b"><freejoint/>'
        f'<geom mesh="m" {geom}/><geom size="0.1" pos="0.3 0 0"/></body></worldbody></mujoco>'
    )


def of_theirs(model, k):
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, model.body_iquat[k])
    R = R.reshape(3, 3)
    return model.body_mass[k], model.body_ipos[k], R @ np.diag(model.body_inertia[k]) @ R.T


def of_ours(body):
    return float(body.mass), np.array(body.com, dtype=float), np.array(body.inertia.rows(), dtype=float)


def agree(ours, theirs, tolerance):
    """Masses, centres by the size of the body, inertias by their largest entry."""
    (m, c, I), (M, C, J) = ours, theirs
    size = np.sqrt(np.trace(J) / M) if M else 1.0
    assert m == pytest.approx(M, rel=tolerance)
    assert np.abs(c - C).max() <= tolerance * size
    assert np.abs(I - J).max() <= tolerance * np.abs(J).max(initial=0)


def compare(text, tolerance=1e-7):
    agree(of_ours(read_mjcf(text).body("b")), of_theirs(mujoco.MjModel.from_xml_string(text), 1), tolerance)


@pytest.mark.parametrize("rule", ["", 'inertia="legacy"', 'inertia="exact"', 'inertia="convex"', 'inertia="shell"'])
@pytest.mark.parametrize("weight", ['density="700"', 'mass="3"'])
def test_a_mesh_weighs_what_it_does_in_mujoco(rule, weight):
    compare(model_of(f"{INLINE} {rule} {MOVED}", f'type="mesh" {PLACED} {weight}'))


def test_rules_differ_for_what_is_not_convex():
    masses = {
        rule: float(read_mjcf(model_of(f'{INLINE} inertia="{rule}"', 'type="mesh"')).body("b").mass)
        for rule in ("legacy", "exact", "convex", "shell")
    }
    assert len({round(m, 3) for m in masses.values()}) == 4
    assert masses["exact"] == pytest.approx(1000 * (6 - 2) * 1.5 + 1000 * 4 / 3 * np.pi * 1e-3)


PRISM = np.array([(0, 0), (3, 0.4), (2.5, 2), (1.2, 0.9), (0.3, 1.8)])  # with a notch
TWISTED = np.concatenate([np.c_[PRISM, 0.1 * PRISM[:, 0] * PRISM[:, 1]], np.c_[PRISM, np.full(5, 1.5)]]) - [
    1.3,
    0.6,
    -2,
]
WALLS = [[k, (k + 1) % 5, (k + 1) % 5 + 5, k + 5] for k in range(5)]  # none of them flat


@pytest.mark.parametrize("rule", ["legacy", "exact", "shell"])
def test_faces_with_many_corners_are_cut_as_in_mujoco(rule, tmp_path):
    faces = [[4, 3, 2, 1, 0], [5, 6, 7, 8, 9], *WALLS]
    rows = [f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in TWISTED] + [
        "f " + " ".join(str(k + 1) for k in face) for face in faces
    ]
    (tmp_path / "m.obj").write_text("\n".join(rows))
    (tmp_path / "m.xml").write_text(model_of(f'file="m.obj" inertia="{rule}"', 'type="mesh"'))
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    agree(of_ours(ph.load(tmp_path / "m.xml").body("b")), of_theirs(theirs, 1), 1e-6)


@pytest.mark.parametrize("rule", ["legacy", "shell"])
def test_of_a_file_with_objects_the_first_one_counts_and_holes_stay(rule, tmp_path):
    """As in MuJoCo, where the inertia would not agree otherwise; a picture has all of it."""
    rows, n = [], 0
    for k in range(2):
        moved = TWISTED * (1 + k) + [4, 1, 2]  # where its loader leaves a face with a notch out
        rows += [f"{'og'[k]} part{k}", *(f"v {x:.17g} {y:.17g} {z:.17g}" for x, y, z in moved)]
        rows += ["f " + " ".join(str(n + j + 1) for j in face) for face in ([4, 3, 2, 1, 0], [5, 6, 7, 8, 9], *WALLS)]
        n += len(moved)
    (tmp_path / "m.obj").write_text("\n".join(rows))
    (tmp_path / "m.xml").write_text(model_of(f'file="m.obj" inertia="{rule}"', 'type="mesh"'))
    theirs = mujoco.MjModel.from_xml_path(str(tmp_path / "m.xml"))
    agree(of_ours(ph.load(tmp_path / "m.xml").body("b")), of_theirs(theirs, 1), 1e-6)
    first, whole = (read_mesh(tmp_path / "m.obj", part) for part in (True, False))
    assert len(first.triangles) < len(whole.triangles) / 2 == 3 + 3 + 10


@pytest.mark.parametrize("meshdir", ["", 'meshdir="shapes"'])
@pytest.mark.parametrize("place", ["m.obj", "shapes/m.obj", "parts/m.obj", "parts/shapes/m.obj"])
def test_meshes_of_an_included_file_lie_beside_the_model_or_that_file(meshdir, place, tmp_path):
    """Two files at most are there, of different size: MuJoCo says which one counts, or that there is none."""
    main = tmp_path / "robot"
    for k, where in enumerate((place, "parts/m.obj"), 2):
        (main / where).parent.mkdir(parents=True, exist_ok=True)
        rows = "".join(f"v {k * x} {k * y} {k * z}\n" for x, y, z in np.vstack([np.zeros(3), np.eye(3)]))
        (main / where).write_text(rows + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    (main / "parts" / "asset.xml").write_text('<mujoco><asset><mesh name="m" file="m.obj"/></asset></mujoco>')
    whole = model_of("", 'type="mesh"', meshdir).replace('<mesh name="m" />', "")
    (main / "m.xml").write_text(whole.replace("<asset>", '<include file="parts/asset.xml"/><asset>'))
    theirs = mujoco.MjModel.from_xml_path(str(main / "m.xml"))
    agree(of_ours(ph.load(main / "m.xml").body("b")), of_theirs(theirs, 1), 1e-7)


def test_points_alone_are_their_hull():
    points = INLINE.split("face=", maxsplit=1)[0]
    compare(model_of(f"{points} {MOVED}", f'type="mesh" {PLACED}'))


@pytest.mark.parametrize("kind", ["sphere", "capsule", "cylinder", "ellipsoid", "box"])
def test_primitives_are_fitted_to_meshes(kind):
    compare(model_of(f"{INLINE} {MOVED}", f'type="{kind}" {PLACED} fitscale="1.2"'))


@pytest.mark.parametrize("name", [name for name in mjcfs() if "<mesh" in mjcfs()[name].read_text(errors="replace")])
def test_a_file_with_meshes_weighs_what_it_does_in_mujoco(name):
    """Every body that has a name and nothing welded to it; MuJoCo rounds its axes to about 1e-7."""
    path = mjcfs()[name]
    try:
        theirs = mujoco.MjModel.from_xml_path(str(path))
    except ValueError as refusal:
        pytest.skip(f"MuJoCo does not load it: {str(refusal).splitlines()[0][:90]}")
    ours = {body.name: body for body in ph.load(path).bodies}
    for k in range(1, theirs.nbody):
        body = ours.get(theirs.body(k).name)
        if body is not None and body.welded.m == 0:
            agree(of_ours(body), of_theirs(theirs, k), 1e-6)


@pytest.mark.slow
def test_most_files_of_robots_load():
    """95 of 100; before meshes were read, 88."""
    if len(mjcfs()) < 100:
        pytest.skip("NOT TESTED: not all packages of robots are installed")
    refused = []
    for name, path in mjcfs().items():
        try:
            ph.load(path)
        except ModelError:
            refused.append(name)
    assert len(refused) <= 5, refused


FAULTS = {
    model_of("", 'type="mesh"').replace('mesh="m"', 'mesh="n"'): "Mesh 'n' is not in <asset>. There is 'm'.",
    model_of('file="m.stl"', 'type="mesh"'): "load the model from its file",
    model_of(f'{INLINE} scale="0 1 1"', 'type="mesh"'): "scale has a length of 0",
    model_of(f'{INLINE} inertia="right"', 'type="mesh"'): "inertia is 'right', expected convex, exact",
    model_of('vertex="1 2"', 'type="mesh"'): "vertex has 2 words",
    model_of('vertex="0 0 0 1 0 0 0 1 0 1 1 0"', 'type="mesh"'): "lie in a plane",
    model_of(INLINE.replace('face="0', 'face="77'), 'type="mesh"'): "refers to vertex 77",
    model_of('builtin="sphere"', 'type="mesh"'): "made by a builtin",
    model_of(INLINE, 'type="box"', 'fitaabb="true"'): "fitaabb",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: FAULTS[text][:30])
def test_what_has_no_mesh_says_so(text):
    with pytest.raises(ModelError) as caught:
        read_mjcf(text)
    assert FAULTS[text] in str(caught.value)
    assert "Body 'b' has its inertia from a mesh" in str(caught.value)
    assert "give the body an <inertial>" in str(caught.value)


def test_a_file_that_is_not_there_is_a_note_where_nothing_depends_on_it(tmp_path):
    path = tmp_path / "m.xml"
    path.write_text(
        '<mujoco><compiler meshdir="x"/><asset><mesh file="a/part.stl"/></asset><worldbody><body name="b"><freejoint/>'
        '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/><geom type="mesh" mesh="part"/></body></worldbody>'
        "</mujoco>"
    )
    model = ph.load(path)
    assert not model.shapes
    assert "Mesh 'part' is not there, or not to be read, and not drawn." in model.notes
    path.write_text(path.read_text().replace('<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>', ""))
    with pytest.raises(ModelError, match=r"'a/part\.stl': there is no such file"):
        ph.load(path)


def test_geoms_are_shapes_where_mujoco_has_them(tmp_path):
    """The vertices of the mesh in the axes of the body, as MuJoCo places them."""
    from polhode.formats.meshes import save_mesh
    from polhode.spatial import Mesh

    save_mesh(Mesh(VERTICES, [*CAPS, *SIDES]), tmp_path / "l.npz")
    text = model_of(f"{INLINE} {MOVED}", f'type="mesh" {PLACED} rgba="1 0 0 0.5"')
    theirs, ours = mujoco.MjModel.from_xml_string(text), read_mjcf(text)
    mesh, ball = ours.shapes
    points = np.array([[float(e) for e in p] for p in mesh.points])
    found = points[0] + mesh.mesh.vertices @ (points[1:] - points[0])
    R = np.zeros(9)
    mujoco.mju_quat2Mat(R, theirs.geom_quat[0])
    expected = theirs.mesh_vert @ R.reshape(3, 3).T + theirs.geom_pos[0]
    assert np.allclose(sorted(map(tuple, found)), sorted(map(tuple, expected)), atol=1e-5)
    assert mesh.color == "#ff000080"
    assert (ball.kind, ball.mesh, ball.color) == ("mesh", "sphere", "#808080")


def test_grounds_hidden_groups_and_what_is_transparent_are_not_drawn():
    geoms = '<geom type="plane" size="1 1 1"/><geom size="1" group="3"/><geom size="1" rgba="1 1 1 0"/><geom size="2"/>'
    text = f'<mujoco><worldbody><body name="b"><freejoint/>{geoms}</body></worldbody></mujoco>'
    (shape,) = read_mjcf(text).shapes
    assert [float(e) for e in shape.points[1]] == [2, 0, 0]


def test_hidden_groups_are_drawn_where_little_else_would_be():
    body = '<body name="{}"><freejoint/><geom size="1" group="{}"/></body>'
    text = f"<mujoco><worldbody>{body.format('a', 0)}{body.format('b', 4)}{body.format('c', 4)}</worldbody></mujoco>"
    assert [shape.marker for shape in read_mjcf(text).shapes] == ["a", "b", "c"]
