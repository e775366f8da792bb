"""What URDF robots look like: primitives, colours, and meshes wherever their packages lie."""

import numpy as np
import pytest

import polhode as ph
from tests.unit.formats.test_mesh_files import stl

ROBOT = """<robot name="r"><material name="red"><color rgba="1 0 0 1"/></material>
<link name="base">{}</link><link name="arm"><inertial><mass value="1"/><inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0"
iyz="0"/></inertial>{}</link><joint name="j" type="revolute"><parent link="base"/><child link="arm"/><axis xyz="0 0 1"/>
<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>"""
MESH = '<visual><origin xyz="1 2 3" rpy="0 0 1.5707963267948966"/><geometry><mesh filename="{}"{}/></geometry></visual>'


def visual(geometry, material='<material name="red"/>'):
    return f'<visual><origin xyz="1 2 3"/><geometry>{geometry}</geometry>{material}</visual>'


def robot(folder, arm, base=""):
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "r.urdf").write_text(ROBOT.format(base, arm))
    return folder / "r.urdf"


def points(shape):
    return np.array([[float(e) for e in p] for p in shape.points])


def test_primitives_are_where_the_file_has_them(tmp_path):
    arm = (
        visual('<box size="1 2 3"/>') + visual('<sphere radius="2"/>', "") + visual('<cylinder radius="2" length="5"/>')
    )
    box, sphere, cylinder = ph.load(robot(tmp_path, arm)).shapes
    assert (box.mesh, sphere.mesh, cylinder.mesh) == ("box", "sphere", "cylinder")
    assert (box.marker, box.color, sphere.color) == ("arm", "#ff0000", "")
    for shape, size in ((box, (1, 2, 3)), (sphere, (2, 2, 2)), (cylinder, (2, 2, 5))):
        assert np.allclose(points(shape), [[1, 2, 3], *(np.array([1, 2, 3]) + np.diag(size))])


def test_a_capsule_is_as_long_as_its_straight_part(tmp_path):
    (shape,) = ph.load(robot(tmp_path, visual('<capsule radius="0.5" length="2"/>'))).shapes
    assert (shape.kind, float(shape.width)) == ("capsule", 1.0)
    assert np.allclose(points(shape), [[1, 2, 2], [1, 2, 4]])


PLACES = {
    "beside it": ("a.stl", "a.stl", "."),
    "in a folder above": ("package://robot/meshes/a.stl", "robot/meshes/a.stl", "robot/urdf"),
    "in a package of another name": ("package://called/meshes/a.stl", "robot/meshes/a.stl", "robot/urdf"),
    "in share": ("package://robot/a.stl", "share/robot/a.stl", "there"),
    "with a blank": ("package://robot/my%20part.stl", "robot/my part.stl", "robot/urdf"),
}


@pytest.mark.parametrize("how", PLACES)
def test_meshes_are_found(tmp_path, how):
    name, place, folder = PLACES[how]
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_bytes(stl())
    if "called" in name:
        (tmp_path / "robot/package.xml").write_text("<package><name>called</name></package>")
    path = robot(tmp_path / folder, MESH.format(name, ' scale="2 3 4"'))
    model = ph.load(path)
    (shape,) = model.shapes
    assert (tmp_path / place).samefile(shape.mesh)
    assert np.allclose(points(shape), [[1, 2, 3], [1, 4, 3], [-2, 2, 3], [1, 2, 7]])
    assert not [note for note in model.notes if "Mesh" in note]


def test_packages_elsewhere_are_named(tmp_path, monkeypatch):
    place = tmp_path / "elsewhere/robot/a.stl"
    place.parent.mkdir(parents=True)
    place.write_bytes(stl())
    path = robot(tmp_path / "here", MESH.format("package://robot/a.stl", ""))
    monkeypatch.delenv("ROS_PACKAGE_PATH", raising=False)
    assert not ph.load(path).shapes
    assert len(ph.load(path, packages=[tmp_path / "elsewhere"]).shapes) == 1
    assert len(ph.load(path, packages=[str(place.parent)]).shapes) == 1
    monkeypatch.setenv("ROS_PACKAGE_PATH", f"/nowhere:{tmp_path / 'elsewhere'}")
    assert len(ph.load(path).shapes) == 1
    with pytest.raises(TypeError, match="expected a list of folders"):
        ph.load(path, packages=str(tmp_path))


def test_missing_meshes_are_one_note(tmp_path):
    arm = "".join(MESH.format(f"package://no/{k}.stl", "") for k in range(5)) + visual('<blob radius="1"/>')
    arm += visual('<box size="1 0 1"/>')
    model = ph.load(robot(tmp_path, arm))
    assert not model.shapes
    found = [note for note in model.notes if "not drawn" in note]
    assert found == [
        "Meshes 'package://no/0.stl', 'package://no/1.stl', 'package://no/2.stl', ... are not there, and not drawn. "
        "Give load(..., packages=[...]) the folder in which their package lies.",
        "2 of 7 <visual> are not drawn: their <geometry> has no size, or no kind known here.",
    ]


def test_a_model_with_meshes_is_written_and_read_back(tmp_path):
    (tmp_path / "a.stl").write_bytes(stl())
    model = ph.load(robot(tmp_path, MESH.format("a.stl", "") + visual('<box size="1 2 3"/>')))
    ph.save(model, tmp_path / "r.toml")
    text = (tmp_path / "r.toml").read_text()
    assert 'mesh = "a.stl"' in text
    assert ph.load(tmp_path / "r.toml").shapes == model.shapes
    (tmp_path / "other").mkdir()
    ph.save(model, tmp_path / "other/r.toml")
    assert ph.load(tmp_path / "other/r.toml").shapes == model.shapes
