"""Meshes of MJCF: where their files are, how they are scaled, and what they weigh."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path, PurePosixPath

import numpy as np

from polhode.model import Faults, ModelError
from polhode.model.errors import closest
from polhode.spatial import Mesh
from polhode.spatial.hull import convex_hull
from polhode.spatial.solids import RULES, Bulk, bulk

from .meshes import read_mesh
from .mjcf_text import Classes
from .xml import Element, numbers, to_number

SMALLEST = 1e-15  # volume that counts, as in MuJoCo
MOST_WORDS = 3_000_000  # of a mesh that is written out


@dataclass(frozen=True, slots=True, kw_only=True)
class Asset:
    """A mesh of the file: its own place, or its text, and how it is moved: scale R^T (v - at)."""

    name: str
    element: Element
    path: Path | None
    points: np.ndarray | None
    rule: str
    scale: tuple[float, ...]
    at: np.ndarray
    R: np.ndarray

    @property
    def affine(self) -> np.ndarray:
        """What takes the vertices of the file to those of the mesh, (4, 4)."""
        A = np.eye(4)
        A[:3, :3] = np.diag(self.scale) @ self.R.T
        A[:3, 3] = -A[:3, :3] @ self.at
        return A


class Assets:
    """The meshes of <asset>, read when they are asked for."""

    def __init__(self, root: Element, classes: Classes, folder: Path | None, faults: Faults) -> None:
        self.compiler: dict[str, str] = {}
        for compiler in root.all("compiler"):
            self.compiler |= compiler.attributes
        self.folder = folder
        self.elements: dict[str, Element] = {}
        for section in root.all("asset"):
            for element in section.all("mesh"):
                filled = classes.filled(element, None)
                name = filled.get("name") or PurePosixPath((filled.get("file") or "").replace("\\", "/")).stem
                if name:
                    self.elements.setdefault(name, filled)
        self._assets: dict[str, Asset] = {}
        self._bulk: dict[str, Bulk] = {}

    def told(self, element: Element, key: str, default: str) -> str:
        """What <compiler> says in the file that has an element."""
        return (self.compiler if element.scope is None else element.scope.compiler).get(key, default).strip()

    def fits_boxes(self, element: Element) -> bool:
        """Whether geoms are fitted to boxes around meshes."""
        return self.told(element, "fitaabb", "") == "true"

    def path(self, file: str, element: Element) -> Path | None:
        """Where the file of a mesh is: from the folder of its model, else from that of the included file with it."""
        name, beside = PurePosixPath(file.replace("\\", "/")), element.folder
        folder = self.folder if element.scope is None else element.scope.folder
        if folder is None or "\0" in file:
            return None
        strip = self.told(element, "strippath", "") == "true"
        meshdir = self.told(element, "meshdir", self.told(element, "assetdir", ""))
        first = folder.absolute() / meshdir / (name.name if strip else name)
        return first if beside is None or strip or is_there(first) else beside / name

    def asset(self, name: str) -> Asset:
        """The mesh of that name; a ModelError says what is wrong with it."""
        if name not in self._assets:
            self._assets[name] = self._asset(name)
        return self._assets[name]

    def _asset(self, name: str) -> Asset:
        what = f"Mesh {name!r:.60}"
        if name not in self.elements:
            raise ModelError([f"{what} is not in <asset>. {closest(name, self.elements)}"])
        element, faults = self.elements[name], Faults()
        scale = numbers(element, "scale", 3, f"{what}: scale", faults, (1, 1, 1))
        at = numbers(element, "refpos", 3, f"{what}: refpos", faults, (0, 0, 0))
        turn = numbers(element, "refquat", 4, f"{what}: refquat", faults, (1, 0, 0, 0))
        usual = "exact" if self.told(element, "exactmeshinertia", "") == "true" else "legacy"
        rule = element.get("inertia") or usual
        if rule not in RULES:
            faults.add(f"{what}: inertia is {rule!r:.60}, expected {', '.join(RULES)}.")
        if not any(turn) or 0 in scale:
            faults.add(f"{what}: {'refquat' if not any(turn) else 'scale'} has a length of 0, expected more or less.")
        if (
            kind := next((key for key in ("builtin", "plugin") if element.get(key) not in (None, "none")), None)
        ) or any(child.tag == "plugin" for child in element.children):
            faults.add(f"{what} is made by a {kind or 'plugin'}, which only MuJoCo can do. Write it to a file.")
        faults.raise_any()
        file, path, points = element.get("file"), None, None
        if file is None:
            points = _rows(element, "vertex", what)
        elif (path := self.path(file, element)) is None:
            raise ModelError([f"{what} is in the file {file!r:.80}: load the model from its file."])
        return Asset(
            name=name, element=element, path=path, points=points, rule=rule, scale=tuple(map(float, scale)),
            at=np.array(at, dtype=float), R=_rotation(np.array(turn, dtype=float)),
        )  # fmt: skip

    def surface(self, asset: Asset) -> Mesh:
        """The mesh as the file has it, not yet moved."""
        if asset.path is not None:
            try:
                return read_mesh(asset.path, mujoco=True)
            except ModelError as error:
                file = asset.element.get("file")
                raise ModelError([f"Mesh {asset.name!r:.60}, {file!r:.80}: {text}" for text in error.faults]) from None
        assert asset.points is not None
        what = f"Mesh {asset.name!r:.60}"
        try:
            if asset.element.get("face") is None:  # points alone are their convex hull
                return convex_hull(asset.points)
            faces = _rows(asset.element, "face", what)
            if (faces != np.round(faces)).any():
                raise ValueError("face has numbers that are not whole, expected places of vertices.")
            return Mesh(asset.points, faces.astype(np.int64))
        except ValueError as error:
            raise ModelError([f"{what}: {str(error).removeprefix('Mesh: ')}"]) from None

    def bulk(self, name: str) -> Bulk:
        """What the mesh weighs at density 1, in the axes of its geom; a ModelError says why it does not."""
        if name not in self._bulk:
            asset = self.asset(name)
            what = f"Mesh {name!r:.60}"
            try:
                found = bulk(self.surface(asset).moved(asset.affine), asset.rule)
            except ValueError as error:
                raise ModelError([f"{what}: {error}"]) from None
            if not found.volume > SMALLEST:
                said = f"{what} encloses a volume of {found.volume:.3g}, expected more than {SMALLEST:g}."
                raise ModelError([f'{said} Turn its faces outwards, or give it inertia="convex" or "shell".'])
            self._bulk[name] = found
        return self._bulk[name]


def is_there(path: Path) -> bool:
    """Whether there is such a file."""
    try:
        return path.is_file()
    except (OSError, ValueError):
        return False


def principal(found: Bulk) -> tuple[np.ndarray, np.ndarray]:
    """Half the edges of the box with that inertia, the longest last, and its axes as columns."""
    moments, axes = np.linalg.eigh(found.I)
    moments, axes = moments[::-1], axes[:, ::-1].copy()
    if np.linalg.det(axes) < 0:
        axes[:, 2] *= -1
    squares = 6 * (moments.sum() - 2 * moments) / found.volume
    return np.sqrt(np.maximum(squares, 0)) / 2, axes


def fitted(kind: str, half: np.ndarray, scale: float) -> list[float]:
    """The sizes of a primitive that is fitted to a mesh with that box."""
    a, b, c = (float(x) for x in half)
    across = (a + b) / 2
    found = {
        "sphere": [(a + b + c) / 3],
        "capsule": [across, max(0.0, c - across / 2)],
        "cylinder": [across, c],
        "ellipsoid": [a, b, c],
        "box": [a, b, c],
    }[kind]
    return [scale * x for x in found]


def _rotation(q: np.ndarray) -> np.ndarray:
    w, x, y, z = q / np.linalg.norm(q)
    return np.array([
        [1 - 2 * (y * y + z * z), 2 * (x * y - w * z), 2 * (x * z + w * y)],
        [2 * (x * y + w * z), 1 - 2 * (x * x + z * z), 2 * (y * z - w * x)],
        [2 * (x * z - w * y), 2 * (y * z + w * x), 1 - 2 * (x * x + y * y)],
    ])  # fmt: skip


def _rows(element: Element, key: str, what: str) -> np.ndarray:
    """Numbers of an attribute, three and three."""
    words = (element.get(key) or "").split(maxsplit=MOST_WORDS)
    found = [to_number(word) for word in words]
    if not words or len(words) % 3 or len(words) > MOST_WORDS or any(x is None for x in found):
        said = f"{len(words)} words" if words else "nothing"
        raise ModelError([f"{what}: {key} has {said}, expected numbers, three for each, or a file."])
    return np.array(found, dtype=float).reshape(-1, 3)
