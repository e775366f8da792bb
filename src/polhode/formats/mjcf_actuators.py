"""MJCF actuators: forces with a control, and an activation as a state where they have one."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from polhode.graph import Expr, as_expr, free_symbols, symbol
from polhode.model import Builder, Faults
from polhode.model.drives import CONTROL
from polhode.model.errors import closest, fault

from .mjcf_drives import BIASES, DYNAMICS, GAINS, Drive, resolve
from .mjcf_joints import bounds
from .mjcf_keyframes import Driven
from .mjcf_laws import Muscle, force_of, rate_of
from .mjcf_places import Reference
from .mjcf_targets import Targets
from .mjcf_tendons import Tendon
from .mjcf_text import ACTUATORS, Classes, Settings
from .mjcf_transmissions import Transmission, of_crank, of_joint, of_site, of_sites
from .xml import Element, Number, number, numbers

ACTIVATION = "{}_activation"
_TARGETS = ("joint", "jointinparent", "tendon", "site", "cranksite", "body")
_WHY = {"adhesion": ": it presses a body against what this touches, and contacts of files are not read"}
_VELOCITY = symbol("velocity of the actuator")
_LENGTH = symbol("length of the actuator")


class _NotReadError(Exception):
    """Why an actuator is left out."""


@dataclass(slots=True)
class Read:
    """An actuator as read, on its way to the builder."""

    name: str
    element: Element
    drive: Drive
    path: Transmission
    target: tuple[str, str]  # joint, tendon or site, and its name
    least: float | None = None
    most: float | None = None

    @property
    def what(self) -> str:
        return f"Actuator {self.name!r}"


class ActuatorReader:
    """Reads the actuators of a file, after its bodies and tendons."""

    def __init__(
        self, root: Element, classes: Classes, targets: Targets, tendons: Mapping[str, Tendon | str],
        settings: Settings, builder: Builder, faults: Faults,
    ) -> None:  # fmt: skip
        self.root, self.classes, self.settings, self.faults = root, classes, settings, faults
        self.targets, self.tendons, self.builder = targets, tendons, builder
        self.clamps, self.acts = "clampctrl" not in settings.disabled, "actuation" not in settings.disabled
        self.groups = {
            word for option in root.all("option") for word in (option.get("actuatorgroupdisable") or "").split()
        }
        joints = [body.joint for body in builder.bodies]
        self.variables = {"t", *(name for joint in joints for name in (*joint.coordinates(), *joint.speeds()))}
        self.speeds = {name for joint in joints for name in joint.speeds()}
        self.names = {e.get("name") for section in root.all("actuator") for e in section.children}
        self.notes: dict[str, list[str]] = {}
        self.made: dict[str, Read] = {}  # those that the model has, by their names in the file

    def read(self) -> Driven | None:
        """Hand every actuator to the builder, in the order of the file; None where they are disabled."""
        elements = [e for section in self.root.all("actuator") for e in section.children]
        if elements and not self.acts:
            self.builder.note("<actuator> is not read: a <flag> disables it.")
            return None
        others = Counter(e.tag for e in elements if e.tag not in ACTUATORS)
        for tag, n in others.items():
            why = _WHY.get(tag, "")
            self.builder.note(f"<actuator> <{tag:.40}> is not read{f' ({n} of them)' if n > 1 else ''}{why}.")
        found = []
        places: list[str | None] = []
        for element in elements:
            places.append(None)
            if element.tag in ACTUATORS:
                with self.faults.caught():
                    made = self.prepared(element)
                    found += made
                    places[-1] = made[0].name if made else None
        self.limit_pushes(found)
        self.reference = Reference(self.builder, self.targets.start)
        for actuator in found:
            with self.faults.caught():
                self.add(actuator)
        for kind, names in self.notes.items():
            shown = ", ".join([*map(repr, names[:8])] + ["..."] * (len(names) > 8))
            self.builder.note(kind.format(shown))
        known = {force.name for force in self.builder.forces}
        states = {state.name for state in self.builder.states}
        actuators = tuple(name if name in known else None for name in places)
        self.made = {a.element.get("name") or a.name: a for a in found if a.name in known}
        activations = {name: z for name in actuators if name and (z := ACTIVATION.format(name)) in states}
        return Driven(actuators=actuators, elements=tuple(elements), activations=activations)

    def prepared(self, element: Element) -> list[Read]:
        """The actuator of an element, or none and a note."""
        key = next((key for key in _TARGETS if element.get(key)), "")
        name = self.named(element, element.get(key) or "")
        what = f"Actuator {name!r}"
        try:
            drive = resolve([*self.classes.actuators(element), [element]], what, self.faults)
            self.require_read(drive, key)
            path = self.path(element, key, drive, what)
            if not path.rates and path.marker is None:
                raise _NotReadError("it moves nothing")
        except _NotReadError as reason:
            self.builder.note(f"{what} is not read: {reason}.")
            return []
        target = ("joint" if key == "jointinparent" else key, element.get(key) or "")
        made = Read(name, element, drive, path, target)
        self.add_to_joint(made)
        low, high = self.range(element, drive, "forcerange", "forcelimited", what)
        made.least, made.most = low, high
        return [made]

    def named(self, element: Element, target: str) -> str:
        """Its name, or one of what it moves; another where that is a speed, or its control or activation a variable."""
        wanted = element.get("name") or f"{target}_{element.tag}"
        name, k = wanted, 1
        taken = self.speeds if element.get("name") else self.speeds | self.names
        while name in taken or {CONTROL.format(name), ACTIVATION.format(name)} & self.variables:
            k += 1
            name, taken = f"{wanted}{k}", self.speeds | self.names
        self.names.add(name)
        self.variables |= {CONTROL.format(name), ACTIVATION.format(name)} if element.get("name") is None else set()
        if element.get("name") not in (None, name):
            self.builder.note(f"Actuator {wanted!r} is called {name!r} here: that name, or its control, is another's.")
        return name

    def require_read(self, drive: Drive, key: str) -> None:
        """Refuse laws and transmissions that are not read, and groups that are switched off."""
        for kind, known in (("dyntype", DYNAMICS), ("gaintype", GAINS), ("biastype", BIASES)):
            if (found := getattr(drive, kind)) not in known:
                raise _NotReadError(f"{kind} is {found!r}")
        if (drive.attributes.get("group") or "0").strip() in self.groups:
            raise _NotReadError("its group is disabled")
        if key == "body":
            raise _NotReadError("it acts at contacts of a body")
        if any((drive.attributes.get(k) or "0").strip() not in ("0", "-1", "1") for k in ("actdim",)):
            raise _NotReadError("it has several activations")

    def path(self, element: Element, key: str, drive: Drive, what: str) -> Transmission:
        """What it acts on."""
        if sum(bool(element.get(k)) for k in _TARGETS) != 1:
            raise fault(f"{what}: expected one of {', '.join(_TARGETS[:-1])} to act on (line {element.line}).")
        name, gear, places = element.get(key) or "", drive.gear, self.targets.places
        if key in ("joint", "jointinparent"):
            return of_joint(self.targets.joint(name, what), gear, key == "jointinparent")
        if key == "tendon":
            if name not in self.tendons:
                raise fault(f"{what}: tendon is {name!r:.60}, expected one of the file. {closest(name, self.tendons)}")
            tendon = self.tendons[name]
            if isinstance(tendon, str):
                raise _NotReadError(f"of its tendon {name!r}, {tendon}")
            return tendon.path.geared(gear[0])
        marker = self.targets.site(element, key, what)
        if key == "cranksite":
            slider = self.targets.site(element, "slidersite", what)
            text = drive.attributes.get("cranklength") or "0"
            rod = number(
                Element("", {"cranklength": text}, element.line), "cranklength", f"{what}: cranklength", self.faults
            )
            if rod <= 0:
                raise fault(f"{what}: cranklength is {rod:g}, expected more than 0.")
            return of_crank(places.frame(marker), places.frame(slider), rod).geared(gear[0])
        if element.get("refsite"):
            return of_sites(places.frame(marker), places.frame(self.targets.site(element, "refsite", what)), gear)
        if _VELOCITY not in free_symbols(force_of(drive, as_expr(1), _LENGTH, _VELOCITY, Muscle(), 0)):
            moved = places.frame(marker).moves and any(gear)
            return Transmission(length=as_expr(0), rates={}, marker=marker if moved else None)
        return of_site(places.frame(marker), gear)

    def add_to_joint(self, made: Read) -> None:
        """Add the damping and armature of an actuator to the joint it is on, times the square of the gear."""
        acting = ("armature",) if "damper" in self.settings.disabled else ("damping", "armature")
        given = {key: text for key in acting if (text := made.drive.attributes.get(key))}
        element = Element(made.element.tag, given, made.element.line)
        for key in given:
            row = numbers(element, key, 3 if key == "damping" else 1, f"{made.what}: {key}", self.faults, least=1)
            if not any(row):
                continue
            joint = self.targets.joints.get(made.target[1]) if made.target[0] == "joint" else None
            if joint is None or joint.nu != 1:
                self.builder.note(f"{made.what}: its {key} is not read, that is for hinges and slides.")
                continue
            if any(row[1:]):
                self.builder.note(f"{made.what}: only the linear part of its {key} is read.")
            for k, body in enumerate(self.builder.bodies):
                if body.joint.name == joint.name:
                    more = getattr(body.joint, key)[0] + row[0] * made.drive.gear[0] ** 2
                    changed: Any = {key: (more,)}
                    self.builder.bodies[k] = replace(body, joint=replace(body.joint, **changed))

    def range(
        self, element: Element, drive: Drive, key: str, switch: str, what: str
    ) -> tuple[float | None, float | None]:
        """A range that limits, None where it does not."""
        found = bounds(replace(element, attributes=drive.attributes), key, switch, what, self.settings, self.faults)
        low, high = found or (-math.inf, math.inf)
        return None if low == -math.inf else low, None if high == math.inf else high

    def limit_pushes(self, found: list[Read]) -> None:
        """Let what a joint or tendon bears limit the one actuator on it; of several, MuJoCo limits the sum."""
        for name, push in self.targets.push.items():
            speed = self.targets.joints[name].speeds()[0]
            moving = [a for a in found if speed in a.path.rates or a.path.marker is not None]
            if len(moving) > 1 or any(a.target != ("joint", name) for a in moving):
                self.builder.note(f"Joint {name!r}: actuatorfrcrange does not act: it is of more than one actuator.")
            for a in moving if len(moving) == 1 and moving[0].target == ("joint", name) else ():
                self.bound(a, sorted(x / a.drive.gear[0] for x in push))
        for name, tendon in self.tendons.items():
            moving = [a for a in found if a.target == ("tendon", name)]
            if isinstance(tendon, Tendon) and tendon.push is not None and moving:
                if len(moving) > 1:
                    self.builder.note(
                        f"Tendon {name!r}: actuatorfrcrange does not act: it is of more than one actuator."
                    )
                else:
                    self.bound(moving[0], tendon.push)

    def bound(self, a: Read, push: list[float]) -> None:
        low = max(push[0], -math.inf if a.least is None else a.least)
        high = min(push[1], math.inf if a.most is None else a.most)
        if low > high:
            self.builder.note(f"{a.what}: actuatorfrcrange does not act: it has nothing in common with forcerange.")
            return
        a.least, a.most = None if low == -math.inf else low, None if high == math.inf else high

    def add(self, a: Read) -> None:
        """Hand an actuator to the builder, with its activation."""
        drive, what = a.drive, a.what
        lower, upper = self.inherited(a, "ctrlrange", "ctrllimited")
        try:
            self.damp(a)
            muscle = self.muscle(a) if "muscle" in (drive.gaintype, drive.biastype) else Muscle()
        except (_NotReadError, np.linalg.LinAlgError) as reason:
            said = (
                reason if isinstance(reason, _NotReadError) else "it needs M in the pose of the file, which is singular"
            )
            self.builder.note(f"{what} is not read: {said}.")
            return
        control = command = symbol(CONTROL.format(a.name))
        if drive.dyntype != "none":
            command = symbol(ACTIVATION.format(a.name))
            low, high = (None if x is None else as_expr(x) for x in self.inherited(a, "actrange", "actlimited"))
            self.builder.state(str(command.value), rate=rate_of(drive, control, command, (low, high), a.path.circle))
            if drive.dyntype == "filterexact":
                self.note("The activation of {} (filterexact) has the law of filter.", a.name)
            if (drive.attributes.get("actearly") or "false") == "true":
                self.note("actearly of {} is not read: it is about steps of time.", a.name)
        if (drive.attributes.get("delay") or "0").strip() not in ("0", "0.0"):
            self.note("The delay of {} is not read.", a.name)
        force = force_of(drive, command, a.path.length, a.path.velocity, muscle, a.path.circle)
        gear = drive.gear
        where: dict[str, Any] = {"along": a.path.rates}
        if a.path.marker is not None:
            where = {"marker": a.path.marker, "push": gear[:3], "twist": gear[3:]}
        clamp = {"lower": lower, "upper": upper} if self.clamps else {}
        self.builder.actuator(
            a.name, **where, force=None if force == control else force, least=a.least, most=a.most, **clamp
        )

    def note(self, kind: str, name: str) -> None:
        self.notes.setdefault(kind, []).append(name)

    def inherited(self, a: Read, key: str, switch: str) -> tuple[float | None, float | None]:
        """The range of its control or activation; a servo may have that of what it moves, scaled about its middle."""
        drive = a.drive
        scale = drive.inheritrange
        own = "actrange" if drive.dyntype == "integrator" else "ctrlrange"
        if scale == 0 or own != key:
            return self.range(a.element, drive, key, switch, a.what)
        reach = self.reach(a)
        if reach is None:
            raise fault(f"{a.what}: has inheritrange, but what it moves has no range. Give {own} instead.")
        if (drive.attributes.get(switch) or "auto") == "false":
            return None, None
        middle, half = (reach[0] + reach[1]) / 2, (reach[1] - reach[0]) / 2 * scale
        return middle - half, middle + half

    def reach(self, a: Read) -> list[float] | None:
        """The range of the joint or tendon it moves."""
        kind, name = a.target
        if kind == "tendon":
            tendon = self.tendons[name]
            return tendon.reach if isinstance(tendon, Tendon) else None
        return self.targets.reach.get(name) if kind == "joint" else None

    def damp(self, a: Read) -> None:
        """Make a damping of a ratio of critical damping: 2 ratio sqrt(kp m), m seen from the actuator."""
        if a.drive.ratio:
            mass = self.reference.mass(self.rates(a))
            a.drive.biasprm[2] = -2 * a.drive.ratio * math.sqrt(max(0, a.drive.gainprm[0] * mass))

    def rates(self, a: Read) -> dict[str, Expr]:
        if a.path.marker is None:
            return a.path.rates
        return of_site(self.targets.places.frame(a.path.marker), a.drive.gear).rates

    def muscle(self, a: Read) -> Muscle:
        """The lengths between which a muscle works, and its force where the file leaves that to the mass it moves."""
        prm: list[Number] = a.drive.gainprm if a.drive.gaintype == "muscle" else a.drive.biasprm
        if not prm[0] < prm[1] or not prm[4] < 1 < prm[5]:
            raise fault(f"{a.what}: expected range[0] < range[1] and lmin < 1 < lmax in a muscle.")
        if min(prm[3], *prm[6:9]) <= 0:
            raise fault(f"{a.what}: expected scale, vmax, fpmax and fvmax of a muscle above 0.")
        reach = numbers(a.element, "lengthrange", 2, f"{a.what}: lengthrange", self.faults, (0, 0))
        if not reach[0] < reach[1]:
            reach = self.found_reach(a)
        force = 0.0
        if prm[2] < 0:
            force = float(prm[3]) / max(1e-15, self.reference.acceleration(self.rates(a)))
        return Muscle(reach=(float(reach[0]), float(reach[1])), force=force)

    def found_reach(self, a: Read) -> list[Number]:
        """The range of what a muscle pulls on; MuJoCo looks for it by pulling, unless it is told to take this one."""
        reach = self.reach(a)
        if reach is None or not all(map(math.isfinite, reach)):
            raise _NotReadError("it has no lengthrange, which MuJoCo looks for by pulling")
        limits = [e for c in self.root.all("compiler") for e in c.all("lengthrange")]
        if any(e.get("uselimit") == "true" for e in limits):
            return list(reach)
        self.note("The lengthrange of {} is that of what it moves; MuJoCo looks for it by pulling.", a.name)
        return sorted(x * a.drive.gear[0] for x in reach)
