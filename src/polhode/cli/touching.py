"""A device at a marker of the machine that `polhode view` shows, and the command `polhode devices`."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any

import typer

from .printing import print_json

if TYPE_CHECKING:
    from polhode.equations import Dynamics
    from polhode.interact import Coupler, Link, Realtime
    from polhode.interact.sample import Device

KINDS = "udp:5005, inverse3, inverse3:049D, evdev:/dev/input/event5 or page"
SLOWER = {"udp": 500.0, "inverse3": 500.0, "evdev": 100.0, "page": 60.0}  # times a second, that a force is shown anew
SHOWS = {"udp", "inverse3", "evdev"}  # what a hand feels
PULL = 20.0  # rad/s, of a spring that nobody feels


@dataclass(frozen=True, kw_only=True)
class Touching:
    """What was asked of a device, checked.

    kind, where : such as "udp" and "5005"
    """

    kind: str
    where: str
    marker: str
    most_force: float
    friction: float
    scale: float
    axes: str
    full_force: float
    stiffness: float  # 0 for what is suggested

    @classmethod
    def asked(cls, device: str, marker: str, *, most_force: float, friction: float, scale: float, axes: str,
              full_force: float, stiffness: float | None) -> Touching | None:  # fmt: skip
        """What the options say; None where they ask for no device."""
        if not device:
            if marker:
                raise ValueError(f"--marker {marker}: there is no --device that holds it. Give --device {KINDS}.")
            return None
        kind, _, where = device.partition(":")
        if kind not in SLOWER or (kind in ("udp", "evdev") and not where) or (kind == "page" and where):
            raise ValueError(f"--device {device:.60}: expected {KINDS}.")
        if kind == "udp" and not (where.isdecimal() and int(where) < 1 << 16):
            raise ValueError(f"--device {device:.60}: expected a port, 0 to 65535, such as udp:5005.")
        if not marker:
            raise ValueError("--device needs --marker, the marker or body that it holds.")
        for key, value in {
            "--most-force": most_force,
            "--friction": friction,
            "--scale": scale,
            "--full-force": full_force,
            "--stiffness": 1.0 if stiffness is None else stiffness,
        }.items():
            if not (math.isfinite(value) and value > 0):
                raise ValueError(f"{key} {value:g}: expected a number above 0.")
        return cls(kind=kind, where=where, marker=marker, most_force=most_force, friction=friction, scale=scale,
                   axes=axes, full_force=full_force, stiffness=stiffness or 0.0)  # fmt: skip

    def opened(self, rate: float) -> Any:
        """The device."""
        from polhode.interact import Evdev, Inverse3, Pushed, Smoothed, Udp

        if self.kind == "udp":
            return Udp(int(self.where), most_force=self.most_force, most_torque=0.0, damping=self.friction)
        if self.kind == "inverse3":
            return Inverse3(device_id=self.where, most_force=self.most_force, damping=self.friction)
        if self.kind == "evdev":
            return Evdev(self.where, full_force=self.full_force, most_force=min(self.most_force, self.full_force),
                         damping=self.friction)  # fmt: skip
        return Smoothed(Pushed(most_torque=0.0), over=1 / 30, period=1 / rate)

    def placed(self, device: Any) -> Device:
        from polhode.interact import Placed

        plain = self.scale == 1 and self.axes.split() == ["x", "y", "z"]
        return device if plain else Placed(device, axes=self.axes, scale=self.scale)

    def held(self, dynamics: Dynamics, rate: float, q: Any, p: dict[str, float], most_force: float) -> Coupler:
        """The machine with a coupler as stiff as makes no energy, at the coordinates that it begins with."""
        from polhode.interact import coupler, effective_mass, suggest
        from polhode.model.errors import closest

        model = dynamics.equations.model
        given: dict[str, Any] = {"p": p} if p else {}
        frames = [*(body.name for body in model.bodies), *(m.name for m in model.markers)]
        if self.marker not in frames:
            raise ValueError(f"--marker {self.marker:.60}: there is none. {closest(self.marker, frames)}")
        if self.kind in SHOWS:
            shown, rubs = min(rate, SLOWER[self.kind]), self.friction / self.scale**2
            found = suggest(dynamics, self.marker, shown, q, rubs, turns=False, steps=rate, **given)
            stiffness, damping = found.stiffness, found.damping
        else:  # nobody feels it: as the hands of the page
            mass = effective_mass(dynamics, self.marker, q, **given)[1]
            stiffness, damping = (PULL**2 * mass, 2 * PULL * mass) if math.isfinite(mass) else (0.0, 0.0)
        if self.stiffness:
            damping *= self.stiffness / stiffness if stiffness else 1.0
            stiffness = self.stiffness
        return coupler(model, self.marker, stiffness=stiffness, damping=damping, most_force=most_force, name="device")

    def link(self, loop: Realtime, held: Coupler, device: Device) -> Link:
        """What joins both; it gives out no energy, and begins where the marker is."""
        from polhode.interact import Link, Passivity

        watch = Passivity(1 / loop.rate, 10.0) if self.kind in SHOWS else None
        return Link(loop, held, device, watch, relative=True)

    def said(self, held: Coupler, device: Any) -> str:
        """What was made, for people."""
        felt = f"with friction of {self.friction:g} N s/m, as said" if self.kind in SHOWS else "which nobody feels"
        where = f" at {':'.join(map(str, device.address))}" if self.kind == "udp" else ""
        return (f"{self.kind}{where} holds {held.marker!r}: stiffness {held.stiffness:.3g} N/m, damping "
                f"{held.damping:.3g} N s/m, {held.most_force:.3g} N at most; {felt}. It grips by its first "
                "button.")  # fmt: skip


def devices(
    as_json: Annotated[bool, typer.Option("--json", help="Print one JSON object.")] = False,
    url: Annotated[
        str, typer.Option("--inverse3", help="Where the service of Haply would be.")
    ] = "ws://localhost:10001",
) -> None:
    """List the haptic devices that are there: sticks and wheels of Linux, and the Inverse3 of Haply. It moves none."""
    from polhode.interact.evdev import nodes
    from polhode.interact.inverse3 import inventory

    found = nodes()
    try:
        cursors, handles = inventory(url)
        why = ""
    except (OSError, ModuleNotFoundError) as error:
        said = getattr(error, "strerror", None) or str(error) or type(error).__name__
        why = said if isinstance(error, ModuleNotFoundError) else f"nothing answers at {url} ({said})"
        cursors, handles = [], []
    if as_json:
        sticks = [{"path": path, "name": name, "force": force, "usable": usable} for path, name, force, usable in found]
        print_json({"evdev": sticks, "inverse3": {"url": url, "reachable": not why, "why": why, "devices": cursors,
                                                  "handles": handles}})  # fmt: skip
        return
    strong = [each for each in found if each[2]]
    for path, name, _, usable in strong:
        print(f"{'evdev:' + path:28} {name}{'' if usable else ', which this user may not use: join the group input'}")
    if not strong:
        print(f"evdev                        none of {len(found)} input devices shows forces")
    for name in cursors:
        print(f"{'inverse3:' + name:28} at {url}")
    if not cursors:
        print(f"inverse3                     {f'none: {why}' if why else f'the service at {url} has none now'}")
    if handles:
        print(f"{'':28} handles {', '.join(handles)}")
    print("polhode view FILE --device ... --marker ... joins one to a machine; none of them has met hardware yet.",
          file=sys.stderr)  # fmt: skip
