"""MJCF before it means anything: included files, default classes and compiler settings."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from polhode.model import Faults, ModelError

from .files import LARGEST
from .xml import Element, Number, number, numbers, parse

ACTUATORS = ("general", "motor", "position", "velocity", "intvelocity", "damper", "cylinder", "muscle")
MOST_FILES = 100  # included by one model
ORIENTATIONS = ("quat", "axisangle", "euler", "xyaxes", "zaxis")
REFUSED = {
    "composite": "Write the bodies out, or save the compiled model from MuJoCo (mj_saveLastXML).",
    "flexcomp": "Flexible parts are not read: remove them.",
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Settings:
    """What <compiler> says."""

    degrees: bool = True
    eulerseq: str = "xyz"
    autolimits: bool = True
    from_geoms: str = "auto"
    groups: tuple[Number, Number] = (0, 5)
    least_mass: Number = 0
    least_inertia: Number = 0
    balance: bool = False
    total_mass: Number = -1
    align: bool = False
    disabled: frozenset[str] = frozenset()  # what <flag> switches off

    def of(self, element: Element) -> Settings:
        """Those of the file that has an element; flags are the model's."""
        return self if element.scope is None else replace(element.scope.settings, disabled=self.disabled)


class Classes:
    """Default classes: the attributes that elements have unless they say otherwise."""

    def __init__(self, root: Element, faults: Faults) -> None:
        self.faults = faults
        self.attributes: dict[str, dict[str, dict[str, str]]] = {"main": {}}
        self.drives: dict[str, list[list[Element]]] = {"main": []}  # of actuators: class by class from the outermost
        for element in root.all("default"):
            self._read(element, faults)

    def _read(self, top: Element, faults: Faults) -> None:
        waiting: list[tuple[Element, str | None]] = [(top, None)]
        while waiting:
            element, above = waiting.pop()
            name = element.get("class") or ("main" if above is None else "")
            if above is not None and (not name or name in self.attributes):
                found = f"{name!r} exists already" if name else "has no class name"
                faults.add(f"Default class on line {element.line}: {found}, expected a name of its own.")
                continue
            inherited = self.attributes.get("main" if above is None else above, {})
            made = {tag: dict(attributes) for tag, attributes in inherited.items()}
            for child in element.children:
                if child.tag != "default":
                    made[child.tag] = _over(made.get(child.tag, {}), child.attributes)
            self.attributes[name] = made
            before = self.drives.get("main" if above is None else above, [])
            self.drives[name] = [*before, element.all(*ACTUATORS)]
            if above is None:
                self.attributes["main"], self.drives["main"] = made, self.drives[name]
            waiting += [(child, name) for child in reversed(element.children) if child.tag == "default"]

    def filled(self, element: Element, inherited: str | None, tag: str = "") -> Element:
        """The element with the defaults of its class, of the class it inherits, or of all; of another tag if given."""
        known = self._of(element)
        defaults = known.attributes.get(known._known(element, inherited), {}).get(tag or element.tag, {})
        return replace(element, attributes=_over(defaults, element.attributes))

    def actuators(self, element: Element) -> list[list[Element]]:
        """What the class of an actuator and those around it say of actuators, from the outermost, each in order."""
        known = self._of(element)
        return known.drives.get(known._known(element, None), [])

    def rename(self, keys: Iterable[str], prefix: str) -> None:
        """Put a prefix before the names that classes refer to."""
        for defaults in {id(made): made for made in self.attributes.values()}.values():
            for attributes in defaults.values():
                attributes.update({key: prefix + attributes[key].strip() for key in keys if attributes.get(key)})

    def _of(self, element: Element) -> Classes:
        """The classes of the file that has an element."""
        return self if element.scope is None else element.scope.classes

    def _known(self, element: Element, inherited: str | None) -> str:
        """The class of an element, which must exist."""
        name = element.get("class") or inherited or "main"
        if name not in self.attributes:
            self.faults.add(
                f"<{element.tag}> on line {element.line}: default class {name!r:.60} does not exist. "
                f"There are {', '.join(map(repr, list(self.attributes)[:8]))}."
            )
        return name


@dataclass(frozen=True, slots=True)
class Scope:
    """What a file says of its elements, where they are attached to those of another."""

    settings: Settings
    classes: Classes
    compiler: dict[str, str]
    folder: Path


def _over(below: dict[str, str], above: dict[str, str]) -> dict[str, str]:
    """Lay attributes over others; of the ways to turn a frame, only the upper one stays."""
    if any(key in above for key in ORIENTATIONS):
        below = {key: text for key, text in below.items() if key not in ORIENTATIONS}
    return below | above


def read_settings(root: Element, faults: Faults) -> Settings:
    """Gather <compiler>; where it is repeated, the last word counts."""
    attributes: dict[str, str] = {}
    for element in root.all("compiler"):
        attributes |= element.attributes
    all_of = Element("compiler", attributes, 0)

    def choice(key: str, default: str, *others: str) -> str:
        text = all_of.get(key) or default
        if text not in (default, *others):
            faults.add(f"Compiler: {key} is {text!r:.60}, expected {' or '.join(map(repr, (default, *others)))}.")
        return text

    choice("coordinate", "local")
    eulerseq = all_of.get("eulerseq") or "xyz"
    if len(eulerseq) != 3 or not set(eulerseq) <= set("xyzXYZ"):
        faults.add(f"Compiler: eulerseq is {eulerseq!r:.60}, expected three letters of x, y, z, X, Y, Z.")
        eulerseq = "xyz"
    groups = numbers(all_of, "inertiagrouprange", 2, "Compiler: inertiagrouprange", faults, (0, 5))
    return Settings(
        degrees=choice("angle", "degree", "radian") == "degree",
        eulerseq=eulerseq,
        autolimits=choice("autolimits", "true", "false") == "true",
        from_geoms=choice("inertiafromgeom", "auto", "true", "false"),
        groups=(groups[0], groups[1]),
        least_mass=number(all_of, "boundmass", "Compiler: boundmass", faults, 0),
        least_inertia=number(all_of, "boundinertia", "Compiler: boundinertia", faults, 0),
        balance=choice("balanceinertia", "false", "true") == "true",
        total_mass=number(all_of, "settotalmass", "Compiler: settotalmass", faults, -1),
        align=choice("alignfree", "false", "true") == "true",
        disabled=_disabled(root),
    )


def _disabled(root: Element) -> frozenset[str]:
    """What the flags of <option> switch off; where one is repeated, the last word counts."""
    flags: dict[str, str] = {}
    for option in root.all("option"):
        for flag in option.all("flag"):
            flags |= flag.attributes
    found = {key for key, text in flags.items() if text == "disable"}
    found |= {"equality", "limit", "frictionloss"} if "constraint" in found else set()
    found |= {"spring", "damper"} if "passive" in found else set()  # of versions before
    return frozenset(found | ({"passive"} if {"spring", "damper"} <= found else set()))


def read_text(text: str, source: str, folder: Path | None, faults: Faults, beyond: bool = False) -> Element:
    """Parse a model with everything it includes.

    beyond : whether included files may lie outside of the folder, where they are MJCF and the path is relative
    """
    root = parse(text, source, lenient=True)
    if root.tag != "mujoco":
        raise ModelError([f"the root element is <{root.tag:.40}>, expected <mujoco>."], source)
    expand_includes(root, folder, beyond, faults)
    return root


def expand_includes(root: Element, folder: Path | None, beyond: bool, faults: Faults) -> None:
    """Replace every <include> by what its file holds. As in MuJoCo, a file is included once."""
    seen: set[Path] = set()
    waiting = [(root, folder)]
    while waiting:
        element, beside = waiting.pop()
        made: list[tuple[Element, Path | None]] = []
        left = [(child, beside) for child in reversed(element.children)]
        while left:
            child, beside = left.pop()
            if child.tag == "include":
                with faults.caught():
                    file, path = included(child, folder, beside, beyond, seen)
                    left += [(inner, path.parent) for inner in reversed(file.children)]
            else:
                made.append((child, beside))
        element.children = [child for child, _ in made]
        waiting += made


def included(
    element: Element, folder: Path | None, beside: Path | None, beyond: bool, seen: set[Path]
) -> tuple[Element, Path]:
    """Read an included or attached file, from the folder of the model or of the file that has it; and its path."""
    name = element.get("file") or ""
    what = f"<{element.tag}> of {name!r:.80} on line {element.line}"
    if folder is None or beside is None or not name:
        raise ModelError([f"{what}: expected the name of a file beside the model; load the model from its file."])
    try:
        base = folder.resolve()
        found = [(place / name).resolve() for place in (folder, beside)]
        free = beyond and not Path(name).is_absolute()
        path = next((p for p in found if (free or p.is_relative_to(base)) and p.is_file()), found[0])
        inside = path.is_relative_to(base)
        there = (inside or free) and path.is_file()
        small = there and path.stat().st_size <= LARGEST
    except (OSError, ValueError, RuntimeError):
        raise ModelError([f"{what}: the file cannot be read."]) from None
    if not inside and not free:
        kind = (
            "is an absolute path, expected one from the folder of the model"
            if beyond
            else ("leaves the folder of the model, expected a file in it or below")
        )
        raise ModelError([f"{what} {kind}."])
    if not there:
        raise ModelError([f"{what}: there is no such file, from the folder of the model or of the file that has it."])
    if path in seen or not small or len(seen) >= MOST_FILES:
        reason = "is included more than once" if path in seen else "is too large, or one of too many"
        raise ModelError([f"{what}: the file {reason}. Remove the <{element.tag}>."])
    seen.add(path)
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        raise ModelError([f"{what}: the file cannot be read as text."]) from None
    try:
        root = parse(text, lenient=True)
    except ModelError as error:
        raise ModelError([f"{what}: {text}" for text in error.faults]) from None
    if not inside and root.tag not in ("mujoco", "mujocoinclude"):
        raise ModelError([f"{what}: the root element is <{root.tag:.40}>, expected <mujoco> or <mujocoinclude>."])
    for mesh in root.walk():
        if mesh.tag in ("mesh", "model"):
            mesh.folder = path.parent
    return root, path
