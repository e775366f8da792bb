"""`load`: what kind of file it is, and files that are none."""

import pytest

import polhode as ph

URDF = '<robot name="r"><link name="a"/></robot>'
MJCF = '<mujoco model="m"><worldbody><body name="b"><joint/><geom size=".1"/></body></worldbody></mujoco>'
TOML = 'name = "t"\n[[body]]\nname = "b"\nmass = 1\njoint = { type = "revolute", axis = "z" }\n'


@pytest.mark.parametrize(("text", "name"), [(URDF, "r"), (MJCF, "m"), (TOML, "t")])
@pytest.mark.parametrize("before", ["", "\ufeff"])
def test_the_format_is_told_by_the_content(tmp_path, text, name, before):
    path = tmp_path / "description"
    path.write_text(before + text, encoding="utf-8")
    assert ph.load(path).name == name


@pytest.mark.parametrize(
    "before", ["<?xml version='1.0'?>", "<!-- <mujoco> -->\n", "<?xml version='1.0'?><!-- a > b -->"]
)
def test_what_comes_before_the_root_does_not_matter(tmp_path, before):
    path = tmp_path / "x"
    path.write_text(before + URDF)
    assert ph.load(path).name == "r"
    path.write_text(before + MJCF)
    assert ph.load(path).name == "m"


BAD = {
    "nothing": (b"", "empty"),
    "blank": (b" \n\n", "empty"),
    "binary": (b"\x7fELF\x00\x01\xff\xfe", "not text"),
    "zeros": (b"<robot>\0</robot>", "binary"),
    "UTF-16": (URDF.encode("utf-16"), "not text"),
    "cut short": (URDF[:25].encode(), "line 1"),
    "an open comment": (b"<!-- " * 20_000, "line 1"),
    "prose": (b"hello there", "no XML"),
}


@pytest.mark.parametrize("name", BAD)
def test_what_is_no_description_gets_one_message_that_names_the_file(tmp_path, name):
    path = tmp_path / "robot.urdf"
    content, words = BAD[name]
    path.write_bytes(content)
    with pytest.raises(ph.ModelError) as caught:
        ph.load(path)
    assert words in str(caught.value)
    assert "robot.urdf" in str(caught.value)
    assert len(caught.value.faults) == 1


def test_files_that_are_not_there(tmp_path):
    with pytest.raises(ph.ModelError, match="no such file"):
        ph.load(tmp_path / "none.urdf")
    with pytest.raises(ph.ModelError, match="folder"):
        ph.load(tmp_path)


def test_floating_is_for_urdf(tmp_path):
    path = tmp_path / "x"
    path.write_text(URDF)
    with pytest.raises(ValueError, match="expected True, False"):
        ph.load(path, floating="euler")
    for text in (MJCF, TOML):
        path.write_text(text)
        with pytest.raises(ValueError, match="applies to URDF"):
            ph.load(path, floating=True)


def test_a_robot_that_is_no_xml_is_said(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text("hello")
    with pytest.raises(ph.ModelError, match=r"this is no XML: it begins with 'hello', expected <robot>"):
        ph.load(path)
