"""Collada (DAE): the triangles of its scene, with the diffuse colours of their materials."""

from __future__ import annotations

import numpy as np

from polhode.spatial import Mesh
from polhode.spatial.mesh import MOST

from .xml import Element, parse, to_number

DEEPEST = 64  # nodes within nodes
MOST_INSTANCES = 10_000
MOST_CORNERS = 1000  # of a face
GREY = (180, 186, 192)


def read_dae(data: bytes) -> Mesh:
    """Read Collada: geometries where the nodes of the scene put them, in metres.

    Which axis is up is left out, as other readers of robots do; curves, skins and textures too.
    """
    try:
        root = parse(data.decode("utf-8-sig"))
    except UnicodeDecodeError:
        raise ValueError("the file is not text (UTF-8), expected Collada.") from None
    if root.tag.rsplit(":")[-1] != "COLLADA":
        raise ValueError(f"the root element is <{root.tag:.40}>, expected <COLLADA>.")
    return _Reader(root).read()


class _Reader:
    def __init__(self, root: Element) -> None:
        self.root = root
        self.ids = {e.attributes["id"]: e for e in root.walk() if "id" in e.attributes}
        self.instances = 0
        self.vertices: list[np.ndarray] = []
        self.triangles: list[np.ndarray] = []
        self.colors: list[np.ndarray] = []
        self.count, self.faces, self.painted = 0, 0, False

    def read(self) -> Mesh:
        unit = next((to_number(e.get("meter") or "") for a in self.root.all("asset") for e in a.all("unit")), None)
        base = np.diag([*[float(unit or 1)] * 3, 1.0])
        scenes = [e for top in self.root.all("library_visual_scenes") for e in top.all("visual_scene")]
        chosen = [self.linked(e) for s in self.root.all("scene") for e in s.all("instance_visual_scene")]
        for scene in [e for e in chosen if e is not None] or scenes[:1]:
            for node in scene.all("node"):
                self.node(node, base, 0)
        if not scenes:
            for library in self.root.all("library_geometries"):
                for geometry in library.all("geometry"):
                    self.geometry(geometry, base, {})
        if not self.triangles:
            raise ValueError("there are no triangles in the scene, expected <triangles> or <polylist>.")
        colors = np.concatenate(self.colors) if self.painted else None
        return Mesh(np.concatenate(self.vertices), np.concatenate(self.triangles), colors)

    def linked(self, element: Element, key: str = "url") -> Element | None:
        return self.ids.get((element.get(key) or "").removeprefix("#"))

    def node(self, node: Element, above: np.ndarray, depth: int) -> None:
        if depth > DEEPEST:
            raise ValueError(f"nodes are nested more than {DEEPEST} deep.")
        X = above
        for child in node.children:
            X = X @ _step(child)
        for child in node.children:
            if child.tag == "node":
                self.node(child, X, depth + 1)
            elif child.tag in ("instance_geometry", "instance_node"):
                self.instances += 1
                if self.instances > MOST_INSTANCES:
                    raise ValueError(f"there are more than {MOST_INSTANCES:,} instances.")
                found = self.linked(child)
                if found is not None and child.tag == "instance_node":
                    self.node(found, X, depth + 1)
                elif found is not None:
                    bound = {e.get("symbol") or "": e for e in child.walk() if e.tag == "instance_material"}
                    self.geometry(found, X, bound)

    def geometry(self, geometry: Element, X: np.ndarray, bound: dict[str, Element]) -> None:
        for mesh in geometry.all("mesh"):
            for part in mesh.all("triangles", "polylist", "polygons"):
                found = self.part(part)
                if found is None:
                    continue
                places, faces = found
                if np.linalg.det(X[:3, :3]) < 0:
                    faces = faces[:, ::-1]
                color = self.color(bound.get(part.get("material") or ""), part.get("material"))
                self.painted |= color is not None
                self.colors.append(np.tile(np.array(color or GREY), (len(faces), 1)))
                self.vertices.append(places @ X[:3, :3].T + X[:3, 3])
                self.triangles.append(faces + self.count)
                self.count += len(places)
                self.faces += len(faces)
                if max(self.count, self.faces) > MOST:
                    raise ValueError(f"the scene has more than {MOST:,} triangles or vertices.")

    def part(self, part: Element) -> tuple[np.ndarray, np.ndarray] | None:
        """Vertices and triangles of one list of faces."""
        inputs = part.all("input")
        offsets = [int(to_number(e.get("offset") or "0") or 0) for e in inputs]
        at = next((k for e, k in zip(inputs, offsets, strict=True) if e.get("semantic") == "VERTEX"), None)
        vertex = next((e for e in inputs if e.get("semantic") == "VERTEX"), None)
        listed = [_whole(p.text) for p in part.all("p")]
        if at is None or vertex is None or not listed or min(offsets) < 0 or max(offsets) > 64:
            return None
        stride = max(offsets) + 1
        each = [found[at::stride] for found in listed]
        if any(len(found) % stride for found in listed):
            raise ValueError(f"<p> on line {part.line} has no whole number of corners, expected {stride} numbers each.")
        places, index = self.positions(vertex), np.concatenate(each)
        if len(index) and (index.min() < 0 or index.max() >= len(places)):
            raise ValueError(f"<{part.tag}> on line {part.line} refers to a vertex that is not there.")
        if part.tag == "triangles":
            return (places, index.reshape(-1, 3)) if len(index) % 3 == 0 and len(index) else None
        counts = _whole("".join(e.text for e in part.all("vcount"))) if part.tag == "polylist" else None
        counts = np.array([len(found) for found in each]) if counts is None else counts
        if (many := int(counts.max(initial=0))) > MOST_CORNERS:
            raise ValueError(f"a face on line {part.line} has {many} corners, expected {MOST_CORNERS} at most.")
        if counts.sum() != len(index) or counts.min(initial=0) < 0:
            raise ValueError(f"<vcount> on line {part.line} counts {counts.sum()} corners, expected {len(index)}.")
        faces = _fans(index, counts)
        return (places, faces) if len(faces) else None

    def positions(self, vertex: Element) -> np.ndarray:
        """The array of places that an input leads to."""
        found = self.linked(vertex, "source")
        if found is not None and found.tag == "vertices":
            inner = next((e for e in found.all("input") if e.get("semantic") == "POSITION"), None)
            found = None if inner is None else self.linked(inner, "source")
        numbers = None if found is None else found.first("float_array")
        if found is None or numbers is None:
            raise ValueError(f"<input> on line {vertex.line} leads to no places, expected a <source> of numbers.")
        accessor = next((e for e in found.walk() if e.tag == "accessor"), None)
        stride = int(to_number((accessor.get("stride") if accessor else None) or "3") or 3)
        values = _floats(numbers.text)
        if not 3 <= stride <= 16 or len(values) % stride:
            raise ValueError(f"<source> on line {found.line} has {len(values)} numbers, expected rows of {stride}.")
        return values.reshape(-1, stride)[:, :3]

    def color(self, bound: Element | None, symbol: str | None) -> tuple[int, ...] | None:
        """The diffuse colour of a material."""
        material = self.linked(bound, "target") if bound is not None else self.ids.get(symbol or "")
        made = None if material is None else material.first("instance_effect")
        effect = None if made is None else self.linked(made)
        if effect is None:
            return None
        for diffuse in (e for e in effect.walk() if e.tag == "diffuse"):
            for child in diffuse.all("color"):
                parts = _floats(child.text)
                if len(parts) >= 3:
                    return tuple(round(255 * min(max(float(x), 0.0), 1.0)) for x in parts[:3])
        return None


def _fans(index: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Triangles of faces with any number of corners, from the first corner of each."""
    starts = np.cumsum([0, *counts[:-1]])
    rows = []
    for n in np.unique(counts):
        first = starts[counts == n]
        rows += [index[np.stack([first, first + k, first + k + 1], axis=1)] for k in range(1, int(n) - 1)]
    return np.concatenate(rows) if rows else np.zeros((0, 3), dtype=np.int64)


def _step(element: Element) -> np.ndarray:
    """How a child of a node moves it."""
    wanted = {"matrix": 16, "translate": 3, "rotate": 4, "scale": 3}.get(element.tag)
    X = np.eye(4)
    if wanted is None:
        return X
    x = _floats(element.text)
    if len(x) != wanted:
        raise ValueError(f"<{element.tag}> on line {element.line} has {len(x)} numbers, expected {wanted}.")
    if element.tag == "matrix":
        return x.reshape(4, 4)
    if element.tag == "translate":
        X[:3, 3] = x
    elif element.tag == "scale":
        X[:3, :3] = np.diag(x)
    elif (size := float(np.linalg.norm(x[:3]))) > 0:
        a, turn = x[:3] / size, np.radians(x[3])
        K = np.array([[0, -a[2], a[1]], [a[2], 0, -a[0]], [-a[1], a[0], 0]])
        X[:3, :3] = np.eye(3) + np.sin(turn) * K + (1 - np.cos(turn)) * K @ K
    return X


def _floats(text: str) -> np.ndarray:
    try:
        found = np.array(text.split(), dtype=float)
    except ValueError:
        raise ValueError("a list has words that are no numbers, expected numbers.") from None
    if not np.isfinite(found).all():
        raise ValueError("a list has infinite numbers, expected finite ones.")
    return found


def _whole(text: str) -> np.ndarray:
    try:
        return np.array(text.split(), dtype=np.int64)
    except (ValueError, OverflowError):
        raise ValueError("a list has words that are no whole numbers, expected whole numbers.") from None
