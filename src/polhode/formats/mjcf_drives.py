"""What an MJCF actuator is: the one general law that every shortcut stands for.

    force = gain (activation or control) + bias,     gain, bias of the length and velocity of what is moved

A default class has one such law. Its elements change it in their order, and so does the actuator itself:
<general> sets what it says and no more; a shortcut sets the whole law, from numbers that it may take over.
Reference: MuJoCo, XML reference, section actuator.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from copy import deepcopy
from dataclasses import dataclass, field

from polhode.model import Faults

from .xml import Element, Number, number, numbers

DYNAMICS = ("none", "integrator", "filter", "filterexact", "muscle")
GAINS = ("fixed", "affine", "muscle")
BIASES = ("none", "affine", "muscle")
_LATER = ("user", "dcmotor", "pid", "so3")  # types that MuJoCo knows
_OTHERS = "dyntype gaintype biastype dynprm gainprm biasprm gear inheritrange class name".split()
_MUSCLE = {"force": -1, "scale": 200, "lmin": 0.5, "lmax": 1.6, "vmax": 1.5, "fpmax": 1.3, "fvmax": 1.2}


def _numbers(*first: Number) -> list[Number]:
    return [*first, *[0] * (10 - len(first))]


@dataclass(slots=True)
class Drive:
    """The law of an actuator, and its other attributes as they stand in the file.

    kind : the last element that changed it, "" for none
    """

    kind: str = ""
    dyntype: str = "none"
    gaintype: str = "fixed"
    biastype: str = "none"
    dynprm: list[Number] = field(default_factory=lambda: _numbers(1))
    gainprm: list[Number] = field(default_factory=lambda: _numbers(1))
    biasprm: list[Number] = field(default_factory=_numbers)
    inheritrange: Number = 0
    gear: list[Number] = field(default_factory=lambda: [1, 0, 0, 0, 0, 0])
    attributes: dict[str, str] = field(default_factory=dict)

    @property
    def servo(self) -> bool:
        """Whether it pulls towards a length that is its command."""
        return self.biastype == "affine" and self.gainprm[0] == -self.biasprm[1]

    @property
    def circles(self) -> bool:
        """Whether it goes the short way where lengths are on a circle."""
        return self.servo and self.gaintype == "fixed"

    @property
    def ratio(self) -> Number:
        """The ratio of critical damping, where one is given instead of a damping."""
        return self.biasprm[2] if self.servo and self.biasprm[2] > 0 else 0

    def suits(self, shortcut: str) -> bool:
        """Whether a shortcut takes numbers over: of its own kind, or of a <general> with a gain of its type."""
        gain = {"damper": "affine", "muscle": "muscle"}.get(shortcut, "fixed")
        return self.kind in ("", "general", shortcut) and self.gaintype == gain

    def start(self, other: Drive) -> None:
        """Take over the law of another."""
        self.set(other.dyntype, other.dynprm, other.gaintype, other.gainprm, other.biastype, other.biasprm)
        self.inheritrange = other.inheritrange

    def set(
        self, dynamics: str, dynprm: list[Number], gain: str, gainprm: list[Number], bias: str, biasprm: list[Number]
    ) -> None:
        """Set the whole law."""
        self.dyntype, self.gaintype, self.biastype = dynamics, gain, bias
        self.dynprm, self.gainprm, self.biasprm = (_numbers(*row) for row in (dynprm, gainprm, biasprm))


def resolve(levels: Iterable[Iterable[Element]], what: str, faults: Faults) -> Drive:
    """The law that elements make, each over those before it: of default classes, then of the actuator itself.

    A shortcut starts from the law so far if that is of its kind. Else it starts from the innermost class around
    whose law is, or from nothing.
    """
    drive, around = Drive(), [Drive()]
    for elements in levels:
        for element in elements:
            if element.tag != "general":
                drive.start(next((d for d in (drive, *reversed(around)) if d.suits(element.tag)), Drive()))
            _common(drive, element, what, faults)
            _LAWS[element.tag](drive, element, what, faults)
            drive.kind = element.tag
        around.append(deepcopy(drive))
    return drive


def _common(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    """Lay the attributes of every actuator over those before; an own range is instead of an inherited one."""
    if (gear := _row(element, "gear", 6, what, faults)) is not None:
        drive.gear[: len(gear)] = gear
    drive.attributes |= {key: text for key, text in element.attributes.items() if key not in _OTHERS}
    own = "actrange" if element.tag == "intvelocity" else "ctrlrange"
    if element.get("inheritrange") is not None:
        drive.inheritrange = number(element, "inheritrange", f"{what}: inheritrange", faults)
        if element.get(own) is not None and drive.inheritrange:
            faults.add(f"{what}: has {own} and inheritrange, expected one of them.")
    elif element.get(own) is not None:
        drive.inheritrange = 0


def _general(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    for key, known in (("dyntype", DYNAMICS), ("gaintype", GAINS), ("biastype", BIASES)):
        if (text := element.get(key)) is not None:
            if text not in (*known, *_LATER):
                faults.add(f"{what}: {key} is {text!r:.60}, expected {', '.join(known[:-1])} or {known[-1]}.")
                text = known[0]
            setattr(drive, key, text)
    for key in ("dynprm", "gainprm", "biasprm"):
        if (row := _row(element, key, 10, what, faults)) is not None:
            getattr(drive, key)[: len(row)] = row


def _motor(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    drive.set("none", [1], "fixed", [1], "none", [])


def _servo(drive: Drive, element: Element, what: str, faults: Faults) -> tuple[Number, Number]:
    """kp, and what damps: -kv, or the ratio of critical damping."""
    kp = number(element, "kp", f"{what}: kp", faults, drive.gainprm[0])
    damping = drive.biasprm[2]
    if element.get("kv") is not None and element.get("dampratio") is not None:
        faults.add(f"{what}: has kv and dampratio, expected one of them.")
    if element.get("kv") is not None:
        damping = -_positive(element, "kv", what, faults)
    if element.get("dampratio") is not None:
        damping = _positive(element, "dampratio", what, faults)
    return kp, damping


def _position(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    before = drive.dynprm[0] if drive.dyntype == "filterexact" else 0
    lag = _positive(element, "timeconst", what, faults, before)
    kp, damping = _servo(drive, element, what, faults)
    drive.set("filterexact" if lag else "none", [lag or 1], "fixed", [kp], "affine", [0, -kp, damping])


def _velocity(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    kv = _positive(element, "kv", what, faults, drive.gainprm[0])
    drive.set("none", [1], "fixed", [kv], "affine", [0, 0, -kv])


def _intvelocity(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    kp, damping = _servo(drive, element, what, faults)
    drive.set("integrator", [1], "fixed", [kp], "affine", [0, -kp, damping])


def _damper(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    kv = _positive(element, "kv", what, faults, -drive.gainprm[2])
    drive.attributes["ctrllimited"] = "true"
    drive.set("none", [1], "affine", [0, 0, -kv], "none", [])


def _cylinder(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    lag = number(element, "timeconst", f"{what}: timeconst", faults, drive.dynprm[0])
    area = number(element, "area", f"{what}: area", faults, drive.gainprm[0])
    if element.get("diameter") is not None:
        area = math.pi / 4 * number(element, "diameter", f"{what}: diameter", faults) ** 2
    bias = numbers(element, "bias", 3, f"{what}: bias", faults, drive.biasprm[:3])
    drive.set("filter", [lag], "fixed", [area], "affine", bias)


def _muscle(drive: Drive, element: Element, what: str, faults: Faults) -> None:
    had = drive.gaintype == "muscle"
    lags = numbers(element, "timeconst", 2, f"{what}: timeconst", faults, drive.dynprm[:2] if had else (0.01, 0.04))
    smooth = _positive(element, "tausmooth", what, faults, drive.dynprm[2] if had else 0)
    reach = numbers(element, "range", 2, f"{what}: range", faults, drive.gainprm[:2] if had else (0.75, 1.05))
    before = drive.gainprm[2:9] if had else list(_MUSCLE.values())
    rest = [number(element, key, f"{what}: {key}", faults, x) for key, x in zip(_MUSCLE, before, strict=True)]
    drive.set("muscle", [*lags, smooth], "muscle", [*reach, *rest], "muscle", [*reach, *rest])


_LAWS = {
    "general": _general,
    "motor": _motor, "position": _position, "velocity": _velocity, "intvelocity": _intvelocity,
    "damper": _damper, "cylinder": _cylinder, "muscle": _muscle,
}  # fmt: skip


def _row(element: Element, key: str, most: int, what: str, faults: Faults) -> list[Number] | None:
    return numbers(element, key, most, f"{what}: {key}", faults, least=1) if element.get(key) is not None else None


def _positive(element: Element, key: str, what: str, faults: Faults, default: Number = 0) -> Number:
    found = number(element, key, f"{what}: {key}", faults, default)
    if found < 0 and element.get(key) is not None:
        faults.add(f"{what}: {key} is {found:g}, expected 0 or more.")
    return found
