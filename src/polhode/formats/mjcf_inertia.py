"""Inertia of MJCF bodies: as given, or from the shapes of their geoms."""

from __future__ import annotations

import math
from dataclasses import dataclass

from polhode.graph import Matrix, as_expr, matrix, vector, zeros
from polhode.model import Faults, ModelError, values
from polhode.spatial import Inertia, Pose

from .mjcf_frames import read_pose, read_rotation, turn_z_to
from .mjcf_meshes import Assets, fitted, principal
from .mjcf_text import ORIENTATIONS, Settings
from .xml import Element, Number, number, numbers

SIZES = {"sphere": 1, "capsule": 2, "cylinder": 2, "ellipsoid": 3, "box": 3}
SMALLEST = 1e-15  # size and mass that count, as in MuJoCo
_NO_VOLUME = ("plane", "hfield")


@dataclass(frozen=True, slots=True)
class Mass:
    """Mass, centre of mass, and inertia about it in the axes of the body."""

    m: float
    com: Matrix
    I: Matrix

    @classmethod
    def none(cls) -> Mass:
        return cls(0, zeros(3), zeros(3, 3))

    def scaled(self, factor: float) -> Mass:
        return Mass(self.m * factor, self.com, self.I * factor)


def given_mass(element: Element, what: str, settings: Settings, faults: Faults) -> Mass:
    """Read <inertial>."""
    what = f"{what}: inertial"
    com = numbers(element, "pos", 3, f"{what} pos", faults)
    m = number(element, "mass", f"{what} mass", faults)
    if m < 0:
        faults.add(f"{what} mass is {m:g}, expected 0 or more.")
    if element.get("fullinertia") is not None:
        if element.get("diaginertia") or any(element.get(key) for key in ORIENTATIONS):
            faults.add(f"{what} has fullinertia with diaginertia or an orientation, expected fullinertia alone.")
        six = numbers(element, "fullinertia", 6, f"{what} fullinertia", faults)
        return Mass(m, vector(com), values.inertia(six, what))
    three = numbers(element, "diaginertia", 3, f"{what} diaginertia", faults)
    R = read_rotation(element, what, settings, faults)
    return Mass(m, vector(com), _turned(R, three))


def _turned(R: Matrix, moments: list[Number] | list[float]) -> Matrix:
    return Inertia(as_expr(0), zeros(3), values.inertia(moments, "inertia")).rotated(R).I


def mass_of_geoms(
    geoms: list[tuple[Element, Pose]], what: str, settings: Settings, assets: Assets, faults: Faults
) -> Mass:
    """Add up the geoms of a body, each with its frame's pose in the body."""
    unread: dict[str, str] = {}
    found = [_geom(element, X, what, settings, assets, unread, faults) for element, X in geoms]
    if unread:
        listed = ", ".join(list(unread)[:3]) + (", ..." if len(unread) > 3 else "")
        faults.add(
            f"{what} has its inertia from {'meshes' if len(unread) > 1 else 'a mesh'} ({listed}). "
            f"{next(iter(unread.values()))} Or give the body an <inertial>."
        )
    parts = [part for part in found if part is not None]
    if not parts:
        return Mass.none()
    if len(parts) == 1:
        return parts[0]
    total = Inertia.zero()
    for part in parts:
        total = total + Inertia.of_body(part.m, part.com, part.I)
    com = total.h / total.m
    return Mass(float(total.m), com, _about_com(parts, com))


def _about_com(parts: list[Mass], com: Matrix) -> Matrix:
    total = zeros(3, 3)
    for part in parts:
        total = total + Inertia.of_body(part.m, part.com - com, part.I).I
    return total


def _geom(
    element: Element, X_BF: Pose, body: str, settings: Settings, assets: Assets, unread: dict[str, str], faults: Faults
) -> Mass | None:
    """Mass of one geom, None if it counts for nothing; meshes that cannot be read are listed, with the reason."""
    name, settings = element.get("name"), settings.of(element)
    which = f"geom {name!r}" if name else f"geom on line {element.line}"
    what = f"{body}: {which}"
    kind = element.get("type") or "sphere"
    group = number(element, "group", f"{what} group", faults, 0)
    mass = number(element, "mass", f"{what} mass", faults) if element.get("mass") is not None else None
    density = number(element, "density", f"{what} density", faults, 1000)
    if (mass or 0) < 0 or density < 0:
        faults.add(f"{what} has mass or density below 0, expected 0 or more.")
    counts = settings.groups[0] <= group <= settings.groups[1] and mass != 0 and (mass is not None or density != 0)
    if kind in _NO_VOLUME or not counts:
        return None
    if kind == "sdf":
        unread[which] = "Signed distances are not read."
        return None
    if kind == "mesh":
        try:
            solid = assets.bulk(element.get("mesh") or "")
        except ModelError as error:
            unread[which] = error.faults[0]
            return None
        density = density if mass is None else mass / solid.volume
        X_BG = X_BF @ read_pose(element, what, settings, faults)
        if density * solid.volume < SMALLEST:
            return None
        about = Inertia(as_expr(0), zeros(3), values.inertia((density * solid.I).tolist(), what))
        return Mass(density * solid.volume, X_BG @ vector(solid.com.tolist()), about.rotated(X_BG.R).I)
    if kind not in SIZES:
        faults.add(f"{what}: type is {kind!r:.60}, expected {', '.join(SIZES)}, mesh or plane.")
        return None
    if element.get("shellinertia") == "true":
        faults.add(f"{what} is a shell, and the inertia of shells is not read. Give the body an <inertial>.")
    before = len(faults.found)
    try:
        size, X_FG = fit_or_shape(element, kind, what, settings, assets, faults)
    except ModelError as error:
        unread[which] = error.faults[0]
        return None
    if len(faults.found) > before:
        return None
    volume, moments = _solid(kind, size)
    m = mass if mass is not None else density * volume
    if m < SMALLEST:
        return None
    X_BG = X_BF @ X_FG
    return Mass(m, X_BG.p, _turned(X_BG.R, [m * k for k in moments]))


def fit_or_shape(
    element: Element, kind: str, what: str, settings: Settings, assets: Assets, faults: Faults
) -> tuple[list[Number], Pose]:
    """Sizes of a geom and its pose: as given, or fitted to the mesh that it names."""
    if element.get("mesh") is None:
        return shape(element, kind, what, settings, faults)
    if assets.fits_boxes(element):
        raise ModelError([f"{what} is fitted to the box around a mesh (fitaabb), which is not read."])
    solid = assets.bulk(element.get("mesh") or "")
    half, axes = principal(solid)
    X = read_pose(element, what, settings, faults)
    factor = number(element, "fitscale", f"{what} fitscale", faults, 1)
    X_MG = Pose(values.settled(matrix(axes.tolist())), vector(solid.com.tolist()))
    return [*fitted(kind, half, float(factor))], X @ X_MG


def shape(element: Element, kind: str, what: str, settings: Settings, faults: Faults) -> tuple[list[Number], Pose]:
    """Sizes of a geom and its pose, by size and pos or between two points."""
    n = SIZES[kind]
    fromto = element.get("fromto") is not None and kind != "sphere"
    least = 1 if fromto else n
    before = len(faults.found)
    size = numbers(element, "size", 3, f"{what} size", faults, least=least)
    if min(size[:least]) < SMALLEST and len(faults.found) == before:
        faults.add(f"{what} size is {element.get('size')!r:.60}, expected numbers above {SMALLEST:g}.")
    if not fromto:
        return size[:n], read_pose(element, what, settings, faults)
    ends = numbers(element, "fromto", 6, f"{what} fromto", faults)
    a, b = vector(ends[:3]), vector(ends[3:])
    half = math.dist([float(e) for e in ends[:3]], [float(e) for e in ends[3:]]) / 2
    if half < SMALLEST:
        faults.add(f"{what} fromto has length 0, expected two points.")
        return size, Pose.identity()
    across = [size[0], size[0]] if n == 3 else [size[0]]
    return [*across, half], Pose(turn_z_to(values.axis(a - b, what)), (a + b) / 2)


def _solid(kind: str, size: list[Number]) -> tuple[float, list[float]]:
    """Volume, and principal moments of inertia for a mass of 1."""
    if kind == "sphere":
        r = size[0]
        return 4 / 3 * math.pi * r**3, [0.4 * r * r] * 3
    if kind == "box":
        x, y, z = (s * s for s in size)
        return 8 * size[0] * size[1] * size[2], [(y + z) / 3, (x + z) / 3, (x + y) / 3]
    if kind == "ellipsoid":
        x, y, z = (s * s for s in size)
        return 4 / 3 * math.pi * size[0] * size[1] * size[2], [(y + z) / 5, (x + z) / 5, (x + y) / 5]
    r, h = size[0], 2 * size[1]
    tube, ball = math.pi * r * r * h, 4 / 3 * math.pi * r**3
    if kind == "cylinder":
        side = (3 * r * r + h * h) / 12
        return tube, [side, side, r * r / 2]
    # a capsule: the cylinder, and two half balls whose centres of mass are 3/8 r beyond its ends
    a, b = tube / (tube + ball), ball / (tube + ball)
    side = a * (3 * r * r + h * h) / 12 + b * (0.4 * r * r + h * (3 * r + 2 * h) / 8)
    return tube + ball, [side, side, a * r * r / 2 + b * 0.4 * r * r]


def corrected(found: Mass, settings: Settings) -> Mass:
    """Apply boundmass, boundinertia and balanceinertia."""
    m = max(found.m, settings.least_mass)
    numbers_of_I = values.numbers_of(found.I)
    if numbers_of_I is None or not (settings.least_inertia > 0 or settings.balance):
        return Mass(m, found.com, found.I)
    import numpy as np

    moments, axes = np.linalg.eigh(np.reshape(numbers_of_I, (3, 3)))
    bounded = [max(float(x), settings.least_inertia) for x in moments]
    if settings.balance and max(bounded) > sum(bounded) - max(bounded):
        bounded = [sum(bounded) / 3] * 3
    elif bounded == [float(x) for x in moments]:
        return Mass(m, found.com, found.I)
    I = axes @ np.diag(bounded) @ axes.T
    return Mass(m, found.com, values.inertia(((I + I.T) / 2).tolist(), "inertia"))
