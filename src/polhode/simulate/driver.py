"""The loop of a run: the state that it moves, what it records, and the events that it meets."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

import numpy as np

from polhode.compile import Function
from polhode.equations import Dynamics
from polhode.equations.program import Program
from polhode.equations.warning import warn_caller
from polhode.kernels.loop import advance, advance_whole, room_of
from polhode.kernels.machine import NOT_FINITE, Machine
from polhode.kernels.stepping import COLLAPSE, DONE, EVENT, FULL, MORE, Run
from polhode.trajectory import Outcome
from polhode.trajectory.events import Events

from .asked import method_of, movable, parameters_of, state_of, tolerances
from .bounds import check_bounds
from .ending import AT_ONE_TIME, ENDED, LIVELOCK, LIVELOCKED, STOPPED, ended, in_vain
from .inputs import read_inputs
from .interrupt import PATIENCE, stoppable
from .modes import Modes
from .recording import Recording
from .switchboard import SwitchError
from .switches import At, When, checked_switches, on_the_verge, still_to_come, undefined
from .warning import SimulationWarning

WAIT = 1e6  # s, for what is to end a run without a last time
STUCK = 100_000  # steps of an adaptive method, after which it is asked how far they led


class Driver:
    """A machine at a state, and the compiled loop that moves it; `Simulation` is what users have of it."""

    def __init__(
        self,
        dynamics: Dynamics,
        q0: Any = None,
        u0: Any = None,
        *,
        tau: Any = None,
        controls: Any = None,
        p: Any = None,
        method: str = "dop853",
        step: float | None = None,
        rtol: float | None = None,
        atol: float | None = None,
        longest: float = np.inf,
        t0: float = 0.0,
        z0: Any = None,
        switches: Sequence[At | When] = (),
        _until: When | None = None,  # what ends the run
        _driven: bool = True,  # whether forces may act, so that their work is counted
        _notes: bool = True,  # whether to say which switches of the model came before the start
    ) -> None:
        self.dynamics, eq = movable(dynamics, "Simulation"), dynamics.equations
        self.method, self._t0, chosen = method, float(t0), method_of(method, step, t0)
        self._fixed, self._most = bool(chosen.rule.fixed), np.inf  # and the most steps that it takes
        limits = tolerances(rtol, atol, longest, method, self._fixed)
        self._now, self._record = Run.of(t=t0, step=step or 0.0, every=1, **limits)
        self._inputs = read_inputs(tau, eq, controls)
        self._values = parameters_of(dynamics, p)
        check_bounds(dynamics, self._values)
        self._held: Function | None = None  # expressions of a sampled control, once they are asked for
        declared, past = still_to_come(eq.model.switches, t0)
        if past and _notes:
            warn_caller(past, SimulationWarning)
        given = [*checked_switches(declared, t0), *checked_switches(switches, t0)]
        given += [] if _until is None else [_until]
        self._modes = Modes(
            dynamics, self._inputs, self._values, step, chosen.rule, self._record, given, _driven, method == "euler"
        )
        self._names = [str(s.value) for s in self._program.x]
        nq, nu = len(eq.q), len(eq.u)
        self._q, self._u = slice(0, nq), slice(nq, nq + nu)
        self._z = slice(nq + nu, self._machine.counted)
        x = np.zeros(len(self._names))
        x[self._q], x[self._u], x[self._z] = state_of(eq, q0, u0, z0, self._program.starts(self._values))
        self._x = self._program.unit(x)
        self._check_guards(given)
        self._modes.begin(float(t0), self._x)
        self._modes.wait_below(on_the_verge(given, dynamics, self.t, self._x, self._values))
        self._running, self._still, self._last_event, self._switch_failure = False, 0, -np.inf, ""
        self._runner = threading.get_ident()  # the thread that it runs in

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

    @property
    def t(self) -> float:
        return self._now.t

    @property
    def outcome(self) -> Outcome:
        return ended(self, DONE) if self._outcome is None else self._outcome

    @property
    def events(self) -> Events:
        """What happened so far."""
        return self._modes.events

    def _taken(self, machine: Machine | None = None) -> Callable[[], int]:
        """The loop that takes steps of the machine in use, or of another, and records them as it is to."""
        place = (self._recording.t, self._recording.x) if self._now.every else (self._grid, self._rows)
        machine = self._modes.used if machine is None else machine
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

    # the state, set from outside

    def _push(self, forces: np.ndarray) -> None:
        """Let other constant forces act from now on."""
        if self.t > self._since:  # else what was there before never acted
            self._recording.acted(self._recording.rows + self._now.row, self._machine.tau)
        self._since = self.t
        self._machine.tau[:] = forces
        self._now.rated = 0  # the rate at this state changed with the force

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

    def _check_guards(self, switches: Sequence[At | When]) -> None:
        """Refuse switches that wait for what is not finite now: it would not be seen to pass 0."""
        if said := undefined(switches, self.dynamics, self.t, self._x, self._values):
            raise ValueError(f"{said}, expected a finite number. Write it so that it is one wherever the run may go.")

    # motion

    def _integrate(self, until: float, grid: np.ndarray | None, seen: Callable[[float], None]) -> None:
        """Move on to a time and record states at those of a grid; None for every step.

        What may never happen is not waited for longer than WAIT.
        """
        self._open(grid)
        waits, until = until == np.inf, min(until, self.t + WAIT)
        began = time.perf_counter()
        status = MORE
        self._running, self._runner = True, threading.get_ident()
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
            self._outcome = in_vain(self, status) if waits and status in (DONE, COLLAPSE) else ended(self, status)
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
            if self._modes.commands and (status := self._switch_now(MORE)) != MORE:  # of a sampled control, for now
                return status
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
            if steps > self._most:
                return COLLAPSE
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
                near = self._now.t - self._last_event <= AT_ONE_TIME * max(1.0, abs(self._now.t))
                self._still = self._still + 1 if near else 0
                self._last_event = self._now.t
                if self._still > LIVELOCK:
                    return LIVELOCKED
                if modes.board is not None and modes.board.is_noted():
                    modes.board.event(self.t)
                elif modes.passes_over():
                    self._now.t = np.nextafter(self._now.t, np.inf)  # beyond a jump that is between two times
                    self._go_on()
                elif self._switch(lambda: modes.event(self.t)):
                    return ENDED
                status = MORE
            if (due := modes.due(self.t)) and self._switch(partial(modes.switch, self.t, due)):
                return ENDED
            while modes.commands:
                if self._switch(partial(modes.command, self.t, *modes.commands.popleft(), "command")):
                    return ENDED
            if modes.wire_ahead(self.t):
                self._advance = self._taken()
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
            found = self._asked(control.function)
            if self._inputs.not_finite is not None:
                return -np.inf
            self._push(found)
            self._samples += 1
        return self._t0 + self._samples * control.period

    def _asked(self, function: Any) -> np.ndarray:
        """What a sampled control gives now."""
        inputs = self._inputs
        if inputs.held is None:
            return inputs.call(function, self.t, self._x[self._q], self._x[self._u])
        if self._held is None:
            self._held = inputs.held.compiled(self.dynamics)
        return inputs.read(inputs.held.at(self._held, self.t, self._x, self._values, len(inputs.names)), self.t)

    def _raise_failure(self) -> None:
        """Pass on what a control raised."""
        if self._inputs.failure is not None:
            failure, self._inputs.failure = self._inputs.failure, None
            self._start_anew()
            raise failure

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
            self._go_on()
        if now.every:
            self._recording.add(np.array([self.t]), self._x[None])
        elif now.row and self._grid[now.row - 1] == self.t:  # an output at an event is the state after it
            self._rows[now.row - 1] = self._x
        return found

    def _go_on(self) -> None:
        """Use the machine of the mode that is now, from the state that is now."""
        now = self._now
        now.rated, now.tries, now.error = 0, 0, 0.0
        self._modes.select()
        self._advance = self._taken()

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
