"""Object code on disk, one private folder a user.

An entry is named by the hash of what it was made from, and carries the hash of
what it holds: a truncated or altered entry is not loaded but made again.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import stat
import sys
import tempfile
import time
from pathlib import Path

_MAGIC = b"polhode1"
_MOST_BYTES = 512 * 2**20


def directory() -> Path | None:
    """The folder: $POLHODE_CACHE_DIR, or the user's cache folder; None for a user without a home."""
    if chosen := os.environ.get("POLHODE_CACHE_DIR"):
        return Path(chosen)
    chosen = os.environ.get("LOCALAPPDATA" if sys.platform == "win32" else "XDG_CACHE_HOME")
    if chosen:
        return Path(chosen) / "polhode"
    try:
        return Path.home() / ("Library/Caches" if sys.platform == "darwin" else ".cache") / "polhode"
    except RuntimeError:
        return None


def _private_folder() -> Path | None:
    """The folder, made if need be; None unless this user alone can write to it."""
    folder = directory()
    if folder is None:
        return None
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        info = folder.resolve().lstat()
    except OSError:
        return None
    mine = not hasattr(os, "getuid") or info.st_uid == os.getuid()
    shared = os.name == "posix" and info.st_mode & (stat.S_IWGRP | stat.S_IWOTH)
    return folder if stat.S_ISDIR(info.st_mode) and mine and not shared else None


def key(*parts: str) -> str:
    """Name an entry by everything its code depends on."""
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def read(name: str) -> bytes | None:
    """Take an entry; None if there is none that can be trusted."""
    folder = _private_folder()
    if folder is None:
        return None
    path = folder / f"{name}.o"
    try:
        content = path.read_bytes()
    except OSError:
        return None
    head = len(_MAGIC) + 32
    digest, code = content[len(_MAGIC) : head], content[head:]
    if not content.startswith(_MAGIC) or hashlib.sha256(code).digest() != digest:
        return None
    with contextlib.suppress(OSError):
        os.utime(path)  # the last use decides what is pruned
    return code


def write(name: str, code: bytes) -> None:
    """Keep an entry. A folder that cannot be written is no reason to fail."""
    folder = _private_folder()
    if folder is None:
        return
    with contextlib.suppress(OSError):
        handle, temporary = tempfile.mkstemp(dir=folder, suffix=".part")
        try:
            with os.fdopen(handle, "wb") as file:
                file.write(_MAGIC + hashlib.sha256(code).digest() + code)
            os.replace(temporary, folder / f"{name}.o")
        except OSError:
            os.unlink(temporary)
        if name.startswith("0"):  # one time in sixteen
            _prune(folder)


def _prune(folder: Path) -> None:
    """Drop what a killed process left, and the entries used longest ago while the folder is too large."""
    for left in folder.glob("*.part"):
        if time.time() - left.stat().st_mtime > 3600:
            left.unlink(missing_ok=True)
    entries = sorted((p.stat().st_mtime, p.stat().st_size, p) for p in folder.glob("*.o"))
    total = sum(size for _, size, _ in entries)
    for _, size, path in entries:
        if total <= _MOST_BYTES:
            break
        path.unlink(missing_ok=True)
        total -= size
