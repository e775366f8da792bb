"""URDF: robots as links and joints."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from polhode.graph import Matrix, as_expr, zeros
from polhode.model import WORLD, Builder, Faults, Joint, Model, ModelError, free, values, weld
from polhode.model.errors import closest, listed
from polhode.spatial import Inertia

from .urdf_joints import ReadJoint, couple, make_joint, read_joints, read_origin
from .urdf_looks import add_looks
from .urdf_places import Places
from .urdf_schema import check_elements
from .urdf_transmissions import read_transmissions
from .variables import separate_names
from .xml import Element, Number, number, parse

MOST_REMEDIES = 20  # names that do not exist for which the closest ones are looked up


@dataclass(frozen=True, slots=True, kw_only=True)
class _Link:
    """A link; `inertia` is about the centre of mass, in the axes of the link."""

    name: str
    mass: Number
    com: list[Number]
    inertia: Matrix


def read_urdf(
    text: str, *, source: str = "", floating: str | None = None, passive: bool = False, limits: str = "stop",
    actuators: bool = True, places: Places | None = None,
) -> Model:  # fmt: skip
    """Read a robot from the text of a URDF file.

    floating : None fixes the root link to the world, "quaternion" or "angles"
               lets it move freely, on a joint named "base"
    passive  : whether the joints' damping and friction act, or are only kept
    limits   : "stop" where limits are stops in simulations, "ignore" where they are only kept
    actuators : whether those of transmissions are there
    places   : finds the files of meshes; None for the current folder

    Inertias are taken literally; the report lists those that no body has.
    Links on fixed joints become part of what carries them and stay as markers.
    """
    root = parse(text, source)
    _require_robot(root, source)
    faults = Faults(source)
    unread = check_elements(root, faults)
    links = _links(root, faults)
    joints = read_joints(root, faults)
    start = _root_of(links, joints, faults)
    names = _body_names(links, start, floating)
    with faults.caught():
        builder = Builder(root.get("name") or "robot", literal=True, limits=limits)
        _add_root(builder, links.get(start), names, joints, floating)
        for joint in joints:
            with faults.caught():
                link = links.get(joint.child) or _massless(joint.child)
                made = make_joint(joint, passive, faults)
                place = {"parent": names.get(joint.parent, joint.parent), "at": joint.at, "rpy": joint.rpy}
                _add_body(builder, link, names.get(link.name, link.name), made, place)
        couple(builder, joints, faults)
        separate_names(builder)
        add_looks(root, names, places or Places(None), builder)
        if actuators:
            read_transmissions(root, builder)
        _note_renamed(builder, names)
        _note_passive(builder, passive)
        for note in unread:
            builder.note(note)
        faults.raise_any()
        return builder.build().merged()
    raise ModelError(faults.found, source)


def _require_robot(root: Element, source: str) -> None:
    expansions = (e for e in root.walk() if e.tag.startswith("xacro:") or any("${" in v for v in e.attributes.values()))
    if (found := next(expansions, None)) is not None:
        raise ModelError(
            [
                f"line {found.line} has xacro (<{found.tag:.40}>), expected plain URDF. "
                "Expand it first: xacro robot.xacro > robot.urdf. Or call it .xacro, which load expands."
            ],
            source,
        )
    if root.tag != "robot":
        raise ModelError([f"the root element is <{root.tag:.40}>, expected <robot>."], source)


def _links(root: Element, faults: Faults) -> dict[str, _Link]:
    if not root.all("link"):
        faults.add("there are no links, expected at least one <link> in <robot>.")
    elements = root.by_name("link", faults)
    return {name: _link(name, element.first("inertial"), faults) for name, element in elements.items()}


def _massless(name: str) -> _Link:
    return _Link(name=name, mass=0, com=[0, 0, 0], inertia=values.inertia((0, 0, 0), "inertia"))


def _link(name: str, inertial: Element | None, faults: Faults) -> _Link:
    """Read a link, its inertia turned from the axes of <inertial> to those of the link."""
    if inertial is None:
        return _massless(name)
    what = f"Link {name!r}: inertial"
    heavy, six = inertial.first("mass"), inertial.first("inertia")
    if heavy is None or six is None:
        faults.add(f"{what} on line {inertial.line} has no <{'mass' if heavy is None else 'inertia'}>, expected both.")
        return _massless(name)
    mass = number(heavy, "value", f"{what} mass", faults)
    if mass < 0:
        faults.add(f"{what} mass is {mass:g}, expected 0 or more.")
    moments = [number(six, f"i{k}", f"{what} i{k}", faults) for k in ("xx", "yy", "zz", "xy", "xz", "yz")]
    com, rpy = read_origin(inertial, what, faults)
    about_com = Inertia(as_expr(mass), zeros(3), values.inertia(moments, what))
    return _Link(name=name, mass=mass, com=com, inertia=about_com.rotated(values.rotation(what, rpy=rpy)).I)


def _root_of(links: dict[str, _Link], joints: list[ReadJoint], faults: Faults) -> str:
    """Find the root link, and say what keeps the links from being one tree."""
    carrier: dict[str, ReadJoint] = {}
    children: dict[str, list[str]] = {}
    sound = True
    missing: dict[str, str] = {}
    for joint in joints:
        for end, link in (("parent", joint.parent), ("child", joint.child)):
            if link and link not in links:
                if link not in missing:
                    missing[link] = f" {closest(link, links)}" if len(missing) < MOST_REMEDIES else ""
                faults.add(f"Joint {joint.name!r}: {end} link {link!r} does not exist.{missing[link]}")
            sound &= link in links
        if joint.child in carrier:
            sound = False
            faults.add(
                f"Link {joint.child!r} is the child of joints {carrier[joint.child].name!r} and {joint.name!r}, "
                "expected one. URDF describes trees: cut the loop."
            )
        elif joint.child:
            carrier[joint.child] = joint
            children.setdefault(joint.parent, []).append(joint.child)
    roots = [name for name in links if name not in carrier]
    if not sound or not links:
        return roots[0] if roots else ""
    if len(roots) > 1:
        faults.add(
            f"Links {listed(roots)} have no parent, expected one root. Join the others to it, with fixed joints maybe."
        )
        return roots[0]
    reached, waiting = set(roots), list(roots)
    while waiting:
        waiting += (below := children.get(waiting.pop(), []))
        reached.update(below)
    if left := [name for name in links if name not in reached]:
        faults.add(f"Links {_ring(left[0], carrier)} form a cycle, expected a tree with one root link.")
    return roots[0] if roots else left[0]


def _ring(name: str, carrier: dict[str, ReadJoint]) -> str:
    """Spell the cycle above a link that no root carries."""
    path = [name]
    seen = {name}
    while (above := carrier[path[-1]].parent) not in seen:
        path.append(above)
        seen.add(above)
    return " on ".join(map(repr, [*path[path.index(above) :], above]))


def _body_names(links: dict[str, _Link], start: str, floating: str | None) -> dict[str, str]:
    """Names of bodies that differ from their links': a fixed root "world" is the ground, another one is renamed."""
    if WORLD not in links or (start == WORLD and not floating):
        return {}
    name = f"{WORLD}_link"
    while name in links:
        name += "_"
    return {WORLD: name}


def _add_root(
    builder: Builder, link: _Link | None, names: dict[str, str], joints: list[ReadJoint], floating: str | None
) -> None:
    if link is None or (link.name == WORLD and not floating):
        return
    _add_body(builder, link, names.get(link.name, link.name), _base(joints, floating) if floating else weld(), {})


def _base(joints: list[ReadJoint], floating: str | None) -> Joint:
    """The joint of a floating root, under a name that leaves every other variable its own."""
    taken = {name for joint in joints for name in (joint.name, f"{joint.name}_dot")}
    name = "base"
    while True:
        made = free(quaternion=floating == "quaternion", name=name)
        if not taken & {name, *made.coordinates(), *made.speeds()}:
            return made
        name = "floating_base" if name == "base" else f"{name}_"


def _add_body(builder: Builder, link: _Link, name: str, joint: Joint, place: dict[str, Any]) -> None:
    builder.body(name, joint=joint, mass=link.mass, com=link.com, inertia=link.inertia, **place)
    body = builder.bodies[-1]
    if (reason := values.unphysical(body.mass, body.inertia)) is not None:
        builder.note(f"Body {name!r}: {reason}.")


def _note_renamed(builder: Builder, names: dict[str, str]) -> None:
    for link, body in names.items():
        builder.note(f"Link {link!r} is called {body!r} here: {link!r} is the ground.")


def _note_passive(builder: Builder, passive: bool) -> None:
    """Say once what becomes of damping and friction."""
    damped = [b.joint for b in builder.bodies if any(e != 0 for e in (*b.joint.damping, *b.joint.friction))]
    if damped and not passive:
        builder.note(
            f"Damping and friction of {_counted(damped)} are kept but do not act; load(..., passive=True) lets them."
        )


def _counted(joints: list[Joint]) -> str:
    names = listed([joint.name for joint in joints], most=3)
    return f"joint {names}" if len(joints) == 1 else f"{len(joints)} joints ({names})"
