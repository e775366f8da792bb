"""Devices in another process: samples come by UDP, wrenches go back to whoever sent them.

Packets are little-endian, of one size each.

    sample, 128 bytes                        wrench, 64 bytes
      0  4 bytes  "PHS1"                       0  4 bytes  "PHW1"
      4  uint32   number, 1 more each time     4  uint32   number of the sample that it answers
      8  float64  time of the device, s        8  float64  time of the machine, s
     16  float64  position x, y, z, m         16  float64  torque x, y, z, N m
     40  float64  rotation w, x, y, z         40  float64  force x, y, z, N
     72  float64  angular velocity x, y, z, rad/s
     96  float64  velocity x, y, z, m/s
    120  uint32   buttons, the first bit grips
    124  uint32   0

A packet of another size or beginning, with what is not a number, from another sender than the one that is in touch, or
not newer than the last is left aside and counted. Who is silent for `timeout` is out of touch, and shown no force.
"""

from __future__ import annotations

import socket
import struct
import time
from collections.abc import Callable
from contextlib import suppress
from math import inf

from .sample import Sample, limited

SAMPLE = struct.Struct("<4sId3d4d6dII")
WRENCH = struct.Struct("<4sId6d")
ASKS, SHOWS = b"PHS1", b"PHW1"
AT_ONCE = 64  # packets that a reading takes, so that a flood delays nobody


class Udp:
    """A device whose driver sends samples here.

    port    : 0 for any that is free; `address` has it then
    host    : this machine alone, unless another address is given
    timeout : s, after which a sample is stale
    damping : b of the device, N s/m, if it is known
    clock   : s, to measure silence by

    ignored : packets that were left aside so far
    """

    def __init__(
        self, port: int = 0, host: str = "127.0.0.1", *, timeout: float = 0.05, most_force: float = inf,
        most_torque: float = inf, damping: float = 0.0, clock: Callable[[], float] = time.monotonic,
    ) -> None:  # fmt: skip
        self.timeout, self.most_force, self.most_torque, self.damping = timeout, most_force, most_torque, damping
        self.ignored = 0
        self._clock, self._came, self._number = clock, -inf, 0
        self._sample: Sample | None = None
        self._peer: tuple[str, int] | None = None
        if not 0 <= port < 1 << 16:
            raise ValueError(f"Udp: port is {port}, expected 0 to 65535; 0 takes a free one.")
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        try:
            self._socket.bind((host, port))
        except OSError as error:
            self._socket.close()
            said = f"Udp: cannot listen at {host}:{port} ({error.strerror}). Give another port=, or 0 for any."
            raise OSError(said) from None
        self._socket.setblocking(False)

    @property
    def address(self) -> tuple[str, int]:
        """Where samples are to be sent."""
        host, port = self._socket.getsockname()
        return host, port

    @property
    def stale(self) -> bool:
        return self._clock() - self._came > self.timeout

    def read(self) -> Sample | None:
        """The newest sample, or None where none ever came."""
        for _ in range(AT_ONCE):
            try:
                data, peer = self._socket.recvfrom(SAMPLE.size + 1)
            except BlockingIOError:
                break
            except OSError:  # what was sent before did not arrive
                continue
            found = unpacked(data)
            if found is None or not self._accepts(peer, found[0]):
                self.ignored += 1
                continue
            self._number, self._sample = found
            self._peer, self._came = peer, self._clock()
        return self._sample

    def _accepts(self, peer: tuple[str, int], number: int) -> bool:
        """Whether it is from who is in touch and newer; anybody may begin where nobody is."""
        if self._peer is None or self.stale:
            return True
        return peer == self._peer and 0 < (number - self._number) % 2**32 < 2**31

    def write(self, wrench: tuple[float, ...], t: float = 0.0) -> None:
        """Show a wrench; nothing where the device is out of touch."""
        if self._peer is None:
            return
        shown = (0.0,) * 6 if self.stale else limited(wrench, self.most_force, self.most_torque)
        with suppress(OSError):  # it is gone, or its queue is full: the next one will say as much
            self._socket.sendto(WRENCH.pack(SHOWS, self._number, t, *shown), self._peer)

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Udp:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Driver:
    """The other end: what a device's own program does, as an example and for tests.

    shown : the wrench that came last; nothing where none came for `timeout`
    """

    def __init__(
        self, address: tuple[str, int], *, timeout: float = 0.05, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._socket.connect(address)
        self._clock, self._came, self.timeout, self.number = clock, -inf, timeout, 0
        self._shown: tuple[float, ...] = (0.0,) * 6

    def send(self, sample: Sample) -> None:
        self.number = (self.number + 1) % 2**32
        self._socket.send(packed(sample, self.number))

    def receive(self, wait: float = 0.0) -> tuple[float, ...]:
        """[torque, force] to show now; waits for the answer to the last sample where asked to."""
        end = self._clock() + wait
        while True:
            self._socket.settimeout(max(end - self._clock(), 0.0))
            try:
                data = self._socket.recv(WRENCH.size + 1)
            except (BlockingIOError, TimeoutError, ConnectionRefusedError):
                break
            if len(data) != WRENCH.size or data[:4] != SHOWS:
                continue
            _, number, _, *wrench = WRENCH.unpack(data)
            self._shown, self._came = limited(tuple(wrench)), self._clock()
            if wait and number == self.number:
                break
        return (0.0,) * 6 if self._clock() - self._came > self.timeout else self._shown

    def close(self) -> None:
        self._socket.close()

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def packed(sample: Sample, number: int) -> bytes:
    """A sample as a packet."""
    return SAMPLE.pack(ASKS, number, sample.t, *sample.position, *sample.rotation, *sample.twist, sample.buttons, 0)


def unpacked(data: bytes) -> tuple[int, Sample] | None:
    """The number and the sample of a packet; None where it is none."""
    if len(data) != SAMPLE.size or data[:4] != ASKS:
        return None
    _, number, t, x, y, z, qw, qx, qy, qz, *twist, buttons, _ = SAMPLE.unpack(data)
    wx, wy, wz, vx, vy, vz = twist
    sample = Sample(t=t, position=(x, y, z), rotation=(qw, qx, qy, qz), twist=(wx, wy, wz, vx, vy, vz), buttons=buttons)
    return (number, sample.unit()) if sample.finite() else None
