"""Wavefront OBJ: vertices and faces, and the colours of its materials."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from polhode.spatial import Mesh

from .polygons import triangles_of
from .xml import to_number

GREY = (180, 186, 192)  # of faces without a material, in a file with materials
LARGEST = 2**20  # bytes of a file of materials
MOST_CORNERS = 1000  # of a face


def read_obj(data: bytes, path: Path, mujoco: bool = False) -> Mesh:
    """Read OBJ; faces with more corners than three are cut as MuJoCo does, curves left out.

    mujoco : whether only what MuJoCo counts is wanted, the first object or group that has faces, with the holes that
             its loader leaves in faces of more than four corners
    """
    vertices: list[list[bytes]] = []
    faces: list[list[int]] = []
    colors: list[tuple[int, ...] | None] = []
    materials: dict[str, tuple[int, ...]] = {}
    color: tuple[int, ...] | None = None
    counts = True
    for number, line in enumerate(data.splitlines(), 1):
        words = line.split()
        if not words:
            continue
        if words[0] == b"v":
            if len(words) < 4:
                raise ValueError(f"line {number}: a vertex has {len(words) - 1} numbers, expected three.")
            vertices.append(words[1:4])
        elif mujoco and faces and words[0] in (b"o", b"g"):
            counts = False
        elif words[0] == b"f" and counts:
            faces.append(_corners(words[1:], len(vertices), number))
            colors.append(color)
        elif words[0] == b"mtllib" and len(words) > 1:
            materials |= _materials(path.parent / Path(_text(b" ".join(words[1:]))).name)
        elif words[0] == b"usemtl":
            color = materials.get(_text(b" ".join(words[1:])))
    try:
        places = np.array(vertices, dtype=bytes).astype(float).reshape(-1, 3)
    except ValueError:
        raise ValueError("a vertex is no number, expected three numbers after each 'v'.") from None
    if not faces:
        raise ValueError("there are no faces, expected lines that begin with 'f'.")
    single = places.astype(np.float32)
    cut = [triangles_of(face, single, mujoco) for face in faces]
    triangles = np.array([t for each in cut for t in each], dtype=np.int64).reshape(-1, 3)
    painted = [c or GREY for c, each in zip(colors, cut, strict=True) for _ in each] if any(colors) else None
    return Mesh(places, triangles, painted)


def _corners(words: list[bytes], known: int, number: int) -> list[int]:
    """The vertices of a face: the first number of each word, from 1, or counted back from the last one."""
    if not 3 <= len(words) <= MOST_CORNERS:
        raise ValueError(f"line {number}: a face has {len(words)} corners, expected 3 to {MOST_CORNERS}.")
    found = []
    for word in words:
        text = word.split(b"/", 1)[0]
        if not text.lstrip(b"-").isdigit() or len(text) > 10:
            raise ValueError(f"line {number}: a face names vertex {_text(text)!r:.20}, expected a whole number.")
        k = int(text)
        k = k - 1 if k > 0 else known + k if k < 0 else -1
        if not 0 <= k < known:
            raise ValueError(f"line {number}: a face names vertex {int(text)}, and there are {known} before it.")
        found.append(k)
    return found


def _materials(path: Path) -> dict[str, tuple[int, ...]]:
    """The colours of a file of materials, by name; none where it is missing."""
    found: dict[str, tuple[int, ...]] = {}
    try:
        if not path.is_file() or path.stat().st_size > LARGEST:
            return {}
        lines = path.read_bytes().splitlines()
    except (OSError, ValueError):
        return {}
    name = ""
    for line in lines:
        words = line.split()
        if words[:1] == [b"newmtl"]:
            name = _text(b" ".join(words[1:]))
        elif words[:1] == [b"Kd"] and len(words) == 4 and name:
            parts = [to_number(_text(word)) for word in words[1:]]
            if all(part is not None and 0 <= part <= 1 for part in parts):
                found[name] = tuple(round(255 * part) for part in parts if part is not None)
    return found


def _text(words: bytes) -> str:
    return words.decode("utf-8", "replace")
