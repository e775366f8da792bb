"""Numbers as people write them on a command line."""

from __future__ import annotations

import math
from collections.abc import Sequence
from difflib import get_close_matches


def _number(text: str, where: str) -> float:
    try:
        value = float(text)
    except ValueError:
        raise ValueError(f"{where}: {text!r} is not a number.") from None
    if not math.isfinite(value):
        raise ValueError(f"{where}: {text} is not a finite number.")
    return value


def _items(text: str) -> list[str]:
    return [item for item in text.replace(",", " ").replace("= ", "=").replace(" =", "=").split() if item]


def named_values(text: str, where: str) -> dict[str, float]:
    """Read "a=1, b=2"."""
    found: dict[str, float] = {}
    for item in _items(text):
        name, equals, value = item.partition("=")
        if not equals or not name:
            raise ValueError(f"{where}: {item!r}, expected NAME=NUMBER, several with commas.")
        if name in found:
            raise ValueError(f"{where}: {name!r} is given twice.")
        found[name] = _number(value, f"{where}: {name}")
    return found


def vector_values(text: str, names: Sequence[str], where: str, what: str) -> list[float]:
    """Read "0.1, 0.2" in the order of the names, or "a=0.1, b=0.2" in any order."""
    if "=" not in text:
        found = [_number(item, where) for item in _items(text)]
        if len(found) != len(names):
            raise ValueError(f"{where}: {len(found)} numbers for {len(names)} {what}s: {', '.join(names)}.")
        return found
    given = named_values(text, where)
    for name in given:
        if name not in names:
            close = get_close_matches(name, names, 1)
            remedy = f"Did you mean {close[0]!r}?" if close else f"There are {', '.join(names)}."
            raise ValueError(f"{where}: there is no {what} {name!r}. {remedy}")
    missing = [name for name in names if name not in given]
    if missing:
        raise ValueError(f"{where}: no value for {', '.join(missing)}.")
    return [given[name] for name in names]
