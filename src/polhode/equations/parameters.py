"""Parameters and time that a call takes beside the state."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from numbers import Real
from typing import TYPE_CHECKING, Any

from polhode.compile import Function
from polhode.graph import Expr, as_expr, free_symbols
from polhode.model.errors import closest, listed

if TYPE_CHECKING:
    from .equations import Equations

Maker = Callable[[], Function]


class Call:
    """A compiled function of a mechanism that has parameters or states, or depends on time.

    Takes t=, z=, p= and controls= by name, also where this function needs none of them.

    actuators : those of the model; commanded : whether their controls are an input of their own; driven : whether
                they are the last entries of tau, the last argument
    full      : makes the function; idle : makes the one without controls, where there are any
    """

    __slots__ = (
        "_full", "_idle", "actuators", "commanded", "driven", "known", "name", "stated", "timed", "used",
    )  # fmt: skip

    def __init__(
        self, name: str, full: Maker, timed: bool, stated: bool, used: tuple[str, ...], known: tuple[str, ...],
        actuators: tuple[str, ...] = (), commanded: bool = False, driven: bool = False, idle: Maker | None = None,
    ) -> None:  # fmt: skip
        self.name, self.timed, self.stated, self.used, self.known = name, timed, stated, used, known
        self.actuators, self.commanded, self.driven = actuators, commanded, driven
        self._full: Function | Maker = full
        self._idle: Function | Maker | None = idle

    @property
    def function(self) -> Function:
        """The function with controls, compiled when it is first needed."""
        if not isinstance(self._full, Function):
            self._full = self._full()
        return self._full

    @property
    def idle(self) -> Function | None:
        """The function without controls, which are 0 then; None where it has none."""
        if self._idle is not None and not isinstance(self._idle, Function):
            self._idle = self._idle()
        return self._idle

    def __call__(
        self, *args: Any, p: Any = None, t: Any = None, z: Any = None, controls: Any = None, **options: Any
    ) -> Any:
        if self.used and p is None and args and isinstance(args[-1], Mapping) and {*self.used} & {*args[-1]}:
            raise TypeError(f"{self.name}: values of parameters have no place among its arguments. Give p={{...}}.")
        if controls is None and self._idle is not None:
            function = self._idle if isinstance(self._idle, Function) else self.idle
            assert function is not None
        else:
            function = self.function
            if controls is not None or (self.actuators and (self.commanded or self.driven)):
                values = control_values(self.name, controls, self.actuators)
                if self.commanded:
                    options["controls"] = values
                elif self.driven and "tau" in options:
                    options["tau"] = joined(options["tau"], values)
                elif self.driven and args:
                    args = (*args[:-1], joined(args[-1], values))
        if self.timed:
            if t is None:
                raise ValueError(f"{self.name} depends on time. Give t=...")
            options["t"] = t
        if self.stated:
            if z is None:
                raise ValueError(f"{self.name} depends on states that are not motion. Give z=[...].")
            options["z"] = z
        if self.used or p is not None:
            values = ordered(self.name, p, self.used, self.known)
            if self.used:
                options["p"] = values
        return function(*args, **options)

    def __repr__(self) -> str:
        found = self._idle if isinstance(self._idle, Function) else self.function
        return repr(found)


def control_values(call: str, controls: Any, actuators: tuple[str, ...]) -> Any:
    """Controls as one array (..., nc), from a mapping or an array; 0 for those that are not given."""
    import numpy as np

    if not actuators and controls is not None:
        raise ValueError(f"{call}: the model has no actuators, found controls. Leave them out.")
    if controls is None:
        return np.zeros(len(actuators))
    given = dict.fromkeys(actuators, 0.0)
    if not isinstance(controls, Mapping):
        return ordered(call, controls, actuators, actuators, "controls")
    for key, value in controls.items():
        if key not in given:
            raise KeyError(f"{call}: there is no actuator {key!r}. {closest(key, actuators)}")
        given[key] = value
    return ordered(call, given, actuators, actuators, "controls")


def joined(tau: Any, controls: Any) -> Any:
    """Forces and controls as one array, over the same batch."""
    import numpy as np

    tau = np.asarray(tau, dtype=float)
    if tau.ndim == controls.ndim == 1:
        return np.concatenate((tau, controls))
    lead = np.broadcast_shapes(tau.shape[:-1], controls.shape[:-1])
    parts = [np.broadcast_to(a, (*lead, a.shape[-1])) for a in (tau, controls)]
    return np.concatenate(parts, axis=-1)


def ordered(call: str, p: Any, used: tuple[str, ...], known: tuple[str, ...], what: str = "p") -> Any:
    """The parameters that a call uses as one array (..., n), from a mapping or an array of all that are known."""
    import numpy as np

    if p is not None and not isinstance(p, Mapping):
        try:
            found = np.asarray(p, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f'{call}: {what} is {p!r:.60}, expected numbers, in an array or by name: {{"m": 2.0}}.'
            ) from None
        if found.ndim == 0 or found.shape[-1] != len(known):
            raise ValueError(
                f"{call}: {what} has shape {found.shape}, expected {len(known)} values last: {listed(known)}."
            )
        found = found[..., [known.index(name) for name in used]]
    else:
        given = {str(k.value) if isinstance(k, Expr) else k: v for k, v in (p or {}).items()}
        if unknown := [name for name in given if name not in known]:
            raise ValueError(f"{call}: {_unknown(unknown[0], known)}")
        if missing := [name for name in used if name not in given]:
            raise ValueError(
                f"{call}: no value for {listed(missing)}. "
                f"Give p={{{missing[0]!r}: ...}}, or fold values in with compile(values=...)."
            )
        found = _stacked(call, used, [given[name] for name in used])
    for name, column in zip(used, np.moveaxis(found, -1, 0), strict=True):
        if not np.isfinite(column).all():
            raise ValueError(
                f"{call}: {'parameter' if what == 'p' else what} {name!r} is NaN or infinite, expected a number."
            )
    return found


def _stacked(call: str, used: tuple[str, ...], columns: list[Any]) -> Any:
    import numpy as np

    try:
        if all(isinstance(e, (int, float)) for e in columns):
            return np.array(columns, dtype=float)
        return np.stack(np.broadcast_arrays(*[np.asarray(e, dtype=float) for e in columns]), axis=-1)
    except (TypeError, ValueError):
        shown = ", ".join(f"{name}={e!r:.40}" for name, e in zip(used, columns, strict=True))
        raise ValueError(f"{call}: the parameters {shown}, expected numbers, or arrays of shapes that agree.") from None


def parameter_values(equations: Equations, values: Mapping[Any, Any]) -> dict[Expr, Expr]:
    """The values of parameters of equations; keys may be names or symbols."""
    known = {str(s.value): s for s in equations.parameters}
    return {known[name]: as_expr(number) for name, number in numbers_of(values, tuple(known)).items()}


def numbers_of(values: Mapping[Any, Any], known: Sequence[str], owner: str = "the equations") -> dict[str, Any]:
    """Numbers by the names of parameters, checked; keys may be names or symbols."""
    if not isinstance(values, Mapping):
        raise TypeError(f'values is {values!r:.60}, expected names with numbers: {{"m": 2.0}}.')
    found: dict[str, Any] = {}
    for key, value in values.items():
        name = str(key.value) if isinstance(key, Expr) else key
        if type(name).__module__.startswith("sympy."):
            name = str(name)
        if name not in known:
            raise ValueError(_unknown(name, known, owner))
        number = float(value) if isinstance(value, Expr) and not free_symbols(value) else value
        if not isinstance(number, Real) or not math.isfinite(number):
            raise ValueError(f"Value of parameter {name!r} is {value!r:.60}, expected a finite number.")
        found[name] = number
    return found


def _unknown(name: Any, known: Sequence[str], owner: str = "the equations") -> str:
    return f"{name!r} is no parameter of {owner}. {closest(name, known)}"
