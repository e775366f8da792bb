"""MJCF: what is read, what is said about a bad file, and agreement with MuJoCo."""

import math
import re

import numpy as np
import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.graph import evaluate, symbols
from polhode.model import ModelError

INERTIAL = '<inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>'


def model_of(world, *before, after=""):
    return f"<mujoco>{''.join(before)}<worldbody>{world}</worldbody>{after}</mujoco>"


def body(inside, name="a", attributes="", mass=INERTIAL):
    return f'<body name="{name}" {attributes}>{mass}{inside}</body>'


def read(*args, **options):
    return read_mjcf(model_of(*args), **options)


def array(m):
    return np.reshape(np.array(evaluate(m, {}), float), m.shape)


RADIAN = '<compiler angle="radian"/>'
HINGE = '<joint name="j"/>'


def test_a_hinge_is_a_revolute_joint_about_its_anchor():
    found = read(body('<joint name="j" axis="0 2 0" pos="0 0 3"/>')).body("a").joint
    assert found.kind == "revolute"
    assert list(found.parts[0].H[:, 0]) == [0, 1, 0, -3, 0, 0]


def test_angles_are_degrees_unless_the_compiler_says_radian():
    joint = '<joint name="j" range="-90 180" springref="90" stiffness="2"/>'
    found = read(body(joint)).body("a").joint
    assert (found.limits[0].lower, found.limits[0].upper) == (-math.pi / 2, math.pi)
    assert float(found.rest[0]) == math.pi / 2
    assert float(read(body(joint), RADIAN).body("a").joint.rest[0]) == 90


def test_a_slide_keeps_its_numbers_in_metres():
    found = read(body('<joint name="j" type="slide" range="-90 180"/>')).body("a").joint
    assert found.kind == "prismatic"
    assert found.limits[0].upper == 180


def test_the_coordinate_has_the_value_of_ref_in_the_pose_of_the_file():
    slide = read(body('<joint name="j" type="slide" ref="0.25"/>', attributes='pos="0 0 1"')).body("a")
    assert array(slide.pose.p).tolist() == [0, 0, 0.75]
    hinge = read(body('<joint name="j" pos="1 0 0" ref="90"/>')).body("a")
    assert array(hinge.pose.R).tolist() == [[0, 1, 0], [-1, 0, 0], [0, 0, 1]]
    assert array(hinge.pose.p).tolist() == [1, 1, 0]


@pytest.mark.parametrize(
    ("text", "limits"),
    [("-inf inf", ()), ("-Infinity +INF", ()), ("0 inf", (0, None)), ("-inf 2", (None, 2)), ("1 1", ()), ("0 0", ())],
)
def test_a_range_may_be_infinite(text, limits):
    found = read(body(f'<joint name="j" range="{text}"/>'), RADIAN).body("a").joint.limits
    assert [(x.lower, x.upper) for x in found] == ([limits] if limits else [])


def test_joints_may_have_the_name_of_time_or_of_a_speed():
    world = body('<joint name="t"/>') + body('<joint name="x"/>', "b") + body('<joint name="x_dot"/>', "c")
    equality = '<equality><joint joint1="t" joint2="x"/></equality>'
    model = read_mjcf(model_of(world, after=equality))
    assert model.coordinates == ("t_joint", "x", "x_dot")
    assert model.speeds == ("t_joint_dot", "x_speed", "x_dot_dot")
    assert [(c.coordinate, c.of) for c in model.couplings] == [("t_joint", "x")]
    assert sum("is called" in note for note in model.notes) == 2


def test_a_body_of_many_meshes_has_one_fault():
    with pytest.raises(ModelError) as caught:
        read(body(HINGE + '<geom type="mesh" mesh="m"/>' * 5, mass=""))
    assert len(caught.value.faults) == 1


def test_several_joints_make_a_chain_with_the_first_nearest_to_the_parent():
    model = read(body('<joint name="x" type="slide"/><joint name="y"/><joint name="z"/>'))
    assert [b.name for b in model.bodies] == ["a/x", "a/y", "a"]
    assert model.coordinates == ("x", "y", "z")
    assert [b.mass for b in model.bodies] == [0, 0, 1]


def test_a_ball_off_the_origin_turns_about_its_anchor():
    model = read(body('<joint name="j" type="ball" pos="0 0 2"/>', attributes='pos="1 0 0"'))
    assert [b.name for b in model.bodies] == ["a/j"]
    assert array(model.bodies[0].pose.p).tolist() == [1, 0, 2]
    host, pose = model.frame("a")
    assert (host, array(pose.p).tolist()) == ("a/j", [0, 0, -2])


def test_a_free_joint_has_the_pose_in_the_world_as_coordinates():
    model = read(body("<freejoint/>", attributes='pos="0 0 1"'))
    assert model.coordinates[:4] == tuple(f"a_joint_q{k}" for k in "wxyz")
    assert array(model.body("a").pose.p).tolist() == [0, 0, 0]
    assert "starts at (0, 0, 1) in the file" in str(model.report())
    for turn in ("0 0 0 2", "1 -2 3 4", "0 1 1e-3 0"):
        model = read(body("<freejoint/>", attributes=f'quat="{turn}"'))
        found = re.search(r"quaternion \((.*?)\)", model.notes[0]).group(1).split(", ")
        wanted = np.array(turn.split(), float)
        assert np.allclose(np.array(found, float), wanted / np.linalg.norm(wanted), rtol=0, atol=1e-9)


def test_unnamed_bodies_and_joints_get_names_of_their_own():
    text = f'<body>{INERTIAL}<joint/><joint/><body name="body2">{INERTIAL}<body>{INERTIAL}<joint/></body></body></body>'
    model = read(text)
    assert [b.name for b in model.bodies] == ["body1/body1_joint", "body1", "body3"]
    assert model.coordinates == ("body1_joint", "body1_joint2", "body3_joint")


def test_sites_are_markers_and_step_aside_for_bodies():
    model = read(body(HINGE + '<site name="s" pos="1 2 3"/><site name="a"/><site/>'), '<option gravity="0 0 0"/>')
    assert [m.name for m in model.markers] == ["s", "a_site"]
    assert array(model.frame("s")[1].p).tolist() == [1, 2, 3]
    assert list(model.gravity) == [0, 0, 0]


def test_defaults_come_from_the_class_the_childclass_or_main():
    defaults = (
        '<default><joint damping="1"/><default class="x"><joint damping="2" armature="3"/>'
        '<default class="y"><joint damping="4"/></default></default></default>'
    )
    inner = body('<joint name="k"/><joint name="l" class="y"/>', "b")
    model = read(body(HINGE) + body(inner, "c", 'childclass="x"'), defaults)
    found = {b.joint.name: b.joint for b in model.bodies}
    assert [float(found[n].damping[0]) for n in "jkl"] == [1, 2, 4]
    assert [float(found[n].armature[0]) for n in "jkl"] == [0, 3, 3]


@pytest.mark.parametrize(
    ("turn", "compiler"),
    [
        ('quat="1 0 0 1"', ""),
        ('axisangle="0 0 2 90"', ""),
        ('euler="0 0 90"', ""),
        (f'euler="0 0 {math.pi / 2}"', RADIAN),
        ('euler="90 0 0"', '<compiler eulerseq="zyx"/>'),
        ('xyaxes="0 1 0 -1 5 0"', ""),
    ],
)
def test_a_frame_can_be_turned_in_every_way(turn, compiler):
    assert array(read(body(HINGE, attributes=turn), compiler).body("a").pose.R).tolist() == [
        [0, -1, 0],
        [1, 0, 0],
        [0, 0, 1],
    ]


def test_zaxis_is_the_smallest_turn_of_z():
    R = array(read(body(HINGE, attributes='zaxis="1 0 0"')).body("a").pose.R)
    assert R.tolist() == [[0, 0, 1], [0, 1, 0], [-1, 0, 0]]


def test_frames_move_what_is_inside_them():
    inside = f'<frame pos="1 0 0"><frame euler="0 0 90">{HINGE}<site name="s" pos="1 0 0"/></frame></frame>'
    model = read(f'<frame pos="0 0 5">{body(inside)}</frame>')
    assert array(model.body("a").pose.p).tolist() == [0, 0, 5]
    assert array(model.frame("s")[1].p).tolist() == [1, 1, 0]
    assert list(model.body("a").joint.parts[0].H[:, 0]) == [0, 0, 1, 0, -1, 0]


def test_boxes_and_spheres_have_their_inertia():
    box = read(body(HINGE + '<geom type="box" size="1 2 3" mass="3"/>', mass="")).body("a")
    assert np.allclose(array(box.inertia), np.diag([13, 10, 5]), rtol=1e-15)
    ball = read(body(HINGE + '<geom size="0.1" density="500"/>', mass="")).body("a")
    assert float(ball.mass) == pytest.approx(500 * 4 / 3 * math.pi * 1e-3)


def test_geoms_outside_the_inertia_groups_do_not_count():
    geoms = HINGE + '<geom size="1" mass="1" group="3"/><geom size="1" mass="2" group="1"/>'
    assert read(body(geoms, mass=""), '<compiler inertiagrouprange="0 2"/>').body("a").mass == 2


def test_an_inertial_wins_over_geoms_unless_the_compiler_says_otherwise():
    both = body(HINGE + '<geom size="1" mass="2"/>')
    assert read(both).body("a").mass == 1
    assert read(both, '<compiler inertiafromgeom="true"/>').body("a").mass == 2


def test_springs_and_dampers_act_unless_passive_is_false():
    joint = '<joint name="j" damping="1" frictionloss="0.5"/>'
    acting, kept = read(body(joint)), read(body(joint), passive=False)
    assert acting.body("a").joint.passive
    assert not kept.body("a").joint.passive
    assert [(b.name, float(b.capacity)) for b in acting.friction_brakes] == [("friction of j", 0.5)]
    assert "Dry friction on 'j_dot' holds and slips in simulations; Q leaves it out." in str(acting.report())
    assert float(kept.body("a").joint.friction[0]) == 0.5
    assert kept.friction_brakes == ()


def equalities(text, *before, world=None):
    two = body('<joint name="j" ref="0.5"/><site name="s"/>', attributes='pos="1 0 0"')
    two += body('<joint name="k" ref="0.25"/><site name="s2"/>', "b", 'pos="0 2 0" euler="0 0 90"')
    two += body("", "fixed") + body(body("", "welded"), "c", "", INERTIAL + '<joint name="l"/>')
    return read_mjcf(model_of(world or two, *before, after=f"<equality>{text}</equality>"))


def test_a_linear_equality_of_joints_is_a_coupling():
    (found,) = equalities('<joint joint1="j" joint2="k" polycoef="1 2 0 0 0"/>', RADIAN).couplings
    assert (found.coordinate, found.of, found.ratio, float(found.offset)) == ("j", "k", 2, 1.0)


def test_other_equalities_of_joints_are_expressions():
    joint = '<joint name="e" joint1="j" joint2="k" polycoef="{}"/>'
    (found,) = equalities(joint.format("1 2 3 0 4"), RADIAN).constraints
    j, k = symbols("j k")
    for at in (0.3, -2.0):
        x = at - 0.25
        values = {j: 0.5 + 1 + 2 * x + 3 * x**2 + 4 * x**4, k: at}
        assert evaluate(found.value, values) == pytest.approx(0, abs=1e-12)
    assert found.name == "e"
    (found,) = equalities('<joint joint1="j" polycoef="0.1 7"/>', RADIAN).constraints
    assert evaluate(found.value, {j: 0.6}) == pytest.approx(0)
    twice = equalities(joint.format("0 1") + joint.format("0 2").replace('name="e"', "").replace('"k"', '"l"'))
    assert [c.name for c in twice.constraints] == ["coupling of j", "equality of j and l"]


def ends(model):
    """The frames of a loop: bodies with the positions in them."""
    (loop,) = model.constraints
    found = [model.frame(end) for end in loop.ends]
    return loop.kind, [(name, array(pose.p).tolist()) for name, pose in found]


def test_bodies_that_connect_meet_where_the_first_has_the_anchor():
    found = equalities('<connect name="c" body1="a" body2="b" anchor="0 0 1"/>')
    assert ends(found) == ("point", [("a", [0, 0, 1]), ("b", [-2, -1, 1])])
    assert found.constraints[0].name == "c"
    found = equalities('<connect body1="a" anchor="0 1 0"/>')
    assert ends(found) == ("point", [("a", [0, 1, 0]), ("world", [1, 1, 0])])
    assert found.constraints[0].name == "connect a world"


def test_welded_bodies_keep_their_pose_or_the_given_one():
    found = equalities('<weld body1="a" body2="b"/>')
    assert ends(found) == ("weld", [("a", [-1, 2, 0]), ("b", [0, 0, 0])])
    assert found.constraints[0].ends == ("weld a b/a", "b")
    assert array(found.frame("weld a b/a")[1].R).tolist() == [[0, -1, 0], [1, 0, 0], [0, 0, 1]]
    found = equalities('<weld body1="a" body2="b" anchor="1 0 0" relpose="0 0 3 2 0 0 2"/>')
    assert ends(found) == ("weld", [("a", [0, 0, 3]), ("b", [1, 0, 0])])
    assert ends(equalities('<weld body1="b" relpose="1 2 3 0 0 0 0" torquescale="0"/>'))[0] == "point"


def test_sites_are_tied_by_their_markers():
    found = equalities('<weld site1="s" site2="s2"/>')
    assert (found.constraints[0].kind, found.constraints[0].ends) == ("weld", ("s", "s2"))


def test_equalities_that_do_not_act_are_noted():
    off = '<default><default class="off"><equality active="false"/></default></default>'
    found = equalities(
        '<weld body1="a" class="off"/><joint name="e" joint1="j" joint2="k" active="false"/>'
        '<weld body1="c" body2="welded"/><connect body1="fixed" anchor="0 0 0"/>',
        off,
    )
    assert not found.constraints
    assert found.notes[:-1] == (  # the last is about the start
        "<equality> <weld> on line 1 is not read: it is not active.",
        "Equality 'e' is not read: it is not active.",
        "<equality> <weld> on line 1 is not read: 'c' and 'welded' are one rigid body.",
        "<equality> <connect> on line 1 is not read: 'fixed' and 'world' are one rigid body.",
    )
    disabled = equalities('<weld body1="a"/>', '<option><flag equality="disable"/></option>')
    assert not disabled.constraints
    assert "a <flag> disables it" in disabled.notes[0]


@pytest.mark.parametrize(("flag", "gone"), [("limit", {"limit of j", "t"}), ("frictionloss", {"friction of j"}),
                                            ("constraint", {"limit of j", "t", "friction of j"})])  # fmt: skip
def test_flags_switch_limits_and_friction_off(flag, gone):
    every, found = (read_mjcf(SWITCHED.format(flags=flags)) for flags in ("", f'{flag}="disable"'))
    assert {c.name for c in every.switchable} - {c.name for c in found.switchable} == gone
    assert sum("a <flag> disables" in note for note in found.notes) == (2 if flag == "constraint" else 1)


def test_what_is_not_read_is_noted_once_per_kind():
    rest = (
        '<actuator><plugin joint="j"/><plugin joint="j"/></actuator><sensor><touch/></sensor>'
        '<deformable><skin/><skin/></deformable><equality><flex flex="c"/></equality>'
    )
    model = read_mjcf(model_of(body(HINGE), after=rest))
    assert model.report().findings == (
        "<deformable> is not read (2 of them).",
        "<equality> <flex> is not read.",
        "<actuator> <plugin> is not read (2 of them).",
        "<sensor> <touch> is not read.",
    )


def test_files_are_included_from_the_folder_and_below(tmp_path):
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "a.xml").write_text(f'<mujocoinclude>{body(HINGE)}<include file="b.xml"/></mujocoinclude>')
    (tmp_path / "sub" / "b.xml").write_text(f"<mujocoinclude>{body('', 'b')}</mujocoinclude>")
    model = read_mjcf(model_of('<include file="sub/a.xml"/>'), folder=tmp_path)
    assert model.frames == ("a", "b")


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("../secret.xml", "leaves the folder"),
        ("/etc/passwd", "leaves the folder"),
        ("link.xml", "leaves the folder"),
        ("none.xml", "no such file"),
        ("self.xml", "more than once"),
        ("bad.xml", "line 1, column"),
        ("bytes.xml", "cannot be read as text"),
        (".", "no such file"),
        ("", "expected the name of a file"),
        ("a" * 5000, "cannot be read"),
    ],
)
def test_an_include_that_cannot_be_is_a_fault(tmp_path, name, words):
    (tmp_path / "secret.xml").write_text("<mujocoinclude/>")
    folder = tmp_path / "models"
    folder.mkdir()
    (folder / "link.xml").symlink_to(tmp_path / "secret.xml")
    (folder / "self.xml").write_text('<mujocoinclude><include file="self.xml"/></mujocoinclude>')
    (folder / "bad.xml").write_text("<mujocoinclude>")
    (folder / "bytes.xml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(ModelError, match=words):
        read_mjcf(model_of(f'<include file="{name}"/>'), folder=folder)


def test_a_file_that_is_loaded_may_include_what_lies_beside_its_folder(tmp_path):
    """As MuJoCo has it; but only MJCF, and by a path that does not begin at the root."""
    for name in ("parts", "robots"):
        (tmp_path / name).mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(f'<mujocoinclude>{body(HINGE)}<include file="b.xml"/></mujocoinclude>')
    (tmp_path / "parts" / "b.xml").write_text(f"<mujoco>{body('', 'b')}</mujoco>")
    (tmp_path / "parts" / "other.xml").write_text("<secret>7</secret>")
    path = tmp_path / "robots" / "robot.xml"
    path.write_text(model_of('<include file="../parts/arm.xml"/>'))
    assert ph.load(path).frames == ("a", "b")
    for name, words in (
        ("../parts/other.xml", "root element is <secret>, expected <mujoco>"),
        ("../parts/none.xml", "there is no such file"),
        (str(tmp_path / "parts" / "arm.xml"), "is an absolute path"),
    ):
        path.write_text(model_of(f'<include file="{name}"/>'))
        with pytest.raises(ModelError, match=words):
            ph.load(path)


def test_what_the_parser_of_mujoco_takes_is_taken():
    """A comment with -- in it, and attributes that touch; lines are counted as they are in the file."""
    text = model_of(f"<!-- a -- b\n --->{body(HINGE.replace('name=', f'type={chr(34)}hinge{chr(34)}name='))}")
    assert read_mjcf(text).coordinates == ("j",)
    assert read_mjcf(text.replace('"', "'")).coordinates == ("j",)
    with pytest.raises(ModelError, match="line 2"):
        read_mjcf(text.replace("hinge", "hinj").replace("<joint", "<joint axs='1'"))
    with pytest.raises(ModelError, match="line 1, column"):  # where it is wrong before and after
        read_mjcf(text.replace("</worldbody>", ""))


def test_a_welded_body_may_have_the_name_of_a_joint():
    free, welded = body('<freejoint name="stand"/>', "b"), body("", "stand")
    model = read(welded + free)
    assert model.coordinates[-1] == "stand_z"
    assert model.keyframe("file").start()["q0"]["stand_qw"] == 1
    assert model.poses["file"].shape == (model.nq,)
    assert model.poses["file"][model.coordinates.index("stand_qw")] == 1


FAULTS = {
    "<mujoco": "line 1, column",
    "<robot/>": "expected <mujoco>",
    '<!DOCTYPE m [<!ENTITY a "b">]><mujoco/>': "document type or entities",
    model_of("<body>" * 2000): "nested more than 1000 deep",
    model_of(body("<jiont/>")): "Body 'a': unknown element <jiont>",
    model_of(HINGE): "<joint> on line 1 is in the world",
    model_of(body(HINGE, mass=INERTIAL * 2)): "Body 'a' has more than one <inertial>",
    model_of(
        body('<joint name="j" dampng="1"/>')
    ): "Joint 'j' on line 1: unknown attribute 'dampng'. Did you mean 'damp",
    model_of(
        body('<joint dampng="1"/>' * 3)
    ): "<joint> on line 1: unknown attribute 'dampng' (2 more <joint> have it).",
    model_of(body("<freejoint ref='1'/>")): "<freejoint> on line 1: unknown attribute 'ref'",
    model_of(body(HINGE, attributes='possition="0 0 1"')): "Body 'a' on line 1: unknown attribute 'possition'",
    model_of(body('<geom name="g" densty="1"/>')): "Geom 'g' on line 1: unknown attribute 'densty'. Did you mean 'dens",
    model_of(body('<site psi="1"/>')): "<site> on line 1: unknown attribute 'psi'",
    model_of(body('<frame eulr="1 2 3"/>')): "<frame> on line 1: unknown attribute 'eulr'. Did you mean 'euler'",
    model_of(body(HINGE, mass=INERTIAL.replace("/>", ' qat="1 0 0 0"/>'))): "<inertial> on line 1: unknown attribute",
    model_of("", '<compiler angel="radian"/>'): "<compiler> on line 1: unknown attribute 'angel'. Did you mean 'angle'",
    model_of("", '<option gravty="0 0 0"/>'): "<option> on line 1: unknown attribute 'gravty'. Did you mean 'gravity'",
    model_of("", '<option><flag gravty="disable"/></option>'): "<flag> on line 1: unknown attribute 'gravty'",
    model_of("", '<default><joint dmping="1"/></default>'): "<default> <joint> on line 1: unknown attribute 'dmping'",
    model_of("", '<default><joint class="main"/></default>'): "<default> <joint> on line 1: unknown attribute 'class'",
    model_of("", "<default><jont/></default>"): "<default>: unknown element <jont> on line 1. Did you mean 'joint'",
    model_of("", '<default clas="a"/>'): "<default> on line 1: unknown attribute 'clas'. Did you mean 'class'?",
    model_of("", "<optoin/>"): "Model: unknown element <optoin> on line 1. Did you mean 'option'",
    model_of(body('<joint name="j" range="2 1"/>')): "range is '2 1', expected the smaller number first",
    model_of(body('<joint name="j" range="inf -inf"/>')): "expected the smaller number first",
    model_of(body('<joint name="j" range="0 nan"/>')): "range is '0 nan', expected 2 numbers",
    model_of(body('<joint name="j" range="inf"/>')): "expected 2 numbers",
    model_of(body(""), after="<equality><wled/></equality>"): "<equality>: unknown element <wled> on line 1",
    model_of(body(""), after='<equality><joint jont1="j"/></equality>'): "<equality> <joint> on line 1: unknown",
    model_of(body('<joint name="j" type="pin"/>')): "type is 'pin', expected hinge, slide, ball, free",
    model_of(body('<joint name="j" axis="0 0 0"/>')): "axis has length 0",
    model_of(body('<joint name="j" damping="-1"/>')): "damping is -1, expected 0 or more",
    model_of(body('<joint name="j" limited="true"/>')): "has no range",
    model_of(body('<joint name="j" limited="true" range="2 1"/>')): "the smaller number first",
    model_of(body('<joint name="j" range="0 1"/>'), '<compiler autolimits="false"/>'): "autolimits is off",
    model_of(body(body("<freejoint/>", "b"))): "directly in the world",
    model_of(body("<freejoint/><joint/>")): "expected it alone",
    model_of(body(HINGE) + body(HINGE, "b")): "Joint 'j' exists 2 times",
    model_of(body(HINGE) + body("")): "Body 'a' exists 2 times",
    model_of(body(HINGE, attributes='quat="1 0 0 0" euler="0 0 0"')): "turned by quat and euler",
    model_of(body(HINGE, attributes='quat="0 0 0 0"')): "quat has length 0",
    model_of(body(HINGE, attributes='xyaxes="1 0 0 2 0 0"')): "xyaxes are parallel",
    model_of(body(HINGE, attributes='pos="1 2"')): "Body 'a': pos is '1 2', expected 3 numbers",
    model_of(body(HINGE, attributes='pos="1 2 nan"')): "expected 3 numbers",
    model_of(body('<joint class="x"/>')): "default class 'x' does not exist",
    model_of("", "<default><default/></default>"): "has no class name",
    model_of("", '<compiler angle="turns"/>'): "angle is 'turns'",
    model_of("", '<compiler coordinate="global"/>'): "coordinate is 'global'",
    model_of("", '<compiler eulerseq="xyw"/>'): "eulerseq is 'xyw'",
    model_of("", '<option gravity="1"/>'): "Option gravity is '1', expected 3 numbers",
    model_of(body(HINGE, mass='<inertial mass="1"/>')): "inertial pos is missing",
    model_of(body(HINGE, mass='<inertial pos="0 0 0" mass="-1" diaginertia="1 1 1"/>')): "mass is -1",
    model_of(body(HINGE + '<geom type="mesh" mesh="m"/>', mass="")): "Mesh 'm' is not in <asset>. There are none.",
    model_of(body(HINGE + '<geom type="blob"/>', mass="")): "type is 'blob'",
    model_of(body(HINGE + '<geom type="box" size="1 1"/>', mass="")): "size is '1 1', expected 3 numbers",
    model_of(body(HINGE + '<geom type="capsule" size="1" fromto="0 0 0 0 0 0"/>', mass="")): "fromto has length 0",
    model_of(body(HINGE + '<geom size="-1"/>', mass="")): "expected numbers above 1e-15",
    model_of(body('<composite type="cable"/>')): "<composite> on line 1 is not read",
    model_of("<flexcomp/>"): "<flexcomp> on line 1 is not read",
    **{
        model_of(body(HINGE) + body("<freejoint name='f'/>", "b"), after=f"<equality>{text}</equality>"): words
        for text, words in {
            '<joint joint1="j" joint2="k"/>': "<equality> <joint> on line 1: joint2 is 'k', expected a hinge or slide.",
            '<joint joint2="j"/>': "joint1 is '', expected a hinge",
            '<joint joint1="j" joint2="f"/>': "joint2 is 'f', expected a hinge or slide",
            '<joint joint1="j" joint2="j"/>': "with itself",
            '<joint joint1="j" polycoef="a"/>': "polycoef is 'a', expected 1 to 5 numbers",
            '<connect body1="a"/>': "anchor is missing",
            '<connect name="c" body1="aa" anchor="0 0 0"/>': "Equality 'c': body1 is 'aa', expected a body",
            '<connect body2="a" anchor="0 0 0"/>': "body1 is '', expected a body",
            '<weld body1="a" body2="c"/>': "body2 is 'c', expected a body of the file",
            '<weld body1="a" relpose="1 2 3"/>': "relpose is '1 2 3', expected 7 numbers",
            '<weld site1="a" site2="b"/>': "site1 is 'a', expected a site of the file. There are none.",
            '<weld body1="a" active="no"/>': "active is 'no', expected true or false",
            '<weld body1="a" anchr="1 1 1"/>': "<equality> <weld> on line 1: unknown attribute 'anchr'",
            '<weld name="w" body1="a"/><weld name="w" body1="b"/>': "Constraint 'w' exists 2 times",
        }.items()
    },
    model_of('<include file="x.xml"/>'): "load the model from its file",
}


@pytest.mark.parametrize("text", FAULTS, ids=lambda text: FAULTS[text][:40])
def test_a_fault_says_what_is_wrong_and_where(text):
    with pytest.raises(ModelError) as caught:
        read_mjcf(text, source="bad.xml")
    assert FAULTS[text] in str(caught.value)
    assert str(caught.value).startswith("bad.xml: ")


def test_meshes_matter_only_where_their_inertia_does():
    mesh = '<geom type="mesh" mesh="m"/>'
    assert read(body(mesh, mass="") + body(mesh + HINGE, "b")).nq == 1


def test_all_faults_of_a_file_are_reported_at_once():
    bad = model_of(body('<joint name="j" axis="0 0 0" damping="x"/><geom size="y"/>', attributes='pos="z"', mass=""))
    with pytest.raises(ModelError) as caught:
        read_mjcf(bad)
    assert len(caught.value.faults) == 4


SWITCHED = """
<mujoco><option><flag {flags}/></option><worldbody><site name="w"/><body name="a" gravcomp=".5">
 <joint name="j" axis="0 1 0" stiffness="2" springref="50" damping="3" frictionloss="1" range="-1 2"/>
  <geom size=".1" pos="1 0 0"/><site name="s" pos="1 0 .2"/></body></worldbody>
 <tendon><spatial name="t" stiffness="5" springlength=".2" damping="7" range="0 2"><site site="w"/>
   <site site="s"/></spatial>
  <fixed name="f" stiffness="11" springlength=".2" damping="13"><joint joint="j" coef="1"/></fixed></tendon>
 <actuator><motor joint="j" damping="17" gear="2"/></actuator></mujoco>"""
MECHANISMS = {
    "no springs": SWITCHED.format(flags='spring="disable"'),
    "no dampers": SWITCHED.format(flags='damper="disable"'),
    "nothing passive": SWITCHED.format(flags='damper="disable" spring="disable"'),
    "the class of a frame": """
<mujoco><default><default class="A"><geom density="5000"/></default><default class="B"><geom density="2000"/></default>
 </default><worldbody><body name="a"><joint name="j"/><frame class="A" pos="1 0 0"><geom size=".1"/><frame class="B">
  <body name="b"><joint name="k"/><geom size=".1" pos="1 0 0"/></body></frame></frame>
  <frame class="A" childclass="B"><geom size=".2"/></frame></body></worldbody></mujoco>""",
    "two links": """
<mujoco model="p"><worldbody><body name="a" pos="0 0 1"><joint name="j" axis="0 1 0"/>
 <geom type="capsule" fromto="0 0 0 .3 .1 -.5" size=".03"/>
 <body name="b" pos=".3 .1 -.5" euler="10 20 30">
  <joint name="k" axis="1 1 0" pos=".1 .2 .3" ref="30" range="-40 60" armature=".05"/>
  <geom type="box" size=".1 .2 .3" pos=".1 0 0" quat="1 2 3 4"/><geom type="sphere" size=".1" mass="2"/>
  <site name="s" pos="1 2 3" axisangle="1 1 1 50"/></body></body></worldbody></mujoco>""",
    "many joints": """
<mujoco><compiler angle="radian" eulerseq="ZyX"/><worldbody><body name="a" pos=".1 .2 .3" euler=".1 .2 .3">
 <joint name="x" type="slide" axis="1 0 0" ref=".2"/><joint name="y" type="slide" axis="0 1 1"/>
 <joint name="r" axis="0 1 0" pos=".1 .1 .1" ref=".4"/><joint name="r2" axis="0 1 1" pos=".2 .1 .1"/>
 <inertial pos=".1 .2 .3" mass="2" diaginertia=".3 .2 .25" euler=".3 .2 .1"/>
 <body name="b" xyaxes="1 1 0 0 1 .3"><joint name="ball" type="ball" pos=".1 .2 .3" armature=".01"/>
  <joint name="after" type="slide"/><geom type="cylinder" size=".1 .2" zaxis="1 1 1" density="500"/>
  <body name="c" zaxis="0 0 -1"><joint name="ball2" type="ball"/><geom type="ellipsoid" size=".1 .2 .3" pos="0 .1 0"/>
   <body name="d" zaxis="0 1 -1" pos=".3 0 0"><joint name="ball3" type="ball" pos="0 .1 0"/>
    <geom type="ellipsoid" fromto="0 0 0 0 .1 .4" size=".1"/><body name="e" pos="0 0 .1"><geom size=".1"/></body>
   </body></body></body></body></worldbody></mujoco>""",
    "classes and frames": """
<mujoco><compiler autolimits="false" angle="radian"/>
<default><joint damping="1" axis="1 0 0"/><geom density="300" type="capsule" size=".02 .1"/>
 <default class="arm"><joint armature=".1" stiffness="2"/>
  <default class="hand"><joint axis="0 0 1" limited="true" range="-1 1"/>
   <geom type="box" size=".1 .1 .1" euler=".3 0 0"/></default></default></default>
<worldbody><body name="a" childclass="arm"><joint name="j1"/><geom/>
 <body name="b" pos="0 0 .3"><joint name="j2" class="hand"/><geom class="hand"/>
  <geom class="hand" quat="1 1 0 0" pos=".3 0 0"/><geom class="main" pos="0 1 0"/>
  <frame childclass="hand" pos=".1 0 0" euler="0 0 1"><joint name="j3" pos=".1 .2 0"/><geom pos=".1 0 0"/>
   <site name="s1" pos=".1 .1 0"/><body name="c" pos="0 .1 .2"><joint name="j4"/><geom/></body></frame>
 </body></body></worldbody></mujoco>""",
    "bounds": """
<mujoco><compiler boundmass=".5" boundinertia=".01" balanceinertia="true" inertiagrouprange="1 2"/>
<worldbody><body name="a"><joint name="j" axis="1 0 0"/><geom size=".1" group="0"/>
 <geom size=".05" group="1" pos="0 .2 .1"/>
 <body name="b" pos="0 0 1"><joint name="k" axis="0 1 0"/>
  <inertial pos="0 0 .1" mass="1" diaginertia="1 1 5" quat="1 .2 .3 .4"/></body>
 <body name="c" pos="0 1 0"><joint name="l"/><inertial pos="0 0 0" mass="1" fullinertia="1 2 2.5 .1 .2 .3"/>
  <geom size="1"/></body></body></worldbody></mujoco>""",
}


@pytest.mark.parametrize("name", MECHANISMS)
def test_mujoco_finds_the_same_bodies_in_the_same_places(name):
    mujoco = pytest.importorskip("mujoco")
    text = MECHANISMS[name]
    other = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(other)
    mujoco.mj_forward(other, data)
    model = read_mjcf(text)
    X = _poses(model, {other.joint(j).name: other.qpos0[other.jnt_qposadr[j]] for j in range(other.njnt)})
    mass = 0.0
    for k in range(1, other.nbody):
        host, pose = model.frame(other.body(k).name)
        found = X[host] @ _matrix(pose)
        assert np.allclose(found[:3, 3], data.xpos[k], rtol=0, atol=1e-12)
        assert np.allclose(found[:3, :3], data.xmat[k].reshape(3, 3), rtol=0, atol=1e-12)
        mass += other.body_mass[k]
    assert sum(float(b.total.m) for b in model.bodies) == pytest.approx(mass, rel=1e-12)
    # the moments of the whole about the world's origin, which every part of every inertia enters
    total = sum(_moved(X[b.name], array(b.total.matrix())) for b in model.bodies)
    assert np.allclose(total, _spatial(other, data), rtol=0, atol=1e-11)


def _matrix(pose):
    return array(pose.matrix())


def _poses(model, q):
    """Poses of the bodies with balls at rest and other joints at q."""
    from polhode.spatial import axis_angle

    X = {"world": np.eye(4)}
    for b in model.bodies:
        moved = np.eye(4)
        if b.joint.nq == 1:
            w, v = b.joint.parts[0].H[:3, 0], array(b.joint.parts[0].H[3:, 0])
            x = q[b.joint.name]
            if b.joint.kind == "prismatic":
                moved[:3, 3] = v * x
            else:
                R, a = array(axis_angle(w, float(x))), array(w)
                moved[:3, :3], moved[:3, 3] = R, (np.eye(3) - R) @ np.cross(a, v)
        X[b.name] = X[b.parent] @ _matrix(b.pose) @ moved
    return X


def _skew(a):
    return np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])


def _moved(X, I):
    """A spatial inertia taken from a frame at X to the world."""
    R, p = X[:3, :3], X[:3, 3]
    A = np.block([[R.T, np.zeros((3, 3))], [-R.T @ _skew(p), R.T]])
    return A.T @ I @ A


def _spatial(other, data):
    total = np.zeros((6, 6))
    for k in range(1, other.nbody):
        X = np.eye(4)
        X[:3, :3], X[:3, 3] = data.ximat[k].reshape(3, 3), data.xipos[k]
        total += _moved(X, np.diag([*other.body_inertia[k], *[other.body_mass[k]] * 3]))
    return total


FLOOR = '<geom name="floor" type="plane" size="1 1 1"/>'
POST = '<geom name="post" size="0.2"/>'
BALL = '<geom type="sphere" size="0.3" {}/>'


def two(first="", second="", nested=False, ground=""):
    """Two balls side by side on slides, the second on the first where nested."""
    slide = '<joint type="slide" axis="0 0 1"/><joint type="slide"  axis="1 0 0"/>'
    a, b = (f'<body name="{n}">{slide}{BALL.format(given)}' for n, given in (("a", first), ("b", second)))
    return ground + (f"{a}{b}</body></body>" if nested else f"{a}</body>{b}</body>")


@pytest.mark.parametrize(
    "world",
    [
        two(ground=FLOOR),
        two(ground=POST),
        two(ground=FLOOR + POST),
        two(),
        two(nested=True),
        two(nested=True, ground=FLOOR),
        two('contype="0"', 'contype="2"'),
        two('contype="4" conaffinity="0"', 'contype="1" conaffinity="6"'),
        two('contype="0" conaffinity="0"', 'contype="0" conaffinity="0"', ground=FLOOR),
        f'<body name="a">{INERTIAL}{HINGE}{BALL.format("")}</body>',
    ],
)
@pytest.mark.parametrize("option", ["", '<option><flag contact="disable"/></option>'])
def test_contacts_that_mujoco_finds_are_said_to_be_missing(world, option):
    mujoco = pytest.importorskip("mujoco")
    text = model_of(world, option)
    other = mujoco.MjModel.from_xml_string(text)
    data, rng, touched = mujoco.MjData(other), np.random.default_rng(0), False
    for _ in range(50):
        data.qpos[:] = rng.uniform(-0.5, 0.5, other.nq)
        mujoco.mj_forward(other, data)
        touched |= data.ncon > 0
    said = [note for note in read_mjcf(text).notes if note.startswith("Contacts of geoms are not read: ")]
    assert len(said) == touched
    if said:
        assert ("through the ground ('floor') in" in said[0]) == (FLOOR in world)
        assert ("through what stands still ('post') in" in said[0]) == (POST in world and FLOOR not in world)
        assert "build.contact(...)" in said[0]


def test_the_pose_of_the_file_is_a_keyframe():
    inside = body('<joint name="k" type="slide" ref="0.25"/><joint name="l"/>', "b")
    text = model_of(body(f'<freejoint name="root"/>{inside}', attributes='pos="1 2 3" quat="0 0 2 0"'))
    model = read_mjcf(text)
    start = model.keyframe("file").start()
    mujoco = pytest.importorskip("mujoco")
    qpos = mujoco.MjModel.from_xml_string(text).qpos0
    assert list(start) == ["q0"]
    found = [start["q0"][name] for name in model.coordinates]
    assert found == pytest.approx([*qpos[3:7], *qpos[:3], *qpos[7:]], abs=1e-15)
    said = [note for note in model.notes if "pose of the file" in note]
    shown = "root_qw = 0, root_qy = 1, root_x = 1, root_y = 2, root_z = 3, k = 0.25"
    assert said == [
        f"Simulations begin at q = 0, and not in the pose of the file, where {shown}. "
        'Begin there with simulate(..., **model.keyframe("file").start()).'
    ]


def test_a_pose_at_rest_is_a_keyframe_without_a_note_and_makes_way_for_keys():
    keys = '<keyframe><key name="file" qpos="1"/><key name="file 2" qpos="2"/></keyframe>'
    model = read_mjcf(model_of(body(HINGE), after=keys))
    assert [key.start()["q0"]["j"] for key in model.keyframes] == [1, 2, 0]
    assert model.keyframe("file 3").start() == {"q0": {"j": 0}}
    assert not model.notes


@pytest.mark.parametrize("ranged", ["", 'range="-1 1"'])
def test_a_free_joint_has_no_limits_though_it_inherits_some(ranged):
    """As in MuJoCo, which sets jnt_limited to 0 there."""
    body = '<body name="b"><joint type="free"/><geom size=".1"/></body>'
    text = f'<mujoco><default><joint limited="true" {ranged}/></default><worldbody>{body}</worldbody></mujoco>'
    model = read_mjcf(text)
    assert model.bodies[0].joint.kind == "free"
    assert not any("range" in note for note in model.notes)
    theirs = pytest.importorskip("mujoco").MjModel.from_xml_string(text)
    assert not theirs.jnt_limited.any()


def test_sites_named_like_bodies_are_one_line_and_an_unturned_body_has_no_quaternion():
    bodies = "".join(f'<body name="b{k}"><joint/><geom size="1"/><site name="b{k}"/></body>' for k in range(5))
    notes = str(read(bodies).report())
    assert "Site 'b0', 'b1', 'b2', ... (5 of them): a body has its name, so that here '_site' is added to it." in notes
    assert "quaternion" not in str(read(body("<freejoint/>", attributes='pos="0 0 1"')).report())
