"""Whatever a file holds, a reader returns a model or raises ModelError."""

import random
import re
import time
from pathlib import Path
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polhode.formats.mjcf import read_mjcf
from polhode.formats.sdf import read_sdf
from polhode.formats.urdf import read_urdf
from polhode.formats.xml import parse, to_number
from polhode.model import Model, ModelError

URDF = """<?xml version="1.0"?>
<robot name="arm"><link name="world"/>
 <link name="a"><inertial><origin xyz="0 0 1" rpy="0 1.5 0"/><mass value="2"/>
  <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0.1" iyz="0"/></inertial></link>
 <link name="b"><inertial><mass value="0.5"/>
  <inertia ixx="0.1" iyy="1e-1" izz=".1" ixy="0" ixz="0" iyz="0"/></inertial></link>
 <link name="c"/>
 <joint name="j" type="revolute"><parent link="world"/><child link="a"/><axis xyz="0 0 1"/>
  <limit lower="-1" upper="1" effort="10" velocity="2"/><dynamics damping="0.1" friction="0.2"/></joint>
 <joint name="k" type="prismatic"><origin xyz="1 2 3" rpy="1 2 3"/><parent link="a"/><child link="b"/>
  <mimic joint="j" multiplier="2" offset="1"/></joint>
 <joint name="f" type="fixed"><parent link="b"/><child link="c"/></joint>
 <transmission name="x"><type>a/DifferentialTransmission</type><joint name="j"><role>joint1</role></joint>
  <joint name="k"/><actuator name="m"><mechanicalReduction>5</mechanicalReduction></actuator><actuator name="n"/>
 </transmission>
</robot>"""
MJCF = """<mujoco model="m"><compiler angle="radian" eulerseq="xyz"/><option gravity="0 0 -9.81"/>
<default><joint damping="1"/><default class="d"><geom type="box" size="1 1 1"/></default></default>
<worldbody><site name="s2"/><body name="a" pos="0 0 1" euler="1 2 3"><freejoint name="root"/><geom class="d" mass="2"/>
 <body name="b" childclass="d"><joint name="j" axis="0 1 0" pos="1 0 0" ref="1" range="-1 1"/>
  <joint name="k" type="slide" stiffness="2" springref="1"/><geom type="capsule" fromto="0 0 0 1 1 1" size=".1"/>
  <frame pos="1 0 0"><site name="s" zaxis="1 1 0"/><geom quat="1 1 0 0"/></frame>
  <body name="c" xyaxes="1 0 0 0 1 0"><joint type="ball" pos="0 0 1"/>
   <inertial pos="0 0 0" mass="1" diaginertia="1 1 1"/></body></body></body></worldbody>
<equality><joint joint1="j" joint2="k" polycoef="0 1 0 0 0"/><connect name="e" body1="a" body2="c" anchor="0 0 1"/>
 <weld body1="c" relpose="0 0 1 1 0 1 0" anchor="1 1 1"/><weld site1="s" site2="s2"/></equality>
<tendon><fixed name="f" stiffness="2" springlength="0 1" damping="1"><joint joint="j" coef="2"/></fixed>
 <spatial name="g" range="0 1"><site site="s"/><site site="s2"/><pulley divisor="2"/></spatial></tendon>
<actuator><motor joint="j" ctrlrange="-1 1" gear="2 3"/><position tendon="f" kp="3" dampratio="1" timeconst="1"/>
 <muscle joint="k" lengthrange="0 1" range="0.7 1"/><general site="s" refsite="s2" biastype="affine" biasprm="0 -1 2"/>
 <intvelocity joint="j" inheritrange="1" actlimited="true"/><motor cranksite="s" slidersite="s2" cranklength="1"/>
</actuator>
</mujoco>"""
SDF = """<sdf version="1.9"><model name="m" canonical_link="a"><pose>0 0 1 0 0 0</pose>
<link name="a"><inertial><pose>0 0 1 0 1.5 0</pose><mass>2</mass><inertia><ixx>1</ixx><ixz>0.1</ixz></inertia>
 </inertial>
 <visual name="v"><geometry><box><size>1 1 1</size></box></geometry></visual></link>
<link name="b"><pose relative_to="a">0 0 1 0 0 0</pose></link>
<frame name="f" attached_to="a"><pose relative_to="b" degrees="true">0 0 0 0 0 1</pose></frame>
<joint name="j" type="revolute"><parent>world</parent><child>a</child><axis><xyz expressed_in="f">0 0 1</xyz>
 <limit><lower>-1</lower><upper>1</upper></limit><dynamics><damping>0.1</damping></dynamics></axis></joint>
<joint name="k" type="universal"><parent>a</parent><child>b</child><axis><xyz>0 0 1</xyz></axis>
 <axis2><xyz>1 0 0</xyz></axis2></joint>
<joint name="l" type="ball"><pose>0 0 1 0 0 0</pose><parent>b</parent><child>n::c</child></joint>
<joint name="x" type="revolute"><parent>n::c</parent><child>a</child></joint>
<model name="n" placement_frame="c"><pose relative_to="a">1 0 0 0 0 0</pose>
 <link name="c"><pose>1 0 0 0 0 0</pose></link>
</model></model></sdf>"""
READERS = {
    "sdf": (SDF, read_sdf),
    "urdf": (URDF, lambda text: read_urdf(text, floating="quaternion", passive=True)),
    "mjcf": (MJCF, lambda text: read_mjcf(text, folder=Path(__file__).parent)),
}
# what breaks readers: other spellings of numbers, extreme ones, empty and wrong words

WORDS = [
    "",
    " ",
    "nan",
    "-inf",
    "1e400",
    "-1e308",
    "1e30",
    "1e-320",
    "0",
    "-0",
    "-1",
    "1_0",
    "0x1",
    "1" * 5000,
    "1e5 2 3",
]
WORDS += [
    "a",
    "b",
    "world",
    "j",
    "k",
    "t",
    "free",
    "ball",
    "fixed",
    "planar",
    "floating",
    "mesh",
    "true",
    "\u0661",
    "&#0;",
]
WORDS += ["0 0 0", "1 0 0", "1e-200 0 0", "0 0 0 0", "1e30 1e30 1e30", "${x}", "&lt;", "__import__('os')", "d", "main"]


def outcome(kind, text):
    """Read, and let only a ModelError pass."""
    start = time.perf_counter()
    faults = ("none",)
    try:
        assert isinstance(READERS[kind][1](text), Model)
    except ModelError as error:
        faults = error.faults
    assert faults
    assert all(fault.strip() for fault in faults)
    assert time.perf_counter() - start < 5


def test_the_texts_to_be_broken_are_sound():
    for text, read in READERS.values():
        assert read(text).nq > 0


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60)
@given(data=st.data())
def test_a_changed_attribute_never_escapes(kind, data):
    text = READERS[kind][0]
    for _ in range(data.draw(st.integers(1, 4))):
        spots = [m.span(1) for m in re.finditer(r'="([^"]*)"', text)]
        a, b = data.draw(st.sampled_from(spots))
        text = text[:a] + data.draw(st.sampled_from(WORDS)) + text[b:]
    outcome(kind, text)


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=60)
@given(data=st.data())
def test_elements_left_out_repeated_or_moved_never_escape(kind, data):
    parts = re.split(r"(?=<)", READERS[kind][0])
    for _ in range(data.draw(st.integers(1, 3))):
        i, j = (data.draw(st.integers(0, len(parts) - 1)) for _ in range(2))
        change = data.draw(st.sampled_from(["drop", "repeat", "swap"]))
        if change == "drop" and len(parts) > 1:
            del parts[i]
        elif change == "repeat":
            parts.insert(j, parts[i])
        else:
            parts[i], parts[j] = parts[j], parts[i]
    outcome(kind, "".join(parts))


@pytest.mark.parametrize("kind", READERS)
def test_no_misspelt_name_that_matters_is_passed_over(kind):
    text = READERS[kind][0]
    spots = [(k, key) for k, e in enumerate(ElementTree.fromstring(text).iter()) for key in (None, *e.attrib)]
    for k, key in spots:
        root = ElementTree.fromstring(text)
        element = list(root.iter())[k]
        if (element.tag, key) == ("robot", "name") or element in root.findall("./transmission//") + root.findall(
            ".//visual//"
        ):
            continue  # neither moves anything as long as it is noted
        if element.tag == "transmission":
            continue
        right = key or element.tag
        wrong = right[:-2] + right[:-3:-1] if right[-1] != right[-2] else right[1:]
        if key:
            element.attrib = {wrong if name == key else name: value for name, value in element.attrib.items()}
        else:
            element.tag = wrong
        with pytest.raises(ModelError):
            READERS[kind][1](ElementTree.tostring(root, encoding="unicode"))


@pytest.mark.parametrize("kind", READERS)
def test_an_element_removed_whole_never_escapes(kind):
    text = READERS[kind][0]
    for found in re.finditer(r"<(\w+)[^<>]*?/>|<(inertial|joint|body|link|default)\b.*?</\2>", text, re.DOTALL):
        outcome(kind, text[: found.start()] + text[found.end() :])
        outcome(kind, text[: found.start()] + found.group() + text[found.start() :])


@pytest.mark.parametrize("kind", READERS)
def test_a_text_cut_anywhere_never_escapes(kind):
    text = READERS[kind][0]
    for end in range(0, len(text) - 1, 5):
        outcome(kind, text[:end])


@pytest.mark.parametrize("kind", READERS)
def test_changed_characters_never_escape(kind):
    draw = random.Random(1)
    odd = [chr(k) for k in range(0, 128)] + ["\ud800", "\ufeff", "\U0001f600", "]]>", "<!--", "<![CDATA["]
    for _ in range(300):
        text = list(READERS[kind][0])
        for _ in range(draw.randrange(1, 6)):
            text[draw.randrange(len(text))] = draw.choice(odd)
        outcome(kind, "".join(text))


@pytest.mark.parametrize("kind", READERS)
@settings(max_examples=50)
@given(text=st.text())
def test_any_text_never_escapes(kind, text):
    outcome(kind, text)


BOMBS = {
    "laughs": '<!DOCTYPE r [<!ENTITY a "aaaa"><!ENTITY b "&a;&a;&a;&a;">]><robot name="&b;"/>',
    "outside": '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]><robot name="&x;"/>',
    "parameter": '<!DOCTYPE r [<!ENTITY % p SYSTEM "http://localhost/p"> %p;]><robot/>',
    "definition elsewhere": '<!DOCTYPE r SYSTEM "http://localhost/r.dtd"><robot/>',
}


@pytest.mark.parametrize("bomb", BOMBS)
@pytest.mark.parametrize("kind", READERS)
def test_a_document_type_is_refused_before_anything_is_expanded(kind, bomb):
    with pytest.raises(ModelError, match="declares a document type or entities"):
        READERS[kind][1](BOMBS[bomb].replace("robot", "robot" if kind == "urdf" else "mujoco"))


def test_depth_and_number_of_elements_are_bounded():
    assert parse("<a>" * 1000 + "</a>" * 1000).tag == "a"
    with pytest.raises(ModelError, match="nested more than 1000 deep"):
        parse("<a>" * 1001)
    with pytest.raises(ModelError, match="more than 400,000 elements"):
        parse("<a>" + "<b/>" * 400_000 + "</a>")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-2", -2), ("1.0", 1), ("0.50", 0.5), (".5", 0.5), ("5.", 5.0), ("1e-3", 1e-3), ("9" * 20, 1e20)],
)
def test_numbers_are_read_and_whole_ones_stay_exact(text, value):
    found = to_number(text)
    assert found == value
    assert isinstance(found, type(value))


@pytest.mark.parametrize(
    "text", ["", "nan", "inf", "1e999", "1_0", "0x10", "1,5", "--1", "1 2", "\u0661", "1e", "True"]
)
def test_what_is_no_finite_number_is_none(text):
    assert to_number(text) is None
