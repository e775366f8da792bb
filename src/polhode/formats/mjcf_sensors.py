"""MJCF sensors: those that follow from the motion, as sensors of the model with their names."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from polhode.graph import Expr, as_expr, symbol
from polhode.model import TIME, WORLD, Actuator, Builder, Faults, Sensor
from polhode.model.errors import closest, fault
from polhode.spatial import Pose

from .mjcf_actuators import ActuatorReader, Read
from .mjcf_inertia import SIZES, Mass
from .mjcf_targets import Targets
from .mjcf_tendons import Tendon
from .xml import Element, to_number

OWN = ("gyro", "velocimeter", "accelerometer")
FRAMES = {
    "framepos": "position", "framequat": "rotation", "framexaxis": "x axis", "frameyaxis": "y axis",
    "framezaxis": "z axis", "framelinvel": "velocity", "frameangvel": "angular velocity",
}  # fmt: skip
_OF = {
    "jointpos": "joint", "jointvel": "joint", "jointactuatorfrc": "joint", "tendonpos": "tendon",
    "tendonvel": "tendon", "tendonactuatorfrc": "tendon", "actuatorpos": "actuator", "actuatorvel": "actuator",
    "actuatorfrc": "actuator", "clock": "",
}  # fmt: skip


class _NotReadError(Exception):
    """Why a sensor is left out."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SensorReader:
    """Reads the sensors of a file, after its actuators.

    masses : of the bodies that move, in their own axes
    acting : its actuators, None where they are left out
    unique : a name that no frame has, from one that is wanted
    """

    targets: Targets
    tendons: Mapping[str, Tendon | str]
    acting: ActuatorReader | None
    masses: Mapping[str, Mass]
    frames: set[str]
    unique: Callable[[str], str]
    builder: Builder
    faults: Faults

    def read(self, root: Element) -> None:
        """Hand every sensor that is read to the builder; others are noted, a line for each kind."""
        left: Counter[tuple[str, str]] = Counter()
        taken = {e.get("name") for section in root.all("sensor") for e in section.children}
        for element in (e for section in root.all("sensor") for e in section.children):
            name, k = element.get("name") or f"{element.tag} {self.about(element)}".rstrip(), 1
            while element.get("name") is None and name in taken:
                name, k = f"{name.removesuffix(f' {k}')} {k + 1}", k + 1
            taken.add(name)
            with self.faults.caught():
                try:
                    self.add(element, name)
                except _NotReadError as found:
                    left[element.tag, str(found)] += 1
                    continue
                if any(to_number(element.get(key) or "0") for key in ("cutoff", "nsample")):
                    self.builder.note(f"Sensor {name!r}: its cutoff and delay are not read.")
        for (tag, reason), n in left.items():
            why = f": {reason}" if reason else ""
            self.builder.note(f"<sensor> <{tag:.40}> is not read{f' ({n} of them)' if n > 1 else ''}{why}.")
        if any(e.tag == "framequat" for section in root.all("sensor") for e in section.children):
            self.builder.note("<sensor> <framequat> is a rotation matrix here, and no quaternion.")

    def about(self, element: Element) -> str:
        return element.get("site") or element.get("objname") or element.get(_OF.get(element.tag, "")) or ""

    def add(self, element: Element, name: str) -> None:
        what, tag = f"Sensor {name!r:.60}", element.tag
        if tag in OWN:
            self.builder.add(Sensor, name=name, kind=tag, marker=self.frame("site", element.get("site"), what))
        elif tag in FRAMES:
            seen = self.frame(element.get("objtype") or "", element.get("objname"), what, tag)
            by = (
                self.frame(element.get("reftype") or "", element.get("refname"), what)
                if element.get("refname")
                else WORLD
            )
            if by == WORLD and element.get("refname"):
                raise _NotReadError("its reference is the world")
            self.builder.add(Sensor, name=name, kind=FRAMES[tag], marker=seen, reference=by)
        elif tag in _OF:
            self.builder.add(Sensor, name=name, value=self.value(tag, element.get(_OF[tag]) or "", what))
        else:
            raise _NotReadError("")

    def frame(self, kind: str, name: str | None, what: str, tag: str = "") -> str:
        """The body or marker that an object is."""
        name = name or ""
        if kind == "site":
            return self.targets.sites[self.known(name, "site", self.targets.sites, what)]
        if kind in ("body", "xbody"):
            self.known(name, "body", self.frames, what)
            if kind == "xbody":
                return name
            if tag not in ("framepos", "framelinvel", "frameangvel"):
                raise _NotReadError("it is about the axes of inertia of a body")
            if name not in self.masses:
                raise _NotReadError("it is about the centre of mass of what stands still")
            return self.marker(name, Pose.at(self.masses[name].com), f"{name}/centre of mass")
        if kind == "geom":
            geom = self.targets.geoms[self.known(name, "geom", self.targets.geoms, what)]
            shape, X, _ = geom.read(self.faults)
            if shape not in SIZES or geom.element.get("mesh"):
                raise _NotReadError(f"it is about a geom that is a {shape}")
            return self.marker(geom.body, X, f"{name}/geom")
        raise _NotReadError(f"it is about a {kind or 'thing without a kind':.30}")

    def marker(self, body: str, X: Pose, name: str) -> str:
        """A marker at that pose, the body itself where it has that, or the marker that was made for another sensor."""
        if Pose.identity() == X:
            return body
        for marker in self.builder.markers:
            if marker.body == body and marker.pose == X:
                return marker.name
        made = self.unique(name)
        self.builder.marker(made, body=body, at=X.p, rotation=X.R)
        return made

    def known(self, name: str, kind: str, names: Mapping[str, object] | set[str], what: str) -> str:
        if name not in names:
            raise fault(f"{what}: {kind} is {name!r:.60}, expected a {kind} of the file. {closest(name, names)}")
        return name

    def value(self, tag: str, name: str, what: str) -> Expr:
        """What a sensor of a joint, a tendon, an actuator or the time shows."""
        if tag == "clock":
            return TIME
        if tag.startswith("joint"):
            joint = self.targets.joint(name, what)
            if joint.nq != 1:
                raise _NotReadError("it is of a ball or free joint")
            if tag == "jointactuatorfrc":
                return self.pushed(joint.speeds()[0])
            return symbol(joint.coordinates()[0] if tag == "jointpos" else joint.speeds()[0])
        if tag.startswith("tendon"):
            tendon = self.tendons[self.known(name, "tendon", self.tendons, what)]
            if isinstance(tendon, str):
                raise _NotReadError(f"of its tendon, {tendon}")
            if tag == "tendonactuatorfrc":
                return sum(
                    (self.force(a.name) for a in self.made().values() if a.target == ("tendon", name)), as_expr(0)
                )
            return tendon.path.length if tag == "tendonpos" else tendon.path.velocity
        found = self.made().get(name)
        if found is None:
            raise _NotReadError("its actuator is not read")
        if tag == "actuatorfrc":
            return self.force(found.name)
        if tag == "actuatorpos":
            return found.path.length
        assert self.acting is not None
        return sum((e * symbol(u) for u, e in self.acting.rates(found).items()), as_expr(0))

    def made(self) -> Mapping[str, Read]:
        """The actuators of the model by their names in the file."""
        return {} if self.acting is None else self.acting.made

    def force(self, name: str) -> Expr:
        """What an actuator pushes with, of its control within its limits."""
        (actuator,) = (f for f in self.builder.forces if f.name == name and isinstance(f, Actuator))
        return actuator.value({actuator.control: actuator.limited})

    def pushed(self, speed: str) -> Expr:
        """What all actuators do to a speed."""
        total = as_expr(0)
        for a in self.made().values():
            assert self.acting is not None
            total = total + self.force(a.name) * self.acting.rates(a).get(speed, as_expr(0))
        return total
