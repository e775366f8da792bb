"""The arguments of a kernel as a row of 8-byte words, and how they are laid out there.

An array is its address and its shape, a number its bits, a NamedTuple its members in
order; None takes no room. The layout says in words what the code must be made for:

    Machine(nq=int, tau=f8[1], held=None), float, f8[2]
"""

from __future__ import annotations

from array import array
from collections.abc import Hashable, Iterable
from ctypes import addressof, c_char
from numbers import Integral
from struct import Struct
from typing import Any

import numpy as np

_bits = Struct("=d").pack, Struct("=q").unpack
_start = (c_char * 0).from_buffer  # of a contiguous array that may be written: a fifth of the time of `ctypes.data`
_PLAIN, _ALIGNED = 0x001 | 0x400, 0x100  # NumPy's flags


def pack(values: Iterable[Any]) -> tuple[array[int], Hashable]:
    """The words of arguments, and a key: equal for arguments of one layout.

    Arrays are not copied: they must outlive the words.
    """
    words: list[int] = []
    key = tuple([_packed(value, words) for value in values])
    return array("q", words), key


def _packed(value: Any, words: list[int]) -> Hashable:
    """Add the words of a value; return its part of the key."""
    kind = type(value)
    if kind is np.ndarray:
        flags = value.flags.num
        words.append(addressof(_start(value)) if flags & _PLAIN == _PLAIN else value.ctypes.data)
        words += value.shape
        return value.dtype, value.ndim, flags & (_PLAIN | _ALIGNED)
    if value is None:
        return None
    if kind is float or kind is np.float64:
        words += _bits[1](_bits[0](value))
        return float
    if kind is int or kind is bool or isinstance(value, (Integral, np.bool_)):
        words.append(int(value))
        return bool if isinstance(value, (bool, np.bool_)) else int
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return kind, *[_packed(member, words) for member in value]
    raise TypeError(f"A kernel takes arrays, numbers and NamedTuples of them, found {value!r:.60}.")


def layout(values: Iterable[Any]) -> str:
    """What code for such arguments must be made for, in words."""
    return ", ".join(map(_worded, values))


def _worded(value: Any) -> str:
    if isinstance(value, np.ndarray):
        flags = value.flags
        strange = ("" if flags.c_contiguous else " strided") + ("" if flags.writeable else " read-only")
        kind = str(value.dtype.descr) if value.dtype.names else value.dtype.str.lstrip("<=|")
        return f"{kind}[{value.ndim}]{strange}{'' if flags.aligned else ' unaligned'}"
    if isinstance(value, tuple):
        members = [f"{name}={_worded(member)}" for name, member in zip(value._fields, value, strict=True)]  # type: ignore[attr-defined]
        return f"{type(value).__name__}({', '.join(members)})"
    if value is None:
        return "None"
    return "float" if isinstance(value, float) else "bool" if isinstance(value, (bool, np.bool_)) else "int"
