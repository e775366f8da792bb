"""Ctrl-C as a wish to stop, looked at between steps, so that what there is can be returned."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import contextmanager
from typing import Any, TypeVar

PATIENCE = 0.15  # seconds of computing between two looks at it


A = TypeVar("A")
B = TypeVar("B")


class Wish:
    """Whether Ctrl-C was pressed."""

    pressed = False


_active: Wish | None = None


@contextmanager
def stoppable() -> Iterator[Wish]:
    """Note the first Ctrl-C in here; the second does what it always does.

    Runs within another, or on threads of it, share its wish. Elsewhere than on the main
    thread, or where the program ignores Ctrl-C, nothing is changed.
    """
    global _active  # noqa: PLW0603 - there is one keyboard
    before = signal.getsignal(signal.SIGINT)
    if _active is not None or threading.current_thread() is not threading.main_thread() or not callable(before):
        yield _active or Wish()
        return
    wish = _active = Wish()

    def note(number: int, frame: Any) -> None:
        wish.pressed = True
        signal.signal(signal.SIGINT, before)

    signal.signal(signal.SIGINT, note)
    try:
        yield wish
    finally:
        _active = None
        signal.signal(signal.SIGINT, before)


def shared_out(function: Callable[[A], B], items: Iterable[A], threads: int) -> list[B]:
    """Call a function for every item, on threads; the keyboard is heard meanwhile."""
    with ThreadPoolExecutor(threads) as pool:
        found = [pool.submit(function, item) for item in items]
        while wait(found, timeout=PATIENCE).not_done:
            pass
        return [one.result() for one in found]
