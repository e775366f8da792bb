"""Mesh files: STL, OBJ, MuJoCo's MSH, Collada and arrays, read as somebody else's files.

Nothing in them is evaluated; counts and sizes are bounded, and numbers must be finite.
"""

from __future__ import annotations

import zipfile
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path

import numpy as np

from polhode.model import ModelError
from polhode.model.fields import KNOWN_MESHES
from polhode.spatial import Mesh
from polhode.spatial.mesh import MOST

from .mesh_dae import read_dae
from .mesh_obj import read_obj
from .mesh_stl import read_stl

LARGEST = 256 * 2**20  # bytes of a mesh file
KEPT = 256  # meshes that are remembered


def read_mesh(path: str | Path, mujoco: bool = False) -> Mesh:
    """Read a mesh from a file, by how its name ends: .stl, .obj, .dae, .msh (MuJoCo's), .npz (as `save` writes).

    mujoco : whether only what MuJoCo counts of an .obj is wanted, for an inertia

    What is read is remembered until the file changes. A fault is a ModelError.
    """
    path = Path(path)
    try:
        if not path.exists():
            raise ModelError(["there is no such file."], str(path))
        if not path.is_file():
            raise ModelError(["this is no regular file, expected a mesh."], str(path))
        told = path.stat()
    except (OSError, ValueError) as error:
        if isinstance(error, ModelError):
            raise
        raise ModelError(
            [f"the file cannot be read: {getattr(error, 'strerror', None) or error}."], str(path)
        ) from None
    if told.st_size > LARGEST:
        raise ModelError([f"the mesh has {told.st_size:,} bytes, expected {LARGEST:,} at most."], str(path))
    return _read(path, told.st_mtime_ns, told.st_size, mujoco)


@lru_cache(maxsize=KEPT)
def _read(path: Path, _changed: int, _size: int, mujoco: bool) -> Mesh:
    reader = READERS.get(path.suffix.lower())
    if reader is None:
        raise ModelError([f"meshes end in {', '.join(READERS)}, found {path.suffix!r:.20}."], str(path))
    try:
        data = path.read_bytes()
        return read_obj(data, path, True) if mujoco and reader is read_obj else reader(data, path)
    except (OSError, ValueError, MemoryError) as error:
        if isinstance(error, ModelError):
            raise ModelError(error.faults, str(path)) from None
        said = getattr(error, "strerror", None) or str(error).removeprefix("Mesh: ")
        raise ModelError([said], str(path)) from None


def read_msh(data: bytes, _path: Path) -> Mesh:
    """MuJoCo's own: four counts, then vertices, normals, texture coordinates and faces, little-endian."""
    counts = np.frombuffer(data[:16].ljust(16, b"\xff"), dtype="<i4")
    if counts.min() < 0 or counts.max() > MOST:
        raise ValueError("the file does not begin with four counts, expected MuJoCo's binary MSH.")
    v, n, t, f = (int(count) for count in counts)
    wanted = 16 + 4 * (3 * v + 3 * n + 2 * t + 3 * f)
    if len(data) != wanted:
        raise ValueError(f"the file has {len(data):,} bytes, expected {wanted:,} by its counts of MuJoCo's binary MSH.")
    vertices = np.frombuffer(data, dtype="<f4", count=3 * v, offset=16).reshape(-1, 3)
    faces = np.frombuffer(data, dtype="<i4", count=3 * f, offset=wanted - 12 * f).reshape(-1, 3)
    return Mesh(vertices, faces)


def read_arrays(_data: bytes, path: Path) -> Mesh:
    """NumPy's .npz with vertices, triangles and maybe colors, without pickles."""
    try:
        _bounded(path)
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in ("vertices", "triangles", "colors") if name in file.files}
        return Mesh(arrays["vertices"], arrays["triangles"], arrays.get("colors"))
    except (KeyError, EOFError, zipfile.BadZipFile):
        raise ValueError("the file has no mesh, expected arrays called vertices and triangles.") from None


def _bounded(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        if (size := sum(part.file_size for part in archive.infolist())) > LARGEST:
            raise ValueError(f"the arrays have {size:,} bytes, expected {LARGEST:,} at most.")


def beside(path: Path) -> Callable[[str, str], Mesh | str]:
    """Finds meshes that a file names, from its folder: arrays are read at once, of others only where they are."""

    def found(name: str, what: str) -> Mesh | str:
        if name in KNOWN_MESHES:
            return name
        place = path.parent.absolute() / name
        if place.suffix.lower() != ".npz":
            return str(place)
        try:
            return read_mesh(place)
        except ModelError as error:
            raise ModelError([f"{what}: file {name!r:.80}: {text}" for text in error.faults]) from None

    return found


def save_mesh(mesh: Mesh, path: Path) -> None:
    """Write a mesh as arrays."""
    v, f = mesh.vertices, mesh.triangles.astype(np.int32)
    with path.open("wb") as stream:
        if mesh.colors is None:
            np.savez_compressed(stream, vertices=v, triangles=f)
        else:
            np.savez_compressed(stream, vertices=v, triangles=f, colors=mesh.colors)


READERS: dict[str, Callable[[bytes, Path], Mesh]] = {
    ".stl": lambda data, _: read_stl(data),
    ".obj": read_obj,
    ".dae": lambda data, _: read_dae(data),
    ".msh": read_msh,
    ".npz": read_arrays,
}
