"""MJCF tendons: lengths that springs and actuators act along.

A fixed tendon is a sum of coordinates, a spatial one the straight lines through its sites, and around spheres and
cylinders between them, on the side of a site where there is one; not on their inside.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from polhode.graph import Expr, as_expr, evaluate, maximum
from polhode.model import Builder, Faults
from polhode.model.errors import closest, fault

from .mjcf_joints import bounds
from .mjcf_places import Place
from .mjcf_targets import Targets
from .mjcf_text import Classes, Settings
from .mjcf_transmissions import Transmission, of_coordinates, of_path
from .mjcf_wrapping import KINDS, Around
from .xml import Element, Number, number, numbers


@dataclass(frozen=True, slots=True, kw_only=True)
class Tendon:
    """A tendon as read: what it is along, where it is limited, and what actuators may pull with altogether."""

    path: Transmission
    reach: list[float] | None
    push: list[float] | None


def read_tendons(
    root: Element,
    classes: Classes,
    targets: Targets,
    passive: bool,
    settings: Settings,
    builder: Builder,
    faults: Faults,
) -> dict[str, Tendon | str]:
    """Read every tendon, with its spring and damper; of one that is not read, why. By name, or by its line."""
    found: dict[str, Tendon | str] = {}
    for section in root.all("tendon"):
        for given in section.all("fixed", "spatial"):
            element = classes.filled(given, None, "tendon")
            name = element.get("name") or builder.unique_name(f"tendon on line {element.line}")
            what = f"Tendon {name!r}"
            with faults.caught():
                path = _path(element, what, targets, faults)
                if isinstance(path, str):
                    builder.note(f"{what} is not read: {path}.")
                    found[name] = path
                    continue
                reach = bounds(element, "range", "limited", what, settings, faults)
                push = bounds(element, "actuatorfrcrange", "actuatorfrclimited", what, settings, faults)
                found[name] = Tendon(path=path, reach=reach, push=push)
                if passive:
                    _act(element, name, path, targets.rest, settings, builder, faults)
                if reach is not None and not _is_rope(element, name, reach, targets, builder):
                    builder.note(f"{what}: its range is not read, limits are for hinges, slides and straight ropes.")
                _note_rest(element, what, builder)
    return found


def _is_rope(element: Element, name: str, reach: list[float], targets: Targets, builder: Builder) -> bool:
    """Make a rope of a tendon between two sites that only limits how far these are apart."""
    ends = [targets.sites[inside.get("site") or ""] for inside in element.all("site")]
    straight = element.tag == "spatial" and len(ends) == len(element.children) == 2
    if not straight or reach[0] > 0 or not 0 < reach[1] < math.inf:
        return False
    if builder.limits == "stop" and targets.places.frame(ends[0]).moves is not targets.places.frame(ends[1]).moves:
        builder.rope(*ends, length=reach[1], name=name)
    return True


def _path(element: Element, what: str, targets: Targets, faults: Faults) -> Transmission | str:
    """What a tendon is along, or why it is not read."""
    if element.tag == "fixed":
        weights: list[tuple[str, Number]] = []
        for inside in element.all("joint"):
            name = inside.get("joint") or ""
            if targets.joint(name, what).nq != 1:
                raise fault(f"{what}: joint {name!r:.60} is no hinge or slide, expected those only.")
            if any(name == other for other, _ in weights):
                raise fault(f"{what}: has joint {name!r:.60} twice, expected it once. Add its coefs up.")
            weights.append((name, number(inside, "coef", f"{what}: coef of {name!r}", faults)))
        return of_coordinates(targets.joints, weights)
    branches: list[tuple[Number, list[Place | Around]]] = [(1, [])]
    for i, inside in enumerate(element.children):
        if inside.tag == "pulley":
            divisor = number(inside, "divisor", f"{what}: divisor", faults)
            if divisor <= 0:
                raise fault(f"{what}: divisor is {divisor:g}, expected more than 0.")
            branches.append((divisor, []))
        elif inside.tag == "site":
            branches[-1][1].append(targets.places.frame(targets.site(inside, "site", what)))
        elif inside.tag == "geom":
            beside = [other.tag for other in (*element.children[max(i - 1, 0) : i], *element.children[i + 1 : i + 2])]
            if beside != ["site", "site"]:
                raise fault(f"{what}: geom {inside.get('geom') or ''!r:.60} is not between two sites, expected it so.")
            around = _around(inside, what, targets, faults)
            if isinstance(around, str):
                return around
            branches[-1][1].append(around)
    return of_path(branches)


def _around(inside: Element, what: str, targets: Targets, faults: Faults) -> Around | str:
    """What a tendon wraps around, or why that is not read."""
    name = inside.get("geom") or ""
    if name not in targets.geoms:
        raise fault(f"{what}: geom is {name!r:.60}, expected a geom of the file. {closest(name, targets.geoms)}")
    geom = targets.geoms[name]
    kind, X, radius = geom.read(faults)
    if kind not in KINDS:
        raise fault(f"{what}: geom {name!r:.60} is a {kind}, expected a sphere or a cylinder.")
    host = targets.places.body(geom.body)
    if not inside.get("sidesite"):
        return Around(place=Place(host.X @ X, host.moves), kind=kind, radius=radius)
    marker = targets.places.markers[targets.site(inside, "sidesite", what)]
    if marker.body != geom.body:
        return "it wraps around a geom on the side of a site of another body"
    if float(np.linalg.norm(evaluate(marker.pose.p - X.p, {}))) < radius:
        return "it wraps around the inside of a geom, in which its sidesite is"
    side = targets.places.frame(marker.name)
    return Around(place=Place(host.X @ X, host.moves), kind=kind, radius=radius, side=side)


def _act(
    element: Element, name: str, path: Transmission, rest: Mapping[str, float], settings: Settings, builder: Builder,
    faults: Faults,
) -> None:  # fmt: skip
    """Add the spring, which has a band without force between two lengths, and the damper."""
    what = f"Tendon {name!r}"
    found: dict[str, Number] = {}
    for key, flag in (("stiffness", "spring"), ("damping", "damper")):
        if flag in settings.disabled:
            found[key] = 0
            continue
        row = numbers(element, key, 3, f"{what}: {key}", faults, (0,), least=1)
        found[key] = row[0]
        if any(row[1:]):
            builder.note(f"{what}: only the linear part of its {key} is read.")
    if k := found["stiffness"]:
        row = numbers(element, "springlength", 2, f"{what}: springlength", faults, (-1, -1), least=1)
        low, high = _resting(path, rest) if row[0] == row[-1] == -1 else (as_expr(row[0]), as_expr(row[-1]))
        L = path.length
        square = (L - low) ** 2 if low == high else maximum(L - high, 0) ** 2 + maximum(low - L, 0) ** 2
        builder.potential(k * square / 2, name=builder.unique_name(f"spring of {name}"))
    if d := found["damping"]:
        pull = -d * path.velocity
        for speed, e in path.rates.items():
            builder.force(speed, pull * e, name=builder.unique_name(f"damper of {name} on {speed}"))


def _resting(path: Transmission, rest: Mapping[str, float]) -> tuple[Expr, Expr]:
    """The length with every spring of a joint at rest, which is how MuJoCo finds it."""
    length = path.length_at(rest)
    return length, length


def _note_rest(element: Element, what: str, builder: Builder) -> None:
    for key, consequence in (("frictionloss", "dry friction"), ("armature", "armature")):
        if element.get(key) not in (None, "0"):
            builder.note(f"{what}: its {consequence} is not read.")
