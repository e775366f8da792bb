"""MJCF contacts: not read, but said where geoms of a file would touch."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from itertools import combinations

from polhode.model import WORLD, Builder
from polhode.model.errors import listed

from .xml import Element, to_number

_GROUND = ("plane", "hfield")
_MOST = 500  # kinds of geoms that are compared with each other


@dataclass(frozen=True, slots=True)
class Touching:
    """What decides whether two geoms may touch: the body they move with, and MuJoCo's two masks."""

    body: str
    contype: int
    conaffinity: int

    def touches(self, other: Touching, parents: Mapping[str, str]) -> bool:
        """Whether MuJoCo looks for contacts: on two bodies, of which none but the world is the parent, by the masks."""
        if self.body == other.body or parents.get(self.body) == other.body != WORLD:
            return False
        if parents.get(other.body) == self.body != WORLD:
            return False
        return bool(self.contype & other.conaffinity or other.contype & self.conaffinity)


def touching(geom: Element, body: str) -> Touching:
    """What decides of a geom, with its defaults filled in."""
    return Touching(body, *(int(to_number(geom.get(key) or "1") or 0) for key in ("contype", "conaffinity")))


def note_contacts(
    root: Element,
    geoms: Iterable[tuple[Element, str]],
    hosts: Mapping[str, str],
    parents: Mapping[str, str],
    builder: Builder,
) -> None:
    """Note that contacts are not read, where there would be any.

    geoms   : with the body each is on
    hosts   : of every body the one that it moves with, the world for what stands
    parents : of those, the ones that they move on
    """
    flags = [flag for option in root.all("option") for flag in option.all("flag")]
    if any(flag.get(key) == "disable" for flag in flags for key in ("contact", "constraint")):
        return
    kinds: dict[Touching, None] = {}
    still: list[str] = []
    ground: list[str] = []
    for geom, body in geoms:
        found = touching(geom, hosts[body])
        kinds.setdefault(found)
        if found.body == WORLD and (found.contype or found.conaffinity):
            (ground if geom.get("type") in _GROUND else still).append(geom.get("name") or "")
    standing = [kind for kind in kinds if kind.body == WORLD][:_MOST]
    moving = [kind for kind in kinds if kind.body != WORLD][:_MOST]
    lands = any(a.touches(b, parents) for a in standing for b in moving)
    if not lands and not any(a.touches(b, parents) for a, b in combinations(moving, 2)):
        return
    names = [name for name in ground or still if name]
    named = f"{'the ground' if ground else 'what stands still'}{f' ({listed(names, 3)})' if names else ''}"
    missing = f"bodies go through {named} in the file" if lands else "bodies pass through each other"
    builder.note(
        f"Contacts of geoms are not read: {missing}. Declare those that count, with build.contact(...) or, "
        'after save(model, "NAME.toml"), as [[contact]] tables there.'
    )
