"""Calls whose arguments are misspelt say which were meant."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import wraps
from inspect import Parameter, signature
from typing import ParamSpec, TypeVar

from .errors import closest

P = ParamSpec("P")
T = TypeVar("T")


def spelled(call: str, hints: Mapping[str, str] | None = None) -> Callable[[Callable[P, T]], Callable[P, T]]:
    """Make a function refuse arguments that it has not with the names of those that it has.

    With **options it takes any but those in `hints`.

    call  : how users write it, such as "beam"
    hints : by a name that it has not, what to write instead
    """

    def checked(function: Callable[P, T]) -> Callable[P, T]:
        known = {name: p.kind for name, p in signature(function).parameters.items() if name != "self"}
        by_place = [name for name, kind in known.items() if kind is Parameter.POSITIONAL_OR_KEYWORD]
        passing = Parameter.VAR_KEYWORD in known.values()  # what it hands on is checked there
        more = [name for name in known if name not in by_place]

        @wraps(function)
        def wrapper(*args: P.args, **given: P.kwargs) -> T:
            if unknown := [name for name in given if name not in known and (not passing or name in (hints or {}))]:
                hint = (hints or {}).get(unknown[0]) or closest(unknown[0], known)
                raise TypeError(f"{call}: there is no {unknown[0]!r}. {hint}")
            own = len(args) - ("self" in signature(function).parameters)
            if own > len(by_place) and more:
                raise TypeError(
                    f"{call}: takes {len(by_place) or 'no'} value{'s' * (len(by_place) != 1)} without a name, found "
                    f"{own}. Write {more[0]}=... instead."
                )
            return function(*args, **given)

        return wrapper

    return checked
