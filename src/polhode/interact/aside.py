"""What pages ask for that takes long, worked out beside the server and the loop, one thing at a time."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from .inmode import InMode, operations
from .loop import Realtime
from .typeset import typeset

KEPT = 64  # answers


class Aside:
    """Equations and operation counts of a machine in the mode that it is in; each is worked out once.

    asked : what may be asked for
    """

    asked = ("equations", "count")

    def __init__(self, loop: Realtime) -> None:
        self._loop = loop
        self._one = threading.Lock()
        self._known: dict[Any, dict[str, Any]] = {}

    def found(self, what: str) -> dict[str, Any]:
        """Equations or counts, for a page."""
        with self._one:
            mode = InMode.of(self._loop)
            key = what, mode.program, mode.rows, tuple(mode.words.items())
            if key not in self._known:
                self._known[key] = typeset(mode) if what == "equations" else operations(mode)
                if len(self._known) > KEPT:
                    del self._known[next(iter(self._known))]
            return self._known[key]

    async def answer(self, what: str) -> dict[str, Any]:
        """The same, from a thread that nobody waits for at the end."""
        loop = asyncio.get_running_loop()
        done: asyncio.Future[dict[str, Any]] = loop.create_future()
        threading.Thread(target=_work, args=(self.found, what, loop, done), name="polhode aside", daemon=True).start()
        return await done


def _work(find: Callable[[str], Any], what: str, loop: asyncio.AbstractEventLoop, done: asyncio.Future[Any]) -> None:
    found, failed = None, None
    try:
        found = find(what)
    except Exception as error:  # whatever it is, the page hears of it
        failed = error

    def settle() -> None:
        if done.cancelled():
            return
        if failed is None:
            done.set_result(found)
        else:
            done.set_exception(failed)

    with suppress(RuntimeError):  # the server is gone
        loop.call_soon_threadsafe(settle)
