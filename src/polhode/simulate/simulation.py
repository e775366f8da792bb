"""A run that is taken step by step, or up to a time."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from polhode.equations import Dynamics
from polhode.equations.program import WORK, Program, program_of
from polhode.equations.warning import warn_caller
from polhode.kernels.loop import advance, advance_whole, room_of
from polhode.kernels.machine import NOT_FINITE, Machine
from polhode.kernels.stepping import COLLAPSE, DONE, EVENT, FULL, MORE, Run
from polhode.model.errors import closest
from polhode.trajectory import Outcome, Trajectory
from polhode.trajectory.events import Events, places_at
from polhode.trajectory.modes import respond_in_modes

from .asked import is_number, method_of, movable, parameters_of, times, tolerances, values_of
from .ending import ending
from .inputs import read_inputs
from .interrupt import PATIENCE, stoppable
from .modes import Modes
from .recording import Recording
from .switchboard import SwitchError
from .switches import At, When, checked_switches, undefined
from .warning import SimulationWarning, warn
from .watching import watching

_SETTABLE = ("q", "u", "z", "tau")
LIVELOCK = 1000  # events at one time, after which a run ends
ENDED, STOPPED, LIVELOCKED = -1, -2, -3  # beside what the loop returns
STUCK = 100_000  # steps of an adaptive method, after which it is asked how far they led


class Simulation:
    """A machine at a state, moved in time by one method.

    Arguments are those of `simulate`. `step()` takes one step of the method and `run(until)` as many as
    it needs; every step is recorded, unless `run` is given output=. Between steps, q, u, z and tau may be set: to an
    array, or by name.

    t       : the time now
    q, u, z : the state now, copies; z are states that are not motion
    tau     : forces on the speeds now, (nu,)
    outcome : how the last run ended
    """

    def __init__(
        self,
        dynamics: Dynamics,
        q0: Any = None,
        u0: Any = None,
        *,
        tau: Any = None,
        p: Any = None,
        method: str = "dop853",
        step: float | None = None,
        rtol: float = 1e-9,
        atol: float = 1e-9,
        longest: float = np.inf,
        t0: float = 0.0,
        z0: Any = None,
        switches: Sequence[At | When] = (),
        _driven: bool = True,  # whether forces may act, so that their work is counted
    ) -> None:
        self.dynamics, eq = movable(dynamics, "Simulation"), dynamics.equations
        self.method, self._t0, chosen = method, float(t0), method_of(method, step, t0)
        self._fixed = bool(chosen.rule.fixed)
        self._now, self._record = Run.of(t=t0, step=step or 0.0, every=1, **tolerances(rtol, atol, longest))
        self._inputs = read_inputs(tau, eq)
        self._values = parameters_of(dynamics, p)
        given = [*eq.model.switches, *checked_switches(switches)]
        self._modes = Modes(
            dynamics, self._inputs, self._values, step, chosen.rule, self._record, given, _driven, method == "euler"
        )
        self._names = [str(s.value) for s in self._program.x]
        nq, nu = len(eq.q), len(eq.u)
        self._q, self._u = slice(0, nq), slice(nq, nq + nu)
        self._z = slice(nq + nu, self._machine.counted)
        x = np.zeros(len(self._names))
        x[self._q] = values_of(q0, self._names[self._q], eq.model.neutral(), "q0")
        x[self._u] = values_of(u0, self._names[self._u], [0.0] * nu, "u0")
        x[self._z] = values_of(z0, self._names[self._z], self._program.starts(self._values), "z0")
        self._x = self._program.unit(x)
        self._check_guards(given)
        self._modes.begin(float(t0), self._x)
        self._running, self._still, self._last_event, self._switch_failure = False, 0, -np.inf, ""

        # all that the loop works on; it is compiled or loaded here, before any time counts
        self._recording = Recording(x.size)
        self._chosen, self._room = (
            chosen,
            room_of(chosen, x.size, self._program.sloping if chosen.rule.implicit else (0, 0)),
        )
        self._grid, self._rows = np.zeros(0), np.zeros((0, x.size))  # where states at given times are recorded
        self._bound: dict[tuple[int, int], Callable[[], int]] = {}
        self._advance = self._taken()
        self._now.stop = t0
        self._advance()
        self._stepping = self._changed = False  # whether `step` can go on at once; whether the state was set
        self._samples, self._since, self._seconds = 0, self.t, 0.0
        self._outcome: Outcome | None = None

    def __setattr__(self, name: str, value: Any) -> None:
        """Refuse what is no part of a simulation: sim.p = ... would change nothing."""
        if not name.startswith("_") and name not in ("dynamics", "method", *_SETTABLE):
            raise AttributeError(
                f"A simulation has no {name!r} that can be set. {closest(name, _SETTABLE)} Parameters stay as they are."
            )
        super().__setattr__(name, value)

    # the state

    @property
    def t(self) -> float:
        return self._now.t

    @property
    def outcome(self) -> Outcome:
        return self._ended(DONE) if self._outcome is None else self._outcome

    @property
    def q(self) -> np.ndarray:
        return self._part(self._q)

    @q.setter
    def q(self, given: Any) -> None:
        self._set(self._q, given, "q")

    @property
    def u(self) -> np.ndarray:
        return self._part(self._u)

    @u.setter
    def u(self, given: Any) -> None:
        self._set(self._u, given, "u")

    @property
    def z(self) -> np.ndarray:
        return self._part(self._z)

    @z.setter
    def z(self, given: Any) -> None:
        self._set(self._z, given, "z")

    @property
    def tau(self) -> np.ndarray:
        return _final(self._along(np.array([self.t]), self._x[None], self._machine.tau[None])[0])

    @tau.setter
    def tau(self, given: Any) -> None:
        if self._inputs.sampled is not None or self._inputs.continuous is not None:
            raise TypeError("tau comes from a control, so it cannot be set. Have the control give another force.")
        self._push(values_of(given, self._inputs.names, self._machine.tau, "tau"))

    def _push(self, forces: np.ndarray) -> None:
        """Let other constant forces act from now on."""
        if self.t > self._since:  # else what was there before never acted
            self._recording.acted(self._recording.rows + self._now.row, self._machine.tau)
        self._since = self.t
        self._machine.tau[:] = forces
        self._now.rated = 0  # the rate at this state changed with the force

    def _part(self, where: slice) -> np.ndarray:
        return _final(self._x[where].copy())

    def _set(self, where: slice, given: Any, what: str) -> None:
        x = self._x.copy()
        x[where] = values_of(given, self._names[where], x[where].tolist(), what)
        x = self._program.unit(x)
        self._flush()
        if -np.inf < self._recording.last < self.t:  # outputs may have ended before now
            self._recording.add(np.array([self.t]), self._x[None])
        self._x[:] = x
        self._changed, self._stepping = True, False

    def _resume(self) -> None:
        """Go on from a state that was set, if it satisfies the constraints."""
        if self._changed:
            self._modes.reset(self.t)
            self._advance = self._taken()
            self._start_anew()

    def _start_anew(self) -> None:
        """Forget the rate, and what the last steps say about the size of the next."""
        now = self._now
        now.rated, now.tries, now.error, now.step = 0, 0, 0.0, now.step if self._fixed else 0.0

    # what holds

    @property
    def active(self) -> tuple[str, ...]:
        """The constraints that hold or slide now, by name."""
        return self._modes.active()

    @property
    def mode(self) -> dict[str, str]:
        """What every constraint does now, in a word: see `Event`."""
        return self._modes.words()

    @property
    def events(self) -> Events:
        """What happened so far."""
        return self._modes.events

    def engage(self, *names: str) -> None:
        """Engage constraints: at once, or, called while it runs by a control or another thread, after the step in hand.

        Speeds change by the impulse that brings them along, M du = J^T Lam; positions stay.
        """
        self._command(names, ())

    def release(self, *names: str) -> None:
        """Release constraints, likewise; nothing jumps."""
        self._command((), names)

    def _command(self, engage: tuple[str, ...], release: tuple[str, ...]) -> None:
        self._modes.check((*engage, *release))
        if self._running:
            self._modes.commands.append((engage, release))
            self._now.halt = 1
            return
        self._switch(lambda: self._modes.command(self.t, engage, release, "command"))

    def strike(self, marker: str, impulse: Any) -> None:
        """Strike a marker with an impulse from outside, in the axes of the world: three entries, N s; at once."""
        found = np.asarray(impulse, dtype=float)
        if found.shape != (3,) or not np.isfinite(found).all():
            raise ValueError(f"strike: impulse is {impulse!r:.60}, expected three finite numbers, N s.")
        if self._running:
            raise RuntimeError("strike: the simulation is running. Strike between two runs or steps.")
        given = {"p": self._values} if len(self._values) else {}
        J = self.dynamics.jacobian(marker)(self.q, **given)[3:]
        M = self.dynamics.mass_matrix(self.q, **given)
        board = self._modes.need(self.t)
        du = np.linalg.solve(M, J.T @ found)

        def struck() -> None:
            before = self.u
            self._x[self._u] += du
            try:
                board.command(self.t, (), (), f"strike at {marker}")
            except SwitchError:
                self._x[self._u] = before
                raise

        self._switch(struck)
        self._recording.set_rows.append(self._recording.rows - 1)

    def _switch(self, happen: Callable[[], Any]) -> Any:
        """Let an event happen to the state now, which is recorded before and after."""
        now = self._now
        if not self._running:
            self._resume()
            self._changed = self._stepping = False
        if now.every:
            self._flush()
            if self._recording.last < self.t:
                self._recording.add(np.array([self.t]), self._x[None])
        try:
            found = happen()
        finally:  # also where it was refused, and the state is what it was
            now.rated, now.tries, now.error = 0, 0, 0.0
            self._modes.select()
            self._advance = self._taken()
        if now.every:
            self._recording.add(np.array([self.t]), self._x[None])
        elif now.row and self._grid[now.row - 1] == self.t:  # an output at an event is the state after it
            self._rows[now.row - 1] = self._x
        return found

    def _check_guards(self, switches: Sequence[At | When]) -> None:
        """Refuse switches that wait for what is not finite now: it would not be seen to pass 0."""
        if said := undefined(switches, self.dynamics, self.t, self._x, self._values):
            raise ValueError(f"{said}, expected a finite number. Write it so that it is one wherever the run may go.")

    def _taken(self) -> Callable[[], int]:
        """The loop that takes steps of the machine in use, and records them as it is to."""
        place = (self._recording.t, self._recording.x) if self._now.every else (self._grid, self._rows)
        machine = self._modes.used
        key = id(machine.code), id(place[0])
        if key not in self._bound:
            loop = advance_whole if self._chosen.rule.whole else advance
            self._bound[key] = loop.bind(self._chosen, machine, self._record, self._x, *place, self._room)
        return self._bound[key]

    @property
    def _program(self) -> Program:
        return self._modes.program

    @property
    def _machine(self) -> Machine:
        return self._modes.machine

    # motion

    def step(self) -> None:
        """Take one step of the method and record it; adaptive methods choose its size, longest= bounds it.

        Raises RuntimeError where it cannot go on.
        """
        if not self._stepping:
            self._open(None)
            self._now.stop, self._now.budget, self._stepping = np.inf, 1, self._inputs.sampled is None
        if self._inputs.sampled is not None:
            self._now.stop = self._sampled()
        self._now.stop = min(self._now.stop, self._modes.next_time())
        status = self._advance() if self._now.stop > -np.inf else NOT_FINITE
        if status != MORE or self._inputs.failure is not None or self._modes.board is not None:
            self._look(status)

    def _look(self, status: int) -> None:
        """See what is to be done after a call of `step` that did not just take a step."""
        if status == FULL:
            self._flush()
            status = self._advance()
        self._raise_failure()
        if self._modes.board is not None or self._modes.commands or status == EVENT:
            status = self._switch_now(status)
            self._stepping = False
        if status not in (MORE, DONE):
            self._outcome, self._stepping = self._ended(status), False
            raise RuntimeError(str(self.outcome))

    def run(self, until: float | When, output: Any = "steps", progress: bool | None = False) -> Outcome:
        """Move on to a time, or until something happens; how that ended.

        until    : a time, or `when(...)`
        output   : times to record, or their spacing, instead of every step
        progress : show a bar; None for one on a terminal

        A run that cannot go on stays where it got to, and warns. So does one after Ctrl-C, without a warning.
        """
        if isinstance(until, When):
            return self._run_until(until, output, progress)
        if not (is_number(until) and self.t < until < np.inf):
            raise ValueError(f"until is {until!r:.60}, expected a time after now, t = {self.t:g}.")
        grid = times(output, self.t, until)
        with watching(progress, self.t, until) as seen:
            self._integrate(float(until), grid, seen)
        warn(self.outcome)
        return self.outcome

    def _run_until(self, until: When, output: Any, progress: bool | None) -> Outcome:
        if output != "steps":
            raise ValueError('run: until= what happens has no end to space outputs to. Give a time, or output="steps".')
        before = self._modes.switches
        self._resume()
        self._check_guards([until])
        self._modes.rewire(self.t, [*before, until])
        self._now.rated = 0
        try:
            with watching(progress, self.t, np.inf) as seen:
                self._integrate(np.inf, None, seen)
        finally:
            self._modes.rewire(self.t, before)
            self._advance = self._taken()
        warn(self.outcome)
        return self.outcome

    def _integrate(self, until: float, grid: np.ndarray | None, seen: Callable[[float], None]) -> None:
        """Move on to a time and record states at those of a grid; None for every step."""
        self._open(grid)
        began = time.perf_counter()
        status = MORE
        self._running = True
        try:
            with suppress(KeyboardInterrupt), stoppable() as wish:
                status = self._go(until, seen, lambda: wish.pressed)
        finally:
            self._running = False
            self._close(status)
            self._seconds += time.perf_counter() - began
        if status == MORE:
            reason = f"Interrupted at t = {self.t:.6g} s of {until:g} s."
            self._outcome = Outcome(finished=False, reason=reason, time=self.t)
        else:
            self._outcome = self._ended(status)
        said = undefined(self._modes.switches, self.dynamics, self.t, self._x, self._values)
        if said and self._outcome.finished:
            warn_caller(f"{said}, so it may have passed 0 unseen.", SimulationWarning)

    def _go(self, until: float, seen: Callable[[float], None], stopped: Callable[[], bool]) -> int:
        """Call the loop until the end or a failure; MORE where it was stopped."""
        now, budget, start = self._now, 1, self._now.t
        mark = now.accepted + now.rejected, now.t  # when its progress was last looked at
        while not stopped():
            if (stop := self._sampled()) == -np.inf:
                return NOT_FINITE
            stop = min(stop, self._modes.next_time())
            now.stop, now.budget, tick = min(stop, until), budget, time.perf_counter()
            status = self._advance()
            self._raise_failure()
            if self._modes.board is not None or self._modes.commands or status == EVENT:
                status = self._switch_now(status)
                if status == ENDED:
                    return status
            if status == FULL:
                self._flush()
            elif status == MORE:
                spent = time.perf_counter() - tick
                budget = int(np.clip(budget * PATIENCE / max(spent, 1e-4), 1, 1e9))
            elif status != DONE or now.t >= until:
                return status
            seen(now.t)

            # would the rest take thousands of millions of steps?
            steps = now.accepted + now.rejected
            if not self._fixed and steps - mark[0] >= STUCK:
                if now.t - mark[1] < 1e-4 * (until - start):
                    return COLLAPSE
                mark = steps, now.t
        return MORE

    def _switch_now(self, status: int) -> int:
        """Go through events, switches and commands that are due where the loop returned; its status, or what became.

        ENDED where what a run was to wait for happened.
        """
        modes = self._modes
        try:
            if status == EVENT:
                self._still = self._still + 1 if self._now.t <= self._last_event else 0
                self._last_event = self._now.t
                if self._still > LIVELOCK:
                    return LIVELOCKED
                if modes.board is not None and modes.board.is_noted():
                    modes.board.event(self.t)
                elif self._switch(lambda: modes.met(self.t).event(self.t)):
                    return ENDED
                status = MORE
            if due := modes.due(self.t):
                self._switch(partial(modes.switch, self.t, due))
            while modes.commands:
                self._switch(partial(modes.command, self.t, *modes.commands.popleft(), "command"))
        except SwitchError as error:
            self._switch_failure = str(error)
            return STOPPED
        return status

    def _sampled(self) -> float:
        """Ask a sampled control if it is time; when to ask next, or -inf where it gave no number."""
        control = self._inputs.sampled
        if control is None:
            return np.inf
        if self.t >= self._t0 + self._samples * control.period:
            self._inputs.not_finite = None
            found = self._inputs.call(control.function, self.t, self._x[self._q], self._x[self._u])
            if self._inputs.not_finite is not None:
                return -np.inf
            self._push(found)
            self._samples += 1
        return self._t0 + self._samples * control.period

    def _raise_failure(self) -> None:
        """Pass on what a control raised."""
        if self._inputs.failure is not None:
            failure, self._inputs.failure = self._inputs.failure, None
            self._start_anew()
            raise failure

    # what is recorded

    def _open(self, grid: np.ndarray | None) -> None:
        """Prepare to record every step, or states at the times of a grid; the state now, unless it is there."""
        self._resume()
        self._flush()
        here = np.array([self.t]), self._x[None]
        if self._changed and self._recording.rows:
            self._recording.set_rows.append(self._recording.rows)
            self._recording.add(*here)
        known = self._recording.last >= self.t
        self._changed, self._stepping, self._outcome = False, False, None
        if grid is None:
            if not known:
                self._recording.add(*here)
            self._advance = self._taken()
            return
        self._grid = grid[grid > self.t] if known else grid
        self._rows = np.zeros((len(self._grid), self._x.size))
        self._now.every = 0
        self._bound = {}  # of grids before, which may be gone
        self._advance = self._taken()

    def _close(self, status: int) -> None:
        """Take what was recorded, with the state where the run stopped short."""
        self._flush()
        self._now.every = 1
        self._advance = self._taken()
        if status != DONE and self._recording.last < self.t:
            self._recording.add(np.array([self.t]), self._x[None])

    def _flush(self) -> None:
        """Take what the loop has recorded."""
        now, here = self._now, self._recording
        t, x = (here.t, here.x) if now.every else (self._grid, self._rows)
        here.add(t[: now.row], x[: now.row])
        now.row = 0

    def trajectory(self, reacting: bool = False) -> Trajectory:
        """Everything recorded so far.

        reacting : also compute the reactions of constraints at every state
        """
        program, machine, now, inputs = self._program, self._machine, self._now, self._inputs
        self._flush()
        if not self._recording.rows:
            self._recording.add(np.array([self.t]), self._x[None])
        t, x = self._recording.states()
        m, tau = len(program.equations.constraints), self._along(t, x, self._recording.forces(machine.tau))
        residuals = None
        if m or len(program.held) > len(program.constraints):
            phi, psi, _, _ = program.measured(t, x, machine.p)
            rest = np.where(program.constraints.holonomic, phi[:, : len(program.constraints)], psi)
            residuals = np.hstack([rest[:, :m], phi[:, len(program.constraints) :]])
        period = inputs.sampled.period if inputs.sampled else np.inf if self._recording.forces_changed else None
        return Trajectory(
            dynamics=program.dynamics,
            t=t,
            q=x[:, self._q],
            u=x[:, self._u],
            z=x[:, self._z],
            tau=tau,
            work_done=work_of(program, x) + self._lost(t),
            parameters=self._values,
            outcome=self.outcome,
            statistics={
                "method": self.method,
                "steps": now.accepted,
                "rejected": now.rejected,
                "evaluations": now.evaluations,
                "seconds": self._seconds,
            }
            | ({"constraint rows": m, "independent": self._rank()} if m else {})
            | self._modes.unsolved(),
            residuals=residuals,
            reactions=self._reactions(t, x, tau) if reacting and len(program.constraints) else None,
            reaction_names=program.constraints.labels,
            constraint_names=(*program.equations.constraints.labels, *program.held.labels[len(program.constraints) :]),
            events=self.events,
            sampled=None if period is None else (self._t0, period),
            set_rows=tuple(self._recording.set_rows),
        )

    def _lost(self, t: np.ndarray) -> np.ndarray:
        """Work of impacts up to times, (k, 4), where it is not among the states."""
        found = np.zeros((len(t), len(WORK)))
        if "losses" not in self._program.work:
            for event in self.events:
                after = np.searchsorted(t, event.time, side="right") - int(event.time in t)
                found[after:, WORK.index("losses")] -= event.lost
        return found

    def _reactions(self, t: np.ndarray, x: np.ndarray, tau: np.ndarray) -> np.ndarray:
        """The reactions at states, (k, m), whatever the method does to get from one to the next."""
        program = program_of(self.dynamics, self._program.laws) if self._program.stepping else self._program
        x = x[:, : self._machine.counted]
        if self.events:
            return respond_in_modes(program, self._values, self.events, places_at(self.events, t), t, x, tau)[1]
        return program.respond(t, x, tau, self._values)[1]

    def _rank(self) -> int:
        """How many rows of constraints are independent where the run is."""
        assert self._machine.constrained is not None
        return int(self._machine.constrained.places[0]["rank"])

    def _along(self, t: np.ndarray, x: np.ndarray, constant: np.ndarray) -> np.ndarray:
        """The forces on the speeds at states, (k, nu), of which some are constant."""
        if self._inputs.continuous is None:
            return self._inputs.along(self._program, t, x, self._machine.p, constant)
        call = partial(self._inputs.call, self._inputs.continuous)
        return np.array([call(float(s), row[self._q], row[self._u]) for s, row in zip(t, x, strict=True)])

    def _ended(self, status: int) -> Outcome:
        """How the loop ended where it is now."""
        t, now = self.t, self._now
        if status == ENDED:
            return Outcome(finished=True, reason=f"{self.events[-1].why}: ended at t = {t:.6g} s.", time=t)
        if status in (STOPPED, LIVELOCKED):
            reason = self._switch_failure
            if status == LIVELOCKED:
                reason = (
                    f"{LIVELOCK} events in a row at t = {t:.6g} s, the last about {', '.join(self.events[-1].what)}."
                )
            said, _, remedy = reason.rpartition(". ")
            if not said:
                said, remedy = reason.removesuffix("."), "Look at the events before it."
            return Outcome(finished=False, reason=f"Stopped: {said}.", time=t, remedy=remedy)
        found = ending(self._program, self._machine, status, t, self._x, now.accepted, now.blamed)
        when, bad = self._inputs.not_finite or (-np.inf, "")
        if status != NOT_FINITE or when < t:
            return found
        reason = f"Stopped at t = {t:.6g} s: the control gave a force on {bad!r} that is NaN or infinite."
        return replace(found, reason=reason, culprit=bad, remedy="Look at what it does with the state at that time.")

    def __repr__(self) -> str:
        name, steps = self.dynamics.equations.model.name, self._now.accepted
        return f"Simulation of {name!r} by {self.method}: t = {self.t:g} s after {steps:,} steps."


def work_of(program: Program, x: np.ndarray) -> np.ndarray:
    """Work since the start, of all kinds, (..., 3), from states."""
    found = np.zeros((*x.shape[:-1], len(WORK)))
    found[..., [WORK.index(name) for name in program.work]] = x[..., x.shape[-1] - len(program.work) :]
    return found


def _final(array: np.ndarray) -> np.ndarray:
    """An array that cannot be changed: what is written to sim.q[0] would be lost."""
    array.flags.writeable = False
    return array
