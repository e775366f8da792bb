"""Calls that know the constraints: accelerations, reactions, impulses.

    M udot + c = Q + tau + J^T lam,   J udot + gamma = 0      forward_dynamics, reactions
    M (u+ - u-) = J^T Lam,   psi(u+) = -e psi(u-)             impulse

over the rows of the constraints that are active. States should satisfy them; where they do not, or where
constraints contradict each other, there are numbers and a ConstraintWarning.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from itertools import pairwise
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import numpy as np

from .parameters import Call, control_values, joined, ordered
from .warning import ConstraintWarning, warn_caller

if TYPE_CHECKING:
    from .dynamics import Dynamics
    from .program import Program
    from .satisfied import Residuals

Active = Iterable[str] | None
Pair = tuple[np.ndarray, np.ndarray]
Solved = Callable[["Program", np.ndarray, np.ndarray, np.ndarray, np.ndarray], Pair]


class Response:
    """The call (q, u, tau) -> accelerations, (..., nu), or reactions, (..., m), of a machine with constraints.

    active : names of the constraints that hold; None for those the model declares, () for the bare tree
    check  : warn where a state does not satisfy them, or where they contradict each other

    Takes t=, z=, p=, out= and threads= as the other calls do.
    """

    def __init__(self, dynamics: Dynamics, reactions: bool) -> None:
        self.dynamics, self._place = dynamics, int(reactions)
        self.name = "reactions" if reactions else "forward_dynamics"

    def __call__(
        self, q: Any, u: Any, tau: Any, active: Active = None, *, out: Any = None, **options: Any
    ) -> np.ndarray:
        found = respond(self.dynamics, self.name, q, u, tau, active, **options)[self._place]
        if out is None:
            return found
        if not isinstance(out, np.ndarray) or out.shape != found.shape or out.dtype != np.float64:
            raise ValueError(f"{self.name}: out must be a float64 array of shape {found.shape}, found {out!r:.60}.")
        out[...] = found
        return out

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
        of_rows = {"active": active, "check": options.pop("check", True)} if knows else {}
        out = options.pop("out", None)
        udot = self.dynamics.forward_dynamics(q, u, tau, **of_rows, **options)
        found: np.ndarray = self.function(q, u, udot, **({} if out is None else {"out": out}), **options)
        return found


def respond(
    dynamics: Dynamics, name: str, q: Any, u: Any, tau: Any, active: Active = None, *, t: Any = None, z: Any = None,
    p: Any = None, controls: Any = None, threads: int = 1, check: bool = True,
) -> Pair:  # fmt: skip
    """Accelerations, (..., nu), and reactions, (..., m)."""
    at = States.read(dynamics, name, q, u, tau, z, t, p, active, controls)
    if not len(at.program.held):
        return at.shaped(at.driven(dynamics.tree_dynamics)), np.zeros((*at.lead, 0))
    udot, lam = at.each(lambda program, t, x, tau, p: program.respond(t, x, tau, p, at.active), threads)
    if check and len(at.program.constraints) and not at.warn_of_state(speeds=True):
        at.warn_of_accelerations(udot, lam)
    return at.shaped(udot), at.shaped(lam)


def impulse(
    dynamics: Dynamics, q: Any, u: Any, active: Active, restitution: float, t: Any, z: Any, p: Any, check: bool
) -> Pair:
    """Speeds after constraints were imposed, (..., nu), and the impulse of each row, (..., m)."""
    if not (isinstance(restitution, Real) and 0 <= restitution <= 1):
        raise ValueError(f"impulse: restitution is {restitution!r:.60}, expected a number from 0 to 1.")
    e = float(restitution)
    at = States.read(dynamics, "impulse", q, u, np.zeros(len(dynamics.equations.u)), z, t, p, active)
    if not len(at.program.held):
        return at.shaped(at.parts[1].copy()), np.zeros((*at.lead, 0))
    after, struck = at.each(lambda program, t, x, _, p: program.strike(t, x, p, at.active, e), 1)
    if check and len(at.program.constraints) and not at.warn_of_state(speeds=False):
        at.warn_of_speeds(after, e)
    return at.shaped(after), at.shaped(struck)


@dataclass(frozen=True, kw_only=True)
class States:
    """The states of a call, checked, a row each.

    lead : shape of the batch
    t    : (k,); x : (k, n), coordinates, speeds and states beside motion; tau : (k, nu + nc), with controls
    p    : (np,), or (k, np), with what latches capture that engage there
    """

    program: Program
    name: str
    lead: tuple[int, ...]
    active: tuple[str, ...] | None
    t: np.ndarray
    x: np.ndarray
    tau: np.ndarray
    p: np.ndarray

    @classmethod
    def read(
        cls, dynamics: Dynamics, name: str, q: Any, u: Any, tau: Any, z: Any, t: Any, p: Any, active: Active,
        controls: Any = None,
    ) -> States:  # fmt: skip
        from .program import program_of

        eq, program = dynamics.equations, program_of(dynamics)
        if z is None and len(eq.z):
            raise ValueError(f"{name}: the model has states that are not motion. Give z=[...], {len(eq.z)} of them.")
        if t is None and program.timed:
            raise ValueError(f"{name} depends on time. Give t=...")
        given = {"q": (q, eq.q), "u": (u, eq.u), "tau": (tau, eq.u), "z": (np.zeros(0) if z is None else z, eq.z)}
        arrays = [_numbers(name, what, a, [str(s.value) for s in of]) for what, (a, of) in given.items()]
        if controls is not None or len(eq.controls):
            actuators = tuple(actuator.name for actuator in eq.model.actuators)
            arrays[2] = joined(arrays[2], control_values(name, controls, actuators))
        times = _numbers(name, "t", 0.0 if t is None else t, None)
        values = ordered(name, p, dynamics.parameters, dynamics.parameters)
        shapes = {what: a.shape[:-1] for what, a in zip((*given, "p"), (*arrays, values), strict=True)}
        lead = _together(name, shapes | {"t": times.shape})
        rows = [np.broadcast_to(a, (*lead, a.shape[-1])).reshape(math.prod(lead), a.shape[-1]) for a in arrays]
        if values.ndim > 1:
            values = np.broadcast_to(values, (*lead, values.shape[-1])).reshape(math.prod(lead), values.shape[-1])
        x, at = np.hstack([rows[0], rows[1], rows[3]]), np.array(np.broadcast_to(times, lead)).reshape(-1)
        if program.capture is not None:
            values = program.captured(at, x, values)
            values = values[0] if len(values) == 1 else values
        named = (active,) if isinstance(active, str) else active
        return cls(
            program=program,
            name=name,
            lead=lead,
            active=program.standing if named is None else tuple(named),
            t=at,
            x=x,
            tau=np.array(rows[2]),
            p=values,
        )

    def each(self, solved: Solved, threads: int) -> Pair:
        """Two results at every state, a row each."""
        if not isinstance(threads, Integral) or threads < 1:
            raise ValueError(f"{self.name}: threads={threads!r}, expected a whole number of at least 1.")
        k = len(self.x)
        cuts = [slice(i, i + 1) for i in range(k)]  # where each has parameters of its own
        if self.p.ndim == 1:
            ends = np.linspace(0, k, min(int(threads), max(k, 1)) + 1).astype(int)
            cuts = [slice(a, b) for a, b in pairwise(ends)]

        def part(cut: slice) -> Pair:
            own = self.p if self.p.ndim == 1 else self.p[cut.start]
            return solved(self.program, self.t[cut], self.x[cut], self.tau[cut], own)

        with ThreadPoolExecutor(int(threads)) as pool:
            parts = list(pool.map(part, cuts)) if threads > 1 else [part(cut) for cut in cuts]
        first, second = (np.concatenate(list(one)) for one in zip(*parts, strict=True))
        return first, second

    @property
    def parts(self) -> list[np.ndarray]:
        """q, u and z, a row each."""
        eq = self.program.equations
        return np.split(self.x, np.cumsum([len(eq.q), len(eq.u)]), axis=-1)

    def call(self, function: Any, *more: np.ndarray) -> np.ndarray:
        """A call of the dynamics at (q, u, ...), with t, z and p where it takes them."""
        q, u, z = self.parts
        extra = {"t": self.t, "z": z, "p": self._parameters} if isinstance(function, Call) else {}
        found: np.ndarray
        if len(self.x) == 1 and self.p.ndim == 1:  # the quick way in
            extra |= {name: extra[name][0] for name in ("t", "z") if name in extra}
            found = function(q[0], u[0], *(a[0] for a in more), **extra)
            return found[None]
        found = function(q, u, *more, **extra)
        return found

    def driven(self, function: Any) -> np.ndarray:
        """A call of the dynamics at (q, u, tau), with the controls."""
        nu = len(self.program.equations.u)
        if self.tau.shape[1] == nu:
            return self.call(function, self.tau)
        (q, u, z), tau = self.parts, self.tau
        found: np.ndarray = function(q, u, tau[:, :nu], controls=tau[:, nu:], t=self.t, z=z, p=self._parameters)
        return found

    @property
    def _parameters(self) -> np.ndarray:
        """p without what is captured."""
        return self.p[..., : len(self.program.dynamics.parameters)]

    def shaped(self, rows: np.ndarray) -> np.ndarray:
        return rows.reshape(*self.lead, rows.shape[-1])

    # words where the state, or what was found, does not satisfy the constraints

    def residuals(self, x: np.ndarray) -> Residuals:
        from .satisfied import residuals

        return residuals(self.program, self.t, x, self.p)

    def warn_of_state(self, speeds: bool) -> bool:
        """Say where positions, and if asked speeds, do not satisfy the constraints; whether there was need to."""
        from .satisfied import unsatisfied

        said = unsatisfied(self.program, self.residuals(self.x), self.program.holding(self.active), speeds)
        if said:
            self._warn(f"the {said} Find a state that does with q, u = assemble(dynamics, q, u)")
        return said is not None

    def warn_of_accelerations(self, udot: np.ndarray, lam: np.ndarray) -> None:
        """Say where rows are left that no acceleration satisfies."""
        from .satisfied import Residuals

        left = self.call(self.program.dynamics.row_accelerations, udot, lam)
        self._warn_of_rows("acceleration", Residuals.of(left))

    def warn_of_speeds(self, after: np.ndarray, restitution: float) -> None:
        """Say where rows are left that no impulse satisfies."""
        nq, h, x = len(self.program.equations.q), len(self.program.held), self.x.copy()
        x[:, nq : nq + after.shape[-1]] = after
        before, left = self.residuals(self.x), self.residuals(x)
        off, size2 = left.off + restitution * before.off, left.size2 + before.size2
        self._warn_of_rows("impulse", replace(left, off=off[:, h:], size2=size2[:, h:]))

    def _warn_of_rows(self, what: str, left: Residuals) -> None:
        rows, holding = self.program.constraints, self.program.holding(self.active)
        if found := left.furthest(np.array([name in holding for name in rows.names], dtype=bool)):
            self._warn(
                f"no {what} satisfies {rows.labels[found[0]]!r} together with the others: it is {found[1]}. "
                "Leave one of them out with active=[...]"
            )

    def _warn(self, text: str) -> None:
        warn_caller(f"{self.name}: {text}, or skip this check with check=False.", ConstraintWarning)


def _together(name: str, shapes: dict[str, tuple[int, ...]]) -> tuple[int, ...]:
    try:
        return np.broadcast_shapes(*shapes.values())
    except ValueError:
        listed = ", ".join(f"{what} {shape}" for what, shape in shapes.items() if shape)
        raise ValueError(f"{name}: batch shapes differ: {listed}. Give all the same, or none to some.") from None


def _numbers(name: str, what: str, given: Any, names: list[str] | None) -> np.ndarray:
    """Finite numbers, (..., n) of so many names, or of any shape."""
    try:
        found = np.asarray(given, dtype=float)
    except (TypeError, ValueError):
        raise TypeError(f"{name}: {what} is {given!r:.60}, expected numbers in an array.") from None
    if names is not None and (found.ndim == 0 or found.shape[-1] != len(names)):
        listed = ", ".join(names[:8]) + ", ..." * (len(names) > 8)
        raise ValueError(f"{name}: {what} has shape {found.shape}, expected (..., {len(names)}): {listed}.")
    finite = np.isfinite(found)
    if not finite.all():
        place = np.argwhere(~finite)[0]
        which = f" of {names[place[-1]]!r}" if names is not None else ""
        raise ValueError(f"{name}: {what}{which} is {found[tuple(place)]}, expected a finite number.")
    return found
