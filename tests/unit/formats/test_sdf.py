"""SDFormat: where everything is, by transforms written here by hand, and the same machines as URDF."""

import math

import numpy as np
import pytest

import polhode as ph
from polhode.formats.sdf import read_sdf
from polhode.formats.urdf import read_urdf

SIX = "<ixx>0.02</ixx><iyy>0.03</iyy><izz>0.04</izz><ixy>0.001</ixy><ixz>-0.002</ixz><iyz>0.003</iyz>"
MASS = f"<inertial><pose>0.1 0.2 -0.1 0.3 -0.2 0.5</pose><mass>1.5</mass><inertia>{SIX}</inertia></inertial>"


def link(name, pose="", inside=MASS):
    pose = pose and pose + " 0" * (6 - len(pose.split()))
    return f'<link name="{name}">{pose and f"<pose>{pose}</pose>"}{inside}</link>'


def axis(xyz="0 0 1", inside="", tag="axis", frame=""):
    of = f' expressed_in="{frame}"' if frame else ""
    return f"<{tag}><xyz{of}>{xyz}</xyz>{inside}</{tag}>"


def joint(name, parent, child, kind="revolute", inside=None):
    inside = axis() if inside is None else inside
    return f'<joint name="{name}" type="{kind}"><parent>{parent}</parent><child>{child}</child>{inside}</joint>'


def held(child):
    return joint("held", "world", child, "fixed", "")


def sdf(*parts, version="1.9", of_model=""):
    return f'<sdf version="{version}"><model name="m" {of_model}>{"".join(parts)}</model></sdf>'


def turn(axis, angle):
    a = np.array(axis, float) / np.linalg.norm(axis)
    K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
    return np.eye(3) + math.sin(angle) * K + (1 - math.cos(angle)) * K @ K


def pose(x, y, z, roll=0, pitch=0, yaw=0):
    X = np.eye(4)
    X[:3, :3] = turn((0, 0, 1), yaw) @ turn((0, 1, 0), pitch) @ turn((1, 0, 0), roll)
    X[:3, 3] = x, y, z
    return X


def moved(axis=(0, 0, 1), angle=0.0, by=0.0):
    X = np.eye(4)
    X[:3, :3] = turn(axis, angle)
    X[:3, 3] = by * np.array(axis) / np.linalg.norm(axis)
    return X


def where(model, name, q=()):
    dyn = ph.formulate(model).compile()
    return np.array(dyn.pose(name)(np.array(q, float)))


def test_a_pose_is_in_its_model_or_relative_to_what_it_says_and_a_joint_in_its_child():
    text = sdf(
        "<pose>0.1 0.2 1 0 0.3 0</pose>",
        link("a", "0 0 0.5 0.2 0 0"),
        f'<link name="b"><pose relative_to="f">1 0 0 0 0 0.5</pose>{MASS}</link>',
        '<frame name="f" attached_to="a"><pose>0 0.3 0 0.4 0 0</pose></frame>',
        held("a"),
        joint("j", "a", "b", inside="<pose>-0.2 0 0.1 0 0.7 0</pose>" + axis("1 2 0")),
    )
    X_M = pose(0.1, 0.2, 1, 0, 0.3, 0)
    X_F = X_M @ pose(0, 0, 0.5, 0.2) @ pose(0, 0.3, 0, 0.4)
    X_J = X_F @ pose(1, 0, 0, 0, 0, 0.5) @ pose(-0.2, 0, 0.1, 0, 0.7)
    X_B = X_J @ moved((1, 2, 0), 0.8) @ np.linalg.inv(pose(-0.2, 0, 0.1, 0, 0.7))
    model = read_sdf(text)
    assert model.coordinates == ("j",)
    np.testing.assert_allclose(where(model, "b", [0.8]), X_B, atol=1e-12)
    np.testing.assert_allclose(where(model, "f", [0.8]), X_F, atol=1e-12)


@pytest.mark.parametrize(
    ("frame", "version", "inside", "R"),
    [
        ("", "1.9", "", turn((1, 0, 0), 0.6) @ turn((0, 1, 0), 0.4)),
        ("__model__", "1.9", "", np.eye(3)),
        ("b", "1.9", "", turn((1, 0, 0), 0.6)),
        ("", "1.4", "", np.eye(3)),
        ("", "1.5", "", turn((1, 0, 0), 0.6) @ turn((0, 1, 0), 0.4)),
        ("", "1.6", "<use_parent_model_frame>1</use_parent_model_frame>", np.eye(3)),
    ],
)
def test_an_axis_is_expressed_in_the_joint_or_in_the_frame_it_says_and_in_the_model_in_old_files(
    frame, version, inside, R
):
    text = sdf(
        link("b", "0 0 0 0.6 0 0"),
        joint("j", "world", "b", "prismatic", "<pose>0 0 0 0 0.4 0</pose>" + axis("0 0 2", inside, frame=frame)),
        version=version,
    )
    np.testing.assert_allclose(where(read_sdf(text), "b", [0.5])[:3, 3], R @ [0, 0, 0.5], atol=1e-12)


@pytest.mark.parametrize("kind", ["revolute", "prismatic", "screw", "universal"])
def test_a_tree_that_goes_from_child_to_parent_has_the_same_relative_motion(kind):
    pitch = "<screw_thread_pitch>0.3</screw_thread_pitch>" if kind == "screw" else ""
    more = axis("0 1 1", tag="axis2") if kind == "universal" else ""
    text = sdf(
        link("a", "0.5 0 0.2 0 0.3 0"),
        link("b", "0 0.1 0"),
        held("b"),
        joint("j", "a", "b", kind, "<pose>0.1 0.2 0 0 0 0.4</pose>" + axis("1 0 0.5") + more + pitch),
    )
    model = read_sdf(text)
    q = {"j": 0.7} if kind != "universal" else {"j_1": 0.7, "j_2": -0.4}
    X_WA = where(model, "a", [q[name] for name in model.coordinates])
    angle, by = (0, 0.7) if kind == "prismatic" else (0.7, 0.7 * 0.3 / (2 * math.pi) if kind == "screw" else 0)
    motion = moved((1, 0, 0.5), angle, by)
    if kind == "universal":
        motion = motion @ moved((0, 1, 1), -0.4)
    X_BJ, X_A = pose(0.1, 0.2, 0, 0, 0, 0.4), pose(0.5, 0, 0.2, 0, 0.3)
    X_AJ = np.linalg.inv(X_A) @ pose(0, 0.1, 0) @ X_BJ
    X_AB = X_AJ @ motion @ np.linalg.inv(X_BJ)
    np.testing.assert_allclose(np.linalg.inv(X_WA) @ pose(0, 0.1, 0), X_AB, atol=1e-12)
    straight = read_sdf(text.replace("<child>b</child></joint>", "<child>a</child></joint>", 1))
    assert straight.coordinates == (("j",) if kind != "universal" else ("j_2", "j_1"))
    X_WB = where(straight, "b", [q[name] for name in straight.coordinates])
    np.testing.assert_allclose(np.linalg.inv(X_A) @ X_WB, X_AB, atol=1e-12)


def test_old_threads_are_radians_a_metre_of_a_left_handed_screw():
    text = sdf(link("b"), joint("j", "world", "b", "screw", axis() + "<thread_pitch>-20</thread_pitch>"))
    np.testing.assert_allclose(where(read_sdf(text), "b", [0.6])[2, 3], 0.03, atol=1e-15)


def test_a_ball_turns_about_the_joint_and_not_about_the_link():
    text = sdf(link("b", "0 0 1"), joint("j", "world", "b", "ball", "<pose>0 0 0.5 0 0 0</pose>"))
    model = read_sdf(text)
    assert (model.nq, model.nu) == (4, 3)
    half = math.sin(math.pi / 4)
    np.testing.assert_allclose(where(model, "b", [half, half, 0, 0])[:3, 3], [0, 0.5, 1.5], atol=1e-12)


def test_degrees_and_quaternions():
    text = sdf(
        '<frame name="d"><pose degrees="true">1 2 3 90 0 30</pose></frame>',
        '<frame name="q"><pose rotation_format="quat_xyzw">1 2 3 0 0 1 1</pose></frame>',
        link("a"),
        joint("j", "world", "a"),
    )
    model = read_sdf(text)
    np.testing.assert_allclose(where(model, "d", [0]), pose(1, 2, 3, math.pi / 2, 0, math.pi / 6), atol=1e-12)
    np.testing.assert_allclose(where(model, "q", [0]), pose(1, 2, 3, 0, 0, math.pi / 2), atol=1e-12)


def test_models_in_models_have_names_in_their_model_and_are_placed_by_a_frame_of_theirs():
    inner = (
        '<model name="n" placement_frame="tip"><pose relative_to="a">0 0 2 0 0 1</pose>'
        + link("a", "0 0.5 0")
        + '<frame name="tip" attached_to="a"><pose>0.2 0 0 0 0.3 0</pose></frame></model>'
    )
    text = sdf(link("a", "1 0 0"), inner, held("a"), joint("j", "a", "n::a"))
    model = read_sdf(text)
    X_tip = pose(1, 0, 0) @ pose(0, 0, 2, 0, 0, 1)
    np.testing.assert_allclose(where(model, "n::tip", [0]), X_tip, atol=1e-12)
    np.testing.assert_allclose(where(model, "n::a", [0]), X_tip @ np.linalg.inv(pose(0.2, 0, 0, 0, 0.3)), atol=1e-12)


URDF = """<robot name="m"><link name="a"/>{b}{c}
<joint name="j" type="revolute"><parent link="a"/><child link="b"/><origin xyz="0.1 0.2 0.3" rpy="0.4 0.5 0.6"/>
<axis xyz="0 1 1"/></joint>
<joint name="k" type="prismatic"><parent link="b"/><child link="c"/><origin xyz="0 0.4 0" rpy="0 0.2 0"/>
<axis xyz="1 0 0"/></joint></robot>"""
LIMB = """<link name="{}"><inertial><origin xyz="0.1 0.2 -0.1" rpy="0.3 -0.2 0.5"/><mass value="1.5"/>
<inertia ixx="0.02" iyy="0.03" izz="0.04" ixy="0.001" ixz="-0.002" iyz="0.003"/></inertial></link>"""


def test_the_same_machine_as_urdf_has_the_same_mass_matrix_gravity_and_torques():
    one = read_urdf(URDF.format(b=LIMB.format("b"), c=LIMB.format("c")))
    two = read_sdf(
        sdf(
            link("a"),
            f'<link name="b"><pose relative_to="a">0.1 0.2 0.3 0.4 0.5 0.6</pose>{MASS}</link>',
            f'<link name="c"><pose relative_to="b">0 0.4 0 0 0.2 0</pose>{MASS}</link>',
            held("a"),
            joint("j", "a", "b", inside=axis("0 1 1")),
            joint("k", "b", "c", "prismatic", axis("1 0 0")),
        )
    )
    assert one.coordinates == two.coordinates
    a, b = (ph.formulate(model).compile() for model in (one, two))
    rng = np.random.default_rng(3)
    for _ in range(5):
        q, u, tau = rng.normal(size=(3, 2))
        np.testing.assert_allclose(a.mass_matrix(q), b.mass_matrix(q), atol=1e-12)
        np.testing.assert_allclose(a.bias(q, u), b.bias(q, u), atol=1e-12)
        np.testing.assert_allclose(a.forward_dynamics(q, u, tau), b.forward_dynamics(q, u, tau), atol=1e-10)


def test_what_no_joint_ties_to_the_world_moves_freely_and_starts_where_the_file_has_it(tmp_path):
    path = tmp_path / "box.sdf"
    path.write_text(sdf(link("a", "0 0 2 0.3 0 0")))
    model = ph.load(path)
    assert (model.nq, model.nu) == (7, 6)
    np.testing.assert_allclose(where(model, "a", [1, 0, 0, 0, 0, 0, 0]), pose(0, 0, 2, 0.3), atol=1e-12)
    assert ph.load(path, floating="angles").nq == 6
    assert ph.load(path, floating=False).nq == 0


def test_a_static_model_is_the_ground():
    inner = f'<model name="base"><static>true</static>{link("floor")}</model>'
    model = read_sdf(sdf(inner, link("a"), joint("j", "base::floor", "a")))
    assert model.coordinates == ("j",)


def test_a_joint_that_closes_a_loop_is_a_loop():
    text = sdf(
        link("a", "0 0 0"), link("b", "1 0 0"), link("c", "1 1 0"),
        joint("j1", "world", "a"), joint("j2", "a", "b"), joint("j4", "world", "c"),
        joint("j3", "b", "c", inside=axis(inside="<dynamics><damping>1</damping></dynamics>")),
    )  # fmt: skip
    model = read_sdf(text)
    assert model.coordinates == ("j1", "j2", "j4")
    (loop,) = model.constraints
    assert (loop.name, loop.kind) == ("j3", "hinge")
    assert any("<dynamics> are not read" in note for note in model.notes)
    np.testing.assert_allclose(where(model, "j3/b", [0, 0, 0]), where(model, "j3/c", [0, 0, 0]), atol=1e-12)


def test_laws_limits_and_mimics():
    law = "<limit><lower>-1e16</lower><upper>2</upper><effort>-1</effort><velocity>3</velocity></limit>" + (
        "<dynamics><damping>0.1</damping><friction>0.2</friction><spring_stiffness>5</spring_stiffness>"
        "<spring_reference>0.3</spring_reference></dynamics>"
    )
    newer = '<mimic joint="j"><multiplier>2</multiplier><offset>0.5</offset><reference>0.25</reference></mimic>'
    drakes = '<drake:mimic joint="j" multiplier="-1" offset="0.1"/>'
    model = read_sdf(
        sdf(
            link("a"), link("b"), link("c"), joint("j", "world", "a", inside=axis(inside=law)),
            joint("k", "a", "b", inside=axis(inside=newer)), joint("l", "a", "c", inside=axis(inside=drakes)),
        )
    )  # fmt: skip
    made = model.body("a").joint
    assert made.passive
    assert [float(e[0]) for e in (made.damping, made.friction, made.stiffness, made.rest)] == [0.1, 0.2, 5, 0.3]
    (limit,) = made.limits
    assert (limit.lower, limit.upper, limit.speed, limit.effort) == (None, 2, 3, None)
    assert {(c.coordinate, c.of, float(c.ratio), float(c.offset)) for c in model.couplings} == {
        ("k", "j", 2, 0),
        ("l", "j", -1, 0.1),
    }


def test_drakes_planar_joint():
    of = "<drake:parent>world</drake:parent><drake:child>a</drake:child><drake:damping>1 2 3</drake:damping>"
    model = read_sdf(sdf(link("a"), f'<drake:joint name="p" type="planar">{of}</drake:joint>'))
    assert model.coordinates == ("p_angle", "p_x", "p_y")
    assert [float(e) for e in model.body("a").joint.damping] == [3, 1, 2]


def test_many_plugins_are_one_note():
    model = read_sdf(sdf(link("a"), held("a"), '<plugin name="p" filename="x"/>' * 65))
    assert [note for note in model.notes if "plugin" in note] == ["<plugin> in <model> is not read (65 of them)."]


BAD = {
    "a misspelt element": (sdf("<lnik/>", link("a")), "Did you mean <link>"),
    "a link that is not there": (sdf(link("arm"), joint("j", "world", "amr")), "'arm'"),
    "an include": (sdf(link("a"), "<include><uri>model://x</uri></include>"), "model://x"),
    "poses in a ring": (
        sdf(*(f'<link name="{a}"><pose relative_to="{b}">0 0 0 0 0 0</pose></link>' for a, b in ("ab", "ba"))),
        "ring",
    ),
    "frames in a ring": (
        sdf(link("l"), *(f'<frame name="{a}" attached_to="{b}"/>' for a, b in ("ab", "ba"))),
        "ring",
    ),
    "five numbers": (sdf("<pose>0 0 0 0 0</pose>", link("a")), "6 numbers"),
    "a gearbox": (sdf(link("a"), joint("j", "world", "a", "gearbox")), "gearbox"),
    "an axis of length 0": (sdf(link("a"), joint("j", "world", "a", inside=axis("0 0 0"))), "length 0"),
    "a version too old": (sdf(link("a"), version="1.3"), "1.4 or later"),
    "a typo in a version": (sdf(link("a")).replace("version=", "verison="), "unknown attribute"),
    "no link": (sdf(), "no links"),
    "no model": ("<sdf><world><include><uri>model://y</uri></include></world></sdf>", "model://y"),
    "a name twice": (sdf(link("a"), '<frame name="a"/>'), "another link"),
    "a link that is called world": (sdf(link("world")), "reserved"),
    "a canonical link that is not there": (
        sdf(link("a"), '<frame name="f"/>', of_model='canonical_link="b"'),
        "does not exist",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_wrong_is_said(name):
    text, words = BAD[name]
    with pytest.raises(ph.ModelError, match=words):
        read_sdf(text)


def test_one_of_several_models(tmp_path):
    path = tmp_path / "world.sdf"
    models = "".join(f'<model name="{m}">{link("a")}{held("a")}</model>' for m in ("one", "two"))
    path.write_text(f'<sdf version="1.9"><world name="w"><gravity>0 0 -3</gravity>{models}</world></sdf>')
    with pytest.raises(ph.ModelError, match=r"load\(..., model='one'\)"):
        ph.load(path)
    with pytest.raises(ph.ModelError, match="Did you mean 'two'"):
        ph.load(path, model="tow")
    model = ph.load(path, model="two")
    assert model.name == "two"
    assert float(model.gravity[2]) == -3


def test_what_is_seen():
    shape = "<geometry><cylinder><radius>0.1</radius><length>2</length></cylinder></geometry>"
    paint = "<material><diffuse>1 0 0 1</diffuse></material>"
    text = sdf(
        link("a", inside=MASS + f'<visual name="v"><pose>0 0 1 0 0 0</pose>{shape}{paint}</visual>'),
        joint("j", "world", "a"),
    )
    (look,) = read_sdf(text).shapes
    assert (look.marker, look.mesh, look.color) == ("a", "cylinder", "#ff0000")
    np.testing.assert_allclose(np.array(look.points, float), [[0, 0, 1], [0.1, 0, 1], [0, 0.1, 1], [0, 0, 3]])
    of = "<pose>0 0 1 0 0 0</pose><geometry>"
    there = text.replace(of, of.replace("<pose>", '<pose relative_to="__model__">'))
    (look,) = read_sdf(there.replace('<link name="a">', '<link name="a"><pose>0 2 0 0 0 0</pose>')).shapes
    np.testing.assert_allclose(np.array(look.points, float)[0], [0, -2, 1], atol=1e-15)


def test_a_joint_that_ties_a_static_model_to_the_world_is_none():
    inner = f'<model name="base"><static>true</static>{link("floor")}{held("floor")}</model>'
    model = read_sdf(sdf(inner, link("a"), joint("j", "base::floor", "a")))
    assert model.coordinates == ("j",)
    assert not model.constraints


def test_geometry_that_would_touch_is_noted_once():
    ball = '<collision name="c"><geometry><sphere><radius>0.1</radius></sphere></geometry></collision>'
    model = read_sdf(sdf(*(link(name, inside=MASS + ball) for name in "abcde")))
    assert any("<collision> in <link> is not read" in note for note in model.notes)


def test_what_closes_no_loop_is_in_the_tree_and_another_joint_closes_it():
    both = axis("1 0 0") + axis("0 1 0", tag="axis2")
    text = sdf(
        *map(link, "abc"), joint("j1", "world", "a"), joint("j2", "world", "c"), joint("j3", "a", "b"),
        joint("u", "b", "c", "universal", both),
    )  # fmt: skip
    model = read_sdf(text)
    assert model.coordinates == ("j1", "j2", "u_1", "u_2")
    assert [loop.name for loop in model.constraints] == ["j3"]
    rigid = text.replace('type="revolute"', 'type="screw"')
    with pytest.raises(ph.ModelError, match="closes a loop in which no joint is"):
        read_sdf(rigid)
