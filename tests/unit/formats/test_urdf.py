"""URDF: what is read, what is said about a bad file, and agreement with Pinocchio."""

import math

import numpy as np
import pytest

from polhode.formats import urdf
from polhode.formats.urdf import read_urdf
from polhode.graph import evaluate
from polhode.model import ModelError


def link(name, inside=""):
    return f'<link name="{name}">{inside}</link>'


def joint(name, parent, child, kind="revolute", inside=""):
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">{ends}{inside}</joint>'


def inertial(mass=1, six=(1, 1, 1, 0, 0, 0), xyz="0 0 0", rpy="0 0 0"):
    moments = " ".join(f'i{k}="{v}"' for k, v in zip(("xx", "yy", "zz", "xy", "xz", "yz"), six, strict=True))
    return f'<inertial><origin xyz="{xyz}" rpy="{rpy}"/><mass value="{mass}"/><inertia {moments}/></inertial>'


def robot(*parts):
    return f'<robot name="r">{"".join(parts)}</robot>'


def two(inside="", kind="revolute", of_b=""):
    return robot(link("a"), link("b", of_b), joint("j", "a", "b", kind, inside))


def array(m):
    return np.reshape(np.array(evaluate(m, {}), float), m.shape)


def test_a_joint_gives_its_name_to_its_coordinate_and_its_link_to_the_body():
    model = read_urdf(two('<axis xyz="0 0 1"/><origin xyz="1 2 3" rpy="0 0 1.5"/>', of_b=inertial(2)))
    assert model.name == "r"
    assert model.coordinates == ("j",)
    body = model.body("b")
    assert body.mass == 2
    assert array(body.pose.p).tolist() == [1, 2, 3]
    assert array(body.pose.R)[1, 0] == math.sin(1.5)
    assert list(body.joint.parts[0].H[:, 0]) == [0, 0, 1, 0, 0, 0]


def test_the_axis_is_x_unless_given_and_is_scaled_to_length_one():
    assert list(read_urdf(two()).body("b").joint.parts[0].H[:3, 0]) == [1, 0, 0]
    assert list(read_urdf(two('<axis xyz="0 -5.0 0"/>')).body("b").joint.parts[0].H[:3, 0]) == [0, -1, 0]


def test_the_inertia_is_turned_from_its_own_axes_to_those_of_the_link():
    turned = inertial(2, (1, 2, 2.5, 0.1, 0.2, 0.3), "1 2 3", "0.3 -0.2 1")
    body = read_urdf(two(of_b=turned)).body("b")
    a, b, c = 0.3, -0.2, 1
    Rx = np.array([[1, 0, 0], [0, math.cos(a), -math.sin(a)], [0, math.sin(a), math.cos(a)]])
    Ry = np.array([[math.cos(b), 0, math.sin(b)], [0, 1, 0], [-math.sin(b), 0, math.cos(b)]])
    Rz = np.array([[math.cos(c), -math.sin(c), 0], [math.sin(c), math.cos(c), 0], [0, 0, 1]])
    R = Rz @ Ry @ Rx
    I = np.array([[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 2.5]])
    assert array(body.com).tolist() == [1, 2, 3]
    assert np.allclose(array(body.inertia), R @ I @ R.T, rtol=0, atol=1e-14)


def test_links_on_fixed_joints_become_markers_and_keep_their_mass():
    text = robot(
        *(link(n, inertial(m)) for n, m in (("a", 1), ("b", 2), ("c", 4))),
        joint("j", "a", "b"),
        joint("f", "b", "c", "fixed", '<origin xyz="1 0 0"/>'),
    )
    model = read_urdf(text)
    assert [body.name for body in model.bodies] == ["b"]
    assert {marker.name: marker.body for marker in model.markers} == {"a": "world", "c": "b"}
    assert model.body("b").total.m == 6
    assert float(model.body("b").total.h[0]) == 4


@pytest.mark.parametrize(("floating", "nq"), [("quaternion", 7), ("angles", 6)])
def test_a_floating_root_moves_on_a_joint_named_base(floating, nq):
    model = read_urdf(robot(link("a", inertial())), floating=floating)
    assert model.nq == nq
    assert model.bodies[0].joint.name == "base"


def test_a_floating_root_leaves_the_names_of_other_joints_alone():
    text = robot(link("a", inertial()), link("b", inertial()), joint("base", "a", "b"))
    assert [body.joint.name for body in read_urdf(text, floating="quaternion").bodies] == ["floating_base", "base"]
    text = text.replace('joint name="base"', 'joint name="base_x"')
    assert [body.joint.name for body in read_urdf(text, floating="quaternion").bodies] == ["floating_base", "base_x"]


def test_a_root_link_named_world_is_the_ground():
    model = read_urdf(robot(link("world"), link("b", inertial()), joint("j", "world", "b")))
    assert model.body("b").parent == "world"
    assert model.report().findings == ()


def test_another_link_named_world_is_renamed_and_noted():
    model = read_urdf(robot(link("a"), link("world", inertial()), joint("j", "a", "world")))
    assert model.bodies[0].name == "world_link"
    assert "is the ground" in str(model.report())


@pytest.mark.parametrize(
    ("kind", "nq", "nu"),
    [
        ("revolute", 1, 1),
        ("continuous", 1, 1),
        ("prismatic", 1, 1),
        ("planar", 3, 3),
        ("floating", 7, 6),
        ("fixed", 0, 0),
    ],
)
def test_every_type_of_joint_is_read(kind, nq, nu):
    model = read_urdf(two(kind=kind, of_b=inertial()))
    assert (model.nq, model.nu) == (nq, nu)


def test_limits_are_read_and_inf_is_none():
    (found,) = read_urdf(two('<limit lower="-1" upper="2" effort="3" velocity="inf"/>')).body("b").joint.limits
    assert (found.lower, found.upper, found.effort, found.speed) == (-1, 2, 3, None)
    (found,) = read_urdf(two('<limit lower="-1" effort="3" velocity="1"/>')).body("b").joint.limits
    assert (found.lower, found.upper) == (-1, 0)
    (found,) = read_urdf(two('<limit lower="-1" upper="1" effort="3"/>', "continuous")).body("b").joint.limits
    assert (found.lower, found.upper) == (None, None)


def test_damping_and_friction_are_kept_and_act_only_on_request():
    text = two('<dynamics damping="0.5" friction="0.1"/>', of_b=inertial())
    kept, acting = read_urdf(text), read_urdf(text, passive=True)
    for model in (kept, acting):
        assert float(model.body("b").joint.damping[0]) == 0.5
        assert float(model.body("b").joint.friction[0]) == 0.1
    assert not kept.body("b").joint.passive
    assert "do not act" in str(kept.report())
    assert acting.body("b").joint.passive
    assert acting.body("b").joint.friction_speed == 0
    (brake,) = acting.friction_brakes
    assert (brake.name, brake.speed, float(brake.capacity)) == ("friction of j", "j_dot", 0.1)
    assert "holds and slips in simulations" in str(acting.report())
    assert kept.friction_brakes == ()


def test_mimic_is_a_coupling():
    text = robot(
        *(link(n, inertial()) for n in "abc"),
        joint("j", "a", "b"),
        joint("k", "a", "c", "prismatic", '<mimic joint="j" multiplier="2" offset="0.5"/>'),
    )
    (found,) = read_urdf(text).couplings
    assert (found.coordinate, found.of, found.ratio, float(found.offset)) == ("k", "j", 2, 0.5)
    assert str(read_urdf(text)).endswith("coupling of k [k = 2 j + 0.5]")
    assert "does not exist" in str(read_urdf(text.replace('mimic joint="j"', 'mimic joint="x"')).report())


def test_mimics_in_a_ring_are_noted_and_not_read():
    def mimic(name, of):
        return joint(f"j{name}", "a", name, inside=f'<mimic joint="j{of}"/>')

    links = [link(n, inertial()) for n in "abcd"]
    model = read_urdf(robot(*links, mimic("b", "c"), mimic("c", "b"), mimic("d", "b")))
    assert [(c.coordinate, c.of) for c in model.couplings] == [("jd", "jb")]
    (note,) = model.notes
    assert note == "Joint 'jb' follows 'jc' follows 'jb': a ring of mimics is not read, so its joints are left free."
    model = read_urdf(robot(*links[:2], mimic("b", "b")))
    assert model.couplings == ()
    assert model.notes[0].startswith("Joint 'jb' follows 'jb'")


@pytest.mark.parametrize(("kind", "nu"), [("planar", 3), ("floating", 6)])
def test_damping_of_planar_and_floating_joints_is_kept_for_every_speed(kind, nu):
    text = two('<dynamics damping="0.5" friction="0.1"/>', kind, of_b=inertial())
    found = read_urdf(text, passive=True).body("b").joint
    assert [float(e) for e in found.damping] == [0.5] * nu
    assert [float(e) for e in found.friction] == [0.1] * nu
    assert found.passive
    assert not read_urdf(text).body("b").joint.passive


def test_what_is_not_read_is_noted_once_per_kind_and_what_concerns_others_is_not():
    extras = "<gravity>0</gravity><visual/><collision/><drake:x/><contact/><self_collision_checking/>"
    text = robot(
        *(link(n, inertial() + extras) for n in "ab"),
        joint("j", "a", "b", inside='<dynamics K="1" damping="1" D:x="1"/><limit gear_velocity="1" velocity="2"/>'),
        "<gazebo><lnk/></gazebo><ros2_control/><mujoco/><loop_joint/>",
    )
    assert [n for n in read_urdf(text).notes if "read" in n] == [
        "<loop_joint> in <robot> is not read.",
        "<gravity> in <link> is not read (2 of them).",
        "Of <dynamics>, these are not read: 'K'.",
        "Of <limit>, these are not read: 'gear_velocity'.",
    ]


def test_a_mistake_made_often_is_one_fault():
    joints = [joint(f"j{k}", "l0", f"l{k + 1}", inside='<axis xy="1"/>') for k in range(8)]
    with pytest.raises(ModelError) as caught:
        read_urdf(robot(*(link(f"l{k}") for k in range(9)), *joints))
    assert [fault for fault in caught.value.faults if "unknown" in fault] == [
        "Joint 'j0': <axis> on line 1: unknown attribute 'xy' (7 more <axis> have it). Did you mean 'xyz'?"
    ]


def test_joints_may_have_the_name_of_time_or_of_a_variable_of_another():
    text = robot(
        *(link(n, inertial()) for n in "abcd"),
        joint("t", "a", "b", inside='<mimic joint="x_dot"/>'),
        joint("x", "b", "c"),
        joint("x_dot", "c", "d"),
    )
    model = read_urdf(text)
    assert model.coordinates == ("t_joint", "x", "x_dot")
    assert model.speeds == ("t_joint_dot", "x_speed", "x_dot_dot")
    assert [(c.coordinate, c.of) for c in model.couplings] == [("t_joint", "x_dot")]
    assert model.notes == (
        "Joint 't': its coordinate is called 't_joint' here: 't' is time.",
        "Joint 'x': its speed is called 'x_speed' here: 'x_dot' is a variable of another joint.",
    )
    links = [link(n, inertial()) for n in "abc"]
    floating = read_urdf(robot(*links, joint("f", "a", "b", "floating"), joint("f_x", "b", "c")))
    assert floating.coordinates[4:] == ("f_x_joint", "f_y", "f_z", "f_x")


def test_of_many_links_that_do_not_exist_some_are_looked_up(monkeypatch):
    """Each look among n names takes n comparisons of texts: a thousand of them would take minutes."""
    looked = []
    monkeypatch.setattr(urdf, "closest", lambda name, names: looked.append(name) or "Did you mean another?")
    joints = [joint(f"j{k}", f"missing{k}", f"link{k}") for k in range(1000)]
    with pytest.raises(ModelError) as caught:
        read_urdf(robot(*(link(f"link{k}") for k in range(1000)), *joints))
    assert len(caught.value.faults) == 1000
    assert looked == [f"missing{k}" for k in range(urdf.MOST_REMEDIES)]


def test_siblings_keep_the_order_of_the_file():
    text = robot(*(link(n, inertial()) for n in "azmb"), *(joint(f"j{n}", "a", n) for n in "zmb"))
    assert [body.name for body in read_urdf(text).bodies] == ["z", "m", "b"]


def test_unphysical_inertias_are_used_and_reported_also_on_links_that_are_merged():
    thin = inertial(1, (1, 1, 5, 0, 0, 0))
    text = robot(*(link(n, thin) for n in "abc"), joint("j", "a", "b"), joint("f", "b", "c", "fixed"))
    findings = read_urdf(text).report().findings
    assert [f for f in findings if "above the sum" in f] == [
        f"Body '{n}': principal moments of inertia are 1, 1, 5, expected none above the sum of the other two."
        for n in "abc"
    ]


def test_whole_numbers_stay_exact():
    body = read_urdf(two('<origin xyz="1 0 2"/>', of_b=inertial(3))).body("b")
    assert all(isinstance(e.value, int) for e in (*body.pose.p, body.mass))


FAULTS = {
    "": "no element found",
    "<robot><link": "line 1, column 8 inside <robot>",
    "<robot>\n</rob>": "line 2, column 3 inside <robot>: mismatched tag",
    '<!DOCTYPE r [<!ENTITY a "x">]><robot>&a;</robot>': "declares a document type or entities",
    "<a>" * 5000: "nested more than 1000 deep",
    "<html/>": "the root element is <html>, expected <robot>",
    "<robot/>": "no links",
    robot("<xacro:macro/>"): "Expand it first",
    robot(link("${prefix}a")): "Expand it first",
    robot("<link/>"): "Link on line 1 has no name",
    robot(link("a"), "<joint/>"): "Joint on line 1 has no name",
    robot(link("a"), link("a")): "Link 'a' exists more than once",
    robot(link("a"), link("b")): "Links 'a', 'b' have no parent, expected one root",
    robot(link("a"), link("b"), joint("j", "a", "xyz")): "child link 'xyz' does not exist. There are 'a', 'b'.",
    robot(link("arm"), link("b"), joint("j", "arn", "b")): "parent link 'arn' does not exist. Did you mean 'arm'?",
    robot(link("a"), link("b"), joint("j", "a", "b"), joint("j", "a", "b")): "Joint 'j' exists more than once",
    robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "a", "b")): "child of joints 'j' and 'k'",
    robot(link("a"), link("b"), joint("j", "a", "b"), joint("k", "b", "a")): "'a' on 'b' on 'a' form a cycle",
    robot(link("a"), joint("j", "a", "a")): "'a' on 'a' form a cycle",
    robot(link("a"), link("b"), link("c"), joint("j", "b", "c"), joint("k", "c", "b")): "form a cycle",
    robot(link("a"), '<joint name="j" type="fixed"><parent link="a"/></joint>'): "no child link",
    two(kind="hinge"): "type is 'hinge', expected revolute, continuous",
    two('<axis xyz="0 0 0"/>'): "axis has length 0",
    two('<axis xyz="0 1"/>'): "axis is '0 1', expected 3 numbers",
    two('<origin rpy="0 0 x"/>'): "Joint 'j' origin rpy is '0 0 x', expected 3 numbers",
    two('<dynamics damping="-1"/>'): "damping is -1, expected 0 or more",
    two('<limit lower="low"/>'): "limit lower is 'low', expected a number",
    two('<limit lower="1" upper="-1"/>'): "lower limit 1 is above the upper limit -1",
    two("<axis/>"): "Joint 'j': <axis> on line 1 has no xyz",
    two('<axis xzy="0 0 1"/>'): "Joint 'j': <axis> on line 1: unknown attribute 'xzy'. Did you mean 'xyz'?",
    two('<origin XYZ="0 0 1"/>'): "Joint 'j': <origin> on line 1: unknown attribute 'XYZ'. Did you mean 'xyz'?",
    two('<origin quat_xyzw="0 0 0 1"/>'): "unknown attribute 'quat_xyzw'",
    two('<limit lower="0" uper="1"/>'): "Joint 'j': <limit> on line 1: unknown attribute 'uper'. Did you mean 'upper'",
    two('<dynamics dampning="0"/>'): "<dynamics> on line 1: unknown attribute 'dampning'. Did you mean 'damping'?",
    two('<mimic jont="a"/>'): "<mimic> on line 1: unknown attribute 'jont'. Did you mean 'joint'?",
    two().replace(
        "<child link", '<child type="x" link'
    ): "<child> on line 1: unknown attribute 'type'. There is 'link'",
    robot(link("a", inertial().replace("value", "valu"))): "Link 'a': inertial: <mass> on line 1: unknown attribute",
    robot(link("a", inertial().replace("iyz", "izy"))): "unknown attribute 'izy'. Did you mean",
    two('<axis xyz="0 0 1"/><axis xyz="0 1 0"/>'): "Joint 'j' has 2 <axis> (line 1), expected one",
    two('<origin xyz="0 0 1"/><origin/>'): "Joint 'j' has 2 <origin>",
    robot(link("a", inertial() + inertial())): "Link 'a' has 2 <inertial>",
    robot(link("a", inertial().replace("</inertial>", '<mass value="1"/></inertial>'))): "inertial has 2 <mass>",
    two('<orign xyz="0 0 1"/>'): "Joint 'j': unknown element <orign> on line 1. Did you mean <origin>?",
    two('<axs xyz="0 0 1"/>'): "unknown element <axs> on line 1. Did you mean <axis>?",
    two('<Axis xyz="0 0 1"/>'): "unknown element <Axis> on line 1. Did you mean <axis>?",
    two('<limits lower="0"/>'): "Did you mean <limit>?",
    robot(link("a"), '<lnk name="b"/>'): "Robot: unknown element <lnk> on line 1. Did you mean <link>?",
    robot(link("a", inertial().replace("inertial>", "intertial>"))): "Link 'a': unknown element <intertial>",
    robot(link("a", '<mass value="1"/>')): "Link 'a': unknown element <mass> on line 1. Put it into <inertial>.",
    robot(link("a", inertial().replace("<mass", "<mas"))): "unknown element <mas> on line 1. Did you mean <mass>",
    robot(link("hand", inertial("abc"))): "Link 'hand': inertial mass is 'abc', expected a number.",
    robot(link("a", inertial("nan"))): "inertial mass is 'nan'",
    robot(link("a", inertial("1_0"))): "inertial mass is '1_0'",
    robot(link("a", inertial("-2"))): "mass is -2, expected 0 or more",
    robot(link("a", inertial(1, ("inf", 1, 1, 0, 0, 0)))): "ixx is 'inf'",
    robot(link("a", inertial(1, ("1e40", 1, 1, 0, 0, 0)))): "at most 1e+30",
    robot(link("a", "<inertial><mass value='1'/></inertial>")): "has no <inertia>, expected both",
    robot(link("a", "<inertial><mass/><inertia/></inertial>")): "mass is missing",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: FAULTS[text][:40])
def test_a_fault_says_what_is_wrong_and_where(text):
    with pytest.raises(ModelError) as caught:
        read_urdf(text, source="bad.urdf")
    assert FAULTS[text] in str(caught.value)
    assert str(caught.value).startswith("bad.urdf: ")


def test_all_faults_of_a_file_are_reported_at_once():
    bad = two('<axis xyz="0 0 0"/><dynamics friction="x"/><limit upper="y"/>', of_b=inertial("m", xyz="1 2"))
    with pytest.raises(ModelError) as caught:
        read_urdf(bad)
    assert len(caught.value.faults) == 5


def test_pinocchio_reads_the_same_inertias_and_placements():
    pinocchio = pytest.importorskip("pinocchio")
    text = robot(
        link("a", inertial()),
        link("b", inertial(2, (1, 2, 2.5, 0.1, 0.2, 0.3), "1 2 3", "0.3 -0.2 1")),
        link("c", inertial(3, (2, 2, 2.5, 0.1, 0, 0.3), "0 2 1", "1 1 1")),
        link("d", inertial(1, (0.1, 0.2, 0.15, 0, 0, 0))),
        joint("k", "a", "b", "continuous", '<axis xyz="1 2 2"/><origin xyz="1 0 1" rpy="1 2 3"/>'),
        joint("f", "b", "d", "fixed", '<origin xyz="1 0.5 1" rpy="1 -2 3"/>'),
        joint("j", "d", "c", "prismatic", '<origin rpy="0.1 0 3"/><limit effort="1" velocity="1"/>'),
    )
    model, other = read_urdf(text), pinocchio.buildModelFromXML(text)
    for body in model.bodies:
        k = other.getJointId(body.joint.name)
        Y, X = other.inertias[k], other.jointPlacements[k]
        assert float(body.total.m) == pytest.approx(Y.mass, abs=1e-12)
        assert np.allclose(array(body.total.h), Y.mass * Y.lever, rtol=0, atol=1e-12)
        assert np.allclose(array(body.total.I), Y.matrix()[3:, 3:], rtol=0, atol=1e-12)
        assert np.allclose(array(body.pose.R), X.rotation, rtol=0, atol=1e-12)
        assert np.allclose(array(body.pose.p), X.translation, rtol=0, atol=1e-12)
