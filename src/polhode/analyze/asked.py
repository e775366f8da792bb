"""What `linearize` is given, in all the forms that it takes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from polhode.model.errors import closest
from polhode.simulate.asked import is_pair

_STARTS = {"q0": "q", "u0": "u", "z0": "z", "t0": "t"}


def names_of(asked: Any, what: str) -> tuple[str, ...]:
    """Names, of which one may stand alone."""
    if isinstance(asked, str):
        return (asked,)
    if not isinstance(asked, Iterable):
        raise TypeError(f"{what} is {asked!r:.60}, expected a name or some names.")
    return tuple(map(str, asked))


def started(
    q: Any, u: Any, z: Any, t: Any, start: Mapping[str, Any], known: Iterable[str], verb: str = "linearize"
) -> tuple[Any, Any, Any, Any]:
    """The state from q, u, z and t, from a pair for q, or from q0, u0, z0 and t0.

    known : what may be given beside these, for the message
    """
    for name in start:
        if name not in _STARTS:
            raise TypeError(f"{verb} takes no {name!r}. {closest(name, [k for k in known if k != 'start'])}")
    if is_pair(q):
        if u is not None or "u0" in start:
            raise TypeError("q is a pair of coordinates and speeds, and u is given too, expected speeds once.")
        q, u = q
    found = {"q": q, "u": u, "z": z, "t": t}
    for name, value in start.items():
        plain = _STARTS[name]
        if not (found[plain] is None or (plain == "t" and t == 0)):
            raise TypeError(f"{plain} and {name} are both given, and are the same, expected one of them.")
        found[plain] = value
    return found["q"], found["u"], found["z"], found["t"]
