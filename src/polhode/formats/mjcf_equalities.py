"""MJCF equalities: what holds bodies, sites and joints together.

MuJoCo's give way a little, ours do not. Where a file gives no relative pose, bodies
keep the one they have in the file.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polhode.graph import as_expr, symbol, vector
from polhode.model import WORLD, Builder, Coupling, Faults, values
from polhode.model.errors import closest, fault
from polhode.spatial import Pose

from .mjcf_targets import Targets
from .mjcf_tendons import Tendon
from .mjcf_text import Classes
from .xml import Element, Number, number, numbers

READ = ("connect", "weld", "joint")


@dataclass(frozen=True, slots=True, kw_only=True)
class Named:
    """What equalities refer to, by its name in the file.

    places : pose of every body in the world, as the file has it
    hosts  : what every body is fixed to
    sites  : marker and body of every site
    joints : coordinate of every hinge and slide, and its value in the file
    """

    places: Mapping[str, Pose]
    hosts: Mapping[str, str]
    sites: Mapping[str, tuple[str, str]]
    joints: Mapping[str, tuple[str, float]]


def read_equality(element: Element, named: Named, builder: Builder, faults: Faults) -> None:
    """Hand a <connect>, <weld> or <joint> to the builder; one that is not active is noted."""
    what = _called(element)
    if not _is_active(element, what, builder):
        return
    if element.tag == "joint":
        _joints(element, what, named, builder, faults)
    else:
        _bodies(element, what, named, builder, faults)


def _called(element: Element) -> str:
    name = element.get("name")
    return f"Equality {name!r:.60}" if name else f"<equality> <{element.tag}> on line {element.line}"


def _is_active(element: Element, what: str, builder: Builder) -> bool:
    """Whether it holds; one that does not is noted."""
    active = element.get("active") or "true"
    if active not in ("true", "false"):
        raise fault(f"{what}: active is {active!r:.60}, expected true or false.")
    if active == "false":
        builder.note(f"{what} is not read: it is not active.")
    return active == "true"


def read_tendon_equalities(
    root: Element, classes: Classes, targets: Targets, tendons: Mapping[str, Tendon | str], builder: Builder,
    faults: Faults,
) -> None:  # fmt: skip
    """Hand every equality of tendons to the builder."""
    for given in (e for section in root.all("equality") for e in section.all("tendon")):
        element = classes.filled(given, None, "equality")
        what = _called(element)
        with faults.caught():
            if _is_active(element, what, builder):
                _tendons(element, what, targets, tendons, builder, faults)


def _tendons(
    element: Element, what: str, targets: Targets, tendons: Mapping[str, Tendon | str], builder: Builder,
    faults: Faults,
) -> None:  # fmt: skip
    """L1 - L1_0 = a0 + a1 (L2 - L2_0) + ... + a4 (L2 - L2_0)^4, with lengths in the pose of the file; as of joints."""
    names = [
        _known(element, key, tendons, what) for key in ("tendon1", "tendon2") if element.get(key) or key[-1] == "1"
    ]
    more = []
    for name in names:
        tendon = tendons[name]
        if isinstance(tendon, str):
            builder.note(f"{what} is not read: of its tendon {name!r}, {tendon}.")
            return
        more.append(tendon.path.length - tendon.path.length_at(targets.start))
    a = _coefficients(element, what, faults)
    value = more[0] - a[0]
    if len(more) == 2:
        value = value - sum((k * more[1] ** n for n, k in enumerate(a[1:], 1) if k), as_expr(0))
    builder.constraint(value, element.get("name") or builder.unique_name(f"equality of {' and '.join(names)}"))


def _coefficients(element: Element, what: str, faults: Faults) -> list[Number]:
    """The polynomial of an equality."""
    a = numbers(element, "polycoef", 5, f"{what}: polycoef", faults, (0, 1, 0, 0, 0), least=1)
    return [*a, *[0, 1, 0, 0, 0][len(a) :]]


def _joints(element: Element, what: str, named: Named, builder: Builder, faults: Faults) -> None:
    """y - y0 = a0 + a1 (x - x0) + ... + a4 (x - x0)^4, with y0, x0 the values in the file; no x, no such terms."""
    keys = ("joint1", "joint2") if element.get("joint2") else ("joint1",)
    names = [element.get(key) or "" for key in keys]
    for key, joint in zip(keys, names, strict=True):
        if joint not in named.joints:
            raise fault(f"{what}: {key} is {joint!r:.60}, expected a hinge or slide. {closest(joint, named.joints)}")
    a = _coefficients(element, what, faults)
    y, y0 = named.joints[names[0]]
    if len(names) == 2 and not any(a[2:]) and y not in _following(builder):
        x, x0 = named.joints[names[1]]
        builder.coupling(y, x, a[1], y0 + a[0] - a[1] * x0)
        return
    value = symbol(y) - y0 - a[0]
    if len(names) == 2:
        x, x0 = named.joints[names[1]]
        value = value - sum((k * (symbol(x) - x0) ** n for n, k in enumerate(a[1:], 1) if k), as_expr(0))
    builder.constraint(value, element.get("name") or builder.unique_name(f"equality of {' and '.join(names)}"))


def _following(builder: Builder) -> set[str]:
    """The coordinates that a coupling has."""
    return {c.coordinate for c in builder.constraints if isinstance(c, Coupling)}


def _bodies(element: Element, what: str, named: Named, builder: Builder, faults: Faults) -> None:
    """Tie two sites, or two bodies at an anchor: of the first in a <connect>, of the second in a <weld>."""
    if element.get("site1") or element.get("site2"):
        sites = [_known(element, key, named.sites, what) for key in ("site1", "site2")]
        bodies = [named.sites[site][1] for site in sites]
    else:
        sites = []
        body2 = _known(element, "body2", named.places, what) if element.get("body2") else WORLD
        bodies = [_known(element, "body1", named.places, what), body2]
    name = element.get("name") or builder.unique_name(f"{element.tag} {' '.join(sites or bodies)}")
    if named.hosts[bodies[0]] == named.hosts[bodies[1]]:
        builder.note(f"{what} is not read: {bodies[0]!r} and {bodies[1]!r} are one rigid body.")
        return
    if sites:
        ends = [named.sites[site][0] for site in sites]
    else:
        poses = _anchors(element, what, [named.places[body] for body in bodies], faults)
        ends = [_marker(builder, f"{name}/{body}", body, pose) for body, pose in zip(bodies, poses, strict=True)]
    loose = element.tag == "connect" or number(element, "torquescale", f"{what}: torquescale", faults, 1) == 0
    builder.loop(ends[0], ends[1], "point" if loose else "weld", name=name)


def _known(element: Element, key: str, names: Mapping[str, object], what: str) -> str:
    name = element.get(key) or ""
    if name not in names:
        raise fault(f"{what}: {key} is {name!r:.60}, expected a {key[:-1]} of the file. {closest(name, names)}")
    return name


def _anchors(element: Element, what: str, places: list[Pose], faults: Faults) -> tuple[Pose, Pose]:
    """The poses of the anchor in the two bodies."""
    if element.tag == "connect":
        at = vector(numbers(element, "anchor", 3, f"{what}: anchor", faults))
        return Pose.at(at), Pose.at(values.settled(places[1].inverse() @ (places[0] @ at)))
    anchor = Pose.at(vector(numbers(element, "anchor", 3, f"{what}: anchor", faults, (0, 0, 0))))
    relative = numbers(element, "relpose", 7, f"{what}: relpose", faults, (0,) * 7)
    if any(relative[3:]):  # of the anchor, not of the body
        return Pose(values.rotation(what, quaternion=relative[3:]), vector(relative[:3])), anchor
    first = places[0].inverse() @ places[1] @ anchor
    return Pose(values.settled(first.R), values.settled(first.p)), anchor


def _marker(builder: Builder, name: str, body: str, pose: Pose) -> str:
    """A marker at a pose; a body's own frame is one already."""
    if pose == Pose.identity():
        return body
    builder.marker(name, body=body, at=pose.p, rotation=pose.R)
    return name
