"""MJCF's <attach> and <replicate>: a part of another file in the tree of this one, with what refers to it; and copies.

The elements of the other file keep its default classes, its compiler settings and its folder: their scope. Its names
get the prefix. Of what stands beside its tree, tendons, equalities, actuators, sensors, all that comes along refers to
nothing else, as in MuJoCo; its options do not count. Keyframes keep the rows of what was attached.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path, PurePosixPath

from polhode.model import WORLD, Faults, ModelError
from polhode.model.errors import closest, fault

from .mjcf_attached_keys import cut_keys
from .mjcf_gravity import read_gravity
from .mjcf_keyframes import Layout
from .mjcf_names import BESIDE, KINDS, handed_on, names_of, references
from .mjcf_replicate import MOST_COPIED, replicated
from .mjcf_schema import check_elements
from .mjcf_text import (
    MOST_FILES,
    REFUSED,
    Classes,
    Scope,
    expand_includes,
    included,
    read_settings,
    read_text,
)
from .xml import MOST, Element

DEEPEST = 20  # files that attach files
_ATTRIBUTES = ("model", "body", "frame", "prefix")


@dataclass(slots=True)
class _Expansion:
    """One model with all that it attaches, so far."""

    beyond: bool
    faults: Faults
    files: int = 0
    elements: int = 0
    copied: int = 0
    notes: dict[str, None] = field(default_factory=dict)


def read_tree(
    text: str, source: str, folder: Path | None, faults: Faults, beyond: bool = False
) -> tuple[Element, list[str]]:
    """Parse a model with everything it includes and attaches, and refuse what only MuJoCo can expand; and notes.

    beyond : whether other files may lie outside of the folder, where they are MJCF and the path is relative
    """
    root = read_text(text, source, folder, faults, beyond)
    made = _Expansion(beyond, faults)
    _expand(root, folder, (), made, faults)
    _refuse(root, faults)
    return root, list(made.notes)


def _refuse(root: Element, faults: Faults) -> None:
    for element in root.walk():
        if element.tag in REFUSED:
            faults.add(f"<{element.tag}> on line {element.line} is not read. {REFUSED[element.tag]}")


def _expand(root: Element, folder: Path | None, chain: tuple[Path, ...], made: _Expansion, faults: Faults) -> None:
    """Replace every <attach> and <replicate> in the tree, in the order of the file, by a frame with what it makes."""
    inside = list(_inner_first(root))
    places = {id(e): (around, k) for around in inside for k, e in enumerate(around.children)}
    for element in inside:
        if element.tag in ("attach", "replicate"):
            around, k = places[id(element)]
            with faults.caught():
                if element.tag == "attach":
                    around.children[k] = _attached(root, element, folder, chain, made)
                else:
                    around.children[k], more = replicated(root, element, MOST_COPIED - made.copied, made.notes)
                    made.copied += more


def _inner_first(root: Element) -> Iterator[Element]:
    """The tree in the order in which elements end."""
    waiting = root.all("worldbody")
    found = []
    while waiting:
        element = waiting.pop()
        found.append(element)
        waiting += element.children
    return reversed(found)


def _attached(
    root: Element, element: Element, folder: Path | None, chain: tuple[Path, ...], made: _Expansion
) -> Element:  # fmt: skip
    """What an <attach> stands for; what refers to it is added to the root."""
    what, prefix = f"<attach> on line {element.line}", element.get("prefix")
    for key in element.attributes:
        if key not in _ATTRIBUTES:
            raise fault(f"{what}: unknown attribute {key[:60]!r}. {closest(key[:60].lower(), _ATTRIBUTES)}")
    if prefix is None:
        raise fault(f'{what} has no prefix, expected what the names of the other file begin with: prefix="arm_".')
    if element.get("model") is None:
        raise fault(
            f"{what} has no model: copies of bodies of this file are not read. Attach them from a file of their own."
        )
    if element.get("body") and element.get("frame"):
        raise fault(f"{what} has a body and a frame, expected one of them, or none for all of the file.")
    child, path, file = _file(root, element, what, folder, chain, made)
    faults = Faults()
    _expand(child, path.parent, (*chain, path), made, faults)
    _refuse(child, faults)
    check_elements(child, faults)
    scope = Scope(read_settings(child, faults), Classes(child, faults), _told(child), path.parent)
    if faults.found:
        raise ModelError([f"{file}: {text}" for text in faults.found])
    scope.classes.faults = made.faults
    for each in child.walk():
        each.scope = each.scope or scope
    kind = "frame" if element.get("frame") else "body"
    handed, parts = _part(child, kind, element.get(kind), f"{what}, model {element.get('model')!r:.60}")
    _rename(child, prefix)
    _add_beside(root, element, child, parts, prefix, made)
    _note_options(root, child, file, made)
    # classes of the file around do not reach what is attached
    return Element("frame", {"childclass": handed}, element.line, parts, scope=scope)


def _file(
    root: Element, element: Element, what: str, folder: Path | None, chain: tuple[Path, ...], made: _Expansion
) -> tuple[Element, Path, str]:  # fmt: skip
    """Read the file that an <attach> names by a model in <asset>; also its path, and what messages call it."""
    models = [e for section in root.all("asset") for e in section.all("model")]
    read: list[tuple[Element, tuple[Element, Path] | None]] = []
    for asset in models:  # one without a name has that of its file
        file = None if asset.get("name") else included(asset, folder, asset.folder or folder, made.beyond, set())
        read.append((asset, file))
    names = [asset.get("name") or (file[0].get("model") if file else None) or "" for asset, file in read]
    wanted = element.get("model") or ""
    if wanted not in names:
        raise fault(f"{what}: model is {wanted!r:.60}, expected a <model> of <asset>. {closest(wanted, names)}")
    asset, found = read[names.index(wanted)]
    child, path = found or included(asset, folder, asset.folder or folder, made.beyond, set())
    file_name = f"<model> of {asset.get('file')!r:.80} on line {asset.line}"
    if path in chain:
        raise fault(f"{file_name}: the file attaches itself. Remove one of its <attach>.")
    if child.tag != "mujoco":
        raise fault(f"{file_name}: the root element is <{child.tag:.40}>, expected <mujoco>. Save it as MJCF.")
    faults = Faults()
    expand_includes(child, path.parent, made.beyond, faults)
    if faults.found:
        raise ModelError([f"{file_name}: {text}" for text in faults.found])
    made.files += 1
    made.elements += sum(1 for _ in child.walk())
    if made.files > MOST_FILES or made.elements > MOST or len(chain) >= DEEPEST:
        raise fault(f"{what}: too much is attached: expected at most {MOST_FILES} files, {DEEPEST} within each other.")
    return child, path, file_name


def _told(root: Element) -> dict[str, str]:
    return {key: text for compiler in root.all("compiler") for key, text in compiler.attributes.items()}


def _part(child: Element, kind: str, name: str | None, what: str) -> tuple[str, list[Element]]:
    """What is attached: a body or a frame by its name, else all of the world; and the class that is handed on to it."""
    worlds = child.all("worldbody")
    if not name or (kind, name) == ("body", WORLD):
        framed = [
            Element("frame", {"childclass": w.get("childclass") or "main"}, w.line, w.children, scope=w.scope)
            for w in worlds
        ]
        if name:
            framed = [Element("body", {"name": WORLD}, child.line, framed, scope=worlds[0].scope)] if worlds else []
        if worlds:
            worlds[0].children = framed  # so that what walks the file finds them
            for world in worlds[1:]:
                world.children = []
        return "main", framed
    waiting = [(world, "main") for world in reversed(worlds)]
    seen = []
    while waiting:
        element, handed = waiting.pop()
        if element.tag == kind and element.get("name") == name:
            return handed, [element]
        seen += [element.get("name") or ""] if element.tag == kind else []
        waiting += [(inner, handed_on(element, handed)) for inner in reversed(element.children)]
    raise fault(f"{what}: {kind} is {name!r:.60}, expected a {kind} of that file. {closest(name, seen)}")


def _rename(child: Element, prefix: str) -> None:
    """Put the prefix before all names, and where they are referred to; in default classes too."""
    scopes = {}
    for section in child.children:
        for element in section.walk():
            if isinstance(element.scope, Layout):
                continue  # keyframes of what the file itself attached keep their names, as in MuJoCo
            scopes[id(element.scope)] = element.scope
            if section.tag == "asset" and element.tag == "mesh" and not element.get("name"):
                file = (element.get("file") or "").replace("\\", "/")
                element.attributes["name"] = PurePosixPath(file).stem
            for key in ["name"] * bool(element.get("name")) + [key for key, _ in references(element)]:
                element.attributes[key] = prefix + element.attributes[key].strip()
    for scope in scopes.values():
        scope.classes.rename(("mesh", "material"), prefix)


def _add_beside(
    root: Element, attach: Element, child: Element, parts: list[Element], prefix: str, made: _Expansion
) -> None:  # fmt: skip
    """Add to the root what refers to nothing but the attached parts, and the keyframes, after what it has."""
    names = names_of(e for part in parts for e in part.walk())
    there = names_of(e for world in root.all("worldbody") for e in world.walk())
    twice = [(kind, name) for kind in KINDS for name in sorted(names[kind] & there[kind])]
    if twice:
        kind, name = twice[0]
        what = f"<attach> on line {attach.line}"
        raise fault(f"{what}: {kind} {name!r:.60} exists already, with prefix {prefix!r:.60}. Give another prefix.")
    world = [e for section in root.all("worldbody") for e in section.walk()]
    before = names_of(takewhile(lambda e: e is not attach, world))
    added: list[Element] = []
    acting: list[Element] = []
    for tag in BESIDE:
        for section in child.all(tag):
            kept = []
            for element in section.children:
                if _belongs(element, tag, names, before, prefix, made):
                    kept.append(element)
                    if element.get("name"):
                        names.setdefault(tag, set()).add(element.get("name") or "")
            acting += kept if tag == "actuator" else []
            added.append(Element(tag, {}, section.line, kept))
    keys = [key for section in child.all("keyframe") for key in section.all("key")]
    if keys:
        inside = {id(e) for part in parts for e in part.walk()}
        cut_keys(child, keys, inside, acting, names["joint"])
        added.append(Element("keyframe", {}, keys[0].line, keys))
    root.children += added


def _belongs(
    element: Element, tag: str, names: dict[str, set[str]], before: dict[str, set[str]], prefix: str, made: _Expansion
) -> bool:  # fmt: skip
    """Whether all that an element refers to is attached.

    A tendon or sensor that has some of it has, as in MuJoCo, for the rest what stands before in this file by that name.
    """
    each = element.children if tag == "tendon" else [element]
    found = [[(e, key, kind) for key, kind in references(e) if kind in names] for e in each]
    groups = [group for group in found if group] if tag == "tendon" else [[one] for group in found for one in group]
    behind = [group for group in groups if any(e.get(key) not in names[kind] for e, key, kind in group)]
    if not behind:
        return True
    bare = [(e, key, kind, (e.get(key) or "").removeprefix(prefix)) for group in behind for e, key, kind in group]
    if tag not in ("tendon", "sensor") or len(behind) == len(groups) or any(n not in before[k] for _, _, k, n in bare):
        return False
    for e, key, kind, name in bare:
        e.attributes[key] = name
        said = (
            f"{tag.capitalize()} {element.get('name') or element.tag!r:.60} is about {kind} {name!r:.60} of the model"
        )
        made.notes[f"{said}, as in MuJoCo: that of its own file is not attached."] = None
    return True


def _note_options(root: Element, child: Element, file: str, made: _Expansion) -> None:
    """Say where the options of the file differ from those of the model, which count."""
    (ours, theirs), faults = (root, child), Faults()
    g, G = (read_gravity(e, set(), faults) for e in (ours, theirs))
    off, OFF = (read_settings(e, faults).disabled for e in (ours, theirs))
    if any(e.tag == "option" for e in child.children) and (g != G or off != OFF):
        said = f"{file}: its <option> does not count, as in MuJoCo: gravity and flags are those of the model."
        made.notes[said] = None
    if _told(root).get("conflict") in ("merge", "error"):
        made.notes['Compiler: conflict is not read: it is "warning".'] = None
