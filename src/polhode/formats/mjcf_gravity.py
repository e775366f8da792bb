"""Gravity of an MJCF file, and what compensates it: a force against the weight of a body, at its own centre of mass.

f = -gravcomp m g
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Set

from polhode.graph import Matrix
from polhode.model import Builder, Faults

from .mjcf_joints import Read
from .xml import Element, Number, numbers

EARTH = (0, 0, -9.81)


def read_gravity(root: Element, disabled: Set[str], faults: Faults) -> list[Number]:
    """The vector of <option>, 0 where a <flag> switches it off."""
    found: list[Number] = list(EARTH)
    for option in root.all("option"):
        found = numbers(option, "gravity", 3, "Option gravity", faults, found)
    return [0, 0, 0] if "gravity" in disabled else found


def compensate(
    bodies: Iterable[tuple[str, Number, float, Matrix]], gravity: list[Number], passive: bool, builder: Builder,
    unique: Callable[[str], str],
) -> None:  # fmt: skip
    """Add the forces: of every body that moves its name, gravcomp, mass and centre of mass in its axes.

    unique : a name that nothing else has
    """
    held = [row for row in bodies if row[1] and row[2]]
    if not any(gravity) or not held:
        return
    if not passive:
        builder.note(f"gravcomp of {len(held)} bodies does not act: passive is False.")
        return
    for name, part, m, com in held:
        where = name
        if any(float(e) for e in com.entries):
            where = unique(f"{name}/centre of mass")
            builder.marker(where, body=name, at=com)
        push = [-part * m * e for e in gravity]
        builder.wrench(where, force=push, name=builder.unique_name(f"gravity compensation of {name}"))


def note_actuated(joints: Iterable[tuple[str, Element, Read]], acting: bool, builder: Builder) -> None:
    """Say where compensation is by actuators, which MuJoCo limits with them and switches off with them."""
    for name, element, found in joints:
        if element.get("actuatorgravcomp") == "true" and (found.push is not None or not acting):
            why = "actuatorfrcrange does not limit it" if acting else "it acts without actuators too"
            builder.note(f"Joint {name!r}: gravity is compensated by its actuators (actuatorgravcomp); here {why}.")
