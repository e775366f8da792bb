"""Names in MJCF: what has them, and which attributes are names of something else."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from polhode.model import WORLD

from .xml import Element

KINDS = ("body", "joint", "site", "geom", "tendon", "actuator")  # of what must be there where it is referred to
BESIDE = ("asset", "deformable", "contact", "tendon", "equality", "actuator", "sensor")  # each after what it refers to
_REFERENCES = {
    key: kind
    for kind, keys in {
        "body": "body body1 body2 subtree1 subtree2", "joint": "joint joint1 joint2 jointinparent",
        "site": "site site1 site2 cranksite slidersite refsite sidesite", "geom": "geom geom1 geom2",
        "tendon": "tendon tendon1 tendon2", "actuator": "actuator", "mesh": "mesh", "material": "material",
        "hfield": "hfield", "texture": "texture", "camera": "camera",
    }.items()
    for key in keys.split()
}  # fmt: skip


def references(element: Element) -> Iterator[tuple[str, str]]:
    """The attributes of an element that are names of others, and of what kind these are."""
    for key in element.attributes:
        if key in ("objname", "refname"):
            kind = element.get(f"{key[:3]}type") or ""
            yield key, "body" if kind == "xbody" else kind
        elif key in _REFERENCES:
            world = key in ("body1", "body2") and element.get(key) == WORLD
            if element.get(key) and not world:
                yield key, _REFERENCES[key]


def names_of(elements: Iterable[Element]) -> dict[str, set[str]]:
    """The names that elements of a tree have, by their kinds."""
    names: dict[str, set[str]] = {kind: set() for kind in KINDS}
    for element in elements:
        kind = "joint" if element.tag == "freejoint" else element.tag
        if kind in names and (name := element.get("name")):
            names[kind].add(name)
    return names


def handed_on(element: Element, inherited: str) -> str:
    """The class that a body or frame hands on."""
    return element.get("childclass") or (element.get("class") if element.tag == "frame" else None) or inherited
