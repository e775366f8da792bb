"""MJCF's <replicate>: copies of a part of the tree in a row, with copies of what refers to it."""

from __future__ import annotations

from polhode.graph import vector
from polhode.model import Faults
from polhode.model.errors import closest, fault

from .mjcf_frames import read_rotation
from .mjcf_names import BESIDE, KINDS, names_of, references
from .mjcf_text import read_settings
from .xml import Element, numbers, to_number

MOST_COPIED = 20_000  # elements of one model that copies add
_ATTRIBUTES = ("count", "offset", "euler", "sep", "childclass")


def replicated(root: Element, element: Element, most: int, notes: dict[str, None]) -> tuple[Element, int]:
    """What a <replicate> stands for, of at most so many elements, and how many it adds; copies are added to the root.

    The frames turn by k euler, each is offset from the one before in the axes of that. Names get k as a suffix.
    """
    what = f"<replicate> on line {element.line}"
    for key in element.attributes:
        if key not in _ATTRIBUTES:
            raise fault(f"{what}: unknown attribute {key[:60]!r}. {closest(key[:60].lower(), _ATTRIBUTES)}")
    if any(child.tag in ("joint", "freejoint", "inertial") for child in element.children):
        raise fault(f"{what} has a joint or an inertial of the body around, expected bodies, geoms, sites and frames.")
    count = to_number(element.get("count") or "")
    if not isinstance(count, int) or count < 1:
        raise fault(f"{what}: count is {element.get('count')!r:.60}, expected a whole number above 0.")
    parts = element.children
    names = names_of(e for part in parts for e in part.walk())
    beside = _beside(root, names, notes)
    each = sum(1 for part in (*parts, *(e for _, found in beside for e in found)) for _ in part.walk())
    if count * (each + 1) > most:
        raise fault(f"{what}: count is {count:,}, more copies than a mechanism needs.")
    poses = _poses(element, count, what, root)
    frames, sections = [], []
    for k, place in enumerate(poses):
        # the first copy is the original, to which rows of attached keyframes belong
        mine = [part.copy() for part in parts] if k else parts
        theirs = [(tag, [e.copy() for e in found] if k else found) for tag, found in beside]
        frames.append(Element("frame", place, element.line, mine))
        sections += [Element(tag, {}, element.line, found) for tag, found in theirs]
    for k, frame in enumerate(frames):
        suffix = f"{element.get('sep') or ''}{k:0{len(str(count))}}"
        n = len(beside)
        for e in [*frame.walk(), *(e for section in sections[k * n : (k + 1) * n] for e in section.walk())]:
            _rename(e, names, suffix)
    root.children += sections
    given = {"childclass": text} if (text := element.get("childclass")) else {}
    return Element("frame", given, element.line, frames), count * (each + 1)


def _beside(root: Element, names: dict[str, set[str]], notes: dict[str, None]) -> list[tuple[str, list[Element]]]:
    """Take out of the root what refers to any of the names, which grow by theirs; section by section.

    As in MuJoCo, tendons and sensors may also be about what is not replicated, others are left out.
    """
    taken = []
    for tag in BESIDE:
        for section in root.all(tag):
            found, stays = [], []
            for e in section.children:
                about = [
                    inner.get(key) in names[kind]
                    for inner in e.walk()
                    for key, kind in references(inner)
                    if kind in KINDS
                ]
                if not any(about):
                    stays.append(e)
                elif all(about) or tag in ("tendon", "sensor"):
                    found.append(e)
                else:
                    said = f"<{tag}> {e.get('name') or f'<{e.tag}>'!r:.60} on line {e.line} is not read, as in MuJoCo"
                    notes[f"{said}: it is about what is replicated and what is not."] = None
            section.children = stays
            if found:
                if tag in KINDS:
                    names[tag] |= {name for e in found if (name := e.get("name"))}
                taken.append((tag, found))
    return taken


def _rename(element: Element, names: dict[str, set[str]], suffix: str) -> None:
    """Put the suffix behind the name of an element, and behind those that it refers to."""
    for key, kind in list(references(element)):
        if (other := element.get(key) or "") in names.get(kind, ()):
            element.attributes[key] = other + suffix
    if own := element.get("name"):
        element.attributes["name"] = own + suffix


def _poses(element: Element, count: int, what: str, root: Element) -> list[dict[str, str]]:
    """Where the frames are."""
    faults = Faults()
    offset = vector(numbers(element, "offset", 3, f"{what}: offset", faults, (0, 0, 0)))
    turn = numbers(element, "euler", 3, f"{what}: euler", faults, (0, 0, 0))
    settings = read_settings(root, Faults())
    found, p = [], vector((0, 0, 0))
    for k in range(count):
        place = {"pos": " ".join(repr(float(x)) for x in p)}
        if any(turn):
            place["euler"] = " ".join(repr(float(k * x)) for x in turn)
        found.append(place)
        R = read_rotation(Element("replicate", place, element.line), what, settings, faults)
        p = vector([float(x) for x in p + R @ offset])
    faults.raise_any()
    return found
