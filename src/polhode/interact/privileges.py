"""The rights of a thread in real time: a scheduler that does not interrupt it, and memory that stays."""

from __future__ import annotations

import ctypes
import os
from contextlib import suppress

_locked = 0  # threads in this process that want memory locked


def privileged() -> str:
    """Ask for the rights of a real-time thread, and say what was granted."""
    global _locked  # noqa: PLW0603 - a right of the whole process
    _locked += 1
    said = []
    try:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(80))
        said.append("SCHED_FIFO")
    except (AttributeError, OSError) as error:
        said.append(f"no SCHED_FIFO ({getattr(error, 'strerror', None) or 'not on this system'})")
    try:
        granted = ctypes.CDLL(None, use_errno=True).mlockall(3) == 0
        said.append("memory locked" if granted else f"memory not locked ({os.strerror(ctypes.get_errno())})")
    except (AttributeError, OSError):
        said.append("memory not locked (not on this system)")
    return ", ".join(said)


def released() -> None:
    """Let memory go where no other loop runs; the rest went with the thread."""
    global _locked  # noqa: PLW0603
    _locked -= 1
    if _locked == 0:
        with suppress(AttributeError, OSError):
            ctypes.CDLL(None).munlockall()
