"""Calls that know the constraints: accelerations, reactions, impulses.

    M udot + c = Q + tau + J^T lam,   J udot + gamma = 0      forward_dynamics, reactions
    M (u+ - u-) = J^T Lam,   psi(u+) = -e psi(u-)             impulse

over the rows of the constraints that are active.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .parameters import ordered

if TYPE_CHECKING:
    from .dynamics import Dynamics
    from .program import Program

Active = Iterable[str] | None
Solved = Callable[["Program", np.ndarray, np.ndarray, np.ndarray, np.ndarray], tuple[np.ndarray, np.ndarray]]


class Response:
    """The call (q, u, tau) -> accelerations, (..., nu), or reactions, (..., m), of a machine with constraints.

    active : names of the constraints that hold; None for those the model declares, () for the bare tree

    Takes t=, z=, p=, out= and threads= as the other calls do. States should satisfy the active constraints.
    """

    def __init__(self, dynamics: Dynamics, reactions: bool) -> None:
        self.dynamics, self._place = dynamics, int(reactions)
        self.name = "reactions" if reactions else "forward_dynamics"

    def __call__(
        self, q: Any, u: Any, tau: Any, active: Active = None, *, out: Any = None, **options: Any
    ) -> np.ndarray:
        found = self.both(q, u, tau, active, **options)[self._place]
        if out is None:
            return found
        if not isinstance(out, np.ndarray) or out.shape != found.shape or out.dtype != np.float64:
            raise ValueError(f"{self.name}: out must be a float64 array of shape {found.shape}, found {out!r:.60}.")
        out[...] = found
        return out

    def both(
        self, q: Any, u: Any, tau: Any, active: Active = None, *, t: Any = None, z: Any = None, p: Any = None,
        threads: int = 1,
    ) -> tuple[np.ndarray, np.ndarray]:  # fmt: skip
        """Accelerations and reactions."""

        def solved(
            program: Program, t: np.ndarray, x: np.ndarray, tau: np.ndarray, p: np.ndarray
        ) -> tuple[np.ndarray, np.ndarray]:
            return program.respond(t, x, tau, p, active)

        return _each(self.dynamics, self.name, (q, u, tau, z), t, p, threads, solved)

    def __repr__(self) -> str:
        eq = self.dynamics.equations
        names = list(dict.fromkeys((*eq.constraints.names, *eq.candidates.rows.names)))
        return f"{self.name}(q, u, tau, active=None): knows {', '.join(map(repr, names))}"


class Acceleration:
    """The call (q, u, tau, active=None) -> angular acceleration and acceleration, (..., 6), of a marker."""

    def __init__(self, dynamics: Dynamics, function: Any) -> None:
        self.dynamics, self.function = dynamics, function

    def __call__(self, q: Any, u: Any, tau: Any, active: Active = None, **options: Any) -> np.ndarray:
        knows = isinstance(self.dynamics.forward_dynamics, Response)
        udot = self.dynamics.forward_dynamics(q, u, tau, **({"active": active} if knows else {}), **options)
        options.pop("out", None)
        found: np.ndarray = self.function(q, u, udot, **options)
        return found


def impulse(
    dynamics: Dynamics, q: Any, u: Any, active: Active, restitution: float, t: Any, z: Any, p: Any
) -> tuple[np.ndarray, np.ndarray]:
    """Speeds after constraints were imposed, (..., nu), and the impulse of each row, (..., m)."""
    if not (isinstance(restitution, Real) and 0 <= restitution <= 1):
        raise ValueError(f"impulse: restitution is {restitution!r:.60}, expected a number from 0 to 1.")
    e = float(restitution)
    tau = np.zeros(len(dynamics.equations.u))
    return _each(dynamics, "impulse", (q, u, tau, z), t, p, 1, lambda g, t, x, _, p: g.strike(t, x, p, active, e))


def _each(
    dynamics: Dynamics, name: str, given: tuple[Any, Any, Any, Any], t: Any, p: Any, threads: int, solved: Solved
) -> tuple[np.ndarray, np.ndarray]:
    """Two results at every state of a batch."""
    from .program import program_of

    if not isinstance(threads, Integral) or threads < 1:
        raise ValueError(f"{name}: threads={threads!r}, expected a whole number of at least 1.")
    eq = dynamics.equations
    if given[3] is None and len(eq.z):
        raise ValueError(f"{name}: the model has states that are not motion. Give z=[...], {len(eq.z)} of them.")
    sizes = len(eq.q), len(eq.u), len(eq.u), len(eq.z)
    whole = [*given[:3], np.zeros(0) if given[3] is None else given[3]]
    arrays = [_states(name, what, a, n) for what, a, n in zip(("q", "u", "tau", "z"), whole, sizes, strict=True)]
    program = program_of(dynamics)
    if t is None and program.timed:
        raise ValueError(f"{name} depends on time. Give t=...")
    time = np.asarray(0.0 if t is None else t, dtype=float)
    values = ordered(name, p, dynamics.parameters, dynamics.parameters)
    lead = np.broadcast_shapes(*(a.shape[:-1] for a in (*arrays, values)), time.shape)
    count = math.prod(lead)
    q, u, tau, z = (np.broadcast_to(a, (*lead, a.shape[-1])).reshape(count, a.shape[-1]) for a in arrays)
    x, time = np.hstack([q, u, z]), np.ascontiguousarray(np.broadcast_to(time, lead).reshape(-1))
    if values.ndim == 1:
        cuts = np.array_split(np.arange(len(x)), min(int(threads), max(len(x), 1)))
    else:  # parameters of its own for each state
        values = np.broadcast_to(values, (*lead, values.shape[-1])).reshape(count, values.shape[-1])
        cuts = [np.array([k]) for k in range(len(x))]

    def part(rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        own = values if values.ndim == 1 else values[rows[0]]
        return solved(program, time[rows], x[rows], tau[rows], own)

    with ThreadPoolExecutor(int(threads)) as pool:
        parts = list(pool.map(part, cuts)) if threads > 1 else [part(rows) for rows in cuts]
    first, second = (np.concatenate(list(one)) for one in zip(*parts, strict=True))
    return first.reshape(*lead, first.shape[-1]), second.reshape(*lead, second.shape[-1])


def _states(name: str, what: str, given: Any, n: int) -> np.ndarray:
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {what} is {given!r:.60}, expected numbers in an array.") from None
    if found.ndim == 0 or found.shape[-1] != n:
        raise ValueError(f"{name}: argument {what!r} has shape {found.shape}, expected (..., {n}).")
    return found
