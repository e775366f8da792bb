"""Names for the variables of joints that a file is free to call anything."""

from __future__ import annotations

from dataclasses import replace

from polhode.model import TIME, Builder, Joint


def separate_names(builder: Builder) -> None:
    """Give other names to coordinates and speeds that would be time or another joint's, and note them.

    A joint of one coordinate shares its name with it where it can; couplings follow.
    """
    joints = [body.joint for body in builder.bodies if body.joint.nu]
    if len({joint.name for joint in joints}) < len(joints):
        return  # a fault, which the model reports
    taken = {str(TIME.value)}
    made: dict[str, Joint] = {}
    for joint in joints:
        if joint.nq == 1:
            made[joint.name] = _renamed(joint, "q", joint.coordinates(), taken, builder)
    for joint in joints:
        if joint.nq > 1:
            made[joint.name] = _renamed(joint, "q", joint.coordinates(), taken, builder)
        named = made[joint.name]
        made[joint.name] = _renamed(named, "u", named.speeds(), taken, builder)
    builder.bodies = [replace(b, joint=made[b.joint.name]) if b.joint.nu else b for b in builder.bodies]
    first = {name: joint.coordinates()[0] for name, joint in made.items() if joint.nq == 1}
    builder.constraints = [part.renamed(first, "coordinate") for part in builder.constraints]


def _renamed(joint: Joint, kind: str, wanted: tuple[str, ...], taken: set[str], builder: Builder) -> Joint:
    """The joint with names that are not taken yet, which then are."""
    names = []
    for name in wanted:
        found = name
        if name in taken:
            found = f"{name}_joint" if kind == "q" else f"{name.removesuffix('_dot')}_speed"
            while found in taken:
                found += "_"
            what = "coordinate" if kind == "q" else "speed"
            owner = "time" if name == TIME.value else "a variable of another joint"
            builder.note(f"Joint {joint.name!r}: its {what} is called {found!r} here: {name!r} is {owner}.")
        taken.add(found)
        names.append(found)
    if tuple(names) == wanted:
        return joint
    return replace(joint, q=tuple(names)) if kind == "q" else replace(joint, u=tuple(names))
