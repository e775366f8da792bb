"""Keyframes of MJCF files that are attached to others: the rows of what was attached."""

from __future__ import annotations

from collections.abc import Iterator

from polhode.model import Faults
from polhode.model.errors import fault

from .mjcf_drives import resolve
from .mjcf_keyframes import Layout
from .mjcf_names import handed_on
from .mjcf_text import ACTUATORS
from .xml import Element

_SIZES = {"free": (7, 6), "ball": (4, 3)}


def cut_keys(
    child: Element, keys: list[Element], inside: set[int], acting: list[Element], taken: set[str]
) -> None:  # fmt: skip
    """Leave of keyframes what is about the attached joints and actuators, and tell them which these are."""
    joints = list(_joints(child))
    for joint, _, _, body in joints:
        wanted = name = joint.get("name") or f"{body}_joint"
        k = 1
        while joint.get("name") is None and name in taken:
            k += 1
            name = f"{wanted}{k}"
        joint.attributes["name"] = name
        taken.add(name)
    whole = [e for section in child.all("actuator") for e in section.children]
    stays = {id(e) for e in acting}
    for key in keys:
        of: Layout | None = key.scope if isinstance(key.scope, Layout) else None
        mine = [row for row in joints if of is None or any(row[0] is e for e in of.joints)]
        driven = whole if of is None else list(of.actuators)
        known = (of is None or of.known) and all(e.tag in ACTUATORS for e in driven)
        for name, sizes, keeps in (
            ("qpos", [nq for _, nq, _, _ in mine], [id(e) in inside for e, *_ in mine]),
            ("qvel", [nu for _, _, nu, _ in mine], [id(e) in inside for e, *_ in mine]),
            ("ctrl", [1] * len(driven), [id(e) in stays for e in driven]),
            ("act", [_activations(e) for e in driven] if known else [], [id(e) in stays for e in driven if known]),
        ):
            words = (key.get(name) or "").split()
            if words and (known or name != "act"):
                if len(words) != sum(sizes):
                    said = f"Keyframe {key.get('name') or ''!r:.60}: {name} has {len(words)} numbers"
                    raise fault(f"{said}, expected {sum(sizes)} as its file has them.")
                rows = [[words.pop(0) for _ in range(n)] for n in sizes]
                key.attributes[name] = " ".join(x for row, keep in zip(rows, keeps, strict=True) if keep for x in row)
        key.scope = Layout(
            joints=tuple(e for e, *_ in mine if id(e) in inside),
            actuators=tuple(e for e in driven if id(e) in stays),
            known=known,
        )


def _joints(child: Element) -> Iterator[tuple[Element, int, int, str]]:
    """The joints of a file in the order of its coordinates, with how many each has, its speeds, and its body's name."""
    waiting = [(world, "main") for world in reversed(child.all("worldbody"))]
    while waiting:
        body, handed = waiting.pop()
        below = []
        inside = [(e, handed_on(body, handed)) for e in reversed(body.children)]
        while inside:
            element, inherited = inside.pop()
            if element.tag == "frame":
                inside += [(e, handed_on(element, inherited)) for e in reversed(element.children)]
            elif element.tag == "body":
                below.append((element, inherited))
            elif element.tag in ("joint", "freejoint"):
                filled = element.scope.classes.filled(element, inherited)
                kind = "free" if element.tag == "freejoint" else filled.get("type") or "hinge"
                yield element, *_SIZES.get(kind, (1, 1)), body.get("name") or "body"
        waiting += reversed(below)


def _activations(element: Element) -> int:
    levels = [*element.scope.classes.actuators(element), [element]]
    return int(resolve(levels, "", Faults()).dyntype != "none")
