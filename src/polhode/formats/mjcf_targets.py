"""What MJCF tendons and actuators refer to: joints, sites, and where these are."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from polhode.model import Builder, Faults, Joint
from polhode.model.errors import closest, fault
from polhode.spatial import Pose

from .mjcf_frames import quaternion_of
from .mjcf_inertia import SIZES, shape
from .mjcf_joints import Read
from .mjcf_places import Places
from .mjcf_text import Settings
from .xml import Element


@dataclass(frozen=True, slots=True, kw_only=True)
class Geom:
    """A geom that has a name: its element, the body it is on and the pose of the frame around it there."""

    element: Element
    body: str
    X_BF: Pose
    settings: Settings

    def read(self, faults: Faults) -> tuple[str, Pose, float]:
        """What it is, where on its body, and its radius."""
        kind = self.element.get("type") or "sphere"
        if kind not in SIZES:
            return kind, self.X_BF, 0.0
        size, X_FG = shape(self.element, kind, f"Geom {self.element.get('name')!r}", self.settings, faults)
        return kind, self.X_BF @ X_FG, float(size[0])


@dataclass(frozen=True, slots=True, kw_only=True)
class Targets:
    """What tendons and actuators refer to, by its name in the file.

    joints : with the names that their variables have
    sites  : the marker of every site
    reach  : of joints that are limited, between what
    push   : of joints that bear so much of actuators, how much
    start  : every coordinate in the pose of the file
    rest   : the same, with the springs of hinges and slides at rest
    places : where markers and bodies are
    geoms  : those that have names
    """

    joints: Mapping[str, Joint]
    sites: Mapping[str, str]
    reach: Mapping[str, list[float]]
    push: Mapping[str, list[float]]
    start: Mapping[str, float]
    rest: Mapping[str, float]
    places: Places
    geoms: Mapping[str, Geom]

    def joint(self, name: str, what: str) -> Joint:
        if name not in self.joints:
            raise fault(f"{what}: joint is {name!r:.60}, expected a joint of the file. {closest(name, self.joints)}")
        return self.joints[name]

    def site(self, element: Element, key: str, what: str) -> str:
        """The marker of a site that an element refers to."""
        name = element.get(key) or ""
        if name not in self.sites:
            raise fault(f"{what}: {key} is {name!r:.60}, expected a site of the file. {closest(name, self.sites)}")
        return self.sites[name]


def targets_of(
    builder: Builder, read: Mapping[str, tuple[Read, Pose]], sites: Mapping[str, str], geoms: Mapping[str, Geom]
) -> Targets:
    """Gather them from joints as read, with the poses of their bodies, and bodies as built."""
    joints = {body.joint.name: body.joint for body in builder.bodies if body.joint.name in read}
    start: dict[str, float] = {}
    rest: dict[str, float] = {}
    for name, joint in joints.items():
        found, pose = read[name]
        given = [found.ref] if joint.nq == 1 else [1.0, 0.0, 0.0, 0.0]
        if joint.kind == "free":
            given = [*quaternion_of(pose.R), *map(float, pose.p)]
        start |= dict(zip(joint.coordinates(), given, strict=True))
        rest |= {joint.coordinates()[0]: float(joint.rest[0])} if joint.nq == 1 else {}
    return Targets(
        joints=joints,
        sites=sites,
        reach={name: found.reach for name, (found, _) in read.items() if found.reach is not None},
        push={name: found.push for name, (found, _) in read.items() if found.push is not None},
        start=start,
        rest=start | rest,
        places=Places(builder),
        geoms=geoms,
    )
