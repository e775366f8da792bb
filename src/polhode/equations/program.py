"""A mechanism made ready for the compiled loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.graph import Constant, Expr, evaluate, free_symbols, symbol
from polhode.kernels.impose import respond, strike
from polhode.kernels.machine import GUARDS, POSES, SLOPES, Machine
from polhode.kernels.mode import EQUAL, make_switching
from polhode.kinematics.loads import damped
from polhode.kinematics.numeric import unit_quaternions
from polhode.model import TIME
from polhode.model.errors import closest

from .code import Code
from .dynamics import Dynamics
from .gaps import Gaps, gaps_of
from .room import constrained, sizes_of, switching

MOST = 8  # programs that a dynamics remembers, the one used last the longest
_MAKING = Lock()


def program_of(
    dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None, driven: bool = False, stepping: bool = False,
    wired: tuple[str, ...] | None = None,
) -> Program:  # fmt: skip
    """The program of a dynamics, made once; of many laws, as in a search for gains, the last ones are remembered.

    driven   : whether there are inputs, so that their work is counted
    stepping : whether it is for steps of Euler's method, in which the dampers of the joints are implicit
    wired    : names of the candidates whose rows are in the code; None for all
    """
    stepping = stepping and bool(damped(dynamics.equations.model))
    key, known = (driven, stepping, wired, *(laws or {}).items()), dynamics.programs
    with _MAKING:
        found: Program = known.pop(key) if key in known else Program(dynamics, laws, driven, stepping, wired)
        known[key] = found
        if len(known) > MOST:
            del known[next(iter(known))]
    return found


class Program(Code):
    """Native code with room for runs: what the compiled loops work on, and the calls at many states at once."""

    # states and parameters

    def unit(self, x: np.ndarray) -> np.ndarray:
        """States, or coordinates alone, (..., n), with quaternions of length 1."""
        x = x.copy()
        for first in self.quaternions():
            size = np.linalg.norm(x[..., first : first + 4], axis=-1, keepdims=True)
            if not (size > 1e-100).all():
                names = ", ".join(str(s.value) for s in self.x[first : first + 4])
                raise ValueError(f"The quaternion {names} is 0, expected one that turns: 1, 0, 0, 0 for no turn.")
            x[..., first : first + 4] /= size
        return x

    def state(self, q: np.ndarray, u: np.ndarray, z: np.ndarray | None = None) -> np.ndarray:
        """States (..., n) of coordinates, speeds and states beside motion, before any work was done."""
        rest = [] if z is None else [z]
        return self.unit(self.whole(np.concatenate([q, u, *rest], axis=-1)))

    def starts(self, p: np.ndarray) -> np.ndarray:
        """Where the states beside motion start, (nz,), for values of the run-time parameters."""
        known: dict[Any, Any] = {s: e.value for s, e in self._folded.items() if isinstance(e, Constant)}
        known |= dict(zip(map(symbol, self.dynamics.parameters), map(float, p), strict=False))
        return np.array([float(evaluate(state.start, known)) for state in self.equations.model.states])

    def completed(self, p: Any) -> np.ndarray:
        """Parameters with what constraints capture where they engage, where that is not there yet."""
        p = np.zeros(0) if p is None else np.asarray(p, dtype=float)
        known = len(self.dynamics.parameters) + self.stepping
        missing = max(known + len(self.candidates.captured), 1) - p.shape[-1]
        return np.concatenate([p, np.ones((*p.shape[:-1], missing))], axis=-1) if missing > 0 else p

    def captured(self, t: np.ndarray, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Parameters with what constraints capture that engage at states, (k, n); t : (k,)."""
        p = np.broadcast_to(p := self.completed(p), (len(x), p.shape[-1]))
        if self.capture is None:
            return p
        found = self.capture(np.asarray(t, dtype=float)[:, None], self.whole(x), p)
        return np.concatenate([p[:, : -found.shape[-1]], found], axis=-1)

    def whole(self, x: np.ndarray) -> np.ndarray:
        """States with the entries they lack at 0."""
        missing = len(self.x) - x.shape[-1]
        return np.ascontiguousarray(np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1))

    def quaternions(self) -> list[int]:
        """The first coordinate of each unit quaternion."""
        return unit_quaternions(self.equations.kinematics.joints)

    def given(self, p: np.ndarray, step: float | None) -> np.ndarray:
        """What native code takes as p, (..., n): parameters, the size of a step where it counts, not nothing."""
        more = [*([step] if self.stepping else []), *[1.0] * len(self.candidates.captured)]
        more = more or ([] if p.shape[-1] else [0.0])
        return np.concatenate([p, np.broadcast_to(np.array(more, dtype=float), (*p.shape[:-1], len(more)))], axis=-1)

    @cached_property
    def timed(self) -> bool:
        """Whether anything depends on time: force laws, speeds or constraints."""
        rows = self.constraints
        return self.dynamics.timed or TIME in free_symbols([*rows.psi, *rows.gamma] if len(rows) else [])

    # calls at many states at once

    def left(self, t: np.ndarray, x: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Residuals of positions and of speeds, then the squares of their sizes, (..., 2 (held + m))."""
        assert self.residuals is not None
        found: np.ndarray = self.residuals(t, x, self._no_factors, p)
        return found[..., : 2 * (len(self.held) + len(self.constraints))]

    def measured(self, t: Any, x: np.ndarray, p: np.ndarray) -> tuple[np.ndarray, ...]:
        """Residuals of positions and of speeds, (..., held) and (..., m), and the sizes they are measured by."""
        h, m = len(self.held), len(self.constraints)
        p = self.completed(p)
        at = np.asarray(t, dtype=float)[..., None]
        found = np.zeros((*x.shape[:-1], 0)) if self.residuals is None else self.left(at, self.whole(x), p)
        phi, psi, reach2, pace2 = np.split(found, np.cumsum([h, m, h]), axis=-1)
        return phi, psi, np.sqrt(reach2), np.sqrt(pace2)

    def assembled(self, t: float | np.ndarray, x: np.ndarray, p: np.ndarray, positions: bool) -> tuple[np.ndarray, ...]:
        """Residuals (m,), J (m, n), E (m, n) and extents (n,) of positions, or of speeds; of k states with t (k, 1)."""
        sizes = ((len(self.held), len(self.base.u)), (len(self.constraints), len(self.equations.u)))
        (h, nv), (m, nu) = sizes
        parts = np.split(
            self.assembly(np.atleast_1d(t), self.whole(x), p),
            np.cumsum([h, h * nv, h * nv, nv, m, m * nu, m * nu]),
            axis=-1,
        )
        residual, J, E2, far2 = parts[:4] if positions else parts[4:]
        shape = (*residual.shape[:-1], *(sizes[0] if positions else sizes[1]))
        return residual, J.reshape(shape), np.sqrt(E2.reshape(shape)), np.sqrt(far2)

    def moved(self, t: float, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Rates of the coordinates, (..., nq), for speeds v of the joints."""
        x = np.concatenate([q, v], axis=-1)
        found: np.ndarray = self.moves(np.array([t]), self.whole(x) if self.moves is self.rates else x, p)
        return found

    def respond(
        self, t: np.ndarray, x: np.ndarray, tau: np.ndarray, p: np.ndarray, active: Iterable[str] | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Accelerations and reactions, (k, nu) and (k, m), of states (k, n) of a machine with constraints."""
        m = self.machine(p=p, active=active)
        dx, lam = np.zeros((len(t), len(self.x))), np.zeros((len(t), len(self.constraints)))
        respond(m, np.ascontiguousarray(t), self.whole(x), np.ascontiguousarray(tau), dx, lam)
        return dx[:, m.nq : m.nq + m.nu], lam

    def strike(
        self, t: np.ndarray, x: np.ndarray, p: np.ndarray, active: Iterable[str] | None = None, restitution: float = 0.0
    ) -> tuple[np.ndarray, np.ndarray]:
        """Speeds after constraints were imposed at states, and their impulses, (k, nu) and (k, m)."""
        m = self.machine(p=p, active=active)
        after, impulse = np.zeros((len(t), m.nu)), np.zeros((len(t), len(self.constraints)))
        strike(m, np.ascontiguousarray(t), self.whole(x), float(restitution), after, impulse)
        return after, impulse

    # room for runs

    def machine(
        self,
        tau: Any = None,
        p: Any = None,
        control: int = 0,
        active: Iterable[str] | None = None,
        implicit: bool = False,
        switched: bool = False,
        guards: tuple[Function | None, int] = (None, 0),
        idle: bool = False,
        gaps: Gaps | None = None,
    ) -> Machine:
        """Room for one run: forces (nu,), parameters, the address of a control, names of the constraints that hold.

        implicit : whether derivatives will be needed
        switched : whether constraints come and go; guards : conditions that are watched beside them, and how many
        idle     : whether no row will hold or slide, so that code for rows is not needed
        gaps     : of candidates that are not wired
        """
        codes = [self.flow, self.rates, None, None, None, None, self.moves, self.slopes if implicit else None]
        codes += [None, None, guards[0], gaps.poses if gaps is not None else None]
        if not idle:
            codes[2:6] = self.residuals, self.factors, self.table, self.closure
            codes[8:10] = self.laws_of_rows, self.capture
        addresses = [f.address if f is not None else 0 for f in codes]
        return Machine(
            nq=len(self.equations.q),
            nu=len(self.equations.u),
            counted=len(self.x) - len(self.work),
            code=np.array([control, *addresses], dtype=np.int64),
            tau=np.zeros(len(self.tau)) if tau is None else np.array(tau, dtype=float),
            p=np.array(self.completed(p), dtype=float),
            units=np.array(self.quaternions(), dtype=np.int64),
            time=np.zeros(1),
            work=np.zeros(max(1, *(f.work_size for f in codes if f is not None))),
            constrained=constrained(self, active) if (len(self.held) or switched) and not idle else None,
            switching=switching(self, guards[1], gaps) if switched else None,
        )

    def light(
        self, whole: Machine, gaps: Sequence[int], guards: tuple[Function | None, int], unwired: Gaps | None = None
    ) -> Machine:
        """The machine while no row holds or slides: it only watches gaps of rows, guards, and gaps that are not wired.

        It shares forces, parameters and room with the whole machine.
        """
        code = whole.code.copy()
        used = [f for f in (guards[0], unwired.poses if unwired is not None else None) if f is not None]
        code[GUARDS] = guards[0].address if guards[0] is not None else 0
        code[POSES] = unwired.poses.address if unwired is not None and unwired.poses is not None else 0
        code[SLOPES] = 0  # its derivatives are of the machine with rows
        watch = make_switching(
            rows=0, groups=0, guards=guards[1], captures=0, n=whole.nu, entries=len(self.x), **sizes_of(unwired)
        )
        if unwired is not None:
            unwired.written(watch)
        watch.places[0]["losses"], watch.places[0]["fresh"] = -1, 1
        watch.view("sign")[: len(gaps)], watch.view("way")[: len(gaps)] = 1, -1
        work = np.zeros(max(whole.work.size, *(f.work_size for f in used), 1))
        return whole._replace(code=code, work=work, constrained=None, switching=watch)

    @cached_property
    def groups(self) -> tuple[str, ...]:
        """The names of constraints that can be engaged and released, in the order of their rows."""
        return tuple(dict.fromkeys(self.constraints.names))

    @cached_property
    def declared(self) -> set[str]:
        """Those of them that the model declares as active."""
        model = self.equations.model
        return {c.name for c in (*model.constraints, *model.candidates) if c.active}

    @cached_property
    def gaps(self) -> tuple[Gaps, tuple[str, ...]]:
        """The gaps of all candidates that may close, as a table, and the names of those that are expressions."""
        found = [c for c in self.equations.model.candidates if c.law == "unilateral" and c.active]
        return gaps_of(self.dynamics, found)

    @cached_property
    def standing(self) -> tuple[str, ...] | None:
        """What holds in direct calls where nothing is said: None for what always does, else all names of it.

        Beside constraints, locks, brakes, clutches and latches that are declared engaged and have no capacity. What
        depends on the state (contacts, stops, friction) is not among them.
        """
        kinds: dict[str, set[int]] = {}
        for name, law in zip(self.candidates.rows.names, self.candidates.laws, strict=True):
            kinds.setdefault(name, set()).add(law.kind)
        firm = [name for name, found in kinds.items() if found == {EQUAL} and name in self.declared]
        always = self.holding(None) - set(self._embedded_names)
        return (*sorted(always), *firm) if firm else None

    def holding(self, active: Iterable[str] | None) -> set[str]:
        """The names of the constraints that hold; None for those that always do."""
        if active is None:
            return set(self.held.names) - {c.name for c in self.equations.model.candidates}
        chosen = {active} if isinstance(active, str) else set(active)
        known = list(dict.fromkeys(self.constraints.names))
        for name in chosen:
            if name not in known:
                raise KeyError(f"active: there is no constraint {name!r}. {closest(name, known)}")
        return chosen | set(self._embedded_names)

    @cached_property
    def _embedded_names(self) -> tuple[str, ...]:
        """The constraints that are embedded in the speeds, and cannot be released."""
        return tuple(name for name in dict.fromkeys(self.held.names) if name not in self.constraints.names)
