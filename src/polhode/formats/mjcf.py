"""MJCF: MuJoCo's models, read for their dynamics.

Coordinates have MuJoCo's values, but each free or ball joint in Polhode's
order: a free joint has q = (w, x, y, z, then the position in the world) and
u = the twist in the axes of the body, angular part first, where MuJoCo has the
position first and the velocity of the origin in the axes of the world.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from polhode.model import WORLD, Builder, Faults, Model, ModelError, values, weld
from polhode.spatial import Pose

from .mjcf_actuators import ActuatorReader
from .mjcf_attach import read_tree
from .mjcf_contacts import note_contacts
from .mjcf_equalities import READ, Named, read_equality, read_tendon_equalities
from .mjcf_frames import quaternion_of, read_pose
from .mjcf_gravity import compensate, note_actuated, read_gravity
from .mjcf_inertia import Mass, corrected, given_mass, mass_of_geoms
from .mjcf_joints import Read, read_joint
from .mjcf_keyframes import read_keyframes
from .mjcf_looks import add_looks
from .mjcf_meshes import Assets
from .mjcf_schema import check_elements
from .mjcf_sensors import SensorReader
from .mjcf_targets import Geom, targets_of
from .mjcf_tendons import read_tendons
from .mjcf_text import Classes, Settings, read_settings
from .variables import separate_names
from .xml import Element, Number, number

_IGNORED = ("camera", "light", "plugin", "replicate", "attach", "composite", "flexcomp")  # faults of some come earlier
_NOT_READ = ("contact", "deformable")
_SWITCHED = {"spring": "springs", "damper": "dampers", "limit": "limits", "frictionloss": "dry friction"}  # by <flag>


@dataclass(slots=True, kw_only=True)
class _Body:
    """A body on its way to the model: where it is, and what was found in it."""

    name: str
    parent: str
    X_PB: Pose
    moving: bool
    lifted: Number = 0  # how much of its weight is compensated
    joints: list[Read] = field(default_factory=list)
    mass: Mass = field(default_factory=Mass.none)


@dataclass(frozen=True, slots=True)
class _Item:
    """An element with its defaults, the pose of the <frame> around it, and the class it hands on."""

    element: Element
    X_BF: Pose
    childclass: str | None


def read_mjcf(
    text: str, *, source: str = "", folder: Path | None = None, passive: bool = True, limits: str = "stop",
    actuators: bool = True, beyond: bool = False,
) -> Model:  # fmt: skip
    """Read a model from the text of an MJCF file.

    folder  : where included files are looked for; never outside of it, unless `beyond` lets relative paths lead there
    passive : whether the joints' damping, springs and dry friction act, or are only kept
    limits  : "stop" where limits are stops in simulations, "ignore" where they are only kept
    actuators : whether there are any

    Inertias are taken literally; the report lists those that no body has, and
    the parts of the file that were not read.
    """
    faults = Faults(source)
    root, notes = read_tree(text, source, folder, faults, beyond)
    check_elements(root, faults)
    with faults.caught():
        reader = _Reader(root, folder, passive, limits, faults)
        for note in notes:
            reader.builder.note(note)
        reader.read_bodies()
        reader.note_the_rest()
        reader.add_bodies()
        separate_names(reader.builder)
        add_looks(
            root, list(zip(reader.solids, reader.frames, strict=True)), reader.settings, reader.assets, reader.builder
        )
        reader.read_equalities()
        reader.read_drives(actuators)
        faults.raise_any()
        return reader.builder.build().merged()
    raise ModelError(faults.found, source)


class _Reader:
    """Walks the bodies of a file and fills a builder."""

    def __init__(self, root: Element, folder: Path | None, passive: bool, limits: str, faults: Faults) -> None:
        self.root, self.passive, self.faults = root, passive, faults
        self.settings: Settings = read_settings(root, faults)
        self.classes = Classes(root, faults)
        self.assets = Assets(root, self.classes, folder, faults)
        self.gravity = read_gravity(root, self.settings.disabled, faults)
        limits = "ignore" if "limit" in self.settings.disabled else limits
        self.builder = Builder(root.get("model") or "model", gravity=self.gravity, literal=True, limits=limits)
        self.bodies: list[_Body] = []
        self.actuated: list[tuple[str, Element, Read]] = []  # the joints
        self.equal = True  # whether equalities hold
        self.geoms: dict[str, Geom] = {}
        self.solids: list[tuple[Element, str]] = []  # every geom, with its body
        self.frames: list[Pose] = []  # of these, where their frames are on the body
        self.sites: list[tuple[str, str, Pose]] = []
        self.named_sites: dict[str, tuple[str, str]] = {}  # marker and body
        inside = [e for world in root.all("worldbody") for e in world.walk()]
        self.taken = {tag: {e.get("name") for e in inside if e.tag == tag} for tag in ("body", "joint")}
        self.taken["joint"] |= {e.get("name") for e in inside if e.tag == "freejoint"}
        self.taken["body"].add(WORLD)

    def unique(self, tag: str, wanted: str) -> str:
        """A name that nothing else has: the wanted one, or that with a number."""
        name, k = wanted, 1
        while name in self.taken[tag]:
            k += 1
            name = f"{wanted}{k}"
        self.taken[tag].add(name)
        return name

    def contents(self, element: Element, childclass: str | None) -> Iterator[_Item]:
        """What a body holds, in order, with the frames around it taken apart."""
        waiting = [_Item(child, Pose.identity(), childclass) for child in reversed(element.children)]
        while waiting:
            item = waiting.pop()
            child = item.element
            handed = child.get("childclass") or item.childclass
            if child.tag == "frame":
                what = f"Frame {child.get('name') or ''!r} on line {child.line}"
                handed = child.get("childclass") or child.get("class") or item.childclass
                X = item.X_BF @ read_pose(child, what, self.settings, self.faults)
                waiting += [_Item(inner, X, handed) for inner in reversed(child.children)]
            elif child.tag in ("geom", "joint", "site"):
                yield _Item(self.classes.filled(child, item.childclass), item.X_BF, None)
            else:
                yield _Item(child, item.X_BF, handed)

    def read_bodies(self) -> None:
        """Walk the tree from the world, parents before children."""
        waiting: list[tuple[_Item, _Body]] = []
        ground = _Body(name=WORLD, parent="", X_PB=Pose.identity(), moving=False)
        for world in reversed(self.root.all("worldbody")):
            inner = self.read_contents(world, ground, world.get("childclass"))
            waiting += [(item, ground) for item in reversed(inner)]
        while waiting:
            item, parent = waiting.pop()
            body = self.new_body(item, parent)
            inner = self.read_contents(item.element, body, item.childclass)
            waiting += [(below, body) for below in reversed(inner)]
            self.bodies.append(body)
        if self.settings.total_mass > 0 and (total := sum(body.mass.m for body in self.bodies)) > 0:
            for body in self.bodies:
                body.mass = body.mass.scaled(self.settings.total_mass / total)

    def new_body(self, item: _Item, parent: _Body) -> _Body:
        element = item.element
        given = element.get("name")
        name = given or self.unique("body", f"body{len(self.bodies) + 1}")
        if given == WORLD:
            name = self.unique("body", f"{WORLD}_body")
            self.builder.note(f"Body {given!r} is called {name!r} here: {given!r} is the ground.")
        what = f"Body {name!r}"
        if element.get("mocap") not in (None, "false"):
            self.builder.note(f"{what}: mocap is not read, the body is held where the file has it.")
        part = number(element, "gravcomp", f"{what}: gravcomp", self.faults, 0)
        X_PB = item.X_BF @ read_pose(element, what, self.settings, self.faults)
        return _Body(name=name, parent=parent.name, X_PB=X_PB, moving=parent.moving, lifted=part)

    def read_contents(self, element: Element, body: _Body, childclass: str | None) -> list[_Item]:
        """Fill a body from its element; returns the bodies inside it."""
        what = f"Body {body.name!r}"
        bodies, geoms, inertial = [], [], None
        for item in self.contents(element, childclass):
            tag = item.element.tag
            if tag == "body":
                bodies.append(item)
            elif tag == "geom":
                geoms.append((item.element, item.X_BF))
                self.solids.append((item.element, body.name))
                self.frames.append(item.X_BF)
                if name := item.element.get("name"):
                    self.geoms[name] = Geom(
                        element=item.element, body=body.name, X_BF=item.X_BF, settings=self.settings
                    )
            elif tag == "site":
                self.read_site(item, body)
            elif tag in ("joint", "freejoint", "inertial") and body.name == WORLD:
                self.faults.add(f"<{tag}> on line {item.element.line} is in the world, expected it in a <body>.")
            elif tag in ("joint", "freejoint"):
                body.moving = True
                self.read_joint(item, body)
            elif tag == "inertial":
                if inertial is not None:
                    self.faults.add(f"{what} has more than one <inertial> (line {item.element.line}), expected one.")
                inertial = item.element
            elif tag not in _IGNORED:
                self.faults.add(f"{what}: unknown element <{tag:.40}> on line {item.element.line}.")
        if body.name != WORLD and (body.moving or self.settings.total_mass > 0):
            body.mass = self.read_mass(inertial, geoms, what, self.settings.of(element))
        return bodies

    def read_mass(
        self, inertial: Element | None, geoms: list[tuple[Element, Pose]], what: str, settings: Settings
    ) -> Mass:
        rule = settings.from_geoms
        if rule == "true" or (rule == "auto" and inertial is None):
            found = mass_of_geoms(geoms, what, settings, self.assets, self.faults)
        elif inertial is not None:
            found = given_mass(inertial, what, settings, self.faults)
        else:
            found = Mass.none()
        return corrected(found, settings)

    def read_site(self, item: _Item, body: _Body) -> None:
        name = item.element.get("name")
        if not name:
            return
        X = item.X_BF @ read_pose(item.element, f"Site {name!r}", self.settings, self.faults)
        marker = name
        if name in self.taken["body"]:
            marker = self.unique("body", f"{name}_site")
            added = marker.removeprefix(name)
            self.builder.note(f"Site {name!r}: a body has its name, so that here {added!r} is added to it.")
        self.sites.append((marker, body.name, X))
        self.named_sites[name] = (marker, body.name)

    def read_joint(self, item: _Item, body: _Body) -> None:
        element = item.element
        name = element.get("name") or self.unique("joint", f"{body.name}_joint")
        with self.faults.caught():
            found = read_joint(element, item.X_BF, name, self.passive, self.settings, self.builder, self.faults)
            if found is None:
                return
            kinds = [read.joint.kind for read in (*body.joints, found)]
            if "free" in kinds and (len(kinds) > 1 or body.parent != WORLD):
                self.faults.add(f"Joint {name!r} is free, expected it alone, on a body that is directly in the world.")
            body.joints.append(found)
            self.actuated.append((name, element, found))
            align = element.get("align") or "auto"
            if found.joint.kind == "free" and (
                align == "true" or (align == "auto" and self.settings.of(element).align)
            ):
                self.builder.note(f"Joint {name!r}: align is not read, the frame stays where the file has it.")

    def add_bodies(self) -> None:
        """Hand the bodies and markers to the builder."""
        for body in self.bodies:
            with self.faults.caught():
                self.add_body(body)
        for name, host, X in self.sites:
            with self.faults.caught():
                self.builder.marker(name, body=host, at=X.p, rotation=X.R)

    def add_body(self, body: _Body) -> None:
        """Add a body on its joints, in MuJoCo's order: the first is nearest to the parent."""
        parent, place = body.parent, body.X_PB
        steps = list(body.joints)
        if steps and steps[0].joint.kind == "free":
            self.note_start(body)
            place = Pose.identity()
        last = steps.pop() if steps and steps[-1].after == Pose.identity() else None
        for step in steps:
            name = self.unique("body", f"{body.name}/{step.joint.name}")
            place = place @ step.before
            self.builder.body(name, joint=step.joint, mass=0, parent=parent, at=place.p, rotation=place.R)
            parent, place = name, step.after
        if last is not None:
            place = place @ last.before
        joint = weld(name=self.unique("joint", body.name)) if last is None else last.joint
        m, com, I = body.mass.m, body.mass.com, body.mass.I
        self.builder.body(
            body.name, joint=joint, parent=parent, at=place.p, rotation=place.R, mass=m, com=com, inertia=I
        )
        if (reason := values.unphysical(self.builder.bodies[-1].mass, I)) is not None:
            self.builder.note(f"Body {body.name!r}: {reason}.")

    def note_start(self, body: _Body) -> None:
        start = body.X_PB
        if start != Pose.identity():
            at = ", ".join(f"{float(e):g}" for e in start.p)
            turn = f", turned by the quaternion ({', '.join(f'{x:.9g}' for x in quaternion_of(start.R))}),"
            turned = turn if start.R != Pose.identity().R else ""
            self.builder.note(
                f"Body {body.name!r} starts at ({at}){turned} in the file; "
                "the coordinates of its free joint are its pose in the world."
            )

    def hosts(self) -> dict[str, str]:
        """Of every body the one that it moves with: itself, or what it is fixed to."""
        found = {WORLD: WORLD}
        for body in self.bodies:
            found[body.name] = body.name if body.joints else found[body.parent]
        return found

    def read_equalities(self) -> None:
        """Read what holds bodies and joints together."""
        found = [e for section in self.root.all("equality") for e in section.all(*READ, "tendon")]
        if found and "equality" in self.settings.disabled:
            self.builder.note("<equality> is not read: a <flag> disables it.")
            self.equal = False
            return
        places = {WORLD: Pose.identity()}
        for body in self.bodies:
            places[body.name] = places[body.parent] @ body.X_PB
        refs = {read.joint.name: read.ref for body in self.bodies for read in body.joints}
        single = [body.joint for body in self.builder.bodies if body.joint.nq == 1]
        named = Named(
            places=places,
            hosts=self.hosts(),
            sites=self.named_sites,
            joints={joint.name: (joint.coordinates()[0], refs[joint.name]) for joint in single},
        )
        for element in found:
            if element.tag == "tendon":  # after the tendons
                continue
            with self.faults.caught():
                read_equality(self.classes.filled(element, None, "equality"), named, self.builder, self.faults)

    def read_drives(self, actuators: bool) -> None:
        """Read tendons, then actuators, then keyframes."""
        read = {found.joint.name: (found, body.X_PB) for body in self.bodies for found in body.joints}
        sites = {name: marker for name, (marker, _) in self.named_sites.items()}
        targets = targets_of(self.builder, read, sites, self.geoms)
        options = (self.settings, self.builder, self.faults)
        tendons = read_tendons(self.root, self.classes, targets, self.passive, *options)
        if self.equal:
            read_tendon_equalities(self.root, self.classes, targets, tendons, self.builder, self.faults)
        lifted = ((b.name, b.lifted, float(b.mass.m), b.mass.com) for b in self.bodies if b.moving)
        if "passive" not in self.settings.disabled:
            compensate(lifted, self.gravity, self.passive, self.builder, lambda name: self.unique("body", name))
            if any(b.lifted for b in self.bodies):
                pushed = actuators and any(e.children for e in self.root.all("actuator"))
                note_actuated(self.actuated, pushed and "actuation" not in self.settings.disabled, self.builder)
        acting = ActuatorReader(self.root, self.classes, targets, tendons, *options) if actuators else None
        driven = None if acting is None else acting.read()
        read_keyframes(self.root, targets, driven, self.builder, self.faults)
        SensorReader(
            targets=targets, tendons=tendons, acting=acting, frames={WORLD, *(b.name for b in self.bodies)},
            masses={b.name: b.mass for b in self.bodies if b.moving}, unique=lambda name: self.unique("body", name),
            builder=self.builder, faults=self.faults,
        ).read(self.root)  # fmt: skip

    def note_the_rest(self) -> None:
        """Note once per kind what is not read."""
        counts: Counter[str] = Counter()
        for section in self.root.children:
            if section.tag in _NOT_READ:
                counts[f"<{section.tag}>"] += len(section.children)
            elif section.tag == "equality":
                counts.update(f"<equality> <{e.tag}>" for e in section.children if e.tag not in (*READ, "tendon"))
            elif section.tag == "option":
                counts.update(f"<option {k}>" for k in ("density", "viscosity") if section.get(k) not in (None, "0"))
        for kind, n in counts.items():
            if n:
                self.builder.note(f"{kind} is not read{f' ({n} of them)' if n > 1 else ''}.")
        for flag, what in _SWITCHED.items():
            if flag in self.settings.disabled:
                self.builder.note(f"{what.capitalize()} of joints and tendons: a <flag> disables {what}, so none acts.")
        hosts = self.hosts()
        parents = {body.name: hosts[body.parent] for body in self.bodies if body.joints}
        note_contacts(self.root, self.solids, hosts, parents, self.builder)
