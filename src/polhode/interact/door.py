"""Who stands at the door of the live page: how many may wait, how much each may say, and what is said about it."""

from __future__ import annotations

import asyncio
import logging
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any

WAITING = 64  # connections that are no pages yet, at most
UNSENT = 1 << 17  # bytes on their way to a slow page, at most: what it sees is not older than these
MESSAGES = 250.0  # a second, of one page
AT_ONCE = 100  # messages of one page before that counts

# what strangers send is none of the user's business: nothing of it is printed, unless he adds a handler
quiet = logging.getLogger("polhode.page")
quiet.addHandler(logging.NullHandler())
quiet.propagate = False


class Door:
    """The connections that are no pages yet, in the order in which they came.

    One more than `most` may not wait: the one that stands there longest has to go. A page says what it wants at once,
    and is let in while a thousand others say nothing.

    waiting : those that are there; turned_away : how many had to go so far
    """

    def __init__(self, most: int = WAITING) -> None:
        self.most = most
        self.waiting: dict[Any, None] = {}
        self.turned_away = 0

    def connection(self) -> type[Any]:
        """The class of connections that come through this door."""
        from websockets.asyncio.server import ServerConnection

        door = self

        class Waiting(ServerConnection):  # type: ignore[misc]
            def connection_made(self, transport: asyncio.BaseTransport) -> None:
                super().connection_made(transport)
                if (raw := transport.get_extra_info("socket")) is not None:
                    with suppress(OSError):
                        raw.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, UNSENT)
                door.came(self)

            def connection_lost(self, exc: Exception | None) -> None:
                door.went(self)
                super().connection_lost(exc)

        return Waiting

    def came(self, who: Any) -> None:
        """Somebody comes; perhaps somebody else has to go."""
        self.waiting[who] = None
        if len(self.waiting) > self.most:
            first = next(iter(self.waiting))
            del self.waiting[first]
            self.turned_away += 1
            first.transport.abort()

    def went(self, who: Any) -> None:
        """Somebody left, or is a page now."""
        self.waiting.pop(who, None)


class Pace:
    """How fast one page may speak: `rate` messages a second, after `at_once` of them.

    Who says more is listened to later, and so has to wait with what is next; nothing is lost, and nobody else waits.
    """

    def __init__(self, clock: Callable[[], float], rate: float = MESSAGES, at_once: int = AT_ONCE) -> None:
        self._clock, self._rate, self._ahead = clock, rate, at_once / rate
        self._due = clock() - self._ahead

    def delay(self) -> float:
        """Count a message; seconds to wait before the next one, 0 to let others have their turn."""
        now = self._clock()
        self._due = max(self._due, now - self._ahead) + 1 / self._rate
        return max(self._due - now, 0.0)


def unheard(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
    """What became of a connection that broke is not printed; all else is."""
    if isinstance(context.get("exception"), OSError):
        quiet.debug("%s", context.get("message"), exc_info=context["exception"])
    else:
        loop.default_exception_handler(context)
