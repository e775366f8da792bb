"""Try a device's driver without a machine: `python -m polhode.interact.echo --port 5005`.

Prints what samples say, and answers each with the force of a spring to where the device was first.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from .sample import Sample
from .udp import Udp


def line(sample: Sample, ignored: int) -> str:
    """A sample in print."""
    x, y, z = sample.position
    vx, vy, vz = sample.twist[3:]
    return (f"t {sample.t:.3f} s   at {x:+.4f} {y:+.4f} {z:+.4f} m   speed {vx:+.3f} {vy:+.3f} {vz:+.3f} m/s   "
            f"buttons {sample.buttons:b}   ignored {ignored}")  # fmt: skip


def pull(first: Sample, sample: Sample, stiffness: float) -> tuple[float, ...]:
    """The wrench of a spring to where the device was first."""
    back = (stiffness * (a - b) for a, b in zip(first.position, sample.position, strict=True))
    return (0.0, 0.0, 0.0, *back)


def main(argv: Sequence[str] | None = None) -> int:
    """Answer samples until it is interrupted, or for a time."""
    parser = argparse.ArgumentParser(prog="python -m polhode.interact.echo", description=__doc__.split("\n")[0])
    parser.add_argument("--port", type=int, default=5005)
    parser.add_argument("--host", default="127.0.0.1", help="address to listen at; this machine alone unless given")
    parser.add_argument("--stiffness", type=float, default=20.0, help="of the spring, N/m")
    parser.add_argument("--most", type=float, default=2.0, help="the largest force, N")
    parser.add_argument("--seconds", type=float, default=float("inf"), help="when to end")
    asked = parser.parse_args(argv)
    try:
        device = Udp(asked.port, asked.host, most_force=asked.most)
    except (OSError, ValueError) as error:
        parser.exit(2, f"{error}\n")
    with device:
        host, port = device.address
        print(f"listening at {host}:{port}; a spring of {asked.stiffness:g} N/m, up to {asked.most:g} N", flush=True)
        return _serve(device, asked.stiffness, time.monotonic() + asked.seconds)


def _serve(device: Udp, stiffness: float, end: float) -> int:
    first = last = None
    told = 0.0
    try:
        while (now := time.monotonic()) < end:
            sample = device.read()
            if sample is None or sample is last:
                time.sleep(2e-4)
                continue
            first, last = first or sample, sample
            device.write(pull(first, sample, stiffness))
            if now - told > 0.25:
                print(line(sample, device.ignored), flush=True)
                told = now
    except KeyboardInterrupt:
        pass
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
