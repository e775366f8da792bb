"""How the loops of this stage are compiled."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any, TypeVar, cast

from numba import njit

from polhode.compile import invoke

F = TypeVar("F", bound=Callable[..., Any])


def kernel(function: F) -> F:
    """Compile a function with Numba when it is first called; the code is kept on disk.

    It runs without the GIL. Arrays are not counted (`_nrt`): they belong to the
    caller, and a count would cost more than a short step. So a kernel makes no arrays.
    Multiply-adds may be contracted; NaN and Inf survive, also a division by zero.
    Where a kernel calls another, that becomes part of it.
    """
    return _compiled(function, forceinline=True)


def helper(function: F) -> F:
    """Compile a function that only kernels call: it has no way in from Python, which takes long to compile."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True)


def inlined(function: F) -> F:
    """Compile a helper into those that call it: for parts of a loop, whose many arguments take longer than a call."""
    return _compiled(function, no_cpython_wrapper=True, no_cfunc_wrapper=True, forceinline=True)


def _compiled(function: F, **options: Any) -> F:
    options = {"forceinline": False} | options  # else it is taken from the caller that is compiled first
    options |= {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}
    try:
        made = njit(function, cache=True, **options)
    except RuntimeError:  # no folder can be written to
        made = njit(function, **options)
    # Numba looks at the function's own file only, to see whether the code on disk is out of date
    kept = getattr(getattr(made, "_cache", None), "_cache_file", None)
    if kept is not None:
        kept._source_stamp = _sources()
    return cast(F, made)


@lru_cache(maxsize=1)
def _sources() -> str:
    """A hash of all files with kernels, for they are compiled into each other."""
    files = [path.read_bytes() for path in sorted(Path(__file__).parent.glob("*.py"))]
    used = [
        Path(invoke.__file__).read_bytes(),
        *(text for text in files if b"njit" in text or b".kernel import" in text),
    ]
    return hashlib.sha256(b"".join(used)).hexdigest()
