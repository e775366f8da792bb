"""The elements of an SDFormat model and of the models inside of it, with their frames."""

from __future__ import annotations

from dataclasses import dataclass, field

from polhode.model import WORLD, Faults

from .sdf_frames import MODEL, Frame, Frames, Key, Scope
from .sdf_text import read_pose, read_switch, relative_to, text_of
from .xml import Element

DEEPEST = 30  # models in models


@dataclass(slots=True)
class Content:
    """What a model has, with that of the models inside of it, by its key."""

    links: dict[Key, Element] = field(default_factory=dict)
    joints: dict[Key, Element] = field(default_factory=dict)
    frames: list[Key] = field(default_factory=list)
    still: set[Key] = field(default_factory=set)  # links of static models


def collect(model: Element, frames: Frames, faults: Faults) -> Content:
    """Read the names and poses of everything in a model that is in the world."""
    content = Content()
    _model(model, (), frames, content, False, faults)
    return content


def _model(element: Element, around: Scope, frames: Frames, content: Content, still: bool, faults: Faults) -> None:
    name = element.get("name") or ("model" if not around else "")
    what = f"Model {name!r:.60}"
    if not name or len(around) > DEEPEST:
        said = f"are more than {DEEPEST} deep" if name else "has no name, expected <model name=...>"
        faults.add(f"Model on line {element.line} {said}.")
        return
    scope = (*around, name)
    still = still or read_switch(element, "static", what, faults)
    for include in element.all("include"):
        faults.add(
            f"{what} includes {text_of(include, 'uri')!r:.80} on line {include.line}, which is not read. Write the "
            "file out as one: gz sdf -p FILE > whole.sdf, or put the <model> in place of the <include>."
        )
    frames.add(
        (scope, MODEL),
        Frame(
            what=what, pose=read_pose(element, what, faults), base=relative_to(element),
            usual=(around, MODEL) if around else ((), WORLD), on=_canonical(element, scope),
            placement=element.get("placement_frame") or "",
        ),
    )  # fmt: skip
    for name, link in _named(element, "link", faults).items():
        key, what = (scope, name), f"Link {name!r}"
        pose = read_pose(link, what, faults)
        frames.add(key, Frame(what=what, pose=pose, base=relative_to(link), usual=(scope, MODEL), on=key))
        content.links[key] = link
        if still:
            content.still.add(key)
    for name, frame in _named(element, "frame", faults).items():
        key, what, on = (scope, name), f"Frame {name!r}", frame.get("attached_to") or ""
        pose = read_pose(frame, what, faults)
        usual = (scope, MODEL)
        frames.add(key, Frame(what=what, pose=pose, base=relative_to(frame), usual=usual, on=usual, attached=on))
        content.frames.append(key)
    for tag in ("joint", "drake:joint"):
        for name, joint in _named(element, tag, faults).items():
            key, what = (scope, name), f"Joint {name!r}"
            child = text_of(joint, "drake:child" if tag == "drake:joint" else "child")
            pose, base = read_pose(joint, what, faults), relative_to(joint)
            frames.add(key, Frame(what=what, pose=pose, base=base, usual=(scope, MODEL), attached=child))
            content.joints[key] = joint
    for inner in element.all("model"):
        _model(inner, scope, frames, content, still, faults)


def _canonical(element: Element, scope: Scope) -> Key | None:
    """The link whose frame the model's is fixed to: the named one, or the first."""
    if given := element.get("canonical_link"):
        *path, last = given.split("::")
        return (*scope, *path), last
    if (link := element.first("link")) is not None:
        return scope, link.get("name") or ""
    inner = element.first("model")
    return None if inner is None else ((*scope, inner.get("name") or ""), MODEL)


def _named(element: Element, tag: str, faults: Faults) -> dict[str, Element]:
    """Children by their names; what SDFormat keeps for itself is a fault."""
    found = element.by_name(tag, faults)
    for name, child in found.items():
        if name == WORLD or (name.startswith("__") and name.endswith("__")) or "::" in name:
            faults.add(f"{tag.capitalize()} {name!r:.60} on line {child.line}: the name is reserved. Rename it.")
    return found
