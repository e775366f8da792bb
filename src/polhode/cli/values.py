"""Numbers as people write them on a command line."""

from __future__ import annotations

import re
from collections.abc import Sequence

from polhode.model.errors import ModelError, closest


def number(text: str, where: str) -> float:
    """Read a number or an expression of numbers, such as pi/2."""
    from polhode.model.expression import parse

    try:
        return float(parse(text.strip(), {}, where))
    except ModelError:
        degrees = re.fullmatch(r"([-+]?[0-9.]+) *(?:deg|degrees?|°)", text.strip())
        remedy = f" Angles are in radians: {degrees[1]}*pi/180." if degrees else ""
        raise ValueError(f"{where}: {text.strip()!r} is not a finite number.{remedy}") from None


def _items(text: str) -> list[str]:
    """What commas separate, or else blanks; names may have blanks where commas separate."""
    if "," in text or text.count("=") == 1:
        return [item.strip() for item in text.split(",") if item.strip()]
    return text.replace(" =", "=").replace("= ", "=").split()


def named_values(text: str, where: str) -> dict[str, float]:
    """Read "a=1, b=2"."""
    found: dict[str, float] = {}
    for item in _items(text):
        name, equals, value = (part.strip() for part in item.partition("="))
        if not equals or not name:
            raise ValueError(f"{where}: {item!r}, expected NAME=NUMBER, several with commas.")
        if name in found:
            raise ValueError(f"{where}: {name!r} is given twice.")
        found[name] = number(value, f"{where}: {name}")
    return found


def vector_values(text: str, names: Sequence[str], rest: Sequence[float], where: str, what: str) -> list[float]:
    """Read "0.1, 0.2" in the order of the names, or "a=0.1" for some of them; the others are `rest`."""
    if "=" not in text:
        found = [number(item, where) for item in _items(text)]
        if found and len(found) != len(names):
            raise ValueError(f"{where}: {len(found)} numbers for {len(names)} {what}s: {', '.join(names)}.")
        return found or list(rest)
    given = named_values(text, where)
    for name in given:
        if name not in names:
            raise ValueError(f"{where}: there is no {what} {name!r}. {closest(name, names)}")
    return [given.get(name, x) for name, x in zip(names, rest, strict=True)]
