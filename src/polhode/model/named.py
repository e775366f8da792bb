"""The joints people expect, each by its joint map matrix."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from polhode.graph import Matrix, cross, identity, matrix, vector, zeros
from polhode.spatial.rotation import length

from . import values
from .errors import fault
from .joint import Joint, compound, finished, joint

Axis = str | Sequence[Any] | Matrix


def _axis(axis: Axis, kind: str, options: dict[str, Any]) -> Matrix:
    name = options.get("name")
    return values.axis(axis, f"Joint {name!r}: axis" if name else f"Joint ({kind}): axis")


def _map(*columns: tuple[Any, Any]) -> Matrix:
    """The joint map with columns (angular, linear)."""
    return matrix([[*w, *v] for w, v in columns]).T


def revolute(axis: Axis = "z", at: Any = (0, 0, 0), **options: Any) -> Joint:
    """Turn about an axis of the body, through its origin or a point `at` of it.

    >>> revolute("z").parts[0].H.T
    [[0, 0, 1, 0, 0, 0]]
    """
    a = _axis(axis, "revolute", options)
    through = values.entries(at, 3, "Joint (revolute): at")
    return joint(_map((a, zeros(3) if through == zeros(3) else cross(through, a))), kind="revolute", **options)


def prismatic(axis: Axis = "z", **options: Any) -> Joint:
    """Slide along an axis."""
    return joint(_map((zeros(3), _axis(axis, "prismatic", options))), kind="prismatic", **options)


def screw(axis: Axis = "z", *, pitch: Any, **options: Any) -> Joint:
    """Turn about an axis and advance along it by `pitch` metres a radian: lead / (2 pi)."""
    a = _axis(axis, "screw", options)
    advance = values.scalar(pitch, "Joint (screw): pitch")
    return joint(_map((a, a.map(lambda e: e if e == 0 else e * advance))), kind="screw", **options)


def cylindrical(axis: Axis = "z", **options: Any) -> Joint:
    """Turn about an axis and slide along it."""
    a = _axis(axis, "cylindrical", options)
    endings = {"q_endings": ("angle", "slide"), "u_endings": ("angle_dot", "slide_dot")}
    return joint(_map((a, zeros(3)), (zeros(3), a)), kind="cylindrical", **(endings | options))


def universal(axes: Sequence[Axis] = ("x", "y"), **options: Any) -> Joint:
    """Turn about two axes: the first fixed in the body, the second in the parent."""
    found = list(axes) if isinstance(axes, (list, tuple)) else []
    if len(found) != 2:
        raise fault(f"Joint (universal): axes are {axes!r:.60}, expected two.")
    return compound([revolute(a) for a in found], kind="universal", **options)


def planar(axis: Axis = "z", **options: Any) -> Joint:
    """Turn about an axis and slide across it; angle, then position in the parent's plane.

    The two directions make a right-handed frame with the axis, and name the
    coordinates: x and y for "z", y and z for "x", z and x for "y".
    """
    n = _axis(axis, "planar", options)
    across, along = _across(n)
    k = next((k for k, unit in enumerate(identity(3).rows()) if n == unit), 2)
    first, second = "xyz"[k - 2], "xyz"[k - 1]
    endings = {"q_endings": ("angle", first, second), "u_endings": ("w", f"v{first}", f"v{second}")}
    H = _map((n, zeros(3)), (zeros(3), across), (zeros(3), along))
    return joint(H, kind="planar", **(endings | options))


def _across(n: Matrix) -> tuple[Matrix, Matrix]:
    """Two unit vectors that make a right-handed frame with n: x and y for n = z, by turning the axes on."""
    units = [vector(row) for row in identity(3).rows()]
    for k, unit in enumerate(units):
        if n == unit:
            return units[k - 2], units[k - 1]
    found = values.numbers_of(n)
    least = units[0] if found is None else units[min(range(3), key=lambda i: abs(found[i]))]
    second = cross(n, least)
    second = second / length(second)
    return cross(second, n), second


_QUATERNION = ("qw", "qx", "qy", "qz")
_POSITION = ("x", "y", "z")


def spherical(quaternion: bool = False, **options: Any) -> Joint:
    """Turn in every direction: three angles in sequence, or a unit quaternion (w, x, y, z).

    The speeds are the angular velocity in the axes of the body.
    """
    endings = {"q_endings": _QUATERNION if quaternion else ("x", "y", "z"), "u_endings": ("wx", "wy", "wz")}
    H = matrix([*identity(3).rows(), *zeros(3, 3).rows()])
    return joint(H, quaternion=quaternion, kind="spherical", **(endings | options))


def free(quaternion: bool = False, **options: Any) -> Joint:
    """Move freely: three angles or a unit quaternion, then the position in the parent.

    The speeds are the twist in the axes of the body, angular part first.
    """
    turn = _QUATERNION if quaternion else ("ax", "ay", "az")
    endings = {"q_endings": (*turn, *_POSITION), "u_endings": ("wx", "wy", "wz", "vx", "vy", "vz")}
    return joint(identity(6), quaternion=quaternion, kind="free", **(endings | options))


def weld(**options: Any) -> Joint:
    """Hold fast."""
    return finished(Joint(kind="weld", parts=()), "Joint (weld)", options)
