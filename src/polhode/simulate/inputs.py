"""What drives a machine: constants, laws, functions of time and state, sampled controllers."""

from __future__ import annotations

import ctypes
import inspect
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from difflib import get_close_matches
from numbers import Real
from typing import Any

import numpy as np

from polhode.equations import Equations
from polhode.equations.inputs import input_names
from polhode.equations.program import Program
from polhode.graph import Expr, as_expr, free_symbols, substitute, symbol
from polhode.kernels.machine import CONTROL, Machine
from polhode.model.errors import closest, listed
from polhode.model.expression import Symbols, parse

from .asked import values_of
from .sampled_laws import SampledLaws

Control = Callable[[float, np.ndarray, np.ndarray], Any]  # t, q, u -> tau

_PROTOTYPE = ctypes.CFUNCTYPE(None, *[ctypes.c_void_p] * 3)


def require_three(function: Callable[..., Any], what: str) -> None:
    """Refuse a control that cannot be called with t, q and u."""
    try:
        takes = inspect.signature(function)
    except (TypeError, ValueError):  # of some functions nothing is known
        return
    try:
        takes.bind(0.0, None, None)
    except TypeError:
        raise TypeError(
            f"{what}: the control takes {takes}, expected (t, q, u): the time, coordinates, speeds."
        ) from None


@dataclass(frozen=True, slots=True)
class Sampled:
    """A controller that runs at a fixed rate: its forces stay as they are until the next call.

    It is called between steps, so that it may also engage and release constraints of its simulation.

    function : t, q, u -> forces on the speeds, (nu,) or by name; or expressions by name, which are computed in native
               code: {"elbow_dot": "-20*elbow - 3*elbow_dot"}
    period   : seconds between two calls
    """

    function: Control | Mapping[Any, Any]
    period: float

    def __post_init__(self) -> None:
        if not callable(self.function) and not (isinstance(self.function, Mapping) and self.function):
            raise TypeError(
                f"Sampled: function is {self.function!r:.60}, expected a function of t, q, u, or expressions by name."
            )
        if callable(self.function):
            require_three(self.function, "Sampled")
        if isinstance(self.function, Mapping):
            object.__setattr__(self, "function", dict(self.function))  # what is given may change
        if not (isinstance(self.period, Real) and 0 < self.period < float("inf")):
            raise ValueError(f"Sampled: period is {self.period!r:.60}, expected seconds, more than 0.")


@dataclass(kw_only=True)
class Inputs:
    """The forces tau on the speeds and the controls of actuators, sorted by how they come about.

    names      : of the speeds, then of the actuators
    symbols    : what they are in the equations: speeds, which forces act on, and controls
    constant   : (nu + nc,), what does not change
    laws       : expressions compiled into the equations
    continuous : called at every evaluation
    sampled    : called at its own rate
    """

    names: list[str]
    symbols: list[Expr]
    constant: np.ndarray
    laws: dict[Expr, Expr] = field(default_factory=dict)
    forces: int = 0  # how many of them are forces on speeds
    continuous: Control | None = None
    sampled: Sampled | None = None
    held: SampledLaws | None = None  # of a sampled controller of expressions
    failure: BaseException | None = None  # raised by a function of the user
    not_finite: tuple[float, str] | None = None  # when it last gave NaN or infinity, and for which speed
    asked: bool = False  # whether the continuous control is being called now
    _callback: Any = None

    def call(self, function: Control, t: float, q: np.ndarray, u: np.ndarray) -> np.ndarray:
        """Forces from a function of the user, checked."""
        return self.read(function(t, q.copy(), u.copy()), t)

    def read(self, given: Any, t: float) -> np.ndarray:
        """The forces that a function of the user gave, as an array, checked."""
        if given is None:
            raise TypeError(
                f"The control gave nothing (None) at t = {t:g}, expected forces in an array, or by name. End it with "
                f"return {{{self.names[0]!r}: ...}}."
            )
        found = np.zeros(len(self.names))
        if len(self.symbols) > self.forces and not isinstance(given, Mapping) and np.shape(given) == (self.forces,):
            given = [*given, *found[self.forces :]]
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
            columns = [self.symbols.index(s) for s in self.laws]
            at = np.ascontiguousarray(np.broadcast_to(t, x.shape[:-1]))
            values = np.ascontiguousarray(np.broadcast_to(p, (*x.shape[:-1], p.shape[-1])))
            found[..., columns] = program.law(at[..., None], x, values)
        return found

    def _place(self, name: str) -> int:
        if name not in self.names:
            what = "no speed" if len(self.names) == self.forces else "neither a speed nor an actuator"
            raise KeyError(f"The control gave a force for {name!r}, which is {what}. {closest(name, self.names)}")
        return self.names.index(name)

    def connect(self, machine: Machine) -> None:
        """Have the loops ask the continuous control, if there is one. A failure in it stops the run.

        A call takes some 2 us beyond the function itself: the arrays it sees are prepared once for each
        place where a method puts a state, and its answer is written without an array in between.
        """
        if self.continuous is None:
            return
        function, nq, n = self.continuous, machine.nq, machine.nq + machine.nu
        clock = ctypes.c_double.from_address(machine.time.ctypes.data)
        target = (ctypes.c_double * len(self.names)).from_address(machine.tau.ctypes.data)
        seen: dict[int, tuple[np.ndarray, np.ndarray]] = {}
        places = {name: i for i, name in enumerate(self.names)}

        def views(place: int) -> tuple[np.ndarray, np.ndarray]:
            x = np.ctypeslib.as_array((ctypes.c_double * n).from_address(place))
            seen[place] = x[:nq], x[nq:]
            return seen[place]

        def callback(_time: int, place: int, _tau: int) -> None:
            if self.failure is not None:  # do not ask again
                target[:] = [math.nan] * len(target)
                return
            try:
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


def read_inputs(tau: Any, eq: Equations, controls: Any = None) -> Inputs:
    """Sort what the user gave as tau, and as controls beside it; Inputs that are sorted stay as they are."""
    if isinstance(tau, Inputs):
        return tau
    names, nu = list(input_names(eq)), len(eq.u)  # of speeds, then of actuators, none of which is called like a speed
    found = Inputs(names=names, symbols=[*eq.u, *eq.controls], forces=nu, constant=np.zeros(len(names)))
    if controls is not None:
        _read_controls(controls, eq, found)
    if tau is None:
        return found
    _require_once(tau, controls, names[nu:])
    if controls is not None and (isinstance(tau, Sampled) or callable(tau)):
        raise TypeError("tau is a function, and controls are given beside it. Have the function give both, by name.")
    if isinstance(tau, Sampled):
        found.sampled, found.held = tau, None if callable(tau.function) else _held(tau.function, eq, found)
    elif callable(tau):
        require_three(tau, "tau")
        found.continuous = tau
    elif isinstance(tau, Mapping):
        _read_mapping(tau, eq, found)
    else:
        many = len(names) if np.shape(tau) == (len(names),) and controls is None else nu
        forms = "numbers, a mapping, a function or Sampled"
        found.constant[:many] = values_of(tau, names[:many], found.constant[:many], "tau", forms)
    return found


def _held(given: Mapping[Any, Any], eq: Equations, inputs: Inputs) -> SampledLaws:
    """Expressions of a sampled controller, checked."""
    read = replace(inputs, laws={}, constant=np.zeros(len(inputs.names)))
    _read_mapping(given, eq, read, "Sampled")
    places = {inputs.names.index(str(key)) for key in given}
    laws = {inputs.symbols.index(s): law for s, law in read.laws.items()}
    return SampledLaws({k: laws.get(k, as_expr(float(read.constant[k]))) for k in sorted(places)})


def _require_once(tau: Any, controls: Any, actuators: list[str]) -> None:
    """Refuse a control that is given in tau and in controls."""
    if controls is None or not isinstance(tau, Mapping):
        return
    given = actuators if not isinstance(controls, Mapping) else [str(key) for key in controls]
    for name in map(str, tau):
        if name in given:
            raise ValueError(f"The control of {name!r} is given in tau= and in controls=, expected it once.")


def _read_controls(controls: Any, eq: Equations, found: Inputs) -> None:
    """Sort controls of actuators: by name, or in an array."""
    nu = found.forces
    if not len(eq.controls):
        raise ValueError("controls: the model has no actuators. Leave them out, or declare some with build.actuator.")
    if isinstance(controls, Sampled) or callable(controls):
        kind = "a Sampled controller" if isinstance(controls, Sampled) else "a function"
        raise TypeError(f"controls is {kind}, expected numbers or a mapping. Give it as tau=: it may name actuators.")
    if not isinstance(controls, Mapping):
        found.constant[nu:] = values_of(controls, found.names[nu:], found.constant[nu:], "controls")
        return
    for key in controls:
        if str(key) not in found.names[nu:]:
            raise KeyError(f"controls: there is no actuator {str(key)!r}. {closest(str(key), found.names[nu:])}")
    _read_mapping(controls, eq, found, "controls")


def absent(name: str, kind: str, known: Sequence[str], eq: Equations) -> str:
    """Say that a name is no input of the equations: a speed of the model that follows from others has them instead."""
    dependent = eq.kinematics.quasi.get(symbol(name))
    if dependent is None:
        near = get_close_matches(name, [*map(str, eq.q)], 1) if not get_close_matches(name, known) else []
        moved = [
            speed for speed in known if near and speed.startswith(f"{near[0]}_")
        ]  # of the coordinate that was meant
        return f"there is no {kind} {name!r}. {closest(name, moved or known)}"
    on = [str(u) for u in eq.u if u in free_symbols(dependent)]
    return (
        f"{name!r} is no speed of these equations, in which it follows from {listed(on) or 'time'}. Give the forces on "
        f"{listed(on) or 'others'} instead, or declare one with build.force, or use formulate(..., embed=False)."
    )


def _read_mapping(tau: Mapping[Any, Any], eq: Equations, found: Inputs, what: str = "tau") -> None:
    quasi = eq.kinematics.quasi  # speeds of the model that follow from q and u
    known = (*eq.q, *eq.u, *eq.z, eq.t, *eq.parameters, *quasi)
    for key, value in tau.items():
        name = str(key)
        if name not in found.names:
            kind = "speed or actuator" if len(eq.controls) else "speed"
            raise KeyError(f"tau: {absent(name, kind, found.names, eq)}")
        place = found.names.index(name)
        law = parse(value, Symbols(), f"{what} of {name!r}") if isinstance(value, str) else value
        if isinstance(law, Expr):
            if unknown := sorted(str(s) for s in free_symbols(law).difference(known)):
                raise ValueError(
                    f"{what} of {name!r} has {unknown[0]!r}, expected coordinates, speeds, states, t and parameters of "
                    f"the model, or a number in its place. {closest(unknown[0], map(str, known))}"
                )
            found.laws[found.symbols[place]] = substitute(law, quasi)
        elif isinstance(value, Real) and np.isfinite(float(value)):
            found.constant[place] = float(value)
        else:
            many = " One function gives all: tau=lambda t, q, u: {...}." if callable(value) else ""
            raise ValueError(f"{what} of {name!r} is {value!r:.60}, expected a number, an expression or text.{many}")
