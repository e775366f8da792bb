"""The mesh of a CalculiX input file: nodes, solid elements and sets of nodes."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from polhode.model import ModelError

# corners around each face, and the node in the middle of each edge; as the manual counts them, from 1
_HEXAHEDRON = ((1, 2, 3, 4), (5, 8, 7, 6), (1, 5, 6, 2), (2, 6, 7, 3), (3, 7, 8, 4), (4, 8, 5, 1))
_TETRAHEDRON = ((1, 2, 3), (1, 4, 2), (2, 4, 3), (3, 4, 1))
_WEDGE = ((1, 2, 3), (4, 6, 5), (1, 4, 5, 2), (2, 5, 6, 3), (3, 6, 4, 1))
_EDGES = {
    8: ((1, 2), (2, 3), (3, 4), (4, 1), (5, 6), (6, 7), (7, 8), (8, 5), (1, 5), (2, 6), (3, 7), (4, 8)),
    4: ((1, 2), (2, 3), (3, 1), (1, 4), (2, 4), (3, 4)),
    6: ((1, 2), (2, 3), (3, 1), (4, 5), (5, 6), (6, 4), (1, 4), (2, 5), (3, 6)),
}
_FACES = {8: _HEXAHEDRON, 4: _TETRAHEDRON, 6: _WEDGE}
_CORNERS = {4: 4, 6: 6, 8: 8, 10: 4, 15: 6, 20: 8}
SHARP = np.cos(np.radians(30))  # faces that meet at a larger angle have an edge that is drawn


@dataclass(frozen=True, slots=True, kw_only=True)
class Solid:
    """An element: its nodes, the corners first."""

    nodes: tuple[int, ...]

    @property
    def corners(self) -> int:
        return _CORNERS[len(self.nodes)]

    def edges(self) -> dict[frozenset[int], list[int]]:
        """Between corners, with the node in the middle where there is one."""
        found = {}
        for k, (a, b) in enumerate(_EDGES[self.corners]):
            middle = [self.nodes[self.corners + k]] if len(self.nodes) > self.corners else []
            ends = self.nodes[a - 1], self.nodes[b - 1]
            found[frozenset(ends)] = [ends[0], *middle, ends[1]]
        return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Mesh:
    nodes: dict[int, tuple[float, float, float]]
    elements: tuple[Solid, ...]
    sets: dict[str, tuple[int, ...]]

    def edges(self) -> list[tuple[int, int]]:
        """Pairs of nodes that elements join, each once."""
        found = dict.fromkeys(
            (min(pair), max(pair))
            for element in self.elements
            for line in element.edges().values()
            for pair in pairwise(line)
        )
        return list(found)

    def outline(self) -> list[tuple[int, int]]:
        """Edges of the surface where it turns sharply."""
        once: dict[frozenset[int], tuple[int, ...] | None] = {}
        lines: dict[frozenset[int], list[int]] = {}
        for element in self.elements:
            lines.update(element.edges())
            for face in _FACES[element.corners]:
                corners = tuple(element.nodes[i - 1] for i in face)
                once[frozenset(corners)] = None if frozenset(corners) in once else corners
        normals: dict[frozenset[int], list[np.ndarray]] = {}
        for around in once.values():
            if around is not None:
                p = np.array([self.nodes[i] for i in around])
                n = np.cross(p[1] - p[0], p[-1] - p[0])
                for a, b in pairwise((*around, around[0])):
                    normals.setdefault(frozenset((a, b)), []).append(n / max(float(np.linalg.norm(n)), 1e-300))
        return [
            pair
            for ends, found in normals.items()
            if len(found) < 2 or found[0] @ found[1] < SHARP
            for pair in pairwise(lines[ends])
        ]


def read_mesh(text: str, source: str) -> Mesh:
    """Read *NODE, *ELEMENT and *NSET; other cards are of no concern here, but for those that turn or include."""
    nodes: dict[int, tuple[float, float, float]] = {}
    elements: list[Solid] = []
    sets: dict[str, list[int]] = {}
    for line, card, options, data in _cards(text):
        where = f"line {line}, *{card}"
        try:
            if card == "NODE":
                for row in data:
                    number, x, y, z = (*row, "0", "0", "0")[:4]
                    nodes[int(number)] = (float(x or 0), float(y or 0), float(z or 0))
                    if "NSET" in options:
                        sets.setdefault(options["NSET"], []).append(int(number))
            elif card == "ELEMENT":
                elements += _elements(options.get("TYPE", ""), [e for row in data for e in row if e], where)
            elif card == "NSET":
                own = sets.setdefault(options.get("NSET", ""), [])
                own += _members(data, "GENERATE" in options, sets)
            elif card in ("TRANSFORM", "INCLUDE"):
                remedy = "Leave it out" if card == "TRANSFORM" else "Put the text of that file in its place"
                raise ModelError([f"{where}: expected none. {remedy}."])
        except ModelError as error:
            raise ModelError(error.faults, source) from None
        except (ValueError, OverflowError):
            raise ModelError([f"{where}: has something else than numbers where they are expected."], source) from None
    if not nodes or not elements:
        raise ModelError(["has no *NODE or no *ELEMENT of solids, expected an input file of CalculiX."], source)
    for element in elements:
        for i in element.nodes:
            if i not in nodes:
                raise ModelError([f"an element has node {i}, which *NODE does not give."], source)
    return Mesh(nodes=nodes, elements=tuple(elements), sets={name: tuple(dict.fromkeys(s)) for name, s in sets.items()})


def _cards(text: str) -> Iterator[tuple[int, str, dict[str, str], list[list[str]]]]:
    """Each keyword with its line, its options and the lines of data below it, in capitals."""
    card, start = "", 0
    options: dict[str, str] = {}
    data: list[list[str]] = []
    for number, raw in enumerate(text.splitlines(), 1):
        line = raw.strip().upper()
        if not line or line.startswith("**"):
            continue
        if not line.startswith("*"):
            data.append([part.strip() for part in line.split(",")])
            continue
        if card:
            yield start, card, options, data
        card, *given = (part.strip() for part in line[1:].split(","))
        options = {k.strip(): v.strip() for k, _, v in (part.partition("=") for part in given)}
        start, data = number, []
    if card:
        yield start, card, options, data


def _elements(kind: str, numbers: list[str], where: str) -> list[Solid]:
    count = kind.removeprefix("C3D").rstrip("RIT") if kind.startswith("C3D") else ""
    if not count.isdecimal() or int(count) not in _CORNERS:
        raise ModelError(
            [
                f"{where}: elements of type {kind!r:.20}, expected solids: C3D4, C3D6, C3D8, C3D10, C3D15 or C3D20. "
                "Mesh with those; frames of beams are made with polhode.Frame."
            ]
        )
    width = int(count) + 1
    if len(numbers) % width:
        raise ModelError(
            [f"{where}: has {len(numbers)} numbers, expected a multiple of {width}: a number and the nodes."]
        )
    return [Solid(nodes=tuple(map(int, numbers[k + 1 : k + width]))) for k in range(0, len(numbers), width)]


def _members(data: list[list[str]], generate: bool, sets: dict[str, list[int]]) -> list[int]:
    if generate:
        found: list[int] = []
        for row in data:
            first, last, step = (*[int(e) for e in row if e], 1)[:3]
            if len(range(first, last + 1, step)) > 10**7:
                raise ValueError
            found += range(first, last + 1, step)
        return found
    return [i for row in data for e in row if e for i in (sets[e] if e in sets else [int(e)])]
