"""Kernels that come with the package, as LLVM IR: nobody has to wait for Numba, nor have it.

`make kernels` writes one file for each kernel and layout of its arguments, and an index
with a hash of the sources it was made from. The code is what Numba made of them, without
a word about the processor: it becomes object code here, which is kept in the cache.
"""

from __future__ import annotations

import ctypes
import hashlib
import json
import lzma
from collections.abc import Callable
from functools import lru_cache
from pathlib import Path
from typing import Any

from polhode.compile import cache
from polhode.compile import invoke as _invoke
from polhode.compile.native import Loaded, host, object_code

FOLDER = Path(__file__).parent / "ir"
INDEX = FOLDER / "index.json"
OPTIONS = {"nogil": True, "error_model": "numpy", "fastmath": {"contract"}, "_nrt": False}  # of Numba
_AROUND = ("__init__", "arguments", "kernel", "shipped")  # how kernels are called: the others are compiled into them
RESULTS = {"none": None, "bool": ctypes.c_bool, "int": ctypes.c_int64}
_loaded: list[Loaded] = []  # code lives as long as the process


@lru_cache(maxsize=1)
def sources() -> str:
    """A hash of all files with kernels, for they are compiled into each other, and of how."""
    files = sorted(path for path in Path(__file__).parent.glob("*.py") if path.stem not in _AROUND)
    used = [path.read_bytes() for path in files]
    used += [Path(_invoke.__file__).read_bytes(), repr(OPTIONS).encode()]
    return hashlib.sha256(b"".join(text.replace(b"\r\n", b"\n") for text in used)).hexdigest()


@lru_cache(maxsize=1)
def index() -> dict[str, Any]:
    """What is shipped: {"sources": hash, "kernels": {name: {layout: {"file", "digest", "returns", "vectorised"}}}}."""
    found: dict[str, Any] = json.loads(INDEX.read_bytes()) if INDEX.exists() else {"sources": "", "kernels": {}}
    return found


def is_current() -> bool:
    """Tell whether what is shipped was made from the sources as they are."""
    return bool(index()["sources"] == sources())


def find(name: str, layout: str) -> Callable[[int], Any] | None:
    """The function of a kernel for arguments of a layout, as called with the address of its words; None without."""
    entry = index()["kernels"].get(name, {}).get(layout) if is_current() else None
    if entry is None:
        return None
    return load(entry["digest"], entry["returns"], lambda: read(entry["file"]), entry["vectorised"])


def read(file: str) -> str:
    """The text of a shipped file."""
    return lzma.decompress((FOLDER / file).read_bytes()).decode()


def load(digest: str, returns: str, text: Callable[[], str], vectorised: bool = False) -> Callable[[int], Any]:
    """Take the object code of IR from the cache, or make and keep it; the function `kernel` in it.

    digest     : of the text, which is only read when it is not in the cache
    vectorised : whether its loops are to run in lanes; that takes longer to compile
    """
    name = cache.key("kernel", host().key(), digest, f"{vectorised}")
    code = cache.read(name)
    if code is None:
        code = object_code(text(), vectorised)
        cache.write(name, code)
    _loaded.append(Loaded(code))
    # ctypes lets go of the GIL during the call
    found: Callable[[int], Any] = ctypes.CFUNCTYPE(RESULTS[returns], ctypes.c_void_p)(_loaded[-1].address("kernel"))
    return found
