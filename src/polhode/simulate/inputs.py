"""What drives a machine: constants, laws, functions of time and state, sampled controllers."""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from numbers import Real
from typing import Any

import numpy as np

from polhode.equations import Equations
from polhode.equations.program import Program
from polhode.graph import Expr, free_symbols
from polhode.kernels.machine import CONTROL, Machine
from polhode.model.errors import closest
from polhode.model.expression import Symbols, parse

from .asked import values_of

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # t, q, u -> tau

_PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)


@dataclass(frozen=True, slots=True)
class Sampled:
    """A controller that runs at a fixed rate: its forces stay as they are until the next call.

    It is called between steps, so that it may also engage and release constraints of its simulation.

    function : t, q, u -> forces on the speeds, (nu,) or by name
    period   : seconds between two calls
    """

    function: Control
    period: float

    def __post_init__(self) -> None:
        if not callable(self.function):
            raise TypeError(f"Sampled: function is {self.function!r:.60}, expected a function of t, q, u.")
        if not (isinstance(self.period, Real) and 0 < self.period < float("inf")):
            raise ValueError(f"Sampled: period is {self.period!r:.60}, expected seconds, more than 0.")


@dataclass(kw_only=True)
class Inputs:
    """The forces tau on the speeds, sorted by how they come about.

    constant   : (nu,), what does not change
    laws       : expressions compiled into the equations
    continuous : called at every evaluation
    sampled    : called at its own rate
    """

    names: list[str]
    constant: np.ndarray
    laws: dict[Expr, Expr] = field(default_factory=dict)
    continuous: Control | None = None
    sampled: Sampled | None = None
    failure: BaseException | None = None  # raised by a function of the user
    not_finite: tuple[float, str] | None = None  # when it last gave NaN or infinity, and for which speed
    asked: bool = False  # whether the continuous control is being called now
    _callback: Any = None

    def call(self, function: Control, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Forces from a function of the user, checked."""
        return self.read(function(t, q.copy(), u.copy()), t)

    def read(self, given: Any, t: float) -> np.ndarray:
        """The forces that a function of the user gave, as an array, checked."""
        found = np.zeros(len(self.names))
        try:
            if isinstance(given, Mapping):
                for name, value in given.items():
                    found[self._place(str(name))] = value
                given = found
            array = np.asarray(given, dtype=float)
        except (TypeError, ValueError):
            raise TypeError(
                f"The control gave {given!r:.60} at t = {t:g}, expected forces in an array or by name."
            ) from None
        if array.shape != found.shape:
            raise ValueError(
                f"The control gave an array of shape {array.shape} at t = {t:g}, expected ({len(self.names)},), "
                f"a force for each of {', '.join(self.names[:8])}."
            )
        finite = np.isfinite(array)
        if not finite.all():
            self.not_finite = t, self.names[int(np.argmin(finite))]
        return array

    def along(self, program: Program, t: np.ndarray, x: np.ndarray, p: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """Forces that are constants and laws, (..., nu), at states (..., n)."""
        found = np.empty((*x.shape[:-1], len(self.names)))
        found[...] = constant
        if program.law is not None:
            columns = [self.names.index(str(u.value)) for u in self.laws]
            at = np.ascontiguousarray(np.broadcast_to(t, x.shape[:-1]))
            values = np.ascontiguousarray(np.broadcast_to(p, (*x.shape[:-1], p.shape[-1])))
            found[..., columns] = program.law(at[..., None], x, values)
        return found

    def _place(self, name: str) -> int:
        if name not in self.names:
            raise KeyError(f"The control gave a force for {name!r}, which is no speed. {closest(name, self.names)}")
        return self.names.index(name)

    def connect(self, machine: Machine) -> None:
        """Have the loops ask the continuous control, if there is one. A failure in it stops the run.

        A call takes some 2 us beyond the function itself: the arrays it sees are prepared once for each
        place where a method puts a state, and its answer is written without an array in between.
        """
        if self.continuous is None:
            return
        function, nq, n = self.continuous, machine.nq, machine.nq + len(self.names)
        clock = ctypes.c_double.from_address(machine.time.ctypes.data)
        target = (ctypes.c_double * len(self.names)).from_address(machine.tau.ctypes.data)
        seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        places = {name: i for i, name in enumerate(self.names)}

        def views(place: int) -> tuple[np.ndarray, np.ndarray]:
            x = np.ctypeslib.as_array((ctypes.c_double * n).from_address(place))
            seen[place] = x[:nq], x[nq:]
            return seen[place]

        def callback(_time: int, place: int, _tau: int) -> None:
            try:
                if self.failure is not None:  # do not ask again
                    raise self.failure
                q, u = seen.get(place) or views(place)
                self.asked = True
                given = function(clock.value, q.copy(), u.copy())  # so that it may use them as it likes
                if not _written(given, places, target):
                    target[:] = self.read(given, clock.value).tolist()
            except BaseException as error:  # native code cannot pass it on; the driver does
                self.failure = self.failure or error
                target[:] = [math.nan] * len(target)
            finally:
                self.asked = False

        self._callback = _PROTOTYPE(callback)
        machine.code[CONTROL] = ctypes.cast(self._callback, ctypes.c_void_p).value or 0


def _written(given: Any, places: dict[str, int], target: Any) -> bool:
    """Write finite numbers, in an array, a list or by name; False for anything else, which takes a closer look."""
    try:
        if type(given) is dict:
            values = [0.0] * len(target)
            for name, value in given.items():
                values[places[name]] = value
        else:
            values = given.tolist() if type(given) is np.ndarray else given
        target[:] = values
        total = sum(values)
    except (TypeError, ValueError, KeyError):
        return False
    return isinstance(total, float) and math.isfinite(total)


def read_inputs(tau: Any, eq: Equations) -> Inputs:
    """Sort what the user gave as tau."""
    names = [str(s.value) for s in eq.u]
    found = Inputs(names=names, constant=np.zeros(len(names)))
    if tau is None:
        return found
    if isinstance(tau, Sampled):
        found.sampled = tau
    elif callable(tau):
        found.continuous = tau
    elif isinstance(tau, Mapping):
        _read_mapping(tau, eq, found)
    else:
        found.constant = values_of(tau, names, found.constant, "tau", "numbers, a mapping, a function or Sampled")
    return found


def _read_mapping(tau: Mapping[Any, Any], eq: Equations, found: Inputs) -> None:
    known = (*eq.q, *eq.u, *eq.z, eq.t, *eq.parameters)
    for key, value in tau.items():
        name = str(key)
        if name not in found.names:
            raise KeyError(f"tau: there is no speed {name!r}. {closest(name, found.names)}")
        place = found.names.index(name)
        law = parse(value, Symbols(), f"tau of {name!r}") if isinstance(value, str) else value
        if isinstance(law, Expr):
            if unknown := sorted(str(s) for s in free_symbols(law).difference(known)):
                raise ValueError(
                    f"tau of {name!r} has {unknown[0]!r}, expected coordinates, speeds, states, t and parameters of "
                    f"the model, or a number in its place. {closest(unknown[0], map(str, known))}"
                )
            found.laws[eq.u[place]] = law
        elif isinstance(value, Real) and np.isfinite(float(value)):
            found.constant[place] = float(value)
        else:
            raise ValueError(f"tau of {name!r} is {value!r:.60}, expected a number, an expression or text.")
