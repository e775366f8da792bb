"""A thread that serves a device beside a machine that runs."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Self

from .realtime import Realtime

HANGS = 0.25  # s, after which a device that is not served any more has let go


class Serving(ABC):
    """What exchanges something with a device at an even rate, and lets go whatever ends it.

    failure : what ended the thread, if anything did
    """

    def __init__(self, rt: Realtime) -> None:
        self.rt, self.failure = rt, ""
        self._thread: threading.Thread | None = None
        self._ended = threading.Event()

    @abstractmethod
    def _exchange(self) -> None:
        """Read the device, and answer it."""

    @abstractmethod
    def _rest(self) -> None:
        """Let go of the machine, and of the device."""

    def start(self, rate: float | None = None) -> Self:
        """Serve the device beside a machine that runs, in a thread of Python, at its rate or a lower one."""
        if self._thread is not None:
            raise RuntimeError("start: the device is being served. Call stop() first.")
        self.failure = ""
        self._ended.clear()
        self.rt.watchdog(HANGS)  # the loop itself lets go where this thread hangs
        self._thread = threading.Thread(target=self._serve, args=(1 / (rate or self.rt.rate),), daemon=True)
        self._thread.start()
        return self

    def stop(self) -> None:
        """Let go of the machine and the device, and end."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join()
            self._thread = None
            self.rt.watchdog(0)
        self._rest()

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self, period: float) -> None:
        due = time.monotonic()
        try:
            while not self._ended.is_set():
                self._exchange()
                due = max(due + period, time.monotonic() - period)
                self._ended.wait(max(due - time.monotonic(), 0.0))
        except Exception as error:  # of a device, whatever it may be
            self.failure = f"The device failed: {type(error).__name__}: {error}. It was let go."
        finally:  # nothing goes on to pull, though the device may not hear it
            with suppress(Exception):
                self._rest()
