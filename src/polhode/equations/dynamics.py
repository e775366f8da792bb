"""Compiled equations: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

from polhode.compile import Function, compile
from polhode.compile.function import TARGETS
from polhode.graph import Expr, Matrix, as_expr, free_symbols, solve, substitute, symbol, vector
from polhode.model import TIME
from polhode.model.errors import closest

from .inputs import fresh

if TYPE_CHECKING:
    from .equations import Equations


class Dynamics:
    """The calls of a mechanism as native code.

    Arrays have shape (..., n): leading dimensions are a batch. Every call takes
    out= and threads=. Where the equations have parameters, pass p={"m": 2.0} or
    an array in the order of `parameters`; where they depend on time, t=.

    equations  : what was compiled
    values     : of the parameters folded into the code
    parameters : names of those that stay inputs, in order
    """

    def __init__(self, equations: Equations, values: Mapping[Any, Any], target: str = "llvm") -> None:
        if target not in TARGETS:
            raise ValueError(f"Target {target!r} is unknown. {closest(target, TARGETS)}")
        self.equations = equations
        self.target = target
        self.values = parameter_values(equations, values)
        left = [s for s in equations.parameters if s not in self.values]
        self.parameters: tuple[str, ...] = tuple(str(s.value) for s in left)
        self.timed: bool = TIME in free_symbols([*equations.Q, *equations.kinematics.quasi.values()])
        self._markers: dict[tuple[str, ...], Any] = {}
        self.kept: dict[Any, Any] = {}  # what simulations made of it

    def _compile(self, name: str, inputs: dict[str, Any], output: Matrix) -> Any:
        """Compile one call, with t and p as inputs only where it uses them."""
        whole = substitute(output, self.values) if self.values else output
        found = free_symbols(whole)
        used = [s for s in map(symbol, self.parameters) if s in found]
        timed = TIME in found
        extra = ({"t": TIME} if timed else {}) | ({"p": vector(used)} if used else {})
        made = compile(inputs | extra, {name: whole}, target=self.target, name=name)
        if not self.parameters and not self.timed:
            return made
        return Call(made, timed, tuple(str(s.value) for s in used), self.parameters)

    @cached_property
    def mass_matrix(self) -> Any:
        """M(q), (..., nu, nu)."""
        return self._compile("mass_matrix", {"q": self.equations.q}, self.equations.M)

    @cached_property
    def bias(self) -> Any:
        """c(q, u), velocity and gravity terms, (..., nu)."""
        eq = self.equations
        return self._compile("bias", {"q": eq.q, "u": eq.u}, eq.c)

    @cached_property
    def forces(self) -> Any:
        """Q(q, u), the model's own force laws, (..., nu)."""
        eq = self.equations
        return self._compile("forces", {"q": eq.q, "u": eq.u}, eq.Q)

    @cached_property
    def forward_dynamics(self) -> Any:
        """udot(q, u, tau) from M udot + c = Q + tau, (..., nu)."""
        eq = self.equations
        tau = fresh("tau", eq)
        return self._compile("forward_dynamics", {"q": eq.q, "u": eq.u, "tau": tau}, accelerations(eq, tau))

    @cached_property
    def inverse_dynamics(self) -> Any:
        """tau(q, u, udot) from M udot + c = Q + tau, (..., nu)."""
        eq = self.equations
        udot = fresh("udot", eq)
        needed = eq.M @ udot + eq.c if eq.terms.inverse is None else eq.terms.inverse(udot)
        tau = needed - eq.Q
        return self._compile("inverse_dynamics", {"q": eq.q, "u": eq.u, "udot": udot}, tau)

    @cached_property
    def energy(self) -> Any:
        """Kinetic and potential energy at (q, u), (..., 2)."""
        eq = self.equations
        return self._compile("energy", {"q": eq.q, "u": eq.u}, vector([eq.kinetic, eq.potential]))

    @cached_property
    def rates(self) -> Any:
        """qdot = N(q) u, (..., nq)."""
        eq = self.equations
        return self._compile("rates", {"q": eq.q, "u": eq.u}, eq.kinematics.q_dot)

    @cached_property
    def center_of_mass(self) -> Any:
        """Centre of mass of what moves, in the world, (..., 3)."""
        return self._compile("center_of_mass", {"q": self.equations.q}, self.equations.center_of_mass)

    def pose(self, marker: str) -> Any:
        """The call q -> pose of a marker or body in the world, (..., 4, 4)."""
        return self._marker("pose", marker)

    def velocity(self, marker: str, axes: str = "world") -> Any:
        """The call (q, u) -> angular velocity and velocity of a marker or body, (..., 6)."""
        return self._marker("velocity", marker, axes)

    def jacobian(self, marker: str, axes: str = "world") -> Any:
        """The call q -> Jacobian of a marker or body, (..., 6, nu)."""
        return self._marker("jacobian", marker, axes)

    def _marker(self, what: str, *key: str) -> Any:
        if (what, *key) not in self._markers:
            eq = self.equations
            inputs = {"q": eq.q, "u": eq.u} if what == "velocity" else {"q": eq.q}
            self._markers[what, *key] = self._compile(what, inputs, getattr(eq, what)(*key))
        return self._markers[what, *key]

    def __repr__(self) -> str:
        eq = self.equations
        rest = f", parameters {', '.join(self.parameters)}" if self.parameters else ""
        return f"Dynamics of {eq.model.name!r} by {eq.method}: nq = {len(eq.q)}, nu = {len(eq.u)}{rest}; {self.target}"

    def __reduce__(self) -> tuple[Any, ...]:
        return Dynamics, (self.equations, self.values, self.target)


class Call:
    """A compiled function of a mechanism that has parameters or depends on time.

    Takes t= and p= by name, also where this function needs neither.
    """

    __slots__ = ("_places", "function", "known", "timed", "used")

    def __init__(self, function: Function, timed: bool, used: tuple[str, ...], known: tuple[str, ...]) -> None:
        self.function, self.timed, self.used, self.known = function, timed, used, known
        self._places = [known.index(name) for name in used]

    def __call__(self, *args: Any, p: Any = None, t: Any = None, **options: Any) -> Any:
        if self.timed:
            if t is None:
                raise ValueError(f"{self.function.name} depends on time. Give t=...")
            options["t"] = t
        values = self._ordered(p)
        if self.used:
            options["p"] = values
        return self.function(*args, **options)

    def _ordered(self, p: Any) -> Any:
        """The parameters this function uses as one array (..., n), from a mapping or an array of all."""
        import numpy as np

        if p is not None and not isinstance(p, Mapping):
            found = np.asarray(p, dtype=float)
            if found.ndim == 0 or found.shape[-1] != len(self.known):
                raise ValueError(
                    f"{self.function.name}: p has shape {found.shape}, expected {len(self.known)} values last: "
                    f"{_listed(self.known)}."
                )
            found = found[..., self._places]
        else:
            given = {str(k.value) if isinstance(k, Expr) else k: v for k, v in (p or {}).items()}
            if missing := [name for name in self.used if name not in given]:
                raise ValueError(
                    f"{self.function.name}: no value for {_listed(missing)}. "
                    f"Give p={{{missing[0]!r}: ...}}, or fold values in with compile(values=...)."
                )
            if unknown := [name for name in given if name not in self.known]:
                raise ValueError(f"{self.function.name}: {unknown_parameter(unknown[0], self.known)}")
            found = self._stacked([given[name] for name in self.used])
        for name, column in zip(self.used, np.moveaxis(found, -1, 0), strict=True):
            if not np.isfinite(column).all():
                raise ValueError(f"{self.function.name}: parameter {name!r} is NaN or infinite, expected a number.")
        return found

    def _stacked(self, columns: list[Any]) -> Any:
        import numpy as np

        try:
            if all(isinstance(e, (int, float)) for e in columns):
                return np.array(columns, dtype=float)
            return np.stack(np.broadcast_arrays(*[np.asarray(e, dtype=float) for e in columns]), axis=-1)
        except (TypeError, ValueError) as error:
            listed = ", ".join(f"{name}={e!r:.40}" for name, e in zip(self.used, columns, strict=True))
            raise ValueError(f"{self.function.name}: the parameters {listed} are not numbers: {error}.") from None

    def __repr__(self) -> str:
        return repr(self.function)


def accelerations(eq: Equations, tau: Matrix) -> Matrix:
    """Solve M udot = Q + tau - c, by recursion where there is one, or say which speeds are not determined."""
    try:
        return solve(eq.M, eq.Q + tau - eq.c) if eq.terms.forward is None else eq.terms.forward(eq.Q + tau)
    except ZeroDivisionError:
        idle = [str(u.value) for i, u in enumerate(eq.u) if eq.M[i, i] == 0]
        if idle:
            raise ValueError(
                f"Model {eq.model.name!r}: nothing with inertia moves with {_listed(idle)}, so its acceleration is not "
                "determined. Give the bodies it carries mass or inertia, its joint an armature, or weld it."
            ) from None
        raise ValueError(
            f"Model {eq.model.name!r}: its inertia matrix is singular, so the accelerations are not determined. "
            "Two joints move the same inertia in the same way: give what lies between them mass or an armature, "
            "or leave one of them out."
        ) from None


def parameter_values(equations: Equations, values: Mapping[Any, Any]) -> dict[Expr, Expr]:
    """Check the values of parameters; keys may be names or symbols."""
    if not isinstance(values, Mapping):
        raise TypeError(f'values is {values!r:.60}, expected names with numbers: {{"m": 2.0}}.')
    known = {str(s.value): s for s in equations.parameters}
    found: dict[Expr, Expr] = {}
    for key, value in values.items():
        name = str(key.value) if isinstance(key, Expr) else key
        if name not in known:
            raise ValueError(unknown_parameter(name, tuple(known)))
        number = float(value) if isinstance(value, Expr) and not free_symbols(value) else value
        if not isinstance(number, Real) or not math.isfinite(number):
            raise ValueError(f"Value of parameter {name!r} is {value!r:.60}, expected a finite number.")
        found[known[name]] = as_expr(number)
    return found


def unknown_parameter(name: Any, known: Sequence[str]) -> str:
    return f"{name!r} is no parameter of the equations. {closest(name, known)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names))
