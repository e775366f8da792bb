"""Compiled equations: arrays in, arrays out."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from numbers import Real
from typing import TYPE_CHECKING, Any

from polhode.compile import Function, compile
from polhode.graph import Expr, Matrix, as_expr, free_symbols, solve, substitute, symbol, vector
from polhode.model import TIME

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
        self.equations = equations
        self.target = target
        self.values = parameter_values(equations, values)
        left = [s for s in equations.parameters if s not in self.values]
        self.parameters: tuple[str, ...] = tuple(str(s.value) for s in left)
        self._p = vector(left)
        self._markers: dict[tuple[str, ...], Any] = {}

    def _compile(self, name: str, inputs: dict[str, Any], output: Any) -> Any:
        """Compile one call, with t and p as inputs only where they are needed."""
        whole = output if isinstance(output, Matrix) else vector([output])
        whole = substitute(whole, self.values) if self.values else whole
        timed = TIME in free_symbols(whole)
        extra = ({"t": TIME} if timed else {}) | ({"p": self._p} if len(self._p) else {})
        made = compile(inputs | extra, {name: whole}, target=self.target, name=name)
        return Call(made, timed, self.parameters) if extra else made

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
        tau = _fresh("tau", eq.u)
        require_inertia(eq)
        udot = solve(eq.M, eq.Q + tau - eq.c)
        return self._compile("forward_dynamics", {"q": eq.q, "u": eq.u, "tau": tau}, udot)

    @cached_property
    def inverse_dynamics(self) -> Any:
        """tau(q, u, udot) from M udot + c = Q + tau, (..., nu)."""
        eq = self.equations
        udot = _fresh("udot", eq.u)
        tau = eq.M @ udot + eq.c - eq.Q
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
        return self._compile("rates", {"q": eq.q, "u": eq.u}, eq.N @ eq.u)

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
    """A compiled function that also needs parameters or time."""

    __slots__ = ("function", "parameters", "timed")

    def __init__(self, function: Function, timed: bool, parameters: tuple[str, ...]) -> None:
        self.function, self.timed, self.parameters = function, timed, parameters

    def __call__(self, *args: Any, p: Any = None, t: Any = None, **options: Any) -> Any:
        if self.timed:
            if t is None:
                raise ValueError(f"{self.function.name} depends on time. Give t=...")
            options["t"] = t
        if self.parameters:
            options["p"] = self._ordered(p)
        elif p:
            raise ValueError(f"{self.function.name} has no parameters left, found p={p!r:.60}.")
        return self.function(*args, **options)

    def _ordered(self, p: Any) -> Any:
        """The parameters as one array (..., n), from a mapping or as they are."""
        if p is not None and not isinstance(p, Mapping):
            return p
        given = {str(k.value) if isinstance(k, Expr) else k: v for k, v in (p or {}).items()}
        missing = [name for name in self.parameters if name not in given]
        if missing:
            raise ValueError(
                f"{self.function.name}: no value for {_listed(missing)}. "
                f"Give p={{{missing[0]!r}: ...}}, or fold values in with compile(values=...)."
            )
        if unknown := [name for name in given if name not in self.parameters]:
            raise ValueError(f"{self.function.name}: {_unknown(unknown[0], self.parameters)}")
        import numpy as np

        columns = np.broadcast_arrays(*[np.asarray(given[name], dtype=float) for name in self.parameters])
        found = np.stack(columns, axis=-1)
        if bad := [name for name, column in zip(self.parameters, columns, strict=True) if np.isnan(column).any()]:
            raise ValueError(f"{self.function.name}: parameter {bad[0]!r} is NaN, expected a number.")
        return found

    def __repr__(self) -> str:
        return repr(self.function)


def parameter_values(equations: Equations, values: Mapping[Any, Any]) -> dict[Expr, Expr]:
    """Check the values of parameters; keys may be names or symbols."""
    known = {str(s.value): s for s in equations.parameters}
    found: dict[Expr, Expr] = {}
    for key, value in values.items():
        name = str(key.value) if isinstance(key, Expr) else key
        if name not in known:
            raise ValueError(_unknown(name, list(known)))
        if not isinstance(value, (Real, Expr)) or (isinstance(value, Real) and not math.isfinite(value)):
            raise ValueError(f"Value of parameter {name!r} is {value!r:.60}, expected a finite number.")
        found[known[name]] = as_expr(value)
    return found


def _unknown(name: Any, known: Sequence[str]) -> str:
    close = get_close_matches(str(name), known, 1)
    remedy = f"Did you mean {close[0]!r}?" if close else f"There are {_listed(known)}." if known else "There are none."
    return f"{name!r} is no parameter of the equations. {remedy}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(map(repr, names))


def require_inertia(eq: Equations) -> None:
    """Refuse speeds that move nothing: their accelerations are not determined."""
    idle = [str(u.value) for i, u in enumerate(eq.u) if eq.M[i, i] == 0]
    if idle:
        raise ValueError(
            f"Model {eq.model.name!r}: nothing with inertia moves with {_listed(idle)}, so its acceleration is not "
            "determined. Give the bodies it carries mass or inertia, its joint an armature, or weld it."
        )


def _fresh(prefix: str, u: Matrix) -> Matrix:
    """Symbols for an input, one per speed."""
    return vector([symbol(f"{prefix}_{s.value}") for s in u])
