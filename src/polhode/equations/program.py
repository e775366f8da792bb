"""A mechanism made ready for the compiled loops."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from threading import Lock
from typing import Any

import numpy as np

from polhode.compile import Function, compile
from polhode.graph import (
    Constant,
    Expr,
    Matrix,
    as_expr,
    diff_along,
    evaluate,
    free_symbols,
    substitute,
    symbol,
    vector,
)
from polhode.kernels.constrained import Constrained, make
from polhode.kernels.impose import respond, strike
from polhode.kernels.machine import GUARDS, SLOPES, Machine
from polhode.kernels.mode import Switching, make_switching
from polhode.kinematics import Constraints, InSpeeds, Kinematics, candidates, constrain, joined, selected
from polhode.kinematics.actions import Acting, acting
from polhode.kinematics.candidates import UNILATERAL, Law
from polhode.kinematics.loads import damped, damping_matrix
from polhode.model import TIME
from polhode.model.errors import closest

from . import native
from .dynamics import Dynamics, accelerations
from .equations import Equations
from .inputs import fresh
from .slopes import slope_rows

# the least of its reference that a row must have of its own: files round geometry to six digits and
# more; coefficients of the user's own, gears of 1 : 1e6 among them, are what they are
GEOMETRIC, GIVEN = 1e-5, 1e-12
WORK = ("input", "own", "losses", "constraints")  # whose work is counted, where there is any
MOST = 8  # programs that a dynamics remembers, the one used last the longest
_MAKING = Lock()
_STEP = symbol("size of a step")


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


class Program:
    """The state x = [q, u, z, w] of a mechanism, and native code for its motion.

    flow      : (t, x, tau, p) -> dx, of a machine without constraints among its speeds, else None
    rates     : (t, x, p) -> qdot
    residuals : (t, x, K, p) -> phi, psi and their sizes, None without constraints; with the elimination K that the
                factors have also the motions that remove both
    factors   : (t, x, tau, p) -> see `native`, None where there are none
    table     : (t, x, tau, p) -> see `native`, None without constraints among the speeds
    closure   : (t, x, p) -> the table of positions in the speeds v of the joints, None where v is u
    moves     : (t, [q, v], p) -> N v
    slopes    : (t, x, dx, lam, tau, p) -> derivatives, see there; None where there are none

    constraints : those among the speeds; held : these and the embedded ones, in the speeds of the joints
    laws        : expressions of q, u, t and parameters for some of the inputs tau, by speed
    work        : whose work is counted in w, of WORK
    stepping    : whether accelerations are those of a step of size h, the last entry of p, in which dampers of the
                  joints act by the new speeds: (M + h D) udot = Q + tau - c + J^T lam
    """

    def __init__(
        self, dynamics: Dynamics, laws: Mapping[Expr, Expr] | None = None, driven: bool = False, stepping: bool = False,
        wired: tuple[str, ...] | None = None,
    ) -> None:  # fmt: skip
        eq = dynamics.equations
        self.dynamics, self.equations, self.laws, self.stepping = dynamics, eq, laws or {}, stepping
        self.candidates = eq.candidates if wired is None else candidates(eq.kinematics, wired)
        self.constraints = eq.rows if wired is None else joined(eq.constraints, self.candidates.rows)
        self.base, self.held = _in_joints(eq, self.constraints, wired)
        self.tau = fresh("tau", eq)
        self._folded: dict[Expr, Expr] = dict(dynamics.values)
        speeds = dict(zip(eq.u, self.tau, strict=True))
        tau = substitute(self.tau, {speeds[u]: law for u, law in self.laws.items()})
        # each once: with the speeds of the joints, what is held is what is among the speeds
        rows = acting(self.constraints)
        if wired is not None and not rows.moving:  # what is wired later may move
            rows = rows._replace(moving=(as_expr(0),) * len(self.constraints))
        self._acting = rows
        self._closing = rows if self.held is self.constraints else acting(self.held)
        powers = _powers(eq, tau if driven or laws else None)
        losses = ("losses",) if eq.model.candidates else ()
        self.work = (*powers, *losses, *(("constraints",) if rows.moving or wired is not None else ()))
        self.x = vector([*eq.q, *eq.u, *eq.z, *(symbol(f"work of {name}") for name in self.work)])
        carried = [*eq.kinematics.q_dot, *eq.z_dot, *powers.values()]
        D = damping_matrix(eq.kinematics) if stepping else None

        self._sizes = (len(carried), len(rows.moving))
        self._parts, self._D, self._powers = (tau, carried, rows), D, powers

    # native code, each part made when it is first needed

    @cached_property
    def flow(self) -> Function | None:
        eq, D, (tau, carried, _) = self.equations, self._D, self._parts
        if len(eq.constraints):
            return None
        nq, carried = len(eq.q), [*carried]
        udot = accelerations(eq, tau, None if D is None else D * _STEP)
        if D is not None and "own" in self._powers:
            carried[-1] = carried[-1] + _lost(D, eq.u, udot)
        flow = [*carried[:nq], *udot, *carried[nq:]]
        flow += [as_expr(0)] * (len(self.x) - len(flow))  # the work of what does not hold
        return self.compiled("flow", flow, forced=True)

    @cached_property
    def _motion(self) -> native.Motion:
        eq, D, (tau, carried, rows) = self.equations, self._D, self._parts
        return native.Motion(M=eq.M if D is None else eq.M + D * _STEP, b=eq.Q + tau - eq.c, rows=rows, carried=carried)

    @cached_property
    def table(self) -> Function | None:
        if not len(self.constraints):
            return None
        return self.compiled("table", native.table_rows(self._motion), forced=True)

    @cached_property
    def _rows(self) -> native.FactorRows | None:
        """The factors as expressions; None for links without mass, which the table serves."""
        if not len(self.constraints):
            return None
        try:
            return native.FactorRows(self._motion, self.constraints.holonomic, solved=not len(self.candidates))
        except ZeroDivisionError:
            return None

    @cached_property
    def factors(self) -> Function | None:
        return None if self._rows is None else self.compiled("factors", self._rows.rows, forced=True)

    @cached_property
    def rates(self) -> Function:
        return self.compiled("rates", [*self.equations.kinematics.q_dot])

    @cached_property
    def moves(self) -> Function:
        if self.base is self.equations.kinematics:
            return self.rates
        return self.compiled("moves", [*self.base.q_dot], x=vector([*self.equations.q, *self.base.u]))

    @cached_property
    def closure(self) -> Function | None:
        if self.base is self.equations.kinematics or not len(self.held):
            return None
        return self.compiled("closure", native.closure_rows(self.base, self.held, self._closing))

    @cached_property
    def residuals(self) -> Function | None:
        return self._residuals(self._acting) if len(self.held) else None

    def _residuals(self, rows: Acting) -> Function:
        """Residuals, and the motions that remove them where the factors have an elimination of speeds and rows."""
        eq, found, count = self.equations, self._rows, len(self.constraints)
        wanted = native.residual_rows(self.base, self.held, self._closing, rows, eq.u)
        K = vector([symbol(f"factor {i}") for i in range(max(1, found.whole_size if found else 0))])
        if found and self.base is eq.kinematics:
            wanted += found.corrections(K, wanted[:count], wanted[count : 2 * count])
        self._no_factors = np.zeros(len(K))
        return self.compiled("residuals", wanted, K=K)

    def compiled(
        self, name: str, rows: list[Expr], forced: bool = False, x: Matrix | None = None, **more: Matrix
    ) -> Function:
        p = [symbol(name) for name in self.dynamics.parameters]
        p = [*p, *([_STEP] if self.stepping else []), *(s for _, s, _ in self.candidates.captured)]
        p = p or [symbol("no parameter")]
        inputs: dict[str, Matrix] = {"t": vector([TIME]), "x": self.x if x is None else x, **more}
        if forced:
            inputs["tau"] = self.tau
        output = substitute(vector(rows), self._folded) if self._folded else vector(rows)
        return compile(inputs | {"p": vector(p)}, {name: output}, name=name)

    @cached_property
    def gaps(self) -> Function | None:
        """The call (t, x, p) -> gaps of unilateral rows that may close; None where there are none."""
        rows, first = self.constraints, len(self.equations.constraints)
        may = [law.kind == UNILATERAL for law in self.candidates.laws]
        listed = zip(rows.names[first:], may, rows.phi[first:], strict=True)
        values = [phi for name, closes, phi in listed if closes and name in self.declared]
        return self.compiled("gaps", values) if values else None

    def guards(self, values: Sequence[Expr]) -> Function:
        """The call (t, x, rate, p) -> values and their rates, of conditions that are watched."""
        rate = vector([symbol(f"rate {i}") for i in range(len(self.x))])
        quasi = self.equations.kinematics.quasi
        values = [substitute(e, quasi) if free_symbols(e) & set(quasi) else e for e in values]
        rates = [diff_along(e, [*self.x, TIME], [*rate, as_expr(1)]) for e in values]
        return self.compiled("guards", [*values, *rates], rate=rate)

    @cached_property
    def slopes(self) -> Function | None:
        """The call (t, x, dx, lam, tau, p) -> derivatives of the motion by q, u, z and by time, one after the other.

        Each is [dqdot, dzdot, dpower, dudot]; where there are constraints, dudot is in terms of dR, dS and those of
        their own motion: see `slopes`. None where differences serve better.
        """
        if self.stepping:
            return None
        tau, carried, held = self._parts
        nq, nu = len(self.equations.q), len(self.equations.u)
        rate = vector([symbol(f"rate {i}") for i in range(len(self.x))])
        lam = vector([symbol(f"reaction {i}") for i in range(len(self.constraints))])
        udot, x = rate[nq : nq + nu], self.x[: len(self.x) - len(self.work)]
        rows = slope_rows(self.equations, self._folded, x, udot, lam, tau, carried, held)
        given = {"lam": lam} if len(lam) else {}
        return None if rows is None else self.compiled("slopes", rows, forced=True, rate=rate, **given)

    @property
    def sloping(self) -> tuple[int, int]:
        """How many derivatives `slopes` writes, by how many variables, and of how many rows each."""
        counted, (carried, moving) = len(self.x) - len(self.work), self._sizes
        return counted + 1, carried + len(self.equations.u) + len(self.constraints) + moving

    @cached_property
    def law(self) -> Function | None:
        """The call (t, x, p) -> the forces that the laws give, None without any."""
        return self.compiled("law", list(self.laws.values())) if self.laws else None

    def given(self, p: np.ndarray, step: float | None) -> np.ndarray:
        """What native code takes as p, (..., n): parameters, the size of a step where it counts, not nothing."""
        more = [*([step] if self.stepping else []), *[1.0] * len(self.candidates.captured)]
        more = more or ([] if p.shape[-1] else [0.0])
        return np.concatenate([p, np.broadcast_to(np.array(more, dtype=float), (*p.shape[:-1], len(more)))], axis=-1)

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

    @cached_property
    def assembly(self) -> Function:
        """The call (t, x, p) -> phi, J, E^2 and extents^2 of positions, then psi, J, E^2 and extents^2 of speeds."""
        held, rows, far = self._closing, self._acting, native.extents(self.base)
        positions = [*self.held.phi, *native.only(held.J, self.held.holonomic), *held.reference.entries, *far]
        near = far if self.base is self.equations.kinematics else [as_expr(1)] * len(self.equations.u)
        return self.compiled("assembly", [*positions, *rows.psi, *rows.J.entries, *rows.reference.entries, *near])

    def assembled(self, t: float, x: np.ndarray, p: np.ndarray, positions: bool) -> tuple[np.ndarray, ...]:
        """Residuals (m,), J (m, n), E (m, n) and extents (n,) of positions, or of speeds."""
        sizes = ((len(self.held), len(self.base.u)), (len(self.constraints), len(self.equations.u)))
        (h, nv), (m, nu) = sizes
        parts = np.split(
            self.assembly(np.array([t]), self.whole(x), p), np.cumsum([h, h * nv, h * nv, nv, m, m * nu, m * nu])
        )
        residual, J, E2, far2 = parts[:4] if positions else parts[4:]
        shape = sizes[0] if positions else sizes[1]
        return residual, J.reshape(shape), np.sqrt(E2.reshape(shape)), np.sqrt(far2)

    def moved(self, t: float, q: np.ndarray, v: np.ndarray, p: np.ndarray) -> np.ndarray:
        """Rates of the coordinates, (..., nq), for speeds v of the joints."""
        x = np.concatenate([q, v], axis=-1)
        found: np.ndarray = self.moves(np.array([t]), self.whole(x) if self.moves is self.rates else x, p)
        return found

    @cached_property
    def timed(self) -> bool:
        """Whether anything depends on time: force laws, speeds or constraints."""
        rows = self.constraints
        return self.dynamics.timed or TIME in free_symbols([*rows.psi, *rows.gamma] if len(rows) else [])

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

    def whole(self, x: np.ndarray) -> np.ndarray:
        """States with the entries they lack at 0."""
        missing = len(self.x) - x.shape[-1]
        return np.ascontiguousarray(np.concatenate([x, np.zeros((*x.shape[:-1], missing))], axis=-1))

    def quaternions(self) -> list[int]:
        """The first coordinate of each unit quaternion."""
        places = {e: i for i, e in enumerate(self.equations.q)}
        return [places[link.coordinates[0]] for link in self.equations.kinematics.joints.links if link.part.quaternion]

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
    ) -> Machine:
        """Room for one run: forces (nu,), parameters, the address of a control, names of the constraints that hold.

        implicit : whether derivatives will be needed
        switched : whether constraints come and go; guards : conditions that are watched beside them, and how many
        idle     : whether no row will hold or slide, so that code for rows is not needed
        """
        codes = [self.flow, self.rates, None, None, None, None, self.moves, self.slopes if implicit else None]
        codes += [None, None, guards[0]]
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
            constrained=self._constrained(active) if (len(self.held) or switched) and not idle else None,
            switching=self._switching(guards[1]) if switched else None,
        )

    def light(self, whole: Machine, gaps: Sequence[int], guards: tuple[Function, int]) -> Machine:
        """The machine while no row holds or slides: it only watches gaps of rows, and guards.

        It shares forces, parameters and room with the whole machine.
        """
        code = whole.code.copy()
        code[GUARDS], code[SLOPES] = guards[0].address, 0  # its derivatives are of the machine with rows
        watch = make_switching(rows=0, groups=0, guards=guards[1], captures=0, n=whole.nu, entries=len(self.x))
        watch.places[0]["losses"], watch.places[0]["fresh"] = -1, 1
        watch.view("sign")[: len(gaps)], watch.view("way")[: len(gaps)] = 1, -1
        work = np.zeros(max(whole.work.size, guards[0].work_size))
        return whole._replace(code=code, work=work, constrained=None, switching=watch)

    def _switching(self, guards: int) -> Switching:
        """Room for a mode of constraints that come and go, and for guards."""
        m, first, names = len(self.constraints), len(self.equations.constraints), self.groups
        made = make_switching(
            rows=m, groups=len(names), guards=guards, captures=len(self.candidates.captured), n=len(self.equations.u),
            entries=len(self.x),
        )  # fmt: skip
        laws = [Law()] * first + list(self.candidates.laws)
        parts: dict[str, Any] = {
            "kind": [law.kind for law in laws],
            "size": [law.size for law in laws],
            "of": [i + law.of if law.of else -1 for i, law in enumerate(laws)],
            "group": [names.index(name) for name in self.constraints.names],
            "holonomic": self.constraints.holonomic,
            "poisson": [law.poisson for law in laws],
            "engaged": [name in self.declared for name in names],
            "owner": [names.index(name) for name, _, _ in self.candidates.captured],
        }
        for name, values in parts.items():
            made.view(name)[...] = values
        places = made.places[0]
        places["captured_at"] = len(self.dynamics.parameters) + self.stepping
        work = len(self.x) - len(self.work)
        places["losses"] = work + self.work.index("losses") if "losses" in self.work else -1
        return made

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
    def laws_of_rows(self) -> Function | None:
        """The call (t, x, p) -> bound, grip and restitution of all rows, (3 m,); None where nothing comes and goes."""
        if not len(self.constraints):
            return None
        zeros = [as_expr(0)] * len(self.equations.constraints)
        laws = self.candidates.laws
        columns = ([law.bound for law in laws], [law.grip for law in laws], [law.restitution for law in laws])
        return self.compiled("laws", [e for column in columns for e in (*zeros, *column)])

    @cached_property
    def capture(self) -> Function | None:
        """The call (t, x, p) -> what constraints capture where they engage."""
        captured = self.candidates.captured
        return self.compiled("capture", [e for _, _, e in captured]) if captured else None

    def _constrained(self, active: Iterable[str] | None) -> Constrained:
        held, found = self.held, self._rows
        indices = {name: getattr(found, f"{name}_index") if found else [] for name in "jbl"}
        order = found.order if found else None
        made = make(
            rows=len(self.constraints),
            held=len(held),
            n=len(self.equations.u),
            joints=len(self.base.u) if self.closure else 0,
            nq=len(self.equations.q),
            carried=self._sizes[0],
            moving=self._sizes[1],
            direct=len(self.constraints) if order else 0,
            alone=sum(order.independent) if order else 0,
            k_entries=found.whole_size if found else 0,
            **{f"{name}_entries": sum(map(len, index)) for name, index in indices.items()},
        )
        on = np.array([name in self.holding(active) for name in held.names], dtype=np.int64)
        parts: dict[str, Any] = {"active": on, "closing": on * held.holonomic, "geometric": held.geometric}
        parts |= {"joint_bodies": native.bodies(self.base)} if self.closure else {}
        parts["bodies"] = native.bodies(self.equations.kinematics)
        made.places[0]["all"], made.places[0]["closing_all"] = on.all(), all(held.holonomic)
        made.places[0]["reacting"] = len(self.candidates) > 0
        parts |= {"used": 1, "used_q": 1, "least": np.where(held.geometric, GEOMETRIC, GIVEN)}
        if found:
            for name, index in indices.items():
                parts |= {f"{name}_start": _starts(index), f"{name}_index": [j for row in index for j in row]}
            parts["order"] = found.speeds
        if order:
            parts["solved"] = order.independent
        for name, values in parts.items():
            made.view(name)[...] = values
        return made

    def holding(self, active: Iterable[str] | None) -> set[str]:
        """The names of the constraints that hold; None for those that the model declares, all."""
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


def _starts(lists: Sequence[Sequence[int]]) -> np.ndarray:
    """Where each of several lists starts when they follow one another, and where the last one ends."""
    return np.cumsum([0, *map(len, lists)])


def _powers(eq: Equations, tau: Matrix | None) -> dict[str, Expr]:
    """The power of the inputs, and of the model's own forces that have no potential."""
    found = {}
    if tau is not None and len(eq.u):
        found["input"] = eq.u @ tau
    if eq.own_power != 0:
        found["own"] = eq.own_power
    return found


def _lost(D: Matrix, u: Matrix, udot: Matrix) -> Expr:
    """What dampers do in a step beyond -u.D u: at its middle they move by u + h udot / 2, and act by u + h udot."""
    found: Expr = (u * _STEP * 3 + udot * _STEP**2) @ (D @ udot) / -2
    return found


def _in_joints(
    eq: Equations, constraints: Constraints, wired: tuple[str, ...] | None
) -> tuple[Kinematics, Constraints]:
    """The kinematics in the speeds of the joints, and in them the constraints and what is embedded in positions."""
    kin = eq.kinematics
    if not isinstance(kin, InSpeeds):
        return kin.joints, constraints
    every = constrain(kin.joints)
    free = selected(every, [i for i, name in enumerate(every.names) if name not in kin.embedded])
    if eq.model.candidates:
        free = joined(free, candidates(kin.joints, wired).rows)
    # rows that repeat the speeds of others may contradict their positions
    embedded = joined(kin.speeds.embedded, kin.speeds.repeated)
    return kin.joints, joined(free, selected(embedded, [i for i, h in enumerate(embedded.holonomic) if h]))
