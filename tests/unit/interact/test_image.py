"""Memory that is copied to other addresses."""

import ctypes

import numpy as np
import pytest

from polhode.interact.image import Image


class Root(ctypes.Structure):
    _fields_ = (
        ("data", ctypes.c_int64),
        ("none", ctypes.c_int64),
        ("code", ctypes.c_int64),
        ("number", ctypes.c_int64),
    )


def word(content, first, place):
    return int.from_bytes(content[place - first : place - first + 8], "little")


def test_links_lead_to_the_copies():
    data = np.arange(10.0)
    root = Root(data=data[3:].ctypes.data, code=12345, number=data.ctypes.data)
    image = Image()
    image.hold(data)
    begin = image.hold(root)
    image.link(begin)
    image.link(begin + 8)
    image.call(begin + 16, 7)
    content = image.lay(1008)
    there = image.place(begin)
    at = word(content, 1008, there)
    assert np.frombuffer(content[at - 1008 : at - 1008 + 8])[0] == 3.0
    assert word(content, 1008, there + 8) == 0  # none
    assert word(content, 1008, there + 16) == 7
    assert word(content, 1008, there + 24) == data.ctypes.data  # a number, which nobody said is an address


def test_views_of_one_array_share_its_copy():
    data = np.arange(10.0)
    image = Image()
    for part in (data[6:], data[2:8], data):
        image.hold(part)
    content = image.lay(64)
    assert image.place(data[6:].ctypes.data) - image.place(data.ctypes.data) == 48
    np.testing.assert_array_equal(np.frombuffer(content[image.place(data.ctypes.data) - 64 :][:80]), data)


def test_room_that_is_asked_for_is_there():
    small, other = np.ones(2), np.full(3, 2.0)
    image = Image()
    begin, end = image.hold(small, room=800), image.hold(other)
    content = image.lay(16)
    places = sorted((image.place(begin), image.place(end)))
    assert abs(places[1] - places[0]) >= (800 if places[0] == image.place(begin) else 24)
    assert len(content) >= 824


def test_an_array_without_entries_has_a_place():
    image, empty = Image(), np.zeros(0)
    begin = image.hold(empty)
    image.lay(32)
    assert image.place(begin) >= 32


def test_what_is_not_known_is_refused():
    image, data, other = Image(), np.zeros(4), np.zeros(400)
    root = Root(data=other.ctypes.data)
    image.hold(data)
    image.link(image.hold(root))
    with pytest.raises(LookupError, match=r"nothing known at address 0x"):
        image.lay(16)
    with pytest.raises(ValueError, match=r"not contiguous"):
        Image().hold(np.zeros((4, 4))[:, 1])
