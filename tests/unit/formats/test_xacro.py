"""`.xacro` files, by a package that stands for xacro: what it is given, and what is said without it."""

import sys
from types import SimpleNamespace

import pytest

import polhode as ph

URDF = '<robot name="{}"><link name="a"/></robot>'


def test_a_xacro_is_expanded_with_its_arguments(tmp_path, monkeypatch):
    path = tmp_path / "robot.urdf.xacro"
    path.write_text("<robot/>")
    asked = []

    def process_file(name, mappings):
        asked.append((name, mappings))
        return SimpleNamespace(toxml=lambda: URDF.format(mappings.get("name", "plain")))

    monkeypatch.setitem(sys.modules, "xacro", SimpleNamespace(process_file=process_file))
    assert ph.load(path).name == "plain"
    assert ph.load(path, xacro={"name": "left", "gripper": True, "length": 0.5}).name == "left"
    assert asked[1] == (str(path), {"name": "left", "gripper": "true", "length": "0.5"})


def test_what_xacro_says_of_a_fault_is_said(tmp_path, monkeypatch):
    path = tmp_path / "robot.xacro"
    path.write_text("<robot/>")

    def process_file(name, mappings):
        raise RuntimeError("undefined macro")

    monkeypatch.setitem(sys.modules, "xacro", SimpleNamespace(process_file=process_file))
    with pytest.raises(ph.ModelError, match="undefined macro"):
        ph.load(path)


def test_without_the_package_it_is_said_how_to_get_it(tmp_path, monkeypatch):
    path = tmp_path / "robot.xacro"
    path.write_text("<robot/>")
    monkeypatch.setitem(sys.modules, "xacro", None)
    with pytest.raises(ph.ModelError, match=r"pip install \"polhode\[xacro\]\""):
        ph.load(path)


def test_arguments_of_xacro_are_for_xacro(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_text(URDF.format("r"))
    with pytest.raises(ValueError, match=r"end in \.xacro"):
        ph.load(path, xacro={"a": 1})
    with pytest.raises(ValueError, match="SDFormat"):
        ph.load(path, model="r")
