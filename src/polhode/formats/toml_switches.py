"""Switches as TOML tables."""

from __future__ import annotations

from typing import Any

from polhode.graph import Expr
from polhode.model import At, ModelError, When, at
from polhode.model.errors import fault
from polhode.model.switches import Switch, read_when

from .toml_values import Values


def read_switch(table: dict[str, Any], read: Values, what: str) -> Switch:
    """Read at = 2.0 or when = "theta > 1", with what to engage and to release: a name, or a list of them."""
    if ("at" in table) == ("when" in table):
        said = "both at and when" if "at" in table else "neither at nor when"
        raise fault(f"{what}: has {said}, expected one of them.")
    if "at" in table and "direction" in table:
        raise fault(f"{what}: has a time and a direction, expected a direction with when alone.")
    engage, release = table.get("engage", ()), table.get("release", ())
    try:
        if "at" in table:
            return at(table["at"], engage=engage, release=release)
        return read_when(table["when"], table.get("direction", 0), engage, release, read.names)
    except ModelError as error:
        raise ModelError([f"{what}, {text}" for text in error.faults]) from None


def switch_table(switch: Switch) -> dict[str, Any]:
    """The table of a switch."""
    row: dict[str, Any] = {"at": switch.time} if isinstance(switch, At) else {"when": Condition(switch.value)}
    if isinstance(switch, When) and switch.direction:
        row["direction"] = switch.direction
    return row | {key: list(names) for key in ("engage", "release") if (names := getattr(switch, key))}


class Condition:
    """An expression that may be a comparison, which stands alone where it is written."""

    def __init__(self, value: Expr) -> None:
        self.value = value
