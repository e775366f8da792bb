"""Keyframes: states with names, to begin from."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from polhode.graph import Expr

from . import fields
from .elements import Element, element
from .errors import Faults, closest

if TYPE_CHECKING:
    from .model import Model

Named = tuple[tuple[str, Expr], ...]


@element
class Keyframe(Element):
    """A state that has a name; what is left out is as a simulation begins without it.

    q, u, z  : coordinates, speeds, and states that are not motion, by name
    controls : of actuators, by name
    time     : when it is
    """

    table = "keyframe"
    positional = 1

    name: str
    q: Named = fields.values()
    u: Named = fields.values()
    z: Named = fields.values()
    controls: Named = fields.values()
    time: Expr = fields.scalar(0)

    def start(self) -> dict[str, Any]:
        """What `simulate` and `Simulation` take to begin there: q0, u0, z0, controls, t0, where it has them."""
        given = {"q0": self.q, "u0": self.u, "z0": self.z, "controls": self.controls}
        found: dict[str, Any] = {key: {name: float(e) for name, e in pairs} for key, pairs in given.items() if pairs}
        return found | ({} if self.time == 0 else {"t0": float(self.time)})

    def faults(self) -> Iterator[str]:
        yield from Element.faults(self)
        for e in self.expressions():
            if e.number is None:
                yield f"{self.what}: has {fields.short(e):.60}, expected numbers."


def check_keyframes(model: Model, faults: Faults) -> None:
    """Note names that keyframes have of nothing."""
    known = {
        "q": ("coordinate", model.coordinates),
        "u": ("speed", model.speeds),
        "z": ("state", tuple(state.name for state in model.states)),
        "controls": ("actuator", tuple(actuator.name for actuator in model.actuators)),
    }
    seen: set[str] = set()
    for key in model.keyframes:
        if key.name in seen:
            faults.add(f"{key.what} exists twice, expected once. Rename one of them.")
        seen.add(key.name)
        for field, (what, names) in known.items():
            for name, _ in getattr(key, field):
                if name not in names:
                    faults.add(f"{key.what}: there is no {what} {name!r}. {closest(name, names)}")
        for text in key.faults():
            faults.add(text)
