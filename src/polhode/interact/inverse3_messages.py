"""What the service of an Inverse3 says, read strictly, and what it is told.

The service sends JSON at ws://localhost:10001: at first all devices, then one message for each that it is sent.

    {"inverse3": [{"device_id": "049D", "state": {"cursor_position": {"x", "y", "z"}, "cursor_velocity": {...}}}],
     "verse_grip": [{"device_id", "state": {"orientation": {"w", "x", "y", "z"}, "button": true}}],
     "wireless_verse_grip": [{"device_id", "state": {"orientation", "buttons": {"a", "b", "c"}}}], "session_id": 7}

    {"inverse3": [{"device_id": "049D", "commands": {"set_cursor_force": {"vector": {"x", "y", "z"}}}}]}

in m, m/s and N. Forces are named "vector" in the documentation of version 3.5, "values" in programs for 3.1; the
former has a "session_id". What is not named here is passed over; what is named and is not as it should be spoils the
message.

References: docs.haply.co/inverseSDK/service/realtime/websocket-protocol, .../realtime/control-commands and
.../tutorials/01-print-inverse3, of version 3.5; .../service/api/simulation, of 3.1 and later. See docs/interact.md.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NoReturn

LARGEST = 1 << 16  # bytes of a message
MOST = 16  # devices of a kind
FAR, FAST = 2.0, 50.0  # m and m/s, beyond which a cursor is none: the device reaches some 0.2 m
NAMED = 64  # characters of a name
PROFILE = "polhode"


class StrangeError(ValueError):
    """A message that is not as documented."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Cursor:
    """An Inverse3: where its cursor is, m, and its velocity, m/s, in the axes of the service."""

    position: tuple[float, float, float]
    velocity: tuple[float, float, float]


@dataclass(frozen=True, slots=True, kw_only=True)
class Handle:
    """A grip at its end: how it is turned, (w, x, y, z), and its buttons as bits, from `a`."""

    rotation: tuple[float, float, float, float]
    buttons: int


@dataclass(frozen=True, slots=True, kw_only=True)
class Frame:
    """A message of the service. Devices without a state are there, as None."""

    cursors: Mapping[str, Cursor | None] = field(default_factory=dict)
    handles: Mapping[str, Handle | None] = field(default_factory=dict)
    session: bool = False  # whether the service counts sessions, as from 3.5 on


def read(text: str | bytes) -> Frame:
    """Read a message; `StrangeError` says what is wrong with it."""
    if not isinstance(text, str):
        raise StrangeError("expected text, found bytes")
    if len(text) > LARGEST:
        raise StrangeError(f"{len(text)} characters, expected {LARGEST} at most")
    try:
        found = json.loads(text, parse_constant=_no_number)
    except RecursionError:
        raise StrangeError("too deep") from None
    except json.JSONDecodeError as error:
        raise StrangeError(f"not JSON: {error.msg} at character {error.pos}") from None
    if not isinstance(found, dict):
        raise StrangeError(f"expected an object, found {found!r:.40}")
    cursors = {name: _cursor(state) for name, state in _devices(found, "inverse3")}
    handles = {name: _handle(state) for key in ("verse_grip", "wireless_verse_grip")
               for name, state in _devices(found, key)}  # fmt: skip
    return Frame(cursors=cursors, handles=handles, session="session_id" in found)


def command(device: str, force: tuple[float, ...], *, vector: bool, first: bool) -> str:
    """What shows a force, N; `first` introduces who asks for it, where the service wants to know."""
    x, y, z = force
    said: dict[str, Any] = {"session": {"configure": {"profile": {"name": PROFILE}}}} if first and vector else {}
    asked = {"set_cursor_force": {"vector" if vector else "values": {"x": x, "y": y, "z": z}}}
    return json.dumps(said | {"inverse3": [{"device_id": device, "commands": asked}]}, allow_nan=False)


def _devices(found: dict[str, Any], key: str) -> list[tuple[str, dict[str, Any] | None]]:
    every = found.get(key, [])
    if not isinstance(every, list) or len(every) > MOST:
        raise StrangeError(f"{key!r} is {every!r:.40}, expected a list of {MOST} devices at most")
    made = []
    for each in every:
        name, state = (each.get("device_id"), each.get("state")) if isinstance(each, dict) else (None, None)
        if not isinstance(name, str) or not 0 < len(name) <= NAMED:
            raise StrangeError(f"{key!r} has a device {each!r:.40}, expected one with a device_id")
        if state is not None and not isinstance(state, dict):
            raise StrangeError(f"{key} {name!r}: state is {state!r:.40}, expected an object")
        made.append((name, state))
    return made


def _cursor(state: dict[str, Any] | None) -> Cursor | None:
    if state is None:
        return None
    x, y, z = _numbers(state, "cursor_position", "xyz", FAR)
    vx, vy, vz = _numbers(state, "cursor_velocity", "xyz", FAST)
    return Cursor(position=(x, y, z), velocity=(vx, vy, vz))


def _handle(state: dict[str, Any] | None) -> Handle | None:
    if state is None:
        return None
    w, x, y, z = _numbers(state, "orientation", "wxyz", 1.5)
    size = (w * w + x * x + y * y + z * z) ** 0.5
    if not 0.5 < size < 1.5:
        raise StrangeError(f"orientation has length {size:.3g}, expected 1")
    pressed = state.get("buttons", {"a": state.get("button", False)})
    if not isinstance(pressed, dict) or not all(isinstance(on, bool) for on in pressed.values()):
        raise StrangeError(f"buttons are {pressed!r:.40}, expected true or false for each")
    bits = sum(1 << k for k, key in enumerate("abc") if pressed.get(key, False))
    return Handle(rotation=(w / size, x / size, y / size, z / size), buttons=bits)


def _numbers(state: dict[str, Any], key: str, names: str, most: float) -> list[float]:
    found = state.get(key)
    values: list[Any] = [found.get(name) for name in names] if isinstance(found, dict) else [None]
    if not all(isinstance(x, int | float) and not isinstance(x, bool) and -most <= x <= most for x in values):
        raise StrangeError(f"{key} is {found!r:.60}, expected {', '.join(names)} within {most:g}")
    return [float(x) for x in values]


def _no_number(word: str) -> NoReturn:
    raise StrangeError(f"{word} is no number here")
