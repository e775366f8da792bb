"""What SDFormat links look like: <visual> as shapes of the bodies."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from polhode.model import Builder, Faults
from polhode.model.errors import listed

from .looks import add_mesh, hexadecimal, placed
from .sdf_frames import Frames, Key, between
from .sdf_text import read_number, read_numbers, read_pose, relative_to, text_of
from .urdf_places import Places
from .xml import Element

MOST = 5000  # shapes of one model


def add_looks(
    links: Mapping[Key, Element], names: Mapping[Key, str], frames: Frames, places: Places, builder: Builder
) -> None:
    """Add the shapes of all links; what cannot be drawn is noted, and no fault."""
    missing: dict[str, None] = {}
    unknown: Counter[str] = Counter()
    count = 0
    for key, link in links.items():
        for visual in link.all("visual"):
            count += 1
            if count > MOST:
                continue
            faults = Faults()
            made = _shape(visual, key, frames, places, missing, unknown, faults)
            if faults.found or (made is not None and not add_mesh(builder, names[key], *made)):
                unknown["no size"] += 1
    if missing:
        which = "Meshes {} are" if len(missing) > 1 else "Mesh {} is"
        builder.note(
            f"{which.format(listed(list(missing), most=3))} not there, and not drawn. "
            "Give load(..., packages=[...]) the folder in which their package or model lies."
        )
    for kind, n in unknown.items():
        builder.note(f"Of {count} <visual>, {n} with {kind} {'are' if n > 1 else 'is'} not drawn.")
    if count > MOST:
        builder.note(f"Of {count} <visual>, the first {MOST} are drawn.")


def _shape(
    visual: Element, key: Key, frames: Frames, places: Places, missing: dict[str, None], unknown: Counter[str],
    faults: Faults,
) -> tuple[str, Any, str] | None:  # fmt: skip
    """A mesh, where it is and its colour, None where it is not drawn and that is kept for a note."""
    geometry, what = visual.first("geometry"), "visual"
    kind = geometry.children[0] if geometry is not None and geometry.children else None
    X = read_pose(visual, what, faults)
    if name := relative_to(visual):
        base = frames.find(key[0], name, f"Link {key[1]!r}: visual: relative_to")
        X = X if base is None else between(frames.place(key), frames.place(base) @ X)
    if kind is None or kind.tag not in ("box", "sphere", "cylinder", "capsule", "ellipsoid", "mesh"):
        unknown["no geometry" if kind is None else f"<{kind.tag:.40}>"] += 1
        return None
    color = _color(visual)
    if kind.tag == "mesh":
        path = places.find(text_of(kind, "uri"))
        if path is None:
            missing[text_of(kind, "uri")] = None
            return None
        return str(path), placed(X.p, X.R, read_numbers(kind, "scale", 3, what, faults, (1, 1, 1))), color
    if kind.tag in ("box", "ellipsoid"):
        size = read_numbers(kind, "size" if kind.tag == "box" else "radii", 3, what, faults)
        return "box" if kind.tag == "box" else "sphere", placed(X.p, X.R, size), color
    r = read_number(kind, "radius", what, faults, 0)
    length = r if kind.tag == "sphere" else read_number(kind, "length", what, faults, 0)
    return kind.tag, placed(X.p, X.R, [r, r, length]), color


def _color(visual: Element) -> str:
    material = visual.first("material")
    words = "" if material is None else text_of(material, "diffuse")
    return hexadecimal(words) if words else ""
