"""Arrays of many parts, and a record of what lies where in them.

Kernels pass these around as three arrays; a NamedTuple of all parts would be copied at every call.
"""

from __future__ import annotations

import ctypes
import math
from typing import Any

import numpy as np

Array = np.ndarray
Shapes = dict[str, tuple[str, ...]]


def laid(
    record: type[ctypes.Structure], sizes: dict[str, Any], reals: Shapes, wholes: Shapes
) -> tuple[Array, Array, Array]:
    """Room for the parts: real and whole numbers, and the record, (1,), with sizes and where each part starts."""
    places = np.zeros(1, dtype=np.dtype(record))
    for name, value in sizes.items():
        places[0][name] = value
    totals = []
    for parts in (reals, wholes):
        first = 0
        for name, terms in parts.items():
            places[0][name] = first
            first += math.prod(_shape(terms, sizes))
        totals.append(max(first, 1))
    return np.zeros(totals[0]), np.zeros(totals[1], dtype=np.int64), places


def seen(source: Array, places: Array, name: str, terms: tuple[str, ...], sizes: list[str]) -> Array:
    """A part by its name."""
    shape = _shape(terms, {size: int(places[0][size]) for size in sizes})
    first = int(places[0][name])
    return source[first : first + math.prod(shape)].reshape(shape)


def _shape(terms: tuple[str, ...], sizes: dict[str, Any]) -> tuple[int, ...]:
    """The shape of a part; "n +1" is a size and one more."""
    return tuple(sum(sizes[word] if word in sizes else int(word) for word in term.split(" +")) for term in terms)
