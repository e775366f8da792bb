"""What URDF links look like: <visual> as shapes of the bodies."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from polhode.model import Builder, Faults, values
from polhode.model.errors import listed

from .looks import add_mesh, hexadecimal, placed
from .urdf_joints import read_origin
from .urdf_places import Places
from .xml import Element, numbers

MOST = 5000  # shapes of one robot


def add_looks(root: Element, names: Mapping[str, str], places: Places, builder: Builder) -> None:
    """Add the shapes of all links that the builder has; what cannot be drawn is noted, and no fault."""
    known = {body.name for body in builder.bodies} | {"world"}
    colors = {e.get("name"): color for e in root.all("material") if (color := _own_color(e))}
    for material in (m for link in root.all("link") for v in link.all("visual") for m in v.all("material")):
        colors.setdefault(material.get("name"), _own_color(material))
    missing: dict[str, None] = {}
    wrong, count = 0, 0
    for link in root.all("link"):
        body = names.get(link.get("name") or "", link.get("name") or "")
        for visual in link.all("visual") if body in known else ():
            count += 1
            if count > MOST:
                break
            faults = Faults()
            made = _shape(visual, colors, places, missing, faults)
            if faults.found:
                wrong += 1
            elif made is not None:
                mesh, A, color = made
                wrong += not add_mesh(builder, body, mesh, A, color)
    if missing:
        which = "Meshes {} are" if len(missing) > 1 else "Mesh {} is"
        builder.note(
            f"{which.format(listed(list(missing), most=3))} not there, and not drawn. "
            "Give load(..., packages=[...]) the folder in which their package lies."
        )
    if wrong:
        builder.note(f"{wrong} of {count} <visual> are not drawn: their <geometry> has no size, or no kind known here.")
    if count > MOST:
        builder.note(f"Of {MOST} and more <visual>, the first {MOST} are drawn.")


def _shape(
    visual: Element, colors: Mapping[str | None, str], places: Places, missing: dict[str, None], faults: Faults
) -> tuple[str, Any, str] | None:
    """A mesh, where it is and its colour, None where its file is missing."""
    at, rpy = read_origin(visual, "visual", faults)
    geometry, material = visual.first("geometry"), visual.first("material")
    kind = geometry.children[0] if geometry is not None and geometry.children else None
    if kind is None or faults.found:
        faults.add("a visual has no geometry.")
        return None
    R = values.rotation("visual", rpy=rpy)
    color = "" if material is None else _own_color(material) or colors.get(material.get("name"), "")
    if kind.tag == "mesh":
        name = kind.get("filename") or ""
        scale = numbers(kind, "scale", 3, "scale", faults, (1, 1, 1))
        path = places.find(name)
        if path is None:
            missing[name] = None
            return None
        return str(path), placed(at, R, scale), color
    if kind.tag == "box":
        return "box", placed(at, R, numbers(kind, "size", 3, "size", faults)), color
    if kind.tag in ("sphere", "cylinder", "capsule"):
        (r,) = numbers(kind, "radius", 1, "radius", faults)
        if kind.tag == "sphere":
            return "sphere", placed(at, R, [r, r, r]), color
        (length,) = numbers(kind, "length", 1, "length", faults)
        return kind.tag, placed(at, R, [r, r, length]), color
    faults.add(f"a visual has a <{kind.tag:.40}>.")
    return None


def _own_color(material: Element) -> str:
    color = material.first("color")
    words = None if color is None else color.get("rgba")
    return "" if words is None else hexadecimal(words)
