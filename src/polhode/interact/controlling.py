"""A Python function that sets the forces of a machine in real time, beside the loop."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .loop import Realtime


class Controller:
    """A function of (t, q, u) that gives the forces, called at a rate."""

    def __init__(self, machine: Realtime, function: Callable[..., Any], rate: float) -> None:
        self.machine, self.function, self.period = machine, function, 1 / rate
        self.failed = False
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self.run, name="polhode controller", daemon=True)
        self.thread.start()

    def run(self) -> None:
        due = time.monotonic()
        while not self.ended.wait(max(0.0, due - time.monotonic())):
            state = self.machine.state
            try:
                found = self.function(state.t, state.q, state.u)
                if found is None:
                    raise TypeError("it gave None, expected tau. Is there a return?")
                self.machine.tau = found
            except Exception as error:
                self.failed = True
                self.machine.failure = f"The controller raised {type(error).__name__} at t = {state.t:.6g} s: {error}"
                self.machine.pause()
                return
            due = max(due + self.period, time.monotonic())

    def stop(self) -> None:
        self.ended.set()
        if self.thread is not threading.current_thread():
            self.thread.join()
