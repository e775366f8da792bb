"""MJCF's <attach> and <replicate>: what is said where it cannot be, and that broken files are refused."""

import random
from contextlib import suppress

import pytest

import polhode as ph
from polhode.formats.mjcf import read_mjcf
from polhode.model import Model, ModelError

ARM = """<mujoco model="arm"><default><joint damping="2"/><default class="d"><geom size="1"/></default></default>
<worldbody><frame name="f"><body name="a"><joint name="j"/><geom class="d" name="g"/></body></frame></worldbody>
<actuator><position name="m" joint="j" timeconst="1"/></actuator><sensor><jointpos name="s" joint="j"/></sensor>
<keyframe><key name="k" qpos="1" act="2" ctrl="3"/></keyframe></mujoco>"""
ATTACH = '<attach model="arm" body="a" prefix="p_"/>'


def parent(inside=ATTACH, asset='<model name="arm" file="arm.xml"/>', before=""):
    return f"<mujoco>{before}<asset>{asset}</asset><worldbody>{inside}</worldbody></mujoco>"


def read(folder, text=None, **files):
    for name, child in ({"arm": ARM} | files).items():
        (folder / f"{name}.xml").write_text(child)
    return read_mjcf(parent() if text is None else text, folder=folder)


def test_names_get_the_prefix_and_what_refers_to_them_comes_along(tmp_path):
    model = read(tmp_path)
    assert model.frames == ("p_a",)
    assert model.body("p_a").joint.name == "p_j"
    assert [f.name for f in model.forces] == ["p_m"]
    assert [s.name for s in model.sensors] == ["p_s"]
    assert {name: float(x) for name, x in model.keyframe("p_k").z} == {"p_m_activation": 2}


def test_a_child_has_nothing_of_the_classes_around_it(tmp_path):
    around = "<default><joint armature='5'/><default class='d'><joint damping='9'/></default></default>"
    model = read(tmp_path, parent(f"<frame childclass='d'>{ATTACH}</frame>", before=around))
    joint = model.body("p_a").joint
    assert (joint.damping, joint.armature) == ((2,), (0,))


def test_what_names_come_from_may_be_the_name_of_the_file_itself(tmp_path):
    assert read(tmp_path, parent(asset='<model file="arm.xml"/>')).frames == ("p_a",)


def test_options_of_what_is_attached_do_not_count_which_is_noted(tmp_path):
    model = read(tmp_path, arm=ARM.replace("<default>", '<option gravity="0 0 1"/><default>', 1))
    assert "<model> of 'arm.xml' on line 1: its <option> does not count, as in MuJoCo" in model.notes[0]
    merging = parent(before='<compiler conflict="merge"/>')
    assert read(tmp_path, merging).notes[0] == 'Compiler: conflict is not read: it is "warning".'


BAD = {
    '<attach body="a" prefix="p_"/>': "has no model: copies of bodies of this file are not read",
    '<attach model="arm" body="a"/>': "has no prefix, expected what the names of the other file begin with: prefix=",
    '<attach model="arn" prefix="p_"/>': "model is 'arn', expected a <model> of <asset>. Did you mean 'arm'?",
    '<attach model="arm" body="b" prefix="p_"/>': "body is 'b', expected a body of that file. There is 'a'.",
    '<attach model="arm" frame="a" prefix="p_"/>': "frame is 'a', expected a frame of that file. There is 'f'.",
    '<attach model="arm" frame="f" body="a" prefix="p_"/>': "has a body and a frame, expected one of them",
    '<attach model="arm" bodi="a" prefix="p_"/>': "unknown attribute 'bodi'. Did you mean 'body'?",
    ATTACH * 2: "body 'p_a' exists already, with prefix 'p_'. Give another prefix.",
    '<body name="a"/><attach model="arm" prefix=""/>': "body 'a' exists already, with prefix ''",
    '<attach model="self" prefix="p_"/>': "the file attaches itself. Remove one of its <attach>.",
    '<attach model="gone" prefix="p_"/>': "<model> of 'gone.xml' on line 1: there is no such file",
    '<attach model="out" prefix="p_"/>': "<model> of '../out.xml' on line 1 leaves the folder of the model",
    '<attach model="urdf" prefix="p_"/>': "'urdf.xml' on line 1: the root element is <robot>, expected <mujoco>",
    '<attach model="bad" prefix="p_"/>': "<model> of 'bad.xml' on line 1: Model: unknown element <bodies>",
    '<attach model="soft" prefix="p_"/>': "<model> of 'soft.xml' on line 1: <flexcomp> on line 1 is not read",
    '<attach model="class" prefix="p_"/>': "default class 'd' does not exist",
    "<body><replicate count='2'><joint/></replicate></body>": "has a joint or an inertial of the body around",
    "<replicate><geom/></replicate>": "<replicate> on line 1: count is None, expected a whole number above 0.",
    "<replicate count='1.5'/>": "<replicate> on line 1: count is '1.5', expected a whole number above 0.",
    "<replicate count='2' ofset='1'/>": "unknown attribute 'ofset'. Did you mean 'offset'?",
    "<replicate count='2' offset='1'/>": "<replicate> on line 1: offset is '1', expected 3 numbers.",
    "<replicate count='900'>" * 2 + "<geom/>" + "</replicate>" * 2: "count is 900, more copies than a mechanism needs.",
    '<attach model="key" prefix="p_"/>': "Keyframe 'p_k': qpos has 2 numbers, expected 1 as its file has them",
}
FILES = {
    "self": parent('<attach model="self" prefix="q"/>', '<model name="self" file="self.xml"/>'),
    "urdf": "<robot/>",
    "bad": "<mujoco><bodies/></mujoco>",
    "soft": "<mujoco><worldbody><flexcomp/></worldbody></mujoco>",
    "class": '<mujoco><worldbody><geom class="d"/></worldbody></mujoco>',
    "key": ARM.replace('qpos="1"', 'qpos="1 1"'),
}


@pytest.mark.parametrize(("inside", "words"), BAD.items(), ids=BAD.values())
def test_what_cannot_be_attached_is_one_fault(inside, words, tmp_path):
    named = [(name, name) for name in ("arm", "gone", *FILES)] + [("out", "../out")]
    asset = "".join(f'<model name="{name}" file="{file}.xml"/>' for name, file in named)
    with pytest.raises(ModelError) as caught:
        read(tmp_path, parent(inside, asset), **FILES)
    assert len(caught.value.faults) == 1
    assert words in caught.value.faults[0]


def test_a_file_that_attaches_is_read_from_its_file(tmp_path):
    with pytest.raises(ModelError, match="expected the name of a file beside the model"):
        read_mjcf(parent())
    (tmp_path / "parts").mkdir()
    (tmp_path / "models").mkdir()
    (tmp_path / "parts" / "arm.xml").write_text(ARM)
    path = tmp_path / "models" / "robot.xml"
    path.write_text(parent(asset='<model name="arm" file="../parts/arm.xml"/>'))
    assert ph.load(path).frames == ("p_a",)


def test_files_that_attach_two_of_the_next_end_early(tmp_path):
    """2^30 copies would be asked for."""
    files = {
        f"n{k}": f'<mujoco><asset><model name="n" file="n{k + 1}.xml"/></asset><worldbody>'
        '<attach model="n" prefix="a"/><attach model="n" prefix="b"/></worldbody></mujoco>'
        for k in range(15)
    }
    with pytest.raises(ModelError, match="too much is attached: expected at most 100 files, 20 within each other"):
        read(tmp_path, parent('<attach model="n" prefix="c"/>', '<model name="n" file="n0.xml"/>'), **files, n15=ARM)


def test_broken_files_are_read_or_refused(tmp_path):
    draw = random.Random(5)
    words = ["", "a", "p_", "1 2", "nan", "d", "main", "world", "free", "ball", "arm", "<body/>", "frame", "key"]
    for _ in range(150):
        row = f'<replicate count="2" offset="1 0 0" euler="0 0 1" sep="-">{ATTACH}</replicate>'
        texts = {"arm": ARM, "parent": parent(f"<frame>{row}</frame>")}
        for _ in range(draw.randint(1, 3)):
            which = draw.choice(list(texts))
            pieces = texts[which].split('"' if draw.random() < 0.7 else " ")
            mark = '"' if texts[which].count('"') + 1 == len(pieces) else " "
            pieces[draw.randrange(len(pieces))] = draw.choice(words)
            texts[which] = mark.join(pieces)
        with suppress(ModelError):
            assert isinstance(read(tmp_path, texts["parent"], arm=texts["arm"]), Model)
