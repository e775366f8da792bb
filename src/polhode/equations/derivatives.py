"""Derivatives of the compiled calls, by everything that they depend on, as arrays with names.

    d udot = q dq + u du + tau dtau + p dp       forward_dynamics, with lam's where constraints hold
    d tau  = q dq + u du + udot dudot + p dp     inverse_dynamics
    d u+   = q dq + u du + p dp                  impulse, with those of the impulses

dq are small changes: of coordinates, and of a unit quaternion turns about the axes of its body.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, fields
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from polhode.graph import symbol

from .inputs import fresh, inputs
from .partials import forward_partials, inverse_partials, small_of
from .response import Response, States

if TYPE_CHECKING:
    from .constrained_partials import ConstrainedPartials, Solved
    from .curvature import Second
    from .dynamics import Dynamics

Active = Iterable[str] | None


@dataclass(frozen=True, kw_only=True, eq=False)
class Partials:
    """A result with its derivatives; None for what it does not depend on.

    value    : the result itself, (..., n): accelerations, forces, or speeds after an impulse
    q        : by small changes of the coordinates, (..., n, nx), see `coordinates`
    u        : by speeds, (..., n, nu)
    tau      : by forces, (..., n, nu); udot : by accelerations, M, (..., n, nu)
    z        : by states that are not motion, (..., n, nz); controls : by those of actuators, (..., n, nc)
    p        : by parameters that stay inputs, in their order, (..., n, np); t : by time, (..., n)
    lam      : the same of reactions, or impulses, of the rows that hold
    """

    value: np.ndarray
    q: np.ndarray
    u: np.ndarray
    tau: np.ndarray | None = None
    udot: np.ndarray | None = None
    z: np.ndarray | None = None
    controls: np.ndarray | None = None
    p: np.ndarray | None = None
    t: np.ndarray | None = None
    lam: Partials | None = None

    def items(self) -> Iterator[tuple[str, np.ndarray]]:
        """The arrays that are there, by name."""
        for field in fields(self):
            found = getattr(self, field.name)
            if isinstance(found, np.ndarray):
                yield field.name, found

    def __repr__(self) -> str:
        shapes = ", ".join(f"{name} {array.shape}" for name, array in self.items())
        return f"Partials({shapes})" if self.lam is None else f"Partials({shapes}; lam: {self.lam!r})"


class Derivatives:
    """Derivatives of forward and inverse dynamics and of impulses of a machine.

    coordinates : names of the columns by q: coordinates, and turns of unit quaternions
    speeds      : names of the columns by u, tau and udot
    parameters  : names of the columns by p
    second      : second derivatives
    """

    def __init__(self, dynamics: Dynamics) -> None:
        self.dynamics = dynamics
        self._constrained: dict[tuple[int, ...], ConstrainedPartials] = {}

    @cached_property
    def coordinates(self) -> tuple[str, ...]:
        return small_of(self.dynamics.equations).names

    @property
    def speeds(self) -> tuple[str, ...]:
        return tuple(str(s.value) for s in self.dynamics.equations.u)

    @property
    def parameters(self) -> tuple[str, ...]:
        return self.dynamics.parameters

    @cached_property
    def second(self) -> Second:
        """Second derivatives, contracted with multipliers."""
        from .curvature import Second

        return Second(self)

    def forward_dynamics(
        self, q: Any, u: Any, tau: Any, active: Active = None, *, check: bool = True, out: Partials | None = None,
        threads: int = 1, **given: Any,
    ) -> Partials:  # fmt: skip
        """d udot(q, u, tau), exact, by q, u, tau, and by z, controls, p and t where there are any.

        active : names of the constraints that hold; None for those the model declares, () for the bare tree. Where
                 some do, `lam` has the derivatives of the reactions of their rows
        check  : warn where a state does not satisfy them
        out    : Partials of an earlier call, whose arrays are written
        """
        if isinstance(self.dynamics.forward_dynamics, Response):
            at = States.read(self.dynamics, "forward_dynamics", q, u, tau, given.get("z"), given.get("t"),
                             given.get("p"), active, given.get("controls"))  # fmt: skip
            if rows := self._rows(at):
                if check:
                    at.warn_of_state(speeds=True)
                return _written(self._shaped(at, self.constrained(rows).forward(at, threads)), out)
        return self._tree("forward", (q, u, tau), out, threads, given)

    def inverse_dynamics(
        self, q: Any, u: Any, udot: Any, *, out: Partials | None = None, threads: int = 1, **given: Any
    ) -> Partials:
        """d tau(q, u, udot) of M udot + c = Q + tau, by q, u, udot, and by z, controls, p and t where there are any."""
        return self._tree("inverse", (q, u, udot), out, threads, given)

    def impulse(
        self, q: Any, u: Any, active: Active = None, restitution: float = 0.0, *, t: Any = None, z: Any = None,
        p: Any = None, check: bool = True,
    ) -> Partials:  # fmt: skip
        """Of the speeds after the active constraints were imposed, by q, u, and by z, p and t where there are any.

        `lam` has the derivatives of the impulses of the rows that hold.
        """
        tau = np.zeros(len(self.dynamics.equations.u))
        self.dynamics.impulse(q, u, active, restitution, t=t, z=z, p=p, check=check)  # its checks and warnings
        at = States.read(self.dynamics, "impulse", q, u, tau, z, t, p, active)
        return self._shaped(at, self.constrained(self._rows(at)).impulse(at, float(restitution)))

    # how they are made

    def constrained(self, rows: tuple[int, ...]) -> ConstrainedPartials:
        """What differentiates the machine with these rows, made once."""
        if rows not in self._constrained:
            from .constrained_partials import ConstrainedPartials
            from .program import program_of

            self._constrained[rows] = ConstrainedPartials(program_of(self.dynamics), rows)
        return self._constrained[rows]

    def _rows(self, at: States) -> tuple[int, ...]:
        """The rows that hold, by number."""
        holding = at.program.holding(at.active)
        return tuple(i for i, name in enumerate(at.program.constraints.names) if name in holding)

    @cached_property
    def _calls(self) -> dict[str, tuple[Any, tuple[str, ...]]]:
        return {}

    def _call(self, which: str) -> tuple[Any, tuple[str, ...]]:
        """A call (q, u, tau or udot) -> arrays, and what they are."""
        if which not in self._calls:
            eq, p = self.dynamics.equations, [symbol(name) for name in self.parameters]
            if which == "forward":
                last = {"tau": inputs(eq)}
                parts = forward_partials(eq, last["tau"][: len(eq.u)], p)
            else:
                last = {"udot": fresh("udot", eq)}
                parts = inverse_partials(eq, last["udot"], p)
            if "t" in parts:
                parts["t"] = parts["t"].T[0]
            name = f"{which}_derivatives"
            self._calls[which] = self.dynamics._compile(name, {"q": eq.q, "u": eq.u, **last}, parts), tuple(parts)
        return self._calls[which]

    def _tree(
        self, which: str, state: tuple[Any, ...], out: Partials | None, threads: int, given: Mapping[str, Any]
    ) -> Partials:
        call, names = self._call(which)
        options: dict[str, Any] = {name: value for name, value in given.items() if value is not None}
        if out is not None:
            arrays = dict(out.items())
            if missing := [name for name in names if name not in arrays]:
                raise ValueError(f"out= has no array {missing[0]!r}, expected Partials of an earlier call like this.")
            options["out"] = tuple(arrays[name] for name in names)
        arrays = dict(zip(names, call(*state, threads=threads, **options), strict=True))
        return out if out is not None else _made(arrays)

    def _shaped(self, at: States, found: Solved) -> Partials:
        lead = at.lead

        def parts(value: np.ndarray, groups: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
            shaped = {"value": value.reshape(*lead, value.shape[-1])}
            for name, part in groups.items():
                whole = part[..., 0] if name == "t" else part
                shaped[name] = whole.reshape(*lead, *whole.shape[1:])
            return shaped

        return _made(parts(found.value, found.udot), _made(parts(found.reactions, found.lam)))

    def __repr__(self) -> str:
        return f"Derivatives of {self.dynamics!r}"


def _made(arrays: dict[str, np.ndarray], lam: Partials | None = None) -> Partials:
    options: dict[str, Any] = {**arrays, "lam": lam}
    return Partials(**options)


def _written(found: Partials, out: Partials | None) -> Partials:
    """The result, in the arrays of an earlier one if they are given."""
    if out is None:
        return found
    for one, other in ((found, out), *(((found.lam, out.lam),) if found.lam and out.lam else ())):
        arrays = dict(other.items())
        for name, array in one.items():
            if name not in arrays or arrays[name].shape != array.shape:
                raise ValueError(
                    f"out= has no array {name!r} of shape {array.shape}, expected that of an earlier call."
                )
            arrays[name][...] = array
    return out
