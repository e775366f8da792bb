"""Polhode against MuJoCo on MJCF files that attach parts of others: the child's classes, units, meshes and drives."""

import numpy as np
import pytest

import polhode as ph

mujoco = pytest.importorskip("mujoco", reason="NOT TESTED: the package mujoco is not installed")

from tests.mujoco_twin import Twin, check  # noqa: E402 - it needs MuJoCo

CHILD = """<mujoco model="c"><compiler angle="degree" eulerseq="zyx"/><option gravity="0 0 -1"/>
<default><geom size=".1"/><joint damping="1" range="-30 30"/><default class="k"><geom size=".2"/>
 <joint armature="3"/></default></default>
<worldbody><geom name="floor" type="plane" size="1 1 1"/><site name="ws"/>
 <frame name="f" pos="0 0 1" euler="10 90 0" childclass="k">
<body name="a" pos="1 0 0" euler="10 20 30"><joint name="ja"/><geom name="ga" class="main"/>
 <site name="sa" pos=".1 .2 .3"/>
 <body name="b" childclass="k" pos="1 0 0"><joint name="jb" axis="0 1 0"/>
 <joint axis="1 0 0" ref="20" springref="30" stiffness="4"/>
  <geom/><site name="sb"/></body></body></frame>
<body name="z"><joint name="jz"/><geom/><site name="sz"/></body></worldbody>
<equality><joint name="e1" joint1="ja" joint2="jb"/><joint name="e2" joint1="ja" joint2="jz"/>
 <connect name="e4" body1="b" anchor="0 0 0"/>
 <connect name="e5" body1="b" body2="world" anchor="0 0 0"/><weld name="e7" site1="sb" site2="ws"/></equality>
<tendon><fixed name="t1"><joint joint="ja" coef="1"/><joint joint="jb" coef="1"/></fixed>
 <fixed name="t2" stiffness="3"><joint joint="ja" coef="1"/><joint joint="jz" coef="1"/></fixed>
 <spatial name="t4" stiffness="2"><site site="sa"/><site site="ws"/></spatial>
 <spatial name="t5" stiffness="2" springlength=".1"><site site="sa"/><site site="sb"/></spatial></tendon>
<actuator><motor name="m1" joint="ja"/><position name="m2" joint="jz" timeconst="1"/>
 <position name="m3" tendon="t1" timeconst="1"/>
 <motor name="m4" tendon="t2"/><motor joint="jb"/><motor name="m6" site="sa" refsite="sz" gear="1 0 0 0 0 0"/>
 </actuator>
<sensor><jointpos name="s1" joint="ja"/><jointpos name="s2" joint="jz"/>
 <framepos name="s3" objtype="site" objname="sa" reftype="site"
 refname="sz"/><clock name="s4"/><actuatorfrc name="s5" actuator="m1"/><actuatorfrc name="s6" actuator="m2"/></sensor>
<keyframe><key name="k1" qpos=".1 .2 .3 .4" ctrl="1 2 3 4 5 6" act="7 8" qvel="1 2 3 4" time="2"/></keyframe>
 </mujoco>"""
PARENT = """<mujoco><compiler angle="radian"/><asset><model name="m" file="sub/c.xml"/></asset>
<default><geom size=".05"/><joint damping="7"/><default class="k"><geom size=".07"/></default></default>
<worldbody><body name="base" childclass="k"><joint name="jbase" range="-1 1"/><geom/>{}</body>{}
<body name="last"><joint name="jlast" type="slide"/><geom class="k"/></body></worldbody>
<actuator><motor name="mp" joint="jbase"/></actuator></mujoco>"""
FRAME = '<frame pos="0 0 2" euler=".1 .2 .3" childclass="k"><attach model="m" {}/></frame>'


def both(folder, parent, **files):
    """The files in both engines, which agree at random states."""
    for name, text in {"parent": parent, **files}.items():
        path = folder / f"{name.replace('__', '/')}.xml"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    theirs = mujoco.MjModel.from_xml_path(str(folder / "parent.xml"))
    ours = ph.load(folder / "parent.xml")
    assert_same_keyframes(ours, theirs)
    check(ours, [Twin(theirs, seed) for seed in (1, 2)])
    return ours, theirs


def assert_same_keyframes(ours, theirs):
    """Of hinges and slides, which have MuJoCo's numbers; before a Twin switches anything off."""
    joints = [body.joint for body in ours.bodies if body.joint.nq == 1]
    addresses = [theirs.joint(k).qposadr[0] for k in range(theirs.njnt) if theirs.jnt_type[k] >= 2]
    assert len(joints) == len(addresses)
    limits = [[joint.limits[0].lower, joint.limits[0].upper] if joint.limits else [None] * 2 for joint in joints]
    hinges = [k for k in range(theirs.njnt) if theirs.jnt_type[k] >= 2]
    for (low, high), k in zip(limits, hinges, strict=True):
        assert (low is not None) == bool(theirs.jnt_limited[k])
        assert low is None or np.allclose([low, high], theirs.jnt_range[k])
    for k in range(theirs.nkey):
        key = ours.keyframe(theirs.key(k).name)
        q, u, controls = dict(key.q), dict(key.u), list(dict(key.controls).values())
        assert np.allclose([q[joint.coordinates()[0]] for joint in joints], theirs.key_qpos[k][addresses])
        assert float(sum(u.values())) == theirs.key_qvel[k].sum()
        assert [*map(float, controls)] == [x for x in theirs.key_ctrl[k] if x]
        assert [*map(float, dict(key.z).values())] == [x for x in theirs.key_act[k] if x]
        assert float(key.time) == theirs.key_time[k]


@pytest.mark.parametrize("part", ['body="a" prefix="p_"', 'body="b" prefix="p_"', 'frame="f" prefix="p_"'])
def test_a_part_of_another_file_brings_its_classes_units_and_drives(part, tmp_path):
    both(tmp_path, PARENT.format(FRAME.format(part), ""), sub__c=CHILD)


@pytest.mark.parametrize("part", ['prefix="p_"', 'body="world" prefix="p_"'])
def test_all_of_another_file_and_a_part_of_it_once_more(part, tmp_path):
    again = '<attach model="m" body="b" prefix="q_"/>'
    ours, theirs = both(tmp_path, PARENT.format("", FRAME.format(part) + again), sub__c=CHILD)
    names = [theirs.actuator(k).name for k in range(theirs.nu)]
    assert [f.name for f in ours.forces if f.name in names] == [name for name in names if name]
    names = {theirs.eq(k).name for k in range(theirs.neq)}
    assert {"p_e7", "q_e5"} <= names
    assert {c.name for c in ours.constraints} >= names - {"p_e1"}  # which is a coupling


def test_files_that_attach_files_from_their_own_folders(tmp_path):
    """Each finds its meshes beside itself, by its own meshdir, classes and order of Euler's angles."""
    for place, size in (("t", 5), ("mm/t", 2), ("sub/mm/t", 1), ("sub/deep/q/t", 3)):
        path = tmp_path / f"{place}.obj"
        path.parent.mkdir(parents=True, exist_ok=True)
        corners = f"v 0 0 0\nv {size} 0 0\nv 0 {size} 0\nv 0 0 {size}\n"
        path.write_text(corners + "f 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n")
    inner = """<mujoco><compiler meshdir="q" eulerseq="ZYX"/><default><default class="v">
     <geom type="mesh" mesh="t" euler="30 20 10" density="3"/><mesh scale="1 2 3"/></default></default>
     <asset><mesh file="t.obj"/><mesh name="u" class="v" file="t.obj"/></asset><worldbody><body name="g">
 <joint name="jg" pos="0 0 1"/>
     <geom class="v"/><geom type="mesh" mesh="u" euler="90 0 0" pos="3 0 0"/></body></worldbody>{}</mujoco>"""
    middle = """<mujoco><compiler angle="radian" meshdir="mm"/><default><geom density="100"/><default class="v">
     <geom type="mesh" euler=".3 .2 .1"/></default></default><asset><mesh file="t.obj"/>
 <model name="i" file="deep/i.xml"/></asset>
     <worldbody><body name="nb" childclass="v"><joint name="jnb" range="-1 1" ref="1" springref="2" stiffness="4"/>
 <geom mesh="t"/>
     <frame euler="1 0 0" pos="0 0 4"><attach model="i" body="g" prefix="c_"/></frame></body></worldbody>
     <tendon><fixed name="T"><joint joint="jnb" coef="2"/><joint joint="c_jg" coef="3"/></fixed></tendon>
     <actuator><position name="mt" kp="7" tendon="T" timeconst="1"/></actuator><keyframe><key name="kn" qpos="3 4"/>
 </keyframe></mujoco>"""
    outer = """<mujoco><compiler meshdir="mm"/><asset><mesh file="t.obj"/><model name="n" file="sub/n.xml"/></asset>
     <worldbody><body name="y" pos="0 1 0"><joint name="jy"/><geom type="mesh" mesh="t"/></body>
     <frame pos="0 0 1" axisangle="1 1 0 30">{}</frame></worldbody></mujoco>"""
    twice = '<attach model="n" body="nb" prefix="n_"/><attach model="n" body="nb" prefix="o_"/>'
    both(tmp_path, outer.format(twice), sub__n=middle, sub__deep__i=inner.format(""))
    key = '<keyframe><key name="kg" qpos=".7"/></keyframe>'  # of two levels only one is put before its name, as there
    once = '<attach model="n" body="c_g" prefix="n_"/>'
    ours, _ = both(tmp_path, outer.format(once), sub__n=middle, sub__deep__i=inner.format(key))
    assert set(ours.poses) == {"n_kn", "c_kg", "file"}


def test_a_free_body_and_the_rules_of_its_masses(tmp_path):
    child = """<mujoco>
 <compiler inertiafromgeom="true" inertiagrouprange="0 2" boundmass="10" boundinertia=".5" autolimits="false"/>
     <worldbody><body name="f" pos="1 2 3"><freejoint/><inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/>
 <geom size=".1"/>
     <geom group="3" size=".2"/><body name="h" pos="0 1 0"><joint name="jh" range="-2 2" limited="true"/>
 <geom size=".1"/></body></body>
     </worldbody><keyframe><key name="k" qpos="1 2 3 .5 .5 .5 .5 .9"/></keyframe>
     <actuator>
 <motor name="m" joint="jh" ctrlrange="-1 1" ctrllimited="false" forcerange="-2 2" forcelimited="true"/></actuator>
 </mujoco>"""
    ours, _ = both(tmp_path, PARENT.format("", FRAME.format('body="f" prefix="p_"')), sub__c=child)
    assert list(ours.poses["p_k"][1:8]) == [0.5, 0.5, 0.5, 0.5, 1, 2, 3]


def test_copies_in_a_row_and_in_rows_of_rows(tmp_path):
    """The rotations are k euler and no powers; what refers to a copy is copied, what refers to none stays once."""
    text = """<mujoco><compiler eulerseq="zyx"/><default><geom size=".1"/><default class="k"><geom size=".2"/>
 </default></default>
     <worldbody><body name="x"><joint name="jx"/><geom/><site name="sx"/></body>
     <replicate count="3" offset="0 1 .5" euler="10 20 90" sep="-">
 <replicate count="2" sep="_" offset="1 0 0" euler="0 90 30"
      childclass="k"><body name="a"><joint name="ja"/><geom/><site name="s" pos=".1 .2 0"/><body><joint/>
 <geom class="main"/></body></body>
      </replicate><geom/></replicate><body name="y"><joint name="jy"/><geom/>
      <replicate count="10" offset=".1 0 0"><geom/><site name="d"/></replicate></body></worldbody>
     <tendon><fixed name="t" stiffness="2"><joint joint="ja" coef="1"/><joint joint="jx" coef="2"/></fixed>
      <spatial name="l" stiffness="3"><site site="s"/><site site="sx"/></spatial></tendon>
     <actuator><motor name="mx" joint="jx"/><motor name="ma" joint="ja" gear="2"/><motor name="mt" tendon="t"/>
 </actuator>
     <sensor><jointpos name="px" joint="jx"/><jointpos name="pa" joint="ja"/><actuatorfrc name="fa" actuator="ma"/>
 </sensor>
     <keyframe><key name="k" qpos="1 2 3 4 5 6 7 8 9 10 11 12 13 14"/></keyframe></mujoco>"""
    ours, theirs = both(tmp_path, text)
    assert [f.name for f in ours.forces if f.name.startswith("m")] == [
        theirs.actuator(k).name for k in range(theirs.nu)
    ]
    assert {s.name for s in ours.sensors} == {theirs.sensor(k).name for k in range(theirs.nsensor)}
    assert {m.name for m in ours.markers} >= {theirs.site(k).name for k in range(theirs.nsite)}


def test_copies_of_what_is_attached_and_what_is_attached_with_copies(tmp_path):
    child = """<mujoco><compiler angle="radian"/><worldbody><replicate count="2" offset="1 0 0" euler="0 0 .5">
 <body name="h">
     <joint name="j"/><geom size=".1"/></body></replicate></worldbody><actuator><motor name="m" joint="j"/></actuator>
     <keyframe><key name="k" qpos=".3 .4" ctrl="1 2"/></keyframe></mujoco>"""
    row = '<replicate count="2" offset="0 0 1" euler="0 0 20"><attach model="m" prefix="p_"/></replicate>'
    both(tmp_path, PARENT.format("", row), sub__c=child)


def test_what_is_about_the_model_too_is_left_out_or_finds_that_by_its_bare_name(tmp_path):
    """Tendons and sensors of an attached part take what the model has by the name of what is not attached."""
    child = """<mujoco><worldbody><body name="a"><joint name="j"/><geom size=".1"/></body><body name="b">
 <joint name="i"/><geom size=".1"/>
     </body></worldbody><tendon><fixed name="t" stiffness="3"><joint joint="i" coef="1"/><joint joint="j" coef="2"/>
 </fixed>
     <fixed name="k" stiffness="5"><joint joint="l" coef="1"/><joint joint="j" coef="2"/></fixed></tendon>
     <actuator><motor name="m" tendon="t"/><motor name="n" joint="i"/></actuator></mujoco>"""
    child = child.replace('name="b"><joint', 'name="b"><joint name="l" axis="0 1 0"/><joint')
    row = """<body name="r"><joint name="i"/><geom/><site name="sr"/></body><attach model="m" body="a" prefix="p_"/>
 <replicate
     count="2"><body name="c"><joint name="l"/><geom/><site name="s"/></body></replicate>"""
    beside = """<equality><weld body1="c" body2="r"/></equality><actuator><motor name="o" site="s" refsite="sr"/>
 </actuator>"""
    ours, theirs = both(tmp_path, PARENT.format("", row).replace("<actuator>", f"{beside}<actuator>"), sub__c=child)
    assert (theirs.ntendon, theirs.neq, theirs.nu) == (1, 0, 2)
    assert not ours.constraints
    assert (
        "Tendon 'p_t' is about joint 'i' of the model, as in MuJoCo: that of its own file is not attached."
        in ours.notes
    )
    assert sum("it is about what is replicated and what is not" in note for note in ours.notes) == 2
