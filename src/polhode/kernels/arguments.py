"""The arguments of a kernel as a row of 8-byte words, and how they are laid out there.

An array is its address and its shape, a number its bits, a NamedTuple its members in
order; None takes no room. The layout says in words what the code must be made for:

    Machine(nq=int, tau=f8[1], held=None), float, f8[2]
"""

from __future__ import annotations

import struct
from array import array
from collections.abc import Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np


@dataclass(frozen=True, slots=True, kw_only=True)
class Packed:
    """The words, and the layout of what they stand for."""

    words: array[int]
    layout: str


def pack(values: Sequence[Any]) -> Packed:
    """Lay out the arguments of a call. Arrays are not copied: they must outlive the words."""
    words: list[int] = []
    layout = ", ".join([_packed(value, words) for value in values])
    return Packed(words=array("q", words), layout=layout)


def _packed(value: Any, words: list[int]) -> str:
    """Add the words of a value; return its layout."""
    if isinstance(value, np.ndarray):
        words.append(value.__array_interface__["data"][0])
        words.extend(value.shape)
        return _array(value)
    if value is None:
        return "None"
    if isinstance(value, (bool, np.bool_)):
        words.append(int(value))
        return "bool"
    if isinstance(value, float):
        words.append(struct.unpack("=q", struct.pack("=d", value))[0])
        return "float"
    if isinstance(value, Integral):
        words.append(int(value))
        return "int"
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        named = zip(value._fields, value, strict=True)
        members = ", ".join([f"{name}={_packed(member, words)}" for name, member in named])
        return f"{type(value).__name__}({members})"
    raise TypeError(f"A kernel takes arrays, numbers and NamedTuples of them, found {value!r:.60}.")


def _array(value: np.ndarray) -> str:
    flags = value.flags
    kind = value.dtype.str.removeprefix("<" if struct.pack("=h", 1)[0] else ">")
    strange = ("" if flags.c_contiguous else " strided") + ("" if flags.writeable else " read-only")
    return f"{kind}[{value.ndim}]{strange}{'' if flags.aligned else ' unaligned'}"
