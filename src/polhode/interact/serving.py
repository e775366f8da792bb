"""A thread that serves a device beside a machine that runs."""

from __future__ import annotations

import threading
import time
from abc import ABC, abstractmethod
from contextlib import suppress
from typing import Any, Self

from .loop import Realtime

HANGS = 0.25  # s, after which a device that is not served any more has let go
LOOKS = 5  # times in that, that somebody looks whether it is served


class Serving(ABC):
    """What exchanges something with a device at an even rate, and lets go whatever ends it.

    Where the thread hangs, in a driver that does not come back, another one has the machine let go. Where all of Python
    hangs, the loop does so itself, by its watchdog; that alone would not do, as whatever else sets inputs calms it.

    failure : what ended the thread, if anything did
    hung    : how often the machine let go as the device was not served in time
    """

    def __init__(self, rt: Realtime) -> None:
        self.rt, self.failure, self.hung = rt, "", 0
        self._thread: threading.Thread | None = None
        self._served = 0.0  # when the last exchange ended
        self._ended = threading.Event()

    @abstractmethod
    def _exchange(self) -> None:
        """Read the device, and answer it."""

    @abstractmethod
    def _rest(self) -> None:
        """Let go of the machine, and of the device."""

    @abstractmethod
    def _released(self) -> dict[str, float]:
        """Inputs of the machine by which nothing of the device acts."""

    def start(self, rate: float | None = None) -> Self:
        """Serve the device beside a machine that runs, in a thread of Python, at its rate or a lower one."""
        if self._thread is not None:
            raise RuntimeError("start: the device is being served. Call stop() first.")
        self.failure = ""
        self._ended = ended = threading.Event()  # of this thread alone, should it hang and be left behind
        self.rt._watch(self, HANGS)  # the loop itself lets go where this thread hangs
        self._served = time.monotonic()
        self._thread = threading.Thread(target=self._serve, args=(1 / (rate or self.rt.rate), ended), daemon=True)
        self._thread.start()
        threading.Thread(target=self._look_after, args=(self._thread, ended), daemon=True).start()
        return self

    def stop(self) -> None:
        """Let go of the machine and the device, and end."""
        if self._thread is not None:
            self._ended.set()
            self._thread.join(HANGS * LOOKS)
            hangs, self._thread = self._thread.is_alive(), None
            self.rt._watch(self, 0.0)
            if hangs:  # to ask the device for anything would hang, too
                self.failure = "The device hangs. The machine was let go; what the device shows is for it to end."
                self.rt.tau = self._released()
                return
        self._rest()

    @property
    def _p(self) -> dict[str, Any]:
        """Parameters as they are now, for calls; they may be set while the machine runs."""
        return {"p": self.rt.p} if self.rt.dynamics.parameters else {}

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _serve(self, period: float, ended: threading.Event) -> None:
        due = time.monotonic()
        try:
            while not ended.is_set():
                self._exchange()
                self._served = time.monotonic()
                due = max(due + period, time.monotonic() - period)
                ended.wait(max(due - time.monotonic(), 0.0))
        except Exception as error:  # of a device, whatever it may be
            self.failure = f"The device failed: {type(error).__name__}: {error}. It was let go."
        finally:  # nothing goes on to pull, though the device may not hear it
            with suppress(Exception):
                self._rest()

    def _look_after(self, served: threading.Thread, ended: threading.Event) -> None:
        """Let go of the machine while the thread that serves the device hangs."""
        hangs = False
        while served.is_alive() and not ended.wait(HANGS / LOOKS):
            late = time.monotonic() - self._served > HANGS
            if late and served.is_alive():
                self.hung += not hangs
                self.rt.tau = self._released()  # each time, as the thread may have been about to set others
            hangs = late
