"""What an object has not, and where it is instead: the step that was forgotten, or the name that was meant."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from .errors import closest

# functions of the package that other packages have as methods
_VERBS = {
    "simulate": "ph.simulate({}, q0, u0, t_end)",
    "simulate_many": "ph.simulate_many({}, q0, u0, t_end)",
    "linearize": "ph.linearize({}, q)",
    "linearise": "ph.linearize({}, q)",
    "equilibrium": "ph.equilibrium({}, q)",
    "trim": "ph.equilibrium({}, q)",
    "assemble": "ph.assemble({}, q)",
    "study": "ph.study({}, over=..., run=..., keep=...)",
    "sensitivities": "ph.sensitivities({}, q0, u0, t_end, by=...)",
    "fit": "ph.fit({}, data, parameters=...)",
    "reach": "ph.reach({}, marker, pose)",
    "realtime": "ph.realtime({})",
}


class Elsewhere:
    """An object that says where to find what it has not.

    _compiled  : what simulations take of it, such as "eq.compile()"
    _elsewhere : by a name, what to write instead; "{name}" stands for the name
    """

    __slots__ = ()
    _compiled: ClassVar[str] = ""
    _elsewhere: ClassVar[Mapping[str, str]] = {}

    if not TYPE_CHECKING:  # there it would hide what is misspelt

        def __getattr__(self, name: str) -> Any:
            kind = type(self)
            if name.startswith("_"):
                raise AttributeError(f"{kind.__name__!r} object has no attribute {name!r}")
            if hasattr(kind, name):
                return object.__getattribute__(self, name)  # a property that failed says by itself why
            said = f"{kind.__name__} has no {name!r}. {self._where(name)}"
            raise AttributeError(said, name=name, obj=None)  # of an object Python would add a guess of its own

    def _where(self, name: str) -> str:
        if name in self._elsewhere:
            return f"Write {self._elsewhere[name].format(name=name)}."
        if name in _VERBS and self._compiled:
            return f"Write {_VERBS[name].format(self._compiled)}."
        return closest(name, [each for each in dir(self) if not each.startswith("_")])
