"""Where MJCF elements are: positions, and the five ways to turn them."""

from __future__ import annotations

import math

from polhode.graph import Matrix, cross, identity, matrix, vector
from polhode.model import Faults, values
from polhode.spatial import Pose, axis_angle

from .mjcf_text import ORIENTATIONS, Settings
from .xml import Element, numbers

_COUNTS = {"quat": 4, "axisangle": 4, "euler": 3, "xyaxes": 6, "zaxis": 3}
_AXES = {"x": (1, 0, 0), "y": (0, 1, 0), "z": (0, 0, 1)}


def read_pose(element: Element, what: str, settings: Settings, faults: Faults) -> Pose:
    """Read pos and orientation: the pose in the body or frame around."""
    p = numbers(element, "pos", 3, f"{what}: pos", faults, (0, 0, 0))
    return Pose(read_rotation(element, what, settings, faults), vector(p))


def read_rotation(element: Element, what: str, settings: Settings, faults: Faults) -> Matrix:
    """Read the orientation, given in at most one way."""
    settings = settings.of(element)
    given = [key for key in ORIENTATIONS if element.get(key) is not None]
    if not given:
        return identity(3)
    key = given[0]
    if len(given) > 1:
        faults.add(f"{what} is turned by {' and '.join(given)}, expected one of them.")
    before = len(faults.found)
    found = numbers(element, key, _COUNTS[key], f"{what}: {key}", faults)
    if len(faults.found) > before:
        return identity(3)
    scale = math.pi / 180 if settings.degrees else 1
    if key == "euler":
        return values.settled(_euler([x * scale for x in found], settings.eulerseq))
    size = max(map(abs, found[:3])) if key != "quat" else max(map(abs, found))
    if size < 1e-9:
        faults.add(
            f"{what}: {key} has length 0, expected {'a quaternion (w, x, y, z)' if key == 'quat' else 'an axis'}."
        )
        return identity(3)
    if key == "quat":
        return values.rotation(what, quaternion=found)
    first = values.axis(found[:3], what)
    if key == "axisangle":
        return values.settled(axis_angle(first, found[3] * scale))
    if key == "zaxis":
        return turn_z_to(first)
    return _from_axes(first, vector(found[3:]), what, faults)


def _euler(angles: list[float], sequence: str) -> Matrix:
    """Turn about three axes: small letters move with the frame, capitals stay."""
    R = identity(3)
    for angle, letter in zip(angles, sequence, strict=True):
        turn = axis_angle(_AXES[letter.lower()], angle)
        R = R @ turn if letter.islower() else turn @ R
    return R


def turn_z_to(direction: Matrix) -> Matrix:
    """The smallest rotation that takes z to a unit vector."""
    across = cross(vector((0, 0, 1)), direction)
    sine = math.sqrt(float(across @ across))
    angle = math.atan2(sine, float(direction[2]))
    axis = values.axis(across, "z axis") if sine > 1e-14 else vector((1, 0, 0))
    return values.settled(axis_angle(axis, angle))


def _from_axes(x: Matrix, second: Matrix, what: str, faults: Faults) -> Matrix:
    """The frame with this x axis and with y as near to `second` as it can be."""
    y = second - x * (x @ second)
    if float(y @ y) < 1e-16 * float(second @ second) or float(second @ second) == 0:
        faults.add(f"{what}: xyaxes are parallel, expected two directions.")
        return identity(3)
    y = values.axis(y, what)
    return values.settled(matrix([x, y, cross(x, y)]).T)


def quaternion_of(R: Matrix) -> list[float]:
    """The unit quaternion (w, x, y, z) of a rotation of numbers, with w not negative."""
    (a, b, c), (d, e, f), (g, h, i) = ([float(x) for x in row] for row in R.rows())
    # each row is 4 q_k q, so the longest one is the most precise
    rows = [
        [1 + a + e + i, h - f, c - g, d - b],
        [h - f, 1 + a - e - i, b + d, c + g],
        [c - g, b + d, 1 - a + e - i, f + h],
        [d - b, c + g, f + h, 1 - a - e + i],
    ]
    row = max(rows, key=lambda row: math.hypot(*row))
    size = math.copysign(math.hypot(*row), row[0])
    return [x / size + 0.0 for x in row]
