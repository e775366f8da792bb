"""What a page may ask for: small JSON objects, read strictly. Nothing in them is evaluated."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, NoReturn

LARGEST = 4096  # bytes of a message
MOST = 1e9  # no number of a message is larger

# what can be done, with what has to be said for it
ACTIONS: dict[str, dict[str, str]] = {
    **{action: {} for action in ("play", "pause", "step", "reset", "drop", "equations", "count")},
    "speed": {"value": "number"},
    "seen": {"value": "number"},
    "input": {"name": "text", "value": "number"},
    "parameter": {"name": "text", "value": "number"},
    "watch": {"names": "names"},
    "show": {"names": "names"},
    "engage": {"name": "text"},
    "release": {"name": "text"},
    "grab": {"frame": "place", "point": "point"},
    "drag": {"point": "point"},
    "push": {"point": "point", "grip": "switch"},
}
# what may be said besides: which of the hands of a page it is, the first unless another is named
BESIDES: dict[str, dict[str, str]] = {action: {"hand": "hand"} for action in ("grab", "drag", "drop")}
HANDS = 10  # of a page, at a time


@dataclass(frozen=True, slots=True, kw_only=True)
class Message:
    """What is to be done, with what was said for it."""

    action: str
    name: str = ""
    value: float = 0.0
    frame: int = 0
    point: tuple[float, ...] = ()
    names: tuple[str, ...] = ()
    hand: int = 0
    grip: bool = False


def read(text: str | bytes) -> Message:
    """Read a message such as {"do": "drag", "point": [0, 0, 1]}; ValueError says what is wrong with it."""
    if not isinstance(text, str):
        raise ValueError("Message: expected text, found bytes.")
    if len(text) > LARGEST:
        raise ValueError(f"Message: {len(text)} characters, expected {LARGEST} at most.")
    try:
        found = json.loads(text, parse_constant=_no_number, object_pairs_hook=_once)
    except RecursionError:
        raise ValueError("Message: too deep.") from None
    except json.JSONDecodeError as error:
        raise ValueError(f"Message: not JSON: {error.msg} at character {error.pos}.") from None
    if not isinstance(found, dict):
        raise ValueError("Message: expected an object with 'do'.")
    action = found.pop("do", None)
    if not isinstance(action, str) or action not in ACTIONS:
        raise ValueError(f"Message: 'do' is {_short(action)}, expected one of {', '.join(ACTIONS)}.")
    fields, besides = ACTIONS[action], BESIDES.get(action, {})
    if found.keys() - besides.keys() != fields.keys():
        wanted = ", ".join(fields) or "nothing else"
        raise ValueError(f"Message {action!r}: expected {wanted}, found {_short(', '.join(found) or 'nothing')}.")
    kinds = fields | {key: kind for key, kind in besides.items() if key in found}
    return Message(action=action, **{key: _checked(action, key, kind, found[key]) for key, kind in kinds.items()})


def _checked(action: str, key: str, kind: str, value: Any) -> Any:
    if kind == "text" and isinstance(value, str):
        return value
    if kind == "number" and _is_number(value):
        return float(value)
    if kind == "place" and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < 1 << 20:
        return value
    if kind == "hand" and isinstance(value, int) and not isinstance(value, bool) and 0 <= value < HANDS:
        return value
    if kind == "switch" and isinstance(value, bool):
        return value
    if kind == "point" and isinstance(value, list) and len(value) == 3 and all(map(_is_number, value)):
        return tuple(map(float, value))
    if kind == "names" and isinstance(value, list) and all(isinstance(each, str) for each in value):
        return tuple(value)
    expected = {"text": "text", "number": f"a number within {MOST:g}", "place": "the place of a frame, 0 or more",
                "point": f"three numbers within {MOST:g}", "names": "a list of names",
                "hand": f"a hand, 0 to {HANDS - 1}", "switch": "true or false"}  # fmt: skip
    raise ValueError(f"Message {action!r}: {key!r} is {_short(value)}, expected {expected[kind]}.")


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and -MOST <= value <= MOST  # NaN is not


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("Message: a key is there twice.")
    return found


def _no_number(word: str) -> NoReturn:
    raise ValueError(f"Message: {word} is no number here.")


def _short(value: Any) -> str:
    return f"{value!r:.60}"
