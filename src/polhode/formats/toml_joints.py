"""Joints in TOML tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Any

from polhode.graph import Matrix
from polhode.model import Faults, Joint, Limits, compound, joint, named
from polhode.model.errors import fault

from .toml_values import Values, ours, printable

_OPTIONS = frozenset("name q u damping friction friction_speed armature stiffness rest limits passive".split())
_PRINTED = frozenset({"kind", "q_endings", "u_endings"})


@dataclass(frozen=True, slots=True)
class _Type:
    """A type of joint: how it is made, and the keys it has besides the options of every joint."""

    make: Callable[..., Joint]
    needs: tuple[str, ...] = ()
    takes: tuple[str, ...] = ()


def _mapped(map: Any, **options: Any) -> Joint:
    return joint(map, **options)


TYPES = {
    "revolute": _Type(named.revolute, ("axis",), ("at",)),
    "prismatic": _Type(named.prismatic, ("axis",)),
    "screw": _Type(named.screw, ("axis", "pitch")),
    "cylindrical": _Type(named.cylindrical, ("axis",)),
    "universal": _Type(named.universal, ("axes",)),
    "planar": _Type(named.planar, ("axis",)),
    "spherical": _Type(named.spherical, (), ("quaternion",)),
    "free": _Type(named.free, (), ("quaternion",)),
    "weld": _Type(named.weld),
    "map": _Type(_mapped, ("map",), ("split", "quaternion", "nonholonomic")),
    "compound": _Type(compound, ("joints",)),
}


def read_joint(table: Any, reader: Values | None = None, name: str = "", inside: bool = False) -> Joint:
    """Read the table of a joint; `name` is that of its body, `inside` says it is part of a compound."""
    reader = reader or Values(Faults())
    what = f"Joint of body {name!r}"
    if not isinstance(table, dict):
        raise fault(f'{what} is {table!r:.60}, expected a table such as {{ type = "revolute", axis = "y" }}.')
    kind = table.get("type")
    if not isinstance(kind, str) or kind not in TYPES:
        close = get_close_matches(str(kind), TYPES, 2)
        near = f"Did you mean {' or '.join(map(repr, close))}?" if close else f"Types are {', '.join(TYPES)}."
        raise fault(f"{what}: type is {kind!r:.60}, expected a type of joint. {near}")
    made_by = TYPES[kind]
    options = _OPTIONS - {"name", "q", "u", "friction_speed", "limits", "passive"} if inside else _OPTIONS
    shown = frozenset({"kind"} if kind == "weld" else () if inside else _PRINTED)
    options = frozenset({"name"}) if kind == "weld" else options
    known = Faults()
    inner = Values(known, reader)
    inner.keys(table, what, ("type", *made_by.needs), {*made_by.takes, *options, *shown})
    given: dict[str, Any] = {} if inside else {"name": inner.word(table, "name", what, name)}
    readable = (*made_by.needs, *made_by.takes, *sorted((options | shown) - {"name", "kind"}))
    for key in readable:
        if key in table:
            with known.caught():
                given[key] = _joint_value(inner, key, table[key], f"{what}: {key}", name)
    if all(key in given for key in readable if key in table or key in made_by.needs):
        with known.caught(), ours(what):
            made = made_by.make(**given)
    known.raise_any()
    for variable in () if inside else (*made.coordinates(), *made.speeds()):
        if not printable(variable):
            raise fault(f"{what}: its variable has the name {variable!r:.60}, expected printable text.")
    return replace(made, kind=inner.word(table, "kind", what)) if "kind" in table else made


def _joint_value(reader: Values, key: str, value: Any, what: str, name: str) -> Any:
    """Read what a key of a joint holds."""
    if key in ("quaternion", "nonholonomic", "passive"):
        if not isinstance(value, bool):
            raise fault(f"{what} is {value!r:.60}, expected true or false.")
        return value
    if key in ("q", "u", "q_endings", "u_endings"):
        return tuple(reader.words([value] if isinstance(value, str) else value, what))
    if key == "axis":
        return value if isinstance(value, str) else reader.nested(value, what, 1)
    if key in ("axes", "joints", "split", "map") and not isinstance(value, list | Matrix):
        raise fault(f"{what} is {value!r:.60}, expected a list.")
    if key == "axes":
        return [_joint_value(reader, "axis", axis, what, name) for axis in value]
    if key == "joints":
        return [read_joint(part, reader, name, inside=True) for part in value]
    if key == "split":
        if not all(type(n) is int for n in value):
            raise fault(f"{what} is {value!r:.60}, expected whole numbers such as [1, 2].")
        return value
    if key == "limits":
        return _limits(reader, value, what)
    return reader.nested(value, what, 2 if key == "map" else 1)


def _limits(reader: Values, value: Any, what: str) -> list[Limits]:
    """Read [lower, upper], a table, or a list of either."""
    if isinstance(value, list) and value and all(isinstance(row, (list, dict)) for row in value):
        return [found for row in value for found in _limits(reader, row, what)]
    pair = dict(zip(("lower", "upper"), value, strict=False)) if isinstance(value, list) and len(value) == 2 else value
    if not isinstance(pair, dict) or set(pair) - {"lower", "upper", "speed", "effort"}:
        raise fault(f"{what} is {value!r:.60}, expected [lower, upper] or a table of lower, upper, speed, effort.")
    return [Limits(**{key: _bound(reader, x, f"{what}: {key}") for key, x in pair.items()})]


def _bound(reader: Values, value: Any, what: str) -> float:
    if isinstance(value, float) and math.isinf(value):
        return value
    e = reader.quantity(value, what)
    try:
        return float(e)
    except TypeError:
        raise fault(f"{what} is {e}, expected a number: limits cannot depend on symbols.") from None
