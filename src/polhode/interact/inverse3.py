"""The Inverse3 of Haply, by the service that its maker has run beside it.

A thread of its own asks the service for the state and shows it the force, a thousand times a second at most: the
service answers each message with one, and lets the device idle where none comes. A force is shown for `timeout` after
it was last written, and while the last state is no older than that; so what ends or hangs ends in no force.
"""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import urlsplit

from polhode.view.optional import needed

from .inverse3_messages import LARGEST, Frame, StrangeError, command, read
from .placed import limit_of
from .sample import NOTHING, Sample, limited

URL = "ws://localhost:10001"
STRONGEST = 10.0  # N, that is asked of the device at most
GRIPS = ("auto", "always", "a", "b", "c")
AT_ONCE = 32  # messages that are read between two that are sent, so that a flood delays nobody
SILENCE = 1.0  # s, after which a service that says nothing is called anew
RETRY = 0.25  # s, between calls


class Inverse3:
    """A device at the service of Haply.

    url        : of the service
    device_id  : which one, where there are several; handle_id : which handle
    most_force : N, up to 10; begin with little
    timeout    : s, after which a state is stale, and a force that was not written anew is not shown any more
    damping    : friction of the device, N s/m, if it is known
    grip       : the button of the handle that grips, "a", "b" or "c"; "always" for none; "auto" for a, and always where
                 there is no handle
    rate       : messages a second, at most
    vector     : whether forces are named as from 3.5 on; None for what the service seems to be

    ignored : messages that were not as documented so far;  failure : what is wrong now, if anything
    It shows no torque. How its handle is turned is told, how fast is not.
    """

    def __init__(
        self, url: str = URL, *, device_id: str = "", handle_id: str = "", most_force: float = 2.0,
        timeout: float = 0.05, damping: float = 0.0, grip: str = "auto", rate: float = 1000.0,
        vector: bool | None = None, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        needed("websockets.sync.client", "view", "Inverse3")
        if urlsplit(url).scheme != "ws" or not urlsplit(url).hostname:
            raise ValueError(f"Inverse3: url is {url!r:.60}, expected one such as {URL!r}.")
        if grip not in GRIPS:
            raise ValueError(f"Inverse3: grip is {grip!r:.40}, expected one of {', '.join(GRIPS)}.")
        self.most_force = limit_of("Inverse3", "most_force", most_force, STRONGEST)
        self.most_torque, self.damping = 0.0, limit_of("Inverse3", "damping", damping, 1e6)
        self.url, self.device_id, self.timeout, self.grip, self.vector = url, device_id, timeout, grip, vector
        self.handle_id, self.rate = handle_id, float(rate)
        self.ignored, self.failure = 0, "It was not reached yet."
        self._clock, self._handled = clock, False
        self._last: tuple[float, Sample | None] = (-1e9, None)  # replaced as a whole, as is what is shown
        self._wrench: tuple[float, tuple[float, ...]] = (-1e9, NOTHING)
        self._came = threading.Event()
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._serve, name="polhode inverse3", daemon=True)
        self._thread.start()

    @property
    def stale(self) -> bool:
        return self._clock() - self._last[0] > self.timeout

    def read(self) -> Sample | None:
        return self._last[1]

    def write(self, wrench: tuple[float, ...]) -> None:
        self._wrench = (self._clock(), limited(wrench, self.most_force, self.most_torque))

    def wait(self, seconds: float = 5.0) -> Inverse3:
        """Wait until it says where it is; OSError says why it does not."""
        if not self._came.wait(seconds):
            raise OSError(f"Inverse3: {self.failure} Is the Haply Inverse Service running, at {self.url}?")
        return self

    def close(self) -> None:
        """Show no force, and hang up."""
        self._ended.set()
        self._thread.join(2.0)

    def __enter__(self) -> Inverse3:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    # the thread

    def _serve(self) -> None:
        while not self._ended.is_set():
            try:
                with called(self.url) as service:
                    self._talk(service)
            except Exception as error:  # of the network, the service or the package, whatever it may be
                self.failure = f"The service is out of reach: {type(error).__name__}: {error!s:.200}."
            self._handled = False
            self._ended.wait(RETRY)

    def _talk(self, service: Any) -> None:
        """Ask and show by turns, until it is closed, or silent for long."""
        frame, heard, due, device, first, vector = None, self._clock(), time.monotonic(), "", True, True
        while not self._ended.is_set():
            for said in _heard(service, self.timeout):  # an answer to each, so that none wait in line
                try:
                    frame = read(said)
                except StrangeError as error:
                    self.ignored += 1
                    self.failure = f"The service said something strange: {error}."
                    continue
                heard = self._clock()
                if first:
                    device, vector = self._chosen(frame), frame.session if self.vector is None else self.vector
                self._take(frame, device)
            if self._clock() - heard > SILENCE:
                self.failure = "The service says nothing."
                return
            if device:
                service.send(command(device, self._force(), vector=vector, first=first))
                first = False
            elif frame is not None:  # nothing to ask for: what is there now, it says when it is called again
                self._ended.wait(RETRY)
                return
            due = max(due + 1 / self.rate, time.monotonic())
            self._ended.wait(max(due - time.monotonic(), 0.0))
        if device:
            service.send(command(device, NOTHING[3:], vector=vector, first=first))

    def _chosen(self, frame: Frame) -> str:
        """The device to ask, or nothing, and why."""
        there = list(frame.cursors)
        if self.device_id in there or (not self.device_id and len(there) == 1):
            return self.device_id or there[0]
        listed = ", ".join(map(repr, there)) or "none"
        wanted = f"device_id {self.device_id!r:.40} is not there" if self.device_id else "it is not clear which one"
        self.failure = f"The service has these devices: {listed}; {wanted}. Give device_id=." if there else (
            "The service has no Inverse3 now. Plug it in, and switch it on."
        )  # fmt: skip
        return ""

    def _take(self, frame: Frame, device: str) -> None:
        cursor = frame.cursors.get(device)
        if cursor is None:
            return  # it is unplugged, and gets stale
        handles = {name: each for name, each in frame.handles.items() if self.handle_id in ("", name)}
        handle = next(iter(handles.values())) if len(handles) == 1 else None
        self._handled = self._handled or bool(frame.handles)  # one that vanishes does not grip
        bits = 0 if handle is None else handle.buttons
        if self.grip == "always" or (self.grip == "auto" and not self._handled):
            held = 1
        else:
            held = bits >> max("abc".find(self.grip), 0) & 1
        sample = Sample(
            t=self._clock(), position=cursor.position, twist=(0.0, 0.0, 0.0, *cursor.velocity),
            rotation=(1.0, 0.0, 0.0, 0.0) if handle is None else handle.rotation, buttons=held | bits << 1,
        )  # fmt: skip
        listed = ", ".join(map(repr, handles))
        self.failure = f"There are the handles {listed}. Give handle_id=." if len(handles) > 1 else ""
        self._last = (self._clock(), sample)
        self._came.set()

    def _force(self) -> tuple[float, ...]:
        """What to show now."""
        written, wrench = self._wrench
        return NOTHING[3:] if self.stale or self._clock() - written > self.timeout else wrench[3:]


def called(url: str, patience: float = 1.0) -> Any:
    """A connection to a service, without whatever proxy the environment names."""
    client = needed("websockets.sync.client", "view", "Inverse3")
    where = urlsplit(url)
    line = socket.create_connection((where.hostname, where.port or 80), timeout=patience)
    line.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    try:
        return client.connect(url, sock=line, open_timeout=patience, close_timeout=patience, max_size=LARGEST,
                              compression=None)  # fmt: skip
    except BaseException:
        line.close()
        raise


def inventory(url: str = URL, patience: float = 0.5) -> tuple[list[str], list[str]]:
    """Which devices and handles a service has; asks for nothing, and moves nothing. OSError where there is none."""
    with contextlib.suppress(StrangeError, TimeoutError), called(url, patience) as service:
        frame = read(service.recv(patience))
        return list(frame.cursors), list(frame.handles)
    raise OSError(f"what answers at {url} is no Haply Inverse Service")


def _heard(service: Any, wait: float) -> list[Any]:
    """The messages that are there, or come in time."""
    found: list[Any] = []
    with contextlib.suppress(TimeoutError):
        while len(found) < AT_ONCE:
            found.append(service.recv(0 if found else wait))
    return found
