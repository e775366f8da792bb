"""STL, binary and text: loose triangles."""

from __future__ import annotations

import re

import numpy as np

from polhode.spatial import Mesh
from polhode.spatial.mesh import MOST, welded

_VERTEX = re.compile(rb"\bvertex\s+(\S{1,40})\s+(\S{1,40})\s+(\S{1,40})")


def read_stl(data: bytes) -> Mesh:
    """Read STL; normals are left out, the order of the corners says what is outside."""
    if len(data) >= 84:
        n = int.from_bytes(data[80:84], "little")
        if len(data) == 84 + 50 * n or (not data.lstrip().startswith(b"solid") and len(data) > 84 + 50 * n):
            return _binary(data, n)
    if data.lstrip().startswith(b"solid") and b"endfacet" in data:
        return _text(data)
    raise ValueError(f"the file has {len(data):,} bytes, expected STL: 84, and 50 for each triangle, or text.")


def _binary(data: bytes, n: int) -> Mesh:
    if n > MOST:
        raise ValueError(f"there are {n:,} triangles, expected {MOST:,} at most.")
    row = np.dtype([("normal", "<f4", 3), ("corners", "<f4", (3, 3)), ("spare", "<u2")])
    return _made(np.frombuffer(data, dtype=row, count=n, offset=84)["corners"].astype(float))


def _text(data: bytes) -> Mesh:
    words = _VERTEX.findall(data)
    if len(words) != 3 * data.count(b"endfacet"):
        raise ValueError(
            f"there are {len(words)} vertices in {data.count(b'endfacet')} facets, expected three in each."
        )
    try:
        corners = np.array(words).astype(float).reshape(-1, 3, 3)
    except ValueError:
        raise ValueError("a vertex is no number, expected three numbers after each 'vertex'.") from None
    return _made(corners)


def _made(corners: np.ndarray) -> Mesh:
    if not np.isfinite(corners).all():
        raise ValueError("a vertex is infinite or no number, expected finite numbers.")
    return welded(corners)
